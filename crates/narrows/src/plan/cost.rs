//! Estimated work of a run, so that the longest can go first. Only the order matters, so it is rough.

use narrows_proto::units::{Bytes, Span, Time};
use narrows_sim::traffic::{Action, FlowSpec, GeneratorKind, Task};
use narrows_sim::{FlowId, HostId, Paths};

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

/// Bytes that a flow offers in the simulated time, for itself and for others that it stands for.
struct Demand {
    flow: FlowId,
    bytes: f64,
}

/// Packet-hops that are to be expected: bytes offered to each link in the simulated time, no more than it carries.
pub(super) fn estimate(plan: &Plan) -> f64 {
    let topology = &plan.network.topology;
    let paths = Paths::of(&plan.network, plan.scenario.seed);
    let offered = offered(plan, &paths, &demands(plan));
    let carried = offered.into_iter().zip(capacities(plan)).map(|(offered, capacity)| offered.min(capacity));
    let set_up = NODE * topology.nodes().len() as f64 + FLOW * plan.expected_flows();
    carried.sum::<f64>() / packet(plan) * (1.0 + BACK) + set_up
}

/// Packets per second of simulated time that reach their hosts, of groups that count: what the links on their way leave of what they
/// offer, and what goes back.
pub(super) fn arrivals(plan: &Plan, counts: &dyn Fn(usize) -> bool) -> f64 {
    let (network, flows) = (&plan.network, &plan.traffic.flows);
    let paths = Paths::of(network, plan.scenario.seed);
    let demands = demands(plan);
    let offered = offered(plan, &paths, &demands);
    let left: Vec<_> = capacities(plan).zip(offered).map(|(capacity, offered)| capacity / offered).collect();
    let arrives = |Demand { flow, bytes }: &Demand| {
        let spec = &flows[flow.index()];
        let way = paths.path(*flow, spec.from, spec.to).filter(|_| counts(spec.group.index()))?;
        Some(bytes * way.iter().map(|link| left[link.index()]).fold(1.0, f64::min))
    };
    let bytes: f64 = demands.iter().filter_map(arrives).sum();
    bytes / packet(plan) * (1.0 + BACK) / plan.stop.at.as_secs_f64()
}

/// Bytes of packets of an ordinary size, on the wire.
fn packet(plan: &Plan) -> f64 {
    let largest = plan.traffic.groups.iter().map(|group| group.largest_packet()).max();
    largest.filter(|size| *size > Bytes::ZERO).map_or(PACKET, |size| size.get() as f64)
}

/// By link: bytes offered in the simulated time.
fn offered(plan: &Plan, paths: &Paths<'_>, demands: &[Demand]) -> Vec<f64> {
    paths.spread(demands.iter().map(|Demand { flow, bytes }| {
        let spec = &plan.traffic.flows[flow.index()];
        (spec.from, spec.to, *bytes)
    }))
}

/// By link: bytes that it carries in the simulated time.
fn capacities(plan: &Plan) -> impl Iterator<Item = f64> {
    let duration = plan.stop.at.as_secs_f64();
    plan.network.topology.links().iter().map(move |link| link.wire.rate.as_f64() / 8.0 * duration)
}

/// The offers of all flows, or of a sample of them.
fn demands(plan: &Plan) -> Vec<Demand> {
    let (traffic, end) = (&plan.traffic, plan.stop.at);
    let rates = plan.network.topology.host_rates();
    let sends = |from: HostId, span: Span| rates[from.index()].as_f64() / 8.0 * span.as_secs_f64();
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
                let bytes = all / shown.len() as f64;
                demands.extend(shown.map(|flow| Demand { flow: *flow, bytes }));
            }
            GeneratorKind::OnOff { flow, on, off } => {
                generated[flow.index()] = true;
                let (on, off) = (on.mean().as_secs_f64(), off.mean().as_secs_f64());
                let busy = if on + off > 0.0 { on / (on + off) } else { 1.0 };
                let bytes = busy * sends(traffic.flows[flow.index()].from, span);
                demands.push(Demand { flow: *flow, bytes });
            }
        }
    }
    for rank in &traffic.ranks {
        for (to, lanes) in (0..).zip(&rank.outgoing) {
            generated[lanes.first.index()..lanes.first.index() + lanes.count as usize].fill(true);
            let bytes: f64 = rank.tasks.sends(to).iter().map(|task| sent_by(rank.tasks.task(*task))).sum();
            let all = bytes * f64::from(rank.iterations);
            let most = sends(rank.host, end.saturating_since(rank.start));
            demands.push(Demand { flow: lanes.first, bytes: all.min(most) });
        }
    }
    // Each of the flows that are drawn stands for so many.
    let stands_for: Vec<_> =
        plan.groups.iter().map(|group| group.expected_flows() / group.flows.len() as f64).collect();
    let planned = traffic.flows.iter().enumerate().filter(|(number, _)| !generated[*number]);
    for (number, flow) in planned.step_by(step) {
        let most = sends(flow.from, end.saturating_since(starts(flow)));
        let each = step as f64 * stands_for[flow.group.index()];
        let bytes = each * (flow.size.get() as f64).min(most);
        demands.push(Demand { flow: FlowId(number as u32), bytes });
    }
    demands
}

/// Payload that a task sends.
fn sent_by(task: Task) -> f64 {
    if let Action::Send { size, .. } = task.action { size.as_f64() } else { 0.0 }
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
    fn what_arrives_is_what_the_narrowest_link_leaves() {
        let text = r#"
            version = 2
            name = "arrivals"
            stop = { after = "1 s" }
            topology.dumbbell = { hosts = 2, host_rate = "1 Gb/s", bottleneck_rate = "100 Mb/s", host_delay = "1 us", bottleneck_delay = "1 ms" }
            switches.default = { buffer = { size = "1 MB", sharing = "complete" } }
            [[traffic]]
            name = "bulk"
            pattern = { long_lived = { flows = 2, from = 'left/*', to = 'right/*' } }
            cc = { cubic = {} }
        "#;
        let plan = Plan::new(crate::document::Document::parse("arrivals.toml", text, "").unwrap()).unwrap();
        // 100 Mb/s in packets of 1538 B, and half as many back.
        let expected = 1e8 / 8.0 / 1538.0 * 1.5;
        let found = plan.arrivals(&|_| true);
        assert!((found / expected - 1.0).abs() < 0.01, "{found} for {expected}");
        assert_eq!(plan.arrivals(&|_| false), 0.0);
    }

    #[test]
    fn more_load_and_more_time_cost_more() {
        let cost = |overrides: &[&str]| plan("leaf-spine", overrides).cost();
        let base = cost(&["stop={ after = '10 ms' }"]);
        assert!(cost(&["stop={ after = '20 ms' }"]) > 1.5 * base);
        assert!(cost(&["stop={ after = '10 ms' }", "traffic.0.pattern.poisson.load=0.1"]) < base);
    }
}
