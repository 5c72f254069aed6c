//! Connections as a trace, and triggers as flows that wait.

use std::collections::BTreeMap;
use std::fmt::Write;

use narrows::diagnostic::{Checked, Code, Diagnostic};

use super::super::Note;
use super::{Connection, Matrix, Start, Trigger};

/// Longer columns together are refused: a barrier over everything writes every id into every row.
const LONGEST: usize = 256 << 20;

/// The trace, with flows that wait if there are triggers.
pub(super) fn trace(matrix: &Matrix, notes: &mut Vec<Note>) -> Checked<String> {
    let waits = Waits::new(matrix, notes)?;
    let mut text = String::from("start,src,dst,bytes,id,after\n");
    // Multishot triggers start one target at each activation, in the order of the file.
    let mut shots: BTreeMap<u32, usize> = BTreeMap::new();
    for (number, connection) in matrix.connections.iter().enumerate() {
        let (start, after) = match connection.start {
            Start::At(start) => (start.to_string(), String::new()),
            Start::Trigger(trigger) => {
                let shot = shots.entry(trigger).or_default();
                *shot += 1;
                ("0 s".into(), waits.after(matrix, trigger, *shot)?)
            }
        };
        let Connection { src, dst, size, .. } = *connection;
        let size = if size == 0 { 1 << 60 } else { size };
        let _ = writeln!(text, "{start},host{src},host{dst},{size},{},{after}", id(number, connection));
        if text.len() > LONGEST {
            let message = "the triggers come to more than 256 MiB of dependencies";
            return Err(Diagnostic::error(Code::ForeignFile, message).into());
        }
    }
    Ok(text)
}

/// Id of a flow.
fn id(number: usize, connection: &Connection) -> String {
    match (connection.id, connection.msg) {
        (Some(id), _) if connection.shared => format!("f{id}n{number}"),
        (Some(id), None) => format!("f{id}"),
        (Some(id), Some(msg)) => format!("f{id}m{msg}"),
        (None, _) => format!("n{number}"),
    }
}

/// Who activates which trigger.
struct Waits {
    by_trigger: BTreeMap<u32, (usize, String)>,
}

impl Waits {
    fn new(matrix: &Matrix, notes: &mut Vec<Note>) -> Checked<Self> {
        let mut by_trigger: BTreeMap<u32, (usize, String)> = BTreeMap::new();
        for (number, connection) in matrix.connections.iter().enumerate() {
            for (trigger, sent) in [(connection.recv_done, ""), (connection.send_done, "sent:")] {
                let Some(trigger) = trigger else { continue };
                let (count, ids) = by_trigger.entry(trigger).or_default();
                *count += 1;
                let blank = if ids.is_empty() { "" } else { " " };
                let _ = write!(ids, "{blank}{sent}{}", id(number, connection));
            }
        }
        let mut far = 0;
        for (id, trigger) in &matrix.triggers {
            let activations = by_trigger.get(id).map_or(0, |(count, _)| *count);
            let targets =
                matrix.connections.iter().filter(|connection| connection.start == Start::Trigger(*id));
            let targets = targets.count();
            far += usize::from(targets > 0);
            let fits = match trigger {
                Trigger::Oneshot => activations == 1,
                Trigger::Multishot => activations >= targets,
                Trigger::Barrier(count) => activations == *count as usize,
            };
            if !fits && (targets > 0 || activations > 0) {
                let message = match trigger {
                    Trigger::Oneshot => {
                        format!("oneshot trigger {id} is activated {activations} times, expected once")
                    }
                    Trigger::Multishot => format!(
                        "multishot trigger {id} starts {targets} connections, one at a time, but is activated {activations} times"
                    ),
                    Trigger::Barrier(count) => {
                        format!("barrier {id} counts to {count}, but {activations} connections activate it")
                    }
                };
                return Err(Diagnostic::error(Code::ForeignFile, message).into());
            }
        }
        if far > 0 {
            let why = "between hosts the notification takes as long as a packet over the empty network; in htsim it takes no time";
            notes.push(Note::new("triggers", why));
        }
        Ok(Self { by_trigger })
    }

    /// Flows that the target number `shot` of a trigger waits for.
    fn after(&self, matrix: &Matrix, trigger: u32, shot: usize) -> Checked<String> {
        let Some((count, ids)) = self.by_trigger.get(&trigger) else {
            let message = format!("trigger {trigger} starts connections, but nothing activates it");
            return Err(Diagnostic::error(Code::ForeignFile, message).into());
        };
        Ok(match matrix.triggers.get(&trigger) {
            Some(Trigger::Multishot) if *count > 1 => format!("{shot} of {ids}"),
            _ => ids.clone(),
        })
    }
}
