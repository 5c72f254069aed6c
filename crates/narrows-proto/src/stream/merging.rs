//! The machine of receive offload; `receive_offload.rs` says what it does and has its settings.

use super::params::Params;
use super::receive_offload::ReceiveOffload;
use super::receiver::Receiver;
use super::wire::{AckFrame, Segment};
use crate::cc::Ecn;
use crate::units::Time;

/// The receiving half of a connection behind receive offload.
///
/// Call [`on_segment`](Merging::on_segment) for every segment and [`on_timer`](Merging::on_timer) at
/// [`next_timer`](Merging::next_timer).
#[derive(Clone, Debug)]
pub struct Merging {
    receiver: Receiver,
    /// Unit merged so far.
    unit: Segment,
    /// Time it waits until; [`Time::NEVER`] if there is none.
    until: Time,
}

impl Merging {
    /// One in front of a receiver that knows of the connection, but nothing else.
    pub fn new(ecn: Ecn) -> Self {
        Self::to(Receiver::new(ecn))
    }

    /// One in front of this receiver.
    pub fn to(receiver: Receiver) -> Self {
        Self { receiver, unit: Segment::default(), until: Time::NEVER }
    }

    /// Receiver of the units.
    pub fn receiver(&self) -> &Receiver {
        &self.receiver
    }

    /// When to call [`on_timer`](Self::on_timer).
    pub fn next_timer(&self) -> Time {
        self.until.min(self.receiver.next_timer())
    }

    /// A segment arrived. `send` is called for each acknowledgment due now.
    pub fn on_segment(
        &mut self,
        params: &Params,
        now: Time,
        segment: &Segment,
        mut send: impl FnMut(AckFrame),
    ) {
        let ReceiveOffload { within, most } = params.receive_offload.unwrap_or_default();
        let most = most.get();
        if self.until < Time::NEVER && (self.until < now || !self.continues(segment, most)) {
            self.hand_on(params, now, &mut send);
        }
        if self.until == Time::NEVER {
            (self.unit, self.until) = (*segment, now + within);
        } else {
            self.unit.len += segment.len;
            self.unit.fin |= segment.fin;
            self.unit.pushed |= segment.pushed;
            self.unit.merged += 1;
        }
        let is_full = u64::from(self.unit.len) + params.mss().get() > most;
        if is_full || self.unit.fin || self.unit.syn || self.unit.pushed {
            self.hand_on(params, now, &mut send);
        }
    }

    /// Time has passed. `send` is called for each acknowledgment due now.
    pub fn on_timer(&mut self, params: &Params, now: Time, mut send: impl FnMut(AckFrame)) {
        if self.until <= now {
            self.hand_on(params, now, &mut send);
        }
        if let Some(frame) = self.receiver.on_timer(params, now) {
            send(frame);
        }
    }

    /// `segment` belongs to the unit.
    fn continues(&self, segment: &Segment, most: u64) -> bool {
        let Segment { seq, len, ce, mangled, .. } = self.unit;
        seq + u64::from(len) == segment.seq
            && ce == segment.ce
            && mangled == segment.mangled
            && !segment.cwr
            && !segment.syn
            && u64::from(len + segment.len) <= most
    }

    fn hand_on(&mut self, params: &Params, now: Time, send: &mut impl FnMut(AckFrame)) {
        self.until = Time::NEVER;
        self.receiver.on_segment(params, now, &self.unit, send);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Span;

    const LEN: u32 = 1448;

    struct Fixture {
        params: Params,
        merging: Merging,
    }

    impl Fixture {
        fn new() -> Self {
            let receive_offload = Some(ReceiveOffload::default());
            Self {
                params: Params { receive_offload, ..Params::default() },
                merging: Merging::new(Ecn::Accurate),
            }
        }

        fn take(&mut self, us: u64, segment: Segment) -> Vec<(u64, bool)> {
            let mut sent = Vec::new();
            let now = Time::ZERO + Span::from_us(us);
            self.merging.on_segment(&self.params, now, &segment, |frame| sent.push((frame.ack, frame.ece)));
            sent.into_iter().map(|(ack, ece)| (ack / u64::from(LEN), ece)).collect()
        }

        /// Segment `number` arrives.
        fn arrive(&mut self, us: u64, number: u64) -> Vec<(u64, bool)> {
            self.take(us, segment(number))
        }

        fn wake(&mut self) -> Vec<u64> {
            let mut sent = Vec::new();
            let now = self.merging.next_timer();
            self.merging.on_timer(&self.params, now, |frame| sent.push(frame.ack / u64::from(LEN)));
            sent
        }
    }

    fn segment(number: u64) -> Segment {
        Segment { seq: number * u64::from(LEN), len: LEN, ..Segment::default() }
    }

    #[test]
    fn what_arrives_within_the_time_is_acknowledged_once() {
        let mut fixture = Fixture::new();
        for number in 0..5 {
            assert_eq!(fixture.arrive(number, number), []);
        }
        assert_eq!(fixture.merging.next_timer(), Time::ZERO + Span::from_us(20));
        assert_eq!(fixture.wake(), [5]);
        assert_eq!(fixture.merging.next_timer(), Time::NEVER);
    }

    #[test]
    fn a_single_segment_is_subject_to_delayed_acknowledgment() {
        let mut fixture = Fixture::new();
        fixture.arrive(0, 0);
        assert!(fixture.wake().is_empty());
        // 40 ms from when it was handed on.
        assert_eq!(fixture.merging.next_timer(), Time::ZERO + Span::from_us(40_020));
        assert_eq!(fixture.wake(), [1]);
    }

    #[test]
    fn units_are_acknowledged_at_once_however_rare_acknowledgments_are() {
        let mut fixture = Fixture::new();
        fixture.params.ack_every = 100;
        fixture.arrive(0, 0);
        fixture.arrive(0, 1);
        assert_eq!(fixture.wake(), [2]);
    }

    #[test]
    fn a_full_unit_does_not_wait() {
        // 64 KiB hold 45 segments.
        let mut fixture = Fixture::new();
        let sent: Vec<_> = (0..90).flat_map(|number| fixture.arrive(0, number)).collect();
        assert_eq!(sent, [(45, false), (90, false)]);
    }

    #[test]
    fn the_end_of_the_flow_does_not_wait() {
        let mut fixture = Fixture::new();
        fixture.arrive(0, 0);
        fixture.arrive(0, 1);
        assert_eq!(fixture.take(1, Segment { fin: true, ..segment(2) }), [(3, false)]);
        assert!(fixture.merging.receiver().is_complete());
    }

    #[test]
    fn the_end_of_a_burst_does_not_wait() {
        let mut fixture = Fixture::new();
        fixture.arrive(0, 0);
        assert_eq!(fixture.take(1, Segment { pushed: true, ..segment(1) }), [(2, false)]);
        assert_eq!(fixture.merging.next_timer(), Time::NEVER);
    }

    #[test]
    fn another_mark_begins_another_unit_and_each_is_echoed_as_it_is() {
        let mut fixture = Fixture::new();
        for number in 0..3 {
            fixture.arrive(0, number);
        }
        let marked = |number| Segment { ce: true, ..segment(number) };
        assert_eq!(fixture.take(1, marked(3)), [(3, false)]);
        assert_eq!(fixture.take(1, marked(4)), []);
        assert_eq!(fixture.arrive(1, 5), [(5, true)]);
    }

    #[test]
    fn a_hole_is_reported_as_soon_as_it_is_handed_on() {
        let mut fixture = Fixture::new();
        fixture.arrive(0, 0);
        fixture.arrive(0, 1);
        // Segment 2 is missing: what came before is handed on, what comes behind is merged and reported once.
        assert_eq!(fixture.arrive(0, 3), [(2, false)]);
        assert_eq!(fixture.arrive(0, 4), []);
        assert_eq!(fixture.wake(), [2]);
        fixture.arrive(30, 2);
        assert_eq!(fixture.wake(), [5]);
    }

    #[test]
    fn a_unit_that_fills_several_holes_takes_along_what_lies_behind_it() {
        let mut fixture = Fixture::new();
        for number in [1, 3] {
            fixture.arrive(0, number);
        }
        // 0 to 2 as one unit: 1 lies inside, 3 behind it.
        for number in 0..3 {
            fixture.arrive(50, number);
        }
        assert_eq!(fixture.wake(), [4]);
    }

    #[test]
    fn what_arrives_at_the_last_moment_is_merged() {
        let mut fixture = Fixture::new();
        fixture.params.receive_offload = Some(ReceiveOffload { within: Span::ZERO, ..Default::default() });
        fixture.arrive(3, 0);
        assert_eq!(fixture.arrive(3, 1), []);
        assert_eq!(fixture.arrive(4, 2), [(2, false)]);
    }
}
