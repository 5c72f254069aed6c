//! How much memory a run would need, before it takes any.

use std::collections::BTreeSet;

use narrows_proto::cc::Config;
use narrows_proto::units::Bytes;
use narrows_sim::topology::NodeKind;
use narrows_sim::traffic::{Group, Traffic, Transport};
use narrows_sim::{Network, NodeId};

/// Bytes of a packet in a ring; rings grow by doubling.
const PACKET: u64 = 32 * 2;
/// Slots of a packet that has collected telemetry.
const TOLD: u64 = 3;
/// Structures of a node, a link, a flow that waits to be started and reported, and a flow under way.
const NODE: u64 = 2_000;
const LINK: u64 = 600;
const FLOW: u64 = 600;
const LIVE_FLOW: u64 = 2_000;
/// A connection that waits for its next flow.
const CONNECTION: u64 = 700;
/// A segment a sender remembers.
const SEGMENT: u64 = 48 * 2;
/// What a switch knows of each switch that has hosts, before the run and in it.
const ROUTE: u64 = 2 * 2;
/// No machine has more, and sums over several runs fit 64 bits.
const MOST: u64 = 1 << 50;
/// Flows under way at once on each host, for traffic that starts flows as it goes.
const LIVE_PER_HOST: u64 = 100;

/// An upper estimate: every link full, every buffer full.
pub(super) fn estimate(network: &Network, traffic: &Traffic, threads: u64) -> Bytes {
    let smallest =
        traffic.groups.iter().map(|group| group.largest_packet()).min().unwrap_or(Bytes::new(1538));
    let packets = |bytes: Bytes| (bytes.get() / smallest.get().max(1)).saturating_add(2);
    let links = network.topology.links();
    let sum = |counts: &mut dyn Iterator<Item = u64>| counts.fold(0, u64::saturating_add);
    let in_flight = sum(&mut links.iter().map(|link| packets(link.wire.rate * link.wire.delay)));
    let ports = network.topology.ports();
    let nodes = network.topology.nodes().iter().zip(&ports).zip(&network.switches);
    let buffered = sum(&mut nodes.map(|((node, ports), switch)| match (&node.kind, switch) {
        (NodeKind::Switch { .. }, Some(switch)) => packets(switch.buffer.total(ports.len())),
        _ => 0,
    }));
    let flows = traffic.flows.len() as u64;
    let live = flows.min(network.topology.hosts().len() as u64 * LIVE_PER_HOST);
    let hosts = network.topology.hosts();
    let rack = |host: &NodeId| ports[host.index()].first().map(|link| network.topology.link(*link).to);
    let racks: BTreeSet<_> = hosts.iter().filter_map(rack).collect();
    let switches = network.topology.nodes().len() - hosts.len();
    let reads = |group: &Group| group.transport.control().is_some_and(Config::reads_telemetry);
    let slots = if traffic.groups.iter().any(reads) { TOLD } else { 1 };
    let total = [
        (in_flight.saturating_add(buffered)).saturating_mul(slots * PACKET + SEGMENT),
        NODE * network.topology.nodes().len() as u64,
        LINK * links.len() as u64,
        ROUTE * switches as u64 * racks.len() as u64,
        flows * (FLOW + 24 * threads),
        live * LIVE_FLOW,
        kept_connections(traffic, live) * CONNECTION,
    ];
    Bytes::new(sum(&mut total.into_iter()).min(MOST))
}

/// One for each pair of hosts and group that keeps connections, and more where several flows are under way at once.
fn kept_connections(traffic: &Traffic, live: u64) -> u64 {
    let keeps = |group: &Group| matches!(&group.transport, Transport::Stream { params, .. } if params.keep_connections);
    let keeps: Vec<_> = traffic.groups.iter().map(keeps).collect();
    let kept = traffic.flows.iter().filter(|flow| keeps[flow.group.index()]);
    let pairs: BTreeSet<_> = kept.map(|flow| (flow.group, flow.from, flow.to)).collect();
    if pairs.is_empty() { 0 } else { pairs.len() as u64 + live }
}

/// Memory the system can still give; none if it does not tell.
pub fn available() -> Option<Bytes> {
    let mut system = sysinfo::System::new();
    system.refresh_memory();
    let available = system.available_memory();
    (available > 0).then_some(Bytes::new(available))
}
