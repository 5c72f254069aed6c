use super::super::{OutOfRange, Ranges};
use crate::units::{BitRate, Bytes, Span, Time};

/// Criteria by which BBR recognizes a policer; the `lt_` constants of Linux.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "BbrPolicer")]
pub struct PolicerParams {
    /// An interval counts if this much was lost for each byte delivered; 50/256 (Linux: "about 20 %").
    pub loss_ratio: f64,
    /// Rounds of the shortest interval; 4 (Linux). One of more than four times as many says nothing.
    pub min_rounds: u32,
    /// Two intervals agree if their rates differ by at most this fraction of the first; 1/8 (Linux).
    pub tolerance: f64,
    /// Or by at most this; 4 kb/s (Linux).
    pub difference: BitRate,
    /// Rounds of `PROBE_BW` for which their rate is used; 48 (Linux).
    pub rounds_in_use: u32,
}

impl Default for PolicerParams {
    fn default() -> Self {
        Self {
            loss_ratio: 50.0 / 256.0,
            min_rounds: 4,
            tolerance: 0.125,
            difference: BitRate::from_bps(4_000),
            rounds_in_use: 48,
        }
    }
}

impl PolicerParams {
    pub(super) fn check(&self, ranges: &mut Ranges) -> Result<(), OutOfRange> {
        let Self { loss_ratio, min_rounds, tolerance, rounds_in_use, .. } = *self;
        ranges.unless(
            loss_ratio > 0.0 && loss_ratio.is_finite(),
            "policer.loss_ratio",
            loss_ratio,
            "above 0",
        )?;
        ranges.unless(
            (1..=1_000_000).contains(&min_rounds),
            "policer.min_rounds",
            min_rounds,
            "1 to 1 000 000 rounds",
        )?;
        ranges.unless(
            tolerance >= 0.0 && tolerance.is_finite(),
            "policer.tolerance",
            tolerance,
            "at least 0",
        )?;
        ranges.unless(rounds_in_use >= 1, "policer.rounds_in_use", rounds_in_use, "at least 1 round")
    }
}

/// Linux measures intervals in whole milliseconds and waits for the first.
const SHORTEST: Span = Span::from_ms(1);

/// Looks for a policer: a token bucket that passes a burst and then drops what exceeds its rate.
///
/// Intervals begin and end with a loss, so that the bucket is as empty at one end as at the other. Two in a row with much
/// loss and the same throughput give the rate.
#[derive(Clone, Debug)]
pub(super) struct Policer {
    /// Throughput of the last interval with much loss, or what is in use.
    rate: Option<BitRate>,
    in_use: bool,
    sampling: bool,
    /// Rounds since the interval began, or since the rate is in use.
    rounds: u32,
    start: Totals,
}

/// Totals up to some time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Totals {
    pub(super) now: Time,
    pub(super) delivered: Bytes,
    pub(super) lost: Bytes,
}

/// Report of the last acknowledgment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sign {
    pub(super) round_start: bool,
    pub(super) loss: bool,
    pub(super) app_limited: bool,
    /// BBR is in `PROBE_BW`.
    pub(super) probing: bool,
}

impl Policer {
    pub(super) fn new() -> Self {
        let start = Totals { now: Time::ZERO, delivered: Bytes::ZERO, lost: Bytes::ZERO };
        Self { rate: None, in_use: false, sampling: false, rounds: 0, start }
    }

    /// The rate of the policer, if one is believed to be there.
    pub(super) fn rate(&self) -> Option<BitRate> {
        self.rate.filter(|_| self.in_use)
    }

    /// Forgets everything and starts looking at the next loss.
    pub(super) fn reset(&mut self) {
        *self = Self::new();
    }

    /// True says that the time of using its rate is over and probing begins again.
    #[must_use]
    pub(super) fn on_sign(&mut self, params: &PolicerParams, sign: Sign, totals: Totals) -> bool {
        if self.in_use {
            self.rounds += u32::from(sign.probing && sign.round_start);
            let over = self.rounds >= params.rounds_in_use;
            if over {
                self.reset();
            }
            return over;
        }
        if !self.sampling {
            if !sign.loss {
                return false;
            }
            self.sampling = true;
            self.begin(totals);
        }
        self.sample(params, sign, totals);
        false
    }

    fn begin(&mut self, totals: Totals) {
        self.start = totals;
        self.rounds = 0;
    }

    fn sample(&mut self, params: &PolicerParams, sign: Sign, totals: Totals) {
        self.rounds += u32::from(sign.round_start);
        if sign.app_limited || self.rounds > params.min_rounds.saturating_mul(4) {
            self.reset();
            return;
        }
        if self.rounds < params.min_rounds || !sign.loss {
            return;
        }
        let span = totals.now.saturating_since(self.start.now);
        let delivered = totals.delivered.saturating_sub(self.start.delivered);
        let lost = totals.lost.saturating_sub(self.start.lost);
        let much = lost.as_f64() >= params.loss_ratio * delivered.as_f64();
        if span < SHORTEST || delivered == Bytes::ZERO || !much {
            return;
        }
        self.compare(params, BitRate::per(delivered, span), totals);
    }

    fn compare(&mut self, params: &PolicerParams, rate: BitRate, totals: Totals) {
        if let Some(before) = self.rate {
            let difference = rate.as_bps().abs_diff(before.as_bps());
            let agree = difference as f64 <= params.tolerance * before.as_f64();
            if agree || difference <= params.difference.as_bps() {
                self.rate = Some(BitRate::from_bps(before.as_bps().midpoint(rate.as_bps())));
                self.in_use = true;
                self.rounds = 0;
                return;
            }
        }
        self.rate = Some(rate);
        self.begin(totals);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOSS: Sign = Sign { round_start: true, loss: true, app_limited: false, probing: true };

    /// Rounds of 10 ms; in each `delivered` and `lost` bytes.
    struct Rounds {
        policer: Policer,
        totals: Totals,
    }

    impl Rounds {
        fn new() -> Self {
            let policer = Policer::new();
            Self { totals: policer.start, policer }
        }

        fn pass(&mut self, rounds: u32, delivered: u64, lost: u64) -> bool {
            (0..rounds).any(|_| self.one(LOSS, delivered, lost))
        }

        fn one(&mut self, sign: Sign, delivered: u64, lost: u64) -> bool {
            self.totals.now += Span::from_ms(10);
            self.totals.delivered += Bytes::new(delivered);
            self.totals.lost += Bytes::new(lost);
            self.policer.on_sign(&PolicerParams::default(), sign, self.totals)
        }
    }

    #[test]
    fn two_intervals_that_agree_give_the_rate() {
        let mut rounds = Rounds::new();
        // The first loss begins the interval and counts as a round; three more make four: 30 ms with 3·12 500 B.
        rounds.pass(4, 12_500, 3_125);
        assert_eq!(rounds.policer.rate, Some(BitRate::from_mbps(10)));
        assert_eq!(rounds.policer.rate(), None);
        // Then four rounds, 40 ms, 10.8 Mb/s: within 1/8 of 10. The mean of the two counts.
        rounds.pass(4, 13_500, 3_375);
        assert_eq!(rounds.policer.rate(), Some(BitRate::from_bps(10_400_000)));
    }

    #[test]
    fn intervals_that_differ_begin_again() {
        let mut rounds = Rounds::new();
        rounds.pass(4, 12_500, 3_125);
        // 14 Mb/s is more than 1/8 above 10 and becomes the one to compare with.
        rounds.pass(4, 17_500, 4_375);
        assert_eq!(rounds.policer.rate(), None);
        assert_eq!(rounds.policer.rate, Some(BitRate::from_mbps(14)));
    }

    #[test]
    fn less_loss_is_no_policer() {
        let mut rounds = Rounds::new();
        // 19 % of what was delivered; 50/256 is 19.53 %.
        rounds.pass(100, 10_000, 1_900);
        assert_eq!(rounds.policer.rate, None);
        let mut rounds = Rounds::new();
        rounds.pass(8, 10_000, 1_960);
        assert!(rounds.policer.rate().is_some());
    }

    #[test]
    fn an_interval_without_a_loss_at_its_end_goes_on_until_it_is_too_long() {
        let quiet = Sign { loss: false, ..LOSS };
        let mut rounds = Rounds::new();
        rounds.pass(1, 12_500, 20_000);
        for _ in 0..15 {
            rounds.one(quiet, 12_500, 0);
        }
        assert!(rounds.policer.sampling);
        // The 17th round is more than 4·4.
        rounds.one(quiet, 12_500, 0);
        assert!(!rounds.policer.sampling);
    }

    #[test]
    fn a_sender_without_data_says_nothing_of_a_policer() {
        let mut rounds = Rounds::new();
        rounds.pass(4, 12_500, 3_125);
        rounds.one(Sign { app_limited: true, ..LOSS }, 12_500, 3_125);
        assert_eq!(rounds.policer.rate, None);
    }

    #[test]
    fn the_rate_is_used_for_48_rounds_of_probing() {
        let mut rounds = Rounds::new();
        rounds.pass(8, 12_500, 3_125);
        assert!(rounds.policer.rate().is_some());
        rounds.one(Sign { probing: false, ..LOSS }, 12_500, 3_125);
        assert!(!rounds.pass(47, 12_500, 0));
        assert!(rounds.policer.rate().is_some());
        assert!(rounds.pass(1, 12_500, 0));
        assert_eq!(rounds.policer.rate(), None);
    }
}
