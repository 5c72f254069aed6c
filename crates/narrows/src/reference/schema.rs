//! The JSON schema of scenarios.

use std::sync::LazyLock;

use serde_json::Value;

use super::{ranges, text};
use crate::scenario::Scenario;

impl Scenario {
    /// The JSON schema of scenarios. Settings whose range is checked say so under the key `accepts`.
    pub fn schema() -> &'static Value {
        static SCHEMA: LazyLock<Value> =
            LazyLock::new(|| annotated(schemars::schema_for!(Scenario).to_value()));
        &SCHEMA
    }
}

/// The variants of a type of the schema ("Topology", "Pattern"), each with what it is.
pub fn variants(of: &str) -> Vec<[String; 2]> {
    let schema = Scenario::schema();
    let variants = schema["$defs"][of]["oneOf"].as_array().cloned().unwrap_or_default();
    let name = |variant: &Value| variant["required"][0].as_str().map(str::to_owned);
    let about = |variant: &Value| variant["description"].as_str().unwrap_or_default().to_owned();
    variants.iter().filter_map(|variant| Some([name(variant)?, about(variant)])).collect()
}

/// The schema with what doc comments cannot say: ranges of settings under `accepts`; and descriptions without links to code.
fn annotated(mut schema: Value) -> Value {
    let ranges = ranges::ranges(&schema);
    for (definition, settings) in ranges {
        for (setting, accepted) in settings {
            schema["$defs"][&definition]["properties"][&setting]["accepts"] = accepted.into();
        }
    }
    describe(&mut schema);
    schema
}

fn describe(part: &mut Value) {
    match part {
        Value::Object(map) => {
            for (key, value) in map {
                match value {
                    Value::String(description) if key == "description" => {
                        *description = text::plain(description);
                    }
                    other => describe(other),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(describe),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_tells_what_can_be_chosen() {
        assert_eq!(variants("Topology")[0], ["dumbbell", "Senders and receivers around one bottleneck."]);
        assert_eq!(variants("Pattern").len(), 13);
    }
}
