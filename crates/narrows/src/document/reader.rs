//! The tree of a document as serde reads it. A mistake keeps what was found and what was expected as data, and where.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use narrows_proto::units::QUANTITY;
use serde::de::value::{CowStrDeserializer, MapAccessDeserializer, SeqDeserializer};
use serde::de::{
    DeserializeSeed, Deserializer, Error, Expected, IntoDeserializer, MapAccess, Unexpected, Visitor,
};
use serde::forward_to_deserialize_any;
use serde_spanned::Spanned;
use serde_spanned::de::is_spanned;
use toml::de::{DeArray, DeTable, DeValue};

use crate::diagnostic::{Code, Diagnostic};
use crate::numbers::counted;

/// Spellings of keys in older scenarios, which are read and not offered.
const OLD_SPELLINGS: [&str; 1] = ["ageing"];

/// Why a value could not be read.
#[derive(Debug)]
pub(super) struct Mistake {
    what: What,
    /// Bytes of the document's texts.
    pub(super) span: Option<Range<usize>>,
    /// The value should have been a time, a size or a rate.
    in_quantity: bool,
    /// The value should have been one of these names, alone or with settings.
    choice: Option<Choice>,
}

/// Names that a value could have had.
#[derive(Clone, Copy, Debug)]
pub(super) struct Choice {
    pub(super) names: &'static [&'static str],
    /// A name with settings was found.
    pub(super) with_settings: bool,
}

#[derive(Debug)]
enum What {
    UnknownKey { key: String, known: &'static [&'static str] },
    UnknownName { name: String, known: &'static [&'static str] },
    MissingKey(&'static str),
    Mismatch { found: String, expected: String },
    Other(String),
}

const NAME_ALONE_OR_NOT: &str = "a name, or a name with its settings, such as { name = {} }";
const NAME_WITH_SETTINGS: &str = "one name with its settings, such as { name = {} }";

impl Mistake {
    fn new(what: What) -> Self {
        Self { what, span: None, in_quantity: false, choice: None }
    }

    /// At `span`, unless a part of that is known already.
    fn at(mut self, span: &Range<usize>) -> Self {
        self.span.get_or_insert_with(|| span.clone());
        self
    }

    /// The key that is missing, if one is.
    pub(super) fn missing(&self) -> Option<&'static str> {
        match self.what {
            What::MissingKey(key) => Some(key),
            _ => None,
        }
    }

    /// The names that the value could have had, if it is there that it is mistaken, and the one that was found.
    pub(super) fn choice(&self) -> Option<(Choice, Option<&str>)> {
        let found = match &self.what {
            What::UnknownName { name, .. } => Some(name.as_str()),
            _ => None,
        };
        Some((self.choice?, found))
    }

    /// As it is shown, without its place.
    pub(super) fn diagnostic(&self) -> Diagnostic {
        let code = if self.in_quantity { Code::Quantity } else { Code::WrongType };
        match &self.what {
            What::UnknownKey { key, known } => {
                let diagnostic = Diagnostic::error(Code::UnknownKey, format!("unknown key \"{key}\""));
                diagnostic.known(key, known.iter().copied().filter(|key| !OLD_SPELLINGS.contains(key)))
            }
            What::UnknownName { name, known } => {
                let diagnostic = Diagnostic::error(Code::UnknownName, format!("unknown name \"{name}\""));
                diagnostic.known(name, known.iter().copied())
            }
            What::MissingKey(key) => Diagnostic::error(code, format!("the key \"{key}\" is missing")),
            What::Mismatch { found, expected } => {
                Diagnostic::error(code, format!("found {found}, expected {expected}"))
            }
            What::Other(message) => Diagnostic::error(code, message),
        }
    }
}

impl std::error::Error for Mistake {}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.diagnostic().fmt(f)
    }
}

impl Error for Mistake {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::new(What::Other(message.to_string()))
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        let mut expected = type_name(expected);
        let found = match found {
            Unexpected::Map => "a table".to_owned(),
            Unexpected::Seq => "an array".to_owned(),
            Unexpected::Float(number) => format!("the number `{number:?}`"),
            Unexpected::Other(kind) => format!("a {kind}"),
            Unexpected::UnitVariant => {
                NAME_WITH_SETTINGS.clone_into(&mut expected);
                "a name alone".to_owned()
            }
            other => format!("the {other}"),
        };
        Self::new(What::Mismatch { found, expected })
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::invalid_type(found, expected)
    }

    fn invalid_length(length: usize, expected: &dyn Expected) -> Self {
        let found = counted(length, "element");
        Self::new(What::Mismatch { found, expected: type_name(expected) })
    }

    fn unknown_variant(name: &str, known: &'static [&'static str]) -> Self {
        Self::new(What::UnknownName { name: name.to_owned(), known })
    }

    fn unknown_field(key: &str, known: &'static [&'static str]) -> Self {
        Self::new(What::UnknownKey { key: key.to_owned(), known })
    }

    fn missing_field(key: &'static str) -> Self {
        Self::new(What::MissingKey(key))
    }

    fn duplicate_field(key: &'static str) -> Self {
        Self::new(What::Other(format!("the key \"{key}\" is there twice")))
    }
}

/// The type that serde expects, in the words of TOML.
fn type_name(expected: &dyn Expected) -> String {
    let name = expected.to_string();
    if let Some(length) = name.strip_prefix("a tuple of size ") {
        return format!("an array of {length} elements");
    }
    let known = match name.as_str() {
        "unit" => "an empty table",
        "u8" => "a whole number from 0 to 255",
        "u16" => "a whole number from 0 to 65535",
        "u32" => "a whole number from 0 to 4294967295",
        "u64" | "usize" => "a whole number that is not negative",
        "i64" => "a whole number",
        "f64" => "a number",
        "a sequence" => "an array",
        "a map" => "a table",
        _ if name.starts_with("struct ") => "a table",
        _ => return name,
    };
    known.to_owned()
}

/// A value of the tree.
pub(super) enum Node<'de> {
    Value(Spanned<DeValue<'de>>),
    /// Where a value begins or ends.
    Place(usize),
}

/// A key of a table.
struct Key<'de>(Spanned<Cow<'de, str>>);

impl<'de> IntoDeserializer<'de, Mistake> for Node<'de> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

/// A value in the types of serde.
enum Read<'de> {
    Borrowed(&'de str),
    Text(String),
    Signed(i64),
    Unsigned(u64),
    Real(f64),
    Truth(bool),
    Date,
    Array(DeArray<'de>),
    Table(DeTable<'de>),
}

// What is not generic is compiled once, and not for each type that is read.
impl<'de> Node<'de> {
    fn span(&self) -> Range<usize> {
        match self {
            Self::Value(value) => value.span(),
            Self::Place(_) => 0..0,
        }
    }

    fn read(self) -> Result<Read<'de>, Mistake> {
        let too_large = |number: &str| Mistake::custom(format!("the number {number} is too large"));
        Ok(match self {
            Self::Place(place) => Read::Unsigned(place as u64),
            Self::Value(value) => match value.into_inner() {
                DeValue::String(Cow::Borrowed(text)) => Read::Borrowed(text),
                DeValue::String(Cow::Owned(text)) => Read::Text(text),
                DeValue::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()) {
                    Ok(signed) => Read::Signed(signed),
                    Err(_) => u64::from_str_radix(number.as_str(), number.radix())
                        .map(Read::Unsigned)
                        .map_err(|_| too_large(number.as_str()))?,
                },
                DeValue::Float(number) => {
                    let is_word = !number.as_str().contains(|c: char| c.is_ascii_digit());
                    let value =
                        number.as_str().parse().ok().filter(|value: &f64| value.is_finite() || is_word);
                    Read::Real(value.ok_or_else(|| too_large(number.as_str()))?)
                }
                DeValue::Boolean(value) => Read::Truth(value),
                DeValue::Datetime(_) => Read::Date,
                DeValue::Array(array) => Read::Array(array),
                DeValue::Table(table) => Read::Table(table),
            },
        })
    }
}

impl Read<'_> {
    /// The mistake if it is of the wrong type.
    fn mismatch(&self, expected: &dyn Expected) -> Mistake {
        let found = match self {
            Self::Borrowed(text) => Unexpected::Str(text),
            Self::Text(text) => Unexpected::Str(text),
            Self::Signed(number) => Unexpected::Signed(*number),
            Self::Unsigned(number) => Unexpected::Unsigned(*number),
            Self::Real(number) => Unexpected::Float(*number),
            Self::Truth(value) => Unexpected::Bool(*value),
            Self::Date => Unexpected::Other("date or time without quotation marks"),
            Self::Array(_) => Unexpected::Seq,
            Self::Table(_) => Unexpected::Map,
        };
        Mistake::invalid_type(found, expected)
    }
}

/// Keys and values of a table, one after the other.
struct Entries<'de> {
    left: Box<dyn Iterator<Item = (Key<'de>, Node<'de>)> + 'de>,
    value: Option<Node<'de>>,
}

impl<'de> Entries<'de> {
    fn of(table: DeTable<'de>) -> Self {
        let entries = table.into_iter().map(|(key, value)| (Key(key), Node::Value(value)));
        Self { left: Box::new(entries), value: None }
    }

    /// A value with its place, under the three keys that serde has for them.
    fn placed(value: Node<'de>, keys: &'static [&'static str]) -> Self {
        let Range { start, end } = value.span();
        let keys = keys.iter().map(move |key| Key(Spanned::new(start..end, Cow::Borrowed(*key))));
        Self { left: Box::new(keys.zip([Node::Place(start), Node::Place(end), value])), value: None }
    }
}

impl<'de> MapAccess<'de> for Entries<'de> {
    type Error = Mistake;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Mistake> {
        let Some((key, value)) = self.left.next() else { return Ok(None) };
        self.value = Some(value);
        seed.deserialize(key).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Mistake> {
        seed.deserialize(self.value.take().expect("serde asks for a value after its key"))
    }
}

impl<'de> Deserializer<'de> for Node<'de> {
    type Error = Mistake;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
        let span = self.span();
        let result = self.read().and_then(|read| match read {
            Read::Borrowed(text) => visitor.visit_borrowed_str(text),
            Read::Text(text) => visitor.visit_string(text),
            Read::Signed(number) => visitor.visit_i64(number),
            Read::Unsigned(number) => visitor.visit_u64(number),
            Read::Real(number) => visitor.visit_f64(number),
            Read::Truth(value) => visitor.visit_bool(value),
            Read::Date => Err(read.mismatch(&visitor)),
            Read::Array(array) => {
                let mut elements = SeqDeserializer::new(array.into_iter().map(Node::Value));
                visitor.visit_seq(&mut elements).and_then(|value| elements.end().map(|()| value))
            }
            Read::Table(table) => visitor.visit_map(Entries::of(table)),
        });
        result.map_err(|mistake| mistake.at(&span))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
        let span = self.span();
        visitor.visit_some(self).map_err(|mistake| mistake.at(&span))
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Mistake> {
        let span = self.span();
        let mark = |mistake: Mistake| Mistake { in_quantity: name == QUANTITY, ..mistake.at(&span) };
        visitor.visit_newtype_struct(self).map_err(mark)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        keys: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Mistake> {
        if is_spanned(name) {
            return visitor.visit_map(Entries::placed(self, keys));
        }
        let span = self.span();
        let result = self.read().and_then(|read| match read {
            Read::Table(table) => visitor.visit_map(Entries::of(table)),
            // Serde would take the elements of an array for the fields in their order.
            other => Err(other.mismatch(&visitor)),
        });
        result.map_err(|mistake| mistake.at(&span))
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
        match &self {
            // What a name has for settings that has none: `{ random = {} }`.
            Self::Value(value) if value.get_ref().as_table().is_some_and(DeTable::is_empty) => {
                visitor.visit_unit()
            }
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        names: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Mistake> {
        let span = self.span();
        let with_settings = matches!(&self, Self::Value(value) if value.get_ref().is_table());
        let result = match self.read() {
            Ok(Read::Borrowed(name)) => visitor.visit_enum(CowStrDeserializer::new(Cow::Borrowed(name))),
            Ok(Read::Text(name)) => visitor.visit_enum(CowStrDeserializer::new(Cow::Owned(name))),
            Ok(Read::Table(table)) if table.len() == 1 => {
                visitor.visit_enum(MapAccessDeserializer::new(Entries::of(table)))
            }
            Ok(Read::Table(table)) => {
                let found = if table.is_empty() { "0 elements" } else { "more than 1 element" };
                Err(Mistake::custom(format!("expected {NAME_WITH_SETTINGS}, found {found}")))
            }
            _ => Err(Mistake::custom(format!("expected {NAME_ALONE_OR_NOT}"))),
        };
        result.map_err(|mistake| {
            // What is wrong within the settings of a name is no mistake of the choice.
            let is_here = mistake.span.is_none()
                || matches!(mistake.what, What::UnknownName { known, .. } if known == names);
            let choice = is_here.then_some(Choice { names, with_settings });
            Mistake { choice: mistake.choice.or(choice), ..mistake.at(&span) }
        })
    }

    forward_to_deserialize_any! {
        bool u8 u16 u32 u64 u128 i8 i16 i32 i64 i128 f32 f64 char str string seq bytes byte_buf map
        ignored_any unit_struct tuple_struct tuple identifier
    }
}

impl<'de> Deserializer<'de> for Key<'de> {
    type Error = Mistake;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
        let span = self.0.span();
        let result = match self.0.into_inner() {
            Cow::Borrowed(key) => visitor.visit_borrowed_str(key),
            Cow::Owned(key) => visitor.visit_string(key),
        };
        result.map_err(|mistake: Mistake| mistake.at(&span))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        keys: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Mistake> {
        if !is_spanned(name) {
            return self.deserialize_any(visitor);
        }
        let span = self.0.span();
        let text = DeValue::String(self.0.into_inner());
        visitor.visit_map(Entries::placed(Node::Value(Spanned::new(span, text)), keys))
    }

    forward_to_deserialize_any! {
        bool u8 u16 u32 u64 u128 i8 i16 i32 i64 i128 f32 f64 char str string seq bytes byte_buf map option
        unit ignored_any unit_struct tuple_struct tuple newtype_struct enum identifier
    }
}

#[cfg(test)]
mod tests {
    use narrows_proto::units::Span;
    use serde::Deserialize;

    use crate::diagnostic::Code;
    use crate::document::Document;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields, default)]
    struct Sample {
        delay: Span,
        pair: (u16, u16),
        choice: Choice,
        inner: Inner,
    }

    impl Default for Sample {
        fn default() -> Self {
            Self { delay: Span::ZERO, pair: (0, 0), choice: Choice::Plain, inner: Inner::default() }
        }
    }

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(rename_all = "snake_case")]
    enum Choice {
        Plain,
        With(Inner),
    }

    #[derive(Debug, Default, Deserialize, PartialEq)]
    #[serde(default)]
    struct Inner {
        unit: f64,
    }

    fn read(text: &str) -> Result<Sample, (Code, String)> {
        let read = Document::parse("a.toml", text, "").expect("TOML").read_into();
        read.map_err(|rejection| (rejection.0[0].code, rejection.to_string()))
    }

    #[track_caller]
    fn refused(text: &str, code: Code, expected: &str) {
        assert_eq!(read(text).expect_err("refused"), (code, expected.to_owned()));
    }

    #[test]
    fn a_choice_is_a_name_with_settings_or_without() {
        assert_eq!(read("choice = \"plain\"").unwrap().choice, Choice::Plain);
        assert_eq!(read("choice = { plain = {} }").unwrap().choice, Choice::Plain);
        assert_eq!(
            read("choice = { with = { unit = 2 } }").unwrap().choice,
            Choice::With(Inner { unit: 2.0 })
        );
        let alone =
            "a.toml:1:10  found a name alone, expected one name with its settings, such as { name = {} }";
        refused("choice = \"with\"", Code::WrongType, alone);
        let unknown = "a.toml:1:12  unknown name \"plan\"\n  did you mean \"plain\"? known: plain, with";
        refused("choice = { plan = {} }", Code::UnknownName, unknown);
    }

    #[test]
    fn only_mistakes_in_quantities_are_mistakes_of_quantities() {
        let expected = "expected a time with a unit, such as \"5 ms\"";
        refused("delay = 5", Code::Quantity, &format!("a.toml:1:9  missing unit in \"5\", {expected}"));
        refused("delay = []", Code::Quantity, &format!("a.toml:1:9  found an array, {expected}"));
        refused(
            "inner.unit = \"a\"",
            Code::WrongType,
            "a.toml:1:14  found the string \"a\", expected a number",
        );
    }

    #[test]
    fn types_are_called_by_their_names_in_toml() {
        refused("inner = [1]", Code::WrongType, "a.toml:1:9  found an array, expected a table");
        let date = "a.toml:1:14  found a date or time without quotation marks, expected a number";
        refused("inner.unit = 2000-01-01", Code::WrongType, date);
        refused("inner.unit = 1e999", Code::WrongType, "a.toml:1:14  the number 1e999 is too large");
        assert_eq!(read("inner.unit = inf").unwrap().inner.unit, f64::INFINITY);
        refused(
            "pair = [1]",
            Code::WrongType,
            "a.toml:1:8  found 1 element, expected an array of 2 elements",
        );
        let small = "a.toml:1:9  found the integer `65536`, expected a whole number from 0 to 65535";
        refused("pair = [65536, 1]", Code::WrongType, small);
        assert!(read("pair = [1, 2, 3]").is_err());
    }
}
