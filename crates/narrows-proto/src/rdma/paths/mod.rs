//! Choice of paths at the sender, by an entropy value in each packet that switches hash (Ultra Ethernet, REPS).
//!
//! A switch hashes the value with what it hashes anyway, so that packets of one connection with different values take different ports.
//! n values, a power of two; a round has n choices.
//! ```text
//! oblivious     (i xor r) mod n, i = 0 … n − 1 in a round, r random for each round          uet-htsim, uec_mp.cpp
//!               bits above those of n: random for each connection
//! bitmap        as oblivious; a value with a penalty is skipped, n skips at most for a choice
//!               the first one that a choice skips loses 1 of its penalty
//!               mark + 1, trimmed + 4, timeout + 15; at most 15
//! reps          a ring of 8 values that came back good
//!               frozen: the values of the ring one after the other, used or not; a random one if it is empty
//!               16 choices after that: random
//!               else the oldest value that is not used, once; a random one if there is none
//!               timeout: frozen for 10 ms, then the ring is emptied; nothing if it is frozen already or explores
//! reps_legacy   the first window: each value in turn; then as reps without freezing, with a long queue in place of the ring
//! mixed         as reps_legacy after the first window, with bitmap in place of random values
//! ```
//! A packet that was trimmed in front of the last link is no fault of its path, which led to that link: it counts as one that arrived,
//! marked or not.
//!
//! An acknowledgment of several packets returns one value, so that rings fill with fewer values than packets.
//!
//! Differs from uet-htsim: the queues of `reps_legacy` and `mixed` have a bound; beyond it the oldest value gives way.

mod good;
mod outcome;
mod rounds;
mod settings;

#[cfg(test)]
mod tests;

pub use outcome::Outcome;
pub use settings::{Bitmap, Mixed, Oblivious, Paths, Reps, RepsLegacy};

use self::good::Good;
use self::rounds::{Penalties, Rounds};
use crate::split_mix::SplitMix;
use crate::units::{Span, Time};

/// The choice of a connection.
#[derive(Clone, Debug)]
pub struct PathChoice {
    random: SplitMix,
    scheme: Scheme,
}

#[derive(Clone, Debug)]
enum Scheme {
    Oblivious(Rounds),
    Bitmap(Rounds, Penalties),
    Reps(Recycling),
    Legacy { first: u32, sent: u32, mask: u16, good: Good },
    Mixed(Rounds, Penalties, Good),
}

impl PathChoice {
    /// A choice for a new connection. `seed` is another for each.
    ///
    /// # Panics
    /// If the number of values is zero.
    pub fn new(paths: &Paths, seed: u64) -> Self {
        let mut random = SplitMix::new(seed);
        let mask = u16::try_from(paths.values() - 1).unwrap_or(u16::MAX);
        let scheme = match paths {
            Paths::Oblivious(_) => Scheme::Oblivious(Rounds::new(mask, &mut random)),
            Paths::Bitmap(bitmap) => {
                Scheme::Bitmap(Rounds::new(mask, &mut random), Penalties::new(bitmap, mask))
            }
            Paths::Reps(reps) => Scheme::Reps(Recycling::new(reps, mask)),
            Paths::RepsLegacy(RepsLegacy { first, cache, .. }) => {
                Scheme::Legacy { first: *first, sent: 0, mask, good: Good::new(*cache) }
            }
            Paths::Mixed(Mixed { bitmap, cache }) => {
                let penalties = Penalties::new(bitmap, mask);
                Scheme::Mixed(Rounds::new(mask, &mut random), penalties, Good::new(*cache))
            }
        };
        Self { random, scheme }
    }

    /// The value of the next packet, a retransmission or not.
    #[inline]
    pub fn next(&mut self, now: Time) -> u16 {
        let Self { random, scheme } = self;
        match scheme {
            Scheme::Oblivious(rounds) => rounds.next(random),
            Scheme::Bitmap(rounds, penalties) => penalties.choose(rounds, random),
            Scheme::Reps(reps) => reps.next(now, random),
            Scheme::Legacy { first, sent, mask, .. } if *sent < *first => {
                *sent += 1;
                (*sent - 1) as u16 & *mask
            }
            Scheme::Legacy { mask, good, .. } => good.take().unwrap_or_else(|| any_value(*mask, random)),
            Scheme::Mixed(rounds, penalties, good) => {
                good.take().unwrap_or_else(|| penalties.choose(rounds, random))
            }
        }
    }

    /// The fate of a packet with this value became known.
    #[inline]
    pub fn feedback(&mut self, now: Time, entropy: u16, outcome: Outcome) {
        let outcome = outcome.of_path();
        let is_good = outcome == Outcome::Good;
        match &mut self.scheme {
            Scheme::Oblivious(_) => {}
            Scheme::Bitmap(_, penalties) => penalties.add(entropy, outcome),
            Scheme::Reps(reps) => reps.feedback(now, entropy, outcome),
            Scheme::Legacy { good, .. } => {
                if is_good {
                    good.put(entropy);
                }
            }
            Scheme::Mixed(_, penalties, good) => {
                penalties.add(entropy, outcome);
                if is_good {
                    good.put(entropy);
                }
            }
        }
    }
}

/// A random value.
fn any_value(mask: u16, random: &mut SplitMix) -> u16 {
    random.bits() as u16 & mask
}

/// REPS: values are used again while they come back good.
#[derive(Clone, Debug)]
struct Recycling {
    good: Good,
    mask: u16,
    freeze: Span,
    explore: u32,
    /// When the present freeze ends.
    frozen_until: Option<Time>,
    /// Random choices that are left of those after a freeze.
    exploring: u32,
}

impl Recycling {
    fn new(reps: &Reps, mask: u16) -> Self {
        let Reps { cache, freeze, explore, .. } = *reps;
        Self { good: Good::new(cache), mask, freeze, explore, frozen_until: None, exploring: 0 }
    }

    fn next(&mut self, now: Time, random: &mut SplitMix) -> u16 {
        self.thaw(now);
        let remembered = if self.frozen_until.is_some() {
            self.good.cycle()
        } else if self.exploring > 0 {
            self.exploring -= 1;
            None
        } else {
            self.good.take()
        };
        remembered.unwrap_or_else(|| any_value(self.mask, random))
    }

    fn feedback(&mut self, now: Time, entropy: u16, outcome: Outcome) {
        self.thaw(now);
        match outcome {
            Outcome::Good => self.good.put(entropy),
            Outcome::Timeout if self.exploring == 0 => {
                self.frozen_until.get_or_insert(now + self.freeze);
            }
            _ => {}
        }
    }

    /// Ends a freeze whose time is over.
    fn thaw(&mut self, now: Time) {
        if self.frozen_until.is_some_and(|until| now >= until) {
            self.frozen_until = None;
            self.good.clear();
            self.exploring = self.explore;
        }
    }
}
