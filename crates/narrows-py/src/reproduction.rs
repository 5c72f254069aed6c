//! Reproductions of papers.

use std::path::PathBuf;

use narrows::repro;
use narrows::results::Output;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::error::OrRaise;
use crate::value::from_json;

/// Results of repeating the experiments of a paper.
#[pyclass(module = "narrows", frozen)]
#[derive(Debug)]
pub(crate) struct Reproduction {
    reproduction: repro::Reproduction,
}

impl Reproduction {
    pub(crate) fn of(reproduction: repro::Reproduction) -> Self {
        Self { reproduction }
    }
}

#[pymethods]
impl Reproduction {
    /// All claims with what the paper reports and what was measured, as `claims.json` holds them.
    #[getter]
    fn claims<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        from_json(py, &self.reproduction.to_json()["claims"])
    }

    /// Everything that stands in `claims.json`.
    #[getter]
    fn info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        from_json(py, &self.reproduction.to_json())
    }

    /// Number of claims of the paper by verdict: "match", "calibrated", "shape", "explained", "open", "miss".
    #[getter]
    fn tally<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let tally = self.reproduction.tally();
        let counts = PyDict::new(py);
        for (verdict, count) in tally.counts() {
            counts.set_item(verdict.name(), count)?;
        }
        Ok(counts)
    }

    /// Figures and tables with their claims and the points of their charts.
    #[getter]
    fn figures<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        from_json(py, &self.reproduction.figures_json())
    }

    /// The page in Markdown.
    fn markdown(&self) -> String {
        self.reproduction.markdown()
    }

    /// Writes a folder as `narrows repro` does: report.html, report.md, claims.json, measured.json, scenarios.
    #[pyo3(signature = (folder, *, overwrite=false))]
    fn save(&self, py: Python<'_>, folder: PathBuf, overwrite: bool) -> PyResult<()> {
        py.detach(|| {
            let output = Output::begin(&folder, overwrite)?;
            self.reproduction.write(&output)?;
            output.finish()
        })
        .or_raise()
    }

    fn __repr__(&self) -> String {
        format!("{}\n{}", narrows_cli::show::claims(&self.reproduction), self.reproduction.score())
    }
}

/// Names and titles of the papers that can be repeated.
#[pyfunction]
pub(crate) fn papers() -> Vec<(String, String)> {
    repro::papers().map(|paper| (paper.name, paper.title)).collect()
}
