//! Values of Python as values of scenarios, and back.

use narrows_proto::units::{BitRate, Bytes, Span};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use serde_json::{Map, Number, Value as Json};
use toml::Value;

use crate::controller::Controllers;

/// Values within values are read to this depth.
const DEEPEST: usize = 64;

/// A Python value as a value of a scenario, in TOML. Classes of congestion controls in it are taken into `controllers`.
pub(crate) fn to_toml(value: &Bound<'_, PyAny>, controllers: &mut Controllers) -> PyResult<Value> {
    Value::try_from(to_json(value, controllers)?).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// The same as JSON; keys keep their order.
pub(crate) fn to_json(value: &Bound<'_, PyAny>, controllers: &mut Controllers) -> PyResult<Json> {
    convert(value, 0, controllers)
}

fn convert(value: &Bound<'_, PyAny>, depth: usize, controllers: &mut Controllers) -> PyResult<Json> {
    if depth > DEEPEST {
        return Err(PyValueError::new_err(format!("values are nested deeper than {DEEPEST}")));
    }
    if let Ok(value) = value.cast::<PyBool>() {
        return Ok(Json::Bool(value.is_true()));
    }
    if value.is_instance_of::<PyInt>() {
        let whole = value.extract::<i64>();
        return whole.map(Json::from).map_err(|_| {
            PyValueError::new_err(format!(
                "{value} does not fit 64 bits with a sign, as whole numbers of scenarios do"
            ))
        });
    }
    if let Ok(value) = value.cast::<PyFloat>() {
        let number = Number::from_f64(value.value());
        return number
            .map(Json::Number)
            .ok_or_else(|| PyValueError::new_err(format!("no setting of a scenario can be {value}")));
    }
    if let Ok(value) = value.cast::<PyString>() {
        return Ok(Json::String(value.to_str()?.to_owned()));
    }
    if let Ok(dict) = value.cast::<PyDict>() {
        let mut table = Map::new();
        for (key, value) in dict {
            let Ok(key) = key.cast::<PyString>() else {
                let message = format!("keys of a table of a scenario are strings, found {}", key.repr()?);
                return Err(PyTypeError::new_err(message));
            };
            table.insert(key.to_str()?.to_owned(), convert(&value, depth + 1, controllers)?);
        }
        return Ok(Json::Object(table));
    }
    if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        let values = value.try_iter()?.map(|value| convert(&value?, depth + 1, controllers));
        return values.collect::<PyResult<_>>().map(Json::Array);
    }
    if let Some(control) = controllers.in_scenario(value)? {
        return Ok(control);
    }
    // Numbers, arrays and series of numpy, pandas and polars give their Python values.
    if let Some(inner) = ["tolist", "to_list"].into_iter().find_map(|list| value.call_method0(list).ok()) {
        return convert(&inner, depth + 1, controllers);
    }
    let kind = value.get_type().name()?;
    let accepted = "a string (quantities too: \"5 ms\"), a number, True or False, a list or a dict";
    Err(PyTypeError::new_err(format!("a value of a scenario cannot be a {kind}, expected {accepted}")))
}

/// The entries of a dict, in their order.
pub(crate) fn to_map(dict: &Bound<'_, PyDict>, controllers: &mut Controllers) -> PyResult<Map<String, Json>> {
    match to_json(dict, controllers)? {
        Json::Object(map) => Ok(map),
        _ => Ok(Map::new()),
    }
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
pub(crate) fn from_json<'py>(py: Python<'py>, value: &Json) -> PyResult<Bound<'py, PyAny>> {
    py.import("json")?.call_method1("loads", (value.to_string(),))
}

/// A time, a size or a rate as a whole number of its smallest unit, and that unit.
#[pyfunction]
pub(crate) fn quantity(text: &str) -> PyResult<(u64, &'static str)> {
    if let Ok(span) = text.parse::<Span>() {
        return Ok((span.as_ps(), "ps"));
    }
    if let Ok(bytes) = text.parse::<Bytes>() {
        return Ok((bytes.get(), "B"));
    }
    match text.parse::<BitRate>() {
        Ok(rate) => Ok((rate.as_bps(), "b/s")),
        Err(_) => Err(PyValueError::new_err(format!(
            "found \"{text}\", expected a time (\"5 ms\"), a size (\"100 kB\") or a rate (\"10 Gb/s\")"
        ))),
    }
}
