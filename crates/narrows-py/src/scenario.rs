//! Scenarios: read, changed and checked.

use std::path::PathBuf;
use std::sync::Arc;

use narrows::diagnostic::{Code, Diagnostic as Found, Rejection, Severity};
use narrows::document::Document;
use narrows::plan::Plan;
use narrows::scenario;
use narrows::templates::{self, TEMPLATES};
use pyo3::exceptions::{PyKeyError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};
use toml::Value;

use crate::controller::{Controllers, Failure};
use crate::error::{Diagnostic, OrRaise, raise, warn};
use crate::value::{from_json, from_toml, to_toml};

/// Name of the text of a change in diagnostics.
const CHANGE: &str = "change";

/// An experiment: a network, its traffic and its mechanisms. The keys are those of scenario files.
#[pyclass(module = "narrows")]
#[derive(Clone, Debug)]
pub(crate) struct Scenario {
    document: Document,
    /// Controls it may name as `cc = { custom = { name = … } }`.
    controllers: Controllers,
}

/// Outcome of the check of a scenario.
#[pyclass(module = "narrows", frozen)]
#[derive(Debug)]
pub(crate) struct Check {
    /// Warnings about the scenario.
    #[pyo3(get)]
    warnings: Vec<Diagnostic>,
    /// An upper estimate of the memory a run needs.
    #[pyo3(get)]
    memory_bytes: u64,
    facts: serde_json::Value,
    text: String,
}

/// Parts of a scenario that pickle keeps.
type Parts<'py> = (String, PathBuf, Bound<'py, PyDict>);

#[pymethods]
impl Check {
    /// Base round-trip times, bottlenecks and bandwidth-delay products of the traffic groups; buffers and thresholds of the ports;
    /// oversubscription. The numbers of `narrows check --json`.
    #[getter]
    fn facts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        from_json(py, &self.facts)
    }

    fn __repr__(&self) -> String {
        let warnings: String =
            self.warnings.iter().map(|warning| format!("\n  {}", warning.__repr__())).collect();
        format!("{}{warnings}", self.text)
    }
}

#[pymethods]
impl Scenario {
    /// A scenario of a dict.
    #[new]
    fn new(content: &Bound<'_, PyDict>) -> PyResult<Self> {
        let mut controllers = Controllers::default();
        let content = to_toml(content, &mut controllers)?;
        let text = toml::to_string(&content).map_err(|error| PyTypeError::new_err(error.to_string()))?;
        Ok(Self { controllers, ..Self::read(Document::parse("scenario", text, "").or_raise()?)? })
    }

    /// Reads a scenario file.
    #[classmethod]
    fn load(_: &Bound<'_, PyType>, path: PathBuf) -> PyResult<Self> {
        let document = Document::read(&path).map_err(|mut rejection| {
            let name = path.to_string_lossy();
            if !path.exists() && templates::find(&name).is_some() {
                let help = format!("the built-in scenario of this name is Scenario.template(\"{name}\")");
                rejection.0.iter_mut().for_each(|found| found.help = Some(help.clone()));
            }
            raise(&rejection)
        })?;
        Self::read(document)
    }

    /// A scenario that is built in; `narrows list templates` has their names.
    #[classmethod]
    fn template(_: &Bound<'_, PyType>, name: &str) -> PyResult<Self> {
        let template = templates::find(name).ok_or_else(|| {
            let unknown = Found::error(Code::UnknownName, format!("no scenario \"{name}\" is built in"));
            raise(&unknown.known(name, TEMPLATES.iter().map(|template| template.name)).into())
        })?;
        Self::read(template.document().or_raise()?)
    }

    /// Reads a scenario from a text. Files it names are looked for in `folder`.
    #[classmethod]
    #[pyo3(signature = (text, *, name="scenario", folder=None))]
    fn parse(_: &Bound<'_, PyType>, text: &str, name: &str, folder: Option<PathBuf>) -> PyResult<Self> {
        Self::read(Document::parse(name, text, folder.unwrap_or_default()).or_raise()?)
    }

    /// The value at a path such as "traffic.web.cc", those that were left out included.
    fn __getitem__<'py>(&self, py: Python<'py>, path: &str) -> PyResult<Bound<'py, PyAny>> {
        let root = Value::try_from(self.typed().or_raise()?)
            .map_err(|error| PyTypeError::new_err(error.to_string()))?;
        let mut value = &root;
        for key in path.split('.') {
            value = step(value, key)
                .ok_or_else(|| PyKeyError::new_err(format!("{path}: there is no \"{key}\"")))?;
        }
        from_toml(py, value)
    }

    /// Changes the value at a path: scenario["traffic.web.cc"] = {"cubic": {}}.
    fn __setitem__(&mut self, path: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let mut controllers = self.controllers.clone();
        let value = to_toml(value, &mut controllers)?;
        self.change(controllers, |document| document.set_from(CHANGE, &format!("{path}={value}"), None))
    }

    /// Changes several values at once, in the form of a dict by path, or of texts "path=value" as the command takes them.
    fn set(&mut self, changes: &Bound<'_, PyAny>) -> PyResult<()> {
        let mut assignments = Vec::new();
        let mut controllers = self.controllers.clone();
        if let Ok(changes) = changes.cast::<PyDict>() {
            for (path, value) in changes {
                let value = to_toml(&value, &mut controllers)?;
                assignments.push(format!("{}={value}", path.extract::<String>()?));
            }
        } else if let Ok(text) = changes.extract::<String>() {
            assignments.push(text);
        } else {
            assignments = changes.extract().map_err(|_| {
                PyTypeError::new_err(
                    "changes are a dict such as {\"seed\": 7}, or a list of texts such as [\"seed=7\"]",
                )
            })?;
        }
        self.change(controllers, |document| {
            assignments.iter().try_for_each(|assignment| document.set_from(CHANGE, assignment, None))
        })
    }

    /// The same with changes; see `set`.
    fn with_set(&self, changes: &Bound<'_, PyAny>) -> PyResult<Self> {
        let mut copy = self.clone();
        copy.set(changes)?;
        Ok(copy)
    }

    /// The same with congestion controls of Python, by the names it has for them: see narrows.Controller.
    fn with_controllers(&self, controllers: &Bound<'_, PyDict>) -> PyResult<Self> {
        let mut copy = self.clone();
        copy.controllers.extend(Controllers::of(controllers)?);
        Ok(copy)
    }

    /// Congestion controls of Python, by the names it has for them.
    #[getter]
    fn controllers<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.controllers.to_dict(py)
    }

    /// Finds all mistakes, and reports what the scenario comes to. Nothing is run.
    fn check(&self, py: Python<'_>) -> PyResult<Check> {
        let (plan, _) = py.detach(|| self.plan(None))?;
        warn(py, plan.remarks(), 0)?;
        let (memory, facts) = (plan.memory(1), py.detach(|| plan.facts()));
        let (headline, groups) =
            (narrows_cli::show::headline(&plan, 1), narrows_cli::show::plan::groups(&plan));
        let shown = narrows_cli::show::plan::facts(&facts);
        let text = format!("{headline}\n{groups}{shown}  at most {memory:.0} of memory");
        let facts = serde_json::to_value(&facts).unwrap_or_default();
        let warnings = plan.remarks().filter(|found| found.severity == Severity::Warning);
        let warnings = warnings.map(Diagnostic::from).collect();
        Ok(Check { warnings, memory_bytes: memory.get(), facts, text })
    }

    /// The scenario as TOML, with every setting, those that were left out included.
    fn to_toml(&self) -> PyResult<String> {
        Ok(self.typed().or_raise()?.to_toml())
    }

    /// Its name.
    #[getter]
    fn name(&self) -> PyResult<String> {
        Ok(self.typed().or_raise()?.name)
    }

    /// Its seed.
    #[getter]
    fn seed(&self) -> PyResult<u64> {
        Ok(self.typed().or_raise()?.seed)
    }

    /// Where files are looked for that it names.
    #[getter]
    fn folder(&self) -> PathBuf {
        self.document.folder().to_owned()
    }

    /// A scenario that may be changed without changing this one.
    fn copy(&self) -> Self {
        self.clone()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Parts<'py>)> {
        let restore = py.get_type::<Self>().getattr("_restore")?;
        Ok((restore, (self.to_toml()?, self.folder(), self.controllers.to_travel(py)?)))
    }

    /// The scenario of pickled parts.
    #[staticmethod]
    fn _restore(text: &str, folder: PathBuf, controllers: &Bound<'_, PyDict>) -> PyResult<Self> {
        let controllers = Controllers::of(controllers)?;
        Ok(Self { controllers, ..Self::read(Document::parse("scenario", text, folder).or_raise()?)? })
    }

    fn __copy__(&self) -> Self {
        self.clone()
    }

    fn __deepcopy__(&self, _memo: &Bound<'_, PyAny>) -> Self {
        self.clone()
    }

    fn __repr__(&self) -> PyResult<String> {
        let scenario = self.typed().or_raise()?;
        let groups: Vec<_> = scenario.traffic.iter().map(|traffic| traffic.name.as_str()).collect();
        Ok(format!("<Scenario {:?}, traffic {}, seed {}>", scenario.name, groups.join(", "), scenario.seed))
    }
}

impl Scenario {
    fn read(document: Document) -> PyResult<Self> {
        let scenario = Self { document, controllers: Controllers::default() };
        scenario.typed().or_raise()?;
        Ok(scenario)
    }

    /// Keys and types are right; whether it makes sense is a question for the plan.
    fn typed(&self) -> Result<scenario::Scenario, Rejection> {
        scenario::Scenario::from_document(&mut self.document.clone())
    }

    fn change(
        &mut self,
        controllers: Controllers,
        change: impl FnOnce(&mut Document) -> Result<(), Rejection>,
    ) -> PyResult<()> {
        let mut changed = Self { controllers, ..self.clone() };
        change(&mut changed.document).or_raise()?;
        changed.typed().or_raise()?;
        *self = changed;
        Ok(())
    }

    /// The document, to be varied.
    pub(crate) fn document(&self) -> &Document {
        &self.document
    }

    /// Its controls of Python.
    pub(crate) fn own_controllers(&self) -> &Controllers {
        &self.controllers
    }

    /// The outline of what is run, with this seed if there is one, and where the first exception of its controls of Python will be.
    pub(crate) fn plan(&self, seed: Option<u64>) -> PyResult<(Arc<Plan>, Arc<Failure>)> {
        let (mut document, failure) = (self.document.clone(), Arc::default());
        self.controllers.attach(&mut document, &failure);
        // A scenario may live for long, and the files that it names may change meanwhile.
        document.forget_inputs();
        if let Some(seed) = seed {
            document.set(&format!("seed={seed}")).or_raise()?;
        }
        Ok((Plan::outline(document).map(Arc::new).or_raise()?, failure))
    }
}

/// The value of a table at a key, or of an array at a number or for the element of this name.
fn step<'a>(value: &'a Value, key: &str) -> Option<&'a Value> {
    match value {
        Value::Table(table) => table.get(key),
        Value::Array(values) => match key.parse::<usize>() {
            Ok(index) => values.get(index),
            Err(_) => values.iter().find(|value| value.get("name").and_then(Value::as_str) == Some(key)),
        },
        _ => None,
    }
}
