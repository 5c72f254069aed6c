//! Completion times of flows, in a bounded number of points however many there were.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::diagnostic::Checked;
use crate::metrics::{self, Lasted, Marks, Sample};
use crate::results::{Source, Table};
use crate::statistics::{Estimate, estimate, mean, percentile};

/// Completion times of a group in one run.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupTimes {
    /// Its name.
    pub name: String,
    /// Its congestion control.
    pub control: String,
    /// Completion times in µs that the fractions of [`fractions`] of the flows do not exceed.
    quantiles: Vec<f64>,
    /// By class of size.
    bins: BTreeMap<u32, Bin>,
    /// All measured flows beside the slowest; none if they are too few.
    tail: Option<Tail>,
    /// The slowest flows.
    slowest: Vec<Slow>,
}

/// Slowdowns of flows of similar size.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Bin {
    flows: usize,
    p50: Slowdown,
    p99: Slowdown,
}

/// A percentile of slowdowns, and its marks.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Slowdown {
    value: f64,
    marks: Marks,
}

/// All measured flows of a group beside the slowest of them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Tail {
    /// Flows of both.
    flows: [usize; 2],
    /// In words, and the value of both.
    rows: Vec<(&'static str, [f64; 2])>,
}

/// A flow that took long.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Slow {
    flow: u64,
    src: String,
    dst: String,
    size: u64,
    start_ms: f64,
    fct_us: f64,
    slowdown: f64,
    retransmissions: u64,
    timeouts: u64,
    /// Fraction of its payload that was acknowledged as marked; none if receivers do not report that.
    marked: Option<f64>,
}

/// A group as a page shows it: means over runs and their confidence intervals.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct GroupCharts {
    name: String,
    control: String,
    /// Completion time in µs, fraction of flows that took at most that long, bounds of the time.
    cdf: Vec<[f64; 4]>,
    slowdown: Vec<SizeClass>,
    /// The meaning of marks of these.
    legend: Vec<String>,
    /// Of the first run.
    tail: Option<Tail>,
    slowest: Vec<Slow>,
}

/// Flows of similar size over all runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
struct SizeClass {
    /// The largest size of the class, in bytes.
    size: f64,
    flows: usize,
    p50: Marked,
    p99: Marked,
}

/// An estimate over runs, and its marks in any of them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
struct Marked {
    #[serde(flatten)]
    estimate: Estimate,
    #[serde(serialize_with = "as_text")]
    marks: Marks,
}

fn as_text<S: Serializer>(marks: &Marks, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&marks.text())
}

/// Slowest flows that are listed.
const SLOWEST: usize = 10;
/// Classes of size in a decade.
const CLASSES: f64 = 5.0;
/// A class with fewer flows has no percentiles.
const FEWEST: usize = 5;

const COLUMNS: [&str; 15] = [
    "flow",
    "group",
    "control",
    "src",
    "dst",
    "size_bytes",
    "start_ps",
    "fct_ps",
    "ideal_fct_ps",
    "delivered_bytes",
    "retransmissions",
    "retransmitted_bytes",
    "timeouts",
    "marked_bytes",
    "measured",
];

/// Fractions of flows at which completion times are kept; denser toward the end.
fn fractions() -> Vec<f64> {
    let body = (0..=198).map(|step| f64::from(step) / 200.0);
    body.chain((1..=100).map(|step| 0.99 + f64::from(step) / 10_000.0)).collect()
}

/// The columns that are needed of the table of flows.
struct Flows<'a> {
    table: &'a Table,
    summary: &'a Value,
    fct: &'a [Option<u64>],
    ideal: &'a [Option<u64>],
    size: &'a [Option<u64>],
}

impl Flows<'_> {
    fn micros(&self, row: usize) -> f64 {
        self.fct[row].unwrap_or(0) as f64 / 1e6
    }

    fn slowdown(&self, row: usize) -> f64 {
        self.fct[row].unwrap_or(0) as f64 / self.ideal[row].unwrap_or(1).max(1) as f64
    }

    fn number(&self, column: &str, row: usize) -> u64 {
        self.table.integers(column).get(row).copied().unwrap_or(0)
    }

    fn name(&self, column: &str, row: usize) -> String {
        let (rows, names) = self.table.names(column);
        rows.get(row).and_then(|name| names.get(*name as usize)).cloned().unwrap_or_default()
    }

    /// Receivers of a group report which bytes were marked. With classic ECN or notification packets a sender does not learn how many.
    fn has_marked(&self, group: &str) -> bool {
        let metrics = self.summary.get("metrics");
        metrics.and_then(|all| all.get(format!("{group}.marked_fraction"))).is_some_and(Value::is_number)
    }

    fn marked(&self, row: usize) -> f64 {
        let delivered = self.number("delivered_bytes", row);
        self.number("marked_bytes", row) as f64 / delivered.max(1) as f64
    }
}

impl GroupTimes {
    /// Of every group of `source` that has measured flows that ended, in the order of `summary`.
    ///
    /// # Errors
    /// If the table of flows cannot be read.
    pub(super) fn of(source: &impl Source, summary: &Value) -> Checked<Vec<Self>> {
        let Some(table) = source.columns("flows", &COLUMNS)? else { return Ok(Vec::new()) };
        let [fct, ideal, size] =
            ["fct_ps", "ideal_fct_ps", "size_bytes"].map(|name| table.maybe_integers(name));
        let flows = Flows { table: &table, summary, fct, ideal, size };
        let ((rows, names), measured) = (table.names("group"), table.flags("measured"));
        let (mut by_group, mut unfinished) = (vec![Vec::new(); names.len()], vec![Vec::new(); names.len()]);
        for (row, group) in rows.iter().enumerate() {
            if measured[row] && size[row].is_some() {
                let rows = if fct[row].is_some() { &mut by_group } else { &mut unfinished };
                rows[*group as usize].push(row);
            }
        }
        let order = summary.get("groups").and_then(Value::as_array).into_iter().flatten();
        let order: Vec<_> = order.filter_map(|group| group.get("name")?.as_str()).collect();
        let groups = names.iter().zip(by_group).zip(unfinished);
        let mut groups: Vec<_> = groups.filter(|((_, rows), _)| !rows.is_empty()).collect();
        groups.sort_by_key(|((name, _), _)| order.iter().position(|other| other == name));
        let times =
            |((name, rows), unfinished): ((&String, _), Vec<_>)| Self::new(name, &flows, rows, &unfinished);
        Ok(groups.into_iter().map(times).collect())
    }

    /// Of flows that have finished, and those that have not.
    fn new(name: &str, flows: &Flows<'_>, mut rows: Vec<usize>, unfinished: &[usize]) -> Self {
        let mut classes: BTreeMap<u32, Vec<Lasted>> = BTreeMap::new();
        let lasted = rows.iter().map(|row| (row, Lasted::Exactly(flows.slowdown(*row))));
        for (row, lasted) in lasted.chain(unfinished.iter().map(|row| (row, Lasted::AtLeast(1.0)))) {
            classes.entry(class(flows.size[*row].unwrap_or(1))).or_default().push(lasted);
        }
        let bin = |(class, slowdowns): (u32, Vec<Lasted>)| {
            let sample = Sample::of(slowdowns.into_iter());
            let at = |p| Slowdown {
                value: sample.percentile(p).unwrap_or(1.0),
                marks: sample.doubt(p).map(Marks::from).unwrap_or_default(),
            };
            (class, Bin { flows: sample.len(), p50: at(0.5), p99: at(0.99) })
        };
        let control = flows.name("control", rows[0]);
        let has_marked = flows.has_marked(name);
        rows.sort_by(|a, b| flows.micros(*a).total_cmp(&flows.micros(*b)).then(a.cmp(b)));
        let times: Vec<_> = rows.iter().map(|row| flows.micros(*row)).collect();
        let quantiles = fractions().into_iter().map(|p| percentile(&times, p).unwrap_or(0.0)).collect();
        rows.sort_by(|a, b| flows.slowdown(*b).total_cmp(&flows.slowdown(*a)).then(a.cmp(b)));
        Self {
            name: name.to_owned(),
            control,
            quantiles,
            bins: classes.into_iter().map(bin).collect(),
            tail: tail(flows, &rows, has_marked),
            slowest: rows.iter().take(SLOWEST).map(|row| slow(flows, *row, has_marked)).collect(),
        }
    }
}

/// Which fifth of a decade a size falls into.
fn class(size: u64) -> u32 {
    (libm::log10(size.max(1) as f64) * CLASSES - 1e-9).ceil().max(0.0) as u32
}

fn slow(flows: &Flows<'_>, row: usize, has_marked: bool) -> Slow {
    Slow {
        flow: flows.number("flow", row),
        src: flows.name("src", row),
        dst: flows.name("dst", row),
        size: flows.size[row].unwrap_or(0),
        start_ms: flows.number("start_ps", row) as f64 / 1e9,
        fct_us: flows.micros(row),
        slowdown: flows.slowdown(row),
        retransmissions: flows.number("retransmissions", row),
        timeouts: flows.number("timeouts", row),
        marked: has_marked.then(|| flows.marked(row)),
    }
}

/// All flows beside the hundredth with the largest slowdowns; `rows` begin with these. None if they are too few to compare.
fn tail(flows: &Flows<'_>, rows: &[usize], has_marked: bool) -> Option<Tail> {
    let slowest = rows.len().div_ceil(100).max(5);
    if rows.len() < 2 * slowest {
        return None;
    }
    let both = |value: &dyn Fn(usize) -> f64| {
        [rows, &rows[..slowest]].map(|rows| {
            let values: Vec<_> = rows.iter().map(|row| value(*row)).collect();
            mean(&values).unwrap_or(0.0)
        })
    };
    let share = |column: &'static str| both(&|row| if flows.number(column, row) > 0 { 100.0 } else { 0.0 });
    let mut found = vec![
        ("slowdown, mean", both(&|row| flows.slowdown(row))),
        ("size, mean kB", both(&|row| flows.size[row].unwrap_or(0) as f64 / 1e3)),
        ("with a timeout, %", share("timeouts")),
        ("with a retransmission, %", share("retransmissions")),
    ];
    found.extend(has_marked.then(|| ("payload marked, %", both(&|row| 100.0 * flows.marked(row)))));
    Some(Tail { flows: [rows.len(), slowest], rows: found })
}

/// Groups of several runs as a page shows them.
pub(super) fn charts(runs: &[&[GroupTimes]]) -> Vec<GroupCharts> {
    let Some(first) = runs.first() else { return Vec::new() };
    let chart = |group: &GroupTimes| {
        let same: Vec<_> =
            runs.iter().filter_map(|run| run.iter().find(|other| other.name == group.name)).collect();
        let over_runs = |value: &dyn Fn(&GroupTimes) -> f64| {
            estimate(&same.iter().map(|group| value(group)).collect::<Vec<_>>())
        };
        let point = |(number, p): (usize, f64)| {
            let Estimate { mean, interval, .. } = over_runs(&|group| group.quantiles[number])?;
            let (low, high) = interval.unwrap_or((mean, mean));
            Some([mean, p, low, high])
        };
        let mut cdf: Vec<_> = fractions().into_iter().enumerate().filter_map(point).collect();
        // What more flows do not exceed is no smaller, and neither are its bounds: where they are by chance, the band is widened.
        for number in 1..cdf.len() {
            cdf[number][3] = cdf[number][3].max(cdf[number - 1][3]);
            let before = cdf.len() - 1 - number;
            cdf[before][2] = cdf[before][2].min(cdf[before + 1][2]);
        }
        // Of equal times the highest fraction counts.
        cdf.dedup_by(|later, kept| {
            let equal = later[0] == kept[0];
            kept[1] = if equal { later[1] } else { kept[1] };
            equal
        });
        let slowdown = classes(&same);
        let marks = slowdown.iter().flat_map(|class| [class.p50.marks, class.p99.marks]);
        GroupCharts {
            name: group.name.clone(),
            control: group.control.clone(),
            cdf,
            legend: marks.fold(Marks::default(), Marks::and).legend(),
            slowdown,
            tail: group.tail.clone(),
            slowest: group.slowest.clone(),
        }
    };
    first.iter().map(chart).collect()
}

/// Classes of size that have enough flows in each of these runs.
fn classes(runs: &[&GroupTimes]) -> Vec<SizeClass> {
    let class = |class: &u32| {
        let bins: Option<Vec<_>> =
            runs.iter().map(|run| run.bins.get(class).filter(|bin| bin.flows >= FEWEST)).collect();
        let bins = bins?;
        let over = |metric: &str, of: fn(&Bin) -> Slowdown| {
            let samples: Vec<_> = bins.iter().map(|bin| of(bin).value).collect();
            let marks = bins.iter().map(|bin| of(bin).marks).fold(Marks::default(), Marks::and);
            Some(Marked { estimate: metrics::estimate(metric, &samples)?, marks: marks.over(&samples) })
        };
        Some(SizeClass {
            size: libm::pow(10.0, f64::from(*class) / CLASSES),
            flows: bins.iter().map(|bin| bin.flows).sum(),
            p50: over("p50_slowdown", |bin| bin.p50)?,
            p99: over("p99_slowdown", |bin| bin.p99)?,
        })
    };
    runs.first().into_iter().flat_map(|run| run.bins.keys()).filter_map(class).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Document;
    use crate::plan::Plan;
    use crate::report::digest::Digest;
    use crate::run::{Options, run};

    /// Rows of the tail of short flows under a control, and whether the slowest have a marked fraction.
    fn tail_of(cc: &str) -> (Vec<&'static str>, bool) {
        let text = format!(
            r#"
            version = 2
            name = "tail"
            stop = {{ after = "4 ms", drain = "100 ms" }}
            topology.star = {{ hosts = 4, rate = "1 Gb/s", delay = "1 us" }}
            switches.default = {{ buffer = {{ size = "1 MB", sharing = "per_port" }}, marking = {{ step = {{ k = "20 kB" }} }} }}
            traffic = [{{ name = "web", pattern.poisson = {{ load = 0.5, of = "host_links", sizes = {{ constant = "30 kB" }} }}, cc = {cc} }}]
            "#
        );
        let plan = std::sync::Arc::new(Plan::new(Document::parse("tail.toml", text, "").unwrap()).unwrap());
        let results = run(&plan, Options::default(), |_| std::ops::ControlFlow::Continue(())).unwrap();
        let group = Digest::of(&results).unwrap().groups.remove(0);
        let rows = group.tail.unwrap().rows.into_iter().map(|(name, _)| name).collect();
        (rows, group.slowest[0].marked.is_some())
    }

    #[test]
    fn a_tail_says_what_was_marked_only_where_receivers_report_it() {
        let (rows, of_flows) = tail_of("{ dctcp = {} }");
        assert!(rows.contains(&"payload marked, %") && of_flows, "{rows:?}");
        for classic in ["{ reno = { ecn = true } }", "{ vegas = {} }"] {
            let (rows, of_flows) = tail_of(classic);
            assert!(!rows.contains(&"payload marked, %") && !of_flows, "{rows:?}");
        }
    }

    #[test]
    fn sizes_are_in_the_class_that_ends_with_them() {
        assert_eq!([1, 100, 101, 158, 159, 1000].map(class), [0, 10, 11, 11, 12, 15]);
    }

    #[test]
    fn fractions_rise_to_one() {
        let fractions = fractions();
        assert!(fractions.windows(2).all(|pair| pair[0] < pair[1]));
        assert_eq!(fractions.last(), Some(&1.0));
    }
}
