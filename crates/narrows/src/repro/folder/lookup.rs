//! Tables and columns by name: whether results have them, and of which kind their values are.

use std::collections::BTreeMap;

use super::columns::{Numbers, Rows};
use super::ground::Ground;
use super::written::Filter;
use crate::diagnostic::{Checked, Code, Diagnostic};
use crate::results::{ColumnKind, TableInfo};

/// A column with numbers, which stands at the key beside it.
pub(super) fn numbers_of(
    info: &TableInfo,
    (column, key): (&String, &str),
    increase: Option<&String>,
    path: &str,
    ground: &Ground,
) -> Checked<Numbers> {
    has_numbers(info, column, &format!("{path}.{key}"), ground)?;
    if let Some(of) = increase {
        is_key(info, of, &format!("{path}.increase"), ground)?;
    }
    Ok(Numbers { column: column.clone(), increase: increase.cloned() })
}

pub(super) fn table_of(name: &str, path: &str, ground: &Ground) -> Checked<&'static TableInfo> {
    TableInfo::find(name).ok_or_else(|| {
        let error = Diagnostic::error(Code::UnknownName, format!("results have no table \"{name}\""));
        ground.at(path, error.known(name, crate::results::TABLES.iter().map(|table| table.name)))
    })
}

fn column_info(info: &TableInfo, name: &str, path: &str, ground: &Ground) -> Checked<ColumnKind> {
    info.column(name).map(|column| column.kind).ok_or_else(|| {
        let message = format!("the table \"{}\" has no column \"{name}\"", info.name);
        let error = Diagnostic::error(Code::UnknownName, message);
        ground.at(path, error.known(name, info.columns.iter().map(|column| column.name)))
    })
}

pub(super) fn has_numbers(info: &TableInfo, name: &str, path: &str, ground: &Ground) -> Checked<()> {
    if column_info(info, name, path, ground)? != ColumnKind::Name {
        return Ok(());
    }
    let message = format!("the column \"{name}\" has names, expected numbers");
    Err(ground.at(path, Diagnostic::error(Code::WrongType, message)))
}

/// Rows may have a value of the column in common.
pub(super) fn is_key(info: &TableInfo, name: &str, path: &str, ground: &Ground) -> Checked<()> {
    if column_info(info, name, path, ground)? != ColumnKind::Real {
        return Ok(());
    }
    let message = format!("rows cannot be grouped by the real numbers of \"{name}\"");
    Err(ground.at(path, Diagnostic::error(Code::WrongType, message)))
}

pub(super) fn is_time(info: &TableInfo, name: &str, path: &str, ground: &Ground) -> Checked<()> {
    if column_info(info, name, path, ground)? == ColumnKind::Integer && name.ends_with("_ps") {
        return Ok(());
    }
    let message = format!("\"{name}\" is no time");
    Err(ground.at(path, Diagnostic::error(Code::WrongType, message)))
}

pub(super) fn rows_of(
    info: &TableInfo,
    written: &BTreeMap<String, Filter>,
    path: &str,
    ground: &Ground,
) -> Checked<Rows> {
    for (column, filter) in written {
        let path = format!("{path}.where.{column}");
        let kind = column_info(info, column, &path, ground)?;
        let fits = match filter {
            Filter::Names(_) => kind == ColumnKind::Name,
            Filter::Flag(_) => kind == ColumnKind::Flag,
            Filter::Number(_) | Filter::Between { .. } => {
                matches!(kind, ColumnKind::Integer | ColumnKind::Real)
            }
        };
        if !fits {
            let message = format!("values of \"{column}\" are of another kind: {}", kind.name());
            return Err(ground.at(&path, Diagnostic::error(Code::WrongType, message)));
        }
    }
    Ok(Rows(written.clone()))
}
