//! Records over time, in a bounded number of points.
//!
//! Recorded intervals that are shorter than what is kept are put together: of queues the deepest counts, of links the bytes
//! are added, so no peak vanishes. Windows keep the rows with the smallest and the largest window of each slice of time.

mod curves;
mod frames;
mod state;

use narrows_proto::units::Span;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub(crate) use self::curves::flow_name;
use self::curves::{Deepest, FlowCurve, QueueCurve, WINDOWS, interesting};
use self::frames::{Frames, Matrix, Recorded};
use self::state::{State, states};
use super::fabric::Fabric;
use super::packed::Packer;
use crate::diagnostic::Checked;
use crate::results::Source;
use crate::scenario::{Measure, Stop};

const PORTS: [&str; 9] =
    ["link", "from", "to", "from_host", "to_host", "rate_bps", "bytes", "max_backlog_bytes", "drops"];
const QUEUES: [&str; 8] =
    ["start_ps", "link", "max_backlog_bytes", "max_isolated_bytes", "bytes", "marks", "drops", "paused_ps"];

/// A run over time.
#[derive(Clone, Debug, Serialize)]
pub struct OverTime {
    /// The network.
    fabric: Fabric,
    /// When the run ended, ms.
    ended_ms: f64,
    /// From when until when flows count, ms.
    measured_ms: (f64, f64),
    /// Ports over time; none if neither queues nor links were recorded.
    frames: Option<Frames>,
    /// The deepest queues.
    queues: Vec<QueueCurve>,
    /// The flows worth a look.
    flows: Vec<FlowCurve>,
    /// State of their controls.
    states: Vec<State>,
    /// The arrays.
    packed: String,
}

impl OverTime {
    /// Records of `source`, with `summary` as in `run.json`.
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
        let recorded = |name: &'static str, column: &str| {
            Recorded::find(source, name, interval(name), column, fabric.links.len())
        };
        let (queues, links) = (recorded("queues", "max_backlog_bytes")?, recorded("links", "bytes")?);
        let mut matrix = Matrix::new(&fabric, queues.as_ref(), links.as_ref(), ended);
        let mut deepest = queues.as_ref().map(|queues| Deepest::new(queues, ended));
        if let Some(queues) = &queues {
            queues.parts(&QUEUES, &mut |part| {
                matrix.iter_mut().for_each(|matrix| matrix.add_queues(part));
                deepest.iter_mut().for_each(|deepest| deepest.add(part));
            })?;
        }
        if let Some(links) = &links {
            links.parts(&["start_ps", "link", "bytes", "drops"], &mut |part| {
                matrix.iter_mut().for_each(|matrix| matrix.add_links(part, queues.as_ref()));
            })?;
        }
        let frames = matrix.map(|matrix| matrix.frames(&mut packer));
        let curves = deepest.map(|deepest| deepest.curves(&mut packer)).unwrap_or_default();
        let windows = source.columns("windows", &WINDOWS)?;
        let flows = match windows {
            Some(windows) => interesting(source, &windows, ended, &mut packer)?,
            None => Vec::new(),
        };
        let shown: Vec<_> = flows.iter().map(|flow| flow.flow).collect();
        let states = states(source, &shown, ended, &mut packer)?;
        Ok(Self {
            fabric,
            ended_ms: ended as f64 / 1e9,
            measured_ms: measured(source.scenario(), ended),
            frames,
            queues: curves,
            flows,
            states,
            packed: packer.finish(),
        })
    }
}

/// From when until when flows count, ms; all the time until `ended` if the scenario does not say.
fn measured(scenario: &str, ended: u64) -> (f64, f64) {
    #[derive(Deserialize)]
    struct Times {
        stop: Stop,
        #[serde(default)]
        measure: Measure,
    }
    let ms = |span: Span| span.as_ps().min(ended) as f64 / 1e9;
    let times = toml::from_str::<Times>(scenario).ok();
    let (from, until) = times.map_or((Span::ZERO, Span::from_ps(ended)), |Times { stop, measure }| {
        (measure.from, measure.until.unwrap_or(stop.after))
    });
    (ms(from), ms(until))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::super::packed::unpack;
    use super::frames::FRAMES;
    use super::*;
    use crate::results::{Column, Table, Values};

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

    #[test]
    fn the_measured_time_ends_with_the_run_if_nothing_else_ends_it() {
        let ended = 40_000_000_000;
        let of = |text: &str| measured(text, ended);
        assert_eq!(of("stop = { after = \"50 ms\" }\nmeasure = { from = \"5 ms\" }"), (5.0, 40.0));
        let both = "seed = 3\nstop = { after = \"30 ms\" }\nmeasure = { from = \"5 ms\", until = \"20 ms\" }";
        assert_eq!(of(both), (5.0, 20.0));
        assert_eq!(of("stop = { after = \"30 ms\", drain = \"1 s\" }"), (0.0, 30.0));
        assert_eq!(of(""), (0.0, 40.0));
    }

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
        let used = unpack(&shown.packed, frames.utilization);
        assert_eq!((used[0], used[1]), (63.0, 0.0));
    }

    #[test]
    fn a_queue_that_stays_deep_does_not_look_empty_between_records() {
        let rows: Vec<_> = (0..100).map(|interval| (interval, 0, 9000, 1)).collect();
        let shown = over_time(&source(1, &rows), 100);
        assert_eq!(unpack(&shown.packed, shown.queues[0].most), [9.0; 100]);
    }

    #[test]
    fn links_that_are_recorded_less_often_than_queues_are_not_drawn_as_bursts() {
        let mut made = source(2, &[(0, 0, 1, 1250)]);
        // Link 1 carries 5000 bytes in an interval of four; of link 0 the rows of queues count.
        let rows = [
            ("start_ps", vec![0, 0]),
            ("link", vec![0, 1]),
            ("bytes", vec![1250, 5000]),
            ("drops", vec![0, 3]),
        ];
        made.0.push(table("links", &rows));
        let recorded = json!({ "queues_interval_ps": INTERVAL, "links_interval_ps": 4 * INTERVAL });
        let summary = json!({ "ended_ps": 8 * INTERVAL, "recorded": recorded });
        let shown = OverTime::of(&made, &summary).expect("readable");
        let frames = shown.frames.as_ref().expect("recorded");
        // 1250 bytes are all that 10 Gb/s carry in 1 us.
        let used = unpack(&shown.packed, frames.utilization);
        assert_eq!(used[..8], [250.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
        assert_eq!(used[8..], [250.0, 250.0, 250.0, 250.0, 0.0, 0.0, 0.0, 0.0]);
        assert_eq!(unpack(&shown.packed, frames.drops)[8], 3.0);
    }
}
