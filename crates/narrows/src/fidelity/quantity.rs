//! Quantities measured in results.

use std::collections::BTreeMap;

use narrows_proto::units::Time;
use narrows_sim::observe::PortRow;
use serde::Deserialize;

use super::settings::{Settings, Value};
use crate::metrics::infos_of;
use crate::results::{FlowRow, Results};
use crate::statistics::{jain, mean, percentile};

/// Something that results say. Rates, queues and round-trip times are those of the measured time.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Quantity {
    /// A metric of the summary.
    Metric(String),
    /// Mean time that the flows of a group took beyond that on the empty network.
    Waiting(String),
    /// A percentile of the times until the last of the flows of a group that began together has arrived.
    Together {
        /// The group.
        group: String,
        /// 0.95 for the 95th.
        percentile: f64,
    },
    /// Bytes that wait at the port, by recorded interval.
    Queue(Statistic),
    /// The part of the time that the port sends.
    Utilization,
    /// The part of the packets of the port that it marks.
    MarkedPackets,
    /// Packets that the port marks in the whole run.
    Marks,
    /// Mean goodput of a flow of a group.
    Goodput(String),
    /// Mean window of a flow of a group in segments: what it has delivered in a round-trip time of the empty network.
    Window(String),
    /// Mean smoothed round-trip time of the recorded flows of a group.
    RoundTrip(String),
    /// The part of the payload of recorded flows of a group that was acknowledged as marked.
    Marked(String),
    /// Jain's fairness index of the goodput of all flows.
    Jain,
    /// Mean goodput of a flow of a group as a multiple of that of another.
    Ratio {
        /// The group.
        of: String,
        /// The other.
        to: String,
    },
    /// Mean time from one fall of a window to four segments to the next, of the recorded flows of a group.
    Dips(String),
}

/// Statistic of a series.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Statistic {
    /// Over time.
    Mean,
    /// Of the means of intervals.
    Median,
    /// The most in an interval.
    Max,
    /// The most in an interval less the lowest mean of one.
    Amplitude,
}

impl Quantity {
    /// Takes it of results; none if there is nothing to take it of.
    pub(super) fn of(&self, results: &Results, settings: &Settings<'_>) -> Option<Value> {
        let rate = |group: &String| mean(&Goodputs::of(results).of_group(results, group));
        Some(match self {
            Self::Metric(name) => return metric(results, name),
            Self::Waiting(group) => {
                let over = |flow: &FlowRow| Some((flow.fct()? - flow.ideal).as_secs_f64());
                Value::Seconds(mean(&measured(results, group).filter_map(over).collect::<Vec<_>>())?)
            }
            Self::Together { group, percentile: p } => {
                Value::Seconds(percentile(&together(results, group)?, *p)?)
            }
            Self::Queue(statistic) => Value::Bytes(Queue::of(results, settings)?.take(*statistic)?),
            Self::Utilization => {
                let sent = results.ports[settings.port().index()].measured_bytes as f64 * 8.0;
                Value::Number(sent / (settings.capacity() * seconds(results)))
            }
            Self::MarkedPackets => {
                let rows = Queue::of(results, settings)?.rows;
                let sum = |value: fn(&PortRow) -> u64| rows.iter().map(|row| value(row)).sum::<u64>() as f64;
                Value::Number(sum(|row| row.marks) / sum(|row| row.packets))
            }
            Self::Marks => Value::Number(results.ports[settings.port().index()].marks as f64),
            Self::Goodput(group) => Value::BitsPerSecond(rate(group)?),
            Self::Window(group) => {
                let first = results.flows.iter().find(|flow| group_of(results, flow) == group)?.flow.index();
                Value::Number(rate(group)? / 8.0 * settings.round_trip(first) / settings.payload())
            }
            Self::RoundTrip(group) => {
                let rows = windows(results, group).into_values().flatten();
                let samples: Vec<_> = rows.map(|(_, row)| row.srtt.as_secs_f64()).collect();
                Value::Seconds(mean(&samples)?)
            }
            Self::Marked(group) => {
                let flows = windows(results, group);
                let ends = flows.values().filter_map(|rows| Some((rows.first()?.1, rows.last()?.1)));
                let (mut marked, mut delivered) = (0.0, 0.0);
                for (first, last) in ends {
                    marked += (last.marked - first.marked).as_f64();
                    delivered += (last.delivered - first.delivered).as_f64();
                }
                Value::Number(marked / delivered)
            }
            Self::Jain => {
                let rates: Vec<_> = Goodputs::of(results).0.into_iter().map(|(_, rate)| rate).collect();
                Value::Number(jain(&rates)?)
            }
            Self::Ratio { of, to } => Value::Number(rate(of)? / rate(to)?),
            Self::Dips(group) => Value::Seconds(dips(results, group, settings.payload())?),
        })
    }
}

/// A metric, with its dimension.
fn metric(results: &Results, name: &str) -> Option<Value> {
    let value = results.metric(name)?;
    Some(match infos_of(name).next()?.unit {
        "us" => Value::Seconds(value / 1e6),
        "kB" => Value::Bytes(value * 1e3),
        "Gbit/s" => Value::BitsPerSecond(value * 1e9),
        _ => Value::Number(value),
    })
}

fn group_of<'a>(results: &'a Results, flow: &FlowRow) -> &'a str {
    &results.plan.groups[flow.group as usize].name
}

fn measured<'a>(results: &'a Results, group: &'a str) -> impl Iterator<Item = &'a FlowRow> {
    results.flows.iter().filter(move |flow| flow.measured && group_of(results, flow) == group)
}

/// When the measured time begins and ends.
fn bounds(results: &Results) -> (Time, Time) {
    (results.plan.measured.start, results.plan.measured.end.min(results.ended))
}

/// Length of the measured time.
fn seconds(results: &Results) -> f64 {
    let (from, until) = bounds(results);
    (until - from).as_secs_f64()
}

/// Bits per second of each flow, with its group.
struct Goodputs(Vec<(u32, f64)>);

impl Goodputs {
    fn of(results: &Results) -> Self {
        let seconds = seconds(results);
        let rate = |flow: &FlowRow| (flow.group, flow.delivered_measured.as_f64() * 8.0 / seconds);
        Self(results.flows.iter().map(rate).collect())
    }

    fn of_group(&self, results: &Results, name: &str) -> Vec<f64> {
        let ours = |group: u32| results.plan.groups[group as usize].name == name;
        self.0.iter().filter(|(group, _)| ours(*group)).map(|(_, rate)| *rate).collect()
    }
}

/// Seconds until the last of the flows that began together had arrived, the shortest first; none if one has not.
fn together(results: &Results, group: &str) -> Option<Vec<f64>> {
    let mut bursts: BTreeMap<Time, f64> = BTreeMap::new();
    for flow in measured(results, group) {
        let fct = flow.fct()?.as_secs_f64();
        let longest = bursts.entry(flow.start).or_default();
        *longest = longest.max(fct);
    }
    let mut times: Vec<_> = bursts.into_values().collect();
    times.sort_by(f64::total_cmp);
    Some(times)
}

/// Recorded rows of a port in the measured time.
struct Queue<'a> {
    rows: Vec<&'a PortRow>,
    /// Recorded intervals in that time; those in which nothing happened have no row.
    intervals: usize,
}

impl<'a> Queue<'a> {
    fn of(results: &'a Results, settings: &Settings<'_>) -> Option<Self> {
        let (rows, (interval, _)) = results.queues.as_ref().zip(results.plan.record.queues.as_ref())?;
        let (from, until) = bounds(results);
        let ours = |row: &&PortRow| row.link == settings.port() && row.start >= from && row.start < until;
        let intervals = ((until - from).as_ps() / interval.as_ps()) as usize;
        Some(Self { rows: rows.iter().filter(ours).collect(), intervals })
    }

    fn take(&self, statistic: Statistic) -> Option<f64> {
        let mut means: Vec<_> = self.rows.iter().map(|row| row.mean_backlog).collect();
        means.resize(means.len().max(self.intervals), 0.0);
        means.sort_by(f64::total_cmp);
        let max = self.rows.iter().map(|row| row.max_backlog).max()? as f64;
        match statistic {
            Statistic::Mean => mean(&means),
            Statistic::Median => percentile(&means, 0.5),
            Statistic::Max => Some(max),
            Statistic::Amplitude => Some(max - means.first()?),
        }
    }
}

/// Recorded rows of each flow of a group in the measured time, in order.
fn windows<'a>(
    results: &'a Results,
    group: &str,
) -> BTreeMap<usize, Vec<(Time, &'a narrows_sim::observe::WindowRow)>> {
    let (from, until) = bounds(results);
    let mut flows: BTreeMap<usize, Vec<_>> = BTreeMap::new();
    for row in results.windows.iter().flatten().filter(|row| row.at >= from && row.at < until) {
        let spec = &results.plan.traffic.flows[row.flow.index()];
        if results.plan.groups[spec.group.index()].name == group {
            flows.entry(row.flow.index()).or_default().push((row.at, row));
        }
    }
    flows
}

/// Seconds from one fall to four segments to the next.
fn dips(results: &Results, group: &str, payload: f64) -> Option<f64> {
    let mut gaps = Vec::new();
    for rows in windows(results, group).into_values() {
        let low: Vec<_> = rows.iter().map(|(at, row)| (*at, row.cwnd.as_f64() <= 4.0 * payload)).collect();
        let falls: Vec<_> =
            low.windows(2).filter(|pair| !pair[0].1 && pair[1].1).map(|pair| pair[1].0).collect();
        gaps.extend(falls.windows(2).map(|pair| (pair[1] - pair[0]).as_secs_f64()));
    }
    mean(&gaps)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jains_index_is_one_for_equals_and_one_in_n_for_one_who_has_all() {
        assert_eq!([jain(&[3.0; 4]), jain(&[5.0, 0.0, 0.0, 0.0])], [Some(1.0), Some(0.25)]);
    }

    #[test]
    fn intervals_without_packets_count_as_empty() {
        let row = |mean_backlog, max_backlog| PortRow {
            start: Time::ZERO,
            link: narrows_sim::LinkId::from(0),
            max_backlog,
            max_side: 0,
            mean_backlog,
            packets: 1,
            bytes: 1,
            marks: 0,
            drops: 0,
            messages: 0,
            paused: narrows_proto::units::Span::ZERO,
        };
        let (low, high) = (row(2.0, 3), row(6.0, 9));
        let taken = |intervals| {
            let queue = Queue { rows: vec![&low, &high], intervals };
            use Statistic::{Amplitude, Max, Mean, Median};
            [Mean, Median, Max, Amplitude].map(|statistic| queue.take(statistic).unwrap())
        };
        assert_eq!(taken(2), [4.0, 2.0, 9.0, 7.0]);
        assert_eq!(taken(4), [2.0, 0.0, 9.0, 9.0]);
    }
}
