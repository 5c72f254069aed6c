//! Everything a run left behind.

use std::borrow::Cow;
use std::sync::Arc;

use narrows_proto::units::Time;
use narrows_sim::mechanism::Records;
use narrows_sim::observe::{PortRow, StateRow, WindowRow};
use narrows_sim::{DatagramRecord, DropCause, PortCounters};
use serde::Serialize;

use super::{CollectiveRow, FlowRow, RealHosts, RpcRow, StepRow};
use crate::diagnostic::Diagnostic;
use crate::mechanism::list::mechanisms;
use crate::metrics::{Metric, Uncertain, value};
use crate::plan::Plan;
use crate::scenario::Expect;

/// Everything a run left behind.
#[derive(Clone, Debug)]
pub struct Results {
    /// The plan that was run.
    pub plan: Arc<Plan>,
    /// Every flow that started, by flow and incarnation.
    pub flows: Vec<FlowRow>,
    /// Every remote procedure call that began, in order of time within a group.
    pub rpcs: Vec<RpcRow>,
    /// Every iteration of a collective that began, in order within a group.
    pub collectives: Vec<CollectiveRow>,
    /// Their steps.
    pub steps: Vec<StepRow>,
    /// Every source of datagrams.
    pub datagrams: Vec<DatagramRecord>,
    /// By link.
    pub ports: Vec<PortCounters>,
    /// Packets that had nowhere to go.
    pub no_route: PortCounters,
    /// Recorded queues.
    pub queues: Option<Vec<PortRow>>,
    /// Recorded links.
    pub links: Option<Vec<PortRow>>,
    /// Recorded senders.
    pub windows: Option<Vec<WindowRow>>,
    /// Variables of congestion controls, if recorded.
    pub state: Option<Vec<StateRow>>,
    /// Rows recorded of mechanisms.
    pub recorded: RowsOfMechanisms,
    /// Counts of mechanisms that are of no link and no flow.
    pub mechanisms: Records,
    /// The real hosts, if it had some.
    pub real: Option<RealHosts>,
    /// Packets that arrived at some node.
    pub packet_hops: u64,
    /// When the run ended.
    pub ended: Time,
    /// It was not interrupted.
    pub complete: bool,
    /// The summary.
    pub metrics: Vec<Metric>,
    /// Percentiles of the summary that are less certain than their digits.
    pub uncertain: Vec<Uncertain>,
    /// Events that happened, and those that never did.
    pub activity: Vec<Activity>,
    /// Cause of a stop longer than switches allow; `watchdog` of priority-based flow control.
    pub held_up: Option<Diagnostic>,
    /// Flows that last for the whole run whose goodput still trends.
    pub trends: Vec<Diagnostic>,
    /// Other reasons not to take the summary at its word.
    pub(super) remarks: Vec<Diagnostic>,
}

/// Something that can happen in a run, and how often it did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Activity {
    /// The event.
    pub what: Cow<'static, str>,
    /// Number of times it happened.
    pub times: u64,
}

/// Makes what was recorded of mechanisms.
macro_rules! rows {
    ($($mechanism:ident: $about:literal $key:ident: $written:ident of $rows:ty,)*) => {
        /// Rows recorded of mechanisms, on request.
        #[derive(Clone, Debug, Default)]
        pub struct RowsOfMechanisms {
            $(#[doc = $about] pub $key: Option<$rows>,)*
        }
    };
}

mechanisms!(record => rows);

/// A broken expectation.
#[derive(Clone, Debug, PartialEq)]
pub struct Broken {
    /// The expectation.
    pub expect: Expect,
    /// Value of its metric; none if there was nothing to take it of.
    pub found: Option<f64>,
}

impl Results {
    /// Warnings about the results.
    pub fn doubts(&self) -> impl Iterator<Item = &Diagnostic> {
        self.held_up.iter().chain(&self.trends).chain(&self.remarks)
    }

    /// The value of a metric; none if there is nothing to take it of.
    pub fn metric(&self, name: &str) -> Option<f64> {
        value(&self.metrics, name)
    }

    /// Packets dropped for `cause` anywhere.
    pub fn drops(&self, cause: DropCause) -> u64 {
        self.ports.iter().chain([&self.no_route]).map(|port| port.drops[cause as usize]).sum()
    }

    /// Expectations of the scenario that do not hold.
    pub fn broken_expectations(&self) -> Vec<Broken> {
        let holds = |expect: &Expect, found: f64| {
            expect.below.is_none_or(|bound| found < bound) && expect.above.is_none_or(|bound| found > bound)
        };
        let check = |expect: &Expect| {
            let found = self.metric(&expect.metric);
            let broken = !found.is_some_and(|found| holds(expect, found));
            broken.then(|| Broken { expect: expect.clone(), found })
        };
        self.plan.scenario.expect.iter().filter_map(check).collect()
    }

    /// Flows of a group.
    pub fn flows_of(&self, group: usize) -> impl Iterator<Item = &FlowRow> {
        self.flows.iter().filter(move |flow| flow.group as usize == group)
    }
}
