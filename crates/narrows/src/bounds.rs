//! The least and the most that a quantity can be, by its definition. Intervals end there: [`crate::statistics::Estimate::within`].

use serde::Serialize;

/// The least and the most that a quantity can be.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Bounds {
    /// Infinite if nothing bounds it from below.
    pub least: f64,
    /// Infinite if nothing bounds it from above.
    pub most: f64,
}

impl Bounds {
    /// Of a difference: nothing bounds it.
    pub const NONE: Self = Self { least: f64::NEG_INFINITY, most: f64::INFINITY };
    /// Of a time, a rate, a size or a count.
    pub const NOT_NEGATIVE: Self = Self { least: 0.0, most: f64::INFINITY };
    /// Of a part of a whole, and of Jain's index.
    pub const FRACTION: Self = Self { least: 0.0, most: 1.0 };
    /// Of a slowdown: nothing is faster than alone on the empty network.
    pub const FROM_ONE: Self = Self { least: 1.0, most: f64::INFINITY };

    /// Of the quantity times a number.
    #[must_use]
    pub(crate) fn times(self, factor: f64) -> Self {
        // Zero times what is infinite is no number.
        let of = |bound: f64| if factor == 0.0 { 0.0 } else { bound * factor };
        let (one, other) = (of(self.least), of(self.most));
        Self { least: one.min(other), most: one.max(other) }
    }

    /// Of the quantity and a number more.
    #[must_use]
    pub(crate) fn plus(self, number: f64) -> Self {
        Self { least: self.least + number, most: self.most + number }
    }

    /// Of the larger one of the quantity and a number.
    #[must_use]
    pub(crate) fn at_least(self, number: f64) -> Self {
        Self { least: self.least.max(number), most: self.most.max(number) }
    }

    /// Of the quantity where it is sometimes replaced by a number.
    #[must_use]
    pub(crate) fn or(self, number: f64) -> Self {
        Self { least: self.least.min(number), most: self.most.max(number) }
    }

    /// Of quantities of some scale that is not known: only their sign is.
    #[must_use]
    pub(crate) fn scaled(self) -> Self {
        if self.least >= 0.0 { Self::NOT_NEGATIVE } else { Self::NONE }
    }

    /// Of a quantity divided by another.
    #[must_use]
    pub(crate) fn over(self, other: Self) -> Self {
        if other.least >= 0.0 { self.scaled() } else { Self::NONE }
    }

    /// Of a quantity less another.
    #[must_use]
    pub(crate) fn minus(self, other: Self) -> Self {
        self.and(other.times(-1.0))
    }

    /// Of the sum of two quantities.
    #[must_use]
    pub(crate) fn and(self, other: Self) -> Self {
        Self { least: self.least + other.least, most: self.most + other.most }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounds(least: f64, most: f64) -> Bounds {
        Bounds { least, most }
    }

    #[test]
    fn what_follows_from_a_bounded_quantity_is_bounded() {
        // Idle part of a link: 1 less a tenth of its Gb/s, none below 0.
        let idle = Bounds::NOT_NEGATIVE.times(-0.1).plus(1.0);
        assert_eq!(idle, bounds(f64::NEG_INFINITY, 1.0));
        assert_eq!(idle.at_least(0.0).times(100.0), bounds(0.0, 100.0));
        assert_eq!(Bounds::FRACTION.or(f64::INFINITY), Bounds::NOT_NEGATIVE);
        assert_eq!(Bounds::FRACTION.times(0.0), bounds(0.0, 0.0));
        assert_eq!(Bounds::NOT_NEGATIVE.times(0.0), bounds(0.0, 0.0));
    }

    #[test]
    fn sums_and_ratios_of_what_is_not_negative_are_not_and_differences_may_be() {
        assert_eq!(Bounds::FRACTION.and(Bounds::FROM_ONE), Bounds::FROM_ONE);
        assert_eq!(Bounds::NOT_NEGATIVE.over(Bounds::FROM_ONE), Bounds::NOT_NEGATIVE);
        assert_eq!(Bounds::NOT_NEGATIVE.minus(Bounds::NOT_NEGATIVE), Bounds::NONE);
        assert_eq!(Bounds::FRACTION.minus(Bounds::FRACTION), bounds(-1.0, 1.0));
        assert_eq!(Bounds::FRACTION.over(Bounds::NONE), Bounds::NONE);
    }
}
