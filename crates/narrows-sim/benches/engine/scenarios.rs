//! Runs of the benchmark. Names are stable: `hashes.json` and past measurements refer to them.

use narrows_proto::annulus::Aggregate;
use narrows_proto::cc::{Config, dctcp, rackcc};
use narrows_proto::rdma;
use narrows_proto::reaction;
use narrows_proto::stream::{Params, ReceiveOffload, Segmentation};
use narrows_proto::units::{BitRate, Bytes, Span, Time};
use narrows_sim::floor::FixedWindows;
use narrows_sim::mechanism::isolation::Isolation;
use narrows_sim::mechanism::rackcc::RackAgent;
use narrows_sim::switch::{
    Buffer, CongestionPoint, MarkAt, Marking, Pfc, PortKind, Qcn, Sharing, Step, SwitchConfig,
};
use narrows_sim::topology::{CrossDc, Dumbbell, Fabric, FatTree, LeafSpine, NodeKind, Topology, Wan, Wire};
use narrows_sim::traffic::{FlowSpec, Group, NearSource, Traffic, Transport};
use narrows_sim::workload::collectives::{Iterations, Ring, Shape, lay_out, ring};
use narrows_sim::workload::{self, Pairs, Partner, Sizes};
use narrows_sim::{
    FlowId, GroupId, HostId, Hosts, LimiterScope, Network, Purpose, Reaction, ReactionPlace, RealHosts,
    Routing, Stop, Stream,
};

/// Of everything random.
pub(crate) const SEED: u64 = 1;

/// Something to run.
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    pub(crate) threads: usize,
    pub(crate) job: fn() -> Job,
}

/// One run, laid out anew for each repetition.
// There is one at a time.
#[allow(clippy::large_enum_variant)]
pub(crate) enum Job {
    Engine { network: Network, traffic: Traffic, stop: Stop },
    Floor { topology: Topology, flows: FixedWindows },
}

const fn scenario(name: &'static str, threads: usize, job: fn() -> Job) -> Scenario {
    Scenario { name, threads, job }
}

/// All that are measured, in the order of the table.
pub(crate) const ALL: &[Scenario] = &[
    scenario("permutation-k8", 1, || permutation(8, TEN_MB, PortKind::Plain)),
    scenario("permutation-k8-scheduled", 1, || permutation(8, TEN_MB, PortKind::Scheduled)),
    scenario("permutation-k8-real-hosts", 1, || real_hosts(TEN_MB, Offload::None)),
    scenario("permutation-k8-bursts", 1, || real_hosts(TEN_MB, Offload::Both)),
    scenario("permutation-k8-slow-fabric", 1, || slow_fabric(TEN_MB, Loop::None)),
    scenario("permutation-k8-slow-fabric-qcn", 1, || slow_fabric(TEN_MB, Loop::Limiters)),
    scenario("permutation-k8-slow-fabric-annulus", 1, || slow_fabric(TEN_MB, Loop::NearSource)),
    scenario("floor-k8", 1, || floor(8, TEN_MB)),
    scenario("incast-64", 1, incast),
    scenario("leaf-spine-websearch", 1, leaf_spine),
    scenario("two-dc-websearch", 1, two_data_centers),
    scenario("two-dc-websearch-2-threads", 2, two_data_centers),
    scenario("permutation-k16", 1, || permutation(16, TWO_MB, PortKind::Plain)),
    scenario("permutation-k16-2-threads", 2, || permutation(16, TWO_MB, PortKind::Plain)),
    scenario("ring-k16", 1, ring_of_hosts),
    // The same flows on a small and a large tree, to compare the cost of a packet-hop.
    scenario("permutation-k8-1mb", 1, || permutation(8, ONE_MB, PortKind::Plain)),
    scenario("permutation-k32-1mb", 1, || permutation(32, ONE_MB, PortKind::Plain)),
    scenario("racks-10k-dctcp", 1, || shared_racks(false)),
    scenario("racks-10k-rackcc", 1, || shared_racks(true)),
    scenario("flows-100k", 1, || live(100_000, 1, DELAY, Span::from_ms(250))),
    scenario("flows-100k-far", 1, || live(100_000, 20, Span::from_ms(12), Span::from_ms(150))),
    scenario("flows-1m", 1, || live(1_000_000, 1, DELAY, Span::from_ms(150))),
    scenario("clos-2048-pfc", 1, || clos(None)),
    scenario("clos-2048-edvl", 1, || clos(Some(Isolation::default()))),
];

/// Further ones whose instructions are counted.
pub(crate) const COUNTED: &[Scenario] = &[
    scenario("permutation-k8-1mb-scheduled", 1, || permutation(8, ONE_MB, PortKind::Scheduled)),
    scenario("permutation-k8-1mb-slow-fabric", 1, || slow_fabric(ONE_MB, Loop::None)),
    scenario("permutation-k8-1mb-slow-fabric-qcn", 1, || slow_fabric(ONE_MB, Loop::Limiters)),
    scenario("permutation-k8-1mb-slow-fabric-annulus", 1, || slow_fabric(ONE_MB, Loop::NearSource)),
    scenario("permutation-k8-1mb-slow-fabric-qcn-unheard", 1, || slow_fabric(ONE_MB, Loop::Nobody)),
    scenario("permutation-k8-1mb-slow-fabric-annulus-idle", 1, || slow_fabric(ONE_MB, Loop::Idle)),
    scenario("permutation-k8-1mb-slow-fabric-pfc", 1, || lossless_fabric(None)),
    scenario("permutation-k8-1mb-slow-fabric-edvl", 1, || lossless_fabric(Some(&Isolation::default()))),
    scenario("floor-k8-1mb", 1, || floor(8, ONE_MB)),
];

const ONE_MB: Bytes = Bytes::new(1_000_000);
const TWO_MB: Bytes = Bytes::new(2_000_000);
const TEN_MB: Bytes = Bytes::new(10_000_000);

const RATE: BitRate = BitRate::from_gbps(100);
const HALF_RATE: BitRate = BitRate::from_gbps(50);
const DELAY: Span = Span::from_us(1);

/// Every host of a fat tree sends `size` to one in another pod, under DCTCP.
///
/// With scheduled ports every second host sends at a higher priority. The shift by half the hosts and one makes every
/// packet cross six links, and ECMP collide as it does for any permutation.
fn permutation(k: u32, size: Bytes, ports: PortKind) -> Job {
    let topology = fat_tree(k);
    let flow = |(from, to): (usize, HostId)| {
        let group = if ports == PortKind::Scheduled { from % 2 } else { 0 };
        FlowSpec { from: HostId::from(from), to, group: GroupId::from(group), start: Time::ZERO, size }
    };
    let flows = partners(&topology).into_iter().enumerate().map(flow).collect();
    let traffic = Traffic { groups: vec![dctcp(0, 10), dctcp(1, 10)], flows, ..Traffic::default() };
    Job::Engine { network: network(topology, ports), traffic, stop: drained() }
}

/// The first millisecond of a ring all-reduce of 100 MB over the 1024 hosts of a fat tree: 2046 messages of each in all, on connections that
/// are kept, under DCTCP. Ranks are dealt out over pods, so that packets cross six links, as those of the permutation.
fn ring_of_hosts() -> Job {
    let topology = fat_tree(16);
    let all = all_hosts(&topology);
    let pod = all.len() / 16;
    let hosts: Vec<_> = (0..all.len()).map(|rank| all[rank % 16 * pod + rank / 16]).collect();
    let shape = Shape { ranks: hosts.len() as u32, size: ONE_MB * 100, chunks: 1, compute: Span::ZERO };
    let parts = ring(Ring::AllReduce, &shape);
    let iterations = Iterations { start: Time::ZERO, compute: Span::ZERO, count: 1 };
    let (ranks, flows) = lay_out(&parts, &hosts, GroupId(0), FlowId(0), &iterations);
    let mut group = dctcp(0, 10);
    if let Transport::Stream { params, .. } = &mut group.transport {
        (params.keep_connections, params.handshake) = (true, false);
    }
    let traffic = Traffic { groups: vec![group], flows, ranks, ..Traffic::default() };
    let stop = Stop { at: Time::ZERO + Span::from_ms(1), when_drained: false };
    Job::Engine { network: network(topology, PortKind::Plain), traffic, stop }
}

/// Offloads of network cards.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Offload {
    None,
    /// Segmentation offload and receive offload.
    Both,
}

/// The permutation between real hosts, as they are by default.
fn real_hosts(size: Bytes, offload: Offload) -> Job {
    let Job::Engine { network, mut traffic, stop } = permutation(8, size, PortKind::Plain) else {
        unreachable!("a permutation runs on the engine")
    };
    for group in &mut traffic.groups {
        let Transport::Stream { params, .. } = &mut group.transport else { continue };
        if offload == Offload::Both {
            params.segmentation = Some(Segmentation::default());
            params.receive_offload = Some(ReceiveOffload::default());
        }
    }
    let network = Network { hosts: Hosts::Real(RealHosts::default()), ..network };
    Job::Engine { network, traffic, stop }
}

/// Who receives the messages of QCN.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Loop {
    /// There are none.
    None,
    /// A limiter for each flow.
    Limiters,
    /// A near-source loop for each flow (Annulus).
    NearSource,
    /// Nobody.
    Nobody,
    /// There are none, but a near-source loop for each flow.
    Idle,
}

/// The permutation on scheduled ports of a tree whose switches are joined at half the rate of hosts, so that every flow
/// meets congestion; with QCN at every port of every switch, or without.
fn slow_fabric(size: Bytes, heard_by: Loop) -> Job {
    let Job::Engine { network, mut traffic, stop } = permutation(8, size, PortKind::Scheduled) else {
        unreachable!("a permutation runs on the engine")
    };
    let mut network = Network { topology: with_slow_fabric(&network.topology), ..network };
    if !matches!(heard_by, Loop::None | Loop::Idle) {
        for switch in network.switches.iter_mut().flatten() {
            switch.congestion_point = CongestionPoint::Qcn(Qcn::default());
        }
    }
    if matches!(heard_by, Loop::NearSource | Loop::Idle) {
        for group in &mut traffic.groups {
            let (per, places) = (Aggregate::Flow, [].into());
            group.near_source = Some(NearSource { per, places, params: Default::default() });
        }
    }
    if heard_by == Loop::Limiters {
        // Ten times as fast as for links of 10 Gb/s, and timers that suit a run of some milliseconds.
        let recovery = reaction::qcn::Params {
            ai_rate: BitRate::from_mbps(50),
            hai_rate: BitRate::from_mbps(500),
            time_reset: Span::from_us(300),
            ..Default::default()
        };
        network.reaction = Some(Reaction {
            rule: reaction::Config::Qcn(recovery),
            place: ReactionPlace::Host,
            per: LimiterScope::Flow,
            limiters: 100,
            queue: Bytes::new(15_000),
            mark: None,
        });
    }
    Job::Engine { network, traffic, stop }
}

/// The permutation on such a tree whose switches stop their neighbors by class, and isolate congested flows or not.
fn lossless_fabric(isolation: Option<&Isolation>) -> Job {
    let Job::Engine { mut network, traffic, stop } = slow_fabric(ONE_MB, Loop::None) else {
        unreachable!("a permutation runs on the engine")
    };
    for switch in network.switches.iter_mut().flatten() {
        switch.pfc = Some(Pfc { priorities: vec![0, 1], ..Pfc::default() });
        switch.isolation = isolation.cloned();
    }
    Job::Engine { network, traffic, stop }
}

/// Network #2 of the DVL evaluation (Gonzalez-Naharro et al., NEAT 2019): 2048 hosts, two levels of 64-port switches at 40 Gb/s and
/// 1 µs, 50 000 flows in four classes of sizes that start within 2 ms, RDMA.
fn clos(isolation: Option<Isolation>) -> Job {
    let rate = BitRate::from_gbps(40);
    let mut topology = Topology::default();
    LeafSpine {
        racks: 64,
        hosts_per_rack: 32,
        spines: 32,
        links_per_spine: 1,
        host_rate: rate,
        uplink_rate: rate,
        delay: DELAY,
    }
    .build(&mut topology, "");
    let hosts = all_hosts(&topology);
    let pairs =
        Pairs::new(hosts.clone(), &hosts, Partner::Any, hosts.len(), |host| host.0).expect("many hosts");
    let sizes = Sizes::from_points(&DVL_CLASSES).expect("a distribution");
    let within = Span::from_ms(2);
    let flows = workload::random(GroupId(0), 50_000, &sizes, &pairs, Time::ZERO, within, &mut random(0));
    let params = rdma::Params {
        mtu: Bytes::new(1000),
        ack_every: 64,
        rto: Span::from_secs(1),
        ..rdma::Params::default()
    };
    let transport = Transport::Rdma { params, cc: Config::Fixed(Default::default()) };
    let groups = vec![Group { name: "classes".into(), transport, priority: 0, near_source: None }];
    let buffer = Buffer { size: Bytes::new(24_000_000), sharing: Sharing::Complete };
    let config = SwitchConfig {
        ports: PortKind::Scheduled,
        pfc: Some(Pfc::default()),
        isolation,
        ..SwitchConfig::new(buffer)
    };
    let network = Network { routing: Routing::DModK, ..with_switches(topology, &config) };
    Job::Engine { network, traffic: Traffic { groups, flows, ..Traffic::default() }, stop: drained() }
}

/// The classes of sizes of that evaluation, counted in flows. The scenario format knows them by name.
const DVL_CLASSES: [(f64, f64); 5] =
    [(1_000.0, 0.0), (100_000.0, 0.6952), (1_000_000.0, 0.9482), (10_000_000.0, 0.9782), (30_000_000.0, 1.0)];

/// The same nodes, with half the rate between switches.
fn with_slow_fabric(from: &Topology) -> Topology {
    let mut topology = Topology::default();
    for node in from.nodes() {
        match &node.kind {
            NodeKind::Host(_) => topology.add_host(node.name.clone()),
            NodeKind::Switch { class, tier } => topology.add_switch(node.name.clone(), class, *tier),
        };
    }
    for link in from.links().iter().step_by(2) {
        let to_host = [link.from, link.to].iter().any(|node| from.as_host(*node).is_some());
        let rate = if to_host { RATE } else { HALF_RATE };
        topology.connect(link.from, link.to, Wire { rate, ..link.wire });
    }
    topology
}

/// The packets of a permutation, and nothing else.
///
/// The window is about what DCTCP keeps under way in the permutation itself: a round trip over twelve links of 100 Gb/s
/// and 1 µs holds 106 packets, the marking threshold 66.
fn floor(k: u32, size: Bytes) -> Job {
    let topology = fat_tree(k);
    let params = params(10);
    let wire = |payload: Bytes| params.packet_size(payload).get() as u16;
    let flows = FixedWindows {
        to: partners(&topology),
        packets: size.div_ceil(params.mss()),
        window: 160,
        data_size: wire(params.mss()),
        ack_size: wire(Bytes::ZERO),
    };
    Job::Floor { topology, flows }
}

/// Ten times, 10 ms apart, 64 hosts of a fat tree send 1 MB each to one.
fn incast() -> Job {
    let topology = fat_tree(8);
    let hosts = all_hosts(&topology);
    let (period, times) = (Span::from_ms(10), 10);
    let flows =
        workload::incast(GroupId(0), &hosts, &hosts, 64, ONE_MB, Time::ZERO, period, times, &mut random(0));
    let traffic = Traffic { groups: vec![dctcp(0, 10)], flows, ..Traffic::default() };
    Job::Engine { network: network(topology, PortKind::Plain), traffic, stop: drained() }
}

/// Flows of web search between any of 128 hosts, at half of what their links carry.
fn leaf_spine() -> Job {
    let mut topology = Topology::default();
    racks(8).build(&mut topology, "");
    let flows = poisson(&topology, 0, Partner::Any, 128, 0.5);
    let traffic = Traffic { groups: vec![dctcp(0, 10)], flows, ..Traffic::default() };
    Job::Engine { network: network(topology, PortKind::Plain), traffic, stop: after_10_ms() }
}

/// The same in two data centers of 64 hosts, and half the rate of the link between them filled with web search, too.
///
/// In 10 ms no window grows over a round trip of 10 ms, so those flows begin with one of 1.5 MB: the long link is to hold
/// tens of thousands of packets, as it does in longer runs.
fn two_data_centers() -> Job {
    let mut topology = Topology::default();
    let wan = Wan {
        rate: BitRate::from_gbps(400),
        delay: Span::from_ms(5),
        error_rate: 0.0,
        borders: 1,
        border_rate: None,
        border_delay: None,
    };
    let fabric = Fabric::LeafSpine(racks(4));
    CrossDc { datacenters: 2, fabric, fabrics: Vec::new(), wan }.build(&mut topology, "");
    let mut flows = poisson(&topology, 0, Partner::Same, 64, 0.5);
    // Relative to the links of 64 hosts in each data center, of which the long link carries 4.
    flows.extend(poisson(&topology, 1, Partner::Other, 64, 0.5 * 4.0 / 64.0));
    let traffic = Traffic { groups: vec![dctcp(0, 10), dctcp(0, 1000)], flows, ..Traffic::default() };
    Job::Engine { network: network(topology, PortKind::Plain), traffic, stop: after_10_ms() }
}

fn fat_tree(k: u32) -> Topology {
    let mut topology = Topology::default();
    FatTree { k, rate: RATE, delay: DELAY }.build(&mut topology, "");
    topology
}

/// Racks of 16 hosts; a quarter as many uplinks of four times the rate, so that nothing is oversubscribed.
fn racks(racks: u32) -> LeafSpine {
    let uplink_rate = BitRate::from_gbps(400);
    LeafSpine {
        racks,
        hosts_per_rack: 16,
        spines: 4,
        links_per_spine: 1,
        host_rate: RATE,
        uplink_rate,
        delay: DELAY,
    }
}

fn all_hosts(topology: &Topology) -> Vec<HostId> {
    (0..topology.hosts().len()).map(HostId::from).collect()
}

/// Who every host of a fat tree sends to.
fn partners(topology: &Topology) -> Vec<HostId> {
    let hosts = topology.hosts().len();
    (0..hosts).map(|host| HostId::from((host + hosts / 2 + 1) % hosts)).collect()
}

/// Switches with a shared memory under dynamic thresholds that mark what finds more than 8 µs of a host link's time
/// waiting.
fn network(topology: Topology, ports: PortKind) -> Network {
    let buffer = Buffer { size: Bytes::new(12_000_000), sharing: Sharing::default() };
    let marking = Marking::Step(Step { k: Bytes::new(100_000).into(), mark_at: MarkAt::Enqueue });
    with_switches(topology, &SwitchConfig { marking, ports, ..SwitchConfig::new(buffer) })
}

fn with_switches(topology: Topology, config: &SwitchConfig) -> Network {
    let is_switch = |node: &narrows_sim::topology::Node| matches!(node.kind, NodeKind::Switch { .. });
    let switches = topology.nodes().iter().map(|node| is_switch(node).then(|| config.clone())).collect();
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

fn dctcp(priority: u8, initial_window: u64) -> Group {
    let cc = Config::Dctcp(dctcp::Params::default());
    let transport = Transport::Stream { params: params(initial_window), cc };
    Group { name: format!("priority {priority}"), transport, priority, near_source: None }
}

/// Four racks of 40 hosts, each with 250 connections to other racks: 10 000 subflows of each rack under RackCC, or as many
/// connections under DCTCP. Half as much goes between racks as hosts could send.
fn shared_racks(shared: bool) -> Job {
    const HOSTS: u32 = 40;
    const EACH: u32 = 250;
    let mut topology = Topology::default();
    let rates = (RATE, BitRate::from_gbps(500));
    let racks =
        LeafSpine { racks: 4, hosts_per_rack: HOSTS, host_rate: rates.0, uplink_rate: rates.1, ..racks(4) };
    LeafSpine { delay: Span::from_us(6), ..racks }.build(&mut topology, "");
    let mut network = network(topology, PortKind::Scheduled);
    let cc = match shared {
        false => Config::Dctcp(dctcp::Params::default()),
        true => Config::Rackcc(rackcc::Params::default()),
    };
    for switch in network.switches.iter_mut().flatten() {
        switch.marking = Marking::Step(Step { k: Bytes::new(1_000_000).into(), mark_at: MarkAt::Enqueue });
        switch.rackcc = shared.then(RackAgent::default);
    }
    let params = Params { handshake: true, ..params(10) };
    let name = cc.name().into();
    let group = Group { name, transport: Transport::Stream { params, cc }, priority: 0, near_source: None };
    let flow = |number: u32| {
        let from = number % (4 * HOSTS);
        let to = (from + HOSTS + (number / (4 * HOSTS)) % (3 * HOSTS)) % (4 * HOSTS);
        let start = Time::ZERO + Span::from_ns(50) * u64::from(number);
        let size = Bytes::new(1 << 60);
        FlowSpec { from: HostId(from), to: HostId(to), group: GroupId(0), start, size }
    };
    let traffic = Traffic {
        groups: vec![group],
        flows: (0..4 * HOSTS * EACH).map(flow).collect(),
        ..Traffic::default()
    };
    Job::Engine { network, traffic, stop: Stop { at: Time::ZERO + Span::from_ms(6), when_drained: false } }
}

/// Endless flows from so many hosts over one link of 100 Gb/s to as many others, under DCTCP. With 1 µs between two hosts the flows wait
/// for their turn at the network card; far away each has the smallest window of two packets under way.
fn live(flows: u32, hosts: u32, delay: Span, span: Span) -> Job {
    let mut topology = Topology::default();
    Dumbbell { hosts, host_rate: RATE, bottleneck_rate: RATE, host_delay: DELAY, bottleneck_delay: delay }
        .build(&mut topology, "");
    let (window, between) = if delay > DELAY { (2, Span::from_ns(240)) } else { (10, Span::from_ns(50)) };
    // No timeout expires while an acknowledgment is delayed.
    let min_rto = Span::from_ms(200);
    let transport = Transport::Stream {
        params: Params { min_rto, ..params(window) },
        cc: Config::Dctcp(Default::default()),
    };
    let group = Group { transport, ..dctcp(0, window) };
    let flow = |number: u32| {
        let (from, to) = (HostId(number % hosts), HostId(hosts + number % hosts));
        let start = Time::ZERO + between * u64::from(number);
        FlowSpec { from, to, group: GroupId(0), start, size: Bytes::new(1 << 60) }
    };
    let traffic =
        Traffic { groups: vec![group], flows: (0..flows).map(flow).collect(), ..Traffic::default() };
    let stop = Stop { at: Time::ZERO + span, when_drained: false };
    Job::Engine { network: network(topology, PortKind::Plain), traffic, stop }
}

/// Packets of 1500 B with 40 B of headers and no framing, acknowledgments of 64 B: as most simulators count.
fn params(initial_window: u64) -> Params {
    Params {
        headers: Bytes::new(40),
        framing: Bytes::ZERO,
        min_packet: Bytes::new(64),
        handshake: false,
        min_rto: Span::from_ms(5),
        initial_window,
        ..Params::default()
    }
}

/// Sizes of web search flows as (bytes, cumulative probability): Alizadeh et al., DCTCP, SIGCOMM 2010, as in the public
/// generators of HKUST and HPCC. The scenario format knows the same points by name (`crates/narrows/data/sizes`).
const WEB_SEARCH: [(f64, f64); 12] = [
    (0.0, 0.0),
    (10_000.0, 0.15),
    (20_000.0, 0.2),
    (30_000.0, 0.3),
    (50_000.0, 0.4),
    (80_000.0, 0.53),
    (200_000.0, 0.6),
    (1_000_000.0, 0.7),
    (2_000_000.0, 0.8),
    (5_000_000.0, 0.9),
    (10_000_000.0, 0.97),
    (30_000_000.0, 1.0),
];

/// Web search flows during 10 ms between hosts in the same or in another place, of which each has `per_place`; on average
/// they fill `load` of the links of all hosts.
fn poisson(topology: &Topology, group: u32, partner: Partner, per_place: u32, load: f64) -> Vec<FlowSpec> {
    let sizes = Sizes::from_points(&WEB_SEARCH).expect("a distribution");
    let hosts = all_hosts(topology);
    let pairs = Pairs::new(hosts.clone(), &hosts, partner, hosts.len(), |host| host.0 / per_place)
        .expect("every host has partners");
    let params = params(10);
    // Nearly all packets are full.
    let wire_bytes = sizes.mean() * params.mtu.as_f64() / params.mss().as_f64();
    let per_second = load * hosts.len() as f64 * RATE.as_f64() / 8.0 / wire_bytes;
    let time = Time::ZERO..after_10_ms().at;
    workload::poisson(GroupId(group), per_second, &sizes, &pairs, time, &mut random(group.into())).collect()
}

fn random(number: u64) -> Stream {
    Stream::new(SEED, Purpose::Workload, number)
}

/// When every flow is complete; long before 10 s.
fn drained() -> Stop {
    Stop { at: Time::ZERO + Span::from_secs(10), when_drained: true }
}

fn after_10_ms() -> Stop {
    Stop { at: Time::ZERO + Span::from_ms(10), when_drained: false }
}
