//! Curves of a run as they are written: what x and y are taken of, and which rows are one point.

use super::columns::{Curve, Joined, Y};
use super::ground::Ground;
use super::lookup::{Wanted, is_key, is_time, numbers_of, rows_of, table_of};
use super::written::{Reduce, Series};
use crate::diagnostic::{Checked, Code, Diagnostic};
use crate::results::TableInfo;

/// The most points of a distribution.
const MOST_POINTS: u32 = 10_000;

/// Checks what is written at `path`.
///
/// # Errors
/// If something has no such name, or does not fit together.
pub(super) fn curve_of(written: &Series, path: &str, ground: &Ground) -> Checked<Curve> {
    let info = table_of(&written.table, &format!("{path}.table"), ground)?;
    let x = Wanted {
        column: &written.x,
        keys: ["x", "x_minus"],
        minus: written.x_minus.as_ref(),
        ..Wanted::default()
    };
    let x = numbers_of(info, &x, path, ground)?;
    let y = y_of(written, info, path, ground)?;
    let (x_times, y_times) = (written.x_times.unwrap_or(1.0), written.y_times.unwrap_or(1.0));
    let x_plus = written.x_plus.unwrap_or(0.0);
    let numbers = [x_times, x_plus, y_times, written.empty.unwrap_or(0.0)];
    if numbers.into_iter().any(|number| !number.is_finite()) {
        let message = "`x_times`, `x_plus`, `y_times` and `empty` are numbers";
        return Err(ground.at(path, Diagnostic::error(Code::OutOfRange, message)));
    }
    let rows = rows_of(info, &written.rows, path, ground)?;
    Ok(Curve { table: info.name, x, x_times, x_plus, y, y_times, rows })
}

/// The y values of a curve.
fn y_of(written: &Series, info: &TableInfo, path: &str, ground: &Ground) -> Checked<Y> {
    let Series { y, distribution, increase, values, missing, running, x_minus, .. } = written;
    let joined = joined_of(written, info, path, ground)?;
    let alone = joined.is_none() && increase.is_none() && values.is_none() && missing.is_none() && !running;
    match (y, *distribution) {
        (Some(column), None) if joined.is_none() || x_minus.is_none() => {
            let wanted = Wanted {
                column,
                keys: ["y", "minus"],
                increase: increase.as_ref(),
                values: values.as_ref(),
                missing: *missing,
                ..Wanted::default()
            };
            Ok(Y::Numbers { of: numbers_of(info, &wanted, path, ground)?, running: *running, joined })
        }
        (None, Some(points)) if alone && (1..=MOST_POINTS).contains(&points) => Ok(Y::Distribution(points)),
        (None, Some(points)) if alone => {
            let message = format!("a distribution of {points} points, expected 1 to {MOST_POINTS}");
            Err(ground.at(&format!("{path}.distribution"), Diagnostic::error(Code::OutOfRange, message)))
        }
        (Some(_), None) => {
            let message =
                "rows are joined by a column, not by a difference: `x_minus` without `bins` and `each`";
            Err(ground.at(path, Diagnostic::error(Code::Conflict, message)))
        }
        _ => {
            let message = "a series has `y`, with what becomes of it, or a `distribution` of x alone";
            Err(ground.at(path, Diagnostic::error(Code::Conflict, message)))
        }
    }
}

/// Which rows of a curve are one point.
fn joined_of(written: &Series, info: &TableInfo, path: &str, ground: &Ground) -> Checked<Option<Joined>> {
    let each = written.each.unwrap_or(Reduce::Sum);
    match (written.bins, written.empty) {
        (None, None) if written.each.is_none() => Ok(None),
        (None, None) => {
            is_key(info, &written.x, &format!("{path}.x"), ground)?;
            Ok(Some(Joined { length: 1, each, empty: None }))
        }
        (Some(length), empty) if length.as_ps() > 0 => {
            is_time(info, &written.x, &format!("{path}.x"), ground)?;
            Ok(Some(Joined { length: length.as_ps(), each, empty }))
        }
        _ => {
            let message = "intervals are `bins` above 0; without them no interval is `empty`";
            Err(ground.at(path, Diagnostic::error(Code::Conflict, message)))
        }
    }
}
