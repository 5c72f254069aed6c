//! A sweep read back for a report: the runs of each point, apart from those of the others.

use std::path::Path;

use serde_json::Value;

use super::cells::Manifest;
use super::change::text;
use super::store::Store;
use crate::diagnostic::{Checked, Code, Diagnostic};
use crate::results::StoredCell;

/// The points of the sweep in a folder, each with the runs of its seeds that are there; none if the folder holds no sweep. A
/// point has no more seeds than the data set, and points without any run are left out.
///
/// # Errors
/// If `sweep.json` or a cell cannot be read, or no cell is there.
pub fn stored_points(folder: &Path) -> Checked<Option<Vec<StoredCell>>> {
    if !folder.is_dir() {
        return Ok(None);
    }
    let Some(manifest) = Store::manifest(folder)? else { return Ok(None) };
    let store = Store::at(folder);
    store.verify(manifest.points.iter().flat_map(|point| &point.cells));
    let mut points = Vec::new();
    for (number, point) in manifest.points.iter().enumerate() {
        let there = || point.cells.iter().take_while(|id| store.has(id)).count();
        let seeds = manifest.decide(number, &store)?.map_or_else(there, |seeds| seeds as usize);
        let runs: Vec<_> = point.cells[..seeds].iter().map(|id| store.cell(id)).collect();
        if !runs.is_empty() {
            points.push(StoredCell { name: manifest.short(number), runs });
        }
    }
    if points.is_empty() {
        let message = format!("no cell of the sweep \"{}\" is in {}", manifest.name, folder.display());
        return Err(Diagnostic::error(Code::MissingCells, message).help("run narrows sweep first").into());
    }
    Ok(Some(points))
}

impl Manifest {
    /// A point in few words, with the last keys of axes that are paths: `load = 0.2, control = dctcp`.
    fn short(&self, point: usize) -> String {
        let last = |axis: &str| axis.rsplit('.').next().unwrap_or_default().to_owned();
        let is_clear = |key: &str| self.axes.iter().filter(|axis| last(axis) == key).count() == 1;
        let part = |(axis, value): (&String, &Value)| {
            let key = last(axis);
            format!("{} = {}", if is_clear(&key) { key } else { axis.clone() }, text(value))
        };
        let values = self.axes.iter().zip(&self.points[point].values);
        let parts: Vec<_> = values.filter(|(_, value)| !value.is_null()).map(part).collect();
        if parts.is_empty() { self.name.clone() } else { parts.join(", ") }
    }
}
