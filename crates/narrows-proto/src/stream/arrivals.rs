//! Arrival times of segments, as a receiver notes them if its settings request it.

use super::ack_timeout::Ato;
use super::params::Params;
use super::receive_buffer::Buffer;
use super::rtt::first_rto;
use crate::units::{Span, Time};

/// Waits and buffer of a receiver that follow arrivals.
#[derive(Clone, Debug)]
pub(super) struct Arrivals {
    ato: Ato,
    buffer: Option<Buffer>,
    /// When the SYN was answered, until the first segment.
    answered: Option<Time>,
    /// Round-trip time of the handshake; zero if it is not known.
    rtt: Span,
}

impl Arrivals {
    pub(super) fn new(params: &Params, now: Time) -> Self {
        let buffer = params.receive_buffer.as_ref().map(|settings| Buffer::new(settings, params.mss(), now));
        Self { ato: Ato::default(), buffer, answered: None, rtt: Span::ZERO }
    }

    /// On a connection that has carried a flow.
    pub(super) fn resumed(params: &Params, now: Time, ato: Ato, rtt: Span) -> Self {
        let mut arrivals = Self { ato, rtt, ..Self::new(params, now) };
        if let Some(buffer) = arrivals.buffer.as_mut().filter(|_| rtt > Span::ZERO) {
            buffer.on_handshake(rtt);
        }
        arrivals
    }

    /// State that the next flow of the connection goes on with.
    pub(super) fn path(&self) -> (Ato, Span) {
        (self.ato, self.rtt)
    }

    /// A SYN is answered. What comes after a second one measures nothing.
    pub(super) fn on_syn(&mut self, now: Time, again: bool) {
        self.answered = (!again).then_some(now);
    }

    /// A segment arrived `gap` after the one before. Returns whether that is a pause after which the sender begins slowly.
    pub(super) fn on_segment(&mut self, params: &Params, now: Time, gap: Span) -> bool {
        if let Some(answered) = self.answered.take() {
            self.rtt = now.saturating_since(answered);
            if let Some(buffer) = &mut self.buffer {
                buffer.on_handshake(self.rtt);
            }
        }
        let rto = self.rto(params);
        params.ack_timeout.as_ref().map_or(gap > params.min_rto, |settings| {
            self.ato.on_arrival(settings, gap, rto);
            gap > rto
        })
    }

    /// Everything below `next` has arrived, and `held` bytes beyond; the last unit had `len`. Returns whether the window opens.
    pub(super) fn on_data(&mut self, params: &Params, now: Time, next: u64, len: u64, held: u64) -> bool {
        let (Some(settings), Some(buffer)) = (&params.receive_buffer, &mut self.buffer) else { return false };
        buffer.on_data(settings, now, next, len, held)
    }

    /// The window to announce, zero for none.
    pub(super) fn announce(&mut self, params: &Params, next: u64, held: u64) -> u16 {
        let (Some(settings), Some(buffer)) = (&params.receive_buffer, &mut self.buffer) else { return 0 };
        buffer.announce(settings, next, held)
    }

    /// Delay of the next acknowledgment, if it follows arrivals.
    pub(super) fn wait(&self, params: &Params) -> Option<Span> {
        let settings = params.ack_timeout.as_ref()?;
        Some(params.ack_wait_of(self.ato.wait(settings, self.rtt)))
    }

    /// An acknowledgment has waited for all of its time.
    pub(super) fn on_timeout(&mut self, params: &Params) {
        let rto = self.rto(params);
        if let Some(settings) = &params.ack_timeout {
            self.ato.on_timeout(settings, rto);
        }
    }

    /// A quick or interactive mode ended.
    pub(super) fn on_slower(&mut self, params: &Params) {
        if let Some(settings) = &params.ack_timeout {
            self.ato.deflate(settings);
        }
    }

    /// The retransmission timeout that the receiver would have.
    fn rto(&self, params: &Params) -> Span {
        if self.rtt == Span::ZERO { params.initial_rto } else { first_rto(self.rtt, params.min_rto) }
    }
}
