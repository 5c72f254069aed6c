//! Measurements of a run.

use narrows_proto::units::Time;
use narrows_sim::observe::PortRow;

use super::path::{LENGTH, MEASURED_FROM, Path};
use super::written::{RECEIVER, SWITCH};
use crate::results::{FlowRow, Results};
use crate::statistics::mean;

/// Interval in which queues are recorded, milliseconds.
pub(super) const INTERVAL: u32 = 10;

/// Measurements of a run on a path.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Measured {
    /// Goodput in the measured time of each connection under test, bit/s.
    pub(super) goodputs: Vec<f64>,
    /// Payload that the connections under test retransmitted, part of all that they sent.
    pub(super) retransmitted: f64,
    /// Mean over the measured time of the part of a round trip that is spent in the queue; 0 if it was not recorded.
    pub(super) waiting: f64,
}

impl Measured {
    pub(super) fn of(path: &Path, results: &Results) -> Self {
        let flows = |group: usize| results.flows_of(group);
        let tested = 0..path.tested.len();
        let seconds = f64::from(LENGTH - MEASURED_FROM) / 1e3;
        let goodput = |group: usize| flows(group).map(|flow| flow.delivered_measured.as_f64()).sum::<f64>();
        let sum = |value: fn(&FlowRow) -> f64| tested.clone().flat_map(flows).map(value).sum::<f64>();
        let again = sum(|flow| flow.stats.retransmitted.as_f64());
        let sent = again + sum(|flow| flow.delivered.as_f64());
        Self {
            goodputs: tested.clone().map(|group| goodput(group) * 8.0 / seconds).collect(),
            retransmitted: if sent > 0.0 { again / sent } else { 0.0 },
            waiting: waiting(path, results),
        }
    }

    /// Mean goodput of the connections under test, bit/s.
    pub(super) fn mean_goodput(&self) -> f64 {
        mean(&self.goodputs).unwrap_or_default()
    }
}

/// Rows of the queue of the bottleneck, if queues were recorded.
pub(super) fn queue(results: &Results) -> impl Iterator<Item = &PortRow> {
    let topology = &results.plan.network.topology;
    let name = move |node| topology.node(node).name.as_str();
    let leads = move |row: &&PortRow| {
        let ends = topology.link(row.link);
        [name(ends.from), name(ends.to)] == [SWITCH, RECEIVER]
    };
    results.queues.iter().flatten().filter(leads)
}

fn waiting(path: &Path, results: &Results) -> f64 {
    let moment = |ms: u32| Time::from_ps(u64::from(ms) * 1_000_000_000);
    let (from, until) = (moment(MEASURED_FROM), moment(LENGTH));
    let rows = queue(results).filter(|row| (from..until).contains(&row.start));
    // Intervals without a row were empty.
    let parts = rows.map(|row| {
        let ms = (row.start.as_ps() / 1_000_000_000) as u32;
        let wait = row.mean_backlog * 8.0 / path.rate_at(ms).max(1.0);
        wait / (wait + path.rtt_at(ms))
    });
    parts.sum::<f64>() / f64::from((LENGTH - MEASURED_FROM) / INTERVAL)
}
