//! A control of the running kernel, by its name there: for live runs.
//!
//! ```text
//! cc = { kernel = "cubic" }                               /proc/sys/net/ipv4/tcp_available_congestion_control lists the names
//! cc = { kernel = { name = "cubic", ecn = true } }        connections agree upon ECN
//! ```
//! `narrows live` gives it to the connections of real hosts. Modules of the kernel are loaded for it, as are `narrows_gemini` and
//! `narrows_dctcp`, with their default settings, by a narrows that can. Virtual runs have no kernel: controls of theirs that have the
//! name of one of Linux (`cc = { cubic = {} }`) are its native twin, which `narrows twin` takes for the simulated half.

use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// One line for lists.
pub const SUMMARY: &str = "a control of the running kernel, for live runs";
/// Where it is defined.
pub const SOURCE: &str = "the running kernel";

/// Begins the names of controls of Narrows in the kernel.
const OURS: &str = "narrows_";

/// Longest name of a control (`TCP_CA_NAME_MAX`), without the zero at its end.
const LONGEST: usize = 15;

/// A control of the kernel: its name, or a table of it and more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Params {
    /// Its name in the kernel.
    pub name: String,
    /// Connections agree upon ECN (RFC 3168). Controls that need marks do so in any case.
    pub ecn: bool,
}

impl Params {
    /// Its name without the beginning that those of Narrows have.
    pub fn plain_name(&self) -> &str {
        self.name.strip_prefix(OURS).unwrap_or(&self.name)
    }
}

/// The table.
#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Written {
    /// Its name in the kernel.
    name: String,
    /// Connections agree upon ECN (RFC 3168). Controls that need marks do so in any case.
    #[serde(default)]
    ecn: bool,
}

const EXPECTED: &str = "the name of a control, or a table: { name = \"cubic\", ecn = true }";

impl Serialize for Params {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.ecn {
            true => Written { name: self.name.clone(), ecn: true }.serialize(serializer),
            false => serializer.serialize_str(&self.name),
        }
    }
}

impl<'de> Deserialize<'de> for Params {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ParamsVisitor)
    }
}

struct ParamsVisitor;

impl<'de> Visitor<'de> for ParamsVisitor {
    type Value = Params;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(EXPECTED)
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Params, E> {
        params(name.to_owned(), false)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Params, A::Error> {
        let Written { name, ecn } = Written::deserialize(MapAccessDeserializer::new(map))?;
        params(name, ecn)
    }
}

fn params<E: Error>(name: String, ecn: bool) -> Result<Params, E> {
    let is_name = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\');
    if (1..=LONGEST).contains(&name.len()) && name.bytes().all(is_name) {
        Ok(Params { name, ecn })
    } else {
        let found = name.escape_debug();
        Err(E::custom(format!(
            "found \"{found}\", expected the name of a control of the kernel, 1 to {LONGEST} letters"
        )))
    }
}

impl JsonSchema for Params {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Kernel".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A control of the kernel: its name, or a table of it and more.",
            "examples": ["cubic"],
            "anyOf": [
                { "type": "string", "minLength": 1, "maxLength": LONGEST },
                Written::json_schema(generator),
            ],
        })
    }
}

#[cfg(test)]
mod tests {
    use serde::de::IntoDeserializer;
    use serde::de::value::{Error as ValueError, MapDeserializer, StrDeserializer};

    use super::*;

    fn name(name: &str) -> Result<Params, String> {
        let name: StrDeserializer<'_, ValueError> = name.into_deserializer();
        Params::deserialize(name).map_err(|error| error.to_string())
    }

    #[test]
    fn a_name_alone_stands_for_a_table_without_ecn() {
        assert_eq!(name("cubic"), Ok(Params { name: "cubic".to_owned(), ecn: false }));
        let table = MapDeserializer::<_, ValueError>::new([("name", "cubic")].into_iter());
        assert_eq!(Params::deserialize(table).ok(), name("cubic").ok());
    }

    #[test]
    fn what_no_kernel_can_have_as_a_name_is_refused() {
        for text in ["", "far_too_long_a_name", "two words"] {
            let error = name(text).expect_err("it is wrong");
            assert!(error.contains("1 to 15 letters"), "{error}");
        }
    }
}
