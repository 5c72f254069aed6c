//! Lists of a paper, and texts that name what is in them: `{row}` is the key of an entry, `{row.label}` a field.

use std::collections::BTreeMap;

use super::ground::Ground;
use super::written::{Entry, Items};
use crate::diagnostic::{Checked, Code, Diagnostic};

/// Variables and what they stand for.
#[derive(Clone, Default)]
pub(super) struct Scope<'a> {
    variables: Vec<(&'a str, &'a Entry)>,
}

/// A list by its name, or as it is written at `path`.
pub(super) fn entries<'a>(
    items: &'a Items,
    lists: &'a BTreeMap<String, Vec<Entry>>,
    ground: &Ground,
    path: &str,
) -> Checked<&'a [Entry]> {
    let entries = match items {
        Items::Own(entries) => entries,
        Items::Named(name) => lists.get(name).ok_or_else(|| {
            let error = Diagnostic::error(Code::UnknownName, format!("no list is called \"{name}\""));
            ground.at(path, error.known(name, lists.keys().map(String::as_str)))
        })?,
    };
    Ok(entries)
}

impl<'a> Scope<'a> {
    /// The same, and one variable more.
    pub(super) fn with(&self, variable: &'a str, entry: &'a Entry) -> Self {
        let mut variables = self.variables.clone();
        variables.push((variable, entry));
        Self { variables }
    }

    /// The text with what its placeholders stand for.
    ///
    /// A brace around a word is a placeholder, and a mistake if the word is no variable. Other braces, such as those of
    /// `{ reno = {} }`, stay.
    ///
    /// # Errors
    /// The first word that stands for nothing.
    pub(super) fn fill(&self, text: &str) -> Result<String, Diagnostic> {
        let mut filled = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            filled += before;
            match word(after) {
                Some((word, behind)) => {
                    filled += self.value(word)?;
                    rest = behind;
                }
                None => {
                    filled.push('{');
                    rest = after;
                }
            }
        }
        Ok(filled + rest)
    }

    fn value(&self, word: &str) -> Result<&'a str, Diagnostic> {
        let (name, field) = word.split_once('.').unwrap_or((word, ""));
        let found = self.variables.iter().rev().find(|(variable, _)| *variable == name);
        let Some((_, entry)) = found else {
            let error =
                Diagnostic::error(Code::UnknownName, format!("\"{{{word}}}\" stands for nothing here"));
            return Err(error.known(name, self.variables.iter().map(|(variable, _)| *variable)));
        };
        let field = match field {
            "" => Some(entry.key.as_str()),
            "label" => Some(entry.label.as_str()),
            _ => entry.fields.get(field).map(String::as_str),
        };
        field.ok_or_else(|| {
            let message = format!("\"{{{word}}}\": the entry \"{}\" has no such field", entry.key);
            let fields = entry.fields.keys().map(String::as_str).chain(["label"]);
            Diagnostic::error(Code::UnknownName, message)
                .known(word.rsplit('.').next().unwrap_or(word), fields)
        })
    }
}

/// `row}` or `row.label}` at the beginning of a text, and what is behind.
fn word(text: &str) -> Option<(&str, &str)> {
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || "_-.".contains(c)))?;
    let (word, behind) = (&text[..end], text[end..].strip_prefix('}')?);
    let sound = word.split('.').count() <= 2 && word.split('.').all(|part| !part.is_empty());
    sound.then_some((word, behind))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry() -> Entry {
        Entry { key: "20km".into(), label: "20 km".into(), fields: [("ns".into(), "100000".into())].into() }
    }

    #[test]
    fn braces_around_a_variable_are_placeholders_and_others_stay() {
        let entry = entry();
        let scope = Scope::default().with("length", &entry);
        let fill = |text: &str| scope.fill(text).unwrap();
        assert_eq!(fill("length.{length}"), "length.20km");
        assert_eq!(fill("delay={length.ns} ns, {length.label}"), "delay=100000 ns, 20 km");
        assert_eq!(fill("cc={ reno = {} }"), "cc={ reno = {} }");
        assert_eq!(fill("{{length}}"), "{20km}");
        assert_eq!(fill("a { b"), "a { b");
    }

    #[test]
    fn a_word_in_braces_that_stands_for_nothing_is_a_mistake() {
        let entry = entry();
        let scope = Scope::default().with("length", &entry);
        let message = |text: &str| scope.fill(text).unwrap_err().to_string();
        assert_eq!(
            message("{lenght}"),
            "\"{lenght}\" stands for nothing here\n  did you mean \"length\"? known: length"
        );
        assert!(message("{length.us}").contains("has no such field"), "{}", message("{length.us}"));
    }
}
