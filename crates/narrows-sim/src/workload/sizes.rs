use narrows_proto::units::Bytes;

use crate::random::Stream;

/// A distribution of flow sizes: constant, some sizes that are equally likely, or given by points of its cumulative distribution
/// with straight lines between.
#[derive(Clone, Debug, PartialEq)]
pub struct Sizes {
    /// (bytes, probability of at most that many), both non-decreasing, from probability 0 to 1.
    points: Vec<(f64, f64)>,
}

/// Why points are no distribution.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SizesError {
    /// There is nothing to draw.
    #[error("a distribution needs at least one point")]
    Empty,
    /// A size or probability is smaller than the one before it.
    #[error("{what} falls from {before} to {after}")]
    Falling {
        /// "size" or "probability".
        what: &'static str,
        /// Index of the point at which it falls.
        point: usize,
        /// Value before.
        before: f64,
        /// Smaller value after.
        after: f64,
    },
    /// The last probability is not 1.
    #[error("the last probability is {last}, expected 1")]
    Incomplete {
        /// The last probability.
        last: f64,
    },
    /// Not a finite number at or above zero.
    #[error("{value} is not a size or probability")]
    NotANumber {
        /// Index of the point.
        point: usize,
        /// The value.
        value: f64,
    },
    /// Every flow would be empty.
    #[error("the mean size is below one byte")]
    NoBytes,
}

impl Sizes {
    /// Always `size`.
    pub fn constant(size: Bytes) -> Self {
        Self { points: vec![(size.as_f64(), 0.0), (size.as_f64(), 1.0)] }
    }

    /// The distribution through these points of (bytes, cumulative probability). What lies below the first point is
    /// drawn as its size.
    ///
    /// # Errors
    /// If the points are not a distribution.
    pub fn from_points(points: &[(f64, f64)]) -> Result<Self, SizesError> {
        let Some(&(smallest, first)) = points.first() else { return Err(SizesError::Empty) };
        for (point, &(size, probability)) in points.iter().enumerate() {
            for value in [size, probability] {
                if !value.is_finite() || value < 0.0 {
                    return Err(SizesError::NotANumber { point, value });
                }
            }
        }
        for (point, pair) in (1..).zip(points.windows(2)) {
            for (what, before, after) in
                [("size", pair[0].0, pair[1].0), ("probability", pair[0].1, pair[1].1)]
            {
                if after < before {
                    return Err(SizesError::Falling { what, point, before, after });
                }
            }
        }
        let last = points[points.len() - 1].1;
        if last != 1.0 {
            return Err(SizesError::Incomplete { last });
        }
        let floor = (first > 0.0).then_some((smallest, 0.0));
        let sizes = Self { points: floor.into_iter().chain(points.iter().copied()).collect() };
        if sizes.mean() < 1.0 { Err(SizesError::NoBytes) } else { Ok(sizes) }
    }

    /// One of these sizes, each as likely as the others; one that stands there twice is twice as likely.
    ///
    /// # Errors
    /// If there are none.
    pub fn empirical(mut values: Vec<Bytes>) -> Result<Self, SizesError> {
        values.sort_unstable();
        let all = values.len() as f64;
        let (mut points, mut below) = (Vec::new(), 0);
        for same in values.chunk_by(|one, other| one == other) {
            let size = same[0].as_f64();
            points.push((size, below as f64 / all));
            below += same.len();
            points.push((size, below as f64 / all));
        }
        Self::from_points(&points)
    }

    /// Draws a size of at least one byte.
    pub fn draw(&self, random: &mut Stream) -> Bytes {
        self.quantile(random.uniform())
    }

    /// The size that a fraction `probability` of flows do not exceed, rounded to bytes, at least one.
    pub fn quantile(&self, probability: f64) -> Bytes {
        let above = self.points.partition_point(|point| point.1 <= probability).min(self.points.len() - 1);
        let (size_above, p_above) = self.points[above];
        let (size_below, p_below) = self.points[above.saturating_sub(1)];
        let share = if p_above > p_below { (probability - p_below) / (p_above - p_below) } else { 1.0 };
        // Rounding may lead beyond the point above.
        let size = (size_below + share * (size_above - size_below)).min(size_above);
        Bytes::from_f64(size + 0.5).max(Bytes::new(1))
    }

    /// Mean in bytes.
    pub fn mean(&self) -> f64 {
        self.points.windows(2).map(|pair| (pair[1].1 - pair[0].1) * (pair[0].0 + pair[1].0) / 2.0).sum()
    }

    /// Mean of the squares of sizes in bytes.
    pub fn mean_square(&self) -> f64 {
        let of_line = |(a, b): (f64, f64)| (a * a + a * b + b * b) / 3.0;
        self.points.windows(2).map(|pair| (pair[1].1 - pair[0].1) * of_line((pair[0].0, pair[1].0))).sum()
    }

    /// Mean in bytes if flows had the sizes of the points only: each the probability between its point and the one before.
    pub fn step_mean(&self) -> f64 {
        self.points.windows(2).map(|pair| (pair[1].1 - pair[0].1) * pair[1].0).sum()
    }

    /// The largest size.
    pub fn largest(&self) -> Bytes {
        Bytes::from_f64(self.points[self.points.len() - 1].0 + 0.5)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::random::Purpose;

    fn sizes() -> Sizes {
        Sizes::from_points(&[(0.0, 0.0), (1000.0, 0.5), (9000.0, 1.0)]).expect("a distribution")
    }

    #[test]
    fn sizes_lie_on_straight_lines_between_the_points() {
        let quantiles = [0.25, 0.5, 0.75, 1.0].map(|p| sizes().quantile(p).get());
        assert_eq!(quantiles, [500, 1000, 5000, 9000]);
        assert_eq!(sizes().mean(), 0.5 * 500.0 + 0.5 * 5000.0);
    }

    #[test]
    fn the_mean_square_is_that_of_uniform_stretches() {
        // Of uniform sizes up to a it is a²/3; here a half from 0 to 1000 and a half from 1000 to 9000.
        assert_eq!(sizes().mean_square(), 0.5 * 1e6 / 3.0 + 0.5 * (1e6 + 9e6 + 81e6) / 3.0);
    }

    #[test]
    fn the_mass_below_the_first_point_has_its_size() {
        let sizes = Sizes::from_points(&[(100.0, 0.4), (200.0, 1.0)]).expect("a distribution");
        assert_eq!(sizes.quantile(0.2), Bytes::new(100));
        assert_eq!(sizes.mean(), 0.4 * 100.0 + 0.6 * 150.0);
    }

    #[test]
    fn drawn_sizes_have_the_mean_of_the_distribution() {
        let mut random = Stream::new(1, Purpose::Workload, 0);
        let sum: u64 = (0..100_000).map(|_| sizes().draw(&mut random).get()).sum();
        // ±1.5 %: three standard deviations of the mean, whose relative deviation is 1.0/√10^5 · 2775/2750.
        assert!((sum as f64 / 100_000.0 / sizes().mean() - 1.0).abs() < 0.015, "{sum}");
    }

    #[test]
    fn sizes_of_a_list_are_drawn_as_they_are_and_keep_their_mean() {
        let values = [900, 5, 5, 1_000_003].map(Bytes::new);
        let sizes = Sizes::empirical(values.to_vec()).expect("a distribution");
        assert_eq!(sizes.mean(), (900.0 + 5.0 + 5.0 + 1_000_003.0) / 4.0);
        assert_eq!(sizes.step_mean(), sizes.mean());
        let quantiles = [0.0, 0.499, 0.5, 0.7, 0.75, 0.999].map(|p| sizes.quantile(p).get());
        assert_eq!(quantiles, [5, 5, 900, 900, 1_000_003, 1_000_003]);
        assert_eq!(Sizes::empirical(Vec::new()), Err(SizesError::Empty));
    }

    #[test]
    fn with_steps_the_mass_between_two_points_has_the_size_of_the_upper_one() {
        assert_eq!(sizes().step_mean(), 0.5 * 1000.0 + 0.5 * 9000.0);
    }

    #[test]
    fn rounding_leads_to_no_size_above_the_largest() {
        let largest = 31_622_805_462_280_548.0;
        for below in 1..1000 {
            let points = [(571_346_838_675_169.0 + f64::from(below), 0.811), (largest, 1.0)];
            let sizes = Sizes::from_points(&[&[(0.0, 0.0)], &points[..]].concat()).expect("a distribution");
            assert!(sizes.quantile(1.0) <= sizes.largest(), "{below}");
        }
    }

    #[test]
    fn points_that_are_no_distribution_are_refused() {
        let error = |points: &[(f64, f64)]| Sizes::from_points(points).expect_err("refused").to_string();
        assert_eq!(error(&[]), "a distribution needs at least one point");
        assert_eq!(error(&[(0.0, 0.0), (5.0, 0.9)]), "the last probability is 0.9, expected 1");
        assert_eq!(error(&[(9.0, 0.0), (5.0, 1.0)]), "size falls from 9 to 5");
        assert_eq!(error(&[(1.0, 0.5), (5.0, 0.2), (6.0, 1.0)]), "probability falls from 0.5 to 0.2");
        assert_eq!(error(&[(-1.0, 0.0), (5.0, 1.0)]), "-1 is not a size or probability");
        assert_eq!(error(&[(0.0, 0.0), (1.0, 1.0)]), "the mean size is below one byte");
    }

    proptest! {
        #[test]
        fn every_size_lies_within_the_distribution(p in 0.0..1.0_f64) {
            let size = sizes().quantile(p).get();
            prop_assert!((1..=9000).contains(&size));
        }
    }
}
