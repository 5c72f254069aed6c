//! A run that goes on in steps, with all that is recorded on the way.

use std::ops::ControlFlow;
use std::sync::Arc;

use narrows_sim::observe::{
    BetweenWindows, DiscardObserver, LiveObserver, PortObserver, Recorders, RowLimit, StateObserver,
    WindowObserver,
};
use narrows_sim::traffic::{FlowSpec, Traffic};
use narrows_sim::{External, LinkId, OnProgress, RecordedSession};

use super::makers::prepared;
use super::options::Options;
use crate::diagnostic::{Checked, Code, Diagnostic};
use crate::live::Watched;
use crate::mechanism;
use crate::numbers::grouped;
use crate::plan::Plan;
use crate::recorded;
use crate::results::{Measured, Recorded, Results};

/// Observers of one thread for those who watch.
pub(super) type Live = (Box<dyn BetweenWindows>, LiveObserver);

/// Observers of one thread after the other; none if nobody watches.
fn each_of(watched: Option<&Watched>) -> impl FnMut() -> Option<Live> + Send {
    let mut observers = watched.map(Watched::observers);
    move || observers.as_mut().and_then(Iterator::next)
}

/// A run of a plan that goes on step by step. However it is cut, the results are those of [`run`](super::run).
#[derive(Debug)]
pub struct Steps {
    plan: Arc<Plan>,
    session: RecordedSession,
    /// Limit of what is recorded of mechanisms.
    events: Arc<RowLimit>,
    most_events: u64,
    complete: bool,
}

impl Steps {
    /// Lays out a run, which may be watched.
    pub fn new(plan: &Arc<Plan>, options: Options, watched: Option<&Watched>) -> Self {
        Self::within(plan, options, options.most_events(), &mut each_of(watched))
    }

    pub(super) fn within(
        plan: &Arc<Plan>,
        options: Options,
        most_events: u64,
        live: &mut (dyn FnMut() -> Option<Live> + Send),
    ) -> Self {
        let Plan { network, traffic, scenario, .. } = &**plan;
        let events = Arc::new(RowLimit::new(most_events));
        let mut all = || recorders(plan, &events, live(), None);
        let lay_out = |_: &mut dyn OnProgress| {
            RecordedSession::new(network, traffic, scenario.seed, options.execution(), &mut all)
        };
        let session = prepared(plan, &mut |_| ControlFlow::Continue(()), lay_out);
        Self { plan: Arc::clone(plan), session, events, most_events, complete: false }
    }

    /// Lays out a run of which some hosts are outside. `traffic` is the part of the traffic that is inside, with all groups and flows
    /// of the plan; flows from outside have no start.
    pub fn with_external(
        plan: &Arc<Plan>,
        traffic: &Traffic,
        external: &External,
        watched: Option<&Watched>,
    ) -> Self {
        let most_events = Options::default().most_events();
        let events = Arc::new(RowLimit::new(most_events));
        let mut live = each_of(watched);
        let mut all = || recorders(plan, &events, live(), Some(DiscardObserver::new(external)));
        let seed = plan.scenario.seed;
        let session = RecordedSession::with_external(&plan.network, traffic, seed, external, &mut all);
        Self { plan: Arc::clone(plan), session, events, most_events, complete: false }
    }

    /// Flows were added to those of the plan, from outside. Their results are among the others.
    pub(crate) fn add_flows(&mut self, flows: &[FlowSpec]) {
        Arc::make_mut(&mut self.plan).traffic.flows.extend(flows);
    }

    /// The simulation, for those who know what is outside.
    pub fn session(&mut self) -> &mut RecordedSession {
        &mut self.session
    }

    /// Goes on to the end, or until `progress`, which is called every now and then, breaks off. True at the end: it is reached, a
    /// control that is not built in has failed, or more is recorded than memory was estimated for.
    pub fn advance(&mut self, progress: &mut dyn OnProgress) -> bool {
        let Self { plan, session, events, .. } = self;
        let mut goes_on = |now| if events.is_exceeded() { ControlFlow::Break(()) } else { progress(now) };
        self.complete = prepared(plan, &mut goes_on, |progress| session.run(plan.stop, progress));
        self.complete || self.events.is_exceeded() || self.plan.has_failed_control()
    }

    /// Results of the run as far as it went.
    ///
    /// # Errors
    /// If more is recorded than memory was estimated for, and the run is not forced.
    pub fn finish(self) -> Checked<Results> {
        self.finish_with(None)
    }

    /// The same of a run with real hosts, with what was measured at them.
    ///
    /// # Errors
    /// As [`finish`](Self::finish).
    pub fn finish_measured(self, measured: Measured) -> Checked<Results> {
        self.finish_with(Some(measured))
    }

    fn finish_with(self, measured: Option<Measured>) -> Checked<Results> {
        let Self { plan, session, events, most_events, .. } = self;
        if events.is_exceeded() {
            return Err(too_many_events(&plan, most_events).into());
        }
        let mut outcome = session.finish();
        let (mut queues, mut wires, mut windows, mut states, mut mechanisms) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (((queue, wire), ((window, state), of_mechanisms)), _) in std::mem::take(&mut outcome.observers) {
            queues.extend(queue);
            wires.extend(wire);
            windows.extend(window);
            states.extend(state);
            mechanisms.push(of_mechanisms);
        }
        let (record, ended) = (&plan.record, outcome.ended);
        let rows = |observers: Vec<PortObserver>, recorded: bool| {
            recorded.then(|| PortObserver::finish(observers, ended))
        };
        let mut recorded = Recorded {
            queues: rows(queues, record.queues.is_some()),
            links: rows(wires, record.links.is_some()),
            windows: record.windows.is_some().then(|| WindowObserver::finish(windows)),
            state: record.state.is_some().then(|| StateObserver::finish(states)),
            mechanisms: recorded::finish(mechanisms),
            real: None,
        };
        if let Some(measured) = measured {
            outcome.flows.extend(measured.flows);
            outcome.flows.sort_by_key(|flow| (flow.flow, flow.incarnation));
            outcome.sampled.merge(&measured.sampled);
            if let Some(windows) = &mut recorded.windows {
                windows.extend(measured.windows);
                windows.sort_by_key(|row| (row.at, row.flow));
            }
            outcome.complete &= measured.complete;
            recorded.real = Some(measured.hosts);
        }
        Ok(Results::new(plan, outcome, recorded))
    }
}

/// The observers of one thread for all that is recorded, of those who watch, and of what is lost of hosts outside.
fn recorders(
    plan: &Plan,
    events: &Arc<RowLimit>,
    live: Option<Live>,
    discards: Option<DiscardObserver>,
) -> Recorders {
    let Plan { network, traffic, record, .. } = plan;
    let (links, flows) = (network.topology.links().len(), traffic.flows.len());
    let ports = |recorded: &Option<(_, Vec<LinkId>)>| {
        recorded.as_ref().map(|(interval, of)| PortObserver::new(*interval, links, of))
    };
    let windows = record.windows.as_ref().map(|(interval, of)| WindowObserver::new(*interval, flows, of));
    let states = record.state.as_ref().map(|(interval, of)| StateObserver::new(*interval, flows, of));
    let mechanisms = recorded::observers(plan, events);
    (((ports(&record.queues), ports(&record.links)), ((windows, states), mechanisms)), (live, discards))
}

fn too_many_events(plan: &Plan, most: u64) -> Diagnostic {
    let recorded = mechanism::all().find_map(|mechanism| mechanism.recorded_events(plan));
    let [events, fewer] = recorded.unwrap_or(["events", "record less"]);
    let most = grouped(most.cast_signed());
    let message = format!("the run was ended, as it recorded more than {most} {events}");
    let help = format!("{fewer}, shorten the run, or go on with --force");
    Diagnostic::error(Code::Memory, message).help(help)
}
