//! Topics to look up: everything that has a name in scenarios, results and messages, with what it means. `narrows list`,
//! `narrows explain` and the guide say the same, because they say what stands here; and what stands here is taken from
//! where the things are defined.

mod definitions;
mod mechanisms;
mod off;
mod paths;
mod ranges;
mod schema;
mod search;
mod settings;
mod text;

use narrows_proto::cc::{Config, Ecn, registry};
use serde::Serialize;
use serde_json::Value;

pub use paths::{NextKey, next_keys};
pub use schema::variants;
pub use search::{suggestion, unknown};
pub use settings::{Setting, Settings, settings_of};

use crate::bounds::Bounds;
use crate::diagnostic::Code;
use crate::mechanism;
use crate::metrics::{METRICS, MetricInfo, MetricSet};
use crate::profile;
use crate::results::{ActivityInfo, ColumnInfo, TABLES, TableInfo, activity_infos};
use crate::scenario::Scenario;

/// Something that can be looked up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Topic {
    /// Its name: `dctcp`, `flows.fct_ps`, `N0005`.
    pub name: String,
    /// Its kind.
    pub kind: TopicKind,
    /// In one line.
    pub summary: String,
    /// Where it stands in a scenario, or which results have it; may be empty.
    pub place: String,
    /// Where it is defined; may be empty.
    pub source: String,
    /// Its needs and its use of marks; may be empty.
    pub needs: Vec<String>,
    /// Its behavior, Markdown; may be empty.
    pub about: String,
    /// Definitions of the JSON schema that describe its settings.
    pub settings: Vec<String>,
}

/// Kind of a topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TopicKind {
    /// A congestion control.
    Control,
    /// Something that switches or hosts do besides.
    Mechanism,
    /// A way to carry data.
    Transport,
    /// Defaults of a whole system.
    Profile,
    /// A network.
    Topology,
    /// Who sends what to whom.
    Pattern,
    /// A distribution of flow sizes.
    Sizes,
    /// A scenario to start from.
    Template,
    /// A table of results.
    Table,
    /// A column of a table.
    Column,
    /// A number of the summary.
    Metric,
    /// Something that is counted.
    Activity,
    /// A diagnostic.
    Diagnostic,
    /// A key of scenarios.
    Setting,
}

impl TopicKind {
    /// As it is printed.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Control => "congestion control",
            Self::Mechanism => "mechanism",
            Self::Transport => "transport",
            Self::Profile => "profile",
            Self::Topology => "topology",
            Self::Pattern => "traffic pattern",
            Self::Sizes => "distribution of flow sizes",
            Self::Template => "template",
            Self::Table => "table",
            Self::Column => "column",
            Self::Metric => "metric",
            Self::Activity => "activity",
            Self::Diagnostic => "diagnostic",
            Self::Setting => "setting",
        }
    }
}

impl Topic {
    fn new(kind: TopicKind, name: impl Into<String>, summary: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            kind,
            summary: summary.into(),
            place: String::new(),
            source: String::new(),
            needs: Vec::new(),
            about: String::new(),
            settings: Vec::new(),
        }
    }
}

/// All topics of a kind, in the order of their definition.
pub fn topics_of(kind: TopicKind) -> Vec<Topic> {
    match kind {
        TopicKind::Control => controls(),
        TopicKind::Mechanism | TopicKind::Transport => mechanisms::topics(kind),
        TopicKind::Profile => profiles(),
        TopicKind::Topology => chosen(kind, "Topology", |name| format!("[topology.{name}]")),
        TopicKind::Pattern => chosen(kind, "Pattern", |name| format!("pattern = {{ {name} = {{ … }} }}")),
        TopicKind::Sizes => {
            let sizes = crate::sizes::BUILT_IN.iter();
            let topic = |name: &str, summary: &str| Topic {
                place: format!("sizes = \"{name}\""),
                ..Topic::new(kind, name, summary)
            };
            sizes.map(|sizes| topic(sizes.name, sizes.summary())).collect()
        }
        TopicKind::Template => {
            let templates = crate::templates::TEMPLATES.iter();
            let topic = |name: &str, summary: &str| Topic {
                place: format!("narrows new NAME --template {name}"),
                ..Topic::new(kind, name, summary)
            };
            templates.map(|template| topic(template.name, template.summary())).collect()
        }
        TopicKind::Table => {
            let topic = |table: &TableInfo| Topic {
                place: table.present.to_owned(),
                about: table.columns.iter().map(column_line).collect(),
                ..Topic::new(kind, table.name, table.meaning)
            };
            TABLES.iter().map(topic).collect()
        }
        TopicKind::Column => columns(),
        TopicKind::Metric => metrics(),
        TopicKind::Activity => {
            let topic = |info: ActivityInfo| Topic {
                place: info.present.to_owned(),
                ..Topic::new(kind, info.name, info.meaning)
            };
            activity_infos().map(topic).collect()
        }
        TopicKind::Diagnostic => {
            let topic = |code: &Code| Topic {
                about: code.explanation().to_owned(),
                ..Topic::new(kind, code.name(), code.title())
            };
            Code::ALL.iter().map(topic).collect()
        }
        TopicKind::Setting => search::settings(),
    }
}

/// Everything but settings, which have their names from where they stand.
pub fn topics() -> Vec<Topic> {
    use TopicKind as K;
    let kinds = [
        K::Control,
        K::Mechanism,
        K::Transport,
        K::Profile,
        K::Topology,
        K::Pattern,
        K::Sizes,
        K::Template,
        K::Table,
        K::Column,
        K::Metric,
        K::Activity,
        K::Diagnostic,
    ];
    kinds.into_iter().flat_map(topics_of).collect()
}

/// All topics of this name, whatever they are: in any case of letters; a metric also with its group before it. Settings only if nothing
/// else has it, also by a path or its end: `wan.delay`, `traffic.web.cc.dctcp.gain`.
pub fn find(name: &str) -> Vec<Topic> {
    let is = |topic: &Topic, name: &str| topic.name.eq_ignore_ascii_case(name);
    let called = |topic: &Topic| is(topic, name) || search::has_acronym(topic, name);
    let mut found: Vec<_> = topics().into_iter().filter(called).collect();
    if found.is_empty() {
        let metric = name.split_once('.').map_or(name, |(_, metric)| metric);
        let plain = ["dc_", "wan_"].iter().find_map(|segment| metric.strip_prefix(segment)).unwrap_or(metric);
        let metrics = topics_of(TopicKind::Metric).into_iter();
        found = metrics.filter(|topic| is(topic, metric) || is(topic, plain)).collect();
    }
    if found.is_empty() {
        found = search::settings_called(name);
    }
    found
}

fn profiles() -> Vec<Topic> {
    let topic = |info: &profile::Info| Topic {
        place: format!("transport.profile = \"{}\"", info.name),
        source: info.source.into(),
        about: info.about(),
        ..Topic::new(TopicKind::Profile, info.name, info.summary)
    };
    let of_links = |info: &profile::LinkProfile| Topic {
        place: format!("paths.NUMBER.profile = \"{}\"", info.name),
        source: info.source.into(),
        about: info.about(),
        ..Topic::new(TopicKind::Profile, info.name, info.summary)
    };
    profile::PROFILES.iter().map(topic).chain(profile::LINK_PROFILES.iter().map(of_links)).collect()
}

fn controls() -> Vec<Topic> {
    let configs = Config::all();
    let topic = |entry: &registry::Entry| {
        let config = configs.iter().find(|config| config.name() == entry.name);
        let settings = definitions_of("CongestionControl", entry.name);
        Topic {
            place: format!("cc = {{ {} = {} }}", entry.name, least(&settings)),
            source: entry.source.to_owned(),
            needs: config.map(needs).unwrap_or_default(),
            about: about(entry),
            settings,
            ..Topic::new(TopicKind::Control, entry.name, entry.summary)
        }
    };
    registry::ALGORITHMS.iter().map(topic).collect()
}

/// Description of a control, and of the values it records of itself.
fn about(entry: &registry::Entry) -> String {
    let mut about = text::plain(entry.about);
    if !entry.inside.is_empty() {
        about.push_str("\n\nIn the table `state` (`record.state`):\n\n");
        for (name, meaning) in entry.inside {
            about.push_str(&format!("- `{name}`: {meaning}\n"));
        }
    }
    about.trim_end().to_owned()
}

/// Settings with those alone that must not be left out: `{}`, `{ end_to_end = … }`; an example of those that need no table.
fn least(settings: &[String]) -> String {
    let mut examples =
        settings.iter().filter_map(|name| Scenario::schema()["$defs"][name]["examples"].get(0));
    if let Some(example) = examples.next() {
        return example.to_string();
    }
    let definitions = settings.iter().map(|name| &Scenario::schema()["$defs"][name]["required"]);
    let required = definitions.filter_map(Value::as_array).flatten().filter_map(Value::as_str);
    let required: Vec<_> = required.map(|setting| format!("{setting} = …")).collect();
    if required.is_empty() { "{}".into() } else { format!("{{ {} }}", required.join(", ")) }
}

/// Use of marks by a control with its default settings, and its needs.
fn needs(config: &Config) -> Vec<String> {
    let ecn = match config.ecn() {
        Ecn::Off => "does not use marks of queues, unless a setting says otherwise",
        Ecn::Classic => "treats a mark like a loss, once per round (RFC 3168)",
        Ecn::Accurate => "is notified of every marked byte",
        Ecn::Counted => "is notified of every marked packet",
        Ecn::Cnp => "is notified of marks by congestion notification packets",
    };
    let more = [
        (config.reads_delay(), "reads delays or rates: its window may fall without a loss or a mark"),
        (config.needs_rdma(), "needs traffic over `rdma`"),
    ];
    let more = more.into_iter().filter(|(is, _)| *is).map(|(_, text)| text);
    let mechanisms = mechanism::all().filter_map(|mechanism| mechanism.needed_by(config));
    std::iter::once(ecn).chain(more).chain(mechanisms).map(str::to_owned).collect()
}

/// The variants of a definition of the schema.
fn chosen(kind: TopicKind, of: &str, place: impl Fn(&str) -> String) -> Vec<Topic> {
    let topic = |[name, summary]: [String; 2]| Topic {
        place: place(&name),
        settings: definitions_of(of, &name),
        ..Topic::new(kind, name, summary)
    };
    variants(of).into_iter().map(topic).collect()
}

/// The definition of the settings of a variant.
fn definitions_of(of: &str, variant: &str) -> Vec<String> {
    definitions::definition_of(Scenario::schema(), of, variant).map(str::to_owned).into_iter().collect()
}

/// Type, unit and whether values may be missing.
fn column_type(column: &ColumnInfo) -> String {
    let unit = if column.unit.is_empty() { String::new() } else { format!(", {}", column.unit) };
    let optional = if column.optional { ", may be missing" } else { "" };
    format!("{}{unit}{optional}", column.kind.name())
}

fn column_line(column: &ColumnInfo) -> String {
    let only =
        if column.present.is_empty() { String::new() } else { format!(" Only in {}.", column.present) };
    format!("- `{}` ({}): {}{only}\n", column.name, column_type(column), column.meaning)
}

fn columns() -> Vec<Topic> {
    let topic = |table: &TableInfo, column: &ColumnInfo| Topic {
        place: match column.present {
            "" => format!("table {}, {}", table.name, table.present),
            present => format!("table {}, {}, only in {present}", table.name, table.present),
        },
        about: format!("Type: {}", column_type(column)),
        ..Topic::new(TopicKind::Column, format!("{}.{}", table.name, column.name), column.meaning)
    };
    TABLES.iter().flat_map(|table| table.columns.iter().map(move |column| topic(table, column))).collect()
}

/// Range of a metric, if more is known than that it is not negative.
fn range(Bounds { least, most }: Bounds) -> String {
    match (least, most) {
        (_, most) if most.is_finite() => format!("From {least} to {most}. "),
        (least, _) if least > 0.0 => format!("At least {least}. "),
        _ => String::new(),
    }
}

fn metrics() -> Vec<Topic> {
    let topic = |set: &MetricSet, info: &MetricInfo| Topic {
        place: format!("after {}; {}", set.before, set.present),
        about: {
            let unit = if info.unit.is_empty() { String::new() } else { format!("Unit: {}\n\n", info.unit) };
            format!("{unit}{}Over {}.", range(info.bounds), info.over.text())
        },
        ..Topic::new(TopicKind::Metric, info.name, info.meaning)
    };
    METRICS.iter().flat_map(|set| set.metrics.iter().map(move |info| topic(set, info))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_topic_has_a_name_and_a_meaning() {
        for topic in topics() {
            assert!(!topic.name.is_empty() && !topic.summary.is_empty(), "{topic:?}");
            assert!(!topic.about.contains("](crate") && !topic.about.contains("[`"), "{}", topic.name);
        }
    }

    #[test]
    fn settings_of_topics_are_definitions_of_the_schema() {
        let schema = Scenario::schema();
        for topic in topics() {
            for settings in &topic.settings {
                assert!(schema["$defs"][settings].is_object(), "{}: {settings}", topic.name);
            }
        }
        let controls = topics_of(TopicKind::Control);
        assert!(controls.iter().all(|control| control.settings.len() == 1 && control.about.len() > 60));
    }

    #[test]
    fn controls_are_chosen_with_what_they_cannot_do_without() {
        let place = |name: &str| find(name)[0].place.clone();
        assert_eq!(place("dctcp"), "cc = { dctcp = {} }");
        assert_eq!(place("annulus"), "cc = { annulus = { end_to_end = … } }");
        assert_eq!(place("custom"), "cc = { custom = { name = … } }");
        assert_eq!(place("kernel"), "cc = { kernel = \"cubic\" }");
    }

    #[test]
    fn names_are_found_in_any_case_and_metrics_with_their_group() {
        assert_eq!(find("n0005")[0].kind, TopicKind::Diagnostic);
        assert_eq!(find("DCTCP")[0].kind, TopicKind::Control);
        assert_eq!(find("web.p99_fct_us")[0].name, "p99_fct_us");
        assert_eq!(find("total.wan_max_utilization")[0].name, "max_utilization");
        assert_eq!(find("web.p99_slowdown")[0].about, "At least 1. Over what starts in the measured time.");
        assert_eq!(find("total.wan_max_utilization")[0].about, "From 0 to 1. Over the measured time.");
        assert_eq!(find("flows").len(), 2, "a table and a metric");
        assert!(find("nothing").is_empty());
    }

    #[test]
    fn every_key_of_the_schema_has_a_description() {
        fn walk(part: &Value, path: &str) {
            for (key, value) in part["properties"].as_object().into_iter().flatten() {
                // The key of a variant is described with the variant.
                let described = value["description"].is_string() || part["description"].is_string();
                assert!(described, "{path}.{key}");
            }
            for variant in part["oneOf"].as_array().into_iter().flatten() {
                walk(variant, path);
            }
        }
        let schema = Scenario::schema();
        for (name, definition) in schema["$defs"].as_object().expect("definitions") {
            walk(definition, name);
        }
    }
}
