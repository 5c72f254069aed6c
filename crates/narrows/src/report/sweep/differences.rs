//! Differences that the runs of a sweep show: for each metric of each group a sentence for each line of settings.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::apart::Apart;
use super::axes::{Axes, Line, Place};
use super::chosen::{Chosen, spoken};
use super::sentence::Settings;
use crate::numbers::{counted, with_interval};
use crate::statistics::{Estimate, FEWEST};
use crate::sweep::Found;

/// Of more settings along an axis so many are compared, evenly spread.
const COMPARED: usize = 40;
/// More lines than this along one axis are put together where they say the same.
const SINGLE: usize = 4;
/// More places than this are counted.
const PLACES: usize = 4;

/// Everything that is said.
#[derive(Debug, Default, PartialEq, Serialize)]
pub(super) struct Differences {
    pub(super) metrics: Vec<OfMetric>,
    /// The method, in a sentence.
    pub(super) notes: Vec<String>,
}

/// Sentences about a metric.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct OfMetric {
    pub(super) label: String,
    pub(super) sentences: Vec<Sentence>,
}

/// A sentence about one line of settings, or about several that say the same.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct Sentence {
    pub(super) group: String,
    /// Values of the other axes.
    pub(super) at: String,
    pub(super) text: String,
}

/// Compares along all axes that vary, in this order.
pub(super) fn differences(found: &Found, axes: &Axes, chosen: &[Chosen], across: &[usize]) -> Differences {
    let seeds = found.points.iter().map(|point| point.seeds).max().unwrap_or(0) as usize;
    if across.is_empty() {
        return Differences::default();
    }
    if seeds < FEWEST {
        let count = if seeds == 1 { "one seed".to_owned() } else { format!("{seeds} seeds") };
        let note = format!(
            "With {count} there are no intervals: whether a difference is more than chance is not known. Three seeds or more \
             have them; narrows sweep with a larger --seeds runs only what is missing."
        );
        return Differences { metrics: Vec::new(), notes: vec![note] };
    }
    let lines: Vec<(usize, Vec<Line>)> = across.iter().map(|axis| (*axis, axes.lines(*axis))).collect();
    let mut made = Made { found, axes, families: 0, comparisons: 0 };
    let of_metric = |metric: &Chosen| OfMetric {
        label: metric.label.clone(),
        sentences: metric.groups.iter().flat_map(|group| made.of_group(metric, group, &lines)).collect(),
    };
    let metrics: Vec<_> = chosen.iter().map(of_metric).filter(|of| !of.sentences.is_empty()).collect();
    let notes = made.notes();
    Differences { metrics, notes }
}

struct Made<'a> {
    found: &'a Found,
    axes: &'a Axes,
    /// Lines of settings in which something was compared.
    families: usize,
    comparisons: usize,
}

impl<'a> Made<'a> {
    fn of_group(&mut self, metric: &Chosen, group: &str, lines: &[(usize, Vec<Line>)]) -> Vec<Sentence> {
        let name = metric.of(group);
        let happened =
            self.found.points.iter().any(|point| point.metric(&name).is_some_and(|found| found.mean != 0.0));
        if !happened {
            return Vec::new();
        }
        let mut along = Vec::new();
        for (axis, lines) in lines {
            let compared =
                lines.iter().filter_map(|line| Some((&line.at, self.compare(metric, &name, *axis, line)?)));
            along.push(compared.collect::<Vec<_>>());
        }
        let all = || along.iter().flatten().map(|(_, settings)| settings);
        if all().all(|settings| settings.compared().is_empty()) {
            let why = all().next().map(Settings::why);
            return why.map(|why| self.nothing(group, &name, why)).into_iter().collect();
        }
        along.iter().flat_map(|lines| self.say(spoken(group), lines)).collect()
    }

    /// Where no line can be compared: the least and the most there was.
    fn nothing(&self, group: &str, name: &str, why: &str) -> Sentence {
        let points = || {
            self.found
                .points
                .iter()
                .enumerate()
                .filter_map(|(number, point)| Some((number, point.metric(name)?)))
        };
        let mean = |one: &(usize, &Estimate), other: &(usize, &Estimate)| one.1.mean.total_cmp(&other.1.mean);
        let text = |(number, found): (usize, &Estimate)| {
            format!("{} at {}", with_interval(Some(found), ""), self.axes.describe(&self.axes.places[number]))
        };
        let ends = [points().min_by(mean), points().max_by(mean)].into_iter().flatten().map(text);
        let text = format!("not compared{why} ({})", ends.collect::<Vec<_>>().join(" to "));
        Sentence { group: spoken(group).to_owned(), at: String::new(), text }
    }

    /// The settings of a line that have the metric; none if there is nothing to compare.
    fn compare(&mut self, metric: &Chosen, name: &str, axis: usize, line: &Line) -> Option<Settings<'a>> {
        let measured = |(value, point): &(usize, usize)| {
            let estimate = *self.found.points[*point].metric(name)?;
            Some((*value, estimate, self.found.samples(*point, name)))
        };
        let all: Vec<_> = line.points.iter().filter_map(measured).collect();
        if all.len() < 2 {
            return None;
        }
        let (mut values, mut estimates, mut samples) = (Vec::new(), Vec::new(), Vec::new());
        for place in evenly(all.len()) {
            values.push(all[place].0);
            estimates.push(all[place].1);
            samples.push(all[place].2.clone());
        }
        let apart = Apart::of(&samples);
        self.families += usize::from(apart.comparisons > 0);
        self.comparisons += apart.comparisons;
        let axes: &'a Axes = self.axes;
        let axis = &axes.axes[axis];
        Some(Settings { axis, values, estimates, apart, lowest_first: metric.lower_is_better != Some(false) })
    }

    /// A sentence for each line; one for all that find nothing, and if there are many for all that say the same.
    fn say(&self, group: &str, lines: &[(&Place, Settings<'_>)]) -> Vec<Sentence> {
        let all: Vec<_> = lines.iter().map(|(at, _)| *at).collect();
        let mut texts: Vec<String> = Vec::new();
        let mut of_text: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (number, (_, settings)) in lines.iter().enumerate() {
            let alone = lines.len() <= SINGLE && settings.is_any_apart();
            let text = settings.text(alone);
            if !of_text.contains_key(&text) {
                texts.push(text.clone());
            }
            of_text.entry(text).or_default().push(number);
        }
        let said = |text: String| match of_text[&text][..] {
            [only] => (self.axes.describe(lines[only].0), lines[only].1.text(true)),
            ref several => {
                let places: Vec<_> = several.iter().map(|line| lines[*line].0).collect();
                (self.places(&places, &all), text)
            }
        };
        let sentence = |(at, text)| Sentence { group: group.to_owned(), at, text };
        texts.into_iter().map(said).map(sentence).collect()
    }

    /// Several places of all there are in words: `any load; control = dctcp, reno` if they are combinations, or one after the other.
    fn places(&self, places: &[&Place], all: &[&Place]) -> String {
        let values = |axis: usize, of: &[&Place]| -> BTreeSet<usize> {
            of.iter().filter_map(|place| place[axis]).collect()
        };
        let varied = |axis: &usize| self.axes.axes[*axis].varies() && !values(*axis, places).is_empty();
        let varied: Vec<_> = (0..self.axes.axes.len()).filter(varied).collect();
        let combinations: usize = varied.iter().map(|axis| values(*axis, places).len()).product();
        if combinations != places.len() && places.len() != all.len() {
            let shown: Vec<_> = places.iter().take(PLACES).map(|place| self.axes.describe(place)).collect();
            let more = places.len() - shown.len();
            return format!(
                "{}{}",
                shown.join("; "),
                if more > 0 { format!(" and {more} more") } else { String::new() }
            );
        }
        let axis = |axis: &usize| {
            let (own, of) = (values(*axis, places), &self.axes.axes[*axis]);
            if own == values(*axis, all) {
                return format!("any {}", of.short);
            }
            let names: Vec<_> = own.iter().map(|value| of.values[*value].as_str()).collect();
            format!("{} = {}", of.short, names.join(", "))
        };
        varied.iter().map(axis).collect::<Vec<_>>().join("; ")
    }

    fn notes(&self) -> Vec<String> {
        let Self { families, comparisons, .. } = self;
        if *comparisons == 0 {
            return Vec::new();
        }
        let method = "Two settings are compared by the ratio of their runs with the same seed (Student's t of logarithms), \
                      and told apart if its interval excludes 1. Intervals in brackets behind single values are of one value \
                      each: they may overlap although the runs tell the settings apart, and lie apart although several \
                      comparisons together leave a doubt.";
        let chance = (*families as f64 * 0.05).ceil() as usize;
        let many = format!(
            "{} in {}. Comparisons along one line of settings hold together with 95 % confidence (Bonferroni: the more, the wider \
             their intervals). Lines are not corrected for each other: if no setting made a difference, up to {} would be \
             expected to report one.",
            counted(*comparisons, "comparison"),
            counted(*families, "line"),
            counted(chance, "line"),
        );
        let rule = self.found.manifest.until.as_ref().map(|_| {
            "Seeds were added until an interval was small enough; such intervals are a little too narrow."
                .to_owned()
        });
        [method.to_owned(), many].into_iter().chain(rule).collect()
    }
}

/// Numbers of the settings that are compared, the first and the last included.
fn evenly(count: usize) -> Vec<usize> {
    if count <= COMPARED {
        return (0..count).collect();
    }
    (0..COMPARED).map(|number| number * (count - 1) / (COMPARED - 1)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::chosen::choose;
    use super::*;
    use crate::sweep::{MadeUp, made_up};

    fn said(names: &[&str], points: &[MadeUp<'_>]) -> Differences {
        let found = made_up(names, points);
        let axes = Axes::of(&found);
        let across: Vec<_> = (0..axes.axes.len()).filter(|axis| axes.axes[*axis].varies()).collect();
        let wanted = ["p99_slowdown".to_owned(), "goodput_gbps".to_owned()];
        let known = |name: &&String| found.points[0].metric(&format!("web.{name}")).is_some();
        let wanted: Vec<_> = wanted.iter().filter(known).cloned().collect();
        let chosen = choose(&found.points, None, &wanted).unwrap();
        differences(&found, &axes, &chosen, &across)
    }

    fn slowdown(value: f64, seeds: usize) -> Vec<(&'static str, Vec<f64>)> {
        vec![("web.p99_slowdown", vec![value; seeds])]
    }

    #[test]
    fn each_metric_of_each_group_has_a_sentence_along_each_axis() {
        let point = |k: &str, control: &str, slowdown: f64, goodput: f64| {
            let metrics =
                vec![("web.p99_slowdown", vec![slowdown; 3]), ("web.goodput_gbps", vec![goodput; 3])];
            (vec![json!(k), json!(control)], metrics)
        };
        let points = vec![
            point("20 kB", "dctcp", 12.0, 1.0),
            point("20 kB", "reno", 12.0, 2.0),
            point("80 kB", "dctcp", 4.0, 1.0),
            point("80 kB", "reno", 6.0, 2.0),
        ];
        let found = said(&["a.k", "control"], &points);
        let texts: Vec<_> = found
            .metrics
            .iter()
            .flat_map(|of| {
                of.sentences
                    .iter()
                    .map(|each| format!("{}: {} {}: {}", of.label, each.group, each.at, each.text))
            })
            .collect();
        let expected = [
            "slowdown p99: web control = dctcp: falls from 12 at k = 20 kB to 4 at k = 80 kB, 0.3333×",
            "slowdown p99: web control = reno: falls from 12 at k = 20 kB to 6 at k = 80 kB, 0.5×",
            "slowdown p99: web k = 20 kB: not told apart (12 at both values of control)",
            "slowdown p99: web k = 80 kB: lower at control = dctcp than at control = reno: 4 against 6, 0.6667×",
            "goodput, Gb/s: web any control: values of k are not told apart",
            "goodput, Gb/s: web any k: higher at control = reno than at control = dctcp: 2 against 1, 2×",
        ];
        assert_eq!(texts, expected);
        assert!(found.notes[1].starts_with("8 comparisons in 8 lines."), "{:?}", found.notes);
        assert!(found.notes[1].contains("up to 1 line would"), "{:?}", found.notes);
    }

    #[test]
    fn many_lines_that_say_the_same_are_put_together() {
        let controls = [("dctcp", 1.0), ("reno", 2.0)];
        let point = |load: u32, (control, factor): (&str, f64)| {
            let worse = if load == 3 { 1.0 } else { factor };
            (vec![json!(load), json!(control)], slowdown(f64::from(load) * worse, 3))
        };
        let points: Vec<MadeUp<'_>> =
            (1..=6).flat_map(|load| controls.map(|control| point(load, control))).collect();
        let found = said(&["load", "control"], &points);
        let along_control: Vec<_> = found.metrics[0].sentences[2..]
            .iter()
            .map(|each| (each.at.as_str(), each.text.as_str()))
            .collect();
        let expected = [
            ("load = 1, 2, 4, 5, 6", "lower at control = dctcp than at control = reno"),
            ("load = 3", "not told apart (3 at both values of control)"),
        ];
        assert_eq!(along_control, expected);
    }

    #[test]
    fn what_cannot_be_compared_anywhere_is_one_sentence() {
        let point = |k: u32, control: &str| {
            let drops = if k == 1 { vec![9.0, 0.0, 3.0] } else { vec![0.0; 3] };
            (vec![json!(k), json!(control)], vec![("web.p99_slowdown", drops)])
        };
        let points = vec![point(1, "a"), point(1, "b"), point(2, "a"), point(2, "b")];
        let found = said(&["k", "control"], &points);
        let expected =
            "not compared, as a run has 0 (0 at k = 2, control = a to 4 (0 to 9) at k = 1, control = b)";
        assert_eq!(found.metrics[0].sentences.len(), 1);
        assert_eq!(found.metrics[0].sentences[0].text, expected);
        assert!(found.notes.is_empty());
    }

    #[test]
    fn with_fewer_than_three_seeds_nothing_is_said_but_that() {
        let points = vec![(vec![json!(1)], slowdown(1.0, 2)), (vec![json!(2)], slowdown(9.0, 2))];
        let found = said(&["k"], &points);
        assert!(
            found.metrics.is_empty() && found.notes[0].starts_with("With 2 seeds there are no intervals")
        );
    }

    #[test]
    fn of_very_many_settings_some_are_compared_the_ends_included() {
        let point = |k: u32| (vec![json!(k)], slowdown(f64::from(1000 - k), 3));
        let found = said(&["k"], &(0..200).map(point).collect::<Vec<_>>());
        let text = &found.metrics[0].sentences[0].text;
        assert!(text.starts_with("falls from 1 000 at k = 0 to 801 at k = 199"), "{text}");
        assert!(found.notes[1].starts_with("780 comparisons in 1 line"), "{:?}", found.notes);
    }
}
