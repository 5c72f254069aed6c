//! Measurements of a run.

use std::collections::BTreeMap;

/// Measurements of one run.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    pub(super) quantities: BTreeMap<String, Option<f64>>,
    pub(super) series: BTreeMap<String, Vec<(f64, f64)>>,
}

impl Measured {
    /// Notes a quantity; none if there was nothing to take it of.
    pub fn quantity(&mut self, column: &str, value: impl Into<Option<f64>>) {
        self.quantities.insert(column.to_owned(), value.into().filter(|value| !value.is_nan()));
    }

    /// Takes over what another one has noted.
    pub(super) fn extend(&mut self, other: Self) {
        self.quantities.extend(other.quantities);
        self.series.extend(other.series);
    }

    /// Notes a curve, in the order of x. Of very many points those stay that a reader could see.
    pub fn series(&mut self, name: &str, points: impl IntoIterator<Item = (f64, f64)>) {
        self.series.insert(name.to_owned(), thinned(points.into_iter().collect()));
    }
}

/// Of each of some hundred groups of neighbors the lowest and the highest.
fn thinned(points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    const GROUPS: usize = 600;
    if points.len() <= 2 * GROUPS {
        return points;
    }
    let extremes = |group: &[(f64, f64)]| {
        let by_height = |a: &usize, b: &usize| group[*a].1.total_cmp(&group[*b].1);
        let low = (0..group.len()).min_by(by_height).unwrap_or(0);
        let high = (0..group.len()).max_by(by_height).unwrap_or(0);
        [group[low.min(high)], group[low.max(high)]]
    };
    let mut kept: Vec<_> = points.chunks(points.len().div_ceil(GROUPS)).flat_map(extremes).collect();
    kept.dedup();
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_curve_keeps_its_extremes_and_its_order() {
        let mut points: Vec<_> = (0..100_000).map(|x| (f64::from(x), f64::from(x % 7))).collect();
        points[50_123].1 = 1e6;
        points[70_001].1 = -1e6;
        let thin = thinned(points.clone());
        assert!(thin.len() <= 1200 && thin.contains(&points[50_123]) && thin.contains(&points[70_001]));
        assert!(thin.is_sorted_by(|a, b| a.0 < b.0));
        assert_eq!(thinned(points[..1000].to_vec()), points[..1000]);
    }

    #[test]
    fn what_is_not_a_number_was_not_measured() {
        let mut measured = Measured::default();
        measured.quantity("a", f64::NAN);
        measured.quantity("b", 1.0);
        measured.quantity("c", None);
        assert_eq!(measured.quantities.into_values().collect::<Vec<_>>(), [None, Some(1.0), None]);
    }
}
