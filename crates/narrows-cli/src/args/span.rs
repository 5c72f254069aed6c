//! Spans of time as arguments.

use narrows_proto::units::{QuantityError, Span};

/// Reads a span of time.
pub(super) fn span(text: &str) -> Result<Span, String> {
    text.parse().map_err(|error: QuantityError| error.to_string())
}

/// Reads a limit of speed.
pub(super) fn pace(text: &str) -> Result<Span, String> {
    let span = span(text)?;
    if span == Span::ZERO { Err("time would stand still; space pauses".into()) } else { Ok(span) }
}
