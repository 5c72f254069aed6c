//! CSV files with the place of every field, for messages.

use std::path::Path;
use std::sync::Arc;

use crate::diagnostic::{Checked, Code, Diagnostic, Place, Source};

/// A field of a row.
#[derive(Clone, Debug)]
pub(crate) struct Field {
    /// Its text, without blanks around it.
    pub(crate) text: String,
    /// Where it is.
    pub(crate) place: Place,
}

/// Reads a file. See [`parse`].
///
/// # Errors
/// If it cannot be read or a row has the wrong number of fields.
pub(crate) fn read<const N: usize>(path: &Path, columns: [&str; N]) -> Checked<Vec<[Field; N]>> {
    let unreadable = |error: std::io::Error| {
        Diagnostic::error(Code::InputFailed, format!("cannot read {}: {error}", path.display()))
    };
    let text = std::fs::read_to_string(path).map_err(unreadable)?;
    parse(&path.display().to_string(), text, columns)
}

/// Splits a text into rows of fields. Fields are separated by commas, semicolons, tabs or blanks, whichever the first row
/// uses; lines that begin with `#` are comments; a first row with the names of the columns is left out.
///
/// # Errors
/// If a row has the wrong number of fields.
pub(crate) fn parse<const N: usize>(
    name: &str,
    text: String,
    columns: [&str; N],
) -> Checked<Vec<[Field; N]>> {
    let source = Arc::new(Source { name: name.to_owned(), text });
    let text = source.text.as_str();
    let separator = separator(text);
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .comment(Some(b'#'))
        .quoting(false)
        .delimiter(separator)
        .from_reader(text.as_bytes());
    let mut rows = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|error| Diagnostic::error(Code::Csv, error.to_string()))?;
        let start = record.position().map_or(0, |position| position.byte() as usize);
        let mut fields = fields(&source, start, separator);
        if fields.is_empty() || (rows.is_empty() && is_header(&fields, &columns)) {
            continue;
        }
        if fields.len() != N {
            let message = format!("a row with {} fields, expected {N}: {}", fields.len(), columns.join(","));
            let end = fields.pop().map_or(start, |field| field.place.span.end);
            let place = Place {
                source: Arc::clone(&source),
                span: fields.first().map_or(start, |f| f.place.span.start)..end,
            };
            return Err(Diagnostic::error(Code::Csv, message).at(place).into());
        }
        rows.push(fields.try_into().expect("the number was checked"));
    }
    Ok(rows)
}

fn separator(text: &str) -> u8 {
    let first =
        text.lines().find(|line| !line.trim().is_empty() && !line.starts_with('#')).unwrap_or_default();
    [b',', b';', b'\t'].into_iter().find(|separator| first.contains(char::from(*separator))).unwrap_or(b' ')
}

/// The fields of the line in which `start` lies. Between blanks there are no empty fields.
fn fields(source: &Arc<Source>, start: usize, separator: u8) -> Vec<Field> {
    // The reader's position may be that of line ends and comments before the record.
    let mut at = start;
    let mut lines = source.text[start..].split_inclusive('\n');
    let line = loop {
        let Some(line) = lines.next() else { return Vec::new() };
        if !line.trim().is_empty() && !line.starts_with('#') {
            break line;
        }
        at += line.len();
    };
    let mut fields = Vec::new();
    for part in line.split(char::from(separator)) {
        let text = part.trim();
        let offset = at + part.len() - part.trim_start().len();
        if !text.is_empty() || separator != b' ' {
            let place = Place { source: Arc::clone(source), span: offset..offset + text.len() };
            fields.push(Field { text: text.to_owned(), place });
        }
        at += part.len() + 1;
    }
    fields
}

fn is_header(fields: &[Field], columns: &[&str]) -> bool {
    fields.iter().map(|field| field.text.as_str()).eq(columns.iter().copied())
}

impl Field {
    /// An error at this field.
    pub(crate) fn error(&self, message: impl Into<String>) -> Diagnostic {
        Diagnostic::error(Code::Csv, message).at(self.place.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str) -> Vec<Vec<String>> {
        let rows = parse("a.csv", text.to_owned(), ["x", "y"]).expect("rows");
        rows.into_iter().map(|row| row.map(|field| field.text).to_vec()).collect()
    }

    #[test]
    fn every_usual_separator_is_read() {
        for text in
            ["1,2\n3,4\n", "# c\nx,y\n1, 2\n\n3,4", "1 2\n3   4\n", "1\t2\r\n3\t4\r\n", "1;2\n# c\n3;4\n"]
        {
            assert_eq!(rows(text), [["1", "2"], ["3", "4"]], "{text:?}");
        }
    }

    #[test]
    fn a_row_with_a_field_too_many_is_refused_with_its_line() {
        let error = parse("a.csv", "1,2\n# c\n3,4,5\n".into(), ["x", "y"]).expect_err("refused");
        assert_eq!(error.to_string(), "a.csv:3:1  a row with 3 fields, expected 2: x,y");
    }

    #[test]
    fn fields_know_their_column() {
        let rows = parse("a.csv", "x,y\n1,  2\n".into(), ["x", "y"]).expect("rows");
        assert_eq!(rows[0][1].place.line_and_column(), (2, 5));
    }
}
