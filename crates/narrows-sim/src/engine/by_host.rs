//! Traffic by the host that it begins at, and by the flow that it answers.

use crate::host::{Begins, HostGenerator, RankAtWork};
use crate::ids::{FlowId, HostId};
use crate::mechanism::start_delays::start_delays;
use crate::network::Network;
use crate::traffic::{GeneratorKind, Rpc, Traffic};
use crate::world::{NO_FLOW, NO_RANK};
use narrows_proto::units::Time;

/// By host: the traffic that begins there.
pub(super) fn by_host(network: &Network, traffic: &Traffic, seed: u64) -> Vec<Begins> {
    let mut hosts: Vec<Begins> = network.topology.hosts().iter().map(|_| Begins::default()).collect();
    for (number, flow) in traffic.flows.iter().enumerate().filter(|(_, flow)| flow.start < Time::NEVER) {
        hosts[flow.from.index()].starts.push(FlowId::from(number));
    }
    for host in &mut hosts {
        host.starts.sort_by_key(|flow| (traffic.flows[flow.index()].start, *flow));
    }
    for (number, dependent) in (0..).zip(&traffic.dependents) {
        hosts[traffic.flows[dependent.flow.index()].from.index()].waiting.push(number);
    }
    for (number, generator) in traffic.generators.iter().enumerate() {
        let first = match &generator.kind {
            GeneratorKind::ClosedLoop { flows, .. } => flows[0],
            GeneratorKind::OnOff { flow, .. } => *flow,
        };
        let host: HostId = traffic.flows[first.index()].from;
        hosts[host.index()].generators.push(HostGenerator::new(generator.clone(), seed, number as u64));
    }
    for (number, rank) in (0..).zip(&traffic.ranks) {
        hosts[rank.host.index()].ranks.push(RankAtWork::new(number, rank.clone()));
    }
    let moments = hosts.iter().enumerate().flat_map(|(place, host)| {
        let flows = host.starts.iter().map(|flow| traffic.flows[flow.index()].start);
        let generators = host.generators.iter().map(HostGenerator::start);
        let ranks = host.ranks.iter().map(RankAtWork::first_wake);
        flows.chain(generators).chain(ranks).map(move |moment| (moment, place))
    });
    let numbers = network.topology.hosts().iter().map(|node| node.0.into());
    let delays = start_delays(network.hosts.starts(), seed, numbers, moments);
    for (host, delays) in hosts.iter_mut().zip(delays) {
        host.delays = delays;
    }
    hosts
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
