use super::super::Ack;
use crate::units::Time;

/// The round trip after a reduction of the window, until something sent later is acknowledged (RFC 3168 §6.1.2: at most one
/// reduction for each window of data).
#[derive(Clone, Copy, Debug)]
pub struct Rest {
    /// [`Time::NEVER`] before the first reduction.
    since: Time,
}

impl Rest {
    /// Before any reduction.
    pub const NONE: Self = Self { since: Time::NEVER };

    /// A reduction at `now`.
    pub fn begin(&mut self, now: Time) {
        self.since = now;
    }

    /// The data that `ack` reports on was sent before the last reduction.
    pub fn holds(&self, ack: &Ack) -> bool {
        let rtt = ack.rtt.unwrap_or(ack.srtt);
        self.since != Time::NEVER && ack.now.saturating_since(self.since) < rtt
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::conformance::{MSS, ack};
    use crate::units::Span;

    #[test]
    fn what_was_sent_before_the_reduction_is_acknowledged_within_a_round_trip_of_it() {
        let at =
            |ms: u64| Ack { now: Time::ZERO + Span::from_ms(ms), rtt: Some(Span::from_ms(10)), ..ack(MSS) };
        let mut rest = Rest::NONE;
        assert!(!rest.holds(&at(5)));
        rest.begin(Time::ZERO + Span::from_ms(20));
        assert_eq!([20, 29, 30].map(|ms| rest.holds(&at(ms))), [true, true, false]);
    }
}
