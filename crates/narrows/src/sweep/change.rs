//! Axes of a grid, their steps, and what these change in the scenario.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::leading::LEADING;
use crate::diagnostic::{Checked, Code, Diagnostic, Place};
use crate::document::{Document, OFF, Origin};

/// Keys of an axis whose values several paths get.
pub(super) const SETS: &str = "sets";
/// See [`SETS`].
pub(super) const VALUES: &str = "values";

/// An axis of the grid.
#[derive(Clone, Debug)]
pub struct Axis {
    /// Its name: the path of what it changes, or one of its own.
    pub name: String,
    /// Its steps, in order.
    pub steps: Vec<Step>,
    /// Where it was written.
    pub(super) place: Option<Place>,
}

/// One step of an axis.
#[derive(Clone, Debug)]
pub struct Step {
    /// Its label: the value itself, or a name.
    pub value: Value,
    /// Its changes to the scenario.
    pub changes: Vec<Change>,
}

/// One value of the scenario changed.
#[derive(Clone, Debug)]
pub struct Change {
    /// `path=value`, the value as TOML.
    assignment: String,
    /// Where path and value were written.
    origin: Origin,
    /// It was made on the command line.
    last: bool,
}

impl Axis {
    /// An axis from its steps as JSON: an array of values for the path `name`, an object of names, each with an object of paths and values,
    /// or `{"sets": [paths], "values": [values]}` for values that each of several paths gets.
    ///
    /// # Errors
    /// If it is neither.
    pub fn from_json(name: &str, steps: &Value) -> Checked<Self> {
        let steps = match steps {
            Value::Array(values) => {
                let step = |value: &Value| {
                    let changes = vec![Change::from_json(name, value)?];
                    Ok(Step { value: value.clone(), changes })
                };
                values.iter().map(step).collect::<Checked<_>>()?
            }
            Value::Object(shared) if shared.contains_key(VALUES) && shared.values().all(Value::is_array) => {
                return Self::shared_from_json(name, shared);
            }
            Value::Object(labels) => {
                let step = |(label, changes): (&String, &Value)| {
                    let Some(changes) = changes.as_object() else {
                        let message = format!("{name}.{label} is {changes}, expected paths and values");
                        return Err(Diagnostic::error(Code::WrongType, message).into());
                    };
                    let change = |(path, value): (&String, &Value)| Change::from_json(path, value);
                    let changes = changes.iter().map(change).collect::<Checked<_>>()?;
                    Ok(Step { value: Value::String(label.clone()), changes })
                };
                labels.iter().map(step).collect::<Checked<_>>()?
            }
            other => {
                let message = format!("the axis \"{name}\" is {other}, expected a list of values, or names");
                return Err(Diagnostic::error(Code::WrongType, message).into());
            }
        };
        Ok(Self { name: name.to_owned(), steps, place: None })
    }

    fn shared_from_json(name: &str, shared: &Map<String, Value>) -> Checked<Self> {
        let wrong = |message: String| Diagnostic::error(Code::WrongType, message);
        if let Some(other) = shared.keys().find(|key| ![SETS, VALUES].contains(&key.as_str())) {
            return Err(wrong(format!(
                "the axis \"{name}\" has a key \"{other}\" beside `{SETS}` and `{VALUES}`"
            ))
            .into());
        }
        let list = |key: &str| shared.get(key).and_then(Value::as_array).into_iter().flatten();
        let path = |path: &Value| {
            let path = path.as_str().map(str::to_owned);
            path.ok_or_else(|| {
                wrong(format!("`{SETS}` of the axis \"{name}\" has something that is no path"))
            })
        };
        let paths = list(SETS).map(path).collect::<Result<Vec<_>, _>>()?;
        if paths.is_empty() {
            return Err(Self::sets_nothing(name).into());
        }
        let step = |value: &Value| {
            let changes = paths.iter().map(|path| Change::from_json(path, value)).collect::<Checked<_>>()?;
            Ok(Step { value: value.clone(), changes })
        };
        let steps = list(VALUES).map(step).collect::<Checked<_>>()?;
        Ok(Self { name: name.to_owned(), steps, place: None })
    }

    /// Its values go nowhere.
    pub(super) fn sets_nothing(name: &str) -> Diagnostic {
        let message = format!("the axis \"{name}\" sets nothing: `{SETS}` has no path");
        Diagnostic::error(Code::OutOfRange, message)
    }

    /// Refuses axes that make no sense.
    pub(super) fn check(&self) -> Checked<()> {
        let wrong = |code, message: String| Diagnostic::error(code, message).at(self.place.clone());
        if self.name.trim().is_empty() {
            return Err(wrong(Code::OutOfRange, "the name of an axis is empty".into()).into());
        }
        if LEADING.iter().any(|leading| leading.name == self.name) {
            let message = format!("no axis can be called \"{}\": the data set has that column", self.name);
            return Err(wrong(Code::OutOfRange, message)
                .help("seeds = N gives each point N seeds, counting up from the scenario's own")
                .into());
        }
        if self.steps.is_empty() {
            let message = format!("the axis \"{}\" has no values", self.name);
            return Err(wrong(Code::OutOfRange, message).into());
        }
        let mut seen = HashSet::new();
        if let Some(twice) = self.steps.iter().map(Step::text).find(|text| !seen.insert(text.clone())) {
            let message = format!("the axis \"{}\" has {twice} twice", self.name);
            return Err(wrong(Code::Duplicate, message).into());
        }
        Ok(())
    }

    /// All its values are numbers.
    pub fn is_numeric(&self) -> bool {
        self.steps.iter().all(|step| step.value.is_number())
    }
}

impl Step {
    /// Its label as text.
    pub fn text(&self) -> String {
        text(&self.value)
    }
}

/// A value as text, without quotation marks.
pub(super) fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// A point in words: `traffic.dc.load = 0.2, control = dctcp`, without axes that are left out.
pub(super) fn describe<'a>(axes: impl Iterator<Item = &'a str>, values: &[Value]) -> String {
    let shown = axes.zip(values).filter(|(_, value)| !value.is_null());
    let parts: Vec<_> = shown.map(|(axis, value)| format!("{axis} = {}", text(value))).collect();
    if parts.is_empty() { "the only point".into() } else { parts.join(", ") }
}

impl Change {
    /// A change to a value given as JSON.
    ///
    /// # Errors
    /// If scenarios have no such value: null.
    pub fn from_json(path: &str, value: &Value) -> Checked<Self> {
        let nothing = |_| {
            let message = format!("{path} is {value}, and null is no value of a scenario");
            Diagnostic::error(Code::WrongType, message)
                .help(format!("\"{OFF}\" is as if {path} was not written"))
        };
        let value = toml::Value::try_from(value).map_err(nothing)?;
        Ok(Self { assignment: format!("{path}={value}"), origin: Origin::default(), last: false })
    }

    /// A change of the value at `path` to a value, written at these places.
    pub(super) fn written(path: &str, at_path: Place, at_value: Place) -> Self {
        let assignment = format!("{path}={}", &at_value.source.text[at_value.span.clone()]);
        let value = path.len() + 1..assignment.len();
        let origin = Origin::of(0..path.len(), at_path).and(value, at_value);
        Self { assignment, origin, last: false }
    }

    /// A change as it was typed.
    pub(super) fn of_text(assignment: &str) -> Self {
        Self { assignment: assignment.to_owned(), origin: Origin::default(), last: true }
    }

    /// Path and value, as they are set.
    pub(super) fn text(&self) -> &str {
        &self.assignment
    }

    /// Of what it changes.
    pub(super) fn path(&self) -> &str {
        self.assignment.split_once('=').map_or("", |(path, _)| path.trim())
    }

    /// It takes out what is at its path.
    pub(super) fn is_off(&self) -> bool {
        self.assignment
            .split_once('=')
            .is_some_and(|(_, value)| value.trim().trim_matches(['"', '\'']) == OFF)
    }

    /// It comes after all others.
    pub(super) fn is_last(&self) -> bool {
        self.last
    }

    /// Makes it.
    pub(super) fn apply(&self, document: &mut Document) -> Checked<()> {
        let name = if self.last { "--set" } else { "the sweep" };
        document.set_written(name, &self.assignment, self.origin.clone())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_axis_is_a_list_of_values_or_names_with_changes() {
        let loads = Axis::from_json("traffic.dc.load", &json!([0.25, 1])).unwrap();
        assert_eq!(loads.steps[1].changes[0].assignment, "traffic.dc.load=1");
        assert!(loads.is_numeric());
        let named = json!({ "dctcp": { "a.cc": { "dctcp": {} }, "b": "20 ms" } });
        let named = Axis::from_json("control", &named).unwrap();
        let texts: Vec<_> = named.steps[0].changes.iter().map(|change| change.assignment.as_str()).collect();
        assert_eq!(texts, ["a.cc={ dctcp = {} }", "b=\"20 ms\""]);
        assert!(!named.is_numeric() && named.steps[0].text() == "dctcp");
    }

    #[test]
    fn what_is_no_axis_is_refused() {
        for (name, steps) in [
            ("a", json!(3)),
            ("a", json!({ "x": 1 })),
            ("a", json!([null])),
            ("a", json!([])),
            ("a", json!([1, 1])),
            ("seed", json!([1])),
            ("", json!([1])),
        ] {
            let refused = Axis::from_json(name, &steps).and_then(|axis| axis.check());
            assert!(refused.is_err(), "{name} {steps}");
        }
    }
}
