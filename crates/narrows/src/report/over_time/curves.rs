//! Curves over time: the deepest queues, and the flows worth a look.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::Serialize;

use super::frames::{Recorded, rows};
use crate::diagnostic::Checked;
use crate::report::packed::{Array, Packer};
use crate::results::{Source, Table};

/// The most curves of queues, and points of each.
const QUEUES: usize = 8;
const POINTS: u64 = 8000;
/// Flows whose windows are drawn, and slices of time of each.
pub(super) const FLOWS: usize = 12;
const SLICES: u64 = 2000;

/// Backlog of a port.
#[derive(Clone, Debug, Serialize)]
pub(super) struct QueueCurve {
    pub(super) link: u32,
    /// Length of a slice, ms.
    pub(super) slice_ms: f64,
    /// The most kB that waited in each slice.
    pub(super) most: Array,
    /// The most bytes of all.
    pub(super) peak: u64,
}

/// Curves of a flow.
#[derive(Clone, Debug, Serialize)]
pub(super) struct FlowCurve {
    #[serde(skip)]
    pub(super) flow: u64,
    name: String,
    /// Why it is shown.
    why: &'static str,
    /// ms, kB of window, Gb/s of the pacer (0 if not paced), µs of round trip, bytes delivered.
    at: Array,
    window: Array,
    pacing: Array,
    rtt: Array,
    delivered: Array,
    /// ms at which something happened, by kind.
    ticks: BTreeMap<&'static str, Array>,
}

/// The deepest queues, slice by slice.
pub(super) struct Deepest {
    slice: u64,
    /// By curve: its link, the peak, and the most kB that waited in each slice.
    curves: Vec<(usize, u64, Vec<f32>)>,
    /// By link: its curve.
    place: Vec<Option<usize>>,
}

impl Deepest {
    /// Those of a run that ended at `ended`, before the rows are added.
    pub(super) fn new<S>(queues: &Recorded<'_, S>, ended: u64) -> Self {
        let peaks = queues.peaks.iter().enumerate();
        let mut chosen: Vec<_> =
            peaks.filter_map(|(link, peak)| Some((link, peak.filter(|peak| *peak > 0)?))).collect();
        chosen.sort_by_key(|(link, peak)| (Reverse(*peak), *link));
        chosen.truncate(QUEUES);
        // Whole intervals: one in which nothing waited has no row.
        let interval = queues.interval;
        let slice = interval.saturating_mul(ended.div_ceil(interval).div_ceil(POINTS).max(1));
        let count = ended.div_ceil(slice).max(1) as usize;
        let mut place = vec![None; queues.peaks.len()];
        chosen.iter().enumerate().for_each(|(number, (link, _))| place[*link] = Some(number));
        let curves = chosen.into_iter().map(|(link, peak)| (link, peak, vec![0.0; count])).collect();
        Self { slice, curves, place }
    }

    /// Adds rows.
    pub(super) fn add(&mut self, part: &Table) {
        for (start, link, backlog) in rows(part, "max_backlog_bytes") {
            let Some(number) = self.place.get(link).copied().flatten() else { continue };
            let slices = &mut self.curves[number].2;
            let last = slices.len() - 1;
            let most = &mut slices[((start / self.slice) as usize).min(last)];
            *most = most.max(backlog as f32 / 1e3);
        }
    }

    pub(super) fn curves(self, packer: &mut Packer) -> Vec<QueueCurve> {
        let curve = |(link, peak, most): (usize, u64, Vec<f32>)| QueueCurve {
            link: link as u32,
            slice_ms: self.slice as f64 / 1e9,
            most: packer.singles(most.into_iter()),
            peak,
        };
        self.curves.into_iter().map(curve).collect()
    }
}

pub(super) const WINDOWS: [&str; 12] = [
    "at_ps",
    "flow",
    "group",
    "cwnd_bytes",
    "pacing_bps",
    "srtt_ps",
    "delivered_bytes",
    "retransmitted_bytes",
    "marked_bytes",
    "timeouts",
    "cnps",
    "messages",
];

/// Counters of a flow that make ticks when they rise.
const TICKS: [(&str, &str); 5] = [
    ("marks", "marked_bytes"),
    ("losses", "retransmitted_bytes"),
    ("timeouts", "timeouts"),
    ("CNPs", "cnps"),
    ("switch messages", "messages"),
];

/// Totals of a recorded flow.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    group: u32,
    delivered: u64,
    retransmitted: u64,
    timeouts: u64,
}

/// Curves of the flows worth a look: of each group those that delivered most, those that retransmitted most, the slowest.
pub(super) fn interesting(
    source: &impl Source,
    windows: &Table,
    ended: u64,
    packer: &mut Packer,
) -> Checked<Vec<FlowCurve>> {
    let flows = windows.integers("flow");
    let (groups, group_names) = windows.names("group");
    let [delivered, retransmitted, timeouts] =
        ["delivered_bytes", "retransmitted_bytes", "timeouts"].map(|name| windows.integers(name));
    let mut seen: BTreeMap<u64, Seen> = BTreeMap::new();
    for (row, flow) in flows.iter().enumerate() {
        let seen = seen.entry(*flow).or_default();
        seen.group = groups[row];
        // Clients start from zero again with each of their flows.
        seen.delivered = seen.delivered.max(delivered[row]);
        seen.retransmitted = seen.retransmitted.max(retransmitted[row]);
        seen.timeouts = seen.timeouts.max(timeouts[row]);
    }
    let slow = slowdowns(source)?;
    let chosen = choose(&seen, &slow, group_names.len());
    let mut curves = Vec::new();
    for (flow, why) in chosen {
        let rows: Vec<_> = (0..flows.len()).filter(|row| flows[*row] == flow).collect();
        let group = group_names.get(seen[&flow].group as usize).map_or("", String::as_str);
        curves.push(curve(windows, &rows, (flow, group), why, ended, packer));
    }
    Ok(curves)
}

/// The largest slowdown of each flow.
fn slowdowns(source: &impl Source) -> Checked<BTreeMap<u64, u64>> {
    let Some(table) = source.columns("flows", &["flow", "fct_ps", "ideal_fct_ps"])? else {
        return Ok(BTreeMap::new());
    };
    let mut slow: BTreeMap<u64, u64> = BTreeMap::new();
    let times = table.maybe_integers("fct_ps").iter().zip(table.maybe_integers("ideal_fct_ps"));
    for (flow, (fct, ideal)) in table.integers("flow").iter().zip(times) {
        if let (Some(fct), Some(ideal)) = (fct, ideal) {
            let slowdown = slow.entry(*flow).or_default();
            *slowdown = (*slowdown).max(fct.saturating_mul(1000) / (*ideal).max(1));
        }
    }
    Ok(slow)
}

fn choose(seen: &BTreeMap<u64, Seen>, slow: &BTreeMap<u64, u64>, groups: usize) -> Vec<(u64, &'static str)> {
    let each = (FLOWS / groups.max(1)).max(1);
    let mut chosen: Vec<(u64, &str)> = Vec::new();
    for group in 0..groups as u32 {
        let of_group: Vec<_> = seen.iter().filter(|(_, seen)| seen.group == group).collect();
        let best = |value: &dyn Fn(u64, &Seen) -> u64, count: usize, why, chosen: &mut Vec<(u64, &str)>| {
            let mut flows: Vec<_> =
                of_group.iter().map(|(flow, seen)| (Reverse(value(**flow, seen)), **flow)).collect();
            flows.sort_unstable();
            flows.retain(|(value, flow)| value.0 > 0 && !chosen.iter().any(|(other, _)| other == flow));
            chosen.extend(flows.into_iter().take(count).map(|(_, flow)| (flow, why)));
        };
        best(&|_, seen| seen.delivered, each - 2 * (each / 3), "delivered most", &mut chosen);
        best(&|flow, _| slow.get(&flow).copied().unwrap_or(0), each / 3, "slowest", &mut chosen);
        best(
            &|_, seen| seen.timeouts.saturating_mul(1 << 40).saturating_add(seen.retransmitted),
            each / 3,
            "retransmitted most",
            &mut chosen,
        );
    }
    chosen.truncate(FLOWS.max(groups));
    chosen
}

/// Name of a flow.
pub(crate) fn flow_name(group: &str, flow: u64) -> String {
    format!("{group} flow {flow}")
}

/// Length of the slices of time of a flow's curves.
pub(super) fn slice_of(ended: u64) -> u64 {
    ended / SLICES + 1
}

/// Of each slice of time the rows with the smallest and the largest value, and the last one.
pub(super) fn extremes(at: &[u64], rows: &[usize], slice: u64, value: impl Fn(usize) -> f64) -> Vec<usize> {
    let mut kept = Vec::new();
    for part in rows.chunk_by(|a, b| at[*a] / slice == at[*b] / slice) {
        let order = |a: &usize, b: &usize| value(*a).total_cmp(&value(*b));
        let least = part.iter().copied().min_by(order);
        let most = part.iter().copied().max_by(order);
        let mut ends: Vec<_> = least.into_iter().chain(most).chain(part.last().copied()).collect();
        ends.sort_unstable();
        ends.dedup();
        kept.append(&mut ends);
    }
    kept
}

fn curve(
    windows: &Table,
    rows: &[usize],
    (flow, group): (u64, &str),
    why: &'static str,
    ended: u64,
    packer: &mut Packer,
) -> FlowCurve {
    let at = windows.integers("at_ps");
    let slice = slice_of(ended);
    let cwnd = windows.integers("cwnd_bytes");
    let kept = extremes(at, rows, slice, |row| cwnd[row] as f64);
    let of = |name: &str, scale: f64| {
        let values = windows.integers(name);
        kept.iter().map(move |row| values[*row] as f64 / scale)
    };
    let pacing = windows.maybe_integers("pacing_bps");
    let pacing = kept.iter().map(|row| pacing[*row].unwrap_or(0) as f32 / 1e9);
    let mut ticks = BTreeMap::new();
    for (kind, column) in TICKS {
        let counter = windows.integers(column);
        // Clients start from zero again with each of their flows.
        let mut before = 0;
        let rises = rows.iter().filter(|row| {
            let now = counter[**row];
            std::mem::replace(&mut before, now) != now && now > 0
        });
        let mut times: Vec<_> = rises.map(|row| at[*row]).collect();
        times.dedup_by_key(|time| *time / slice);
        if !times.is_empty() {
            ticks.insert(kind, packer.doubles(times.into_iter().map(|time| time as f64 / 1e9)));
        }
    }
    FlowCurve {
        flow,
        name: flow_name(group, flow),
        why,
        at: packer.doubles(of("at_ps", 1e9)),
        window: packer.singles(of("cwnd_bytes", 1e3).map(|value| value as f32)),
        pacing: packer.singles(pacing),
        rtt: packer.singles(of("srtt_ps", 1e6).map(|value| value as f32)),
        delivered: packer.doubles(of("delivered_bytes", 1.0)),
        ticks,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flows_worth_a_look_are_the_busiest_the_slowest_and_those_that_sent_again() {
        let seen = |delivered, retransmitted| Seen { group: 0, delivered, retransmitted, timeouts: 0 };
        let all: BTreeMap<u64, Seen> =
            (0..100).map(|flow| (flow, seen(1000 - flow, if flow == 70 { 5 } else { 0 }))).collect();
        let slow = [(50, 9000), (51, 8000)].into_iter().collect();
        let chosen = choose(&all, &slow, 1);
        assert_eq!(chosen[..4], [0, 1, 2, 3].map(|flow| (flow, "delivered most")));
        assert_eq!(chosen[4..6], [(50, "slowest"), (51, "slowest")]);
        assert_eq!(chosen[6..], [(70, "retransmitted most")]);
    }
}
