//! Speed of the engine, its memory, and whether its results are still the same.
//!
//! ```text
//! cargo bench -p narrows-sim --bench engine                      all scenarios, each in a process of its own
//! cargo bench -p narrows-sim --bench engine -- permutation-k8    one of them
//! ```
//! Prints one JSON object for each. Only the run itself is timed, not the construction of the network; the best of several
//! repetitions counts, because other programs only ever make it slower. `cargo xtask bench` runs the same with a table,
//! targets, and a comparison of the result hashes with `hashes.json`.

mod scenarios;

use std::ops::ControlFlow;
use std::process::{Command, ExitCode};
use std::time::Instant;

use narrows_sim::floor::Floor;
use narrows_sim::{Execution, Outcome, Simulation};
use serde_json::{Value, json};

use self::scenarios::{Job, SEED, Scenario};

const USAGE: &str = "usage: engine [SCENARIO] [--repetitions N] [--list]";

fn main() -> ExitCode {
    match Arguments::parse(std::env::args().skip(1)) {
        Ok(arguments) => arguments.act(),
        Err(message) => {
            eprintln!("{message}\n{USAGE}");
            ExitCode::from(2)
        }
    }
}

struct Arguments {
    scenario: Option<&'static Scenario>,
    repetitions: u32,
    list: bool,
    /// `cargo bench` says so; `cargo test --benches` does not, and wants nothing measured.
    bench: bool,
}

impl Arguments {
    fn parse(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut arguments = Self { scenario: None, repetitions: 3, list: false, bench: false };
        while let Some(word) = words.next() {
            match word.as_str() {
                "--bench" => arguments.bench = true,
                "--list" => arguments.list = true,
                "--repetitions" => {
                    let number =
                        words.next().and_then(|number| number.parse().ok()).filter(|number| *number > 0);
                    arguments.repetitions = number.ok_or("--repetitions needs a number, at least 1")?;
                }
                name => {
                    let known = || scenarios::ALL.iter().chain(scenarios::COUNTED);
                    let found = known().find(|scenario| scenario.name == name);
                    arguments.scenario = Some(found.ok_or_else(|| {
                        let names: Vec<_> = known().map(|scenario| scenario.name).collect();
                        format!("unknown scenario \"{name}\"; known: {}", names.join(", "))
                    })?);
                }
            }
        }
        Ok(arguments)
    }

    fn act(&self) -> ExitCode {
        if self.list {
            scenarios::ALL.iter().for_each(|scenario| println!("{}", scenario.name));
        } else if let Some(scenario) = self.scenario {
            println!("{}", measure(scenario, self.repetitions));
        } else if self.bench {
            return self.measure_all();
        }
        ExitCode::SUCCESS
    }

    /// Peak memory belongs to a process, so every scenario gets one.
    fn measure_all(&self) -> ExitCode {
        let program = std::env::current_exe().expect("a running program has a path");
        for scenario in scenarios::ALL {
            let mut command = Command::new(&program);
            command.args([scenario.name, "--repetitions", &self.repetitions.to_string()]);
            if !command.status().is_ok_and(|status| status.success()) {
                eprintln!("{} failed", scenario.name);
                return ExitCode::FAILURE;
            }
        }
        ExitCode::SUCCESS
    }
}

/// One run.
#[derive(Clone, Copy)]
struct Sample {
    packet_hops: u64,
    seconds: f64,
    hash: u64,
}

fn measure(scenario: &Scenario, repetitions: u32) -> Value {
    let mut best: Option<Sample> = None;
    let mut peak_bytes = None;
    for _ in 0..repetitions {
        let sample = run((scenario.job)(), scenario.threads);
        // Later runs start with what the allocator kept of earlier ones.
        peak_bytes = peak_bytes.or_else(peak_memory);
        if let Some(best) = best {
            assert!(sample.hash == best.hash, "{} went another way when run again", scenario.name);
        }
        best = best.filter(|best| best.seconds <= sample.seconds).or(Some(sample));
    }
    let best = best.expect("at least one repetition");
    json!({
        "name": scenario.name,
        "threads": scenario.threads,
        "packet_hops": best.packet_hops,
        "packet_hops_per_second": (best.packet_hops as f64 / best.seconds).round() as u64,
        "peak_bytes": peak_bytes,
        "result_hash": format!("{:016x}", best.hash),
    })
}

fn run(job: Job, threads: usize) -> Sample {
    match job {
        Job::Engine { network, traffic, stop } => {
            let execution = Execution { threads, ..Execution::default() };
            let simulation = Simulation::new(&network, &traffic, SEED, execution, || ());
            let (outcome, seconds) = timed(|| simulation.run(stop, |_| ControlFlow::Continue(())));
            if network.reaction.is_some() {
                assert_limited(&outcome);
            }
            Sample { packet_hops: outcome.packet_hops, seconds, hash: outcome.fingerprint() }
        }
        Job::Floor { topology, flows } => {
            let floor = Floor::new(&topology, &flows, SEED);
            let (outcome, seconds) = timed(|| floor.run());
            Sample { packet_hops: outcome.packet_hops, seconds, hash: outcome.fingerprint }
        }
    }
}

/// At least three in four packets of data passed a limiter.
fn assert_limited(outcome: &Outcome<()>) {
    let payload: u64 = outcome.flows.iter().map(|flow| flow.size.get()).sum();
    let (limited, packets) = (outcome.mechanisms.limiter.limited, payload / 1460);
    assert!(4 * limited > 3 * packets, "{limited} of {packets} packets passed a limiter");
}

/// The function whose instructions `cargo xtask instructions` counts.
#[inline(never)]
fn timed<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let start = Instant::now();
    let done = work();
    (done, start.elapsed().as_secs_f64())
}

/// The most memory this process ever had, as far as the system reports.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}
