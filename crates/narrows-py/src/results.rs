//! Results of runs: in memory, or in a folder.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use narrows::diagnostic::{Code, Diagnostic as Found};
use narrows::report::{self, Cell, Digest};
use narrows::results::{self, Output, Staged, Stored, TABLES, TableInfo, without_seed};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyType;
use serde_json::Value;

use crate::error::{Diagnostic, OrRaise, raise};
use crate::table::Table;
use crate::value::from_json;

/// The results of one run.
#[pyclass(module = "narrows", frozen)]
#[derive(Debug)]
pub(crate) struct Results {
    kept: Arc<Kept>,
    summary: Value,
}

/// Where they are.
#[derive(Debug)]
enum Kept {
    Here(Box<results::Results>),
    Folder(Stored),
}

impl Results {
    /// Of a run that has just ended.
    pub(crate) fn of(results: results::Results) -> Self {
        let summary = results.to_json();
        Self { kept: Arc::new(Kept::Here(Box::new(results))), summary }
    }

    /// The digest that pages show; with records over time only `in_full`.
    fn digest(&self, in_full: bool) -> PyResult<Digest> {
        match (&*self.kept, in_full) {
            (Kept::Here(results), true) => Digest::of(results.as_ref()),
            (Kept::Here(results), false) => Digest::brief(results.as_ref()),
            (Kept::Folder(stored), true) => Digest::of(stored),
            (Kept::Folder(stored), false) => Digest::brief(stored),
        }
        .or_raise()
    }

    /// It alone, side by side with nothing.
    fn cell(&self) -> PyResult<Cell> {
        Ok(Cell { name: self.name().to_owned(), runs: vec![self.digest(false)?] })
    }

    fn object<'py>(&self, py: Python<'py>, key: &str) -> PyResult<Bound<'py, PyAny>> {
        from_json(py, self.summary.get(key).unwrap_or(&Value::Null))
    }
}

#[pymethods]
impl Results {
    /// Reads the folder of a run, as `save` and `narrows run` write it.
    #[classmethod]
    fn load(_: &Bound<'_, PyType>, folder: PathBuf) -> PyResult<Self> {
        let stored = Stored::open(&folder).or_raise()?;
        Ok(Self { summary: stored.summary.clone(), kept: Arc::new(Kept::Folder(stored)) })
    }

    /// Metrics by name; None if there is nothing to take one of. `narrows list metrics` says what they are.
    #[getter]
    fn summary<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.object(py, "metrics")
    }

    /// Events, and how often they happened.
    #[getter]
    fn activity<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.object(py, "activity")
    }

    /// Everything that stands in `run.json`.
    #[getter]
    fn info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        from_json(py, &self.summary)
    }

    /// Suspicious settings, traffic that was stopped for too long, goodput that still trends, and percentiles that are uncertain.
    #[getter]
    fn warnings(&self) -> Vec<Diagnostic> {
        if let Kept::Here(results) = &*self.kept {
            return results.plan.warnings.iter().chain(results.doubts()).map(Diagnostic::from).collect();
        }
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let coded = |key: &str| {
            let list = self.summary[key].as_array().into_iter().flatten();
            list.filter_map(|warning| Some((text(&warning["code"])?, text(&warning["message"])?)))
        };
        let held_up = text(&self.summary["held_up"]).map(|message| (Code::HeldUp.name().to_owned(), message));
        let trends = self.summary["trends"].as_array().into_iter().flatten();
        let trends = trends.filter_map(|trend| Some((Code::NotSettled.name().to_owned(), text(trend)?)));
        coded("warnings")
            .chain(held_up)
            .chain(trends)
            .chain(coded("remarks"))
            .map(|(code, message)| Diagnostic::warning(&code, &message))
            .collect()
    }

    /// The seed of the run.
    #[getter]
    fn seed(&self) -> u64 {
        self.summary["seed"].as_u64().unwrap_or_default()
    }

    /// The name of the scenario.
    #[getter]
    fn name(&self) -> &str {
        self.summary["scenario"].as_str().unwrap_or_default()
    }

    /// The run was not interrupted.
    #[getter]
    fn complete(&self) -> bool {
        self.summary["complete"].as_bool().unwrap_or_default()
    }

    /// The scenario as it was run, as TOML with every setting. Files that it names are in inputs/ of the folder of the results.
    #[getter]
    fn scenario(&self) -> &str {
        match &*self.kept {
            Kept::Here(results) => &results.plan.text,
            Kept::Folder(stored) => &stored.scenario,
        }
    }

    /// Names of the tables there are.
    #[getter]
    fn table_names(&self) -> Vec<&'static str> {
        match &*self.kept {
            Kept::Here(results) => results.tables().iter().map(|table| table.name).collect(),
            Kept::Folder(stored) => {
                let there = |name: &&str| stored.folder.join(format!("{name}.parquet")).exists();
                TABLES.iter().map(|table| table.name).filter(there).collect()
            }
        }
    }

    /// A table by name: "flows" is always there, "queues", "links", "windows" and others if they were recorded.
    /// `narrows list tables` has them all.
    fn table(&self, py: Python<'_>, name: &str) -> PyResult<Table> {
        let Some(info) = TableInfo::find(name) else {
            let unknown = Found::error(Code::UnknownName, format!("no table is called \"{name}\""));
            return Err(raise(&unknown.known(name, TABLES.iter().map(|table| table.name)).into()));
        };
        let table = py.detach(|| match &*self.kept {
            Kept::Here(results) => Ok(results.table(info.name)),
            Kept::Folder(stored) => stored.table(info.name, None),
        });
        match table.or_raise()? {
            Some(table) => Table::of(table),
            None => {
                let message = format!("these results have no table {name}: {}", info.present);
                let help = format!("there are: {}", self.table_names().join(", "));
                Err(raise(&Found::error(Code::NotRecorded, message).help(help).into()))
            }
        }
    }

    /// All flows that started.
    #[getter]
    fn flows(&self, py: Python<'_>) -> PyResult<Table> {
        self.table(py, "flows")
    }

    /// Writes a folder as `narrows run` does: tables as Parquet files, run.json, scenario.toml with the files that it names in inputs/, report.html.
    #[pyo3(signature = (folder, *, overwrite=false))]
    fn save(&self, py: Python<'_>, folder: PathBuf, overwrite: bool) -> PyResult<()> {
        let Kept::Here(results) = &*self.kept else {
            let message = "these results are in a folder already";
            return Err(raise(&Found::error(Code::OutputFailed, message).help("copy the folder").into()));
        };
        py.detach(|| {
            let output = Output::begin(&folder, overwrite)?;
            output.write(results, "")?;
            output.write_text("", "report.html", &report::page_of_run(&Digest::of(results.as_ref())?))?;
            output.finish()
        })
        .or_raise()
    }

    /// Writes the report, a page that opens in any browser.
    #[pyo3(signature = (path, *, overwrite=false))]
    fn report(&self, py: Python<'_>, path: PathBuf, overwrite: bool) -> PyResult<()> {
        py.detach(|| write(&path, &report::page_of_run(&self.digest(true)?), overwrite))
    }

    fn __repr__(&self) -> PyResult<String> {
        let cells = [self.cell()?];
        let summary = narrows_cli::show::summary(&cells, &report::summarize(&cells), false);
        Ok(format!("{} · seed {}\n{summary}", self.name(), self.seed()))
    }

    fn _repr_html_(&self) -> PyResult<String> {
        Ok(html(&[self.cell()?]))
    }
}

/// Several runs side by side, each cell with its seeds: what they have to show as JSON.
#[pyfunction]
pub(crate) fn distributions<'py>(
    py: Python<'py>,
    runs: Vec<PyRef<'py, Results>>,
) -> PyResult<Bound<'py, PyAny>> {
    let runs = runs.iter().map(|run| run.digest(false)).collect::<PyResult<_>>()?;
    from_json(py, &of_one_scenario(String::new(), runs)?.distributions())
}

/// A table of what several cells measured, each with a name and its runs, as HTML.
#[pyfunction]
pub(crate) fn comparison_html(cells: Vec<(String, Vec<PyRef<'_, Results>>)>) -> PyResult<String> {
    Ok(html(&cells_of(cells, false)?))
}

/// Metrics of several cells, each with a name and its runs, as text: a table, what differs, and what that changes.
#[pyfunction]
pub(crate) fn comparison_text(cells: Vec<(String, Vec<PyRef<'_, Results>>)>) -> PyResult<String> {
    let cells = cells_of(cells, false)?;
    let summary = report::summarize(&cells);
    let opening = narrows_cli::show::opening(&report::Opening::of(&cells, &summary));
    Ok(narrows_cli::show::summary(&cells, &summary, false) + &opening)
}

/// Writes the report of several cells, each with a name and its runs.
#[pyfunction]
pub(crate) fn comparison_report(
    title: &str,
    cells: Vec<(String, Vec<PyRef<'_, Results>>)>,
    path: PathBuf,
    overwrite: bool,
) -> PyResult<()> {
    write(&path, &report::page(title, &cells_of(cells, true)?), overwrite)
}

/// Writes the page of what folders hold, as `narrows report` does, and says where it is.
#[pyfunction]
pub(crate) fn folder_report(
    py: Python<'_>,
    folders: Vec<PathBuf>,
    out: Option<PathBuf>,
    metrics: Vec<String>,
    by: Option<String>,
    overwrite: bool,
) -> PyResult<PathBuf> {
    let choice = report::SweepOptions { metrics, by, ..Default::default() };
    py.detach(|| narrows_cli::make_report(&folders, out.as_deref(), overwrite, choice)).or_raise()
}

/// Of each cell the first run may be in full.
fn cells_of(cells: Vec<(String, Vec<PyRef<'_, Results>>)>, in_full: bool) -> PyResult<Vec<Cell>> {
    let cell = |(name, runs): (String, Vec<PyRef<'_, Results>>)| {
        let digests = runs.iter().enumerate().map(|(number, run)| run.digest(in_full && number == 0));
        of_one_scenario(name, digests.collect::<PyResult<_>>()?)
    };
    cells.into_iter().map(cell).collect()
}

/// Runs that are taken for seeds of one scenario have to be that.
fn of_one_scenario(name: String, runs: Vec<Digest>) -> PyResult<Cell> {
    let mut scenarios = runs.iter().map(|run| without_seed(&run.text));
    let first = scenarios.next();
    if scenarios.any(|other| Some(&other) != first.as_ref()) {
        let what = if name.is_empty() { String::new() } else { format!("{name}: ") };
        let message = format!(
            "{what}these runs are not seeds of one scenario; give a dict with a list of runs for each scenario"
        );
        return Err(PyValueError::new_err(message));
    }
    Ok(Cell { name, runs })
}

fn write(path: &Path, page: &str, overwrite: bool) -> PyResult<()> {
    let put = Staged::file(path, overwrite).and_then(|staged| staged.write(page));
    put.map_err(|found| raise(&found.into()))
}

/// Metrics of cells, as a table of a notebook.
fn html(cells: &[Cell]) -> String {
    let escaped = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let summary = report::summarize(cells);
    let below: String = summary.legend().iter().map(|line| format!("<div>{}</div>", escaped(line))).collect();
    let report::Summary(groups) = summary;
    let mut rows = String::new();
    for group in &groups {
        for (number, row) in group.rows.iter().enumerate() {
            let name = if number == 0 { escaped(&group.name) } else { String::new() };
            rows += &format!(
                "<tr><th style=\"text-align:left\">{name}</th><td style=\"text-align:left\">{}</td>",
                escaped(row.label)
            );
            for (value, marks) in row.values.iter().zip(&row.uncertain) {
                let value = narrows::numbers::with_interval(value.as_ref(), &marks.text());
                rows += &format!("<td style=\"text-align:right\">{}</td>", escaped(&value));
            }
            rows += "</tr>";
        }
    }
    let names: String = cells.iter().map(|cell| format!("<th>{}</th>", escaped(&cell.name))).collect();
    format!("<table><thead><tr><th></th><th></th>{names}</tr></thead><tbody>{rows}</tbody></table>{below}")
}

/// The central value of samples and the bounds of its 95 % confidence interval, if it has one; of a metric they end at what it can be.
#[pyfunction]
#[pyo3(signature = (values, metric=None))]
pub(crate) fn interval(values: Vec<f64>, metric: Option<&str>) -> Option<(f64, Option<(f64, f64)>)> {
    let found = match metric {
        Some(metric) => narrows::metrics::estimate(metric, &values),
        None => narrows::statistics::estimate(&values),
    };
    found.map(|estimate| (estimate.mean, estimate.interval))
}
