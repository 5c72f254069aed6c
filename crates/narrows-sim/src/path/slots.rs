//! Slots: packets arrive in bunches, as where a medium is shared.
//!
//! A packet that has come so far waits for the next slot, and all that wait then arrive together, as many as fit; the others wait for
//! the slot after that. Wi-Fi sends frames in aggregates when it has won the channel; cable grants upstream time in intervals; both bunch
//! acknowledgments. At a rate of C and a gap of S a train covers C·S.
//!
//! With `keep` = `last_ack` an acknowledgment that waits with a newer one of its flow is discarded, unless it says something that the
//! newer one does not: it has selective acknowledgments, or its ECN feedback is another.

use narrows_proto::cc::{OutOfRange, Ranges};
use narrows_proto::units::{Bytes, Span, Time};

use crate::random::{Purpose, Stream};

/// Slots in which packets arrive.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Slots {
    /// Time from one slot to the next.
    pub gap: Gap,
    /// The most packets of a slot; no limit if left out.
    pub max_packets: Option<u32>,
    /// The most bytes of a slot; no limit if left out. A packet that is larger has a slot for itself.
    pub max_bytes: Option<Bytes>,
    /// Packets of a slot that arrive.
    #[serde(default)]
    pub keep: Keep,
}

/// Time from one slot to the next.
#[derive(Clone, Copy, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Gap {
    /// Always the same.
    Fixed(Span),
    /// All times between two equally likely.
    Uniform {
        /// The least.
        least: Span,
        /// The most.
        most: Span,
    },
    /// Exponentially distributed: slots come at random.
    Exponential {
        /// The mean.
        mean: Span,
    },
}

/// Packets of a slot that arrive.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Keep {
    /// All.
    #[default]
    All,
    /// Of the acknowledgments of a flow only the last, where it says all that the others do.
    LastAck,
}

impl Gap {
    /// A time that it seldom exceeds.
    pub(super) fn mostly(self) -> Span {
        match self {
            Self::Fixed(most) | Self::Uniform { most, .. } => most,
            Self::Exponential { mean } => mean.saturating_mul(8),
        }
    }
}

impl Slots {
    /// Whether its settings are in their ranges, which it declares.
    ///
    /// # Errors
    /// The first that is not.
    pub fn check(&self, ranges: &mut Ranges) -> Result<(), OutOfRange> {
        let fits = |span: Span| (Span::from_ns(1)..=Span::from_secs(60)).contains(&span);
        match self.gap {
            Gap::Fixed(gap) => ranges.unless(fits(gap), "gap.fixed", gap, "1 ns to 60 s")?,
            Gap::Uniform { least, most } => {
                ranges.unless(fits(most), "gap.uniform.most", most, "1 ns to 60 s")?;
                ranges.unless(least <= most, "gap.uniform.least", least, "at most `most`")?;
            }
            Gap::Exponential { mean } => {
                ranges.unless(fits(mean), "gap.exponential.mean", mean, "1 ns to 60 s")?;
            }
        }
        let packets = self.max_packets.unwrap_or(1);
        ranges.unless(packets > 0, "max_packets", packets, "at least 1")?;
        let bytes = self.max_bytes.unwrap_or(Bytes::new(1));
        ranges.unless(bytes > Bytes::ZERO, "max_bytes", bytes, "at least 1 B")
    }
}

/// More gaps than this without a packet are not drawn one by one.
const MOST_EMPTY: u32 = 64;

/// The slot that is being filled.
#[derive(Debug)]
pub(super) struct Filling {
    gap: Gap,
    max_packets: u32,
    max_bytes: u64,
    random: Stream,
    at: Time,
    packets: u32,
    bytes: u64,
}

impl Filling {
    pub(super) fn new(slots: &Slots, seed: u64, link: u64) -> Self {
        let random = Stream::new(seed, Purpose::Slots, link);
        let max_packets = slots.max_packets.unwrap_or(u32::MAX);
        let max_bytes = slots.max_bytes.map_or(u64::MAX, Bytes::get);
        Self { gap: slots.gap, max_packets, max_bytes, random, at: Time::ZERO, packets: 0, bytes: 0 }
    }

    /// When a packet arrives that has come at `time`. None arrives before the one that came before it.
    pub(super) fn take(&mut self, time: Time, size: u16) -> Time {
        let fits = self.packets == 0
            || self.packets < self.max_packets && self.bytes + u64::from(size) <= self.max_bytes;
        if time > self.at {
            self.begin_after(time);
        } else if !fits {
            let gap = self.draw();
            self.begin(self.at + gap);
        }
        self.packets += 1;
        self.bytes += u64::from(size);
        self.at
    }

    fn begin(&mut self, at: Time) {
        (self.at, self.packets, self.bytes) = (at, 0, 0);
    }

    /// The first slot that is not before `time`.
    fn begin_after(&mut self, time: Time) {
        match self.gap {
            Gap::Fixed(gap) => {
                let gaps = (time - self.at).as_ps().div_ceil(gap.as_ps());
                self.begin(self.at + gap.saturating_mul(gaps));
            }
            // What is left of a gap is distributed as a whole one.
            Gap::Exponential { .. } => {
                let gap = self.draw();
                self.begin(time + gap);
            }
            Gap::Uniform { .. } => {
                let mut at = self.at;
                for _ in 0..MOST_EMPTY {
                    if at >= time {
                        return self.begin(at);
                    }
                    at += self.draw();
                }
                // After so many it may be anywhere in a gap.
                let part = self.random.uniform();
                let gap = self.draw();
                self.begin(at.max(time + Span::from_secs_f64(gap.as_secs_f64() * part)));
            }
        }
    }

    fn draw(&mut self) -> Span {
        match self.gap {
            Gap::Fixed(gap) => gap,
            Gap::Uniform { least, most } => {
                least + Span::from_ps(self.random.below((most - least).as_ps().saturating_add(1)))
            }
            Gap::Exponential { mean } => self.random.exponential(mean),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    fn filling(gap: Gap, max_packets: Option<u32>, max_bytes: Option<u64>) -> Filling {
        let slots = Slots { gap, max_packets, max_bytes: max_bytes.map(Bytes::new), keep: Keep::All };
        Filling::new(&slots, 1, 0)
    }

    /// Lengths of trains of packets of 1500 B that come one in each 240 us: 50 Mb/s.
    fn trains(mut filling: Filling) -> Vec<usize> {
        let arrivals: Vec<_> = (1..=10_000).map(|number| filling.take(us(240 * number), 1_500)).collect();
        assert!(arrivals.is_sorted());
        assert!((1..).zip(&arrivals).all(|(number, at)| *at >= us(240 * number)));
        arrivals.chunk_by(|a, b| a == b).map(<[Time]>::len).collect()
    }

    #[test]
    fn trains_have_what_comes_in_a_gap() {
        // 4 ms at 50 Mb/s are 16.7 packets.
        let trains = trains(filling(Gap::Fixed(Span::from_ms(4)), None, None));
        assert!(trains.iter().all(|train| (16..=17).contains(train)), "{trains:?}");
        let mean = 10_000.0 / trains.len() as f64;
        assert!((mean - 50.0 / 3.0).abs() < 0.05, "{mean}");
    }

    #[test]
    fn a_slot_holds_no_more_than_it_may() {
        // 8 packets each 1.5 ms are 64 Mb/s: enough for 50 Mb/s.
        let packets = trains(filling(Gap::Fixed(Span::from_us(1_500)), Some(8), None));
        assert!(packets.iter().all(|train| *train <= 8) && packets.contains(&7));
        // 6000 B are four packets, in any slot there are enough of them.
        let bytes = trains(filling(Gap::Fixed(Span::from_ms(2)), None, Some(7_000)));
        assert!(bytes.iter().all(|train| *train == 4), "{bytes:?}");
        // A packet that is larger than a slot has one for itself.
        let mut small = filling(Gap::Fixed(Span::from_us(10)), None, Some(100));
        assert_eq!([1, 1, 1].map(|at| small.take(us(at), 1_500)), [10, 20, 30].map(us));
    }

    #[test]
    fn random_gaps_have_their_mean() {
        // The first packet of a train waits for an exponential time, and with it what comes meanwhile: 1 + 1/(e^(0.24/4) − 1) = 17.2 packets.
        // ±15 %: 580 trains, whose deviation is about their mean, so that these are three and a half deviations.
        let exponential = trains(filling(Gap::Exponential { mean: Span::from_ms(4) }, None, None));
        let mean = 10_000.0 / exponential.len() as f64;
        assert!((mean / 17.2 - 1.0).abs() < 0.15, "{mean}");
        let (least, most) = (Span::from_ms(2), Span::from_ms(6));
        let uniform = trains(filling(Gap::Uniform { least, most }, None, None));
        let mean = 10_000.0 / uniform.len() as f64;
        // ±5 %: 600 gaps of 4 ± 1.15 ms, four deviations.
        assert!((mean / 16.7 - 1.0).abs() < 0.05, "{mean}");
        // The run ends within the last of them.
        assert!(uniform[..uniform.len() - 1].iter().all(|train| (8..=26).contains(train)), "{uniform:?}");
    }

    #[test]
    fn a_slot_after_a_long_silence_is_not_far() {
        for gap in [
            Gap::Fixed(Span::from_us(3)),
            Gap::Uniform { least: Span::ZERO, most: Span::from_us(3) },
            Gap::Exponential { mean: Span::from_ns(100) },
        ] {
            let mut filling = filling(gap, None, None);
            let at = filling.take(us(1_000_000_000), 100);
            assert!(at >= us(1_000_000_000) && at <= us(1_000_000_003), "{gap:?}: {at}");
        }
    }
}
