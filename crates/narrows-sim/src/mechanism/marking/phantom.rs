//! Phantom queues: a counter beside each port that drains more slowly than the link, and marks before anything waits.
//!
//! ```text
//! a data packet is queued     v = min(v + size, V)                       Uno (SC 2025), code of the artifact
//! at any time                 v = max(0, v − elapsed·C·drain)            C the rate of the port
//! a packet leaves, or arrives with `mark_at = "enqueue"`: it is marked with a probability that rises
//!                             from 0 at v = min·V to 1 at v = max·V; a step if both are the same
//! ```
//! Sources that react to these marks share less than the link carries, so that its real queue stays empty. Packets are marked only;
//! none is dropped and none waits longer. Acknowledgments and messages do not count. A packet that arrives is judged by what it finds.
//!
//! With `beside` a rule for the real queue looks at the same packets at the same moment: `either` of both marks, or only `both`
//! together.
//!
//! Differs from Uno: its code takes one packet off in each 1.05 packet times; here the counter falls all the time, at the same rate. Both
//! differ by at most one packet.

use narrows_proto::cc::{OutOfRange, Ranges};
use narrows_proto::units::{BitRate, Span, Time};

use super::red::{Red, RedSwitch};
use super::step::{Step, Steps, Threshold};
use super::verdict::{Entering, Leaving, MarkAt, Verdict};
use crate::random::Stream;
use crate::record::{counters, max, sum};

/// Phantom queues (Uno, SC 2025), one for each port.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Phantom {
    /// V, the size of the phantom queue, at which it stops to grow. Uno has the product of rate and round-trip time between data
    /// centers: 22.4 MB at 100 Gb/s. One size for all ports, or `{ bytes = "224 kB", per = "1 Gb/s" }` for one that grows with the rate of
    /// the port.
    pub size: Threshold,
    /// The part of the link's rate at which it drains; 1/1.05 = 95.2 %, as in the artifact of Uno.
    #[serde(default = "drain")]
    pub drain: f64,
    /// The part of `size` up to which nothing is marked; 0.02, as in the artifact of Uno.
    #[serde(default = "least")]
    pub min: f64,
    /// The part of `size` from which on all is marked; 0.6, as in the artifact of Uno. The same as `min` for a step.
    #[serde(default = "most")]
    pub max: f64,
    /// Whether packets are looked at when they arrive or when they leave; when they leave, as in the artifact of Uno.
    #[serde(default = "leaving")]
    pub mark_at: MarkAt,
    /// A rule for the real queue beside it. If left out only the phantom queue marks, as in the scripts of Uno's figures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beside: Option<Beside>,
}

/// When a packet is marked that two rules look at.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Beside {
    /// If the phantom queue or the real one says so.
    Either(RealQueue),
    /// If both say so.
    Both(RealQueue),
}

/// A rule for the real queue.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RealQueue {
    /// Marks every packet that finds more than K waiting.
    Step(Step),
    /// Random early detection.
    Red(Red),
}

fn drain() -> f64 {
    1.0 / 1.05
}

fn least() -> f64 {
    0.02
}

fn most() -> f64 {
    0.6
}

fn leaving() -> MarkAt {
    MarkAt::Dequeue
}

impl Beside {
    /// The rule for the real queue.
    pub fn real(&self) -> &RealQueue {
        match self {
            Self::Either(real) | Self::Both(real) => real,
        }
    }
}

impl RealQueue {
    /// Whether packets are looked at when they arrive or when they leave.
    pub fn mark_at(&self) -> MarkAt {
        match self {
            Self::Step(Step { mark_at, .. }) | Self::Red(Red { mark_at, .. }) => *mark_at,
        }
    }
}

impl Phantom {
    /// With everything but the size as in the artifact of Uno.
    pub fn new(size: Threshold) -> Self {
        Self { size, drain: drain(), min: least(), max: most(), mark_at: leaving(), beside: None }
    }

    /// Whether its settings are in their ranges, which it declares; of `size` only what holds for all ports.
    ///
    /// # Errors
    /// The first that is not.
    pub fn check(&self, ranges: &mut Ranges) -> Result<(), OutOfRange> {
        let Self { size, drain, min, max, .. } = *self;
        let some = match size {
            Threshold::Fixed(bytes) => bytes.get() > 0,
            Threshold::Scaled(scaled) => scaled.bytes.get() > 0 && scaled.per > BitRate::ZERO,
        };
        ranges.unless(some, "size", size, "more than 0 B, per more than 0 b/s")?;
        let expected =
            "above 0, below 1: at the rate of the link or above nothing ever stays in a phantom queue";
        ranges.unless(drain > 0.0 && drain < 1.0, "drain", drain, expected)?;
        ranges.unless((0.0..=1.0).contains(&min), "min", min, "0 to 1")?;
        ranges.unless(max >= min && max <= 1.0, "max", max, "min to 1")
    }
}

counters! {
    #[derive(Eq)]
    /// Counters of the phantom queue of a port.
    pub struct PhantomCounters {
        /// Packets that it said should be marked.
        pub chosen: u64 = sum,
        /// The most bytes that were ever in it.
        pub most: u64 = max,
    }
}

/// The phantom queues of a switch.
#[derive(Clone, Debug)]
pub(super) struct PhantomSwitch {
    ports: Vec<Counter>,
    /// Where marks begin, and where all is marked, as parts of the size.
    min: f64,
    max: f64,
    mark_at: MarkAt,
    beside: Option<(Needed, Rule)>,
    random: Stream,
}

/// Which rules have to agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Needed {
    Either,
    Both,
}

/// The rule for the real queue.
#[derive(Clone, Debug)]
enum Rule {
    Step(Steps),
    Red(Box<RedSwitch>),
}

/// The phantom queue of a port.
#[derive(Clone, Debug)]
struct Counter {
    /// v, in bytes, as of `at`, and before the last packet was counted.
    bytes: f64,
    before: f64,
    at: Time,
    /// V.
    size: f64,
    /// Bytes that drain in a picosecond.
    drain: f64,
    counted: PhantomCounters,
}

impl Counter {
    fn new(phantom: &Phantom, rate: BitRate) -> Self {
        Self {
            bytes: 0.0,
            before: 0.0,
            at: Time::ZERO,
            size: phantom.size.at(rate).as_f64(),
            drain: rate.as_f64() / 8.0 * 1e-12 * phantom.drain,
            counted: PhantomCounters::default(),
        }
    }

    /// v at `now`.
    fn drain(&mut self, now: Time) -> f64 {
        let elapsed = now.saturating_since(self.at).as_ps() as f64;
        self.at = now;
        self.bytes = (self.bytes - elapsed * self.drain).max(0.0);
        self.bytes
    }

    /// A packet is queued that counts as so many bytes.
    fn add(&mut self, bytes: u64) {
        self.before = self.bytes;
        self.bytes = (self.bytes + bytes as f64).min(self.size);
        self.counted.most = self.counted.most.max(self.bytes as u64);
    }
}

impl Rule {
    fn new(real: &RealQueue, ports: impl Iterator<Item = (BitRate, Span)>, random: Stream) -> Self {
        match real {
            RealQueue::Step(step) => Self::Step(Steps::new(step.k, ports)),
            RealQueue::Red(red) => Self::Red(Box::new(RedSwitch::new(red, ports, random))),
        }
    }

    fn judge(
        &mut self,
        now: Time,
        port: usize,
        waiting: u64,
        idle_since: Option<Time>,
        ect: bool,
    ) -> Verdict {
        match self {
            Self::Step(steps) => steps.judge(port, waiting, ect),
            Self::Red(red) => red.judge(now, port, waiting, idle_since, ect),
        }
    }
}

impl PhantomSwitch {
    /// `ports` have a rate, and a time that a packet of typical size takes.
    pub(super) fn new(
        phantom: &Phantom,
        ports: impl Iterator<Item = (BitRate, Span)>,
        random: Stream,
    ) -> Self {
        let ports: Vec<_> = ports.collect();
        let rule = |needed, real| (needed, Rule::new(real, ports.iter().copied(), random.beside()));
        Self {
            beside: phantom.beside.as_ref().map(|beside| match beside {
                Beside::Either(real) => rule(Needed::Either, real),
                Beside::Both(real) => rule(Needed::Both, real),
            }),
            ports: ports.iter().map(|(rate, _)| Counter::new(phantom, *rate)).collect(),
            min: phantom.min,
            max: phantom.max,
            mark_at: phantom.mark_at,
            random,
        }
    }

    /// A packet is about to join the real queue, and counts as `data` bytes.
    pub(super) fn judge(&mut self, entering: &Entering) -> Verdict {
        let Entering { now, port, backlog, idle_since, ect, data, .. } = *entering;
        let found = self.ports[port].drain(now);
        self.ports[port].add(data);
        if self.mark_at == MarkAt::Dequeue {
            return Verdict::Pass;
        }
        let verdict = self.decide(now, port, found, (backlog, idle_since), ect);
        if verdict == Verdict::Drop {
            self.take_back(port);
        }
        verdict
    }

    /// A packet is about to leave the real queue.
    pub(super) fn judge_leaving(&mut self, leaving: &Leaving, idle_since: Option<Time>) -> Verdict {
        let Leaving { now, port, left, ect, .. } = *leaving;
        if self.mark_at == MarkAt::Enqueue {
            return Verdict::Pass;
        }
        let bytes = self.ports[port].drain(now);
        self.decide(now, port, bytes, (left, idle_since), ect)
    }

    fn decide(
        &mut self,
        now: Time,
        port: usize,
        bytes: f64,
        (waiting, idle_since): (u64, Option<Time>),
        ect: bool,
    ) -> Verdict {
        let chosen = ect && self.chooses(bytes / self.ports[port].size);
        self.ports[port].counted.chosen += u64::from(chosen);
        let real = self
            .beside
            .as_mut()
            .map(|(needed, rule)| (*needed, rule.judge(now, port, waiting, idle_since, ect)));
        let marks = match real {
            None => chosen,
            Some((_, Verdict::Drop)) => return Verdict::Drop,
            Some((Needed::Either, real)) => chosen || real == Verdict::Mark,
            Some((Needed::Both, real)) => chosen && real == Verdict::Mark,
        };
        if marks { Verdict::Mark } else { Verdict::Pass }
    }

    /// Whether a packet is to be marked while the phantom queue is so full.
    fn chooses(&mut self, share: f64) -> bool {
        if share <= self.min {
            return false;
        }
        share >= self.max || self.random.uniform() < (share - self.min) / (self.max - self.min)
    }

    /// The packet that was counted last was not queued.
    #[cold]
    pub(super) fn take_back(&mut self, port: usize) {
        let port = &mut self.ports[port];
        port.bytes = port.before;
    }

    pub(super) fn counted(&self, port: usize) -> PhantomCounters {
        self.ports[port].counted
    }
}

#[cfg(test)]
mod tests {
    use narrows_proto::units::Bytes;
    use proptest::prelude::*;

    use super::super::{Marker, Marking};
    use super::*;
    use crate::random::Purpose;

    /// As in the artifact of Uno: packets of 4160 B, and V as many bytes as are between two data centers.
    const RATE: BitRate = BitRate::from_gbps(100);
    const PACKET: u64 = 4160;
    const SIZE: u64 = 22_400_515;

    fn phantom() -> Phantom {
        Phantom::new(Bytes::new(SIZE).into())
    }

    fn switch(phantom: &Phantom) -> PhantomSwitch {
        let random = Stream::new(1, Purpose::Marking, 0);
        PhantomSwitch::new(phantom, std::iter::once((RATE, Span::from_ns(333))), random)
    }

    fn entering(now: Time, data: u64) -> Entering {
        Entering { now, port: 0, queue: 0, backlog: 0, idle_since: None, ect: true, data }
    }

    fn leaving(now: Time, left: u64, ect: bool) -> Leaving {
        Leaving { now, port: 0, queue: 0, sojourn: Span::ZERO, left, ect }
    }

    /// Fraction of 100 000 packets that are marked while so many bytes are in the phantom queue.
    fn fraction(phantom: &Phantom, bytes: u64, left: u64) -> f64 {
        let mut switch = switch(phantom);
        switch.judge(&entering(Time::ZERO, bytes));
        let marked = (0..100_000)
            .filter(|_| switch.judge_leaving(&leaving(Time::ZERO, left, true), None) == Verdict::Mark);
        marked.count() as f64 / 100_000.0
    }

    #[test]
    fn in_349_ns_a_packet_of_uno_drains() {
        // 1.05 · 4160 B/(12.5 B/ns) = 349.44 ns.
        let mut switch = switch(&phantom());
        switch.judge(&entering(Time::ZERO, PACKET));
        switch.judge(&entering(Time::ZERO, PACKET));
        let after = |switch: &mut PhantomSwitch, ps| switch.ports[0].drain(Time::from_ps(ps));
        assert!((after(&mut switch, 349_440) - 4_160.0).abs() < 1e-6);
        assert!((after(&mut switch, 349_440 * 3 / 2) - 2_080.0).abs() < 1e-6);
        assert_eq!(after(&mut switch, 700_000), 0.0);
    }

    #[test]
    fn at_line_rate_it_grows_by_a_twentieth_of_what_passes() {
        // 4160 B in 332.8 ns, of which 332.8/349.44 drain: 198.1 B stay of each, and the last one's own.
        let mut switch = switch(&phantom());
        for packet in 0..1_000_u64 {
            switch.judge(&entering(Time::from_ps(332_800 * packet), PACKET));
        }
        let expected = 999.0 * (4_160.0 - 4_160.0 * 332.8 / 349.44) + 4_160.0;
        assert!((switch.ports[0].bytes - expected).abs() < 1e-3, "{}", switch.ports[0].bytes);
    }

    #[test]
    fn the_probability_rises_from_2_to_60_percent_of_the_size() {
        // 2 %: 448 010 B; 60 %: 13 440 309 B; 31 % is half way.
        // ±0.6 %: the standard deviation of the fraction at a half is 0.16 %.
        for (bytes, expected) in [(448_010, 0.0), (6_944_160, 0.5), (13_440_309, 1.0), (SIZE, 1.0)] {
            let fraction = fraction(&phantom(), bytes, 0);
            assert!((fraction - expected).abs() < 0.006, "{bytes} B: {fraction}");
        }
    }

    #[test]
    fn the_same_min_and_max_are_a_step() {
        let step = Phantom { min: 0.5, max: 0.5, size: Bytes::new(10_000).into(), ..phantom() };
        assert_eq!([5_000, 5_001].map(|bytes| fraction(&step, bytes, 0)), [0.0, 1.0]);
    }

    #[test]
    fn it_is_never_fuller_than_its_size_and_what_cannot_be_marked_is_not() {
        let mut switch = switch(&phantom());
        (0..10).for_each(|_| _ = switch.judge(&entering(Time::ZERO, SIZE)));
        assert_eq!((switch.ports[0].bytes, switch.counted(0).most), (SIZE as f64, SIZE));
        assert_eq!(switch.judge_leaving(&leaving(Time::ZERO, 0, false), None), Verdict::Pass);
        assert_eq!(switch.counted(0).chosen, 0);
    }

    #[test]
    fn either_or_both_rules_have_to_agree() {
        let step = || RealQueue::Step(Step { k: Bytes::new(10_000).into(), mark_at: MarkAt::Dequeue });
        let with = |beside| Phantom { beside: Some(beside), ..phantom() };
        let (either, both) = (with(Beside::Either(step())), with(Beside::Both(step())));
        for (bytes, left, expected) in [
            (0, 10_000, [0.0, 0.0]),
            (0, 10_001, [1.0, 0.0]),
            (SIZE, 0, [1.0, 0.0]),
            (SIZE, 10_001, [1.0, 1.0]),
        ] {
            assert_eq!([&either, &both].map(|phantom| fraction(phantom, bytes, left)), expected);
        }
    }

    #[test]
    fn at_enqueue_a_packet_is_judged_by_what_it_finds() {
        let step = Phantom {
            min: 0.5,
            max: 0.5,
            size: Bytes::new(10_000).into(),
            mark_at: MarkAt::Enqueue,
            ..phantom()
        };
        let mut switch = switch(&step);
        let mut arrive = || switch.judge(&entering(Time::ZERO, PACKET));
        assert_eq!([arrive(), arrive(), arrive()], [Verdict::Pass, Verdict::Pass, Verdict::Mark]);
        assert_eq!(switch.judge_leaving(&leaving(Time::ZERO, 0, true), None), Verdict::Pass);
    }

    #[test]
    fn what_was_not_queued_is_taken_back() {
        let mut switch = switch(&phantom());
        switch.judge(&entering(Time::ZERO, PACKET));
        switch.judge(&entering(Time::ZERO, PACKET));
        switch.take_back(0);
        assert_eq!(switch.ports[0].bytes, PACKET as f64);
    }

    #[test]
    fn only_data_counts() {
        let marking = Marking::Phantom(Box::new(phantom()));
        let ports = std::iter::once((RATE, Span::from_us(1)));
        let mut marker =
            Marker::new(&marking, ports, Bytes::new(PACKET), Stream::new(1, Purpose::Marking, 0));
        let mut most = |packet| {
            marker.judge(Time::ZERO, 0, 0, 0, None, packet);
            marker.counted(0).map(|counted| counted.most)
        };
        use crate::mechanism::marking::tests::{ack, data};
        assert_eq!([ack(), data(true), data(false), ack()].map(&mut most), [0, 1500, 3000, 3000].map(Some));
    }

    #[test]
    fn settings_out_of_range_are_refused() {
        let refused = |phantom: &Phantom| {
            phantom.check(&mut Ranges::default()).map_or_else(|error| error.setting, |()| "none")
        };
        assert_eq!(refused(&phantom()), "none");
        for drain in [1.0, 1.5, 0.0, f64::NAN] {
            assert_eq!(refused(&Phantom { drain, ..phantom() }), "drain");
        }
        assert_eq!(refused(&Phantom { size: Bytes::ZERO.into(), ..phantom() }), "size");
        assert_eq!(refused(&Phantom { min: 0.7, ..phantom() }), "max");
        assert_eq!(refused(&Phantom { min: -0.1, ..phantom() }), "min");
    }

    /// Times between arrivals, in ps, and bytes.
    fn arrivals() -> impl Strategy<Value = Vec<(u64, u64)>> {
        prop::collection::vec((0..2_000_000_u64, 64..=PACKET), 1..200)
    }

    proptest! {
        /// The fluid integral has a closed form: v(t) is the most that arrived since any earlier arrival less what drained since.
        #[test]
        fn it_is_the_integral_of_a_fluid_queue(arrivals in arrivals()) {
            let mut switch = switch(&phantom());
            let per_ps = 12.5e-3 / 1.05;
            let (mut now, mut past) = (0, Vec::new());
            for (gap, size) in arrivals {
                now += gap;
                switch.judge(&entering(Time::from_ps(now), size));
                past.push((now, size));
                let (mut arrived, mut most) = (0, 0.0_f64);
                for (then, size) in past.iter().rev() {
                    arrived += size;
                    most = most.max(arrived as f64 - (now - then) as f64 * per_ps);
                }
                // 1e-6 B: sums of a few hundred rounded products.
                prop_assert!((switch.ports[0].bytes - most).abs() < 1e-6);
            }
        }

        #[test]
        fn it_differs_from_the_timer_of_uno_by_at_most_a_packet(arrivals in arrivals()) {
            let mut switch = switch(&phantom());
            let (mut now, mut begun, mut ticks, mut timer) = (0, None, 0, 0_u64);
            for (gap, size) in arrivals {
                now += gap;
                let begun = *begun.get_or_insert(now);
                while (ticks + 1) * 349_440 + begun <= now {
                    ticks += 1;
                    timer = timer.saturating_sub(PACKET);
                }
                timer += size;
                switch.judge(&entering(Time::from_ps(now), size));
                prop_assert!((switch.ports[0].bytes - timer as f64).abs() <= PACKET as f64 + 1e-6);
            }
        }
    }
}
