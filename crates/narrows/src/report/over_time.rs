//! What was recorded over time, in a bounded number of points.
//!
//! Recorded intervals that are shorter than what is kept are put together: of queues the deepest counts, of links the bytes
//! are added, so no peak vanishes. Windows keep the rows with the smallest and the largest window of each slice of time.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::fabric::Fabric;
use super::packed::{Array, Packer};
use crate::diagnostic::Checked;
use crate::results::{Source, Table};

/// Frames of the moving picture at the most, and ports times frames.
const FRAMES: u64 = 4096;
const CELLS: u64 = 2_000_000;
/// Curves of queues, and points of each at the most.
const QUEUES: usize = 8;
const POINTS: u64 = 8000;
/// Flows whose windows are drawn, and slices of time of each.
const FLOWS: usize = 12;
const SLICES: u64 = 2000;

/// A run over time.
#[derive(Clone, Debug, Serialize)]
pub struct OverTime {
    /// The network.
    fabric: Fabric,
    /// When the run ended, ms.
    ended_ms: f64,
    /// Ports over time; none if neither queues nor links were recorded.
    frames: Option<Frames>,
    /// The deepest queues.
    queues: Vec<QueueCurve>,
    /// The flows worth a look.
    flows: Vec<FlowCurve>,
    /// The arrays.
    packed: String,
}

/// What ports did, frame by frame. Arrays hold the frames of the first port, then those of the second, and so on.
#[derive(Clone, Debug, Serialize)]
struct Frames {
    /// Length of a frame, ms.
    length_ms: f64,
    /// Recorded intervals in a frame.
    intervals: u64,
    count: usize,
    /// By port: its link.
    links: Vec<u32>,
    /// The most bytes that waited in a frame, in 65535ths of `most_bytes`, rounded up.
    queue: Array,
    most_bytes: u64,
    /// Bits sent in 250ths of what the link could carry.
    utilisation: Array,
    /// Time that the port was stopped, in 250ths of the frame.
    paused: Array,
    /// The most bytes of isolated flows, in 255ths of `most_bytes`, rounded up.
    isolated: Array,
    /// Packets dropped; 255 and more.
    drops: Array,
    /// Packets marked; 255 and more.
    marks: Array,
}

/// What waited at a port.
#[derive(Clone, Debug, Serialize)]
struct QueueCurve {
    link: u32,
    /// Length of a slice, ms.
    slice_ms: f64,
    /// The most kB that waited in each slice.
    most: Array,
    /// The most bytes of all.
    peak: u64,
}

/// What a flow did.
#[derive(Clone, Debug, Serialize)]
struct FlowCurve {
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

impl OverTime {
    /// What `source` recorded, with `summary` as in `run.json`.
    ///
    /// # Errors
    /// If a table cannot be read.
    pub(super) fn of(source: &impl Source, summary: &Value) -> Checked<Self> {
        let ended = summary.get("ended_ps").and_then(Value::as_u64).unwrap_or(0).max(1);
        let interval =
            |name: &str| summary.pointer(&format!("/recorded/{name}_interval_ps")).and_then(Value::as_u64);
        let ports = source.columns("ports", &PORTS)?;
        let fabric = ports.map(|ports| Fabric::new(&ports, ended as f64 / 1e12)).unwrap_or_default();
        let mut packer = Packer::default();
        let queues = source.columns(
            "queues",
            &[
                "start_ps",
                "link",
                "max_backlog_bytes",
                "max_isolated_bytes",
                "bytes",
                "marks",
                "drops",
                "paused_ps",
            ],
        )?;
        let links = source.columns("links", &["start_ps", "link", "bytes", "drops"])?;
        let frames = interval("queues").or(interval("links")).map(|interval| {
            Matrix::new(&fabric, queues.as_ref(), links.as_ref(), interval.max(1), ended).frames(&mut packer)
        });
        drop(links);
        let curves = queues.zip(interval("queues"));
        let curves = curves
            .map(|(queues, interval)| deepest(&queues, interval.max(1), ended, &mut packer))
            .unwrap_or_default();
        let windows = source.columns("windows", &WINDOWS)?;
        let flows = match windows {
            Some(windows) => interesting(source, &windows, ended, &mut packer)?,
            None => Vec::new(),
        };
        Ok(Self {
            fabric,
            ended_ms: ended as f64 / 1e9,
            frames,
            queues: curves,
            flows,
            packed: packer.finish(),
        })
    }
}

const PORTS: [&str; 9] =
    ["link", "from", "to", "from_host", "to_host", "rate_bps", "bytes", "max_backlog_bytes", "drops"];

/// Ports times frames.
struct Matrix {
    frame: u64,
    intervals: u64,
    count: usize,
    links: Vec<u32>,
    rates: Vec<u64>,
    queue: Vec<u64>,
    bytes: Vec<u64>,
    paused: Vec<u64>,
    isolated: Vec<u64>,
    drops: Vec<u64>,
    marks: Vec<u64>,
}

impl Matrix {
    fn new(
        fabric: &Fabric,
        queues: Option<&Table>,
        links: Option<&Table>,
        interval: u64,
        ended: u64,
    ) -> Self {
        let mut known = vec![false; fabric.links.len()];
        let tables = || queues.into_iter().chain(links);
        for link in tables().flat_map(|table| table.integers("link")) {
            if let Some(known) = known.get_mut(*link as usize) {
                *known = true;
            }
        }
        let shown: Vec<_> = (0..known.len() as u32).filter(|link| known[*link as usize]).collect();
        let mut place = vec![None; known.len()];
        for (number, link) in shown.iter().enumerate() {
            place[*link as usize] = Some(number);
        }
        let all = ended.div_ceil(interval).max(1);
        let most = FRAMES.min((CELLS / (shown.len() as u64).max(1)).max(1));
        let intervals = all.div_ceil(most);
        let (frame, count) = (interval.saturating_mul(intervals), all.div_ceil(intervals) as usize);
        let cells = count * shown.len();
        let rates = shown.iter().map(|link| fabric.links[*link as usize].2).collect();
        let zeros = || vec![0_u64; cells];
        let mut matrix = Self {
            frame,
            intervals,
            count,
            links: shown,
            rates,
            queue: zeros(),
            bytes: zeros(),
            paused: zeros(),
            isolated: zeros(),
            drops: zeros(),
            marks: zeros(),
        };
        let add = |table: &Table, column: &str, sums: &mut Vec<u64>, most: bool| {
            let rows =
                table.integers("start_ps").iter().zip(table.integers("link")).zip(table.integers(column));
            for ((start, link), value) in rows {
                let Some(Some(port)) = place.get(*link as usize) else { continue };
                let cell = port * count + ((start / frame) as usize).min(count - 1);
                sums[cell] = if most { sums[cell].max(*value) } else { sums[cell].saturating_add(*value) };
            }
        };
        if let Some(queues) = queues {
            add(queues, "max_backlog_bytes", &mut matrix.queue, true);
            add(queues, "max_isolated_bytes", &mut matrix.isolated, true);
            add(queues, "paused_ps", &mut matrix.paused, false);
            add(queues, "marks", &mut matrix.marks, false);
        }
        // A link that is in both tables counts once. Where queues are recorded, their rows hold the bytes as well.
        let mut carried = zeros();
        for table in tables() {
            let (mut bytes, mut drops) = (zeros(), zeros());
            add(table, "bytes", &mut bytes, false);
            add(table, "drops", &mut drops, false);
            for cell in 0..cells {
                carried[cell] = carried[cell].max(bytes[cell]);
                matrix.drops[cell] = matrix.drops[cell].max(drops[cell]);
            }
        }
        matrix.bytes = carried;
        matrix
    }

    fn frames(self, packer: &mut Packer) -> Frames {
        let most = self.queue.iter().max().copied().unwrap_or(0).max(1);
        let scaled = |value: u64, of: u64, steps: u64| {
            (u128::from(value) * u128::from(steps)).div_ceil(u128::from(of.max(1)))
        };
        let capped = |value: &u64| (*value).min(255) as u8;
        let queue: Vec<_> = self.queue.iter().map(|bytes| scaled(*bytes, most, 65_535) as u16).collect();
        let isolated: Vec<_> =
            self.isolated.iter().map(|bytes| scaled(*bytes, most, 255).min(255) as u8).collect();
        let paused: Vec<_> =
            self.paused.iter().map(|time| scaled(*time, self.frame, 250).min(250) as u8).collect();
        let carried = |(cell, bytes): (usize, &u64)| {
            let most = self.rates[cell / self.count] as f64 * self.frame as f64 / 8e12;
            (*bytes as f64 / most * 250.0).round().min(255.0) as u8
        };
        let utilisation: Vec<_> = self.bytes.iter().enumerate().map(carried).collect();
        let drops: Vec<_> = self.drops.iter().map(capped).collect();
        let marks: Vec<_> = self.marks.iter().map(capped).collect();
        Frames {
            length_ms: self.frame as f64 / 1e9,
            intervals: self.intervals,
            count: self.count,
            links: self.links,
            queue: packer.shorts(&queue),
            most_bytes: most,
            utilisation: packer.bytes(&utilisation),
            paused: packer.bytes(&paused),
            isolated: packer.bytes(&isolated),
            drops: packer.bytes(&drops),
            marks: packer.bytes(&marks),
        }
    }
}

/// The deepest queues, slice by slice.
fn deepest(queues: &Table, interval: u64, ended: u64, packer: &mut Packer) -> Vec<QueueCurve> {
    let (starts, links) = (queues.integers("start_ps"), queues.integers("link"));
    let backlogs = queues.integers("max_backlog_bytes");
    let mut peaks: BTreeMap<u64, u64> = BTreeMap::new();
    for (link, backlog) in links.iter().zip(backlogs) {
        let peak = peaks.entry(*link).or_default();
        *peak = backlog.max(peak).to_owned();
    }
    let mut chosen: Vec<_> = peaks.into_iter().filter(|(_, peak)| *peak > 0).collect();
    chosen.sort_by_key(|(link, peak)| (Reverse(*peak), *link));
    chosen.truncate(QUEUES);
    // Whole intervals: one in which nothing waited has no row.
    let slice = interval.saturating_mul(ended.div_ceil(interval).div_ceil(POINTS).max(1));
    let count = ended.div_ceil(slice).max(1) as usize;
    let mut curves = vec![vec![0.0_f32; count]; chosen.len()];
    let place: BTreeMap<_, _> =
        chosen.iter().enumerate().map(|(number, (link, _))| (*link, number)).collect();
    for ((start, link), backlog) in starts.iter().zip(links).zip(backlogs) {
        let Some(number) = place.get(link) else { continue };
        let most = &mut curves[*number][((start / slice) as usize).min(count - 1)];
        *most = most.max(*backlog as f32 / 1e3);
    }
    let curve = |((link, peak), most): ((u64, u64), Vec<f32>)| QueueCurve {
        link: link as u32,
        slice_ms: slice as f64 / 1e9,
        most: packer.singles(most.into_iter()),
        peak,
    };
    chosen.into_iter().zip(curves).map(curve).collect()
}

const WINDOWS: [&str; 12] = [
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

/// What is known of a recorded flow.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    group: u32,
    delivered: u64,
    retransmitted: u64,
    timeouts: u64,
}

/// Curves of the flows worth a look: of each group those that delivered most, those that sent again most, the slowest.
fn interesting(
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
        seen.group = groups.get(row).copied().unwrap_or(0);
        // Clients start from zero again with each of their flows.
        seen.delivered = seen.delivered.max(delivered[row]);
        seen.retransmitted = seen.retransmitted.max(retransmitted[row]);
        seen.timeouts = seen.timeouts.max(timeouts.get(row).copied().unwrap_or(0));
    }
    let slow = slowdowns(source)?;
    let chosen = choose(&seen, &slow, group_names.len());
    let mut curves = Vec::new();
    for (flow, why) in chosen {
        let rows: Vec<_> = (0..flows.len()).filter(|row| flows[*row] == flow).collect();
        let group = group_names.get(seen[&flow].group as usize).map_or("", String::as_str);
        curves.push(curve(windows, &rows, format!("{group} flow {flow}"), why, ended, packer));
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
            &|_, seen| seen.timeouts.saturating_mul(1 << 40) + seen.retransmitted,
            each / 3,
            "sent again most",
            &mut chosen,
        );
    }
    chosen.truncate(FLOWS.max(groups));
    chosen
}

fn curve(
    windows: &Table,
    rows: &[usize],
    name: String,
    why: &'static str,
    ended: u64,
    packer: &mut Packer,
) -> FlowCurve {
    let at = windows.integers("at_ps");
    let slice = ended / SLICES + 1;
    let cwnd = windows.integers("cwnd_bytes");
    let mut kept = Vec::new();
    for part in rows.chunk_by(|a, b| at[*a] / slice == at[*b] / slice) {
        let least = part.iter().copied().min_by_key(|row| cwnd[*row]);
        let most = part.iter().copied().max_by_key(|row| cwnd[*row]);
        let mut ends: Vec<_> = least.into_iter().chain(most).chain(part.last().copied()).collect();
        ends.sort_unstable();
        ends.dedup();
        kept.append(&mut ends);
    }
    let of = |name: &str, scale: f64| {
        let values = windows.integers(name);
        kept.iter()
            .map(|row| (values.get(*row).copied().unwrap_or(0) as f64 / scale) as f32)
            .collect::<Vec<_>>()
    };
    let pacing = windows.maybe_integers("pacing_bps");
    let pacing: Vec<_> =
        kept.iter().map(|row| pacing.get(*row).copied().flatten().unwrap_or(0) as f32 / 1e9).collect();
    let delivered = windows.integers("delivered_bytes");
    let mut ticks = BTreeMap::new();
    for (kind, column) in TICKS {
        let counter = windows.integers(column);
        if counter.is_empty() {
            continue;
        }
        let rises =
            rows.windows(2).filter(|pair| counter[pair[1]] > counter[pair[0]]).map(|pair| at[pair[1]]);
        // The first row may already have something.
        let first = rows.first().filter(|row| counter[**row] > 0).map(|row| at[*row]);
        let mut times: Vec<_> = first.into_iter().chain(rises).map(|time| time as f64 / 1e9).collect();
        times.dedup_by_key(|time| (*time * 1e9 / slice as f64) as u64);
        if !times.is_empty() {
            ticks.insert(kind, packer.doubles(times.into_iter()));
        }
    }
    FlowCurve {
        name,
        why,
        at: packer.doubles(kept.iter().map(|row| at[*row] as f64 / 1e9).collect::<Vec<_>>().into_iter()),
        window: packer.singles(of("cwnd_bytes", 1e3).into_iter()),
        pacing: packer.singles(pacing.into_iter()),
        rtt: packer.singles(of("srtt_ps", 1e6).into_iter()),
        delivered: packer
            .doubles(kept.iter().map(|row| delivered[*row] as f64).collect::<Vec<_>>().into_iter()),
        ticks,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::super::packed::unpack;
    use super::*;
    use crate::results::{Column, Values};

    /// A source with tables of whole numbers.
    struct Made(Vec<Table>);

    impl Source for Made {
        fn summary(&self) -> Value {
            json!({})
        }

        fn scenario(&self) -> &str {
            ""
        }

        fn columns(&self, table: &'static str, _: &[&str]) -> Checked<Option<Table>> {
            Ok(self.0.iter().find(|made| made.name == table).cloned())
        }
    }

    fn table(name: &'static str, columns: &[(&'static str, Vec<u64>)]) -> Table {
        let column = |(name, values): &(&'static str, Vec<u64>)| Column {
            name: (*name).into(),
            values: Values::Integers(values.clone()),
        };
        Table { name, columns: columns.iter().map(column).collect() }
    }

    /// `links` links between two nodes, and rows (interval, link, backlog, bytes) of their ports.
    fn source(links: u64, rows: &[(u64, u64, u64, u64)]) -> Made {
        let all = || (0..links).collect::<Vec<_>>();
        let mut ports =
            table("ports", &[("link", all()), ("rate_bps", vec![10_000_000_000; links as usize])]);
        for (end, host) in [("from", "from_host"), ("to", "to_host")] {
            let names = Values::Names(vec![0; links as usize], vec![end.to_owned()]);
            ports.columns.push(Column { name: end.into(), values: names });
            ports
                .columns
                .push(Column { name: host.into(), values: Values::Flags(vec![false; links as usize]) });
        }
        let of = |value: fn(&(u64, u64, u64, u64)) -> u64| rows.iter().map(value).collect::<Vec<_>>();
        let queues = [
            ("start_ps", of(|row| row.0 * INTERVAL)),
            ("link", of(|row| row.1)),
            ("max_backlog_bytes", of(|row| row.2)),
            ("bytes", of(|row| row.3)),
            ("drops", of(|_| 0)),
            ("marks", of(|_| 0)),
            ("paused_ps", of(|_| 0)),
        ];
        Made(vec![ports, table("queues", &queues)])
    }

    const INTERVAL: u64 = 1_000_000;

    fn over_time(made: &Made, intervals: u64) -> OverTime {
        let summary =
            json!({ "ended_ps": intervals * INTERVAL, "recorded": { "queues_interval_ps": INTERVAL } });
        OverTime::of(made, &summary).expect("readable")
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(30))]
        #[test]
        fn no_peak_vanishes_however_long_the_run(
            intervals in 1..40_000_u64,
            peaks in prop::collection::vec((0..40_000_u64, 0..3_u64, 1..5_000_000_u64), 1..20),
        ) {
            let rows: Vec<_> = peaks.iter().map(|(at, link, peak)| (at % intervals, *link, *peak, 1250)).collect();
            let shown = over_time(&source(3, &rows), intervals);
            let frames = shown.frames.as_ref().expect("recorded");
            prop_assert!(frames.count as u64 <= FRAMES);
            let queue = unpack(&shown.packed, frames.queue);
            for (interval, link, peak, _) in rows {
                let port = frames.links.iter().position(|other| u64::from(*other) == link).expect("shown");
                let frame = (interval / frames.intervals) as usize;
                let kept = queue[port * frames.count + frame] / 65_535.0 * frames.most_bytes as f64;
                prop_assert!(kept >= peak as f64 - 1e-6, "{kept} of {peak}");
                let curve = shown.queues.iter().find(|curve| u64::from(curve.link) == link).expect("one of few");
                let slice = (interval as f64 * INTERVAL as f64 / 1e9 / curve.slice_ms + 1e-9) as usize;
                let most = unpack(&shown.packed, curve.most);
                prop_assert!(most[slice] as f32 >= peak as f32 / 1e3);
                prop_assert!(curve.peak >= peak);
            }
        }
    }

    #[test]
    fn many_ports_have_fewer_frames_and_all_bytes() {
        let rows: Vec<_> = (0..2000).flat_map(|link| [(0, link, 1, 625), (1, link, 1, 625)]).collect();
        let shown = over_time(&source(2000, &rows), 4000);
        let frames = shown.frames.as_ref().expect("recorded");
        assert_eq!((frames.count, frames.intervals), (1000, 4));
        // 1250 of 5000 bytes that 10 Gb/s carry in 4 us.
        let used = unpack(&shown.packed, frames.utilisation);
        assert_eq!((used[0], used[1]), (63.0, 0.0));
    }

    #[test]
    fn a_queue_that_stays_deep_does_not_look_empty_between_records() {
        let rows: Vec<_> = (0..100).map(|interval| (interval, 0, 9000, 1)).collect();
        let shown = over_time(&source(1, &rows), 100);
        assert_eq!(unpack(&shown.packed, shown.queues[0].most), [9.0; 100]);
    }

    #[test]
    fn the_flows_worth_a_look_are_the_busiest_the_slowest_and_those_that_sent_again() {
        let seen = |delivered, retransmitted| Seen { group: 0, delivered, retransmitted, timeouts: 0 };
        let all: BTreeMap<u64, Seen> =
            (0..100).map(|flow| (flow, seen(1000 - flow, if flow == 70 { 5 } else { 0 }))).collect();
        let slow = [(50, 9000), (51, 8000)].into_iter().collect();
        let chosen = choose(&all, &slow, 1);
        assert_eq!(chosen[..4], [0, 1, 2, 3].map(|flow| (flow, "delivered most")));
        assert_eq!(chosen[4..6], [(50, "slowest"), (51, "slowest")]);
        assert_eq!(chosen[6..], [(70, "sent again most")]);
    }
}
