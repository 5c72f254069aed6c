//! Packets that spread over paths, and packets that a switch has trimmed.

use super::{AT_LAST_HOP, FLAGS, KIND, Kind, PRIORITY, Packet, SPREAD, TAG, pair};

impl Packet {
    /// The same packet without payload: of this size, in this priority. What its slots say stays.
    #[inline]
    pub(crate) fn trimmed(self, size: u16, priority: u8, at_last_hop: bool) -> Self {
        const REPLACED: u64 = 0xffff | 0xf << KIND | 7 << PRIORITY | (AT_LAST_HOP as u64) << FLAGS;
        let flag = if at_last_hop { AT_LAST_HOP } else { 0 };
        let high = self.high() & !REPLACED
            | u64::from(size)
            | Kind::Trimmed.bits()
            | u64::from(priority) << PRIORITY
            | u64::from(flag) << FLAGS;
        Self { header: pair(self.header as u64, high), ..self }
    }

    /// Its entropy, if it has some.
    #[inline(always)]
    pub(crate) fn entropy(self) -> u16 {
        if self.has_marks(SPREAD) { (self.high() >> TAG) as u16 } else { 0 }
    }

    /// The same packet with these bits where others have a tag, of which it has none.
    #[inline(always)]
    pub(crate) fn with_tag_bits(self, bits: u16) -> Self {
        Self { header: pair(self.header as u64, self.high() | u64::from(bits) << TAG), ..self }
    }

    /// The same packet with entropy.
    #[inline(always)]
    pub(crate) fn with_entropy(self, entropy: u16) -> Self {
        self.with_marks(SPREAD).with_tag_bits(entropy)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::fields;
    use super::super::{AGAIN, CE, ECT, Fields, TELEMETRY, TRIMMABLE};
    use super::*;

    #[test]
    fn a_trimmed_packet_keeps_all_but_its_payload() {
        let packet = Packet::new(Fields {
            seq: 7,
            size: 4_178,
            kind: Kind::Data,
            priority: 1,
            flags: ECT | CE | TELEMETRY | AGAIN,
            trailers: 2,
            ..fields()
        });
        let packet = packet.with_marks(TRIMMABLE).with_entropy(61_234);
        for at_last_hop in [false, true] {
            let trimmed = packet.trimmed(84, 6, at_last_hop);
            assert_eq!((trimmed.kind(), trimmed.size(), trimmed.priority()), (Kind::Trimmed, 84, 6));
            assert_eq!((trimmed.seq(), trimmed.trailers(), trimmed.entropy()), (7, 2, 61_234));
            assert!(trimmed.is_marked() && trimmed.is(AGAIN));
            assert_eq!(trimmed.is(AT_LAST_HOP), at_last_hop);
        }
        assert_eq!((packet.entropy(), Packet::new(fields()).entropy()), (61_234, 0));
    }
}
