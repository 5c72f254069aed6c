//! SIGKILL at random moments.

use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

use anyhow::Result;
use fastrand::Rng;

use super::jobs::{Job, MERGE, REPLACE, REPRO, RUN, Reference, SWEEP_ALL};
use super::program::Program;
use super::tree::{Tree, count};
use super::{Ground, Outcome};

/// Jobs that are killed.
pub(super) const JOBS: [Job; 5] = [RUN, REPLACE, SWEEP_ALL, MERGE, REPRO];
/// Kills of the long form for each job: 200 in all.
pub(super) const KILLS: u64 = 200 / JOBS.len() as u64;
/// Kills of the short form for each job.
pub(super) const FEW_KILLS: u64 = 4;
/// Of so many attempts for each kill one comes before the command has ended.
const ATTEMPTS: u64 = 5;

/// When the command is killed.
#[derive(Clone, Copy, Debug)]
enum Moment {
    /// After this time.
    After(Duration),
    /// When so many more files and folders are there than at the beginning.
    Entries(usize),
}

pub(super) fn run(job: Job, ground: &mut Ground) -> Result<Outcome> {
    let kills = ground.times;
    eprintln!("{kills} kills of {}", job.name);
    let reference = Reference::new(job, &ground.narrows)?;
    let (mut done, mut found) = (0, Vec::new());
    for attempt in 1..=kills * ATTEMPTS {
        if done == kills {
            break;
        }
        let moment = Moment::draw(&reference, &mut ground.random);
        let (was_killed, problem) = attack(&reference, &ground.narrows, moment)?;
        done += u64::from(was_killed);
        found
            .extend(problem.map(|problem| format!("{}, attempt {attempt}, {moment:?}: {problem}", job.name)));
    }
    Ok(Outcome { done, found })
}

impl Moment {
    fn draw(reference: &Reference, random: &mut Rng) -> Self {
        if random.bool() {
            Self::After(reference.took.mul_f64(random.f64()))
        } else {
            let new = reference.after.len().saturating_sub(reference.before.len());
            Self::Entries(random.usize(1..=new.max(1)))
        }
    }

    /// Waits for the moment, or until the command has ended.
    fn wait(self, child: &mut Child, folder: &Path, began: Instant, before: usize) -> Result<()> {
        loop {
            let has_come = match self {
                Self::After(time) => began.elapsed() >= time,
                Self::Entries(more) => count(folder) >= before + more,
            };
            if has_come || child.try_wait()?.is_some() {
                return Ok(());
            }
            std::thread::sleep(Duration::from_micros(200));
        }
    }
}

/// One kill. Returns whether the command was killed, or had ended before, and what is wrong.
fn attack(reference: &Reference, narrows: &Program, moment: Moment) -> Result<(bool, Option<String>)> {
    let folder = tempfile::tempdir()?;
    let (path, arguments) = (folder.path(), reference.job.arguments);
    reference.before.write(path)?;
    let log = tempfile::NamedTempFile::new()?;
    let before = count(path);
    let began = Instant::now();
    let mut child = narrows.start(path, arguments, log.path())?;
    moment.wait(&mut child, path, began, before)?;
    // It may have ended just now.
    let _ = child.kill();
    let was_killed = child.wait()?.code().is_none();
    let left = Tree::read(path)?;
    if let Some(problem) = reference.harm(&left).or_else(|| reference.half_written(&left)) {
        return Ok((was_killed, Some(format!("after the kill: {problem}"))));
    }
    // What has been written as a whole need not be written again, and the command may say so.
    let is_there = left.below(reference.job.out) == reference.after.below(reference.job.out);
    let again = narrows.run(path, arguments)?;
    let has_said_so = is_there && again.is_refusal();
    if !again.status.success() && !has_said_so {
        return Ok((was_killed, Some(format!("started again: {}", again.brief()))));
    }
    let now = Tree::read(path)?;
    let problem = now.litter().or_else(|| now.difference(&reference.after));
    Ok((was_killed, problem.map(|problem| format!("started again: {problem}"))))
}
