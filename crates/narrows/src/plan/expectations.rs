//! Expectations of results, checked: bounds on metrics that there will be.

use super::Checker;
use crate::diagnostic::{Code, Diagnostic};
use crate::metrics::{self, Kind};
use crate::scenario::Scenario;

/// Names of all metrics of a scenario, whose network has segments or not.
pub(super) fn metric_names(scenario: &Scenario, segments: bool) -> Vec<String> {
    let groups = scenario.traffic.iter().map(|group| (group.name.as_str(), Kind::of(&group.pattern)));
    metrics::names(groups, scenario.record.queues.is_some(), segments)
}

pub(super) fn check_expectations(scenario: &Scenario, segments: bool, checker: &mut Checker<'_>) {
    for (number, expect) in scenario.expect.iter().enumerate() {
        let path = format!("expect.{number}");
        for (key, bound) in [("below", expect.below), ("above", expect.above)] {
            if bound.is_some_and(f64::is_nan) {
                let message = format!("{key} = nan, expected a number");
                checker.error(&format!("{path}.{key}"), Diagnostic::error(Code::OutOfRange, message));
            }
        }
        if expect.below.is_none() && expect.above.is_none() {
            let message = format!("nothing is expected of \"{}\"", expect.metric);
            let error = Diagnostic::error(Code::WrongType, message).help("give `below`, `above` or both");
            checker.error(&path, error);
        }
        let known = metric_names(scenario, segments);
        if !known.contains(&expect.metric) {
            let message = format!("no metric is called \"{}\"", expect.metric);
            let error = Diagnostic::error(Code::UnknownName, message);
            let error = error.known(&expect.metric, known.iter().map(String::as_str));
            checker.error(&format!("{path}.metric"), error);
        }
    }
}
