//! Estimated work of a run, so that the longest can go first. Only the order matters, so it is rough.

use narrows_proto::units::{Bytes, Span, Time};
use narrows_sim::traffic::{FlowSpec, GeneratorKind};
use narrows_sim::{HostId, Paths};

use super::Plan;

/// Flows whose way is looked at; of more a sample.
const LOOKED_AT: usize = 4000;
/// Acknowledgments and what else goes back, in relation to packets of data.
const BACK: f64 = 0.5;
/// Packets of an ordinary size, on the wire.
const PACKET: f64 = 1538.0;
/// Cost of a run before its first packet, by node and by flow, in packet-hops.
const NODE: f64 = 10.0;
const FLOW: f64 = 5.0;

/// Packet-hops that are to be expected: bytes offered to each link in the simulated time, no more than it carries.
pub(super) fn estimate(plan: &Plan) -> f64 {
    let (network, traffic, end, seed) = (&plan.network, &plan.traffic, plan.stop.at, plan.scenario.seed);
    let topology = &network.topology;
    let rates = topology.host_rates();
    let sends = |from: HostId, span: Span| rates[from.index()].as_f64() / 8.0 * span.as_secs_f64();
    let paths = Paths::new(topology, network.routing, seed);
    let step = traffic.flows.len().div_ceil(LOOKED_AT).max(1);
    // A flow that waits for others starts some time.
    let starts = |flow: &FlowSpec| if flow.start == Time::NEVER { Time::ZERO } else { flow.start };
    let mut generated = vec![false; traffic.flows.len()];
    let mut demands = Vec::new();
    for generator in &traffic.generators {
        let span = generator.until.min(end).saturating_since(generator.start);
        match &generator.kind {
            GeneratorKind::ClosedLoop { flows, parallel, sizes, think } => {
                flows.iter().for_each(|flow| generated[flow.index()] = true);
                let Some(first) = flows.first().map(|flow| traffic.flows[flow.index()]) else { continue };
                let size = f64::from(*parallel) * sizes.mean();
                let each = size * 8.0 / rates[first.from.index()].as_f64() + think.mean().as_secs_f64();
                let all = (size * span.as_secs_f64() / each).min(sends(first.from, span));
                let shown = flows.iter().step_by(flows.len().div_ceil(16).max(1));
                let share = all / shown.len() as f64;
                let demand = |flow: &FlowSpec| (flow.from, flow.to, share);
                demands.extend(shown.map(|flow| demand(&traffic.flows[flow.index()])));
            }
            GeneratorKind::OnOff { flow, on, off } => {
                generated[flow.index()] = true;
                let flow = traffic.flows[flow.index()];
                let (on, off) = (on.mean().as_secs_f64(), off.mean().as_secs_f64());
                let busy = if on + off > 0.0 { on / (on + off) } else { 1.0 };
                demands.push((flow.from, flow.to, busy * sends(flow.from, span)));
            }
        }
    }
    // Each of the flows that are drawn stands for so many.
    let stands_for: Vec<_> =
        plan.groups.iter().map(|group| group.expected_flows() / group.flows.len() as f64).collect();
    let planned = traffic.flows.iter().enumerate().filter(|(number, _)| !generated[*number]);
    for (_, flow) in planned.step_by(step) {
        let most = sends(flow.from, end.saturating_since(starts(flow)));
        let each = step as f64 * stands_for[flow.group.index()];
        demands.push((flow.from, flow.to, each * (flow.size.get() as f64).min(most)));
    }
    let largest = traffic.groups.iter().map(|group| group.largest_packet()).max();
    let packet = largest.filter(|size| *size > Bytes::ZERO).map_or(PACKET, |size| size.get() as f64);
    let duration = end.as_secs_f64();
    let carried = paths.spread(demands).into_iter().zip(topology.links());
    let carried: f64 = carried.map(|(bytes, link)| bytes.min(link.wire.rate.as_f64() / 8.0 * duration)).sum();
    let set_up = NODE * topology.nodes().len() as f64 + FLOW * plan.expected_flows();
    carried / packet * (1.0 + BACK) + set_up
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;
    use std::sync::Arc;

    use crate::plan::Plan;
    use crate::run::{Options, run};
    use crate::templates;

    fn plan(template: &str, overrides: &[&str]) -> Plan {
        let mut document = templates::find(template).unwrap().document().unwrap();
        overrides.iter().for_each(|assignment| document.set(assignment).unwrap());
        Plan::new(document).unwrap()
    }

    #[test]
    fn what_is_expected_is_within_a_factor_of_five_of_what_comes() {
        // Where windows are the limit and not links, as over long ways, less comes.
        for template in ["incast", "leaf-spine", "datagrams", "victim", "rdma", "rpc"] {
            let plan = Arc::new(plan(template, &["stop={ after = '10 ms' }", "measure={}", "expect=[]"]));
            let hops =
                run(&plan, Options::default(), |_| ControlFlow::Continue(())).unwrap().packet_hops as f64;
            let ratio = plan.cost() / hops;
            assert!((0.2..5.0).contains(&ratio), "{template}: {} expected, {hops} came", plan.cost());
        }
    }

    #[test]
    fn more_load_and_more_time_cost_more() {
        let cost = |overrides: &[&str]| plan("leaf-spine", overrides).cost();
        let base = cost(&["stop={ after = '10 ms' }"]);
        assert!(cost(&["stop={ after = '20 ms' }"]) > 1.5 * base);
        assert!(cost(&["stop={ after = '10 ms' }", "traffic.0.pattern.poisson.load=0.1"]) < base);
    }
}
