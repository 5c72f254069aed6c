//! `paper.toml` as it stands in the file. Its meaning is in the files beside this one.

use std::collections::BTreeMap;

use narrows_proto::units::Span;
use serde::Deserialize;
use serde_spanned::Spanned;

use super::super::Style;
pub(super) use super::forms::{Among, Bound, Entry, Filter, Items, Many, Reduce, Theory};

/// A change of a scenario, `path=value`, and where it stands.
pub(super) type Change = Spanned<String>;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Written {
    pub(super) version: i64,
    /// Its name on pages and in files.
    pub(super) name: String,
    pub(super) title: String,
    /// Who wrote it, where, when.
    pub(super) source: String,
    /// Scope and method of the reproduction.
    pub(super) about: String,
    /// Seeds of the short form.
    #[serde(default = "one")]
    pub(super) quick_seeds: u32,
    /// Where scenarios have the control that `--cc` puts another one in place of: `traffic.flow.cc`.
    pub(super) controls: Option<String>,
    /// Lists that experiments, rows, columns and curves run over.
    #[serde(default)]
    pub(super) lists: BTreeMap<String, Vec<Entry>>,
    /// Changes of scenarios with a name.
    #[serde(default)]
    pub(super) sets: BTreeMap<String, Vec<Change>>,
    pub(super) experiment: Vec<Experiment>,
    pub(super) measure: BTreeMap<String, Measure>,
    #[serde(default)]
    pub(super) sweep: Vec<Sweep>,
    pub(super) figure: Vec<Figure>,
    #[serde(default)]
    pub(super) parameter: Vec<Parameter>,
}

fn one() -> u32 {
    1
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Experiment {
    /// `group.row`; `{variable}` and `{variable.field}` stand for what the grid has.
    pub(super) name: String,
    /// The grid: a variable and its list; several tables, the outermost first.
    #[serde(default, rename = "for")]
    pub(super) grid: Many<BTreeMap<String, Items>>,
    /// A file of the folder, or several laid end to end.
    pub(super) scenario: Many<String>,
    /// Sets of changes by name.
    #[serde(default, rename = "use")]
    pub(super) sets: Vec<String>,
    #[serde(default)]
    pub(super) set: Vec<Change>,
    /// The short form; without it the short form leaves the experiment out.
    pub(super) quick: Option<Quick>,
    /// Name of its measure, or names of several.
    pub(super) measure: Many<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Quick {
    #[serde(default)]
    pub(super) set: Vec<Change>,
    /// Keys of the grid that the short form has.
    #[serde(default)]
    pub(super) only: BTreeMap<String, Vec<Entry>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Measure {
    /// A model of a built-in paper, which measures what no quantity here can.
    pub(super) model: Option<String>,
    #[serde(default)]
    pub(super) quantities: BTreeMap<String, Quantity>,
    #[serde(default)]
    pub(super) series: BTreeMap<String, Series>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Quantity {
    /// A metric of the summary.
    pub(super) metric: Option<String>,
    /// A table of the results, one of its columns, and which rows count.
    pub(super) table: Option<String>,
    pub(super) column: Option<String>,
    /// Of a count that goes on: what it grew by since the row before with the same value here.
    pub(super) increase: Option<String>,
    /// This column of the same row is subtracted.
    pub(super) minus: Option<String>,
    /// Of a column of names: what they count as. Rows with other names are left out.
    pub(super) values: Option<BTreeMap<String, f64>>,
    #[serde(rename = "where")]
    pub(super) rows: BTreeMap<String, Filter>,
    /// Number in place of a missing value, also where results lack the column; rows without a value are left out otherwise.
    pub(super) missing: Option<f64>,
    /// Rows with the same values here are reduced together first, by `each`.
    pub(super) by: Many<String>,
    /// Rows of one interval of this length are reduced together first, by `each`; intervals without rows are zero.
    pub(super) bins: Option<Span>,
    /// The time that decides to which interval a row belongs.
    pub(super) at: Option<String>,
    pub(super) each: Option<Reduce>,
    pub(super) reduce: Option<Reduce>,
    /// In place of `reduce`: how long it takes until intervals are below or above a level.
    pub(super) until: Option<Until>,
    /// The value without any rows.
    pub(super) empty: Option<f64>,
    /// Divided by a time.
    pub(super) per: Option<Per>,
    /// Another quantity of this run.
    pub(super) of: Option<String>,
    /// The first divided by the second.
    pub(super) ratio: Option<[String; 2]>,
    /// The same where the first is a part of the second: it is never above 1.
    pub(super) fraction: Option<[String; 2]>,
    /// The first minus the second.
    pub(super) difference: Option<[String; 2]>,
    /// All of them added up.
    pub(super) sum: Option<Vec<String>>,
    /// Changes of the value: first `times`, then `plus`, then `at_least`.
    pub(super) times: Option<f64>,
    pub(super) plus: Option<f64>,
    pub(super) at_least: Option<f64>,
    /// Not if only others follow from it.
    pub(super) keep: Option<bool>,
}

/// One of `below` and `above`, another quantity of this run.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Until {
    pub(super) below: Option<String>,
    pub(super) above: Option<String>,
    /// For so many intervals.
    pub(super) in_a_row: Option<usize>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Series {
    pub(super) table: String,
    pub(super) x: String,
    /// This column of the same row is subtracted from x.
    pub(super) x_minus: Option<String>,
    pub(super) y: Option<String>,
    /// Instead of y: so many points of the distribution of x, y is the percentage of values up to it.
    pub(super) distribution: Option<u32>,
    /// As for a quantity.
    pub(super) increase: Option<String>,
    pub(super) values: Option<BTreeMap<String, f64>>,
    pub(super) missing: Option<f64>,
    /// y is what it has added up to, over the rows that count.
    #[serde(default)]
    pub(super) running: bool,
    #[serde(rename = "where", default)]
    pub(super) rows: BTreeMap<String, Filter>,
    /// Rows with one x are one point, reduced by this.
    pub(super) each: Option<Reduce>,
    /// Rows of one interval of x of this length are one point, at its beginning.
    pub(super) bins: Option<Span>,
    /// y of intervals without rows; they have no point otherwise.
    pub(super) empty: Option<f64>,
    /// Changes of x: first `x_times`, then `x_plus`.
    pub(super) x_times: Option<f64>,
    pub(super) x_plus: Option<f64>,
    pub(super) y_times: Option<f64>,
}

/// Something about a quantity over the points of a sweep, seed by seed.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Sweep {
    /// `group.row.column`.
    pub(super) name: String,
    pub(super) over: BTreeMap<String, Items>,
    /// Places in the list without it.
    pub(super) x: Option<String>,
    pub(super) quantity: String,
    pub(super) reduce: OverSweep,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum OverSweep {
    Ordering,
    Knee(f64),
    /// Of the entry with this key, the smallest value first.
    RankOf(String),
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(super) enum Per {
    /// The measured time in seconds.
    MeasuredSecond,
    /// The whole run in seconds.
    Second,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Figure {
    pub(super) name: String,
    pub(super) title: String,
    /// Its result in the paper, in words.
    pub(super) shows: String,
    #[serde(default)]
    pub(super) table: Vec<Table>,
    #[serde(default)]
    pub(super) chart: Vec<Chart>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Table {
    pub(super) group: String,
    pub(super) rows: Items,
    pub(super) columns: Items,
    /// Labels of rows, instead of their own: `{row}` is the key, `{row.label}` the label.
    pub(super) label: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Chart {
    /// The grid: a chart for each point.
    #[serde(default, rename = "for")]
    pub(super) grid: Many<BTreeMap<String, Items>>,
    pub(super) title: String,
    pub(super) x: Axis,
    pub(super) y: Axis,
    pub(super) style: Style,
    pub(super) curve: Vec<Curve>,
    #[serde(default)]
    pub(super) line: Vec<Line>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Axis {
    pub(super) label: String,
    #[serde(default)]
    pub(super) log: bool,
}

/// One of `series`, `sweep` and `theory`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Curve {
    /// The grid: a curve for each point.
    #[serde(default, rename = "for")]
    pub(super) grid: Many<BTreeMap<String, Items>>,
    pub(super) label: String,
    /// `group.row.name`, of the first seed.
    pub(super) series: Option<String>,
    /// A quantity over a list.
    pub(super) sweep: Option<String>,
    #[serde(default)]
    pub(super) over: BTreeMap<String, Items>,
    pub(super) x: Option<String>,
    /// Points, or a model that has them.
    pub(super) theory: Option<Theory>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Line {
    pub(super) label: String,
    pub(super) x: Option<f64>,
    pub(super) y: Option<f64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Parameter {
    pub(super) name: String,
    pub(super) value: String,
    pub(super) why: String,
    /// Ids of claims whose numbers chose the value.
    #[serde(default)]
    pub(super) fitted: Vec<String>,
    /// Quantities it might change, or a list of them.
    #[serde(default)]
    pub(super) watched: Items,
    #[serde(default)]
    pub(super) alternative: Vec<Alternative>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Alternative {
    pub(super) value: String,
    pub(super) set: Vec<Change>,
}
