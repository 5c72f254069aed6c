//! Everything that is built in, and its meaning. It never changes, so it is made when the page is built and stands beside the code of the
//! engine.
//!
//! The code that makes it (the schema, topics, papers) is a fifth of all, and is not part of the module.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use narrows::ENGINE;
use narrows::diagnostic::Source;
use narrows::metrics::METRICS;
use narrows::reference::{self, Topic, TopicKind, settings_of, topics_of};
use narrows::repro::{self, Experiment};
use narrows::results::TABLES;
use narrows::scenario::Scenario;
use narrows::templates::TEMPLATES;
use narrows_formats::import::{Imported, hpcc, htsim};
use serde_json::{Map, Value, json};

use crate::check;

/// Lists of the catalog besides controls and templates.
const LISTS: [(&str, TopicKind); 8] = [
    ("mechanisms", TopicKind::Mechanism),
    ("transports", TopicKind::Transport),
    ("profiles", TopicKind::Profile),
    ("sizes", TopicKind::Sizes),
    ("topologies", TopicKind::Topology),
    ("patterns", TopicKind::Pattern),
    ("activity", TopicKind::Activity),
    ("codes", TopicKind::Diagnostic),
];

fn catalog() -> Value {
    let brief = |topic: Topic| {
        let Topic { name, kind, summary, place, source, needs, settings, .. } = topic;
        json!({
            "name": name, "kind": kind, "summary": summary, "place": place, "source": source, "needs": needs,
            "settings": settings,
        })
    };
    let list = |(key, kind): (&str, TopicKind)| {
        (key.to_owned(), topics_of(kind).into_iter().map(brief).collect::<Value>())
    };
    let mut lists: Map<_, _> = LISTS.into_iter().map(list).collect();
    lists.insert("tables".into(), json!(*TABLES));
    lists.insert("metrics".into(), json!(*METRICS));
    let control = |topic: Topic| {
        let toml = format!("cc = {{ {} = {{}} }}", topic.name);
        json!({ "name": topic.name, "summary": topic.summary, "source": topic.source, "needs": topic.needs, "toml": toml })
    };
    let template = |template: &narrows::templates::Template| json!({ "name": template.name, "summary": template.summary(), "text": template.text, "sets": [], "files": {} });
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "engine": ENGINE,
        "templates": TEMPLATES.iter().map(template).collect::<Vec<_>>(),
        "examples": examples(),
        "papers": repro::papers().map(|paper| paper_entry(&paper)).collect::<Vec<_>>(),
        "controls": topics_of(TopicKind::Control).into_iter().map(control).collect::<Vec<_>>(),
        "lists": lists,
    })
}

/// Scenarios made of files of other tools.
fn examples() -> Value {
    let source = |name: &str, text: &str| Arc::new(Source { name: name.to_owned(), text: text.to_owned() });
    let texts = hpcc::Texts {
        topology: source("topology.txt", include_str!("../../../examples/ns-3/topology.txt")),
        flows: Some(source("flow.txt", include_str!("../../../examples/ns-3/flow.txt"))),
        config: Some(source("config.txt", include_str!("../../../examples/ns-3/config.txt"))),
        buffer_unit: hpcc::BufferUnit::Mib,
    };
    let matrix = source("ring.cm", include_str!("../../../examples/htsim/ring.cm"));
    let hpcc = hpcc::convert(&texts, "ns-3").map(|(imported, _)| imported);
    let htsim = htsim::convert(&matrix, None, &htsim::Settings::default(), "htsim");
    let example = |name: &str, summary: &str, imported: Imported| {
        let files: Map<_, _> = imported.files.into_iter().map(|(name, text)| (name, json!(text))).collect();
        json!({ "name": name, "summary": summary, "text": imported.scenario, "sets": [], "files": files })
    };
    let made = [
        hpcc.map(|made| example("ns-3", "An example of HPCC's simulator, imported.", made)),
        htsim.map(|made| example("htsim", "A ring of connections of htsim, imported.", made)),
    ];
    made.into_iter().flatten().collect()
}

/// A paper with one experiment for each of its scenarios: the first of those that a page can run.
fn paper_entry(paper: &repro::Paper) -> Value {
    let mut first: Vec<&Experiment> = Vec::new();
    for experiment in &paper.experiments {
        let is_known = first.iter().any(|known| Arc::ptr_eq(&known.scenario, &experiment.scenario));
        if !is_known && check::runs(&experiment.scenario, &experiment.overrides) {
            first.push(experiment);
        }
    }
    let scenario = |experiment: &&Experiment| {
        let summary = experiment.scenario.lines().next().unwrap_or_default().trim_start_matches("# ");
        json!({
            "name": experiment.name, "summary": summary, "text": &*experiment.scenario, "sets": experiment.overrides,
            "files": {},
        })
    };
    json!({
        "name": paper.name, "title": paper.title, "source": paper.source,
        "scenarios": first.iter().map(scenario).collect::<Vec<_>>(),
    })
}

/// All topics, and for each name, in small letters, the numbers of those that it may mean.
fn topics() -> [Value; 2] {
    let all: Vec<Topic> = reference::topics().into_iter().chain(topics_of(TopicKind::Setting)).collect();
    let words = all.iter().flat_map(|topic| topic.summary.split(|c: char| !c.is_alphanumeric() && c != '.'));
    let acronyms = words.filter(|word| word.chars().skip(1).any(char::is_uppercase));
    let names: BTreeSet<_> =
        all.iter().map(|topic| &*topic.name).chain(acronyms).map(str::to_lowercase).collect();
    let place = |topic: &Topic| all.iter().position(|other| other == topic);
    let meant = |name: &String| reference::find(name).iter().filter_map(place).collect::<Vec<_>>();
    let names: BTreeMap<_, _> =
        names.iter().map(|name| (name, meant(name))).filter(|(_, meant)| !meant.is_empty()).collect();
    let topic = |topic: &Topic| {
        let settings: Vec<_> =
            topic.settings.iter().filter_map(|definition| settings_of(definition)).collect();
        let mut value = json!(topic);
        value["kind_name"] = json!(topic.kind.name());
        value["settings"] = json!(settings);
        value
    };
    [all.iter().map(topic).collect(), json!(names)]
}

/// Everything that the page knows without the engine: the catalog, the schema of scenarios, topics to look up.
pub fn library() -> Value {
    let [topics, names] = topics();
    json!({ "catalog": catalog(), "schema": Scenario::schema(), "topics": topics, "names": names })
}

/// Shorter texts are not worth their place.
const WORTH: usize = 20;
/// Stands before the place of a text.
const MARK: char = '@';

/// Texts of a value that stand in it several times, and the value with their places instead. What compresses it does not look back as
/// far as from one to the next.
pub fn folded(value: &Value) -> Value {
    let mut times = BTreeMap::new();
    count(value, &mut times);
    let is_shared =
        |(text, times): &(&str, usize)| *times > 1 && text.len() >= WORTH || text.starts_with(MARK);
    let shared: Vec<_> = times.into_iter().filter(is_shared).map(|(text, _)| text).collect();
    json!([shared, replaced(value, &shared)])
}

fn count<'a>(value: &'a Value, times: &mut BTreeMap<&'a str, usize>) {
    match value {
        Value::String(text) => *times.entry(text).or_default() += 1,
        Value::Array(values) => values.iter().for_each(|value| count(value, times)),
        Value::Object(values) => values.values().for_each(|value| count(value, times)),
        _ => {}
    }
}

/// The value with places in `shared`, which is sorted.
fn replaced(value: &Value, shared: &[&str]) -> Value {
    match value {
        Value::String(text) => match shared.binary_search(&text.as_str()) {
            Ok(place) => json!(format!("{MARK}{place}")),
            Err(_) => value.clone(),
        },
        Value::Array(values) => values.iter().map(|value| replaced(value, shared)).collect(),
        Value::Object(values) => {
            values.iter().map(|(key, value)| (key.clone(), replaced(value, shared))).collect()
        }
        _ => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_stand_several_times_stand_once_and_short_ones_stay() {
        let long = "a text of some length";
        let value = json!({ "a": [long, "short", 1, null], "b": { "c": long, "d": "short", "e": "@0" } });
        assert_eq!(
            folded(&value),
            json!([["@0", long], { "a": ["@1", "short", 1, null], "b": { "c": "@1", "d": "short", "e": "@0" } }])
        );
    }
}
