use crate::units::{Span, Time};

/// Keeps packets of a connection apart.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pacer {
    release: Time,
}

impl Pacer {
    /// When the next packet may leave.
    pub(crate) fn release(&self) -> Time {
        self.release
    }

    /// A packet left at `now`; the next may follow after `gap`. A packet that was held up by less than a gap does not
    /// delay those behind it, so that waiting for the link does not lower the rate.
    pub(crate) fn on_send(&mut self, now: Time, gap: Span) {
        let late = now.saturating_since(self.release);
        let from = if late <= gap { self.release } else { now };
        self.release = from + gap;
    }

    /// The same, where a packet that is late earns up to `part` of its gap (`tcp_update_skb_after_send` of Linux).
    pub(crate) fn on_late_send(&mut self, now: Time, gap: Span, part: f64) {
        let from = now.max(self.release);
        let credit = (from - self.release).min(Span::from_secs_f64(gap.as_secs_f64() * part));
        self.release = from + (gap - credit);
    }

    /// The gap under way is another one.
    pub(crate) fn change_gap(&mut self, before: Span, after: Span) {
        self.release = Time::ZERO + (self.release - Time::ZERO + after).saturating_sub(before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GAP: Span = Span::from_us(10);

    fn at(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    #[test]
    fn a_short_delay_is_made_up_for() {
        let mut pacer = Pacer::default();
        pacer.on_send(at(100), GAP);
        pacer.on_send(at(114), GAP);
        assert_eq!(pacer.release(), at(120));
    }

    #[test]
    fn a_late_packet_earns_half_of_its_gap_at_most_where_that_is_set() {
        let mut pacer = Pacer::default();
        pacer.on_send(at(100), GAP);
        for (now, release) in [(114, 120), (126, 131), (200, 205)] {
            pacer.on_late_send(at(now), GAP, 0.5);
            assert_eq!(pacer.release(), at(release), "at {now} us");
        }
    }

    #[test]
    fn a_gap_under_way_is_made_longer_and_shorter() {
        let mut pacer = Pacer::default();
        pacer.on_send(at(100), GAP);
        for (after, release) in [(GAP * 3, 130), (GAP / 2, 105)] {
            let mut pacer = pacer.clone();
            pacer.change_gap(GAP, after);
            assert_eq!(pacer.release(), at(release));
        }
    }

    #[test]
    fn a_pause_earns_no_credit() {
        let mut pacer = Pacer::default();
        pacer.on_send(at(100), GAP);
        pacer.on_send(at(200), GAP);
        assert_eq!(pacer.release(), at(210));
    }
}
