//! Random early detection.

use narrows_proto::units::{BitRate, Bytes, Span, Time};

use super::verdict::{MarkAt, Verdict};
use crate::random::Stream;

/// Random early detection (Floyd & Jacobson, ToN 1993).
///
/// avg = (1 − w)·avg + w·q at each arrival; between `min` and `max` a packet is chosen with a probability that rises to
/// `max_p`, spread out by the number of packets since the last one chosen.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Red {
    /// Below this average nothing happens.
    pub min: Bytes,
    /// Above this average every packet is chosen, unless `gentle`.
    pub max: Bytes,
    /// Probability at `max`.
    pub max_p: f64,
    /// w, the weight of each arrival in the average; 1 looks at the queue as it is.
    #[serde(default = "classic_weight")]
    pub weight: f64,
    /// Let the probability rise from `max_p` to 1 between `max` and 2·`max` instead of jumping there (Floyd 2000).
    #[serde(default)]
    pub gentle: bool,
    /// Count packets since the last one chosen, so that choices are spread out; off, each is chosen by itself, as switches do
    /// for DCQCN.
    #[serde(default = "yes")]
    pub spread: bool,
    /// Action on a chosen packet.
    #[serde(default)]
    pub action: RedAction,
    /// Whether packets are looked at when they arrive or when they leave.
    #[serde(default)]
    pub mark_at: MarkAt,
    /// Other thresholds for ports of certain rates.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub at: Vec<RedAt>,
}

/// Thresholds of ports with a certain rate.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RedAt {
    /// The rate of the port's link.
    pub rate: BitRate,
    /// In place of `min`.
    pub min: Bytes,
    /// In place of `max`.
    pub max: Bytes,
    /// In place of `max_p`.
    pub max_p: f64,
}

impl Red {
    /// As it is at a port of this rate.
    pub fn of(&self, rate: BitRate) -> Self {
        let own = self.at.iter().find(|at| at.rate == rate);
        let (min, max, max_p) =
            own.map_or((self.min, self.max, self.max_p), |own| (own.min, own.max, own.max_p));
        Self { min, max, max_p, at: Vec::new(), ..self.clone() }
    }
}

/// Action of RED on the packets it chooses.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum RedAction {
    /// Mark those that can be marked, drop the others (RFC 3168 §5).
    #[default]
    Mark,
    /// The same while the probability is below 1; then drop them all (RFC 3168 §7).
    MarkThenDrop,
    /// Mark those that can be marked, let the others pass, as a marking threshold does.
    MarkOnly,
    /// Drop.
    Drop,
}

fn classic_weight() -> f64 {
    0.002
}

fn yes() -> bool {
    true
}

/// Random early detection at the ports of a switch.
#[derive(Clone, Debug)]
pub(super) struct RedSwitch {
    /// By port.
    ports: Vec<RedState>,
    random: Stream,
}

#[derive(Clone, Debug)]
struct RedState {
    config: Red,
    average: f64,
    /// Packets since the last chosen one; none while the average is below `min`.
    since: Option<u64>,
    /// Time one typical packet takes, the unit in which idle time is counted.
    packet_time: Span,
}

impl RedSwitch {
    /// `ports` have a rate, and a time that a packet of typical size takes.
    pub(super) fn new(red: &Red, ports: impl Iterator<Item = (BitRate, Span)>, random: Stream) -> Self {
        let state =
            |(rate, packet_time)| RedState { config: red.of(rate), average: 0.0, since: None, packet_time };
        Self { ports: ports.map(state).collect(), random }
    }

    #[inline(never)]
    pub(super) fn judge(
        &mut self,
        now: Time,
        port: usize,
        backlog: u64,
        idle_since: Option<Time>,
        ect: bool,
    ) -> Verdict {
        self.ports[port].judge(now, backlog, idle_since, ect, &mut self.random)
    }
}

impl RedState {
    #[inline(never)]
    fn judge(
        &mut self,
        now: Time,
        backlog: u64,
        idle_since: Option<Time>,
        ect: bool,
        random: &mut Stream,
    ) -> Verdict {
        self.average(now, backlog, idle_since);
        let probability = self.probability();
        if probability <= 0.0 {
            self.since = None;
            return Verdict::Pass;
        }
        // The first packet above `min` starts the count (the paper's count = −1).
        let since = self.since.map_or(0, |since| since + 1);
        self.since = Some(since);
        let spread = if self.config.spread { 1.0 - since as f64 * probability } else { 1.0 };
        let chosen = probability >= 1.0 || spread <= 0.0 || random.uniform() < probability / spread;
        if !chosen {
            return Verdict::Pass;
        }
        self.since = Some(0);
        match self.config.action {
            RedAction::Mark | RedAction::MarkOnly if ect => Verdict::Mark,
            RedAction::MarkThenDrop if ect && probability < 1.0 => Verdict::Mark,
            RedAction::MarkOnly => Verdict::Pass,
            RedAction::Mark | RedAction::MarkThenDrop | RedAction::Drop => Verdict::Drop,
        }
    }

    fn average(&mut self, now: Time, backlog: u64, idle_since: Option<Time>) {
        let weight = self.config.weight;
        if let Some(idle_since) = idle_since.filter(|_| weight < 1.0) {
            // As if that many packets had found an empty queue.
            let packets = now.saturating_since(idle_since).as_secs_f64() / self.packet_time.as_secs_f64();
            self.average *= libm::pow(1.0 - weight, packets);
        }
        self.average = (1.0 - weight) * self.average + weight * backlog as f64;
    }

    fn probability(&self) -> f64 {
        let Red { min, max, max_p, gentle, .. } = self.config;
        let (average, min, max) = (self.average, min.as_f64(), max.as_f64());
        if average < min {
            0.0
        } else if average < max {
            max_p * (average - min) / (max - min)
        } else if gentle && average < 2.0 * max {
            max_p + (1.0 - max_p) * (average - max) / max
        } else {
            1.0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Marker, Marking};
    use super::*;
    use crate::random::Purpose;

    const PACKET: Span = Span::from_us(1);
    const RATE: BitRate = BitRate::from_gbps(10);

    fn red(gentle: bool, action: RedAction) -> Red {
        let (min, max) = (Bytes::new(10_000), Bytes::new(30_000));
        Red {
            min,
            max,
            max_p: 0.1,
            weight: 1.0,
            gentle,
            spread: true,
            action,
            mark_at: MarkAt::Enqueue,
            at: vec![],
        }
    }

    struct Fixture {
        marker: Marker,
    }

    impl Fixture {
        fn new(marking: &Marking) -> Self {
            let random = Stream::new(1, Purpose::Marking, 0);
            let largest = Bytes::new(1_500);
            Self { marker: Marker::new(marking, std::iter::once((RATE, PACKET)), largest, random) }
        }

        fn judge(&mut self, backlog: u64, ect: bool) -> Verdict {
            self.marker.judge(Time::ZERO, 0, 0, backlog, None, super::super::tests::data(ect))
        }

        /// Fraction of 100 000 packets chosen at a constant backlog.
        fn fraction(&mut self, backlog: u64) -> f64 {
            let chosen = (0..100_000).filter(|_| self.judge(backlog, true) != Verdict::Pass);
            chosen.count() as f64 / 100_000.0
        }
    }

    #[test]
    fn red_chooses_with_twice_its_base_probability_on_average() {
        // pa = pb/(1 − count·pb), count = 1 for the first packet after a chosen one (Floyd & Jacobson Fig. 2), makes the
        // distance between two chosen packets uniform on {1, …, 1/pb − 1}, with mean 1/(2·pb). Halfway between min and
        // max pb = 0.05: one in 10.
        let fraction = Fixture::new(&Marking::Red(red(false, RedAction::Mark))).fraction(20_000);
        // ±3 %: the standard deviation of the fraction is 0.5 %.
        assert!((fraction * 10.0 - 1.0).abs() < 0.03, "{fraction}");
    }

    #[test]
    fn without_spreading_red_chooses_with_its_base_probability() {
        // Halfway between min and max 0.05: one in 20. ±4 %: the standard deviation of the fraction is 1.4 %.
        let config = Red { spread: false, ..red(false, RedAction::Mark) };
        let fraction = Fixture::new(&Marking::Red(config)).fraction(20_000);
        assert!((fraction * 20.0 - 1.0).abs() < 0.04, "{fraction}");
    }

    #[test]
    fn red_leaves_short_queues_alone_and_chooses_every_packet_of_long_ones() {
        let mut plain = Fixture::new(&Marking::Red(red(false, RedAction::Mark)));
        assert_eq!((plain.fraction(9_999), plain.fraction(30_000)), (0.0, 1.0));
        let mut gentle = Fixture::new(&Marking::Red(red(true, RedAction::Mark)));
        assert!(gentle.fraction(31_000) < 0.5);
        assert_eq!(gentle.fraction(60_000), 1.0);
    }

    #[test]
    fn red_drops_what_cannot_be_marked() {
        let verdicts = |action| {
            let mut red = Fixture::new(&Marking::Red(red(false, action)));
            [red.judge(40_000, true), red.judge(40_000, false)]
        };
        assert_eq!(verdicts(RedAction::Mark), [Verdict::Mark, Verdict::Drop]);
        assert_eq!(verdicts(RedAction::MarkThenDrop), [Verdict::Drop, Verdict::Drop]);
        assert_eq!(verdicts(RedAction::Drop), [Verdict::Drop, Verdict::Drop]);
        assert_eq!(verdicts(RedAction::MarkOnly), [Verdict::Mark, Verdict::Pass]);
    }

    #[test]
    fn idle_time_lets_the_average_decay() {
        let config = Red { weight: 0.002, ..red(false, RedAction::Mark) };
        let mut state = RedState { config, average: 20_000.0, since: None, packet_time: PACKET };
        // 500 packet times: 0.998^500 = 0.367.
        state.average(Time::ZERO + PACKET * 500, 0, Some(Time::ZERO));
        assert!((state.average / 20_000.0 - 0.367).abs() < 0.002, "{}", state.average);
    }

    #[test]
    fn ports_of_a_rate_may_have_thresholds_of_their_own() {
        let at = |rate| RedAt { rate, min: Bytes::new(1), max: Bytes::new(2), max_p: 1.0 };
        let judged = |rate| {
            let red = Red { at: vec![at(rate)], ..red(false, RedAction::Mark) };
            Fixture::new(&Marking::Red(red)).judge(5, true)
        };
        assert_eq!(judged(RATE), Verdict::Mark);
        assert_eq!(judged(BitRate::from_gbps(40)), Verdict::Pass);
    }
}
