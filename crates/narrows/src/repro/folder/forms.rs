//! Forms of values that may be written in several ways: lists, entries, filters, reducers.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use narrows_proto::units::Span;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer, StrDeserializer};
use serde::de::{DeserializeOwned, Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// An entry of a list: a text or a number, or a table with a key and fields.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::repro) struct Entry {
    pub(super) key: String,
    pub(super) label: String,
    pub(super) fields: BTreeMap<String, String>,
}

/// A list by its name, or itself.
#[derive(Clone, Debug)]
pub(in crate::repro) enum Items {
    Named(String),
    Own(Vec<Entry>),
}

impl Default for Items {
    fn default() -> Self {
        Self::Own(Vec::new())
    }
}

/// Points, or the name of what makes them.
#[derive(Debug)]
pub(super) enum Theory {
    Model(String),
    Points(Vec<(f64, f64)>),
}

/// One, or several in an array.
#[derive(Clone, Debug)]
pub(in crate::repro) struct Many<T>(pub(in crate::repro) Vec<T>);

impl<T> Default for Many<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

/// Which values of a column count.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Filter {
    /// One of these names; `*` stands for any letters.
    Names(Vec<String>),
    Flag(bool),
    Number(f64),
    Between {
        from: Option<Bound>,
        below: Option<Bound>,
    },
    /// One that stands in a column of a table.
    Among(Among),
}

/// Values that stand in a column of a table.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Among {
    pub(super) table: String,
    pub(super) column: String,
    #[serde(rename = "where", default)]
    pub(super) rows: BTreeMap<String, Filter>,
}

/// A bound of a column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Bound {
    Number(f64),
    /// Where the measured time begins.
    Measured,
    /// Where it ends.
    MeasuredEnd,
    Time(Span),
}

/// Reduction of many values to one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Reduce {
    Mean,
    Sum,
    Max,
    Min,
    Count,
    /// Number of different ones.
    Distinct,
    /// The most that they ever add up to, in the order of rows.
    Peak,
    /// Standard deviation, over n.
    Deviation,
    /// Standard deviation over mean, over n.
    Variation,
    /// The same, over n - 1: the values are a sample of more.
    SampleVariation,
    /// Fairness index.
    Jain,
    /// The value that this part of all does not exceed.
    Percentile(f64),
}

const REDUCERS: &[&str] = &[
    "mean",
    "sum",
    "max",
    "min",
    "count",
    "distinct",
    "peak",
    "deviation",
    "variation",
    "sample_variation",
    "jain",
    "p50",
    "p99",
    "p99.9",
];

impl Reduce {
    /// It only asks which values are there: they may be names.
    pub(super) fn counts(self) -> bool {
        matches!(self, Self::Count | Self::Distinct)
    }
}

impl<'de> Deserialize<'de> for Reduce {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        // Moving the decimal point keeps 99.9 % exactly 0.999.
        let part = name.strip_prefix('p').and_then(|percent| format!("{percent}e-2").parse::<f64>().ok());
        Ok(match name.as_str() {
            "mean" => Self::Mean,
            "sum" => Self::Sum,
            "max" => Self::Max,
            "min" => Self::Min,
            "count" => Self::Count,
            "distinct" => Self::Distinct,
            "peak" => Self::Peak,
            "deviation" => Self::Deviation,
            "variation" => Self::Variation,
            "sample_variation" => Self::SampleVariation,
            "jain" => Self::Jain,
            _ => match part {
                Some(part) if (0.0..=1.0).contains(&part) => Self::Percentile(part),
                _ => return Err(D::Error::unknown_variant(&name, REDUCERS)),
            },
        })
    }
}

macro_rules! scalars {
    ($($visit:ident $type:ty),+) => {
        $(fn $visit<E: Error>(self, value: $type) -> Result<Entry, E> {
            Ok(Entry::plain(value.to_string()))
        })+
    };
}

impl Entry {
    fn plain(text: String) -> Self {
        Self { label: text.clone(), key: text, fields: BTreeMap::new() }
    }
}

struct EntryVisitor;

impl<'de> Visitor<'de> for EntryVisitor {
    type Value = Entry;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text, a number, or a table with a key")
    }

    scalars!(visit_str & str, visit_i64 i64, visit_u64 u64, visit_f64 f64, visit_bool bool);

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entry, A::Error> {
        let (mut key, mut label, mut fields) = (None, None, BTreeMap::new());
        while let Some((name, value)) = map.next_entry::<String, Scalar>()? {
            match name.as_str() {
                "key" => key = Some(value.0),
                "label" => label = Some(value.0),
                _ => _ = fields.insert(name, value.0),
            }
        }
        let key = key.ok_or_else(|| A::Error::missing_field("key"))?;
        Ok(Entry { label: label.unwrap_or_else(|| key.clone()), key, fields })
    }
}

impl<'de> Deserialize<'de> for Entry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(EntryVisitor)
    }
}

/// A field of an entry, as it is put into texts.
struct Scalar(String);

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let entry = Entry::deserialize(deserializer)?;
        if entry.fields.is_empty() {
            Ok(Self(entry.key))
        } else {
            Err(D::Error::custom("a field is a text or a number"))
        }
    }
}

struct ItemsVisitor;

impl<'de> Visitor<'de> for ItemsVisitor {
    type Value = Items;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a list, or an array")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Items, E> {
        Ok(Items::Named(name.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, array: A) -> Result<Items, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(array)).map(Items::Own)
    }
}

impl<'de> Deserialize<'de> for Items {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ItemsVisitor)
    }
}

struct TheoryVisitor;

impl<'de> Visitor<'de> for TheoryVisitor {
    type Value = Theory;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("points [[x, y], …], or the name of a model")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Theory, E> {
        Ok(Theory::Model(name.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, array: A) -> Result<Theory, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(array)).map(Theory::Points)
    }
}

impl<'de> Deserialize<'de> for Theory {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TheoryVisitor)
    }
}

struct ManyVisitor<T>(PhantomData<T>);

impl<'de, T: DeserializeOwned> Visitor<'de> for ManyVisitor<T> {
    type Value = Many<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("one, or an array of them")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Many<T>, E> {
        T::deserialize(StrDeserializer::new(text)).map(|one| Many(vec![one]))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Many<T>, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(|one| Many(vec![one]))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, array: A) -> Result<Many<T>, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(array)).map(Many)
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for Many<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ManyVisitor(PhantomData))
    }
}

struct FilterVisitor;

impl<'de> Visitor<'de> for FilterVisitor {
    type Value = Filter;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name, names, a number, true, false, { from, below } or { among }")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Filter, E> {
        Ok(Filter::Names(vec![name.to_owned()]))
    }

    fn visit_bool<E: Error>(self, flag: bool) -> Result<Filter, E> {
        Ok(Filter::Flag(flag))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Filter, E> {
        Ok(Filter::Number(number as f64))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Filter, E> {
        Ok(Filter::Number(number))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, array: A) -> Result<Filter, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(array)).map(Filter::Names)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Filter, A::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Between {
            from: Option<Bound>,
            below: Option<Bound>,
            among: Option<Among>,
        }
        match Between::deserialize(MapAccessDeserializer::new(map))? {
            Between { from, below, among: None } => Ok(Filter::Between { from, below }),
            Between { from: None, below: None, among: Some(among) } => Ok(Filter::Among(among)),
            _ => Err(A::Error::custom("`among` stands alone, without `from` and `below`")),
        }
    }
}

impl<'de> Deserialize<'de> for Filter {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(FilterVisitor)
    }
}

struct BoundVisitor;

impl Visitor<'_> for BoundVisitor {
    type Value = Bound;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number, a time with a unit, \"measured\" or \"measured_end\"")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Bound, E> {
        match text {
            "measured" => Ok(Bound::Measured),
            "measured_end" => Ok(Bound::MeasuredEnd),
            _ => text.parse().map(Bound::Time).map_err(E::custom),
        }
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Bound, E> {
        Ok(Bound::Number(number as f64))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Bound, E> {
        Ok(Bound::Number(number))
    }
}

impl<'de> Deserialize<'de> for Bound {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(BoundVisitor)
    }
}
