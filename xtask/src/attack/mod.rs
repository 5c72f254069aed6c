//! Attacks on the command: kills, full disks, random combinations of mechanisms, hostile input. What is done and what was found
//! stands in docs/robustness.md, which the long form writes.

mod combinations;
mod disk;
mod jobs;
mod kills;
mod program;
mod small_disk;
mod tree;

use std::fmt::Write;

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use fastrand::Rng;
use xshell::Shell;

use self::program::Program;
use crate::{fuzz, target};

/// What the long form writes.
const PAGE: &str = "docs/robustness.md";

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The long form, which takes hours and writes docs/robustness.md
    #[arg(long)]
    long: bool,
    /// Only this; may be repeated
    #[arg(long, value_name = "ATTACK")]
    only: Vec<Attack>,
    /// Draw other moments, sizes and combinations
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// In the long form, how long each fuzzing target is fed
    #[arg(long, value_name = "SECONDS", default_value_t = 3600)]
    fuzz: u32,
}

impl Arguments {
    /// About a minute. Hostile input is a step of its own in continuous integration.
    pub(crate) fn short() -> Self {
        Self { long: false, only: Vec::new(), seed: 1, fuzz: 0 }
    }
}

/// What is done to the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Attack {
    /// SIGKILL at random moments
    Kills,
    /// A disk that is full after a random number of bytes
    Disk,
    /// Random combinations of mechanisms on one, two and three threads
    Combinations,
    /// What fuzzing makes of inputs; in the long form only
    Inputs,
}

/// What came of one attack: a row of the table.
struct Outcome {
    attack: &'static str,
    what: String,
    tried: String,
    /// One line each.
    found: Vec<String>,
}

/// An attack.
type Run = fn(&mut Ground) -> Result<Vec<Outcome>>;

/// What attacks need.
struct Ground {
    narrows: Program,
    random: Rng,
    long: bool,
}

impl Ground {
    /// One number for the short form, another for the long one.
    fn count(&self, short: usize, long: usize) -> usize {
        if self.long { long } else { short }
    }
}

/// Attacks the build of the tests, whose assertions check the balance of packets after every run. Fails if anything was found.
pub(crate) fn run(shell: &Shell, arguments: &Arguments) -> Result<()> {
    let narrows = Program::new(target::tested(shell)?);
    let is_chosen = |attack| arguments.only.is_empty() || arguments.only.contains(&attack);
    let mut outcomes = Vec::new();
    let attacks: [(Attack, Run); 3] =
        [(Attack::Kills, kills::run), (Attack::Disk, disk::run), (Attack::Combinations, combinations::run)];
    for (attack, run) in attacks {
        if is_chosen(attack) {
            // Each has random numbers of its own, so that one alone does what it does among the others.
            let random = Rng::with_seed(arguments.seed ^ ((attack as u64) << 32));
            let mut ground = Ground { narrows: narrows.clone(), random, long: arguments.long };
            outcomes.extend(run(&mut ground)?);
        }
    }
    if arguments.long && is_chosen(Attack::Inputs) {
        outcomes.extend(hostile_inputs(shell, arguments.fuzz)?);
    }
    let table = table(&outcomes);
    println!("{table}");
    if arguments.long && arguments.only.is_empty() {
        let version = narrows.succeed(&shell.current_dir(), &["--version"])?.said;
        shell.write_file(PAGE, page(version.trim(), arguments.seed, &table, &outcomes))?;
        eprintln!("wrote {PAGE}");
    }
    let found: Vec<_> = outcomes.iter().flat_map(|outcome| &outcome.found).map(String::as_str).collect();
    match found.as_slice() {
        [] => Ok(()),
        found => bail!("{} of the attacks found something:\n  {}", found.len(), found.join("\n  ")),
    }
}

fn hostile_inputs(shell: &Shell, seconds: u32) -> Result<Vec<Outcome>> {
    let outcome = |(name, fed): (&'static str, Result<()>)| Outcome {
        attack: "hostile input",
        what: format!("fuzzing target `{name}`"),
        tried: format!("{seconds} s"),
        found: fed.err().map(|error| format!("{name}: {error:#}").replace('\n', " ")).into_iter().collect(),
    };
    Ok(fuzz::feed_all(shell, &fuzz::Arguments::long(seconds))?.into_iter().map(outcome).collect())
}

fn table(outcomes: &[Outcome]) -> String {
    let mut text = String::from("| attack | on what | how often | found |\n| --- | --- | --: | --: |\n");
    for Outcome { attack, what, tried, found } in outcomes {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "| {attack} | {what} | {tried} | {} |", found.len());
    }
    text
}

fn page(version: &str, seed: u64, table: &str, outcomes: &[Outcome]) -> String {
    let mut text = format!(
        "# Robustness\n\n\
         <!-- Written by cargo xtask attack --long; do not edit. -->\n\n\
         What `cargo xtask attack --long` does to {version}, and how often that found something. Everything is drawn at random\n\
         with seed {seed}. The command attacked is the development build: its assertions check after every run that each packet\n\
         is delivered, dropped or under way.\n\n\
         {table}\n\
         - **Kills.** SIGKILL, half of them after a random time, half of them when a random number of files is there. Nothing\n\
         \u{20} that was there before may have changed. The same command is started again: the results are then the same, byte for\n\
         \u{20} byte, as without the kill, and nothing else is left.\n\
         - **Full disk.** The disk has room for a random part of what is to be written. The command fails with a message that\n\
         \u{20} names the file, and leaves nothing half written. With more room the results are the same as ever.\n\
         - **Combinations.** Networks, switches, traffic and congestion controls put together at random. A scenario that is not\n\
         \u{20} refused is run on one, two and three threads: packets are conserved, and all files are the same, byte for byte.\n\
         - **Hostile input.** Fuzzing guided by coverage (`cargo xtask fuzz`): no input makes a parser panic, take ten seconds or\n\
         \u{20} 4 GB of memory.\n"
    );
    let found: Vec<_> = outcomes.iter().flat_map(|outcome| &outcome.found).collect();
    if !found.is_empty() {
        text += "\n## Found\n\n";
        found.iter().for_each(|line| text += &format!("- {line}\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(found: &[&str]) -> Outcome {
        let found = found.iter().map(|line| (*line).to_owned()).collect();
        Outcome { attack: "kill", what: "`narrows run`".into(), tried: "50".into(), found }
    }

    #[test]
    fn the_page_has_a_row_for_each_outcome_and_all_that_was_found() {
        let outcomes = [outcome(&[]), outcome(&["attempt 3: out/run.json differs"])];
        let page = page("narrows 1.2.3", 7, &table(&outcomes), &outcomes);
        for part in [
            "narrows 1.2.3",
            "seed 7",
            "| kill | `narrows run` | 50 | 0 |\n| kill | `narrows run` | 50 | 1 |\n",
            "- attempt 3: out/run.json differs\n",
        ] {
            assert!(page.contains(part), "{part}: {page}");
        }
    }
}
