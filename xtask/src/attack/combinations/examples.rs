//! The guide's examples of mechanisms: each has settings that go into any scenario. There is one for every mechanism, so that a new one
//! is combined with all others as soon as it has its example.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use toml::{Table, Value};

const FOLDER: &str = "docs/guide/snippets";
/// Settings of a whole scenario that an example may bring.
const GLOBAL: [&str; 4] = ["hosts", "routing", "reaction_points", "transport"];
/// Settings of traffic that it may bring.
const OF_TRAFFIC: [&str; 3] = ["cc", "rdma", "transport"];
const SWITCHES: &str = "switches";
const DEFAULT: &str = "default";
/// Lossless switches need a buffer of another size than others: the scenario's stays.
const BUFFER: &str = "buffer";

/// One of them.
pub(super) struct Example(Table);

impl Example {
    pub(super) fn all() -> Result<Vec<Self>> {
        let mut paths = Vec::new();
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(FOLDER);
        for entry in std::fs::read_dir(folder).context(FOLDER)? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if name.starts_with("mechanism-") {
                paths.push(path);
            }
        }
        // Folders are listed in any order.
        paths.sort_unstable();
        ensure!(paths.len() > 10, "{FOLDER} has {} examples of mechanisms", paths.len());
        let read = |path: &PathBuf| {
            let text = std::fs::read_to_string(path)?;
            Ok(Self(text.parse().with_context(|| path.display().to_string())?))
        };
        paths.iter().map(read).collect()
    }

    /// Puts its settings into a scenario; those of its first traffic into the traffic with this number if `traffic` says so. What names
    /// links or switches goes only into a network of the same kind.
    pub(super) fn add_to(&self, scenario: &mut Table, traffic: Option<usize>) {
        let is_alike = kind(&self.0) == kind(scenario);
        for key in GLOBAL {
            copy(&self.0, scenario, key);
        }
        if is_alike {
            copy(&self.0, scenario, "paths");
        }
        for (name, theirs) in tables(&self.0, SWITCHES).filter(|(name, _)| is_alike || *name == DEFAULT) {
            let all = scenario.entry(SWITCHES).or_insert_with(|| Value::Table(Table::new()));
            let Some(all) = all.as_table_mut() else { continue };
            let ours = all.entry(name).or_insert_with(|| Value::Table(Table::new()));
            let Some(ours) = ours.as_table_mut() else { continue };
            let settings = theirs.iter().filter(|(key, _)| name != DEFAULT || *key != BUFFER);
            ours.extend(settings.map(|(key, value)| (key.clone(), value.clone())));
        }
        let Some(theirs) = self.0["traffic"][0].as_table() else { return };
        let ours = traffic.and_then(|number| scenario.get_mut("traffic")?.get_mut(number)?.as_table_mut());
        if let Some(ours) = ours {
            for key in OF_TRAFFIC {
                ours.remove(key);
                copy(theirs, ours, key);
            }
        }
    }
}

/// Leaves nothing but buffers in switches: some mechanisms do not go with any other.
pub(super) fn clear_switches(scenario: &mut Table) {
    let switches = scenario.get_mut(SWITCHES).and_then(Value::as_table_mut).into_iter().flatten();
    for switch in switches.filter_map(|(_, switch)| switch.as_table_mut()) {
        switch.retain(|key, _| key == BUFFER);
    }
}

fn copy(from: &Table, to: &mut Table, key: &str) {
    if let Some(value) = from.get(key) {
        to.insert(key.to_owned(), value.clone());
    }
}

fn tables<'a>(of: &'a Table, key: &str) -> impl Iterator<Item = (&'a str, &'a Table)> {
    let tables = of.get(key).and_then(Value::as_table).into_iter().flatten();
    tables.filter_map(|(name, table)| Some((name.as_str(), table.as_table()?)))
}

/// Kind of the network.
fn kind(scenario: &Table) -> Option<&str> {
    tables(scenario, "topology").next().map(|(name, _)| name)
}
