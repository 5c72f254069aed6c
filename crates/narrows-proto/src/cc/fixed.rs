//! A constant window, a constant rate, or both: for experiments that need a source without a will of its own.
//!
//! It reacts to nothing. Lost segments are still repaired by the transport.

use super::{Ack, Algorithm, Congestion, Controller, Ecn, Limit, OutOfRange, Path, Ranges};
use crate::units::{BitRate, Bytes, Time, WireTime};

/// Settings of the fixed control. Without a window and without a rate it does not limit at all.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Fixed")]
pub struct Params {
    /// Payload that may be in flight; unlimited if left out.
    pub window: Option<Bytes>,
    /// Rate at which packets leave, headers included; line rate if left out.
    pub rate: Option<BitRate>,
    /// Ask switches to mark (which changes nothing but the marks).
    pub ecn: bool,
}

/// A constant limit.
#[derive(Clone, Debug)]
pub struct Fixed {
    limit: Limit,
}

impl Algorithm for Fixed {
    type Params = Params;
    const SUMMARY: &'static str = "constant window and/or rate, for experiments";
    const SOURCE: &'static str = "none";

    fn new(params: &Params, path: &Path) -> Self {
        let cwnd = params.window.map_or(Bytes::MAX, |window| window.max(path.mss));
        Self { limit: Limit { cwnd, pacing: params.rate } }
    }

    fn ecn(params: &Params) -> Ecn {
        if params.ecn { Ecn::Accurate } else { Ecn::Off }
    }

    fn check(params: &Params, ranges: &mut Ranges) -> Result<(), OutOfRange> {
        let window = params.window.unwrap_or(Bytes::MAX);
        ranges.unless(window > Bytes::ZERO, "window", window, "more than 0 B")?;
        let rate = params.rate.unwrap_or(WireTime::MAX_RATE);
        ranges.unless(
            (WireTime::MIN_RATE..=WireTime::MAX_RATE).contains(&rate),
            "rate",
            rate,
            "1 kb/s to 100 Tb/s",
        )
    }
}

impl Controller for Fixed {
    fn on_ack(&mut self, _ack: &Ack) {}

    fn on_congestion(&mut self, _now: Time, _event: Congestion) {}

    fn limit(&self) -> Limit {
        self.limit
    }
}
