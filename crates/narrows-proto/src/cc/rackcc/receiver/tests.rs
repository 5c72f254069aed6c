use super::*;

const LINK: BitRate = BitRate::from_gbps(10);
const RTT_US: f64 = 60.0;
/// Steps of the fluid model in a round trip.
const STEPS: usize = 40;
/// Bits of the link in one step.
const STEP_BITS: f64 = 10e9 * RTT_US * 1e-6 / STEPS as f64;

/// Fluid sources with demands (bit/s) at one destination. What D was advertised shows at the link one round trip later.
struct Fluid {
    params: Params,
    receiver: Receiver,
    demands: Vec<f64>,
    /// Bits; room for `buffer`.
    queue: f64,
    buffer: f64,
    /// D of the last round trip.
    past: [f64; STEPS],
    now: usize,
    /// Bits in this interval, and the shortest queue.
    received: f64,
    shortest: f64,
}

impl Fluid {
    fn new(params: Params, demands: &[f64]) -> Self {
        Self {
            params,
            receiver: Receiver::new(LINK),
            demands: demands.to_vec(),
            queue: 0.0,
            buffer: f64::INFINITY,
            past: [LINK.as_f64(); STEPS],
            now: 0,
            received: 0.0,
            shortest: 0.0,
        }
    }

    /// `count` sources without an end, beginning close to the fixed point: D is `excess` times their share.
    fn near_share(params: Params, count: usize, excess: f64) -> Self {
        let mut fluid = Self::new(params, &vec![f64::INFINITY; count]);
        fluid.receiver.rate = LINK.scaled(excess / count as f64);
        fluid.past = [fluid.receiver.rate.as_f64(); STEPS];
        fluid
    }

    /// The control interval in steps.
    fn interval(&self) -> usize {
        (self.params.interval.as_secs_f64() * 1e6 / RTT_US * STEPS as f64).round() as usize
    }

    fn rates(&self) -> Vec<f64> {
        let bound = self.past[self.now % STEPS];
        self.demands.iter().map(|demand| demand.min(bound)).collect()
    }

    fn step(&mut self) {
        let sent = self.rates().iter().sum::<f64>() / LINK.as_f64() * STEP_BITS;
        let present = self.queue + sent;
        let passed = present.min(STEP_BITS);
        self.queue = (present - passed).min(self.buffer);
        self.received += passed;
        self.shortest = self.shortest.min(self.queue);
        self.past[self.now % STEPS] = self.receiver.rate().as_f64();
        self.now += 1;
        if self.now.is_multiple_of(self.interval()) {
            let bytes = |bits: f64| Bytes::from_f64(bits / 8.0);
            let d = self.params.interval;
            self.receiver.update(&self.params, bytes(self.received), d, bytes(self.shortest));
            (self.received, self.shortest) = (0.0, self.queue);
        }
    }

    fn run(&mut self, round_trips: usize) {
        (0..round_trips * STEPS).for_each(|_| self.step());
    }

    /// Largest difference of the rates from the max-min shares, as a part of these.
    fn error(&self) -> f64 {
        let shares = max_min(LINK.as_f64(), &self.demands);
        let errors = self.rates().into_iter().zip(shares).map(|(rate, share)| (rate / share - 1.0).abs());
        errors.fold(0.0, f64::max)
    }

    /// Queue in round trips of the link's rate.
    fn backlog(&self) -> f64 {
        self.queue / (STEP_BITS * STEPS as f64)
    }

    /// Round trips until rates are within `tolerance` of their shares, and the queue below that part of a
    /// bandwidth-delay product, for the rest of `round_trips`.
    fn settles(&mut self, tolerance: f64, round_trips: usize) -> f64 {
        let (begin, mut last) = (self.now, self.now);
        for _ in 0..round_trips * STEPS {
            self.step();
            if self.error() > tolerance || self.backlog() > tolerance {
                last = self.now;
            }
        }
        (last - begin) as f64 / STEPS as f64
    }

    /// Highest less lowest rate in `round_trips`, as part of the share of one of equal sources, and the longest queue
    /// in round trips.
    fn swing(&mut self, round_trips: usize) -> (f64, f64) {
        let share = LINK.as_f64() / self.demands.len() as f64;
        let (mut low, mut high, mut queue) = (f64::INFINITY, 0.0_f64, 0.0_f64);
        for _ in 0..round_trips * STEPS {
            self.step();
            let rate = self.receiver.rate().as_f64();
            (low, high, queue) = (low.min(rate), high.max(rate), queue.max(self.backlog()));
        }
        ((high - low) / share, queue)
    }
}

/// With d as a multiple of the round trip.
fn params(interval: f64, gain: f64, queue_gain: f64) -> Params {
    let interval = Span::from_secs_f64(interval * RTT_US * 1e-6);
    Params { interval, gain, queue_gain, ..Params::default() }
}

const GBPS: f64 = 1e9;

/// A host with a link of 10 Gb/s that advertises `mbps`.
fn advertising(mbps: u64) -> Receiver {
    let mut receiver = Receiver::new(LINK);
    receiver.rate = BitRate::from_mbps(mbps);
    receiver
}

/// The rate in Mb/s after 120 us in which so much arrived.
fn after(mbps: u64, received: u64, queue: u64) -> f64 {
    let mut receiver = advertising(mbps);
    receiver.update(&Params::default(), Bytes::new(received), Span::from_us(120), Bytes::new(queue));
    (receiver.rate().as_f64() / 1e6).round()
}

// Worked by hand: 120 us of 10 Gb/s are 150 000 B.

#[test]
fn at_first_sources_may_use_the_whole_link() {
    assert_eq!(Receiver::new(LINK).rate(), LINK);
}

#[test]
fn half_of_the_link_unused_raises_the_rate_by_a_fifth() {
    // 1 + 0.4·0.5.
    assert_eq!(after(2_000, 75_000, 0), 2_400.0);
}

#[test]
fn a_queue_of_half_an_interval_lowers_the_rate_by_a_tenth() {
    // 1 − 0.2·0.5.
    assert_eq!(after(2_000, 150_000, 75_000), 1_800.0);
}

#[test]
fn a_full_link_without_a_queue_is_the_fixed_point() {
    assert_eq!(after(2_000, 150_000, 0), 2_000.0);
}

#[test]
fn both_terms_add_up() {
    // 1 + 0.4·0.2 − 0.2·0.1.
    assert_eq!(after(1_000, 120_000, 15_000), 1_060.0);
}

#[test]
fn the_rate_stays_between_the_floor_and_the_link() {
    assert_eq!(after(9_000, 0, 0), 10_000.0);
    assert_eq!(after(1, 150_000, 1_500_000), 1.0);
}

#[test]
fn in_one_interval_the_rate_falls_by_half_at_most() {
    // 1 − 0.2·10 is below zero.
    assert_eq!(after(9_000, 150_000, 1_500_000), 4_500.0);
}

#[test]
fn throughput_and_queue_are_taken_over_the_time_that_passed() {
    // 150 000 B in 240 us are half of the link, and so is a queue of 150 000 B: 1 + 0.4·0.5 − 0.2·0.5.
    let mut receiver = advertising(1_000);
    let bytes = Bytes::new(150_000);
    receiver.update(&Params::default(), bytes, Span::from_us(240), bytes);
    assert_eq!((receiver.rate().as_f64() / 1e6).round(), 1_100.0);
    let before = receiver.rate();
    receiver.update(&Params::default(), bytes, Span::ZERO, bytes);
    assert_eq!(receiver.rate(), before);
}

#[test]
fn a_link_slower_than_the_floor_bounds_the_rate() {
    let mut receiver = Receiver::new(BitRate::from_bps(500_000));
    receiver.update(&Params::default(), Bytes::ZERO, Span::from_us(120), Bytes::new(1_500));
    assert_eq!(receiver.rate(), BitRate::from_bps(500_000));
}

#[test]
fn settings_without_a_meaning_are_refused() {
    assert_eq!(Params::default().check(&mut Ranges::default()), Ok(()));
    let bad = [
        ("interval", Params { interval: Span::ZERO, ..Params::default() }),
        ("gain", Params { gain: 0.0, ..Params::default() }),
        ("gain", Params { gain: f64::NAN, ..Params::default() }),
        ("queue_gain", Params { queue_gain: -0.1, ..Params::default() }),
        ("floor", Params { floor: BitRate::ZERO, ..Params::default() }),
    ];
    for (setting, params) in bad {
        assert_eq!(params.check(&mut Ranges::default()).map_err(|error| error.setting), Err(setting));
    }
}

#[test]
fn max_min_gives_the_shares_of_the_example() {
    // RackCC §3.2: 2, 6 and 10 Gb/s on 10 Gb/s.
    assert_eq!(max_min(10.0, &[2.0, 6.0, 10.0]), [2.0, 4.0, 4.0]);
    assert_eq!(max_min(10.0, &[10.0, 2.0, 6.0]), [4.0, 2.0, 4.0]);
    assert_eq!(max_min(10.0, &[1.0, 2.0]), [1.0, 2.0]);
    assert_eq!(max_min(10.0, &[f64::INFINITY; 4]), [2.5; 4]);
}

// Theory, on the fluid model. Tolerance of rates and queues: 1 % of the share and of a bandwidth-delay product.
// Rounding to bytes and bit/s is below 10^-4.

const NEAR: f64 = 0.01;

#[test]
fn rates_come_to_the_max_min_shares_and_the_queue_is_gone() {
    let all = f64::INFINITY;
    let sets: [&[f64]; 6] = [
        &[2.0, 6.0, 10.0],
        &[all, all],
        &[0.1, 0.5, 3.0, all, all],
        &[1.0, 2.0, 3.0],
        &[9.0, 9.0, 9.0, 0.01],
        &[0.2, 0.2, 0.2, 0.2, 0.2, 0.2, all],
    ];
    for set in sets {
        let demands: Vec<f64> = set.iter().map(|demand| demand * GBPS).collect();
        let mut fluid = Fluid::new(Params::default(), &demands);
        let time = fluid.settles(NEAR, 600);
        assert!(time < 300.0, "{set:?}: {time} round trips");
    }
}

#[test]
fn shares_follow_demands_that_come_and_go() {
    let mut fluid = Fluid::new(Params::default(), &[f64::INFINITY; 3]);
    let phases: [&[f64]; 5] = [
        &[10.0, 10.0, 10.0],
        &[2.0, 6.0, 10.0],
        &[10.0; 8],
        &[0.5, 10.0],
        &[1.0, 1.0, 10.0, 10.0, 10.0, 10.0],
    ];
    for phase in phases {
        fluid.demands = phase.iter().map(|demand| demand * GBPS).collect();
        let time = fluid.settles(NEAR, 600);
        assert!(time < 300.0, "{phase:?}: {time} round trips");
    }
}

#[test]
fn the_defaults_are_stable_for_two_to_a_hundred_sources() {
    // The number of sources cancels in the equations of D/share, so near the share the time is the same for all: 27
    // round trips to within 2 %.
    for count in [2, 3, 5, 10, 20, 50, 100] {
        let mut fluid = Fluid::near_share(Params::default(), count, 1.2);
        let time = fluid.settles(0.02, 400);
        assert!((20.0..35.0).contains(&time), "{count} sources: {time} round trips");
        let (swing, queue) = fluid.swing(200);
        assert!(swing < 1e-3 && queue < 1e-3, "{count} sources: rate {swing}, queue {queue}");
    }
}

#[test]
fn sources_that_all_begin_at_line_rate_build_a_queue_that_takes_long_to_drain() {
    // n sources send n·C for a round trip and an interval of two, and half as much in each interval after that, as D falls by
    // half at most: n·(1 + 2 + 4) bandwidth-delay products, each of which takes the link a round trip. 60 more to find the share
    // again from the floor.
    let settles = |count: usize, buffer: f64| {
        let mut fluid = Fluid::new(Params::default(), &vec![f64::INFINITY; count]);
        fluid.buffer = buffer;
        fluid.settles(0.05, 1_000)
    };
    for count in [2, 10, 100] {
        let time = settles(count, f64::INFINITY);
        assert!(time < 60.0 + 7.0 * count as f64, "{count} sources: {time} round trips");
    }
    // With a buffer of one bandwidth-delay product (RackCC §4.2) and drops, 100 sources take less than a third of it.
    let (unlimited, limited) = (settles(100, f64::INFINITY), settles(100, 600e3));
    assert!(unlimited > 400.0 && limited < unlimited / 3.0, "{unlimited} and {limited} round trips");
}

#[test]
fn from_far_below_the_unused_part_closes_like_a_logistic_curve() {
    // D' = k·D·(1 − D/share)/d: from 0.1 to 0.95 of the share takes ln((0.95/0.05)/(0.1/0.9))·d/k = 5.14·d/k. A growth
    // by 1 + k instead of e^k slows it down by up to k/2, delay speeds it up on the last piece: ±15 %.
    for (interval, gain) in
        [(0.5, 0.2), (1.0, 0.2), (2.0, 0.1), (2.0, 0.2), (2.0, 0.4), (4.0, 0.2), (4.0, 0.4)]
    {
        let mut fluid = Fluid::near_share(params(interval, gain, 0.2), 10, 0.1);
        let (time, theory) = (fluid.settles(0.05, 600), 5.14 * interval / gain);
        assert!(
            (time / theory - 1.0).abs() < 0.15,
            "d {interval} k {gain}: {time}, in theory {theory} round trips"
        );
    }
}

/// Whether ten equal sources, 20 % above their share, come to rest.
fn is_stable(interval: f64, gain: f64, queue_gain: f64) -> bool {
    let mut fluid = Fluid::near_share(params(interval, gain, queue_gain), 10, 1.2);
    fluid.run(1_500);
    fluid.swing(200).0 < NEAR
}

/// The largest stable k, between 0.01 and 5.
fn largest_gain(interval: f64, queue_gain: f64) -> f64 {
    let (mut stable, mut unstable) = (0.01, 5.0);
    while unstable / stable > 1.02 {
        let middle = f64::sqrt(stable * unstable);
        if is_stable(interval, middle, queue_gain) { stable = middle } else { unstable = middle }
    }
    stable
}

#[test]
fn the_largest_stable_gain_grows_with_the_interval() {
    // k with k' = 0.2, with k' = 0.8, and where the loop would lose stability if y showed all that is sent: x(j+1) =
    // x(j) − k·x(j − m) with m = RTT/d whole intervals of delay is stable up to 2·sin(π/(2·(2m + 1))); for d = 2 and 4
    // round trips x(j+1) = x(j) − k·((1 − a)·x(j) + a·x(j − 1)) with a = RTT/d up to 1/a. The receiver does not see
    // above C, and what the queue shows instead comes late: about half of it is left.
    let map = [
        (0.25, 0.136, 0.115, 0.347),
        (0.5, 0.296, 0.240, 0.618),
        (1.0, 0.590, 0.463, 1.0),
        (2.0, 1.02, 0.840, 2.0),
        (4.0, 1.54, 1.25, 4.0),
    ];
    for (interval, at_02, at_08, linear) in map {
        let found = (largest_gain(interval, 0.2), largest_gain(interval, 0.8));
        // The search is 2 % wide, what counts as rest moves it by as much.
        let near = |found: f64, noted: f64| (found / noted - 1.0).abs() < 0.06;
        assert!(near(found.0, at_02) && near(found.1, at_08), "d = {interval} round trips: {found:?}");
        assert!(found.1 < found.0 && found.0 < 0.62 * linear, "d = {interval} round trips: {found:?}");
    }
}

#[test]
fn the_default_gains_have_a_margin_of_two_and_need_an_interval_of_a_round_trip() {
    for factor in [0.5, 1.0, 2.0] {
        assert!(is_stable(2.0, 0.4 * factor, 0.2) && is_stable(2.0, 0.4, 0.2 * factor), "times {factor}");
    }
    for interval in [1.0, 2.0, 4.0] {
        assert!(is_stable(interval, 0.4, 0.2), "d = {interval} round trips");
    }
    for interval in [0.25, 0.5] {
        assert!(!is_stable(interval, 0.4, 0.2), "d = {interval} round trips");
    }
}

#[test]
fn a_strong_queue_term_shakes_only_a_loop_that_overshoots() {
    // k = 0.3 with d = RTT/2 overshoots C from below; each time the queue term throws it back, further if k' is larger.
    assert!(is_stable(0.5, 0.3, 0.1) && !is_stable(0.5, 0.3, 0.4));
    assert!(is_stable(1.0, 0.4, 0.2) && !is_stable(1.0, 0.4, 3.0));
    // Without overshoot, k below m^m/(m + 1)^(m + 1) = 0.148 with m = 2 intervals of delay, the queue stays empty once
    // it is drained, and k' does not matter any more.
    assert!(is_stable(0.5, 0.14, 0.1) && is_stable(0.5, 0.14, 10.0));
}
