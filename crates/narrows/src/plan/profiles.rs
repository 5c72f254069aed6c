//! Profiles are for streams or for RDMA.

use super::Checker;
use crate::diagnostic::{Code, Diagnostic};
use crate::profile::{self, Carries};
use crate::scenario::{Pattern, Scenario, Traffic};

/// Refuses profiles that mean nothing.
pub(super) fn check(scenario: &Scenario, checker: &mut Checker<'_>) {
    const ROOT: &str = "transport.profile";
    let of_all = scenario.transport.profile.and_then(|_| checker.document.place(ROOT));
    for (number, group) in scenario.traffic.iter().enumerate() {
        let path = format!("traffic.{number}.{ROOT}");
        // What a group has from `transport` stands there.
        let own = group.transport.profile.filter(|_| checker.document.place(&path) != of_all);
        if let Some(info) = own.map(profile::of)
            && carried_by(group) != Some(info.carries)
        {
            let (what, others) = match carried_by(group) {
                None => ("sends datagrams", "for which there is none".to_owned()),
                Some(other @ Carries::Rdma) => ("is carried over RDMA", names_for(other)),
                Some(other @ Carries::Streams) => ("has streams", names_for(other)),
            };
            let message =
                format!("traffic \"{}\" {what}, {} is {}", group.name, info.name, purpose(info.carries));
            checker.error(&path, Diagnostic::error(Code::ProfileOfOthers, message).help(others));
        }
    }
    if let Some(info) = scenario.transport.profile.map(profile::of)
        && of_all.is_some()
        && scenario.traffic.iter().all(|group| carried_by(group) != Some(info.carries))
    {
        let message = format!("{} is {}, and no traffic is such", info.name, purpose(info.carries));
        checker.error(ROOT, Diagnostic::error(Code::ProfileOfOthers, message));
    }
}

fn purpose(carries: Carries) -> &'static str {
    match carries {
        Carries::Streams => "for streams",
        Carries::Rdma => "for RDMA",
    }
}

fn names_for(carries: Carries) -> String {
    format!("{}: {}", purpose(carries), profile::names_of(carries))
}

/// Transport of a group; datagrams have no profiles.
fn carried_by(group: &Traffic) -> Option<Carries> {
    match &group.pattern {
        Pattern::OnOff(_) => None,
        _ if group.rdma.is_some() => Some(Carries::Rdma),
        _ => Some(Carries::Streams),
    }
}
