//! Scenarios: every text becomes a plan or a list of mistakes, soon.
//!
//! The text after a zero byte is an override, as of `--set`.

use narrows::diagnostic::Checked;
use narrows::document::Document;
use narrows::plan::Plan;
use narrows::scenario::Scenario;
use narrows_proto::units::Time;

use super::checks::{FOLDER, LIMITS, check_diagnostic, check_rejection, reads_a_file};

/// Whether it is worth building upon.
pub fn check(text: &str) -> bool {
    let document = match document(text) {
        Ok(document) => document,
        Err(rejection) => return check_rejection(&rejection),
    };
    let scenario = match Scenario::from_document(&mut document.clone()) {
        Ok(scenario) => scenario,
        Err(rejection) => return check_rejection(&rejection),
    };
    if reads_a_file(&scenario) {
        return false;
    }
    match Plan::within(document, LIMITS) {
        Ok(plan) => check_plan(&plan),
        Err(rejection) => _ = check_rejection(&rejection),
    }
    true
}

fn document(text: &str) -> Checked<Document> {
    let mut parts = text.split('\0');
    let mut document = Document::parse("scenario.toml", parts.next().unwrap_or_default(), FOLDER)?;
    for assignment in parts {
        document.set(assignment)?;
    }
    Ok(document)
}

fn check_plan(plan: &Plan) {
    let _ = (plan.memory(4), plan.describe_network());
    plan.warnings.iter().for_each(check_diagnostic);
    let end = Time::ZERO + plan.scenario.stop.after;
    for flow in &plan.traffic.flows {
        assert!(flow.from != flow.to && flow.size.get() > 0, "{flow:?}");
        assert!(flow.start < end || flow.start == Time::NEVER, "{flow:?} starts at or after {end}");
    }
    // What a run leaves behind as its scenario means the same.
    let written = Document::parse("written.toml", plan.text.as_str(), FOLDER).expect("a plan's text is TOML");
    let again = Plan::within(written, LIMITS).unwrap_or_else(|error| panic!("{error}\n{}", plan.text));
    assert_eq!((&again.scenario, &again.traffic.flows), (&plan.scenario, &plan.traffic.flows));
}
