//! Tags of limiters.

use std::num::NonZeroU16;

use narrows_proto::cnm::CpId;

use super::{LIMITED, Packet, TAG, pair};

impl Packet {
    /// The congestion point that limits its flow, if one does (the rate-limited tag of BCN).
    #[inline(always)]
    pub(crate) fn tag(self) -> Option<CpId> {
        NonZeroU16::new((self.high() >> TAG) as u16).map(CpId)
    }

    /// The same packet on its way from a limiter: with a tag of `size` bytes that may name a congestion point.
    #[inline(always)]
    pub(crate) fn tagged(self, tag: Option<CpId>, size: u16) -> Self {
        let tag = tag.map_or(0, |tag| u64::from(tag.0.get()));
        let high = self.high() & !(0xffff << TAG) | tag << TAG | LIMITED;
        Self { header: pair(self.header as u64, high + u64::from(size)), ..self }
    }

    /// The packet as it was before a limiter gave it a tag of `size` bytes.
    #[inline(always)]
    pub(crate) fn untagged(self, size: u16) -> Self {
        let high = self.high() & !(0xffff << TAG) & !LIMITED;
        Self { header: pair(self.header as u64, high - u64::from(size)), ..self }
    }
}
