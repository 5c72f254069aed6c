use super::params::Gap;
use crate::stream::pacer::Pacer;
use crate::units::{BitRate, Bytes, Span, Time};

/// Gaps that a rate leaves between packets.
#[derive(Debug, Default)]
pub(super) struct Gaps {
    pacer: Pacer,
    /// The packet sent last, on the wire.
    last_size: u32,
}

impl Gaps {
    /// When the next packet may leave.
    pub(super) fn release(&self) -> Time {
        self.pacer.release()
    }

    /// A packet of this size left at `now`.
    #[inline]
    pub(super) fn on_sent(&mut self, gap: Gap, now: Time, rate: BitRate, size: Bytes) {
        let time = rate.time_to_send(size);
        match gap {
            Gap::Schedule => self.pacer.on_send(now, time),
            Gap::Departure | Gap::Adjusted => self.pacer.on_late_send(now, time, 0.0),
        }
        self.last_size = size.get() as u32;
    }

    /// An acknowledgment made the rate `after`.
    #[inline]
    pub(super) fn on_rate(&mut self, gap: Gap, before: Option<BitRate>, after: Option<BitRate>) {
        if let (Gap::Adjusted, Some(before), Some(after)) = (gap, before, after) {
            let time = |rate: BitRate| -> Span { rate.time_to_send(Bytes::new(u64::from(self.last_size))) };
            self.pacer.change_gap(time(before), time(after));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_acknowledgment_changes_the_gap_under_way_where_that_is_set() {
        let rate = BitRate::from_gbps;
        for (gap, ns) in [(Gap::Schedule, 800), (Gap::Departure, 800), (Gap::Adjusted, 1600)] {
            let mut gaps = Gaps::default();
            gaps.on_sent(gap, Time::ZERO, rate(10), Bytes::new(1000));
            gaps.on_rate(gap, Some(rate(10)), Some(rate(5)));
            assert_eq!(gaps.release(), Time::ZERO + Span::from_ns(ns), "{gap:?}");
        }
    }
}
