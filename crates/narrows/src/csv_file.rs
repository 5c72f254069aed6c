//! CSV files with the place of every field, for messages.

use std::sync::Arc;

use crate::diagnostic::{Checked, Code, Diagnostic, Place, Source};

/// A text of rows of fields. Each line is a row, its fields separated by commas, semicolons, tabs or blanks, whichever the
/// first row uses; empty lines and lines that begin with `#` are left out, and so is a first row with the names of the
/// columns; above a list of numbers any name. There is no quoting.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    source: Arc<Source>,
    separator: char,
}

/// A field of a row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field<'a> {
    source: &'a Arc<Source>,
    /// Its text, without blanks around it.
    pub(crate) text: &'a str,
    /// Where in the source it begins.
    start: usize,
}

/// A line with the place it begins at.
type Line<'a> = (usize, &'a str);

impl Table {
    /// The table in a text called `name`.
    pub(crate) fn new(name: &str, text: String) -> Self {
        Self::of(Arc::new(Source { name: name.to_owned(), text }))
    }

    /// The table in a text.
    pub(crate) fn of(source: Arc<Source>) -> Self {
        // A first line may be a number by itself, and blanks may stand beside tabs.
        let all = |separator| lines(&source.text).skip(1).all(|line| line.1.contains(separator));
        let some = |separator| lines(&source.text).take(2).any(|line| line.1.contains(separator));
        let separator = [',', ';', '\t'].into_iter().find(|separator| some(*separator));
        let separator = separator.filter(|separator| *separator != '\t' || all('\t')).unwrap_or(' ');
        Self { source, separator }
    }

    /// Name of the table.
    pub(crate) fn name(&self) -> &str {
        &self.source.name
    }

    /// The first row, if it is a number by itself: Homa's distributions begin with their mean.
    pub(crate) fn lone_number(&self) -> Option<f64> {
        let line = lines(&self.source.text).next()?.1.trim();
        line.parse().ok().filter(|number: &f64| number.is_finite())
    }

    /// Number of fields in the first row.
    pub(crate) fn width(&self) -> usize {
        lines(&self.source.text).next().map_or(0, |line| self.fields(line).count())
    }

    /// Each row is one field: a list.
    pub(crate) fn is_list(&self) -> bool {
        // A first line may be a number by itself.
        let mut widths = lines(&self.source.text).take(2).map(|line| self.fields(line).count()).peekable();
        widths.peek().is_some() && widths.all(|width| width == 1)
    }

    /// The rows in order. A row with the wrong number of fields is an error.
    pub(crate) fn rows<'a, const N: usize>(
        &'a self,
        columns: [&'a str; N],
    ) -> impl Iterator<Item = Checked<[Field<'a>; N]>> {
        let mut lines = lines(&self.source.text).peekable();
        let is_name = |text: &str| N == 1 && !text.contains(|c: char| c.is_ascii_digit());
        lines.next_if(|line| self.fields(*line).map(|field| field.text).eq(columns) || is_name(line.1));
        if N > 1 && self.lone_number().is_some() {
            lines.next();
        }
        lines.map(move |line| self.row(line, columns))
    }

    fn row<'a, const N: usize>(&'a self, line: Line<'a>, columns: [&str; N]) -> Checked<[Field<'a>; N]> {
        let fields: Vec<_> = self.fields(line).collect();
        fields.try_into().map_err(|fields: Vec<Field<'_>>| {
            let message = format!("a row with {} fields, expected {N}: {}", fields.len(), columns.join(","));
            let end = fields.last().map_or(line.0, |field| field.start + field.text.len());
            let start = fields.first().map_or(line.0, |field| field.start);
            let place = Place { source: Arc::clone(&self.source), span: start..end };
            Diagnostic::error(Code::Csv, message).at(place).into()
        })
    }

    /// The fields of a line. Between blanks there are no empty fields.
    fn fields<'a>(&'a self, (start, line): Line<'a>) -> impl Iterator<Item = Field<'a>> {
        let mut next = start;
        let separates =
            |other: char| other == self.separator || self.separator == ' ' && other.is_ascii_whitespace();
        let parts = line.split(separates).map(move |part| {
            let text = part.trim();
            let start = next + part.len() - part.trim_start().len();
            next += part.len() + 1;
            Field { source: &self.source, text, start }
        });
        parts.filter(|field| !field.text.is_empty() || self.separator != ' ')
    }
}

/// Lines that are neither empty nor comments.
fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    let mut next = 0;
    let lines = text.split_inclusive('\n').map(move |line| {
        let start = next;
        next += line.len();
        (start, line)
    });
    lines.filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'))
}

impl<'a> Field<'a> {
    /// Its parts between blanks.
    pub(crate) fn words(self) -> impl Iterator<Item = Field<'a>> {
        let start_of = move |word: &str| word.as_ptr() as usize - self.text.as_ptr() as usize;
        self.text.split_whitespace().map(move |text| Field {
            text,
            start: self.start + start_of(text),
            ..self
        })
    }

    /// Where it is.
    pub(crate) fn place(&self) -> Place {
        Place { source: Arc::clone(self.source), span: self.start..self.start + self.text.len() }
    }

    /// An error at this field.
    pub(crate) fn error(&self, message: impl Into<String>) -> Diagnostic {
        Diagnostic::error(Code::Csv, message).at(self.place())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: [&str; 2] = ["x", "y"];

    fn rows(text: &str) -> Vec<Vec<String>> {
        let table = Table::new("a.csv", text.to_owned());
        let rows =
            table.rows(COLUMNS).map(|row| row.expect("a row").map(|field| field.text.to_owned()).to_vec());
        rows.collect()
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
    fn a_line_of_blanks_is_no_row_and_repeats_none() {
        assert_eq!(rows("1,2\n  \n3,4\n \t\r\n\n"), [["1", "2"], ["3", "4"]]);
    }

    #[test]
    fn a_row_with_a_field_too_many_is_refused_with_its_line() {
        let table = Table::new("a.csv", "1,2\n# c\n3,4,5\n".into());
        let error = table.rows(COLUMNS).last().expect("a row").expect_err("refused");
        assert_eq!(error.to_string(), "a.csv:3:1  a row with 3 fields, expected 2: x,y");
    }

    #[test]
    fn fields_know_their_column() {
        let table = Table::new("a.csv", "x,y\n1,  2\n".into());
        let row = table.rows(COLUMNS).next().expect("a row").expect("two fields");
        assert_eq!(row[1].place().line_and_column(), (2, 5));
    }
}
