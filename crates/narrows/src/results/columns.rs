//! Descriptions of a table and its columns: name, type, unit, meaning.

use serde::Serialize;

/// A table that results may contain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TableInfo {
    /// Its name, and that of its file.
    pub name: &'static str,
    /// Meaning of a row.
    pub meaning: &'static str,
    /// Which results have it.
    pub present: &'static str,
    /// Its columns, in order.
    pub columns: Vec<ColumnInfo>,
}

/// A column of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ColumnInfo {
    /// Its name.
    pub name: &'static str,
    /// Type of its values.
    #[serde(rename = "type")]
    pub kind: ColumnKind,
    /// A value may be missing.
    pub optional: bool,
    /// The unit; empty for counts, numbers of things, fractions and names.
    pub unit: &'static str,
    /// Meaning of a value.
    pub meaning: &'static str,
    /// Which tables of this name have it; empty: all.
    pub present: &'static str,
}

/// Type of the values of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ColumnKind {
    /// A whole number of up to 64 bits.
    Integer,
    /// A real number.
    Real,
    /// True or false.
    Flag,
    /// A name.
    Name,
}

impl ColumnKind {
    /// As it is printed.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Integer => "integer",
            Self::Real => "real",
            Self::Flag => "flag",
            Self::Name => "name",
        }
    }
}

impl TableInfo {
    /// The description of one of its columns.
    pub fn column(&self, name: &str) -> Option<&ColumnInfo> {
        self.columns.iter().find(|column| column.name == name)
    }
}
