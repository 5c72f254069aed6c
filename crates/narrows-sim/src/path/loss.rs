//! Losses in bursts: the model of Gilbert and Elliott.
//!
//! A link is in a good or a bad state. A packet is lost with the probability of the state it finds; whether it leaves the link in the
//! other state is drawn as well (`netem`, `loss gemodel`):
//! ```text
//! p       good to bad           1 − k   loss in the good state
//! r       bad to good           1 − h   loss in the bad state
//! mean loss (r·(1 − k) + p·(1 − h))/(p + r)
//! ```
//! With `k` = 1 and `h` = 0, the simple model of Gilbert, bursts have 1/r packets on the mean, and gaps 1/p. The link begins in the good
//! state. It steps with each packet, so that a burst lasts for packets, not for a time.

use narrows_proto::cc::{OutOfRange, Ranges};

use crate::random::{Purpose, Stream};

/// Losses in bursts (Gilbert–Elliott).
#[derive(Clone, Copy, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GilbertElliott {
    /// Probability that a good link is bad for the next packet.
    pub p: f64,
    /// Probability that a bad link is good for the next packet; 1 − p if left out.
    pub r: Option<f64>,
    /// Probability that a packet is lost while the link is bad (1 − h).
    #[serde(default = "one")]
    pub bad_loss: f64,
    /// Probability that a packet is lost while the link is good (1 − k).
    #[serde(default)]
    pub good_loss: f64,
}

fn one() -> f64 {
    1.0
}

impl GilbertElliott {
    /// r, as it is in force.
    pub fn recovery(&self) -> f64 {
        self.r.unwrap_or(1.0 - self.p)
    }

    /// Part of the packets that are lost on the mean.
    pub fn mean_loss(&self) -> f64 {
        let (p, r) = (self.p, self.recovery());
        (r * self.good_loss + p * self.bad_loss) / (p + r)
    }

    /// Whether its settings are in their ranges, which it declares.
    ///
    /// # Errors
    /// The first that is not.
    pub fn check(&self, ranges: &mut Ranges) -> Result<(), OutOfRange> {
        let (p, r) = (self.p, self.recovery());
        ranges.unless(p > 0.0 && p <= 1.0, "p", p, "above 0, at most 1")?;
        // A link that stays bad for ever loses everything.
        ranges.unless(r > 0.0 && r <= 1.0, "r", r, "above 0, at most 1")?;
        let probability = |loss: f64| (0.0..=1.0).contains(&loss);
        ranges.unless(probability(self.bad_loss), "bad_loss", self.bad_loss, "0 to 1")?;
        ranges.unless(probability(self.good_loss), "good_loss", self.good_loss, "0 to 1")?;
        let lets_through = self.good_loss < 1.0 || self.bad_loss < 1.0;
        ranges.unless(lets_through, "good_loss", self.good_loss, "less than 1 where bad_loss is 1")
    }
}

/// The state of a link.
#[derive(Debug)]
pub(super) struct Bursts {
    model: GilbertElliott,
    is_bad: bool,
    random: Stream,
}

impl Bursts {
    pub(super) fn new(model: GilbertElliott, seed: u64, link: u64) -> Self {
        Self { model, is_bad: false, random: Stream::new(seed, Purpose::BurstLoss, link) }
    }

    /// The next packet is lost.
    pub(super) fn hits(&mut self) -> bool {
        let (leaves, loss) = match self.is_bad {
            false => (self.model.p, self.model.good_loss),
            true => (self.model.recovery(), self.model.bad_loss),
        };
        self.is_bad ^= self.random.uniform() < leaves;
        self.random.uniform() < loss
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lost packets of a million, and the lengths of bursts and of gaps.
    fn drawn(model: GilbertElliott) -> (f64, f64, f64) {
        let mut link = Bursts::new(model, 1, 0);
        let lost: Vec<bool> = (0..1_000_000).map(|_| link.hits()).collect();
        let runs = |of: bool| {
            let runs = lost.chunk_by(|a, b| a == b).filter(|run| run[0] == of);
            let (count, sum) = runs.fold((0_u32, 0), |(count, sum), run| (count + 1, sum + run.len()));
            sum as f64 / f64::from(count)
        };
        let share = lost.iter().filter(|lost| **lost).count() as f64 / lost.len() as f64;
        (share, runs(true), runs(false))
    }

    #[test]
    fn losses_bursts_and_gaps_have_the_means_of_the_model() {
        for (p, r) in [(0.01, 0.25), (0.001, 0.1)] {
            let model = GilbertElliott { p, r: Some(r), bad_loss: 1.0, good_loss: 0.0 };
            let (share, burst, gap) = drawn(model);
            // Some 10⁶·p·r/(p + r) bursts, of geometric length, whose deviation is about its mean: five deviations of the mean of all.
            let tolerance = 5.0 / (1e6 * p * r / (p + r)).sqrt();
            assert!((share / (p / (p + r)) - 1.0).abs() < 2.0 * tolerance, "{share}");
            assert!((burst * r - 1.0).abs() < tolerance, "{burst}");
            assert!((gap * p - 1.0).abs() < tolerance, "{gap}");
        }
        assert!(
            (GilbertElliott { p: 0.01, r: Some(0.25), bad_loss: 1.0, good_loss: 0.0 }.mean_loss() - 0.0385)
                .abs()
                < 1e-4
        );
    }

    #[test]
    fn both_states_may_lose_some() {
        let model = GilbertElliott { p: 0.1, r: Some(0.4), bad_loss: 0.5, good_loss: 0.02 };
        let (share, ..) = drawn(model);
        // (0.4·0.02 + 0.1·0.5)/0.5; five deviations of 10⁶ draws, which hang together over some two packets.
        assert!((share - 0.116).abs() < 5.0 * (2.0 * 0.116_f64 / 1e6).sqrt(), "{share}");
        assert!((model.mean_loss() - 0.116).abs() < 1e-12);
    }

    #[test]
    fn r_is_left_out_where_losses_do_not_hang_together() {
        let model = GilbertElliott { p: 0.1, r: None, bad_loss: 1.0, good_loss: 0.0 };
        assert!((model.mean_loss() - 0.1).abs() < 1e-12);
        let nothing = GilbertElliott { bad_loss: 1.0, good_loss: 1.0, ..model };
        assert!(nothing.check(&mut Ranges::default()).is_err());
        assert!(GilbertElliott { p: 1.0, ..model }.check(&mut Ranges::default()).is_err(), "it stays bad");
    }
}
