//! BCN and QCN against fluid models: equal sources, one queue, delays.
//!
//! The models take rates r(t) and the queue q(t) for continuous, and messages for as many as there are on average:
//!
//! ```text
//! dq/dt = N·r(t − τ₁) − C                     while q > 0 or it is positive
//! Δq    = dq/dt · S/(N·r(t − τ₁))             from one sample to the next, S bytes later
//! m(t)  = r(t − τ₁ − τ₂)/S(t − τ₂)            messages a second that a source receives
//! ```
//! τ₁ is the way of a packet to the queue, and half of the time between two packets, because a new rate applies to the next
//! packet only. τ₂ is the way of a message back. What a message does to the rate is taken from the sources of the schemes.

use crate::support::{Run, link, network, reaction, saturating, signaling};
use narrows_proto::reaction::{self, bcn, qcn};
use narrows_proto::units::{BitRate, Span};
use narrows_sim::Network;
use narrows_sim::observe::PortObserver;
use narrows_sim::switch::{Bcn, BcnVersion, CongestionPoint, Qcn, Sampling};
use narrows_sim::topology::{Topology, Wire};

const SOURCES: u32 = 8;
/// Of the congested link.
const RATE: BitRate = BitRate::from_gbps(10);
const PACKET: f64 = 1538.0;
const MESSAGE: f64 = 84.0;
/// Both kinds of model are looked at in intervals of this length.
const EVERY: Span = Span::from_us(10);

/// One queue and its sources.
#[derive(Clone, Copy, Debug)]
struct Setting {
    /// Of the links of sources.
    line_rate: BitRate,
    /// Of each link.
    delay: Span,
    until: Span,
}

/// Queue in bytes and mean rate of sources in Gb/s, interval by interval.
#[derive(Debug, Default)]
struct Series {
    queue: Vec<f64>,
    rate: Vec<f64>,
}

/// A series in a few numbers; all but the first from its second half.
#[derive(Debug)]
struct Summary {
    /// The largest queue, and when.
    peak: f64,
    peak_at: f64,
    /// Mean, standard deviation and largest value.
    queue: (f64, f64, f64),
    /// Mean and standard deviation.
    rate: (f64, f64),
    /// Between two passages of the queue through its mean, upwards.
    period: f64,
}

fn mean_and_deviation(values: &[f64]) -> (f64, f64) {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len() as f64;
    (mean, variance.sqrt())
}

fn largest(values: &[f64]) -> f64 {
    values.iter().copied().fold(0.0, f64::max)
}

impl Series {
    fn summary(&self) -> Summary {
        let half = &self.queue[self.queue.len() / 2..];
        let (mean, deviation) = mean_and_deviation(half);
        let passages = half.windows(2).filter(|pair| pair[0] < mean && pair[1] >= mean).count();
        let peak = largest(&self.queue);
        let peak_at = self.queue.iter().position(|queue| *queue == peak).expect("it is one of them");
        Summary {
            peak,
            peak_at: peak_at as f64 * EVERY.as_secs_f64(),
            queue: (mean, deviation, largest(half)),
            rate: mean_and_deviation(&self.rate[self.rate.len() / 2..]),
            period: half.len() as f64 * EVERY.as_secs_f64() / passages as f64,
        }
    }
}

/// `a` is within this part of `b`.
fn within(part: f64, a: f64, b: f64) -> bool {
    (a / b - 1.0).abs() <= part
}

// ── Packets ────────────────────────────────────────────────────────────────────────────────────────────────────

fn packets(setting: &Setting, point: CongestionPoint, rule: reaction::Config) -> Series {
    let mut topology = Topology::default();
    let switch = topology.add_switch("switch", "switch", 0);
    for host in 0..=SOURCES {
        let rate = if host == SOURCES { RATE } else { setting.line_rate };
        let host = topology.add_host(format!("host{host}"));
        topology.connect(host, switch, Wire::new(rate, setting.delay));
    }
    let network = network(topology, &signaling(50_000_000, point));
    let network = Network { reaction: Some(reaction(rule)), ..network };
    let pairs: Vec<_> = (0..SOURCES).map(|host| (host, SOURCES, RATE)).collect();
    let traffic = saturating(&pairs, setting.until);
    let bottleneck = link(&network, "switch", &format!("host{SOURCES}"));
    let mut watched: Vec<_> =
        (0..SOURCES).map(|host| link(&network, &format!("host{host}"), "switch")).collect();
    watched.push(bottleneck);
    let links = network.topology.links().len();
    let run = Run::new(&network, &traffic).until(setting.until);
    let outcome = run.observed(|| PortObserver::new(EVERY, links, &watched));
    assert_eq!(outcome.ports.iter().map(|port| port.dropped()).sum::<u64>(), 0);
    let intervals = (setting.until.as_ps() / EVERY.as_ps()) as usize;
    let mut series = Series { queue: vec![0.0; intervals], rate: vec![0.0; intervals] };
    for row in PortObserver::finish(outcome.observers, outcome.ended) {
        let interval = (row.start.as_ps() / EVERY.as_ps()) as usize;
        if interval < intervals && row.link == bottleneck {
            series.queue[interval] = row.mean_backlog;
        } else if interval < intervals {
            series.rate[interval] += row.bytes as f64 * 8e-9 / EVERY.as_secs_f64() / f64::from(SOURCES);
        }
    }
    series
}

// ── Fluid ──────────────────────────────────────────────────────────────────────────────────────────────────────

/// Feedback of a sample, and number of samples for each byte that arrives.
#[derive(Clone, Copy, Default)]
struct Sample {
    feedback: f64,
    per_byte: f64,
}

/// One step of integration in seconds, much shorter than all delays but those of the shortest links.
const STEP: f64 = 0.25e-6;

/// Solves the equations above. `sample` says what the queue says, given its length and by how much it grows for each byte
/// that arrives. `react` says how fast a rate in bytes a second changes, given the rate, what is heard, and messages a second.
fn fluid(
    setting: &Setting,
    mut sample: impl FnMut(f64, f64) -> Sample,
    mut react: impl FnMut(f64, f64, f64) -> f64,
) -> Series {
    let (n, capacity, line_rate) =
        (f64::from(SOURCES), RATE.as_f64() / 8.0, setting.line_rate.as_f64() / 8.0);
    let delay = setting.delay.as_secs_f64();
    let steps = |seconds: f64| (seconds / STEP).round() as usize;
    let forth = steps(delay + PACKET / line_rate + PACKET / (2.0 * capacity / n));
    let back = steps(delay + MESSAGE / line_rate);
    let (mut rates, mut samples) = (Vec::new(), Vec::new());
    let (mut rate, mut queue) = (line_rate, 0.0_f64);
    let mut queues = Vec::new();
    let end = steps(setting.until.as_secs_f64());
    for step in 0..end {
        rates.push(rate);
        let sent = |ago: usize| if step < ago { 0.0 } else { rates[step - ago] };
        let arriving = n * sent(forth);
        let growth = if queue > 0.0 || arriving > capacity { arriving - capacity } else { 0.0 };
        queue = (queue + growth * STEP).max(0.0);
        queues.push(queue);
        samples.push(if arriving > 0.0 { sample(queue, growth / arriving) } else { Sample::default() });
        let heard = if step < back { Sample::default() } else { samples[step - back] };
        rate += STEP * react(rate, heard.feedback, heard.per_byte * sent(forth + back));
        rate = rate.min(line_rate);
    }
    let means = |values: &[f64], unit: f64| -> Vec<f64> {
        let intervals = values.chunks_exact(steps(EVERY.as_secs_f64()));
        intervals.map(|interval| unit * interval.iter().sum::<f64>() / interval.len() as f64).collect()
    };
    Series { queue: means(&queues, 1.0), rate: means(&rates, 8e-9) }
}

// ── BCN ────────────────────────────────────────────────────────────────────────────────────────────────────────

const SAMPLED: f64 = 0.1;

/// BCN of 2006: S = packet/p bytes. With F = (Qeq − q − w·Δq)/unit a source hears
/// F < 0, if also q > Qeq:  dr/dt = −m·min(Gd·|F|, max_cut)·r
/// F > 0, if it was limited: dr/dt = m·Gi·F·Ru
fn bcn_fluid(setting: &Setting, point: &Bcn, rule: &bcn::Params) -> Series {
    let (set_point, w) = (point.set_point.as_f64(), point.weight);
    let sample = |queue: f64, growth: f64| {
        let (offset, delta) = (set_point - queue, growth * PACKET / SAMPLED);
        // The congestion point decides by limited values, but sends them as they are.
        let error = offset.clamp(-set_point, set_point) - w * delta.clamp(-2.0 * set_point, 2.0 * set_point);
        let silent = error < 0.0 && queue <= set_point;
        let feedback = if silent { 0.0 } else { (offset - w * delta) / rule.unit.as_f64() };
        Sample { feedback, per_byte: SAMPLED / PACKET }
    };
    let mut limited = false;
    let react = |rate: f64, feedback: f64, messages: f64| {
        limited |= feedback < 0.0;
        if feedback < 0.0 {
            -messages * (-rule.gd * feedback).min(rule.max_cut) * rate
        } else if limited {
            messages * rule.gi * feedback * rule.ru.as_f64() / 8.0
        } else {
            0.0
        }
    };
    fluid(setting, sample, react)
}

/// Packets and fluid, from sources with links of 10 Gb/s that all begin at once.
fn both_of_bcn(delay: Span) -> (Summary, Summary) {
    let (version, sampling) = (BcnVersion::Explicit, Sampling::Random(SAMPLED));
    let point = Bcn { version, sampling, ..Bcn::default() };
    let rule = bcn::Params::default();
    let setting = Setting { line_rate: RATE, delay, until: Span::from_ms(60) };
    let packets = packets(&setting, CongestionPoint::Bcn(point.clone()), reaction::Config::Bcn(rule.clone()));
    (packets.summary(), bcn_fluid(&setting, &point, &rule).summary())
}

#[test]
fn with_short_links_bcn_comes_to_rest_as_its_fluid_model_says() {
    let (packets, fluid) = both_of_bcn(Span::from_ns(500));
    let what = format!("packets {packets:?}\nfluid {fluid:?}");
    // Eight sources at line rate fill 350 kB before the first messages have slowed them down. ±15 %: messages come at random,
    // some 40 of them until then.
    assert!(within(0.15, packets.peak, fluid.peak), "{what}");
    assert!(within(0.001, fluid.queue.0, 24_000.0) && fluid.queue.1 < 10.0, "{what}");
    // Single messages move a rate by up to a tenth, and the queue by a packet or two.
    assert!(within(0.1, packets.queue.0, fluid.queue.0) && packets.queue.1 < 2.0 * PACKET, "{what}");
    assert!(within(0.005, packets.rate.0, 1.25) && within(0.005, fluid.rate.0, 1.25), "{what}");
}

#[test]
fn with_long_links_bcn_oscillates_as_its_fluid_model_says() {
    for delay in [25, 50].map(Span::from_us) {
        let (packets, fluid) = both_of_bcn(delay);
        let what = format!("{delay}\npackets {packets:?}\nfluid {fluid:?}");
        assert!(within(0.05, packets.peak, fluid.peak), "{what}");
        assert!(within(0.1, packets.peak_at, fluid.peak_at), "{what}");
        // ±15 %: sources of the model are always in step; those of packets are not quite, so their queue is empty earlier, and
        // stays so for less long.
        assert!(within(0.15, packets.queue.2, fluid.queue.2), "{what}");
        assert!(within(0.15, packets.rate.0, fluid.rate.0), "{what}");
        assert!(within(0.15, packets.rate.1, fluid.rate.1), "{what}");
        assert!(within(0.2, packets.period, fluid.period), "{what}");
        assert!(packets.queue.1 > 20_000.0 && fluid.queue.1 > 20_000.0, "{what}");
    }
}

// ── QCN ────────────────────────────────────────────────────────────────────────────────────────────────────────

/// QCN with byte stages alone, after Alizadeh et al. (Allerton 2008): S is what the last sample says. With u the quantised
/// feedback, if there is any, and x = BC/S the messages expected in a byte stage,
/// dC/dt = −m·Gd·u·C + e·(T − C)/2
/// dT/dt = −m·(T − C) + e·exp(−F·x)·R_AI
/// where e = m/(exp(x) − 1) are the byte stages a second: a stage ends if no message comes for BC bytes, fast recovery if
/// none comes for F of them. m and x go to zero together; then e = C/BC.
fn qcn_fluid(setting: &Setting, point: &Qcn, rule: &qcn::Params) -> Series {
    let (set_point, w) = (point.set_point.as_f64(), point.weight);
    let worst = set_point * (2.0 * w + 1.0);
    let mut spacing = point.sample_base.as_f64();
    let sample = |queue: f64, growth: f64| {
        let feedback = set_point - queue - w * growth * spacing;
        let quantised = (63.0 * (-feedback).clamp(0.0, worst) / worst).floor();
        let per_byte = if quantised > 0.0 { 1.0 / spacing } else { 0.0 };
        // IEEE 802.1Qau, table 30-1.
        let kilobytes = [150.0, 75.0, 50.0, 37.5, 30.0, 25.0, 21.5, 18.5];
        spacing = 1e3 * kilobytes[quantised as usize >> 3];
        Sample { feedback: quantised, per_byte }
    };
    let (line_rate, stage) = (setting.line_rate.as_f64() / 8.0, rule.byte_reset.as_f64());
    let (mut target, mut limited) = (line_rate, false);
    let react = |rate: f64, feedback: f64, messages: f64| {
        limited |= messages > 0.0;
        if !limited {
            return 0.0;
        }
        let expected = messages * stage / rate;
        let stages = if expected < 1e-6 { rate / stage } else { messages / (expected.exp() - 1.0) };
        let above = target - rate;
        let raise = (-f64::from(rule.threshold) * expected).exp() * rule.ai_rate.as_f64() / 8.0;
        target = (target + STEP * (stages * raise - messages * above)).min(line_rate);
        stages * above / 2.0 - messages * rule.gd * feedback * rate
    };
    fluid(setting, sample, react)
}

/// Packets and fluid, from sources with links of 1.5 Gb/s: not far from the 1.25 Gb/s that each will get, since from line
/// rate a long way down QCN without timers takes hours to come back.
fn both_of_qcn(delay: Span) -> (Summary, Summary) {
    let point = Qcn::default();
    let rule = qcn::Params { time_reset: Span::from_secs(100), ..Default::default() };
    let setting = Setting { line_rate: BitRate::from_mbps(1500), delay, until: Span::from_ms(200) };
    let packets = packets(&setting, CongestionPoint::Qcn(point.clone()), reaction::Config::Qcn(rule.clone()));
    (packets.summary(), qcn_fluid(&setting, &point, &rule).summary())
}

#[test]
fn with_short_links_qcn_comes_to_rest_as_its_fluid_model_says() {
    for delay in [1, 100].map(Span::from_us) {
        let (packets, fluid) = both_of_qcn(delay);
        let what = format!("{delay}\npackets {packets:?}\nfluid {fluid:?}");
        assert!(within(0.1, packets.peak, fluid.peak), "{what}");
        assert!(within(0.15, packets.peak_at, fluid.peak_at), "{what}");
        // Without noise the queue rests where feedback begins to be sent, a quantum of 2 kB above the set point.
        assert!(within(0.15, packets.queue.0, fluid.queue.0), "{what}");
        assert!(packets.queue.1 < 2.0 * PACKET && fluid.queue.1 < 2.0 * PACKET, "{what}");
        assert!(within(0.005, packets.rate.0, 1.25) && within(0.005, fluid.rate.0, 1.25), "{what}");
    }
}

#[test]
fn with_long_links_qcn_slows_down_too_much_as_its_fluid_model_says() {
    for delay in [200, 250].map(Span::from_us) {
        let (packets, fluid) = both_of_qcn(delay);
        let what = format!("{delay}\npackets {packets:?}\nfluid {fluid:?}");
        assert!(within(0.03, packets.peak, fluid.peak), "{what}");
        assert!(within(0.05, packets.peak_at, fluid.peak_at), "{what}");
        // Cuts go on for a round trip after the queue has begun to shrink. Sources that happen to be cut less than the mean
        // recover sooner, the sooner the faster they are, so packets are ahead of the model, by no more than twice.
        assert!(packets.queue.0 < PACKET && fluid.queue.0 < PACKET, "{what}");
        assert!((1.0..2.0).contains(&(packets.rate.0 / fluid.rate.0)) && packets.rate.0 < 0.8, "{what}");
    }
}
