//! Checks on every text that is read: it is soon a plan or a list of mistakes that can be shown.

use std::path::Path;

use narrows::diagnostic::{Diagnostic, Rejection};
use narrows::plan::Limits;
use narrows::scenario::{Pattern, Scenario, SizeSource};

/// No file is in this folder.
pub const FOLDER: &str = "/nonexistent";

/// Small enough to try thousands of scenarios in a second. That the usual limits hold is tested in `plan/limits.rs`.
pub const LIMITS: Limits =
    Limits { links: 2_000, route_steps: 200_000, flows: 20_000, draws: 200_000, outlined: 2_000 };

/// Whether the scenario would read a file outside the folder: a device might never end.
pub fn reads_a_file(scenario: &Scenario) -> bool {
    let is_outside =
        |path: &Path| path.is_absolute() || path.components().any(|part| part.as_os_str() == "..");
    let outside = |sizes: &SizeSource| matches!(sizes, SizeSource::File(path) if is_outside(path));
    scenario.traffic.iter().any(|group| match &group.pattern {
        Pattern::Poisson(pattern) => outside(&pattern.sizes),
        Pattern::Random(pattern) => outside(&pattern.sizes),
        Pattern::ClosedLoop(pattern) => outside(&pattern.sizes),
        Pattern::Rpc(pattern) => outside(&pattern.sizes),
        Pattern::Trace(trace) => is_outside(&trace.file),
        _ => false,
    })
}

/// A refused text is tried, but not built upon: most changes to it are refused, too.
pub fn check_rejection(rejection: &Rejection) -> bool {
    assert!(!rejection.0.is_empty(), "refused without a reason");
    rejection.0.iter().for_each(check_diagnostic);
    false
}

/// A diagnostic can be printed, and what it points at can be shown.
pub fn check_diagnostic(diagnostic: &Diagnostic) {
    assert!(!diagnostic.to_string().is_empty());
    if let Some(place) = &diagnostic.place {
        let text = place.source.text.get(place.span.clone());
        assert!(text.is_some(), "{:?} of {:?}: {diagnostic}", place.span, place.source.text);
    }
}
