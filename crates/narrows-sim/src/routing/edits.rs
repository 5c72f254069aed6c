//! Rows of the routes of one switch that change soon.

use narrows_proto::units::Time;

use super::Routes;
use super::changes::NewRow;

/// Rows that change, in order of time.
#[derive(Debug)]
pub(crate) struct Edits {
    rows: Vec<Edit>,
    /// When the first does; never if there is none.
    pub(crate) next: Time,
}

#[derive(Debug)]
struct Edit {
    at: Time,
    leaf: usize,
    ports: Box<[u16]>,
    down: bool,
}

impl Default for Edits {
    fn default() -> Self {
        Self { rows: Vec::new(), next: Time::NEVER }
    }
}

impl Edits {
    /// A row is another from this moment on, which is not before that of the last.
    pub(crate) fn push(&mut self, at: Time, row: &NewRow<'_>) {
        self.next = self.next.min(at);
        self.rows.push(Edit { at, leaf: row.leaf, ports: row.ports.into(), down: row.down });
    }

    /// Changes the rows that are others at `now`.
    pub(crate) fn apply(&mut self, now: Time, routes: &mut Routes) {
        let due = self.rows.partition_point(|edit| edit.at <= now);
        for edit in self.rows.drain(..due) {
            routes.set_row(edit.leaf, &edit.ports, edit.down);
        }
        self.next = self.rows.first().map_or(Time::NEVER, |edit| edit.at);
    }
}
