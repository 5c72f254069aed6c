//! Measurements of a reproduction, as a file: verdicts and pages follow from it without a run.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::diagnostic::{Checked, Code, Diagnostic};
use crate::input_file;

/// All that was measured, seed by seed. Curves over time are not among it.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Stored {
    /// The paper's name.
    pub paper: String,
    /// The version of Narrows that ran the experiments.
    pub narrows: String,
    pub(super) quick: bool,
    pub(super) figure: Option<String>,
    /// None if as many were run as verdicts needed.
    pub(super) seeds: Option<u32>,
    /// Checksum of what each experiment's scenario says; what it leaves to defaults is not in it.
    pub(super) scenarios: BTreeMap<String, String>,
    pub(super) measured: Values,
    pub(super) varied: Vec<Varied>,
    pub(super) warnings: Vec<String>,
}

/// By quantity: a value for each seed.
pub(super) type Values = BTreeMap<String, Vec<Number>>;

/// Measurements with another value of a parameter.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Varied {
    pub(super) parameter: String,
    pub(super) value: String,
    pub(super) measured: Values,
}

/// A number, or what JSON has no number for: "inf", "-inf", and null for what was not measured.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(try_from = "Value", into = "Value")]
pub(super) struct Number(pub(super) Option<f64>);

impl TryFrom<Value> for Number {
    type Error = &'static str;

    fn try_from(value: Value) -> Result<Self, Self::Error> {
        match value {
            Value::Null => Ok(Self(None)),
            Value::String(text) if text == "inf" => Ok(Self(Some(f64::INFINITY))),
            Value::String(text) if text == "-inf" => Ok(Self(Some(f64::NEG_INFINITY))),
            value => {
                value.as_f64().map(|value| Self(Some(value))).ok_or("not a number, \"inf\", \"-inf\" or null")
            }
        }
    }
}

impl From<Number> for Value {
    fn from(Number(value): Number) -> Self {
        match value {
            Some(value) if value.is_infinite() => json!(if value > 0.0 { "inf" } else { "-inf" }),
            value => json!(value),
        }
    }
}

impl Stored {
    /// Reads a file.
    ///
    /// # Errors
    /// If it cannot be read, or is not such a file.
    pub fn read(path: &Path) -> Checked<Self> {
        let source = input_file::read_text(path, input_file::LARGEST_SUMMARY)?;
        serde_json::from_str(&source.text).map_err(|error| {
            let message = format!("{} holds no measured values: {error}", path.display());
            Diagnostic::error(Code::InputFailed, message).into()
        })
    }

    /// The file: a line for each quantity.
    pub fn text(&self) -> String {
        let mut text = String::new();
        print(&json!(self), "", &mut text);
        text + "\n"
    }
}

/// Prints tables with a line for each key, and lists of numbers in one line.
fn print(value: &Value, indent: &str, text: &mut String) {
    let deeper = format!("{indent}  ");
    let all: Vec<(Option<&String>, &Value)> = match value {
        Value::Object(map) if !map.is_empty() => map.iter().map(|(key, value)| (Some(key), value)).collect(),
        Value::Array(all) if all.iter().any(|each| each.is_object() || each.is_string() && each != "inf") => {
            all.iter().map(|value| (None, value)).collect()
        }
        plain => {
            *text += &plain.to_string();
            return;
        }
    };
    let [open, close] = if value.is_object() { ["{", "}"] } else { ["[", "]"] };
    *text += open;
    for (number, (key, value)) in all.into_iter().enumerate() {
        *text += if number == 0 { "\n" } else { ",\n" };
        *text += &deeper;
        if let Some(key) = key {
            *text += &format!("{}: ", json!(key));
        }
        print(value, &deeper, text);
    }
    *text += &format!("\n{indent}{close}");
}
