//! Estimated memory of a run, before it takes any.

use std::collections::BTreeSet;

use narrows_proto::cc::Config;
use narrows_proto::units::Bytes;
use narrows_sim::path::Path;
use narrows_sim::switch::SwitchConfig;
use narrows_sim::topology::NodeKind;
use narrows_sim::traffic::{Group, Transport};
use narrows_sim::{LinkId, NodeId};
use sysinfo::CGroupLimits;

use super::planned::LIVE_PER_HOST;
use super::{Plan, kept};
use crate::mechanism;

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
/// Route of a switch to each switch that has hosts, before the run and in it.
const ROUTE: u64 = 2 * 2;
/// No machine has more, and sums over several runs fit 64 bits.
const MOST: u64 = 1 << 50;
/// Rows of a table are written in groups of at most 2^20, for each of which the file takes some 64 bytes in the meantime.
const WRITTEN_AT_ONCE: u64 = 64 << 20;

/// Memory of every run: writing tables and the report.
const BASE: u64 = 16 << 20;

/// An upper estimate: every link full, every buffer full, everything that is recorded happening all the time.
pub(super) fn estimate(plan: &Plan, threads: u64) -> Bytes {
    let (network, traffic) = (&plan.network, &plan.traffic);
    let smallest =
        traffic.groups.iter().map(|group| group.largest_packet()).min().unwrap_or(Bytes::new(1538));
    let packets = |bytes: Bytes| (bytes.get() / smallest.get().max(1)).saturating_add(2);
    let links = network.topology.links();
    let sum = |counts: &mut dyn Iterator<Item = u64>| counts.fold(0, u64::saturating_add);
    let in_flight =
        sum(&mut (0..links.len()).map(|link| packets(network.most_in_flight(LinkId::from(link)))));
    let ports = network.topology.ports();
    let nodes = network.topology.nodes().iter().zip(&ports).zip(&network.switches);
    let buffered = sum(&mut nodes.map(|((node, ports), switch)| match (&node.kind, switch) {
        (NodeKind::Switch { .. }, Some(switch)) => packets(switch.buffer.total(ports.len())),
        _ => 0,
    }));
    let state = |switch: &SwitchConfig| mechanism::all().map(|mechanism| mechanism.state_bytes(switch)).sum();
    let switches = network.switches.iter().zip(&ports);
    let queues = sum(&mut switches.filter_map(|(switch, ports)| {
        let bytes: u64 = state(switch.as_ref()?);
        Some(bytes.saturating_mul((ports.len() * super::priorities(&plan.scenario)) as u64))
    }));
    let flows = plan.most_flows();
    let live = flows.min(network.topology.hosts().len() as u64 * LIVE_PER_HOST);
    let hosts = network.topology.hosts();
    let rack = |host: &NodeId| ports[host.index()].first().map(|link| network.topology.link(*link).to);
    let racks: BTreeSet<_> = hosts.iter().filter_map(rack).collect();
    let switches = network.topology.nodes().len() - hosts.len();
    let reads = |group: &Group| group.transport.control().is_some_and(Config::reads_telemetry);
    let slots = if traffic.groups.iter().any(reads) { TOLD } else { 1 };
    let recorded = kept::estimate(plan);
    let total = [
        BASE,
        (in_flight.saturating_add(buffered)).saturating_mul(slots * PACKET + SEGMENT),
        queues,
        sum(&mut mechanism::all().map(|mechanism| mechanism.table_bytes(network))),
        sum(&mut network.paths.values().map(Path::bytes)),
        NODE * network.topology.nodes().len() as u64,
        LINK * links.len() as u64,
        ROUTE * switches as u64 * racks.len() as u64,
        flows.saturating_mul(FLOW + 24 * threads),
        live * LIVE_FLOW,
        kept_connections(plan, live).saturating_mul(CONNECTION),
        recorded,
        recorded.min(WRITTEN_AT_ONCE),
    ];
    Bytes::new(sum(&mut total.into_iter()).min(MOST))
}

/// One for each pair of hosts and group that keeps connections, and more where several flows are under way at once.
fn kept_connections(plan: &Plan, live: u64) -> u64 {
    let traffic = &plan.traffic;
    let keeps = |group: &Group| matches!(&group.transport, Transport::Stream { params, .. } if params.keep_connections);
    let keeps: Vec<_> = traffic.groups.iter().map(keeps).collect();
    let kept = traffic.flows.iter().filter(|flow| keeps[flow.group.index()]);
    let pairs: BTreeSet<_> = kept.map(|flow| (flow.group, flow.from, flow.to)).collect();
    // Flows that are not drawn may be between any hosts.
    let all =
        (network_pairs(plan) * keeps.iter().filter(|keeps| **keeps).count() as u64).min(plan.most_flows());
    let pairs = if plan.is_drawn() { pairs.len() as u64 } else { all };
    if pairs == 0 { 0 } else { pairs + live }
}

/// Ordered pairs of hosts.
fn network_pairs(plan: &Plan) -> u64 {
    let hosts = plan.network.topology.hosts().len() as u64;
    hosts * hosts.saturating_sub(1)
}

/// Memory this process can still have: what the system can give, and what limits of its control group and of its address space
/// (`ulimit -v`) leave; none if nothing reports it.
pub fn available() -> Option<Bytes> {
    let mut system = sysinfo::System::new();
    system.refresh_memory();
    let free = Some(system.available_memory()).filter(|free| *free > 0);
    let group = system.cgroup_limits().as_ref().map(left);
    [free, group, address_space()].into_iter().flatten().min().map(Bytes::new)
}

/// Memory left to the control group. Files that the kernel keeps in memory are given up when memory is needed.
fn left(limits: &CGroupLimits) -> u64 {
    limits.total_memory.saturating_sub(limits.rss)
}

/// Address space that is left; none if it has no limit, or the system does not report it.
fn address_space() -> Option<u64> {
    let limits = std::fs::read_to_string("/proc/self/limits").ok()?;
    let limit = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    let limit: u64 = limit.split_whitespace().next()?.parse().ok()?;
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let used = status.lines().find_map(|line| line.strip_prefix("VmSize:"))?;
    let used: u64 = used.split_whitespace().next()?.parse().ok()?;
    Some(limit.saturating_sub(used << 10))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_kept_in_memory_leave_their_room_to_the_control_group() {
        let limits = CGroupLimits { total_memory: 10, free_memory: 1, free_swap: 0, rss: 3 };
        assert_eq!(left(&limits), 7);
    }
}
