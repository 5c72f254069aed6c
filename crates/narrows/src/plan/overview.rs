use serde_json::{Value, json};

use super::{Plan, PlannedGroup};

impl Plan {
    /// The numbers that the scenario comes to, for programs: `narrows check --json`.
    pub fn overview(&self) -> Value {
        let facts = self.facts();
        let group = |group: &PlannedGroup| {
            let of_paths = facts.groups.iter().find(|facts| facts.name == group.name);
            let per_second = if group.rpcs.is_some() { "rpcs_per_second" } else { "flows_per_second" };
            json!({
                "name": group.name,
                "control": group.control,
                "pattern": group.pattern,
                "flows": group.expected_flows().round() as u64,
                "flows_are_expected": group.expected.is_some(),
                "mean_size_bytes": group.sizes.as_ref().map(|sizes| sizes.sizes.mean()),
                "load": group.load.as_ref().map(|load| load.load),
                "load_counts": group.load.as_ref().map(|load| load.counts.name()),
                "load_within": self.drawing(group).map(|drawing| drawing.within),
                "load_within_tenth_ps": self.drawing(group).map(|drawing| drawing.needed.as_ps()),
                (per_second): group.load.as_ref().map(|load| load.per_second),
                "pairing": group.pairing.map(|pairing| pairing.to_string()),
                "base_rtt_ps": of_paths.map(|facts| facts.base_rtt_ps),
                "bottleneck_bps": of_paths.map(|facts| facts.bottleneck_bps),
                "bdp_bytes": of_paths.map(|facts| facts.bdp_bytes),
                "packet_bytes": of_paths.map(|facts| facts.packet_bytes),
            })
        };
        json!({
            "name": self.scenario.name,
            "network": self.describe_network(),
            "groups": self.groups.iter().map(group).collect::<Vec<_>>(),
            "ports": facts.ports,
            "stops": facts.stops,
            "cards_isolate": facts.cards_isolate,
            "paths": facts.paths,
            "oversubscription": facts.oversubscription,
            "memory_bytes": self.memory(1).get(),
            "warnings": self.remarks().map(|w| json!({ "code": w.code.name(), "message": w.message })).collect::<Vec<_>>(),
        })
    }
}
