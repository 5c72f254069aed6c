//! Which segments are on their way, and what became of them.

use std::collections::VecDeque;
use std::ops::Range;

use super::rack_tlp::RackTlp;
use super::sent::{Sent, Snapshot, State, Tally};
use crate::cc::LostSegment;
use crate::range_set::RangeSet;
use crate::units::{Bytes, Span, Time};

/// The segments between the first unacknowledged and the next byte, in order of sequence.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scoreboard {
    segments: VecDeque<Sent>,
    /// Number of the front segment, counted from the beginning of the flow.
    front: u64,
    una: u64,
    next: u64,
    inflight: Bytes,
    /// The highest byte that was acknowledged in any way (`RACK.fack`).
    highest: u64,
    /// Holes that are known; none while everything arrives in order and once.
    holes: Option<Box<Holes>>,
    /// Payload ever given up as lost, by all flows of the connection.
    lost: Bytes,
}

/// Data that arrived out of order, and data that was or has to be retransmitted.
#[derive(Clone, Debug, Default)]
struct Holes {
    sacked: RangeSet,
    sacked_segments: u64,
    /// Numbers of lost segments: in ascending order, behind them those noticed since the first was asked for. An entry is void when its
    /// segment is no longer lost.
    lost: VecDeque<u64>,
    /// Not all of them are in ascending order.
    is_mixed: bool,
    /// Payload of the segments that are lost and have not been retransmitted.
    waiting: Bytes,
    /// First transmissions below this number have been judged by [`Scoreboard::detect_losses`].
    judged: u64,
    /// Retransmissions in the order they were sent, with their time. Void when the segment was retransmitted or lost.
    again: VecDeque<(u64, Time)>,
}

/// Count of losses noticed at some time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Noticed {
    entries: usize,
    lost: Bytes,
}

impl Scoreboard {
    /// Nothing sent. The connection had lost this much before.
    pub(super) fn new(lost: Bytes) -> Self {
        Self { lost, ..Self::default() }
    }

    /// First byte not acknowledged (SND.UNA).
    pub(crate) fn una(&self) -> u64 {
        self.una
    }

    /// Payload ever given up as lost, by all flows of the connection.
    pub(crate) fn lost(&self) -> Bytes {
        self.lost
    }

    /// First byte never sent (SND.NXT).
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    /// Sent, and neither delivered nor lost.
    pub(crate) fn inflight(&self) -> Bytes {
        self.inflight
    }

    /// Nothing waits for an acknowledgment.
    pub(crate) fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    /// Segments waiting for an acknowledgment.
    pub(crate) fn len(&self) -> usize {
        self.segments.len()
    }

    /// Segments delivered beyond the first missing one.
    pub(crate) fn sacked_segments(&self) -> u64 {
        self.holes.as_ref().map_or(0, |holes| holes.sacked_segments)
    }

    /// Notes a new segment.
    pub(crate) fn push(&mut self, sent: Sent) {
        debug_assert_eq!(sent.end, self.next + u64::from(sent.len));
        self.next = sent.end;
        self.inflight += sent.bytes();
        if self.segments.capacity() == 0 {
            // Of many flows only one segment is ever under way at a time.
            self.segments.reserve_exact(1);
        }
        self.segments.push_back(sent);
    }

    /// Everything below `ack` has arrived.
    pub(crate) fn acknowledge(&mut self, ack: u64, tally: &mut Tally) {
        let mut sacked = 0;
        while let Some(sent) = self.segments.front().filter(|sent| sent.end <= ack) {
            match sent.state {
                State::InFlight => {
                    self.inflight -= sent.bytes();
                    tally.add(sent, &mut self.highest);
                }
                State::Lost => {
                    let bytes = sent.bytes();
                    tally.add(sent, &mut self.highest);
                    if let Some(holes) = &mut self.holes {
                        holes.waiting -= bytes;
                    }
                }
                State::Sacked => sacked += 1,
            }
            self.una = sent.end;
            self.segments.pop_front();
            self.front += 1;
        }
        if let Some(holes) = &mut self.holes {
            holes.sacked_segments -= sacked;
            holes.sacked.remove_below(self.una);
            if self.segments.is_empty() {
                self.holes = None;
            }
        }
    }

    /// Everything has arrived below the first segment of which that is not known.
    pub(crate) fn acknowledge_front(&mut self, tally: &mut Tally) {
        if self.segments.front().is_some_and(|first| first.state == State::Sacked)
            && let Some(first) = self.holes.as_ref().and_then(|holes| holes.sacked.first())
        {
            self.acknowledge(first.end, tally);
        }
    }

    fn holes(&mut self) -> &mut Holes {
        self.holes.get_or_insert_default()
    }

    /// `block` has arrived.
    pub(crate) fn sack(&mut self, block: Range<u64>, tally: &mut Tally) {
        let block = block.start.max(self.una)..block.end.min(self.next);
        if block.is_empty() {
            return;
        }
        let Self { segments, inflight, holes, highest, .. } = self;
        let Holes { sacked, sacked_segments, waiting, .. } = &mut **holes.get_or_insert_default();
        sacked.insert(block, |part| {
            let from = segments.partition_point(|sent| sent.end <= part.start);
            for sent in segments.range_mut(from..).take_while(|sent| sent.end <= part.end) {
                match sent.state {
                    State::InFlight => *inflight -= sent.bytes(),
                    State::Lost => *waiting -= sent.bytes(),
                    State::Sacked => {}
                }
                sent.state = State::Sacked;
                *sacked_segments += 1;
                tally.add(sent, highest);
            }
        });
    }

    /// Marks what RACK deems lost at `now`. Returns how much that is, and when to look again.
    ///
    /// Segments are judged in the order they were sent (first transmissions in sequence, then retransmissions), so
    /// each is looked at a constant number of times.
    pub(crate) fn detect_losses(
        &mut self,
        now: Time,
        rack_tlp: &RackTlp,
        reordering_window: Span,
    ) -> (Bytes, Time) {
        let mut lost = Bytes::ZERO;
        let mut look_again = Time::NEVER;
        let mut judged = self.holes().judged.max(self.front);
        while let Some(sent) = self.segments.get((judged - self.front) as usize) {
            if sent.state == State::InFlight && !sent.retransmitted {
                if sent.is_later_than(rack_tlp.newest()) {
                    break;
                }
                let deadline = rack_tlp.deadline(sent, reordering_window);
                if deadline > now {
                    look_again = deadline;
                    break;
                }
                lost += self.lose(judged);
            }
            judged += 1;
        }
        self.holes().judged = judged;
        while let Some(&(number, sent_at)) = self.holes().again.front() {
            if let Some(sent) =
                self.get(number).filter(|s| s.state == State::InFlight && s.sent_at == sent_at)
            {
                if sent.is_later_than(rack_tlp.newest()) {
                    break;
                }
                let deadline = rack_tlp.deadline(sent, reordering_window);
                if deadline > now {
                    look_again = look_again.min(deadline);
                    break;
                }
                lost += self.lose(number);
            }
            self.holes().again.pop_front();
        }
        (lost, look_again)
    }

    /// Marks the first segment and everything sent at or before `before` as lost (RFC 8985 §6.3).
    pub(crate) fn lose_after_timeout(&mut self, before: Time) {
        if self.segments.front().is_some_and(|first| first.state == State::InFlight) {
            self.lose(self.front);
        }
        self.lose_sent_by(before);
    }

    /// When the packet under way was sent that has been so for longest.
    pub(crate) fn oldest_in_flight(&self) -> Option<Time> {
        let in_flight = self.segments.iter().filter(|sent| sent.state == State::InFlight);
        in_flight.map(|sent| sent.sent_at).min()
    }

    /// Marks everything that was sent at or before `before` as lost.
    pub(crate) fn lose_sent_by(&mut self, before: Time) {
        for number in self.front..self.front + self.segments.len() as u64 {
            let sent = &self.segments[(number - self.front) as usize];
            if sent.state == State::InFlight && sent.sent_at <= before {
                self.lose(number);
            }
        }
    }

    /// Marks everything that ends at or below `end` and was sent only once as lost: something sent after it has arrived.
    /// Returns how much that is. Each segment is looked at once.
    pub(crate) fn lose_below(&mut self, end: u64) -> Bytes {
        let mut lost = Bytes::ZERO;
        let mut judged = self.holes().judged.max(self.front);
        while let Some(sent) = self.get(judged).filter(|sent| sent.end <= end) {
            if sent.state == State::InFlight && !sent.retransmitted {
                lost += self.lose(judged);
            }
            judged += 1;
        }
        self.holes().judged = judged;
        lost
    }

    /// Marks the segment that begins at `seq` as lost if it is under way, for the first time or `again`. Returns how much that is, and
    /// when it was sent.
    pub(crate) fn lose_at(&mut self, seq: u64, again: bool) -> Option<(Bytes, Time)> {
        let place = self.segments.partition_point(|sent| sent.end <= seq);
        let is_meant = |sent: &&Sent| {
            let begins = sent.end - u64::from(sent.len) == seq;
            begins && sent.state == State::InFlight && sent.retransmitted == again
        };
        let sent_at = self.segments.get(place).filter(is_meant)?.sent_at;
        Some((self.lose(self.front + place as u64), sent_at))
    }

    /// Payload that is lost and has not been retransmitted.
    pub(crate) fn waiting(&self) -> Bytes {
        self.holes.as_ref().map_or(Bytes::ZERO, |holes| holes.waiting)
    }

    /// One past the highest byte that was acknowledged in any way.
    pub(crate) fn highest(&self) -> u64 {
        self.highest
    }

    /// Marks everything that has not been delivered as lost, to be retransmitted in order. Returns what was not lost before.
    pub(crate) fn lose_all(&mut self) -> Bytes {
        let mut lost = Bytes::ZERO;
        self.holes().lost.clear();
        for number in self.front..self.front + self.segments.len() as u64 {
            match self.segments[(number - self.front) as usize].state {
                State::InFlight => lost += self.lose(number),
                State::Lost => self.holes().lost.push_back(number),
                State::Sacked => {}
            }
        }
        self.holes().judged = self.front + self.segments.len() as u64;
        lost
    }

    /// Everything that is lost and has not been retransmitted is on its way after all. What was judged is judged again; what was ever
    /// given up ([`lost`](Self::lost)) stays counted.
    pub(super) fn find_lost(&mut self) {
        for sent in self.segments.iter_mut().filter(|sent| sent.state == State::Lost) {
            sent.state = State::InFlight;
            self.inflight += sent.bytes();
        }
        if let Some(holes) = &mut self.holes {
            holes.lost.clear();
            holes.waiting = Bytes::ZERO;
            holes.judged = self.front;
        }
    }

    fn lose(&mut self, number: u64) -> Bytes {
        let sent = &mut self.segments[(number - self.front) as usize];
        sent.state = State::Lost;
        let bytes = sent.bytes();
        self.inflight -= bytes;
        self.lost += bytes;
        let holes = self.holes();
        holes.is_mixed |= holes.lost.back().is_some_and(|last| *last > number);
        holes.lost.push_back(number);
        holes.waiting += bytes;
        bytes
    }

    /// Losses noticed so far. What [`lost_after`](Self::lost_after) this is known until the next segment is sent.
    pub(crate) fn noticed(&self) -> Noticed {
        let entries = self.holes.as_ref().map_or(0, |holes| holes.lost.len());
        Noticed { entries, lost: self.lost }
    }

    /// Segments noticed to be lost after `noticed`, in this order.
    pub(crate) fn lost_after(&self, noticed: Noticed) -> impl Iterator<Item = LostSegment> {
        let lost = self.holes.iter().flat_map(move |holes| holes.lost.range(noticed.entries..));
        lost.filter_map(|number| self.get(*number)).scan(noticed.lost, |lost, sent| {
            *lost += sent.bytes();
            Some(LostSegment {
                first: sent.end - u64::from(sent.len),
                size: sent.bytes(),
                inflight: sent.snapshot.inflight + sent.bytes(),
                lost: *lost - sent.snapshot.lost,
                app_limited: sent.app_limited,
            })
        })
    }

    /// The first of the lost segments (RFC 6675 §4, `NextSeg`): its number and size.
    #[inline(always)]
    pub(crate) fn first_lost(&mut self) -> Option<(u64, Bytes)> {
        if self.holes.is_some() { self.first_lost_of_holes() } else { None }
    }

    #[inline(never)]
    fn first_lost_of_holes(&mut self) -> Option<(u64, Bytes)> {
        let holes = self.holes();
        if std::mem::take(&mut holes.is_mixed) {
            holes.lost.make_contiguous().sort_unstable();
        }
        while let Some(&number) = self.holes().lost.front() {
            if let Some(sent) = self.get(number).filter(|sent| sent.state == State::Lost) {
                return Some((number, sent.bytes()));
            }
            self.holes().lost.pop_front();
        }
        None
    }

    /// Retransmissions that are neither delivered nor lost.
    pub(super) fn retransmitted_in_flight(&self) -> u64 {
        if self.holes.is_none() {
            return 0;
        }
        let again = |sent: &&Sent| sent.retransmitted && sent.state == State::InFlight;
        self.segments.iter().filter(again).count() as u64
    }

    /// Segment `number` is the first that has not been acknowledged.
    pub(crate) fn is_first(&self, number: u64) -> bool {
        number == self.front
    }

    /// The first segment that waits for an acknowledgment.
    pub(super) fn first(&self) -> Option<&Sent> {
        self.segments.front()
    }

    /// Number of the last segment.
    pub(crate) fn last(&self) -> Option<u64> {
        (self.front + self.segments.len() as u64).checked_sub(1).filter(|number| *number >= self.front)
    }

    /// Segment `number` is retransmitted, and RACK will judge it.
    pub(crate) fn resend(&mut self, number: u64, now: Time, snapshot: Snapshot, app_limited: bool) -> Sent {
        self.holes().again.push_back((number, now));
        self.repeat(number, now, snapshot, app_limited)
    }

    /// Segment `number` is retransmitted.
    pub(crate) fn repeat(&mut self, number: u64, now: Time, snapshot: Snapshot, app_limited: bool) -> Sent {
        let sent = &mut self.segments[(number - self.front) as usize];
        if sent.state != State::InFlight {
            if sent.state == State::Lost
                && let Some(holes) = &mut self.holes
            {
                holes.waiting -= sent.bytes();
            }
            sent.state = State::InFlight;
            self.inflight += sent.bytes();
        }
        let repeatedly = sent.retransmitted;
        *sent = Sent { retransmitted: true, repeatedly, sent_at: now, snapshot, app_limited, ..*sent };
        *sent
    }

    fn get(&self, number: u64) -> Option<&Sent> {
        self.segments.get(number.checked_sub(self.front)? as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEGMENT: Bytes = Bytes::new(1000);

    /// Segments of which each is sent a microsecond after the one before.
    fn sent(segments: u64) -> Scoreboard {
        let mut board = Scoreboard::new(SEGMENT * 7);
        for number in 1..=segments {
            let sent_at = Time::ZERO + Span::from_us(number);
            let (inflight, lost) = (board.inflight(), board.lost());
            let snapshot = Snapshot {
                delivered: Bytes::ZERO,
                delivered_at: sent_at,
                first_sent_at: sent_at,
                inflight,
                lost,
            };
            let (end, len) = (number * SEGMENT.get(), SEGMENT.get() as u32);
            let (state, app_limited) = (State::InFlight, number == 3);
            let [retransmitted, repeatedly] = [false; 2];
            board.push(Sent { end, len, state, retransmitted, repeatedly, app_limited, sent_at, snapshot });
        }
        board
    }

    #[test]
    fn what_is_lost_is_reported_with_the_flight_it_was_part_of_and_all_lost_since() {
        let mut board = sent(4);
        let noticed = board.noticed();
        board.lose_after_timeout(Time::ZERO + Span::from_us(3));
        let lost: Vec<_> = board.lost_after(noticed).collect();
        let expected = [(0, 1, 1, false), (1, 2, 2, false), (2, 3, 3, true)].map(
            |(first, inflight, lost, app_limited)| LostSegment {
                first: first * SEGMENT.get(),
                size: SEGMENT,
                inflight: SEGMENT * inflight,
                lost: SEGMENT * lost,
                app_limited,
            },
        );
        assert_eq!(lost, expected);
        let noticed = board.noticed();
        assert_eq!(board.lost_after(noticed).count(), 0);
    }

    #[test]
    fn a_lost_retransmission_is_sent_before_what_lies_beyond_it() {
        let mut board = sent(5);
        board.lose_all();
        let snapshot = board.segments[0].snapshot;
        let again = |board: &mut Scoreboard| {
            let (number, _) = board.first_lost()?;
            board.repeat(number, Time::ZERO + Span::from_us(9), snapshot, false);
            Some(number)
        };
        let first: Vec<_> = (0..3).filter_map(|_| again(&mut board)).collect();
        board.lose(1);
        board.lose(2);
        let rest: Vec<_> = std::iter::from_fn(|| again(&mut board)).collect();
        assert_eq!((first, rest), (vec![0, 1, 2], vec![1, 2, 3, 4]));
    }

    #[test]
    fn what_is_found_again_is_on_its_way_and_what_was_retransmitted_stays_it() {
        let mut board = sent(4);
        let snapshot = board.get(0).expect("sent").snapshot;
        board.lose_after_timeout(Time::ZERO + Span::from_us(3));
        let (number, _) = board.first_lost().expect("lost");
        board.resend(number, Time::ZERO + Span::from_us(9), snapshot, false);
        board.find_lost();
        assert_eq!((board.first_lost(), board.inflight(), board.lost()), (None, SEGMENT * 4, SEGMENT * 10));
        let again: Vec<_> = board.segments.iter().map(|sent| sent.retransmitted).collect();
        assert_eq!(again, [true, false, false, false]);
    }

    #[test]
    fn what_is_found_again_can_be_lost_again() {
        let mut board = sent(4);
        board.lose_after_timeout(Time::ZERO + Span::from_us(4));
        board.find_lost();
        assert_eq!(board.lose_below(4 * SEGMENT.get()), SEGMENT * 4);
    }
}
