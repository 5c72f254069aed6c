//! Receive offload: a receiver merges segments that arrive one after the other within a short time, and acknowledges them together.
//!
//! ```text
//! Merged     what follows on the last byte, arrives within the time, fits into the size,    tcp_gro_receive of Linux
//!            has the same mark and does not say that the window was reduced
//! Handed on  when the time is up, the size is reached, the flow or a burst that says so
//!            ends (PSH), or something arrives that does not belong to it
//! ACK        for more than one segment at once, a single one waits for another             __tcp_ack_snd_check
//! ```
//!
//! Whoever looks at acknowledgments must expect many segments in one. Slow start that counts no more than L segments of each
//! (RFC 3465 §2.3) would crawl, so L is at least what is merged ([`Path::merged`](crate::cc::Path::merged)).
//!
//! Differs from Linux: a segment waits for others for a time of its flow's own. Linux hands everything on at the end of a poll of the
//! network card, or when `gro_flush_timeout` is over. A flow is merged whatever else arrives in between; Linux has eight places for
//! each bucket of flows.

use crate::cc::{OutOfRange, Ranges};
use crate::units::{Bytes, Span};

/// Settings of receive offload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "ReceiveOffload")]
pub struct ReceiveOffload {
    /// Time that the first segment of a unit waits for others. At zero those are merged that an interrupt hands over together
    /// (`hosts.real.interrupts`).
    pub within: Span,
    /// Most payload of a unit (`gro_max_size` of Linux: 64 KiB).
    pub most: Bytes,
}

impl Default for ReceiveOffload {
    fn default() -> Self {
        Self { within: Span::from_us(20), most: Bytes::new(65_536) }
    }
}

impl ReceiveOffload {
    /// Checks ranges that types cannot express, for segments of `mss`.
    ///
    /// # Errors
    /// Names the first setting that is out of its range.
    pub(super) fn check(&self, mss: Bytes, ranges: &mut Ranges) -> Result<(), OutOfRange> {
        let Self { within, most } = *self;
        ranges.unless(within <= Span::from_ms(100), "receive_offload.within", within, "at most 100 ms")?;
        ranges.unless(
            (mss * 2..=Bytes::new(1 << 20)).contains(&most),
            "receive_offload.most",
            most,
            "room for two full segments, and at most 1 MiB",
        )
    }

    /// The most full segments of a unit.
    pub(super) fn segments(&self, mss: Bytes) -> u64 {
        self.most.get() / mss.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_out_of_their_range_are_refused() {
        let mss = Bytes::new(1448);
        let check = |settings: ReceiveOffload| {
            settings.check(mss, &mut Ranges::default()).map_err(|error| error.setting)
        };
        let most = |bytes| ReceiveOffload { most: Bytes::new(bytes), ..Default::default() };
        assert_eq!(check(most(2895)), Err("receive_offload.most"));
        assert_eq!(check(most(2 << 20)), Err("receive_offload.most"));
        assert_eq!(
            check(ReceiveOffload { within: Span::from_secs(1), ..Default::default() }),
            Err("receive_offload.within")
        );
        assert_eq!(check(ReceiveOffload::default()), Ok(()));
    }
}
