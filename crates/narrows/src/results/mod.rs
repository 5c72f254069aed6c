//! What a run leaves behind, and how it is written.

mod activity;
mod columns;
mod flows;
mod folder;
mod guard;
mod json;
mod ours;
mod outline;
mod output;
mod pages;
mod parquet_file;
mod rpcs;
mod staged;
mod staging;
mod stored;
mod table;
mod tables;
mod watchdog;

use narrows_proto::units::Time;
use narrows_sim::mechanism::Records;
use narrows_sim::observe::{PortRow, StateRow, WindowRow};
use narrows_sim::{DatagramRecord, DropCause, PortCounters};

pub use activity::{Activity, ActivityInfo, activity_infos};
pub use columns::{ColumnInfo, ColumnKind, TableInfo};
pub use flows::FlowRow;
pub use folder::FOLDERS;
pub(crate) use folder::{meanings, write_results, write_text};
pub use ours::Contents;
pub(crate) use outline::{Outline, Queues};
pub use output::Output;
pub(crate) use parquet_file::{TableReader, TableWriter};
pub use rpcs::RpcRow;
pub(crate) use staged::make_readable;
pub use staged::{Staged, cannot_write};
pub(crate) use staging::Staging;
pub use stored::{Source, Stored, StoredCell, find, without_seed};
pub use table::{Column, Table, Values};
pub use tables::TABLES;

use crate::diagnostic::Diagnostic;
use crate::metrics::{self, Metric};
use crate::plan::Plan;
use crate::recorded::RowsOfMechanisms;
use crate::scenario::Expect;

/// Everything a run left behind.
#[derive(Clone, Debug)]
pub struct Results {
    /// What was run.
    pub plan: std::sync::Arc<Plan>,
    /// Every flow that started, by flow and turn.
    pub flows: Vec<FlowRow>,
    /// Every remote procedure call that began, in order of time within a group.
    pub rpcs: Vec<RpcRow>,
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
    /// What congestion controls keep, if it was recorded.
    pub state: Option<Vec<StateRow>>,
    /// What was recorded of mechanisms.
    pub recorded: RowsOfMechanisms,
    /// What mechanisms counted that is of no link and no flow.
    pub mechanisms: Records,
    /// Packets that arrived at some node.
    pub packet_hops: u64,
    /// When the run ended.
    pub ended: Time,
    /// It was not interrupted.
    pub complete: bool,
    /// The summary.
    pub metrics: Vec<Metric>,
    /// What happened, and what never did.
    pub activity: Vec<Activity>,
    /// What stopped traffic for longer than switches allow; `watchdog` of priority-based flow control.
    pub held_up: Option<Diagnostic>,
}

/// What was recorded of a run on request.
#[derive(Debug, Default)]
pub(crate) struct Recorded {
    pub(crate) queues: Option<Vec<PortRow>>,
    pub(crate) links: Option<Vec<PortRow>>,
    pub(crate) windows: Option<Vec<WindowRow>>,
    pub(crate) state: Option<Vec<StateRow>>,
    pub(crate) mechanisms: RowsOfMechanisms,
}

/// A broken expectation.
#[derive(Clone, Debug, PartialEq)]
pub struct Broken {
    /// What was expected.
    pub expect: Expect,
    /// What came out; none if there was nothing to take the metric of.
    pub found: Option<f64>,
}

impl Results {
    /// Puts together what a run left behind.
    pub(crate) fn new<O>(
        plan: std::sync::Arc<Plan>,
        outcome: narrows_sim::Outcome<O>,
        recorded: Recorded,
    ) -> Self {
        let Recorded { queues, links, windows, state, mechanisms } = recorded;
        let flows = flows::flow_rows(&plan, &outcome.flows);
        let mut results = Self {
            rpcs: rpcs::rpc_rows(&plan, &flows),
            flows,
            datagrams: outcome.datagrams,
            ports: outcome.ports,
            no_route: outcome.no_route,
            queues,
            links,
            windows,
            state,
            recorded: mechanisms,
            mechanisms: outcome.mechanisms,
            packet_hops: outcome.packet_hops,
            ended: outcome.ended,
            complete: outcome.complete,
            metrics: Vec::new(),
            activity: Vec::new(),
            held_up: None,
            plan,
        };
        results.metrics = metrics::compute(&results.outline());
        results.activity = activity::activity(&results.outline());
        results.held_up = results.watch();
        results
    }

    pub(crate) fn outline(&self) -> Outline<'_> {
        let queues = self.queues.as_ref().zip(self.plan.record.queues.as_ref());
        let queues =
            queues.map(|(rows, (interval, _))| Queues { rows, interval: *interval, ended: self.ended });
        Outline {
            plan: &self.plan,
            flows: &self.flows,
            rpcs: &self.rpcs,
            datagrams: &self.datagrams,
            ports: &self.ports,
            no_route: &self.no_route,
            queues,
            mechanisms: &self.mechanisms,
            packet_hops: self.packet_hops,
            ended: self.ended,
        }
    }

    /// The value of a metric; none if there is nothing to take it of.
    pub fn metric(&self, name: &str) -> Option<f64> {
        metrics::value(&self.metrics, name)
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
