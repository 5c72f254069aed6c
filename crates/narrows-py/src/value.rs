//! Values of Python as values of scenarios, and back.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use toml::Value;

use crate::controller::Controllers;

/// Values within values are read to this depth.
const DEEPEST: usize = 64;

/// What a Python value is in a scenario. Classes of congestion controls in it are taken into `controllers`.
pub(crate) fn to_toml(value: &Bound<'_, PyAny>, controllers: &mut Controllers) -> PyResult<Value> {
    convert(value, 0, controllers)
}

fn convert(value: &Bound<'_, PyAny>, depth: usize, controllers: &mut Controllers) -> PyResult<Value> {
    if depth > DEEPEST {
        return Err(PyValueError::new_err(format!("values are nested deeper than {DEEPEST}")));
    }
    if let Ok(value) = value.cast::<PyBool>() {
        return Ok(Value::Boolean(value.is_true()));
    }
    if value.is_instance_of::<PyInt>() {
        let whole = value.extract::<i64>();
        return whole.map(Value::Integer).map_err(|_| {
            PyValueError::new_err(format!(
                "{value} does not fit 64 bits with a sign, as whole numbers of scenarios do"
            ))
        });
    }
    if let Ok(value) = value.cast::<PyFloat>() {
        return Ok(Value::Float(value.value()));
    }
    if let Ok(value) = value.cast::<PyString>() {
        return Ok(Value::String(value.to_str()?.to_owned()));
    }
    if let Ok(dict) = value.cast::<PyDict>() {
        let mut table = toml::Table::new();
        for (key, value) in dict {
            let Ok(key) = key.cast::<PyString>() else {
                let message = format!("keys of a table of a scenario are strings, found {}", key.repr()?);
                return Err(PyTypeError::new_err(message));
            };
            table.insert(key.to_str()?.to_owned(), convert(&value, depth + 1, controllers)?);
        }
        return Ok(Value::Table(table));
    }
    if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        let values = value.try_iter()?.map(|value| convert(&value?, depth + 1, controllers));
        return values.collect::<PyResult<_>>().map(Value::Array);
    }
    if let Some(control) = controllers.in_scenario(value)? {
        return Ok(control);
    }
    // Numbers of numpy and its kin give their Python value.
    if let Ok(inner) = value.call_method0("item") {
        return convert(&inner, depth + 1, controllers);
    }
    let kind = value.get_type().name()?;
    let accepted = "a string (quantities too: \"5 ms\"), a number, True or False, a list or a dict";
    Err(PyTypeError::new_err(format!("a value of a scenario cannot be a {kind}, expected {accepted}")))
}

/// A value of a scenario in Python.
pub(crate) fn from_toml<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::String(text) => text.into_pyobject(py)?.into_any(),
        Value::Integer(number) => number.into_pyobject(py)?.into_any(),
        Value::Float(number) => number.into_pyobject(py)?.into_any(),
        Value::Boolean(truth) => truth.into_pyobject(py)?.to_owned().into_any(),
        Value::Datetime(time) => time.to_string().into_pyobject(py)?.into_any(),
        Value::Array(values) => {
            let values = values.iter().map(|value| from_toml(py, value)).collect::<PyResult<Vec<_>>>()?;
            PyList::new(py, values)?.into_any()
        }
        Value::Table(table) => {
            let dict = PyDict::new(py);
            for (key, value) in table {
                dict.set_item(key, from_toml(py, value)?)?;
            }
            dict.into_any()
        }
    })
}

/// A JSON value in Python.
pub(crate) fn from_json<'py>(py: Python<'py>, value: &serde_json::Value) -> PyResult<Bound<'py, PyAny>> {
    py.import("json")?.call_method1("loads", (value.to_string(),))
}
