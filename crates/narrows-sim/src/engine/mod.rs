//! The engine: advances nodes through windows of time in which they cannot affect each other.
//!
//! There is no global list of events. Every link has a delay, so inside a window no longer than the smallest delay
//! between two nodes nothing a node sends can arrive anywhere. Window by window, each node with something due handles
//! its arrivals, timers and ports in order of time; what it sends is appended to links and falls due in a later window.
//! Nodes of one window are independent, so threads can share them and the result does not depend on how.

mod attached;
mod barrier;
mod build;
mod by_host;
mod changes;
mod execution;
mod look_ahead;
mod measured;
mod mechanisms;
#[cfg(all(test, not(loom)))]
mod meetings;
mod outcome;
mod parallel;
mod places;
mod session;
mod shard;

use std::ops::ControlFlow;

use narrows_proto::units::{Span, Time, WireTime};

pub use self::attached::PlainSession;
pub use self::execution::{Execution, OnProgress, Progress, Stop};
pub use self::outcome::Outcome;
pub use self::session::{Closed, Delivered, Delivery, External, Injected, ReceivedPacket, Session};
use crate::ids::{FlowId, GroupId, HostId};
use crate::network::Network;
use crate::observe::{DiscardObserver, Observer, Recorders};
use crate::traffic::Traffic;

/// Lays out a network and its traffic and runs it unobserved; see [`Simulation::new`] and [`Simulation::run`].
///
/// This and [`RecordedSession`] are the only simulations that are compiled in this crate. Whoever uses them need not compile the engine.
pub fn simulate(
    network: &Network,
    traffic: &Traffic,
    seed: u64,
    execution: Execution,
    stop: Stop,
    progress: &mut dyn OnProgress,
) -> Outcome<()> {
    let external = External::default();
    Session::lay_out(network, traffic, seed, execution, &external, &mut || ()).complete(stop, progress)
}

/// The same step by step, with the observers of everything that may be recorded and of those who watch.
#[derive(Debug)]
pub struct RecordedSession(Session<Recorders>);

impl RecordedSession {
    /// Lays out a network and its traffic; `recorders` is called once for each thread.
    pub fn new(
        network: &Network,
        traffic: &Traffic,
        seed: u64,
        execution: Execution,
        recorders: &mut dyn FnMut() -> Recorders,
    ) -> Self {
        Self(Session::lay_out(network, traffic, seed, execution, &External::default(), recorders))
    }

    /// The same with hosts whose packets come from outside.
    pub fn with_external(
        network: &Network,
        traffic: &Traffic,
        seed: u64,
        external: &External,
        recorders: &mut dyn FnMut() -> Recorders,
    ) -> Self {
        Self(Session::lay_out(network, traffic, seed, Execution::default(), external, recorders))
    }

    /// See [`Session::open`].
    pub fn open(&mut self, group: GroupId, from: HostId, to: HostId) -> FlowId {
        self.0.open(group, from, to)
    }

    /// See [`Session::send`].
    pub fn send(&mut self, flow: FlowId, packet: &Injected, at: Time) {
        self.0.send(flow, packet, at);
    }

    /// See [`Session::backlog`].
    pub fn backlog(&mut self, host: HostId) -> Span {
        self.0.backlog(host)
    }

    /// See [`Session::now`].
    pub fn now(&self) -> Time {
        self.0.now()
    }

    /// See [`Session::advance_until`].
    pub fn advance_until(&mut self, at: Time) {
        self.0.advance_until(at);
    }

    /// See [`Session::advance_until_delivery`].
    pub fn advance_until_delivery(&mut self, at: Time) {
        self.0.advance_until_delivery(at);
    }

    /// See [`Session::quiet_until`].
    pub fn quiet_until(&mut self) -> Time {
        self.0.quiet_until()
    }

    /// See [`Session::take_deliveries`].
    pub fn take_deliveries(&mut self) -> Vec<Delivery> {
        self.0.take_deliveries()
    }

    /// Numbers of datagrams for external hosts that were dropped or lost since the last call, in no order.
    pub fn take_discarded(&mut self) -> impl Iterator<Item = u64> {
        self.0
            .observers_mut()
            .filter_map(|(_, (_, discards))| discards.as_mut())
            .flat_map(DiscardObserver::take)
    }

    /// Runs until `stop`, from where it stands; see [`Session::run`].
    pub fn run(&mut self, stop: Stop, progress: &mut dyn OnProgress) -> bool {
        self.0.run(stop, progress)
    }

    /// Ends the run now.
    pub fn finish(self) -> Outcome<Recorders> {
        self.0.finish()
    }
}

/// A simulation ready to run. Whoever wants to intervene while it runs takes a [`Session`].
#[derive(Debug)]
pub struct Simulation<O>(Session<O>);

impl<O: Observer> Simulation<O> {
    /// Lays out `network` and `traffic`. `observer` is called once for each thread.
    ///
    /// # Panics
    /// If the network has no links, a host has none or several, or settings contradict each other; a checked plan never does.
    pub fn new(
        network: &Network,
        traffic: &Traffic,
        seed: u64,
        execution: Execution,
        observer: impl FnMut() -> O,
    ) -> Self {
        Self(Session::new(network, traffic, seed, execution, &External::default(), observer))
    }

    /// Runs until `stop`. `progress` is called every now and then and may end the run early.
    pub fn run(self, stop: Stop, mut progress: impl FnMut(Progress) -> ControlFlow<()> + Send) -> Outcome<O> {
        self.0.complete(stop, &mut progress)
    }
}

/// Checks that links of this rate can be simulated.
pub fn is_link_rate(rate: narrows_proto::units::BitRate) -> bool {
    (WireTime::MIN_RATE..=WireTime::MAX_RATE).contains(&rate)
}
