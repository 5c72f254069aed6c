//! The Python package `narrows`. Conversions only: what it does is in the crate `narrows`, what is easier said in Python in
//! `python/narrows`.
#![expect(clippy::needless_pass_by_value, reason = "arguments come from Python by value")]

mod controller;
mod error;
mod network;
mod points;
mod reproduction;
mod results;
mod running;
mod scenario;
mod stored_sweep;
mod sweep;
mod table;
mod value;

use std::ffi::OsString;

use pyo3::prelude::*;

/// The part of `python/narrows` in Rust.
#[pymodule]
mod _narrows {
    #[pymodule_export]
    use super::controller::facts::{Ack, Congestion, Hop, Limit, Path, Telemetry};
    #[pymodule_export]
    use super::error::{Diagnostic, Error, NarrowsWarning};
    #[pymodule_export]
    use super::main;
    #[pymodule_export]
    use super::network::{Event, Message, Network};
    #[pymodule_export]
    use super::points::{Estimate, PointSummary, sweep_table};
    #[pymodule_export]
    use super::reproduction::{Reproduction, papers};
    #[pymodule_export]
    use super::results::{
        Results, comparison_html, comparison_report, comparison_text, distributions, folder_report, interval,
    };
    #[pymodule_export]
    use super::running::{reproduce, run};
    #[pymodule_export]
    use super::scenario::{Check, Scenario};
    #[pymodule_export]
    use super::stored_sweep::load_sweep;
    #[pymodule_export]
    use super::sweep::{Campaign, Sweep, nearest, run_task};
    #[pymodule_export]
    use super::table::{Column, Table};

    #[pymodule_export]
    use super::value::quantity;

    #[pymodule_init]
    fn init(module: &pyo3::Bound<'_, pyo3::types::PyModule>) -> pyo3::PyResult<()> {
        use pyo3::types::{PyAnyMethods, PyModuleMethods, PyTuple};
        let py = module.py();
        // Those that are raised in Python have a text only.
        py.get_type::<Error>().setattr("diagnostics", PyTuple::empty(py))?;
        py.get_type::<NarrowsWarning>().setattr("diagnostic", py.None())?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("ENGINE", narrows::ENGINE)
    }
}

/// The command `narrows`; answers with its exit code.
#[pyfunction]
fn main(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| narrows_cli::main(arguments).code())
}
