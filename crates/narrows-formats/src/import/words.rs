//! Words of a text with their places, and numbers in them.

use std::fmt::Display;
use std::str::FromStr;
use std::sync::Arc;

use narrows::diagnostic::{Checked, Code, Diagnostic, Place, Source};

/// A word of a text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Word<'a> {
    source: &'a Arc<Source>,
    pub(super) text: &'a str,
}

impl<'a> Word<'a> {
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

    /// There must be no more. `what` says what the file announced.
    pub(super) fn end(&mut self, what: impl Fn() -> String) -> Checked<()> {
        match self.left.next() {
            None => Ok(()),
            Some(text) => {
                let word = Word { source: self.source, text };
                Err(word.error(format!("found \"{text}\" after {}", what())).into())
            }
        }
    }
}

/// An error at the end of a text.
pub(super) fn truncated(source: &Arc<Source>, message: String) -> narrows::diagnostic::Rejection {
    let end = source.text.trim_end().len();
    let place = Place { source: Arc::clone(source), span: end..end };
    Diagnostic::error(Code::ForeignFile, message).at(place).into()
}
