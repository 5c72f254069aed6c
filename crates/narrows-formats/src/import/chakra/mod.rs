//! Chakra execution traces: a file of protobuf messages for each rank.
//!
//! A file is a sequence of messages, each after its length: metadata, then nodes. Computations, sends and receives become tasks;
//! collectives become the messages of a ring, or of a direct all-to-all, among the ranks that have the same process group.

mod expand;
mod file;
mod proto;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use narrows::diagnostic::{Checked, Code, Diagnostic};
use narrows::input_file;

use self::expand::{Tasks, What};
pub use self::file::RankFile;
use super::schedule::{self, MOST_RANKS, Rows, Star};
use super::{Imported, Note};

/// Reads `<prefix>.0.et`, `<prefix>.1.et` and so on, and makes a scenario called `name` of them.
///
/// # Errors
/// If there is no file, or one is not what it should be.
pub fn import(prefix: &Path, star: &Star, name: &str) -> Checked<Imported> {
    let path = |rank: u32| {
        let mut path = prefix.as_os_str().to_owned();
        path.push(format!(".{rank}.et"));
        PathBuf::from(path)
    };
    let mut files = Vec::new();
    // What all files have together is what one may have.
    let mut left = input_file::LARGEST_TABLE;
    while files.is_empty() || path(files.len() as u32).exists() {
        let path = path(files.len() as u32);
        let bytes = input_file::read_bytes(&path, left).map_err(|error| {
            let message = format!("cannot read {}: {error}", path.display());
            let help = "the files of a trace are PREFIX.0.et, PREFIX.1.et and so on";
            Diagnostic::error(Code::InputFailed, message).help(help)
        })?;
        let file = RankFile::new(&path.display().to_string(), bytes, left)?;
        left = left.saturating_sub(file.size());
        files.push(file);
        if files.len() as u32 > MOST_RANKS {
            let message = format!("more than {MOST_RANKS} ranks, which a switch has no ports for");
            return Err(Diagnostic::error(Code::ForeignFile, message).into());
        }
    }
    convert(&files, star, name)
}

/// The same with files that are read already, that of rank 0 first.
///
/// # Errors
/// If a file is not what it should be, a message is not received, or ranks do not agree on a collective.
pub fn convert(files: &[RankFile], star: &Star, name: &str) -> Checked<Imported> {
    let mut notes = Vec::new();
    let ranks = expand::ranks(files, &mut notes)?;
    let matched = matched(files, &ranks)?;
    let mut rows = Rows::new();
    for (rank, tasks) in (0..).zip(&ranks) {
        let mut order: Vec<_> = (0..tasks.all.len()).collect();
        // Receives in the order in which their messages are sent.
        order.sort_by_key(|place| matched.get(&(rank, *place)).copied().unwrap_or_default());
        for place in order {
            let task = &tasks.all[place];
            let after = task.after.iter().map(|of| format!("t{of}")).collect::<Vec<_>>().join(" ");
            let id = format!("t{place}");
            match task.what {
                What::Send { to, bytes, .. } => rows.send(rank, &id, to, bytes, &after),
                What::Receive { from, .. } => rows.receive(rank, &id, from, &after),
                What::Compute { ns } => rows.compute(rank, &id, ns, &after),
            }
        }
    }
    let nodes: usize = files.iter().map(RankFile::nodes).sum();
    let read = vec![format!("ranks: {}, nodes: {nodes}, messages: {}", files.len(), matched.len())];
    notes.push(Note::new("order", "what does not wait for each other runs at once; ASTRA-sim does one computation and one collective of a rank at a time"));
    Ok(schedule::scenario("Imported from Chakra.", name, files.len() as u32, star, rows, (read, notes)))
}

/// By rank and task that receives: rank and task that sends. Messages match by tag, in order.
type Matched = BTreeMap<(u32, usize), (u32, usize)>;

fn matched(files: &[RankFile], ranks: &[Tasks]) -> Checked<Matched> {
    let mut sends: BTreeMap<_, std::collections::VecDeque<usize>> = BTreeMap::new();
    for (rank, tasks) in (0..).zip(ranks) {
        for (place, task) in tasks.all.iter().enumerate() {
            if let What::Send { to, tag, .. } = task.what {
                sends.entry((rank, to, tag)).or_default().push_back(place);
            }
        }
    }
    let mut matched = Matched::new();
    for (rank, tasks) in (0..).zip(ranks) {
        for (place, task) in tasks.all.iter().enumerate() {
            let What::Receive { from, tag } = task.what else { continue };
            let send = sends.get_mut(&(from, rank, tag)).and_then(std::collections::VecDeque::pop_front);
            let Some(send) = send else {
                let message = format!("rank {from} sends nothing for this receive");
                return Err(files[rank as usize].error(task.node, &message));
            };
            matched.insert((rank, place), (from, send));
        }
    }
    for ((rank, to, _), left) in sends {
        if let Some(send) = left.front() {
            let node = ranks[rank as usize].all[*send].node;
            return Err(
                files[rank as usize].error(node, &format!("rank {to} has no receive for this message"))
            );
        }
    }
    Ok(matched)
}

#[cfg(test)]
mod tests;
