//! Instructions of the packet path, counted by callgrind and held against a stored count.
//!
//! Counts do not depend on what else the machine does, so they show changes of a percent that wall time hides. They do depend
//! on the compiler: with another one than at the time of the stored count, differences are shown but are no failure.
//!
//! The compiler inlines most of the path into a few functions. Debug information tells, for each instruction, which
//! functions it was inlined from; it counts for the type to which the innermost one belongs that handles something (see
//! [`HELPERS`]). So counts stay where they are when the compiler inlines more or less, or moves work between functions of
//! one type.

use std::collections::{BTreeMap, HashMap};
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use comfy_table::Table;
use serde_json::{Value, json};
use xshell::{Shell, cmd};

use crate::bench::{Measurement, build, table};

/// Where the counts are kept.
const STORED: &str = "crates/narrows-sim/benches/engine/instructions.json";
const SCENARIOS: [&str; 5] = [
    "permutation-k8-1mb",
    "permutation-k8-1mb-scheduled",
    "permutation-k8-1mb-slow-fabric",
    "permutation-k8-1mb-slow-fabric-qcn",
    "floor-k8-1mb",
];
/// The function of the benchmark inside which instructions are counted.
const COUNTED: &str = "engine::timed*";

/// How much the sum of all may grow.
const TOTAL_TOLERANCE: f64 = 1.02;
/// How much a single handler may grow, and by how many instructions per packet-hop in any case: the optimizer moves that
/// much to and fro.
const HANDLER_TOLERANCE: f64 = 1.05;
const HANDLER_ALLOWANCE: f64 = 2.0;
/// Handlers with a smaller share are counted together.
const SMALLEST_SHARE: f64 = 0.005;
const REST: &str = "everything else";

/// Sources of small functions that are used everywhere and count for their callers.
const HELPERS: [&str; 6] = ["ring.rs", "packet.rs", "prefetch.rs", "ids.rs", "random.rs", "units/"];

/// Parts of the library that are large enough to be inlined here and called there; they count for themselves.
const LARGE: [(&str, &str); 2] =
    [("core/src/slice/sort/", "core::slice::sort"), ("alloc/src/collections/", "alloc::collections")];

#[derive(Debug, Default, Args)]
pub(crate) struct Arguments {
    /// Store the counts instead of comparing with those stored
    #[arg(long)]
    bless: bool,
}

/// Counts the instructions of some small scenarios and compares.
///
/// Fails if there are too many, or if a result is another than the one stored. Passes with a remark where callgrind is
/// not installed.
pub(crate) fn run(shell: &Shell, arguments: &Arguments) -> Result<()> {
    let installed = |program: &str| cmd!(shell, "{program} --version").quiet().ignore_stderr().read().is_ok();
    if let Some(missing) = ["valgrind", "addr2line"].into_iter().find(|program| !installed(program)) {
        eprintln!("skipped: counting instructions needs {missing} (apt-get install valgrind binutils)");
        return Ok(());
    }
    let found = Counts { compiler: compiler(shell)?, scenarios: count_all(shell)? };
    if arguments.bless {
        return Ok(shell.write_file(STORED, serde_json::to_string_pretty(&found.json())? + "\n")?);
    }
    let stored = Counts::parse(&shell.read_file(STORED)?).context(STORED)?;
    let mut complaints = Vec::new();
    for (name, found) in &found.scenarios {
        let stored = stored.scenarios.get(name).with_context(|| format!("{STORED} lacks {name}"))?;
        let (expected, hash) = (&stored.hash, &found.hash);
        ensure!(expected == hash, "{name} has another result: expected {expected}, found {hash}");
        let rows = compare(stored, found);
        println!("{name}, instructions per packet-hop:\n{}\n", show(&rows));
        let too_much = rows.iter().filter_map(Row::complaint);
        complaints.extend(too_much.map(|complaint| format!("{name}, {complaint}")));
    }
    if stored.compiler != found.compiler {
        eprintln!("counts were stored with {}, this is {}: not judged", stored.compiler, found.compiler);
        return Ok(());
    }
    if complaints.is_empty() {
        return Ok(());
    }
    bail!(
        "more instructions than stored in {STORED}:\n  {}\nif it is worth it: cargo xtask instructions --bless",
        complaints.join("\n  ")
    );
}

/// Version and machine of the compiler.
fn compiler(shell: &Shell) -> Result<String> {
    let text = cmd!(shell, "rustc --version --verbose").quiet().read()?;
    let version = text.lines().next().context("rustc prints no version")?;
    let host = text.lines().find_map(|line| line.strip_prefix("host: ")).unwrap_or_default();
    Ok(format!("{version} {host}"))
}

/// What is kept from one time to the next.
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

/// A line of the comparison.
#[derive(Debug, PartialEq)]
struct Row {
    what: String,
    stored: f64,
    found: f64,
    /// The most that passes.
    limit: f64,
}

impl Row {
    fn is_too_much(&self) -> bool {
        self.found > self.limit
    }

    fn complaint(&self) -> Option<String> {
        let Self { what, stored, found, .. } = self;
        self.is_too_much().then(|| format!("{what}: {found:.1} per packet-hop, stored {stored:.1}"))
    }
}

/// Largest first. Handlers that are new are shown but not judged: the total tells.
fn compare(stored: &Count, found: &Count) -> Vec<Row> {
    let row = |what: &str, stored: f64, found: f64| {
        let limit = (stored * HANDLER_TOLERANCE).max(stored + HANDLER_ALLOWANCE);
        Row { what: what.to_owned(), stored, found, limit }
    };
    let known = stored.handlers.iter().map(|(handler, count)| {
        let now = found.handlers.get(handler).copied().unwrap_or(0.0);
        row(handler, *count, now)
    });
    let is_new = |handler: &str, count: f64| {
        count >= found.total * SMALLEST_SHARE && !stored.handlers.contains_key(handler)
    };
    let new = found.handlers.iter().filter(|(handler, count)| is_new(handler, **count));
    let new = new.map(|(handler, count)| Row { limit: f64::INFINITY, ..row(handler, 0.0, *count) });
    let mut rows: Vec<_> = known.chain(new).collect();
    rows.sort_by(|a, b| b.found.total_cmp(&a.found));
    let rest = |total: f64, part: fn(&Row) -> f64| total - rows.iter().map(part).sum::<f64>();
    let rest = row(REST, rest(stored.total, |row| row.stored), rest(found.total, |row| row.found));
    let limit = stored.total * TOTAL_TOLERANCE;
    let total = Row { what: "total".to_owned(), stored: stored.total, found: found.total, limit };
    rows.extend([rest, total]);
    rows
}

fn show(rows: &[Row]) -> Table {
    let number = |count: f64| if count == 0.0 { "–".to_owned() } else { format!("{count:.1}") };
    let rows = rows.iter().map(|row| {
        let change = match row.found / row.stored - 1.0 {
            _ if row.stored == 0.0 => "new".to_owned(),
            _ if row.found == 0.0 => "gone".to_owned(),
            change if change.abs() < 0.0005 => "same".to_owned(),
            change => format!("{:+.1} %", 100.0 * change),
        };
        let verdict = if row.is_too_much() { "too much" } else { "" };
        vec![row.what.clone(), number(row.stored), number(row.found), change, verdict.to_owned()]
    });
    table(&["handler", "stored", "now", "change", ""], rows, 1..4)
}

fn count_all(shell: &Shell) -> Result<BTreeMap<String, Count>> {
    let program = {
        // Names and places of inlined functions; it does not change the code.
        let _debug = shell.push_env("CARGO_PROFILE_BENCH_DEBUG", "1");
        build(shell)?
    };
    let folder = tempfile::tempdir()?;
    let output = folder.path().join("callgrind.out");
    let mut counts = BTreeMap::new();
    for name in SCENARIOS {
        eprintln!("counting the instructions of {name}");
        let options = [
            "--tool=callgrind",
            "--quiet",
            "--dump-instr=yes",
            "--compress-strings=no",
            "--compress-pos=no",
            &format!("--toggle-collect={COUNTED}"),
            &format!("--callgrind-out-file={}", output.display()),
        ];
        let printed = cmd!(shell, "valgrind {options...} {program} {name} --repetitions 1").quiet().read()?;
        let result = Measurement::parse(&printed)?;
        let profile = Profile::parse(&shell.read_file(&output)?, &program)?;
        let sum: u64 = profile.sum();
        ensure!(sum > 0, "callgrind saw no call of {COUNTED}");
        let per_hop = |count: u64| count as f64 / result.packet_hops as f64;
        let handlers = profile.handlers(&program)?.into_iter();
        let handlers = handlers.map(|(handler, count)| (handler, per_hop(count))).collect();
        counts.insert(name.to_owned(), Count { hash: result.hash, total: per_hop(sum), handlers });
    }
    Ok(counts)
}

/// Instructions executed.
#[derive(Debug, Default)]
struct Profile {
    /// By address, in the program itself.
    addresses: BTreeMap<u64, u64>,
    /// By name, in libraries it was linked with.
    libraries: BTreeMap<String, u64>,
}

impl Profile {
    /// Reads a profile with positions "instr line", without compression.
    fn parse(text: &str, program: &Path) -> Result<Self> {
        ensure!(text.lines().any(|line| line == "positions: instr line"), "a profile of another kind");
        let mut profile = Self::default();
        let mut object = "";
        // The line behind one about calls has what was executed inside them, which is listed elsewhere, too.
        let mut calls = false;
        for line in text.lines() {
            if let Some(name) = line.strip_prefix("ob=") {
                object = name;
            } else if line.starts_with("calls=") {
                calls = true;
            } else if let Some(position) = line.strip_prefix("0x")
                && !std::mem::take(&mut calls)
            {
                profile.add(object, position, program).with_context(|| format!("odd line: {line}"))?;
            }
        }
        Ok(profile)
    }

    /// `position` is "address line count".
    fn add(&mut self, object: &str, position: &str, program: &Path) -> Option<()> {
        let (address, rest) = position.split_once(' ')?;
        let count: u64 = rest.split_once(' ')?.1.parse().ok()?;
        if Path::new(object) == program {
            *self.addresses.entry(u64::from_str_radix(address, 16).ok()?).or_default() += count;
        } else {
            let name = object.rsplit('/').next()?.split(".so").next()?;
            *self.libraries.entry(name.to_owned()).or_default() += count;
        }
        Some(())
    }

    fn sum(&self) -> u64 {
        self.addresses.values().chain(self.libraries.values()).sum()
    }

    fn handlers(&self, program: &Path) -> Result<BTreeMap<String, u64>> {
        let names = handlers_at(program, self.addresses.keys().copied())?;
        let mut handlers = self.libraries.clone();
        for (address, count) in &self.addresses {
            let name = names.get(address).with_context(|| format!("addr2line left out {address:#x}"))?;
            *handlers.entry(name.clone()).or_default() += count;
        }
        Ok(handlers)
    }
}

/// The handler each of these addresses belongs to.
fn handlers_at(program: &Path, addresses: impl Iterator<Item = u64>) -> Result<HashMap<u64, String>> {
    let mut command = Command::new("addr2line");
    command.arg("--exe").arg(program).args(["--addresses", "--functions", "--inlines", "--demangle"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let mut input = child.stdin.take().context("the pipe was asked for")?;
    let addresses: String = addresses.map(|address| format!("{address:#x}\n")).collect();
    // It answers while it reads: without a second thread, both would wait for the other to read.
    let writer = std::thread::spawn(move || input.write_all(addresses.as_bytes()));
    let output = child.wait_with_output()?;
    writer.join().expect("writing does not panic")?;
    ensure!(output.status.success(), "addr2line failed");
    Ok(parse_frames(&String::from_utf8_lossy(&output.stdout)))
}

/// Reads blocks of an address, then function and place of each frame, the innermost first.
fn parse_frames(text: &str) -> HashMap<u64, String> {
    let mut handlers = HashMap::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let address = line.strip_prefix("0x").and_then(|digits| u64::from_str_radix(digits, 16).ok());
        let mut frames = Vec::new();
        while let Some(function) = lines.next_if(|line| !line.starts_with("0x")) {
            frames.push((function, lines.next().unwrap_or_default()));
        }
        if let Some(address) = address {
            handlers.insert(address, handler(&frames));
        }
    }
    handlers
}

/// What the innermost function belongs to that is neither of a library nor a helper; if there is none, the outermost.
fn handler(frames: &[(&str, &str)]) -> String {
    let handles = |place: &str| {
        let ours = ["crates/narrows-sim/src/", "crates/narrows-proto/src/"];
        let ours = ours.iter().find_map(|folder| Some(place.split_once(folder)?.1));
        ours.is_some_and(|file| !HELPERS.iter().any(|helper| file.starts_with(helper)))
    };
    for (function, place) in frames {
        if let Some((_, name)) = LARGE.iter().find(|(source, _)| place.contains(source)) {
            return (*name).to_owned();
        }
        if handles(place) {
            return owner(function);
        }
    }
    frames.last().map_or(REST.to_owned(), |(function, _)| owner(function))
}

/// The type or module of a function, without crate, type parameters and closures; a method of a trait belongs to its type.
fn owner(function: &str) -> String {
    let function = function.split("::{{closure}}").next().unwrap_or_default();
    let function = match function.strip_prefix('<').and_then(|function| function.rsplit_once(">::")) {
        Some((of, method)) => format!("{}::{method}", of.split(" as ").next().unwrap_or_default()),
        None => function.to_owned(),
    };
    let mut depth = 0;
    let outside = function.chars().filter(|&letter| {
        depth += i32::from(letter == '<');
        let outside = depth == 0;
        depth -= i32::from(letter == '>');
        outside
    });
    let name: String = outside.collect();
    let ours = ["narrows_sim::", "narrows_proto::"].iter().find_map(|of_crate| name.strip_prefix(of_crate));
    let name = ours.unwrap_or(&name);
    name.rsplit_once("::").map_or(name, |(owner, _)| owner).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_not_counted_twice() {
        let text = "positions: instr line\nob=/a/engine\nfn=f\n0x10 5 7\ncalls=1 0x20 6\n0x12 5 100\n0x12 5 1\nob=/lib/libc.so.6\n0x10 0 3\n";
        let profile = Profile::parse(text, Path::new("/a/engine")).expect("a profile");
        assert_eq!(profile.addresses, BTreeMap::from([(0x10, 7), (0x12, 1)]));
        assert_eq!(profile.libraries, BTreeMap::from([("libc".to_owned(), 3)]));
        assert_eq!(profile.sum(), 11);
    }

    #[test]
    fn an_instruction_counts_for_the_innermost_function_that_is_no_helper() {
        let text = "0x0010\ncore::mem::take\n/rustc/library/core/src/mem/mod.rs:1\n\
            narrows_sim::ring::Ring<T>::take\n/work/crates/narrows-sim/src/ring.rs:9\n\
            narrows_sim::switch::Switch::collect::{{closure}}\n/work/crates/narrows-sim/src/switch/mod.rs:3\n\
            narrows_sim::engine::shard::Shard<O>::run_window\n/work/crates/narrows-sim/src/engine/shard.rs:3\n\
            0x0020\ncore::slice::sort::insert\n/rustc/library/core/src/slice/sort/shared/smallsort.rs:1\n\
            narrows_sim::switch::Switch::advance\n/work/crates/narrows-sim/src/switch/mod.rs:3\n\
            0x0030\nnarrows_sim::ring::Ring<T>::grow\n/work/crates/narrows-sim/src/ring.rs:9\n\
            0x0040\n??\n??:0\n";
        let handlers = parse_frames(text);
        let at = |address: u64| handlers[&address].as_str();
        assert_eq!([at(0x10), at(0x20), at(0x30)], ["switch::Switch", "core::slice::sort", "ring::Ring"]);
        assert_eq!(at(0x40), "??");
    }

    #[test]
    fn functions_belong_to_types_and_modules() {
        assert_eq!(owner("narrows_sim::engine::world::World<O>::receive"), "engine::world::World");
        let method = "<narrows_proto::cc::dctcp::Dctcp as narrows_proto::cc::Controller>::on_ack";
        assert_eq!(owner(method), "cc::dctcp::Dctcp");
        assert_eq!(owner("<std::time::Instant>::now"), "std::time::Instant");
        assert_eq!(owner("<narrows_sim::engine::World<()>>::carry"), "engine::World");
        assert_eq!(owner("narrows_sim::host::push_ack"), "host");
    }

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
