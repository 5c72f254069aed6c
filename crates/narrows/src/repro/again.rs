//! From a study to what is kept of it, and back to a reproduction, without a run.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::observed::Samples;
use super::stored::{Number, Stored, Values, Varied};
use super::study::Known;
use super::{Alternative, Paper, Parameter, Reproduction, Request, Study};
use crate::checksum;
use crate::diagnostic::{Checked, Code, Diagnostic};

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
            let value = parameter.alternatives[alternative].value.clone();
            Varied { parameter: parameter.name.clone(), value, measured }
        });
        Self {
            paper: study.paper.name.clone(),
            narrows: narrows.to_owned(),
            quick: study.quick,
            figure: study.figure.clone(),
            seeds: study.seeds,
            scenarios: scenarios(study),
            measured,
            varied: varied.collect(),
            warnings: warnings.to_owned(),
        }
    }

    /// Judges it by what the paper's claims say now.
    ///
    /// # Errors
    /// If the paper has experiments that were not run, or not as they are now.
    pub fn conclude(self, paper: Arc<Paper>) -> Checked<Reproduction> {
        let request = Request { figure: self.figure.as_deref(), quick: self.quick, seeds: self.seeds };
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
        // What only helps to compute others does not have to be there.
        let mut wanted = declared.filter(|quantity| study.needed.contains(quantity));
        if let Some(missing) = wanted.find(|quantity| !self.measured.contains_key(quantity)) {
            return error(format!("{missing} was not measured"));
        }
        let varied: BTreeMap<_, _> =
            self.varied.iter().map(|each| ((&*each.parameter, &*each.value), &each.measured)).collect();
        for parameter @ Parameter { name, alternatives, .. } in &study.parameters {
            for Alternative { value, .. } in alternatives.iter().filter(|_| study.varies()) {
                let Some(measured) = varied.get(&(&**name, &**value)) else {
                    return error(format!("\"{name}\" was not varied to \"{value}\""));
                };
                let mut needed = parameter.measured();
                if let Some(missing) = needed.find(|quantity| !measured.contains_key(*quantity)) {
                    return error(format!(
                        "{missing} was not measured with \"{name}\" varied to \"{value}\""
                    ));
                }
            }
        }
        Ok(())
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
