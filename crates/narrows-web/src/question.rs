//! A question of the page, and its answer.

use bytes::Bytes;
use narrows::diagnostic::Rejection;
use serde::de::DeserializeOwned;
use serde_json::Value;

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
    pub(crate) arguments: Value,
    pub(crate) parts: Vec<Bytes>,
}

impl Question {
    /// The arguments as a type.
    pub(crate) fn read<T: DeserializeOwned>(&self) -> Result<T, Refused> {
        T::deserialize(&self.arguments).map_err(|error| Refused::Question(error.to_string()))
    }
}
