//! Columns of the data set that stand before those of the axes.

use serde_json::Value;

use crate::results::Values;

/// A column that every table of the data set begins with.
pub(super) struct Leading {
    pub(super) name: &'static str,
    pub(super) meaning: &'static str,
    /// It without rows.
    pub(super) empty: fn() -> Values,
    /// Its value in rows of a cell: of the id of that, the number of its point, and the seed.
    pub(super) value: fn(&str, usize, u64) -> Value,
}

pub(super) const LEADING: [Leading; 3] = [
    Leading {
        name: "cell",
        meaning: "The cell: the name of its folder in cells/.",
        empty: || Values::Names(Vec::new(), Vec::new()),
        value: |id, _, _| id.into(),
    },
    Leading {
        name: "point",
        meaning: "Number of the point of the grid, from 0 on; the last axis varies fastest.",
        empty: || Values::Integers(Vec::new()),
        value: |_, point, _| point.into(),
    },
    Leading {
        name: "seed",
        meaning: "The seed.",
        empty: || Values::Integers(Vec::new()),
        value: |_, _, seed| seed.into(),
    },
];
