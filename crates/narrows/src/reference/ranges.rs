//! Which values settings accept, found by asking: the checks of the settings are tried with values far outside, and name the range.

use std::collections::BTreeMap;

use narrows_proto::cc::{Config, OutOfRange};
use narrows_proto::{datagram, rack, rdma, reaction, stream};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

/// Values that hardly any setting accepts.
fn outside() -> [Value; 14] {
    let texts = ["0 s", "1 ps", "200000 h", "0 B", "1 B", "8000000 TB", "0 b/s", "1 b/s", "1000000 Tb/s"];
    let numbers = [json!(-1e300), json!(1e300), json!(0), json!(u32::MAX), json!(u64::MAX)];
    let mut values = numbers.into_iter().chain(texts.map(Value::from));
    std::array::from_fn(|_| values.next().unwrap_or_default())
}

/// Accepted ranges by the name of the schema's definition and of the setting: `["Dctcp"]["gain"]` is "above 0, at most 1".
pub(crate) fn ranges(schema: &Value) -> BTreeMap<String, BTreeMap<String, &'static str>> {
    let mut all = BTreeMap::new();
    for (of, wrapped) in [("CongestionControl", true), ("Reaction", false)] {
        for variant in schema["$defs"][of]["oneOf"].as_array().into_iter().flatten() {
            let Some(name) = variant["required"][0].as_str() else { continue };
            let Some(definition) = definition(&variant["properties"][name]) else { continue };
            let found = probe(schema, definition, |settings| {
                let value = json!({ name: settings });
                if wrapped {
                    refused(value, Config::check)
                } else {
                    refused(value, |config: &reaction::Config| config.check(None))
                }
            });
            all.insert(definition.to_owned(), found);
        }
    }
    let near_source = |settings: Map<String, Value>| {
        let value = json!({ "annulus": { "end_to_end": { "reno": {} }, "near_source": settings } });
        refused(value, Config::check)
    };
    all.insert("NearSource".to_owned(), probe(schema, "NearSource", near_source));
    let mut add = |name: &str, check: fn(Value) -> Option<OutOfRange>| {
        all.insert(name.to_owned(), probe(schema, name, |settings| check(Value::Object(settings))));
    };
    add("Stream", |value| refused(value, stream::Params::check));
    add("Rdma", |value| refused(value, rdma::Params::check));
    add("Datagram", |value| refused(value, datagram::Params::check));
    add("JumboFlow", |value| refused(value, rack::jumbo::Params::check));
    add("RackReceiver", |value| refused(value, rack::receiver::Params::check));
    all
}

/// The definition that a part of a schema refers to.
fn definition(part: &Value) -> Option<&str> {
    part["$ref"].as_str()?.strip_prefix("#/$defs/")
}

/// What a check says to settings; nothing if they are accepted or cannot be read at all.
fn refused<T: DeserializeOwned>(
    settings: Value,
    check: impl Fn(&T) -> Result<(), OutOfRange>,
) -> Option<OutOfRange> {
    check(&serde_json::from_value(settings).ok()?).err()
}

/// The ranges of all settings of a definition that are checked by themselves.
fn probe(
    schema: &Value,
    name: &str,
    check: impl Fn(Map<String, Value>) -> Option<OutOfRange>,
) -> BTreeMap<String, &'static str> {
    let settings = schema["$defs"][name]["properties"].as_object();
    let range = |setting: &String| {
        let refusal = |value| check(Map::from_iter([(setting.clone(), value)]));
        let mut refusals = outside().into_iter().filter_map(refusal);
        let own = refusals.find(|refusal| refusal.setting == setting)?;
        Some((setting.clone(), own.expected))
    };
    settings.into_iter().flat_map(Map::keys).filter_map(range).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checks_tell_their_ranges() {
        let ranges = ranges(crate::scenario::Scenario::schema());
        assert_eq!(ranges["Dctcp"]["gain"], "above 0, at most 1");
        assert_eq!(ranges["Hpcc"]["min_rate"], "1 kb/s to 100 Tb/s");
        for name in
            ["Stream", "Rdma", "QcnReaction", "BcnReaction", "NearSource", "JumboFlow", "RackReceiver"]
        {
            assert!(!ranges[name].is_empty(), "{name}");
        }
    }
}
