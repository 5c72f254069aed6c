use narrows_proto::cc::{Inside, MOST_INSIDE};
use narrows_proto::units::{Span, Time};

use super::rows::{FlowTurns, gather};
use super::{Observer, SenderRef};
use crate::ids::FlowId;

/// A value that the congestion control of a flow keeps, at its first acknowledgment in an interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StateRow {
    /// When.
    pub at: Time,
    /// Whose.
    pub flow: FlowId,
    /// Which.
    pub name: &'static str,
    /// The value.
    pub value: Inside,
}

/// Watches what congestion controls keep besides their limits: at most one row per flow, name and interval. What is infinite has
/// no row.
#[derive(Clone, Debug)]
pub struct StateObserver {
    turns: FlowTurns,
    rows: Vec<StateRow>,
}

impl StateObserver {
    /// Watches these of `flows` flows.
    ///
    /// # Panics
    /// If the interval is zero.
    pub fn new(interval: Span, flows: usize, watched: &[FlowId]) -> Self {
        Self { turns: FlowTurns::new(interval, flows, watched), rows: Vec::new() }
    }

    /// All rows of these observers, by time and flow; those of one flow at one time in the order in which its control reports
    /// them.
    pub fn finish(observers: impl IntoIterator<Item = Self>) -> Vec<StateRow> {
        let mut rows = gather(observers.into_iter().map(|observer| observer.rows));
        rows.sort_by_key(|row| (row.at, row.flow));
        rows
    }
}

impl Observer for StateObserver {
    const BY_LINK: bool = true;

    fn window(&mut self, at: Time, flow: FlowId, sender: SenderRef<'_>) {
        if !self.turns.take(at, flow) {
            return;
        }
        let mut reported = 0;
        sender.inside(&mut |name, value| {
            reported += 1;
            if reported <= MOST_INSIDE && value.number().is_none_or(f64::is_finite) {
                self.rows.push(StateRow { at, flow, name, value });
            }
        });
    }
}
