//! K as it is written: a size, or that of the switches.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::StrDeserializer;
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::units::Bytes;

/// K of GEMINI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarkingThreshold {
    /// That of the switches. Who knows the network puts a size in its place; a control that is made with it takes the default.
    Switches,
    /// A size.
    Bytes(Bytes),
}

const SWITCHES: &str = "switches";

impl MarkingThreshold {
    /// The size, if it is one.
    pub fn bytes(self) -> Option<Bytes> {
        match self {
            Self::Switches => None,
            Self::Bytes(bytes) => Some(bytes),
        }
    }
}

impl From<Bytes> for MarkingThreshold {
    fn from(bytes: Bytes) -> Self {
        Self::Bytes(bytes)
    }
}

impl fmt::Display for MarkingThreshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Switches => f.write_str(SWITCHES),
            Self::Bytes(bytes) => write!(f, "{bytes}"),
        }
    }
}

impl Serialize for MarkingThreshold {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for MarkingThreshold {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ThresholdVisitor)
    }
}

struct ThresholdVisitor;

impl Visitor<'_> for ThresholdVisitor {
    type Value = MarkingThreshold;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a size such as \"75 kB\", or \"switches\"")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<MarkingThreshold, E> {
        match text {
            SWITCHES => Ok(MarkingThreshold::Switches),
            _ => Bytes::deserialize(StrDeserializer::new(text)).map(MarkingThreshold::Bytes),
        }
    }
}

impl JsonSchema for MarkingThreshold {
    fn schema_name() -> Cow<'static, str> {
        "MarkingThreshold".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "a size such as \"75 kB\", or \"switches\"",
            "anyOf": [{ "const": SWITCHES }, generator.subschema_for::<Bytes>()],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_threshold_is_written_as_it_is_read() {
        let read = |text: &str| {
            let text = StrDeserializer::<serde::de::value::Error>::new(text);
            MarkingThreshold::deserialize(text).map_err(|error| error.to_string())
        };
        for threshold in [MarkingThreshold::Switches, Bytes::new(75_000).into()] {
            assert_eq!(read(&threshold.to_string()), Ok(threshold));
        }
        assert!(read("switch").is_err_and(|error| error.contains("expected a size with a unit")));
    }
}
