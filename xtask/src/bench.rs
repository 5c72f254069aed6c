//! Speed of the engine, its memory, and whether its results are still the same.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use comfy_table::{CellAlignment, Table, presets};
use serde_json::{Value, json};
use xshell::{Shell, cmd};

use crate::target;

/// Where the hashes of the results are kept.
const HASHES: &str = "crates/narrows-sim/benches/engine/hashes.json";

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Print JSON: [{name, threads, packet_hops, packet_hops_per_second, peak_bytes, result_hash}]
    #[arg(long)]
    json: bool,
    /// Run only this scenario; may be repeated
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Runs of a scenario in one process; the fastest counts
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    repetitions: u32,
    /// Rounds over all scenarios; the machine is not equally busy all the time
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Store the hashes of the results instead of comparing with those stored
    #[arg(long)]
    bless: bool,
}

/// Builds the benchmark, runs each scenario in a process of its own, and compares.
///
/// Fails if a result is another than the one stored. A missed target is shown, but no failure: it may be the machine.
pub(crate) fn run(shell: &Shell, arguments: &Arguments) -> Result<()> {
    let program = build(shell, "engine")?;
    let names = select(&cmd!(shell, "{program} --list").quiet().read()?, &arguments.only)?;
    if let Some(load) = load_average().filter(|load| *load > 0.5) {
        eprintln!("the machine is busy (load {load}): speeds will be too low");
    }
    let repetitions = arguments.repetitions.to_string();
    let mut measured: Vec<Measurement> = Vec::new();
    for round in 1..=arguments.rounds {
        for name in &names {
            eprintln!("round {round} of {}: {name}", arguments.rounds);
            let output = cmd!(shell, "{program} {name} --repetitions {repetitions}").quiet().read()?;
            let now = Measurement::parse(&output).with_context(|| format!("{name} printed {output}"))?;
            match measured.iter_mut().find(|before| before.name == now.name) {
                Some(before) => before.join(&now)?,
                None => measured.push(now),
            }
        }
    }
    if arguments.json {
        println!("{}", Value::from(measured.iter().map(Measurement::json).collect::<Vec<_>>()));
    } else {
        println!("{}", speeds(&measured));
        if let Some(verdicts) = verdicts(&measured) {
            println!("\n{verdicts}");
        }
    }
    if arguments.bless {
        bless(shell, &measured, arguments.only.is_empty())
    } else {
        check(&stored(shell)?, &measured)
    }
}

/// The program of a benchmark.
pub(crate) fn build(shell: &Shell, bench: &str) -> Result<PathBuf> {
    eprintln!("building the benchmark {bench}");
    // Both packages, whichever is asked for: so that what both use is compiled once.
    let packages = ["--package", "narrows-proto", "--package", "narrows-sim"];
    let arguments = [&["bench"], &packages[..], &["--bench", bench, "--no-run"]].concat();
    target::program(shell, &arguments, "bench", bench)
}

/// The scenarios to run, of those `listed`.
fn select(listed: &str, only: &[String]) -> Result<Vec<String>> {
    if let Some(name) = only.iter().find(|name| !listed.lines().any(|known| known == *name)) {
        bail!("unknown scenario \"{name}\"; known: {}", listed.lines().collect::<Vec<_>>().join(", "));
    }
    let chosen = |name: &&str| only.is_empty() || only.iter().any(|only| only == name);
    Ok(listed.lines().filter(chosen).map(str::to_owned).collect())
}

/// Programs that want to run, on average over the last minute, where the system reports it.
fn load_average() -> Option<f64> {
    std::fs::read_to_string("/proc/loadavg").ok()?.split(' ').next()?.parse().ok()
}

/// Measurement of one scenario.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Measurement {
    pub(crate) name: String,
    threads: u64,
    pub(crate) packet_hops: u64,
    /// Packet-hops per second: the best of all rounds, and the best of the worst round.
    speed: u64,
    slowest: u64,
    peak_bytes: Option<u64>,
    pub(crate) hash: String,
}

impl Measurement {
    /// One line of the benchmark.
    pub(crate) fn parse(line: &str) -> Result<Self> {
        let line: Value = serde_json::from_str(line)?;
        let number = |key: &str| line[key].as_u64().with_context(|| format!("{key} is not a number"));
        let text = |key: &str| line[key].as_str().with_context(|| format!("{key} is not a text"));
        let speed = number("packet_hops_per_second")?;
        Ok(Self {
            name: text("name")?.to_owned(),
            threads: number("threads")?,
            packet_hops: number("packet_hops")?,
            speed,
            slowest: speed,
            peak_bytes: line["peak_bytes"].as_u64(),
            hash: text("result_hash")?.to_owned(),
        })
    }

    /// Takes in another round of the same scenario.
    fn join(&mut self, other: &Self) -> Result<()> {
        let (name, before, after) = (&self.name, &self.hash, &other.hash);
        ensure!(before == after, "{name} went another way when run again: {before}, then {after}");
        self.speed = self.speed.max(other.speed);
        self.slowest = self.slowest.min(other.slowest);
        self.peak_bytes = self.peak_bytes.max(other.peak_bytes);
        Ok(())
    }

    fn json(&self) -> Value {
        json!({
            "name": self.name,
            "threads": self.threads,
            "packet_hops": self.packet_hops,
            "packet_hops_per_second": self.speed,
            "peak_bytes": self.peak_bytes,
            "result_hash": self.hash,
        })
    }

    /// Name its hash is stored under: the number of threads never changes a result.
    fn hash_key(&self) -> &str {
        let suffix = format!("-{}-threads", self.threads);
        self.name.strip_suffix(&suffix).unwrap_or(&self.name)
    }
}

fn speeds(measured: &[Measurement]) -> Table {
    let header =
        ["scenario", "threads", "packet-hops", "M packet-hops/s", "worst round", "peak memory", "result"];
    let rows = measured.iter().map(|each| {
        let slower = 100.0 * (each.slowest as f64 / each.speed as f64 - 1.0);
        vec![
            each.name.clone(),
            each.threads.to_string(),
            each.packet_hops.to_string(),
            format!("{:.2}", each.speed as f64 / 1e6),
            if slower > -0.5 { "–".to_owned() } else { format!("{slower:.0} %") },
            each.peak_bytes.map_or("–".to_owned(), |bytes| format!("{:.0} MB", bytes as f64 / 1e6)),
            each.hash.clone(),
        ]
    });
    table(&header, rows, 1..6)
}

/// Something the engine should reach.
struct Target {
    what: &'static str,
    /// None if not everything was measured.
    measured: Option<f64>,
    bound: Bound,
    unit: &'static str,
}

#[derive(Clone, Copy)]
enum Bound {
    AtLeast(f64),
    AtMost(f64),
}

impl Bound {
    fn holds(self, value: f64) -> bool {
        match self {
            Self::AtLeast(bound) => value >= bound,
            Self::AtMost(bound) => value <= bound,
        }
    }
}

fn targets(measured: &[Measurement]) -> Vec<Target> {
    use Bound::{AtLeast, AtMost};
    let find = |name: &str| measured.iter().find(|each| each.name == name);
    let speed = |name: &str| find(name).map(|each| each.speed as f64 / 1e6);
    let ratio = |a: &str, b: &str| Some(speed(a)? / speed(b)?);
    let megabytes = |name: &str| Some(find(name)?.peak_bytes? as f64 / 1e6);
    let target = |what, measured, bound, unit| Target { what, measured, bound, unit };
    let faster = |what, one: &str, other: &str, by| target(what, ratio(one, other), AtLeast(by), "");
    vec![
        target("permutation-k8: plain ports", speed("permutation-k8"), AtLeast(10.0), " M/s"),
        target("permutation-k8: scheduled ports", speed("permutation-k8-scheduled"), AtLeast(6.0), " M/s"),
        faster("permutation-k8: share of the floor's speed", "permutation-k8", "floor-k8", 0.5),
        target(
            "cost of a packet-hop: real hosts / ideal hosts",
            ratio("permutation-k8", "permutation-k8-real-hosts"),
            AtMost(1.03),
            "",
        ),
        target(
            "cost of a packet-hop: every flow limited by QCN / no QCN",
            ratio("permutation-k8-slow-fabric", "permutation-k8-slow-fabric-qcn"),
            AtMost(1.15),
            "",
        ),
        target(
            "cost of a packet-hop: every flow in Annulus / no QCN",
            ratio("permutation-k8-slow-fabric", "permutation-k8-slow-fabric-annulus"),
            AtMost(1.1),
            "",
        ),
        target(
            "cost of a packet-hop: 10 000 subflows of RackCC / flows of DCTCP",
            ratio("racks-10k-dctcp", "racks-10k-rackcc"),
            AtMost(1.3),
            "",
        ),
        target(
            "network #2 of DVL, 50 000 flows, enhanced DVL",
            find("clos-2048-edvl").map(|each| each.packet_hops as f64 / each.speed as f64),
            AtMost(180.0),
            " s",
        ),
        target("its memory", megabytes("clos-2048-edvl"), AtMost(2000.0), " MB"),
        target(
            "cost of a packet-hop: two data centers / leaf-spine",
            ratio("leaf-spine-websearch", "two-dc-websearch"),
            AtMost(1.3),
            "",
        ),
        target(
            "cost of a packet-hop: k = 32 / k = 8, 1 MB each",
            ratio("permutation-k8-1mb", "permutation-k32-1mb"),
            AtMost(2.5),
            "",
        ),
        faster("speed at k = 16: two threads / one", "permutation-k16-2-threads", "permutation-k16", 1.6),
        faster(
            "speed of two data centers: two threads / one",
            "two-dc-websearch-2-threads",
            "two-dc-websearch",
            1.9,
        ),
        faster("speed at k = 16: collective / permutation", "ring-k16", "permutation-k16", 0.7),
        target("memory at k = 16, 1024 flows", megabytes("permutation-k16"), AtMost(150.0), " MB"),
        target("memory at k = 32, 8192 flows", megabytes("permutation-k32-1mb"), AtMost(1500.0), " MB"),
    ]
}

/// None if nothing that was measured has a target.
fn verdicts(measured: &[Measurement]) -> Option<Table> {
    let rows = targets(measured).into_iter().filter_map(|target| {
        let value = target.measured?;
        let (sign, bound) = match target.bound {
            Bound::AtLeast(bound) => ("≥", bound),
            Bound::AtMost(bound) => ("≤", bound),
        };
        let verdict = if target.bound.holds(value) { "met" } else { "missed" };
        let digits = if value < 10.0 { 2 } else { 1 };
        let unit = target.unit;
        Some(vec![
            target.what.to_owned(),
            format!("{value:.digits$}{unit}"),
            format!("{sign} {bound}{unit}"),
            verdict.to_owned(),
        ])
    });
    let rows: Vec<_> = rows.collect();
    (!rows.is_empty()).then(|| table(&["target", "measured", "wanted", ""], rows, 1..3))
}

/// A table with some columns aligned to the right.
pub(crate) fn table(
    header: &[&str],
    rows: impl IntoIterator<Item = Vec<String>>,
    right: std::ops::Range<usize>,
) -> Table {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN).set_header(header.to_vec()).add_rows(rows);
    for column in table.column_iter_mut().skip(right.start).take(right.len()) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

type Hashes = BTreeMap<String, String>;

fn stored(shell: &Shell) -> Result<Hashes> {
    if !shell.path_exists(HASHES) {
        return Ok(Hashes::new());
    }
    serde_json::from_str(&shell.read_file(HASHES)?).context(HASHES)
}

/// Every result is the stored one.
fn check(stored: &Hashes, measured: &[Measurement]) -> Result<()> {
    let differing = measured.iter().filter_map(|each| {
        let (name, found) = (&each.name, &each.hash);
        match stored.get(each.hash_key()) {
            Some(expected) if expected == found => None,
            Some(expected) => Some(format!("{name}: expected {expected}, found {found}")),
            None => Some(format!("{name}: found {found}, none is stored")),
        }
    });
    let differing: Vec<_> = differing.collect();
    if differing.is_empty() {
        return Ok(());
    }
    bail!(
        "results differ from {HASHES}:\n  {}\nif they should: cargo xtask bench --bless",
        differing.join("\n  ")
    );
}

/// Stores the results; those of other scenarios stay, unless this is `everything`.
fn bless(shell: &Shell, measured: &[Measurement], everything: bool) -> Result<()> {
    let mut hashes = if everything { Hashes::new() } else { stored(shell)? };
    let new = measured.iter().map(|each| (each.hash_key().to_owned(), each.hash.clone()));
    hashes.extend(new);
    // Of one scenario with different numbers of threads, the last was taken: the others must agree.
    check(&hashes, measured)?;
    shell.write_file(HASHES, serde_json::to_string_pretty(&hashes)? + "\n")?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measurement(name: &str, threads: u64, speed: u64, hash: &str) -> Measurement {
        let line = json!({
            "name": name, "threads": threads, "packet_hops": 100, "packet_hops_per_second": speed,
            "peak_bytes": null, "result_hash": hash,
        });
        Measurement::parse(&line.to_string()).expect("a measurement")
    }

    #[test]
    fn the_best_round_counts_and_all_must_agree() {
        let mut first = measurement("a", 1, 20, "x");
        first.join(&measurement("a", 1, 10, "x")).expect("they agree");
        assert_eq!((first.speed, first.slowest), (20, 10));
        assert!(first.join(&measurement("a", 1, 30, "y")).is_err());
    }

    #[test]
    fn what_is_printed_as_json_is_what_the_benchmark_printed() {
        let each = measurement("a", 1, 20, "x");
        assert_eq!(Measurement::parse(&each.json().to_string()).expect("a measurement"), each);
    }

    #[test]
    fn threads_share_the_stored_result() {
        let stored = Hashes::from([("a".to_owned(), "x".to_owned())]);
        check(&stored, &[measurement("a", 1, 1, "x"), measurement("a-2-threads", 2, 1, "x")])
            .expect("the same");
        let error = check(&stored, &[measurement("a-2-threads", 2, 1, "y"), measurement("b", 1, 1, "z")]);
        let error = error.expect_err("one differs, one is new").to_string();
        assert!(
            error.contains("a-2-threads: expected x, found y") && error.contains("b: found z"),
            "{error}"
        );
    }

    #[test]
    fn targets_need_all_they_compare() {
        let measured =
            [measurement("permutation-k8", 1, 20_000_000, "x"), measurement("floor-k8", 1, 50_000_000, "y")];
        let reached =
            targets(&measured).into_iter().filter_map(|target| Some((target.bound, target.measured?)));
        let reached: Vec<_> = reached.map(|(bound, value)| (value, bound.holds(value))).collect();
        assert_eq!(reached, [(20.0, true), (0.4, false)]);
    }

    #[test]
    fn an_unknown_scenario_is_refused() {
        assert_eq!(select("a\nb", &["b".to_owned()]).expect("known"), ["b"]);
        let error = select("a\nb", &["c".to_owned()]).expect_err("unknown").to_string();
        assert_eq!(error, "unknown scenario \"c\"; known: a, b");
    }
}
