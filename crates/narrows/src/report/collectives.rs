//! Iterations of collectives: how long they took, and what the slowest rank waited for.

use serde::Serialize;

use crate::diagnostic::Checked;
use crate::results::{Source, Table};

const COLUMNS: [&str; 17] = [
    "group",
    "iteration",
    "end_ps",
    "time_ps",
    "bus_bps",
    "first_end_ps",
    "slowest_rank",
    "slowest_host",
    "late_src",
    "late_dst",
    "late_step",
    "late_ps",
    "all_late_ps",
    "late_port",
    "late_port_to",
    "late_backlog_bytes",
    "measured",
];

/// An iteration of a collective. Fields are columns of the table `collectives`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "the table describes them")]
pub struct Collective {
    pub group: String,
    pub iteration: u64,
    pub time_ps: Option<u64>,
    pub bus_bps: Option<u64>,
    /// Between the end of the first rank and that of the last.
    pub spread_ps: Option<u64>,
    pub slowest_rank: u64,
    pub slowest_host: String,
    pub late_src: Option<String>,
    pub late_dst: Option<String>,
    pub late_step: Option<u64>,
    pub late_ps: Option<u64>,
    pub all_late_ps: Option<u64>,
    pub late_port: Option<String>,
    pub late_port_to: Option<String>,
    pub late_backlog_bytes: Option<u64>,
}

/// Iterations of a run that are measured. Results of older versions have none.
///
/// # Errors
/// If the table cannot be read.
pub(super) fn of(source: &impl Source) -> Checked<Vec<Collective>> {
    let Some(table) = source.columns("collectives", &COLUMNS)? else { return Ok(Vec::new()) };
    let measured = table.flags("measured");
    Ok((0..measured.len()).filter(|row| measured[*row]).map(|row| iteration(&table, row)).collect())
}

fn iteration(table: &Table, row: usize) -> Collective {
    let count = |column: &str| table.integers(column).get(row).copied().unwrap_or(0);
    let maybe = |column: &str| table.maybe_integers(column).get(row).copied().flatten();
    let name = |column: &str| table.name(column, row).map(str::to_owned);
    let ends = maybe("end_ps").zip(maybe("first_end_ps"));
    Collective {
        group: name("group").unwrap_or_default(),
        iteration: count("iteration"),
        time_ps: maybe("time_ps"),
        bus_bps: maybe("bus_bps"),
        spread_ps: ends.map(|(last, first)| last.saturating_sub(first)),
        slowest_rank: count("slowest_rank"),
        slowest_host: name("slowest_host").unwrap_or_default(),
        late_src: name("late_src"),
        late_dst: name("late_dst"),
        late_step: maybe("late_step"),
        late_ps: maybe("late_ps"),
        all_late_ps: maybe("all_late_ps"),
        late_port: name("late_port"),
        late_port_to: name("late_port_to"),
        late_backlog_bytes: maybe("late_backlog_bytes"),
    }
}
