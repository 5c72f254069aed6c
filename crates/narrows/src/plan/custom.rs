//! Controls that are not built in: who makes them, whether they accept their settings, and whether there is a kernel for those of one.

use std::sync::Arc;

use narrows_proto::cc::custom::{Attached, Params};
use narrows_proto::cc::{Config, kernel, registry};

use super::Checker;
use crate::diagnostic::{Code, Diagnostic};
use crate::scenario::Scenario;

/// Attaches what makes them, and notes the version of its code in the scenario.
pub(super) fn attach(scenario: &mut Scenario, checker: &mut Checker<'_>) {
    for (number, group) in scenario.traffic.iter_mut().enumerate() {
        let Some(cc) = &mut group.cc else { continue };
        let path = format!("traffic.{number}.cc.{}", path_within(cc));
        if let Some(params) = cc.kernel().filter(|_| !checker.document.has_kernel()) {
            let error = no_kernel(params);
            checker.error(&path, error);
        }
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

/// A virtual run has no kernel.
fn no_kernel(params: &kernel::Params) -> Diagnostic {
    let message = format!("{} of the kernel is for live runs, this one is virtual", params.name);
    let help = match Config::twin_of(params) {
        Some(twin) => format!("its native twin: cc = {{ {twin} = {{}} }}; narrows live has the kernel"),
        None => format!("narrows live has the kernel; virtual runs have {}", registry::NAMES.join(", ")),
    };
    Diagnostic::error(Code::NoKernel, message).help(help)
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

#[cfg(test)]
mod tests {
    use crate::document::Document;
    use crate::plan::Plan;

    fn plan(cc: &str, has_kernel: bool) -> Result<Plan, String> {
        let mut document =
            crate::templates::find("dumbbell").expect("it is built in").document().expect("it parses");
        document.set(&format!("traffic.0.cc={cc}")).expect("it is set");
        if has_kernel {
            document.attach_kernel();
        }
        Plan::new(document).map_err(|rejection| {
            let error = &rejection.0[0];
            format!("{}; {}", error.message, error.help.clone().unwrap_or_default())
        })
    }

    #[test]
    fn a_control_of_the_kernel_is_refused_in_virtual_time_with_its_native_twin() {
        let refused = |cc| plan(cc, false).expect_err("there is no kernel");
        assert!(refused("{ kernel = \"bbr\" }").contains("its native twin: cc = { bbr = {} }"));
        assert!(refused("{ kernel = \"westwood\" }").contains("virtual runs have reno, cubic"));
        let near = "{ annulus = { end_to_end = { kernel = \"cubic\" } } }";
        assert!(refused(near).contains("cubic of the kernel is for live runs"));
    }

    #[test]
    fn with_a_kernel_it_is_part_of_the_stored_scenario() {
        for (cc, stored) in [
            ("{ kernel = \"westwood\" }", "kernel = \"westwood\""),
            ("{ kernel = { name = \"cubic\", ecn = true } }", "ecn = true"),
        ] {
            let plan = plan(cc, true).expect("there is a kernel");
            assert!(plan.text.contains(stored), "{}", plan.text);
            let mut again = Document::parse("again.toml", plan.text.clone(), "").expect("it is TOML");
            again.attach_kernel();
            assert_eq!(Plan::new(again).expect("it is the same").text, plan.text);
        }
    }
}
