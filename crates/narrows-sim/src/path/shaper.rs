//! A shaper: a packet waits until a token bucket has enough for it, and then leaves at the rate of the link (`tbf` in Linux).
//!
//! The packet that waits has left the queue; the queue and what governs it see a link that is busy.

use narrows_proto::cc::{OutOfRange, Ranges};
use narrows_proto::units::{BitRate, Bytes};

use super::policer::check_bucket;

/// Packets wait until a token bucket has enough for them.
#[derive(Clone, Copy, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Shaper {
    /// Tokens per second.
    pub rate: BitRate,
    /// Depth of the bucket, which is full at the beginning.
    pub burst: Bytes,
}

impl Shaper {
    /// Whether its settings are in their ranges, which it declares.
    ///
    /// # Errors
    /// The first that is not.
    pub fn check(&self, ranges: &mut Ranges) -> Result<(), OutOfRange> {
        check_bucket(self.rate, self.burst, ranges)
    }
}
