//! Figures of a sweep: for each metric of each group its values along one axis, a line for each value of another, and a chart for
//! each combination of the rest.

use serde::Serialize;

use super::axes::{Axes, Line, Place, fits, fullest};
use super::chosen::{Chosen, spoken};
use crate::sweep::Found;

/// Values that span more than this factor are drawn on a logarithmic scale.
pub(super) const WIDE: f64 = 30.0;
/// Intervals are drawn as far as this factor beyond the least and the most value: those of three seeds may have no end.
const REACH: f64 = 30.0;
/// Of fewer values than this an axis makes lines that can be told apart.
const LINES: usize = 8;

/// Which axis goes across, and which makes lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Roles {
    pub(super) across: usize,
    pub(super) by: Option<usize>,
}

impl Roles {
    /// The axis across is one with a scale if there is one, that with the most values; lines are made by what was requested, or one with
    /// names and not too many of them. None if no axis is left to go across.
    pub(super) fn of(axes: &Axes, by: Option<usize>) -> Option<Self> {
        let values = |axis: usize| axes.axes[axis].values.len();
        let has_scale = |axis: usize| axes.axes[axis].places.is_some();
        let varied = (0..axes.axes.len()).filter(|axis| axes.axes[*axis].varies() && Some(*axis) != by);
        let varied: Vec<usize> = varied.collect();
        // The first of those that are equal.
        let across = varied.iter().copied().rev().max_by_key(|axis| (has_scale(*axis), values(*axis)))?;
        let lines = |axis: &usize| (values(*axis) > LINES, has_scale(*axis), values(*axis));
        let usual = || varied.iter().copied().filter(|axis| *axis != across).min_by_key(lines);
        Some(Self { across, by: by.or_else(usual) })
    }

    /// All axes that vary, the one across first.
    pub(super) fn order(self, axes: &Axes) -> Vec<usize> {
        let rest = (0..axes.axes.len()).filter(|axis| *axis != self.across && axes.axes[*axis].varies());
        std::iter::once(self.across).chain(rest).collect()
    }
}

/// All figures.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct Figures {
    /// The axis across.
    x: String,
    /// Its values are spaced by factors.
    x_log: bool,
    /// Its values lie on a scale; others stand side by side.
    on_a_scale: bool,
    /// Where its values lie, and their texts.
    ticks: Vec<(f64, String)>,
    /// The axis that makes lines, if one does.
    by: Option<String>,
    /// Combinations of the other axes in words; a chart belongs to one of them.
    rest: Vec<String>,
    metrics: Vec<Figure>,
    /// Metrics that are zero everywhere, which need no picture.
    never: Vec<String>,
}

/// A metric.
#[derive(Debug, PartialEq, Serialize)]
struct Figure {
    label: String,
    meaning: String,
    charts: Vec<Chart>,
}

#[derive(Debug, PartialEq, Serialize)]
struct Chart {
    group: String,
    /// Number of the combination of the other axes.
    rest: usize,
    y_log: bool,
    /// The least and the most that is drawn, intervals included.
    range: (f64, f64),
    lines: Vec<Drawn>,
}

/// Where on the axis, the value, and the bounds of its interval.
type Dot = (f64, f64, Option<(f64, f64)>);

#[derive(Debug, Default, PartialEq, Serialize)]
struct Drawn {
    /// Empty if there is one line only.
    name: String,
    /// Number of its color.
    color: usize,
    points: Vec<Dot>,
    /// The value where the axis across does not apply.
    beside: Option<f64>,
}

/// The figures of these metrics; those that are zero everywhere are left out.
pub(super) fn figures(found: &Found, axes: &Axes, chosen: &[Chosen], roles: Roles) -> Figures {
    let across = &axes.axes[roles.across];
    let lines = axes.lines(roles.across);
    let without_by = |line: &Line| {
        let mut place = line.at.clone();
        if let Some(by) = roles.by {
            place[by] = None;
        }
        place
    };
    let rest = fullest(&lines.iter().map(without_by).collect::<Vec<_>>());
    let made = Made { found, axes, roles, lines: &lines, without_by: &without_by };
    let figure = |metric: &Chosen| {
        let charts = metric.groups.iter().flat_map(|group| {
            rest.iter().enumerate().filter_map(|(number, place)| made.chart(metric, group, number, place))
        });
        Figure { label: metric.label.clone(), meaning: metric.meaning.clone(), charts: charts.collect() }
    };
    let (metrics, empty): (Vec<_>, Vec<_>) =
        chosen.iter().map(figure).partition(|figure: &Figure| !figure.charts.is_empty());
    let place = |value: usize| across.places.as_ref().map_or(value as f64, |places| places[value]);
    Figures {
        x: across.short.clone(),
        x_log: across.is_log(),
        on_a_scale: across.places.is_some(),
        ticks: across.values.iter().enumerate().map(|(value, text)| (place(value), text.clone())).collect(),
        by: roles.by.map(|by| axes.axes[by].short.clone()),
        rest: rest.iter().map(|place| axes.describe(place)).collect(),
        metrics,
        never: empty.into_iter().map(|figure| figure.label).collect(),
    }
}

struct Made<'a> {
    found: &'a Found,
    axes: &'a Axes,
    roles: Roles,
    lines: &'a [Line],
    without_by: &'a dyn Fn(&Line) -> Place,
}

impl Made<'_> {
    fn chart(&self, metric: &Chosen, group: &str, rest: usize, place: &Place) -> Option<Chart> {
        let name = metric.of(group);
        let own = self.lines.iter().filter(|line| fits(&(self.without_by)(line), place));
        let lines: Vec<_> = own.filter_map(|line| self.drawn(line, &name)).collect();
        let values = || {
            let points = lines.iter().flat_map(|line| &line.points);
            let bounds = points.flat_map(|(_, value, interval)| {
                let (low, high) = interval.unwrap_or((*value, *value));
                [low, *value, high]
            });
            bounds.chain(lines.iter().filter_map(|line| line.beside))
        };
        let range = (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max));
        // What never happened needs no picture.
        if !range.0.is_finite() || !range.1.is_finite() || range == (0.0, 0.0) {
            return None;
        }
        let y_log = range.0 > 0.0 && range.1 > WIDE * range.0;
        let range = if y_log { within_reach(range, &lines) } else { range };
        Some(Chart { group: spoken(group).to_owned(), rest, y_log, range, lines })
    }

    fn drawn(&self, line: &Line, name: &str) -> Option<Drawn> {
        let axis = &self.axes.axes[self.roles.across];
        let value = |point: usize| self.found.points[point].metric(name);
        let at = |value: usize| axis.places.as_ref().map_or(value as f64, |places| places[value]);
        let point = |(place, point): &(usize, usize)| {
            value(*point).map(|found| (at(*place), found.mean, found.interval))
        };
        let points: Vec<_> = line.points.iter().filter_map(point).collect();
        let beside = line.beside.and_then(value).map(|found| found.mean);
        let by = self.roles.by.and_then(|by| Some((by, line.at[by]?)));
        let name = by.map_or_else(String::new, |(by, value)| {
            let axis = &self.axes.axes[by];
            if axis.places.is_some() { axis.at(value) } else { axis.values[value].clone() }
        });
        let color = by.map_or(0, |(_, value)| value);
        (!points.is_empty() || beside.is_some()).then_some(Drawn { name, color, points, beside })
    }
}

/// The range without those parts of intervals that are further from all values than [`REACH`].
fn within_reach((low, high): (f64, f64), lines: &[Drawn]) -> (f64, f64) {
    let means = || {
        let of_points = lines.iter().flat_map(|line| line.points.iter().map(|(_, mean, _)| *mean));
        of_points.chain(lines.iter().filter_map(|line| line.beside))
    };
    let (least, most) = (means().fold(f64::INFINITY, f64::min), means().fold(0.0, f64::max));
    (low.max(least / REACH), high.min(most * REACH))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::chosen::choose;
    use super::*;
    use crate::sweep::made_up;

    fn grid(names: &[&str], points: &[&[Value]]) -> (Found, Axes) {
        let metrics = |number: usize| {
            let value = 1.0 + number as f64;
            vec![
                ("web.p99_slowdown", vec![value; 3]),
                ("dc.p99_slowdown", vec![value * 100.0; 3]),
                ("web.unfinished", vec![0.0; 3]),
            ]
        };
        let points: Vec<_> =
            points.iter().enumerate().map(|(number, values)| (values.to_vec(), metrics(number))).collect();
        let found = made_up(names, &points);
        let axes = Axes::of(&found);
        (found, axes)
    }

    fn roles(names: &[&str], points: &[&[Value]], by: Option<usize>) -> Option<(usize, Option<usize>)> {
        Roles::of(&grid(names, points).1, by).map(|roles| (roles.across, roles.by))
    }

    #[test]
    fn numbers_go_across_and_names_make_lines() {
        let points: &[&[Value]] = &[
            &[json!("a"), json!(1), json!(7)],
            &[json!("b"), json!(2), json!(7)],
            &[json!("c"), json!(2), json!(7)],
        ];
        assert_eq!(roles(&["control", "load", "same"], points, None), Some((1, Some(0))));
        assert_eq!(roles(&["control", "load", "same"], points, Some(1)), Some((0, Some(1))));
        assert_eq!(roles(&["control"], &[&[json!("a")], &[json!("b")]], None), Some((0, None)));
        assert_eq!(
            roles(&["control"], &[&[json!("a")], &[json!("b")]], Some(0)),
            None,
            "nothing goes across"
        );
        assert_eq!(roles(&["k"], &[&[json!(1)]], None), None, "nothing varies");
    }

    fn drawn(names: &[&str], points: &[&[Value]]) -> Figures {
        let (found, axes) = grid(names, points);
        let chosen = choose(&found.points, None, &[]).unwrap();
        figures(&found, &axes, &chosen, Roles::of(&axes, None).unwrap())
    }

    #[test]
    fn each_group_and_each_combination_of_the_rest_has_a_chart() {
        let mut points = Vec::new();
        for control in ["a", "b"] {
            for load in [1, 2, 3] {
                for pfc in ["on", "off"] {
                    points.push([json!(control), json!(load), json!(pfc)]);
                }
            }
        }
        let points: Vec<&[Value]> = points.iter().map(|point| &point[..]).collect();
        let found = drawn(&["control", "load", "pfc"], &points);
        assert_eq!((found.x.as_str(), found.by.as_deref()), ("load", Some("control")));
        assert_eq!(found.rest, ["pfc = on", "pfc = off"]);
        assert_eq!((found.metrics.len(), &found.never[..]), (1, &["unfinished".to_owned()][..]));
        let charts: Vec<_> =
            found.metrics[0].charts.iter().map(|chart| (chart.group.as_str(), chart.rest)).collect();
        assert_eq!(charts, [("web", 0), ("web", 1), ("dc", 0), ("dc", 1)]);
        let lines: Vec<_> = found.metrics[0].charts[1]
            .lines
            .iter()
            .map(|line| (line.name.as_str(), line.points.len()))
            .collect();
        assert_eq!(lines, [("a", 3), ("b", 3)]);
        assert_eq!(found.metrics[0].charts[1].lines[1].points[0], (1.0, 8.0, Some((8.0, 8.0))));
    }

    #[test]
    fn what_the_axis_does_not_apply_to_is_a_value_beside_it() {
        let points: &[&[Value]] =
            &[&[json!("cubic"), json!(null)], &[json!("dctcp"), json!(0.1)], &[json!("dctcp"), json!(0.2)]];
        let found = drawn(&["control", "x.gain"], points);
        let lines = &found.metrics[0].charts[0].lines;
        assert_eq!((lines[0].name.as_str(), lines[0].beside, lines[0].points.len()), ("cubic", Some(1.0), 0));
        assert_eq!((lines[1].name.as_str(), lines[1].beside, lines[1].points.len()), ("dctcp", None, 2));
    }

    #[test]
    fn values_that_span_decades_have_a_logarithmic_scale() {
        let points: Vec<_> = (0..40).map(|k| [json!(k)]).collect();
        let points: Vec<&[Value]> = points.iter().map(|point| &point[..]).collect();
        let found = drawn(&["k"], &points);
        assert!(found.metrics[0].charts[0].y_log && found.metrics[0].charts[0].range == (1.0, 40.0));
        assert!(!drawn(&["k"], &points[..5]).metrics[0].charts[0].y_log);
    }
}
