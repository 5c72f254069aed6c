//! Mechanisms that keep what waits at ports in queues of their own, held against what else a switch has.

use narrows_sim::switch::{Marking, PortKind};

use crate::diagnostic::{Code, Diagnostic};
use crate::plan::Checker;
use crate::scenario::Switch;

/// Checks that the mechanism `key` is the only one of a switch, and that it goes with what else the switch has. `refused` says which
/// marking it does not go with.
pub(super) fn check(
    path: &str,
    key: &str,
    switch: &Switch,
    refused: fn(&Marking) -> bool,
    checker: &mut Checker<'_>,
) {
    let mut conflict = |with: &str, help: &str| {
        let error = Diagnostic::error(Code::Conflict, format!("{key} does not go with {with}"));
        checker.error(&format!("{path}.{key}"), error.help(help));
    };
    // The first of them complains.
    let config = switch.config(PortKind::Scheduled);
    let mut keepers = config.queue_keepers();
    if keepers.next() == Some(key)
        && let Some(other) = keepers.next()
    {
        conflict(other, "both keep what waits in queues of their own: choose one");
    }
    if refused(&switch.marking) {
        let help = format!("leave out {path}.marking, or {path}.{key}");
        conflict(&format!("marking = {}", name(&switch.marking)), &help);
    }
    if switch.isolation.is_some() {
        conflict("isolation", "both divide what waits by flow: choose one");
    }
}

/// As it stands in a scenario.
fn name(marking: &Marking) -> &'static str {
    match marking {
        Marking::Off => "off",
        Marking::Step(_) => "step",
        Marking::Red(_) => "red",
        Marking::Sojourn(_) => "sojourn",
        Marking::Codel(_) => "codel",
        Marking::Pie(_) => "pie",
        Marking::Phantom(_) => "phantom",
    }
}
