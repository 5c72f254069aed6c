//! A policer: what a token bucket does not let pass is dropped or marked. It stands before the queue.
//!
//! Tokens come at the rate R until there are B bytes of them. A packet takes as many as it has bytes, framing included; if there are not
//! enough it is out of profile and takes none. In any time T no more than B + R·T bytes pass.

use narrows_proto::cc::{OutOfRange, Ranges};
use narrows_proto::units::{BitRate, Bytes, WireTime};

/// A packet that does not conform to a token bucket is dropped or marked before it reaches the queue.
#[derive(Clone, Copy, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Policer {
    /// Tokens per second.
    pub rate: BitRate,
    /// Depth of the bucket, which is full at the beginning.
    pub burst: Bytes,
    /// Fate of packets for which there are not enough.
    #[serde(default)]
    pub excess: Excess,
}

/// Fate of packets without tokens.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Excess {
    /// They are dropped.
    #[default]
    Drop,
    /// They are marked if their connection uses ECN, and dropped otherwise.
    Mark,
}

impl Policer {
    /// Whether its settings are in their ranges, which it declares.
    ///
    /// # Errors
    /// The first that is not.
    pub fn check(&self, ranges: &mut Ranges) -> Result<(), OutOfRange> {
        check_bucket(self.rate, self.burst, ranges)
    }
}

/// Whether the rate and the depth of a bucket are in their ranges.
pub(super) fn check_bucket(rate: BitRate, burst: Bytes, ranges: &mut Ranges) -> Result<(), OutOfRange> {
    let rates = WireTime::MIN_RATE..=WireTime::MAX_RATE;
    ranges.unless(rates.contains(&rate), "rate", rate, "1 kb/s to 100 Tb/s")?;
    let bursts = Bytes::new(64)..=Bytes::new(1_000_000_000_000);
    ranges.unless(bursts.contains(&burst), "burst", burst, "64 B to 1 TB")
}
