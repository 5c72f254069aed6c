use super::classic_aqm::Fallback;
use crate::cc::{OutOfRange, Ranges};
use crate::units::{BitRate, Bytes, Span};

/// Settings of Prague.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Prague")]
pub struct Params {
    /// Both ends can count marks. `false`: plain Reno, whose packets cannot be marked.
    pub ecn: bool,
    /// g, the weight of the newest round in alpha; 1/16.
    pub gain: f64,
    /// alpha before the first mark. At 0 the first mark halves the window; version 0.6 had 1, like DCTCP.
    pub initial_alpha: f64,
    /// Flows with a shorter round-trip time behave as if it were this. Zero never.
    pub target_rtt: Span,
    /// So many rounds after slow start they do. Version 0.6 had 500.
    pub transition: u32,
    /// Up to so many packets in the window the rate is kept in place of it. Zero never.
    pub rate_window: u64,
    /// If the rate is kept, packets leave faster by this part in the first half of each virtual round trip, and slower in the second, so
    /// that a queue that marks above a threshold marks a little in each.
    pub swing: f64,
    /// The lowest rate on the wire.
    pub min_rate: BitRate,
    /// Packets shrink, down to this on the wire, so that two are left to be marked in each virtual round trip. They stay as large as they
    /// are if it is no less.
    pub min_packet: Bytes,
    /// A queue that marks by classic rules is detected and answered like Reno does. Off if left out, as in version 0.6 by itself; 0.7
    /// has no such option. `{}` has the values of 0.6.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ecn_fallback: Option<Fallback>,
    /// Longest burst of segmentation offload, as time at the pacing rate: 1/4096 s. A burst has one segment at least.
    pub burst: Span,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            ecn: true,
            gain: 1.0 / 16.0,
            initial_alpha: 0.0,
            target_rtt: Span::from_ms(25),
            transition: 4,
            rate_window: 4,
            swing: 1.0 / 32.0,
            min_rate: BitRate::from_bps(100_000),
            min_packet: Bytes::new(150),
            ecn_fallback: None,
            burst: Span::from_us(244),
        }
    }
}

impl Params {
    pub(super) fn check(&self, ranges: &mut Ranges) -> Result<(), OutOfRange> {
        let Self { gain, initial_alpha: alpha, target_rtt, swing, min_rate, burst, .. } = *self;
        ranges.unless(gain > 0.0 && gain <= 1.0, "gain", gain, "above 0, at most 1")?;
        ranges.unless((0.0..=1.0).contains(&alpha), "initial_alpha", alpha, "0 to 1")?;
        ranges.unless(target_rtt <= Span::from_secs(1), "target_rtt", target_rtt, "at most 1 s")?;
        ranges.unless((0.0..=0.5).contains(&swing), "swing", swing, "0 to 0.5")?;
        ranges.unless(min_rate >= BitRate::from_bps(1000), "min_rate", min_rate, "at least 1 kb/s")?;
        let least = self.min_packet;
        ranges.unless(least >= Bytes::new(150), "min_packet", least, "at least 150 B")?;
        ranges.unless(burst > Span::ZERO, "burst", burst, "more than 0 s")?;
        self.ecn_fallback.map_or(Ok(()), |fallback| fallback.check(ranges))
    }
}
