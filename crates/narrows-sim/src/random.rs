//! Random streams: one root seed, one named stream per thing that needs one.
//!
//! Because a stream belongs to one node, flow or generator, adding a link or a thread never changes what another draws.

pub(crate) use narrows_proto::split_mix::mix;
use narrows_proto::units::Span;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// Purpose of a stream. The numbers are part of the results: never reuse one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Purpose {
    /// Order of simultaneous arrivals at a node.
    TieOrder = 1,
    /// Hash salt of a switch.
    EcmpSalt = 2,
    /// Choice of a path for each packet.
    Spray = 3,
    /// RED.
    Marking = 4,
    /// Bit errors of a link.
    LinkErrors = 5,
    /// A traffic generator.
    Workload = 6,
    /// A client that starts one flow after the other, or an on–off source.
    Client = 7,
    /// Which frames congestion points sample.
    Sampling = 8,
    /// Limiters of flows.
    Limiter = 9,
    /// A client that issues remote procedure calls.
    Rpc = 10,
    /// Near-source loops of flows.
    NearSource = 11,
    /// When the periods of a switch begin.
    Rack = 12,
    /// The clock of a host, and when its bursts begin.
    Host = 13,
    /// Delay with which a host starts what is scheduled.
    Start = 14,
    /// Which flow a congested queue names.
    Naming = 15,
    /// Salt of the hash of flow queues.
    FlowHash = 16,
    /// Losses in bursts on a link.
    BurstLoss = 20,
    /// Additions to the delay of packets on a link.
    Jitter = 21,
    /// Which packets come late on a link.
    Late = 22,
    /// When the slots of a link are.
    Slots = 23,
    /// Paths of flowlets, and the salt of their table.
    Flowlets = 30,
    /// Ports that adaptive choice draws.
    Adaptive = 31,
    /// Which packet is trimmed.
    Trimming = 32,
}

/// A reproducible stream of random numbers, the same on every platform (`ChaCha8`).
#[derive(Clone, Debug)]
pub struct Stream(ChaCha8Rng);

impl Stream {
    /// The stream number `index` for `purpose` in the run with this seed.
    pub fn new(seed: u64, purpose: Purpose, index: u64) -> Self {
        let mut generator = ChaCha8Rng::seed_from_u64(seed);
        generator.set_stream((purpose as u64) << 48 | index);
        Self(generator)
    }

    /// Another stream of the same purpose and index, for a second thing that draws there.
    pub(crate) fn beside(&self) -> Self {
        let mut generator = self.0.clone();
        generator.set_stream(self.0.get_stream() | 1 << 47);
        Self(generator)
    }

    /// Any 64 bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number in [0, 1), of 2^53 equally likely ones.
    #[inline]
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// A number below `bound`, all equally likely (to within 2^-64 · bound).
    ///
    /// # Panics
    /// If `bound` is zero.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        assert!(bound > 0, "there is no number below zero");
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }

    /// An exponentially distributed time with this mean.
    pub fn exponential(&mut self, mean: Span) -> Span {
        Span::from_secs_f64(-libm::log(1.0 - self.uniform()) * mean.as_secs_f64())
    }

    /// Puts `items` into a random order, all orders equally likely.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u64 + 1) as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_reproducible_and_distinct() {
        let draw = |seed, purpose, index| Stream::new(seed, purpose, index).bits();
        assert_eq!(draw(1, Purpose::Spray, 0), draw(1, Purpose::Spray, 0));
        assert_ne!(draw(1, Purpose::Spray, 0), draw(2, Purpose::Spray, 0));
        assert_ne!(draw(1, Purpose::Spray, 0), draw(1, Purpose::Spray, 1));
        assert_ne!(draw(1, Purpose::Spray, 0), draw(1, Purpose::Marking, 0));
    }

    #[test]
    fn the_values_never_change_between_versions() {
        // A different number here changes the results of every scenario.
        assert_eq!(Stream::new(1, Purpose::Workload, 0).bits(), 631_543_524_276_624_035);
    }

    #[test]
    fn exponential_times_have_the_mean_asked_for() {
        let mut stream = Stream::new(1, Purpose::Workload, 0);
        let draws = 100_000_u32;
        let sum: Span = (0..draws).map(|_| stream.exponential(Span::from_us(10))).sum();
        // ±1 %: three standard deviations of the mean of 10^5 draws.
        let mean = sum.as_secs_f64() / f64::from(draws);
        assert!((mean / 10e-6 - 1.0).abs() < 0.01, "{mean}");
    }

    #[test]
    fn shuffling_keeps_every_item() {
        let mut items: Vec<u32> = (0..100).collect();
        Stream::new(1, Purpose::Workload, 0).shuffle(&mut items);
        assert_ne!(items, (0..100).collect::<Vec<_>>());
        items.sort_unstable();
        assert_eq!(items, (0..100).collect::<Vec<_>>());
    }
}
