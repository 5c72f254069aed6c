//! Points of a sweep: their values, and estimates of their metrics.

use narrows::{statistics, sweep};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Map, Value};

use crate::value::from_json;

/// Estimate of a metric from the runs of a point.
#[pyclass(module = "narrows", frozen)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Estimate(statistics::Estimate);

#[pymethods]
impl Estimate {
    /// The central value: the geometric mean if all runs have more than 0, the arithmetic mean otherwise.
    #[getter]
    fn mean(&self) -> f64 {
        self.0.mean
    }

    /// The bounds of its 95 % confidence interval; None with fewer than three runs, and if one has 0.
    #[getter]
    fn interval(&self) -> Option<(f64, f64)> {
        self.0.interval
    }

    /// The lower bound; None if there is no interval.
    #[getter]
    fn low(&self) -> Option<f64> {
        Some(self.0.interval?.0)
    }

    /// The upper bound; None if there is no interval.
    #[getter]
    fn high(&self) -> Option<f64> {
        Some(self.0.interval?.1)
    }

    /// The smallest and the largest value of a run.
    #[getter]
    fn range(&self) -> (f64, f64) {
        self.0.range
    }

    /// Number of runs.
    #[getter]
    fn samples(&self) -> usize {
        self.0.samples
    }

    fn __float__(&self) -> f64 {
        self.0.mean
    }

    fn __repr__(&self) -> String {
        narrows::numbers::with_interval(Some(&self.0), "")
    }
}

/// A point of the grid: its values, its cells, and what they measured.
#[pyclass(module = "narrows", frozen)]
#[derive(Debug)]
pub(crate) struct PointSummary {
    pub(crate) axes: Vec<String>,
    /// Ids of its cells, by seed.
    #[pyo3(get)]
    pub(crate) cells: Vec<String>,
    pub(crate) summary: sweep::PointSummary,
}

#[pymethods]
impl PointSummary {
    /// Its value on each axis.
    #[getter]
    fn values<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let values = self.axes.iter().cloned().zip(self.summary.values.iter().cloned());
        from_json(py, &Value::Object(values.collect::<Map<_, _>>()))
    }

    /// Its metrics over all seeds; None if there was nothing to take one of.
    #[getter]
    fn metrics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let metrics = PyDict::new(py);
        for (name, estimate) in &self.summary.metrics {
            metrics.set_item(name, estimate.map(Estimate))?;
        }
        Ok(metrics)
    }

    /// Marks of metrics that are less certain than their digits, such as "†‡"; those without one are not in it.
    #[getter]
    fn marks<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let marks = PyDict::new(py);
        for (name, _) in &self.summary.marks {
            marks.set_item(name, self.summary.marks(name).text())?;
        }
        Ok(marks)
    }

    fn __repr__(&self) -> String {
        let values = self.axes.iter().zip(&self.summary.values);
        let values: Vec<_> = values.map(|(axis, value)| format!("{axis} = {value}")).collect();
        format!("<point {}, {} seeds>", values.join(", "), self.cells.len())
    }
}

/// The number of a point, a traffic group, and its metrics as texts.
type GroupRow = (usize, String, Vec<String>);

/// The points of a sweep as the command shows them: names of metrics, for each traffic group of each point the number of
/// the point, the group, and its metrics as texts, and the meaning of marks in these.
#[pyfunction]
pub(crate) fn sweep_table(points: Vec<PyRef<'_, PointSummary>>) -> (Vec<String>, Vec<GroupRow>, Vec<String>) {
    let points: Vec<_> = points.iter().map(|point| point.summary.clone()).collect();
    let table = sweep::overview(&points, None);
    let legend = table.legend();
    let text = |(estimate, marks): (&Option<_>, &narrows::metrics::Marks)| {
        narrows::numbers::with_interval(estimate.as_ref(), &marks.text())
    };
    let row = |row: sweep::OverviewRow| {
        (row.point, row.group, row.values.iter().zip(&row.uncertain).map(text).collect())
    };
    (table.metrics, table.rows.into_iter().map(row).collect(), legend)
}
