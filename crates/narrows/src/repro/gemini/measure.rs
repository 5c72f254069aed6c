//! What is measured in the experiments of GEMINI.

use narrows_proto::units::{Span, Time};
use narrows_sim::observe::PortRow;
use narrows_sim::topology::NodeKind;

use crate::metrics;
use crate::repro::{Measured, metric};
use crate::results::{FlowRow, Results};
use crate::statistics::{jain, mean, percentile};

/// Payload of a full packet in bytes.
const SEGMENT: f64 = 1448.0;

pub(super) const THROUGHPUT: &[&str] = &["throughput_mbps", "rtt_ms"];
pub(super) const CONVERGENCE: &[&str] =
    &["jain_dcn", "jain_wan", "throughput_dcn_mbps", "throughput_wan_mbps"];
pub(super) const FAIRNESS: &[&str] = &["intra_over_inter", "throughput_mbps"];
pub(super) const COMPLETION: &[&str] = &[
    "small_ms",
    "small_p99_ms",
    "large_ms",
    "large_mbps",
    "all_ms",
    "dcn_loss",
    "wan_loss",
    "dcn_share_percent",
    "wan_percent",
    "busier_percent",
    "uplink_percent",
];

/// Long flows: payload they carry together, their round-trip time, and losses.
pub(super) fn throughput(results: &Results) -> Measured {
    let mut measured = Measured::default();
    measured.quantity("throughput_mbps", goodput(results, |_| true));
    let start = results.plan.measured.start;
    let rows = results.windows.iter().flatten().filter(|row| row.at >= start);
    measured.quantity("rtt_ms", mean(&rows.map(|row| milliseconds(row.srtt)).collect::<Vec<_>>()));
    measured
}

/// Payload per second of the measured time in Mb/s, of the flows of some groups.
fn goodput(results: &Results, group: impl Fn(&str) -> bool) -> f64 {
    let seconds = results.outline().measured_for().as_secs_f64();
    let own = results.flows.iter().filter(|flow| group(&results.plan.groups[flow.group as usize].name));
    own.map(|flow| flow.delivered_measured.as_f64()).sum::<f64>() * 8e-6 / seconds
}

/// Three groups: fairness of all flows from 50 to 100 s and from 100 to 150 s, and the rate of one flow of each.
pub(super) fn convergence(results: &Results) -> Measured {
    let mut measured = Measured::default();
    let second = |s| Time::ZERO + Span::from_secs(s);
    for (index, throughput, from, until) in
        [("jain_dcn", "throughput_dcn_mbps", 50, 100), ("jain_wan", "throughput_wan_mbps", 100, 150)]
    {
        let active = results.flows.iter().filter(|flow| flow.start < second(until - 1));
        let rates: Vec<_> = active.map(|flow| rate(results, flow, second(from), second(until))).collect();
        measured.quantity(index, jain(&rates));
        measured.quantity(throughput, rates.iter().sum::<f64>());
    }
    for group in ["first", "second", "third"] {
        let of_group = |flow: &&FlowRow| results.plan.groups[flow.group as usize].name == group;
        let Some(flow) = results.flows.iter().find(of_group) else { continue };
        let points = (0..150).map(|s| (s as f64, rate(results, flow, second(s), second(s + 1))));
        measured.series(group, points);
    }
    measured
}

/// Payload a recorded flow carried from one time to another, in Mb/s.
fn rate(results: &Results, flow: &FlowRow, from: Time, until: Time) -> f64 {
    let rows = || results.windows.iter().flatten().filter(|row| row.flow == flow.flow);
    let delivered =
        |at: Time| rows().take_while(|row| row.at <= at).last().map_or(0.0, |row| row.delivered.as_f64());
    (delivered(until) - delivered(from)) * 8e-6 / (until - from).as_secs_f64()
}

/// Flows of two groups: what those inside the data center get of what the others get.
pub(super) fn fairness(results: &Results) -> Measured {
    let mut measured = Measured::default();
    let [intra, inter] = ["intra", "inter"].map(|group| goodput(results, |name| name == group));
    measured.quantity("intra_over_inter", intra / inter);
    measured.quantity("throughput_mbps", intra + inter);
    measured
}

/// Completion times, losses and loads of a workload.
pub(super) fn completion(results: &Results) -> Measured {
    let mut measured = Measured::default();
    let times = |wanted: &dyn Fn(f64) -> bool| -> Vec<f64> {
        let counted = results.flows.iter().filter(|flow| flow.measured && wanted(flow.size.as_f64()));
        counted.filter_map(|flow| flow.fct().map(milliseconds)).collect()
    };
    let mut small = times(&|size| size < 1e5);
    small.sort_by(f64::total_cmp);
    let all = times(&|_| true);
    let is_large = |size: f64| size > 1e7;
    measured.quantity("small_ms", mean(&small));
    measured.quantity("small_p99_ms", percentile(&small, 0.99));
    measured.quantity("large_ms", mean(&times(&is_large)));
    let large = results.flows.iter().filter(|flow| flow.measured && is_large(flow.size.as_f64()));
    let finished = large.filter_map(|flow| Some((flow.size.as_f64() * 8e-6, flow.fct()?.as_secs_f64())));
    let (bits, seconds) = finished.fold((0.0, 0.0), |sum, flow| (sum.0 + flow.0, sum.1 + flow.1));
    measured.quantity("large_mbps", bits / seconds);
    measured.quantity("all_ms", mean(&all));
    let [inside, wan] = losses(results);
    measured.quantity("dcn_loss", inside);
    measured.quantity("wan_loss", wan);
    measured.quantity("dcn_share_percent", (inside + wan > 0.0).then(|| 100.0 * inside / (inside + wan)));
    measured.quantity("wan_percent", total(results, "wan_mean_utilization").map(|part| 100.0 * part));
    measured.quantity("busier_percent", total(results, "wan_max_utilization").map(|part| 100.0 * part));
    measured.quantity("uplink_percent", uplink_percent(results));
    measured
}

fn milliseconds(span: Span) -> f64 {
    span.as_secs_f64() * 1e3
}

/// Packets lost in the measured time, inside data centers and on the WAN, of 100 000 full packets that were sent. Both are of the
/// same packets, as in the paper: only so it can conclude from Table II (24 and 6) that more than 80 % of the losses are inside.
fn losses(results: &Results) -> [f64; 2] {
    let topology = &results.plan.network.topology;
    let is_inside = |row: &PortRow| {
        let link = topology.link(row.link);
        topology.datacenter(link.from) == topology.datacenter(link.to)
    };
    let rows = || results.queues.iter().flatten().filter(|row| results.plan.measured.contains(&row.start));
    let drops =
        |inside: bool| rows().filter(|row| is_inside(row) == inside).map(|row| row.drops).sum::<u64>() as f64;
    let [inside, wan] = [drops(true), drops(false)];
    let delivered = results.flows.iter().map(|flow| flow.delivered_measured.as_f64()).sum::<f64>() / SEGMENT;
    [inside, wan].map(|lost| 1e5 * lost / (delivered + inside + wan))
}

fn total(results: &Results, name: &str) -> Option<f64> {
    metric(results, &format!("{}.{name}", metrics::TOTAL))
}

/// What links from switches to their border router sent in the measured time, in percent of what they can.
fn uplink_percent(results: &Results) -> Option<f64> {
    let topology = &results.plan.network.topology;
    let class = |node| match &topology.node(node).kind {
        NodeKind::Switch { class, .. } => class.as_str(),
        NodeKind::Host(_) => "",
    };
    let seconds = results.outline().measured_for().as_secs_f64();
    let loads = topology.links().iter().zip(&results.ports).filter_map(|(link, port)| {
        let leads_up = class(link.from) == "tor" && class(link.to) == "border";
        leads_up.then(|| 800.0 * port.measured_bytes as f64 / (link.wire.rate.as_f64() * seconds))
    });
    mean(&loads.collect::<Vec<_>>())
}
