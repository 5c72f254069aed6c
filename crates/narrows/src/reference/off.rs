//! The schema with `"off"` wherever a scenario may have it in place of a value.

use serde_json::{Map, Value, json};

use crate::document::accepted::{OFF, is_required, is_text, shapes};
use crate::scenario::Scenario;

/// The name of its definition in the schema.
const DEFINITION: &str = "Off";

impl Scenario {
    /// The schema with `"off"` wherever a scenario may have it in place of a value.
    pub fn schema_with_off() -> Value {
        let mut schema = offered(Self::schema());
        let meaning = "As if the key, or this entry, was not written, and nothing fills it in; false where a setting is true or false.";
        schema["$defs"][DEFINITION] = json!({ "const": OFF, "description": meaning });
        schema
    }
}

/// A part of the schema, with `"off"` among what its values may be.
fn offered(part: &'static Value) -> Value {
    match part {
        Value::Object(map) => {
            let inside =
                |(key, value): (&String, &'static Value)| (key.clone(), offered_at(part, key, value));
            Value::Object(map.iter().map(inside).collect())
        }
        Value::Array(parts) => parts.iter().map(offered).collect(),
        other => other.clone(),
    }
}

/// Value of a keyword of `part`.
fn offered_at(part: &'static Value, keyword: &str, value: &'static Value) -> Value {
    let is_table = || shapes(Scenario::schema(), value).iter().any(|shape| shape["properties"].is_object());
    match (keyword, value.as_object()) {
        ("default" | "examples", _) => value.clone(),
        ("properties", Some(properties)) => {
            let property = |(key, value): (&String, &'static Value)| {
                let may_be = !is_required(part, key) && !is_text(Scenario::schema(), value);
                (key.clone(), if may_be { or_off(offered(value)) } else { offered(value) })
            };
            Value::Object(properties.iter().map(property).collect())
        }
        ("items" | "additionalProperties", Some(_)) if is_table() => or_off(offered(value)),
        _ => offered(value),
    }
}

/// The same value or `"off"`. What is said of the value stays beside both.
fn or_off(value: Value) -> Value {
    let Value::Object(map) = value else { return value };
    let (mut about, of_value): (Map<_, _>, Map<_, _>) =
        map.into_iter().partition(|(key, _)| ["description", "default", "accepts"].contains(&key.as_str()));
    let mut alternatives = match of_value.get("anyOf") {
        Some(Value::Array(alternatives)) => alternatives.clone(),
        _ => vec![Value::Object(of_value)],
    };
    alternatives.push(json!({ "$ref": format!("#/$defs/{DEFINITION}") }));
    about.insert("anyOf".into(), alternatives.into());
    Value::Object(about)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Document;
    use crate::plan::Plan;
    use crate::templates;

    /// The text of the plan of a template with overrides.
    fn plan(template: &str, overrides: &[&str]) -> String {
        let mut document = templates::find(template).expect("built in").document().expect("parses");
        overrides.iter().for_each(|assignment| document.set(assignment).expect("fits"));
        Plan::new(document).unwrap_or_else(|error| panic!("{overrides:?}: {error}")).text
    }

    #[test]
    fn what_is_off_is_as_if_it_was_not_written() {
        let text = plan("isolation", &["switches.default.isolation=off"]);
        assert!(text.contains("pfc") && !text.contains("[switches.default.isolation]"), "{text}");
        let without = plan("two-dc-mix", &["traffic.wan=\"off\""]);
        assert!(without.contains("name = \"dc\"") && !without.contains("name = \"wan\""), "{without}");
        assert!(!plan("isolation", &["record=off"]).contains("[record.queues]"));
        assert_eq!(plan("leaf-spine", &["switches.tor=off"]), {
            let k = "switches.tor={ buffer = { size = \"4 MB\", sharing = { dynamic = { alpha = 1.0 } } } }";
            plan("leaf-spine", &[k, "switches.tor=off"])
        });
    }

    #[test]
    fn a_key_below_what_is_off_begins_anew() {
        let again =
            plan("isolation", &["switches.default.isolation=off", "switches.default.isolation.scheme=dvl"]);
        assert_eq!(again, plan("isolation", &["switches.default.isolation={ scheme = \"dvl\" }"]));
    }

    #[test]
    fn what_must_be_there_cannot_be_off_and_a_name_may_be() {
        let refused = |assignment: &str| {
            let mut document = templates::find("leaf-spine").expect("built in").document().expect("parses");
            document.set(assignment).expect("fits");
            Plan::new(document).err().map(|error| error.to_string())
        };
        assert!(refused("topology=off").is_some_and(|error| error.contains("unknown name \"off\"")));
        assert!(refused("traffic.search.pattern=off").is_some());
        assert!(refused("record.queues.of=off").is_some_and(|error| error.contains("off")));
        assert_eq!(refused("name=off"), None);
        let nothing = refused("traffic.search=off");
        assert!(nothing.is_some_and(|error| error.contains("there is no traffic")));
    }

    #[test]
    fn a_stored_scenario_is_one_though_something_is_off() {
        let stored = plan("dumbbell", &[]);
        let mut again = Document::parse("stored", stored.as_str(), "").expect("parses");
        again.set("expect=off").expect("fits");
        assert_eq!(Plan::new(again).expect("fits").text, stored);
    }

    #[test]
    fn the_schema_says_where_off_may_stand() {
        let schema = Scenario::schema_with_off();
        let switch = &schema["$defs"]["Switch"]["properties"];
        let off = json!({ "$ref": "#/$defs/Off" });
        assert_eq!(switch["pfc"]["anyOf"][2], off);
        assert_eq!(switch["latency"]["anyOf"][1], off);
        assert_eq!(switch["buffer"]["anyOf"], Value::Null);
        assert_eq!(switch["marking"]["anyOf"], Value::Null, "it has a value of this name");
        assert_eq!(schema["properties"]["traffic"]["anyOf"][0]["items"]["anyOf"][1], off);
        assert_eq!(schema["properties"]["switches"]["anyOf"][0]["additionalProperties"]["anyOf"][1], off);
    }

    /// The first mistake of a template with an override.
    #[track_caller]
    fn help(assignment: &str) -> String {
        let mut document = templates::find("leaf-spine").expect("built in").document().expect("parses");
        document.set(assignment).expect("fits");
        let error = Plan::new(document).expect_err("refused");
        error.0[0].help.clone().unwrap_or_else(|| panic!("no help: {error}"))
    }

    #[test]
    fn what_is_no_choice_is_shown_the_forms_of_each() {
        let sizes = help("traffic.search.pattern.poisson.sizes=webserch");
        assert!(sizes.starts_with("did you mean \"websearch\"? known: websearch, "), "{sizes}");
        assert!(sizes.ends_with("{ constant = \"9 MB\" }, { file = \"…\" }"), "{sizes}");
        let xoff = help("switches.tor.pfc.xoff=\"5 kB\"");
        assert_eq!(xoff, "known: { alpha = … }, { fixed = \"9 MB\" }");
        assert!(
            help("traffic.search.cc=dctpc")
                .starts_with("did you mean { dctcp = {} }? known: { reno = {} }, ")
        );
        assert!(help("traffic.search.cc=dctcp").starts_with("known: { reno = {} }, "));
        let named = help("traffic.search.cc={ dctpc = {} }");
        assert!(named.starts_with("did you mean \"dctcp\"? known: reno, "), "{named}");
    }

    #[test]
    fn a_missing_key_is_shown_where_it_belongs_with_a_value() {
        let buffer = help("switches.spine.latency=\"1 us\"");
        let expected = "for example switches.spine.buffer = { size = \"9 MB\" }\nSettings of switches by class (`tor`, `spine`, …); \
                        `default` for classes without settings of their own.";
        assert_eq!(buffer, expected);
        assert_eq!(help("stop={}"), "for example stop.after = \"5 ms\"");
        assert_eq!(
            help("switches.default={}").lines().next(),
            Some("for example switches.default.buffer = { size = \"9 MB\" }")
        );
        assert_eq!(
            help("traffic.search={ name = \"x\" }"),
            "for example traffic.x.pattern = { poisson = { of = \"host_links\", sizes = \"websearch\" } }"
        );
    }
}
