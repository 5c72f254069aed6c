use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A part of a whole, written as a number or as a ratio of two whole numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Share {
    /// Such as 0.25.
    Number(f64),
    /// Such as "5/6".
    Ratio(u32, u32),
}

const EXPECTED: &str = "a number or a ratio such as \"5/6\"";

impl Share {
    /// As a number; not finite if the ratio is to zero.
    pub fn value(self) -> f64 {
        match self {
            Self::Number(number) => number,
            Self::Ratio(part, whole) => f64::from(part) / f64::from(whole),
        }
    }
}

impl Default for Share {
    fn default() -> Self {
        Self::Number(1.0)
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number:?}"),
            Self::Ratio(part, whole) => write!(f, "{part}/{whole}"),
        }
    }
}

impl Serialize for Share {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Number(number) => serializer.serialize_f64(*number),
            Self::Ratio(..) => serializer.collect_str(self),
        }
    }
}

impl<'de> Deserialize<'de> for Share {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ShareVisitor)
    }
}

struct ShareVisitor;

impl Visitor<'_> for ShareVisitor {
    type Value = Share;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(EXPECTED)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Share, E> {
        let number = |text: &str| text.trim().parse().ok();
        let ratio = text.split_once('/').and_then(|(part, whole)| number(part).zip(number(whole)));
        ratio
            .map(|(part, whole)| Share::Ratio(part, whole))
            .ok_or_else(|| E::custom(format!("found \"{text}\", expected {EXPECTED}")))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Share, E> {
        Ok(Share::Number(number))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Share, E> {
        Ok(Share::Number(number as f64))
    }
}

impl JsonSchema for Share {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Share".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": ["number", "string"],
            "pattern": "^ *\\d+ */ *\\d+ *$",
            "exclusiveMinimum": 0,
            "maximum": 1,
            "description": EXPECTED,
            "examples": [0.25, "5/6"],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize, Serialize, PartialEq)]
    struct Sample {
        share: Share,
    }

    fn read(text: &str) -> Result<Share, String> {
        toml::from_str::<Sample>(&format!("share = {text}"))
            .map(|sample| sample.share)
            .map_err(|error| error.message().to_owned())
    }

    #[test]
    fn numbers_and_ratios_are_read() {
        assert_eq!(read("0.25"), Ok(Share::Number(0.25)));
        assert_eq!(read("1"), Ok(Share::Number(1.0)));
        assert_eq!(read("\"5/6\""), Ok(Share::Ratio(5, 6)));
        assert_eq!(read("\" 1 / 3 \"").map(Share::value), Ok(1.0 / 3.0));
    }

    #[test]
    fn what_is_neither_is_refused() {
        for text in ["5", "five/6", "-1/2", "1/2/3", ""] {
            let expected = format!("found \"{text}\", expected a number or a ratio such as \"5/6\"");
            assert_eq!(read(&format!("\"{text}\"")), Err(expected));
        }
        assert!(read("true").is_err());
    }

    #[test]
    fn a_share_is_written_as_it_is_read() {
        for share in [Share::Number(0.1), Share::Ratio(1, 3)] {
            let text = toml::to_string(&Sample { share }).expect("can be written");
            assert_eq!(toml::from_str(&text), Ok(Sample { share }));
        }
    }
}
