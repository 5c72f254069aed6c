//! Tables of results as Arrow data, which other libraries take without a copy.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::ffi::FFI_ArrowSchema;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{Float64Type, UInt32Type, UInt64Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, DictionaryArray, Float64Array, RecordBatch, RecordBatchIterator,
    StringArray, UInt32Array, UInt64Array,
};
use arrow_schema::{DataType, Field, Schema};
use narrows::diagnostic::nearest;
use narrows::results::{self, TableInfo, Values};
use pyo3::exceptions::{PyKeyError, PyModuleNotFoundError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};

/// A table of results.
///
/// polars, pandas, pyarrow, DuckDB and whatever else reads Arrow data take it as it is, without a copy.
/// A column is `table["fct_ps"]`, and an array of numpy is `numpy.asarray(table["fct_ps"])`.
#[pyclass(module = "narrows", frozen)]
#[derive(Debug)]
pub(crate) struct Table {
    /// Its name.
    #[pyo3(get)]
    name: String,
    batch: RecordBatch,
}

/// A column of a table.
#[pyclass(module = "narrows", frozen)]
#[derive(Debug)]
pub(crate) struct Column {
    field: Arc<Field>,
    array: ArrayRef,
}

impl Table {
    /// Takes over the values of a table.
    pub(crate) fn of(table: results::Table) -> PyResult<Self> {
        let info = TableInfo::find(table.name);
        let mut fields = Vec::new();
        let mut arrays: Vec<ArrayRef> = Vec::new();
        for column in table.columns {
            let optional = column.values.is_optional();
            let array = array_of(column.values)?;
            let mut field = Field::new(column.name.as_ref(), array.data_type().clone(), optional);
            if let Some(about) = info.and_then(|info| info.column(&column.name)) {
                let about = [("unit", about.unit), ("meaning", about.meaning)];
                field.set_metadata(HashMap::from(
                    about.map(|(key, value)| (key.to_owned(), value.to_owned())),
                ));
            }
            fields.push(field);
            arrays.push(array);
        }
        let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).map_err(broken)?;
        Ok(Self { name: table.name.to_owned(), batch })
    }
}

fn array_of(values: Values) -> PyResult<ArrayRef> {
    let dictionary = |keys: UInt32Array, names: Vec<String>| {
        DictionaryArray::try_new(keys, Arc::new(StringArray::from(names))).map_err(broken)
    };
    Ok(match values {
        Values::Integers(values) => Arc::new(UInt64Array::from(values)),
        Values::MaybeIntegers(values) => Arc::new(UInt64Array::from(values)),
        Values::Reals(values) => Arc::new(Float64Array::from(values)),
        Values::MaybeReals(values) => Arc::new(Float64Array::from(values)),
        Values::Flags(values) => Arc::new(BooleanArray::from(values)),
        Values::Names(values, names) => Arc::new(dictionary(UInt32Array::from(values), names)?),
        Values::MaybeNames(values, names) => Arc::new(dictionary(UInt32Array::from(values), names)?),
    })
}

fn broken(error: impl std::fmt::Display) -> PyErr {
    PyRuntimeError::new_err(error.to_string())
}

#[pymethods]
impl Table {
    /// Names of the columns.
    #[getter]
    fn column_names(&self) -> Vec<&str> {
        self.batch.schema_ref().fields().iter().map(|field| field.name().as_str()).collect()
    }

    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    fn __contains__(&self, name: &str) -> bool {
        self.batch.column_by_name(name).is_some()
    }

    fn __getitem__(&self, name: &str) -> PyResult<Column> {
        let schema = self.batch.schema_ref();
        let Some((index, field)) = schema.fields().find(name) else {
            let names = self.column_names();
            let near = nearest(name, names.iter().copied())
                .map_or_else(String::new, |near| format!(", did you mean \"{near}\"?"));
            let message = format!(
                "the table {} has no column \"{name}\"{near} It has: {}",
                self.name,
                names.join(", ")
            );
            return Err(PyKeyError::new_err(message));
        };
        Ok(Column { field: Arc::clone(field), array: Arc::clone(self.batch.column(index)) })
    }

    /// Its rows as a stream of Arrow data (Arrow PyCapsule interface).
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema; // a wish, which may be left unfulfilled
        let reader = RecordBatchIterator::new([Ok(self.batch.clone())], self.batch.schema());
        let stream = FFI_ArrowArrayStream::new(Box::new(reader));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    /// Its columns and their types (Arrow PyCapsule interface).
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.batch.schema_ref().as_ref()).map_err(broken)?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    /// It as a table of pyarrow.
    fn to_pyarrow<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        import(slf.py(), "pyarrow")?.call_method1("table", (slf,))
    }

    /// It as a data frame of polars.
    fn to_polars<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        import(slf.py(), "polars")?.call_method1("DataFrame", (slf,))
    }

    /// It as a data frame of pandas. Names are categories; columns in which some may be missing are real numbers, with NaN.
    fn to_pandas<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let pandas = import(py, "pandas")?;
        let columns = PyDict::new(py);
        for name in self.column_names() {
            let column = self.__getitem__(name)?;
            let values = match column.array.as_dictionary_opt::<UInt32Type>() {
                None => column.to_numpy(py)?,
                Some(dictionary) => {
                    let codes: Vec<_> =
                        dictionary.keys().iter().map(|key| key.map_or(-1, i64::from)).collect();
                    let names: Vec<_> = dictionary.values().as_string::<i32>().iter().collect();
                    pandas.getattr("Categorical")?.call_method1("from_codes", (codes, names))?
                }
            };
            columns.set_item(name, values)?;
        }
        pandas.call_method1("DataFrame", (columns,))
    }

    /// It as a dict of arrays of numpy.
    fn to_numpy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let arrays = PyDict::new(py);
        for name in self.column_names() {
            arrays.set_item(name, self.__getitem__(name)?.to_numpy(py)?)?;
        }
        Ok(arrays)
    }

    fn __repr__(&self) -> String {
        format!("<Table {}, {} rows: {}>", self.name, self.batch.num_rows(), self.column_names().join(", "))
    }
}

#[pymethods]
impl Column {
    /// Its name.
    #[getter]
    fn name(&self) -> &str {
        self.field.name()
    }

    /// The unit of its values; empty for counts, fractions and names.
    #[getter]
    fn unit(&self) -> &str {
        self.field.metadata().get("unit").map_or("", String::as_str)
    }

    /// Meaning of its values.
    #[getter]
    fn meaning(&self) -> &str {
        self.field.metadata().get("meaning").map_or("", String::as_str)
    }

    fn __len__(&self) -> usize {
        self.array.len()
    }

    /// Its values as Arrow data (Arrow PyCapsule interface).
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        let _ = requested_schema;
        let schema = FFI_ArrowSchema::try_from(self.field.as_ref()).map_err(broken)?;
        let array = arrow_array::ffi::FFI_ArrowArray::new(&self.array.to_data());
        let schema = PyCapsule::new_with_value(py, schema, c"arrow_schema")?;
        Ok((schema, PyCapsule::new_with_value(py, array, c"arrow_array")?))
    }

    /// Where its numbers are, for numpy; only of a column in which none is missing.
    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (address, kind) = match self.array.data_type() {
            DataType::UInt64 if !self.field.is_nullable() => {
                (self.array.as_primitive::<UInt64Type>().values().inner().as_ptr(), "<u8")
            }
            DataType::Float64 if !self.field.is_nullable() => {
                (self.array.as_primitive::<Float64Type>().values().inner().as_ptr(), "<f8")
            }
            _ => return Err(pyo3::exceptions::PyAttributeError::new_err("__array_interface__")),
        };
        let interface = PyDict::new(py);
        interface.set_item("version", 3)?;
        interface.set_item("shape", (self.array.len(),))?;
        interface.set_item("typestr", kind)?;
        interface.set_item("data", (address as usize, true))?;
        Ok(interface)
    }

    #[pyo3(signature = (dtype=None, copy=None))]
    fn __array__<'py>(
        &self,
        py: Python<'py>,
        dtype: Option<&Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let _ = copy; // numpy asks for this only where a copy cannot be avoided
        let array = self.to_numpy(py)?;
        match dtype {
            Some(dtype) => array.call_method1("astype", (dtype,)),
            None => Ok(array),
        }
    }

    /// Its values as an array of numpy: numbers without a copy and read-only; if some may be missing real numbers with NaN in their
    /// place; names as objects.
    fn to_numpy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let numpy = import(py, "numpy")?;
        let of = |values: Py<PyAny>, kind: &str| numpy.call_method1("array", (values, kind));
        match self.array.data_type() {
            DataType::Boolean => {
                let values: Vec<_> = self.array.as_boolean().values().iter().collect();
                of(values.into_pyobject(py)?.unbind(), "bool")
            }
            DataType::UInt64 if self.field.is_nullable() => {
                let values = self.array.as_primitive::<UInt64Type>();
                let real = |value: Option<u64>| value.map_or(f64::NAN, |value| value as f64);
                reals(py, values.iter().map(real).collect())
            }
            DataType::Float64 if self.field.is_nullable() => {
                let values = self.array.as_primitive::<Float64Type>();
                reals(py, values.iter().map(|value| value.unwrap_or(f64::NAN)).collect())
            }
            DataType::Dictionary(..) => {
                let dictionary = self.array.as_dictionary::<UInt32Type>();
                let names: Vec<_> = dictionary.values().as_string::<i32>().iter().collect();
                let names = of(names.into_pyobject(py)?.unbind(), "object")?;
                let keys: Arc<UInt32Array> = Arc::new(dictionary.keys().clone());
                let keys: Vec<u32> = keys.values().to_vec();
                names.get_item(of(keys.into_pyobject(py)?.unbind(), "intp")?)
            }
            _ => {
                let holder =
                    Py::new(py, Self { field: Arc::clone(&self.field), array: Arc::clone(&self.array) })?;
                let interface = PyDict::new(py);
                interface.set_item("__array_interface__", self.__array_interface__(py)?)?;
                interface.set_item("column", holder)?;
                let view = py.import("types")?.getattr("SimpleNamespace")?.call((), Some(&interface))?;
                numpy.call_method1("asarray", (view,))
            }
        }
    }

    /// Its values as a list; what is missing is None.
    fn to_list<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let list = match self.array.data_type() {
            DataType::Boolean => {
                self.array.as_boolean().values().iter().collect::<Vec<_>>().into_pyobject(py)?
            }
            DataType::UInt64 => {
                self.array.as_primitive::<UInt64Type>().iter().collect::<Vec<_>>().into_pyobject(py)?
            }
            DataType::Float64 => {
                self.array.as_primitive::<Float64Type>().iter().collect::<Vec<_>>().into_pyobject(py)?
            }
            _ => {
                let dictionary = self.array.as_dictionary::<UInt32Type>();
                let names = dictionary.values().as_string::<i32>();
                let name = |key: &u32| names.value(*key as usize);
                dictionary.keys().values().iter().map(name).collect::<Vec<_>>().into_pyobject(py)?
            }
        };
        Ok(list.into_any())
    }

    fn __repr__(&self) -> String {
        let unit = if self.unit().is_empty() { String::new() } else { format!(" in {}", self.unit()) };
        format!("<Column {}{unit}, {} values: {}>", self.name(), self.array.len(), self.meaning())
    }
}

/// Real numbers as an array of numpy.
fn reals(py: Python<'_>, values: Vec<f64>) -> PyResult<Bound<'_, PyAny>> {
    let array: ArrayRef = Arc::new(Float64Array::from(values));
    let field = Arc::new(Field::new("", DataType::Float64, false));
    Column { field, array }.to_numpy(py)
}

/// A library that is not installed with narrows.
fn import<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyModule>> {
    py.import(name).map_err(|error| {
        if error.is_instance_of::<PyModuleNotFoundError>(py) {
            PyModuleNotFoundError::new_err(format!("this needs {name}: pip install {name}"))
        } else {
            error
        }
    })
}
