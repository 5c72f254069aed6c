//! Traffic groups turned into flows and generators, checked.

mod rpc;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use narrows_proto::cc::Config;
use narrows_proto::units::{BitRate, Bytes, Span, Time};
use narrows_sim::topology::{NodeKind, Topology, datacenter};
use narrows_sim::traffic::{
    Dependent, FlowSpec, Generator, GeneratorKind, Group, Milestone, NearSource, Traffic, Transport,
};
use narrows_sim::workload::{self, Pairs, PairsError, Partner, Sizes};
use narrows_sim::{FlowId, GroupId, HostId, LinkId, Network, Paths, Purpose, Stream};

use super::select::{self, Places};
use super::trace::TraceFlows;
use super::{Checker, Load, PlannedGroup, near_source, trace};
use crate::diagnostic::{Code, Diagnostic};
use crate::document::Document;
use crate::inputs::Content;
use crate::scenario::{Between, LinkSet, Names, Pattern, Scenario, SizeSource};
use crate::sizes::{self, LoadedSizes};

/// Payload of flows that never end: more than any run can send, and room for sums.
pub(crate) const ENDLESS: Bytes = Bytes::new(1 << 60);

/// More pairs than this are drawn, not counted, to find out which links traffic crosses.
const MOST_PAIRS: usize = 4_000_000;
const DRAWN_PAIRS: usize = 1_000_000;
/// More flows per second than this come less than 10 ps apart, too close for times in whole picoseconds.
const MOST_PER_SECOND: f64 = 1e11;

/// Everything known about the network when traffic is planned.
pub(super) struct Ground<'a> {
    pub(super) network: &'a Network,
    pub(super) paths: &'a Paths<'a>,
    pub(super) places: &'a Places,
    /// Where files are.
    pub(super) document: &'a Document,
    pub(super) seed: u64,
    /// Traffic starts before this.
    pub(super) end: Time,
}

/// The traffic of a scenario, and what it comes to.
#[derive(Default)]
pub(super) struct PlannedTraffic {
    pub(super) traffic: Traffic,
    pub(super) groups: Vec<PlannedGroup>,
    /// Offered to each link on average, in bytes per second, by open-loop traffic.
    pub(super) offered: Vec<f64>,
}

pub(super) fn build(scenario: &Scenario, ground: &Ground<'_>, checker: &mut Checker<'_>) -> PlannedTraffic {
    let links = ground.network.topology.links().len();
    let mut planned = PlannedTraffic { offered: vec![0.0; links], ..PlannedTraffic::default() };
    for (number, group) in scenario.traffic.iter().enumerate() {
        let Some((transport, near_source)) = transport(group, number, ground, checker) else { continue };
        let id = GroupId::from(planned.traffic.groups.len());
        let mut builder = Builder {
            group,
            id,
            path: format!("traffic.{number}"),
            ground,
            random: Stream::new(ground.seed, Purpose::Workload, number as u64),
            start: Time::ZERO + group.start,
            until: group.until.map_or(ground.end, |until| ground.end.min(Time::ZERO + until)),
            room: 0,
            planned: PlannedGroup {
                name: group.name.clone(),
                control: group.cc.as_ref().map_or_else(|| "datagrams".into(), ToString::to_string),
                flows: 0..0,
                sizes: None,
                load: None,
                rpcs: None,
                pattern: pattern_name(&group.pattern),
            },
        };
        let first = planned.traffic.flows.len();
        planned.traffic.groups.push(Group {
            name: group.name.clone(),
            transport,
            priority: group.priority,
            near_source,
        });
        builder.add(&mut planned, checker);
        builder.planned.flows = first..planned.traffic.flows.len();
        planned.groups.push(builder.planned);
    }
    planned
}

fn pattern_name(pattern: &Pattern) -> &'static str {
    match pattern {
        Pattern::Poisson(_) => "poisson",
        Pattern::Random(_) => "random",
        Pattern::LongLived(_) => "long_lived",
        Pattern::Incast(_) => "incast",
        Pattern::Permutation(_) => "permutation",
        Pattern::AllToAll(_) => "all_to_all",
        Pattern::OnOff(_) => "on_off",
        Pattern::ClosedLoop(_) => "closed_loop",
        Pattern::Rpc(_) => "rpc",
        Pattern::Trace(_) => "trace",
    }
}

/// How the flows of a group are carried, if that makes sense.
fn transport(
    group: &crate::scenario::Traffic,
    number: usize,
    ground: &Ground<'_>,
    checker: &mut Checker<'_>,
) -> Option<(Transport, Option<NearSource>)> {
    let path = format!("traffic.{number}");
    let out_of_range =
        |error: narrows_proto::cc::OutOfRange| Diagnostic::error(Code::OutOfRange, error.to_string());
    if let Pattern::OnOff(on_off) = &group.pattern {
        let share = match &group.cc {
            Some(Config::Rackcc(share)) => Some(share.clone()),
            None => None,
            Some(_) => {
                let message = format!(
                    "traffic \"{}\" sends datagrams, which have no congestion control but rackcc",
                    group.name
                );
                checker.error(&format!("{path}.cc"), Diagnostic::error(Code::Conflict, message));
                None
            }
        };
        if let Some(Err(error)) = share.as_ref().map(|share| share.check()) {
            checker.error(&format!("{path}.cc.rackcc.{}", error.setting), out_of_range(error));
            return None;
        }
        if group.rdma.is_some() {
            let message = format!("traffic \"{}\" sends datagrams, `rdma` is for connections", group.name);
            checker.error(&format!("{path}.rdma"), Diagnostic::error(Code::Conflict, message));
        }
        let params = group.datagram.clone().unwrap_or_default();
        if let Err(error) = params.check() {
            checker.error(&format!("{path}.datagram.{}", error.setting), out_of_range(error));
            return None;
        }
        return Some((Transport::Datagram { params, rate: on_off.rate, share }, None));
    }
    if group.datagram.is_some() {
        let message =
            format!("traffic \"{}\" has connections, `datagram` is for the pattern on_off", group.name);
        checker.error(&format!("{path}.datagram"), Diagnostic::error(Code::Conflict, message));
    }
    let Some(cc) = &group.cc else {
        let message = format!("traffic \"{}\" has no congestion control", group.name);
        let names: Vec<_> = narrows_proto::cc::registry::ALGORITHMS.iter().map(|entry| entry.name).collect();
        let help = format!("for example cc = {{ cubic = {{}} }}; known: {}", names.join(", "));
        checker.error(&path, Diagnostic::error(Code::WrongType, message).help(help));
        return None;
    };
    let before = checker.mistakes();
    let (cc, path_of_cc, near_source) =
        near_source::split(cc, &format!("{path}.cc"), ground.network, ground.places, checker);
    if checker.mistakes() > before {
        return None;
    }
    if let Err(error) = cc.check() {
        checker.error(&format!("{path_of_cc}.{}.{}", cc.name(), error.setting), out_of_range(error));
    }
    let transport = match &group.rdma {
        Some(params) => {
            if let Err(error) = params.check() {
                checker.error(&format!("{path}.rdma.{}", error.setting), out_of_range(error));
            }
            Transport::Rdma { params: params.clone(), cc: cc.clone() }
        }
        None => {
            if cc.needs_rdma() {
                let message = format!("{cc} needs RDMA, but traffic \"{}\" has streams", group.name);
                let error = Diagnostic::error(Code::Conflict, message).help("add rdma = {} to this traffic");
                checker.error(&path_of_cc, error);
            }
            if let Err(error) = group.transport.check() {
                checker.error(&format!("{path}.transport.{}", error.setting), out_of_range(error));
            }
            Transport::Stream { params: group.transport.clone(), cc: cc.clone() }
        }
    };
    (checker.mistakes() == before).then_some((transport, near_source))
}

/// Makes the flows of one group.
struct Builder<'a> {
    group: &'a crate::scenario::Traffic,
    id: GroupId,
    path: String,
    ground: &'a Ground<'a>,
    random: Stream,
    start: Time,
    until: Time,
    /// So many more flows may be planned.
    room: u64,
    planned: PlannedGroup,
}

impl Builder<'_> {
    fn add(&mut self, planned: &mut PlannedTraffic, checker: &mut Checker<'_>) {
        if self.start >= self.until {
            let message = format!(
                "traffic \"{}\" starts at {} and ends at {}",
                self.group.name, self.start, self.until
            );
            checker.error(&format!("{}.start", self.path), Diagnostic::error(Code::NoTraffic, message));
            return;
        }
        let group = self.group;
        self.room = checker.limits.flows.saturating_sub(planned.traffic.flows.len() as u64);
        let flows = match &group.pattern {
            Pattern::Poisson(_) => self.poisson(planned, checker),
            Pattern::Random(_) => self.random(checker),
            Pattern::LongLived(_) => self.long_lived(checker),
            Pattern::Incast(_) => self.incast(checker),
            Pattern::Permutation(pattern) => {
                self.among(pattern.among.as_ref(), "permutation", checker).and_then(|hosts| {
                    self.room_for(hosts.len() as u64, "permutation", checker)?;
                    let size = self.size("permutation.size", pattern.size.unwrap_or(ENDLESS), checker)?;
                    Some(workload::permutation(self.id, &hosts, size, self.start, &mut self.random))
                })
            }
            Pattern::AllToAll(pattern) => {
                self.among(pattern.among.as_ref(), "all_to_all", checker).and_then(|hosts| {
                    self.room_for(hosts.len() as u64 * (hosts.len() as u64 - 1), "all_to_all", checker)?;
                    let size = self.size("all_to_all.size", pattern.size, checker)?;
                    Some(workload::all_to_all(self.id, &hosts, size, self.start))
                })
            }
            Pattern::OnOff(_) => self.on_off(planned, checker),
            Pattern::ClosedLoop(_) => self.closed_loop(planned, checker),
            Pattern::Rpc(_) => self.rpc(planned, checker),
            Pattern::Trace(pattern) => self.trace(&pattern.file, planned, checker),
        };
        let flows = flows.unwrap_or_default();
        self.check_reachable(&flows, checker);
        planned.traffic.flows.extend(flows);
    }

    fn error(&self, key: &str, diagnostic: Diagnostic, checker: &mut Checker<'_>) {
        checker.error(&format!("{}.pattern.{key}", self.path), diagnostic);
    }

    /// Refuses more flows than there is room for.
    fn room_for(&self, flows: u64, key: &str, checker: &mut Checker<'_>) -> Option<()> {
        if flows > self.room {
            let most = checker.limits.flows;
            let message = format!("{flows} flows, at most {most} of all traffic together can be simulated");
            self.error(key, Diagnostic::error(Code::OutOfRange, message), checker);
            return None;
        }
        Some(())
    }

    /// Something that must be at least one.
    fn at_least_one(&self, key: &str, value: u32, checker: &mut Checker<'_>) -> Option<u32> {
        if value == 0 {
            let name = key.rsplit('.').next().unwrap_or(key);
            self.error(
                key,
                Diagnostic::error(Code::OutOfRange, format!("{name} = 0, expected at least 1")),
                checker,
            );
        }
        (value > 0).then_some(value)
    }

    fn size(&self, key: &str, size: Bytes, checker: &mut Checker<'_>) -> Option<Bytes> {
        if size == Bytes::ZERO || size > ENDLESS {
            let message = format!("flows of {size}, expected 1 B to {ENDLESS}");
            self.error(key, Diagnostic::error(Code::OutOfRange, message), checker);
            return None;
        }
        Some(size)
    }

    fn hosts(&self, key: &str, names: Option<&Names>, checker: &mut Checker<'_>) -> Option<Vec<HostId>> {
        select::hosts(&self.ground.network.topology, names)
            .map_err(|error| self.error(key, error, checker))
            .ok()
    }

    /// Hosts that exchange something among each other: at least two.
    fn among(&self, names: Option<&Names>, key: &str, checker: &mut Checker<'_>) -> Option<Vec<HostId>> {
        let hosts = self.hosts(&format!("{key}.among"), names, checker)?;
        if hosts.len() < 2 {
            self.error(
                key,
                Diagnostic::error(Code::NoTraffic, "only one host takes part, expected at least 2"),
                checker,
            );
            return None;
        }
        Some(hosts)
    }

    fn pairs(
        &self,
        key: &str,
        between: Between,
        names: (Option<&Names>, Option<&Names>),
        checker: &mut Checker<'_>,
    ) -> Option<Pairs> {
        let from = self.hosts(&format!("{key}.from"), names.0, checker);
        let to = self.hosts(&format!("{key}.to"), names.1, checker);
        let (from, to) = (from?, to?);
        let places = self.ground.places;
        let (partner, place): (_, fn(&Places, HostId) -> u32) = match between {
            Between::Any => (Partner::Any, |_, _| 0),
            Between::SameRack => (Partner::Same, |places, host| places.rack[host.index()]),
            Between::OtherRack => (Partner::Other, |places, host| places.rack[host.index()]),
            Between::SameDc => (Partner::Same, |places, host| places.dc[host.index()]),
            Between::OtherDc => (Partner::Other, |places, host| places.dc[host.index()]),
        };
        let hosts = self.ground.network.topology.hosts().len();
        match Pairs::new(from, &to, partner, hosts, |host| place(places, host)) {
            Ok(pairs) => Some(pairs),
            Err(PairsError::NoSender) => {
                self.error(key, Diagnostic::error(Code::NoTraffic, "no host sends"), checker);
                None
            }
            Err(PairsError::NoPartner(host)) => {
                let name = self.ground.network.topology.host_name(host);
                let message = format!("host \"{name}\" has nobody to send to");
                let help =
                    "look at `between`, `from` and `to`; data centers are told by names that begin with dc";
                self.error(key, Diagnostic::error(Code::Unreachable, message).help(help), checker);
                None
            }
        }
    }

    fn sizes(&mut self, key: &str, source: &SizeSource, checker: &mut Checker<'_>) -> Option<LoadedSizes> {
        match sizes::load(source, |path| self.ground.document.input(path)) {
            Ok(loaded) => {
                self.planned.sizes = Some(loaded.clone());
                Some(loaded)
            }
            Err(rejection) => {
                for diagnostic in rejection.0 {
                    self.error(key, diagnostic, checker);
                }
                None
            }
        }
    }

    fn poisson(&mut self, planned: &mut PlannedTraffic, checker: &mut Checker<'_>) -> Option<Vec<FlowSpec>> {
        let Pattern::Poisson(pattern) = &self.group.pattern else { return None };
        let names = (pattern.from.as_ref(), pattern.to.as_ref());
        let pairs = self.pairs("poisson", pattern.between, names, checker);
        let sizes = self.sizes("poisson.sizes", &pattern.sizes, checker);
        self.load("poisson.load", pattern.load, checker)?;
        let (pairs, sizes) = (pairs?, sizes?);
        let links = self.links_of("poisson.of", &pattern.of, pairs.from(), checker)?;
        let crossed = self.crossings(&pairs, |pair| pair);
        let wire_bytes = mean_wire_bytes(&sizes.sizes, &planned.traffic.groups[self.id.index()].transport);
        let per_second = self.flows_for("poisson", pattern.load, &links, &crossed, wire_bytes, checker)?;
        self.room_for(self.expected(per_second) as u64, "poisson.load", checker)?;
        for (offered, crossed) in planned.offered.iter_mut().zip(&crossed) {
            *offered += per_second * wire_bytes * crossed;
        }
        self.planned.load = Some(self.offered_load(pattern.load, &links, per_second));
        let time = self.start..self.until;
        Some(workload::poisson(self.id, per_second, &sizes.sizes, &pairs, time, &mut self.random))
    }

    fn load(&self, key: &str, load: f64, checker: &mut Checker<'_>) -> Option<()> {
        let fits = load > 0.0 && load <= 100.0;
        if !fits {
            let message =
                format!("load = {load:?}, expected above 0, at most 100 (1 is all the links carry)");
            self.error(key, Diagnostic::error(Code::OutOfRange, message), checker);
        }
        fits.then_some(())
    }

    /// So many flows per second, of `wire_bytes` each on average, load the links to the given degree.
    fn flows_for(
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

    fn offered_load(&self, load: f64, links: &[LinkId], per_second: f64) -> Load {
        let capacity = BitRate::from_bps(u64::try_from(self.capacity(links)).unwrap_or(u64::MAX));
        Load { load, links: links.len(), capacity, per_second }
    }

    /// How many come from beginning to end, on average.
    fn expected(&self, per_second: f64) -> f64 {
        per_second * self.until.saturating_since(self.start).as_secs_f64()
    }

    /// How often one flow crosses each link on average; `way` tells its ends from those of a pair.
    fn crossings(&self, pairs: &Pairs, way: fn((HostId, HostId)) -> (HostId, HostId)) -> Vec<f64> {
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
    fn links_of(
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

    fn random(&mut self, checker: &mut Checker<'_>) -> Option<Vec<FlowSpec>> {
        let Pattern::Random(pattern) = &self.group.pattern else { return None };
        let names = (pattern.from.as_ref(), pattern.to.as_ref());
        let pairs = self.pairs("random", pattern.between, names, checker);
        let flows = self.at_least_one("random.flows", pattern.flows, checker);
        let sizes = self.sizes("random.sizes", &pattern.sizes, checker);
        let (pairs, flows, sizes) = (pairs?, flows?, sizes?);
        self.room_for(flows.into(), "random.flows", checker)?;
        let (start, random) = (self.start, &mut self.random);
        let flows = workload::random(self.id, flows, &sizes.sizes, &pairs, start, pattern.within, random);
        Some(flows.into_iter().filter(|flow| flow.start < self.until).collect())
    }

    fn long_lived(&mut self, checker: &mut Checker<'_>) -> Option<Vec<FlowSpec>> {
        let Pattern::LongLived(pattern) = &self.group.pattern else { return None };
        let names = (pattern.from.as_ref(), pattern.to.as_ref());
        let pairs = self.pairs("long_lived", pattern.between, names, checker);
        let flows = self.at_least_one("long_lived.flows", pattern.flows, checker);
        let size = self.size("long_lived.size", pattern.size.unwrap_or(ENDLESS), checker);
        let (pairs, flows, size) = (pairs?, flows?, size?);
        self.room_for(flows.into(), "long_lived.flows", checker)?;
        let (start, random) = (self.start, &mut self.random);
        let flows = workload::long_lived(self.id, flows, size, &pairs, start, pattern.spread, random);
        Some(flows.into_iter().filter(|flow| flow.start < self.until).collect())
    }

    fn incast(&mut self, checker: &mut Checker<'_>) -> Option<Vec<FlowSpec>> {
        let Pattern::Incast(pattern) = &self.group.pattern else { return None };
        let from = self.hosts("incast.from", pattern.from.as_ref(), checker);
        let to = self.hosts("incast.to", pattern.to.as_ref(), checker);
        let fan_in = self.at_least_one("incast.fan_in", pattern.fan_in, checker);
        let times = self.at_least_one("incast.times", pattern.times, checker);
        let size = self.size("incast.size", pattern.size, checker);
        let (from, to, fan_in, times, size) = (from?, to?, fan_in?, times?, size?);
        let others = to.iter().map(|to| from.len() - usize::from(from.binary_search(to).is_ok()));
        let others = others.min().unwrap_or(0);
        if others < fan_in as usize {
            let message = format!("fan_in = {fan_in}, but only {others} hosts can send at once");
            self.error("incast.fan_in", Diagnostic::error(Code::OutOfRange, message), checker);
            return None;
        }
        let (start, period) = (self.start, pattern.period);
        // Only what starts in time.
        let fit = self.until.saturating_since(start).as_ps().div_ceil(period.as_ps().max(1));
        let times =
            if period == Span::ZERO { times } else { times.min(u32::try_from(fit).unwrap_or(u32::MAX)) };
        self.room_for(u64::from(fan_in) * u64::from(times), "incast", checker)?;
        let (draws, most) = (u64::from(times).saturating_mul(from.len() as u64), checker.limits.draws);
        if draws > most {
            let message = format!(
                "{times} times senders from {} hosts, together {draws}, at most {most} can be drawn",
                from.len()
            );
            self.error("incast", Diagnostic::error(Code::OutOfRange, message), checker);
            return None;
        }
        let random = &mut self.random;
        let flows = workload::incast(self.id, &from, &to, fan_in, size, start, period, times, random);
        Some(flows.into_iter().filter(|flow| flow.start < self.until).collect())
    }

    fn on_off(&mut self, planned: &mut PlannedTraffic, checker: &mut Checker<'_>) -> Option<Vec<FlowSpec>> {
        let Pattern::OnOff(pattern) = &self.group.pattern else { return None };
        let names = (pattern.from.as_ref(), pattern.to.as_ref());
        let pairs = self.pairs("on_off", pattern.between, names, checker);
        let sources = self.at_least_one("on_off.sources", pattern.sources, checker);
        if !narrows_sim::is_link_rate(pattern.rate) {
            let message = format!("rate = {}, expected 1 kb/s to 100 Tb/s", pattern.rate);
            self.error("on_off.rate", Diagnostic::error(Code::OutOfRange, message), checker);
            return None;
        }
        // Each burst begins with a datagram, so shorter ones would send more than `rate`.
        let datagram = self.group.datagram.clone().unwrap_or_default();
        let (on, shortest) = (pattern.on.mean(), pattern.rate.time_to_send(datagram.packet_size()));
        if on < shortest {
            let message =
                format!("on = {on}, expected at least {shortest}, the time of one datagram at this rate");
            self.error("on_off.on", Diagnostic::error(Code::OutOfRange, message), checker);
            return None;
        }
        let (pairs, sources) = (pairs?, sources?);
        self.room_for(sources.into(), "on_off.sources", checker)?;
        let first = planned.traffic.flows.len();
        let mut flows = workload::long_lived(
            self.id,
            sources,
            ENDLESS,
            &pairs,
            Time::NEVER,
            Span::ZERO,
            &mut self.random,
        );
        let (on, off) = (pattern.on.mean().as_secs_f64(), pattern.off.mean().as_secs_f64());
        let rate = pattern.rate.as_f64() / 8.0 * on / (on + off);
        let demands = flows.iter().map(|flow| (flow.from, flow.to, rate));
        for (offered, more) in planned.offered.iter_mut().zip(self.ground.paths.spread(demands)) {
            *offered += more;
        }
        for (number, flow) in flows.iter_mut().enumerate() {
            flow.start = Time::NEVER;
            let (on, off) = (pattern.on, pattern.off);
            let kind = GeneratorKind::OnOff { flow: FlowId::from(first + number), on, off };
            planned.traffic.generators.push(Generator { kind, start: self.start, until: self.until });
        }
        Some(flows)
    }

    fn closed_loop(
        &mut self,
        planned: &mut PlannedTraffic,
        checker: &mut Checker<'_>,
    ) -> Option<Vec<FlowSpec>> {
        let Pattern::ClosedLoop(pattern) = &self.group.pattern else { return None };
        let names = (pattern.from.as_ref(), pattern.to.as_ref());
        let pairs = self.pairs("closed_loop", pattern.between, names, checker);
        let sizes = self.sizes("closed_loop.sizes", &pattern.sizes, checker);
        let clients = self.at_least_one("closed_loop.clients", pattern.clients, checker);
        let parallel = self.at_least_one("closed_loop.parallel", pattern.parallel, checker);
        let (pairs, sizes, clients, parallel) = (pairs?, Arc::new(sizes?.sizes), clients?, parallel?);
        let partners: u64 = pairs.from().iter().map(|from| pairs.partners(*from) as u64).sum();
        let each = u64::from(clients).saturating_mul(parallel.into());
        self.room_for(partners.saturating_mul(each), "closed_loop", checker)?;
        let mut flows = Vec::new();
        for from in pairs.from() {
            for _ in 0..clients {
                let first = planned.traffic.flows.len() + flows.len();
                let never = Time::NEVER;
                let flow =
                    |to| FlowSpec { from: *from, to, group: self.id, start: never, size: sizes.largest() };
                let transfers = |to| std::iter::repeat_n(flow(to), parallel as usize);
                flows.extend(pairs.partners_of(*from).flat_map(transfers));
                let ids = (first..planned.traffic.flows.len() + flows.len()).map(FlowId::from).collect();
                let think = pattern.think;
                let kind =
                    GeneratorKind::ClosedLoop { flows: ids, parallel, sizes: Arc::clone(&sizes), think };
                planned.traffic.generators.push(Generator { kind, start: self.start, until: self.until });
            }
        }
        Some(flows)
    }

    fn trace(
        &mut self,
        file: &Path,
        planned: &mut PlannedTraffic,
        checker: &mut Checker<'_>,
    ) -> Option<Vec<FlowSpec>> {
        let topology = &self.ground.network.topology;
        let read = |content: Content| trace::read(&content, topology, self.id, self.start, self.room);
        match self.ground.document.input(file).and_then(read) {
            Ok(TraceFlows { flows, dependents }) => Some(self.enter(flows, dependents, planned, checker)),
            Err(rejection) => {
                for diagnostic in rejection.0 {
                    self.error("trace.file", diagnostic, checker);
                }
                None
            }
        }
    }

    /// Enters flows that wait for others. Returns those that may start in time.
    fn enter(
        &self,
        flows: Vec<FlowSpec>,
        dependents: Vec<Dependent>,
        planned: &mut PlannedTraffic,
        checker: &mut Checker<'_>,
    ) -> Vec<FlowSpec> {
        let waits: BTreeSet<_> = dependents.iter().map(|dependent| dependent.flow).collect();
        let mut next = planned.traffic.flows.len();
        let mut number = |(place, flow): (usize, &FlowSpec)| {
            let takes_part = flow.start < self.until || waits.contains(&FlowId::from(place));
            takes_part.then(|| {
                next += 1;
                FlowId::from(next - 1)
            })
        };
        let numbers: Vec<_> = flows.iter().enumerate().map(&mut number).collect();
        for dependent in dependents {
            let to = flows[dependent.flow.index()].from;
            let far = dependent.after.iter().find(|(flow, milestone)| {
                let flow = &flows[flow.index()];
                let from = if *milestone == Milestone::Received { flow.to } else { flow.from };
                from != to && !self.ground.paths.reaches(from, to)
            });
            if far.is_some() {
                let name = self.ground.network.topology.host_name(to);
                let message = format!("no path leads to \"{name}\" from a host whose flow it waits for");
                checker.error(&self.path, Diagnostic::error(Code::Unreachable, message));
                break;
            }
            let Some(flow) = numbers[dependent.flow.index()] else { continue };
            // What does not take part never happens.
            let after = dependent.after.iter();
            let after = after.filter_map(|(flow, milestone)| Some((numbers[flow.index()]?, *milestone)));
            let after = after.collect();
            planned.traffic.dependents.push(Dependent { flow, after, until: self.until, ..dependent });
        }
        flows.into_iter().zip(numbers).filter_map(|(flow, number)| number.map(|_| flow)).collect()
    }

    /// Every flow must have a path, there and back.
    fn check_reachable(&self, flows: &[FlowSpec], checker: &mut Checker<'_>) {
        let topology = &self.ground.network.topology;
        let lost = flows.iter().find(|flow| {
            let reaches = |from, to| self.ground.paths.reaches(from, to);
            !reaches(flow.from, flow.to) || !reaches(flow.to, flow.from)
        });
        if let Some(flow) = lost {
            let (from, to) = (topology.host_name(flow.from), topology.host_name(flow.to));
            let message = format!("no path leads from \"{from}\" to \"{to}\" and back");
            checker.error(&self.path, Diagnostic::error(Code::Unreachable, message));
        }
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
fn mean_wire_bytes(sizes: &Sizes, transport: &Transport) -> f64 {
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
