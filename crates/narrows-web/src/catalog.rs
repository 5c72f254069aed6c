//! What is built in, and what it means.

use std::sync::Arc;

use narrows::diagnostic::Rejection;
use narrows::metrics::METRICS;
use narrows::reference::{self, Topic, TopicKind, settings_of, topics_of};
use narrows::repro::{self, Experiment};
use narrows::results::TABLES;
use narrows::scenario::Scenario;
use narrows::templates::TEMPLATES;
use narrows::{ENGINE, report};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::engine::{Answered, Question, Refused};

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

pub(crate) fn catalog() -> Value {
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
        "papers": repro::papers().map(|paper| paper_entry(&paper)).collect::<Vec<_>>(),
        "controls": topics_of(TopicKind::Control).into_iter().map(control).collect::<Vec<_>>(),
        "lists": lists,
    })
}

/// A paper with one experiment for each of its scenarios, the first.
fn paper_entry(paper: &repro::Paper) -> Value {
    let mut first: Vec<&Experiment> = Vec::new();
    for experiment in &paper.experiments {
        if !first.iter().any(|known| Arc::ptr_eq(&known.scenario, &experiment.scenario)) {
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

pub(crate) fn schema() -> Value {
    Scenario::schema().clone()
}

#[derive(Debug, Deserialize)]
struct Explain {
    name: String,
}

pub(crate) fn explain(question: &Question) -> Answered {
    let Explain { name } = question.read()?;
    let found = reference::find(name.trim());
    if found.is_empty() {
        return Err(Refused::Input(Rejection::from(reference::unknown(name.trim()))));
    }
    let topic = |topic: Topic| {
        let settings: Vec<_> =
            topic.settings.iter().filter_map(|definition| settings_of(definition)).collect();
        let mut value = json!(topic);
        value["kind_name"] = json!(topic.kind.name());
        value["settings"] = json!(settings);
        value
    };
    Ok(found.into_iter().map(topic).collect::<Value>().into())
}

/// Files that the page is built of, besides the engine.
pub(crate) fn assets() -> Value {
    json!({ "report.js": report::module(), "report.css": report::styles() })
}
