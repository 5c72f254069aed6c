//! State that the acknowledgments of a kept connection follow, from one flow to the next.
//!
//! ```text
//! Quick        as many as the flow before has left, and again after a pause               tcp_event_data_recv of Linux
//! Interactive  once something is sent the other way less than ato after an arrival        tcp_event_data_sent
//!              until an acknowledgment has waited for all of its time                     tcp_delack_timer_handler
//! ```
//! While a connection is interactive (pingpong mode) no acknowledgment is quick. Linux 4.9 has a flag for it, 6.12 a counter with a
//! threshold of 1 (`tcp_pingpong_thresh`), which is the same.

use super::ack_timeout::Ato;
use super::params::Params;
use crate::units::{Span, Time};

/// The receiving end of a connection between two flows.
#[derive(Clone, Copy, Debug)]
pub struct AckState {
    /// Of the last segment; [`Time::NEVER`] if the settings do not request it.
    pub(super) arrived: Time,
    /// Acknowledgments that will not wait.
    pub(super) quick: u64,
    pub(super) interactive: bool,
    pub(super) ato: Ato,
    /// Round-trip time of the handshake; zero if it is not known.
    pub(super) rtt: Span,
}

impl AckState {
    /// This end sends a flow over the connection.
    pub fn on_sent(&mut self, params: &Params, now: Time) {
        let ato = if params.ack_timeout.is_some() { self.ato.get() } else { params.ack_wait() };
        self.interactive |= self.arrived < Time::NEVER && now.saturating_since(self.arrived) < ato;
    }

    /// No acknowledgment is quick.
    pub fn is_interactive(&self) -> bool {
        self.interactive
    }
}

#[cfg(test)]
mod tests {
    use super::super::{AckTimeout, Receiver, Segment};
    use super::*;
    use crate::cc::Ecn;

    /// Settings of Linux.
    fn params() -> Params {
        Params { quick_acks: Some(16), ack_timeout: Some(AckTimeout::default()), ..Params::default() }
    }

    fn ms(ms: u64) -> Time {
        Time::ZERO + Span::from_ms(ms)
    }

    /// A flow of so many segments arrives at once: the acknowledgments of it, and what is left of the connection.
    fn receive(params: &Params, state: Option<AckState>, now: Time, segments: u64) -> (usize, AckState) {
        let mut receiver = match state {
            None => Receiver::new(Ecn::Off),
            Some(state) => Receiver::resume(Ecn::Off, params, now, state),
        };
        let mut acks = 0;
        for number in 0..segments {
            let fin = number + 1 == segments;
            let segment = Segment { seq: number * 1000, len: 1000, fin, ..Segment::default() };
            receiver.on_segment(params, now, &segment, |_| acks += 1);
        }
        (acks, receiver.ack_state())
    }

    #[test]
    fn a_client_that_asks_again_soon_acknowledges_responses_by_pairs() {
        let params = params();
        // The first response of ten segments has ten quick acknowledgments of sixteen.
        let (acks, mut state) = receive(&params, None, ms(1), 10);
        assert_eq!(acks, 10);
        // The next request leaves 39 ms later, 1 ms before an acknowledgment would have waited for all of its time.
        state.on_sent(&params, ms(40));
        let (acks, mut state) = receive(&params, Some(state), ms(41), 10);
        assert_eq!(acks, 5);
        // A pause, even one of more than the timeout, does not end it.
        state.on_sent(&params, ms(2000));
        assert_eq!(receive(&params, Some(state), ms(2001), 10).0, 5);
    }

    #[test]
    fn a_client_that_takes_its_time_uses_up_its_quick_acknowledgments() {
        let params = params();
        let (_, mut state) = receive(&params, None, ms(1), 10);
        state.on_sent(&params, ms(41));
        assert!(!state.is_interactive());
        // Six that are left, and two of the other four segments.
        let (acks, state) = receive(&params, Some(state), ms(42), 10);
        assert_eq!(acks, 8);
        assert_eq!(receive(&params, Some(state), ms(100), 10).0, 5, "there are none left");
        // The receiver's own timeout is 1 s.
        assert_eq!(receive(&params, Some(state), ms(1043), 10).0, 10, "a pause brings back sixteen");
    }

    #[test]
    fn an_acknowledgment_that_waits_in_vain_ends_the_interactive_mode_and_brings_back_what_is_left() {
        let params = params();
        let (_, mut state) = receive(&params, None, ms(1), 10);
        state.on_sent(&params, ms(2));
        let mut receiver = Receiver::resume(Ecn::Off, &params, ms(3), state);
        let mut acks = Vec::new();
        let mut arrive = |receiver: &mut Receiver, now, number: u64| {
            let segment = Segment { seq: number * 1000, len: 1000, ..Segment::default() };
            receiver.on_segment(&params, now, &segment, |frame| acks.push(frame.ack / 1000));
        };
        (0..3).for_each(|number| arrive(&mut receiver, ms(3), number));
        let due = receiver.next_timer();
        assert_eq!(due, ms(43));
        assert_eq!(receiver.on_timer(&params, due).map(|frame| frame.ack), Some(3000));
        assert!(!receiver.ack_state().is_interactive());
        assert_eq!(receiver.ack_state().ato.get(), Span::from_ms(40), "it is not doubled");
        (3..5).for_each(|number| arrive(&mut receiver, ms(44), number));
        assert_eq!(acks, [2, 4, 5]);
    }
}
