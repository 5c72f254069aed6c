//! Delays that differ from packet to packet.
//!
//! The draw is added to the propagation delay, so that no packet is faster than without: `delay 10ms 2ms` of `netem`, 10 ± 2 ms,
//! is a delay of 8 ms and up to 4 ms more. Where the order is kept, as it is unless said otherwise, a packet arrives no earlier than the
//! one before it: gaps become shorter, and bursts form. Where it is not, packets overtake each other if what is drawn for them differs
//! by more than their distance.

use narrows_proto::cc::{OutOfRange, Ranges};
use narrows_proto::units::Span;

use crate::random::{Purpose, Stream};

/// Delays that differ from packet to packet.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Jitter {
    /// Time added to the delay of each packet; none if left out.
    pub added: Option<Added>,
    /// Some packets come late.
    pub late: Option<Late>,
    /// Packets may overtake each other.
    #[serde(default)]
    pub reorder: bool,
}

/// A distribution of times.
#[derive(Clone, Copy, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Added {
    /// Any time up to the most, all equally likely.
    Uniform {
        /// The most.
        most: Span,
    },
    /// Normal, cut at zero.
    Normal {
        /// The mean of what is not cut.
        mean: Span,
        /// The standard deviation.
        deviation: Span,
    },
    /// Pareto: longer than x with the probability (least/x)^shape. The smaller the shape, the heavier the tail.
    Pareto {
        /// The least.
        least: Span,
        /// The shape; at 1 or below there is no mean.
        shape: f64,
    },
}

/// Packets that come late.
#[derive(Clone, Copy, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Late {
    /// The probability that a packet does.
    pub probability: f64,
    /// The time by which it comes late.
    pub by: Span,
}

/// Nothing is held up for longer.
const MOST: Span = Span::from_secs(60);

impl Jitter {
    /// A time that it seldom exceeds.
    pub(super) fn mostly(&self) -> Span {
        let added = match self.added {
            None => Span::ZERO,
            Some(Added::Uniform { most }) => most,
            Some(Added::Normal { mean, deviation }) => mean + deviation.saturating_mul(4),
            Some(Added::Pareto { least, .. }) => least.saturating_mul(100),
        };
        added.min(MOST) + self.late.map_or(Span::ZERO, |late| late.by)
    }

    /// Whether its settings are in their ranges, which it declares.
    ///
    /// # Errors
    /// The first that is not.
    pub fn check(&self, ranges: &mut Ranges) -> Result<(), OutOfRange> {
        let fits = |span: Span| span <= MOST;
        match self.added {
            None => {}
            Some(Added::Uniform { most }) => {
                ranges.unless(fits(most), "added.uniform.most", most, "at most 60 s")?;
            }
            Some(Added::Normal { mean, deviation }) => {
                ranges.unless(fits(mean), "added.normal.mean", mean, "at most 60 s")?;
                ranges.unless(fits(deviation), "added.normal.deviation", deviation, "at most 60 s")?;
            }
            Some(Added::Pareto { least, shape }) => {
                ranges.unless(fits(least), "added.pareto.least", least, "at most 60 s")?;
                let sensible = shape > 0.0 && shape <= 1000.0;
                ranges.unless(sensible, "added.pareto.shape", shape, "above 0, at most 1000")?;
            }
        }
        if let Some(Late { probability, by }) = self.late {
            let sensible = probability > 0.0 && probability <= 1.0;
            ranges.unless(sensible, "late.probability", probability, "above 0, at most 1")?;
            ranges.unless(fits(by), "late.by", by, "at most 60 s")?;
        }
        Ok(())
    }
}

/// Draws what is added to delays.
#[derive(Debug)]
pub(super) struct Jitters {
    added: Option<(Added, Stream)>,
    late: Option<(Late, Stream)>,
    pub(super) reorders: bool,
}

impl Jitters {
    pub(super) fn new(jitter: &Jitter, seed: u64, link: u64) -> Self {
        let stream = |purpose| Stream::new(seed, purpose, link);
        Self {
            added: jitter.added.map(|added| (added, stream(Purpose::Jitter))),
            late: jitter.late.map(|late| (late, stream(Purpose::Late))),
            reorders: jitter.reorder,
        }
    }

    /// Addition to the delay of the next packet.
    pub(super) fn draw(&mut self) -> Span {
        let added = self.added.as_mut().map_or(Span::ZERO, |(added, random)| added.draw(random).min(MOST));
        let Some((late, random)) = &mut self.late else { return added };
        if random.uniform() < late.probability { added + late.by } else { added }
    }
}

impl Added {
    fn draw(self, random: &mut Stream) -> Span {
        let times = |span: Span, factor: f64| Span::from_secs_f64(span.as_secs_f64() * factor);
        match self {
            Self::Uniform { most } => Span::from_ps(random.below(most.as_ps().saturating_add(1))),
            Self::Normal { mean, deviation } => {
                // Box and Muller 1958.
                let radius = libm::sqrt(-2.0 * libm::log(1.0 - random.uniform()));
                let normal = radius * libm::cos(std::f64::consts::TAU * random.uniform());
                let seconds = mean.as_secs_f64() + normal * deviation.as_secs_f64();
                Span::from_secs_f64(seconds.max(0.0))
            }
            Self::Pareto { least, shape } => times(least, libm::pow(1.0 - random.uniform(), -1.0 / shape)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRAWS: u32 = 100_000;

    fn ms(ms: u64) -> Span {
        Span::from_ms(ms)
    }

    /// Draws, shortest first, in milliseconds.
    fn drawn(jitter: &Jitter) -> Vec<f64> {
        let mut jitters = Jitters::new(jitter, 1, 0);
        let mut drawn: Vec<_> = (0..DRAWS).map(|_| jitters.draw().as_secs_f64() * 1e3).collect();
        drawn.sort_by(f64::total_cmp);
        drawn
    }

    fn added(added: Added) -> Jitter {
        Jitter { added: Some(added), late: None, reorder: false }
    }

    #[test]
    fn times_have_the_quantiles_of_their_distribution() {
        // Quantiles of 10⁵ draws: five deviations of a share of 0.1 are 0.005, that of a share of 0.9 as well.
        let close = |drawn: &[f64], expected: [(f64, f64); 3]| {
            for (share, expected) in expected {
                let at = |share: f64| drawn[(share * f64::from(DRAWS)) as usize];
                assert!(
                    (at(share - 0.005)..=at(share + 0.005)).contains(&expected),
                    "{share}: {}",
                    at(share)
                );
            }
        };
        let uniform = drawn(&added(Added::Uniform { most: ms(8) }));
        close(&uniform, [(0.1, 0.8), (0.5, 4.0), (0.9, 7.2)]);
        assert!(uniform.last().is_some_and(|last| *last <= 8.0));
        let normal = drawn(&added(Added::Normal { mean: ms(10), deviation: ms(2) }));
        // Φ(−1.2816) = 0.1.
        close(&normal, [(0.1, 7.437), (0.5, 10.0), (0.9, 12.563)]);
        let pareto = drawn(&added(Added::Pareto { least: ms(1), shape: 2.0 }));
        // (1 − F) = (1/x)²: 1/√0.9, √2, √10.
        close(&pareto, [(0.1, 1.0 / 0.9_f64.sqrt()), (0.5, 2.0_f64.sqrt()), (0.9, 10.0_f64.sqrt())]);
        assert!(pareto[0] >= 1.0);
    }

    #[test]
    fn what_is_normal_is_cut_at_zero_and_what_is_heavy_at_a_minute() {
        let normal = drawn(&added(Added::Normal { mean: Span::ZERO, deviation: ms(2) }));
        let zeros = normal.iter().filter(|drawn| **drawn == 0.0).count();
        assert!(
            (f64::from(DRAWS) / 2.0 - zeros as f64).abs() < 5.0 * 0.5 * f64::from(DRAWS).sqrt(),
            "{zeros}"
        );
        let pareto = drawn(&added(Added::Pareto { least: ms(1), shape: 0.1 }));
        assert_eq!(pareto.last(), Some(&60_000.0));
    }

    #[test]
    fn some_packets_come_late() {
        let jitter =
            Jitter { added: None, late: Some(Late { probability: 0.02, by: ms(30) }), reorder: true };
        let drawn = drawn(&jitter);
        let late = drawn.iter().filter(|drawn| **drawn == 30.0).count() as f64;
        assert_eq!(drawn.iter().filter(|drawn| **drawn == 0.0).count() + late as usize, DRAWS as usize);
        // Five deviations.
        assert!((late - 2_000.0).abs() < 5.0 * 44.3, "{late}");
    }
}
