//! Scenarios: every text becomes a plan or a list of mistakes, soon.
//!
//! What follows a zero byte is an override, as of `--set`.
#![no_main]

mod mutate;

use libfuzzer_sys::{Corpus, fuzz_mutator, fuzz_target};
use narrows::diagnostic::{Checked, Diagnostic, Rejection};
use narrows::document::Document;
use narrows::plan::{Limits, Plan};
use narrows::scenario::{Pattern, Scenario, SizeSource};
use narrows_proto::units::Time;

/// No file is in this folder.
const FOLDER: &str = "/nonexistent";

/// Small enough to try thousands of scenarios in a second. That the usual limits hold is tested in `plan/limits.rs`.
const LIMITS: Limits = Limits { links: 2_000, route_steps: 200_000, flows: 20_000, draws: 200_000 };

fuzz_target!(|text: &str| -> Corpus {
    let document = match document(text) {
        Ok(document) => document,
        Err(rejection) => return check_rejection(&rejection),
    };
    let scenario = match Scenario::from_document(&mut document.clone()) {
        Ok(scenario) => scenario,
        Err(rejection) => return check_rejection(&rejection),
    };
    if reads_a_file(&scenario) {
        return Corpus::Reject;
    }
    match Plan::within(document, LIMITS) {
        Ok(plan) => check_plan(&plan),
        Err(rejection) => _ = check_rejection(&rejection),
    }
    Corpus::Keep
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    mutate::scenario(data, size, max_size, seed)
});

fn document(text: &str) -> Checked<Document> {
    let mut parts = text.split('\0');
    let mut document = Document::parse("scenario.toml", parts.next().unwrap_or_default(), FOLDER)?;
    for assignment in parts {
        document.set(assignment)?;
    }
    Ok(document)
}

/// Whether the scenario would read a file outside the folder: a device might never end.
fn reads_a_file(scenario: &Scenario) -> bool {
    let outside = |sizes: &SizeSource| matches!(sizes, SizeSource::File(path) if path.is_absolute());
    scenario.traffic.iter().any(|group| match &group.pattern {
        Pattern::Poisson(pattern) => outside(&pattern.sizes),
        Pattern::Random(pattern) => outside(&pattern.sizes),
        Pattern::ClosedLoop(pattern) => outside(&pattern.sizes),
        Pattern::Trace(trace) => trace.file.is_absolute(),
        _ => false,
    })
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

/// What is no scenario is tried, but not built upon: most changes to it are none either.
fn check_rejection(rejection: &Rejection) -> Corpus {
    assert!(!rejection.0.is_empty(), "refused without a reason");
    rejection.0.iter().for_each(check_diagnostic);
    Corpus::Reject
}

/// A diagnostic can be printed, and what it points at can be shown.
fn check_diagnostic(diagnostic: &Diagnostic) {
    assert!(!diagnostic.to_string().is_empty());
    if let Some(place) = &diagnostic.place {
        let text = place.source.text.get(place.span.clone());
        assert!(text.is_some(), "{:?} of {:?}: {diagnostic}", place.span, place.source.text);
    }
}
