//! State of congestion controls over time: curves of numbers, and changes of words.

use std::collections::BTreeMap;

use serde::Serialize;

use super::curves::{FLOWS, extremes, flow_name, slice_of};
use crate::diagnostic::Checked;
use crate::report::packed::{Array, Packer};
use crate::results::{Source, Table, Values};

const STATE: [&str; 6] = ["at_ps", "flow", "group", "name", "value", "word"];

/// A value that controls keep.
#[derive(Clone, Debug, Serialize)]
pub(super) struct State {
    name: String,
    /// Unit of its numbers.
    unit: &'static str,
    /// All words it can be; empty if it is a number.
    words: Vec<String>,
    flows: Vec<FlowState>,
}

/// That of one flow.
#[derive(Clone, Debug, Serialize)]
struct FlowState {
    name: String,
    /// ms.
    at: Array,
    /// Numbers in the unit, or which of the words.
    values: Array,
}

/// Units that end the names of values: what they are shown in, and how many make one of it.
const UNITS: [(&str, &str, f64); 3] = [("_bytes", "kB", 1e3), ("_bps", "Gb/s", 1e9), ("_ps", "µs", 1e6)];

/// States of these flows in `source`; of the first ones if there are none.
///
/// # Errors
/// If the table cannot be read.
pub(super) fn states(
    source: &impl Source,
    chosen: &[u64],
    ended: u64,
    packer: &mut Packer,
) -> Checked<Vec<State>> {
    let Some(table) = source.columns("state", &STATE)? else { return Ok(Vec::new()) };
    let (names, all_names) = table.names("name");
    let (groups, group_names) = table.names("group");
    let flows = table.integers("flow");
    // By name and flow, in the order of the flows.
    let mut rows: BTreeMap<u32, BTreeMap<u64, Vec<usize>>> = BTreeMap::new();
    for (row, name) in names.iter().enumerate() {
        let by_flow = rows.entry(*name).or_default();
        let known = by_flow.contains_key(&flows[row]);
        let shown =
            if chosen.is_empty() { known || by_flow.len() < FLOWS } else { chosen.contains(&flows[row]) };
        if shown {
            by_flow.entry(flows[row]).or_default().push(row);
        }
    }
    let state = |(name, by_flow): (u32, BTreeMap<u64, Vec<usize>>)| {
        let name = all_names.get(name as usize)?;
        let unit = UNITS.iter().find(|(suffix, ..)| name.ends_with(suffix));
        let (unit, scale) = unit.map_or(("", 1.0), |(_, unit, scale)| (*unit, *scale));
        let mut words = Vec::new();
        let flows = by_flow.into_iter().map(|(flow, rows)| {
            let kept = numbers(&table, &rows, ended, scale);
            let kept = if kept.is_empty() { changes(&table, &rows, ended, &mut words) } else { kept };
            FlowState {
                name: flow_name(group_names.get(groups[rows[0]] as usize).map_or("", String::as_str), flow),
                at: packer.doubles(kept.iter().map(|(at, _)| *at as f64 / 1e9)),
                values: packer.singles(kept.iter().map(|(_, value)| *value)),
            }
        });
        let flows = flows.collect();
        Some(State { name: name.clone(), unit, words, flows })
    };
    Ok(rows.into_iter().filter_map(state).collect())
}

/// The smallest and the largest number of each slice of time.
fn numbers(table: &Table, rows: &[usize], ended: u64, scale: f64) -> Vec<(u64, f32)> {
    let Some(Values::MaybeReals(values)) = table.column("value") else { return Vec::new() };
    let at = table.integers("at_ps");
    let rows: Vec<_> = rows.iter().copied().filter(|row| values[*row].is_some()).collect();
    let value = |row: usize| values[row].unwrap_or_default();
    let kept = extremes(at, &rows, slice_of(ended), value);
    kept.into_iter().map(|row| (at[row], (value(row) / scale) as f32)).collect()
}

/// When the word changed, at most once in each slice of time, and to which of `words`. Those that are new are added.
fn changes(table: &Table, rows: &[usize], ended: u64, words: &mut Vec<String>) -> Vec<(u64, f32)> {
    let Some(Values::MaybeNames(values, names)) = table.column("word") else { return Vec::new() };
    let (at, slice) = (table.integers("at_ps"), slice_of(ended));
    let mut kept: Vec<(u64, f32)> = Vec::new();
    for row in rows {
        let Some(word) = values[*row].and_then(|word| names.get(word as usize)) else { continue };
        let number = words.iter().position(|known| known == word).unwrap_or_else(|| {
            words.push(word.clone());
            words.len() - 1
        });
        let number = number as f32;
        let last = kept.last().copied();
        if last.is_some_and(|(_, last)| last == number) {
            continue;
        }
        if last.is_some_and(|(last, _)| last / slice == at[*row] / slice) {
            kept.pop();
        }
        kept.push((at[*row], number));
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Column;

    fn table(rows: &[(u64, &str)]) -> Table {
        let names = ["a".to_owned(), "b".to_owned()];
        let words =
            rows.iter().map(|(_, word)| names.iter().position(|name| name == word).map(|at| at as u32));
        Table {
            name: "state",
            columns: vec![
                Column {
                    name: "at_ps".into(),
                    values: Values::Integers(rows.iter().map(|row| row.0).collect()),
                },
                Column { name: "word".into(), values: Values::MaybeNames(words.collect(), names.to_vec()) },
            ],
        }
    }

    #[test]
    fn a_word_is_kept_when_it_changes() {
        let (rows, mut words) = (table(&[(0, "b"), (5, "b"), (7, "a"), (9, "a"), (11, "b")]), Vec::new());
        assert_eq!(changes(&rows, &[0, 1, 2, 3, 4], 100, &mut words), [(0, 0.0), (7, 1.0), (11, 0.0)]);
        assert_eq!(words, ["b", "a"]);
    }

    #[test]
    fn of_changes_in_one_slice_the_last_is_kept() {
        let (rows, mut words) = (table(&[(0, "a"), (1, "b"), (2, "a"), (30_000, "b")]), Vec::new());
        assert_eq!(changes(&rows, &[0, 1, 2, 3], 20_000, &mut words), [(2, 0.0), (30_000, 1.0)]);
    }
}
