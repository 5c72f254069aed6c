//! Traffic by the host that it begins at, and by the flow that it answers.

use crate::host::{HostGenerator, RankAtWork};
use crate::ids::{FlowId, HostId};
use crate::mechanism::hosts;
use crate::network::Network;
use crate::traffic::{GeneratorKind, Rpc, Traffic};
use crate::world::{NO_FLOW, NO_RANK};
use narrows_proto::units::{Span, Time};

pub(super) fn starts_by_host(network: &Network, traffic: &Traffic) -> Vec<Vec<FlowId>> {
    let mut starts = vec![Vec::new(); network.topology.hosts().len()];
    for (number, flow) in traffic.flows.iter().enumerate().filter(|(_, flow)| flow.start < Time::NEVER) {
        starts[flow.from.index()].push(FlowId::from(number));
    }
    for flows in &mut starts {
        flows.sort_by_key(|flow| (traffic.flows[flow.index()].start, *flow));
    }
    starts
}

/// By host: the delay with which its applications begin what starts by itself: flows, generators and ranks.
pub(super) fn start_delays(
    network: &Network,
    seed: u64,
    starts: &[Vec<FlowId>],
    (generators, ranks): (&[Vec<HostGenerator>], &[Vec<RankAtWork>]),
) -> Vec<Span> {
    let begins =
        |host: usize| !starts[host].is_empty() || !generators[host].is_empty() || !ranks[host].is_empty();
    let hosts = network.topology.hosts().iter().enumerate();
    let hosts: Vec<_> = hosts.map(|(host, node)| (node.0.into(), begins(host))).collect();
    hosts::start_delays(&network.hosts, seed, &hosts)
}

/// By host: the numbers of flows that wait for others, in order. Empty if there are none.
pub(super) fn waiting_by_host(network: &Network, traffic: &Traffic) -> Vec<Vec<u32>> {
    let mut waiting = vec![Vec::new(); network.topology.hosts().len()];
    for (number, dependent) in (0..).zip(&traffic.dependents) {
        waiting[traffic.flows[dependent.flow.index()].from.index()].push(number);
    }
    waiting
}

/// By flow: the one that answers it. Empty if there are no calls.
pub(super) fn answers(traffic: &Traffic) -> Vec<FlowId> {
    let flows = if traffic.rpcs.is_empty() { 0 } else { traffic.flows.len() };
    let mut answers = vec![NO_FLOW; flows];
    for (request, response) in traffic.rpcs.iter().copied().flat_map(Rpc::calls) {
        answers[request.index()] = response;
    }
    answers
}

pub(super) fn generators_by_host(network: &Network, traffic: &Traffic, seed: u64) -> Vec<Vec<HostGenerator>> {
    let mut generators: Vec<Vec<_>> = network.topology.hosts().iter().map(|_| Vec::new()).collect();
    for (number, generator) in traffic.generators.iter().enumerate() {
        let first = match &generator.kind {
            GeneratorKind::ClosedLoop { flows, .. } => flows[0],
            GeneratorKind::OnOff { flow, .. } => *flow,
        };
        let host: HostId = traffic.flows[first.index()].from;
        generators[host.index()].push(HostGenerator::new(generator.clone(), seed, number as u64));
    }
    generators
}

pub(super) fn ranks_by_host(network: &Network, traffic: &Traffic) -> Vec<Vec<RankAtWork>> {
    let mut ranks: Vec<Vec<_>> = network.topology.hosts().iter().map(|_| Vec::new()).collect();
    for (number, rank) in (0..).zip(&traffic.ranks) {
        ranks[rank.host.index()].push(RankAtWork::new(number, rank.clone()));
    }
    ranks
}

/// By flow: the rank that receives it. Empty if there are no ranks.
pub(super) fn receiving_ranks(network: &Network, traffic: &Traffic) -> Vec<(u32, u32)> {
    let flows = if traffic.ranks.is_empty() { 0 } else { traffic.flows.len() };
    let mut receiving = vec![NO_RANK; flows];
    let mut next = vec![0; network.topology.hosts().len()];
    for rank in &traffic.ranks {
        for (from, lanes) in (0..).zip(&rank.incoming) {
            let flows = lanes.first.index()..lanes.first.index() + lanes.count as usize;
            receiving[flows].fill((next[rank.host.index()], from));
        }
        next[rank.host.index()] += 1;
    }
    receiving
}
