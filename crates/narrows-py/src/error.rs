//! Diagnostics as objects of Python, and exceptions that carry them.

use narrows::diagnostic::{self, Code, Rejection, Severity};
use pyo3::exceptions::{PyException, PyUserWarning};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

pyo3::create_exception!(
    narrows,
    Error,
    PyException,
    "An input that makes no sense, or results that cannot be read or written.\n\nThe text is what the command `narrows` prints; `diagnostics` has its parts."
);

pyo3::create_exception!(
    narrows,
    NarrowsWarning,
    PyUserWarning,
    "Something suspicious about a scenario, a sweep or a run.\n\nThe text begins with the code that `narrows explain` knows; `diagnostic` has its parts."
);

/// One thing that is wrong with an input, or suspicious.
#[pyclass(module = "narrows", frozen, eq, get_all)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Diagnostic {
    /// `narrows explain CODE` says more.
    code: String,
    /// "error" or "warning".
    severity: String,
    /// Message: what was found, and what is wrong with it.
    message: String,
    /// Help: what would be accepted, if that is known.
    help: Option<String>,
    /// The text it is in, usually a path, if it is in one.
    source: Option<String>,
    /// Its line there, counted from 1.
    line: Option<usize>,
    /// Its column there, counted from 1.
    column: Option<usize>,
}

type Parts = (String, String, String, Option<String>, Option<String>, Option<usize>, Option<usize>);

#[pymethods]
impl Diagnostic {
    #[new]
    #[pyo3(signature = (code, severity, message, help=None, source=None, line=None, column=None))]
    fn new(
        code: String,
        severity: String,
        message: String,
        help: Option<String>,
        source: Option<String>,
        line: Option<usize>,
        column: Option<usize>,
    ) -> Self {
        Self { code, severity, message, help, source, line, column }
    }

    fn __getnewargs__(&self) -> Parts {
        let Self { code, severity, message, help, source, line, column } = self.clone();
        (code, severity, message, help, source, line, column)
    }

    pub(crate) fn __repr__(&self) -> String {
        let Self { code, severity, message, help, source, line, column } = self;
        let place = match (source, line, column) {
            (Some(source), Some(line), Some(column)) => format!("{source}:{line}:{column}  "),
            _ => String::new(),
        };
        let help = help.as_ref().map_or_else(String::new, |help| format!("; {help}"));
        format!("{severity} {code}: {place}{message}{help}")
    }
}

impl Diagnostic {
    /// A warning that has no place: one that was stored, or is about a run.
    pub(crate) fn warning(code: &str, message: &str) -> Self {
        Self {
            code: code.to_owned(),
            severity: "warning".to_owned(),
            message: message.to_owned(),
            help: None,
            source: None,
            line: None,
            column: None,
        }
    }
}

/// Tells warnings to the module `warnings`, as those of the Python function that is so many calls above the one that called us. Fails
/// where a filter makes them exceptions.
pub(crate) fn warn<'a>(
    py: Python<'_>,
    warnings: impl IntoIterator<Item = &'a diagnostic::Diagnostic>,
    calls: usize,
) -> PyResult<()> {
    let mut warnings = warnings.into_iter().filter(|found| found.severity == Severity::Warning).peekable();
    if warnings.peek().is_none() {
        return Ok(());
    }
    let module = py.import("warnings")?;
    let category = py.get_type::<NarrowsWarning>();
    let options = PyDict::new(py);
    options.set_item("stacklevel", calls + 1)?;
    for found in warnings {
        let diagnostic = Diagnostic::from(found);
        let Diagnostic { code, message, help, .. } = &diagnostic;
        let help =
            help.as_ref().map_or_else(String::new, |help| format!("\n  {}", help.replace('\n', "\n  ")));
        let warning = category.call1((format!("{code}: {message}{help}"),))?;
        warning.setattr("diagnostic", diagnostic)?;
        module.call_method("warn", (warning,), Some(&options))?;
    }
    Ok(())
}

impl From<&diagnostic::Diagnostic> for Diagnostic {
    fn from(from: &diagnostic::Diagnostic) -> Self {
        let place = from.place.as_ref().map(|place| (place.source.name.clone(), place.line_and_column()));
        let (source, position) = place.unzip();
        let (line, column) = position.unzip();
        let severity = match from.severity {
            Severity::Warning => "warning",
            Severity::Error => "error",
        };
        Self {
            code: from.code.name().to_owned(),
            severity: severity.to_owned(),
            message: from.message.clone(),
            help: from.help.clone(),
            source,
            line,
            column,
        }
    }
}

/// An exception with the text that the command prints.
pub(crate) fn raise(rejection: &Rejection) -> PyErr {
    let mut rejection = rejection.clone();
    let of_output = [Code::OutputExists, Code::OutputBusy, Code::NotOurs];
    for found in rejection.0.iter_mut().filter(|found| of_output.contains(&found.code)) {
        // What the command says names its flags.
        found.help = found.help.take().map(|help| match help.contains("--overwrite") {
            true => "choose another place, or replace it with overwrite=True".into(),
            false => help.replace("--out", "out"),
        });
    }
    let rejection = &rejection;
    let error = Error::new_err(narrows_cli::fail::text(rejection));
    Python::attach(|py| {
        let diagnostics = rejection.0.iter().map(Diagnostic::from).collect::<Vec<_>>();
        let diagnostics = PyTuple::new(py, diagnostics);
        // An exception that cannot take attributes still has its text.
        let _ = diagnostics.and_then(|diagnostics| error.value(py).setattr("diagnostics", diagnostics));
    });
    error
}

/// An exception with a text only.
pub(crate) fn raise_text(text: String) -> PyErr {
    Error::new_err(text)
}

/// Turns rejections into exceptions.
pub(crate) trait OrRaise<T> {
    /// See [`raise`].
    fn or_raise(self) -> PyResult<T>;
}

impl<T> OrRaise<T> for diagnostic::Checked<T> {
    fn or_raise(self) -> PyResult<T> {
        self.map_err(|rejection| raise(&rejection))
    }
}
