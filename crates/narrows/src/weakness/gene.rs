//! Genes: whole numbers in a range, drawn and varied on a logarithmic scale, with two digits.

use libm::{exp, log};
use narrows_proto::cc::parts::SplitMix;

/// A number that a path has, from the least to the most it may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Gene {
    pub(super) least: u32,
    pub(super) most: u32,
}

/// Round-trip times without queues, milliseconds.
pub(super) const RTT: Gene = Gene::new(10, 200);
/// Packets of 100 000 that are lost at random.
pub(super) const LOSS: Gene = Gene::new(10, 5_000);

/// One step of a variation changes a number by up to this factor.
const FACTOR: f64 = 3.0;
/// Digits of a number that is drawn or varied.
const DIGITS: u32 = 2;

impl Gene {
    pub(super) const fn new(least: u32, most: u32) -> Self {
        Self { least, most }
    }

    /// A number of the range; each part of its logarithmic scale is equally likely.
    pub(super) fn draw(self, random: &mut SplitMix) -> u32 {
        let (least, most) = (log(f64::from(self.least)), log(f64::from(self.most)));
        self.kept(exp(least + random.uniform() * (most - least)))
    }

    /// A number near this one.
    pub(super) fn vary(self, value: u32, random: &mut SplitMix) -> u32 {
        let exponent = 2.0 * random.uniform() - 1.0;
        self.kept(f64::from(value) * exp(exponent * log(FACTOR)))
    }

    /// The number of the range that is nearest to this one.
    pub(super) fn clamp(self, value: u32) -> u32 {
        value.clamp(self.least, self.most)
    }

    fn kept(self, value: f64) -> u32 {
        self.clamp(rounded(value as u32, DIGITS))
    }
}

/// The number with so many digits, rounded to the nearest.
pub(super) fn rounded(value: u32, digits: u32) -> u32 {
    let unit = 10_u32.pow(value.checked_ilog10().map_or(0, |last| (last + 1).saturating_sub(digits)));
    (value + unit / 2) / unit * unit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_rounded_to_their_first_digits() {
        assert_eq!([7, 74, 749, 7_499, 7_500].map(|value| rounded(value, 1)), [7, 70, 700, 7_000, 8_000]);
        assert_eq!([0, 9, 99, 995, 12_345].map(|value| rounded(value, 2)), [0, 9, 99, 1_000, 12_000]);
    }

    #[test]
    fn what_is_drawn_and_varied_stays_in_the_range_and_reaches_both_ends_of_it() {
        let (gene, mut random) = (Gene::new(10, 2_000), SplitMix::new(1));
        let drawn: Vec<_> = (0..1_000).map(|_| gene.draw(&mut random)).collect();
        let varied: Vec<_> = drawn.iter().map(|value| gene.vary(*value, &mut random)).collect();
        for values in [drawn, varied] {
            assert!(values.iter().all(|value| (10..=2_000).contains(value)));
            assert!(values.iter().any(|value| *value < 12) && values.iter().any(|value| *value > 1_700));
        }
    }
}
