//! The packet path: some small scenarios, by handler.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use xshell::Shell;

use super::profile::Profile;
use super::{REST, Row, build, callgrind, comparable, show, side_by_side, sort};
use crate::bench::Measurement;

/// Where the counts are kept.
const STORED: &str = "crates/narrows-sim/benches/engine/instructions.json";
const SCENARIOS: [&str; 10] = [
    "permutation-k8-1mb",
    "permutation-k8-1mb-scheduled",
    "permutation-k8-1mb-slow-fabric",
    "permutation-k8-1mb-slow-fabric-qcn",
    "permutation-k8-1mb-slow-fabric-qcn-unheard",
    "permutation-k8-1mb-slow-fabric-annulus-idle",
    "permutation-k8-1mb-slow-fabric-annulus",
    "permutation-k8-1mb-slow-fabric-pfc",
    "permutation-k8-1mb-slow-fabric-edvl",
    "floor-k8-1mb",
];
pub(super) const BENCHMARK: &str = "engine";
/// The function of the benchmark inside which instructions are counted.
const COUNTED: &str = "engine::timed*";

/// Growth allowed for the sum of all.
const TOTAL_TOLERANCE: f64 = 1.02;
/// Handlers with a smaller share are counted together.
const SMALLEST_SHARE: f64 = 0.005;

/// Counts and compares, or stores. Returns what is too much.
pub(super) fn run(shell: &Shell, compiler: &str, bless: bool) -> Result<Vec<String>> {
    let found = Counts { compiler: compiler.to_owned(), scenarios: count_all(shell)? };
    if bless {
        shell.write_file(STORED, serde_json::to_string_pretty(&found.json())? + "\n")?;
        return Ok(Vec::new());
    }
    let stored = Counts::parse(&shell.read_file(STORED)?).context(STORED)?;
    let mut complaints = Vec::new();
    for (name, found) in &found.scenarios {
        let before = stored.scenarios.get(name).with_context(|| format!("{STORED} lacks {name}"))?;
        let (expected, hash) = (&before.hash, &found.hash);
        ensure!(expected == hash, "{name} has another result: expected {expected}, found {hash}");
        let rows = compare(before, found);
        println!("{name}, instructions per packet-hop:\n{}\n", show("handler", &rows));
        let too_much = rows.iter().filter_map(Row::complaint);
        complaints.extend(too_much.map(|complaint| format!("{name}, {complaint}")));
    }
    if !comparable(&stored.compiler, compiler) {
        complaints.clear();
    }
    Ok(complaints)
}

/// Counts kept from one time to the next.
#[derive(Debug, PartialEq)]
struct Counts {
    compiler: String,
    scenarios: BTreeMap<String, Count>,
}

/// Instructions of one scenario, per packet-hop.
#[derive(Debug, Default, PartialEq)]
struct Count {
    hash: String,
    total: f64,
    handlers: BTreeMap<String, f64>,
}

impl Counts {
    /// Without what is too small to be looked at.
    fn json(&self) -> Value {
        let rounded = |count: f64| (count * 100.0).round() / 100.0;
        let scenarios = self.scenarios.iter().map(|(name, count)| {
            let large = count.handlers.iter().filter(|(_, each)| **each >= count.total * SMALLEST_SHARE);
            let handlers: BTreeMap<_, _> = large.map(|(handler, each)| (handler, rounded(*each))).collect();
            let count =
                json!({ "result_hash": count.hash, "total": rounded(count.total), "handlers": handlers });
            (name.clone(), count)
        });
        json!({ "compiler": self.compiler, "scenarios": scenarios.collect::<BTreeMap<_, _>>() })
    }

    fn parse(text: &str) -> Result<Self> {
        let value: Value = serde_json::from_str(text)?;
        let scenarios = value["scenarios"].as_object().context("no scenarios")?.iter();
        let scenarios = scenarios.map(|(name, value)| {
            let handlers = value["handlers"].as_object().context("no handlers")?.iter();
            let number = |value: &Value| value.as_f64().context("a count is a number");
            let handlers = handlers.map(|(handler, count)| Ok((handler.clone(), number(count)?)));
            let hash = value["result_hash"].as_str().context("no result_hash")?.to_owned();
            let count =
                Count { hash, total: number(&value["total"])?, handlers: handlers.collect::<Result<_>>()? };
            Ok((name.clone(), count))
        });
        let compiler = value["compiler"].as_str().context("no compiler")?.to_owned();
        Ok(Self { compiler, scenarios: scenarios.collect::<Result<_>>()? })
    }
}

/// Largest first. Handlers that are new are shown but not judged: the total tells.
fn compare(stored: &Count, found: &Count) -> Vec<Row> {
    let known = stored.handlers.iter().map(|(handler, count)| {
        let now = found.handlers.get(handler).copied().unwrap_or(0.0);
        Row::new(handler, *count, now)
    });
    let is_new = |handler: &str, count: f64| {
        count >= found.total * SMALLEST_SHARE && !stored.handlers.contains_key(handler)
    };
    let new = found.handlers.iter().filter(|(handler, count)| is_new(handler, **count));
    let new = new.map(|(handler, count)| Row::unknown(handler, *count));
    let mut rows: Vec<_> = known.chain(new).collect();
    sort(&mut rows);
    let rest = |total: f64, part: fn(&Row) -> f64| total - rows.iter().map(part).sum::<f64>();
    let rest = Row::new(REST, rest(stored.total, |row| row.stored), rest(found.total, |row| row.found));
    let limit = stored.total * TOTAL_TOLERANCE;
    let total = Row { what: "total".to_owned(), stored: stored.total, found: found.total, limit };
    rows.extend([rest, total]);
    rows
}

fn count_all(shell: &Shell) -> Result<BTreeMap<String, Count>> {
    let program = build(shell, BENCHMARK)?;
    let counts = side_by_side(shell, &SCENARIOS, |shell, name| {
        eprintln!("counting the instructions of {name}");
        let options = ["--dump-instr=yes", "--compress-strings=no", "--compress-pos=no"];
        let (profile, printed) =
            callgrind(shell, &program, &[name, "--repetitions", "1"], COUNTED, &options)?;
        let result = Measurement::parse(&printed)?;
        let profile = Profile::parse(&profile, &program)?;
        let sum: u64 = profile.sum();
        ensure!(sum > 0, "callgrind saw no call of {COUNTED}");
        let per_hop = |count: u64| count as f64 / result.packet_hops as f64;
        let handlers = profile.handlers(&program)?.into_iter();
        let handlers = handlers.map(|(handler, count)| (handler, per_hop(count))).collect();
        Ok(((*name).to_owned(), Count { hash: result.hash, total: per_hop(sum), handlers }))
    });
    Ok(counts?.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_beyond_the_tolerance_is_too_much() {
        let count = |handlers: &[(&str, f64)], total| Count {
            hash: String::new(),
            total,
            handlers: handlers.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect(),
        };
        let stored = count(&[("large", 100.0), ("small", 5.0), ("gone", 10.0)], 200.0);
        let found = count(&[("large", 105.5), ("small", 6.9), ("new", 9.0), ("tiny", 0.5)], 205.0);
        let rows = compare(&stored, &found);
        let too_much: Vec<_> =
            rows.iter().filter(|row| row.is_too_much()).map(|row| row.what.as_str()).collect();
        assert_eq!(too_much, ["large", "total"]);
        let shown: Vec<_> = rows.iter().map(|row| row.what.as_str()).collect();
        assert_eq!(shown, ["large", "new", "small", "gone", REST, "total"]);
        let rest = &rows[4];
        assert!((rest.stored - 85.0).abs() < 1e-9 && (rest.found - 83.6).abs() < 1e-9, "{rest:?}");
    }

    #[test]
    fn what_is_stored_can_be_read() {
        let handlers = BTreeMap::from([("a".to_owned(), 12.25), ("tiny".to_owned(), 0.1)]);
        let count = Count { hash: "x".to_owned(), total: 100.0, handlers };
        let counts =
            Counts { compiler: "rustc 1".to_owned(), scenarios: BTreeMap::from([("s".to_owned(), count)]) };
        let read = Counts::parse(&counts.json().to_string()).expect("what was written");
        assert_eq!(read.scenarios["s"].handlers, BTreeMap::from([("a".to_owned(), 12.25)]));
        assert_eq!((read.compiler, read.scenarios["s"].total), ("rustc 1".to_owned(), 100.0));
    }
}
