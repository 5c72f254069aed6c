use narrows::diagnostic::Checked;
use narrows::metrics::METRICS;
use narrows::plan::Plan;
use narrows::reference::{self, Setting, Topic, TopicKind, settings_of, topics_of};
use narrows::results::{ColumnInfo, TABLES};
use narrows::scenario::Scenario;
use narrows::visible::shown_path;
use narrows_sim::topology::NodeKind;
use serde_json::{Value, json};

use super::runs::{document, show_warnings};
use crate::args::{self, Listed};
use crate::{Status, show};

/// Checks a scenario and shows its traffic, round trips, queues and thresholds.
pub(crate) fn check(arguments: &args::Check) -> Checked<Status> {
    let mut document = document(&arguments.scenario, &arguments.input)?;
    document.attach_kernel();
    let plan = Plan::outline(document)?;
    if arguments.json {
        say!("{}", serde_json::to_string_pretty(&plan.overview()).unwrap_or_default());
        return Ok(Status::Done);
    }
    say!("{}", show::headline(&plan, 1));
    say_part!("{}", show::plan::groups(&plan));
    say_part!("{}", show::plan::facts(&plan.facts()));
    say_part!("{}", show::plan::drawings(&plan));
    say!("  at most {:.0} of memory", plan.memory(1));
    if arguments.nodes {
        print_nodes(&plan);
    }
    show_warnings(&plan);
    let kernel = plan
        .traffic
        .groups
        .iter()
        .find(|group| group.transport.control().is_some_and(|cc| cc.kernel().is_some()));
    let by = if kernel.is_some() { ", for narrows live: it has a control of the kernel" } else { "" };
    say!("{} is fine{by}", shown_path(&arguments.scenario));
    Ok(Status::Done)
}

fn print_nodes(plan: &Plan) {
    let topology = &plan.network.topology;
    let kind = |kind: &NodeKind| match kind {
        NodeKind::Host(_) => "host".to_owned(),
        NodeKind::Switch { class, .. } => format!("switch, class {class}"),
    };
    say!("nodes");
    say_part!("{}", show::list(topology.nodes().iter().map(|node| [node.name.clone(), kind(&node.kind)])));
    say!("links");
    let links = (0..topology.links().len()).map(|link| {
        let link = narrows_sim::LinkId::from(link);
        let wire = topology.link(link).wire;
        [topology.link_name(link), format!("{}, {}", wire.rate, wire.delay)]
    });
    say_part!("{}", show::list(links));
}

/// Lists what is built in.
pub(crate) fn list(arguments: &args::List) -> Checked<Status> {
    use TopicKind as K;
    let all = [
        (Listed::Controls, "controls", K::Control, "congestion controls: cc = { NAME = {} }"),
        (
            Listed::Mechanisms,
            "mechanisms",
            K::Mechanism,
            "mechanisms of switches and hosts: narrows explain NAME",
        ),
        (Listed::Transports, "transports", K::Transport, "transports: narrows explain NAME"),
        (
            Listed::Profiles,
            "profiles",
            K::Profile,
            "profiles, the defaults of whole systems: transport.profile = \"NAME\"",
        ),
        (Listed::Sizes, "sizes", K::Sizes, "distributions of flow sizes: sizes = \"NAME\""),
        (Listed::Topologies, "topologies", K::Topology, "topologies: [topology.NAME]"),
        (Listed::Patterns, "patterns", K::Pattern, "traffic patterns: pattern = { NAME = { … } }"),
        (
            Listed::Templates,
            "templates",
            K::Template,
            "templates, scenarios to start from: narrows new --template NAME",
        ),
        (
            Listed::Tables,
            "tables",
            K::Table,
            "tables of results: NAME.parquet; narrows list tables shows their columns",
        ),
        (Listed::Metrics, "metrics", K::Metric, "metrics of the summary: GROUP.NAME"),
        (
            Listed::Activity,
            "activity",
            K::Activity,
            "activity: events that a run lists as counted, or as never happened",
        ),
        (Listed::Codes, "codes", K::Diagnostic, "diagnostics: narrows explain CODE"),
    ];
    let chosen = all.iter().filter(|(listed, ..)| arguments.what.is_none_or(|what| what == *listed));
    if arguments.json {
        let lists = chosen.map(|(_, key, kind, _)| ((*key).to_owned(), json_list(*kind)));
        let lists: serde_json::Map<_, _> = lists.collect();
        say!("{}", serde_json::to_string_pretty(&lists).unwrap_or_default());
        return Ok(Status::Done);
    }
    if arguments.what == Some(Listed::Tables) {
        print_tables();
        return Ok(Status::Done);
    }
    for (number, (.., kind, title)) in chosen.enumerate() {
        if number > 0 {
            say!();
        }
        say!("{title}");
        say_part!("{}", show::list(topics_of(*kind).into_iter().map(row)));
    }
    Ok(Status::Done)
}

fn row(topic: Topic) -> [String; 2] {
    let summary = match topic.kind {
        TopicKind::Control => format!("{} ({})", topic.summary, topic.source),
        _ => topic.summary,
    };
    [topic.name, summary]
}

fn json_list(kind: TopicKind) -> Value {
    match kind {
        TopicKind::Table => json!(*TABLES),
        TopicKind::Metric => json!(*METRICS),
        _ => json!(topics_of(kind)),
    }
}

/// Tables with all their columns.
fn print_tables() {
    for (number, table) in TABLES.iter().enumerate() {
        if number > 0 {
            say!();
        }
        say!("{}: {} ({})", table.name, table.meaning, table.present);
        let kind = |column: &ColumnInfo| {
            let optional = if column.optional { ", may be missing" } else { "" };
            [column.kind.name(), column.unit].map(str::trim).join(" ").trim().to_owned() + optional
        };
        let present = |column: &ColumnInfo| match column.present {
            "" => column.meaning.to_owned(),
            present => format!("{} Only in {present}.", column.meaning),
        };
        let rows = table.columns.iter();
        say_part!(
            "{}",
            show::list(rows.map(|column| [column.name.to_owned(), kind(column), present(column)]))
        );
    }
}

/// Prints the JSON schema of scenarios.
pub(crate) fn schema() -> Checked<Status> {
    say!("{}", serde_json::to_string_pretty(&Scenario::schema_with_off()).unwrap_or_default());
    Ok(Status::Done)
}

/// Explains whatever has this name.
pub(crate) fn explain(arguments: &args::Explain) -> Checked<Status> {
    let name = arguments.name.trim();
    let found = reference::find(name);
    if found.is_empty() {
        return Err(reference::unknown(name).into());
    }
    for (number, topic) in found.iter().enumerate() {
        if number > 0 {
            say!();
        }
        explain_one(topic);
    }
    Ok(Status::Done)
}

fn explain_one(topic: &Topic) {
    if topic.kind == TopicKind::Diagnostic {
        say!("{}  {}\n\n{}", topic.name, topic.summary, topic.about);
        return;
    }
    say!("{}, {}: {}", topic.name, topic.kind.name(), topic.summary);
    if !topic.place.is_empty() {
        say!("where: {}", topic.place);
    }
    if !topic.source.is_empty() {
        say!("source: {}", topic.source);
    }
    for need in &topic.needs {
        say!("- {need}");
    }
    if !topic.about.is_empty() {
        say!("\n{}", topic.about.trim_end());
    }
    for settings in &topic.settings {
        print_settings(settings);
    }
}

/// The settings that a definition of the schema describes; nothing if it has none.
fn print_settings(definition: &str) {
    let row = |Setting { key, default, description, accepts }: Setting| {
        let default = default.map(|default| format!(" = {default}")).unwrap_or_default();
        let accepts = accepts.map(|range| format!(" Accepted: {range}.")).unwrap_or_default();
        [format!("{key}{default}"), description + &accepts]
    };
    if let Some(settings) = settings_of(definition) {
        say!("\n{}", settings.about);
        say_part!("{}", show::list(settings.rows.into_iter().map(row)));
    }
}

/// Prints completions for a shell.
pub(crate) fn completions(arguments: &args::Completions) -> Checked<Status> {
    say_part!("{}", String::from_utf8_lossy(&arguments.shell.script("narrows")));
    Ok(Status::Done)
}
