//! Profiles are for streams.

use super::Checker;
use crate::diagnostic::{Code, Diagnostic};
use crate::scenario::{Pattern, Scenario, Traffic};

/// Refuses profiles that mean nothing.
pub(super) fn check(scenario: &Scenario, checker: &mut Checker<'_>) {
    const ROOT: &str = "transport.profile";
    let of_all = scenario.transport.profile.and_then(|_| checker.document.place(ROOT));
    for (number, group) in scenario.traffic.iter().enumerate() {
        let path = format!("traffic.{number}.{ROOT}");
        // What a group has from `transport` stands there.
        let own = group.transport.profile.is_some() && checker.document.place(&path) != of_all;
        if own && let Some(what) = without_streams(group) {
            let message = format!("traffic \"{}\" {what}, profiles are for streams", group.name);
            checker.error(&path, Diagnostic::error(Code::ProfileOfOthers, message));
        }
    }
    if of_all.is_some() && scenario.traffic.iter().all(|group| without_streams(group).is_some()) {
        let message = "profiles are for streams, and no traffic has any";
        checker.error(ROOT, Diagnostic::error(Code::ProfileOfOthers, message));
    }
}

/// What a group has in place of streams, if it has something else.
fn without_streams(group: &Traffic) -> Option<&'static str> {
    match &group.pattern {
        Pattern::OnOff(_) => Some("sends datagrams"),
        _ if group.rdma.is_some() => Some("is carried over RDMA"),
        _ => None,
    }
}
