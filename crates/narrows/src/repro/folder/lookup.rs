//! Tables and columns by name: whether results have them, and of which kind their values are.

use std::collections::{BTreeMap, BTreeSet};

use super::columns::{Numbers, Rows, Take};
use super::ground::Ground;
use super::written::{Among, Filter};
use crate::diagnostic::{Checked, Code, Diagnostic};
use crate::plan::Plan;
use crate::recorded;
use crate::results::{ColumnKind, TableInfo, all_tables};
use crate::scenario::matches;

/// A column as it is written.
#[derive(Default)]
pub(super) struct Wanted<'a> {
    pub(super) column: &'a str,
    /// The keys at which it stands, and the one that is subtracted.
    pub(super) keys: [&'static str; 2],
    /// Rows are counted, so that it may have names.
    pub(super) counted: bool,
    pub(super) increase: Option<&'a String>,
    pub(super) minus: Option<&'a String>,
    pub(super) values: Option<&'a BTreeMap<String, f64>>,
    pub(super) missing: Option<f64>,
}

/// Numbers taken of a column.
///
/// # Errors
/// If there is no such column, or it has another kind of values.
pub(super) fn numbers_of(
    info: &TableInfo,
    wanted: &Wanted<'_>,
    path: &str,
    ground: &Ground,
) -> Checked<Numbers> {
    let Wanted { column, keys: [key, subtracted], missing, .. } = *wanted;
    let at = format!("{path}.{key}");
    let take = match (wanted.increase, wanted.minus, wanted.values) {
        (None, None, None) if wanted.counted => {
            column_info(info, column, &at, ground).map(|_| Take::Value)?
        }
        (None, None, None) => Take::Value,
        (Some(of), None, None) => {
            is_key(info, of, &format!("{path}.increase"), ground)?;
            Take::Increase(of.clone())
        }
        (None, Some(other), None) => {
            has_numbers(info, other, &format!("{path}.{subtracted}"), ground)?;
            Take::Minus(other.clone())
        }
        (None, None, Some(values)) => {
            let path = format!("{path}.values");
            if column_info(info, column, &at, ground)? != ColumnKind::Name {
                let message = format!("the column \"{column}\" has numbers, `values` are of names");
                return Err(ground.at(&path, Diagnostic::error(Code::WrongType, message)));
            }
            if values.is_empty() || values.values().any(|value| !value.is_finite()) {
                let message = "`values` are a number for each name";
                return Err(ground.at(&path, Diagnostic::error(Code::OutOfRange, message)));
            }
            Take::Named(values.clone())
        }
        _ => {
            let message = format!("a column has one of `increase`, `{subtracted}` and `values`");
            return Err(ground.at(path, Diagnostic::error(Code::Conflict, message)));
        }
    };
    if !wanted.counted && !matches!(take, Take::Named(_)) {
        has_numbers(info, column, &at, ground)?;
    }
    Ok(Numbers { column: column.to_owned(), take, missing })
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
            Filter::Among(Among { table, column: other, rows }) => {
                let path = format!("{path}.among");
                let info = table_of(table, &format!("{path}.table"), ground)?;
                is_key(info, other, &format!("{path}.column"), ground)?;
                rows_of(info, rows, &path, ground)?;
                column_info(info, other, &path, ground)? == kind
            }
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

/// Whether a run of this plan has the table, and in it the names that rows are wanted of.
///
/// # Errors
/// The first name that it lacks.
pub(super) fn check_rows(
    table: &str,
    rows: &BTreeMap<String, Filter>,
    plan: &Plan,
    path: &str,
    ground: &Ground,
) -> Checked<()> {
    let record = &plan.record;
    let there = match table {
        "queues" => record.queues.is_some(),
        "links" => record.links.is_some(),
        "windows" => record.windows.is_some(),
        "state" => record.state.is_some(),
        _ => recorded::has_table(plan, table),
    };
    if !there {
        let present = TableInfo::find(table).map_or("", |info| info.present);
        let message = format!("the results of {} have no table \"{table}\"", plan.scenario.name);
        let error = Diagnostic::error(Code::UnknownName, message).help(format!("there is one {present}"));
        return Err(ground.at(&format!("{path}.table"), error));
    }
    for (column, filter) in rows {
        let path = format!("{path}.where.{column}");
        match filter {
            Filter::Among(Among { table, rows, .. }) => {
                check_rows(table, rows, plan, &format!("{path}.among"), ground)?;
            }
            Filter::Names(wanted) => check_names(column, wanted.iter(), plan, &path, ground)?,
            _ => {}
        }
    }
    Ok(())
}

/// Whether a column of a run of this plan can have these names.
///
/// # Errors
/// The first that it cannot.
pub(super) fn check_names<'a>(
    column: &str,
    mut wanted: impl Iterator<Item = &'a String>,
    plan: &Plan,
    path: &str,
    ground: &Ground,
) -> Checked<()> {
    let known: BTreeSet<String> =
        all_tables().filter_map(|table| table.names(column, plan)).flatten().collect();
    let unknown = wanted.find(|wanted| !known.iter().any(|name| matches(wanted, name)));
    let unknown = unknown.filter(|_| !known.is_empty());
    unknown.map_or(Ok(()), |unknown| {
        let message = format!("{} has no {column} \"{unknown}\"", plan.scenario.name);
        let error = Diagnostic::error(Code::UnknownName, message);
        Err(ground.at(path, error.known(unknown, known.iter().map(String::as_str))))
    })
}
