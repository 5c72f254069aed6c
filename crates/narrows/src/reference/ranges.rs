//! Which values settings accept: what the checks declare when they are given the defaults.

use std::collections::BTreeMap;

use narrows_proto::cc::{Config, OutOfRange, Ranges};
use narrows_proto::{datagram, rdma, reaction, stream};
use serde_json::Value;

use super::definitions::definition_of;
use crate::mechanism;

/// Accepted ranges by the name of the schema's definition and of the setting: `["Dctcp"]["gain"]` is "above 0, at most 1".
pub(crate) fn ranges(schema: &Value) -> BTreeMap<String, BTreeMap<String, &'static str>> {
    let mut all = BTreeMap::new();
    let mut add = |definition: &str, check: &dyn Fn(&mut Ranges) -> Result<(), OutOfRange>| {
        let mut declared = Ranges::default();
        check(&mut declared).expect("defaults are in their ranges");
        // A check may include that of settings with a definition of their own.
        let settings = schema["$defs"][definition]["properties"].as_object().into_iter().flatten();
        let ranges = settings.filter_map(|(name, _)| Some((name.clone(), declared.of(name)?)));
        all.insert(definition.to_owned(), ranges.collect());
    };
    for config in Config::all() {
        add(definition(schema, "CongestionControl", config.name()), &|ranges| config.check(ranges));
    }
    let bcn = reaction::Config::Bcn(Default::default());
    let qcn = reaction::Config::Qcn(Default::default());
    for (name, config) in [("bcn", bcn), ("qcn", qcn)] {
        add(definition(schema, "Reaction", name), &|ranges| config.check(None, ranges));
    }
    add("Stream", &|ranges| stream::Params::default().check(ranges));
    add("Rdma", &|ranges| rdma::Params::default().check(ranges));
    add("Datagram", &|ranges| datagram::Params::default().check(ranges));
    mechanism::all().for_each(|mechanism| mechanism.ranges(&mut add));
    all
}

/// The definition of the settings of a variant.
fn definition<'a>(schema: &'a Value, of: &str, variant: &str) -> &'a str {
    definition_of(schema, of, variant).expect("every variant has a definition")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checks_declare_their_ranges() {
        let ranges = ranges(crate::scenario::Scenario::schema());
        assert_eq!(ranges["Dctcp"]["gain"], "above 0, at most 1");
        assert_eq!(ranges["Hpcc"]["min_rate"], "1 kb/s to 100 Tb/s");
        assert_eq!(ranges["Stream"]["receive_window"], "room for a full segment");
        assert_eq!(ranges["Stream"]["send_buffer"], "room for a full segment");
        for name in
            ["Stream", "Rdma", "QcnReaction", "BcnReaction", "NearSource", "JumboFlow", "RackReceiver"]
        {
            assert!(!ranges[name].is_empty(), "{name}");
        }
    }
}
