//! From scenario to plan: every check happens here. After this an error is a bug.

mod controls;
mod cost;
mod custom;
mod kept;
mod limits;
mod lossless;
mod memory;
mod near_source;
mod network;
mod rack;
mod room;
mod segments;
mod select;
mod signals;
mod telemetry;
mod trace;
mod traffic;

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use narrows_proto::cc::custom::Maker;
use narrows_proto::units::{BitRate, Bytes, Span, Time};
use narrows_sim::topology::{NodeKind, Topology};
use narrows_sim::traffic::{FlowSpec, Rpc, Traffic};
use narrows_sim::{FlowId, HostId, LinkId, Network, NodeId, Paths, Stop};

pub(crate) use kept::MOST_EVENTS;
pub use limits::Limits;
pub use memory::available as available_memory;
pub use segments::Segment;
pub(crate) use select::{Places, matches};
pub use trace::{TraceFlows, parse_trace};
pub(crate) use traffic::ENDLESS;

use crate::diagnostic::{Checked, Code, Diagnostic, Rejection, Severity};
use crate::document::{Document, MOST_MISTAKES};
use crate::inputs::{self, Input};
use crate::metrics::{self, Kind};
use crate::scenario::{self, Names, Pairing, Pattern, Scenario};
use crate::sizes::LoadedSizes;

/// A checked scenario, ready to run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What it was made from. It names files as its results keep them; see [`Input::path`].
    pub scenario: Scenario,
    /// The scenario as it is run, every setting in it, overrides applied.
    pub text: String,
    /// The files that it names, as they were read.
    pub inputs: Vec<Input>,
    /// The network.
    pub network: Network,
    /// The traffic.
    pub traffic: Traffic,
    /// What the traffic groups come to, in the order of [`Traffic::groups`].
    pub groups: Vec<PlannedGroup>,
    /// When the run ends.
    pub stop: Stop,
    /// Flows that start in this time count.
    pub measured: Range<Time>,
    /// By directed link its segment, if the network has several data centers.
    pub segments: Option<Vec<Segment>>,
    /// What is recorded.
    pub record: Recording,
    /// What is suspicious.
    pub warnings: Vec<Diagnostic>,
    /// What is as well to know of settings that were left out. Not a part of results: their scenario leaves none out.
    pub notes: Vec<Diagnostic>,
    /// What all flows are drawn from, if not all are drawn.
    undrawn: Option<Box<(Document, Limits)>>,
}

/// What a traffic group comes to.
#[derive(Clone, Debug)]
pub struct PlannedGroup {
    /// Its name.
    pub name: String,
    /// Its congestion control, or "datagrams".
    pub control: String,
    /// Its pattern.
    pub pattern: &'static str,
    /// Its flows; of an outline those that are drawn.
    pub flows: Range<usize>,
    /// What is to be expected, if not all of its flows are drawn.
    pub expected: Option<Expected>,
    /// Its size distribution, if it draws sizes.
    pub sizes: Option<LoadedSizes>,
    /// Its load, if it has one.
    pub load: Option<Load>,
    /// Its calls in [`Traffic::rpcs`], if it makes remote procedure calls.
    pub rpcs: Option<Range<usize>>,
    /// How its hosts are paired, if it has settings for that.
    pub pairing: Option<PlannedPairing>,
}

/// How hosts are paired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlannedPairing {
    /// The first sender with the first receiver, and so on.
    InOrder,
    /// As the scenario lists them.
    Listed,
    /// At random.
    Random,
}

impl PlannedPairing {
    /// The setting that gives it again.
    fn setting(self) -> Option<Pairing> {
        match self {
            Self::InOrder => Some(Pairing::InOrder),
            Self::Listed => None,
            Self::Random => Some(Pairing::Random),
        }
    }
}

impl fmt::Display for PlannedPairing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::InOrder => "paired in order",
            Self::Listed => "pairs listed",
            Self::Random => "paired at random",
        })
    }
}

/// What a [`Load`] is a fraction of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadOf {
    /// Data packets on the wire.
    Wire,
    /// Payload.
    Payload,
    /// All packets: data, handshakes, acknowledgments.
    Utilization,
}

impl LoadOf {
    /// In a word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Wire => "wire",
            Self::Payload => "payload",
            Self::Utilization => "utilization",
        }
    }
}

/// What the flows of a group come to that are not all drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Expected {
    /// How many, in the mean.
    pub flows: f64,
    /// Flows of one arrival: those of a remote procedure call or an incast, otherwise 1.
    pub per_arrival: u32,
    /// Arrivals are random, so that it is the mean that is known.
    pub is_random: bool,
}

impl Expected {
    /// So many flows at the most: more come with a probability below 10^-9, as the number of arrivals has a Poisson distribution.
    pub fn most(self) -> u64 {
        const DEVIATIONS: f64 = 6.5;
        let arrivals = self.flows / f64::from(self.per_arrival);
        let more = if self.is_random { DEVIATIONS * (arrivals.sqrt() + DEVIATIONS) } else { 0.0 };
        ((arrivals + more) * f64::from(self.per_arrival)) as u64
    }
}

impl PlannedGroup {
    /// How many flows it has, or is expected to have.
    pub fn expected_flows(&self) -> f64 {
        self.expected.map_or(self.flows.len() as f64, |expected| expected.flows)
    }
}

/// An offered load.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Fraction of what the links carry.
    pub load: f64,
    /// What was counted.
    pub counts: LoadOf,
    /// How many links.
    pub links: usize,
    /// What they carry together.
    pub capacity: BitRate,
    /// Flows per second, or remote procedure calls.
    pub per_second: f64,
}

/// What is recorded besides flows.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// Interval and ports.
    pub queues: Option<(Span, Vec<LinkId>)>,
    /// Interval and links.
    pub links: Option<(Span, Vec<LinkId>)>,
    /// Interval and flows.
    pub windows: Option<(Span, Vec<FlowId>)>,
    /// Interval and nodes.
    pub limiters: Option<(Span, Vec<NodeId>)>,
    /// Switches whose queues for isolated flows are recorded.
    pub isolation: Option<Vec<NodeId>>,
    /// Nodes whose JumboFlows and advertised rates are recorded, and how often.
    pub racks: Option<(Span, Vec<NodeId>)>,
}

/// Collects what is wrong.
pub(crate) struct Checker<'a> {
    document: &'a Document,
    limits: Limits,
    errors: Vec<Diagnostic>,
    warnings: Vec<Diagnostic>,
    /// Mistakes beyond [`MOST_MISTAKES`].
    unlisted: usize,
}

impl Checker<'_> {
    /// How many mistakes there were so far.
    fn mistakes(&self) -> usize {
        self.errors.len() + self.unlisted
    }

    /// It is of no use to look for more mistakes.
    fn is_full(&self) -> bool {
        self.unlisted > 0
    }

    /// Notes a mistake; where the diagnostic has no place of its own, it is that of the value at `path`.
    fn error(&mut self, path: &str, diagnostic: Diagnostic) {
        if self.errors.len() >= MOST_MISTAKES {
            self.unlisted += 1;
            return;
        }
        let place = diagnostic.place.clone().or_else(|| self.document.place(path));
        let diagnostic = diagnostic.at(place);
        match diagnostic.severity {
            Severity::Error => self.errors.push(diagnostic),
            Severity::Warning => self.warnings.push(diagnostic),
        }
    }

    fn rejection(mut self) -> Rejection {
        if let Some(last) = self.errors.last().filter(|_| self.unlisted > 0) {
            self.errors.push(Diagnostic::error(last.code, "there are more mistakes than these"));
        }
        Rejection(self.errors)
    }
}

/// No run is longer than this: picoseconds fit 64 bits with room for sums.
pub const LONGEST: Span = Span::from_secs(30 * 86_400);

impl Plan {
    /// Checks the scenario of a document and lays everything out.
    ///
    /// # Errors
    /// With every mistake that could be found, up to a hundred.
    pub fn new(document: Document) -> Checked<Self> {
        Self::within(document, Limits::default())
    }

    /// The same with other limits than usual.
    ///
    /// # Errors
    /// As [`Plan::new`].
    pub fn within(document: Document, limits: Limits) -> Checked<Self> {
        Arc::new(Self::outline_within(document, limits)?).drawn().map(Arc::unwrap_or_clone)
    }

    /// Checks the scenario of a document and lays everything out but the flows of groups that have many, one after the other as
    /// long as the run lasts: of those only the first are drawn, so that neither time nor memory depends on how long that is.
    /// [`Plan::drawn`] has all of them. If there are not many, all are drawn here.
    ///
    /// # Errors
    /// As [`Plan::new`].
    pub fn outline(document: Document) -> Checked<Self> {
        Self::outline_within(document, Limits::default())
    }

    /// The same with other limits than usual.
    ///
    /// # Errors
    /// As [`Plan::new`].
    pub fn outline_within(document: Document, limits: Limits) -> Checked<Self> {
        let mut plan = Self::lay_out(document.clone(), limits, false)?;
        if plan.groups.iter().any(|group| group.expected.is_some()) {
            plan.undrawn = Some(Box::new((document, limits)));
        }
        Ok(plan)
    }

    /// All flows are drawn.
    pub fn is_drawn(&self) -> bool {
        self.undrawn.is_none()
    }

    /// The plan with all its flows, and all warnings.
    ///
    /// # Errors
    /// If there is something wrong with those that were not drawn before.
    pub fn drawn(self: Arc<Self>) -> Checked<Arc<Self>> {
        let Some(undrawn) = &self.undrawn else { return Ok(self) };
        let (document, limits) = (**undrawn).clone();
        Self::lay_out(document, limits, true).map(Arc::new)
    }

    /// Checks and lays out, with all flows or the first of many.
    fn lay_out(mut document: Document, limits: Limits, all: bool) -> Checked<Self> {
        let mut scenario = Scenario::from_document(&mut document)?;
        let (errors, warnings) = (Vec::new(), Vec::new());
        let mut checker = Checker { document: &document, limits, errors, warnings, unlisted: 0 };
        custom::attach(&mut scenario, &mut checker);
        check_times(&scenario, &mut checker);
        check_names(&scenario, &mut checker);
        let cnps = scenario.traffic.iter().filter_map(|group| group.rdma.as_ref()?.cnp_priority);
        let agents = scenario.switches.values().filter_map(|switch| switch.rack_agent.as_ref());
        let messages = agents.map(|agent| agent.message_priority);
        let priorities: BTreeSet<u8> =
            scenario.traffic.iter().map(|group| group.priority).chain(cnps).chain(messages).collect();
        let Some(network) = network::build(&scenario, priorities.len(), &mut checker) else {
            return Err(checker.rejection());
        };
        let places = Places::new(&network.topology);
        let end = Time::ZERO + scenario.stop.after;
        let paths = Paths::new(&network.topology, network.routing, scenario.seed);
        let ground = traffic::Ground {
            network: &network,
            paths: &paths,
            places: &places,
            document: &document,
            seed: scenario.seed,
            end,
            most: if all { u64::MAX } else { limits.outlined_of(scenario.traffic.len()) },
        };
        let planned = traffic::build(&scenario, &ground, &mut checker);
        let no_flow = planned.traffic.flows.is_empty();
        if no_flow && checker.errors.is_empty() {
            checker
                .error("traffic", Diagnostic::error(Code::NoTraffic, "nothing is sent: there is no traffic"));
        }
        room::check(&scenario, &network, &planned.traffic, &mut checker);
        signals::check_with_traffic(&network, &planned.traffic, &mut checker);
        lossless::check_network(&scenario, &mut checker);
        warn_of_overload(&network, &planned, &mut checker);
        let record = recording(&scenario, &network, &planned, &mut checker);
        let segments = segments::segments(&network.topology);
        check_expectations(&scenario, segments.is_some(), &mut checker);
        let measured = Time::ZERO + scenario.measure.from
            ..scenario.measure.until.map_or(end + Span::from_ps(1), |until| Time::ZERO + until);
        let drain = scenario.stop.drain;
        let stop = Stop { at: end + drain, when_drained: drain > Span::ZERO };
        // Flows that are not drawn may be measured, and may start late.
        if planned.groups.iter().all(|group| group.expected.is_none()) {
            warn_of_nothing_measured(&planned.traffic, &measured, stop.at, &mut checker);
            warn_of_short_run(&network, &planned.traffic, &measured, stop.at, &mut checker);
        }
        rack::check(&network, &paths, &planned.traffic, &mut checker);
        if !checker.errors.is_empty() {
            return Err(checker.rejection());
        }
        controls::check(&scenario, &network, &planned, &mut checker);
        near_source::check(&network, &paths, &planned.traffic, &planned.groups, &mut checker);

        telemetry::check(&network, &paths, &planned.traffic, &mut checker);
        let warnings = checker.warnings;
        drop(paths);
        let inputs = inputs::collect(&mut scenario, &document)?;
        let classes = network.topology.nodes().iter().filter_map(|node| match &node.kind {
            NodeKind::Switch { class, .. } => Some(class.as_str()),
            NodeKind::Host(_) => None,
        });
        scenario.complete(classes);
        let traffic::PlannedTraffic { mut traffic, groups, .. } = planned;
        for (group, planned) in scenario.traffic.iter_mut().zip(&groups) {
            group.pattern.note(planned.pairing.and_then(PlannedPairing::setting));
        }
        traffic.measured = measured.clone();
        let mut plan = Self {
            text: scenario.to_toml(),
            inputs,
            network,
            traffic,
            groups,
            stop,
            measured,
            segments,
            record,
            warnings,
            notes: Vec::new(),
            scenario,
            undrawn: None,
        };
        plan.notes.extend(plan.cut_windows(&document));
        Ok(plan)
    }

    /// The same scenario with another seed.
    ///
    /// # Errors
    /// As [`Plan::new`].
    pub fn with_seed(document: &Document, seed: u64) -> Checked<Self> {
        let mut document = document.clone();
        document.set(&format!("seed={seed}"))?;
        Self::new(document)
    }

    /// Names of all metrics that its results will have.
    pub fn metric_names(&self) -> Vec<String> {
        metric_names(&self.scenario, self.segments.is_some())
    }

    /// How much memory the run will need at the most, on so many threads.
    pub fn memory(&self, threads: usize) -> Bytes {
        let inputs: u64 = self.inputs.iter().map(|input| input.content.text().len() as u64).sum();
        memory::estimate(self, threads as u64).saturating_add(Bytes::new(inputs))
    }

    /// Memory of its flows before it is run, all of them drawn.
    pub(crate) fn memory_of_flows(&self) -> Bytes {
        // The list grows by doubling.
        Bytes::new(self.most_flows().saturating_mul(2 * size_of::<FlowSpec>() as u64))
    }

    /// How many flows it has, or is expected to have.
    pub fn expected_flows(&self) -> f64 {
        self.groups.iter().map(PlannedGroup::expected_flows).sum()
    }

    /// How many flows it has, or hardly ever will have more than.
    pub fn most_flows(&self) -> u64 {
        let most = |group: &PlannedGroup| group.expected.map_or(group.flows.len() as u64, Expected::most);
        self.groups.iter().map(most).fold(0, u64::saturating_add)
    }

    /// How much work the run will be: roughly the packet-hops that are to be expected.
    pub fn cost(&self) -> f64 {
        cost::estimate(self)
    }

    /// A control that is not built in has failed; see [`Maker::has_failed`].
    pub fn has_failed_control(&self) -> bool {
        self.makers().any(|maker| maker.has_failed())
    }

    /// What makes controls that are not built in.
    pub(crate) fn makers(&self) -> impl Iterator<Item = &Arc<dyn Maker>> {
        let controls = self.traffic.groups.iter().filter_map(|group| group.transport.control()?.custom());
        controls.filter_map(|control| control.maker.0.as_ref())
    }

    /// What to know of groups whose flows are recorded only in part, unless the document says how many are.
    pub(crate) fn cut_windows(&self, document: &Document) -> Option<Diagnostic> {
        const SHOWN: usize = 3;
        let windows = self.scenario.record.windows.as_ref()?;
        if document.says("record.windows.flows") {
            return None;
        }
        let most = windows.flows.0 as usize;
        let cut: Vec<_> =
            self.groups.iter().filter(|group| windows.has(&group.name) && group.flows.len() > most).collect();
        let all =
            cut.iter().map(|group| group.expected.map_or(group.flows.len() as u64, Expected::most)).max()?;
        let shown = cut.iter().take(SHOWN).map(|group| {
            let about = if group.expected.is_some() { "about " } else { "" };
            format!("{about}{:.0} of \"{}\"", group.expected_flows(), group.name)
        });
        let shown = shown.collect::<Vec<_>>().join(", ");
        let more =
            if cut.len() > SHOWN { format!(" and {} more groups", cut.len() - SHOWN) } else { String::new() };
        let message =
            format!("windows are recorded of the first {most} flows of a group only: of {shown}{more}");
        let help = format!("set record.windows.flows: {all} records all, {most} is what is done now");
        let note = Diagnostic::warning(Code::SomeWindows, message).help(help);
        Some(note.at(document.place("record.windows")))
    }

    /// All that is told before a run.
    pub fn told(&self) -> impl Iterator<Item = &Diagnostic> {
        self.warnings.iter().chain(&self.notes)
    }

    /// What is suspicious, in words.
    pub fn warning_texts(&self) -> Vec<String> {
        self.warnings.iter().map(|warning| warning.message.clone()).collect()
    }

    /// One line about the network: `cross_dc · 64 hosts · 8 switches`.
    pub fn describe_network(&self) -> String {
        let kind = match &self.scenario.topology {
            scenario::Topology::Dumbbell(_) => "dumbbell",
            scenario::Topology::Star(_) => "star",
            scenario::Topology::ParkingLot(_) => "parking lot",
            scenario::Topology::LeafSpine(_) => "leaf-spine",
            scenario::Topology::FatTree(_) => "fat tree",
            scenario::Topology::KaryTree(_) => "k-ary n-tree",
            scenario::Topology::CrossDc(_) => "cross-DC",
            scenario::Topology::Explicit(_) => "explicit",
        };
        let topology = &self.network.topology;
        let (hosts, nodes) = (topology.hosts().len(), topology.nodes().len());
        let count = |number: usize, one: &str, many: &str| {
            format!("{number} {}", if number == 1 { one } else { many })
        };
        let (hosts, switches) = (count(hosts, "host", "hosts"), count(nodes - hosts, "switch", "switches"));
        format!("{kind} · {hosts} · {switches}")
    }
}

fn check_times(scenario: &Scenario, checker: &mut Checker<'_>) {
    let whole = scenario.stop.after + scenario.stop.drain;
    if scenario.stop.after == Span::ZERO {
        let message = "the run ends before it begins: after = 0 s";
        checker.error("stop.after", Diagnostic::error(Code::OutOfRange, message));
    }
    if whole > LONGEST {
        let message = format!("the run would take {whole}, at most {LONGEST} can be simulated");
        checker.error("stop", Diagnostic::error(Code::OutOfRange, message));
    }
    let measure = &scenario.measure;
    if measure.until.is_some_and(|until| until <= measure.from) {
        let message = format!(
            "until = {}, expected later than from = {}",
            measure.until.unwrap_or_default(),
            measure.from
        );
        checker.error("measure.until", Diagnostic::error(Code::OutOfRange, message));
    }
}

fn check_names(scenario: &Scenario, checker: &mut Checker<'_>) {
    if let Some(problem) = bad_name(&scenario.name) {
        checker.error(
            "name",
            Diagnostic::error(Code::OutOfRange, format!("the name \"{}\" {problem}", scenario.name)),
        );
    }
    let mut seen = BTreeSet::new();
    for (number, group) in scenario.traffic.iter().enumerate() {
        let path = format!("traffic.{number}.name");
        let name = &group.name;
        if let Some(problem) = bad_name(name) {
            checker
                .error(&path, Diagnostic::error(Code::OutOfRange, format!("the name \"{name}\" {problem}")));
        } else if name == metrics::TOTAL {
            let message = format!("the name \"{name}\" is taken: it stands for all traffic together");
            checker.error(&path, Diagnostic::error(Code::Duplicate, message));
        } else if !seen.insert(name) {
            checker.error(
                &path,
                Diagnostic::error(Code::Duplicate, format!("two traffic groups are called \"{name}\"")),
            );
        }
        if group.priority > 7 {
            let message = format!("priority = {}, expected 0 to 7", group.priority);
            checker
                .error(&format!("traffic.{number}.priority"), Diagnostic::error(Code::OutOfRange, message));
        }
    }
}

/// Names are used in paths and metrics.
pub(crate) fn bad_name(name: &str) -> Option<&'static str> {
    let good = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    match name {
        "" => Some("is empty"),
        _ if name.len() > 100 => Some("is longer than 100 characters"),
        _ if !name.chars().all(good) => Some("has other characters than letters, digits, - and _"),
        _ => None,
    }
}

/// Warns if open-loop traffic offers a link more than it carries.
fn warn_of_overload(network: &Network, planned: &traffic::PlannedTraffic, checker: &mut Checker<'_>) {
    let utilisation =
        |link: usize| planned.offered[link] * 8.0 / network.topology.links()[link].wire.rate.as_f64();
    let fullest = (0..planned.offered.len()).max_by(|a, b| utilisation(*a).total_cmp(&utilisation(*b)));
    let Some(fullest) = fullest.filter(|link| utilisation(*link) > 1.0) else { return };
    let overloaded = (0..planned.offered.len()).filter(|link| utilisation(*link) > 1.0).count();
    let name = network.topology.link_name(LinkId::from(fullest));
    let percent = 100.0 * utilisation(fullest);
    let message = format!("open-loop traffic offers {percent:.0} % of what the link \"{name}\" carries");
    let warning = Diagnostic::warning(Code::LoadAboveCapacity, message);
    let help =
        format!("{overloaded} of {} directed links are offered more than 100 %", planned.offered.len());
    checker.error("traffic", warning.help(help));
}

/// Warns if nothing counts in a run that lasts until `end`.
fn warn_of_nothing_measured(traffic: &Traffic, measured: &Range<Time>, end: Time, checker: &mut Checker<'_>) {
    let scheduled = traffic.flows.iter().any(|flow| measured.contains(&flow.start));
    // What flows without an end deliver counts, whenever they started.
    let until = measured.end.min(end);
    let endless =
        traffic.flows.iter().any(|flow| flow.size == ENDLESS && flow.start.max(measured.start) < until);
    let generated = traffic.generators.iter().any(|g| g.start < measured.end && g.until > measured.start);
    if !scheduled && !endless && !generated && !traffic.flows.is_empty() {
        let until = if measured.end > end {
            format!("; the run ends at {end}")
        } else {
            format!(", before {}", measured.end)
        };
        let message = format!("no flow starts from {} on{until}", measured.start);
        checker.error("measure", Diagnostic::warning(Code::NothingMeasured, message));
    }
}

/// Warns of flows that could not even be sent before the run ends: they count as unfinished whatever the network does.
fn warn_of_short_run(
    network: &Network,
    traffic: &Traffic,
    measured: &Range<Time>,
    end: Time,
    checker: &mut Checker<'_>,
) {
    let rates = host_rates(&network.topology);
    let rate = |host: HostId| rates[host.index()];
    // Responses cannot begin before their request.
    let responses = traffic.rpcs.iter().copied().flat_map(Rpc::calls).map(|(request, response)| FlowSpec {
        start: traffic.flows[request.index()].start,
        ..traffic.flows[response.index()]
    });
    let counted = traffic.flows.iter().copied().chain(responses);
    let counted = counted.filter(|flow| measured.contains(&flow.start) && flow.size != ENDLESS);
    let counted: Vec<_> = counted.collect();
    let late =
        counted.iter().filter(|flow| flow.start + rate(flow.from).time_to_send(flow.size) > end).count();
    if late > 0 {
        let message =
            format!("{late} of {} flows cannot finish before the run ends, even alone", counted.len());
        let help = "let them finish with stop.drain, or leave late ones out with measure.until";
        checker.error("stop", Diagnostic::warning(Code::ShortRun, message).help(help));
    }
}

/// By host: the rate of its link.
fn host_rates(topology: &Topology) -> Vec<BitRate> {
    let ports = topology.ports();
    topology.hosts().iter().map(|host| topology.link(ports[host.index()][0]).wire.rate).collect()
}

fn recording(
    scenario: &Scenario,
    network: &Network,
    planned: &traffic::PlannedTraffic,
    checker: &mut Checker<'_>,
) -> Recording {
    let record = &scenario.record;
    let mut recording = Recording::default();
    let out_ports = network.topology.ports();
    let ports = |key: &str, record: &scenario::RecordPorts, checker: &mut Checker<'_>| {
        let path = format!("record.{key}");
        check_interval(&path, record.interval, scenario, checker);
        match select::nodes(&network.topology, record.of.as_ref()) {
            Ok(nodes) => {
                let mut links: Vec<_> =
                    nodes.iter().flat_map(|node| out_ports[node.index()].iter().copied()).collect();
                links.sort_unstable();
                Some((record.interval, links))
            }
            Err(error) => {
                checker.error(&format!("{path}.of"), error);
                None
            }
        }
    };
    recording.queues = record.queues.as_ref().and_then(|queues| ports("queues", queues, checker));
    recording.links = record.links.as_ref().and_then(|links| ports("links", links, checker));
    if let Some(limiters) = &record.limiters {
        check_interval("record.limiters", limiters.interval, scenario, checker);
        let everywhere = Names::One("*".into());
        match select::nodes(&network.topology, limiters.of.as_ref().or(Some(&everywhere))) {
            Ok(nodes) => recording.limiters = Some((limiters.interval, nodes)),
            Err(error) => checker.error("record.limiters.of", error),
        }
    }
    if let Some(racks) = &record.racks {
        check_interval("record.racks", racks.interval, scenario, checker);
        let everywhere = Names::One("*".into());
        match select::nodes(&network.topology, racks.of.as_ref().or(Some(&everywhere))) {
            Ok(nodes) => recording.racks = Some((racks.interval, nodes)),
            Err(error) => checker.error("record.racks.of", error),
        }
    }
    if let Some(isolation) = &record.isolation {
        match select::nodes(&network.topology, isolation.of.as_ref()) {
            Ok(nodes) => recording.isolation = Some(nodes),
            Err(error) => checker.error("record.isolation.of", error),
        }
    }
    if let Some(windows) = &record.windows {
        check_interval("record.windows", windows.interval, scenario, checker);
        let names = planned.groups.iter().map(|group| group.name.as_str());
        let of: Vec<_> = windows.of.iter().flat_map(|of| of.iter()).collect();
        for (number, name) in of.iter().enumerate() {
            if !names.clone().any(|group| select::matches(name, group)) {
                let error =
                    Diagnostic::error(Code::UnknownName, format!("no traffic group is called \"{name}\""));
                let path = if of.len() == 1 {
                    "record.windows.of".into()
                } else {
                    format!("record.windows.of.{number}")
                };
                checker.error(&path, error.known(name, names.clone()));
            }
        }
        let most = windows.flows.0 as usize;
        let chosen = planned.groups.iter().filter(|group| windows.has(&group.name));
        let flows = chosen.flat_map(|group| group.flows.clone().take(most));
        recording.windows = Some((windows.interval, flows.map(FlowId::from).collect()));
    }
    recording
}

fn check_interval(path: &str, interval: Span, scenario: &Scenario, checker: &mut Checker<'_>) {
    const MOST: u64 = 100_000_000;
    let shortest = (scenario.stop.after + scenario.stop.drain) / MOST;
    if interval == Span::ZERO || interval < shortest {
        let message =
            format!("interval = {interval}, expected more than {shortest} for a run of this length");
        checker.error(&format!("{path}.interval"), Diagnostic::error(Code::OutOfRange, message));
    }
}

/// Names of all metrics of a scenario, whose network has segments or not.
fn metric_names(scenario: &Scenario, segments: bool) -> Vec<String> {
    let kind = |pattern: &Pattern| {
        Kind::of(matches!(pattern, Pattern::OnOff(_)), matches!(pattern, Pattern::Rpc(_)))
    };
    let groups = scenario.traffic.iter().map(|group| (group.name.as_str(), kind(&group.pattern)));
    metrics::names(groups, scenario.record.queues.is_some(), segments)
}

fn check_expectations(scenario: &Scenario, segments: bool, checker: &mut Checker<'_>) {
    for (number, expect) in scenario.expect.iter().enumerate() {
        let path = format!("expect.{number}");
        for (key, bound) in [("below", expect.below), ("above", expect.above)] {
            if bound.is_some_and(f64::is_nan) {
                let message = format!("{key} = nan, expected a number");
                checker.error(&format!("{path}.{key}"), Diagnostic::error(Code::OutOfRange, message));
            }
        }
        if expect.below.is_none() && expect.above.is_none() {
            let message = format!("nothing is expected of \"{}\"", expect.metric);
            let error = Diagnostic::error(Code::WrongType, message).help("give `below`, `above` or both");
            checker.error(&path, error);
        }
        let known = metric_names(scenario, segments);
        if !known.contains(&expect.metric) {
            let message = format!("no metric is called \"{}\"", expect.metric);
            let error = Diagnostic::error(Code::UnknownName, message);
            let error = error.known(&expect.metric, known.iter().map(String::as_str));
            checker.error(&format!("{path}.metric"), error);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Notes of a scenario with a group of nine flows and one of two.
    fn notes(windows: &str) -> Vec<Diagnostic> {
        let text = format!(
            r#"
            version = 1
            name = "notes"
            stop.after = "1 ms"
            topology.star = {{ hosts = 4, rate = "10 Gb/s", delay = "1 us" }}
            record.windows = {{ interval = "10 us" {windows} }}
            traffic = [
                {{ name = "nine", pattern.long_lived.flows = 9, cc.reno = {{}} }},
                {{ name = "two", pattern.long_lived.flows = 2, cc.reno = {{}} }},
            ]"#
        );
        let document = Document::parse("notes.toml", text, "").expect("TOML");
        Plan::new(document).unwrap_or_else(|error| panic!("{error}")).notes
    }

    #[test]
    fn windows_that_are_left_out_by_default_are_told_with_the_key_that_keeps_them() {
        let [note] = &notes("")[..] else { panic!("one note") };
        assert_eq!(note.code, Code::SomeWindows);
        assert!(note.message.ends_with("the first 8 flows of a group only: of 9 of \"nine\""), "{note}");
        assert!(note.help.as_ref().is_some_and(|help| help.contains("record.windows.flows: 9")), "{note}");
        for told in [", flows = 8", ", flows = 9", ", of = \"two\""] {
            assert_eq!(notes(told), [], "{told}");
        }
    }
}
