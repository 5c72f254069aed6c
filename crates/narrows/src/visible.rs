//! Names from outside, made fit to be shown: on a terminal, in a message, in a table.
//!
//! A terminal obeys escape sequences, so nobody else's may reach it: names of files and of variants, and what stands in them, may
//! hold any character. Each control character is shown as the sign for it (␛, ␇, ␊), and so is what turns the direction of
//! writing.

use std::borrow::Cow;
use std::path::Path;

/// The sign for a character that does something instead of being seen; none for others.
fn sign(character: char) -> Option<char> {
    match character {
        '\0'..='\x1f' => char::from_u32(0x2400 + u32::from(character)),
        '\x7f' => Some('␡'),
        // Controls of eight bits, marks and overrides of direction, separators of lines.
        '\u{80}'..='\u{9f}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
            Some(char::REPLACEMENT_CHARACTER)
        }
        _ => None,
    }
}

fn replaced(text: &str, stays: fn(char) -> bool) -> Cow<'_, str> {
    let sign = |character: char| sign(character).filter(|_| !stays(character));
    if text.chars().all(|character| sign(character).is_none()) {
        return Cow::Borrowed(text);
    }
    text.chars().map(|character| sign(character).unwrap_or(character)).collect()
}

/// The text with a sign for each control character, ends of lines included.
pub fn visible(text: &str) -> Cow<'_, str> {
    replaced(text, |_| false)
}

/// The same for text that has lines and tabs of its own.
pub fn visible_lines(text: &str) -> Cow<'_, str> {
    replaced(text, |character| character == '\n' || character == '\t')
}

/// A path as it is shown.
pub fn shown_path(path: &Path) -> String {
    visible(&path.display().to_string()).into_owned()
}

/// A text that is safe in a cell of a Markdown table, where `|` would end it.
pub fn markdown_cell(text: &str) -> String {
    visible(text).replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_shown_as_a_sign() {
        assert_eq!(visible("a\x1b[31mb\x07\n\x7f\u{9b}\u{202e}"), "a␛[31mb␇␊␡\u{fffd}\u{fffd}");
        assert_eq!(visible_lines("a\n\tb\r\x1b"), "a\n\tb␍␛");
    }

    #[test]
    fn ordinary_text_stays_as_it_is() {
        for text in ["rack0/tor", "8 µs · ─ ünïcode 漢字", ""] {
            assert!(matches!(visible(text), Cow::Borrowed(same) if same == text));
        }
    }

    #[test]
    fn a_cell_of_a_table_in_markdown_ends_where_it_should() {
        assert_eq!(markdown_cell("a|b\nc"), "a\\|b␊c");
    }
}
