//! The files of one run in a folder.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use serde_json::{Value, json};

use super::parquet_file::TableWriter;
use super::{Results, TABLES, Table, TableInfo};
use crate::inputs::INPUTS;

/// Folders that a folder of results may hold besides files. `inputs` has the files that the scenario names.
pub const FOLDERS: [&str; 1] = [INPUTS];

/// Writes the tables, the summary and the scenario of a run, with the files that the scenario names. With `flush` they are on the
/// disk then, whatever happens to the machine.
///
/// # Errors
/// With the name of the file that cannot be written.
pub(crate) fn write_folder(results: &Results, folder: &Path, flush: bool) -> Result<(), (String, io::Error)> {
    write_results(results, &results.plan.text, folder, flush)?;
    for input in &results.plan.inputs {
        let path = input.path();
        let write = || {
            std::fs::create_dir_all(folder.join(INPUTS))?;
            write_text(&folder.join(&path), input.content.text(), flush)
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
    flush: bool,
) -> Result<(), (String, io::Error)> {
    // One after the other, so that only one of them is in memory.
    for table in TABLES.iter().filter_map(|info| results.table(info.name)) {
        let name = format!("{}.parquet", table.name);
        let written = write_table(&table, results, &folder.join(&name), flush);
        written.map_err(|error| (name, error))?;
    }
    let summary = serde_json::to_string_pretty(&results.to_json()).unwrap_or_default() + "\n";
    for (name, text) in [("run.json", summary.as_str()), ("scenario.toml", scenario)] {
        let written = write_text(&folder.join(name), text, flush);
        written.map_err(|error| (name.to_owned(), error))?;
    }
    Ok(())
}

/// Writes a text.
pub(crate) fn write_text(path: &Path, text: &str, flush: bool) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(text.as_bytes())?;
    if flush { file.sync_all() } else { Ok(()) }
}

/// Writes a table, with the scenario, the seed and the version in its metadata, what its rows are (`narrows.table`), and unit
/// and meaning of its columns (`narrows.columns`, JSON by name of the column).
fn write_table(table: &Table, results: &Results, path: &Path, flush: bool) -> io::Result<()> {
    let plan = &results.plan;
    let metadata = vec![
        ("narrows.version", env!("CARGO_PKG_VERSION").to_owned()),
        ("narrows.scenario", plan.text.clone()),
        ("narrows.seed", plan.scenario.seed.to_string()),
        ("narrows.complete", results.complete.to_string()),
        ("narrows.table", TableInfo::find(table.name).map_or("", |info| info.meaning).to_owned()),
        ("narrows.columns", meanings(table).to_string()),
    ];
    let mut writer = TableWriter::begin(File::create(path)?, table, metadata)?;
    writer.write(table, 0..table.rows())?;
    let file = writer.finish()?;
    if flush { file.sync_all() } else { Ok(()) }
}

/// Unit and meaning of the columns that are there and described.
pub(crate) fn meanings(table: &Table) -> Value {
    let info = TableInfo::find(table.name);
    let columns = table.columns.iter().filter_map(|column| info?.column(&column.name));
    columns.map(|info| (info.name, json!({ "unit": info.unit, "meaning": info.meaning }))).collect()
}
