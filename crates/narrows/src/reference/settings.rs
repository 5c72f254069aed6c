//! Settings of things, as the schema describes them.

use serde::Serialize;
use serde_json::Value;

use crate::scenario::Scenario;

/// Settings that stand together in a table of a scenario.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Settings {
    /// Their owner, and its purpose.
    pub about: String,
    /// One for each key.
    pub rows: Vec<Setting>,
}

/// A key and its value.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Setting {
    /// The key.
    pub key: String,
    /// Its value if it is left out, if that is one value.
    pub default: Option<Value>,
    /// Its meaning.
    pub description: String,
    /// The range of its values, if it has one.
    pub accepts: Option<String>,
}

/// The settings that a definition of the schema describes; none if it has none.
pub fn settings_of(definition: &str) -> Option<Settings> {
    let definition = &Scenario::schema()["$defs"][definition];
    let text = |value: &Value| value.as_str().map(|text| text.replace('\n', " "));
    let row = |(key, value): (&String, &Value)| Setting {
        key: key.clone(),
        default: value.get("default").filter(|default| !default.is_object() && !default.is_null()).cloned(),
        description: text(&value["description"]).unwrap_or_default(),
        accepts: value["accepts"].as_str().map(str::to_owned),
    };
    let rows = definition["properties"].as_object()?.iter().map(row).collect();
    Some(Settings { about: text(&definition["description"]).unwrap_or("settings".into()), rows })
}
