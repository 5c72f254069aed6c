//! Contents of a sweep, as its folder keeps them.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Until;
use super::change::describe;
use super::task::Attached;

/// Contents of a sweep: every point and the ids of its cells. This is `sweep.json`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Manifest {
    /// The name of the sweep.
    pub name: String,
    /// The engine that simulates it.
    pub engine: String,
    /// Names of its axes.
    pub axes: Vec<String>,
    /// Seeds of a point, or those it begins with.
    pub seeds: u32,
    /// When a point has enough seeds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Until>,
    /// Files that its scenarios name, as they were when it began. The folder of the sweep keeps them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<KeptInput>,
    /// Texts of its scenario and changes.
    #[serde(default)]
    pub written: Written,
    /// The points; the last axis varies fastest.
    pub points: Vec<Point>,
}

/// Texts that a sweep was written as, and metrics that it asks for, for its page.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct Written {
    /// The scenario, before anything was changed.
    pub scenario: String,
    /// Changes for all points, `path=value`, in the order in which they are made. Those that `[grid]` makes come before those of the
    /// command line.
    pub set: Vec<String>,
    /// Metrics of the page, in which `*` stands for any characters; those that say most if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub metrics: Vec<String>,
}

/// A file that scenarios of a sweep name.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct KeptInput {
    /// As the scenario names it: relative to the scenario, or absolute.
    pub file: PathBuf,
    /// Its copy in the folder of the sweep.
    #[serde(flatten)]
    pub kept: Attached,
}

/// A point of the grid.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Point {
    /// Its value on each axis; null if that is left out, as it is a setting of another control.
    pub values: Vec<Value>,
    /// The seed of its first cell; others count up from it.
    pub first_seed: u64,
    /// Its cells by seed, as many as it may come to.
    pub cells: Vec<String>,
}

impl Manifest {
    /// A point in words: `traffic.dc.load = 0.2, control = dctcp`.
    pub fn describe(&self, point: usize) -> String {
        describe(self.axes.iter().map(String::as_str), &self.points[point].values)
    }

    /// Both are the same sweep, wherever their files were.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let Self { name, engine, axes, seeds, until, points, inputs: _, written: _ } = self;
        let own = (name, engine, axes, seeds, until, points);
        own == (&other.name, &other.engine, &other.axes, &other.seeds, &other.until, &other.points)
    }

    /// As it is written.
    pub(super) fn to_text(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }
}
