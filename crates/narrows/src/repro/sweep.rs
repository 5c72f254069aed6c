//! Reduction of a quantity over the points of a sweep, seed by seed.

use crate::bounds::Bounds;

/// Something about a quantity over the points of a sweep.
#[derive(Clone, Debug)]
pub struct Sweep {
    /// `group.row.column`, a name like that of any quantity.
    pub name: String,
    /// At each x a quantity.
    pub points: Vec<(f64, String)>,
    /// Reduction of its values.
    pub reduce: OverSweep,
}

/// Reduction of the values of a sweep.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum OverSweep {
    /// The part of all pairs of points of which the one with the larger x has the larger value: 1 if it rises throughout, 0 if
    /// it falls.
    Ordering,
    /// The smallest x at which this part of the largest value is reached.
    Knee(f64),
    /// The rank of the value at this place: 1 if no other is smaller.
    Rank(usize),
}

impl Sweep {
    /// The least and the most that it can be.
    pub(super) fn bounds(&self) -> Bounds {
        let places = self.points.iter().map(|(x, _)| *x);
        let (least, most) = match self.reduce {
            OverSweep::Ordering => (0.0, 1.0),
            OverSweep::Knee(_) => {
                (places.clone().fold(f64::INFINITY, f64::min), places.fold(f64::NEG_INFINITY, f64::max))
            }
            OverSweep::Rank(_) => (1.0, self.points.len() as f64),
        };
        Bounds { least, most }
    }
}

impl OverSweep {
    /// None of fewer than two points.
    pub(super) fn of(self, points: &[(f64, f64)]) -> Option<f64> {
        if points.len() < 2 {
            return None;
        }
        match self {
            Self::Ordering => {
                let mut points = points.to_vec();
                points.sort_by(|a, b| a.0.total_cmp(&b.0));
                let rising = |number: usize| {
                    points[number + 1..].iter().filter(|later| later.1 > points[number].1).count()
                };
                let rising: usize = (0..points.len()).map(rising).sum();
                let all = points.len() * (points.len() - 1) / 2;
                Some(rising as f64 / all as f64)
            }
            Self::Knee(part) => {
                let most = points.iter().map(|point| point.1).fold(f64::NEG_INFINITY, f64::max);
                let reached = points.iter().filter(|point| point.1 >= part * most);
                reached.map(|point| point.0).reduce(f64::min)
            }
            Self::Rank(place) => {
                let own = points.get(place)?.1;
                Some(1.0 + points.iter().filter(|point| point.1 < own).count() as f64)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_a_sweep_is_the_part_of_pairs_that_rise() {
        let of = |values: &[f64]| {
            let points: Vec<_> = values.iter().enumerate().map(|(x, y)| (x as f64, *y)).collect();
            OverSweep::Ordering.of(&points)
        };
        assert_eq!(
            [of(&[1.0, 2.0, 3.0]), of(&[3.0, 2.0, 1.0]), of(&[1.0, 3.0, 2.0])],
            [1.0, 0.0, 2.0 / 3.0].map(Some)
        );
        assert_eq!(of(&[1.0]), None);
    }

    #[test]
    fn a_reduction_is_bounded_by_the_points_that_it_is_of() {
        let points: Vec<_> = [40.0, 5.0, 80.0].map(|x| (x, format!("a.k{x}.queue"))).into();
        let of = |reduce| Sweep { name: "a.b.c".into(), points: points.clone(), reduce }.bounds();
        assert_eq!(of(OverSweep::Ordering), Bounds::FRACTION);
        assert_eq!(of(OverSweep::Knee(0.9)), Bounds { least: 5.0, most: 80.0 });
        assert_eq!(of(OverSweep::Rank(0)), Bounds { least: 1.0, most: 3.0 });
    }

    #[test]
    fn the_smallest_value_has_rank_one_and_equal_values_share_theirs() {
        let points = [(0.0, 4.0), (1.0, 2.0), (2.0, 4.0), (3.0, 9.0)];
        assert_eq!(
            [0, 1, 2, 3].map(|place| OverSweep::Rank(place).of(&points)),
            [2.0, 1.0, 2.0, 4.0].map(Some)
        );
        assert_eq!(OverSweep::Rank(4).of(&points), None);
    }

    #[test]
    fn the_knee_is_where_enough_is_reached_first() {
        let points = [(40.0, 0.99), (5.0, 0.5), (20.0, 0.96), (80.0, 1.0)];
        assert_eq!(
            [0.95, 0.5, 1.0].map(|part| OverSweep::Knee(part).of(&points)),
            [20.0, 5.0, 80.0].map(Some)
        );
    }
}
