//! Flow traces: whatever is accepted is a flow between two hosts, one for each row.

use std::sync::LazyLock;

use narrows::plan::TraceFlows;
use narrows_proto::units::{BitRate, Bytes, Span, Time};
use narrows_sim::GroupId;
use narrows_sim::topology::{Star, Topology};

static STAR: LazyLock<Topology> = LazyLock::new(|| {
    let mut topology = Topology::default();
    Star { hosts: 4, rate: BitRate::from_gbps(1), delay: Span::from_us(1) }.build(&mut topology, "");
    topology
});

pub fn check(text: &str) {
    match narrows::plan::parse_trace("trace.csv", text.to_owned(), &STAR, GroupId(0), Time::ZERO) {
        Ok(TraceFlows { flows, dependents }) => {
            let rows = text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
            let rows = rows.count();
            // The first row may be the names of the columns.
            assert!(
                (rows.saturating_sub(1)..=rows).contains(&flows.len()),
                "{} flows from {rows} rows",
                flows.len()
            );
            for dependent in dependents {
                assert!((1..=dependent.after.len()).contains(&(dependent.needs as usize)), "{dependent:?}");
                assert_eq!(flows[dependent.flow.index()].start, Time::NEVER);
                assert!(dependent.after.iter().all(|(flow, _)| flow.index() < flows.len()), "{dependent:?}");
            }
            for flow in flows {
                assert!(flow.from != flow.to && flow.from.index() < 4 && flow.to.index() < 4, "{flow:?}");
                assert!(flow.size > Bytes::ZERO, "{flow:?}");
            }
        }
        Err(rejection) => drop(rejection.to_string()),
    }
}
