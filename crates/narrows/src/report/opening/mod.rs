//! A comparison in one look: what differs between the cells, what that changes, and the numbers of one picture.

mod differences;
mod findings;
mod main_metric;

use serde::Serialize;

pub use self::differences::Difference;
use self::differences::differences;
use self::findings::findings;
pub use self::findings::{Change, Finding, GroupFinding};
use self::main_metric::{MainMetric, main_metrics};
use super::digest::Cell;
use super::summary::Summary;

/// The part of a comparison that a reader sees first.
#[derive(Clone, Debug, Serialize)]
pub struct Opening {
    /// Settings that are not the same in all cells.
    pub differences: Vec<Difference>,
    /// Changes by each cell but the first.
    pub findings: Vec<Finding>,
    /// The main metric of each group.
    main: Vec<MainMetric>,
}

impl Opening {
    /// Of cells side by side and their summary; the first is what the others are compared with.
    pub fn of(cells: &[Cell], summary: &Summary) -> Self {
        let texts: Vec<_> =
            cells.iter().filter_map(|cell| cell.runs.first()).map(|run| run.text.as_str()).collect();
        Self {
            differences: differences(&texts),
            findings: findings(cells, summary),
            main: main_metrics(summary),
        }
    }
}
