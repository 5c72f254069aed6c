//! One data set of all cells: a row for each cell with its metrics, and each table of the cells with its point and seed in front.
//!
//! Rows are in the order of points and seeds, so the bytes do not depend on the order in which cells were run.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use serde_json::{Map, Value, json};

use super::change::text;
use super::leading::LEADING;
use super::manifest::Manifest;
use super::measured::{Metrics, PointSummary, Row, summarize};
use super::store::Store;
use super::trouble::Trouble;
use crate::diagnostic::{Checked, Code, Diagnostic, Rejection};
use crate::results::{
    Column, TABLES, Table, TableInfo, TableReader, TableWriter, Values, cannot_write, meanings,
};

/// Rows are gathered until there are so many, and then written as a group.
const GROUP: usize = 1 << 17;
/// The table of metrics.
const SUMMARY: &str = "summary";

/// Cells of the data set by point; an error if some are missing.
fn rows(manifest: &Manifest, store: &Store) -> Checked<Vec<Row>> {
    let mut rows = Vec::new();
    let mut missing = 0_u64;
    for (number, point) in manifest.points.iter().enumerate() {
        let Some(seeds) = manifest.decide(number, store)? else {
            let wanted = point.cells.iter().take(manifest.seeds as usize);
            // With a rule, how many more it takes is not known.
            missing += wanted.filter(|id| !store.has(id)).count().max(1) as u64;
            continue;
        };
        let cells = (point.first_seed..).zip(&point.cells).take(seeds as usize);
        rows.extend(cells.map(|(seed, id)| Row { point: number, seed, id: id.clone() }));
    }
    if missing == 0 {
        return Ok(rows);
    }
    let at_least = if manifest.until.is_some() { "at least " } else { "" };
    let message = format!(
        "{at_least}{missing} cells of the sweep \"{}\" are missing in {}",
        manifest.name,
        store.folder().display()
    );
    let help = "run the other shards, or restart the sweep to run what is missing; \
                narrows merge DIR... --out DIR puts folders of shards together";
    Err(Diagnostic::error(Code::MissingCells, message).help(help).into())
}

/// A data set that has been written.
#[derive(Debug)]
pub struct DataSet {
    /// Points with their metrics.
    pub points: Vec<PointSummary>,
    /// Warnings of the runs, each with the number of its point in the manifest.
    pub warnings: Vec<(usize, String)>,
}

/// Writes the data set: `summary.parquet` and one file for each table.
///
/// # Errors
/// If cells are missing or cannot be read, or something cannot be written.
pub fn assemble(manifest: &Manifest, store: &Store) -> Checked<DataSet> {
    let rows = rows(manifest, store)?;
    let staging = tempfile::Builder::new().prefix("data-").tempdir_in(store.staging());
    let staging = staging.map_err(|error| cannot_write(store.folder(), &error))?;
    let mut metrics = Metrics::read(&rows, store)?;
    let maker = Maker { manifest, store, rows: &rows, staging: staging.path() };
    maker.summary(&metrics)?;
    let written = TABLES.par_iter().map(|info| Ok(maker.table(info)?.then_some(info.name)));
    let written: Vec<Option<&str>> = written.collect::<Checked<_>>()?;
    let place = |name: &str| -> io::Result<()> {
        let name = format!("{name}.parquet");
        std::fs::rename(staging.path().join(&name), store.folder().join(&name))
    };
    // What an earlier data set had and this one has not must not stay beside it.
    for (info, _) in TABLES.iter().zip(&written).filter(|(_, written)| written.is_none()) {
        let _ = std::fs::remove_file(store.folder().join(format!("{}.parquet", info.name)));
    }
    for name in written.into_iter().flatten().chain([SUMMARY]) {
        place(name).map_err(|error| cannot_write(store.folder(), &error))?;
    }
    let points = summarize(manifest, &rows, &metrics);
    Ok(DataSet { points, warnings: std::mem::take(&mut metrics.warnings) })
}

struct Maker<'a> {
    manifest: &'a Manifest,
    store: &'a Store,
    rows: &'a [Row],
    staging: &'a Path,
}

/// By column in front: the numbers of its names. Every cell has a name of its own, so there are many.
type Numbers = Vec<HashMap<String, u32>>;

/// The number of a name among those there are, or the next one.
fn number_of(name: String, names: &mut Vec<String>, numbers: &mut HashMap<String, u32>) -> u32 {
    *numbers.entry(name).or_insert_with_key(|name| {
        names.push(name.clone());
        (names.len() - 1) as u32
    })
}

impl Maker<'_> {
    /// The columns in front, without rows. An axis that has the name of another column is called `grid.NAME`.
    fn leading(&self, others: &[&str]) -> Vec<Column> {
        let fixed = LEADING.iter();
        let mut columns: Vec<Column> =
            fixed.map(|leading| Column { name: leading.name.into(), values: (leading.empty)() }).collect();
        for (number, axis) in self.manifest.axes.iter().enumerate() {
            let is_taken =
                |name: &str| others.contains(&name) || columns.iter().any(|column| column.name == name);
            let mut name = axis.clone();
            while is_taken(&name) {
                name = format!("grid.{name}");
            }
            let of_points = || self.manifest.points.iter().map(|point| &point.values[number]);
            let all = |holds: fn(&Value) -> bool| of_points().filter(|value| !value.is_null()).all(holds);
            let values = if all(Value::is_u64) {
                Values::Integers(Vec::new())
            } else if all(Value::is_number) {
                Values::Reals(Vec::new())
            } else {
                Values::Names(Vec::new(), Vec::new())
            };
            let values = if of_points().any(Value::is_null) { values.maybe() } else { values };
            columns.push(Column { name: name.into(), values });
        }
        columns
    }

    /// Adds so many rows of a cell to the columns in front.
    fn lead(&self, columns: &mut [Column], numbers: &mut Numbers, row: &Row, count: usize) {
        let point = &self.manifest.points[row.point];
        let fixed = LEADING.map(|leading| (leading.value)(&row.id, row.point, row.seed));
        numbers.resize_with(fixed.len() + point.values.len(), HashMap::new);
        let values = fixed.iter().chain(&point.values).zip(numbers);
        for (column, (value, numbers)) in columns.iter_mut().zip(values) {
            let more = |len: usize| len + count;
            match &mut column.values {
                Values::Integers(values) => {
                    values.resize(more(values.len()), value.as_u64().unwrap_or_default());
                }
                Values::Reals(values) => {
                    values.resize(more(values.len()), value.as_f64().unwrap_or(f64::NAN));
                }
                Values::Names(values, names) => {
                    values.resize(more(values.len()), number_of(text(value), names, numbers));
                }
                Values::MaybeIntegers(values) => values.resize(more(values.len()), value.as_u64()),
                Values::MaybeReals(values) => values.resize(more(values.len()), value.as_f64()),
                Values::MaybeNames(values, names) => {
                    let number = (!value.is_null()).then(|| number_of(text(value), names, numbers));
                    values.resize(more(values.len()), number);
                }
                _ => unreachable!("columns in front are made by `leading`"),
            }
        }
    }

    fn begin(&self, table: &Table, meaning: &str, meanings: Value) -> io::Result<(TableWriter, File)> {
        let mut columns = Map::new();
        for leading in &LEADING {
            columns.insert(leading.name.into(), json!({ "unit": "", "meaning": leading.meaning }));
        }
        for (column, axis) in table.columns[LEADING.len()..].iter().zip(&self.manifest.axes) {
            let meaning = format!("Value on the axis {axis}.");
            columns.insert(column.name.clone().into_owned(), json!({ "unit": "", "meaning": meaning }));
        }
        if let Value::Object(more) = meanings {
            columns.extend(more);
        }
        let metadata = vec![
            ("narrows.version", env!("CARGO_PKG_VERSION").to_owned()),
            ("narrows.engine", self.manifest.engine.clone()),
            ("narrows.sweep", self.manifest.name.clone()),
            ("narrows.table", meaning.to_owned()),
            ("narrows.columns", Value::Object(columns).to_string()),
        ];
        let file = File::create(self.path(table.name))?;
        Ok((TableWriter::begin(file.try_clone()?, table, metadata)?, file))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.staging.join(format!("{name}.parquet"))
    }

    fn written<T>(&self, result: io::Result<T>) -> Checked<T> {
        result.map_err(|error| Trouble::written(self.store.folder(), &error).into())
    }

    /// A row for each cell: its metrics.
    fn summary(&self, metrics: &Metrics) -> Checked<()> {
        let names: Vec<&str> = metrics.names.iter().map(String::as_str).collect();
        let mut columns = self.leading(&names);
        let mut numbers = Numbers::new();
        for row in self.rows {
            self.lead(&mut columns, &mut numbers, row, 1);
        }
        let mut values = vec![vec![None; self.rows.len()]; names.len()];
        for (row, of_cell) in metrics.values.iter().enumerate() {
            for (number, value) in of_cell {
                values[*number][row] = *value;
            }
        }
        let more = metrics.names.iter().zip(values);
        columns.extend(
            more.map(|(name, values)| Column {
                name: name.clone().into(),
                values: Values::MaybeReals(values),
            }),
        );
        let table = Table { name: SUMMARY, columns };
        let write = || {
            let (mut writer, file) = self.begin(&table, "One row per cell: its metrics.", Value::Null)?;
            writer.write(&table)?;
            writer.finish()?;
            file.sync_all()
        };
        self.written(write())
    }

    /// One table of all cells that have it; false if none has.
    fn table(&self, info: &'static TableInfo) -> Checked<bool> {
        // Mostly all cells have the same columns. Where they do not, this is found on the way, and all are looked at first.
        let Some(of_first) = self.columns(info, true)? else { return Ok(false) };
        if self.write_table(info, of_first, true)? {
            return Ok(true);
        }
        let Some(of_all) = self.columns(info, false)? else { return Ok(false) };
        self.write_table(info, of_all, false)
    }

    /// Writes a table with these columns. If cells must have the `same` columns, it is given up, and false, where one has others.
    fn write_table(&self, info: &'static TableInfo, mut table: Table, same: bool) -> Checked<bool> {
        let front = LEADING.len() + self.manifest.axes.len();
        let mut numbers = Numbers::new();
        let (mut writer, file) = self.written(self.begin(&table, info.meaning, meanings(&table)))?;
        for row in self.rows {
            let Some(reader) = self.open(info, row)? else { continue };
            if same {
                let empty = reader.empty().map_err(|error| self.unreadable(info, row, &error))?;
                let own = table.columns[front..].iter();
                if !own.map(Column::kind).eq(empty.columns.iter().map(Column::kind)) {
                    return Ok(false);
                }
            }
            for group in 0..reader.groups() {
                let part = reader.group(group).map_err(|error| self.unreadable(info, row, &error))?;
                let count = part.rows();
                let (leading, own) = table.columns.split_at_mut(front);
                self.lead(leading, &mut numbers, row, count);
                let mut parts: HashMap<_, _> =
                    part.columns.into_iter().map(|column| (column.name, column.values)).collect();
                for column in own {
                    let fits = match parts.remove(&column.name) {
                        Some(values) => column.values.append(values),
                        None => column.values.append_nothing(count),
                    };
                    if !fits {
                        let problem = format!("the column {} is of another kind", column.name);
                        return Err(self.unreadable(info, row, &problem));
                    }
                }
                if table.rows() >= GROUP {
                    self.written(writer.write(&table))?;
                    table.columns.iter_mut().for_each(|column| column.values.clear());
                    numbers.clear();
                }
            }
        }
        self.written(writer.write(&table))?;
        self.written(writer.finish().and_then(|()| file.sync_all()))?;
        Ok(true)
    }

    /// All columns that some cell has, or the first that has the table, without rows; those that not all have may be missing. None if no
    /// cell has it.
    fn columns(&self, info: &'static TableInfo, first: bool) -> Checked<Option<Table>> {
        let mut own: Vec<(Column, usize)> = Vec::new();
        let mut cells = 0;
        for row in self.rows {
            let Some(reader) = self.open(info, row)? else { continue };
            cells += 1;
            let empty = reader.empty().map_err(|error| self.unreadable(info, row, &error))?;
            for column in empty.columns {
                match own.iter_mut().find(|(known, _)| known.name == column.name) {
                    Some((_, times)) => *times += 1,
                    None => own.push((column, 1)),
                }
            }
            if first {
                break;
            }
        }
        if cells == 0 {
            return Ok(None);
        }
        let place = |name: &str| info.columns.iter().position(|column| column.name == name);
        own.sort_by_key(|(column, _)| place(&column.name).unwrap_or(usize::MAX));
        let names: Vec<&str> = info.columns.iter().map(|column| column.name).collect();
        let mut columns = self.leading(&names);
        columns.extend(own.into_iter().map(|(mut column, times)| {
            if times < cells {
                column.values = column.values.maybe();
            }
            column
        }));
        Ok(Some(Table { name: info.name, columns }))
    }

    fn open(&self, info: &'static TableInfo, row: &Row) -> Checked<Option<TableReader>> {
        let path = self.store.cell(&row.id).join(format!("{}.parquet", info.name));
        if !path.exists() {
            return Ok(None);
        }
        let reader = TableReader::open(info.name, &path, None);
        reader.map(Some).map_err(|error| self.unreadable(info, row, &error))
    }

    fn unreadable(&self, info: &TableInfo, row: &Row, error: &dyn std::fmt::Display) -> Rejection {
        let cell = self.store.cell(&row.id);
        let message = format!("cannot read {}/{}.parquet: {error}", cell.display(), info.name);
        let help = format!("remove {} and start again, and it is run anew", cell.display());
        Diagnostic::error(Code::BadResults, message).help(help).into()
    }
}
