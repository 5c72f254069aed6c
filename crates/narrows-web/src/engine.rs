//! Questions and their answers.

use bytes::Bytes;
use narrows::diagnostic::Rejection;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::frame::{pack, unpack};
use crate::results::Kept;
use crate::runs::Runs;
use crate::{catalog, check, diagnostics, import};

/// Everything that a page has under way.
#[derive(Debug, Default)]
pub struct Engine {
    pub(crate) runs: Runs,
    pub(crate) kept: Kept,
}

/// Cause of a question without an answer.
#[derive(Debug)]
pub(crate) enum Refused {
    /// The input of the user is at fault.
    Input(Rejection),
    /// The page is.
    Question(String),
}

impl From<Rejection> for Refused {
    fn from(rejection: Rejection) -> Self {
        Self::Input(rejection)
    }
}

/// An answer: a value, and files.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    pub(crate) value: Value,
    pub(crate) files: Vec<Bytes>,
}

impl From<Value> for Answer {
    fn from(value: Value) -> Self {
        Self { value, files: Vec::new() }
    }
}

pub(crate) type Answered = Result<Answer, Refused>;

/// A question: its arguments, and the parts of the message.
pub(crate) struct Question {
    arguments: Value,
    pub(crate) parts: Vec<Bytes>,
}

impl Question {
    /// The arguments as a type.
    pub(crate) fn read<T: DeserializeOwned>(&self) -> Result<T, Refused> {
        T::deserialize(&self.arguments).map_err(|error| Refused::Question(error.to_string()))
    }
}

impl Engine {
    /// Answers a message (`frame.rs`) with another.
    pub fn answer(&mut self, message: Bytes) -> Vec<u8> {
        let Answer { value, files } = match self.ask(message) {
            Ok(Answer { value, files }) => Answer { value: json!({ "value": value }), files },
            Err(Refused::Input(rejection)) => json!({ "rejected": diagnostics::all(&rejection) }).into(),
            Err(Refused::Question(problem)) => json!({ "misused": problem }).into(),
        };
        let value = serde_json::to_vec(&value).unwrap_or_default();
        pack(&[vec![Bytes::from(value)], files].concat())
    }

    fn ask(&mut self, message: Bytes) -> Answered {
        let bad = |what: &str| Refused::Question(what.to_owned());
        let parts = unpack(message).ok_or_else(|| bad("not a message"))?;
        let head = parts.first().ok_or_else(|| bad("an empty message"))?;
        let mut head: Value = serde_json::from_slice(head).map_err(|error| bad(&error.to_string()))?;
        let arguments = head["arguments"].take();
        let question = &Question { arguments, parts };
        match head["call"].as_str().unwrap_or_default() {
            "catalog" => Ok(catalog::catalog().into()),
            "schema" => Ok(catalog::schema().into()),
            "explain" => catalog::explain(question),
            "assets" => Ok(catalog::assets().into()),
            "check" => check::check(question),
            "start" => self.start(question),
            "advance" => self.advance(question),
            "cancel" => self.cancel(question),
            "drop" => self.drop_run(question),
            "finish" => self.finish(question),
            "openResult" => self.open_result(question),
            "files" => self.files(question),
            "file" => self.file(question),
            "export" => self.export(question),
            "forget" => self.forget(question),
            "report" => self.report(question),
            "reportPage" => self.report_page(question),
            "compare" => self.compare(question),
            "import" => import::import(question),
            other => Err(bad(&format!("no call is named \"{other}\""))),
        }
    }
}
