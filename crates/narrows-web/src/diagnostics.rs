//! Diagnostics with exact places, in the words of the terminal.

use narrows::diagnostic::{Diagnostic, Place, Rejection, Severity};
use serde_json::{Value, json};

pub(crate) fn all(rejection: &Rejection) -> Value {
    rejection.0.iter().map(one).collect()
}

pub(crate) fn one(diagnostic: &Diagnostic) -> Value {
    let Diagnostic { code, severity, message, place, help } = diagnostic;
    let [from, to] = match place {
        Some(place) => {
            let end = place.span.end.max(place.span.start);
            [place.span.start, end].map(|at| position(place, at))
        }
        None => [Value::Null, Value::Null],
    };
    json!({
        "severity": match severity { Severity::Error => "error", Severity::Warning => "warning" },
        "code": code.name(),
        "title": code.title(),
        "message": message,
        "label": place.as_ref().map(|_| "here"),
        "help": help,
        "file": place.as_ref().map(|place| &place.source.name),
        "from": from,
        "to": to,
    })
}

/// A place in a text: its line and column as the terminal counts them, and its offset as strings of a browser do.
fn position(place: &Place, at: usize) -> Value {
    let text = &place.source.text;
    // Spans of parsers may end within a character, or behind the text.
    let at = (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let (line, column) = Place { source: place.source.clone(), span: at..at }.line_and_column();
    json!({ "line": line, "column": column, "offset": text[..at].encode_utf16().count() })
}
