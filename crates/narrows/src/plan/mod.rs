//! From scenario to plan: every check happens here. After this an error is a bug.

mod behind;
mod bursts;
mod checker;
mod controls;
mod cost;
mod custom;
mod drawn;
mod expectations;
mod explicit;
mod facts;
mod hosts;
mod inputs;
mod kept;
mod lasting;
mod limits;
mod links;
mod lossless;
mod memory;
mod names;
mod network;
mod overview;
mod pairs;
mod paths;
mod planned;
mod profiles;
mod recording;
mod room;
pub(crate) mod rows;
mod schedule;
mod segments;
mod select;
mod signals;
mod switches;
mod thresholds;
mod trace;
mod traffic;
mod warnings;

use std::collections::BTreeSet;
use std::sync::Arc;

use narrows_proto::units::{Bytes, Span, Time};
use narrows_sim::topology::{Link, NodeKind};
use narrows_sim::{LinkId, Paths, Stop};

pub(crate) use crate::sizes::ENDLESS;
pub(crate) use checker::{At, Checker, LARGEST_FRAME};
pub(crate) use drawn::CLOSE;
pub use drawn::Drawing;
pub use facts::{Facts, GroupFacts, Oversubscription, PortFacts};
pub(crate) use inputs::collect as collect_inputs;
pub(crate) use lasting::SLICES;
pub use limits::Limits;
pub use lossless::StopFacts;
pub use memory::available as available_memory;
pub(crate) use names::bad_name;
pub use paths::{CsvSteps, Listed, MOST_STEPS, PathFacts, parse_csv, parse_mahimahi};
pub(crate) use planned::LIVE_PER_HOST;
pub use planned::{
    Expected, LONGEST, Load, LoadOf, Plan, PlannedCollective, PlannedGroup, PlannedPairing, Recording,
};
pub use segments::Segment;
pub(crate) use select::Places;
pub use trace::{TraceFlows, parse_trace};

use crate::diagnostic::{Checked, Code, Diagnostic};
use crate::document::Document;
use crate::mechanism::{self, Layout};
use crate::scenario::{Pattern, Scenario, Traffic};

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
        let mut plan = Self::lay_out(document.clone(), limits, None)?;
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
        Self::lay_out(document, limits, Some(&self)).map(Arc::new)
    }

    /// Checks and lays out: all flows if there is an outline of the plan, otherwise the first of many.
    fn lay_out(mut document: Document, limits: Limits, outline: Option<&Self>) -> Checked<Self> {
        let mut scenario = Scenario::from_document(&mut document)?;
        let mut checker = Checker::new(&document, limits);
        custom::attach(&mut scenario, &mut checker);
        check_times(&scenario, &mut checker);
        names::check_names(&scenario, &mut checker);
        let Some(mut network) = network::build(&scenario, priorities(&scenario), &mut checker) else {
            return Err(checker.rejection());
        };
        if let Some(outline) = outline {
            // The same, with its routes.
            network.topology = outline.network.topology.clone();
        }
        let places = Places::new(&network.topology);
        let end = Time::ZERO + scenario.stop.after;
        let paths = Paths::of(&network, scenario.seed);
        let ground = traffic::Ground {
            network: &network,
            paths: &paths,
            places: &places,
            document: &document,
            seed: scenario.seed,
            end,
            most: outline.map_or_else(|| limits.outlined_of(scenario.traffic.len()), |_| u64::MAX),
        };
        let mut planned = traffic::build(&scenario, &ground, &mut checker);
        if checker.errors.is_empty() {
            thresholds::fill_in(&mut scenario, &network, &paths, &mut planned, &mut checker);
        }
        check_something_is_sent(&scenario, &planned.traffic, &mut checker);
        room::check(&scenario, &network, &planned.traffic, &mut checker);
        signals::check_with_traffic(&scenario, &network, &planned.traffic, &mut checker);
        mechanism::all().for_each(|mechanism| mechanism.check_network(&scenario, &network, &mut checker));
        warnings::warn_of_overload(&network, &planned, &mut checker);
        let record = recording::recording(&scenario, &network, &planned, &mut checker);
        let segments = segments::segments(&network.topology);
        expectations::check_expectations(&scenario, segments.is_some(), &mut checker);
        let measured = Time::ZERO + scenario.measure.from
            ..scenario.measure.until.map_or(end + Span::from_ps(1), |until| Time::ZERO + until);
        let drain = scenario.stop.drain;
        let stop = Stop { at: end + drain, when_drained: drain > Span::ZERO };
        // Flows that are not drawn may be measured, and may start late.
        if planned.groups.iter().all(|group| group.expected.is_none()) {
            warnings::warn_of_nothing_measured(&planned.traffic, &measured, stop.at, &mut checker);
            warnings::warn_of_short_run(&network, &planned.traffic, &measured, stop.at, &mut checker);
        }
        let layout = Layout::new(&scenario, &network, &paths, (&planned.traffic, &planned.groups));
        mechanism::all().for_each(|mechanism| mechanism.check_traffic(&layout, &mut checker));
        hosts::check(&network, &paths, &planned.traffic, &mut checker);
        profiles::check(&scenario, &mut checker);
        if !checker.errors.is_empty() {
            return Err(checker.rejection());
        }
        controls::check(&scenario, &network, &planned, &mut checker);
        bursts::check(&network, &paths, &planned, &mut checker);
        mechanism::all().for_each(|mechanism| mechanism.warn(&layout, &mut checker));
        warnings::warn_of_little_room(&network, &paths, &planned, &mut checker);
        warnings::warn_of_few_round_trips(&network, &paths, &planned, &measured, end, &mut checker);
        hosts::warn_of_phase(&network, &paths, &planned.traffic, &mut checker);
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
        traffic.sampled = lasting::samples(&traffic, &groups, measured.start..measured.end.min(stop.at));
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
        plan.notes.extend(plan.cut_flows(&document));
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
        expectations::metric_names(&self.scenario, self.segments.is_some())
    }

    /// The link from one node to another, by their names; none if there is none.
    pub fn link(&self, from: &str, to: &str) -> Option<LinkId> {
        let topology = &self.network.topology;
        let is_it = |link: &Link| topology.node(link.from).name == from && topology.node(link.to).name == to;
        topology.links().iter().position(is_it).map(LinkId::from)
    }

    /// The shortest round trip of any flow on the empty network: hosts may take no longer for a burst. None without flows.
    pub fn shortest_round_trip(&self) -> Option<Span> {
        let paths = Paths::of(&self.network, self.scenario.seed);
        hosts::shortest_round_trip(&self.network, &paths, &self.traffic).map(|(rtt, ..)| rtt)
    }

    /// Memory that the run will need at most, on so many threads.
    pub fn memory(&self, threads: usize) -> Bytes {
        let inputs: u64 = self.inputs.iter().map(|input| input.content.text().len() as u64).sum();
        memory::estimate(self, threads as u64).saturating_add(Bytes::new(inputs))
    }

    /// Estimated number of packets that reach hosts per simulated second, of the traffic groups that `counts` says yes to.
    pub fn arrivals(&self, counts: &dyn Fn(usize) -> bool) -> f64 {
        cost::arrivals(self, counts)
    }

    /// Estimated work of the run: roughly the packet-hops that are to be expected.
    pub fn cost(&self) -> f64 {
        cost::estimate(self)
    }
}

/// Number of priorities that packets have.
fn priorities(scenario: &Scenario) -> usize {
    let messages = mechanism::all().flat_map(|mechanism| mechanism.priorities(scenario));
    let groups = scenario.traffic.iter().flat_map(Traffic::priorities);
    groups.chain(messages).collect::<BTreeSet<u8>>().len()
}

fn check_something_is_sent(
    scenario: &Scenario,
    traffic: &narrows_sim::traffic::Traffic,
    checker: &mut Checker<'_>,
) {
    let is_attached = |group: &crate::scenario::Traffic| matches!(group.pattern, Pattern::Attached(_));
    if traffic.flows.is_empty() && checker.errors.is_empty() && !scenario.traffic.iter().any(is_attached) {
        checker.error("traffic", Diagnostic::error(Code::NoTraffic, "nothing is sent: there is no traffic"));
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
