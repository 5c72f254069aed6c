//! The files of one run in a folder.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use serde_json::{Value, json};

use super::parquet_file::TableWriter;
use super::piecewise::write_file;
use super::{Named, Results, Table, TableInfo, all_tables};
use crate::checksum::Sum;
use crate::inputs::INPUTS;

/// Folders that a folder of results may hold besides files. `inputs` has the files that the scenario names.
pub const FOLDERS: [&str; 1] = [INPUTS];

/// Writes the tables, the summary and the scenario of a run, with the files that the scenario names.
///
/// # Errors
/// With the name of the file that cannot be written.
pub(crate) fn write_folder(results: &Results, folder: &Path) -> Result<(), (String, io::Error)> {
    write_results(results, &results.plan.text, folder, None)?;
    for input in &results.plan.inputs {
        let path = input.path();
        let write = || {
            std::fs::create_dir_all(folder.join(INPUTS))?;
            std::fs::write(folder.join(&path), input.content.text())
        };
        write().map_err(|error| (path.display().to_string(), error))?;
    }
    Ok(())
}

/// Writes the tables and the summary of a run, and `scenario` as its scenario.
///
/// # Errors
/// As [`write_folder`].
pub(crate) fn write_results(
    results: &Results,
    scenario: &str,
    folder: &Path,
    mut sums: Option<&mut Vec<(String, Sum)>>,
) -> Result<(), (String, io::Error)> {
    for table in all_tables() {
        let Some(mut parts) = table.parts(results, None) else { continue };
        write_file(folder, &file_of(table), sums.as_deref_mut(), |file| {
            write_table(&mut parts, results, file)
        })?;
    }
    for (name, text) in [("run.json", summary(results).as_str()), ("scenario.toml", scenario)] {
        write_file(folder, name, sums.as_deref_mut(), |file| file.write_all(text.as_bytes()))?;
    }
    Ok(())
}

impl Results {
    /// The files that a folder of these results would hold, by name; all of them in memory.
    ///
    /// # Errors
    /// If a table cannot be encoded, with the name of its file.
    pub fn files(&self) -> Result<BTreeMap<String, Vec<u8>>, (String, io::Error)> {
        let mut files = BTreeMap::new();
        for table in all_tables() {
            let Some(mut parts) = table.parts(self, None) else { continue };
            let mut content = Vec::new();
            let written = write_table(&mut parts, self, &mut content);
            written.map_err(|error| (file_of(table), error))?;
            files.insert(file_of(table), content);
        }
        files.insert("run.json".to_owned(), summary(self).into_bytes());
        files.insert("scenario.toml".to_owned(), self.plan.text.clone().into_bytes());
        let inputs = self.plan.inputs.iter();
        files.extend(
            inputs.map(|input| {
                (format!("{INPUTS}/{}", input.name), input.content.text().as_bytes().to_owned())
            }),
        );
        Ok(files)
    }
}

/// The name of the file of a table.
fn file_of(table: &dyn Named) -> String {
    format!("{}.parquet", table.name())
}

/// Text of `run.json`.
fn summary(results: &Results) -> String {
    serde_json::to_string_pretty(&results.to_json()).unwrap_or_default() + "\n"
}

/// Writes a text.
pub(crate) fn write_text(path: &Path, text: &str, flush: bool) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(text.as_bytes())?;
    if flush { file.sync_all() } else { Ok(()) }
}

/// Writes a table, with the scenario, the seed and the version in its metadata, what its rows are (`narrows.table`), and unit
/// and meaning of its columns (`narrows.columns`, JSON by name of the column).
fn write_table(
    parts: &mut dyn Iterator<Item = Table>,
    results: &Results,
    file: impl Write + Send,
) -> io::Result<()> {
    let empty = parts.next().expect("the first part has no rows");
    let plan = &results.plan;
    let metadata = vec![
        ("narrows.version", env!("CARGO_PKG_VERSION").to_owned()),
        ("narrows.scenario", plan.text.clone()),
        ("narrows.seed", plan.scenario.seed.to_string()),
        ("narrows.complete", results.complete.to_string()),
        ("narrows.table", TableInfo::find(empty.name).map_or("", |info| info.meaning).to_owned()),
        ("narrows.columns", meanings(&empty).to_string()),
    ];
    let mut writer = TableWriter::begin(file, &empty, metadata)?;
    writer.write_parts(parts)?;
    writer.finish()
}

/// Unit and meaning of the columns that are there and described.
pub(crate) fn meanings(table: &Table) -> Value {
    let info = TableInfo::find(table.name);
    let columns = table.columns.iter().filter_map(|column| info?.column(&column.name));
    columns.map(|info| (info.name, json!({ "unit": info.unit, "meaning": info.meaning }))).collect()
}
