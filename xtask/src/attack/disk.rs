//! Disks that are too small.

use anyhow::Result;

use super::jobs::{COMPARE, EXPORT, Job, MERGE, NEW, REPORT, REPRO, RUN, Reference, SWEEP_ALL};
use super::small_disk::SmallDisk;
use super::tree::Tree;
use super::{Ground, Outcome};

/// Jobs that run out of room.
pub(super) const JOBS: [Job; 8] = [RUN, COMPARE, SWEEP_ALL, MERGE, REPRO, REPORT, EXPORT, NEW];
/// Sizes of the long form for each job, and of the short one.
pub(super) const SIZES: u64 = 50;
pub(super) const FEW_SIZES: u64 = 2;
/// Much more than any job needs.
const LARGE: u64 = 1 << 30;

pub(super) fn run(job: Job, ground: &mut Ground) -> Result<Outcome> {
    let sizes = ground.times;
    eprintln!("{sizes} full disks under {}", job.name);
    let reference = Reference::new(job, &ground.narrows)?;
    let mut found = Vec::new();
    for number in 0..sizes {
        // Spread over all that is too small, each at a random place of its part.
        let part = (number as f64 + ground.random.f64()) / sizes as f64;
        let problem = attack(&reference, ground, part)?;
        found.extend(
            problem.map(|problem| format!("{}, {:.1} % of the room: {problem}", job.name, part * 100.0)),
        );
    }
    Ok(Outcome { done: sizes, found })
}

/// One disk with room for a part of what is written. Returns what is wrong.
fn attack(reference: &Reference, ground: &Ground, part: f64) -> Result<Option<String>> {
    let Job { arguments, out, .. } = reference.job;
    let disk = SmallDisk::new(LARGE)?;
    reference.before.write(&disk.folder())?;
    disk.limit(&reference.before, &reference.after.below(out), part)?;
    let full = disk.program(&ground.narrows).run(&disk.folder(), arguments)?;
    let left = Tree::read(&disk.folder())?;
    if full.status.success() {
        return Ok(Some(format!("it ended with {}", full.status)));
    }
    if !full.is_refusal() {
        return Ok(Some(format!("it ended otherwise than with a message: {}", full.brief())));
    }
    if !full.said.contains(out) {
        return Ok(Some(format!("the message does not name {out}: {}", full.brief())));
    }
    if let Some(problem) =
        reference.harm(&left).or_else(|| reference.half_written(&left)).or_else(|| left.litter())
    {
        return Ok(Some(problem));
    }
    disk.lift(LARGE)?;
    let again = disk.program(&ground.narrows).run(&disk.folder(), arguments)?;
    if !again.status.success() {
        return Ok(Some(format!("with more room: {}", again.brief())));
    }
    let now = Tree::read(&disk.folder())?;
    Ok(now
        .litter()
        .or_else(|| now.difference(&reference.after))
        .map(|problem| format!("with more room: {problem}")))
}
