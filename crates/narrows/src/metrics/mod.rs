//! Metrics of a summary, by name: `group.metric`.

mod collectives;
mod flows;
mod metric;
mod network;
mod sample;
mod taken;
mod uncertain;

use std::sync::LazyLock;

use narrows_sim::traffic::{Group, Transport};
use serde::Serialize;

use self::collectives::{COLLECTIVE_METRICS, CollectiveSums};
use self::flows::{DATAGRAM_METRICS, DatagramSums, FLOW_METRICS, FlowSums, RPC_METRICS, RpcSums};
pub use self::flows::{LARGE, SMALL};
pub use self::metric::Metric;
pub(crate) use self::metric::{current_name, read_name, value};
use self::network::{NETWORK_METRICS, NetworkSums, QUEUE_METRICS, QueueSums, SEGMENT_METRICS, SegmentSums};
use self::sample::Doubt;
pub(crate) use self::sample::{Lasted, Sample};
pub use self::taken::{MetricInfo, Over};
use self::taken::{Of, Taken, infos};
pub(crate) use self::uncertain::warnings;
pub use self::uncertain::{Marks, Uncertain};
use crate::bounds::Bounds;
use crate::counters::{self, Counter};
use crate::plan::{Plan, Segment};
use crate::results::{FlowRow, Outline, RpcRow};
use crate::scenario::Pattern;
use crate::statistics::{self, Estimate};

/// Stands for all traffic together.
pub const TOTAL: &str = "total";

/// Metrics of the network.
fn of_network() -> impl Iterator<Item = MetricInfo> {
    let counted =
        |(name, counter): (_, &Counter)| MetricInfo::new(name, counter.unit, Over::WholeRun, counter.meaning);
    counters::metrics().map(counted).chain(infos(&NETWORK_METRICS))
}

/// Metrics that belong together.
#[derive(Clone, Debug, Serialize)]
pub struct MetricSet {
    /// Prefix of their names: `GROUP.`, `total.`, `total.dc_` or `total.wan_`.
    pub before: &'static str,
    /// Which groups or networks have them.
    pub present: &'static str,
    /// The metrics, in order.
    pub metrics: Vec<MetricInfo>,
}

/// All metrics that a summary may have.
pub static METRICS: LazyLock<[MetricSet; 7]> = LazyLock::new(|| {
    let set = |before, present, metrics| MetricSet { before, present, metrics };
    [
        set("GROUP. or total.", "groups of flows", infos(&FLOW_METRICS).collect()),
        set("GROUP. or total.", "groups of remote procedure calls", infos(&RPC_METRICS).collect()),
        set("GROUP.", "groups of collectives", infos(&COLLECTIVE_METRICS).collect()),
        set("GROUP.", "groups of datagram sources", infos(&DATAGRAM_METRICS).collect()),
        set("total.", "always", of_network().collect()),
        set("total.", "with record.queues", infos(&QUEUE_METRICS).collect()),
        set("total.dc_ or total.wan_", "networks of several data centers", infos(&SEGMENT_METRICS).collect()),
    ]
});

/// Descriptions of the metrics of this name, which may stand behind that of a group and of a segment. They differ in the time that they
/// are about, if at all.
pub(crate) fn infos_of(name: &str) -> impl Iterator<Item = &'static MetricInfo> {
    let short = name.rsplit_once('.').map_or(name, |(_, short)| short);
    let of_segment = |segment: Segment| short.strip_prefix(segment.name())?.strip_prefix('_');
    let last = Segment::ALL.into_iter().find_map(of_segment).unwrap_or(short);
    METRICS.iter().flat_map(|set| &set.metrics).filter(move |info| info.name == last)
}

/// The least and the most that a metric of this name can be: that of its definition. No metric is negative.
pub(crate) fn bounds(name: &str) -> Bounds {
    infos_of(name).next().map_or(Bounds::NOT_NEGATIVE, |info| info.bounds)
}

/// A metric over seeds, with an interval that ends at what it can be.
pub fn estimate(name: &str, samples: &[f64]) -> Option<Estimate> {
    statistics::estimate(samples).map(|found| found.within(bounds(name)))
}

/// Kind of a group's traffic, as far as it decides which metrics it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Flows,
    Rpcs,
    Collectives,
    Datagrams,
}

impl Kind {
    pub(crate) fn of(pattern: &Pattern) -> Self {
        match pattern {
            Pattern::OnOff(_) => Self::Datagrams,
            Pattern::Rpc(_) => Self::Rpcs,
            Pattern::Collective(_) | Pattern::Schedule(_) => Self::Collectives,
            _ => Self::Flows,
        }
    }

    /// Kind of traffic of a group of a plan.
    fn of_group(plan: &Plan, group: usize) -> Self {
        Self::of(&plan.scenario.traffic[group].pattern)
    }

    fn metrics(self) -> impl Iterator<Item = &'static str> {
        let flows = infos(&FLOW_METRICS).filter(move |_| self != Self::Datagrams);
        let rpcs = infos(&RPC_METRICS).filter(move |_| self == Self::Rpcs);
        let datagrams = infos(&DATAGRAM_METRICS).filter(move |_| self == Self::Datagrams);
        let collectives = infos(&COLLECTIVE_METRICS).filter(move |_| self == Self::Collectives);
        flows.chain(rpcs).chain(collectives).chain(datagrams).map(|info| info.name)
    }
}

/// Names of all metrics of a scenario with these groups.
pub(crate) fn names<'a>(
    groups: impl Iterator<Item = (&'a str, Kind)>,
    queues: bool,
    segments: bool,
) -> Vec<String> {
    let (mut names, mut all) = (Vec::new(), Kind::Flows);
    for (group, kind) in groups {
        names.extend(kind.metrics().map(|metric| format!("{group}.{metric}")));
        all = if kind == Kind::Rpcs { kind } else { all };
    }
    let of_network = of_network().chain(infos(&QUEUE_METRICS).filter(|_| queues));
    let total = all.metrics().chain(of_network.map(|info| info.name));
    names.extend(total.map(|metric| format!("{TOTAL}.{metric}")));
    for segment in Segment::ALL.into_iter().filter(|_| segments) {
        let of_segment = infos(&SEGMENT_METRICS).map(|info| format!("{}{}", of_segment(segment), info.name));
        names.extend(of_segment);
    }
    names
}

/// All metrics of a run, and those that are less certain than their digits.
pub(crate) fn compute(outline: &Outline<'_>) -> (Vec<Metric>, Vec<Uncertain>) {
    let mut metrics = Metrics::default();
    let mut any_rpcs = false;
    let has_accurate_ecn = |group: &Group| match &group.transport {
        Transport::Stream { params, cc } => params.ecn(cc).is_accurate(),
        other => other.control().is_some_and(|cc| cc.ecn().is_accurate()),
    };
    let accurate: Vec<_> = outline.plan.traffic.groups.iter().map(has_accurate_ecn).collect();
    let sums = |flows: &[&FlowRow], offered| FlowSums::of(flows, outline, &accurate, offered);
    for (number, group) in outline.plan.groups.iter().enumerate() {
        let before = format!("{}.", group.name);
        let kind = Kind::of_group(outline.plan, number);
        if kind == Kind::Datagrams {
            metrics.take(&before, &DATAGRAM_METRICS, &DatagramSums::of(outline, number));
        } else {
            let flows: Vec<_> = outline.flows.iter().filter(|flow| flow.group as usize == number).collect();
            metrics.take(&before, &FLOW_METRICS, &sums(&flows, offered_fraction(outline, number)));
        }
        if kind == Kind::Rpcs {
            let rpcs: Vec<_> = outline.rpcs.iter().filter(|rpc| rpc.group as usize == number).collect();
            metrics.take(&before, &RPC_METRICS, &RpcSums::of(&rpcs, outline.ended));
            any_rpcs = true;
        }
        if kind == Kind::Collectives {
            metrics.take(&before, &COLLECTIVE_METRICS, &CollectiveSums::of(outline, number));
        }
    }
    let before = format!("{TOTAL}.");
    let flows: Vec<_> = outline.flows.iter().collect();
    metrics.take(&before, &FLOW_METRICS, &sums(&flows, None));
    if any_rpcs {
        metrics.take(
            &before,
            &RPC_METRICS,
            &RpcSums::of(&outline.rpcs.iter().collect::<Vec<_>>(), outline.ended),
        );
    }
    let counted = |(name, counter): (_, &Counter)| Metric {
        name: format!("{before}{name}"),
        value: Some(counter.total(outline) as f64),
    };
    metrics.all.extend(counters::metrics().map(counted));
    metrics.take(&before, &NETWORK_METRICS, &NetworkSums::of(outline));
    if let Some(queues) = &outline.queues {
        metrics.take(&before, &QUEUE_METRICS, &QueueSums::of(queues, &outline.plan.measured));
    }
    if let Some(segments) = &outline.plan.segments {
        for segment in Segment::ALL {
            let sums = SegmentSums::of(outline, segment, segments);
            metrics.take(&of_segment(segment), &SEGMENT_METRICS, &sums);
        }
    }
    (metrics.all, metrics.uncertain)
}

/// Payload that was drawn for the measured time as a fraction of what the load of a group asks for: that of flows, or of responses.
fn offered_fraction(outline: &Outline<'_>, group: usize) -> Option<f64> {
    let asked = outline.plan.asked(group, outline.ended)?;
    let offered: f64 = if Kind::of_group(outline.plan, group) == Kind::Rpcs {
        let counts = |rpc: &&RpcRow| rpc.group as usize == group && rpc.measured;
        outline.rpcs.iter().filter(counts).map(|rpc| rpc.responses.as_f64()).sum()
    } else {
        let counts = |flow: &&FlowRow| flow.group as usize == group && flow.measured && !flow.is_endless();
        outline.flows.iter().filter(counts).map(|flow| flow.size.as_f64()).sum()
    };
    Some(offered / asked)
}

/// Prefix of the metrics of a segment.
fn of_segment(segment: Segment) -> String {
    format!("{TOTAL}.{}_", segment.name())
}

/// Metrics, one after the other.
#[derive(Default)]
struct Metrics {
    all: Vec<Metric>,
    uncertain: Vec<Uncertain>,
}

impl Metrics {
    fn take<S>(&mut self, before: &str, metrics: &[Taken<S>], sums: &S) {
        for Taken { info, of } in metrics {
            let name = format!("{before}{}", info.name);
            let value = match of {
                Of::Value(of) => of(sums),
                Of::Percentile(p, of) => {
                    let sample = of(sums);
                    self.doubt(&name, sample.percentile(*p), sample.doubt(*p))
                }
                Of::Mean(of) => {
                    let sample = of(sums);
                    self.doubt(&name, sample.mean(), sample.doubt_of_mean())
                }
            };
            self.all.push(Metric { name, value });
        }
    }

    /// Notes a doubt about a value, if there is one.
    fn doubt(&mut self, name: &str, value: Option<f64>, doubt: Option<Doubt>) -> Option<f64> {
        let doubt = value.zip(doubt);
        self.uncertain.extend(doubt.map(|(value, doubt)| Uncertain::new(name.to_owned(), value, doubt)));
        value
    }
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;
    use std::sync::Arc;

    use super::*;
    use crate::document::Document;
    use crate::results::Results;
    use crate::run::{Options, run};

    /// A short run of flows from `left` to `right`, of one group for each control.
    fn results(controls: &[(&str, &str)]) -> Results {
        let group = |(name, cc): &(&str, &str)| {
            format!(
                "{{ name = \"{name}\", pattern.long_lived = {{ from = \"left/*\", to = \"right/*\" }}, cc = {cc} }}"
            )
        };
        let text = format!(
            r#"
            version = 2
            name = "marks"
            stop.after = "20 ms"
            topology.dumbbell = {{ hosts = 2, host_rate = "1 Gb/s", bottleneck_rate = "500 Mb/s", host_delay = "1 us", bottleneck_delay = "50 us" }}
            switches.default = {{ buffer = {{ size = "100 kB", sharing = "per_port" }}, marking = {{ step = {{ k = "20 kB" }} }} }}
            traffic = [{}]
            "#,
            controls.iter().map(group).collect::<Vec<_>>().join(", ")
        );
        let plan = Arc::new(Plan::new(Document::parse("marks.toml", text, "").unwrap()).unwrap());
        run(&plan, Options::default(), |_| ControlFlow::Continue(())).unwrap()
    }

    #[test]
    fn what_a_metric_can_be_stands_in_its_definition_and_is_found_by_its_name_with_a_group_or_segment() {
        let names = ["slowdown", "fraction", "utilization"];
        for info in METRICS
            .iter()
            .flat_map(|set| &set.metrics)
            .filter(|info| names.iter().any(|name| info.name.ends_with(name)))
        {
            let expected = match info.name {
                // More may be offered than was asked for, and retransmitted than was delivered.
                "offered_fraction" | "retransmitted_fraction" => Bounds::NOT_NEGATIVE,
                name if name.ends_with("slowdown") => Bounds::FROM_ONE,
                _ => Bounds::FRACTION,
            };
            assert_eq!(info.bounds, expected, "{}", info.name);
        }
        let of = [
            "web.p99_slowdown",
            "total.wan_max_utilization",
            "dc_lost_fraction",
            "web.goodput_gbps",
            "web.gone",
        ];
        let (least, most) = (of.map(|name| bounds(name).least), of.map(|name| bounds(name).most));
        let inf = f64::INFINITY;
        assert_eq!((least, most), ([1.0, 0.0, 0.0, 0.0, 0.0], [inf, 1.0, 1.0, inf, inf]));
    }

    #[test]
    fn metrics_of_one_name_have_the_same_bounds() {
        for info in METRICS.iter().flat_map(|set| &set.metrics) {
            assert!(infos_of(info.name).all(|other| other.bounds == info.bounds), "{}", info.name);
        }
    }

    #[test]
    fn the_interval_of_a_metric_ends_at_what_it_can_be() {
        let found = estimate("total.wan_max_utilization", &[0.9, 0.95, 0.7]).unwrap();
        let (low, high) = found.interval.unwrap();
        assert!(low < 0.7 && high == 1.0, "{low} {high}");
    }

    #[test]
    fn a_marked_fraction_is_of_those_whose_receivers_report_marked_bytes_and_of_no_others() {
        let results = results(&[
            ("dctcp", "{ dctcp = {} }"),
            ("classic", "{ reno = { ecn = true } }"),
            ("off", "{ vegas = {} }"),
        ]);
        let marked = |group: &str| results.metric(&format!("{group}.marked_fraction"));
        assert!(marked("dctcp").unwrap() > 0.0);
        assert_eq!(["classic", "off"].map(marked), [None, None]);
        assert_eq!(marked("total"), marked("dctcp"), "the others are no part of it");
    }
}
