//! Values of which percentiles and means are taken, and how many are missing.

use crate::statistics;

/// Times of flows or calls that have ended, the least first.
pub(crate) struct Sample {
    values: Vec<f64>,
    /// Number of those that have not ended, whose times are not known.
    missing: usize,
    /// The sum of their times would be no less.
    missing_sum: f64,
}

/// The time of a flow or call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Lasted {
    /// It has ended.
    Exactly(f64),
    /// It has not: what it has taken so far.
    AtLeast(f64),
}

/// Values beyond a percentile below which it is one of few. Of ten, the fraction that lies beyond is known to about a third: a value
/// printed as p99 is one between p98.2 and p99.5 (Poisson's 95 % interval of a count of ten is 4.8 to 18.4).
const BEYOND: f64 = 10.0;
/// A percentile that could be larger by more than this is said to be uncertain, and so is a mean that would be.
const RISE: f64 = 0.05;

/// Why a percentile or a mean is less certain than its digits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Doubt {
    pub(super) of: usize,
    pub(super) needs: Option<usize>,
    pub(super) missing: usize,
    pub(super) could_be: Option<f64>,
}

impl Sample {
    /// Of all that should have ended.
    pub(crate) fn of(all: impl Iterator<Item = Lasted>) -> Self {
        let mut sample = Self { values: Vec::new(), missing: 0, missing_sum: 0.0 };
        for time in all {
            match time {
                Lasted::Exactly(value) => sample.values.push(value),
                Lasted::AtLeast(so_far) => {
                    sample.missing += 1;
                    sample.missing_sum += so_far;
                }
            }
        }
        sample.values.sort_by(f64::total_cmp);
        sample
    }

    pub(crate) fn len(&self) -> usize {
        self.values.len()
    }

    pub(crate) fn percentile(&self, p: f64) -> Option<f64> {
        statistics::percentile(&self.values, p)
    }

    pub(super) fn mean(&self) -> Option<f64> {
        statistics::mean(&self.values)
    }

    /// Doubts about the mean, if there are any. Nothing bounds what it could be, but it would be no less than with the times that those
    /// which are missing have taken so far.
    pub(super) fn doubt_of_mean(&self) -> Option<Doubt> {
        let (mean, of, missing) = (self.mean()?, self.values.len(), self.missing);
        let least = (mean * of as f64 + self.missing_sum) / (of + missing) as f64;
        let found = Doubt { of, needs: None, missing, could_be: Some(least) };
        (least > mean * (1.0 + RISE)).then_some(found)
    }

    /// Doubts about a percentile, if there are any. What is missing counts as larger than everything there is: then the percentile is the
    /// largest that it could be.
    pub(crate) fn doubt(&self, p: f64) -> Option<Doubt> {
        let (value, of) = (self.percentile(p)?, self.values.len());
        let needs = (BEYOND / (1.0 - p)).round() as usize;
        let rank = (p * (of + self.missing) as f64).ceil() as usize;
        let highest = self.values.get(rank.max(1) - 1).copied().unwrap_or(f64::INFINITY);
        let found = Doubt {
            of,
            needs: (of < needs).then_some(needs),
            missing: self.missing,
            could_be: (highest > value * (1.0 + RISE)).then_some(highest),
        };
        (found.needs.is_some() || found.could_be.is_some()).then_some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values from 1 to `ended`, and so many that have not ended.
    fn sample(ended: usize, missing: usize) -> Sample {
        let ended = (1..=ended).map(|value| Lasted::Exactly(value as f64));
        Sample::of(ended.chain(std::iter::repeat_n(Lasted::AtLeast(0.0), missing)))
    }

    #[test]
    fn a_percentile_without_one_that_is_missing_and_of_many_values_is_not_in_doubt() {
        assert_eq!(sample(1000, 0).doubt(0.99), None);
        assert_eq!(sample(1000, 0).percentile(0.99), Some(990.0));
    }

    #[test]
    fn a_percentile_needs_ten_values_beyond_it() {
        let needs = |of, p| sample(of, 0).doubt(p).map(|doubt| doubt.needs.unwrap());
        assert_eq!([0.5, 0.95, 0.99, 0.999].map(|p| needs(19, p)), [20, 200, 1000, 10_000].map(Some));
        assert_eq!(
            [(20, 0.5), (200, 0.95), (1000, 0.99), (10_000, 0.999)].map(|(of, p)| needs(of, p)),
            [None; 4]
        );
    }

    #[test]
    fn as_many_unfinished_as_lie_beyond_a_percentile_make_it_unbounded() {
        // Of 2020 the 99th percentile is the 2000th, of 2021 the 2001st.
        assert_eq!(sample(2000, 20).doubt(0.99), None, "the largest is 1 % above the printed one");
        assert_eq!(sample(2000, 21).doubt(0.99).unwrap().could_be, Some(f64::INFINITY));
    }

    #[test]
    fn what_the_unfinished_could_make_of_a_percentile_is_said_if_it_is_more_than_five_percent() {
        let steep = |missing| {
            let values = (1..=2000).map(|value| Lasted::Exactly(if value > 1985 { 50.0 } else { 1.0 }));
            Sample::of(values.chain(std::iter::repeat_n(Lasted::AtLeast(0.0), missing))).doubt(0.99)
        };
        assert_eq!(steep(5), None);
        assert_eq!(steep(6).unwrap().could_be, Some(50.0));
        assert_eq!(sample(2000, 6).doubt(0.99), None, "1986 instead of 1980");
    }

    #[test]
    fn a_mean_is_in_doubt_if_what_the_unfinished_have_taken_already_raises_it() {
        let mean = |so_far: f64| {
            let ended = std::iter::repeat_n(Lasted::Exactly(1.0), 90);
            Sample::of(ended.chain(std::iter::repeat_n(Lasted::AtLeast(so_far), 10)))
        };
        assert_eq!(mean(1.4).doubt_of_mean(), None, "1.04 at least");
        let doubt = mean(3.0).doubt_of_mean().unwrap();
        assert_eq!((doubt.of, doubt.missing, doubt.needs), (90, 10, None));
        assert!((doubt.could_be.unwrap() - 1.2).abs() < 1e-12);
        assert_eq!(mean(3.0).mean(), Some(1.0));
    }

    #[test]
    fn of_nothing_there_is_nothing_to_doubt() {
        assert_eq!(sample(0, 7).doubt(0.99), None);
        assert_eq!(sample(0, 7).doubt_of_mean(), None);
    }
}
