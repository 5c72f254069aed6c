//! Lists of a paper, grids over them, and texts that name what is in them: `{row}` is the key of an entry, `{row.label}` a
//! field.

use std::collections::BTreeMap;

use super::forms::{Entry, Items, Many};
use super::ground::{Ground, is_name};
use crate::diagnostic::{Checked, Code, Diagnostic};

/// Variables and what they stand for.
#[derive(Clone, Default)]
pub(super) struct Scope<'a> {
    variables: Vec<(&'a str, &'a Entry)>,
}

/// Variables and what each runs over.
pub(super) struct Grid<'a> {
    variables: Vec<(&'a str, &'a [Entry])>,
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

impl<'a> Grid<'a> {
    /// The `for` of what stands at `path`.
    ///
    /// # Errors
    /// If a variable has a bad name, or one that is there already, or its list is unknown.
    pub(super) fn of(
        written: &'a Many<BTreeMap<String, Items>>,
        lists: &'a BTreeMap<String, Vec<Entry>>,
        ground: &Ground,
        path: &str,
    ) -> Checked<Self> {
        let mut grid = Self { variables: Vec::new() };
        for (number, table) in written.0.iter().enumerate() {
            if table.len() != 1 {
                let message =
                    "one variable in each table of `for`: for = [{ a = \"outer\" }, { b = \"inner\" }]";
                return Err(ground.at(&format!("{path}.for"), Diagnostic::error(Code::Conflict, message)));
            }
            for (variable, items) in table {
                let at = format!("{path}.for.{number}.{variable}");
                if !is_name(variable) || grid.has(variable) {
                    let message =
                        format!("a variable \"{variable}\", expected a new name of letters, digits, - and _");
                    return Err(ground.at(&at, Diagnostic::error(Code::Duplicate, message)));
                }
                grid.variables.push((variable, entries(items, lists, ground, &at)?));
            }
        }
        Ok(grid)
    }

    pub(super) fn has(&self, variable: &str) -> bool {
        self.variables().any(|known| known == variable)
    }

    pub(super) fn variables(&self) -> impl Iterator<Item = &'a str> {
        self.variables.iter().map(|(variable, _)| *variable)
    }

    /// Its points in `around`, the last variable running fastest. So many points are there already.
    ///
    /// # Errors
    /// Number of points there would be, if they are more than `most`.
    pub(super) fn points(
        &self,
        around: &Scope<'a>,
        before: usize,
        most: usize,
    ) -> Result<Vec<Scope<'a>>, usize> {
        let lengths = self.variables.iter().map(|(_, entries)| entries.len());
        let count = lengths.fold(1_usize, usize::saturating_mul).saturating_add(before);
        if count > most {
            return Err(count);
        }
        let mut points = vec![around.clone()];
        for (variable, list) in &self.variables {
            points = points
                .iter()
                .flat_map(|point| list.iter().map(|entry| point.with(variable, entry)))
                .collect();
        }
        Ok(points)
    }
}

impl<'a> Scope<'a> {
    /// Entry that a variable stands for.
    pub(super) fn entry(&self, variable: &str) -> Option<&'a Entry> {
        self.variables.iter().rev().find(|(name, _)| *name == variable).map(|(_, entry)| *entry)
    }

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
        let Some(entry) = self.entry(name) else {
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
