//! Loads: which links they are relative to, and how many flows per second that makes.

use narrows_proto::units::{BitRate, Bytes};
use narrows_sim::topology::{NodeKind, Topology, datacenter};
use narrows_sim::traffic::Transport;
use narrows_sim::workload::{Pairs, Sizes};
use narrows_sim::{HostId, LinkId, Purpose, Stream};

use super::Builder;
use crate::diagnostic::{Code, Diagnostic};
use crate::plan::{Checker, Load, select};
use crate::scenario::{LinkSet, Pattern};

/// More pairs than this are drawn, not counted, to find out which links traffic crosses.
const MOST_PAIRS: usize = 4_000_000;
const DRAWN_PAIRS: usize = 1_000_000;
/// More flows per second than this come less than 10 ps apart, too close for times in whole picoseconds.
const MOST_PER_SECOND: f64 = 1e11;

impl Builder<'_> {
    pub(super) fn load(&self, key: &str, load: f64, checker: &mut Checker<'_>) -> Option<()> {
        let fits = load > 0.0 && load <= 100.0;
        if !fits {
            let message =
                format!("load = {load:?}, expected above 0, at most 100 (1 is all the links carry)");
            self.error(key, Diagnostic::error(Code::OutOfRange, message), checker);
        }
        fits.then_some(())
    }

    /// So many flows per second, of `wire_bytes` each on average, load the links to the given degree.
    pub(super) fn flows_for(
        &self,
        key: &str,
        load: f64,
        links: &[LinkId],
        crossed: &[f64],
        wire_bytes: f64,
        checker: &mut Checker<'_>,
    ) -> Option<f64> {
        let crossings: f64 = links.iter().map(|link| crossed[link.index()]).sum();
        if crossings == 0.0 {
            let what = if let Pattern::Rpc(_) = self.group.pattern { "response" } else { "flow" };
            let message = format!("no {what} of traffic \"{}\" crosses the links of `of`", self.group.name);
            self.error(&format!("{key}.of"), Diagnostic::error(Code::Unreachable, message), checker);
            return None;
        }
        let per_second = load * self.capacity(links) as f64 / 8.0 / (wire_bytes * crossings);
        if per_second > MOST_PER_SECOND {
            let message =
                format!("{per_second:.0} flows per second, at most {MOST_PER_SECOND:.0} can be simulated");
            self.error(&format!("{key}.load"), Diagnostic::error(Code::OutOfRange, message), checker);
            return None;
        }
        Some(per_second)
    }

    /// What the links carry together, in bits per second.
    fn capacity(&self, links: &[LinkId]) -> u128 {
        let rates = links.iter().map(|link| self.ground.network.topology.link(*link).wire.rate);
        rates.map(|rate| u128::from(rate.as_bps())).sum()
    }

    pub(super) fn offered_load(&self, load: f64, links: &[LinkId], per_second: f64) -> Load {
        let capacity = BitRate::from_bps(u64::try_from(self.capacity(links)).unwrap_or(u64::MAX));
        Load { load, links: links.len(), capacity, per_second }
    }

    /// How many come from beginning to end, on average.
    pub(super) fn expected(&self, per_second: f64) -> f64 {
        per_second * self.until.saturating_since(self.start).as_secs_f64()
    }

    /// How often one flow crosses each link on average; `way` tells its ends from those of a pair.
    pub(super) fn crossings(&self, pairs: &Pairs, way: fn((HostId, HostId)) -> (HostId, HostId)) -> Vec<f64> {
        let demand = |(from, to, probability)| {
            let (from, to) = way((from, to));
            (from, to, probability)
        };
        let receivers = pairs.from().first().map_or(0, |from| pairs.partners(*from));
        if pairs.from().len() * receivers <= MOST_PAIRS {
            return self.ground.paths.spread(pairs.all().map(demand));
        }
        let mut random = Stream::new(self.ground.seed, Purpose::Workload, u64::from(self.id.0) << 32);
        let draw = |_| {
            let (from, to) = pairs.draw(&mut random);
            demand((from, to, 1.0 / DRAWN_PAIRS as f64))
        };
        self.ground.paths.spread((0..DRAWN_PAIRS).map(draw).collect::<Vec<_>>())
    }

    /// The links a load is relative to.
    pub(super) fn links_of(
        &self,
        key: &str,
        set: &LinkSet,
        senders: &[HostId],
        checker: &mut Checker<'_>,
    ) -> Option<Vec<LinkId>> {
        let topology = &self.ground.network.topology;
        let ports = topology.ports();
        let host_links: Vec<_> =
            senders.iter().map(|host| ports[topology.hosts()[host.index()].index()][0]).collect();
        let links: Vec<_> = match set {
            LinkSet::HostLinks => host_links,
            LinkSet::Uplinks => {
                let mut switches: Vec<_> = host_links.iter().map(|link| topology.link(*link).to).collect();
                switches.sort_unstable();
                switches.dedup();
                let links = switches.into_iter().flat_map(|switch| ports[switch.index()].iter().copied());
                links.filter(|link| topology.as_host(topology.link(*link).to).is_none()).collect()
            }
            LinkSet::WanLinks => {
                let mut dcs: Vec<_> =
                    senders.iter().map(|host| datacenter(topology.host_name(*host))).collect();
                dcs.sort_unstable();
                dcs.dedup();
                let all = (0..topology.links().len()).map(LinkId::from);
                all.filter(|link| wan_from(topology, *link).is_some_and(|dc| dcs.contains(&dc))).collect()
            }
            LinkSet::Named(names) => match select::links(topology, names) {
                Ok(links) => links,
                Err(error) => {
                    self.error(&format!("{key}.named"), error, checker);
                    return None;
                }
            },
        };
        if links.is_empty() {
            let message = "there are no such links in this network";
            self.error(key, Diagnostic::error(Code::Topology, message), checker);
            return None;
        }
        Some(links)
    }
}

/// The data center a WAN link leads away from, if it is one.
fn wan_from(topology: &Topology, link: LinkId) -> Option<&str> {
    let link = topology.link(link);
    let (from, to) = (topology.node(link.from), topology.node(link.to));
    let switches = |node: &NodeKind| matches!(node, NodeKind::Switch { .. });
    let (here, there) = (datacenter(&from.name), datacenter(&to.name));
    (switches(&from.kind) && switches(&to.kind) && here != there).then_some(here)
}

/// Bytes a flow puts on a link on average: payload, headers and framing.
pub(super) fn mean_wire_bytes(sizes: &Sizes, transport: &Transport) -> f64 {
    const STEPS: u32 = 1 << 16;
    let full = transport.full_payload();
    let wire = |size: Bytes| {
        let packets = size.div_ceil(full);
        let last = size - full * (packets - 1);
        transport.packet_size(full).as_f64() * (packets - 1) as f64 + transport.packet_size(last).as_f64()
    };
    let quantiles = (0..STEPS).map(|step| sizes.quantile((f64::from(step) + 0.5) / f64::from(STEPS)));
    let (sampled, payload) = quantiles
        .fold((0.0, 0.0), |(sampled, payload), size| (sampled + wire(size), payload + size.as_f64()));
    // What the headers add is sampled, the payload itself is known exactly.
    sizes.mean() * sampled / payload
}
