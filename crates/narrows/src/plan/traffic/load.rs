//! Loads: which links they are relative to, and how many flows per second that makes.

use narrows_proto::units::{BitRate, Bytes};
use narrows_sim::topology::Topology;
use narrows_sim::traffic::Transport;
use narrows_sim::workload::{Pairs, Sizes};
use narrows_sim::{HostId, LinkId, Purpose, Stream};

use super::Builder;
use crate::diagnostic::{Code, Diagnostic};
use crate::plan::{Checker, Load, LoadOf, select};
use crate::scenario::{Counts, LinkSet, Pattern};

/// More pairs than this are drawn, not counted, to find out which links traffic crosses.
const MOST_PAIRS: usize = 4_000_000;
const DRAWN_PAIRS: usize = 1_000_000;
/// More flows per second than this come less than 10 ps apart, too close for times in whole picoseconds.
const MOST_PER_SECOND: f64 = 1e11;

/// Load settings of a pattern.
pub(super) struct AskedLoad<'a> {
    /// The pattern.
    pub(super) key: &'a str,
    pub(super) load: Option<f64>,
    pub(super) counts: Option<Counts>,
    pub(super) utilization: Option<f64>,
}

/// Mean number of times that a flow crosses these links.
pub(super) fn on(links: &[LinkId], crossed: &[f64]) -> f64 {
    links.iter().map(|link| crossed[link.index()]).sum()
}

/// The other way.
pub(super) fn reversed((from, to): (HostId, HostId)) -> (HostId, HostId) {
    (to, from)
}

impl Builder<'_> {
    /// The one load that is given, and what it counts.
    pub(super) fn asked_load(
        &self,
        asked: &AskedLoad<'_>,
        checker: &mut Checker<'_>,
    ) -> Option<(f64, LoadOf)> {
        let key = asked.key;
        let conflict = |message: &str| {
            Diagnostic::error(Code::Conflict, message.to_owned()).help("leave out one of them")
        };
        let (name, value, counts, most, whole) = match (asked.load, asked.utilization) {
            (Some(load), None) => {
                let counts = match asked.counts {
                    None | Some(Counts::Wire) => LoadOf::Wire,
                    Some(Counts::Payload) => LoadOf::Payload,
                };
                ("load", load, counts, 100.0, " (1 is all the links carry)")
            }
            (None, Some(utilization)) => {
                if asked.counts.is_some() {
                    let error = conflict("`counts` is for `load`: `utilization` counts all packets");
                    self.error(&format!("{key}.counts"), error, checker);
                    return None;
                }
                ("utilization", utilization, LoadOf::Utilization, 1.0, "")
            }
            (Some(_), Some(_)) => {
                let error = conflict("`load` says how much is sent, and so does `utilization`");
                self.error(&format!("{key}.utilization"), error, checker);
                return None;
            }
            (None, None) => {
                let error = Diagnostic::error(Code::WrongType, "nothing says how much is sent")
                    .help("load = 0.5 for half of what the links of `of` carry, or utilization = 0.5 with acknowledgments included");
                self.error(key, error, checker);
                return None;
            }
        };
        let fits = value > 0.0 && value <= most;
        if !fits {
            let message = format!("{name} = {value:?}, expected above 0, at most {most}{whole}");
            self.error(&format!("{key}.{name}"), Diagnostic::error(Code::OutOfRange, message), checker);
        }
        fits.then_some((value, counts))
    }

    /// So many flows per second, each of which counts with `bytes` on all links together on average, load the links to the given degree.
    pub(super) fn flows_for(
        &self,
        key: &str,
        load: f64,
        links: &[LinkId],
        bytes: f64,
        checker: &mut Checker<'_>,
    ) -> Option<f64> {
        if bytes == 0.0 {
            let what = if let Pattern::Rpc(_) = self.group.pattern { "response" } else { "flow" };
            let message = format!("no {what} of traffic \"{}\" crosses the links of `of`", self.group.name);
            self.error(&format!("{key}.of"), Diagnostic::error(Code::Unreachable, message), checker);
            return None;
        }
        let per_second = load * self.capacity(links) as f64 / 8.0 / bytes;
        if per_second > MOST_PER_SECOND {
            let message =
                format!("{per_second:.0} flows per second, at most {MOST_PER_SECOND:.0} can be simulated");
            self.error(&format!("{key}.load"), Diagnostic::error(Code::OutOfRange, message), checker);
            return None;
        }
        Some(per_second)
    }

    /// Total rate of the links, in bit/s.
    fn capacity(&self, links: &[LinkId]) -> u128 {
        let rates = links.iter().map(|link| self.ground.network.topology.link(*link).wire.rate);
        rates.map(|rate| u128::from(rate.as_bps())).sum()
    }

    pub(super) fn offered_load(&self, load: f64, counts: LoadOf, links: &[LinkId], per_second: f64) -> Load {
        let capacity = BitRate::from_bps(u64::try_from(self.capacity(links)).unwrap_or(u64::MAX));
        let (links, from, until) = (links.len(), self.start, self.until);
        Load { load, counts, links, capacity, per_second, draws: 1, from, until }
    }

    /// Mean number of arrivals from beginning to end.
    pub(super) fn expected(&self, per_second: f64) -> f64 {
        per_second * self.until.saturating_since(self.start).as_secs_f64()
    }

    /// Mean crossings of each link by one flow; `way` tells its ends from those of a pair.
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
                    senders.iter().map(|host| topology.datacenter(topology.hosts()[host.index()])).collect();
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

/// The data center a WAN link leads away from, if it is one; it may lead away from none.
fn wan_from(topology: &Topology, link: LinkId) -> Option<Option<&str>> {
    let link = topology.link(link);
    let switches = [link.from, link.to].iter().all(|end| topology.as_host(*end).is_none());
    let (here, there) = (topology.datacenter(link.from), topology.datacenter(link.to));
    (switches && here != there).then_some(here)
}

/// Mean bytes of a flow on the links that it crosses.
pub(super) struct Sent {
    /// Payload.
    payload: f64,
    /// Payload, headers and framing.
    pub(super) data: f64,
    /// Other packets in its direction: the request for a connection.
    more: f64,
    /// Packets in the other direction: the answer to that, and acknowledgments.
    back: f64,
}

impl Sent {
    /// Flows of these sizes.
    pub(super) fn by(sizes: &Sizes, transport: &Transport) -> Self {
        const STEPS: u32 = 1 << 16;
        let full = transport.full_payload();
        let quantiles = (0..STEPS).map(|step| sizes.quantile((f64::from(step) + 0.5) / f64::from(STEPS)));
        let (mut payload, mut data, mut back) = (0.0, 0.0, 0.0);
        let (control, ack, ack_every) = match transport {
            Transport::Stream { params, .. } => {
                let control = params.packet_size(Bytes::ZERO);
                let handshake = params.handshake && !params.keep_connections;
                (if handshake { control } else { Bytes::ZERO }, control, params.ack_every)
            }
            Transport::Rdma { params, cc } => (Bytes::ZERO, params.under(cc).ack_size, params.ack_every),
            Transport::Datagram { .. } => (Bytes::ZERO, Bytes::ZERO, 1),
        };
        for size in quantiles {
            let packets = size.div_ceil(full);
            let last = size - full * (packets - 1);
            payload += size.as_f64();
            data += transport.packet_size(full).as_f64() * (packets - 1) as f64
                + transport.packet_size(last).as_f64();
            back += ack.as_f64() * packets.div_ceil(ack_every) as f64;
        }
        // What the headers add is sampled, the payload itself is known exactly.
        let exactly = |sampled: f64| sizes.mean() * sampled / payload;
        let (data, back) = (exactly(data), exactly(back));
        Self { payload: sizes.mean(), data, more: control.as_f64(), back: back + control.as_f64() }
    }

    /// Bytes that count on some links, if a flow crosses them so often one way and the other.
    pub(super) fn counted(&self, counts: LoadOf, forth: f64, back: f64) -> f64 {
        let (with, against) = match counts {
            LoadOf::Wire => (self.data, 0.0),
            LoadOf::Payload => (self.payload, 0.0),
            LoadOf::Utilization => (self.data + self.more, self.back),
        };
        with * forth + against * back
    }
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;
    use std::sync::Arc;

    use narrows_proto::units::Time;
    use narrows_sim::LinkId;

    use crate::diagnostic::Checked;
    use crate::document::Document;
    use crate::plan::{LoadOf, Plan};
    use crate::run::{Options, run};

    /// Four hosts on each side of a link of 1 Gb/s, which never drops.
    fn plan(pattern: &str) -> Checked<Plan> {
        let text = format!(
            "version = 1\nname = \"load\"\nstop = {{ after = \"1 s\" }}\nmeasure = {{ from = \"50 ms\", until = \"1 s\" }}\n\
             topology.dumbbell = {{ hosts = 4, host_rate = \"10 Gb/s\", bottleneck_rate = \"1 Gb/s\", \
             host_delay = \"1 us\", bottleneck_delay = \"10 us\" }}\n\
             switches.default = {{ buffer = {{ size = \"100 MB\", sharing = \"per_port\" }} }}\n\
             [[traffic]]\nname = \"all\"\ncc = {{ reno = {{}} }}\npattern = {{ {pattern} }}\n"
        );
        Plan::new(Document::parse("load.toml", text, "")?)
    }

    fn per_second(pattern: &str) -> f64 {
        let plan = plan(pattern).unwrap_or_else(|error| panic!("{error}"));
        plan.groups[0].load.expect("it has a load").per_second
    }

    #[test]
    fn a_load_in_payload_leaves_headers_out() {
        // Flows of a thousand full packets: 1448 B of payload in 1538 B.
        let flows = |counts: &str| {
            per_second(&format!(
                "poisson = {{ load = 0.5, {counts} of = \"host_links\", sizes = {{ constant = \"1448 kB\" }} }}"
            ))
        };
        assert_eq!(flows(""), flows("counts = \"wire\","));
        assert!((flows("counts = \"payload\",") / flows("") - 1538.0 / 1448.0).abs() < 1e-12);
        // 10 Gb/s each, 8 hosts: half of it in flows of 1.448 MB.
        assert!((flows("counts = \"payload\",") - 0.5 * 80e9 / 8.0 / 1.448e6).abs() < 1e-6);
    }

    /// Utilization of the links whose names begin and end like this in the measured time by all packets, as a fraction.
    fn utilization(plan: Plan, from: &str, to: &str) -> f64 {
        let plan = Arc::new(plan);
        let results = run(&plan, Options::default(), |_| ControlFlow::Continue(())).unwrap();
        let topology = &plan.network.topology;
        let length = (plan.measured.end.min(Time::ZERO + plan.scenario.stop.after) - plan.measured.start)
            .as_secs_f64();
        let named = |link: &usize| {
            let name = topology.link_name(LinkId::from(*link));
            name.starts_with(from) && name.ends_with(to)
        };
        let links: Vec<_> = (0..topology.links().len()).filter(named).collect();
        let bytes: f64 = links.iter().map(|link| results.ports[*link].measured_bytes as f64).sum();
        let capacity: f64 = links.iter().map(|link| topology.links()[*link].wire.rate.as_f64()).sum();
        bytes * 8.0 / capacity / length
    }

    #[test]
    fn a_utilization_is_what_the_links_carry_in_a_long_run_acknowledgments_included() {
        // Three packets each way and two acknowledgments: a fifth of the bytes is not data. About 20 000 flows cross the link in
        // the measured time, so ±2 % are three standard deviations of their number.
        let sizes = "sizes = { constant = \"3 kB\" }";
        let poisson = format!(
            "poisson = {{ utilization = 0.6, of = {{ named = \"left/switch -> right/switch\" }}, {sizes} }}"
        );
        let found = utilization(plan(&poisson).expect("fits"), "left/switch", "right/switch");
        assert!((found / 0.6 - 1.0).abs() < 0.02, "{found}");
        // Links of 10 Gb/s, at a hundredth; requests and what answers them are part of it.
        let rpc = format!(
            "rpc = {{ utilization = 0.01, of = \"host_links\", fan_out = 2, request = \"2 kB\", {sizes} }}"
        );
        let found =
            ["left/host", "right/host"].map(|side| utilization(plan(&rpc).expect("fits"), side, "switch"));
        let found = (found[0] + found[1]) / 2.0;
        assert!((found / 0.01 - 1.0).abs() < 0.02, "{found}");
    }

    #[test]
    fn exactly_one_way_to_say_how_much_is_sent() {
        let refused = |more: &str| {
            let pattern = format!("poisson = {{ {more} of = \"host_links\", sizes = \"websearch\" }}");
            let error = plan(&pattern).expect_err("refused").0.swap_remove(0);
            format!("{} {}", error.code.name(), error.message)
        };
        for (settings, message) in [
            ("", "N0003 nothing says how much is sent"),
            (
                "load = 0.5, utilization = 0.5,",
                "N0019 `load` says how much is sent, and so does `utilization`",
            ),
            (
                "counts = \"payload\", utilization = 0.5,",
                "N0019 `counts` is for `load`: `utilization` counts all packets",
            ),
            ("utilization = 1.5,", "N0006 utilization = 1.5, expected above 0, at most 1"),
            ("utilization = nan,", "N0006 utilization = NaN, expected above 0, at most 1"),
            ("load = 0.0,", "N0006 load = 0.0, expected above 0, at most 100 (1 is all the links carry)"),
        ] {
            assert_eq!(refused(settings), message);
        }
    }

    #[test]
    fn what_a_load_counts_is_stored() {
        let stored = |settings: &str| {
            let pattern = format!("poisson = {{ {settings}, of = \"host_links\", sizes = \"websearch\" }}");
            let plan = plan(&pattern).expect("fits");
            (plan.groups[0].load.expect("a load").counts, plan.text.contains("counts = \"wire\""))
        };
        assert_eq!(stored("load = 0.1"), (LoadOf::Wire, true));
        assert_eq!(stored("load = 0.1, counts = \"payload\""), (LoadOf::Payload, false));
        assert_eq!(stored("utilization = 0.1"), (LoadOf::Utilization, false));
    }
}
