//! Proportional integral controller, enhanced (PIE): packets that arrive are dropped or marked with a probability that holds the
//! queueing delay at a target.
//!
//! ```text
//! delay       sojourn of the packet that left last; 0 once its queue is empty       RFC 8033 §4.3, with time stamps
//! update      every T_UPDATE                                                        §4.2
//!             Δ = α·(delay − target) + β·(delay − delay before)
//!             Δ is divided by 2048, 512, 128, 32, 8, 2 while p < 10⁻⁶, …, 10⁻¹
//!             p = p + Δ in [0, 1]; 2 % less if both delays are 0
//!             with `cap`, Δ is at most 0.02 from p = 0.1 on                         §5.5
//! arrival     chosen with probability p, but never                                  §4.1
//!             while the delay before < target/2 and p < 0.2
//!             while no more than two packets wait
//!             for a burst: MAX_BURST from when p and delays were low                §4.4
//! chosen      marked if p < mark_ecnth and it can be marked, else dropped           §5.1
//! ```
//! With `derandomize` probabilities add up since the last packet that was chosen: below 0.85 none is, from 8.5 on the next is (§5.4).
//!
//! Left out: the estimate of the rate at which a queue drains (§5.2), as packets have time stamps; becoming inactive (§5.3).
//!
//! Differs from RFC 8033 App. B: what finds the packet memory full does not begin the sum of probabilities anew.

use narrows_proto::cc::{OutOfRange, Ranges};
use narrows_proto::units::{Bytes, Span, Time};

use super::verdict::{Entering, Leaving, Verdict};
use crate::mechanism::CLASSES;
use crate::random::Stream;

/// PIE (RFC 8033), for each queue by itself.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Pie {
    /// The delay at which the queue is held, QDELAY_REF; 15 ms (RFC 8033 §4.2).
    pub target: Span,
    /// Time between two updates of the probability, T_UPDATE; 15 ms (§4.2).
    pub update: Span,
    /// α, the weight of the distance from the target, in Hz; 1/8 (App. A). A target that is a hundredth wants a hundred times as much of
    /// both weights (§4.2).
    pub alpha: f64,
    /// β, the weight of the change since the last update, in Hz; 1.25 (App. A).
    pub beta: f64,
    /// The longest burst that passes, MAX_BURST; 150 ms (§4.4).
    pub max_burst: Span,
    /// Packets that can be marked are marked in place of dropping (§5.1).
    pub ecn: bool,
    /// From this probability on they are dropped, too; 0.1 (§5.1).
    pub mark_ecnth: f64,
    /// Spread the packets that are chosen (§5.4).
    pub derandomize: bool,
    /// Let a large probability rise by at most 0.02 at a time (§5.5).
    pub cap: bool,
}

impl Default for Pie {
    fn default() -> Self {
        Self {
            target: Span::from_ms(15),
            update: Span::from_ms(15),
            alpha: 0.125,
            beta: 1.25,
            max_burst: Span::from_ms(150),
            ecn: false,
            mark_ecnth: 0.1,
            derandomize: true,
            cap: true,
        }
    }
}

impl Pie {
    /// Whether its settings are in their ranges, which it declares.
    ///
    /// # Errors
    /// The first that is not.
    pub fn check(&self, ranges: &mut Ranges) -> Result<(), OutOfRange> {
        let Self { target, update, alpha, beta, mark_ecnth, .. } = *self;
        ranges.unless(target > Span::ZERO, "target", target, "above 0")?;
        ranges.timer("update", update)?;
        ranges.unless(alpha > 0.0 && alpha <= MOST_GAIN, "alpha", alpha, "above 0, at most 1e9")?;
        ranges.unless((0.0..=MOST_GAIN).contains(&beta), "beta", beta, "0 to 1e9")?;
        ranges.unless((0.0..=1.0).contains(&mark_ecnth), "mark_ecnth", mark_ecnth, "0 to 1")
    }
}

/// Weights are in proportion to one over the target: those of a target of 10 ns are about 10⁶.
const MOST_GAIN: f64 = 1e9;

/// The queues of a switch.
#[derive(Clone, Debug)]
pub(super) struct PieSwitch {
    config: Pie,
    /// A queue that holds no more than this is left alone.
    two_packets: u64,
    /// By port, then by queue.
    queues: Vec<[PieState; CLASSES]>,
    random: Stream,
}

/// State of a queue. The names are those of RFC 8033 App. A and B.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct PieState {
    drop_prob: f64,
    /// Sum of probabilities since the last packet that was chosen.
    accu_prob: f64,
    current_qdelay: Span,
    qdelay_old: Span,
    burst_allowance: Span,
    /// Updates so far.
    updates: u64,
}

impl PieSwitch {
    pub(super) fn new(config: &Pie, ports: usize, largest: Bytes, random: Stream) -> Self {
        let state = PieState { burst_allowance: config.max_burst, ..PieState::default() };
        let queues = vec![[state; CLASSES]; ports];
        Self { config: config.clone(), two_packets: 2 * largest.get(), queues, random }
    }

    /// Verdict on a packet that arrives.
    #[inline(never)]
    pub(super) fn judge(&mut self, entering: &Entering) -> Verdict {
        let Self { config, queues, random, .. } = self;
        let state = &mut queues[entering.port][entering.queue];
        state.advance(config, entering.now);
        let fits_burst = state.bears_burst(config);
        if fits_burst || entering.backlog <= self.two_packets || !state.chooses(config, random) {
            return Verdict::Pass;
        }
        if config.ecn && entering.ect && state.drop_prob < config.mark_ecnth {
            Verdict::Mark
        } else {
            Verdict::Drop
        }
    }

    /// A packet leaves.
    #[inline(never)]
    pub(super) fn on_leaving(&mut self, leaving: &Leaving) {
        let state = &mut self.queues[leaving.port][leaving.queue];
        state.advance(&self.config, leaving.now);
        state.current_qdelay = if leaving.left == 0 { Span::ZERO } else { leaving.sojourn };
    }
}

impl PieState {
    /// Makes up for all updates that were due before `now`: in between the delay stays as it was.
    fn advance(&mut self, config: &Pie, now: Time) {
        let due = (now - Time::ZERO).as_ps() / config.update.as_ps();
        while self.updates < due {
            if self.is_at_rest() {
                self.updates = due;
                return;
            }
            self.updates += 1;
            self.calculate_drop_prob(config);
        }
    }

    /// Further updates change nothing but the burst allowance, which the next packet fills up.
    fn is_at_rest(&self) -> bool {
        self.drop_prob == 0.0 && self.current_qdelay == Span::ZERO && self.qdelay_old == Span::ZERO
    }

    /// RFC 8033 §4.2, App. A.
    fn calculate_drop_prob(&mut self, config: &Pie) {
        let [delay, old, target] =
            [self.current_qdelay, self.qdelay_old, config.target].map(Span::as_secs_f64);
        let change = config.alpha * (delay - target) + config.beta * (delay - old);
        let mut change = change / scale(self.drop_prob);
        if config.cap && self.drop_prob >= 0.1 {
            change = change.min(0.02);
        }
        self.drop_prob += change;
        if self.current_qdelay == Span::ZERO && self.qdelay_old == Span::ZERO {
            self.drop_prob *= 0.98;
        }
        self.drop_prob = self.drop_prob.clamp(0.0, 1.0);
        self.qdelay_old = self.current_qdelay;
        self.burst_allowance = self.burst_allowance.saturating_sub(config.update);
    }

    /// A burst may pass (§4.4). It begins anew when the congestion has gone.
    fn bears_burst(&mut self, config: &Pie) -> bool {
        let is_low = |delay: Span| delay < config.target / 2;
        if self.drop_prob == 0.0 && is_low(self.current_qdelay) && is_low(self.qdelay_old) {
            self.burst_allowance = config.max_burst;
        }
        self.burst_allowance > Span::ZERO
    }

    /// Chooses a packet by chance (§4.1, §5.4).
    fn chooses(&mut self, config: &Pie, random: &mut Stream) -> bool {
        let p = self.drop_prob;
        if self.qdelay_old < config.target / 2 && p < 0.2 {
            return false;
        }
        self.accu_prob = if p == 0.0 { 0.0 } else { self.accu_prob + p };
        let chosen = match self.accu_prob {
            accumulated if config.derandomize && accumulated < 0.85 => false,
            accumulated if config.derandomize && accumulated >= 8.5 => true,
            _ => random.uniform() < p,
        };
        if chosen {
            self.accu_prob = 0.0;
        }
        chosen
    }
}

/// Divisor of changes of a probability: small ones change slowly (§4.2).
fn scale(drop_prob: f64) -> f64 {
    match drop_prob {
        p if p < 1e-6 => 2048.0,
        p if p < 1e-5 => 512.0,
        p if p < 1e-4 => 128.0,
        p if p < 1e-3 => 32.0,
        p if p < 1e-2 => 8.0,
        p if p < 0.1 => 2.0,
        _ => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Purpose;

    const MTU: u64 = 1_500;
    const STEP: Span = Span::from_ms(15);

    fn ms(ms: u64) -> Time {
        Time::ZERO + Span::from_ms(ms)
    }

    fn switch(config: &Pie) -> PieSwitch {
        PieSwitch::new(config, 1, Bytes::new(MTU), Stream::new(1, Purpose::Marking, 0))
    }

    fn state(drop_prob: f64, delay_ms: u64, old_ms: u64) -> PieState {
        let [current_qdelay, qdelay_old] = [delay_ms, old_ms].map(Span::from_ms);
        PieState { drop_prob, current_qdelay, qdelay_old, ..PieState::default() }
    }

    fn entering(now: Time, backlog: u64) -> Entering {
        Entering { now, port: 0, queue: 0, backlog, idle_since: None, ect: true, data: 0 }
    }

    fn leaving(now: Time, sojourn_ms: u64, left: u64) -> Leaving {
        Leaving { now, port: 0, queue: 0, sojourn: Span::from_ms(sojourn_ms), left, ect: true }
    }

    fn about(found: f64, expected: f64) -> bool {
        (found / expected - 1.0).abs() < 1e-3
    }

    /// RFC 8033 §4.2 by hand: a delay of 30 ms is 15 ms too much, so Δ = 0.125·15 ms = 1.875e-3, and 1.25·15 ms = 18.75e-3 more if it
    /// was 15 ms before; divided by 2048, 512, 128, 32, 8, 2, 1, and at most 0.02 from 0.1 on.
    #[test]
    fn one_update_changes_the_probability_by_the_control_law() {
        let table = [
            (0.0, 9.155e-7, 1.007e-5),
            (5e-6, 3.662e-6, 4.028e-5),
            (5e-5, 1.465e-5, 1.611e-4),
            (5e-4, 5.859e-5, 6.445e-4),
            (5e-3, 2.344e-4, 2.578e-3),
            (0.05, 9.375e-4, 1.031e-2),
            (0.2, 1.875e-3, 2.000e-2),
        ];
        for (before, steady, rising) in table {
            for (old, expected) in [(30, steady), (15, rising)] {
                let mut state = state(before, 30, old);
                state.calculate_drop_prob(&Pie::default());
                let change = state.drop_prob - before;
                assert!(
                    about(change, expected),
                    "from {before} after {old} ms: {change}, expected {expected}"
                );
            }
        }
    }

    #[test]
    fn without_the_cap_a_large_probability_rises_as_far_as_the_law_says() {
        let mut state = state(0.2, 30, 15);
        state.calculate_drop_prob(&Pie { cap: false, ..Pie::default() });
        assert!(about(state.drop_prob - 0.2, 0.020625), "{}", state.drop_prob);
    }

    /// By hand: (0.125·15 ms + 1.25·30 ms)/2048 = 1.9226e-5; then 1.875e-3/128 = 1.4648e-5 each until 1e-4 is passed with the 7th,
    /// then 1.875e-3/32 = 5.8594e-5 each.
    #[test]
    fn a_queue_that_stands_at_twice_the_target_is_pushed_down_step_by_step() {
        let mut state = state(0.0, 30, 0);
        let mut after = [0.0; 13];
        for p in &mut after[1..] {
            state.calculate_drop_prob(&Pie::default());
            *p = state.drop_prob;
        }
        for (update, expected) in [(1, 1.9226e-5), (2, 3.3875e-5), (8, 1.6571e-4), (12, 4.0009e-4)] {
            assert!(about(after[update], expected), "{update}: {}, expected {expected}", after[update]);
        }
    }

    #[test]
    fn an_idle_queue_forgets_two_percent_at_each_update() {
        let mut state = state(0.5, 0, 0);
        state.calculate_drop_prob(&Pie::default());
        // Less 0.125·15 ms.
        assert!(about(state.drop_prob, (0.5 - 1.875e-3) * 0.98), "{}", state.drop_prob);
    }

    #[test]
    fn updates_that_were_missed_are_made_up_for() {
        let config = Pie::default();
        let (mut at_once, mut step_by_step) = (state(0.3, 30, 30), state(0.3, 30, 30));
        at_once.advance(&config, Time::ZERO + STEP * 40);
        for step in 1..=400 {
            step_by_step.advance(&config, Time::ZERO + STEP * step / 10);
        }
        assert_eq!(at_once, step_by_step);
        assert_eq!(at_once.updates, 40);
        // Even after a hundred days it is soon done.
        let mut idle = state(1.0, 0, 0);
        idle.advance(&config, Time::ZERO + Span::from_secs(8_640_000));
        assert!(idle.is_at_rest());
    }

    #[test]
    fn a_burst_of_150_ms_passes_and_no_longer_one() {
        let mut pie = switch(&Pie { derandomize: false, ..Pie::default() });
        let mut first = None;
        for step in 0..100_000 {
            let now = ms(1_000) + Span::from_us(10) * step;
            if pie.judge(&entering(now, 1_000_000)) != Verdict::Pass {
                first = first.or(Some(now));
            }
            // From the first packet on the queue is far too long.
            pie.on_leaving(&leaving(now, 200, 1_000_000));
        }
        let first = first.expect("something is dropped");
        // The allowance is gone at the tenth update after it was filled up, which was before 1 s.
        assert!((ms(1_125)..ms(1_150)).contains(&first), "{first}");
    }

    #[test]
    fn short_queues_and_short_delays_are_left_alone() {
        let mut pie = switch(&Pie::default());
        let low = |p| PieState { burst_allowance: Span::ZERO, ..state(p, 7, 7) };
        let mut passes = |state: PieState, backlog| {
            pie.queues[0][0] = state;
            (0..1_000).all(|_| pie.judge(&entering(Time::ZERO, backlog)) == Verdict::Pass)
        };
        assert!(passes(low(0.19), 1_000_000));
        assert!(!passes(low(0.2), 1_000_000), "not once the probability is high");
        assert!(passes(state(1.0, 100, 100), 2 * MTU));
        assert!(!passes(state(1.0, 100, 100), 2 * MTU + 1));
    }

    #[test]
    fn packets_are_chosen_with_the_probability_and_marked_below_the_threshold() {
        let chosen = |p, ecn, ect| {
            let mut pie = switch(&Pie { ecn, derandomize: false, ..Pie::default() });
            pie.queues[0][0] = state(p, 30, 30);
            let mut all = (0..100_000).map(|_| pie.judge(&Entering { ect, ..entering(Time::ZERO, 1 << 20) }));
            let mut count = [0_u32; 2];
            all.by_ref().for_each(|verdict| match verdict {
                Verdict::Pass => {}
                Verdict::Mark => count[0] += 1,
                Verdict::Drop => count[1] += 1,
            });
            count
        };
        let [marked, dropped] = chosen(0.05, true, true);
        // ±5 %: the standard deviation of 5000 is 69.
        assert!((4_750..5_250).contains(&marked) && dropped == 0, "{marked}, {dropped}");
        assert_eq!(chosen(0.05, true, false)[0], 0, "it cannot be marked");
        assert_eq!(chosen(0.05, false, true)[0], 0, "nothing is marked");
        let [marked, dropped] = chosen(0.1, true, true);
        assert!(marked == 0 && (9_500..10_500).contains(&dropped), "{marked}, {dropped}");
    }

    /// §5.4: the next comes after 0.85/p packets at the earliest and after 8.5/p at the latest.
    #[test]
    fn chosen_packets_are_neither_too_close_nor_too_far_apart() {
        let mut pie = switch(&Pie::default());
        pie.queues[0][0] = state(0.01, 30, 30);
        let mut gaps = Vec::new();
        let mut gap = 0;
        for _ in 0..200_000 {
            gap += 1;
            if pie.judge(&entering(Time::ZERO, 1 << 20)) != Verdict::Pass {
                gaps.push(gap);
                gap = 0;
            }
        }
        let (least, most) = (gaps.iter().min().copied(), gaps.iter().max().copied());
        assert!(least >= Some(85) && most <= Some(850), "{least:?} to {most:?}");
        assert!(least < Some(95) && most > Some(400), "{least:?} to {most:?}");
    }

    #[test]
    fn the_delay_is_that_of_the_packet_that_left_last_and_none_once_the_queue_is_empty() {
        let mut pie = switch(&Pie::default());
        pie.on_leaving(&leaving(ms(1), 20, 3_000));
        assert_eq!(pie.queues[0][0].current_qdelay, Span::from_ms(20));
        pie.on_leaving(&leaving(ms(2), 21, 0));
        assert_eq!(pie.queues[0][0].current_qdelay, Span::ZERO);
    }

    #[test]
    fn queues_are_controlled_by_themselves() {
        let mut pie = switch(&Pie::default());
        pie.queues[0][3] = state(1.0, 100, 100);
        assert_eq!(pie.judge(&entering(Time::ZERO, 1 << 20)), Verdict::Pass);
        assert_eq!(pie.judge(&Entering { queue: 3, ..entering(Time::ZERO, 1 << 20) }), Verdict::Drop);
    }
}
