//! Flows under BBR that begin behind a queue of others, and take it for part of the empty path until a PROBE_RTT.
//!
//! BBR's base RTT is the least round-trip time of the last ten seconds. Flows that begin within a base RTT of each other measure it
//! before their queue has grown, and share alike before the first PROBE_RTT and after it. One that begins later measures the queue of
//! those before it as well.

use narrows_proto::units::Time;
use narrows_sim::traffic::{Group, Traffic};
use narrows_sim::{FlowId, LinkId, Network, Paths};

use super::PlannedGroup;
use super::facts::round_trip;
use super::lasting::{lasts, slowest_cycle};

/// A long-lived flow under BBR.
struct Lasting {
    group: usize,
    start: Time,
    /// When its first round trip has ended, and its packets may wait in a queue.
    filled: Time,
    /// Links that it may cross, hop by hop.
    ways: Vec<Vec<LinkId>>,
    /// The rate of the slowest hop, in bit/s.
    rate: f64,
}

/// By group, the number of long-lived flows under BBR that begin more than a base RTT after others at a link which they overload
/// together. So many flows of each group are looked at.
pub(super) fn behind_a_queue(
    network: &Network,
    paths: &Paths<'_>,
    traffic: &Traffic,
    groups: &[PlannedGroup],
    most: usize,
) -> Vec<usize> {
    let is_under_bbr = |group: &Group| group.transport.control().and_then(slowest_cycle).is_some();
    let of_group = |(number, planned): (usize, &PlannedGroup)| -> Vec<Lasting> {
        let group = &traffic.groups[number];
        if !lasts(traffic, number, planned) || !is_under_bbr(group) {
            return Vec::new();
        }
        let flow = |index: usize| {
            let flow = &traffic.flows[index];
            let (rtt, ..) = round_trip(network, paths, group, flow.from, flow.to)?;
            let ways =
                paths.ways((FlowId::from(index), group.transport.has_entropy()), flow.from, flow.to)?;
            let rate_of = |hop: &Vec<LinkId>| hop.iter().map(|link| capacity(network, *link)).sum();
            let rate = ways.iter().map(rate_of).fold(f64::INFINITY, f64::min);
            Some(Lasting { group: number, start: flow.start, filled: flow.start + rtt, ways, rate })
        };
        planned.flows.clone().take(most).filter_map(flow).collect()
    };
    let mut flows: Vec<_> = groups.iter().enumerate().flat_map(of_group).collect();
    flows.sort_by_key(|flow| flow.start);
    let mut offered = vec![0.0; network.topology.links().len()];
    for Lasting { ways, rate, .. } in &flows {
        for hop in ways {
            hop.iter().for_each(|link| offered[link.index()] += rate / hop.len() as f64);
        }
    }
    let mut filled: Vec<Option<Time>> = vec![None; offered.len()];
    let mut late = vec![0; groups.len()];
    for flow in &flows {
        let links = || flow.ways.iter().flatten().map(|link| link.index());
        let waits = |link: usize| filled[link].is_some_and(|filled| filled < flow.start);
        late[flow.group] += usize::from(
            links().any(|link| offered[link] > capacity(network, LinkId::from(link)) && waits(link)),
        );
        for link in links() {
            filled[link] = Some(filled[link].map_or(flow.filled, |filled| filled.min(flow.filled)));
        }
    }
    late
}

fn capacity(network: &Network, link: LinkId) -> f64 {
    network.topology.link(link).wire.rate.as_f64()
}

#[cfg(test)]
mod tests {
    use crate::diagnostic::Code;
    use crate::document::Document;
    use crate::plan::Plan;

    const DUMBBELL: &str = r#"dumbbell = { hosts = 4, host_rate = "1 Gb/s", bottleneck_rate = "50 Mb/s", host_delay = "1 us", bottleneck_delay = "20 ms" }"#;

    /// A traffic group of flows that last, with more of its pattern.
    fn group(name: &str, more: &str, cc: &str) -> String {
        format!("{{ name = \"{name}\", pattern.long_lived = {{ {more} }}, cc = {{ {cc} = {{}} }} }}")
    }

    /// Messages of the warnings of a run.
    fn said(topology: &str, after: &str, traffic: &[String]) -> Vec<String> {
        let text = format!(
            r#"
            version = 2
            name = "behind"
            stop.after = "{after}"
            topology.{topology}
            switches.default = {{ buffer = {{ size = "1 MB", sharing = "per_port" }} }}
            traffic = [{}]
            "#,
            traffic.join(", ")
        );
        let plan = Plan::new(Document::parse("behind.toml", text, "").unwrap());
        let warnings = plan.unwrap_or_else(|error| panic!("{error}")).warnings;
        warnings
            .iter()
            .filter(|warning| warning.code == Code::NoProbeRtt)
            .map(|warning| warning.message.clone())
            .collect()
    }

    fn between(more: &str) -> String {
        format!("from = \"left/*\", to = \"right/*\", {more}")
    }

    #[test]
    fn flows_that_begin_more_than_a_base_rtt_after_others_at_their_bottleneck_are_warned_of() {
        let late = said(DUMBBELL, "4 s", &[group("wan", &between("start_every = \"100 ms\""), "bbr")]);
        let [late] = &late[..] else { panic!("{late:?}") };
        assert!(
            late.starts_with("3 of 4 flows of traffic \"wan\" begin behind a queue of other flows under BBR"),
            "{late}"
        );
        assert!(late.ends_with("before the first PROBE_RTT, 10 s after their start"), "{late}");
    }

    #[test]
    fn flows_that_begin_within_a_base_rtt_are_not_warned_of() {
        for gap in ["0 s", "10 ms"] {
            let pattern = between(&format!("start_every = \"{gap}\""));
            assert_eq!(said(DUMBBELL, "4 s", &[group("wan", &pattern, "bbr")]), [""; 0], "{gap}");
        }
    }

    #[test]
    fn a_run_with_a_probe_of_the_last_flow_and_other_controls_are_not_warned_of() {
        let pattern = between("start_every = \"100 ms\"");
        assert_eq!(said(DUMBBELL, "11 s", &[group("wan", &pattern, "bbr")]), [""; 0]);
        assert_eq!(said(DUMBBELL, "4 s", &[group("wan", &pattern, "cubic")]), [""; 0]);
    }

    #[test]
    fn flows_whose_bottlenecks_are_their_own_are_not_warned_of() {
        let star = r#"star = { hosts = 4, rate = "50 Mb/s", delay = "10 ms" }"#;
        let to = |pairs: &str| group("wan", &format!("pairs = {pairs}, start_every = \"1 s\""), "bbr");
        assert_eq!(said(star, "4 s", &[to(r#"[["host0", "host1"], ["host2", "host3"]]"#)]), [""; 0]);
        assert_eq!(said(star, "4 s", &[to(r#"[["host0", "host1"], ["host2", "host1"]]"#)]).len(), 1);
    }

    #[test]
    fn a_flow_behind_those_of_another_group_is_warned_of() {
        let first = group("first", r#"from = "left/host0", to = "right/host0""#, "bbr");
        let second = group("second", r#"from = "left/host1", to = "right/host1""#, "bbr");
        let second = second.replace("name =", "start = \"1 s\", name =");
        let said = said(DUMBBELL, "4 s", &[first, second]);
        assert!(said.len() == 1 && said[0].starts_with("1 of 1 flows of traffic \"second\""), "{said:?}");
    }
}
