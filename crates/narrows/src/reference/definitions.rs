//! Definitions of the JSON schema, and what refers to them.

use serde_json::Value;

/// The name of the definition that a part of the schema refers to.
pub(super) fn reference_of(part: &Value) -> Option<&str> {
    part["$ref"].as_str()?.strip_prefix("#/$defs/")
}

/// The name of the definition of the settings of a variant.
pub(super) fn definition_of<'a>(schema: &'a Value, of: &str, variant: &str) -> Option<&'a str> {
    let mut variants = schema["$defs"][of]["oneOf"].as_array()?.iter();
    variants.find_map(|one| reference_of(&one["properties"][variant]))
}
