//! The axes of a sweep as a page draws them: their values in order, on a scale if they are numbers or quantities, and the lines
//! of points along them.

use narrows_proto::units::{BitRate, Bytes, Span};
use serde_json::Value;

use crate::diagnostic::{Checked, Code, Diagnostic};
use crate::sweep::Found;

/// Linear steps of an axis may differ by this factor before a logarithmic one is better.
const UNEVEN: f64 = 2.5;

/// An axis.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Axis {
    /// Its name.
    pub(super) name: String,
    /// Its last key if that is enough.
    pub(super) short: String,
    /// Its values as texts: numbers and quantities in their order, others as in the grid.
    pub(super) values: Vec<String>,
    /// Where each of them lies, if they are numbers or quantities.
    pub(super) places: Option<Vec<f64>>,
}

/// Values on each axis, as numbers of them; none where an axis does not apply.
pub(super) type Place = Vec<Option<usize>>;

/// All axes, and where the points are.
#[derive(Debug)]
pub(super) struct Axes {
    pub(super) axes: Vec<Axis>,
    /// By point.
    pub(super) places: Vec<Place>,
}

/// The points along an axis where all others are fixed.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Line {
    /// Values of the other axes. None at the axis itself, and where one does not apply.
    pub(super) at: Place,
    /// Numbers of values on the axis, and of points.
    pub(super) points: Vec<(usize, usize)>,
    /// The point that the axis does not apply to.
    pub(super) beside: Option<usize>,
}

impl Axis {
    /// The axis with these values, and the number of each of them; null is none.
    pub(super) fn new(name: &str, short: String, found: &[&Value]) -> (Self, Vec<Option<usize>>) {
        let mut distinct: Vec<&Value> = Vec::new();
        for value in found.iter().filter(|value| !value.is_null()) {
            if !distinct.contains(value) {
                distinct.push(value);
            }
        }
        let mut places = places(&distinct);
        if let Some(places) = &mut places {
            let mut order: Vec<_> = places.iter().copied().zip(distinct).collect();
            order.sort_by(|a, b| a.0.total_cmp(&b.0));
            (*places, distinct) = order.into_iter().unzip();
        }
        let number = |value: &&Value| distinct.iter().position(|other| other == value);
        let numbers = found.iter().map(number).collect();
        let values = distinct.iter().map(|value| spoken(value)).collect();
        (Self { name: name.to_owned(), short, values, places }, numbers)
    }

    /// It has several values.
    pub(super) fn varies(&self) -> bool {
        self.values.len() > 1
    }

    /// It is drawn on a logarithmic scale: all values are above zero, and spaced by factors rather than by steps.
    pub(super) fn is_log(&self) -> bool {
        let Some(places) = self.places.as_ref().filter(|places| places.len() > 2 && places[0] > 0.0) else {
            return false;
        };
        let steps = || places.windows(2).map(|pair| pair[1] - pair[0]);
        let factors = || places.windows(2).map(|pair| libm::log(pair[1] / pair[0]));
        let unevenness = |least: f64, most: f64| most / least;
        let linear = unevenness(steps().fold(f64::INFINITY, f64::min), steps().fold(0.0, f64::max));
        let log = unevenness(factors().fold(f64::INFINITY, f64::min), factors().fold(0.0, f64::max));
        linear > UNEVEN && log < linear
    }

    /// A value in a sentence: `k = 20 kB`.
    pub(super) fn at(&self, value: usize) -> String {
        format!("{} = {}", self.short, self.values[value])
    }
}

/// A value as text. A control alone is a table in the grid, and is called by its name.
fn spoken(value: &Value) -> String {
    if let Some((name, settings)) =
        value.as_object().filter(|table| table.len() == 1).and_then(|table| table.iter().next())
        && settings.as_object().is_some_and(serde_json::Map::is_empty)
    {
        return name.clone();
    }
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Where values lie if all are numbers, or quantities of one kind.
fn places(values: &[&Value]) -> Option<Vec<f64>> {
    let all = |read: &dyn Fn(&Value) -> Option<f64>| -> Option<Vec<f64>> {
        values.iter().map(|value| read(value)).collect()
    };
    let span = |text: &str| text.parse::<Span>().ok().map(Span::as_secs_f64);
    let bytes = |text: &str| text.parse::<Bytes>().ok().map(Bytes::as_f64);
    let rate = |text: &str| text.parse::<BitRate>().ok().map(BitRate::as_f64);
    all(&Value::as_f64)
        .or_else(|| all(&|value| span(value.as_str()?)))
        .or_else(|| all(&|value| bytes(value.as_str()?)))
        .or_else(|| all(&|value| rate(value.as_str()?)))
}

impl Axes {
    pub(super) fn of(found: &Found) -> Self {
        let names = found.manifest.axes.iter().zip(found.manifest.short_axes());
        let axis = |(number, (name, short)): (usize, (&String, String))| {
            let values: Vec<_> = found.points.iter().map(|point| &point.values[number]).collect();
            Axis::new(name, short, &values)
        };
        let (axes, numbers): (Vec<_>, Vec<_>) = names.enumerate().map(axis).unzip();
        let place = |point: usize| numbers.iter().map(|of_axis: &Vec<_>| of_axis[point]).collect();
        Self { axes, places: (0..found.points.len()).map(place).collect() }
    }

    /// The axis of this name, or with this last key.
    pub(super) fn find(&self, name: &str) -> Checked<usize> {
        let is_it = |axis: &Axis| axis.name == name || axis.short == name;
        self.axes.iter().position(is_it).ok_or_else(|| {
            let unknown = Diagnostic::error(Code::UnknownName, format!("the sweep has no axis \"{name}\""));
            if self.axes.is_empty() {
                return unknown.help("it has no axes: it is one point").into();
            }
            unknown.known(name, self.axes.iter().map(|axis| axis.short.as_str())).into()
        })
    }

    /// All lines of points along an axis, in the order of points.
    pub(super) fn lines(&self, axis: usize) -> Vec<Line> {
        let without = |place: &Place| {
            let mut place = place.clone();
            place[axis] = None;
            place
        };
        let others: Vec<Place> = self.places.iter().map(without).collect();
        let line = |at: Place| {
            let mut line = Line { at, points: Vec::new(), beside: None };
            for point in (0..others.len()).filter(|point| fits(&others[*point], &line.at)) {
                match self.places[point][axis] {
                    Some(value) => line.points.push((value, point)),
                    None => line.beside = Some(point),
                }
            }
            line.points.sort_unstable();
            line
        };
        fullest(&others).into_iter().map(line).collect()
    }

    /// A place in words: `control = dctcp, load = 0.2`.
    pub(super) fn describe(&self, place: &Place) -> String {
        let known = self.axes.iter().zip(place).filter(|(axis, _)| axis.varies());
        let parts: Vec<_> = known.filter_map(|(axis, value)| Some(axis.at((*value)?))).collect();
        parts.join(", ")
    }
}

/// A point belongs to a place if each axis that applies to it has the value of the place.
pub(super) fn fits(point: &Place, place: &Place) -> bool {
    point.iter().zip(place).all(|(own, value)| own.is_none() || own == value)
}

/// Distinct places, but for those that fit another: a point to which an axis does not apply belongs to all its values.
pub(super) fn fullest(places: &[Place]) -> Vec<Place> {
    let mut distinct: Vec<Place> = Vec::new();
    let mut seen = std::collections::BTreeSet::new();
    for place in places {
        if seen.insert(place) {
            distinct.push(place.clone());
        }
    }
    let is_full = |place: &&Place| !distinct.iter().any(|other| other != *place && fits(place, other));
    distinct.iter().filter(is_full).cloned().collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::sweep::made_up;

    fn axes(names: &[&str], points: &[&[Value]]) -> Axes {
        let points: Vec<_> =
            points.iter().map(|values| (values.to_vec(), vec![("a.m", vec![1.0])])).collect();
        Axes::of(&made_up(names, &points))
    }

    fn axis(values: &[Value]) -> Axis {
        let values: Vec<_> = values.iter().collect();
        Axis::new("a.k", "k".into(), &values).0
    }

    #[test]
    fn quantities_of_one_kind_lie_on_a_scale_in_their_order() {
        let found = axis(&[json!("1 MB"), json!("30 kB"), json!("300 kB")]);
        assert_eq!(found.values, ["30 kB", "300 kB", "1 MB"]);
        assert_eq!(found.places, Some(vec![3e4, 3e5, 1e6]));
        assert!(found.is_log());
        assert_eq!(axis(&[json!("1 MB"), json!("5 ms")]).places, None);
        assert_eq!(axis(&[json!(0.4), json!(0.2)]).values, ["0.2", "0.4"]);
    }

    #[test]
    fn names_stay_in_the_order_of_the_grid_and_a_control_is_called_by_its_name() {
        let found = axis(&[json!({ "reno": {} }), json!("dctcp"), json!({ "gemini": { "beta": 0.2 } })]);
        assert_eq!(found.values, ["reno", "dctcp", "{\"gemini\":{\"beta\":0.2}}"]);
        assert!(found.places.is_none() && !found.is_log());
    }

    #[test]
    fn a_scale_is_logarithmic_if_values_are_spaced_by_factors() {
        let is_log =
            |values: &[f64]| axis(&values.iter().map(|value| json!(value)).collect::<Vec<_>>()).is_log();
        assert!(is_log(&[1.0, 10.0, 100.0]) && is_log(&[1.0, 2.0, 5.0, 10.0, 20.0]));
        assert!(!is_log(&[0.2, 0.4, 0.6, 0.8]) && !is_log(&[0.0, 1.0, 100.0]) && !is_log(&[1.0, 100.0]));
    }

    #[test]
    fn lines_hold_all_other_axes_fixed() {
        let grid = axes(
            &["load", "control"],
            &[
                &[json!(1), json!("a")],
                &[json!(1), json!("b")],
                &[json!(2), json!("a")],
                &[json!(2), json!("b")],
            ],
        );
        let found = grid.lines(0);
        let expected = [vec![(0, 0), (1, 2)], vec![(0, 1), (1, 3)]];
        assert_eq!(found.iter().map(|line| line.points.clone()).collect::<Vec<_>>(), expected);
        assert_eq!(grid.describe(&found[1].at), "control = b");
    }

    #[test]
    fn a_point_that_an_axis_does_not_apply_to_stands_beside_every_value() {
        let grid = axes(
            &["control", "x.gain"],
            &[&[json!("cubic"), json!(null)], &[json!("dctcp"), json!(0.1)], &[json!("dctcp"), json!(0.2)]],
        );
        let along_gain = grid.lines(1);
        assert_eq!(along_gain[0].beside, Some(0));
        assert_eq!(along_gain[1].points, [(0, 1), (1, 2)]);
        let along_control: Vec<_> = grid.lines(0).into_iter().map(|line| line.points).collect();
        assert_eq!(along_control, [vec![(0, 0), (1, 1)], vec![(0, 0), (1, 2)]]);
    }

    #[test]
    fn an_unknown_axis_is_refused_with_the_nearest() {
        let grid = axes(&["traffic.web.load"], &[&[json!(1)]]);
        assert_eq!((grid.find("load").unwrap(), grid.find("traffic.web.load").unwrap()), (0, 0));
        let refused = grid.find("laod").unwrap_err();
        assert!(refused.0[0].help.as_ref().unwrap().contains("did you mean \"load\""), "{refused}");
    }
}
