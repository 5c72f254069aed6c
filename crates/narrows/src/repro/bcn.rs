//! BCN: what no reducer measures. Everything else is in the folder `repro/bcn`.

use narrows_proto::units::Time;

use super::{Measured, Model};
use crate::results::{FlowRow, Results};
use crate::statistics::mean;

const SENDERS: [&str; 4] = ["ST1", "ST2", "ST3", "ST4"];

pub(super) const MODELS: &[Model] = &[Model {
    name: "bcn.rounds",
    quantities: &["source_tps", "source_tps_sd_percent", "source_gbps_over_time_percent"],
    series: &[],
    measure: rounds,
}];

/// Transactions of the bulk senders: their mean over senders, and their standard deviation; that of throughput over time.
fn rounds(results: &Results) -> Measured {
    let mut measured = Measured::default();
    let seconds = results.outline().measured_for().as_secs_f64();
    let of_sender = |sender: &str| {
        let is_own = |flow: &&FlowRow| results.plan.network.topology.host_name(flow.from) == sender;
        transactions(results, results.flows.iter().filter(is_own)) as f64 / seconds
    };
    let per_second = SENDERS.map(of_sender);
    measured.quantity("source_tps", mean(&per_second));
    measured.quantity("source_tps_sd_percent", spread(&per_second));
    measured.quantity("source_gbps_over_time_percent", over_time(results));
    measured
}

/// Transactions that ended in the measured time: rounds of ten transfers.
fn transactions<'a>(results: &Results, flows: impl Iterator<Item = &'a FlowRow>) -> usize {
    let mut ends: Vec<(u64, Option<Time>)> = flows.map(|flow| (flow.incarnation, flow.end)).collect();
    ends.sort_unstable();
    let rounds = ends.chunk_by(|a, b| a.0 == b.0);
    let last_end = |round: &[(u64, Option<Time>)]| {
        round.iter().map(|(_, end)| *end).collect::<Option<Vec<_>>>()?.into_iter().max()
    };
    rounds.filter_map(last_end).filter(|end| *end >= results.plan.measured.start).count()
}

/// Coefficient of variation of the bytes that a bulk sender puts on its link in recorded intervals, in percent; the mean of
/// the senders.
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

/// Standard deviation over mean, in percent.
fn spread(values: &[f64]) -> Option<f64> {
    let mean = mean(values)?;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let deviation = (squares / (values.len().max(2) - 1) as f64).sqrt();
    (mean > 0.0).then(|| 100.0 * deviation / mean)
}
