//! A sweep that is read back from its folder.

use std::path::{Path, PathBuf};

use narrows::diagnostic::{Code, Diagnostic, Rejection};
use narrows::sweep;
use pyo3::prelude::*;

use crate::error::{OrRaise, raise};
use crate::points::PointSummary;

/// The sweep in a folder: its points that have a cell, how many cells there are to be, and how many there are.
#[pyfunction]
pub(crate) fn load_sweep(py: Python<'_>, folder: PathBuf) -> PyResult<(Vec<PointSummary>, usize, usize)> {
    let found = py.detach(|| sweep::Found::read(&folder)).or_raise()?;
    let found = found.ok_or_else(|| raise(&no_sweep(&folder)))?;
    let (there, absent) = (found.cells.len(), found.absent.len());
    let point = |summary: sweep::PointSummary| {
        let cells = found.cells.iter().filter(|cell| cell.point == summary.point);
        let cells = cells.map(|cell| cell.id.clone()).collect();
        PointSummary { axes: found.manifest.axes.clone(), cells, summary }
    };
    Ok((found.points.iter().cloned().map(point).collect(), there + absent, there))
}

fn no_sweep(folder: &Path) -> Rejection {
    let message = format!("{} holds no sweep", folder.display());
    let help = "narrows.Results.load reads the folder of a run";
    Diagnostic::error(Code::NoResults, message).help(help).into()
}
