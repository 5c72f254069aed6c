//! Controls that are not built in: who makes them, and whether they accept their settings.

use std::sync::Arc;

use narrows_proto::cc::custom::{Attached, Params};
use narrows_proto::cc::{Config, registry};

use super::Checker;
use crate::diagnostic::{Code, Diagnostic};
use crate::scenario::Scenario;

/// Attaches what makes them, and notes the version of its code in the scenario.
pub(super) fn attach(scenario: &mut Scenario, checker: &mut Checker<'_>) {
    for (number, group) in scenario.traffic.iter_mut().enumerate() {
        let Some(cc) = &mut group.cc else { continue };
        let path = format!("traffic.{number}.cc.{}", path_within(cc));
        if let Some(params) = cc.custom_mut() {
            attach_one(params, &path, checker);
        }
    }
}

/// Where the settings of a control stand that may have near-source loops around it.
fn path_within(cc: &Config) -> String {
    match cc {
        Config::Annulus(params) => format!("annulus.end_to_end.{}", path_within(&params.end_to_end)),
        _ => cc.name().to_owned(),
    }
}

fn attach_one(params: &mut Params, path: &str, checker: &mut Checker<'_>) {
    let Some(maker) = checker.document.makers().get(&params.name) else {
        return checker
            .error(&format!("{path}.name"), nobody(&params.name, checker.document.makers().keys()));
    };
    if let Err(refusal) = maker.check(&params.settings) {
        let message = format!("{} refuses its settings: {refusal}", params.name);
        return checker.error(&format!("{path}.settings"), Diagnostic::error(Code::CustomSettings, message));
    }
    let code = maker.version();
    if let Some(other) = params.code.as_ref().filter(|other| **other != code) {
        let message = format!("{} has code = \"{other}\" here, the one attached is \"{code}\"", params.name);
        let help = "results may differ from those of the other code; leave code out to run any";
        checker.error(&format!("{path}.code"), Diagnostic::warning(Code::OtherCode, message).help(help));
    }
    params.code = Some(code);
    params.maker = Attached(Some(Arc::clone(maker)));
}

/// Nobody attached a control of this name.
fn nobody<'a>(name: &str, known: impl Iterator<Item = &'a String>) -> Diagnostic {
    let error =
        Diagnostic::error(Code::UnknownControl, format!("no congestion control is attached as \"{name}\""));
    let known: Vec<_> = known.map(String::as_str).collect();
    if !known.is_empty() {
        return error.known(name, known);
    }
    if registry::NAMES.contains(&name) {
        return error.help(format!("one of this name is built in: cc = {{ {name} = {{}} }}"));
    }
    error.help(format!(
        "Python attaches it: narrows.run(..., controllers={{\"{name}\": …}}); the command narrows cannot"
    ))
}
