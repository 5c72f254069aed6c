//! Settings as a scenario has them, without knowing what they mean.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::value::{Error, MapDeserializer, SeqDeserializer};
use serde::de::{self, DeserializeOwned, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// A table of settings. Their order does not matter and is not kept.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Settings(pub BTreeMap<String, Setting>);

/// One setting: what TOML and JSON have in common.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Setting {
    /// Yes or no.
    Bool(bool),
    /// A whole number.
    Integer(i64),
    /// Any other number.
    Float(f64),
    /// A text; quantities with a unit are texts.
    Text(String),
    /// Several in order.
    List(Vec<Setting>),
    /// Several by name.
    Table(BTreeMap<String, Setting>),
}

impl Settings {
    /// Reads them into a type, as settings of built-in controls are read: types that refuse unknown fields refuse unknown settings.
    ///
    /// # Errors
    /// With what does not fit.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, String> {
        let entries = self.0.iter().map(|(name, setting)| (name.as_str(), setting));
        T::deserialize(MapDeserializer::<_, Error>::new(entries)).map_err(|error| error.to_string())
    }
}

impl schemars::JsonSchema for Settings {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Settings".into()
    }

    fn json_schema(_generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "object", "additionalProperties": true })
    }
}

impl<'de> Deserialize<'de> for Setting {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Any)
    }
}

struct Any;

impl<'de> Visitor<'de> for Any {
    type Value = Setting;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a boolean, a number, a string, an array or a table")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Setting, E> {
        Ok(Setting::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Setting, E> {
        Ok(Setting::Integer(value))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Setting, E> {
        let integer = i64::try_from(value);
        integer.map(Setting::Integer).map_err(|_| E::invalid_value(de::Unexpected::Unsigned(value), &self))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Setting, E> {
        Ok(Setting::Float(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Setting, E> {
        Ok(Setting::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Setting, A::Error> {
        let mut list = Vec::new();
        while let Some(setting) = sequence.next_element()? {
            list.push(setting);
        }
        Ok(Setting::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Setting, A::Error> {
        let mut table = BTreeMap::new();
        while let Some((name, setting)) = entries.next_entry::<String, _>()? {
            table.insert(name, setting);
        }
        Ok(Setting::Table(table))
    }
}

impl<'de> IntoDeserializer<'de, Error> for &'de Setting {
    type Deserializer = Read<'de>;

    fn into_deserializer(self) -> Read<'de> {
        Read(self)
    }
}

/// Hands a setting to whoever reads it.
pub struct Read<'a>(&'a Setting);

impl<'de> Deserializer<'de> for Read<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Setting::Bool(value) => visitor.visit_bool(*value),
            Setting::Integer(value) => visitor.visit_i64(*value),
            Setting::Float(value) => visitor.visit_f64(*value),
            Setting::Text(value) => visitor.visit_borrowed_str(value),
            Setting::List(list) => visitor.visit_seq(SeqDeserializer::new(list.iter())),
            Setting::Table(table) => {
                visitor.visit_map(MapDeserializer::new(table.iter().map(|(name, one)| (name.as_str(), one))))
            }
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self.0 {
            Setting::Text(variant) => {
                variant.as_str().into_deserializer().deserialize_enum(name, variants, visitor)
            }
            Setting::Table(table) => {
                let entries = table.iter().map(|(name, one)| (name.as_str(), one));
                visitor.visit_enum(de::value::MapAccessDeserializer::new(MapDeserializer::new(entries)))
            }
            _ => self.deserialize_any(visitor),
        }
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map struct identifier ignored_any
    }
}
