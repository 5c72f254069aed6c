//! A table and its columns: what they are called and mean, and how they are taken of a run.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::super::columns::{ColumnInfo, TableInfo};
use super::super::{Column, PART, Results, Table, Values};
use crate::counters::Counter;
use crate::plan::{Plan, Segment};

/// A table whose rows are made of `R`s.
pub(crate) struct Described<R: Clone + 'static> {
    name: &'static str,
    meaning: &'static str,
    present: &'static str,
    rows: fn(&Results) -> Option<Cow<'_, [R]>>,
    columns: Vec<Taken<R>>,
}

/// A column of a table.
struct Taken<R> {
    info: ColumnInfo,
    is_in: fn(&Plan) -> bool,
    values: ValuesOf<R>,
    /// Names of which its values are some, if they are names of a plan.
    names: Option<fn(&Plan) -> Vec<String>>,
}

/// Function that takes the values of a column from all rows.
type ValuesOf<R> = Box<dyn Fn(&[R], &Results) -> Values + Send + Sync>;

/// A table, whatever its rows are made of.
pub(crate) trait Named: Send + Sync {
    fn name(&self) -> &'static str;

    fn info(&self) -> TableInfo;

    /// Names that a column may have in a run of this plan, if it is one of such names.
    fn names(&self, column: &str, plan: &Plan) -> Option<Vec<String>>;

    /// The table of a run, with all its columns or those that are wanted; none if it was not recorded.
    fn of(&self, run: &Results, wanted: Option<&[&str]>) -> Option<Table>;

    /// The same in parts of [`PART`] rows and a rest, for tables of which there may not be room for a whole one. The first is empty.
    fn parts<'a>(
        &'a self,
        run: &'a Results,
        wanted: Option<&'a [&'a str]>,
    ) -> Option<Box<dyn Iterator<Item = Table> + 'a>>;
}

impl<R: Clone> Named for Described<R> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn info(&self) -> TableInfo {
        let columns = self.columns.iter().map(|column| column.info).collect();
        TableInfo { name: self.name, meaning: self.meaning, present: self.present, columns }
    }

    fn names(&self, column: &str, plan: &Plan) -> Option<Vec<String>> {
        let column = self.columns.iter().find(|taken| taken.info.name == column)?;
        column.names.map(|names| names(plan))
    }

    fn of(&self, run: &Results, wanted: Option<&[&str]>) -> Option<Table> {
        Some(self.table(run, &(self.rows)(run)?, wanted))
    }

    fn parts<'a>(
        &'a self,
        run: &'a Results,
        wanted: Option<&'a [&'a str]>,
    ) -> Option<Box<dyn Iterator<Item = Table> + 'a>> {
        let rows = (self.rows)(run)?;
        let starts = (0..rows.len()).step_by(PART);
        let ranges = std::iter::once(0..0).chain(starts.map(|start| start..start + PART));
        Some(Box::new(ranges.map(move |range| {
            let end = range.end.min(rows.len());
            self.table(run, &rows[range.start..end], wanted)
        })))
    }
}

impl<R: Clone> Described<R> {
    fn table(&self, run: &Results, rows: &[R], wanted: Option<&[&str]>) -> Table {
        let is_wanted = |column: &&Taken<R>| {
            (column.is_in)(&run.plan) && wanted.is_none_or(|wanted| wanted.contains(&column.info.name))
        };
        let column =
            |taken: &Taken<R>| Column { name: taken.info.name.into(), values: (taken.values)(rows, run) };
        Table { name: self.name, columns: self.columns.iter().filter(is_wanted).map(column).collect() }
    }
}

/// Each of these adds a column: its name, what it means, and its value in a row.
impl<R: Clone> Described<R> {
    /// A table without columns. `rows` are none where `present` does not hold.
    pub(crate) fn new(
        name: &'static str,
        meaning: &'static str,
        present: &'static str,
        rows: fn(&Results) -> Option<Cow<'_, [R]>>,
    ) -> Self {
        Self { name, meaning, present, rows, columns: Vec::new() }
    }

    fn column(
        mut self,
        [name, unit, meaning]: [&'static str; 3],
        values: impl Fn(&[R], &Results) -> Values + Send + Sync + 'static,
        none: &Values,
    ) -> Self {
        let (kind, optional) = none.kind();
        let info = ColumnInfo { name, kind, optional, unit, meaning, present: "" };
        self.columns.push(Taken { info, is_in: |_| true, values: Box::new(values), names: None });
        self
    }

    /// Whole numbers in a unit.
    pub(crate) fn integer(
        self,
        info: [&'static str; 3],
        value: impl Fn(&R, &Results) -> u64 + Send + Sync + 'static,
    ) -> Self {
        let values = move |rows: &[R], run: &Results| {
            Values::Integers(rows.iter().map(|row| value(row, run)).collect())
        };
        self.column(info, values, &Values::Integers(Vec::new()))
    }

    /// Whole numbers in a unit, some of which may be missing.
    fn maybe_integer(
        self,
        info: [&'static str; 3],
        value: impl Fn(&R, &Results) -> Option<u64> + Send + Sync + 'static,
    ) -> Self {
        let values = move |rows: &[R], run: &Results| {
            Values::MaybeIntegers(rows.iter().map(|row| value(row, run)).collect())
        };
        self.column(info, values, &Values::MaybeIntegers(Vec::new()))
    }

    pub(crate) fn count(
        self,
        name: &'static str,
        meaning: &'static str,
        value: impl Fn(&R, &Results) -> u64 + Send + Sync + 'static,
    ) -> Self {
        self.integer([name, "", meaning], value)
    }

    pub(crate) fn maybe_count(
        self,
        name: &'static str,
        meaning: &'static str,
        value: impl Fn(&R, &Results) -> Option<u64> + Send + Sync + 'static,
    ) -> Self {
        self.maybe_integer([name, "", meaning], value)
    }

    pub(crate) fn ps(
        self,
        name: &'static str,
        meaning: &'static str,
        value: impl Fn(&R, &Results) -> u64 + Send + Sync + 'static,
    ) -> Self {
        self.integer([name, "ps", meaning], value)
    }

    pub(crate) fn maybe_ps(
        self,
        name: &'static str,
        meaning: &'static str,
        value: impl Fn(&R, &Results) -> Option<u64> + Send + Sync + 'static,
    ) -> Self {
        self.maybe_integer([name, "ps", meaning], value)
    }

    pub(crate) fn bytes(
        self,
        name: &'static str,
        meaning: &'static str,
        value: impl Fn(&R, &Results) -> u64 + Send + Sync + 'static,
    ) -> Self {
        self.integer([name, "B", meaning], value)
    }

    pub(crate) fn maybe_bytes(
        self,
        name: &'static str,
        meaning: &'static str,
        value: impl Fn(&R, &Results) -> Option<u64> + Send + Sync + 'static,
    ) -> Self {
        self.maybe_integer([name, "B", meaning], value)
    }

    pub(crate) fn bps(
        self,
        name: &'static str,
        meaning: &'static str,
        value: impl Fn(&R, &Results) -> u64 + Send + Sync + 'static,
    ) -> Self {
        self.integer([name, "bit/s", meaning], value)
    }

    pub(crate) fn maybe_bps(
        self,
        name: &'static str,
        meaning: &'static str,
        value: impl Fn(&R, &Results) -> Option<u64> + Send + Sync + 'static,
    ) -> Self {
        self.maybe_integer([name, "bit/s", meaning], value)
    }

    /// Real numbers, of this unit.
    pub(crate) fn real(
        self,
        name: &'static str,
        unit: &'static str,
        meaning: &'static str,
        value: impl Fn(&R, &Results) -> f64 + Send + Sync + 'static,
    ) -> Self {
        let values =
            move |rows: &[R], run: &Results| Values::Reals(rows.iter().map(|row| value(row, run)).collect());
        self.column([name, unit, meaning], values, &Values::Reals(Vec::new()))
    }

    /// Ratios, some of which may be missing.
    pub(crate) fn maybe_ratio(
        self,
        name: &'static str,
        meaning: &'static str,
        value: impl Fn(&R) -> Option<f64> + Send + Sync + 'static,
    ) -> Self {
        let values = move |rows: &[R], _: &Results| Values::MaybeReals(rows.iter().map(&value).collect());
        self.column([name, "", meaning], values, &Values::MaybeReals(Vec::new()))
    }

    pub(crate) fn flag(
        self,
        name: &'static str,
        meaning: &'static str,
        value: impl Fn(&R, &Results) -> bool + Send + Sync + 'static,
    ) -> Self {
        let values =
            move |rows: &[R], run: &Results| Values::Flags(rows.iter().map(|row| value(row, run)).collect());
        self.column([name, "", meaning], values, &Values::Flags(Vec::new()))
    }

    /// Names: all that there may be, and for each row the index of one.
    pub(crate) fn name(
        mut self,
        name: &'static str,
        meaning: &'static str,
        names: fn(&Plan) -> Vec<String>,
        index: impl Fn(&R, &Results) -> u32 + Send + Sync + 'static,
    ) -> Self {
        let values = move |rows: &[R], run: &Results| {
            Values::Names(rows.iter().map(|row| index(row, run)).collect(), names(&run.plan))
        };
        self = self.column([name, "", meaning], values, &Values::Names(Vec::new(), Vec::new()));
        self.columns
            .iter_mut()
            .filter(|column| column.info.name == name)
            .for_each(|column| column.names = Some(names));
        self
    }

    /// The same, some of which may be missing.
    pub(crate) fn maybe_name(
        self,
        name: &'static str,
        meaning: &'static str,
        names: fn(&Plan) -> Vec<String>,
        index: impl Fn(&R, &Results) -> Option<u32> + Send + Sync + 'static,
    ) -> Self {
        let values = move |rows: &[R], run: &Results| {
            Values::MaybeNames(rows.iter().map(|row| index(row, run)).collect(), names(&run.plan))
        };
        self.column([name, "", meaning], values, &Values::MaybeNames(Vec::new(), Vec::new()))
    }

    /// Words of the program, of which there are few.
    pub(crate) fn text(
        self,
        name: &'static str,
        meaning: &'static str,
        word: impl Fn(&R) -> &'static str + Send + Sync + 'static,
    ) -> Self {
        let values = move |rows: &[R], _: &Results| {
            let words = Words::of(rows.iter().map(&word));
            Values::Names(rows.iter().map(|row| words.index(word(row))).collect(), words.names())
        };
        self.column([name, "", meaning], values, &Values::Names(Vec::new(), Vec::new()))
    }

    /// The same, some of which may be missing.
    pub(crate) fn maybe_text(
        self,
        name: &'static str,
        meaning: &'static str,
        word: impl Fn(&R) -> Option<&'static str> + Send + Sync + 'static,
    ) -> Self {
        let values = move |rows: &[R], _: &Results| {
            let words = Words::of(rows.iter().filter_map(&word));
            let indexes = rows.iter().map(|row| word(row).map(|word| words.index(word)));
            Values::MaybeNames(indexes.collect(), words.names())
        };
        self.column([name, "", meaning], values, &Values::MaybeNames(Vec::new(), Vec::new()))
    }

    /// The segment of a link, in networks that have segments.
    pub(crate) fn segment(self, link: impl Fn(&R) -> usize + Send + Sync + 'static) -> Self {
        let meaning = "`dc` or `wan`: which part of the network the link belongs to.";
        let names = |_: &Plan| Segment::ALL.map(|segment| segment.name().to_owned()).to_vec();
        let segment = move |row: &R, run: &Results| {
            let segments = run.plan.segments.as_ref().expect("only networks with segments have the column");
            segments[link(row)] as u32
        };
        self.name("segment", meaning, names, segment)
            .only("networks of several data centers", |plan| plan.segments.is_some())
    }

    pub(crate) fn counter(
        self,
        name: &'static str,
        counter: &'static Counter,
        value: impl Fn(&R, &Results) -> u64 + Send + Sync + 'static,
    ) -> Self {
        self.integer([name, counter.unit, counter.meaning], value).only(counter.present, counter.is_in)
    }

    /// Only some results have the last column.
    pub(crate) fn only(mut self, present: &'static str, is_in: fn(&Plan) -> bool) -> Self {
        let last = self.columns.last_mut().expect("said of a column");
        (last.info.present, last.is_in) = (present, is_in);
        self
    }
}

/// The words of a column, in their order.
struct Words(Vec<&'static str>);

impl Words {
    fn of(all: impl Iterator<Item = &'static str>) -> Self {
        Self(all.collect::<BTreeSet<_>>().into_iter().collect())
    }

    fn index(&self, word: &str) -> u32 {
        self.0.binary_search(&word).expect("the words are those of the rows") as u32
    }

    fn names(&self) -> Vec<String> {
        self.0.iter().map(|word| (*word).to_owned()).collect()
    }
}

/// Names of traffic groups.
pub(crate) fn groups(plan: &Plan) -> Vec<String> {
    plan.groups.iter().map(|group| group.name.clone()).collect()
}

/// Names of hosts.
pub(crate) fn hosts(plan: &Plan) -> Vec<String> {
    let topology = &plan.network.topology;
    topology.hosts().iter().map(|host| topology.node(*host).name.clone()).collect()
}

/// Names of nodes.
pub(crate) fn nodes(plan: &Plan) -> Vec<String> {
    plan.network.topology.nodes().iter().map(|node| node.name.clone()).collect()
}
