//! What the slides report, measured: bulk senders, reference flows, the bottleneck and its queue.

use narrows_proto::units::{Span, Time};
use narrows_sim::observe::PortRow;

use crate::repro::{Measured, link};
use crate::results::{FlowRow, Results};
use crate::statistics::mean;

/// The link between the core switch and the edge switch of all receivers.
const BOTTLENECK: (&str, &str) = ("core", "ES6");
const SENDERS: [&str; 4] = ["ST1", "ST2", "ST3", "ST4"];
/// IP packet of a full segment, and its payload.
const FULL_SEGMENT: (f64, f64) = (1500.0, 1448.0);
/// IP bytes of a transfer of a reference flow: 10 240 B in 8 segments with 52 B of headers each, SYN and FIN.
const REFERENCE_TRANSFER: f64 = 10_240.0 + 8.0 * 52.0 + 110.0;

pub(super) const QUANTITIES: &[&str] = &[
    "source_tps",
    "source_tps_sd_percent",
    "source_gbps",
    "source_gbps_sd_percent",
    "source_gbps_over_time_percent",
    "bottleneck_gbps",
    "latency_us",
    "latency_sd_percent",
    "sr1_tps",
    "sr1_gbps",
    "sr1_latency_us",
    "sr2_tps",
    "sr2_gbps",
    "sr2_latency_us",
    "queue_kb",
    "queue_sd_kb",
    "idle_percent",
    "overhead_percent",
];

pub(super) fn measure(results: &Results) -> Measured {
    let mut measured = Measured::default();
    let seconds = results.outline().measured_for().as_secs_f64();
    let bulk = Bulk::of(results, seconds);
    measured.quantity("source_tps", mean(&bulk.tps));
    measured.quantity("source_tps_sd_percent", spread(&bulk.tps));
    measured.quantity("source_gbps", mean(&bulk.gbps));
    measured.quantity("source_gbps_sd_percent", spread(&bulk.gbps));
    measured.quantity("source_gbps_over_time_percent", over_time(results));
    measured.quantity(
        "latency_us",
        if bulk.latency.is_empty() { Some(f64::INFINITY) } else { mean(&bulk.latency) },
    );
    measured.quantity("latency_sd_percent", spread(&bulk.latency));
    for (name, [tps, gbps, latency]) in [
        ("SR1", ["sr1_tps", "sr1_gbps", "sr1_latency_us"]),
        ("SR2", ["sr2_tps", "sr2_gbps", "sr2_latency_us"]),
    ] {
        let times: Vec<_> = finished(results, name).filter_map(microseconds).collect();
        let per_second = times.len() as f64 / seconds;
        measured.quantity(tps, per_second);
        measured.quantity(gbps, per_second * REFERENCE_TRANSFER * 8e-9);
        measured.quantity(latency, mean(&times));
    }
    let bottleneck = link(results, BOTTLENECK);
    let rate = results.plan.network.topology.links()[bottleneck].wire.rate.as_f64();
    let sent = results.ports[bottleneck].bytes as f64 * 8.0 / results.ended.as_secs_f64();
    measured.quantity("bottleneck_gbps", sent * 1e-9);
    measured.quantity("idle_percent", 100.0 * (1.0 - sent / rate).max(0.0));
    let core = results.plan.network.topology.links().iter().zip(&results.ports);
    let messages: u64 = core.map(|(_, port)| port.messages()).sum();
    let size = 64.0;
    measured.quantity(
        "overhead_percent",
        100.0 * messages as f64 * size * 8.0 / results.ended.as_secs_f64() / rate,
    );
    measure_queue(results, bottleneck, &mut measured);
    measured
}

/// The bulk senders, one value for each.
struct Bulk {
    tps: Vec<f64>,
    gbps: Vec<f64>,
    /// Of those that finished a transfer.
    latency: Vec<f64>,
}

impl Bulk {
    fn of(results: &Results, seconds: f64) -> Self {
        let mut bulk = Self { tps: Vec::new(), gbps: Vec::new(), latency: Vec::new() };
        for sender in SENDERS {
            let is_own = |flow: &&FlowRow| results.plan.network.topology.host_name(flow.from) == sender;
            let own = || results.flows.iter().filter(is_own);
            bulk.tps.push(transactions(results, own()) as f64 / seconds);
            let payload: f64 = own().map(|flow| flow.delivered_measured.as_f64()).sum();
            bulk.gbps.push(payload * FULL_SEGMENT.0 / FULL_SEGMENT.1 * 8e-9 / seconds);
            let times: Vec<_> = own().filter(|flow| counts(results, flow)).filter_map(microseconds).collect();
            bulk.latency.extend(mean(&times));
        }
        bulk
    }
}

/// Transactions that ended in the measured time: rounds of ten transfers.
fn transactions<'a>(results: &Results, flows: impl Iterator<Item = &'a FlowRow>) -> usize {
    let mut ends: Vec<(u64, Option<Time>)> = flows.map(|flow| (flow.turn, flow.end)).collect();
    ends.sort_unstable();
    let rounds = ends.chunk_by(|a, b| a.0 == b.0);
    let last_end = |round: &[(u64, Option<Time>)]| {
        round.iter().map(|(_, end)| *end).collect::<Option<Vec<_>>>()?.into_iter().max()
    };
    rounds.filter_map(last_end).filter(|end| *end >= results.plan.measured.start).count()
}

/// The flow ended in the measured time.
fn counts(results: &Results, flow: &FlowRow) -> bool {
    flow.end.is_some_and(|end| end >= results.plan.measured.start)
}

fn finished<'a>(results: &'a Results, group: &'a str) -> impl Iterator<Item = &'a FlowRow> {
    let of_group = move |flow: &&FlowRow| results.plan.groups[flow.group as usize].name == group;
    results.flows.iter().filter(of_group).filter(|flow| counts(results, flow))
}

fn microseconds(flow: &FlowRow) -> Option<f64> {
    Some(flow.fct()?.as_secs_f64() * 1e6)
}

/// Standard deviation over mean, in percent.
fn spread(values: &[f64]) -> Option<f64> {
    let mean = mean(values)?;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let deviation = (squares / (values.len().max(2) - 1) as f64).sqrt();
    (mean > 0.0).then(|| 100.0 * deviation / mean)
}

/// How much what a bulk sender puts on its link varies from one recorded interval to the next: standard deviation over mean, in
/// percent; the mean of the senders.
fn over_time(results: &Results) -> Option<f64> {
    let (interval, _) = results.plan.record.links.as_ref()?;
    let place = |time: Time| time.saturating_since(Time::ZERO).as_ps() / interval.as_ps();
    let measured = place(results.plan.measured.start)..place(results.ended);
    let topology = &results.plan.network.topology;
    let of_sender = |sender: &str| {
        let mut bytes = vec![0.0; measured.clone().count()];
        for row in results.links.iter().flatten() {
            let own = topology.node(topology.link(row.link).from).name.as_str() == sender;
            let place = place(row.start).checked_sub(measured.start).map(|place| place as usize);
            if let Some(sum) = place.filter(|_| own).and_then(|place| bytes.get_mut(place)) {
                *sum += row.bytes as f64;
            }
        }
        spread(&bytes)
    };
    mean(&SENDERS.iter().filter_map(|sender| of_sender(sender)).collect::<Vec<_>>())
}

/// The queue of the bottleneck: its mean over time and its standard deviation, of the means
/// of all recorded intervals in the measured time; and its first 300 ms.
fn measure_queue(results: &Results, bottleneck: usize, measured: &mut Measured) {
    let interval = results.plan.record.queues.as_ref().map_or(Span::from_us(100), |(interval, _)| *interval);
    let of_bottleneck = |row: &&PortRow| row.link.index() == bottleneck;
    let rows = || results.queues.iter().flatten().filter(of_bottleneck);
    let start = results.plan.measured.start;
    let waiting: Vec<_> = rows().filter(|row| row.start >= start).map(|row| row.mean_backlog / 1e3).collect();
    let intervals = results.ended.saturating_since(start).as_ps() / interval.as_ps();
    // Intervals without a row had nothing waiting.
    let count = (intervals as usize).max(waiting.len()).max(1) as f64;
    let average = waiting.iter().sum::<f64>() / count;
    let squares: f64 = waiting.iter().map(|kb| kb * kb).sum();
    measured.quantity("queue_kb", average);
    measured.quantity("queue_sd_kb", (squares / count - average * average).max(0.0).sqrt());
    let end = Time::ZERO + Span::from_ms(300);
    let first = rows().filter(|row| row.start < end);
    measured.series("queue", first.map(|row| (row.start.as_secs_f64() * 1e3, row.mean_backlog / 1e3)));
}
