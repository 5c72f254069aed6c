//! Random input for the parsers: libFuzzer, guided by coverage, with stable Rust.
//!
//! `cargo fuzz` would do the same with a nightly compiler. Without its address sanitizer, which safe Rust does not need,
//! everything it asks of the compiler is stable.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{iter, thread};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use clap::builder::PossibleValuesParser;
use xshell::{Shell, cmd};

use crate::target;

/// A program of `fuzz/fuzz_targets`.
struct Target {
    name: &'static str,
    /// Folders of inputs to begin with, besides `fuzz/seeds/<name>`.
    seeds: &'static [&'static str],
    /// Bytes of the longest input that is tried.
    longest: u32,
    /// At most so many changes make a new input of an old one. A scenario hardly survives more than two.
    changes: u32,
}

const TARGETS: [Target; 8] = [
    Target { name: "import_hpcc", seeds: &[], longest: 2048, changes: 4 },
    Target { name: "import_htsim", seeds: &[], longest: 2048, changes: 4 },
    Target { name: "scenario", seeds: &["scenarios"], longest: 4096, changes: 2 },
    Target { name: "sizes", seeds: &["crates/narrows/data/sizes"], longest: 1024, changes: 5 },
    Target { name: "stored", seeds: &[], longest: 256, changes: 5 },
    Target { name: "sweep", seeds: &[], longest: 2048, changes: 2 },
    Target { name: "trace", seeds: &[], longest: 1024, changes: 5 },
    Target { name: "units", seeds: &[], longest: 64, changes: 5 },
];

/// What LLVM does for coverage: a counter and an address for every branch, and what comparisons compare.
const INSTRUMENTATION: &str = "-Cpasses=sancov-module \
    -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares \
    --cfg fuzzing";

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// What is fed; everything if left out
    #[arg(value_name = "TARGET", value_parser = PossibleValuesParser::new(TARGETS.map(|target| target.name)))]
    targets: Vec<String>,
    /// How long each is fed
    #[arg(long, value_name = "N", default_value_t = 60)]
    seconds: u32,
    /// Begin with the same random numbers each time
    #[arg(skip)]
    repeatable: bool,
}

impl Arguments {
    /// Every target for so long, with other random numbers each time.
    pub(crate) fn long(seconds: u32) -> Self {
        Self { targets: Vec::new(), seconds, repeatable: false }
    }

    /// A short run that tries about the same inputs each time.
    pub(crate) fn short() -> Self {
        Self { targets: Vec::new(), seconds: 15, repeatable: true }
    }
}

/// Feeds every target random input for a while. Fails if one panics, takes longer than ten seconds over an input, or needs
/// more than 4 GB of memory.
///
/// What was interesting is kept in `fuzz/corpus`, what failed in `fuzz/artifacts`; both are tried first the next time.
pub(crate) fn run(shell: &Shell, arguments: &Arguments) -> Result<()> {
    let failures: Vec<_> = feed_all(shell, arguments)?
        .into_iter()
        .filter_map(|(_, fed)| Some(format!("{:#}", fed.err()?)))
        .collect();
    ensure!(failures.is_empty(), failures.join("\n\n"));
    Ok(())
}

/// Feeds the chosen targets, as many at once as there are cores. What is found in one keeps none of the others from being fed.
///
/// # Errors
/// If they cannot be built.
pub(crate) fn feed_all(shell: &Shell, arguments: &Arguments) -> Result<Vec<(&'static str, Result<()>)>> {
    let folder = target::folder(shell)?.join("fuzz");
    let (programs, root) = (build(shell, &folder)?, shell.current_dir());
    let chosen = |target: &&Target| {
        arguments.targets.is_empty() || arguments.targets.iter().any(|name| name == target.name)
    };
    let chosen: Vec<_> = TARGETS.iter().filter(chosen).collect();
    let (next, cores) = (AtomicUsize::new(0), thread::available_parallelism()?.get());
    let work = || {
        let turns = iter::from_fn(|| chosen.get(next.fetch_add(1, Ordering::Relaxed)));
        let fed = turns.map(|target| {
            let log = folder.join(format!("{}.log", target.name));
            (target.name, feed(&root, &programs.join(target.name), &log, target, arguments))
        });
        fed.collect::<Vec<_>>()
    };
    Ok(thread::scope(|scope| {
        let workers: Vec<_> = (0..cores.min(chosen.len())).map(|_| scope.spawn(work)).collect();
        let mut fed: Vec<_> =
            workers.into_iter().flat_map(|worker| worker.join().expect("feeding does not panic")).collect();
        fed.sort_by_key(|(name, _)| *name);
        fed
    }))
}

/// Builds all targets. Returns the folder they are in.
fn build(shell: &Shell, folder: &Path) -> Result<PathBuf> {
    let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".into());
    let found = cmd!(shell, "{compiler} --version").quiet().ignore_stdout().ignore_stderr().run();
    ensure!(
        found.is_ok(),
        "fuzzing needs a C++ compiler to build libFuzzer, \"{compiler}\" does not run: install one (apt-get install g++), \
         or name it in CXX"
    );
    let version = cmd!(shell, "rustc --verbose --version").read()?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    let host = host.context("rustc does not say for which platform it compiles")?;
    // Naming the platform, even though it is this one, keeps the instrumentation out of build scripts.
    let flags = INSTRUMENTATION.split(' ').collect::<Vec<_>>().join("\x1f");
    let _flags = shell.push_env("CARGO_ENCODED_RUSTFLAGS", flags);
    let cargo = cmd!(shell, "cargo build --quiet --release --bins --manifest-path fuzz/Cargo.toml");
    cargo.args(["--target", host, "--target-dir"]).arg(folder).run()?;
    Ok(folder.join(host).join("release"))
}

fn feed(root: &Path, program: &Path, log: &Path, target: &Target, arguments: &Arguments) -> Result<()> {
    let name = target.name;
    let (corpus, artifacts) = (format!("fuzz/corpus/{name}"), format!("fuzz/artifacts/{name}"));
    let seeds = format!("fuzz/seeds/{name}");
    for folder in [&corpus, &artifacts] {
        fs::create_dir_all(root.join(folder))?;
    }
    let mut command = Command::new(program);
    command.current_dir(root).stderr(File::create(log)?);
    command.arg(format!("-max_total_time={}", arguments.seconds));
    command.args(["-timeout=10", "-rss_limit_mb=4096", "-dict=fuzz/narrows.dict"]);
    command.arg(format!("-max_len={}", target.longest)).arg(format!("-mutate_depth={}", target.changes));
    command.arg(format!("-artifact_prefix={artifacts}/"));
    if arguments.repeatable {
        command.arg("-seed=1");
    }
    // New inputs go to the first folder; all are read.
    command.args([&corpus, &artifacts]).args(target.seeds);
    command.args(Some(&seeds).filter(|seeds| root.join(seeds).is_dir()));
    let status = command.status().with_context(|| format!("cannot run {}", program.display()))?;
    let output = String::from_utf8_lossy(&fs::read(log)?).into_owned();
    if !status.success() {
        bail!(failure(root, program, target, log, &output));
    }
    ensure!(
        output.contains("inline 8-bit counters"),
        "{name} was built without coverage, so it was fed blindly; see {}",
        log.display()
    );
    let done = output.lines().rev().find_map(|line| line.strip_prefix("Done "));
    println!("fuzz {name}: {}, nothing found", done.unwrap_or("done"));
    Ok(())
}

/// What failed, on which input, and how to see it again.
fn failure(root: &Path, program: &Path, target: &Target, log: &Path, output: &str) -> String {
    let program = program.strip_prefix(root).unwrap_or(program).display();
    let artifact = output.lines().find_map(|line| line.split_once("Test unit written to "));
    let artifact = artifact.map_or("(not written)", |(_, artifact)| artifact.trim());
    let lines: Vec<_> = output.lines().filter(|line| is_telling(line)).take(20).collect();
    format!(
        "{} failed\n{}\n\ninput:    {artifact}\noutput:   {}\nagain:    {program} {artifact}\nsmaller:  {program} \
         -minimize_crash=1 -max_total_time=60 -exact_artifact_path=smaller {artifact}",
        target.name,
        lines.join("\n"),
        log.strip_prefix(root).unwrap_or(log).display(),
    )
}

/// Lines other than libFuzzer's report of its progress.
fn is_telling(line: &str) -> bool {
    !line.trim().is_empty()
        && !["#", "INFO:", "WARNING:", "Dictionary:"].iter().any(|start| line.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_target_is_a_program_and_every_program_is_a_target() {
        let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/fuzz_targets");
        let files = fs::read_dir(programs).unwrap().map(|entry| entry.unwrap().path());
        let sources = files.filter(|path| path.extension().is_some_and(|extension| extension == "rs"));
        let mut names: Vec<_> = sources.map(|path| path.file_stem().unwrap().to_owned()).collect();
        names.sort();
        assert_eq!(names, TARGETS.map(|target| target.name));
    }

    #[test]
    fn a_failure_names_the_input_and_how_to_see_it_again() {
        let output = "INFO: Seed: 1\n#2\tINITED cov: 3\nthread panicked at x.rs:1:2:\nboom\n\
            artifact_prefix='fuzz/artifacts/units/'; Test unit written to fuzz/artifacts/units/crash-12\n";
        let root = Path::new("/root");
        let text = failure(
            root,
            Path::new("/root/fuzz/units"),
            TARGETS.last().expect("targets"),
            Path::new("/root/fuzz/units.log"),
            output,
        );
        assert!(text.starts_with("units failed\nthread panicked at x.rs:1:2:\nboom\n"), "{text}");
        assert!(text.contains("again:    fuzz/units fuzz/artifacts/units/crash-12\n"), "{text}");
    }
}
