//! Random input for the parsers: libFuzzer, guided by coverage, with stable Rust.
//!
//! `cargo fuzz` would do the same with a nightly compiler. Without its address sanitizer, which safe Rust does not need,
//! everything it asks of the compiler is stable.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread;

use anyhow::{Context, Result, ensure};
use clap::Args;
use clap::builder::PossibleValuesParser;
use xshell::{Shell, cmd};

use crate::installed::is_installed;
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

const TARGETS: [Target; 13] = [
    Target { name: "capi", seeds: &[], longest: 240, changes: 5 },
    Target { name: "import_chakra", seeds: &[], longest: 2048, changes: 4 },
    Target { name: "import_goal", seeds: &[], longest: 2048, changes: 4 },
    Target { name: "import_hpcc", seeds: &[], longest: 2048, changes: 4 },
    Target { name: "import_htsim", seeds: &[], longest: 2048, changes: 4 },
    Target { name: "paper", seeds: &[], longest: 28_672, changes: 2 },
    Target { name: "path", seeds: &[], longest: 1024, changes: 5 },
    Target { name: "scenario", seeds: &["scenarios"], longest: 4096, changes: 2 },
    Target { name: "sizes", seeds: &["crates/narrows/data/sizes"], longest: 1024, changes: 5 },
    Target { name: "stored", seeds: &[], longest: 256, changes: 5 },
    Target { name: "sweep", seeds: &[], longest: 2048, changes: 2 },
    Target { name: "trace", seeds: &[], longest: 1024, changes: 5 },
    Target { name: "units", seeds: &[], longest: 64, changes: 5 },
];

/// An input may take so many seconds.
const LONGEST: u64 = 10;

/// Instrumentation of LLVM for coverage: a counter and an address for every branch, and operands of comparisons.
const INSTRUMENTATION: &str = "-Cpasses=sancov-module \
    -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares \
    --cfg fuzzing";

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Targets to feed; all if left out
    #[arg(value_name = "TARGET", value_parser = PossibleValuesParser::new(TARGETS.map(|target| target.name)))]
    targets: Vec<String>,
    /// Seconds for each target
    #[arg(long, value_name = "N", default_value_t = 60)]
    seconds: u64,
}

/// Outcome of feeding a target for a while.
pub(crate) struct Fed {
    /// Processor time that the target used, rounded.
    pub(crate) processor_seconds: u64,
    /// The failure, if there was one.
    pub(crate) found: Option<Failure>,
}

/// A failure of a target.
pub(crate) struct Failure {
    /// In one line, the same on every machine.
    pub(crate) summary: String,
    /// With its input, and how to see it again.
    report: String,
}

/// Names of all targets.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    TARGETS.iter().map(|target| target.name)
}

/// Feeds every target random input for a while. Fails if one panics, takes longer than ten seconds over an input, or needs
/// more than 4 GB of memory.
///
/// Interesting inputs are kept in `fuzz/corpus`, failures in `fuzz/artifacts`; both are tried first the next time.
pub(crate) fn run(shell: &Shell, arguments: &Arguments) -> Result<()> {
    let chosen =
        |name: &&str| arguments.targets.is_empty() || arguments.targets.iter().any(|other| other == name);
    let turns = names().filter(chosen).map(|name| (name, arguments.seconds)).collect();
    let failures = Mutex::new(Vec::new());
    feed_in_turns(shell, turns, |_, fed| {
        failures.lock().expect("no turn panics").extend(fed.found.map(|found| found.report));
        Ok(None)
    })?;
    let failures = failures.into_inner().expect("no turn panics");
    ensure!(failures.is_empty(), failures.join("\n\n"));
    Ok(())
}

/// Feeds targets, each for so many seconds, as many at once as there are cores. After its turn `after` says for how long a target
/// is fed once more when the others have had their turns. What is found in one keeps none of the others from being fed.
///
/// # Errors
/// If targets cannot be built or started, or `after` fails.
pub(crate) fn feed_in_turns(
    shell: &Shell,
    turns: Vec<(&'static str, u64)>,
    after: impl Fn(&'static str, Fed) -> Result<Option<u64>> + Sync,
) -> Result<()> {
    if turns.is_empty() {
        return Ok(());
    }
    let feeder = Feeder { programs: build(shell)?, folder: folder(shell)?, root: shell.current_dir() };
    let (cores, turns) = (thread::available_parallelism()?.get(), Mutex::new(VecDeque::from(turns)));
    let next = || turns.lock().expect("no turn panics").pop_front();
    let work = || {
        while let Some((name, seconds)) = next() {
            let target = TARGETS.iter().find(|target| target.name == name).expect("a target has this name");
            if let Some(seconds) = after(name, feeder.feed(target, seconds)?)? {
                turns.lock().expect("no turn panics").push_back((name, seconds));
            }
        }
        Ok(())
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..cores).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("feeding does not panic"))
    })
}

/// Where targets are built, and what they print is kept.
fn folder(shell: &Shell) -> Result<PathBuf> {
    Ok(target::folder(shell)?.join("fuzz"))
}

/// Builds all targets. Returns the folder they are in.
fn build(shell: &Shell) -> Result<PathBuf> {
    let folder = folder(shell)?;
    let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".into());
    ensure!(
        is_installed(shell, &compiler),
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
    cargo.args(["--target", host, "--target-dir"]).arg(&folder).run()?;
    Ok(folder.join(host).join("release"))
}

/// Built targets, and where they are fed.
struct Feeder {
    root: PathBuf,
    folder: PathBuf,
    programs: PathBuf,
}

impl Feeder {
    fn feed(&self, target: &Target, seconds: u64) -> Result<Fed> {
        let (name, root) = (target.name, &self.root);
        let log = self.folder.join(format!("{name}.log"));
        let (corpus, artifacts) = (format!("fuzz/corpus/{name}"), format!("fuzz/artifacts/{name}"));
        let seeds = format!("fuzz/seeds/{name}");
        for folder in [&corpus, &artifacts] {
            fs::create_dir_all(root.join(folder))?;
        }
        let program = self.programs.join(name);
        let mut command = timed(&program);
        command.current_dir(root).stderr(File::create(&log)?);
        command.arg(format!("-max_total_time={seconds}"));
        command.args([&format!("-timeout={LONGEST}"), "-rss_limit_mb=4096", "-dict=fuzz/narrows.dict"]);
        command.arg(format!("-max_len={}", target.longest)).arg(format!("-mutate_depth={}", target.changes));
        command.arg(format!("-artifact_prefix={artifacts}/"));
        // New inputs go to the first folder; all are read.
        command.args([&corpus, &artifacts]).args(target.seeds);
        command.args(Some(&seeds).filter(|seeds| root.join(seeds).is_dir()));
        let (success, processor) = run_timed(command)?;
        let output = String::from_utf8_lossy(&fs::read(&log)?).into_owned();
        let fed = |found| Fed { processor_seconds: processor.round() as u64, found };
        if !success {
            if let Some(artifact) = output.lines().find_map(slow_input)
                && !self.is_slow(&program, artifact)?
            {
                println!("fuzz {name}: an input that took {LONGEST} s beside others is fast alone");
                fs::remove_file(root.join(artifact))?;
                return Ok(fed(None));
            }
            let (summary, report) = (summary(root, &output), failure(root, &program, target, &log, &output));
            return Ok(fed(Some(Failure { summary, report })));
        }
        ensure!(
            output.contains("inline 8-bit counters"),
            "{name} was built without coverage, so it was fed blindly; see {}",
            log.display()
        );
        let done = output.lines().rev().find_map(|line| line.strip_prefix("Done "));
        println!(
            "fuzz {name}: {}, {processor:.0} s of processor time, nothing found",
            done.unwrap_or("done")
        );
        Ok(fed(None))
    }

    /// Whether an input takes too long by itself, in processor time: libFuzzer measures wall time.
    fn is_slow(&self, program: &Path, artifact: &str) -> Result<bool> {
        let mut command = timed(program);
        command.current_dir(&self.root).stderr(Stdio::null());
        command.arg(format!("-timeout={}", 10 * LONGEST)).arg(artifact);
        let (success, processor) = run_timed(command)?;
        Ok(!success || processor >= LONGEST as f64)
    }
}

/// The input that took too long, if this line of libFuzzer's names one.
fn slow_input(line: &str) -> Option<&str> {
    let (_, artifact) = line.split_once("Test unit written to ")?;
    artifact.contains("/timeout-").then(|| artifact.trim())
}

/// Starts a program in a shell that prints its processor time at the end.
fn timed(program: &Path) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", "\"$@\"; status=$?; times; exit $status", "sh"]).arg(program);
    command
}

/// Whether it succeeded, and its processor time in seconds.
fn run_timed(mut command: Command) -> Result<(bool, f64)> {
    let output = command.stdin(Stdio::null()).stdout(Stdio::piped()).output();
    let output = output.with_context(|| format!("cannot run {command:?}"))?;
    let said = String::from_utf8_lossy(&output.stdout);
    let processor = processor_seconds(&said).with_context(|| format!("no processor time in {said:?}"))?;
    Ok((output.status.success(), processor))
}

/// Seconds that POSIX `times` prints of a shell's children in its second line, user and system: `1m2.30s 0m0.04s`.
fn processor_seconds(times: &str) -> Option<f64> {
    let seconds = |time: &str| {
        let (minutes, seconds) = time.strip_suffix('s')?.split_once('m')?;
        Some(minutes.parse::<f64>().ok()? * 60.0 + seconds.parse::<f64>().ok()?)
    };
    let (user, system) = times.lines().last()?.split_once(' ')?;
    Some(seconds(user)? + seconds(system)?)
}

/// Message and place of a panic, or the error of libFuzzer, and the input.
fn summary(root: &Path, output: &str) -> String {
    let mut lines = output.lines();
    let panic = lines.by_ref().find_map(|line| line.split_once(" panicked at "));
    let what = match panic {
        Some((_, place)) => {
            format!("{} at {}", lines.next().unwrap_or_default(), place.trim_end_matches(':'))
        }
        None => output.lines().find_map(|line| line.split_once("ERROR: ")).unwrap_or_default().1.to_owned(),
    };
    let input = artifact(output).rsplit('/').next().unwrap_or_default();
    format!("{what}, input {input}").replace(&format!("{}/", root.display()), "")
}

fn artifact(output: &str) -> &str {
    let artifact = output.lines().find_map(|line| line.split_once("Test unit written to "));
    artifact.map_or("(not written)", |(_, artifact)| artifact.trim())
}

/// The failure, its input, and how to see it again.
fn failure(root: &Path, program: &Path, target: &Target, log: &Path, output: &str) -> String {
    let program = program.strip_prefix(root).unwrap_or(program).display();
    let artifact = artifact(output);
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
    fn a_summary_says_what_failed_and_where_and_nothing_of_the_machine() {
        let panic = "NEW_FUNC[1/2]: 0x55 in memcpy\n\nthread '<unnamed>' (7) panicked at /here/crates/x/src/lib.rs:3:9:\n\
                     attempt to add with overflow\n==7== ERROR: libFuzzer: deadly signal\n\
                     artifact_prefix='fuzz/artifacts/x/'; Test unit written to fuzz/artifacts/x/crash-12ab\n";
        let found = "attempt to add with overflow at crates/x/src/lib.rs:3:9, input crash-12ab";
        assert_eq!(summary(Path::new("/here"), panic), found);
        let slow = "==7== ERROR: libFuzzer: timeout after 10 seconds\n; Test unit written to fuzz/artifacts/x/timeout-1\n";
        assert_eq!(summary(Path::new("/here"), slow), "libFuzzer: timeout after 10 seconds, input timeout-1");
    }

    #[test]
    fn processor_time_is_that_of_the_children() {
        assert_eq!(processor_seconds("0m0.00s 0m0.01s\n1m2.50s 0m0.25s\n"), Some(62.75));
        assert_eq!(processor_seconds("0m0.000000s 0m0.000000s\n2m0.500000s 0m0.000000s"), Some(120.5));
        assert_eq!(processor_seconds("killed"), None);
    }

    #[test]
    fn a_program_that_fails_has_processor_time_all_the_same() {
        let mut command = timed(Path::new("sh"));
        command.args(["-c", "i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done; exit 3"]);
        let (success, processor) = run_timed(command).expect("a shell");
        assert!(!success && processor > 0.0, "{processor}");
    }

    #[test]
    fn only_time_makes_an_input_slow() {
        let line = |kind| format!("artifact_prefix='fuzz/a/'; Test unit written to fuzz/a/{kind}-12");
        assert_eq!(slow_input(&line("timeout")), Some("fuzz/a/timeout-12"));
        assert_eq!(slow_input(&line("crash")), None);
    }

    #[test]
    fn an_input_that_ends_soon_alone_is_not_slow() {
        let here = || PathBuf::from(".");
        let feeder = Feeder { root: here(), folder: here(), programs: here() };
        let is_slow = |program| feeder.is_slow(Path::new(program), "input").expect("it starts");
        assert!(!is_slow("true"));
        assert!(is_slow("false"), "it fails alone as well");
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
