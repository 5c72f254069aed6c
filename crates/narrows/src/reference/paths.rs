//! Paths of settings, as `--set` takes them: `traffic.web.cc.dctcp.gain`. The schema says which keys there are; between them
//! stand names that the scenario gives.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::Value;

use crate::document::accepted::{alternatives, below, entry, reference_of, shapes};
use crate::scenario::Scenario;

/// A key that may follow in a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NextKey {
    /// The path with this key.
    pub path: String,
    /// In one line.
    pub meaning: String,
    /// It has keys of its own.
    pub goes_on: bool,
}

/// Keys that begin with the last part of a path, below what stands before it. None where the scenario gives names.
pub fn next_keys(path: &str) -> Vec<NextKey> {
    let (before, begun) = path.rsplit_once('.').map_or((None, path), |(before, begun)| (Some(before), begun));
    let mut places = vec![Scenario::schema()];
    for part in before.into_iter().flat_map(|before| before.split('.')) {
        places = places.into_iter().flat_map(|place| below(Scenario::schema(), place, part)).collect();
    }
    let mut seen = BTreeSet::new();
    let found = places
        .into_iter()
        .flat_map(|value| shapes(Scenario::schema(), value))
        .filter_map(|shape| shape["properties"].as_object())
        .flatten();
    let found = found.filter(|(key, _)| key.starts_with(begun) && seen.insert(key.as_str()));
    let next = |(key, value): (&'static String, &'static Value)| NextKey {
        path: before.map_or_else(|| key.clone(), |before| format!("{before}.{key}")),
        meaning: value["description"].as_str().unwrap_or_default().replace('\n', " "),
        goes_on: shapes(Scenario::schema(), value)
            .iter()
            .any(|shape| entry(shape).is_some() || shape["properties"].is_object()),
    };
    found.map(next).collect()
}

/// Definitions whose settings a path may mean by its last key: those that an earlier key leads to, the nearest first. Empty if no
/// key does.
pub(super) fn owners(path: &str) -> Vec<&'static str> {
    let mut parts = path.split('.').rev();
    let Some(key) = parts.next() else { return Vec::new() };
    let definitions = Scenario::schema()["$defs"].as_object();
    let has_it = |name: &&'static str| Scenario::schema()["$defs"][*name]["properties"].get(key).is_some();
    for part in parts {
        let all = definitions.into_iter().flatten().map(|(_, definition)| definition);
        let with_it = all
            .chain([Scenario::schema()])
            .flat_map(|value| shapes(Scenario::schema(), value))
            .filter_map(|shape| shape["properties"].get(part));
        let mut reached = BTreeSet::new();
        with_it.for_each(|value| reach(value, &mut reached));
        let found: Vec<_> = reached.into_iter().filter(has_it).collect();
        if !found.is_empty() {
            return found;
        }
    }
    Vec::new()
}

/// Where each definition stands in a scenario, by the shortest path to it; names that the scenario gives are `NAME`.
pub(super) fn places() -> BTreeMap<&'static str, String> {
    let mut places = BTreeMap::new();
    let mut next = VecDeque::from([(String::new(), Scenario::schema())]);
    while let Some((path, value)) = next.pop_front() {
        if let Some(name) = reference_of(value) {
            if places.contains_key(name) {
                continue;
            }
            places.insert(name, path.clone());
            next.push_front((path.clone(), &Scenario::schema()["$defs"][name]));
        }
        alternatives(value).for_each(|alternative| next.push_front((path.clone(), alternative)));
        let at = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
        let keys = value["properties"].as_object().into_iter().flatten();
        next.extend(keys.map(|(key, value)| (at(key), value)));
        if let Some(entry) = entry(value) {
            next.push_back((at("NAME"), entry));
        }
    }
    places
}

/// Notes all definitions that a value may be made of.
fn reach(value: &'static Value, reached: &mut BTreeSet<&'static str>) {
    if let Some(name) = reference_of(value).filter(|name| reached.insert(name)) {
        reach(&Scenario::schema()["$defs"][name], reached);
    }
    let values = value["properties"].as_object().into_iter().flatten().map(|(_, value)| value);
    let inside = ["items", "additionalProperties"].into_iter().filter_map(|key| value.get(key));
    alternatives(value).chain(values).chain(inside).for_each(|part| reach(part, reached));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(path: &str) -> Vec<String> {
        next_keys(path).into_iter().map(|next| next.path).collect()
    }

    #[test]
    fn a_path_goes_through_names_that_the_scenario_gives() {
        assert_eq!(paths("traffic.web.cc.dct"), ["traffic.web.cc.dctcp"]);
        assert_eq!(paths("switches.tor.marking.step.k"), ["switches.tor.marking.step.k"]);
        assert!(paths("traffic.web.cc.dctcp.").contains(&"traffic.web.cc.dctcp.gain".to_owned()));
    }

    #[test]
    fn a_key_with_keys_of_its_own_goes_on() {
        let next = |path: &str| next_keys(path).remove(0);
        assert!(next("topolog").goes_on && !next("seed").goes_on);
    }

    #[test]
    fn nothing_follows_what_no_setting_is_called() {
        assert!(paths("trafic.web.").is_empty() && paths("zzz").is_empty());
    }

    #[test]
    fn a_definition_stands_where_the_shortest_path_leads() {
        let places = places();
        assert_eq!([&places["Wan"], &places["Dctcp"]], ["topology.cross_dc.wan", "traffic.NAME.cc.dctcp"]);
    }

    #[test]
    fn the_nearest_key_says_whose_setting_is_meant() {
        assert_eq!(owners("wan.delay"), ["Wan"]);
        assert_eq!(owners("traffic.web.cc.dctcp.gain"), ["Dctcp"]);
        assert_eq!(owners("delay"), [""; 0]);
    }
}
