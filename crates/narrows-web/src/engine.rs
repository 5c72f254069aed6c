//! Questions and their answers.

use bytes::Bytes;
use narrows::report;
use narrows::scenario::Scenario;
use serde_json::{Value, json};

use crate::frame::{pack, unpack};
use crate::question::{Answer, Answered, Question, Refused};
use crate::results::Kept;
use crate::runs::Runs;
use crate::{check, diagnostics, import};

/// Everything that a page has under way.
#[derive(Debug, Default)]
pub struct Engine {
    runs: Runs,
    kept: Kept,
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
            "assets" => Ok(json!({ "report.js": report::module(), "report.css": report::styles() }).into()),
            "follow" => {
                Scenario::follow_schema(question.read()?);
                Ok(Value::Null.into())
            }
            "check" => check::check(question),
            "start" => self.runs.start(question),
            "advance" => self.runs.advance(question),
            "cancel" => self.runs.cancel(question),
            "drop" => self.runs.drop_run(question),
            "finish" => self.runs.finish(question, &mut self.kept),
            "openResult" => self.kept.open_result(question),
            "files" => self.kept.files(question),
            "file" => self.kept.file(question),
            "export" => self.kept.export(question),
            "forget" => self.kept.forget(question),
            "report" => self.kept.report(question),
            "reportPage" => self.kept.report_page(question),
            "compare" => self.kept.compare(question),
            "import" => import::import(question),
            other => Err(bad(&format!("no call is named \"{other}\""))),
        }
    }
}
