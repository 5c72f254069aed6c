//! Words of a text with their places, and numbers in them.

use std::fmt::Display;
use std::str::FromStr;
use std::sync::Arc;

use narrows::diagnostic::{Checked, Code, Diagnostic, Place, Source};
use narrows_proto::units::QuantityError;

use super::Note;

/// A word of a text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Word<'a> {
    source: &'a Arc<Source>,
    pub(super) text: &'a str,
}

impl<'a> Word<'a> {
    /// The word `text` of `source`.
    pub(super) fn of(source: &'a Arc<Source>, text: &'a str) -> Self {
        Self { source, text }
    }

    pub(super) fn place(self) -> Place {
        let start = self.text.as_ptr() as usize - self.source.text.as_ptr() as usize;
        Place { source: Arc::clone(self.source), span: start..start + self.text.len() }
    }

    pub(super) fn error(self, message: impl Into<String>) -> Diagnostic {
        Diagnostic::error(Code::ForeignFile, message).at(self.place())
    }

    /// A part of the word.
    pub(super) fn part(self, text: &'a str) -> Self {
        Self { text, ..self }
    }

    fn read<T: FromStr>(self, what: &str) -> Checked<T> {
        self.text.parse().map_err(|_| self.error(format!("found \"{}\", expected {what}", self.text)).into())
    }

    /// A whole number. `what` says of what.
    pub(super) fn whole<T: FromStr + PartialOrd + Display + Copy>(
        self,
        what: &str,
        least: T,
        most: T,
    ) -> Checked<T> {
        let number: T = self.read(&format!("{what}, a whole number from {least} to {most}"))?;
        if number < least || number > most {
            return Err(self.error(format!("{what} is {number}, expected {least} to {most}")).into());
        }
        Ok(number)
    }

    /// The same for programs that read a whole number and stop at its decimals: 3000.0 is 3000.
    pub(super) fn whole_cut<T: FromStr + PartialOrd + Display + Copy>(
        self,
        what: &str,
        least: T,
        most: T,
    ) -> Checked<T> {
        match self.text.split_once('.') {
            Some((whole, decimals)) if !whole.is_empty() && decimals.bytes().all(|b| b.is_ascii_digit()) => {
                self.part(whole).whole(what, least, most)
            }
            _ => self.whole(what, least, most),
        }
    }

    /// A finite number that is not negative.
    pub(super) fn number(self, what: &str) -> Checked<f64> {
        let number: f64 = self.read(&format!("{what}, a number"))?;
        if !number.is_finite() || number < 0.0 {
            return Err(self.error(format!("{what} is {number}, expected a number of 0 or more")).into());
        }
        Ok(number)
    }

    /// A quantity: `text` is what the word says, with a unit that is read here.
    pub(super) fn quantity<T: FromStr<Err = E>, E: Display>(self, what: &str, text: &str) -> Checked<T> {
        text.parse().map_err(|error| self.error(format!("{what}: {error}")).into())
    }

    /// The same for numbers that other programs read as binary fractions: what is finer than the smallest step is left out. Says
    /// whether anything was.
    pub(super) fn quantity_cut<T: FromStr<Err = QuantityError>>(
        self,
        what: &str,
        text: &str,
    ) -> Checked<(T, bool)> {
        // Binary fractions have 17 digits, a picosecond has 12 decimals; many more would overflow.
        const MOST: usize = 20;
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let long = end > MOST && text[..MOST].contains('.');
        let mut shorter = match long {
            true => format!("{}{}", text[..MOST].trim_end_matches('.'), &text[end..]),
            false => text.to_owned(),
        };
        for position in (0..end.min(MOST)).rev() {
            match shorter.parse() {
                Err(QuantityError::TooFine { .. }) => {}
                Ok(value) => return Ok((value, shorter != text)),
                Err(error) => return Err(self.error(format!("{what}: {error}")).into()),
            }
            if shorter.as_bytes().get(position).is_some_and(u8::is_ascii_digit) {
                shorter.replace_range(position..=position, "0");
            }
        }
        Ok((self.quantity(what, &shorter)?, shorter != text))
    }
}

/// Lines that hold anything, as words. Comments are lines that begin with `#`.
pub(super) fn lines<'a>(source: &'a Arc<Source>) -> impl Iterator<Item = Vec<Word<'a>>> {
    let words = |line: &'a str| -> Vec<Word<'a>> {
        line.split_ascii_whitespace().map(|text| Word { source, text }).collect()
    };
    let lines = source.text.lines().map(words);
    lines.filter(|words| words.first().is_some_and(|first| !first.text.starts_with('#')))
}

/// The words of a text one after the other.
pub(super) struct Words<'a> {
    source: &'a Arc<Source>,
    left: std::str::SplitAsciiWhitespace<'a>,
}

impl<'a> Words<'a> {
    pub(super) fn of(source: &'a Arc<Source>) -> Self {
        Self { source, left: source.text.split_ascii_whitespace() }
    }

    /// The next word. `what` says what it should be.
    pub(super) fn next(&mut self, what: impl Fn() -> String) -> Checked<Word<'a>> {
        match self.left.next() {
            Some(text) => Ok(Word { source: self.source, text }),
            None => Err(truncated(self.source, format!("the file ends here, expected {}", what()))),
        }
    }

    /// The words of the line that the next word is on, from that word on.
    pub(super) fn ahead(&self) -> Vec<Word<'a>> {
        let line = self.rest().lines().next().unwrap_or_default();
        line.split_ascii_whitespace().map(|text| Word { source: self.source, text }).collect()
    }

    /// Counts of the lines left, which nobody reads.
    pub(super) fn ignored(self) -> Ignored {
        let lines = self.rest().lines().filter_map(|line| line.split_ascii_whitespace().next());
        let (rows, text): (Vec<_>, Vec<_>) = lines.partition(|first| first.parse::<u64>().is_ok());
        Ignored { rows: rows.len(), text: text.len() }
    }

    /// The text from the next word on.
    fn rest(&self) -> &'a str {
        let all = self.source.text.as_str();
        let next = self.left.clone().next();
        next.map_or("", |word| &all[word.as_ptr() as usize - all.as_ptr() as usize..])
    }
}

/// Lines after those that a file announces. Programs that read as many as are announced pass them over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ignored {
    /// Lines that begin with a number.
    pub rows: usize,
    /// Other lines.
    pub text: usize,
}

impl Ignored {
    /// Notes what was ignored of `file`. `announced` says what was not.
    pub(super) fn note(self, file: &str, announced: &str, notes: &mut Vec<Note>) {
        let Self { rows, text } = self;
        if rows + text > 0 {
            let why = format!(
                "what follows the announced {announced} is ignored, as there (rows: {rows}, other lines: {text})"
            );
            notes.push(Note::new(file, why));
        }
    }
}

/// An error at the end of a text.
pub(super) fn truncated(source: &Arc<Source>, message: String) -> narrows::diagnostic::Rejection {
    let end = source.text.trim_end().len();
    let place = Place { source: Arc::clone(source), span: end..end };
    Diagnostic::error(Code::ForeignFile, message).at(place).into()
}
