use narrows_proto::units::Span;
use serde_json::{Map, Value, json};

use super::{Activity, Results};
use crate::diagnostic::Diagnostic;
use crate::metrics::{Metric, Uncertain};
use crate::plan::PlannedGroup;
use crate::scenario::Expect;

impl Results {
    /// Lengths of the intervals of recorded tables.
    fn intervals(&self) -> Value {
        let record = &self.plan.record;
        let ports = |recorded: &Option<(Span, _)>| recorded.as_ref().map(|(interval, _)| interval.as_ps());
        let windows = record.windows.as_ref().map(|(interval, _)| interval.as_ps());
        json!({
            "queues_interval_ps": ports(&record.queues),
            "links_interval_ps": ports(&record.links),
            "windows_interval_ps": windows,
        })
    }

    /// The summary as `run.json` holds it.
    pub fn to_json(&self) -> Value {
        let plan = &self.plan;
        let group = |group: &PlannedGroup| {
            json!({
                "name": group.name,
                "control": group.control,
                "pattern": group.pattern,
                "mean_size_bytes": group.sizes.as_ref().map(|sizes| sizes.sizes.mean()),
                "offered_load": group.load.as_ref().map(|load| load.load),
                "load_counts": group.load.as_ref().map(|load| load.counts.name()),
                "pairing": group.pairing.map(|pairing| pairing.to_string()),
            })
        };
        let metric = |metric: &Metric| (metric.name.clone(), json!(metric.value));
        let uncertain = |found: &Uncertain| (found.name.clone(), found.to_json());
        let activity = |activity: &Activity| (activity.what.clone().into_owned(), json!(activity.times));
        let warning =
            |warning: &Diagnostic| json!({ "code": warning.code.name(), "message": warning.message });
        let expectation = |expect: &Expect| {
            let Expect { metric, below, above } = expect;
            json!({ "metric": metric, "below": below, "above": above, "found": self.metric(metric) })
        };
        let mut summary = json!({
            "narrows": env!("CARGO_PKG_VERSION"),
            "engine": crate::ENGINE,
            "scenario": plan.scenario.name,
            "seed": plan.scenario.seed,
            "complete": self.complete,
            "ended_ps": self.ended.as_ps(),
            "network": plan.describe_network(),
            "recorded": self.intervals(),
            "groups": plan.groups.iter().map(group).collect::<Vec<_>>(),
            "metrics": self.metrics.iter().map(metric).collect::<Map<_, _>>(),
            "uncertain": self.uncertain.iter().map(uncertain).collect::<Map<_, _>>(),
            "activity": self.activity.iter().map(activity).collect::<Map<_, _>>(),
            "expectations": plan.scenario.expect.iter().map(expectation).collect::<Vec<_>>(),
            "held_up": self.held_up.as_ref().map(|held_up| &held_up.message),
            "trends": self.trends.iter().map(|trend| &trend.message).collect::<Vec<_>>(),
            "remarks": self.remarks.iter().map(warning).collect::<Vec<_>>(),
            "warnings": plan.warnings.iter().map(warning).collect::<Vec<_>>(),
        });
        if let Some(real) = &self.real {
            summary["real_hosts"] = real.to_json();
        }
        summary
    }
}
