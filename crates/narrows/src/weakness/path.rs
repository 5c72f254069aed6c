//! A path that a control is tried on: one bottleneck, the connections under test, and what else shares or changes it.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::element::{Element, Step};
use super::gene::Gene;

/// Simulated time, milliseconds.
pub(super) const LENGTH: u32 = 10_000;
/// From here on it is measured: 15 of the longest round trips after the first packet.
pub(super) const MEASURED_FROM: u32 = 3_000;
/// Part of the bytes on the wire that are payload: 1448 B of 1538 B in a full packet.
const PAYLOAD: f64 = 1448.0 / 1538.0;
/// Four full packets: no control can do with less.
const SMALLEST_BUFFER: u64 = 6_200;

/// Rates of the bottleneck, kb/s.
pub(super) const RATE: Gene = Gene::new(1_000, 50_000);
/// At least that of the bottleneck where queues are managed, kb/s: their targets of 5 ms are two packet times there.
pub(super) const MANAGED_RATE: u32 = 5_000;
/// Buffers, hundredths of the bandwidth-delay product.
pub(super) const BUFFER: Gene = Gene::new(10, 1_600);
/// Packets that are lost in a row, on the mean, if not each by itself.
pub(super) const RUN: Gene = Gene::new(2, 50);
/// Thresholds of step marking, hundredths of the bandwidth-delay product.
pub(super) const THRESHOLD: Gene = Gene::new(5, 100);
/// Latest start of a connection under test, tenths of a second.
pub(super) const LATEST: u32 = 20;

/// A path.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Path {
    /// Rate of the bottleneck, kb/s.
    pub(super) rate: u32,
    /// Its buffer, hundredths of the bandwidth-delay product of the first connection under test.
    pub(super) buffer: u32,
    /// Packets of 100 000 that it loses at random.
    pub(super) loss: u32,
    /// So many of them in a row, on the mean; 1 if each by itself.
    pub(super) run: u32,
    /// Management of its queue.
    pub(super) queue: Queue,
    /// The connections under test.
    pub(super) tested: Vec<Flow>,
    /// Everything else.
    pub(super) elements: Vec<Element>,
}

/// Management of the queue of a bottleneck.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Queue {
    DropTail,
    Codel,
    Pie,
    FqCodel,
    DualPi2,
    /// Marks above a threshold, in hundredths of the bandwidth-delay product.
    Step(u32),
}

/// A connection under test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Flow {
    /// Its round-trip time without queues, milliseconds.
    pub(super) rtt: u32,
    /// When it starts, tenths of a second.
    pub(super) start: u32,
}

impl Path {
    /// The bandwidth-delay product of the first connection under test.
    fn bdp(&self) -> u64 {
        u64::from(self.rate) * u64::from(self.tested[0].rtt) / 8
    }

    /// A size given in hundredths of the bandwidth-delay product.
    pub(super) fn bytes(&self, hundredths: u32) -> u64 {
        self.bdp() * u64::from(hundredths) / 100
    }

    /// The buffer.
    pub(super) fn buffer_bytes(&self) -> u64 {
        self.bytes(self.buffer).max(SMALLEST_BUFFER)
    }

    /// Steps of one kind in the order of time; of two at one moment the later element counts.
    pub(super) fn steps(&self, of: fn(&Element) -> Option<Step>) -> Vec<Step> {
        let mut steps: Vec<_> = self.elements.iter().rev().filter_map(of).collect();
        // Stable: of equals the first stays, which is the later element.
        steps.sort_by_key(|step| step.at);
        steps.dedup_by_key(|step| step.at);
        steps
    }

    /// Rate of the bottleneck at a moment, kb/s.
    pub(super) fn rate_at(&self, ms: u32) -> f64 {
        self.rate_after(&self.steps(Element::as_rate), ms)
    }

    fn rate_after(&self, steps: &[Step], ms: u32) -> f64 {
        f64::from(self.rate) * f64::from(value_at(steps, ms).unwrap_or(100)) / 100.0
    }

    /// Round-trip time without queues of the fastest connection under test at a moment, milliseconds.
    pub(super) fn rtt_at(&self, ms: u32) -> f64 {
        let rtt = self.tested.iter().map(|flow| flow.rtt).min().unwrap_or_default();
        f64::from(rtt + value_at(&self.steps(Element::as_delay), ms).unwrap_or_default())
    }

    /// Goodput of a connection under test to which the path is known beforehand and that takes no more than its equal share, bit/s: the
    /// integral over the measured time of what bursts and random losses leave, divided among all connections that have started.
    pub(super) fn share(&self) -> f64 {
        let (rates, losses) = (self.steps(Element::as_rate), self.steps(Element::as_loss));
        let kept = |packets: u32| 1.0 - f64::from(packets) / 100_000.0;
        let in_a_row = if self.run > 1 { self.loss } else { 0 };
        let at = |ms: u32| {
            let taken: f64 = self.elements.iter().map(|element| element.taken(self.rate, ms)).sum();
            let others: u32 = self.elements.iter().map(|element| element.connections(ms)).sum();
            let left = (self.rate_after(&rates, ms) - taken).max(0.0) * kept(in_a_row);
            let alone = value_at(&losses, ms).unwrap_or(self.loss - in_a_row);
            left * kept(alone) / f64::from(others + self.tested.len() as u32)
        };
        let integral: f64 = (MEASURED_FROM..LENGTH).map(at).sum();
        integral / f64::from(LENGTH - MEASURED_FROM) * 1e3 * PAYLOAD
    }

    /// Kinds of parts that it has, whatever their numbers: two paths of one kind are one weakness.
    pub(super) fn kind(&self) -> Vec<String> {
        let mut kinds: Vec<_> = self.elements.iter().map(Element::kind).collect();
        kinds.push(self.queue.name().to_owned());
        let losses = if self.run > 1 { "losses in a row" } else { "loss" };
        kinds.extend((self.loss > 0).then(|| losses.to_owned()));
        kinds.sort();
        kinds.dedup();
        kinds
    }
}

/// The value of the last step so far.
fn value_at(steps: &[Step], ms: u32) -> Option<u32> {
    steps.iter().rev().find(|step| step.at * 100 <= ms).map(|step| step.to)
}

impl Queue {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::DropTail => "drop tail",
            Self::Codel => "CoDel",
            Self::Pie => "PIE",
            Self::FqCodel => "FQ-CoDel",
            Self::DualPi2 => "DualPI2",
            Self::Step(_) => "step marking",
        }
    }

    /// It has a target of some milliseconds.
    pub(super) const fn is_managed(self) -> bool {
        !matches!(self, Self::DropTail | Self::Step(_))
    }
}

/// As reports show it: one line.
impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [mbps, kb] = [f64::from(self.rate) / 1e3, self.buffer_bytes() as f64 / 1e3];
        let bdps = (self.buffer_bytes() as f64 * 100.0 / self.bdp() as f64).round() / 100.0;
        write!(f, "{mbps} Mb/s, ")?;
        let flow = |flow: &Flow| match flow.start {
            0 => format!("{} ms", flow.rtt),
            start => format!("{} ms (starts at {} s)", flow.rtt, f64::from(start) / 10.0),
        };
        let flows: Vec<_> = self.tested.iter().map(flow).collect();
        write!(f, "{}, buffer {kb:.1} kB ({bdps} BDP), {}", flows.join(" and "), self.queue.name())?;
        if let Queue::Step(k) = self.queue {
            write!(f, " at {:.1} kB", self.bytes(k) as f64 / 1e3)?;
        }
        if self.loss > 0 {
            write!(f, ", {} % random loss", f64::from(self.loss) / 1e3)?;
        }
        if self.run > 1 {
            write!(f, " ({} in a row)", self.run)?;
        }
        self.elements.iter().try_for_each(|element| write!(f, ", {element}"))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::element::{Bursts, Rivals};
    use super::*;

    /// 10 Mb/s, 40 ms, 1 BDP, nobody else.
    pub(in super::super) fn plain() -> Path {
        let tested = vec![Flow { rtt: 40, start: 0 }];
        let elements = Vec::new();
        Path { rate: 10_000, buffer: 100, loss: 0, run: 1, queue: Queue::DropTail, tested, elements }
    }

    #[test]
    fn alone_the_share_is_the_payload_of_the_link() {
        let path = plain();
        assert!((path.share() - 1e7 * PAYLOAD).abs() < 1.0);
        for run in [1, 10] {
            assert!((Path { loss: 2_000, run, ..path.clone() }.share() - 0.98e7 * PAYLOAD).abs() < 1.0);
        }
    }

    #[test]
    fn rivals_divide_the_share_from_their_start_on_and_bursts_take_theirs_first() {
        let rivals = Rivals { control: "cubic".into(), flows: 3, rtt: 40, start: 65 };
        let mut path = Path { elements: vec![Element::Rivals(rivals)], ..plain() };
        // 3.5 s alone, 3.5 s with three others.
        assert!((path.share() - 1e7 * PAYLOAD * (0.5 + 0.5 / 4.0)).abs() < 1.0);
        let bursts = Bursts { percent: 40, on: 100, off: 400, start: 0 };
        path.elements = vec![Element::Bursts(bursts)];
        // 40 % for a fifth of the time.
        assert!((path.share() - 1e7 * PAYLOAD * 0.92).abs() < 1e3, "{}", path.share());
    }

    #[test]
    fn the_share_is_the_integral_of_a_rate_that_changes() {
        let rate = |at, to| Element::Rate(Step { at, to });
        // Half of 3 s to 5 s, then twice for 4 s, then half for 1 s; of two steps at 5 s the later element counts.
        let path = Path { elements: vec![rate(90, 50), rate(50, 10), rate(1, 50), rate(50, 200)], ..plain() };
        let mean = (2.0 * 0.5 + 4.0 * 2.0 + 0.5) / 7.0;
        assert!((path.share() - 1e7 * PAYLOAD * mean).abs() < 1.0, "{}", path.share());
        let delay = Element::Delay(Step { at: 50, to: 30 });
        let path = Path { elements: vec![delay], ..plain() };
        assert_eq!([path.rtt_at(4_999), path.rtt_at(5_000)], [40.0, 70.0]);
    }

    #[test]
    fn losses_that_change_are_in_place_of_single_ones_and_beside_those_in_a_row() {
        let elements = vec![Element::Loss(Step { at: 65, to: 4_000 })];
        let share =
            |run| Path { loss: 2_000, run, elements: elements.clone(), ..plain() }.share() / (1e7 * PAYLOAD);
        assert!((share(1) - f64::midpoint(0.98, 0.96)).abs() < 1e-7, "{}", share(1));
        assert!((share(5) - 0.98 * f64::midpoint(1.0, 0.96)).abs() < 1e-7, "{}", share(5));
    }

    #[test]
    fn a_path_is_described_in_one_line() {
        let rivals = Rivals { control: "cubic".into(), flows: 2, rtt: 80, start: 10 };
        let elements = vec![Element::Rivals(rivals)];
        let path = Path { loss: 1_500, elements, ..plain() };
        let expected = "10 Mb/s, 40 ms, buffer 50.0 kB (1 BDP), drop tail, 1.5 % random loss, \
                        2 × cubic (80 ms, from 1 s on)";
        assert_eq!(path.to_string(), expected);
        let path = Path { run: 8, elements: vec![Element::Loss(Step { at: 12, to: 300 })], ..path };
        let expected = "10 Mb/s, 40 ms, buffer 50.0 kB (1 BDP), drop tail, 1.5 % random loss (8 in a row), \
                        0.3 % random loss from 1.2 s on";
        assert_eq!(path.to_string(), expected);
    }
}
