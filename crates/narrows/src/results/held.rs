//! Results in memory, as the files of their folder.

use std::collections::BTreeMap;
use std::path::Path;

use bytes::Bytes;
use serde_json::Value;

use super::stored::{fitting, unreadable, version_in};
use super::{Source, Table, parquet_file};
use crate::diagnostic::{Checked, Code, Diagnostic};

/// The results of one run in memory. Tables are read when they are needed.
#[derive(Clone, Debug)]
pub struct Held {
    files: BTreeMap<String, Bytes>,
    summary: Value,
    scenario: String,
}

impl Held {
    /// Results whose folder would hold these files, by name.
    ///
    /// # Errors
    /// If there is no `run.json` or no `scenario.toml` among them, or it cannot be read.
    pub fn new(files: BTreeMap<String, Bytes>) -> Checked<Self> {
        let file = |name: &'static str| {
            let missing = || {
                Diagnostic::error(Code::NoResults, format!("there is no {name} among the files"))
                    .help("choose all files of a folder that narrows run has written")
            };
            files.get(name).ok_or_else(missing)
        };
        let bad = |name: &str, error: &dyn std::fmt::Display| unreadable(Path::new(name), error);
        let summary = serde_json::from_slice(file("run.json")?).map_err(|error| bad("run.json", &error))?;
        let scenario = String::from_utf8(file("scenario.toml")?.to_vec());
        let scenario = scenario.map_err(|error| bad("scenario.toml", &error))?;
        Ok(Self { files, summary, scenario })
    }

    /// The engine that made them.
    pub fn engine(&self) -> &str {
        self.summary.get("engine").and_then(Value::as_str).unwrap_or_default()
    }

    /// The files, by name.
    pub fn files(&self) -> &BTreeMap<String, Bytes> {
        &self.files
    }
}

impl Source for Held {
    fn summary(&self) -> Value {
        self.summary.clone()
    }

    fn scenario(&self) -> &str {
        &self.scenario
    }

    fn columns(&self, table: &'static str, columns: &[&str]) -> Checked<Option<Table>> {
        let name = format!("{table}.parquet");
        let Some(file) = self.files.get(&name) else { return Ok(None) };
        let read = parquet_file::read_table_of(table, file, Some(columns));
        fitting(read, Path::new(&name), Some(columns), version_in(&self.summary)).map(Some)
    }
}
