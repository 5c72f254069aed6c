//! Instructions of the packet path and of congestion controls, counted by callgrind and held against stored counts.
//!
//! Counts do not depend on what else the machine does, so they show changes of a percent that wall time hides. They do depend
//! on the compiler: with another one than at the time of the stored count, differences are shown but are no failure.

mod controls;
mod packet_path;
mod profile;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::{Context, Result, bail};
use clap::Args;
use comfy_table::Table;
use xshell::{Shell, cmd};

use crate::bench::{self, table};
use crate::installed::is_installed;

/// Growth allowed for one handler or control, and by how many instructions in any case: the optimizer moves that much to and
/// fro.
const TOLERANCE: f64 = 1.05;
const ALLOWANCE: f64 = 2.0;
const REST: &str = "everything else";

#[derive(Debug, Default, Args)]
pub(crate) struct Arguments {
    /// Store the counts instead of comparing with those stored
    #[arg(long)]
    bless: bool,
    /// Count congestion controls only
    #[arg(long)]
    controls: bool,
}

/// Counts instructions and compares.
///
/// Fails if there are too many, or if a result is another than the one stored. Passes with a remark where callgrind is
/// not installed.
pub(crate) fn run(shell: &Shell, arguments: &Arguments) -> Result<()> {
    if let Some(missing) = ["valgrind", "addr2line"].into_iter().find(|program| !is_installed(shell, program))
    {
        eprintln!("skipped: counting instructions needs {missing} (apt-get install valgrind binutils)");
        return Ok(());
    }
    let compiler = compiler(shell)?;
    let mut complaints = controls::run(shell, &compiler, arguments.bless)?;
    if !arguments.controls {
        complaints.extend(packet_path::run(shell, &compiler, arguments.bless)?);
    }
    if complaints.is_empty() {
        return Ok(());
    }
    bail!(
        "more instructions than stored:\n  {}\nif it is worth it: cargo xtask instructions --bless",
        complaints.join("\n  ")
    );
}

/// Benchmarks inside which instructions are counted.
pub(crate) const BENCHMARKS: [&str; 2] = [controls::BENCHMARK, packet_path::BENCHMARK];

/// Builds a benchmark with names and places of inlined functions, which do not change the code.
pub(crate) fn build(shell: &Shell, benchmark: &str) -> Result<PathBuf> {
    let _debug = shell.push_env("CARGO_PROFILE_BENCH_DEBUG", "1");
    // As in Cargo.toml, even where the command is built without.
    let _optimized = shell.push_env("CARGO_PROFILE_BENCH_LTO", "thin");
    bench::build(shell, benchmark)
}

/// Whether what is more than stored is a failure.
fn comparable(stored: &str, compiler: &str) -> bool {
    if stored != compiler {
        eprintln!("counts were stored with {stored}, this is {compiler}: not judged");
    }
    stored == compiler
}

/// Version and machine of the compiler.
fn compiler(shell: &Shell) -> Result<String> {
    let text = cmd!(shell, "rustc --version --verbose").quiet().read()?;
    let version = text.lines().next().context("rustc prints no version")?;
    let host = text.lines().find_map(|line| line.strip_prefix("host: ")).unwrap_or_default();
    Ok(format!("{version} {host}"))
}

/// Counts what `program` executes inside `functions`. Returns the profile and what was printed.
fn callgrind(
    shell: &Shell,
    program: &Path,
    arguments: &[&str],
    functions: &str,
    options: &[&str],
) -> Result<(String, String)> {
    let folder = tempfile::tempdir()?;
    let output = folder.path().join("callgrind.out");
    let options = options.iter().map(|option| (*option).to_owned()).chain([
        format!("--toggle-collect={functions}"),
        format!("--callgrind-out-file={}", output.display()),
    ]);
    let printed = cmd!(shell, "valgrind --tool=callgrind --quiet {options...} {program} {arguments...}")
        .quiet()
        .read()?;
    Ok((shell.read_file(&output)?, printed))
}

/// Calls `work` for each item, one for each core at a time: counts do not depend on what else the machine does. What it returns comes
/// in the order of the items.
fn side_by_side<I: Sync, T: Send>(
    shell: &Shell,
    items: &[I],
    work: impl Fn(&Shell, &I) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let (next, folder) = (AtomicUsize::new(0), shell.current_dir());
    let worker = || -> Result<Vec<(usize, T)>> {
        let shell = Shell::new()?;
        shell.change_dir(&folder);
        let numbers = std::iter::repeat_with(|| next.fetch_add(1, Ordering::Relaxed));
        let mine = numbers.map_while(|number| Some((number, items.get(number)?)));
        mine.map(|(number, item)| Ok((number, work(&shell, item)?))).collect()
    };
    let done = thread::scope(|scope| {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let workers: Vec<_> = (0..cores.min(items.len())).map(|_| scope.spawn(worker)).collect();
        let joined = workers.into_iter().map(|worker| worker.join().expect("a worker returns its errors"));
        joined.collect::<Result<Vec<_>>>()
    })?;
    let mut done: Vec<_> = done.into_iter().flatten().collect();
    done.sort_by_key(|(number, _)| *number);
    Ok(done.into_iter().map(|(_, made)| made).collect())
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
    /// Of one among many.
    fn new(what: &str, stored: f64, found: f64) -> Self {
        let limit = (stored * TOLERANCE).max(stored + ALLOWANCE);
        Self { what: what.to_owned(), stored, found, limit }
    }

    /// Of something that is not stored: shown but not judged.
    fn unknown(what: &str, found: f64) -> Self {
        Self { limit: f64::INFINITY, ..Self::new(what, 0.0, found) }
    }

    fn is_too_much(&self) -> bool {
        self.found > self.limit
    }

    fn complaint(&self) -> Option<String> {
        let Self { what, stored, found, .. } = self;
        self.is_too_much().then(|| format!("{what}: {found:.1}, stored {stored:.1}"))
    }
}

/// Largest first.
fn sort(rows: &mut [Row]) {
    rows.sort_by(|a, b| b.found.total_cmp(&a.found));
}

/// `what` the rows are of.
fn show(what: &str, rows: &[Row]) -> Table {
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
    table(&[what, "stored", "now", "change", ""], rows, 1..4)
}
