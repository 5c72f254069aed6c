//! Forms of values, as the schema has them: `{ fixed = "100 kB" }`. Messages show them where something else was found.

use serde_json::Value;

use super::{below, entry, reference_of, shapes};
use crate::diagnostic::{list, nearest};

/// Forms of a choice among names. Where all have settings and a name with settings was found, names alone say it.
pub(crate) fn forms(
    root: &'static Value,
    names: &[&str],
    with_settings: bool,
    found: Option<&str>,
) -> Option<String> {
    let all = forms_of(root, names)?;
    let tables = all.iter().filter(|form| form.starts_with('{')).count();
    if tables == 0 || (tables == all.len() && with_settings) {
        return None;
    }
    let forms: Vec<_> = all.iter().map(String::as_str).collect();
    let near = found.and_then(|found| nearest(found, names.iter().copied()));
    let near = near.and_then(|near| names.iter().zip(&forms).find(|(name, _)| **name == near));
    let near = near.map_or_else(String::new, |(_, form)| {
        let quoted = if form.starts_with('{') { (*form).to_owned() } else { format!("\"{form}\"") };
        format!("did you mean {quoted}? ")
    });
    Some(format!("{near}known: {}", list(&forms)))
}

/// The form of each of these names, if a definition of the schema is the choice among them.
fn forms_of(root: &'static Value, names: &[&str]) -> Option<Vec<String>> {
    let definitions = root["$defs"].as_object()?;
    let choice = definitions.values().find_map(|definition| {
        let variants: Vec<_> = definition["oneOf"].as_array()?.iter().flat_map(variants).collect();
        let is_it =
            variants.len() == names.len() && names.iter().all(|name| variants.iter().any(|of| of.0 == *name));
        is_it.then_some(variants)
    })?;
    let form = |name: &&str| {
        let (_, settings) = choice.iter().find(|of| of.0 == *name)?;
        Some(match settings {
            Some(settings) => format!("{{ {name} = {} }}", example(root, settings, 1)),
            None => (*name).to_owned(),
        })
    };
    names.iter().map(form).collect()
}

/// Names of an alternative, with their settings if they have some.
fn variants(one: &'static Value) -> Vec<(&'static str, Option<&'static Value>)> {
    if let Some(name) = one["const"].as_str() {
        return vec![(name, None)];
    }
    if let Some(names) = one["enum"].as_array() {
        return names.iter().filter_map(Value::as_str).map(|name| (name, None)).collect();
    }
    let properties = one["properties"].as_object().into_iter().flatten();
    properties.map(|(name, settings)| (name.as_str(), Some(settings))).collect()
}

/// A key that is missing in the table at a path, with a value; and what is said of the names that the scenario gives such tables.
pub(crate) fn missing(root: &'static Value, path: &str, key: &str) -> Option<String> {
    let mut places = vec![root];
    let mut names = None;
    for part in path.split('.').filter(|part| !part.is_empty()) {
        let is_named = |place: &&'static Value| {
            shapes(root, place).into_iter().any(|shape| shape["additionalProperties"].is_object())
        };
        names = places.iter().copied().find(is_named);
        places = places.into_iter().flat_map(|place| below(root, place, part)).collect();
    }
    let value = places
        .into_iter()
        .flat_map(|place| shapes(root, place))
        .find_map(|shape| shape["properties"].get(key))?;
    let whole = if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    let about =
        |value: &Value| value["description"].as_str().map(|text| format!("\n{text}")).unwrap_or_default();
    let of_names = names.map(about).unwrap_or_default();
    Some(format!("for example {whole} = {}{of_names}", example(root, value, 3)))
}

/// A value that a place may have, as TOML; `depth` tables deep, with `…` for what is deeper.
fn example(root: &'static Value, value: &'static Value, depth: usize) -> String {
    let text = |value: &Value| serde_json::to_string(value).unwrap_or_default();
    if let Some(example) = value["examples"].get(0) {
        return text(example);
    }
    if let Some(name) = value.get("const").or_else(|| value["enum"].get(0)) {
        return text(name);
    }
    if let Some(name) = reference_of(value) {
        return example(root, &root["$defs"][name], depth);
    }
    let alternatives = ["anyOf", "oneOf"].into_iter().find_map(|several| value[several].as_array());
    if let Some(first) = alternatives.and_then(|all| all.first()) {
        return example(root, first, depth);
    }
    match value["type"].as_str() {
        Some("object") => {
            let required: Vec<_> =
                value["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            let part = |key: &&str| match depth {
                0 => format!("{key} = …"),
                _ => format!("{key} = {}", example(root, &value["properties"][*key], depth - 1)),
            };
            let parts: Vec<_> = required.iter().map(part).collect();
            if parts.is_empty() { "{}".into() } else { format!("{{ {} }}", parts.join(", ")) }
        }
        Some("string") => "\"…\"".into(),
        Some("boolean") => "true".into(),
        Some("array") => match entry(value) {
            Some(entry) if depth > 0 => format!("[{}]", example(root, entry, depth - 1)),
            _ => "[…]".into(),
        },
        _ => "…".into(),
    }
}
