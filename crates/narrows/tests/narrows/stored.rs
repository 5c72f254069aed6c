//! Stored scenarios have every setting that was in force.

use std::collections::BTreeSet;
use std::path::Path;

use narrows::document::Document;
use narrows::plan::Plan;
use narrows::scenario::Scenario;
use narrows::templates::TEMPLATES;
use narrows_proto::cc::registry::{ALGORITHMS, Entry};
use serde_json::Value;

/// Keys that may be missing in a stored scenario: they say nothing when left out, or their values depend on the link or the path of
/// each flow.
const MAY_BE_MISSING: &[(&str, &[&str])] = &[
    (
        "no such thing",
        &[
            "Scenario.reaction_points",
            "Scenario.paths",
            "Scenario.hash_salt",
            "Adaptive.gap",
            "Credits.oversubscribed",
            "Nscc.base_rtt",
            "Nscc.credits",
            "Nscc.target",
            "Dcqcn.window",
            "Timely.window",
            "Rdma.paths",
            "Switch.trimming",
            "LinkPath.rate",
            "LinkPath.delay",
            "LinkPath.loss",
            "LinkPath.policer",
            "LinkPath.ecn",
            "LinkPath.shaper",
            "Shaper.peak",
            "LinkPath.jitter",
            "LinkPath.slots",
            "LinkPath.profile",
            "RateSteps.repeat_after",
            "DelaySteps.repeat_after",
            "PathLoss.random",
            "PathLoss.steps",
            "LossSteps.repeat_after",
            "Jitter.late",
            "Slots.max_bytes",
            "ReactionPoints.mark",
            "Switch.pause",
            "Switch.pfc",
            "Switch.isolation",
            "Switch.drr",
            "Switch.fq_codel",
            "Switch.dualpi2",
            "FqCodel.ce_threshold",
            "Stream.l4s",
            "Stream.accurate_ecn",
            "Stream.peer_ecn",
            "Prague.ecn_fallback",
            "Switch.themis",
            "Themis.hold",
            "Switch.rack_agent",
            "Isolation.free_below",
            "Isolation.joint_stop",
            "Traffic.cc",
            "Traffic.rdma",
            "Traffic.datagram",
            "Rdma.queue_pair",
            "RealHosts.interrupts",
            "RealHosts.small_queues",
            "SmallQueues.packet_memory",
            "RealHosts.start_every",
            "RealHosts.start_jitter",
            "Stream.receive_offload",
            "Stream.segmentation",
            "Record.queues",
            "Record.links",
            "Record.windows",
            "Record.state",
            "Record.limiters",
            "Record.isolation",
            "Record.racks",
            "Expect.below",
            "Expect.above",
            "Bcn.severe",
            "JumboFlow.delay_threshold",
            "Red.at",
            "Phantom.beside",
            "Custom.code",
            "AllToAll.start_every",
            "LongLived.start_every",
            "OnOff.start_every",
            "Permutation.start_every",
            "Stream.quick_acks",
            "Stream.pingpong",
            "Stream.mark_acks",
            "Stream.ack_cwr",
            "Stream.push_ack_delay",
            "Stream.syn_ack_delay",
            "Stream.pace_from",
            "Stream.pacing_credit",
            "Stream.ack_timeout",
            "Stream.host_metrics",
            "Stream.probe_timeout",
            "Stream.reordering_slack",
            "ProbeTimeout.alone_is_min_rto",
            "Stream.halve_after_idle",
            "Stream.push_bursts",
            "Stream.pace_by_growth",
            "Stream.peak_deviation",
            "Stream.spread_marks",
            "Stream.reduce_window",
            "Segmentation.socket_buffers",
            "Bbr3.ecn",
            "Cubic.linux_hystart",
            "Cubic.linux_growth",
            "Gemini.slow_start_ignores_delay",
        ],
    ),
    (
        "no end, no limit",
        &[
            "Traffic.until",
            "Measure.until",
            "Failure.until",
            "Failure.reroute_after",
            "LongLived.size",
            "Permutation.size",
            "Stream.receive_window",
            "Stream.receive_buffer",
            "Stream.send_buffer",
            "Stream.ack_delay_of_rto",
            "Rdma.window",
            "Rdma.ack_timeout",
            "Rdma.retry_count",
            "Adaptive.choices",
            "Fixed.window",
            "Fixed.rate",
            "Gemini.base_rtt_window",
            "Gemini.max_base_rtt",
        ],
    ),
    ("the settings that it stands for are there", &["Stream.profile"]),
    (
        "all",
        &[
            "AllToAll.among",
            "ClosedLoop.from",
            "ClosedLoop.to",
            "Incast.from",
            "Incast.to",
            "LongLived.from",
            "LongLived.to",
            "OnOff.from",
            "OnOff.to",
            "Permutation.among",
            "Collective.ranks",
            "Schedule.ranks",
            "Poisson.from",
            "Poisson.to",
            "Random.from",
            "Random.to",
            "RecordFlows.of",
            "RecordNodes.of",
            "RecordPorts.of",
            "Rpc.from",
            "Rpc.to",
        ],
    ),
    (
        "depends on the link",
        &[
            "Bounded.up_to",
            "Dcqcn.ai_rate",
            "Dcqcn.hai_rate",
            "Gemini.capacity",
            "Gemini.marking_threshold",
            "Hpcc.w_ai",
            "Uno.capacity",
            "NearSource.ai_rate",
            "NearSource.byte_reset",
            "NearSource.hai_rate",
            "NearSource.min_rate",
            "Pfc.global_headroom",
            "Pfc.headroom",
            "Wan.border_delay",
        ],
    ),
    (
        "depends on the flow",
        &[
            "Bbr.initial_phase",
            "Bbr.initial_rtt",
            "Bbr.send_quantum",
            "Bbr3.initial_rtt",
            "Bbr3.send_quantum",
            "JumboFlow.rtt",
            "ThetaPowerTcp.base_rtt",
            "Uno.base_rtt",
            "NearSource.release_after",
        ],
    ),
    ("one for each pair", &["LongLived.flows"]),
    (
        "another key says it",
        &[
            "Dcqcn.byte_counter",
            "Dcqcn.cut_interval",
            "LongLived.pairing",
            "LongLived.pairs",
            "OnOff.pairs",
            "Poisson.utilization",
            "Rpc.utilization",
        ],
    ),
];

/// Keys that the schema has for a value and the value has not, as `Type.key`.
struct Walk<'a> {
    types: &'a Value,
    missing: BTreeSet<String>,
}

impl<'a> Walk<'a> {
    /// Definition that a reference stands for, with its name.
    fn resolve(&self, schema: &'a Value, name: &'a str) -> (&'a Value, &'a str) {
        match schema["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
            Some(name) => self.resolve(&self.types[name], name),
            None => (schema, name),
        }
    }

    /// A branch of alternatives is about tables with these keys.
    fn fits(&self, schema: &'a Value, value: &Value) -> bool {
        let (schema, _) = self.resolve(schema, "");
        if let Some(branches) = schema["anyOf"].as_array().or(schema["oneOf"].as_array()) {
            return branches.iter().any(|branch| self.fits(branch, value));
        }
        match value {
            Value::Object(table) => {
                let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
                let known = schema["properties"].as_object();
                known.is_some_and(|known| table.keys().all(|key| known.contains_key(key)))
                    && required.into_iter().all(|key| table.contains_key(key))
            }
            Value::Array(_) => schema["type"] == "array",
            _ => false,
        }
    }

    fn walk(&mut self, schema: &'a Value, value: &Value, name: &'a str) {
        let (schema, name) = self.resolve(schema, name);
        for key in ["anyOf", "oneOf"] {
            let branches = schema[key].as_array().map_or(&[][..], Vec::as_slice);
            for branch in branches {
                if self.fits(branch, value) {
                    self.walk(branch, value, name);
                }
            }
        }
        if let Some(items) = value.as_array() {
            items.iter().for_each(|item| self.walk(&schema["items"], item, name));
        }
        let Some(table) = value.as_object() else { return };
        for (key, of_key) in schema["properties"].as_object().into_iter().flatten() {
            match table.get(key) {
                Some(value) => self.walk(of_key, value, name),
                None => drop(self.missing.insert(format!("{name}.{key}"))),
            }
        }
        if schema["additionalProperties"].is_object() {
            table.values().for_each(|value| self.walk(&schema["additionalProperties"], value, name));
        }
    }
}

/// An example of the guide.
fn snippet(name: &str) -> Document {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/snippets").join(name);
    Document::read(&path).unwrap_or_else(|error| panic!("{error}"))
}

/// Every built-in scenario, every example of the guide that is a scenario, and every control that has no example of its own.
fn scenarios() -> Vec<Document> {
    let mut documents: Vec<_> =
        TEMPLATES.iter().map(|template| template.document().expect("parses")).collect();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/snippets");
    let names = std::fs::read_dir(folder).expect("there").map(|entry| entry.expect("readable").file_name());
    let mut names: Vec<_> = names.map(|name| name.to_string_lossy().into_owned()).collect();
    names.sort();
    // Fragments are no scenarios, and nobody attaches a control here.
    // Nothing simulated has a control of the kernel.
    let others = [
        "fragment.toml",
        "fragment-sweep.toml",
        "control.toml",
        "control-custom.toml",
        "control-kernel.toml",
    ];
    let examples = names.iter().filter(|name| name.ends_with(".toml") && !others.contains(&name.as_str()));
    documents.extend(examples.map(|name| snippet(name)));
    let plain = |control: &&Entry| !names.contains(&format!("control-{}.toml", control.name));
    documents.extend(ALGORITHMS.iter().filter(plain).map(|control| {
        let mut document = snippet("control.toml");
        document.set(&format!("traffic.0.cc={{ {} = {{}} }}", control.name)).expect("fits");
        document
    }));
    assert!(documents.len() > 50, "{}", documents.len());
    documents
}

#[test]
fn stored_scenarios_have_every_setting_and_are_stored_again_as_they_are() {
    let schema = Scenario::schema();
    let mut missing = BTreeSet::new();
    for document in scenarios() {
        let plan = Plan::new(document).unwrap_or_else(|error| panic!("{error}"));
        let again = Document::parse("again.toml", plan.text.as_str(), "").expect("parses");
        for input in &plan.inputs {
            again.supply(&input.path(), input.content.clone());
        }
        let again = Plan::new(again).unwrap_or_else(|error| panic!("{error}\n{}", plan.text));
        assert_eq!(again.text, plan.text);
        assert_eq!(again.warning_texts(), plan.warning_texts());
        let value: toml::Value = toml::from_str(&plan.text).expect("TOML");
        let mut walk = Walk { types: &schema["$defs"], missing: BTreeSet::new() };
        walk.walk(schema, &serde_json::to_value(value).expect("JSON"), "Scenario");
        missing.append(&mut walk.missing);
    }
    let known: BTreeSet<_> =
        MAY_BE_MISSING.iter().flat_map(|(_, keys)| *keys).map(|key| (*key).to_owned()).collect();
    let unknown: Vec<_> = missing.difference(&known).collect();
    assert!(unknown.is_empty(), "not in stored scenarios: {unknown:?}");
    let (types, root) = (&schema["$defs"], &schema["properties"]);
    for key in known {
        let (of, key) = key.split_once('.').expect("Type.key");
        let there = if of == "Scenario" { root.get(key) } else { types[of]["properties"].get(key) };
        assert!(there.is_some(), "{of} has no {key}");
    }
}

#[test]
fn a_default_that_follows_from_other_settings_is_stored() {
    let stored = |name: &str, overrides: &[&str]| {
        let mut document = snippet(&format!("{name}.toml"));
        overrides
            .iter()
            .for_each(|assignment| document.set(assignment).unwrap_or_else(|error| panic!("{error}")));
        let plan = Plan::new(document).unwrap_or_else(|error| panic!("{error}"));
        toml::from_str::<toml::Value>(&plan.text).expect("TOML")
    };
    let switches = stored("control-dctcp", &["switches={}"]);
    assert_eq!(switches["switches"]["default"]["buffer"]["size"].as_str(), Some("12 MB"));
    let pause = stored("mechanism-pause", &["switches.default.pause={ xoff = \"60 kB\" }"]);
    assert_eq!(pause["switches"]["default"]["pause"]["xon"].as_str(), Some("30 kB"));
    let dcqcn = stored("control-dcqcn", &["traffic.0.cc={ dcqcn = { gain = 0.5 } }"]);
    let dcqcn = &dcqcn["traffic"][0]["cc"]["dcqcn"];
    assert_eq!(dcqcn["gain"].as_float(), Some(0.5));
    assert_eq!((dcqcn["timer"].as_str(), dcqcn["ai_rate"].as_str()), (Some("55 us"), Some("40 Mb/s")));
}
