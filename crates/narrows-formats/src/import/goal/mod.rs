//! GOAL, the schedules of LogGOPSim and ATLAHS, as text.
//!
//! Sends, receives and computations of each rank become a schedule. Messages are matched here, by source and tag in order, as MPI does;
//! what was started counts as a task of its own where others wait for that (`irequires`).

mod matching;
mod parse;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use narrows::diagnostic::{Checked, Source};

pub use self::parse::{Goal, Operation, Rank, What};
use super::schedule::{self, Rows, Star};
use super::{Imported, Note};

/// Reads the file and makes a scenario called `name` of it.
///
/// # Errors
/// If the file is missing or not what it should be.
pub fn import(path: &Path, star: &Star, name: &str) -> Checked<Imported> {
    convert(&super::read(path)?, star, name)
}

/// The same with a text that is read already.
///
/// # Errors
/// If the text is not what it should be, a message is not received, or what ranks do waits for itself.
pub fn convert(source: &Arc<Source>, star: &Star, name: &str) -> Checked<Imported> {
    let goal = Goal::parse(source)?;
    let matched = matching::messages(&goal)?;
    let mut rows = Rows::new();
    for (number, rank) in &goal.ranks {
        let waited: BTreeSet<_> = rank.operations.iter().flat_map(|of| of.requires.iter().copied()).collect();
        let started: BTreeSet<_> =
            rank.operations.iter().flat_map(|of| of.irequires.iter().copied()).collect();
        // Receives in the order in which their messages are sent.
        let mut order: Vec<_> = (0..rank.operations.len()).collect();
        order.sort_by_key(|place| matched.get(&(*number, *place)).copied().unwrap_or_default());
        for place in order {
            let operation = &rank.operations[place];
            let ends = operation.requires.iter().map(|of| format!("e{of}"));
            let starts = operation.irequires.iter().map(|of| format!("s{of}"));
            let mut after = ends.chain(starts).collect::<Vec<_>>().join(" ");
            if started.contains(&place) {
                rows.compute(*number, &format!("s{place}"), 0, &after);
                after = format!("s{place}");
            }
            let id = if waited.contains(&place) { format!("e{place}") } else { String::new() };
            match operation.what {
                What::Send { to, bytes, .. } => rows.send(*number, &id, to, bytes.max(1), &after),
                What::Receive { from, .. } => rows.receive(*number, &id, from, &after),
                What::Compute { ns } => rows.compute(*number, &id, ns, &after),
            }
        }
    }
    let read = vec![format!(
        "ranks: {}, messages: {}, computations: {}",
        goal.count,
        matched.len(),
        goal.operations().filter(|of| matches!(of.what, What::Compute { .. })).count()
    )];
    Ok(schedule::scenario("Imported from GOAL.", name, goal.count, star, rows, (read, notes(&goal))))
}

fn notes(goal: &Goal<'_>) -> Vec<Note> {
    let mut notes = Vec::new();
    let mut note = |is_there: bool, what: &str, why: &str| {
        notes.extend(is_there.then(|| Note::new(what, why)));
    };
    let any = |is_it: fn(&Operation<'_>) -> bool| goal.operations().any(is_it);
    note(true, "calc", "in ns; those of one cpu that do not wait for each other run at once");
    note(
        true,
        "send",
        "ends when the sender knows that all has arrived, and never waits for the receive (S = infinite, o = g = 0)",
    );
    note(
        any(|of| of.cpu != 0 || of.nic != 0),
        "cpu, nic",
        "a rank has one network card, and its processors do not wait for each other",
    );
    note(
        any(|of| matches!(of.what, What::Receive { tag: None, .. })),
        "recv with tag -1",
        "takes the first message of its source that no other receive takes",
    );
    note(any(|of| matches!(of.what, What::Send { bytes: 0, .. })), "messages of 0 b", "have 1 byte");
    notes
}
