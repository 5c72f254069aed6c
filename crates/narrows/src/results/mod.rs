//! What a run leaves behind, and how it is written.

mod activity;
mod columns;
mod folder;
mod guard;
mod json;
mod ours;
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

use std::ops::Range;

use narrows_proto::stream::Stats;
use narrows_proto::units::{Bytes, Span, Time};
use narrows_sim::observe::{AdvertisedRow, IsolationRow, JumboFlowRow, LimiterRow, PortRow, WindowRow};
use narrows_sim::traffic::Transport;
use narrows_sim::{
    DatagramRecord, DropCause, FlowId, FlowRecord, HostId, IdealPath, Paths, PortCounters, RackRecord,
    ReactionRecord, ideal_fct,
};

pub use activity::{Activity, ActivityInfo, activity, activity_infos};
pub use columns::{ColumnInfo, ColumnKind, TableInfo};
pub use folder::FOLDERS;
pub(crate) use folder::{meanings, write_results, write_text};
pub use ours::Contents;
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
use crate::metrics::{self, Kind, Metric, Queues};
use crate::plan::{ENDLESS, Plan};
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
    /// Recorded limiters.
    pub limiters: Option<Vec<LimiterRow>>,
    /// What happened to queues for isolated flows, if it was recorded.
    pub isolation: Option<Vec<IsolationRow>>,
    /// What switches told of JumboFlows, and what hosts advertised, if it was recorded.
    pub racks: Option<(Vec<JumboFlowRow>, Vec<AdvertisedRow>)>,
    /// What switches of racks and their hosts did for JumboFlows.
    pub rack: RackRecord,
    /// What reaction points did.
    pub reaction: ReactionRecord,
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
    pub(crate) limiters: Option<Vec<LimiterRow>>,
    pub(crate) isolation: Option<Vec<IsolationRow>>,
    pub(crate) racks: Option<(Vec<JumboFlowRow>, Vec<AdvertisedRow>)>,
}

/// A flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowRow {
    /// Its number.
    pub flow: FlowId,
    /// How many flows the same client had started before.
    pub turn: u64,
    /// Its group.
    pub group: u32,
    /// Who sent.
    pub from: HostId,
    /// Who received.
    pub to: HostId,
    /// Payload.
    pub size: Bytes,
    /// When the application handed it over.
    pub start: Time,
    /// It began on a connection that had carried other flows.
    pub again: bool,
    /// When the receiver had all of it.
    pub end: Option<Time>,
    /// How long it would have taken on the empty network, without a handshake if connections are kept; with packet spray no less than
    /// this.
    pub ideal: Span,
    /// Payload known to the sender to have arrived.
    pub delivered: Bytes,
    /// The part of it that became known in the measured time.
    pub delivered_measured: Bytes,
    /// What it went through.
    pub stats: Stats,
    /// It counts in summaries.
    pub measured: bool,
}

impl FlowRow {
    /// Flow completion time: from the hand-over to the arrival of the last byte.
    pub fn fct(&self) -> Option<Span> {
        self.end.map(|end| end - self.start)
    }

    /// From the hand-over to the moment the last byte began to leave, for the first time.
    pub fn injection(&self) -> Option<Span> {
        self.stats.injected.map(|injected| injected - self.start)
    }

    /// Completion time divided by the ideal one; at least 1.
    pub fn slowdown(&self) -> Option<f64> {
        self.fct().map(|fct| fct.as_ps() as f64 / self.ideal.as_ps() as f64)
    }

    /// It was never meant to end.
    pub fn is_endless(&self) -> bool {
        self.size == ENDLESS
    }
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
        let Recorded { queues, links, windows, limiters, isolation, racks } = recorded;
        let flows = flow_rows(&plan, &outcome.flows);
        let mut results = Self {
            rpcs: rpcs::rpc_rows(&plan, &flows),
            flows,
            datagrams: outcome.datagrams,
            ports: outcome.ports,
            no_route: outcome.no_route,
            queues,
            links,
            windows,
            limiters,
            isolation,
            racks,
            rack: outcome.rack,
            reaction: outcome.reaction,
            packet_hops: outcome.packet_hops,
            ended: outcome.ended,
            complete: outcome.complete,
            metrics: Vec::new(),
            activity: Vec::new(),
            held_up: None,
            plan,
        };
        results.metrics = metrics::compute(&results.outline());
        results.activity = activity(&results);
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
        self.outline().drops(cause)
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

/// What metrics are computed from.
pub(crate) struct Outline<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) flows: &'a [FlowRow],
    pub(crate) rpcs: &'a [RpcRow],
    pub(crate) datagrams: &'a [DatagramRecord],
    pub(crate) ports: &'a [PortCounters],
    pub(crate) no_route: &'a PortCounters,
    pub(crate) queues: Option<Queues<'a>>,
    pub(crate) packet_hops: u64,
    pub(crate) ended: Time,
}

impl Outline<'_> {
    pub(crate) fn kind(&self, group: usize) -> Kind {
        let datagrams = matches!(self.plan.traffic.groups[group].transport, Transport::Datagram { .. });
        Kind::of(datagrams, self.plan.groups[group].rpcs.is_some())
    }

    /// Length of the measured time, as far as the run went.
    pub(crate) fn measured_for(&self) -> Span {
        let Range { start, end } = self.plan.measured;
        end.min(self.ended).saturating_since(start)
    }

    pub(crate) fn drops(&self, cause: DropCause) -> u64 {
        self.ports.iter().chain([self.no_route]).map(|port| port.drops[cause as usize]).sum()
    }
}

/// How long flows take on the empty network.
struct Ideals<'a> {
    plan: &'a Plan,
    paths: Paths<'a>,
}

impl<'a> Ideals<'a> {
    fn new(plan: &'a Plan) -> Self {
        Self { plan, paths: Paths::new(&plan.network.topology, plan.network.routing, plan.scenario.seed) }
    }

    /// Of `size` bytes sent as `flow`, which must belong to a connection.
    fn of(&self, flow: FlowId, size: Bytes) -> Span {
        let spec = &self.plan.traffic.flows[flow.index()];
        let transport = &self.plan.traffic.groups[spec.group.index()].transport;
        let [forth, back] = [(spec.from, spec.to), (spec.to, spec.from)].map(|(from, to)| {
            let path = IdealPath::between(&self.plan.network, &self.paths, flow, from, to);
            path.expect("the plan found a path")
        });
        ideal_fct(transport, &forth, &back, size)
    }
}

/// Adds to each flow what the plan knows of it.
fn flow_rows(plan: &Plan, records: &[FlowRecord]) -> Vec<FlowRow> {
    let ideals = Ideals::new(plan);
    let row = |record: &FlowRecord| {
        let spec = &plan.traffic.flows[record.flow.index()];
        FlowRow {
            flow: record.flow,
            turn: record.turn,
            group: spec.group.0,
            from: spec.from,
            to: spec.to,
            size: record.size,
            start: record.start,
            again: record.again,
            end: record.end,
            ideal: ideals.of(record.flow, record.size),
            delivered: record.delivered,
            delivered_measured: record.delivered_measured,
            stats: record.stats,
            measured: plan.measured.contains(&record.start),
        }
    };
    records.iter().map(row).collect()
}
