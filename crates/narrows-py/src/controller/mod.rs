//! Congestion controls that are classes of Python: which scenarios use which, and what became of them.

mod connection;
pub(crate) mod facts;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use narrows::document::Document;
use narrows_proto::cc::custom::{Maker, Settings, Uses};
use narrows_proto::cc::{Controller, Ecn, Path};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyType};
use serde_json::{Value, json};

use crate::value::from_toml;
use connection::{Connection, EVENTS};

/// Subclasses of `narrows.Controller` by the names that scenarios have for them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Controllers(BTreeMap<String, Arc<Class>>);

impl Controllers {
    /// Those of a dict: classes by name, or what [`to_travel`](Self::to_travel) made of them.
    pub(crate) fn of(given: &Bound<'_, PyDict>) -> PyResult<Self> {
        let mut controllers = Self::default();
        for (name, value) in given {
            let (class, version) = match value.extract::<(Bound<'_, PyAny>, String)>() {
                Ok((class, version)) => (class, Some(version)),
                Err(_) => (value, None),
            };
            controllers.insert(Class::look(name.extract()?, &class, version)?)?;
        }
        Ok(controllers)
    }

    /// Takes in one more. A class that was defined anew takes the place of the older one.
    fn insert(&mut self, class: Class) -> PyResult<()> {
        let name = &class.name;
        if let Some(other) = self.0.get(name).filter(|other| other.place != class.place) {
            return Err(PyValueError::new_err(format!(
                "two controllers are called {name}: {} and {}; give one another name, \
                 controllers={{\"other\": …}} and {{\"custom\": {{\"name\": \"other\"}}}}",
                other.place, class.place
            )));
        }
        self.0.insert(name.clone(), Arc::new(class));
        Ok(())
    }

    /// Takes in all of `others`.
    pub(crate) fn extend(&mut self, others: Self) {
        self.0.extend(others.0);
    }

    /// Value in a scenario for a class, or for the result of its method `using`: `{ custom = { name = … } }`. The class is taken in.
    /// Nothing for other values.
    pub(crate) fn in_scenario(&mut self, value: &Bound<'_, PyAny>) -> PyResult<Option<Value>> {
        let py = value.py();
        let (class, settings) = if let Ok(class) = value.cast::<PyType>() {
            (class.clone(), None)
        } else if value.is_instance(helper(py, "Using")?.as_any())? {
            let settings = crate::value::to_json(&value.getattr("settings")?, self)?;
            (value.getattr("controller")?.cast_into::<PyType>()?, Some(settings))
        } else {
            return Ok(None);
        };
        let name: String = class.name()?.extract()?;
        self.insert(Class::look(name.clone(), &class, None)?)?;
        Ok(Some(match settings {
            None => json!({ "custom": { "name": name } }),
            Some(settings) => json!({ "custom": { "name": name, "settings": settings } }),
        }))
    }

    /// Makers of their instances in one run, which leave the first exception in `failure`.
    pub(crate) fn makers(&self, failure: &Arc<Failure>) -> BTreeMap<String, Arc<dyn Maker>> {
        let maker = |class: &Arc<Class>| -> Arc<dyn Maker> {
            Arc::new(InRun { class: Arc::clone(class), failure: Arc::clone(failure) })
        };
        self.0.iter().map(|(name, class)| (name.clone(), maker(class))).collect()
    }

    /// Attaches them to a document for one run; see [`makers`](Self::makers).
    pub(crate) fn attach(&self, document: &mut Document, failure: &Arc<Failure>) {
        for (name, maker) in self.makers(failure) {
            document.attach(name, maker);
        }
    }

    /// Classes and the versions of their code, by name: a class that travels by value leaves its source behind.
    pub(crate) fn to_travel<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (name, class) in &self.0 {
            dict.set_item(name, (&class.class, &class.version))?;
        }
        Ok(dict)
    }

    /// The classes by name.
    pub(crate) fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (name, class) in &self.0 {
            dict.set_item(name, &class.class)?;
        }
        Ok(dict)
    }
}

/// Something of `narrows.controller`.
fn helper<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    static MODULE: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    let module = MODULE.get_or_try_init(py, || py.import("narrows.controller").map(Bound::unbind))?;
    module.bind(py).getattr(name)
}

/// A subclass of `narrows.Controller`, looked at once.
#[derive(Debug)]
struct Class {
    /// Its name in scenarios.
    name: String,
    class: Py<PyType>,
    /// Module and name, by which a class that was defined anew is known.
    place: String,
    /// By event: the name of the method that receives it, if the class has one of its own.
    receives: [Option<&'static str>; EVENTS.len()],
    has_timer: bool,
    uses: Uses,
    version: String,
}

impl Class {
    /// Looks at a class. `version` is the one it had where it came from, if it has traveled.
    fn look(name: String, class: &Bound<'_, PyAny>, version: Option<String>) -> PyResult<Self> {
        let about = helper(class.py(), "_look")?.call1((class, version))?;
        let own: Vec<String> = about.get_item("own")?.extract()?;
        let has = |method: &str| own.iter().any(|own| own == method);
        let flag = |name: &str| about.get_item(name)?.extract::<bool>();
        let ecn = match about.get_item("ecn")?.extract::<String>()?.as_str() {
            "classic" => Ecn::Classic,
            "accurate" => Ecn::Accurate,
            "cnp" => Ecn::Cnp,
            _ => Ecn::Off,
        };
        Ok(Self {
            name,
            class: class.cast::<PyType>()?.clone().unbind(),
            place: about.get_item("place")?.extract()?,
            receives: EVENTS.map(|event| has(event).then_some(event)),
            has_timer: has("next_timer"),
            uses: Uses {
                ecn,
                reads_delay: flag("reads_delay")?,
                needs_rdma: flag("needs_rdma")?,
                reads_telemetry: flag("reads_telemetry")?,
                needs_rack: false,
            },
            version: about.get_item("version")?.extract()?,
        })
    }
}

/// Settings as keyword arguments.
fn keywords<'py>(py: Python<'py>, settings: &Settings) -> PyResult<Bound<'py, PyDict>> {
    let table = toml::Value::try_from(settings).map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok(from_toml(py, &table)?.cast_into::<PyDict>()?)
}

/// The first exception that a controller raises in a run.
#[derive(Debug, Default)]
pub(crate) struct Failure {
    happened: AtomicBool,
    error: Mutex<Option<PyErr>>,
}

impl Failure {
    fn note(&self, error: PyErr) {
        let mut first = self.error.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.happened.swap(true, Ordering::Relaxed) {
            *first = Some(error);
        }
    }

    fn has_happened(&self) -> bool {
        self.happened.load(Ordering::Relaxed)
    }

    /// The exception, if there was one.
    pub(crate) fn take(&self) -> Option<PyErr> {
        self.error.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Makes controllers of a class in one run.
struct InRun {
    class: Arc<Class>,
    failure: Arc<Failure>,
}

impl fmt::Debug for InRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InRun").field("class", &self.class.place).finish_non_exhaustive()
    }
}

impl Maker for InRun {
    fn check(&self, settings: &Settings) -> Result<(), String> {
        Python::attach(|py| {
            let refusal = || -> PyResult<Option<String>> {
                helper(py, "_refusal")?.call1((&self.class.class, keywords(py, settings)?))?.extract()
            };
            refusal().map_err(|error| error.to_string())?.map_or(Ok(()), Err)
        })
    }

    fn version(&self) -> String {
        self.class.version.clone()
    }

    fn uses(&self, _settings: &Settings) -> Uses {
        self.class.uses
    }

    fn make(&self, settings: &Settings, path: &Path) -> Box<dyn Controller + Send> {
        Box::new(Connection::new(Arc::clone(&self.class), Arc::clone(&self.failure), settings, path))
    }

    /// For a thread that it does not know Python makes and forgets a state of some kilobytes at each call: 11 us more for an acknowledgment
    /// (the scenario of examples/python/cost.py in a sweep with one job, 14.6 s instead of 2.4 s).
    fn around(&self, work: &mut (dyn FnMut() + Send)) {
        Python::attach(|py| py.detach(work));
    }

    fn has_failed(&self) -> bool {
        self.failure.has_happened()
    }
}
