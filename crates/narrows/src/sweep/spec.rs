//! `sweep.toml`.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_spanned::Spanned;

use super::change::{Axis, Change, SETS, Step, VALUES};
use super::{Sweep, Until};
use crate::diagnostic::{Checked, Code, Diagnostic, Place, Rejection};
use crate::document::Document;
use crate::templates::{self, TEMPLATES};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Spec {
    name: String,
    scenario: Option<Spanned<String>>,
    template: Option<Spanned<String>>,
    seeds: Option<u32>,
    #[serde(default)]
    set: Changes,
    #[serde(default)]
    grid: Grid,
    until: Option<Until>,
    #[serde(default)]
    metrics: Vec<Spanned<String>>,
}

type Changes = BTreeMap<Spanned<String>, Spanned<toml::Value>>;

/// Axes in the order in which they are written.
#[derive(Default)]
struct Grid(Vec<(Spanned<String>, Steps)>);

enum Steps {
    Values(Vec<Spanned<toml::Value>>),
    /// Paths, and the values that each of them gets.
    Shared(Vec<Spanned<toml::Value>>, Vec<Spanned<toml::Value>>),
    Named(Vec<(Spanned<String>, Changes)>),
}

/// Reads a sweep; `path` is where the document came from.
pub(super) fn read(document: &Document, path: &Path) -> Checked<Sweep> {
    let Spec { name, scenario, template, seeds, set, grid, until, metrics } = document.read_into()?;
    let base = match (scenario, template) {
        (Some(scenario), None) => {
            let place = document.locate(&scenario.span());
            let file = path.parent().unwrap_or(Path::new("")).join(scenario.get_ref());
            Document::read(&file).map_err(|Rejection(mut mistakes)| {
                // A file that is not there is a mistake of the sweep; what is wrong in it is not.
                let nowhere = mistakes.iter_mut().filter(|mistake| mistake.place.is_none());
                nowhere.for_each(|mistake| mistake.place = Some(place.clone()));
                Rejection(mistakes)
            })?
        }
        (None, Some(template)) => {
            let name = template.get_ref();
            let unknown = || {
                let message = format!("no built-in scenario is called \"{name}\"");
                Diagnostic::error(Code::UnknownName, message)
                    .known(name, TEMPLATES.iter().map(|template| template.name))
                    .at(document.locate(&template.span()))
            };
            templates::find(name).ok_or_else(unknown)?.document()?
        }
        (first, second) => {
            let both = if first.is_some() { "both are there" } else { "neither is there" };
            let message = format!("expected either `scenario` or `template`, {both}");
            let help =
                "scenario = \"my.toml\" is a file beside the sweep, template = \"leaf-spine\" is built in";
            let place = second.map(|template| document.locate(&template.span()));
            return Err(Diagnostic::error(Code::WrongType, message).at(place).help(help).into());
        }
    };
    let set = changes(document, set)?;
    let axes = grid.0.into_iter().map(|(name, steps)| axis(document, &name, steps));
    let axes = axes.collect::<Checked<_>>()?;
    let mut sweep = Sweep::new(&name, base, set, axes, seeds, until).map_err(|Rejection(mut mistakes)| {
        for mistake in &mut mistakes {
            let key = ["half_width", "most", "seeds", "name"].into_iter();
            let key = key.map(|key| (key, format!("{key} "))).find(|(_, key)| mistake.message.contains(key));
            let path = key.map(|(key, _)| match key {
                "half_width" | "most" => format!("until.{key}"),
                _ => key.to_owned(),
            });
            mistake.place = mistake.place.take().or_else(|| document.place(&path?));
        }
        Rejection(mistakes)
    })?;
    sweep.metrics =
        metrics.into_iter().map(|metric| (document.locate(&metric.span()), metric.into_inner())).collect();
    Ok(sweep)
}

fn axis(document: &Document, name: &Spanned<String>, steps: Steps) -> Checked<Axis> {
    let place = document.locate(&name.span());
    let step = |value: Spanned<toml::Value>| {
        let change = change(document, name, &value)?;
        let value = serde_json::to_value(value.get_ref()).unwrap_or_default();
        Ok(Step { value, changes: vec![change] })
    };
    let named = |(label, all): (Spanned<String>, Changes)| {
        Ok(Step { value: Value::String(label.into_inner()), changes: changes(document, all)? })
    };
    let steps = match steps {
        Steps::Values(values) => values.into_iter().map(step).collect::<Checked<_>>()?,
        Steps::Shared(sets, values) => {
            let path = |path: Spanned<toml::Value>| {
                let wrong = || {
                    let place = document.locate(&path.span());
                    Diagnostic::error(Code::WrongType, format!("found {}, expected a path", path.get_ref()))
                        .at(place)
                };
                let text = path.get_ref().as_str().ok_or_else(wrong)?.to_owned();
                Ok(Spanned::new(path.span(), text))
            };
            let paths = sets.into_iter().map(path).collect::<Checked<Vec<_>>>()?;
            if paths.is_empty() {
                return Err(Axis::sets_nothing(name.get_ref()).at(place).into());
            }
            let shared = |value: Spanned<toml::Value>| {
                let changes =
                    paths.iter().map(|path| change(document, path, &value)).collect::<Checked<_>>()?;
                let value = serde_json::to_value(value.get_ref()).unwrap_or_default();
                Ok(Step { value, changes })
            };
            values.into_iter().map(shared).collect::<Checked<_>>()?
        }
        Steps::Named(labels) => labels.into_iter().map(named).collect::<Checked<_>>()?,
    };
    Ok(Axis { name: name.get_ref().clone(), steps, place: Some(place) })
}

fn changes(document: &Document, changes: Changes) -> Checked<Vec<Change>> {
    let mut changes: Vec<_> = changes.into_iter().collect();
    changes.sort_by_key(|(path, _)| path.span().start);
    changes.iter().map(|(path, value)| change(document, path, value)).collect()
}

/// A change as it is written. A table that is not written in braces comes from a path that should have been in quotation
/// marks, and would replace the whole table of the scenario.
fn change(document: &Document, path: &Spanned<String>, value: &Spanned<toml::Value>) -> Checked<Change> {
    let (at_path, path) = (without_quotes(document.locate(&path.span())), path.get_ref());
    let place = document.locate(&value.span());
    let written = &place.source.text[place.span.clone()];
    if let Some(table) = value.get_ref().as_table().filter(|_| !written.starts_with('{')) {
        let inner = table.keys().next().map_or("…", String::as_str);
        let message = format!("{path} is a table here, expected a path in quotation marks");
        let help = format!(
            "\"{path}.{inner}\" = … changes one value, \"{path}\" = {{ … }} replaces the whole table"
        );
        return Err(Diagnostic::error(Code::Override, message).at(place).help(help).into());
    }
    Ok(Change::written(path, at_path, place))
}

/// The place of a path between the quotation marks that it stands in.
fn without_quotes(mut place: Place) -> Place {
    let text = &place.source.text[place.span.clone()];
    if text.len() > 1 && text.starts_with(['"', '\'']) && text.ends_with(['"', '\'']) {
        place.span = place.span.start + 1..place.span.end - 1;
    }
    place
}

impl<'de> Deserialize<'de> for Grid {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(in_order(deserializer.deserialize_map(Entries(std::marker::PhantomData))?)))
    }
}

/// Entries of a table, as they come.
struct Entries<V>(std::marker::PhantomData<V>);

impl<'de, V: Deserialize<'de>> Visitor<'de> for Entries<V> {
    type Value = Vec<(Spanned<String>, V)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(entries)
    }
}

/// In the order in which they are written.
fn in_order<V>(mut entries: Vec<(Spanned<String>, V)>) -> Vec<(Spanned<String>, V)> {
    entries.sort_by_key(|(key, _)| key.span().start);
    entries
}

/// The value of a key of an axis.
enum Part {
    Changes(Changes),
    List(Vec<Spanned<toml::Value>>),
}

impl Steps {
    fn of<E: Error>(parts: Vec<(Spanned<String>, Part)>) -> Result<Self, E> {
        let is_list = |part: &(Spanned<String>, Part)| matches!(part.1, Part::List(_));
        if !parts.iter().any(is_list) {
            let named = parts.into_iter().filter_map(|(label, part)| match part {
                Part::Changes(changes) => Some((label, changes)),
                Part::List(_) => None,
            });
            return Ok(Self::Named(named.collect()));
        }
        let (mut sets, mut values) = (None, None);
        for (key, part) in parts {
            match (key.get_ref().as_str(), part) {
                (SETS, Part::List(list)) => sets = Some(list),
                (VALUES, Part::List(list)) => values = Some(list),
                (other, _) => {
                    return Err(E::custom(format!(
                        "found \"{other}\", expected names with changes, or `{SETS}` and `{VALUES}` with a list each"
                    )));
                }
            }
        }
        let missing = |key: &str| {
            E::custom(format!(
                "`{key}` is missing: an axis has `{SETS}` and `{VALUES}`, or names with changes"
            ))
        };
        Ok(Self::Shared(sets.ok_or_else(|| missing(SETS))?, values.ok_or_else(|| missing(VALUES))?))
    }
}

impl<'de> Deserialize<'de> for Part {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;

        impl<'de> Visitor<'de> for Either {
            type Value = Part;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table of paths and values")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Part, A::Error> {
                Deserialize::deserialize(SeqAccessDeserializer::new(seq)).map(Part::List)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Part, A::Error> {
                Deserialize::deserialize(MapAccessDeserializer::new(map)).map(Part::Changes)
            }
        }

        deserializer.deserialize_any(Either)
    }
}

impl<'de> Deserialize<'de> for Steps {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;

        impl<'de> Visitor<'de> for Either {
            type Value = Steps;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an array of values, or a table of names with changes")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Steps, A::Error> {
                let mut values = Vec::new();
                while let Some(value) = seq.next_element()? {
                    values.push(value);
                }
                Ok(Steps::Values(values))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Steps, A::Error> {
                Steps::of(in_order(Entries(std::marker::PhantomData).visit_map(map)?))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Steps, E> {
                Err(E::custom(format!("found the string \"{text}\", expected an array of values")))
            }
        }

        deserializer.deserialize_any(Either)
    }
}
