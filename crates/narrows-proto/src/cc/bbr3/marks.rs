//! Marks as Linux reads them.

use super::super::Ack;
use super::params::EcnParams;
use crate::units::Bytes;

#[derive(Clone, Debug)]
pub(super) struct Marks {
    /// The average of the marked part, over rounds.
    pub(super) alpha: f64,
    acked: Bytes,
    marked: Bytes,
    /// Rounds one after the other of which too much was marked.
    pub(super) rounds_full: u32,
    /// Something was marked in the round that bounds follow.
    pub(super) in_round: bool,
    /// The round before had marks, and the one that just ended had none.
    pub(super) ceased: bool,
    had_marks: bool,
}

impl Default for Marks {
    fn default() -> Self {
        Self {
            alpha: 1.0,
            acked: Bytes::ZERO,
            marked: Bytes::ZERO,
            rounds_full: 0,
            in_round: false,
            ceased: false,
            had_marks: false,
        }
    }
}

impl Marks {
    /// Marks say something on this path if it `counts`.
    pub(super) fn on_ack(&mut self, params: &EcnParams, ack: &Ack, round_began: bool, counts: bool) {
        self.acked = self.acked.saturating_add(ack.acked);
        self.marked = self.marked.saturating_add(ack.marked);
        self.ceased = false;
        if round_began && self.acked > Bytes::ZERO {
            self.end_round(params, counts);
        }
        self.in_round |= counts && ack.marked > Bytes::ZERO;
    }

    fn end_round(&mut self, params: &EcnParams, counts: bool) {
        let part = if counts { self.marked.as_f64() / self.acked.as_f64() } else { 0.0 };
        self.alpha += params.gain * (part - self.alpha);
        self.rounds_full = if part >= params.threshold { self.rounds_full + 1 } else { 0 };
        self.ceased = self.had_marks && part == 0.0;
        self.had_marks = part > 0.0;
        self.acked = Bytes::ZERO;
        self.marked = Bytes::ZERO;
    }
}
