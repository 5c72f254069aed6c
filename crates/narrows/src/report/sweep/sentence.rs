//! One line of settings in words: where a metric rises or falls along it, and which settings its runs do not tell apart.

use std::cmp::Ordering;

use super::apart::Apart;
use super::axes::Axis;
use crate::numbers::with_interval;
use crate::statistics::Estimate;

/// More names than this are counted.
const NAMED: usize = 4;
/// More stretches of settings that are not told apart than this are left out.
const STRETCHES: usize = 3;

/// The settings of a line, in the order of the axis.
#[derive(Debug)]
pub(super) struct Settings<'a> {
    pub(super) axis: &'a Axis,
    /// Numbers of their values on the axis.
    pub(super) values: Vec<usize>,
    /// The metric.
    pub(super) estimates: Vec<Estimate>,
    pub(super) apart: Apart,
    /// Lower is better, or nothing is.
    pub(super) lowest_first: bool,
}

impl Settings<'_> {
    /// The statement that the runs support, with numbers or without.
    pub(super) fn text(&self, numbers: bool) -> String {
        let compared = self.compared();
        if compared.is_empty() {
            return self.nothing(&format!("not compared{}", self.why()), &compared, numbers);
        }
        let text = match self.direction(&compared) {
            _ if !self.is_any_apart() => self.nothing("not told apart", &compared, numbers),
            Some(direction) => self.trend(&compared, direction, numbers),
            None => self.extremes(&compared, numbers),
        };
        let left_out: Vec<_> = (0..self.values.len()).filter(|one| !compared.contains(one)).collect();
        if left_out.is_empty() {
            return text;
        }
        format!("{text}; not compared{}: {}", self.why(), self.names(&left_out))
    }

    fn nothing(&self, what: &str, settings: &[usize], numbers: bool) -> String {
        if numbers {
            format!("{what} ({})", self.ends(settings))
        } else {
            format!("values of {} are {what}", self.axis.short)
        }
    }

    /// Settings that were compared with some other.
    pub(super) fn compared(&self) -> Vec<usize> {
        (0..self.values.len()).filter(|one| self.apart.is_compared(*one)).collect()
    }

    /// Some two settings are told apart.
    pub(super) fn is_any_apart(&self) -> bool {
        pairs(&self.compared()).any(|(one, other)| self.apart.order(one, other).is_some())
    }

    /// Why settings are not compared.
    pub(super) fn why(&self) -> &'static str {
        let has_zero = self.estimates.iter().any(|estimate| estimate.range.0 <= 0.0);
        if has_zero { ", as a run has 0" } else { ", as they have fewer than three seeds in common" }
    }

    fn at(&self, setting: usize) -> String {
        format!("at {}", self.axis.at(self.values[setting]))
    }

    fn name(&self, setting: usize) -> &str {
        &self.axis.values[self.values[setting]]
    }

    fn names(&self, settings: &[usize]) -> String {
        let shown = settings.len().min(if settings.len() > NAMED { NAMED - 1 } else { NAMED });
        let names: Vec<_> = settings[..shown].iter().map(|setting| self.name(*setting)).collect();
        let more = settings.len() - shown;
        if more > 0 { format!("{} and {more} others", names.join(", ")) } else { names.join(", ") }
    }

    /// `4.1 [3.9, 4.4] at k = 20 kB`.
    fn value(&self, setting: usize, numbers: bool) -> String {
        if numbers {
            format!("{} {}", with_interval(Some(&self.estimates[setting]), ""), self.at(setting))
        } else {
            self.at(setting)
        }
    }

    /// `, 0.5× [0.4, 0.6]`, and over how many seeds if one of both has more.
    fn ratio(&self, one: usize, other: usize, numbers: bool) -> String {
        let Some(ratio) = self.apart.ratio(one, other).filter(|_| numbers) else { return String::new() };
        let has_more = |setting: usize| self.estimates[setting].samples > ratio.samples;
        let seeds = if has_more(one) || has_more(other) {
            format!(" over the {} seeds that both have", ratio.samples)
        } else {
            String::new()
        };
        format!(", {}{seeds}", with_interval(Some(&ratio), "×"))
    }

    /// The setting with the smallest and that with the largest value, of some or if there are none of all.
    fn lowest_and_highest(&self, settings: &[usize]) -> (usize, usize) {
        let all: Vec<_> = (0..self.values.len()).collect();
        let settings = if settings.is_empty() { &all[..] } else { settings };
        let by_mean = |one: &&usize, other: &&usize| {
            self.estimates[**one].mean.total_cmp(&self.estimates[**other].mean)
        };
        let lowest = settings.iter().min_by(by_mean).copied().unwrap_or(0);
        (lowest, settings.iter().max_by(by_mean).copied().unwrap_or(0))
    }

    /// The lowest and the highest value: `2 at k = 20 kB to 4.1 at k = 60 kB`.
    fn ends(&self, settings: &[usize]) -> String {
        let (lowest, highest) = self.lowest_and_highest(settings);
        if self.estimates[lowest].mean == self.estimates[highest].mean {
            let all =
                if self.values.len() == 2 { "both".to_owned() } else { format!("all {}", self.values.len()) };
            let value = with_interval(Some(&self.estimates[lowest]), "");
            return format!("{value} at {all} values of {}", self.axis.short);
        }
        format!("{} to {}", self.value(lowest, true), self.value(highest, true))
    }

    /// The way that a metric goes along a scale, if its ends are told apart and no two settings go the other way.
    fn direction(&self, settings: &[usize]) -> Option<Ordering> {
        self.axis.places.as_ref()?;
        let direction = self.apart.order(*settings.first()?, *settings.last()?)?;
        let is_same = |(one, other)| self.apart.order(one, other).is_none_or(|found| found == direction);
        pairs(settings).all(is_same).then_some(direction)
    }

    fn trend(&self, settings: &[usize], direction: Ordering, numbers: bool) -> String {
        let verb = if direction == Ordering::Greater { "rises" } else { "falls" };
        let (first, last) = (settings[0], settings[settings.len() - 1]);
        let value = |setting: usize| {
            if numbers { self.value(setting, true) } else { self.axis.at(self.values[setting]) }
        };
        let ends =
            format!("{verb} from {} to {}{}", value(first), value(last), self.ratio(first, last, numbers));
        let stretches = self.stretches(settings);
        if stretches.is_empty() {
            return if settings.len() > 2 {
                format!("{ends}; each value is told apart from all others")
            } else {
                ends
            };
        }
        let more = stretches.len().saturating_sub(STRETCHES);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let shown = &stretches[..stretches.len().min(STRETCHES)];
        format!("{ends}; not told apart: {}{more}", shown.join(", "))
    }

    /// Longest stretches of neighbors of which no two are told apart.
    fn stretches(&self, settings: &[usize]) -> Vec<String> {
        let mut found = Vec::new();
        let mut end = 0;
        for first in 0..settings.len() {
            let is_apart = |last: &usize| {
                (first..*last).any(|one| self.apart.order(settings[one], settings[*last]).is_some())
            };
            let last = (first + 1..settings.len()).find(is_apart).unwrap_or(settings.len()) - 1;
            if last > first && last > end {
                let between = if last == first + 1 { "and" } else { "to" };
                found.push(format!("{} {between} {}", self.name(settings[first]), self.name(settings[last])));
            }
            end = end.max(last);
        }
        found
    }

    /// The lowest and the highest setting, and what they are told apart from.
    fn extremes(&self, settings: &[usize], numbers: bool) -> String {
        let (lowest, highest) = self.lowest_and_highest(settings);
        if settings.len() == 2 {
            return if self.lowest_first {
                self.than("lower", lowest, highest, numbers)
            } else {
                self.than("higher", highest, lowest, numbers)
            };
        }
        let low = self.extreme("lowest", "below", Ordering::Greater, lowest, settings, numbers);
        let high = self.extreme("highest", "above", Ordering::Less, highest, settings, numbers);
        if self.lowest_first { format!("{low}; {high}") } else { format!("{high}; {low}") }
    }

    /// `lower at k = 20 kB than at k = 40 kB: 2 against 8, 0.25×`.
    fn than(&self, what: &str, one: usize, other: usize, numbers: bool) -> String {
        let places = format!("{what} {} than {}", self.at(one), self.at(other));
        if !numbers {
            return places;
        }
        let [own, others] = [one, other].map(|setting| with_interval(Some(&self.estimates[setting]), ""));
        format!("{places}: {own} against {others}{}", self.ratio(other, one, true))
    }

    fn extreme(
        &self,
        what: &str,
        beyond: &str,
        others_are: Ordering,
        setting: usize,
        settings: &[usize],
        numbers: bool,
    ) -> String {
        let others: Vec<_> = settings.iter().copied().filter(|other| *other != setting).collect();
        let (told, not): (Vec<_>, Vec<_>) =
            others.into_iter().partition(|other| self.apart.order(setting, *other) == Some(others_are));
        let relation = match (told.is_empty(), not.is_empty()) {
            (_, true) => format!("{beyond} all others"),
            (true, _) => "not told apart from any other".to_owned(),
            _ => format!("{beyond} {}, not told apart from {}", self.names(&told), self.names(&not)),
        };
        format!("{what} {}: {relation}", self.value(setting, numbers))
    }
}

/// Each of these with each later one.
fn pairs(settings: &[usize]) -> impl Iterator<Item = (usize, usize)> {
    (0..settings.len())
        .flat_map(move |place| settings[place + 1..].iter().map(move |other| (settings[place], *other)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::estimate;

    /// Settings of which every seed measures the same, but for a bit of chance.
    fn settings<'a>(axis: &'a Axis, medians: &[f64], chance: f64) -> Settings<'a> {
        let luck = [-1.0, 0.3, 0.8, -0.5, 0.4];
        let value = |setting: usize, seed: usize| {
            // Neither settings nor seeds share their chance.
            medians[setting] * libm::exp(chance * luck[(seed * (setting + 1) + setting) % 5])
        };
        let samples: Vec<Vec<f64>> =
            (0..medians.len()).map(|setting| (0..5).map(|seed| value(setting, seed)).collect()).collect();
        let by_seed: Vec<_> =
            samples.iter().map(|values| (1..).zip(values.iter().copied()).collect()).collect();
        Settings {
            axis,
            values: (0..medians.len()).collect(),
            estimates: samples.iter().map(|values| estimate(values).unwrap()).collect(),
            apart: Apart::of(&by_seed),
            lowest_first: true,
        }
    }

    fn axis(values: &[&str], on_a_scale: bool) -> Axis {
        Axis {
            name: "a.k".into(),
            short: "k".into(),
            values: values.iter().map(|value| (*value).to_owned()).collect(),
            places: on_a_scale.then(|| (0..values.len()).map(|place| place as f64).collect()),
        }
    }

    const KB: [&str; 4] = ["20 kB", "40 kB", "60 kB", "80 kB"];

    #[test]
    fn a_fall_along_a_scale_has_its_ends_their_ratio_and_what_is_not_told_apart() {
        let k = axis(&KB, true);
        let text = settings(&k, &[16.0, 8.0, 4.0, 2.0], 0.0).text(true);
        let expected =
            "falls from 16 at k = 20 kB to 2 at k = 80 kB, 0.125×; each value is told apart from all others";
        assert_eq!(text, expected);
        let text = settings(&k, &[16.0, 4.0, 4.0, 4.0], 0.0).text(true);
        assert_eq!(
            text,
            "falls from 16 at k = 20 kB to 4 at k = 80 kB, 0.25×; not told apart: 40 kB to 80 kB"
        );
        let text = settings(&k, &[4.0, 4.0, 16.0, 16.0], 0.0).text(false);
        assert_eq!(
            text,
            "rises from k = 20 kB to k = 80 kB; not told apart: 20 kB and 40 kB, 60 kB and 80 kB"
        );
    }

    #[test]
    fn chance_that_is_as_large_as_the_differences_tells_nothing_apart() {
        let k = axis(&KB, true);
        let text = settings(&k, &[4.0, 4.1, 4.2, 4.1], 0.5).text(true);
        assert!(
            text.starts_with("not told apart (") && text.contains(" at k = ") && text.contains('['),
            "{text}"
        );
    }

    #[test]
    fn what_goes_up_and_down_has_its_lowest_and_its_highest_setting() {
        let k = axis(&KB, true);
        let text = settings(&k, &[16.0, 2.0, 2.0, 8.0], 0.0).text(true);
        let expected = "lowest 2 at k = 40 kB: below 20 kB, 80 kB, not told apart from 60 kB; \
                        highest 16 at k = 20 kB: above all others";
        assert_eq!(text, expected);
    }

    #[test]
    fn a_ratio_of_fewer_seeds_than_its_settings_have_says_so() {
        let k = axis(&["20 kB", "40 kB"], true);
        let of = |values: &[f64]| (1..).zip(values.iter().copied()).collect::<Vec<(u64, f64)>>();
        let (one, other) = ([8.0, 8.0, 8.0, 1.0], [4.0; 3]);
        let found = Settings {
            axis: &k,
            values: vec![0, 1],
            estimates: vec![estimate(&one).unwrap(), estimate(&other).unwrap()],
            apart: Apart::of(&[of(&one), of(&other)]),
            lowest_first: true,
        };
        let text = found.text(true);
        assert!(text.ends_with("to 4 at k = 40 kB, 0.5× over the 3 seeds that both have"), "{text}");
    }

    #[test]
    fn names_have_no_direction() {
        let control = axis(&["dctcp", "reno"], false);
        let found = settings(&control, &[2.0, 8.0], 0.0);
        assert_eq!(found.text(true), "lower at k = dctcp than at k = reno: 2 against 8, 0.25×");
        let more_is_better = Settings { lowest_first: false, ..found };
        assert_eq!(more_is_better.text(true), "higher at k = reno than at k = dctcp: 8 against 2, 4×");
    }

    #[test]
    fn a_zero_is_shown_and_not_compared() {
        let k = axis(&KB, true);
        let mut found = settings(&k, &[16.0, 8.0, 4.0, 0.0], 0.0);
        let text = found.text(true);
        assert!(text.ends_with("; not compared, as a run has 0: 80 kB"), "{text}");
        found = settings(&k, &[16.0, 0.0, 0.0, 0.0], 0.0);
        assert_eq!(found.text(true), "not compared, as a run has 0 (0 at k = 40 kB to 16 at k = 20 kB)");
        found = settings(&k, &[0.0; 4], 0.0);
        assert_eq!(found.text(true), "not compared, as a run has 0 (0 at all 4 values of k)");
    }
}
