//! What a reproduction has measured, as a file: verdicts and pages follow from it without a run.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::study::{Known, Samples};
use super::{Paper, Reproduction, Request, Study};
use crate::checksum;
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
    quick: bool,
    figure: Option<String>,
    seeds: u32,
    /// Checksum of what each experiment's scenario says; what it leaves to defaults is not in it.
    scenarios: BTreeMap<String, String>,
    measured: Values,
    varied: Vec<Varied>,
    warnings: Vec<String>,
}

/// By quantity: a value for each seed.
type Values = BTreeMap<String, Vec<Number>>;

/// What was measured with another value of a parameter.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Varied {
    parameter: String,
    value: String,
    measured: Values,
}

/// A number, or what JSON has no number for: "inf", "-inf", and null for what was not measured.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(try_from = "Value", into = "Value")]
struct Number(Option<f64>);

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
    pub(super) fn of(study: &Study, samples: &Samples, warnings: &[String], narrows: &str) -> Self {
        let mut measured = Values::new();
        let mut varied: BTreeMap<(usize, usize), Values> = BTreeMap::new();
        for ((alternative, quantity), values) in samples {
            let place = alternative.map_or(&mut measured, |place| varied.entry(place).or_default());
            place.insert(quantity.clone(), values.iter().copied().map(Number).collect());
        }
        let varied = varied.into_iter().map(|((parameter, alternative), measured)| {
            let parameter = &study.parameters[parameter];
            let value = parameter.alternatives[alternative].value.to_owned();
            Varied { parameter: parameter.name.to_owned(), value, measured }
        });
        Self {
            paper: study.paper.name.to_owned(),
            narrows: narrows.to_owned(),
            quick: study.quick,
            figure: study.figure.map(str::to_owned),
            seeds: study.seeds,
            scenarios: scenarios(study),
            measured,
            varied: varied.collect(),
            warnings: warnings.to_owned(),
        }
    }

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

    /// Judges it by what the paper's claims say now.
    ///
    /// # Errors
    /// If the paper has experiments that were not run, or not as they are now.
    pub fn conclude(self, paper: &'static Paper) -> Checked<Reproduction> {
        let request = Request { figure: self.figure.as_deref(), quick: self.quick, seeds: Some(self.seeds) };
        let study = Study::select(paper, &request)?;
        self.compare(&study)?;
        let values = |values: Vec<Number>| values.into_iter().map(|Number(value)| value).collect();
        let mut known = Known { warnings: self.warnings, ..Known::default() };
        known.samples.extend(self.measured.into_iter().map(|(name, all)| ((None, name), values(all))));
        for Varied { parameter, value, measured } in self.varied {
            let place = study.parameters.iter().position(|each| each.name == parameter).and_then(|number| {
                let alternatives = &study.parameters[number].alternatives;
                Some((number, alternatives.iter().position(|each| each.value == value)?))
            });
            // What nobody asks for any more does no harm.
            let Some(place) = place else { continue };
            known.samples.extend(measured.into_iter().map(|(name, all)| ((Some(place), name), values(all))));
        }
        Ok(study.assemble(known, self.narrows))
    }

    /// Whether it was measured in the experiments that the paper has now.
    fn compare(&self, study: &Study) -> Checked<()> {
        let error = |message: String| {
            let again = format!("narrows repro {} measures again", study.paper.name);
            Err(Diagnostic::error(Code::Conflict, message).help(again).into())
        };
        if self.paper != study.paper.name {
            return error(format!("these are values of {}, not of {}", self.paper, study.paper.name));
        }
        let now = scenarios(study);
        let other = now.iter().find(|(name, sum)| self.scenarios.get(*name) != Some(sum));
        if let Some((name, _)) = other {
            let how = if self.scenarios.contains_key(name) { "as another scenario" } else { "not" };
            return error(format!("the experiment {name} was {how} run when these values were measured"));
        }
        let declared = study.experiments.iter().flat_map(|experiment| {
            experiment.quantities.iter().map(|column| format!("{}.{column}", experiment.name))
        });
        if let Some(missing) = declared.into_iter().find(|quantity| !self.measured.contains_key(quantity)) {
            return error(format!("{missing} was not measured"));
        }
        let varied: BTreeSet<_> = self.varied.iter().map(|each| (&*each.parameter, &*each.value)).collect();
        let wanted = study.parameters.iter().filter(|_| !self.quick && self.figure.is_none());
        let mut wanted =
            wanted.flat_map(|each| each.alternatives.iter().map(|other| (each.name, other.value)));
        match wanted.find(|each| !varied.contains(each)) {
            Some((parameter, value)) => error(format!("\"{parameter}\" was not varied to \"{value}\"")),
            None => Ok(()),
        }
    }

    /// The file: a line for each quantity.
    pub fn text(&self) -> String {
        let mut text = String::new();
        print(&json!(self), "", &mut text);
        text + "\n"
    }
}

/// By experiment, the checksum of what its scenario says.
fn scenarios(study: &Study) -> BTreeMap<String, String> {
    let sum = |number: usize| {
        let said: Value = study.document(number).and_then(|document| document.read_into()).ok()?;
        Some(checksum::of_bytes(sorted(said).to_string().as_bytes())[..16].to_owned())
    };
    let all = study.experiments.iter().enumerate();
    all.map(|(number, experiment)| (experiment.name.clone(), sum(number).unwrap_or_default())).collect()
}

/// The same with keys in the order of the alphabet.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let all: BTreeMap<_, _> = map.into_iter().map(|(key, value)| (key, sorted(value))).collect();
            Value::Object(all.into_iter().collect())
        }
        Value::Array(all) => all.into_iter().map(sorted).collect(),
        value => value,
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
