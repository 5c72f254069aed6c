//! Theorem 1 (GEMINI §III-C): with F ≤ 4K/(C·RTT + K) the queue of a link never runs empty, however many flows share it.
//!
//! The proof follows N synchronized flows through one cycle of their sawtooth. Here it is the same sawtooth, without the
//! approximations of Equations 4 and 5. The folder `repro/gemini` puts packets beside it.

use narrows_proto::cc::gemini::Params;

/// Numbers of flows; two at least, because one host alone cannot fill a queue of the switch.
const FLOWS: [u64; 7] = [2, 4, 8, 16, 32, 64, 128];
/// The smallest window the theorem is tried with, in segments: it is for windows that are much larger than h.
const SMALLEST_WINDOW: f64 = 4.0;
/// The largest queue it is tried with, in packets; a port has room for 450.
const LARGEST_QUEUE: f64 = 300.0;
/// K in packets.
const THRESHOLD: f64 = 50.0;
/// In bit/s, of all links.
const CAPACITY: f64 = 1e9;
/// A full packet on the wire, in bytes.
const PACKET: u64 = 1538;
/// The queue that is drawn: round-trip time in ms, number of flows, and for how many seconds.
const DRAWN: (u64, u64) = (10, 8);
const DRAWN_FOR: f64 = 0.5;

/// N synchronized flows at one link. Everything is counted in packets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sawtooth {
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
    pub(super) fn least_queue(&self) -> f64 {
        self.largest_queue() - self.flows * self.largest_window() * self.alpha() * self.scale()
    }

    /// Part of the link that is used, in percent: a round lasts for RTT, or for as long as its window takes to be sent.
    pub(super) fn utilization_percent(&self) -> f64 {
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

/// Something about the sawtooth by number of flows; with so many times the F of the theorem.
pub(super) fn over_flows(rtt_ms: u64, excess: u64, of: fn(&Sawtooth) -> f64) -> Vec<(f64, f64)> {
    flows(rtt_ms).map(|n| (n as f64, of(&Sawtooth::new(rtt_ms, n, excess)))).collect()
}

/// The queue over time in seconds.
pub(super) fn queue(excess: u64) -> Vec<(f64, f64)> {
    let (rtt_ms, n) = DRAWN;
    Sawtooth::new(rtt_ms, n, excess).queue(DRAWN_FOR)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repro::find;

    /// All (round-trip time in ms, times the F of the theorem) that are run.
    const CASES: [(u64, u64); 6] = [(1, 1), (3, 1), (10, 1), (10, 4), (30, 1), (30, 4)];

    /// Threshold that the flows have to take for K so that their F becomes this one: 4K'/(C·RTT + K') = F.
    fn assumed_threshold(sawtooth: &Sawtooth) -> f64 {
        sawtooth.product * sawtooth.scale() / (4.0 - sawtooth.scale())
    }

    #[test]
    fn the_folder_runs_what_the_theorem_is_for_with_the_thresholds_that_make_its_factors() {
        let paper = find("gemini").unwrap();
        let run: Vec<_> = paper.experiments.iter().filter(|each| each.name.starts_with("theorem.")).collect();
        let cases = CASES.into_iter().flat_map(|(rtt, excess)| flows(rtt).map(move |n| (rtt, n, excess)));
        let cases: Vec<_> = cases.collect();
        assert_eq!(run.len(), cases.len());
        for (experiment, (rtt, n, excess)) in run.into_iter().zip(cases) {
            assert_eq!(experiment.name, format!("theorem.rtt{rtt}_n{n}_f{excess}"));
            let bytes = assumed_threshold(&Sawtooth::new(rtt, n, excess)) * PACKET as f64;
            let wanted = format!("marking_threshold = \"{bytes:.0} B\"");
            assert!(experiment.overrides.iter().any(|change| change.contains(&wanted)), "{wanted}");
        }
    }

    #[test]
    fn the_least_queue_is_about_zero_where_all_increases_together_are_the_threshold() {
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
        let assumed = assumed_threshold(&sawtooth);
        assert!((4.0 * assumed / (sawtooth.product + assumed) - sawtooth.scale()).abs() < 1e-9);
        assert!((assumed_threshold(&Sawtooth::new(10, 2, 1)) - THRESHOLD).abs() < 1e-9);
    }

    #[test]
    fn a_link_is_fully_used_exactly_if_its_queue_is_never_empty() {
        for (rtt, excess) in CASES {
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
