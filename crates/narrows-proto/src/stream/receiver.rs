use std::ops::Range;

use super::accurate_ecn::{AccurateEcn, CeCount, Counter};
use super::ack_state::AckState;
use super::arrivals::Arrivals;
use super::params::Params;
use super::wire::{AckFrame, SackBlocks, Segment};
use crate::cc::Ecn;
use crate::range_set::RangeSet;
use crate::units::{Span, Time};

/// The receiving half of a connection that carries one flow.
///
/// Call [`on_segment`](Receiver::on_segment) for every segment and [`on_timer`](Receiver::on_timer) at
/// [`next_timer`](Receiver::next_timer).
///
/// Differs from Linux (`tcp_input.c`, `tcp_output.c`): without `pingpong` quick-ack mode begins again with every flow of a kept
/// connection. Without `ack_timeout` the time an acknowledgment waits does not follow the gaps between segments (`ato`), and quick-ack mode begins again
/// after a pause of `min_rto`, not of the receiver's own timeout.
#[derive(Clone, Debug)]
pub struct Receiver {
    ecn: Ecn,
    /// Everything below has arrived (RCV.NXT).
    next: u64,
    /// Data beyond `next`, or a SYN that waits. None as long as there was neither.
    beyond: Option<Box<Beyond>>,
    /// Length of the flow, once its last segment has arrived.
    size: Option<u64>,
    /// Segments that have not been acknowledged.
    unacknowledged: u64,
    ack_at: Time,
    /// The application is about to read a segment that says PSH, which is acknowledged then.
    reading: bool,
    /// Acknowledgments that do not wait, and when the last segment came; not used without quick-ack mode.
    quick: u64,
    arrived: Time,
    /// The connection is interactive: no acknowledgment is quick.
    interactive: bool,
    /// None unless settings follow arrivals.
    arrivals: Option<Box<Arrivals>>,
    /// Accurate, counted: the last segment was marked (`DCTCP.CE`). Classic: a mark has to be echoed.
    ce: bool,
    /// Counted: marks so far.
    counter: Counter,
    /// Counted: the codepoint of some packet arrived changed, and acknowledgments have the option that shows it.
    mangled: bool,
    /// The segment whose timestamp the next acknowledgment echoes had been sent before (RFC 7323 §4.3).
    again: bool,
}

/// Data that arrived out of order, and what is needed as seldom.
#[derive(Clone, Debug, Default)]
struct Beyond {
    held: RangeSet,
    /// First bytes of the latest segments that arrived out of order, the most recent first. Zero is none of them.
    recent: [u64; SackBlocks::MAX],
    /// A SYN that is answered later.
    syn: Option<Segment>,
}

impl Beyond {
    /// A duplicate, or what leaves a hole or fills one, is acknowledged at once (RFC 5681 §4.2). Moves `next`, the edge.
    fn take(&mut self, range: Range<u64>, next: &mut u64) -> SackBlocks {
        let mut sacks = SackBlocks::default();
        if range.end <= *next || self.held.contains(&range) {
            sacks.push_duplicate(range.clone(), self.held.around(range.start));
        } else if range.start <= *next {
            *next = range.end;
            // What receive offload has merged may reach beyond several of them.
            while let Some(first) = self.held.first().filter(|first| first.start <= *next) {
                *next = first.end.max(*next);
                self.held.remove_below(*next);
            }
        } else {
            self.held.insert(range.clone(), |_| {});
            self.remember(range.start);
        }
        for point in self.recent {
            if let Some(block) = self.held.around(point) {
                sacks.push(block);
            }
        }
        sacks
    }

    /// Puts `start` first among the recent blocks, in place of others of the block it belongs to now.
    fn remember(&mut self, start: u64) {
        let block = self.held.around(start).unwrap_or(start..start);
        let others = self.recent.map(|point| if block.contains(&point) { 0 } else { point });
        let mut others = others.into_iter().filter(|point| *point != 0);
        self.recent = [start, others.next().unwrap_or(0), others.next().unwrap_or(0)];
    }
}

impl Receiver {
    /// A receiver that knows of the connection, but nothing else.
    pub fn new(ecn: Ecn) -> Self {
        Self {
            ecn,
            next: 0,
            beyond: None,
            size: None,
            unacknowledged: 0,
            ack_at: Time::NEVER,
            reading: false,
            quick: 0,
            arrived: Time::NEVER,
            interactive: false,
            arrivals: None,
            ce: false,
            counter: Counter::default(),
            mangled: false,
            again: false,
        }
    }

    /// One of the next flow on a kept connection.
    pub fn resume(ecn: Ecn, params: &Params, now: Time, state: AckState) -> Self {
        let AckState { arrived, quick, interactive, ato, rtt } = state;
        let arrivals = params.follows_arrivals().then(|| Box::new(Arrivals::resumed(params, now, ato, rtt)));
        Self { arrived, quick, interactive, arrivals, ..Self::new(ecn) }
    }

    /// State that the next flow of the connection goes on with.
    pub fn ack_state(&self) -> AckState {
        let Self { arrived, quick, interactive, .. } = *self;
        let (ato, rtt) = self.arrivals.as_ref().map_or_else(Default::default, |arrivals| arrivals.path());
        AckState { arrived, quick, interactive, ato, rtt }
    }

    /// Everything has arrived.
    pub fn is_complete(&self) -> bool {
        self.size == Some(self.next)
    }

    /// Bytes that arrived in order.
    pub fn delivered(&self) -> u64 {
        self.next
    }

    /// When to call [`on_timer`](Receiver::on_timer).
    pub fn next_timer(&self) -> Time {
        self.ack_at
    }

    /// A segment arrived. `send` is called for each acknowledgment due now: two if a delayed one has to leave with the
    /// marks seen before this segment (RFC 8257 §3.2).
    #[inline]
    pub fn on_segment(
        &mut self,
        params: &Params,
        now: Time,
        segment: &Segment,
        mut send: impl FnMut(AckFrame),
    ) {
        if segment.syn {
            return self.on_syn(params, now, segment).into_iter().for_each(send);
        }
        if params.notes_arrivals() {
            self.note_arrival(params, now);
        }
        let changes = segment.ce != self.ce;
        if let Some(overdue) = self.take_mark(params, now, segment) {
            send(overdue);
        }
        let range = segment.range();
        if segment.fin {
            self.size = Some(range.end);
        }
        if self.unacknowledged == 0 && range.start <= self.next {
            self.again = segment.retransmission;
        }
        if range.start == self.next && self.is_in_order() {
            self.next = range.end;
            self.unacknowledged += 1;
            if self.arrivals.is_some() {
                self.open(params, now, segment);
            }
            let at_once = self.is_urgent(params, segment) || self.reports_mark(params, segment, changes);
            if self.unacknowledged >= params.ack_every || at_once {
                send(self.ack(params, now, SackBlocks::default()));
            } else if segment.pushed && !self.interactive {
                self.reading = true;
                self.ack_at = self.ack_at.min(now + params.push_ack_delay);
            } else if self.ack_at == Time::NEVER {
                let wait = self.arrivals.as_ref().and_then(|arrivals| arrivals.wait(params));
                self.ack_at = now + wait.unwrap_or_else(|| params.ack_wait());
            }
        } else {
            let sacks = self.beyond.get_or_insert_default().take(range, &mut self.next);
            if self.arrivals.is_some() {
                self.open(params, now, segment);
            }
            send(self.ack(params, now, sacks));
        }
    }

    /// The delayed acknowledgment is due, or the answer to a SYN. Returns it unless called early.
    pub fn on_timer(&mut self, params: &Params, now: Time) -> Option<AckFrame> {
        if now < self.ack_at {
            return None;
        }
        // Who has sent data has been answered.
        if let Some(syn) = self.beyond.as_mut().and_then(|beyond| beyond.syn.take())
            && self.unacknowledged == 0
        {
            self.ack_at = Time::NEVER;
            return Some(self.syn_ack(params, now, &syn));
        }
        let interactive = !self.reading && std::mem::take(&mut self.interactive);
        match &mut self.arrivals {
            _ if self.reading => {}
            Some(arrivals) if interactive => arrivals.on_slower(params),
            Some(arrivals) => arrivals.on_timeout(params),
            None => {}
        }
        Some(self.ack(params, now, SackBlocks::default()))
    }

    /// Returns the answer if it does not wait.
    #[cold]
    fn on_syn(&mut self, params: &Params, now: Time, segment: &Segment) -> Option<AckFrame> {
        if params.syn_ack_delay == Span::ZERO || self.ack_at < Time::NEVER {
            return Some(self.syn_ack(params, now, segment));
        }
        self.beyond.get_or_insert_default().syn = Some(*segment);
        self.ack_at = now + params.syn_ack_delay;
        None
    }

    #[inline(never)]
    fn syn_ack(&mut self, params: &Params, now: Time, segment: &Segment) -> AckFrame {
        let mut window = 0;
        if params.follows_arrivals() {
            let again = self.arrivals.is_some();
            let arrivals = self.arrivals.get_or_insert_with(|| Box::new(Arrivals::new(params, now)));
            arrivals.on_syn(now, again);
            window = arrivals.announce(params, 0, 0);
        }
        let ce = if self.ecn == Ecn::Counted {
            CeCount::of_syn(segment.ce, segment.mangled)
        } else {
            CeCount::None
        };
        AckFrame { syn: true, window, ce, ..AckFrame::default() }
    }

    /// Begins quick-ack mode with the first segment and after a pause.
    #[inline(never)]
    fn note_arrival(&mut self, params: &Params, now: Time) {
        if params.follows_arrivals() {
            self.arrivals.get_or_insert_with(|| Box::new(Arrivals::new(params, now)));
        }
        let first = self.arrived == Time::NEVER;
        let gap = if first { Span::ZERO } else { now.saturating_since(self.arrived) };
        let paused = match &mut self.arrivals {
            Some(arrivals) => arrivals.on_segment(params, now, gap),
            None => gap > params.min_rto,
        };
        if first || paused {
            self.quick = self.quick.max(params.quick_acks());
        }
        self.arrived = now;
    }

    /// The acknowledgment of this segment does not wait: it is quick, or answers a unit, the end of a burst or of the flow.
    #[inline(always)]
    fn is_urgent(&self, params: &Params, segment: &Segment) -> bool {
        let pushed = segment.pushed && params.push_ack_delay == Span::ZERO;
        segment.merged > 0 || ((pushed || self.quick > 0) && !self.interactive) || self.is_complete()
    }

    /// The receive buffer notices a segment. While it opens its window, acknowledgments do not wait.
    #[inline(never)]
    fn open(&mut self, params: &Params, now: Time, segment: &Segment) {
        let held = self.held();
        let Some(arrivals) = &mut self.arrivals else { return };
        arrivals.on_spin(now, segment.seq, segment.spin);
        if arrivals.on_data(params, now, self.next, segment.len.into(), held) {
            // Linux sets the lowest bit: as long as the window opens, quick acknowledgments are not used up.
            self.quick |= 1;
        }
    }

    /// Follows the marks. Returns the acknowledgment of what came before a change.
    fn take_mark(&mut self, params: &Params, now: Time, segment: &Segment) -> Option<AckFrame> {
        match self.ecn {
            Ecn::Off | Ecn::Cnp => None,
            Ecn::Classic => {
                let echoes = self.ce && !segment.cwr;
                if segment.ce && !echoes && params.mark_acks.is_some() {
                    self.hasten(params);
                }
                self.ce = segment.ce || echoes;
                None
            }
            Ecn::Accurate if segment.ce == self.ce => None,
            Ecn::Counted => {
                self.ce = segment.ce;
                self.mangled |= segment.mangled && params.accurate_ecn != Some(AccurateEcn::Ace);
                self.counter.add(if segment.ce { 1 + segment.merged } else { 0 });
                None
            }
            Ecn::Accurate => {
                let overdue = (self.unacknowledged > 0).then(|| self.ack(params, now, SackBlocks::default()));
                self.ce = segment.ce;
                overdue
            }
        }
    }

    /// The receiver begins to echo marks.
    #[cold]
    fn hasten(&mut self, params: &Params) {
        self.quick = self.quick.max(params.mark_acks());
        self.interactive = false;
        if let Some(arrivals) = &mut self.arrivals {
            arrivals.on_slower(params);
        }
    }

    /// The acknowledgment of this segment does not wait because of marks. Of those that are counted, a first one does not, nor do two (RFC
    /// 9768 §3.2.2.5.1).
    #[inline(always)]
    fn reports_mark(&self, params: &Params, segment: &Segment, changes: bool) -> bool {
        match self.ecn {
            Ecn::Off | Ecn::Cnp => false,
            Ecn::Classic => segment.cwr && params.ack_cwr,
            Ecn::Accurate => changes && params.mark_acks.is_some(),
            Ecn::Counted => changes && segment.ce || self.counter.unreported() >= 2,
        }
    }

    /// The count of an acknowledgment that leaves now.
    #[inline(always)]
    fn count(&mut self, params: &Params) -> CeCount {
        if self.ecn != Ecn::Counted {
            return CeCount::None;
        }
        self.counter.report(params.accurate_ecn.unwrap_or(AccurateEcn::Count))
    }

    /// Nothing is held beyond the edge.
    #[inline(always)]
    pub fn is_in_order(&self) -> bool {
        self.beyond.as_ref().is_none_or(|beyond| beyond.held.is_empty())
    }

    /// Bytes beyond the edge.
    fn held(&self) -> u64 {
        self.beyond.as_ref().map_or(0, |beyond| beyond.held.total())
    }

    fn ack(&mut self, params: &Params, now: Time, sacks: SackBlocks) -> AckFrame {
        self.unacknowledged = 0;
        self.ack_at = Time::NEVER;
        self.reading = false;
        let (window, spin) = if self.arrivals.is_some() { self.announce(params, now) } else { (0, false) };
        self.quick = self.quick.saturating_sub(1);
        let ce = self.count(params);
        let ece = self.ce && self.ecn != Ecn::Counted;
        let (mangled, again) = (self.mangled, self.again);
        AckFrame { ack: self.next, syn: false, ece, window, spin, ce, mangled, again, sacks }
    }

    /// The window and the spin bit of an acknowledgment that leaves now.
    #[inline(never)]
    fn announce(&mut self, params: &Params, now: Time) -> (u16, bool) {
        let held = self.held();
        let Some(arrivals) = &mut self.arrivals else { return (0, false) };
        if self.quick == 1 {
            arrivals.on_slower(params);
        }
        (arrivals.announce(params, self.next, held), arrivals.spin(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::{AckTimeout, ReceiveBuffer};
    use crate::units::Bytes;

    const LEN: u32 = 100;

    struct Fixture {
        params: Params,
        receiver: Receiver,
    }

    impl Fixture {
        fn new(ecn: Ecn) -> Self {
            Self { params: Params::default(), receiver: Receiver::new(ecn) }
        }

        fn segment(&mut self, segment: Segment) -> Vec<AckFrame> {
            let mut sent = Vec::new();
            self.receiver.on_segment(&self.params, Time::ZERO, &segment, |frame| sent.push(frame));
            sent
        }

        /// Segment `number` arrives.
        fn arrive(&mut self, number: u64) -> Vec<AckFrame> {
            self.segment(Segment { seq: number * u64::from(LEN), len: LEN, ..Segment::default() })
        }

        fn arrive_marked(&mut self, number: u64, ce: bool) -> Vec<AckFrame> {
            self.segment(Segment { seq: number * u64::from(LEN), len: LEN, ce, ..Segment::default() })
        }
    }

    fn blocks(frame: &AckFrame) -> Vec<(u64, u64)> {
        frame.sacks.iter().map(|block| (block.start / 100, block.end / 100)).collect()
    }

    #[test]
    fn every_second_segment_is_acknowledged() {
        let mut fixture = Fixture::new(Ecn::Off);
        assert_eq!(fixture.arrive(0), []);
        assert_eq!(fixture.receiver.next_timer(), Time::ZERO + Span::from_ms(40));
        assert_eq!(fixture.arrive(1)[0].ack, 200);
        assert_eq!(fixture.receiver.next_timer(), Time::NEVER);
    }

    #[test]
    fn the_end_of_a_burst_is_acknowledged_at_once_unless_the_connection_is_interactive() {
        for interactive in [false, true] {
            let mut fixture = Fixture::new(Ecn::Off);
            fixture.receiver.interactive = interactive;
            let mut acked = Vec::new();
            for number in 0..6 {
                let pushed = number % 3 == 2;
                let segment =
                    Segment { seq: number * u64::from(LEN), len: LEN, pushed, ..Segment::default() };
                acked.extend(fixture.segment(segment).iter().map(|frame| frame.ack / 100));
            }
            let expected: &[u64] = if interactive { &[2, 4, 6] } else { &[2, 3, 5, 6] };
            assert_eq!(acked, expected);
        }
    }

    #[test]
    fn the_end_of_a_burst_is_acknowledged_when_it_has_been_read_unless_there_are_two_segments() {
        let delay = Span::from_us(50);
        let mut fixture = Fixture::new(Ecn::Off);
        fixture.params.push_ack_delay = delay;
        let pushed =
            |number: u64| Segment { seq: number * 100, len: LEN, pushed: true, ..Segment::default() };
        assert_eq!(fixture.segment(pushed(0)), []);
        assert_eq!(fixture.receiver.next_timer(), Time::ZERO + delay);
        assert_eq!(
            fixture.receiver.on_timer(&fixture.params, Time::ZERO + delay).map(|frame| frame.ack),
            Some(100)
        );
        assert_eq!(fixture.arrive(1), []);
        assert_eq!(fixture.segment(pushed(2))[0].ack, 300);
        assert_eq!(fixture.segment(pushed(3)), []);
        assert_eq!(fixture.arrive(4)[0].ack, 500);
        assert_eq!(fixture.receiver.next_timer(), Time::NEVER);
        fixture.receiver.interactive = true;
        assert_eq!(fixture.segment(pushed(5)), []);
        assert_eq!(fixture.receiver.next_timer(), Time::ZERO + fixture.params.ack_delay);
    }

    #[test]
    fn a_syn_is_answered_when_the_connection_has_been_made() {
        let delay = Span::from_us(30);
        let mut fixture = Fixture::new(Ecn::Off);
        fixture.params.syn_ack_delay = delay;
        let syn = Segment { syn: true, ..Segment::default() };
        assert_eq!(fixture.segment(syn), []);
        assert_eq!(fixture.receiver.next_timer(), Time::ZERO + delay);
        let answer = fixture.receiver.on_timer(&fixture.params, Time::ZERO + delay);
        assert!(answer.is_some_and(|frame| frame.syn));
        assert_eq!(fixture.receiver.next_timer(), Time::NEVER);
    }

    #[test]
    fn a_repeated_syn_does_not_keep_an_acknowledgment_from_leaving() {
        let mut fixture = Fixture::new(Ecn::Off);
        fixture.params.syn_ack_delay = Span::from_us(30);
        assert_eq!(fixture.segment(Segment { syn: true, ..Segment::default() }), []);
        assert_eq!(fixture.arrive(0), []);
        let due = fixture.receiver.next_timer();
        let ack = fixture.receiver.on_timer(&fixture.params, due);
        assert!(ack.is_some_and(|frame| !frame.syn && frame.ack == 100));
    }

    #[test]
    fn reading_changes_neither_the_wait_of_acknowledgments_nor_quick_ones() {
        let params = Params {
            push_ack_delay: Span::from_us(50),
            ack_timeout: Some(AckTimeout::default()),
            ..Params::default()
        };
        let wait = |is_read: bool| {
            let mut fixture = Fixture { params: params.clone(), receiver: Receiver::new(Ecn::Off) };
            if is_read {
                fixture.segment(Segment { len: LEN, pushed: true, ..Segment::default() });
                fixture.receiver.on_timer(&fixture.params, Time::ZERO + Span::from_us(50));
            } else {
                fixture.segment(Segment { len: LEN, fin: true, ..Segment::default() });
            }
            fixture.arrive(1);
            fixture.receiver.next_timer()
        };
        assert_eq!(wait(true), wait(false));
    }

    /// Segments that each frame acknowledges when one arrives every 10 ms.
    fn paced(params: Params, count: u64, pause_after: u64) -> Vec<u64> {
        let mut fixture = Fixture { params, receiver: Receiver::new(Ecn::Off) };
        let mut acked = vec![0];
        for number in 0..count {
            let pause = if number >= pause_after { Span::from_secs(1) } else { Span::ZERO };
            let now = Time::ZERO + Span::from_ms(10 * number) + pause;
            let segment = Segment { seq: number * u64::from(LEN), len: LEN, ..Segment::default() };
            fixture.receiver.on_segment(&fixture.params, now, &segment, |frame| acked.push(frame.ack / 100));
        }
        acked.windows(2).map(|pair| pair[1] - pair[0]).collect()
    }

    #[test]
    fn a_flow_begins_with_quick_acknowledgments_and_so_it_does_after_a_pause() {
        let params = Params { quick_acks: Some(4), ..Params::default() };
        assert_eq!(paced(Params::default(), 8, 99), [2, 2, 2, 2]);
        assert_eq!(paced(params.clone(), 8, 99), [1, 1, 1, 1, 2, 2]);
        // 200 ms are a pause, and half of a pair goes out with the first segment after it.
        assert_eq!(paced(params, 12, 7), [1, 1, 1, 1, 2, 2, 1, 1, 1]);
    }

    #[test]
    fn quick_acknowledgments_are_not_used_up_while_the_receive_buffer_opens_its_window() {
        let receive_buffer = Some(ReceiveBuffer { initial: Bytes::new(1 << 20), ..Default::default() });
        let params = Params { quick_acks: Some(4), receive_buffer, ..Params::default() };
        let len = params.mss().get();
        let mut fixture = Fixture { params, receiver: Receiver::new(Ecn::Off) };
        for number in 0..10 {
            let segment = Segment { seq: number * len, len: len as u32, ..Segment::default() };
            assert_eq!(fixture.segment(segment).len(), 1);
        }
        assert_eq!(fixture.receiver.quick, 4);
    }

    #[test]
    fn quick_acknowledgments_are_for_half_of_the_receive_window() {
        let window = |segments| Some(Params::default().mss() * segments);
        for (segments, quick) in [(2, 2), (10, 5), (100, 16)] {
            let params =
                Params { quick_acks: Some(16), receive_window: window(segments), ..Params::default() };
            assert_eq!(params.quick_acks(), quick);
        }
    }

    #[test]
    fn an_acknowledgment_waits_for_a_part_of_the_retransmission_timeout_at_most() {
        for (part, min_rto, wait) in [(None, 1, 40), (Some(0.5), 10, 5), (Some(0.5), 200, 40)] {
            let min_rto = Span::from_ms(min_rto);
            let mut fixture = Fixture::new(Ecn::Off);
            fixture.params = Params { ack_delay_of_rto: part, min_rto, ..Params::default() };
            fixture.arrive(0);
            assert_eq!(fixture.receiver.next_timer(), Time::ZERO + Span::from_ms(wait));
        }
    }

    #[test]
    fn a_waiting_acknowledgment_leaves_when_its_time_is_up() {
        let mut fixture = Fixture::new(Ecn::Off);
        fixture.arrive(0);
        assert_eq!(fixture.receiver.on_timer(&fixture.params, Time::ZERO), None);
        let frame = fixture.receiver.on_timer(&fixture.params, fixture.receiver.next_timer());
        assert_eq!(frame.map(|frame| frame.ack), Some(100));
    }

    #[test]
    fn the_last_segment_is_acknowledged_at_once() {
        let mut fixture = Fixture::new(Ecn::Off);
        let frames = fixture.segment(Segment { len: LEN, fin: true, ..Segment::default() });
        assert_eq!(frames[0].ack, 100);
        assert!(fixture.receiver.is_complete());
    }

    #[test]
    fn holes_are_reported_most_recent_first() {
        let mut fixture = Fixture::new(Ecn::Off);
        fixture.arrive(1);
        fixture.arrive(3);
        assert_eq!(blocks(&fixture.arrive(5)[0]), [(5, 6), (3, 4), (1, 2)]);
        assert_eq!(blocks(&fixture.arrive(4)[0]), [(3, 6), (1, 2)]);
        let frames = fixture.arrive(0);
        assert_eq!((frames[0].ack, blocks(&frames[0])), (200, vec![(3, 6)]));
        let frames = fixture.arrive(2);
        assert_eq!((frames[0].ack, blocks(&frames[0])), (600, vec![]));
    }

    #[test]
    fn a_duplicate_is_reported_as_such() {
        // RFC 2883 §4: below the acknowledgment, or inside the second block.
        let mut fixture = Fixture::new(Ecn::Off);
        fixture.arrive(0);
        let frame = fixture.arrive(0)[0];
        assert_eq!(frame.sacks.duplicate(frame.ack), Some(0..100));
        fixture.arrive(2);
        fixture.arrive(3);
        let frame = fixture.arrive(2)[0];
        assert_eq!(
            (blocks(&frame), frame.sacks.duplicate(frame.ack)),
            (vec![(2, 3), (2, 4)], Some(200..300))
        );
    }

    #[test]
    fn the_block_around_a_duplicate_follows_it_whatever_came_later() {
        let mut fixture = Fixture::new(Ecn::Off);
        for number in [2, 4, 6, 8] {
            fixture.arrive(number);
        }
        let frame = fixture.arrive(2)[0];
        assert_eq!(blocks(&frame), [(2, 3), (2, 3), (8, 9)]);
        assert_eq!(frame.sacks.duplicate(frame.ack), Some(200..300));
    }

    #[test]
    fn accurate_marks_flush_what_was_unmarked_before() {
        // RFC 8257 §3.2, Figure 1.
        let mut fixture = Fixture::new(Ecn::Accurate);
        fixture.arrive_marked(0, false);
        let frames = fixture.arrive_marked(1, true);
        assert_eq!(frames.iter().map(|f| (f.ack, f.ece)).collect::<Vec<_>>(), [(100, false)]);
        let frames = fixture.arrive_marked(2, true);
        assert_eq!(frames.iter().map(|f| (f.ack, f.ece)).collect::<Vec<_>>(), [(300, true)]);
    }

    #[test]
    fn classic_marks_are_repeated_until_the_window_was_reduced() {
        let mut fixture = Fixture::new(Ecn::Classic);
        fixture.arrive_marked(0, true);
        assert!(fixture.arrive(1)[0].ece);
        fixture.arrive(2);
        assert!(fixture.arrive(3)[0].ece);
        fixture.segment(Segment { seq: 400, len: LEN, cwr: true, ..Segment::default() });
        assert!(!fixture.arrive(5)[0].ece);
    }

    /// Numbers of segments up to which each acknowledgment goes, on an interactive connection. The fifth segment says CWR.
    fn acked(ecn: Ecn, params: Params, marks: [bool; 6]) -> Vec<u64> {
        let mut fixture = Fixture { params, receiver: Receiver::new(ecn) };
        fixture.receiver.interactive = true;
        let mut acked = Vec::new();
        for (number, ce) in (0_u64..).zip(marks) {
            let segment = Segment { seq: number * u64::from(LEN), len: LEN, ce, ..Segment::default() };
            let frames = fixture.segment(Segment { cwr: number == 4, ..segment });
            acked.extend(frames.iter().map(|frame| frame.ack / u64::from(LEN)));
        }
        acked
    }

    #[test]
    fn two_segments_are_acknowledged_at_once_when_the_echo_of_marks_begins() {
        let quick = Params { mark_acks: Some(2), ..Params::default() };
        let marks = [true, true, true, false, false, false];
        assert_eq!(acked(Ecn::Classic, Params::default(), marks), [2, 4, 6]);
        assert_eq!(acked(Ecn::Classic, quick.clone(), marks), [1, 2, 4, 6]);
        // CWR ends the echo, and its segment begins it anew.
        let marks = [true, false, false, false, true, false];
        assert_eq!(acked(Ecn::Classic, quick, marks), [1, 2, 4, 5, 6]);
    }

    #[test]
    fn a_segment_that_says_cwr_is_acknowledged_at_once() {
        let params = Params { ack_cwr: true, ..Params::default() };
        assert_eq!(acked(Ecn::Classic, params, [false; 6]), [2, 4, 5]);
    }

    #[test]
    fn where_each_mark_is_echoed_a_change_is_acknowledged_at_once() {
        let quick = Params { mark_acks: Some(2), ..Params::default() };
        let marks = [false, false, false, true, true, false];
        assert_eq!(acked(Ecn::Accurate, Params::default(), marks), [2, 3, 5]);
        assert_eq!(acked(Ecn::Accurate, quick, marks), [2, 3, 4, 5, 6]);
    }

    #[test]
    fn marks_are_not_echoed_without_ecn() {
        let mut fixture = Fixture::new(Ecn::Off);
        fixture.arrive_marked(0, true);
        assert!(!fixture.arrive_marked(1, true)[0].ece);
    }
}
