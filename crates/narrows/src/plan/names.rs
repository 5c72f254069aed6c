//! Names of scenarios and traffic groups.

use std::collections::BTreeSet;

use super::Checker;
use crate::diagnostic::{Code, Diagnostic};
use crate::metrics::TOTAL;
use crate::scenario::Scenario;

pub(super) fn check_names(scenario: &Scenario, checker: &mut Checker<'_>) {
    if let Some(problem) = bad_name(&scenario.name) {
        checker.error(
            "name",
            Diagnostic::error(Code::OutOfRange, format!("the name \"{}\" {problem}", scenario.name)),
        );
    }
    let mut seen = BTreeSet::new();
    for (number, group) in scenario.traffic.iter().enumerate() {
        let path = format!("traffic.{number}.name");
        let name = &group.name;
        if let Some(problem) = bad_name(name) {
            checker
                .error(&path, Diagnostic::error(Code::OutOfRange, format!("the name \"{name}\" {problem}")));
        } else if name == TOTAL {
            let message = format!("the name \"{name}\" is taken: it stands for all traffic together");
            checker.error(&path, Diagnostic::error(Code::Duplicate, message));
        } else if !seen.insert(name) {
            checker.error(
                &path,
                Diagnostic::error(Code::Duplicate, format!("two traffic groups are called \"{name}\"")),
            );
        }
        if group.priority > 7 {
            let message = format!("priority = {}, expected 0 to 7", group.priority);
            checker
                .error(&format!("traffic.{number}.priority"), Diagnostic::error(Code::OutOfRange, message));
        }
    }
}

/// Names are used in paths and metrics.
pub(crate) fn bad_name(name: &str) -> Option<&'static str> {
    let good = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    match name {
        "" => Some("is empty"),
        _ if name.len() > 100 => Some("is longer than 100 characters"),
        _ if !name.chars().all(good) => Some("has other characters than letters, digits, - and _"),
        _ => None,
    }
}
