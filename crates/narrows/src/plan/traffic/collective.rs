//! Collectives checked, and laid out over hosts.

use std::collections::BTreeSet;

use narrows_proto::units::{Bytes, Span};
use narrows_sim::traffic::FlowSpec;
use narrows_sim::workload::collectives::{self as workload, Iterations, Part, Ring, Shape};
use narrows_sim::{FlowId, HostId};

use super::{Builder, PlannedTraffic};
use crate::diagnostic::{Code, Diagnostic};
use crate::inputs::Content;
use crate::plan::schedule::{self, ScheduleParts};
use crate::plan::{Checker, ENDLESS, PlannedCollective, select};
use crate::scenario::{CollectiveKind, Names, Pattern};

/// Settings of ranks besides their tasks.
struct LaidOut {
    size: Bytes,
    bus_factor: Option<f64>,
    compute: Span,
    iterations: u32,
}

impl Builder<'_> {
    pub(super) fn collective(
        &mut self,
        planned: &mut PlannedTraffic,
        checker: &mut Checker<'_>,
    ) -> Option<Vec<FlowSpec>> {
        let Pattern::Collective(pattern) = &self.group.pattern else { return None };
        let hosts = self.ranks("collective.ranks", pattern.ranks.as_ref(), checker);
        let chunks = self.at_least_one("collective.chunks", pattern.chunks, checker);
        let iterations = self.at_least_one("collective.iterations", pattern.iterations, checker);
        let size = self.size("collective.size", pattern.size, checker);
        let (hosts, chunks, iterations, size) = (hosts?, chunks?, iterations?, size?);
        let (hosts, data_centers) = self.in_data_centers(pattern.kind, hosts, checker)?;
        let (kind, ranks) = (pattern.kind, hosts.len() as u32);
        if kind == CollectiveKind::HalvingDoublingAllReduce && !ranks.is_power_of_two() {
            let message = format!("{ranks} ranks, expected a power of two for halving and doubling");
            self.error("collective.ranks", Diagnostic::error(Code::OutOfRange, message), checker);
            return None;
        }
        let shape = Shape { ranks, size, chunks, compute: pattern.step_compute };
        self.enough_bytes(kind, &shape, data_centers, checker)?;
        let messages = messages(kind, &shape, data_centers);
        self.room_for_all(messages, ranks, iterations, "collective", checker)?;
        let parts = parts(kind, &shape, data_centers);
        let bus_factor = Some(kind.bus_factor(ranks.into()));
        let laid = LaidOut { size, bus_factor, compute: pattern.compute, iterations };
        Some(self.lay_out(&laid, &parts, &hosts, planned))
    }

    pub(super) fn schedule(
        &mut self,
        planned: &mut PlannedTraffic,
        checker: &mut Checker<'_>,
    ) -> Option<Vec<FlowSpec>> {
        let Pattern::Schedule(pattern) = &self.group.pattern else { return None };
        let hosts = self.ranks("schedule.ranks", pattern.ranks.as_ref(), checker);
        let iterations = self.at_least_one("schedule.iterations", pattern.iterations, checker);
        let (hosts, iterations) = (hosts?, iterations?);
        let room = self.room;
        let read = |content: Content| schedule::read(&content, hosts.len() as u32, room);
        match self.ground.document.input(&pattern.file).and_then(read) {
            Ok(ScheduleParts { parts, sent }) => {
                let messages = workload::messages(&parts);
                self.room_for_all(messages, hosts.len() as u32, iterations, "schedule", checker)?;
                let laid = LaidOut { size: sent, bus_factor: None, compute: pattern.compute, iterations };
                Some(self.lay_out(&laid, &parts, &hosts, planned))
            }
            Err(rejection) => {
                rejection
                    .0
                    .into_iter()
                    .for_each(|diagnostic| self.error("schedule.file", diagnostic, checker));
                None
            }
        }
    }

    /// Refuses more messages than there is room for, or iterations of ranks, each of which leaves a record.
    fn room_for_all(
        &self,
        messages: u64,
        ranks: u32,
        iterations: u32,
        key: &str,
        checker: &mut Checker<'_>,
    ) -> Option<()> {
        self.room_for(messages.max(ranks.into()).saturating_mul(iterations.into()), key, checker)
    }

    fn lay_out(
        &mut self,
        of: &LaidOut,
        parts: &[Part],
        hosts: &[HostId],
        planned: &mut PlannedTraffic,
    ) -> Vec<FlowSpec> {
        let LaidOut { size, bus_factor, compute, iterations } = *of;
        let first = FlowId::from(planned.traffic.flows.len());
        let times = Iterations { start: self.start, compute, count: iterations };
        let (ranks, flows) = workload::lay_out(parts, hosts, self.id, first, &times);
        let of = planned.traffic.ranks.len()..planned.traffic.ranks.len() + ranks.len();
        planned.traffic.ranks.extend(ranks);
        let steps = parts.iter().flat_map(|part| part.tasks.iter()).map(|task| task.step + 1).max();
        self.planned.collective = Some(PlannedCollective {
            bus_factor,
            size,
            ranks: of,
            iterations,
            messages: workload::messages(parts),
            steps: steps.unwrap_or(0),
        });
        flows
    }

    /// Hosts that are ranks, in order: at least two, none twice.
    fn ranks(&self, key: &str, names: Option<&Names>, checker: &mut Checker<'_>) -> Option<Vec<HostId>> {
        let topology = &self.ground.network.topology;
        let hosts =
            select::hosts_in_order(topology, names).map_err(|error| self.error(key, error, checker)).ok()?;
        let mut seen = BTreeSet::new();
        if let Some(twice) = hosts.iter().find(|host| !seen.insert(**host)) {
            let message = format!("host \"{}\" is two ranks, expected one", topology.host_name(*twice));
            self.error(key, Diagnostic::error(Code::Duplicate, message), checker);
            return None;
        }
        if hosts.len() < 2 {
            let message = format!("{} rank, expected at least 2", hosts.len());
            self.error(key, Diagnostic::error(Code::NoTraffic, message), checker);
            return None;
        }
        Some(hosts)
    }

    /// For a kind that knows data centers: hosts by data center, and the number of these.
    fn in_data_centers(
        &self,
        kind: CollectiveKind,
        mut hosts: Vec<HostId>,
        checker: &mut Checker<'_>,
    ) -> Option<(Vec<HostId>, u32)> {
        if kind != CollectiveKind::HierarchicalAllReduce {
            return Some((hosts, 1));
        }
        let dc = |host: &HostId| self.ground.places.dc[host.index()];
        hosts.sort_by_key(dc);
        let sizes: Vec<_> = hosts.chunk_by(|a, b| dc(a) == dc(b)).map(<[_]>::len).collect();
        let (even, several) = (sizes.iter().all(|size| *size == sizes[0]), sizes.len() > 1);
        if !even || !several || sizes[0] < 2 {
            let sizes: Vec<_> = sizes.iter().map(ToString::to_string).collect();
            let message = format!(
                "{} ranks by data center, expected as many in each of at least two, and two or more",
                sizes.join(" and ")
            );
            let help = "names of data centers begin with dc, as in \"dc0/*\"";
            let error = Diagnostic::error(Code::OutOfRange, message).help(help);
            self.error("collective.ranks", error, checker);
            return None;
        }
        Some((hosts, sizes.len() as u32))
    }

    /// Messages have at least a byte.
    fn enough_bytes(
        &self,
        kind: CollectiveKind,
        shape: &Shape,
        data_centers: u32,
        checker: &mut Checker<'_>,
    ) -> Option<()> {
        let parts = match kind {
            CollectiveKind::TreeAllReduce | CollectiveKind::Pipeline => 1,
            _ => u64::from(shape.ranks / data_centers),
        };
        let least = Bytes::new(parts * u64::from(shape.chunks));
        if shape.size < least {
            let chunks =
                if shape.chunks == 1 { "1 chunk".into() } else { format!("{} chunks", shape.chunks) };
            let message = format!(
                "{} in {parts} parts of {chunks} are messages of less than a byte, expected {least} to {ENDLESS}",
                shape.size
            );
            self.error("collective.size", Diagnostic::error(Code::OutOfRange, message), checker);
            return None;
        }
        Some(())
    }
}

/// Messages of an iteration, before they are made: there may be more than fit memory.
fn messages(kind: CollectiveKind, shape: &Shape, data_centers: u32) -> u64 {
    let n = u64::from(shape.ranks);
    let inside = n / u64::from(data_centers);
    let of_rank = match kind {
        CollectiveKind::RingAllReduce => 2 * (n - 1),
        CollectiveKind::RingReduceScatter
        | CollectiveKind::RingAllGather
        | CollectiveKind::AllToAll
        | CollectiveKind::AllToAllInRounds => n - 1,
        // The root sends nothing up, the last of a pipeline nothing on: this is for all others, and a little more.
        CollectiveKind::TreeAllReduce | CollectiveKind::Pipeline => 2,
        CollectiveKind::HalvingDoublingAllReduce => 2 * u64::from(shape.ranks.ilog2()),
        CollectiveKind::HierarchicalAllReduce => 2 * (inside - 1) + u64::from(data_centers) - 1,
    };
    n.saturating_mul(of_rank).saturating_mul(shape.chunks.into())
}

fn parts(kind: CollectiveKind, shape: &Shape, data_centers: u32) -> Vec<Part> {
    match kind {
        CollectiveKind::RingAllReduce => workload::ring(Ring::AllReduce, shape),
        CollectiveKind::RingReduceScatter => workload::ring(Ring::ReduceScatter, shape),
        CollectiveKind::RingAllGather => workload::ring(Ring::AllGather, shape),
        CollectiveKind::TreeAllReduce => workload::tree_all_reduce(shape),
        CollectiveKind::HalvingDoublingAllReduce => workload::halving_doubling(shape),
        CollectiveKind::HierarchicalAllReduce => workload::hierarchical_all_reduce(shape, data_centers),
        CollectiveKind::AllToAll => workload::all_to_all(shape),
        CollectiveKind::AllToAllInRounds => workload::all_to_all_in_rounds(shape),
        CollectiveKind::Pipeline => workload::pipeline(shape),
    }
}

#[cfg(test)]
mod tests {
    use crate::document::Document;
    use crate::plan::Plan;

    fn plan(pattern: &str) -> Result<Plan, String> {
        let text = format!(
            r#"
            version = 2
            name = "training"
            stop.after = "1 s"
            topology.star = {{ hosts = 6, rate = "10 Gb/s", delay = "1 us" }}
            traffic = [{{ name = "ring", pattern.collective = {{ {pattern} }}, cc = {{ fixed = {{}} }}, rdma = {{}} }}]
            "#
        );
        let plan = Document::parse("training.toml", text, "").and_then(Plan::new);
        plan.map_err(|rejection| rejection.0[0].message.clone())
    }

    #[test]
    fn ranks_stand_in_the_order_of_their_names() {
        let plan =
            plan(r#"kind = "ring_all_reduce", size = "6 MB", ranks = ["host3", "host0", "host5"]"#).unwrap();
        assert_eq!(plan.traffic.ranks.iter().map(|rank| rank.host.0).collect::<Vec<_>>(), [3, 0, 5]);
        let collective = plan.groups[0].collective.as_ref().unwrap();
        assert_eq!((collective.messages, collective.steps, plan.most_flows()), (12, 4, 12));
    }

    #[test]
    fn messages_are_counted_before_they_are_made() {
        let kinds = ["ring_all_reduce", "ring_all_gather", "all_to_all", "all_to_all_in_rounds"];
        for kind in kinds.into_iter().chain(["ring_reduce_scatter"]) {
            let plan = plan(&format!(r#"kind = "{kind}", size = "1 MB", chunks = 3"#)).unwrap();
            let shape =
                super::Shape { ranks: 6, size: super::Bytes::new(1), chunks: 3, compute: Default::default() };
            let crate::scenario::Pattern::Collective(pattern) = &plan.scenario.traffic[0].pattern else {
                panic!()
            };
            assert_eq!(
                super::messages(pattern.kind, &shape, 1),
                plan.groups[0].collective.as_ref().unwrap().messages
            );
        }
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let error = |pattern: &str| plan(pattern).unwrap_err();
        assert_eq!(
            error(r#"kind = "ring_all_reduce", size = "1 MB", ranks = "host1""#),
            "1 rank, expected at least 2"
        );
        assert_eq!(
            error(r#"kind = "ring_all_reduce", size = "1 MB", ranks = ["host*", "host1"]"#),
            "host \"host1\" is two ranks, expected one"
        );
        assert_eq!(
            error(r#"kind = "halving_doubling_all_reduce", size = "1 MB""#),
            "6 ranks, expected a power of two for halving and doubling"
        );
        assert_eq!(
            error(r#"kind = "all_to_all", size = "5 B""#),
            "5 B in 6 parts of 1 chunk are messages of less than a byte, expected 6 B to 1048576 TiB"
        );
        assert_eq!(
            error(r#"kind = "pipeline", size = "1 MB", chunks = 0"#),
            "chunks = 0, expected at least 1"
        );
        assert_eq!(
            error(r#"kind = "pipeline", size = "1 MB", iterations = 0"#),
            "iterations = 0, expected at least 1"
        );
        assert!(error(r#"kind = "tree_all_reduce", size = "0 B""#).starts_with("flows of 0 B"));
        assert_eq!(
            error(r#"kind = "hierarchical_all_reduce", size = "1 MB""#),
            "6 ranks by data center, expected as many in each of at least two, and two or more"
        );
        assert!(
            error(r#"kind = "ring_all_reduce", size = "1 MB", iterations = 4294967295"#)
                .starts_with("257698037700 flows, at most")
        );
    }
}
