//! The engine: advances nodes through windows of time in which they cannot affect each other.
//!
//! There is no global list of events. Every link has a delay, so inside a window no longer than the smallest delay
//! between two nodes nothing a node sends can arrive anywhere. Window by window, each node with something due handles
//! its arrivals, timers and ports in order of time; what it sends is appended to links and falls due in a later window.
//! Nodes of one window are independent, so threads can share them and the result does not depend on how.

mod barrier;
mod build;
mod measured;
mod parallel;
mod session;
mod shard;

use std::ops::ControlFlow;

use narrows_proto::units::{Bytes, Span, Time, WireTime};

pub use self::session::{Delivered, Delivery, External, Injected, ReceivedPacket, Session};
use self::shard::Shard;
use crate::network::Network;
use crate::observe::{Observer, Recorders};
use crate::record::{DatagramRecord, DropCause, FlowRecord, PortCounters, RackRecord, ReactionRecord};
use crate::traffic::Traffic;
use crate::world::MAX_WINDOW;

/// How a run is to be executed. None of this changes its results.
#[derive(Clone, Copy, Debug)]
pub struct Execution {
    /// Threads that share the nodes.
    pub threads: usize,
    /// Windows are made this much shorter than they may be, for tests of the engine.
    pub window_divisor: u64,
}

impl Default for Execution {
    fn default() -> Self {
        Self { threads: 1, window_divisor: 1 }
    }
}

/// When a run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stop {
    /// At this time at the latest; what happens at this very moment still counts.
    pub at: Time,
    /// As soon as every flow is complete and no generator will start another.
    pub when_drained: bool,
}

/// Progress of a run.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Simulated time.
    pub now: Time,
    /// Packets that arrived at some node so far, in all threads.
    pub packet_hops: u64,
}

/// What is called with the progress of a run, and may end it early.
pub trait OnProgress: FnMut(Progress) -> ControlFlow<()> + Send {}

impl<F: FnMut(Progress) -> ControlFlow<()> + Send> OnProgress for F {}

/// What a run leaves behind.
#[derive(Debug)]
pub struct Outcome<O> {
    /// Every flow that started, by flow and turn.
    pub flows: Vec<FlowRecord>,
    /// Every source of datagrams that started, by flow.
    pub datagrams: Vec<DatagramRecord>,
    /// What all reaction points together did.
    pub reaction: ReactionRecord,
    /// What all switches of racks and their hosts did for JumboFlows.
    pub rack: RackRecord,
    /// By link.
    pub ports: Vec<PortCounters>,
    /// Packets that had nowhere to go, by cause; they belong to no link.
    pub no_route: PortCounters,
    /// The observers of all threads.
    pub observers: Vec<O>,
    /// Packets that arrived at some node.
    pub packet_hops: u64,
    /// When the run ended.
    pub ended: Time,
    /// It was not interrupted.
    pub complete: bool,
    /// Packets on links at the end. Packets that wait at a port are not on its link yet.
    pub packets_left: u64,
}

impl Outcome<()> {
    /// A number that two runs share only if they went the same way.
    pub fn fingerprint(&self) -> u64 {
        fingerprint(&self.flows, &self.ports, self.packet_hops, self.ended)
    }
}

/// FNV-1a over what happened to flows and ports.
fn fingerprint(flows: &[FlowRecord], ports: &[PortCounters], hops: u64, ended: Time) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut add = |value: u64| {
        for byte in value.to_le_bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
    };
    add(hops);
    add(ended.as_ps());
    for flow in flows {
        let end = flow.end.unwrap_or(Time::NEVER);
        [flow.flow.0.into(), flow.turn, flow.start.as_ps(), end.as_ps()].into_iter().for_each(&mut add);
        let stats = &flow.stats;
        [stats.retransmissions, stats.timeouts, stats.marked.get()].into_iter().for_each(&mut add);
    }
    for port in ports {
        [port.packets, port.bytes, port.marks, port.dropped(), port.max_backlog]
            .into_iter()
            .for_each(&mut add);
    }
    hash
}

/// Lays out a network and its traffic and runs it unobserved; see [`Simulation::new`] and [`Simulation::run`].
///
/// This and [`record`] are the only simulations that are compiled in this crate. Whoever calls them need not compile the engine.
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

/// The same with the observers of everything that may be recorded; `recorders` is called once for each thread.
pub fn record(
    network: &Network,
    traffic: &Traffic,
    seed: u64,
    execution: Execution,
    recorders: &mut dyn FnMut() -> Recorders,
    stop: Stop,
    progress: &mut dyn OnProgress,
) -> Outcome<Recorders> {
    let external = External::default();
    Session::lay_out(network, traffic, seed, execution, &external, recorders).complete(stop, progress)
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

impl<O: Observer> Outcome<O> {
    /// What shards leave behind that end after `ended`.
    fn of(shards: Vec<Shard<O>>, links: usize, ended: Time, complete: bool) -> Self {
        let mut outcome = Outcome {
            flows: Vec::new(),
            datagrams: Vec::new(),
            reaction: ReactionRecord::default(),
            rack: RackRecord::default(),
            ports: vec![PortCounters::default(); links],
            no_route: PortCounters::default(),
            observers: Vec::new(),
            packet_hops: 0,
            ended,
            complete,
            packets_left: 0,
        };
        let mut completions = Vec::new();
        for mut shard in shards {
            if O::ACTIVE {
                shard.review(ended + Span::from_ps(1));
            }
            shard.finish(ended, &mut outcome);
            completions.append(&mut shard.world.log.completions);
            outcome.observers.push(shard.world.observer);
        }
        outcome.flows.sort_unstable_by_key(|flow| (flow.flow, flow.turn));
        outcome.datagrams = merge_datagrams(outcome.datagrams);
        enter_completions(&mut outcome.flows, completions);
        if cfg!(debug_assertions) {
            outcome.check_balance();
        }
        outcome
    }
}

impl<O> Outcome<O> {
    /// Packets sent by every port = packets arrived + packets still on links.
    fn check_balance(&self) {
        let sent: u64 = self.ports.iter().map(|port| port.packets).sum();
        let arrived = self.packet_hops;
        assert_eq!(sent, arrived + self.packets_left, "packets sent, arrived and left do not balance");
    }

    /// Packets dropped for `cause` anywhere.
    pub fn drops(&self, cause: DropCause) -> u64 {
        let ports = self.ports.iter().chain([&self.no_route]);
        ports.map(|port| port.drops[cause as usize]).sum()
    }
}

/// No node can affect another sooner than this. `external` is the smallest packet from outside, if any come from there.
fn look_ahead(network: &Network, traffic: &Traffic, external: Option<Bytes>) -> Span {
    let switches = network.switches.iter().flatten();
    let messages = switches.clone().filter_map(|switch| Some(switch.congestion_point.message()?.size));
    let pauses = switches.clone().filter_map(|switch| Some(switch.pause.as_ref()?.frame));
    let stops = switches.clone().filter_map(|switch| Some(switch.pfc.as_ref()?.frame));
    let racks = switches.clone().filter_map(|switch| Some(switch.rack.as_ref()?.message_size));
    let tells = switches.filter_map(|switch| Some(switch.isolation.as_ref()?.message_size));
    let packets = traffic.groups.iter().map(|group| group.smallest_packet());
    let smallest = packets
        .chain(messages)
        .chain(pauses)
        .chain(stops)
        .chain(tells)
        .chain(racks)
        .chain(external)
        .min()
        .unwrap_or(Bytes::new(64));
    let links = network.topology.links().iter().map(|link| {
        let latency = network.switches[link.to.index()].as_ref().map_or(Span::ZERO, |switch| switch.latency);
        link.wire.delay + latency + link.wire.rate.time_to_send(smallest)
    });
    links.min().expect("a network has links").min(MAX_WINDOW)
}

/// A source's and its sink's record belong together.
fn merge_datagrams(mut records: Vec<DatagramRecord>) -> Vec<DatagramRecord> {
    records.sort_unstable_by_key(|record| record.flow);
    records
        .chunk_by(|a, b| a.flow == b.flow)
        .map(|same| {
            same.iter().fold(DatagramRecord { flow: same[0].flow, ..Default::default() }, |sum, part| {
                DatagramRecord {
                    flow: sum.flow,
                    sent: sum.sent + part.sent,
                    dropped_at_source: sum.dropped_at_source + part.dropped_at_source,
                    received: sum.received + part.received,
                    received_bytes: sum.received_bytes + part.received_bytes,
                }
            })
        })
        .collect()
}

/// The n-th completion of a flow belongs to its n-th turn.
fn enter_completions(flows: &mut [FlowRecord], mut completions: Vec<(crate::ids::FlowId, Time)>) {
    completions.sort_unstable();
    let mut completions = completions.into_iter().peekable();
    for flow in flows {
        flow.end = completions.next_if(|(of, _)| *of == flow.flow).map(|(_, at)| at);
    }
    assert!(completions.next().is_none(), "a flow that never started is complete");
}

/// Checks that links of this rate can be simulated.
pub fn is_link_rate(rate: narrows_proto::units::BitRate) -> bool {
    (WireTime::MIN_RATE..=WireTime::MAX_RATE).contains(&rate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_another_number_of_packet_hops_have_another_fingerprint() {
        let of = |hops| fingerprint(&[], &[], hops, Time::ZERO);
        assert_ne!(of(1), of(2));
        assert_eq!(of(1), of(1));
    }
}
