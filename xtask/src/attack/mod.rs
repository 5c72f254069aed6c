//! Attacks on the command: kills, full disks, random combinations of mechanisms, hostile input. What is done and what was found
//! stands in docs/robustness.md. The long form adds to it, part by part.

mod combinations;
mod disk;
mod jobs;
mod kills;
mod program;
mod record;
mod small_disk;
mod tree;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Mutex;

use anyhow::{Context, Result, bail, ensure};
use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};
use fastrand::Rng;
use xshell::{Shell, cmd};

use self::jobs::Job;
use self::program::Program;
use self::record::{Record, Row, Unit, Version};
use self::small_disk::SmallDisk;
use crate::fuzz::Fed;
use crate::{fuzz, target};

/// Record of the long form so far, and its page.
const RECORD: &str = "docs/robustness.json";
const PAGE: &str = "docs/robustness.md";
/// So much of one part is done before it is recorded.
const BLOCK: u64 = 50;
/// Processor time that the long form asks for each fuzzing target, in seconds.
const FUZZING: u64 = 3600;
/// A target is fed for at least and at most so many seconds before it is recorded.
const TURN: [u64; 2] = [10, 120];

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The long form, which takes hours: does what docs/robustness.json lacks, and writes docs/robustness.md
    #[arg(long)]
    long: bool,
    /// Only this; may be repeated
    #[arg(long, value_name = "ATTACK")]
    only: Vec<Attack>,
    /// Draw other moments, sizes and combinations
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// In the long form, for how much processor time each fuzzing target is fed in this call; what the record lacks if left out
    #[arg(long, value_name = "SECONDS")]
    fuzz: Option<u64>,
    /// Of the fuzzing targets only this; may be repeated
    #[arg(long, value_name = "TARGET", value_parser = PossibleValuesParser::new(fuzz::names()))]
    target: Vec<String>,
}

impl Arguments {
    /// About a minute. What hostile input must not do is among the tests of the command (`tests/cli/inputs.rs`).
    pub(crate) fn short() -> Self {
        Self { long: false, only: Vec::new(), seed: 1, fuzz: None, target: Vec::new() }
    }
}

/// Kinds of attacks on the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Attack {
    /// SIGKILL at random moments
    Kills,
    /// A disk that is full after a random number of bytes
    Disk,
    /// Random combinations of mechanisms on one, two and three threads
    Combinations,
    /// Inputs from fuzzing; in the long form only
    Inputs,
}

/// Outcome of one attack.
struct Outcome {
    /// Number of attempts.
    done: u64,
    /// One line each.
    found: Vec<String>,
}

/// Needs of all attacks.
struct Ground {
    narrows: Program,
    random: Rng,
    /// Number of attempts for each attack.
    times: u64,
}

/// An attack on one thing: a row of the record.
#[derive(Clone, Copy, Debug)]
enum Part {
    Kills(Job),
    Disk(Job),
    Combinations,
    Input(&'static str),
}

impl Part {
    fn all() -> Vec<Self> {
        let kills = kills::JOBS.into_iter().map(Self::Kills);
        let disks = disk::JOBS.into_iter().map(Self::Disk);
        let inputs = fuzz::names().map(Self::Input);
        kills.chain(disks).chain([Self::Combinations]).chain(inputs).collect()
    }

    fn attack(self) -> Attack {
        match self {
            Self::Kills(_) => Attack::Kills,
            Self::Disk(_) => Attack::Disk,
            Self::Combinations => Attack::Combinations,
            Self::Input(_) => Attack::Inputs,
        }
    }

    /// With nothing done. Disks are made small in this way (see [`SmallDisk::kind`]).
    fn row(self, disks: &str, long: bool) -> Row {
        let times = |few, many| if long { many } else { few };
        match self {
            Self::Kills(job) => {
                Row::new("kill", job.name, Unit::Times, times(kills::FEW_KILLS, kills::KILLS))
            }
            Self::Disk(job) => {
                let attack = format!("full disk ({disks})");
                Row::new(&attack, job.name, Unit::Times, times(disk::FEW_SIZES, disk::SIZES))
            }
            Self::Combinations => {
                let times = times(combinations::FEW_COMBINATIONS, combinations::COMBINATIONS);
                Row::new("combination", "all mechanisms on 1, 2 and 3 threads", Unit::Times, times)
            }
            Self::Input(target) => {
                let what = format!("fuzzing target `{target}`");
                Row::new("hostile input", &what, Unit::ProcessorSeconds, FUZZING)
            }
        }
    }
}

/// The record, and what this call adds to it.
struct Ledger {
    root: PathBuf,
    version: Version,
    /// With nothing done.
    plan: Vec<Row>,
    record: Record,
    /// Only the long form stores it.
    is_stored: bool,
    found: Vec<String>,
}

impl Ledger {
    fn new(shell: &Shell, narrows: &Program, parts: &[Part], long: bool) -> Result<Self> {
        let root = shell.current_dir();
        let version = narrows.succeed(&root, &["--version"])?.said.trim().to_owned();
        let version = Version { version, date: cmd!(shell, "git log -1 --format=%cs").quiet().read()? };
        let disks = SmallDisk::kind()?;
        let plan = parts.iter().map(|part| part.row(disks, long)).collect();
        let record = Record::default();
        let mut ledger = Self { root, version, plan, record, is_stored: long, found: Vec::new() };
        ledger.read()?;
        Ok(ledger)
    }

    fn read(&mut self) -> Result<()> {
        if let Ok(text) = std::fs::read_to_string(self.root.join(RECORD))
            && self.is_stored
        {
            self.record = serde_json::from_str(&text).with_context(|| format!("{RECORD} is damaged"))?;
        }
        self.record.plan(&self.plan);
        Ok(())
    }

    fn add(&mut self, row: usize, done: u64, found: Vec<String>) -> Result<()> {
        // Another call may have added something.
        self.read()?;
        self.found.extend_from_slice(&found);
        self.record.rows[row].add(done, found, &self.version);
        if self.is_stored {
            let text = serde_json::to_string_pretty(&self.record)?;
            std::fs::write(self.root.join(RECORD), text + "\n")?;
            std::fs::write(self.root.join(PAGE), self.record.page())?;
        }
        Ok(())
    }

    /// Repeats an attack until its row lacks nothing, or it finds something.
    fn repeat(
        &mut self,
        row: usize,
        narrows: &Program,
        seed: u64,
        attack: impl Fn(&mut Ground) -> Result<Outcome>,
    ) -> Result<()> {
        while let missing @ 1.. = self.record.rows[row].missing() {
            let before = self.record.rows[row].done;
            // Each part has random numbers of its own, so that one alone does what it does among the others.
            let random = [row as u64, before]
                .into_iter()
                .fold(Rng::with_seed(seed), |mut random, number| Rng::with_seed(random.u64(..) ^ number));
            let mut ground = Ground { narrows: narrows.clone(), random, times: missing.min(BLOCK) };
            let Outcome { done, found } = attack(&mut ground)?;
            ensure!(done > 0, "none of the attempts was an attack");
            let found: Vec<_> =
                found.into_iter().map(|line| format!("{line} (seed {seed}, after {before})")).collect();
            let has_found = !found.is_empty();
            self.add(row, done, found)?;
            if has_found {
                break;
            }
        }
        Ok(())
    }
}

/// Attacks the build of the tests, whose assertions check after every run what no network can do. Fails if anything was found.
pub(crate) fn run(shell: &Shell, arguments: &Arguments) -> Result<()> {
    // A copy: the long form goes on while others build.
    let copy = tempfile::tempdir()?;
    let program = copy.path().join("narrows");
    std::fs::copy(target::tested(shell)?, &program)?;
    let narrows = Program::new(program);
    let is_chosen = |part: &Part| arguments.only.is_empty() || arguments.only.contains(&part.attack());
    let mut parts = Part::all();
    parts.retain(|part| arguments.long || (is_chosen(part) && part.attack() != Attack::Inputs));
    let mut ledger = Ledger::new(shell, &narrows, &parts, arguments.long)?;
    let (seed, mut targets) = (arguments.seed, Vec::new());
    for (row, part) in parts.into_iter().enumerate().filter(|(_, part)| is_chosen(part)) {
        match part {
            Part::Kills(job) => ledger.repeat(row, &narrows, seed, |ground| kills::run(job, ground))?,
            Part::Disk(job) => ledger.repeat(row, &narrows, seed, |ground| disk::run(job, ground))?,
            Part::Combinations => ledger.repeat(row, &narrows, seed, combinations::run)?,
            Part::Input(target) => {
                if arguments.target.is_empty() || arguments.target.iter().any(|other| other == target) {
                    targets.push((target, row));
                }
            }
        }
    }
    let ledger = feed(shell, ledger, &targets, arguments.fuzz)?;
    println!("{}", ledger.record.table());
    match ledger.found.as_slice() {
        [] => Ok(()),
        found => bail!("{} of the attacks found something:\n  {}", found.len(), found.join("\n  ")),
    }
}

/// Feeds fuzzing targets with these rows for so many seconds each, or for as many as their rows lack.
fn feed(
    shell: &Shell,
    ledger: Ledger,
    targets: &[(&'static str, usize)],
    seconds: Option<u64>,
) -> Result<Ledger> {
    let goal = |row: &Row| row.done + seconds.unwrap_or(row.missing());
    let goals: BTreeMap<_, _> =
        targets.iter().map(|&(target, row)| (target, (row, goal(&ledger.record.rows[row])))).collect();
    let next = |ledger: &Ledger, target| {
        let (row, goal) = goals[target];
        let left = goal.saturating_sub(ledger.record.rows[row].done);
        (left > 0).then(|| left.clamp(TURN[0], TURN[1]))
    };
    let first = targets.iter().filter_map(|&(target, _)| Some((target, next(&ledger, target)?))).collect();
    let ledger = Mutex::new(ledger);
    fuzz::feed_in_turns(shell, first, |target, fed| {
        let Fed { processor_seconds, found } = fed;
        let found: Vec<_> = found.map(|found| found.summary).into_iter().collect();
        let has_found = !found.is_empty();
        let mut ledger = ledger.lock().expect("no turn panics");
        ledger.add(goals[target].0, processor_seconds, found)?;
        Ok(next(&ledger, target).filter(|_| !has_found))
    })?;
    Ok(ledger.into_inner().expect("no turn panics"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_parts_have_the_same_row() {
        let parts = Part::all();
        let rows: std::collections::BTreeSet<_> =
            parts.iter().map(|part| part.row("tmpfs", true)).map(|row| (row.attack, row.what)).collect();
        assert_eq!(rows.len(), parts.len());
    }

    #[test]
    fn the_long_form_asks_for_two_hundred_kills() {
        let rows = Part::all().into_iter().map(|part| part.row("tmpfs", true));
        assert_eq!(rows.filter(|row| row.attack == "kill").map(|row| row.asked).sum::<u64>(), 200);
    }
}
