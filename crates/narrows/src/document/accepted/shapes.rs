//! Parts of a JSON schema that describe a value. `root` is the whole schema, which has the definitions.

use serde_json::Value;

/// The name of the definition that a part of the schema refers to.
pub(crate) fn reference_of(part: &Value) -> Option<&str> {
    part["$ref"].as_str()?.strip_prefix("#/$defs/")
}

pub(crate) fn alternatives(value: &'static Value) -> impl Iterator<Item = &'static Value> {
    ["oneOf", "anyOf", "allOf"].into_iter().filter_map(|several| value[several].as_array()).flatten()
}

/// Schemas that a part of a path leads to: a key, or an entry of a table or list whose names the scenario gives.
pub(crate) fn below(root: &'static Value, value: &'static Value, part: &str) -> Vec<&'static Value> {
    shapes(root, value).into_iter().filter_map(|shape| inside(shape, part)).collect()
}

/// The schema of a key of a table, or of an entry of this name.
pub(crate) fn inside(shape: &'static Value, key: &str) -> Option<&'static Value> {
    shape["properties"].get(key).or_else(|| entry(shape))
}

/// Schema of the entries of a table or list besides its keys, if it may have some.
pub(crate) fn entry(shape: &'static Value) -> Option<&'static Value> {
    [&shape["items"], &shape["additionalProperties"]].into_iter().find(|entry| entry.is_object())
}

/// The alternatives of a value, with references resolved.
pub(crate) fn shapes(root: &'static Value, value: &'static Value) -> Vec<&'static Value> {
    let mut shapes = Vec::new();
    let mut left = vec![value];
    while let Some(value) = left.pop() {
        shapes.push(value);
        if let Some(name) = reference_of(value) {
            left.push(&root["$defs"][name]);
        }
        left.extend(alternatives(value));
    }
    shapes
}
