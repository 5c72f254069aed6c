//! Mechanisms of switches and hosts: what is checked, warned of, counted, recorded, shown and explained of each. Each has a home, a file
//! of its own, called as its folder in the simulator, where what it does stands. `list.rs` has the list, and the keys that mechanisms
//! have in scenarios.

pub(crate) mod adaptive;
pub(crate) mod codel;
pub(crate) mod congestion_point;
mod delay_target;
pub(crate) mod drr;
pub(crate) mod dualpi2;
pub(crate) mod entropy;
pub(crate) mod flowlets;
pub(crate) mod fq_codel;
pub(crate) mod isolation;
mod kept_queues;
pub(crate) mod limiter;
pub(crate) mod list;
pub(crate) mod near_source;
pub(crate) mod paths;
pub(crate) mod pause;
pub(crate) mod pfc;
pub(crate) mod phantom;
pub(crate) mod pie;
pub(crate) mod rackcc;
mod registry;
pub(crate) mod routing;
pub(crate) mod telemetry;
pub(crate) mod themis;
pub(crate) mod trimming;
pub(crate) mod wcmp;

use narrows_proto::cc::{Config, OutOfRange, Ranges};
use narrows_proto::units::{Bytes, Span};
use narrows_sim::switch::SwitchConfig;
use narrows_sim::traffic::{Traffic, Transport};
use narrows_sim::{Network, Paths};

pub(crate) use self::registry::{all, entries};
use crate::counters::Counters;
use crate::plan::{Checker, Plan, PlannedGroup};
use crate::results::Named;
use crate::scenario::{Scenario, Switch};

/// Interface of a mechanism; all are called in the order of the list. Methods that one has no use for keep their defaults.
pub(crate) trait Mechanism: Sync {
    /// Checks that declare the ranges of its settings: passes each on with the name of its settings in the schema.
    fn ranges(&self, _declare: &mut Declare<'_>) {}

    /// Controls that need it: what they need.
    fn needed_by(&self, _control: &Config) -> Option<&'static str> {
        None
    }

    /// The key of a switch that cannot have plain ports because of it.
    fn needs_queues(&self, _switch: &Switch) -> Option<&'static str> {
        None
    }

    /// Priorities that its messages have.
    fn priorities(&self, _scenario: &Scenario) -> Vec<u8> {
        Vec::new()
    }

    /// It holds back single flows of a group: the name of what does.
    fn holds_flows(
        &self,
        _group: &Transport,
        _near_source: bool,
        _network: &Network,
    ) -> Option<&'static str> {
        None
    }

    /// Checks what depends on `largest`, the most that one queue of a switch can hold. `path` leads to the switch.
    fn check_queues(&self, _path: &str, _switch: &Switch, _largest: Bytes, _checker: &mut Checker<'_>) {}

    /// Checks numbers.
    fn check_switch(&self, _path: &str, _switch: &Switch, _checker: &mut Checker<'_>) {}

    /// Checks what depends on the largest packet that is sent.
    fn check_packets(&self, _network: &Network, _largest: Bytes, _checker: &mut Checker<'_>) {}

    /// Checks token buckets against the largest packet that is sent.
    fn check_buckets(&self, _scenario: &Scenario, _largest: Bytes, _checker: &mut Checker<'_>) {}

    /// Checks what switches have together.
    fn check_network(&self, _scenario: &Scenario, _network: &Network, _checker: &mut Checker<'_>) {}

    /// Checks what depends on who sends to whom.
    fn check_traffic(&self, _layout: &Layout<'_>, _checker: &mut Checker<'_>) {}

    /// Warns of what is suspicious in a scenario without mistakes.
    fn warn(&self, _layout: &Layout<'_>, _checker: &mut Checker<'_>) {}

    /// Memory that its state takes for each queue of a port of a switch.
    fn state_bytes(&self, _switch: &SwitchConfig) -> u64 {
        0
    }

    /// Memory that its tables take in all switches of a network together.
    fn table_bytes(&self, _network: &Network) -> u64 {
        0
    }

    /// Its counters.
    fn counters(&self) -> Option<&'static Counters> {
        None
    }

    /// Memory that what is recorded of it may take.
    fn recorded_bytes(&self, _plan: &Plan, _end: Span) -> u64 {
        0
    }

    /// If single events of it are recorded, which nothing bounds beforehand: what they are called, and how to record fewer.
    fn recorded_events(&self, _plan: &Plan) -> Option<[&'static str; 2]> {
        None
    }

    /// The tables of what is recorded.
    fn tables(&self) -> Vec<Box<dyn Named>> {
        Vec::new()
    }
}

/// Takes the name of settings in the schema, and the check that declares their ranges.
pub(crate) type Declare<'a> = dyn FnMut(&str, &dyn Fn(&mut Ranges) -> Result<(), OutOfRange>) + 'a;

/// Parts of a plan that mechanisms check.
#[derive(Clone, Copy)]
pub(crate) struct Layout<'a> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) network: &'a Network,
    pub(crate) paths: &'a Paths<'a>,
    pub(crate) traffic: &'a Traffic,
    pub(crate) groups: &'a [PlannedGroup],
}

impl<'a> Layout<'a> {
    pub(crate) fn new(
        scenario: &'a Scenario,
        network: &'a Network,
        paths: &'a Paths<'a>,
        (traffic, groups): (&'a Traffic, &'a [PlannedGroup]),
    ) -> Self {
        Self { scenario, network, paths, traffic, groups }
    }
}

/// A topic of the guide and of `narrows explain`.
pub(crate) struct Entry {
    pub(crate) name: &'static str,
    pub(crate) summary: &'static str,
    /// Where it stands in a scenario.
    pub(crate) place: &'static str,
    /// Where it is defined.
    pub(crate) source: &'static str,
    /// Documentation of its modules.
    pub(crate) about: &'static [&'static str],
    /// Definitions of the schema that describe its settings.
    pub(crate) settings: &'static [&'static str],
}
