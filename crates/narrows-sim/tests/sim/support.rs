//! Small networks and runs for the tests.

use std::ops::ControlFlow;

use narrows_proto::cc::{self, Config};
use narrows_proto::datagram;
use narrows_proto::rdma;
use narrows_proto::reaction;
use narrows_proto::stream::Params;
use narrows_proto::units::{BitRate, Bytes, Span, Time};
use narrows_sim::observe::{Observer, PortObserver, PortRow, WindowObserver, WindowRow};
use narrows_sim::switch::{
    Buffer, CongestionPoint, MarkAt, Marking, PortKind, Red, RedAction, Sharing, Step, SwitchConfig,
};
use narrows_sim::topology::{NodeKind, Topology};
use narrows_sim::traffic::{FlowSpec, Generator, GeneratorKind, Group, Pause, Traffic, Transport};
use narrows_sim::{
    Execution, FlowId, GroupId, HostId, Hosts, LimiterScope, LinkId, Network, Outcome, Reaction,
    ReactionPlace, Routing, Simulation, Stop,
};

pub(crate) const SECOND: Span = Span::from_secs(1);

pub(crate) fn at(span: Span) -> Time {
    Time::ZERO + span
}

/// A deep drop-tail buffer per port.
pub(crate) fn deep() -> SwitchConfig {
    SwitchConfig::new(Buffer { size: Bytes::new(1_000_000_000), sharing: Sharing::PerPort })
}

/// Drop-tail with this much per port.
pub(crate) fn shallow(size: u64) -> SwitchConfig {
    SwitchConfig { buffer: Buffer { size: Bytes::new(size), sharing: Sharing::PerPort }, ..deep() }
}

pub(crate) fn marking(k: u64) -> SwitchConfig {
    SwitchConfig {
        marking: Marking::Step(Step { k: Bytes::new(k).into(), mark_at: MarkAt::Enqueue }),
        ..deep()
    }
}

/// Scheduled ports with congestion points, and a memory that all of them share.
pub(crate) fn signaling(memory: u64, congestion_point: CongestionPoint) -> SwitchConfig {
    let buffer = Buffer { size: Bytes::new(memory), sharing: Sharing::Complete };
    SwitchConfig { ports: PortKind::Scheduled, congestion_point, ..SwitchConfig::new(buffer) }
}

pub(crate) fn qcn() -> reaction::Config {
    reaction::Config::Qcn(reaction::qcn::Params::default())
}

pub(crate) fn bcn() -> reaction::Config {
    reaction::Config::Bcn(reaction::bcn::Params::default())
}

/// Reaction points at hosts, one for each flow. Ten packets may wait in each.
pub(crate) fn reaction(rule: reaction::Config) -> Reaction {
    let (place, per) = (ReactionPlace::Host, LimiterScope::Flow);
    Reaction { rule, place, per, limiters: 1000, queue: Bytes::new(15_000), mark: None }
}

pub(crate) fn network(topology: Topology, switch: &SwitchConfig) -> Network {
    let settings = |node: &narrows_sim::topology::Node| match node.kind {
        NodeKind::Host(_) => None,
        NodeKind::Switch { .. } => Some(switch.clone()),
    };
    let switches = topology.nodes().iter().map(settings).collect();
    Network {
        topology,
        switches,
        routing: Routing::Ecmp,
        failures: Vec::new(),
        reaction: None,
        hosts: Hosts::Ideal,
        ..Network::default()
    }
}

pub(crate) fn params() -> Params {
    Params { handshake: false, min_rto: Span::from_ms(5), ..Params::default() }
}

pub(crate) fn reno() -> Config {
    Config::Reno(cc::reno::Params::default())
}

pub(crate) fn cubic() -> Config {
    Config::Cubic(cc::cubic::Params::default())
}

pub(crate) fn dctcp() -> Config {
    Config::Dctcp(cc::dctcp::Params::default())
}

pub(crate) fn swift() -> Config {
    Config::Swift(cc::swift::Params::default())
}

pub(crate) fn unlimited() -> Config {
    Config::Fixed(cc::fixed::Params::default())
}

pub(crate) fn window(bytes: u64) -> Config {
    Config::Fixed(cc::fixed::Params { window: Some(Bytes::new(bytes)), ..Default::default() })
}

pub(crate) fn group(params: Params, cc: Config) -> Group {
    Group {
        name: cc.name().into(),
        transport: Transport::Stream { params, cc },
        priority: 0,
        near_source: None,
    }
}

pub(crate) fn rdma(params: rdma::Params, cc: Config) -> Group {
    Group {
        name: cc.name().into(),
        transport: Transport::Rdma { params, cc },
        priority: 0,
        near_source: None,
    }
}

pub(crate) fn dcqcn() -> Config {
    Config::Dcqcn(cc::dcqcn::Params::default())
}

/// Marking of the DCQCN paper for 40 Gb/s.
pub(crate) fn dcqcn_marking() -> Marking {
    Marking::Red(Red {
        min: Bytes::new(5_000),
        max: Bytes::new(200_000),
        max_p: 0.01,
        weight: 1.0,
        gentle: false,
        spread: false,
        action: RedAction::Mark,
        mark_at: MarkAt::Enqueue,
        at: vec![],
    })
}

/// With this for the longest round-trip time, and for so many flows on a link.
pub(crate) fn hpcc(base_rtt: Span, flows: u32) -> Config {
    Config::Hpcc(cc::hpcc::Params { base_rtt, flows, ..Default::default() })
}

/// Scheduled ports that write telemetry, and a deep memory.
pub(crate) fn telling() -> SwitchConfig {
    SwitchConfig { telemetry: true, ..signaling(100_000_000, CongestionPoint::Off) }
}

pub(crate) fn datagrams(rate: BitRate) -> Group {
    let transport = Transport::Datagram { params: datagram::Params::default(), rate, cc: None };
    Group { name: "datagrams".into(), transport, priority: 0, near_source: None }
}

/// A source of datagrams for each (from, to, rate) that sends from the beginning until `until`.
pub(crate) fn saturating(pairs: &[(u32, u32, BitRate)], until: Span) -> Traffic {
    let groups = pairs.iter().map(|(_, _, rate)| datagrams(*rate)).collect();
    let mut flows = Vec::new();
    let mut generators = Vec::new();
    for (number, (from, to, _)) in (0..).zip(pairs) {
        flows.push(FlowSpec { group: GroupId(number), start: Time::NEVER, ..flow(*from, *to, 0) });
        let (on, off) = (Pause::Constant(until), Pause::Constant(SECOND));
        let kind = GeneratorKind::OnOff { flow: FlowId(number), on, off };
        generators.push(Generator { kind, start: Time::ZERO, until: at(until) });
    }
    Traffic { groups, flows, generators, ..Traffic::default() }
}

pub(crate) fn flow(from: u32, to: u32, size: u64) -> FlowSpec {
    FlowSpec {
        from: HostId(from),
        to: HostId(to),
        group: GroupId(0),
        start: Time::ZERO,
        size: Bytes::new(size),
    }
}

/// Larger than anything that is sent in a test.
pub(crate) const ENDLESS: u64 = 1 << 60;

pub(crate) fn traffic(group: Group, flows: Vec<FlowSpec>) -> Traffic {
    Traffic { groups: vec![group], flows, ..Traffic::default() }
}

#[derive(Clone, Copy)]
pub(crate) struct Run<'a> {
    pub(crate) network: &'a Network,
    pub(crate) traffic: &'a Traffic,
    pub(crate) seed: u64,
    pub(crate) execution: Execution,
    pub(crate) stop: Stop,
}

impl<'a> Run<'a> {
    /// Until everything is over, an hour at the most.
    pub(crate) fn new(network: &'a Network, traffic: &'a Traffic) -> Self {
        let stop = Stop { at: at(Span::from_secs(3600)), when_drained: true };
        Self { network, traffic, seed: 1, execution: Execution::default(), stop }
    }

    pub(crate) fn until(self, span: Span) -> Self {
        Self { stop: Stop { at: at(span), when_drained: false }, ..self }
    }

    pub(crate) fn seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    pub(crate) fn threads(self, threads: usize) -> Self {
        Self { execution: Execution { threads, ..self.execution }, ..self }
    }

    pub(crate) fn observed<O: Observer>(&self, observer: impl FnMut() -> O) -> Outcome<O> {
        let simulation = Simulation::new(self.network, self.traffic, self.seed, self.execution, observer);
        simulation.run(self.stop, |_| ControlFlow::Continue(()))
    }

    pub(crate) fn run(&self) -> Outcome<()> {
        self.observed(|| ())
    }

    /// Rows of the ports, every `interval`.
    pub(crate) fn ports(&self, interval: Span) -> Vec<PortRow> {
        let links = self.network.topology.links().len();
        let all: Vec<_> = (0..links).map(LinkId::from).collect();
        let outcome = self.observed(|| PortObserver::new(interval, links, &all));
        PortObserver::finish(outcome.observers, outcome.ended)
    }

    /// Rows of the senders, every `interval`.
    pub(crate) fn windows(&self, interval: Span) -> Vec<WindowRow> {
        let flows: Vec<_> = (0..self.traffic.flows.len()).map(FlowId::from).collect();
        let outcome = self.observed(|| WindowObserver::new(interval, flows.len(), &flows));
        WindowObserver::finish(outcome.observers)
    }
}

/// The directed link between two nodes, by name.
pub(crate) fn link(network: &Network, from: &str, to: &str) -> LinkId {
    let name = format!("{from} -> {to}");
    let links = (0..network.topology.links().len()).map(LinkId::from);
    links.into_iter().find(|link| network.topology.link_name(*link) == name).expect("there is such a link")
}

/// Outcome of a run, to the byte.
pub(crate) fn trace<O>(outcome: &Outcome<O>) -> String {
    let Outcome { flows, datagrams, mechanisms, ports, no_route, packet_hops, ended, packets_left, .. } =
        outcome;
    format!("{flows:?}{datagrams:?}{mechanisms:?}{ports:?}{no_route:?}{packet_hops}{ended}{packets_left}")
}
