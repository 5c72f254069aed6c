//! The lines around a mistake, made fit to be drawn: a text may be huge, have lines without end, or obey nobody's terminal.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use narrows::diagnostic::{Diagnostic, Place, Source};
use narrows::visible::{visible, visible_lines};

/// A text up to this size is drawn as it is, if it can be.
const LARGEST: usize = 1 << 20;
/// Of a line up to so many characters before and behind the mistake are drawn.
const WIDEST: usize = 200;

/// The same diagnostic at a text that can be drawn: with the line of the mistake and those beside it, and nothing in others.
pub(crate) fn tame(diagnostic: &Diagnostic) -> Cow<'_, Diagnostic> {
    match &diagnostic.place {
        Some(place) if !is_tame(place) => Cow::Owned(diagnostic.clone().at(excerpt(place))),
        _ => Cow::Borrowed(diagnostic),
    }
}

fn is_tame(place: &Place) -> bool {
    let Source { name, text } = &*place.source;
    text.len() <= LARGEST
        && *visible(name) == **name
        && text.lines().all(|line| line.len() <= 2 * WIDEST && *visible_lines(line) == *line)
}

fn excerpt(place: &Place) -> Place {
    let text = &place.source.text;
    // Spans of parsers may end within a character, or behind the text.
    let at =
        |place: usize| (0..=place.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let (start, end) = (at(place.span.start), at(place.span.end.max(place.span.start)));
    let first = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
    let last = text[start..].find('\n').map_or(text.len(), |newline| start + newline);
    let end = end.min(last);
    let before = text[..first].lines().next_back();
    let after = text.get(last + 1..).and_then(|rest| rest.lines().next());
    let number = text[..start].matches('\n').count();
    let mut shown = "\n".repeat(number.saturating_sub(1));
    if let Some(before) = before {
        shown += &visible(&clipped(before, 0..WIDEST));
        shown.push('\n');
    }
    let from = text[first..start].char_indices().rev().nth(WIDEST - 1).map_or(first, |(at, _)| first + at);
    let until = text[start..last].char_indices().nth(WIDEST).map_or(last, |(at, _)| start + at);
    let end = end.min(until);
    shown += if from > first { "…" } else { "" };
    shown += &visible(&text[from..start]);
    let span = shown.len()..shown.len() + visible(&text[start..end]).len();
    shown += &visible(&text[start..end]);
    shown += &visible(&text[end..until]);
    shown += if until < last { "…" } else { "" };
    if let Some(after) = after {
        shown.push('\n');
        shown += &visible(&clipped(after, 0..WIDEST));
    }
    let name = visible(&place.source.name).into_owned();
    Place { source: Arc::new(Source { name, text: shown }), span }
}

/// These characters of a line, and a sign if there are more.
fn clipped(line: &str, characters: Range<usize>) -> Cow<'_, str> {
    match line.char_indices().nth(characters.end) {
        Some((end, _)) => Cow::Owned(format!("{}…", &line[..end])),
        None => Cow::Borrowed(line),
    }
}

#[cfg(test)]
mod tests {
    use narrows::diagnostic::Code;

    use super::*;

    fn tamed(text: &str, span: Range<usize>) -> Place {
        let source = Arc::new(Source { name: "a".into(), text: text.into() });
        let diagnostic = Diagnostic::error(Code::Syntax, "bad").at(Place { source, span });
        tame(&diagnostic).into_owned().place.unwrap()
    }

    #[test]
    fn an_ordinary_text_stays_as_it_is() {
        let text = "a = 1\n\tb = 2\n";
        assert_eq!(tamed(text, 0..1).source.text, text);
    }

    #[test]
    fn control_characters_are_signs_and_the_place_stays_the_same() {
        let place = tamed("one\ntwo\n\x1bx bad y\x07\nfour\nfive", 11..14);
        assert_eq!(&place.source.text[place.span.clone()], "bad");
        assert_eq!((place.line_and_column(), place.source.text.as_str()), ((3, 4), "\ntwo\n␛x bad y␇\nfour"));
    }

    #[test]
    fn a_line_without_end_is_cut_around_the_mistake() {
        let text = format!("{}bad{}", "a".repeat(1 << 21), "b".repeat(1 << 21));
        let place = tamed(&text, 1 << 21..(1 << 21) + 3);
        assert_eq!(&place.source.text[place.span.clone()], "bad");
        assert!(place.source.text.len() < 1000);
    }

    #[test]
    fn a_place_behind_the_end_is_at_the_end() {
        assert_eq!(tamed("\x1b", 7..9).source.text, "␛");
    }
}
