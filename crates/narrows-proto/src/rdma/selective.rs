//! Acknowledgments where packets are taken in any order.

use std::ops::Range;

use crate::range_set::RangeSet;
use crate::stream::Segment;
use crate::units::Bytes;

/// Part of an acknowledgment that says which packets have arrived beyond the first that is missing, and which one it answers.
///
/// Differs from Ultra Ethernet's simulator: the 64 packets are always those up to the one that it answers, and begin at the first that is
/// missing if that is one of them. There they begin at the one answered if that is marked or requested the acknowledgment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Selective {
    /// First byte of the packet that bit 0 stands for.
    pub base: u64,
    /// A bit for each packet that has arrived.
    pub arrived: u64,
    /// Entropy of the packet that it answers.
    pub entropy: u16,
    /// That packet had been sent before.
    pub again: bool,
    /// With a NAK: it was trimmed on the link to the receiver.
    pub at_last_hop: bool,
}

/// A packet that is answered.
#[derive(Clone, Copy)]
pub(super) struct Answered<'a> {
    pub(super) segment: &'a Segment,
    pub(super) at_last_hop: bool,
}

impl Selective {
    /// Its size in an acknowledgment: a number of 4 B and 64 bits.
    pub(super) const WIRE_SIZE: Bytes = Bytes::new(12);

    /// Everything below `next` has arrived, and what is `held`.
    pub(super) fn new(answered: Answered<'_>, next: u64, held: &RangeSet, mtu: Bytes) -> Self {
        let Answered { segment, at_last_hop } = answered;
        let (entropy, again) = (segment.entropy, segment.retransmission);
        let mtu = mtu.get();
        let from = next.div_ceil(mtu).max((segment.seq / mtu).saturating_sub(63));
        let base = from * mtu;
        let bits = |range: &Range<u64>| {
            let first = (range.start / mtu).max(from) - from;
            let end = (range.end.div_ceil(mtu) - from).min(64);
            (u64::MAX >> (64 - (end - first))) << first
        };
        let window = base..base.saturating_add(64 * mtu);
        let arrived = held.within(window).map(bits).fold(0, |all, bits| all | bits);
        Self { base, arrived, entropy, again, at_last_hop }
    }

    /// Packets that have arrived, of a flow of `size` bytes.
    pub(super) fn blocks(self, mtu: Bytes, size: u64) -> impl Iterator<Item = Range<u64>> {
        let mut rest = self.arrived;
        let mut at = self.base;
        std::iter::from_fn(move || {
            let (gap, bytes) = (rest.trailing_zeros(), mtu.get());
            if gap == 64 {
                return None;
            }
            let run = (rest >> gap).trailing_ones();
            let start = at + u64::from(gap) * bytes;
            at = start + u64::from(run) * bytes;
            rest = rest.checked_shr(gap + run).unwrap_or(0);
            Some(start.min(size)..at.min(size))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MTU: Bytes = Bytes::new(1_000);

    fn held(ranges: &[Range<u64>]) -> RangeSet {
        let mut held = RangeSet::default();
        for range in ranges {
            held.insert(range.start * 1_000..range.end * 1_000, |_| {});
        }
        held
    }

    fn selective(of: u64, next: u64, ranges: &[Range<u64>]) -> Selective {
        let segment = Segment { seq: of * 1_000, len: 1_000, ..Segment::default() };
        Selective::new(Answered { segment: &segment, at_last_hop: false }, next * 1_000, &held(ranges), MTU)
    }

    #[test]
    fn bits_begin_at_the_first_packet_that_is_missing() {
        let said = selective(5, 2, &[3..4, 5..7]);
        assert_eq!((said.base, said.arrived), (2_000, 0b11010));
        let blocks: Vec<_> = said.blocks(MTU, 6_500).collect();
        assert_eq!(blocks, [3_000..4_000, 5_000..6_500], "the last packet is short");
    }

    #[test]
    fn bits_end_at_the_packet_answered_if_the_first_that_is_missing_is_far() {
        let said = selective(100, 2, &[3..30, 36..38, 40..101, 200..300]);
        assert_eq!(said.base, 37_000);
        assert_eq!(said.arrived, !0b110, "37, and 40 to 100");
        let blocks: Vec<_> = said.blocks(MTU, u64::MAX).collect();
        assert_eq!(blocks, [37_000..38_000, 40_000..101_000]);
    }

    #[test]
    fn nothing_is_said_where_nothing_is_missing() {
        let said = selective(7, 8, &[]);
        assert_eq!((said.arrived, said.blocks(MTU, u64::MAX).count()), (0, 0));
    }

    #[test]
    fn sixty_four_packets_in_a_row_are_one_block() {
        let said = selective(64, 1, &[1..33, 33..65]);
        // Cannot happen, as `next` would have moved; every bit is set nevertheless.
        assert_eq!((said.base, said.arrived), (1_000, u64::MAX));
        let mut blocks = said.blocks(MTU, u64::MAX);
        assert_eq!((blocks.next(), blocks.next()), (Some(1_000..65_000), None));
    }
}
