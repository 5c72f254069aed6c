//! Ports that were paused by the nodes at the far ends of their links, with PAUSE or by class, and the queues that this began with.

use serde::Serialize;

use crate::diagnostic::Checked;
use crate::results::{Source, Table};

const COLUMNS: [&str; 6] = ["from", "to", "pauses", "paused_ps", "longest_stop_ps", "max_backlog_bytes"];

/// Pauses of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Pauses {
    /// The ports that were paused, the longest first.
    pub ports: Vec<PausedPort>,
    /// The queues that pauses began with, those of the nodes that sent most of them first: a node sent pauses, and its fullest port was
    /// never paused itself.
    pub roots: Vec<Root>,
}

/// A port that was paused.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PausedPort {
    /// Its node.
    pub from: String,
    /// The node that paused it.
    pub to: String,
    /// For how long, all of it or one or more classes.
    pub paused_ps: u64,
    /// As a fraction of the run.
    pub share: f64,
    /// The longest time a class of packets that waited stayed stopped; 0 with PAUSE.
    pub longest_stop_ps: u64,
}

/// A queue that pauses began with.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Root {
    /// The node that sent pauses.
    pub from: String,
    /// The node at the far end of its fullest port.
    pub to: String,
    /// Pauses that it sent, to all neighbors.
    pub pauses: u64,
    /// The most that ever waited at its fullest port.
    pub max_backlog_bytes: u64,
}

impl Pauses {
    /// Those of a run that lasted for `ended` ps. Results of older versions have none.
    ///
    /// # Errors
    /// If the table of ports cannot be read.
    pub(super) fn of(source: &impl Source, ended: u64) -> Checked<Self> {
        let table = source.columns("ports", &COLUMNS)?;
        Ok(table.map(|table| Self::in_table(&table, ended)).unwrap_or_default())
    }

    fn in_table(table: &Table, ended: u64) -> Self {
        let [paused, stops] = ["paused_ps", "longest_stop_ps"].map(|name| table.integers(name));
        let name = |column: &str, row: usize| {
            let (indices, names) = table.names(column);
            names[indices[row] as usize].clone()
        };
        let rows = (0..paused.len()).filter(|row| paused[*row] > 0);
        let port = |row: usize| PausedPort {
            from: name("from", row),
            to: name("to", row),
            paused_ps: paused[row],
            share: paused[row] as f64 / ended.max(1) as f64,
            longest_stop_ps: stops[row],
        };
        let mut ports: Vec<_> = rows.map(port).collect();
        ports.sort_by_key(|port| std::cmp::Reverse(port.paused_ps));
        let mut roots: Vec<_> = roots(table)
            .map(|(row, pauses)| Root {
                from: name("from", row),
                to: name("to", row),
                pauses,
                max_backlog_bytes: table.integers("max_backlog_bytes")[row],
            })
            .collect();
        roots.sort_by_key(|root| std::cmp::Reverse(root.pauses));
        Self { ports, roots }
    }
}

/// By node that sent pauses: the row of its fullest port, and how many it sent; none where that port was paused itself.
fn roots(table: &Table) -> impl Iterator<Item = (usize, u64)> {
    let (from, names) = table.names("from");
    let [paused, pauses, backlog] =
        ["paused_ps", "pauses", "max_backlog_bytes"].map(|name| table.integers(name));
    // The fullest port of each node, the first of those that are as full, and the pauses of all.
    let mut of_node: Vec<Option<(usize, u64)>> = vec![None; names.len()];
    for row in 0..paused.len() {
        let node = &mut of_node[from[row] as usize];
        let (fullest, sent) = node.unwrap_or((row, 0));
        *node = Some((if backlog[row] > backlog[fullest] { row } else { fullest }, sent + pauses[row]));
    }
    of_node.into_iter().flatten().filter(move |(row, sent)| *sent > 0 && paused[*row] == 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{Column, Values};

    /// From, to, pauses sent, time paused, peak queue.
    type Row = (u32, u32, u64, u64, u64);
    const H: u32 = 0;
    const S: u32 = 1;
    const T: u32 = 2;

    fn table(rows: &[Row]) -> Table {
        let names = |of: fn(&Row) -> u32| {
            Values::Names(rows.iter().map(of).collect(), ["h", "s", "t"].map(str::to_owned).to_vec())
        };
        let number = |of: fn(&Row) -> u64| Values::Integers(rows.iter().map(of).collect());
        let columns = [
            ("from", names(|row| row.0)),
            ("to", names(|row| row.1)),
            ("pauses", number(|row| row.2)),
            ("paused_ps", number(|row| row.3)),
            ("longest_stop_ps", number(|_| 0)),
            ("max_backlog_bytes", number(|row| row.4)),
        ];
        let column = |(name, values): (&'static str, Values)| Column { name: name.into(), values };
        Table { name: "ports", columns: columns.into_iter().map(column).collect() }
    }

    #[test]
    fn pauses_begin_where_the_fullest_port_was_not_paused() {
        // t is congested towards h and stops s, which stops h.
        let rows =
            [(H, S, 0, 700, 10), (S, H, 5, 0, 0), (S, T, 0, 200, 900), (T, S, 3, 0, 5), (T, H, 0, 0, 800)];
        let Pauses { ports, roots } = Pauses::in_table(&table(&rows), 1000);
        let ports: Vec<_> =
            ports.iter().map(|port| (port.from.as_str(), port.to.as_str(), port.share)).collect();
        assert_eq!(ports, [("h", "s", 0.7), ("s", "t", 0.2)]);
        let expected = Root { from: "t".into(), to: "h".into(), pauses: 3, max_backlog_bytes: 800 };
        assert_eq!(roots, [expected]);
    }

    #[test]
    fn without_pauses_there_is_nothing() {
        let rows = [(H, S, 0, 0, 10), (S, H, 0, 0, 90)];
        assert_eq!(Pauses::in_table(&table(&rows), 1000), Pauses::default());
    }
}
