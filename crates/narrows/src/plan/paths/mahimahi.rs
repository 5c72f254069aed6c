//! Traces of mahimahi: a number of milliseconds in each line, at which bytes may leave.

use std::sync::Arc;

use narrows_proto::units::{Bytes, Span};
use narrows_sim::path::Opportunities;

use super::MOST_STEPS;
use crate::diagnostic::{Checked, Code, Diagnostic, Place, Source};

/// The latest time of a trace, 115 days; a [`Span`] has 213.
const LATEST: u64 = 10_000_000_000;

/// Reads the trace in a text called `name`, at each of whose opportunities so many bytes leave.
///
/// # Errors
/// If a line is no number, times fall, the last is zero, there are none, or more than [`MOST_STEPS`].
pub fn parse_mahimahi(name: &str, text: String, opportunity: Bytes) -> Checked<Opportunities> {
    read(&Arc::new(Source { name: name.to_owned(), text }), opportunity)
}

pub(super) fn read(source: &Arc<Source>, opportunity: Bytes) -> Checked<Opportunities> {
    // What is larger than any packet is a mistake; what is smaller makes of each packet many.
    if !(Bytes::new(64)..=Bytes::new(1_000_000_000)).contains(&opportunity) {
        let message = format!("an opportunity of {opportunity}, expected 64 B to 1 GB");
        return Err(Diagnostic::error(Code::OutOfRange, message).into());
    }
    let mut times: Vec<Span> = Vec::new();
    let mut next = 0;
    for line in source.text.split_inclusive('\n') {
        let (start, text) = (next, line.trim());
        next += line.len();
        let error = |message: String| {
            let start = start + if text.is_empty() { 0 } else { line.len() - line.trim_start().len() };
            let place = Place { source: Arc::clone(source), span: start..start + text.len() };
            Diagnostic::error(Code::Csv, message).at(place)
        };
        if times.len() >= MOST_STEPS {
            return Err(error(format!(
                "more than {MOST_STEPS} lines, which is the most that a link may have"
            ))
            .into());
        }
        let ms = text.parse::<u64>().ok().filter(|ms| *ms <= LATEST);
        let Some(ms) = ms.filter(|_| text.bytes().all(|byte| byte.is_ascii_digit())) else {
            let message =
                format!("\"{}\", expected a whole number of milliseconds, at most {LATEST}", shown(text));
            return Err(error(message).into());
        };
        let time = Span::from_ms(ms);
        if let Some(before) = times.last().filter(|before| **before > time) {
            return Err(error(format!("{time} after {before}, expected times that never fall")).into());
        }
        times.push(time);
    }
    let Some(last) = times.last().copied() else {
        let message = format!("{} is empty, expected a number of milliseconds in each line", source.name);
        return Err(Diagnostic::error(Code::Csv, message).into());
    };
    if last == Span::ZERO {
        let message = format!("the last line of {} is 0, and there everything begins again", source.name);
        return Err(Diagnostic::error(Code::Csv, message).help("end the trace with a later time").into());
    }
    Ok(Opportunities::new(times, last, opportunity))
}

/// The beginning of a text.
fn shown(text: &str) -> &str {
    text.char_indices().nth(40).map_or(text, |(end, _)| &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Opportunities, String> {
        let opportunity = Bytes::new(1_500);
        parse_mahimahi("a.up", text.to_owned(), opportunity).map_err(|error| error.to_string())
    }

    #[test]
    fn each_line_is_an_opportunity_and_the_last_the_period() {
        let expected = [0, 3, 3, 10].map(Span::from_ms).to_vec();
        let expected = Opportunities::new(expected, Span::from_ms(10), Bytes::new(1_500));
        assert_eq!(parse("0\n3\n3\n10\n").unwrap(), expected);
        assert_eq!(parse("0\r\n3\r\n3\r\n10").unwrap(), expected);
        assert_eq!(parse("10000000000").unwrap().period(), Span::from_secs(10_000_000));
    }

    #[test]
    fn what_is_wrong_is_shown_at_its_place() {
        for (text, expected) in [
            ("", "a.up is empty"),
            ("0\n0\n", "the last line of a.up is 0"),
            ("1\n\n2\n", "a.up:2:1  \"\", expected a whole number of milliseconds"),
            ("1\n 2.5\n", "a.up:2:2  \"2.5\", expected a whole number of milliseconds"),
            ("1\n-2\n", "a.up:2:1  \"-2\", expected a whole number"),
            ("1\n+2\n", "a.up:2:1  \"+2\", expected a whole number"),
            ("5\n4\n", "a.up:2:1  4 ms after 5 ms, expected times that never fall"),
            ("10000000001\n", "a.up:1:1  \"10000000001\", expected a whole number"),
            ("92233720368\n", "a.up:1:1  \"92233720368\", expected a whole number"),
            ("99999999999999999999\n", "a.up:1:1  \"99999999999999999999\", expected a whole number"),
        ] {
            let error = parse(text).expect_err(text);
            assert!(error.starts_with(expected), "{text:?}: {error}");
        }
        let error = parse_mahimahi("a.up", "1\n".into(), Bytes::new(1)).expect_err("too small");
        assert!(error.to_string().contains("an opportunity of 1 B, expected 64 B to 1 GB"), "{error}");
    }
}
