//! A plan: what is run, and what is known of it before.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use narrows_proto::cc::custom::Maker;
use narrows_proto::units::{BitRate, Bytes, Span, Time};
use narrows_sim::traffic::{FlowSpec, Traffic};
use narrows_sim::workload::Pairs;
use narrows_sim::{FlowId, LinkId, Network, NodeId, Stop};

use super::limits::Limits;
use super::segments::Segment;
use crate::diagnostic::Diagnostic;
use crate::document::Document;
use crate::inputs::Input;
use crate::mechanism::list::mechanisms;
use crate::scenario::{Pairing, Scenario, Topology};
use crate::sizes::LoadedSizes;

/// No run is longer than this: picoseconds fit 64 bits with room for sums.
pub const LONGEST: Span = Span::from_secs(30 * 86_400);

/// A checked scenario, ready to run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The scenario it was made from. It names files as its results keep them; see [`Input::path`].
    pub scenario: Scenario,
    /// The scenario as it is run, every setting in it, overrides applied.
    pub text: String,
    /// The files that it names, as they were read.
    pub inputs: Vec<Input>,
    /// The network.
    pub network: Network,
    /// The traffic.
    pub traffic: Traffic,
    /// The traffic groups, in the order of [`Traffic::groups`].
    pub groups: Vec<PlannedGroup>,
    /// When the run ends.
    pub stop: Stop,
    /// Flows that start in this time count.
    pub measured: Range<Time>,
    /// By directed link its segment, if the network has several data centers.
    pub segments: Option<Vec<Segment>>,
    /// The data to record.
    pub record: Recording,
    /// Warnings about the scenario.
    pub warnings: Vec<Diagnostic>,
    /// Notes on settings that were left out. Not a part of results: their scenario leaves none out.
    pub notes: Vec<Diagnostic>,
    /// The source of all flows, if not all are drawn.
    pub(super) undrawn: Option<Box<(Document, Limits)>>,
}

/// A traffic group as planned.
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
    /// Flows to be expected, if not all of them are drawn.
    pub expected: Option<Expected>,
    /// Its size distribution, if it draws sizes.
    pub sizes: Option<LoadedSizes>,
    /// Its load, if it has one.
    pub load: Option<Load>,
    /// Its calls in [`Traffic::rpcs`], if it makes remote procedure calls.
    pub rpcs: Option<Range<usize>>,
    /// Its collective, if it is one.
    pub collective: Option<PlannedCollective>,
    /// Pairing of its hosts, if it has settings for that.
    pub pairing: Option<PlannedPairing>,
    /// Who may send to whom, if its flows do not say it.
    pub(super) possible: Option<Pairs>,
}

/// A collective as planned.
#[derive(Clone, Debug)]
pub struct PlannedCollective {
    /// Its ranks in [`Traffic::ranks`].
    pub ranks: Range<usize>,
    /// Bytes of the whole vector; of a schedule all that is sent.
    pub size: Bytes,
    /// Bus bandwidth as a multiple of algorithm bandwidth; a schedule has none.
    pub bus_factor: Option<f64>,
    /// Number of iterations.
    pub iterations: u32,
    /// Number of messages of an iteration.
    pub messages: u64,
    /// Number of its steps.
    pub steps: u32,
}

impl PlannedCollective {
    /// Messages of all iterations.
    fn all_messages(&self) -> u64 {
        self.messages.saturating_mul(self.iterations.into())
    }
}

/// Pairing of hosts.
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
    pub(super) fn setting(self) -> Option<Pairing> {
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

/// The quantity that a [`Load`] is a fraction of.
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

/// Expected flows of a group of which not all are drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Expected {
    /// Mean number of flows.
    pub flows: f64,
    /// Flows of one arrival: those of a remote procedure call or an incast, otherwise 1.
    pub per_arrival: u32,
    /// Arrivals are random, so that it is the mean that is known.
    pub is_random: bool,
}

impl Expected {
    /// So many flows at most: more come with a probability below 10^-9, as the number of arrivals has a Poisson distribution.
    pub fn most(self) -> u64 {
        const DEVIATIONS: f64 = 6.5;
        let arrivals = self.flows / f64::from(self.per_arrival);
        let more = if self.is_random { DEVIATIONS * (arrivals.sqrt() + DEVIATIONS) } else { 0.0 };
        ((arrivals + more) * f64::from(self.per_arrival)) as u64
    }
}

impl PlannedGroup {
    /// Number of its flows, drawn or expected.
    pub fn expected_flows(&self) -> f64 {
        self.expected.map_or(self.planned_flows() as f64, |expected| expected.flows)
    }

    /// Those that are drawn; of a collective its messages.
    fn planned_flows(&self) -> u64 {
        self.collective.as_ref().map_or(self.flows.len() as u64, PlannedCollective::all_messages)
    }
}

/// An offered load.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Fraction of what the links carry.
    pub load: f64,
    /// The quantity that was counted.
    pub counts: LoadOf,
    /// Number of links.
    pub links: usize,
    /// Their total rate.
    pub capacity: BitRate,
    /// Flows per second, or remote procedure calls.
    pub per_second: f64,
    /// Sizes that each of them draws: one for each response of a call, and one for a flow.
    pub draws: u32,
    /// When the first may begin.
    pub from: Time,
    /// When none begins any more.
    pub until: Time,
}

/// Flows under way at once on each host, for traffic that starts flows as it goes.
pub(crate) const LIVE_PER_HOST: u64 = 100;

/// Makes what is recorded, with what is recorded of mechanisms.
macro_rules! recording {
    ($($mechanism:ident: $about:literal $key:ident: $written:ident of $rows:ty,)*) => {
        /// Data to record besides flows.
        #[derive(Clone, Debug, Default)]
        pub struct Recording {
            /// Interval and ports.
            pub queues: Option<(Span, Vec<LinkId>)>,
            /// Interval and links.
            pub links: Option<(Span, Vec<LinkId>)>,
            /// Interval and flows.
            pub windows: Option<(Span, Vec<FlowId>)>,
            /// Interval and flows.
            pub state: Option<(Span, Vec<FlowId>)>,
            $(
                #[doc = concat!("Interval and nodes of `record.", stringify!($key), "`; the interval is 0 where events are recorded.")]
                pub $key: Option<(Span, Vec<NodeId>)>,
            )*
        }
    };
}

mechanisms!(record => recording);

impl Plan {
    /// Memory of its flows before it is run, all of them drawn.
    pub(crate) fn memory_of_flows(&self) -> Bytes {
        // The list grows by doubling.
        Bytes::new(self.most_flows().saturating_mul(2 * size_of::<FlowSpec>() as u64))
    }

    /// Number of flows, drawn or expected.
    pub fn expected_flows(&self) -> f64 {
        self.groups.iter().map(PlannedGroup::expected_flows).sum()
    }

    /// Number of flows that is hardly ever exceeded.
    pub fn most_flows(&self) -> u64 {
        let most =
            |group: &PlannedGroup| group.expected.map_or_else(|| group.planned_flows(), Expected::most);
        self.groups.iter().map(most).fold(0, u64::saturating_add)
    }

    /// A control that is not built in has failed; see [`Maker::has_failed`].
    pub fn has_failed_control(&self) -> bool {
        self.makers().any(|maker| maker.has_failed())
    }

    /// Makers of controls that are not built in.
    pub(crate) fn makers(&self) -> impl Iterator<Item = &Arc<dyn Maker>> {
        let controls = self.traffic.groups.iter().filter_map(|group| group.transport.control()?.custom());
        controls.filter_map(|control| control.maker.0.as_ref())
    }

    /// All that is reported before a run.
    pub fn remarks(&self) -> impl Iterator<Item = &Diagnostic> {
        self.warnings.iter().chain(&self.notes)
    }

    /// Texts of the warnings.
    pub fn warning_texts(&self) -> Vec<String> {
        self.warnings.iter().map(|warning| warning.message.clone()).collect()
    }

    /// One line about the network: `cross_dc · 64 hosts · 8 switches`.
    pub fn describe_network(&self) -> String {
        let kind = match &self.scenario.topology {
            Topology::Dumbbell(_) => "dumbbell",
            Topology::Star(_) => "star",
            Topology::ParkingLot(_) => "parking lot",
            Topology::LeafSpine(_) => "leaf-spine",
            Topology::FatTree(_) => "fat tree",
            Topology::KaryTree(_) => "k-ary n-tree",
            Topology::Clos(_) => "Clos",
            Topology::CrossDc(_) => "cross-DC",
            Topology::Explicit(_) => "explicit",
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
