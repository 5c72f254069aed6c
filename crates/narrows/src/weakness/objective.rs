//! Weaknesses that a search looks for, and how bad a run is.

use std::ops::RangeInclusive;

use super::measured::Measured;
use crate::diagnostic::{Checked, Code, Diagnostic};
use crate::statistics::jain;

/// A weakness that a search looks for. Each is a number from 0, which a control that knows the path beforehand reaches, to 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Objective {
    /// 1 − goodput / equal share of what bursts and losses leave.
    Starve,
    /// Mean of q/(q + rtt): the part of a round trip that a packet waits in the queue.
    Fill,
    /// Payload retransmitted / payload sent.
    Lose,
    /// (1 − J)/(1 − 1/n) of n connections under the control, J Jain's index of their goodput.
    Unfair,
}

/// Badness and scores in millionths, as sums and comparisons of them are exact.
pub(super) const ONE: u32 = 1_000_000;
/// A reference counts only if its goodput is this part of that of the control under test, or of the share: who sends nothing fills no queue.
const DELIVERS: f64 = 0.8;

impl Objective {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Starve, Self::Fill, Self::Lose, Self::Unfair];

    /// # Errors
    /// If there is none of this name.
    pub fn find(name: &str) -> Checked<Self> {
        let found = Self::ALL.into_iter().find(|objective| objective.name() == name);
        found.ok_or_else(|| {
            let error = Diagnostic::error(Code::UnknownName, format!("unknown objective \"{name}\""));
            error.known(name, Self::ALL.map(Self::name)).into()
        })
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Starve => "starve",
            Self::Fill => "fill",
            Self::Lose => "lose",
            Self::Unfair => "unfair",
        }
    }

    /// The weakness, in a few words.
    pub const fn summary(self) -> &'static str {
        match self {
            Self::Starve => "it gets less than its share",
            Self::Fill => "it keeps the queue full",
            Self::Lose => "it loses what it sends",
            Self::Unfair => "its own connections get unequal shares",
        }
    }

    /// The meaning of its badness.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Starve => "1 − goodput / share",
            Self::Fill => "part of a round trip spent in the queue",
            Self::Lose => "part of what is sent that is a retransmission",
            Self::Unfair => "(1 − J)/(1 − 1/n), J Jain's index of n connections",
        }
    }

    /// Connections under test.
    pub(super) fn flows(self) -> RangeInclusive<usize> {
        if self == Self::Unfair { 2..=4 } else { 1..=1 }
    }

    /// It is about the queue over time.
    pub(super) fn needs_queue(self) -> bool {
        self == Self::Fill
    }

    /// Badness of a run on a path of this [share](super::path::Path::share), in millionths.
    pub(super) fn badness(self, share: f64, run: &Measured) -> u32 {
        let badness = match self {
            Self::Starve => 1.0 - run.mean_goodput() / share.max(1.0),
            Self::Fill => run.waiting,
            Self::Lose => run.retransmitted,
            Self::Unfair => {
                let flows = run.goodputs.len() as f64;
                (1.0 - jain(&run.goodputs).unwrap_or(1.0)) / (1.0 - 1.0 / flows)
            }
        };
        (badness.clamp(0.0, 1.0) * f64::from(ONE)).round() as u32
    }
}

/// Whether a reference delivers enough in the place of the control under test to be compared with it.
pub(super) fn delivers(share: f64, tested: &Measured, reference: &Measured) -> bool {
    reference.mean_goodput() >= DELIVERS * tested.mean_goodput().min(share)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHARE: f64 = 9e6;

    fn run(goodputs: &[f64]) -> Measured {
        Measured { goodputs: goodputs.to_vec(), retransmitted: 0.25, waiting: 0.5 }
    }

    #[test]
    fn who_gets_its_share_does_not_starve_and_who_gets_nothing_does() {
        let of = |goodput| Objective::Starve.badness(SHARE, &run(&[goodput]));
        assert_eq!([of(SHARE), of(SHARE / 4.0), of(0.0), of(1e9)], [0, 750_000, ONE, 0]);
    }

    #[test]
    fn one_who_has_all_is_as_unfair_as_can_be() {
        let of = |goodputs: &[f64]| Objective::Unfair.badness(SHARE, &run(goodputs));
        assert_eq!([of(&[3.0, 3.0, 3.0]), of(&[5.0, 0.0]), of(&[0.0; 2])], [0, ONE, 0]);
    }

    #[test]
    fn queues_and_losses_are_taken_as_they_are() {
        assert_eq!(Objective::Fill.badness(SHARE, &run(&[1.0])), 500_000);
        assert_eq!(Objective::Lose.badness(SHARE, &run(&[1.0])), 250_000);
    }

    #[test]
    fn a_reference_that_sends_little_is_not_compared() {
        let tested = run(&[5e6]);
        assert!(delivers(SHARE, &tested, &run(&[4.1e6])) && !delivers(SHARE, &tested, &run(&[3.9e6])));
        // More than the share is not asked of it.
        assert!(delivers(SHARE, &run(&[1e9]), &run(&[0.81 * SHARE])));
    }

    #[test]
    fn an_unknown_objective_is_refused_with_the_nearest() {
        let refused = Objective::find("starv").unwrap_err().to_string();
        assert_eq!(
            refused,
            "unknown objective \"starv\"\n  did you mean \"starve\"? known: starve, fill, lose, unfair"
        );
    }
}
