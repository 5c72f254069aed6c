//! Settings in which scenarios differ, as they would be written.

use serde::Serialize;
use toml::{Table, Value};

use crate::document::Document;
use crate::scenario::Scenario;

/// A setting that is not the same in all scenarios of a comparison.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// Its path, as `--set` takes it.
    pub path: String,
    /// By scenario, its value as TOML; none where it is left out.
    pub values: Vec<Option<String>>,
}

/// Keys that change nothing of what is simulated.
const ASIDE: [&str; 3] = ["name", "seed", "expect"];
/// In longer scenarios nothing is left out of what differs: finding out what may be takes a reading for each key.
const LONGEST: usize = 100_000;
/// Values are cut after so many characters.
const WIDEST: usize = 240;

/// Where the scenarios with these texts differ, each with all its settings. What follows from other settings is left out,
/// and so are settings inside a value that are as they are by default.
pub(super) fn differences(texts: &[&str]) -> Vec<Difference> {
    let tables: Option<Vec<Table>> = texts.iter().map(|text| toml::from_str(text).ok()).collect();
    let Some(mut tables) = tables else { return Vec::new() };
    for table in &mut tables {
        table.retain(|key, _| !ASIDE.contains(&key));
    }
    let roots: Vec<_> = tables.into_iter().map(Value::Table).collect();
    let mut paths = Vec::new();
    collect(&mut Vec::new(), &roots.iter().map(Some).collect::<Vec<_>>(), &mut paths);
    if paths.is_empty() {
        return Vec::new();
    }
    let written: Vec<_> =
        roots.into_iter().zip(texts).map(|(root, text)| Written::new(root, text.len())).collect();
    let (own, implied): (Vec<_>, Vec<_>) =
        paths.into_iter().partition(|path| written.iter().any(|written| written.needs(path)));
    // Settings that imply each other are all shown.
    let shown = if own.is_empty() { implied } else { own };
    let difference = |path: Vec<String>| Difference {
        values: written.iter().map(|written| written.shortest(&path)).collect(),
        path: path.join("."),
    };
    shown.into_iter().map(difference).collect()
}

/// Collects the paths at which not all values are the same, as deep as all of them go.
fn collect(path: &mut Vec<String>, values: &[Option<&Value>], paths: &mut Vec<Vec<String>>) {
    if values.windows(2).all(|pair| pair[0] == pair[1]) {
        return;
    }
    let names = values.iter().copied().map(|value| names(value?)).collect::<Option<Vec<_>>>();
    match names.filter(|names| !are_choices(names)) {
        None => paths.push(path.clone()),
        Some(names) => {
            let mut all: Vec<&str> = Vec::new();
            for name in names.into_iter().flatten() {
                if !all.contains(&name) {
                    all.push(name);
                }
            }
            for name in all {
                path.push(name.to_owned());
                let inside: Vec<_> = values.iter().map(|value| child((*value)?, name)).collect();
                collect(path, &inside, paths);
                path.pop();
            }
        }
    }
}

/// Parts of a value: keys of a table, or names of elements if all have one.
fn names(value: &Value) -> Option<Vec<&str>> {
    match value {
        Value::Table(table) => Some(table.keys().map(String::as_str).collect()),
        Value::Array(elements) if !elements.is_empty() => {
            elements.iter().map(|element| element.get("name")?.as_str()).collect()
        }
        _ => None,
    }
}

/// Tables of one key each, not of the same: different kinds of something, with different settings.
fn are_choices(names: &[Vec<&str>]) -> bool {
    names.iter().all(|names| names.len() == 1) && names.windows(2).any(|pair| pair[0] != pair[1])
}

fn child<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    match value {
        Value::Array(elements) => elements.get(place(elements, name)?),
        other => other.get(name),
    }
}

fn place(elements: &[Value], name: &str) -> Option<usize> {
    elements.iter().position(|element| element.get("name").and_then(Value::as_str) == Some(name))
}

/// The value without what is at a path in it; none if nothing is.
fn without(value: &Value, path: &[String]) -> Option<Value> {
    let (name, rest) = path.split_first()?;
    let inside = child(value, name)?;
    let less = if rest.is_empty() { None } else { Some(without(inside, rest)?) };
    let mut value = value.clone();
    match (&mut value, less) {
        (Value::Table(table), Some(less)) => drop(table.insert(name.clone(), less)),
        (Value::Table(table), None) => drop(table.remove(name)),
        (Value::Array(elements), less) => {
            let at = place(elements, name)?;
            match less {
                Some(less) => elements[at] = less,
                None => drop(elements.remove(at)),
            }
        }
        _ => return None,
    }
    Some(value)
}

/// A scenario as text and as what it means.
struct Written {
    root: Value,
    /// None if it cannot be read, or is too long to be read often.
    scenario: Option<Scenario>,
}

impl Written {
    fn new(root: Value, length: usize) -> Self {
        let scenario = if length <= LONGEST { read(&root) } else { None };
        Self { root, scenario }
    }

    /// Whether the scenario would be another without what is at this path.
    fn needs(&self, path: &[String]) -> bool {
        without(&self.root, path).is_some_and(|less| !self.is_as(&less))
    }

    fn is_as(&self, less: &Value) -> bool {
        self.scenario.is_some() && read(less) == self.scenario
    }

    /// The value at a path, without what may be left out of it.
    fn shortest(&self, path: &[String]) -> Option<String> {
        let mut root = self.root.clone();
        let value = at(&root, path)?;
        if value.is_table() {
            self.shorten(&mut root, &mut path.to_vec());
        }
        let text = at(&root, path)?.to_string();
        let cut = text.char_indices().nth(WIDEST).map(|(end, _)| format!("{}…", &text[..end]));
        Some(cut.unwrap_or(text))
    }

    /// Takes out of `root` what is inside the table at `path` and changes nothing.
    fn shorten(&self, root: &mut Value, path: &mut Vec<String>) {
        let keys: Vec<_> =
            at(root, path).and_then(Value::as_table).into_iter().flat_map(Table::keys).cloned().collect();
        for key in keys {
            path.push(key);
            match without(root, path).filter(|less| self.is_as(less)) {
                Some(less) => *root = less,
                None => self.shorten(root, path),
            }
            path.pop();
        }
    }
}

fn at<'a>(root: &'a Value, path: &[String]) -> Option<&'a Value> {
    path.iter().try_fold(root, |value, name| child(value, name))
}

/// Meaning of a stored scenario that has this in it, whatever stands aside.
fn read(root: &Value) -> Option<Scenario> {
    let mut root = root.as_table()?.clone();
    let aside = [Value::String("any".into()), Value::Integer(1), Value::Array(Vec::new())];
    root.extend(ASIDE.map(str::to_owned).into_iter().zip(aside));
    let mut document = Document::parse("scenario.toml", toml::to_string(&root).ok()?, "").ok()?;
    let mut scenario = Scenario::from_document(&mut document).ok()?;
    scenario.complete(std::iter::empty());
    Some(scenario)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Plan;

    /// Differences between variants of a template, each with its changes.
    fn found(template: &str, variants: &[&[&str]]) -> Vec<(String, Vec<Option<String>>)> {
        let base = crate::templates::find(template).expect("built in").document().expect("TOML");
        let text = |changes: &&[&str]| {
            let mut document = base.clone();
            changes.iter().for_each(|change| document.set(change).expect("fits"));
            Plan::new(document).expect("fits").text
        };
        let texts: Vec<_> = variants.iter().map(text).collect();
        let texts: Vec<_> = texts.iter().map(String::as_str).collect();
        differences(&texts).into_iter().map(|found| (found.path, found.values)).collect()
    }

    fn one(path: &str, values: &[Option<&str>]) -> (String, Vec<Option<String>>) {
        (path.to_owned(), values.iter().map(|value| value.map(str::to_owned)).collect())
    }

    #[test]
    fn a_changed_value_is_named_by_its_path_whatever_the_seed() {
        let variants: [&[&str]; 2] = [&[], &["switches.tor.marking.step.k=30 kB", "seed=7", "name=other"]];
        let expected = [one("switches.tor.marking.step.k", &[Some("\"100 kB\""), Some("\"30 kB\"")])];
        assert_eq!(found("leaf-spine", &variants), expected);
    }

    #[test]
    fn another_congestion_control_is_shown_without_its_defaults() {
        let variants: [&[&str]; 3] =
            [&[], &["traffic.search.cc={ cubic = {} }"], &["traffic.search.cc={ dctcp = { gain = 0.25 } }"]];
        let values = [Some("{ dctcp = {} }"), Some("{ cubic = {} }"), Some("{ dctcp = { gain = 0.25 } }")];
        assert_eq!(found("leaf-spine", &variants), [one("traffic.search.cc", &values)]);
    }

    #[test]
    fn a_setting_of_all_traffic_is_shown_once_and_not_for_each_group() {
        let variants: [&[&str]; 2] = [&[], &["transport.min_rto=9 ms"]];
        let values = [Some("\"5 ms\""), Some("\"9 ms\"")];
        assert_eq!(found("leaf-spine", &variants), [one("transport.min_rto", &values)]);
    }

    #[test]
    fn what_is_left_out_in_one_has_no_value_there() {
        let found = found("leaf-spine", &[&[], &["measure.until=15 ms"]]);
        assert_eq!(found, [one("measure.until", &[None, Some("\"15 ms\"")])]);
    }

    #[test]
    fn equal_scenarios_do_not_differ() {
        assert_eq!(found("dumbbell", &[&[], &["seed=3"]]), []);
    }
}
