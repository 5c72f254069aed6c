//! Results folders read back.

use std::path::{Path, PathBuf};

use parquet::errors::ParquetError;
use serde_json::Value;

use super::{Results, Table, TableInfo, all_tables, parquet_file};
use crate::diagnostic::{Checked, Code, Diagnostic};
use crate::input_file::{LARGEST_SCENARIO, LARGEST_SUMMARY, read_bytes};

/// The results of one run in a folder. Tables are read when they are needed.
#[derive(Clone, Debug)]
pub struct Stored {
    /// Where they are.
    pub folder: PathBuf,
    /// `run.json`.
    pub summary: Value,
    /// `scenario.toml`.
    pub scenario: String,
}

/// Runs of one scenario, with one seed or several.
#[derive(Clone, Debug)]
pub struct StoredCell {
    /// The name of its folder, or of the scenario.
    pub name: String,
    /// Folders of its runs, in the order of their seeds.
    pub runs: Vec<PathBuf>,
}

impl Stored {
    /// Opens a folder that holds `run.json`.
    ///
    /// # Errors
    /// If it holds none, or it cannot be read.
    pub fn open(folder: &Path) -> Checked<Self> {
        let path = folder.join("run.json");
        if !path.is_file() {
            return Err(no_results(folder).into());
        }
        let text = read_bytes(&path, LARGEST_SUMMARY).map_err(|error| unreadable(&path, &error))?;
        let summary = serde_json::from_slice(&text).map_err(|error| unreadable(&path, &error))?;
        let path = folder.join("scenario.toml");
        let scenario = read_bytes(&path, LARGEST_SCENARIO).map_err(|error| unreadable(&path, &error))?;
        let scenario = String::from_utf8(scenario).map_err(|error| unreadable(&path, &error))?;
        Ok(Self { folder: folder.to_owned(), summary, scenario })
    }

    /// Those columns of a table that there are; all if `columns` is none. None if the table was not recorded.
    ///
    /// # Errors
    /// If its file cannot be read, or a column is missing that all tables of this name have.
    pub fn table(&self, name: &'static str, columns: Option<&[&str]>) -> Checked<Option<Table>> {
        let path = self.folder.join(format!("{name}.parquet"));
        if !path.exists() {
            return Ok(None);
        }
        fitting(parquet_file::read_table(name, &path, columns), &path, columns, self.version()).map(Some)
    }

    /// A number of the summary.
    pub fn number(&self, key: &str) -> Option<u64> {
        self.summary.get(key).and_then(Value::as_u64)
    }

    /// A text of the summary.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.summary.get(key).and_then(Value::as_str)
    }

    /// The seed of the run.
    pub fn seed(&self) -> u64 {
        self.number("seed").unwrap_or_default()
    }

    /// The version that wrote it.
    pub fn version(&self) -> &str {
        version_in(&self.summary)
    }

    /// The run was not interrupted.
    pub fn is_complete(&self) -> bool {
        self.summary.get("complete").and_then(Value::as_bool).unwrap_or(false)
    }
}

/// A table that was read from `path`, if it has the wanted columns that all tables of this name have.
pub(super) fn fitting(
    read: Result<Table, ParquetError>,
    path: &Path,
    wanted: Option<&[&str]>,
    version: &str,
) -> Checked<Table> {
    let table = read.map_err(|error| unreadable(path, &error))?;
    let misfit = TableInfo::find(table.name).and_then(|info| table.misfit(info, wanted));
    let Some(column) = misfit else { return Ok(table) };
    let problem = format!("it has no column {column} as this version writes it (written by {version})");
    Err(unreadable(path, &problem).into())
}

/// The version that wrote a summary.
pub(super) fn version_in(summary: &Value) -> &str {
    summary.get("narrows").and_then(Value::as_str).unwrap_or("of another version")
}

/// Warnings before a run and after it, as its summary has them, each behind its code.
pub(crate) fn warnings_in(summary: &Value) -> impl Iterator<Item = String> {
    let list = |key: &str| summary.get(key).and_then(Value::as_array).into_iter().flatten();
    let coded = |key: &str| {
        list(key).filter_map(|warning| {
            Some(format!("{}: {}", warning.get("code")?.as_str()?, warning.get("message")?.as_str()?))
        })
    };
    let of = |code: Code, message: &str| format!("{}: {message}", code.name());
    let held_up = summary.get("held_up").and_then(Value::as_str).map(|message| of(Code::HeldUp, message));
    let trends = list("trends").filter_map(Value::as_str).map(move |message| of(Code::NotSettled, message));
    coded("warnings").chain(held_up).chain(trends).chain(coded("remarks"))
}

/// Where tables and a summary come from: a run that has just ended, or a folder.
pub trait Source {
    /// Content of `run.json`.
    fn summary(&self) -> Value;

    /// The scenario as it was run.
    fn scenario(&self) -> &str;

    /// Those columns of a table that there are; at least these if there are any. None if it was not recorded.
    ///
    /// # Errors
    /// If it cannot be read.
    fn columns(&self, table: &'static str, columns: &[&str]) -> Checked<Option<Table>>;

    /// The same, part by part in the order of its rows. False if it was not recorded.
    ///
    /// # Errors
    /// If it cannot be read.
    fn parts(&self, table: &'static str, columns: &[&str], each: &mut dyn FnMut(&Table)) -> Checked<bool> {
        let table = self.columns(table, columns)?;
        table.iter().for_each(each);
        Ok(table.is_some())
    }
}

impl Source for Results {
    fn summary(&self) -> Value {
        self.to_json()
    }

    fn scenario(&self) -> &str {
        &self.plan.text
    }

    fn columns(&self, table: &'static str, columns: &[&str]) -> Checked<Option<Table>> {
        Ok(self.columns_of(table, Some(columns)))
    }

    fn parts(&self, table: &'static str, columns: &[&str], each: &mut dyn FnMut(&Table)) -> Checked<bool> {
        let parts = all_tables().find(|named| named.name() == table);
        let parts = parts.and_then(|named| named.parts(self, Some(columns)));
        Ok(parts.map(|parts| parts.for_each(|part| each(&part))).is_some())
    }
}

impl Source for Stored {
    fn summary(&self) -> Value {
        self.summary.clone()
    }

    fn scenario(&self) -> &str {
        &self.scenario
    }

    fn columns(&self, table: &'static str, columns: &[&str]) -> Checked<Option<Table>> {
        self.table(table, Some(columns))
    }
}

/// The results in a folder: one run, one scenario with several seeds, or several of these to compare. Runs in one folder are
/// seeds of one scenario only if they differ in nothing but their seeds; others are apart, each named after its folder.
///
/// # Errors
/// If there are none.
pub fn find(folder: &Path) -> Checked<Vec<StoredCell>> {
    let canonical = || folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    if folder.join("run.json").is_file() {
        return Ok(vec![StoredCell { name: name(&canonical()), runs: vec![folder.to_owned()] }]);
    }
    let runs = runs_in(folder);
    if !runs.is_empty() {
        return Ok(cells_of(&name(&canonical()), runs));
    }
    let cells = folders_in(folder).into_iter().map(|cell| (name(&cell), runs_in(&cell)));
    let mut cells: Vec<_> = cells.filter(|(_, runs)| !runs.is_empty()).collect();
    let order = order_in(folder);
    // Those that are not listed come last, by name.
    cells.sort_by_key(|(name, _)| order.iter().position(|other| other == name).unwrap_or(order.len()));
    let cells: Vec<_> = cells.into_iter().flat_map(|(name, runs)| cells_of(&name, runs)).collect();
    if cells.is_empty() { Err(no_results(folder).into()) } else { Ok(cells) }
}

/// The file of a comparison with the names of its cells in their order, the base first.
pub const COMPARISON: &str = "compare.json";

/// The file of a twin that holds its judgment.
pub const TWIN: &str = "twin.json";

/// Names of the folders of a comparison in their order; none if it is not known.
fn order_in(folder: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(folder.join(COMPARISON)).unwrap_or_default();
    let value: Value = serde_json::from_str(&text).unwrap_or_default();
    let names = value.get("cells").and_then(Value::as_array).into_iter().flatten();
    names.filter_map(|name| Some(name.as_str()?.to_owned())).collect()
}

fn name(path: &Path) -> String {
    path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

/// The cell called `name`, or if its runs are of different scenarios one for each of these.
fn cells_of(name: &str, runs: Vec<PathBuf>) -> Vec<StoredCell> {
    let mut by_scenario: Vec<(String, Vec<PathBuf>)> = Vec::new();
    for run in runs {
        let text = std::fs::read_to_string(run.join("scenario.toml")).unwrap_or_default();
        let scenario = without_seed(&text);
        match by_scenario.iter_mut().find(|(other, _)| *other == scenario) {
            Some((_, runs)) => runs.push(run),
            None => by_scenario.push((scenario, vec![run])),
        }
    }
    let alone = by_scenario.len() == 1;
    let cell = |runs: Vec<PathBuf>| {
        let name = if alone { name.to_owned() } else { self::name(&runs[0]) };
        StoredCell { name, runs }
    };
    by_scenario.into_iter().map(|(_, runs)| cell(runs)).collect()
}

/// A scenario as it was run, as TOML with every setting, without its seed.
pub fn without_seed(scenario: &str) -> String {
    let mut before_tables = true;
    let kept = scenario.lines().filter(|line| {
        before_tables &= !line.starts_with('[');
        !(before_tables && line.starts_with("seed = "))
    });
    kept.collect::<Vec<_>>().join("\n")
}

/// Folders of runs directly inside a folder, by seed.
fn runs_in(folder: &Path) -> Vec<PathBuf> {
    let mut runs = folders_in(folder);
    runs.retain(|run| run.join("run.json").is_file());
    let seed = |run: &PathBuf| {
        let name = run.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        (name.strip_prefix("seed-").and_then(|seed| seed.parse::<u64>().ok()), name)
    };
    runs.sort_by_cached_key(seed);
    runs
}

/// Folders inside a folder, by name; hidden ones are none of ours.
fn folders_in(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut folders: Vec<_> = entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    folders.retain(|path| path.file_name().is_some_and(|name| !name.to_string_lossy().starts_with('.')));
    folders.sort();
    folders
}

fn no_results(folder: &Path) -> Diagnostic {
    let found = if folder.is_dir() { "holds no run.json" } else { "is not a folder" };
    Diagnostic::error(Code::NoResults, format!("{} {found}", folder.display()))
        .help("name a folder that narrows run or narrows compare has written, such as out/demo")
}

pub(super) fn unreadable(path: &Path, error: &dyn std::fmt::Display) -> Diagnostic {
    Diagnostic::error(Code::BadResults, format!("cannot read {}: {error}", path.display()))
}
