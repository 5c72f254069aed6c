//! Metrics of what is sent: flows, remote procedure calls, datagrams.

use narrows_proto::units::{Span, Time};
use narrows_sim::DatagramRecord;

use super::sample::{Lasted, Sample};
use super::taken::{Over, Taken, fraction, mean, metric, percentile, rate, within};
use crate::bounds::Bounds;
use crate::results::{FlowRow, Outline, RpcRow};
use crate::statistics::jain;

/// Flows up to this size are small (Alizadeh et al., pFabric, SIGCOMM 2013, §5.2), flows from the other on are large
/// (Alizadeh et al., DCTCP, SIGCOMM 2010, §2.2).
pub const SMALL: u64 = 100_000;
/// See [`SMALL`].
pub const LARGE: u64 = 1_000_000;

/// Metrics of a group of connections. `fct` is the time from the start of a flow to the arrival of its last byte, `injection`
/// that from its start until its last byte is sent for the first time.
pub(super) const FLOW_METRICS: [Taken<FlowSums>; 21] = [
    metric("flows", "", Over::Started, "Measured flows: those that started in the measured time.", |of| {
        Some(of.measured)
    }),
    metric(
        "unfinished",
        "",
        Over::Started,
        "Measured flows of finite size that had not finished when the run ended.",
        |of| Some(of.unfinished),
    ),
    metric(
        "offered_fraction",
        "",
        Over::MeasuredTime,
        "Payload of the flows that start in the measured time, or of the responses to calls that begin in it, as a fraction of what the load of the group asks for. Of groups with a load.",
        |of| of.offered_fraction,
    ),
    percentile(
        "p50_fct_us",
        "us",
        "Completion time: from the start of a flow to the arrival of its last byte. Median over the measured flows that finished.",
        0.50,
        |of| &of.fct,
    ),
    percentile("p99_fct_us", "us", "Completion time, 99th percentile.", 0.99, |of| &of.fct),
    mean("mean_fct_us", "us", "Completion time, mean.", |of| &of.fct),
    percentile(
        "p50_injection_us",
        "us",
        "Time from the start of a flow until its last byte is sent for the first time. Median; unfinished flows may have one.",
        0.50,
        |of| &of.injection,
    ),
    percentile("p99_injection_us", "us", "Time until the last byte is sent, 99th percentile.", 0.99, |of| {
        &of.injection
    }),
    mean("mean_injection_us", "us", "Time until the last byte is sent, mean.", |of| &of.injection),
    within(
        Bounds::FROM_ONE,
        percentile(
            "p50_slowdown",
            "",
            "Slowdown: completion time divided by that on the empty network. Median.",
            0.50,
            |of| &of.slowdown,
        ),
    ),
    within(
        Bounds::FROM_ONE,
        percentile("p95_slowdown", "", "Slowdown, 95th percentile.", 0.95, |of| &of.slowdown),
    ),
    within(
        Bounds::FROM_ONE,
        percentile("p99_slowdown", "", "Slowdown, 99th percentile.", 0.99, |of| &of.slowdown),
    ),
    within(Bounds::FROM_ONE, mean("mean_slowdown", "", "Slowdown, mean.", |of| &of.slowdown)),
    percentile(
        "small_p99_fct_us",
        "us",
        "Completion time of flows of up to 100 kB, 99th percentile.",
        0.99,
        |of| &of.small_fct,
    ),
    mean("large_mean_fct_us", "us", "Completion time of flows of 1 MB and more, mean.", |of| &of.large_fct),
    metric(
        "goodput_gbps",
        "Gbit/s",
        Over::MeasuredTime,
        "Payload acknowledged in the measured time, divided by its length; of all flows, also those that started before.",
        |of| rate(of.delivered_measured, of.seconds),
    ),
    within(
        Bounds::FRACTION,
        metric(
            "marked_fraction",
            "",
            Over::WholeRun,
            "Payload acknowledged with a congestion mark, as a fraction of delivered payload, of flows whose receivers report which bytes were marked (accurate ECN: DCTCP, GEMINI, RackCC). None of other flows: with classic ECN a sender learns that something was marked and not how much, DCQCN receives notification packets, and others are never marked.",
            |of| fraction(of.marked[0], of.marked[1]),
        ),
    ),
    within(
        Bounds::FRACTION,
        metric(
            "jain",
            "",
            Over::MeasuredTime,
            "Jain's fairness index of the goodput of flows without an end: 1 if all have the same. None of fewer than two.",
            |of| if of.endless.len() > 1 { jain(&of.endless) } else { None },
        ),
    ),
    metric(
        "retransmitted_fraction",
        "",
        Over::WholeRun,
        "Payload retransmitted in the whole run, divided by the delivered payload.",
        |of| fraction(of.retransmitted, of.delivered),
    ),
    metric("retransmissions", "", Over::WholeRun, "Segments retransmitted in the whole run.", |of| {
        Some(of.retransmissions)
    }),
    metric("timeouts", "", Over::WholeRun, "Retransmission timeouts in the whole run.", |of| {
        Some(of.timeouts)
    }),
];

/// Metrics of a group of remote procedure calls, besides those of their flows.
pub(super) const RPC_METRICS: [Taken<RpcSums>; 9] = [
    metric(
        "rpcs",
        "",
        Over::Started,
        "Measured remote procedure calls: those that began in the measured time.",
        |of| Some(of.measured),
    ),
    metric(
        "unfinished_rpcs",
        "",
        Over::Started,
        "Measured calls that had not finished when the run ended.",
        |of| Some(of.unfinished),
    ),
    percentile(
        "p50_rpc_us",
        "us",
        "Completion time of a call: until the last byte of its last response has arrived. Median over the measured calls that finished.",
        0.50,
        |of| &of.time,
    ),
    percentile("p99_rpc_us", "us", "Completion time of calls, 99th percentile.", 0.99, |of| &of.time),
    percentile("p999_rpc_us", "us", "Completion time of calls, 99.9th percentile.", 0.999, |of| &of.time),
    mean("mean_rpc_us", "us", "Completion time of calls, mean.", |of| &of.time),
    within(
        Bounds::FROM_ONE,
        percentile(
            "p50_rpc_slowdown",
            "",
            "Slowdown of calls: completion time divided by the least one on the empty network. Median.",
            0.50,
            |of| &of.slowdown,
        ),
    ),
    within(
        Bounds::FROM_ONE,
        percentile("p99_rpc_slowdown", "", "Slowdown of calls, 99th percentile.", 0.99, |of| &of.slowdown),
    ),
    within(Bounds::FROM_ONE, mean("mean_rpc_slowdown", "", "Slowdown of calls, mean.", |of| &of.slowdown)),
];

/// Metrics of a group of datagram sources.
pub(super) const DATAGRAM_METRICS: [Taken<DatagramSums>; 4] = [
    metric(
        "datagrams_sent",
        "",
        Over::WholeRun,
        "Datagrams generated, including those dropped at the source.",
        |of| Some(of.sent),
    ),
    metric("datagrams_received", "", Over::WholeRun, "Datagrams received.", |of| Some(of.received)),
    within(
        Bounds::FRACTION,
        metric(
            "lost_fraction",
            "",
            Over::WholeRun,
            "Fraction of the datagrams generated that was not received.",
            |of| (of.sent > 0.0).then(|| 1.0 - of.received / of.sent),
        ),
    ),
    metric(
        "goodput_gbps",
        "Gbit/s",
        Over::WholeRun,
        "Payload of the datagrams received, divided by the length of the run.",
        |of| rate(of.received_bytes, of.seconds),
    ),
];

/// Values that metrics of flows are taken of. Only measured flows count, and only finished ones have a completion time; others have taken
/// some time at least. The time of
/// injection is that from the start of a flow until its last byte began to leave; it may be known of flows that are
/// unfinished. Payload is in bytes, of all flows.
pub(super) struct FlowSums {
    measured: f64,
    unfinished: f64,
    offered_fraction: Option<f64>,
    fct: Sample,
    small_fct: Sample,
    large_fct: Sample,
    injection: Sample,
    slowdown: Sample,
    seconds: f64,
    delivered: f64,
    delivered_measured: f64,
    /// Marked and delivered payload of flows whose receivers report which bytes were marked.
    marked: [f64; 2],
    /// Payload that flows without an end delivered in the measured time.
    endless: Vec<f64>,
    retransmitted: f64,
    retransmissions: f64,
    timeouts: f64,
}

impl FlowSums {
    /// Of flows in a run, of which those of some groups have accurate ECN, and so much was offered of what was asked for.
    pub(super) fn of(
        flows: &[&FlowRow],
        outline: &Outline<'_>,
        has_accurate_ecn: &[bool],
        offered_fraction: Option<f64>,
    ) -> Self {
        let measured: Vec<_> = flows.iter().filter(|flow| flow.measured).collect();
        let ends = || measured.iter().filter(|flow| !flow.is_endless());
        let endless = flows.iter().filter(|flow| flow.is_endless());
        let so_far = |flow: &FlowRow| outline.ended.saturating_since(flow.start);
        let us = |flow: &&&FlowRow| lasted(flow.fct(), so_far(flow), US);
        let injected = |flow: &&&FlowRow| lasted(flow.injection(), so_far(flow), US);
        let slowdown = |flow: &&&FlowRow| lasted(flow.fct(), so_far(flow), flow.ideal);
        let sum = |value: fn(&FlowRow) -> u64| flows.iter().map(|flow| value(flow) as f64).sum::<f64>();
        let reported = |value: fn(&FlowRow) -> u64| {
            let own = flows.iter().filter(|flow| has_accurate_ecn[flow.group as usize]);
            own.map(|flow| value(flow) as f64).sum::<f64>()
        };
        Self {
            measured: measured.len() as f64,
            unfinished: ends().filter(|flow| flow.end.is_none()).count() as f64,
            offered_fraction,
            fct: Sample::of(ends().map(us)),
            small_fct: Sample::of(ends().filter(|flow| flow.size.get() <= SMALL).map(us)),
            large_fct: Sample::of(ends().filter(|flow| flow.size.get() >= LARGE).map(us)),
            injection: Sample::of(ends().map(injected)),
            slowdown: Sample::of(ends().map(slowdown)),
            seconds: outline.measured_for().as_secs_f64(),
            delivered: sum(|flow| flow.delivered.get()),
            delivered_measured: sum(|flow| flow.delivered_measured.get()),
            marked: [reported(|flow| flow.stats.marked.get()), reported(|flow| flow.delivered.get())],
            endless: endless.map(|flow| flow.delivered_measured.as_f64()).collect(),
            retransmitted: sum(|flow| flow.stats.retransmitted.get()),
            retransmissions: sum(|flow| flow.stats.retransmissions),
            timeouts: sum(|flow| flow.stats.timeouts),
        }
    }
}

const US: Span = Span::from_us(1);

/// A time that is known, or what has passed of it so far, in units of another.
fn lasted(known: Option<Span>, so_far: Span, unit: Span) -> Lasted {
    let of = |span: Span| span.as_ps() as f64 / unit.as_ps() as f64;
    known.map_or_else(|| Lasted::AtLeast(of(so_far)), |known| Lasted::Exactly(of(known)))
}

/// Values that metrics of remote procedure calls are taken of. Only measured calls count, and only finished ones have a time.
pub(super) struct RpcSums {
    measured: f64,
    unfinished: f64,
    time: Sample,
    slowdown: Sample,
}

impl RpcSums {
    /// Of calls in a run that ended then.
    pub(super) fn of(rpcs: &[&RpcRow], ended: Time) -> Self {
        let measured = || rpcs.iter().filter(|rpc| rpc.measured);
        let time = |unit: fn(&RpcRow) -> Span| {
            let of = |rpc: &&RpcRow| lasted(rpc.time(), ended.saturating_since(rpc.start), unit(rpc));
            Sample::of(measured().map(of))
        };
        Self {
            measured: measured().count() as f64,
            unfinished: measured().filter(|rpc| rpc.end.is_none()).count() as f64,
            time: time(|_| US),
            slowdown: time(|rpc| rpc.ideal),
        }
    }
}

/// Values that metrics of datagrams are taken of.
pub(super) struct DatagramSums {
    sent: f64,
    received: f64,
    received_bytes: f64,
    seconds: f64,
}

impl DatagramSums {
    pub(super) fn of(outline: &Outline<'_>, group: usize) -> Self {
        let of_group = &outline.plan.groups[group].flows;
        let sources = outline.datagrams.iter().filter(|source| of_group.contains(&source.flow.index()));
        let sum = |value: fn(&DatagramRecord) -> u64| sources.clone().map(value).sum::<u64>() as f64;
        Self {
            sent: sum(|source| source.sent + source.dropped_at_source),
            received: sum(|source| source.received),
            received_bytes: sum(|source| source.received_bytes.get()),
            seconds: outline.ended.as_secs_f64(),
        }
    }
}
