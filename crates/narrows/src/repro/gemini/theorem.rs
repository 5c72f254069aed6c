//! Theorem 1 (GEMINI §III-C): with F ≤ 4K/(C·RTT + K) the queue of a link never runs empty, however many flows share it.
//!
//! The proof follows N synchronised flows through one cycle of their sawtooth. Here the same sawtooth, without the
//! approximations of Equations 4 and 5, stands beside packets.

use narrows_proto::cc::gemini::Params;
use narrows_proto::units::Time;

use super::figures::chart;
use super::{DCN, PACKET, base_rtt, cc, marking};
use crate::repro::{
    Chart, Curve, Experiment, Figure, Measure, Measured, Points, Reference, Style, link, owned,
};
use crate::results::Results;

/// Round-trip times in ms.
const ROUND_TRIPS: [u64; 4] = [1, 3, 10, 30];
/// Numbers of flows; two at least, because one host alone cannot fill a queue of the switch.
const FLOWS: [u64; 7] = [2, 4, 8, 16, 32, 64, 128];
/// How many times the F of the theorem is tried, and with which round-trip times.
const TOO_MUCH: u64 = 4;
const LONG_ROUND_TRIPS: [u64; 2] = [10, 30];
/// The smallest window the theorem is tried with, in segments: it is for windows that are much larger than h.
const SMALLEST_WINDOW: f64 = 4.0;
/// The largest queue it is tried with, in packets; a port has room for 450.
const LARGEST_QUEUE: f64 = 300.0;
/// K in packets.
const THRESHOLD: f64 = 50.0;
/// In bit/s, of all links.
const CAPACITY: f64 = 1e9;
/// The run whose queue is drawn: round-trip time in ms and number of flows.
const DRAWN: (u64, u64) = (10, 8);
/// How much of it is drawn, in seconds.
const DRAWN_FOR: f64 = 0.5;

const QUANTITIES: &[&str] = &["least_queue_packets", "utilization_percent"];
const SERIES: &[&str] = &["queue"];

/// N synchronised flows at one link. Everything is counted in packets.
#[derive(Clone, Copy, Debug)]
struct Sawtooth {
    flows: f64,
    /// C·RTT.
    product: f64,
    /// The F of the flows over that of the theorem.
    excess: f64,
}

impl Sawtooth {
    fn new(rtt_ms: u64, flows: u64, excess: u64) -> Self {
        let product = CAPACITY * rtt_ms as f64 * 1e-3 / (8 * PACKET) as f64;
        Self { flows: flows as f64, product, excess: excess as f64 }
    }

    /// F.
    fn scale(&self) -> f64 {
        self.excess * 4.0 * THRESHOLD / (self.product + THRESHOLD)
    }

    /// What the flows have to take for K so that their F becomes this one: 4K'/(C·RTT + K') = F.
    fn assumed_threshold(&self) -> f64 {
        self.product * self.scale() / (4.0 - self.scale())
    }

    /// h (§III-D), in segments per round.
    fn increase(&self) -> f64 {
        let Params { increase, min_increase, max_increase, .. } = Params::default();
        (increase * self.product * (8 * PACKET) as f64).clamp(min_increase, max_increase)
    }

    /// W*, at which the queue reaches K.
    fn critical_window(&self) -> f64 {
        (self.product + THRESHOLD) / self.flows
    }

    /// W* + h.
    fn largest_window(&self) -> f64 {
        self.critical_window() + self.increase()
    }

    /// alpha from Equation 3: the part of the packets of a cycle that is sent in its last round. With the window W it is
    /// alpha²·F·(2 − alpha·F) = (2W* + h)·h/(W* + h)², whose left side rises with alpha as long as alpha·F < 4/3.
    fn alpha(&self) -> f64 {
        let (scale, h) = (self.scale(), self.increase());
        let right = (2.0 * self.critical_window() + h) * h / self.largest_window().powi(2);
        let left = |alpha: f64| alpha * alpha * scale * (2.0 - alpha * scale);
        let (mut low, mut high) = (0.0, 1.0_f64.min(1.0 / scale));
        for _ in 0..60 {
            let middle = (low + high) / 2.0;
            if left(middle) < right { low = middle } else { high = middle }
        }
        low
    }

    /// Equation 8.
    fn largest_queue(&self) -> f64 {
        THRESHOLD + self.flows * self.increase()
    }

    /// Equation 9, without its approximation. Below zero it is what is missing for a full link.
    fn least_queue(&self) -> f64 {
        self.largest_queue() - self.flows * self.largest_window() * self.alpha() * self.scale()
    }

    /// Part of the link that is used, in percent: a round lasts for RTT, or for as long as its window takes to be sent.
    fn utilization_percent(&self) -> f64 {
        let missing = (-self.least_queue()).max(0.0);
        let (least, largest) = (self.product - missing, self.product + self.largest_queue());
        let sent = (largest * largest - least * least) / 2.0;
        let full = (largest * largest - self.product * self.product) / 2.0;
        100.0 * sent / (full + self.product * missing)
    }

    /// The queue over time in seconds, from a cut on.
    fn queue(&self, until: f64) -> Vec<(f64, f64)> {
        let per_packet = (8 * PACKET) as f64 / CAPACITY;
        let step = self.flows * self.increase();
        let (mut points, mut time) = (Vec::new(), 0.0);
        let mut queue = self.least_queue();
        while time < until {
            points.push((time, queue.max(0.0)));
            time += (self.product + queue.max(0.0)) * per_packet;
            queue = if queue >= self.largest_queue() {
                self.least_queue()
            } else {
                (queue + step).min(self.largest_queue())
            };
        }
        points
    }
}

/// The numbers of flows with which the windows are large enough for the theorem, and the queue fits the buffer.
fn flows(rtt_ms: u64) -> impl Iterator<Item = u64> {
    FLOWS.into_iter().filter(move |flows| {
        let sawtooth = Sawtooth::new(rtt_ms, *flows, 1);
        sawtooth.critical_window() >= SMALLEST_WINDOW && sawtooth.largest_queue() <= LARGEST_QUEUE
    })
}

/// All (round-trip time, times the F of the theorem).
fn cases() -> impl Iterator<Item = (u64, u64)> {
    let bound = ROUND_TRIPS.into_iter().map(|rtt| (rtt, 1));
    bound.chain(LONG_ROUND_TRIPS.into_iter().map(|rtt| (rtt, TOO_MUCH)))
}

fn name(rtt_ms: u64, flows: u64, excess: u64) -> String {
    format!("theorem.rtt{rtt_ms}_n{flows}_f{excess}")
}

pub(super) fn experiments() -> Vec<Experiment> {
    let experiment = |(rtt_ms, excess): (u64, u64), flows: u64| {
        let assumed = Sawtooth::new(rtt_ms, flows, excess).assumed_threshold() * PACKET as f64;
        let control = format!(
            "{{ gemini = {{ delay = false, max_scale = 4.0, marking_threshold = \"{assumed:.0} B\" }} }}"
        );
        Experiment {
            name: name(rtt_ms, flows, excess),
            scenario: DCN.into(),
            overrides: [
                cc("many", &control),
                marking(THRESHOLD as u64),
                base_rtt(rtt_ms * 1000),
                format!("traffic.many.pattern.long_lived.flows={flows}"),
            ]
            .into_iter()
            .chain(owned(&[
                "transport.ack_every=1",
                // One flow of two needs 2500 packets in flight with the longest round trips.
                "transport.receive_window=10 MB",
                "record={ queues = { interval = \"100 us\", of = \"dc0/rack0/tor\" } }",
            ]))
            // A full window grows by a third again in half a minute, with the longest round trips.
            .chain(owned(if rtt_ms > 10 {
                &["stop.after=60 s", "measure.from=50 s"]
            } else {
                &["stop.after=20 s", "measure.from=12 s"]
            }))
            .collect(),
            quick: ((rtt_ms, flows) == DRAWN).then(|| owned(&["stop.after=12 s", "measure.from=8 s"])),
            quantities: owned(QUANTITIES),
            series: owned(SERIES),
            measure: Measure::Rust(measure),
        }
    };
    cases().flat_map(|case| flows(case.0).map(move |flows| experiment(case, flows))).collect()
}

/// The queue of the first rack's link to its border router.
fn measure(results: &Results) -> Measured {
    let mut measured = Measured::default();
    let bottleneck = link(results, ("dc0/rack0/tor", "dc0/border0"));
    let (from, interval) = match &results.plan.record.queues {
        Some((interval, _)) => (results.plan.measured.start, interval.as_ps()),
        None => (Time::NEVER, 1),
    };
    let rows = results.queues.iter().flatten();
    let rows = rows.filter(|row| row.link.index() == bottleneck && row.start >= from);
    let packets = |bytes: f64| bytes / PACKET as f64;
    let points: Vec<_> =
        rows.map(|row| ((row.start - from).as_secs_f64(), packets(row.mean_backlog))).collect();
    // Intervals without a row had nothing waiting.
    let all = results.ended.saturating_since(from).as_ps() / interval;
    let least = if (points.len() as u64) < all {
        0.0
    } else {
        points.iter().map(|point| point.1).fold(f64::INFINITY, f64::min)
    };
    measured.quantity("least_queue_packets", least);
    let sent = results.ports[bottleneck].measured_bytes as f64 * 8.0;
    measured.quantity(
        "utilization_percent",
        100.0 * sent / (CAPACITY * results.outline().measured_for().as_secs_f64()),
    );
    measured.series("queue", points.into_iter().filter(|(time, _)| *time < DRAWN_FOR));
    measured
}

pub(super) fn figure() -> Figure {
    let over_flows = |excess: u64, column: &str, theory: fn(&Sawtooth) -> f64| -> Vec<Curve> {
        let of_rtt = |rtt: u64| {
            let label = format!("{rtt} ms");
            let points = flows(rtt).map(|n| (n as f64, format!("{}.{column}", name(rtt, n, excess))));
            let computed = flows(rtt).map(|n| (n as f64, theory(&Sawtooth::new(rtt, n, excess))));
            [
                Curve { label: label.clone(), points: Points::Sweep(points.collect()) },
                Curve { label: format!("{label}, theory"), points: Points::Theory(computed.collect()) },
            ]
        };
        cases().filter(|case| case.1 == excess).flat_map(|case| of_rtt(case.0)).collect()
    };
    let lines = |what: &str, y, column, theory: fn(&Sawtooth) -> f64| {
        [(1, "F of the theorem"), (TOO_MUCH, "four times that F")].map(|(excess, which)| Chart {
            style: Style::Lines,
            ..chart(&format!("{what}, {which}"), ("flows", true), y, over_flows(excess, column, theory))
        })
    };
    let (rtt, n) = DRAWN;
    let queue = |excess: u64, title: String| {
        let packets = Points::Series(format!("{}.queue", name(rtt, n, excess)));
        let fluid = Points::Theory(Sawtooth::new(rtt, n, excess).queue(DRAWN_FOR));
        Chart {
            references: vec![Reference::Horizontal { label: "K".into(), at: THRESHOLD }],
            style: Style::Lines,
            ..chart(
                &title,
                ("time in s", false),
                "packets",
                vec![
                    Curve { label: "packets".into(), points: packets },
                    Curve { label: "theory".into(), points: fluid },
                ],
            )
        }
    };
    Figure {
        name: "Theorem 1".into(),
        title: "how far marks may reduce the window".into(),
        shows: "With F = 4K/(C·RTT + K) the queue never runs empty, however many flows share the link: the least queue is \
                nought where N·h = K, and more elsewhere. With four times that F it is empty for part of each cycle unless \
                flows are very few. K is 50 packets, round-trip times are 1 to 30 ms. Theory is the sawtooth of \
                synchronised flows without the approximations of the proof; below nought it is what the queue would \
                lack. Where windows are of a few segments only, with 64 flows and more, packets keep less than theory: it \
                is for large windows.".into(),
        tables: Vec::new(),
        charts: lines("least queue", "packets", "least_queue_packets", Sawtooth::least_queue)
            .into_iter()
            .chain(lines("utilization", "%", "utilization_percent", Sawtooth::utilization_percent))
            .chain([
                queue(1, format!("queue of {n} flows, {rtt} ms, F of the theorem")),
                queue(TOO_MUCH, format!("queue of {n} flows, {rtt} ms, four times that F")),
            ])
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_queue_is_about_nought_where_all_increases_together_are_the_threshold() {
        // h = 1.2 at 10 ms, so N = 50/1.2. Approximations of the proof (Equations 4, 5 and 7) are good to some packets.
        let sawtooth = Sawtooth { flows: 50.0 / 1.2, ..Sawtooth::new(10, 1, 1) };
        assert!((sawtooth.increase() - 1.2).abs() < 0.01);
        assert!(sawtooth.least_queue().abs() < 5.0, "{}", sawtooth.least_queue());
    }

    #[test]
    fn alpha_of_few_flows_is_that_of_equation_5() {
        // F = 4·50/862.7 = 0.2318, W* = 862.7/2 = 431.4: sqrt(1.2/(0.2318·431.4)) = 0.1095.
        let sawtooth = Sawtooth::new(10, 2, 1);
        assert!((sawtooth.alpha() - 0.1095).abs() < 0.001, "{}", sawtooth.alpha());
    }

    #[test]
    fn flows_that_take_another_threshold_have_the_scale_that_is_wanted() {
        let sawtooth = Sawtooth::new(10, 2, 4);
        let assumed = sawtooth.assumed_threshold();
        assert!((4.0 * assumed / (sawtooth.product + assumed) - sawtooth.scale()).abs() < 1e-9);
        assert!((Sawtooth::new(10, 2, 1).assumed_threshold() - THRESHOLD).abs() < 1e-9);
    }

    #[test]
    fn a_link_is_fully_used_exactly_if_its_queue_is_never_empty() {
        for (rtt, excess) in cases() {
            for n in flows(rtt) {
                let sawtooth = Sawtooth::new(rtt, n, excess);
                let full = sawtooth.utilization_percent() >= 100.0 - 1e-9;
                assert_eq!(full, sawtooth.least_queue() >= 0.0, "{sawtooth:?}");
            }
        }
    }

    #[test]
    fn a_cycle_of_the_queue_goes_from_the_least_to_the_largest() {
        let sawtooth = Sawtooth::new(10, 8, 1);
        let queue = sawtooth.queue(10.0);
        let heights = || queue.iter().map(|point| point.1);
        assert!((heights().fold(f64::INFINITY, f64::min) - sawtooth.least_queue()).abs() < 1e-9);
        assert!((heights().fold(0.0, f64::max) - sawtooth.largest_queue()).abs() < 1e-9);
    }
}
