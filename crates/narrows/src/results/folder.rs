//! The files of one run in a folder.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use serde_json::{Value, json};

use super::parquet_file::TableWriter;
use super::{Results, TABLES, Table, TableInfo};
use crate::inputs::INPUTS;

/// Folders that a folder of results may hold besides files. `inputs` has the files that the scenario names.
pub const FOLDERS: [&str; 1] = [INPUTS];

/// Writes the tables, the summary and the scenario of a run, with the files that the scenario names.
///
/// # Errors
/// With the name of the file that cannot be written.
pub(crate) fn write_folder(results: &Results, folder: &Path) -> Result<(), (String, io::Error)> {
    write_results(results, &results.plan.text, folder)?;
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
) -> Result<(), (String, io::Error)> {
    // One after the other, so that only one of them is in memory.
    for (name, table) in tables(results) {
        let write = || {
            let mut file = Gathered(BufWriter::new(File::create(folder.join(&name))?));
            write_table(&table, results, &mut file)?;
            file.0.flush()
        };
        write().map_err(|error| (name.clone(), error))?;
    }
    for (name, text) in [("run.json", summary(results).as_str()), ("scenario.toml", scenario)] {
        let written = std::fs::write(folder.join(name), text);
        written.map_err(|error| (name.to_owned(), error))?;
    }
    Ok(())
}

/// A file whose small pieces are written together. A table asks for each of its columns to be written at once.
struct Gathered(BufWriter<File>);

impl Write for Gathered {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        self.0.write(piece)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Results {
    /// The files that a folder of these results would hold, by name; all of them in memory.
    ///
    /// # Errors
    /// If a table cannot be encoded, with the name of its file.
    pub fn files(&self) -> Result<BTreeMap<String, Vec<u8>>, (String, io::Error)> {
        let mut files = BTreeMap::new();
        for (name, table) in tables(self) {
            let mut content = Vec::new();
            write_table(&table, self, &mut content).map_err(|error| (name.clone(), error))?;
            files.insert(name, content);
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

/// The tables that there are, each with the name of its file; made one after the other.
fn tables(results: &Results) -> impl Iterator<Item = (String, Table)> {
    let tables = TABLES.iter().filter_map(|info| results.table(info.name));
    tables.map(|table| (format!("{}.parquet", table.name), table))
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
fn write_table(table: &Table, results: &Results, file: impl Write + Send) -> io::Result<()> {
    let plan = &results.plan;
    let metadata = vec![
        ("narrows.version", env!("CARGO_PKG_VERSION").to_owned()),
        ("narrows.scenario", plan.text.clone()),
        ("narrows.seed", plan.scenario.seed.to_string()),
        ("narrows.complete", results.complete.to_string()),
        ("narrows.table", TableInfo::find(table.name).map_or("", |info| info.meaning).to_owned()),
        ("narrows.columns", meanings(table).to_string()),
    ];
    let mut writer = TableWriter::begin(file, table, metadata)?;
    writer.write(table, 0..table.rows())?;
    writer.finish()
}

/// Unit and meaning of the columns that are there and described.
pub(crate) fn meanings(table: &Table) -> Value {
    let info = TableInfo::find(table.name);
    let columns = table.columns.iter().filter_map(|column| info?.column(&column.name));
    columns.map(|info| (info.name, json!({ "unit": info.unit, "meaning": info.meaning }))).collect()
}
