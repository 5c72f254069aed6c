use std::fmt;

use narrows_proto::units::{BitRate, Bytes, Span};
use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::verdict::{MarkAt, Verdict};

/// Step marking (RFC 8257 §3.1, Alizadeh et al. §3.1).
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// K: packets that find more than this waiting, or leave it behind, are marked if they can be. The packet on the wire does not
    /// wait. One size for all ports, or `{ bytes = "30 kB", per = "1 Gb/s" }` for one that grows with the rate of the port.
    pub k: Threshold,
    /// Whether packets are looked at when they arrive or when they leave.
    #[serde(default)]
    pub mark_at: MarkAt,
}

/// A queue length above which something happens.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, schemars::JsonSchema)]
#[serde(untagged)]
#[schemars(untagged)]
pub enum Threshold {
    /// The same at every port.
    Fixed(Bytes),
    /// In proportion to the rate of the port.
    Scaled(ScaledThreshold),
}

/// A queue length for each port, in proportion to the rate of its link.
#[derive(Clone, Copy, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScaledThreshold {
    /// The threshold at a link of the rate `per`.
    pub bytes: Bytes,
    /// A rate. At a link of ten times this rate, it is ten times as much.
    pub per: BitRate,
}

impl Threshold {
    /// The threshold at a port of this rate.
    pub fn at(&self, rate: BitRate) -> Bytes {
        match *self {
            Self::Fixed(bytes) => bytes,
            Self::Scaled(ScaledThreshold { bytes, per }) => {
                let scaled =
                    u128::from(bytes.get()) * u128::from(rate.as_bps()) / u128::from(per.as_bps().max(1));
                Bytes::new(u64::try_from(scaled).unwrap_or(u64::MAX))
            }
        }
    }
}

/// Step marking with a threshold for each port.
#[derive(Clone, Debug)]
pub(super) struct Steps(Box<[u64]>);

impl Steps {
    pub(super) fn new(k: Threshold, ports: impl Iterator<Item = (BitRate, Span)>) -> Self {
        Self(ports.map(|(rate, _)| k.at(rate).get()).collect())
    }

    pub(super) fn judge(&self, port: usize, backlog: u64, ect: bool) -> Verdict {
        if backlog > self.0[port] && ect { Verdict::Mark } else { Verdict::Pass }
    }
}

impl From<Bytes> for Threshold {
    fn from(bytes: Bytes) -> Self {
        Self::Fixed(bytes)
    }
}

impl fmt::Display for Threshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(bytes) => write!(f, "{bytes}"),
            Self::Scaled(ScaledThreshold { bytes, per }) => write!(f, "{bytes} per {per}"),
        }
    }
}

impl<'de> Deserialize<'de> for Threshold {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ThresholdVisitor)
    }
}

struct ThresholdVisitor;

impl<'de> Visitor<'de> for ThresholdVisitor {
    type Value = Threshold;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a size such as \"30 kB\", or { bytes = \"30 kB\", per = \"1 Gb/s\" }")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Threshold, E> {
        Bytes::deserialize(StrDeserializer::new(text)).map(Threshold::Fixed)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Threshold, A::Error> {
        ScaledThreshold::deserialize(MapAccessDeserializer::new(map)).map(Threshold::Scaled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Result<Threshold, String> {
        serde_json::from_str(json).map_err(|error| error.to_string())
    }

    #[test]
    fn a_threshold_is_a_size_or_a_size_for_a_rate() {
        assert_eq!(read("\"30 kB\""), Ok(Threshold::Fixed(Bytes::new(30_000))));
        let scaled = ScaledThreshold { bytes: Bytes::new(30_000), per: BitRate::from_gbps(1) };
        assert_eq!(read(r#"{"bytes": "30 kB", "per": "1 Gb/s"}"#), Ok(Threshold::Scaled(scaled)));
        assert!(read(r#"{"bytes": "30 kB"}"#).is_err_and(|error| error.contains("missing field `per`")));
        assert!(read("7").is_err_and(|error| error.contains("expected a size such as")));
    }

    #[test]
    fn a_scaled_threshold_grows_with_the_rate_of_the_port() {
        let k = Threshold::Scaled(ScaledThreshold { bytes: Bytes::new(97_500), per: BitRate::from_gbps(10) });
        assert_eq!(k.at(BitRate::from_gbps(10)), Bytes::new(97_500));
        assert_eq!(k.at(BitRate::from_gbps(1)), Bytes::new(9_750));
        assert_eq!(k.at(BitRate::from_gbps(400)), Bytes::new(3_900_000));
    }
}
