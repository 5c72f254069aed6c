//! Tables of results: columns of numbers and names. Units stand in the names of columns.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use super::columns::{ColumnInfo, ColumnKind, TableInfo};

/// Rows that are encoded at once, so few that their columns stay in the cache. The pages of a file are the same with any multiple of 1024, as the
/// library looks after so many whether a page is full.
pub(crate) const PART: usize = 1 << 15;

/// A table.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Its name, and that of its file.
    pub name: &'static str,
    /// Its columns, all of one length.
    pub columns: Vec<Column>,
}

/// A column.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its name.
    pub name: Cow<'static, str>,
    /// Its values.
    pub values: Values,
}

impl Column {
    /// Its name, the type of its values, and whether some may be missing.
    pub(crate) fn kind(&self) -> (&str, ColumnKind, bool) {
        let (kind, optional) = self.values.kind();
        (&self.name, kind, optional)
    }
}

/// The values of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Whole numbers.
    Integers(Vec<u64>),
    /// Whole numbers, some of which are missing.
    MaybeIntegers(Vec<Option<u64>>),
    /// Real numbers.
    Reals(Vec<f64>),
    /// Real numbers, some of which are missing.
    MaybeReals(Vec<Option<f64>>),
    /// Truth.
    Flags(Vec<bool>),
    /// Few different names: for each row the index of one.
    Names(Vec<u32>, Vec<String>),
    /// The same, some of which are missing.
    MaybeNames(Vec<Option<u32>>, Vec<String>),
}

impl Table {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |column| column.values.len())
    }

    /// The first column of `wanted` (all that are described if none) that is missing, though not for some results only, or is of
    /// another kind than `info` says.
    pub(super) fn misfit(&self, info: &TableInfo, wanted: Option<&[&str]>) -> Option<&'static str> {
        let wanted = |info: &&ColumnInfo| wanted.is_none_or(|wanted| wanted.contains(&info.name));
        let fits = |info: &&ColumnInfo| {
            let fits = |values: &Values| values.kind() == (info.kind, info.optional);
            self.column(info.name).map_or(!info.present.is_empty(), fits)
        };
        info.columns.iter().filter(wanted).find(|info| !fits(info)).map(|info| info.name)
    }

    /// Some of its rows.
    pub(super) fn part(&self, rows: Range<usize>) -> Self {
        let part =
            |column: &Column| Column { name: column.name.clone(), values: column.values.part(rows.clone()) };
        Self { name: self.name, columns: self.columns.iter().map(part).collect() }
    }

    /// The values of a column, if there is one of this name.
    pub fn column(&self, name: &str) -> Option<&Values> {
        self.columns.iter().find(|column| column.name == name).map(|column| &column.values)
    }

    /// The whole numbers of a column, none of which is missing; empty if there is no such column.
    pub fn integers(&self, name: &str) -> &[u64] {
        match self.column(name) {
            Some(Values::Integers(values)) => values,
            _ => &[],
        }
    }

    /// The whole numbers of a column, some of which may be missing; empty if there is no such column.
    pub fn maybe_integers(&self, name: &str) -> &[Option<u64>] {
        match self.column(name) {
            Some(Values::MaybeIntegers(values)) => values,
            _ => &[],
        }
    }

    /// The names of a column: for each row the index of one, and the names; empty if there is no such column.
    pub fn names(&self, name: &str) -> (&[u32], &[String]) {
        match self.column(name) {
            Some(Values::Names(values, names)) => (values, names),
            _ => (&[], &[]),
        }
    }

    /// The name in a row of a column, if it has one there.
    pub(crate) fn name(&self, name: &str, row: usize) -> Option<&str> {
        let (index, names) = match self.column(name)? {
            Values::Names(values, names) => (values.get(row).copied()?, names),
            Values::MaybeNames(values, names) => (values.get(row).copied()??, names),
            _ => return None,
        };
        names.get(index as usize).map(String::as_str)
    }

    /// Truths of a column; empty if there is no such column.
    pub fn flags(&self, name: &str) -> &[bool] {
        match self.column(name) {
            Some(Values::Flags(values)) => values,
            _ => &[],
        }
    }
}

/// Adds those of `their` names that are new to ours. For each of theirs: its index among ours.
fn enter(names: &mut Vec<String>, their: Vec<String>) -> Vec<u32> {
    if names.is_empty() {
        *names = their;
        return (0..names.len() as u32).collect();
    }
    let mut known: HashMap<String, u32> = names.iter().cloned().zip(0..).collect();
    let number = |name: String| {
        let next = names.len() as u32;
        *known.entry(name).or_insert_with_key(|name| {
            names.push(name.clone());
            next
        })
    };
    their.into_iter().map(number).collect()
}

impl Values {
    /// Adds more of the same kind behind; false if it is of another kind. Where some of ours may be missing, none of the others
    /// need to be.
    pub(crate) fn append(&mut self, more: Self) -> bool {
        match (self, more) {
            (Self::Integers(values), Self::Integers(mut more)) => values.append(&mut more),
            (Self::MaybeIntegers(values), Self::MaybeIntegers(mut more)) => values.append(&mut more),
            (Self::Reals(values), Self::Reals(mut more)) => values.append(&mut more),
            (Self::MaybeIntegers(values), Self::Integers(more)) => values.extend(more.into_iter().map(Some)),
            (Self::MaybeReals(values), Self::MaybeReals(mut more)) => values.append(&mut more),
            (Self::MaybeReals(values), Self::Reals(more)) => values.extend(more.into_iter().map(Some)),
            (Self::Flags(values), Self::Flags(mut more)) => values.append(&mut more),
            (Self::Names(values, names), Self::Names(more, their)) => {
                let ours = enter(names, their);
                values.extend(more.into_iter().map(|index| ours[index as usize]));
            }
            (Self::MaybeNames(values, names), Self::Names(more, their)) => {
                let ours = enter(names, their);
                values.extend(more.into_iter().map(|index| Some(ours[index as usize])));
            }
            (Self::MaybeNames(values, names), Self::MaybeNames(more, their)) => {
                let ours = enter(names, their);
                values.extend(more.into_iter().map(|index| index.map(|index| ours[index as usize])));
            }
            _ => return false,
        }
        true
    }

    /// Adds so many missing values behind; false if none may be missing.
    pub(crate) fn append_nothing(&mut self, count: usize) -> bool {
        match self {
            Self::MaybeIntegers(values) => values.resize(values.len() + count, None),
            Self::MaybeReals(values) => values.resize(values.len() + count, None),
            Self::MaybeNames(values, _) => values.resize(values.len() + count, None),
            _ => return count == 0,
        }
        true
    }

    /// The same without values, where some may be missing. Truths are never missing.
    pub(crate) fn maybe(self) -> Self {
        match self {
            Self::Integers(_) => Self::MaybeIntegers(Vec::new()),
            Self::Reals(_) => Self::MaybeReals(Vec::new()),
            Self::Names(..) => Self::MaybeNames(Vec::new(), Vec::new()),
            other => other,
        }
    }

    /// Some of the values.
    fn part(&self, rows: Range<usize>) -> Self {
        match self {
            Self::Integers(values) => Self::Integers(values[rows].to_vec()),
            Self::MaybeIntegers(values) => Self::MaybeIntegers(values[rows].to_vec()),
            Self::Reals(values) => Self::Reals(values[rows].to_vec()),
            Self::MaybeReals(values) => Self::MaybeReals(values[rows].to_vec()),
            Self::Flags(values) => Self::Flags(values[rows].to_vec()),
            Self::Names(values, names) => Self::Names(values[rows].to_vec(), names.clone()),
            Self::MaybeNames(values, names) => Self::MaybeNames(values[rows].to_vec(), names.clone()),
        }
    }

    /// Forgets all values.
    pub(crate) fn clear(&mut self) {
        match self {
            Self::Integers(values) => values.clear(),
            Self::MaybeIntegers(values) => values.clear(),
            Self::Reals(values) => values.clear(),
            Self::MaybeReals(values) => values.clear(),
            Self::Flags(values) => values.clear(),
            Self::Names(values, names) => {
                values.clear();
                names.clear();
            }
            Self::MaybeNames(values, names) => {
                values.clear();
                names.clear();
            }
        }
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        match self {
            Self::Integers(values) => values.len(),
            Self::MaybeIntegers(values) => values.len(),
            Self::Reals(values) => values.len(),
            Self::MaybeReals(values) => values.len(),
            Self::Flags(values) => values.len(),
            Self::Names(values, _) => values.len(),
            Self::MaybeNames(values, _) => values.len(),
        }
    }

    /// Some may be missing.
    pub fn is_optional(&self) -> bool {
        matches!(self, Self::MaybeIntegers(_) | Self::MaybeReals(_) | Self::MaybeNames(..))
    }

    /// Their type, and whether some may be missing.
    pub(super) fn kind(&self) -> (ColumnKind, bool) {
        match self {
            Self::Integers(_) => (ColumnKind::Integer, false),
            Self::MaybeIntegers(_) => (ColumnKind::Integer, true),
            Self::Reals(_) => (ColumnKind::Real, false),
            Self::MaybeReals(_) => (ColumnKind::Real, true),
            Self::Flags(_) => (ColumnKind::Flag, false),
            Self::Names(..) => (ColumnKind::Name, false),
            Self::MaybeNames(..) => (ColumnKind::Name, true),
        }
    }

    /// There are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
