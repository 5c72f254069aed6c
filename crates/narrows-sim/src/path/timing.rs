//! Time that packets take over a link with a [`Path`], if nothing is left to chance.

use narrows_proto::units::{Span, Time, WireTime};

use super::Path;
use super::delay::Delay;
use super::rate::Sending;
use super::shaper::Buckets;

/// Times of packets over a link, one after the other.
#[derive(Clone, Debug)]
pub(crate) struct Timing {
    shaper: Option<Buckets>,
    sending: Sending,
    delay: Delay,
}

impl Timing {
    /// Of an idle link. `wire_time` and `delay` hold where the path says nothing else; `added` is added to any delay.
    pub(crate) fn new(path: &Path, wire_time: WireTime, delay: Span, added: Span) -> Self {
        let sending = Sending::new(path.rate.as_ref(), wire_time);
        let shaper = path.shaper.as_ref().map(Buckets::new);
        Self { shaper, sending, delay: Delay::new(path.delay.as_ref(), delay, added) }
    }

    /// When a packet has been sent that may begin at `start`, which is never earlier than the end of the last.
    #[inline]
    pub(crate) fn sent_at(&mut self, start: Time, size: u64) -> Time {
        match &mut self.shaper {
            None => self.sending.sent_at(start, size),
            Some(buckets) => {
                let begin = buckets.take_when_enough(start, size);
                // Many packets are sent while tokens come.
                let start = if size > u64::from(u16::MAX) { start } else { begin };
                self.sending.sent_at(start, size).max(begin)
            }
        }
    }

    /// When a packet arrives that has been sent at `sent`.
    #[inline]
    pub(crate) fn arrival(&mut self, sent: Time) -> Time {
        self.delay.arrival(sent)
    }

    /// The earliest arrival of a packet that may be sent at `sent` or later.
    pub(crate) fn earliest_arrival(&self, sent: Time) -> Time {
        self.delay.earliest_arrival(sent)
    }
}
