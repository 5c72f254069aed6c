//! Time until values pass a level and stay beyond it for a while.

use narrows_proto::units::Span;

/// The first of so many intervals in a row that are below a level, or above it.
#[derive(Debug)]
pub(super) struct Until {
    /// The quantity that is the level.
    pub(super) level: String,
    pub(super) below: bool,
    pub(super) in_a_row: usize,
    /// Length of an interval.
    pub(super) length: Span,
}

impl Until {
    /// Picoseconds from the beginning of the first interval on; none if it never is so.
    pub(super) fn of(&self, intervals: &[f64], level: f64) -> Option<f64> {
        let beyond = |value: &f64| if self.below { *value < level } else { *value > level };
        let first = intervals.windows(self.in_a_row).position(|row| row.iter().all(beyond))?;
        Some(first as f64 * self.length.as_ps() as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_to_stay_beyond_the_level() {
        let until = |below, in_a_row| Until { level: "l".into(), below, in_a_row, length: Span::from_ns(2) };
        let values = [5.0, 2.0, 4.0, 3.0, 3.0, 9.0];
        assert_eq!(until(true, 1).of(&values, 4.0), Some(2_000.0));
        assert_eq!(until(true, 2).of(&values, 4.0), Some(6_000.0));
        assert_eq!(until(true, 3).of(&values, 4.0), None);
        assert_eq!(until(false, 1).of(&values, 5.0), Some(10_000.0));
        assert_eq!(until(false, 7).of(&values, 0.0), None);
    }
}
