//! Traffic groups turned into flows and generators, checked.

mod collective;
mod load;
mod pairing;
mod patterns;
mod rpc;

use narrows_proto::cc::{Config, Ranges, registry};
use narrows_proto::datagram;
use narrows_proto::rdma::Recovery;
use narrows_proto::stream::{self, Endpoint};
use narrows_proto::units::{BitRate, Bytes, Time};
use narrows_sim::traffic::{FlowSpec, Group, NearSource, Traffic, Transport};
use narrows_sim::workload::{self, Pairs, PairsError, Partner};
use narrows_sim::{GroupId, HostId, Network, Paths, Purpose, Stream};

use super::select::{self, Places};
use super::{Checker, ENDLESS, PlannedGroup};
use crate::diagnostic::{Code, Diagnostic};
use crate::document::Document;
use crate::mechanism::{self, near_source};
use crate::scenario::{Between, Names, Pattern, Scenario, SizeSource};
use crate::sizes::{self, LoadedSizes};

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
    /// No more flows are drawn of a group that has one after the other as long as the run lasts.
    pub(super) most: u64,
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
                expected: None,
                sizes: None,
                load: None,
                rpcs: None,
                collective: None,
                pairing: None,
                possible: None,
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
        Pattern::Collective(_) => "collective",
        Pattern::Schedule(_) => "schedule",
        Pattern::Attached(_) => "attached",
    }
}

/// Transport of a group's flows, if its settings make sense.
fn transport(
    group: &crate::scenario::Traffic,
    number: usize,
    ground: &Ground<'_>,
    checker: &mut Checker<'_>,
) -> Option<(Transport, Option<NearSource>)> {
    let path = format!("traffic.{number}");
    if let Pattern::OnOff(on_off) = &group.pattern {
        return Some((datagrams(group, on_off.rate, &path, checker)?, None));
    }
    if group.datagram.is_some() {
        let message =
            format!("traffic \"{}\" has connections, `datagram` is for the pattern on_off", group.name);
        checker.error(&format!("{path}.datagram"), Diagnostic::error(Code::Conflict, message));
    }
    let Some(cc) = &group.cc else {
        let message = format!("traffic \"{}\" has no congestion control", group.name);
        let help = format!("for example cc = {{ cubic = {{}} }}; known: {}", registry::NAMES.join(", "));
        checker.error(&path, Diagnostic::error(Code::WrongType, message).help(help));
        return None;
    };
    let before = checker.mistakes();
    let (cc, path_of_cc, near_source) =
        near_source::split(cc, &format!("{path}.cc"), ground.network, ground.places, checker);
    if checker.mistakes() > before {
        return None;
    }
    checker.in_range(&format!("{path_of_cc}.{}", cc.name()), cc.check(&mut Ranges::default()));
    let transport = match &group.rdma {
        Some(params) => {
            checker.in_range(&format!("{path}.rdma"), params.check(&mut Ranges::default()));
            let transport = Transport::Rdma { params: params.clone(), cc: cc.clone() };
            if transport.has_credits() {
                check_credits(&group.name, &transport, near_source.is_some(), &path, ground, checker);
            }
            if transport.has_queue_pairs() {
                check_queue_pairs(&group.name, &transport, near_source.is_some(), &path, ground, checker);
            }
            transport
        }
        None => {
            if cc.needs_rdma() {
                let message = format!("{cc} needs RDMA, but traffic \"{}\" has streams", group.name);
                let error = Diagnostic::error(Code::Conflict, message).help("add rdma = {} to this traffic");
                checker.error(&path_of_cc, error);
            }
            checker.in_range(&format!("{path}.transport"), group.transport.check(&mut Ranges::default()));
            check_ecn(group, cc, &path, checker);
            Transport::Stream { params: group.transport.clone(), cc: cc.clone() }
        }
    };
    (checker.mistakes() == before).then_some((transport, near_source))
}

/// Settings that only scalable controls have a use for.
fn check_ecn(group: &crate::scenario::Traffic, cc: &Config, path: &str, checker: &mut Checker<'_>) {
    let stream::Params { l4s, accurate_ecn, .. } = group.transport;
    for (setting, set) in [("l4s = true", l4s), ("accurate_ecn is set", accurate_ecn.is_some())] {
        if !set || cc.ecn().is_accurate() {
            continue;
        }
        let message = format!(
            "{setting}, but {cc} is not notified of every mark: traffic \"{}\" is classic",
            group.name
        );
        let name = setting.split(' ').next().unwrap_or_default();
        let help = format!("leave out {name}, or use a scalable control such as prague or dctcp");
        let error = Diagnostic::error(Code::Conflict, message).help(help);
        checker.error(&format!("{path}.transport.{name}"), error);
    }
}

/// The mechanism that holds back single flows of a group, if one does.
fn holder(transport: &Transport, near_source: bool, ground: &Ground<'_>) -> Option<&'static str> {
    mechanism::all().find_map(|mechanism| mechanism.holds_flows(transport, near_source, ground.network))
}

/// Requests for credit travel in packets that their flow sends itself, and are for receivers that take any order.
fn check_credits(
    name: &str,
    transport: &Transport,
    near_source: bool,
    path: &str,
    ground: &Ground<'_>,
    checker: &mut Checker<'_>,
) {
    let Transport::Rdma { params, cc } = transport else { return };
    if params.recovery != Recovery::AnyOrder {
        let message =
            format!("{cc} of traffic \"{name}\" has credits, which need packets taken in any order");
        let help = format!("set traffic.{name}.rdma.recovery = \"any_order\"");
        checker
            .error(&format!("{path}.rdma.recovery"), Diagnostic::error(Code::Conflict, message).help(help));
    }
    if let Some(what) = holder(transport, near_source, ground) {
        let message = format!(
            "traffic \"{name}\" has credits, and {what} sends packets of its flows without their requests"
        );
        let error = Diagnostic::error(Code::Conflict, message).help("leave out one of them");
        checker.error(&format!("{path}.cc"), error);
    }
}

/// Mechanisms that hold back single flows know nothing of messages that share a connection.
fn check_queue_pairs(
    name: &str,
    transport: &Transport,
    near_source: bool,
    path: &str,
    ground: &Ground<'_>,
    checker: &mut Checker<'_>,
) {
    if let Some(what) = holder(transport, near_source, ground) {
        let message = format!(
            "traffic \"{name}\" has queue pairs, and {what} holds back single flows, which messages of one are not"
        );
        let error = Diagnostic::error(Code::Conflict, message).help("leave out queue_pair");
        checker.error(&format!("{path}.rdma.queue_pair"), error);
    }
}

/// Datagrams at a rate.
fn datagrams(
    group: &crate::scenario::Traffic,
    rate: BitRate,
    path: &str,
    checker: &mut Checker<'_>,
) -> Option<Transport> {
    let path_of = datagram::Params::default().path(Endpoint { link: rate, seed: 0 });
    let has_rules = |config: &Config| config.build_for_datagrams(&path_of).is_some();
    let governing: Vec<_> = Config::all().into_iter().filter(has_rules).collect();
    let governing: Vec<_> = governing.iter().map(Config::name).collect();
    let cc = match &group.cc {
        Some(config) if governing.contains(&config.name()) => Some(config.clone()),
        None => None,
        Some(_) => {
            let message = format!(
                "traffic \"{}\" sends datagrams, which have no congestion control but {}",
                group.name,
                governing.join(", ")
            );
            checker.error(&format!("{path}.cc"), Diagnostic::error(Code::Conflict, message));
            None
        }
    };
    if let Some(config) = &cc
        && !checker.in_range(&format!("{path}.cc.{}", config.name()), config.check(&mut Ranges::default()))
    {
        return None;
    }
    if group.rdma.is_some() {
        let message = format!("traffic \"{}\" sends datagrams, `rdma` is for connections", group.name);
        checker.error(&format!("{path}.rdma"), Diagnostic::error(Code::Conflict, message));
    }
    let params = group.datagram.clone().unwrap_or_default();
    if let Err(error) = params.check(&mut Ranges::default()) {
        let path = format!("{path}.datagram.{}", error.setting);
        let help = match error.setting {
            "socket_buffer" => format!("a datagram takes {}", params.packet_size()),
            _ => String::new(),
        };
        let error = Diagnostic::error(Code::OutOfRange, error.to_string());
        checker.error(&path, if help.is_empty() { error } else { error.help(help) });
        return None;
    }
    Some(Transport::Datagram { params, rate, cc })
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
        let before: f64 = planned.groups.iter().map(PlannedGroup::expected_flows).sum();
        self.room = checker.limits.flows.saturating_sub(before as u64);
        let flows = match &group.pattern {
            Pattern::Poisson(_) => self.poisson(planned, checker),
            Pattern::Random(_) => self.random(checker),
            Pattern::LongLived(_) => self.long_lived(checker),
            Pattern::Incast(_) => self.incast(checker),
            Pattern::Permutation(pattern) => {
                self.among(pattern.among.as_ref(), "permutation", checker).and_then(|hosts| {
                    self.room_for(hosts.len() as u64, "permutation", checker)?;
                    let size = self.size("permutation.size", pattern.size.unwrap_or(ENDLESS), checker)?;
                    let flows = workload::permutation(self.id, &hosts, size, self.start, &mut self.random);
                    Some(self.staggered(flows, pattern.start_every))
                })
            }
            Pattern::AllToAll(pattern) => {
                self.among(pattern.among.as_ref(), "all_to_all", checker).and_then(|hosts| {
                    self.room_for(hosts.len() as u64 * (hosts.len() as u64 - 1), "all_to_all", checker)?;
                    let size = self.size("all_to_all.size", pattern.size, checker)?;
                    let flows = workload::all_to_all(self.id, &hosts, size, self.start);
                    Some(self.staggered(flows, pattern.start_every))
                })
            }
            Pattern::OnOff(_) => self.on_off(planned, checker),
            Pattern::ClosedLoop(_) => self.closed_loop(planned, checker),
            Pattern::Rpc(_) => self.rpc(planned, checker),
            Pattern::Trace(pattern) => self.trace(&pattern.file, planned, checker),
            Pattern::Collective(_) => self.collective(planned, checker),
            Pattern::Schedule(_) => self.schedule(planned, checker),
            Pattern::Attached(_) => {
                self.pairs("attached", Between::Any, (None, None), checker);
                None
            }
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
        &mut self,
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
            Ok(pairs) => {
                self.planned.possible = Some(pairs.clone());
                Some(pairs)
            }
            Err(PairsError::NoSender) => {
                self.error(key, Diagnostic::error(Code::NoTraffic, "no host sends"), checker);
                None
            }
            Err(PairsError::NoPartner(host)) => {
                let name = self.ground.network.topology.host_name(host);
                let message = format!("host \"{name}\" has nobody to send to");
                let help = "look at `between`, `from` and `to`; names of data centers begin with dc";
                self.error(key, Diagnostic::error(Code::Unreachable, message).help(help), checker);
                None
            }
        }
    }

    fn sizes(&mut self, key: &str, source: &SizeSource, checker: &mut Checker<'_>) -> Option<LoadedSizes> {
        match sizes::load(source, |path| self.ground.document.input(path)) {
            Ok(loaded) => {
                if let Some(warning) = loaded.doubt(source, &self.group.name) {
                    self.error(key, warning, checker);
                }
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
