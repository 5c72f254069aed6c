//! Every value once in a round, and penalties that make a choice skip values.

use super::outcome::Outcome;
use super::settings::Bitmap;
use crate::split_mix::SplitMix;

/// Rounds over all values, each in another order.
#[derive(Clone, Debug)]
pub(super) struct Rounds {
    /// i, below n.
    index: u16,
    /// r, below n.
    order: u16,
    /// n − 1.
    mask: u16,
    /// Bits above those of n.
    upper: u16,
}

impl Rounds {
    pub(super) fn new(mask: u16, random: &mut SplitMix) -> Self {
        let upper = random.bits() as u16 & !mask;
        Self { index: 0, order: random.bits() as u16 & mask, mask, upper }
    }

    /// The value whose place it is, and on to the next place.
    #[inline]
    pub(super) fn next(&mut self, random: &mut SplitMix) -> u16 {
        let value = (self.index ^ self.order) & self.mask;
        self.index = self.index.wrapping_add(1) & self.mask;
        if self.index == 0 {
            self.order = random.bits() as u16 & self.mask;
        }
        self.upper | value
    }
}

/// A penalty for each value.
#[derive(Clone, Debug)]
pub(super) struct Penalties {
    /// Of n values, by their lower bits.
    of: Box<[u8]>,
    mask: u16,
    /// For a mark, a trimmed packet and a timeout.
    marked: u8,
    trimmed: u8,
    timeout: u8,
    most: u8,
}

impl Penalties {
    pub(super) fn new(bitmap: &Bitmap, mask: u16) -> Self {
        let Bitmap { marked, trimmed, timeout, most, .. } = *bitmap;
        let of = vec![0; usize::from(mask) + 1].into_boxed_slice();
        Self { of, mask, marked, trimmed, timeout, most }
    }

    fn of(&mut self, entropy: u16) -> &mut u8 {
        &mut self.of[usize::from(entropy & self.mask)]
    }

    pub(super) fn add(&mut self, entropy: u16, outcome: Outcome) {
        let more = match outcome {
            Outcome::Good | Outcome::TrimmedAtLastHop { .. } => return,
            Outcome::Marked => self.marked,
            Outcome::Trimmed => self.trimmed,
            Outcome::Timeout => self.timeout,
        };
        let most = self.most;
        let penalty = self.of(entropy);
        *penalty = penalty.saturating_add(more).min(most);
    }

    /// The next value without a penalty, or the one after n that have some.
    #[inline]
    pub(super) fn choose(&mut self, rounds: &mut Rounds, random: &mut SplitMix) -> u16 {
        let first = rounds.next(random);
        if *self.of(first) == 0 {
            return first;
        }
        *self.of(first) -= 1;
        for _ in 0..self.mask {
            let value = rounds.next(random);
            if *self.of(value) == 0 {
                return value;
            }
        }
        rounds.next(random)
    }
}
