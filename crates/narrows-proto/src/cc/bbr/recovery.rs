use super::super::Ack;
use crate::units::Bytes;

/// Effect of a loss on the window: for one round only what is delivered may be replaced, then the window grows again, and
/// at the end of the repair it is what it was before.
#[derive(Clone, Debug)]
pub(super) struct Recovery {
    state: State,
    /// The window to return to.
    saved: Bytes,
    /// Packet conservation lasts until data is acknowledged that was sent after this much had been delivered.
    conserving: Option<Bytes>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Open,
    Repair,
    /// After a timeout, until this much is delivered.
    Timeout {
        until: Bytes,
    },
}

impl Recovery {
    pub(super) fn new() -> Self {
        Self { state: State::Open, saved: Bytes::ZERO, conserving: None }
    }

    /// Notes the window to return to. One that is `held` down already is less than that.
    pub(super) fn save(&mut self, cwnd: Bytes, held: bool) {
        self.saved = if held || self.state != State::Open { self.saved.max(cwnd) } else { cwnd };
    }

    /// The window noted last, or `cwnd` if it is larger.
    pub(super) fn restored(&self, cwnd: Bytes) -> Bytes {
        cwnd.max(self.saved)
    }

    /// A loss was noticed; the acknowledgment that reports the repair follows.
    pub(super) fn on_loss(&mut self, cwnd: Bytes, held: bool) {
        self.save(cwnd, held);
        if let State::Timeout { .. } = self.state {
            // The transport repairs one thing at a time, so the timeout is over.
            self.state = State::Open;
        }
    }

    /// The timer expired while `flight_size` was outstanding and `delivered` had been delivered.
    pub(super) fn on_timeout(&mut self, cwnd: Bytes, held: bool, delivered: Bytes, flight_size: Bytes) {
        self.save(cwnd, held);
        self.state = State::Timeout { until: delivered.saturating_add(flight_size) };
        self.conserving = None;
    }

    /// The repair is over or was needless. Returns the window to go on with.
    pub(super) fn leave(&mut self, cwnd: Bytes) -> Bytes {
        self.conserving = None;
        match std::mem::replace(&mut self.state, State::Open) {
            State::Open => cwnd,
            State::Repair | State::Timeout { .. } => self.restored(cwnd),
        }
    }

    /// The window after an acknowledgment of data sent when `sent_after` had been delivered, and whether it must not
    /// grow beyond that. `lost` is what was given up as lost now.
    pub(super) fn window(&mut self, ack: &Ack, sent_after: Bytes, lost: Bytes, cwnd: Bytes) -> (Bytes, bool) {
        if self.conserving.is_some_and(|until| sent_after >= until) {
            self.conserving = None;
        }
        let replaced = ack.inflight.saturating_add(ack.acked);
        let mut cwnd = cwnd.saturating_sub(lost);
        match (self.state, ack.in_recovery) {
            (State::Open | State::Timeout { .. }, true) => {
                self.state = State::Repair;
                self.conserving = Some(ack.delivered);
                cwnd = replaced;
            }
            (State::Repair, false) => cwnd = self.leave(cwnd),
            (State::Timeout { until }, false) if ack.delivered >= until => cwnd = self.leave(cwnd),
            _ => {}
        }
        if self.conserving.is_some() { (cwnd.max(replaced), true) } else { (cwnd, false) }
    }
}
