//! Results, put together of what a run left behind.

use std::sync::Arc;

use narrows_sim::observe::{PortRow, StateRow, WindowRow};

use super::collectives::{self, Known};
use super::flows::{Ideals, flow_rows};
use super::rpcs::rpc_rows;
use super::{Outline, Queues, RealHosts, Results, RowsOfMechanisms, activity, settled};
use crate::metrics;
use crate::plan::Plan;

/// Rows recorded of a run on request.
#[derive(Debug, Default)]
pub(crate) struct Recorded {
    pub(crate) queues: Option<Vec<PortRow>>,
    pub(crate) links: Option<Vec<PortRow>>,
    pub(crate) windows: Option<Vec<WindowRow>>,
    pub(crate) state: Option<Vec<StateRow>>,
    pub(crate) mechanisms: RowsOfMechanisms,
    /// The real hosts, if the run had some.
    pub(crate) real: Option<RealHosts>,
}

impl Results {
    /// Puts together what a run left behind.
    pub(crate) fn new<O>(plan: Arc<Plan>, outcome: narrows_sim::Outcome<O>, recorded: Recorded) -> Self {
        let Recorded { queues, links, windows, state, mechanisms, real } = recorded;
        let ideals = Ideals::new(&plan);
        let flows = flow_rows(&ideals, &outcome.flows);
        let rpcs = rpc_rows(&ideals, &flows);
        let known = Known {
            plan: &plan,
            flows: &flows,
            iterations: &outcome.iterations,
            ports: &outcome.ports,
            queues: queues.as_deref(),
            ended: outcome.ended,
        };
        let (collectives, steps) = collectives::rows(&known);
        let trends = if outcome.complete { settled::trends(&plan, &outcome.sampled) } else { Vec::new() };
        let mut results = Self {
            flows,
            rpcs,
            collectives,
            steps,
            datagrams: outcome.datagrams,
            ports: outcome.ports,
            no_route: outcome.no_route,
            queues,
            links,
            windows,
            state,
            recorded: mechanisms,
            real,
            mechanisms: outcome.mechanisms,
            packet_hops: outcome.packet_hops,
            ended: outcome.ended,
            complete: outcome.complete,
            metrics: Vec::new(),
            uncertain: Vec::new(),
            activity: Vec::new(),
            held_up: None,
            trends,
            remarks: Vec::new(),
            plan,
        };
        (results.metrics, results.uncertain) = metrics::compute(&results.outline());
        let groups = results.plan.groups.iter().map(|group| group.name.as_str());
        let uncertain = metrics::warnings(groups, &results.uncertain);
        let other_load = results.plan.groups.iter().enumerate().filter_map(|(number, group)| {
            let offered = results.metric(&format!("{}.offered_fraction", group.name))?;
            results.plan.doubt_of_load(number, offered)
        });
        let late = results.real.as_ref().and_then(|real| real.lateness.doubt());
        results.remarks = late.into_iter().chain(other_load).chain(uncertain).collect();
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
            collectives: &self.collectives,
            datagrams: &self.datagrams,
            ports: &self.ports,
            no_route: &self.no_route,
            queues,
            mechanisms: &self.mechanisms,
            packet_hops: self.packet_hops,
            ended: self.ended,
        }
    }
}
