//! Counters and the summary of a run as OpenMetrics text, for Prometheus, Grafana and whatever reads them.
//!
//! Samples have no time of their own: a run has none that a database would know.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use narrows::counters::{self, Counter, CounterColumn};
use narrows::diagnostic::Checked;
use narrows::results::{Staged, Stored, Table, Values};
use serde_json::Value;

use super::Written;

/// Upper bounds of the histogram of completion times, in seconds: 1, 2 and 5 in each decade.
const BOUNDS: [&str; 22] = [
    "1e-06", "2e-06", "5e-06", "1e-05", "2e-05", "5e-05", "0.0001", "0.0002", "0.0005", "0.001", "0.002",
    "0.005", "0.01", "0.02", "0.05", "0.1", "0.2", "0.5", "1.0", "2.0", "5.0", "10.0",
];

/// Writes `metrics.txt`.
///
/// # Errors
/// If the results cannot be read, or the file cannot be written.
pub fn write(stored: &Stored, out: Option<&Path>, overwrite: bool) -> Checked<Written> {
    let path = out.map_or_else(|| stored.folder.join("metrics.txt"), Path::to_owned);
    let staged = Staged::file(&path, overwrite)?;
    let text = text(stored)?;
    let families = text.lines().filter(|line| line.starts_with("# TYPE ")).count();
    staged.write(&text)?;
    Ok(Written { path, what: format!("{families} metrics") })
}

/// The metrics of a run as OpenMetrics text.
///
/// # Errors
/// If its tables cannot be read.
pub fn text(stored: &Stored) -> Checked<String> {
    let mut text = Text(String::new());
    text.about(stored);
    if let Some(ports) = stored.table("ports", None)? {
        text.ports(&ports);
    }
    if let Some(flows) = stored.table("flows", None)? {
        text.flows(&flows);
    }
    text.0.push_str("# EOF\n");
    Ok(text.0)
}

struct Text(String);

impl Text {
    fn family(&mut self, name: &str, kind: &str, unit: &str, help: &str) {
        let _ = writeln!(self.0, "# TYPE {name} {kind}");
        if !unit.is_empty() {
            let _ = writeln!(self.0, "# UNIT {name} {unit}");
        }
        let _ = writeln!(self.0, "# HELP {name} {}", escaped(help));
    }

    /// Begins the family of a counter. Answers the name of its samples.
    fn begin(&mut self, family: &Family, counter: &Counter) -> String {
        let kind = if counter.adds_up { "counter" } else { "gauge" };
        self.family(&family.name, kind, family.unit, counter.meaning.trim_end_matches('.'));
        if counter.adds_up { format!("{}_total", family.name) } else { family.name.clone() }
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl std::fmt::Display) {
        self.0.push_str(name);
        for (number, (label, value)) in labels.iter().enumerate() {
            let before = if number == 0 { '{' } else { ',' };
            let _ = write!(self.0, "{before}{label}=\"{}\"", escaped(value));
        }
        self.0.push_str(if labels.is_empty() { "" } else { "}" });
        let _ = writeln!(self.0, " {value}");
    }

    fn about(&mut self, stored: &Stored) {
        self.family("narrows_run", "info", "", "What was run");
        let seed = stored.seed().to_string();
        let complete = stored.is_complete().to_string();
        let about = [
            ("scenario", stored.text("scenario").unwrap_or_default()),
            ("seed", &seed),
            ("version", stored.version()),
            ("complete", &complete),
        ];
        self.sample("narrows_run_info", &about, 1);
        self.family("narrows_ended_seconds", "gauge", "seconds", "Simulated time when the run ended");
        let ended = stored.number("ended_ps").unwrap_or_default() as f64 / 1e12;
        self.sample("narrows_ended_seconds", &[], ended);
        self.family("narrows_summary", "gauge", "", "The summary of the run, as in run.json");
        let metrics = stored.summary.get("metrics").and_then(Value::as_object);
        for (name, value) in metrics.into_iter().flatten() {
            if let Some(value) = value.as_f64() {
                self.sample("narrows_summary", &[("metric", name)], value);
            }
        }
        self.family("narrows_activity", "counter", "", "What happened, as in run.json");
        let activity = stored.summary.get("activity").and_then(Value::as_object);
        for (name, times) in activity.into_iter().flatten() {
            if let Some(times) = times.as_u64() {
                self.sample("narrows_activity_total", &[("what", name)], times);
            }
        }
    }

    fn ports(&mut self, table: &Table) {
        let ends = Ends::new(table);
        // Drops are reported by cause.
        let counted = counters::of_ports().filter(|column| !column.name.starts_with("drops"));
        for CounterColumn { name, counter, .. } in counted {
            let Some(Values::Integers(values)) = table.column(name) else { continue };
            let family = Family::of("narrows_port", name, counter);
            let sample = self.begin(&family, counter);
            for (row, value) in values.iter().enumerate() {
                self.sample(&sample, &ends.labels(row), family.scaled(*value));
            }
        }
        self.family("narrows_port_rate_bits_per_second", "gauge", "", "Rate of the link");
        for (row, rate) in table.integers("rate_bps").iter().enumerate() {
            self.sample("narrows_port_rate_bits_per_second", &ends.labels(row), rate);
        }
        self.family("narrows_port_drops", "counter", "", "Packets dropped, or lost on the link");
        for column in &table.columns {
            let Some(cause) = column.name.strip_prefix("drops_") else { continue };
            for (row, drops) in table.integers(&column.name).iter().enumerate() {
                let mut labels = ends.labels(row).to_vec();
                labels.push(("cause", cause));
                self.sample("narrows_port_drops_total", &labels, drops);
            }
        }
    }

    fn flows(&mut self, table: &Table) {
        let (groups, names) = table.names("group");
        let by_group = |value: &dyn Fn(usize) -> u64| sums(groups, value);
        self.family("narrows_delivered_bytes", "counter", "bytes", "Payload known to have arrived");
        let delivered = table.integers("delivered_bytes");
        for (group, sum) in by_group(&|row| delivered.get(row).copied().unwrap_or(0)) {
            self.sample("narrows_delivered_bytes_total", &[("group", &names[group as usize])], sum);
        }
        for CounterColumn { name, counter, .. } in counters::of_senders() {
            let Some(Values::Integers(values)) = table.column(name) else { continue };
            let family = Family::of("narrows", name, counter);
            let sample = self.begin(&family, counter);
            for (group, sum) in by_group(&|row| values.get(row).copied().unwrap_or(0)) {
                self.sample(&sample, &[("group", &names[group as usize])], family.scaled(sum));
            }
        }
        let ends = table.maybe_integers("end_ps");
        let has_ended = |row: usize| ends.get(row).copied().flatten().is_some();
        self.family("narrows_flows", "gauge", "", "Flows that started");
        for (state, ended) in [("finished", true), ("unfinished", false)] {
            for (group, count) in by_group(&|row| u64::from(has_ended(row) == ended)) {
                let labels = [("group", names[group as usize].as_str()), ("state", state)];
                self.sample("narrows_flows", &labels, count);
            }
        }
        self.completion_times(table);
    }

    fn completion_times(&mut self, table: &Table) {
        let (groups, names) = table.names("group");
        let name = "narrows_flow_completion_seconds";
        self.family(name, "histogram", "seconds", "Completion times of flows that finished");
        let mut times: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
        for (group, fct) in groups.iter().zip(table.maybe_integers("fct_ps")) {
            times.entry(*group).or_default().extend(fct);
        }
        for (group, times) in times {
            let group = names[group as usize].as_str();
            let bounds = BOUNDS.into_iter().map(|bound| (bound, bound.parse().unwrap_or(f64::INFINITY)));
            for (text, bound) in bounds.chain([("+Inf", f64::INFINITY)]) {
                let within = times.iter().filter(|time| **time as f64 / 1e12 <= bound).count();
                self.sample(&format!("{name}_bucket"), &[("group", group), ("le", text)], within);
            }
            self.sample(&format!("{name}_count"), &[("group", group)], times.len());
            let sum: u128 = times.iter().map(|time| u128::from(*time)).sum();
            self.sample(&format!("{name}_sum"), &[("group", group)], sum as f64 / 1e12);
        }
    }
}

/// Name and unit of a counter. OpenMetrics has no units smaller than a second or a byte.
struct Family {
    name: String,
    unit: &'static str,
}

impl Family {
    fn of(before: &str, column: &str, counter: &Counter) -> Self {
        match (counter.unit, column.strip_suffix("_ps")) {
            ("ps", Some(column)) => Self { name: format!("{before}_{column}_seconds"), unit: "seconds" },
            ("B", _) => Self { name: format!("{before}_{column}"), unit: "bytes" },
            _ => Self { name: format!("{before}_{column}"), unit: "" },
        }
    }

    fn scaled(&self, value: u64) -> String {
        if self.unit == "seconds" { (value as f64 / 1e12).to_string() } else { value.to_string() }
    }
}

/// Names of the ends of links, and their numbers: parallel links have equal names.
struct Ends<'a> {
    rows: Vec<(&'a str, &'a str, String)>,
}

impl<'a> Ends<'a> {
    fn new(table: &'a Table) -> Self {
        let ((from, from_names), (to, to_names)) = (table.names("from"), table.names("to"));
        let row = |((from, to), link): ((&u32, &u32), &u64)| {
            (from_names[*from as usize].as_str(), to_names[*to as usize].as_str(), link.to_string())
        };
        Self { rows: from.iter().zip(to).zip(table.integers("link")).map(row).collect() }
    }

    fn labels(&self, row: usize) -> [(&'static str, &str); 3] {
        let (from, to, link) = &self.rows[row];
        [("from", from), ("to", to), ("link", link)]
    }
}

/// As it stands between quotation marks, or behind HELP.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' => escaped.push_str("\\\\"),
            '"' => escaped.push_str("\\\""),
            '\n' => escaped.push_str("\\n"),
            c => escaped.push(c),
        }
    }
    escaped
}

/// Sums over the rows of each group. A damaged file may have numbers that are too large to be summed: the largest then.
fn sums(groups: &[u32], value: impl Fn(usize) -> u64) -> BTreeMap<u32, u64> {
    let mut sums: BTreeMap<u32, u64> = BTreeMap::new();
    for (row, group) in groups.iter().enumerate() {
        let sum = sums.entry(*group).or_default();
        *sum = sum.saturating_add(value(row));
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_are_too_large_to_be_summed_do_not_wrap() {
        let values = [u64::MAX - 1, 5, 7];
        assert_eq!(sums(&[0, 1, 0], |row| values[row]), BTreeMap::from([(0, u64::MAX), (1, 5)]));
    }
}
