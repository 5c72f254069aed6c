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
    /// The spin bit, and when the first acknowledgment with it left.
    spin: bool,
    turned: Option<Time>,
    /// The segment that returned the one before.
    returned_by: u64,
}

impl Arrivals {
    pub(super) fn new(params: &Params, now: Time) -> Self {
        let buffer = params.receive_buffer.as_ref().map(|settings| Buffer::new(settings, params.mss(), now));
        Self {
            ato: Ato::default(),
            buffer,
            answered: None,
            rtt: Span::ZERO,
            spin: false,
            turned: None,
            returned_by: 0,
        }
    }

    /// On a connection that has carried a flow.
    pub(super) fn resumed(params: &Params, now: Time, ato: Ato, rtt: Span) -> Self {
        let mut arrivals = Self { ato, rtt, ..Self::new(params, now) };
        if let Some(buffer) = arrivals.buffer.as_mut().filter(|_| rtt > Span::ZERO) {
            buffer.on_round_trip(rtt);
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
                buffer.on_round_trip(self.rtt);
            }
        }
        let rto = self.rto(params);
        params.ack_timeout.as_ref().map_or(gap > params.min_rto, |settings| {
            self.ato.on_arrival(settings, gap, rto);
            gap > rto
        })
    }

    /// The spin bit of an acknowledgment that leaves now.
    pub(super) fn spin(&mut self, now: Time) -> bool {
        self.turned.get_or_insert(now);
        self.spin
    }

    /// The segment from `seq` on returns a spin bit. If that is the one of now, a round trip is over, and the next begins.
    pub(super) fn on_spin(&mut self, now: Time, seq: u64, spin: bool) {
        // An earlier segment may come late, with the bit of the round trip before.
        if spin != self.spin || seq < self.returned_by {
            return;
        }
        self.returned_by = seq;
        if let (Some(turned), Some(buffer)) = (self.turned.take(), &mut self.buffer) {
            buffer.on_round_trip(now.saturating_since(turned));
        }
        self.spin = !spin;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::ReceiveBuffer;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_ms(ms)
    }

    fn arrivals() -> Arrivals {
        let receive_buffer = Some(ReceiveBuffer::default());
        Arrivals::new(&Params { receive_buffer, ..Params::default() }, at(0))
    }

    /// As far as it knows; [`Span::MAX`] if it does not.
    fn round_trip(arrivals: &Arrivals) -> Span {
        arrivals.buffer.as_ref().expect("it has a buffer").round_trip()
    }

    #[test]
    fn a_round_trip_lasts_from_the_first_acknowledgment_with_a_spin_bit_to_the_segment_that_returns_it() {
        let mut arrivals = arrivals();
        arrivals.on_spin(at(0), 0, false); // that of the beginning
        assert_eq!([at(1), at(2)].map(|now| arrivals.spin(now)), [true; 2]);
        arrivals.on_spin(at(9), 1000, false);
        assert_eq!(round_trip(&arrivals), Span::MAX);
        arrivals.on_spin(at(11), 2000, true);
        assert_eq!(round_trip(&arrivals), Span::from_ms(10));
        assert!(!arrivals.spin(at(12)));
    }

    #[test]
    fn a_segment_that_was_overtaken_returns_no_spin_bit() {
        let mut arrivals = arrivals();
        arrivals.on_spin(at(0), 0, false);
        arrivals.spin(at(1));
        arrivals.on_spin(at(11), 2000, true);
        arrivals.spin(at(11));
        arrivals.on_spin(at(12), 1000, false);
        assert_eq!(round_trip(&arrivals), Span::from_ms(10));
        arrivals.on_spin(at(31), 3000, false);
        assert_eq!(round_trip(&arrivals), Span::from_ms(20));
    }
}
