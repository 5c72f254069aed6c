//! Propagation delay that changes.
//!
//! A packet takes the delay of the moment at which its last bit has been sent. When the delay falls, packets that
//! are sent then may arrive before some that were sent earlier, once, as when a path is switched.

use std::sync::Arc;

use narrows_proto::units::{Span, Time};

use super::steps::{Cursor, Steps};

/// Time on the way from the end of the sending on.
#[derive(Clone, Debug)]
pub(super) enum Delay {
    Fixed(Span),
    /// The delay that changes, and the latency of the far end, which is added to it.
    Steps(Cursor<Span>, Span),
}

impl Delay {
    /// `fixed` if it does not change. `added` is added to it in any case.
    pub(super) fn new(steps: Option<&Arc<Steps<Span>>>, fixed: Span, added: Span) -> Self {
        match steps {
            None => Self::Fixed(fixed + added),
            Some(steps) => Self::Steps(Cursor::new(steps), added),
        }
    }

    /// The earliest arrival of a packet that may leave at `sent` or later: where the delay falls, one that waits may arrive sooner.
    pub(super) fn earliest_arrival(&self, sent: Time) -> Time {
        let (cursor, added) = match self {
            Self::Fixed(delay) => return sent + *delay,
            Self::Steps(cursor, added) => (cursor, *added),
        };
        let (mut leaves, mut earliest) = (sent, Time::NEVER);
        while leaves < earliest {
            let piece = cursor.steps().at(leaves);
            earliest = earliest.min(leaves + piece.value + added);
            leaves = piece.until;
        }
        earliest
    }

    /// When a packet arrives that has left at `sent`.
    #[inline]
    pub(super) fn arrival(&mut self, sent: Time) -> Time {
        match self {
            Self::Fixed(delay) => sent + *delay,
            Self::Steps(cursor, added) => sent + cursor.at(sent).value + *added,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_the_delay_falls_a_packet_that_waits_arrives_sooner() {
        let ms = Span::from_ms;
        let at = |time| Time::ZERO + ms(time);
        let steps = Arc::new(Steps::new([(ms(0), ms(25)), (ms(40), ms(1))], Some(ms(50))));
        let delay = Delay::new(Some(&steps), ms(9), ms(2));
        // Sent at 20 ms it takes 25 ms and 2 ms; sent at 40 ms it is there at 43 ms.
        assert_eq!(
            [0, 10, 20, 45, 50].map(|sent| delay.earliest_arrival(at(sent))),
            [27, 37, 43, 48, 77].map(at)
        );
        assert_eq!(Delay::new(None, ms(9), ms(2)).earliest_arrival(at(1)), at(12));
    }
}
