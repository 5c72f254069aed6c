//! Names that are looked for: settings, and what was perhaps meant.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{Topic, TopicKind, paths, topics};
use crate::diagnostic::{Code, Diagnostic, meant};
use crate::scenario::Scenario;

/// A word that is part of more names than this brings no more of them.
const MOST_NAMES: usize = 8;
/// Shorter words are part of too many names.
const SHORTEST_WORD: usize = 3;

/// Settings, in the order of the schema.
pub(super) fn settings() -> Vec<Topic> {
    settings_with_owners().into_iter().map(|(_, topic)| topic).collect()
}

/// Settings of this name; of a path, those that its last key may mean.
pub(super) fn settings_called(path: &str) -> Vec<Topic> {
    let key = path.rsplit('.').next().unwrap_or(path);
    let owners = paths::owners(path);
    let meant = |owner: &str| key == path || owners.contains(&owner);
    let all = settings_with_owners().into_iter();
    all.filter(|(owner, topic)| topic.name.eq_ignore_ascii_case(key) && meant(owner))
        .map(|(_, topic)| topic)
        .collect()
}

/// The error for a name that nothing has.
pub fn unknown(name: &str) -> Diagnostic {
    let error = Diagnostic::error(Code::UnknownName, format!("nothing has the name \"{name}\""));
    let all = "`narrows list` shows what has one, `narrows schema` all settings";
    error.help(suggestion(name).map_or(all.to_owned(), |near| format!("{near}\n{all}")))
}

/// Settings with the definitions of the schema that have them; empty for those of the scenario itself.
fn settings_with_owners() -> Vec<(&'static str, Topic)> {
    let schema = Scenario::schema();
    let mut users: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for topic in topics() {
        for definition in &topic.settings {
            users.entry(definition.clone()).or_default().push(topic.name.clone());
        }
    }
    let of = |owner: &'static str, place: String, definition: &Value| {
        let properties = definition["properties"].as_object().into_iter().flatten();
        properties.map(|(key, value)| (owner, setting(key, value, place.clone()))).collect::<Vec<_>>()
    };
    let places = paths::places();
    let definitions = schema["$defs"].as_object().into_iter().flatten();
    let inner = definitions.flat_map(|(name, definition)| match users.get(name) {
        Some(users) => of(name, format!("settings of {}", users.join(", ")), definition),
        None => of(name, format!("settings of {}", places.get(&**name).unwrap_or(name)), definition),
    });
    of("", "a scenario".into(), schema).into_iter().chain(inner).collect()
}

fn setting(key: &str, value: &Value, place: String) -> Topic {
    let default = value.get("default").filter(|default| !default.is_object() && !default.is_null());
    let default = default.map(|default| format!("Default: {default}\n"));
    let accepted = value["accepts"].as_str().map(|range| format!("Accepted: {range}\n"));
    let summary = value["description"].as_str().unwrap_or_default().replace('\n', " ");
    let about = default.into_iter().chain(accepted).collect();
    Topic { place, about, ..Topic::new(TopicKind::Setting, key, summary) }
}

/// Whether this is an acronym that the summary of a mechanism gives as another name of it: DVL, 802.1Qcz.
pub(super) fn has_acronym(topic: &Topic, name: &str) -> bool {
    let is_acronym = |word: &&str| word.chars().skip(1).any(char::is_uppercase);
    let mut words = topic.summary.split(|c: char| !c.is_alphanumeric() && c != '.').filter(is_acronym);
    topic.kind == TopicKind::Mechanism && words.any(|word| word.eq_ignore_ascii_case(name))
}

/// Suggestion for a name that nothing has: names that it is a part of, the name that it is most like, or what it is
/// mentioned with. None if nothing is near.
pub fn suggestion(name: &str) -> Option<String> {
    let wanted = name.to_lowercase();
    let all: Vec<_> = topics().into_iter().chain(settings()).collect();
    let names_of = |is: &dyn Fn(&Topic) -> bool| {
        let names: BTreeSet<_> =
            all.iter().filter(|topic| is(topic)).map(|topic| topic.name.as_str()).collect();
        names.into_iter().collect::<Vec<_>>()
    };
    let is_word = wanted.chars().count() >= SHORTEST_WORD;
    let parts = names_of(&|topic| is_word && topic.name.to_lowercase().contains(&wanted));
    if !parts.is_empty() {
        return Some(format!("names with \"{name}\": {}", list(&parts)));
    }
    if let Some(meant) = meant(&wanted, all.iter().map(|topic| topic.name.as_str())) {
        return Some(format!("did you mean \"{meant}\"?"));
    }
    let words: Vec<_> = words(&wanted).filter(|word| word.chars().count() >= SHORTEST_WORD).collect();
    let mentions = |topic: &Topic| {
        let text = format!("{} {}", topic.name, topic.summary).to_lowercase();
        words.iter().all(|wanted| self::words(&text).any(|word| is_form(word, wanted)))
    };
    let mentioned = names_of(&|topic| !words.is_empty() && mentions(topic));
    (!mentioned.is_empty()).then(|| format!("it is mentioned with {}", list(&mentioned)))
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty())
}

/// Whether two words are forms of one: `threshold` and `thresholds`, `mark` and `marking`.
fn is_form(word: &str, wanted: &str) -> bool {
    let (short, long) = if word.len() < wanted.len() { (word, wanted) } else { (wanted, word) };
    let end = long.strip_prefix(short).or_else(|| long.strip_prefix(short.strip_suffix('e')?));
    end.is_some_and(|end| ["", "s", "es", "ed", "ing"].contains(&end))
}

fn list(names: &[&str]) -> String {
    let shown = names[..names.len().min(MOST_NAMES)].join(", ");
    let more = names.len().saturating_sub(MOST_NAMES);
    if more > 0 { format!("{shown}, … ({more} more)") } else { shown }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_finds_the_names_it_is_part_of() {
        let found = suggestion("increase").expect("settings have it in their names");
        assert!(found.starts_with("names with \"increase\": ") && !found.contains("incast"), "{found}");
    }

    #[test]
    fn an_acronym_finds_the_mechanism_beside_what_has_the_name() {
        let kinds =
            |name: &str| super::super::find(name).into_iter().map(|topic| topic.kind).collect::<Vec<_>>();
        assert_eq!(kinds("edvl"), [TopicKind::Mechanism]);
        assert_eq!(kinds("802.1qcz"), [TopicKind::Mechanism]);
        assert!(kinds("dvl").contains(&TopicKind::Mechanism) && kinds("dvl").len() == 2);
        assert!(kinds("congested").is_empty());
    }

    #[test]
    fn a_slip_of_the_keyboard_finds_the_name() {
        assert_eq!(suggestion("dctpc").as_deref(), Some("did you mean \"dctcp\"?"));
        assert_eq!(suggestion("gemni").as_deref(), Some("did you mean \"gemini\"?"));
    }

    #[test]
    fn words_find_what_is_described_with_them() {
        let found = suggestion("neighbor room").expect("a switch without room stops them");
        assert!(found.starts_with("it is mentioned with ") && found.contains("pause"), "{found}");
    }

    #[test]
    fn a_path_means_the_setting_of_what_it_leads_to() {
        let places =
            |path: &str| super::super::find(path).into_iter().map(|topic| topic.place).collect::<Vec<_>>();
        assert_eq!(places("wan.delay"), ["settings of topology.cross_dc.wan"]);
        assert_eq!(places("traffic.web.cc.dctcp.gain"), ["settings of dctcp"]);
        assert!(places("delay").len() > 3 && places("zzz.delay").is_empty());
    }

    #[test]
    fn what_is_far_from_everything_suggests_nothing() {
        assert_eq!(suggestion("zzzzz"), None);
        assert_eq!(suggestion("q"), None);
    }

    #[test]
    fn settings_are_found_by_their_names() {
        let found = super::super::find("ack_every");
        assert!(!found.is_empty() && found.iter().all(|topic| topic.kind == TopicKind::Setting), "{found:?}");
        assert!(found.iter().any(|topic| topic.place == "settings of stream"), "{found:?}");
    }
}
