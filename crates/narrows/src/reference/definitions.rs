//! Definitions of the JSON schema, and what refers to them.

use serde_json::Value;

use crate::document::accepted::reference_of;

/// The name of the definition of the settings of a variant.
pub(super) fn definition_of<'a>(schema: &'a Value, of: &str, variant: &str) -> Option<&'a str> {
    let mut variants = schema["$defs"][of]["oneOf"].as_array()?.iter();
    variants.find_map(|one| reference_of(&one["properties"][variant]))
}
