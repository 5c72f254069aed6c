//! The tables of results. One entry for each column says what it is called, what it means and how its values are taken.

mod collectives;
pub(crate) mod described;
mod flows;
mod links;
mod recorded;

use std::sync::LazyLock;

use self::described::Named;
use super::columns::TableInfo;
use super::{Results, Table};
use crate::mechanism;

/// See [`all_tables`].
static ALL: LazyLock<Vec<Box<dyn Named>>> = LazyLock::new(|| {
    let mut all: Vec<Box<dyn Named>> = vec![
        Box::new(flows::flows()),
        Box::new(links::ports()),
        Box::new(links::queues()),
        Box::new(links::links()),
        Box::new(recorded::windows()),
        Box::new(recorded::state()),
    ];
    all.extend(mechanism::all().flat_map(|mechanism| mechanism.tables()));
    all.push(Box::new(flows::rpcs()));
    all.push(Box::new(flows::datagrams()));
    all.push(Box::new(collectives::collectives()));
    all.push(Box::new(collectives::steps()));
    all
});

/// Descriptions of all tables, in the order in which they are written.
pub static TABLES: LazyLock<Vec<TableInfo>> =
    LazyLock::new(|| all_tables().map(|table| table.info()).collect());

/// All tables, in the order in which they are written.
pub(crate) fn all_tables() -> impl Iterator<Item = &'static dyn Named> {
    ALL.iter().map(|table| &**table)
}

impl TableInfo {
    /// The description of a table.
    pub fn find(name: &str) -> Option<&'static Self> {
        TABLES.iter().find(|table| table.name == name)
    }
}

impl Results {
    /// All tables that there are: `flows` and `ports` always, `queues`, `links`, `windows`, `state` and those of mechanisms
    /// if they were recorded, `rpcs`, `datagrams`, `collectives` and
    /// `collective_steps` if there are any.
    pub fn tables(&self) -> Vec<Table> {
        all_tables().filter_map(|table| table.of(self, None)).collect()
    }

    /// One table, if there is one of this name.
    pub fn table(&self, name: &str) -> Option<Table> {
        self.columns_of(name, None)
    }

    /// The same with those columns that are wanted, if not all are.
    pub(super) fn columns_of(&self, name: &str, wanted: Option<&[&str]>) -> Option<Table> {
        all_tables().find(|table| table.name() == name)?.of(self, wanted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_stand_in_the_names_of_columns() {
        for column in TABLES.iter().flat_map(|table| &table.columns) {
            let expected = match column.name.rsplit('_').next() {
                Some("ps") => "ps",
                Some("bytes") => "B",
                Some("bps") => "bit/s",
                _ => "",
            };
            assert_eq!(column.unit, expected, "{}", column.name);
        }
    }

    #[test]
    fn names_of_tables_and_of_columns_in_a_table_are_unique() {
        let unique = |names: Vec<&str>| {
            let mut sorted = names.clone();
            sorted.sort_unstable();
            sorted.dedup();
            assert_eq!(sorted.len(), names.len(), "{names:?}");
        };
        unique(TABLES.iter().map(|table| table.name).collect());
        for table in TABLES.iter() {
            unique(table.columns.iter().map(|column| column.name).collect());
        }
    }
}
