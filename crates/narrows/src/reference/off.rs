//! `"off"` in place of what may be left out: a key that is not required, a table of a list, or an entry of a table whose names the
//! scenario gives. It means that nothing was written there. Names and other texts may be "off" as any other.

use serde_json::{Map, Value, json};
use serde_spanned::Spanned;
use toml::de::{DeTable, DeValue};

use super::paths::{Entries, entries, shapes};
use crate::document::OFF;
use crate::scenario::Scenario;

/// The name of its definition in the schema.
const DEFINITION: &str = "Off";

impl Scenario {
    /// The schema with `"off"` wherever a scenario may have it in place of a value.
    pub fn schema_with_off() -> Value {
        let mut schema = offered(Self::schema());
        let meaning = "As if the key, or this entry, was not written.";
        schema["$defs"][DEFINITION] = json!({ "const": OFF, "description": meaning });
        schema
    }
}

/// Takes what is `"off"` out of a scenario.
pub(super) fn leave_out(root: &mut DeTable<'_>) {
    leave_out_of_table(root, &shapes(Scenario::schema()));
}

fn leave_out_of_table(table: &mut DeTable<'_>, shapes_of_it: &[&'static Value]) {
    let off: Vec<_> = table
        .iter()
        .filter(|(key, value)| is_off(value) && may_be_off(shapes_of_it, key.get_ref()))
        .map(|(key, _)| key.get_ref().clone())
        .collect();
    for key in off {
        table.remove(key.as_ref());
    }
    for (key, value) in table.iter_mut() {
        let key = key.get_ref().as_ref();
        let inside = |shape: &&'static Value| match (shape["properties"].get(key), entries(shape)) {
            (Some(value), _) | (None, Entries::Of(value)) => Some(value),
            (None, Entries::None) => None,
        };
        leave_out_of_value(value.get_mut(), shapes_of_it.iter().filter_map(inside));
    }
}

fn leave_out_of_value(value: &mut DeValue<'_>, schemas: impl Iterator<Item = &'static Value>) {
    let all = || schemas.flat_map(shapes).collect::<Vec<_>>();
    match value {
        DeValue::Table(table) => leave_out_of_table(table, &all()),
        DeValue::Array(array) => {
            let elements: Vec<_> = all().into_iter().filter_map(entry).flat_map(shapes).collect();
            let has_tables = elements.iter().any(|shape| shape["properties"].is_object());
            if has_tables && array.iter().any(is_off) {
                *array = array.iter().filter(|element| !is_off(element)).cloned().collect();
            }
            for element in array.iter_mut() {
                if let DeValue::Table(table) = element.get_mut() {
                    leave_out_of_table(table, &elements);
                }
            }
        }
        _ => {}
    }
}

fn is_off(value: &Spanned<DeValue<'_>>) -> bool {
    value.get_ref().as_str() == Some(OFF)
}

fn entry(shape: &'static Value) -> Option<&'static Value> {
    match entries(shape) {
        Entries::Of(entry) => Some(entry),
        Entries::None => None,
    }
}

/// Whether a table of one of these shapes may have `"off"` at a key, where it is no value of its own.
fn may_be_off(shapes_of_it: &[&'static Value], key: &str) -> bool {
    let mut with_it = shapes_of_it.iter().filter(|shape| shape["properties"].get(key).is_some()).peekable();
    if with_it.peek().is_some() {
        return with_it.all(|shape| !is_required(shape, key) && !is_text(&shape["properties"][key]));
    }
    shapes_of_it.iter().filter_map(|shape| entry(shape)).any(|entry| !is_text(entry))
}

fn is_required(shape: &Value, key: &str) -> bool {
    shape["required"].as_array().is_some_and(|required| required.iter().any(|other| other == key))
}

/// Whether `"off"` is a value of its own here, or any text is.
fn is_text(value: &'static Value) -> bool {
    let takes = |shape: &&'static Value| {
        let is_string = shape["type"] == "string"
            || shape["type"].as_array().is_some_and(|types| types.iter().any(|one| one == "string"));
        let is_any = is_string && ["const", "enum", "pattern"].iter().all(|key| shape.get(key).is_none());
        let is_choice = shape["enum"].as_array().is_some_and(|all| all.iter().any(|one| one == OFF));
        is_any || is_choice || shape["const"] == OFF
    };
    shapes(value).iter().any(takes)
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

/// What stands at a keyword of `part`.
fn offered_at(part: &'static Value, keyword: &str, value: &'static Value) -> Value {
    let is_table = || shapes(value).iter().any(|shape| shape["properties"].is_object());
    match (keyword, value.as_object()) {
        ("default" | "examples", _) => value.clone(),
        ("properties", Some(properties)) => {
            let property = |(key, value): (&String, &'static Value)| {
                let may_be = !is_required(part, key) && !is_text(value);
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
}
