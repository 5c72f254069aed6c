//! In-band network telemetry: what switches write into a packet on its way, as HPCC has it (Li et al., SIGCOMM 2019, §4.1).
//!
//! Each switch writes one record into a packet when it begins to send it. A record has 64 bits:
//!
//! ```text
//! 4 bits   code of the port's rate; none is 0
//! 24 bits  time, in ns                              wraps after 16.8 ms
//! 20 bits  bytes the port has sent, in 128 B        wraps after 134 MB
//! 16 bits  bytes that wait at the port, in 80 B     5.2 MB at the most
//! ```
//! Differs from Li et al.: codes number the rates of the network at hand, and a longer queue is recorded as the longest there is.

use crate::units::{BitRate, Bytes, Time};

/// Records fit a packet.
pub const MOST_HOPS: usize = 5;
/// Rates that codes can distinguish.
pub const MOST_RATES: usize = 15;

const TIME_BITS: u32 = 24;
const SENT_BITS: u32 = 20;
const QUEUE_BITS: u32 = 16;
/// Bytes in one unit.
const SENT_UNIT: u64 = 128;
const QUEUE_UNIT: u64 = 80;

/// Two records of a port that are less than so many ns apart can be put in order: half of the circle of times.
const LONGEST_NS: u32 = 1 << (TIME_BITS - 1);
/// Ports that may have sent more than so much in between cannot be distinguished from such that sent less.
const MOST_SENT: u64 = SENT_UNIT << SENT_BITS;

/// Record of one switch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hop {
    /// Rate of the link the packet left on.
    pub rate: BitRate,
    /// In ns, modulo 2^24.
    time: u32,
    /// In 128 B, modulo 2^20.
    sent: u32,
    /// In 80 B.
    queue: u16,
}

impl Hop {
    /// Record that a port of this `rate` writes at `now`, after it has `sent` so much in all, while `waiting` bytes wait.
    pub fn new(rate: BitRate, now: Time, sent: u64, waiting: u64) -> Self {
        Self {
            rate,
            time: (now.as_ps() / 1000) as u32 & ((1 << TIME_BITS) - 1),
            sent: (sent / SENT_UNIT) as u32 & ((1 << SENT_BITS) - 1),
            queue: u16::try_from(waiting / QUEUE_UNIT).unwrap_or(u16::MAX),
        }
    }

    /// As 64 bits, with the code of its rate.
    pub fn pack(self, code: u8) -> u64 {
        debug_assert!((1..=MOST_RATES).contains(&usize::from(code)));
        u64::from(code) << (TIME_BITS + SENT_BITS + QUEUE_BITS)
            | u64::from(self.time) << (SENT_BITS + QUEUE_BITS)
            | u64::from(self.sent) << QUEUE_BITS
            | u64::from(self.queue)
    }

    /// The record in these bits, if there is one. `rates` are by code, from 1 on.
    pub fn unpack(bits: u64, rates: &[BitRate]) -> Option<Self> {
        let code = (bits >> (TIME_BITS + SENT_BITS + QUEUE_BITS)) as usize;
        Some(Self {
            rate: *rates.get(code.checked_sub(1)?)?,
            time: (bits >> (SENT_BITS + QUEUE_BITS)) as u32 & ((1 << TIME_BITS) - 1),
            sent: (bits >> QUEUE_BITS) as u32 & ((1 << SENT_BITS) - 1),
            queue: bits as u16,
        })
    }

    /// Nanoseconds since `earlier`, a record of the same port less than 8.4 ms old; none if it is not earlier.
    pub fn ns_since(&self, earlier: &Self) -> Option<u32> {
        let ns = self.time.wrapping_sub(earlier.time) & ((1 << TIME_BITS) - 1);
        (ns > 0 && ns < LONGEST_NS).then_some(ns)
    }

    /// Bytes sent since `earlier`, a record of the same port, to about 128 B.
    pub fn sent_since(&self, earlier: &Self) -> Bytes {
        let units = self.sent.wrapping_sub(earlier.sent) & ((1 << SENT_BITS) - 1);
        Bytes::new(u64::from(units) * SENT_UNIT)
    }

    /// Queue length, rounded down to 80 B.
    pub fn queue(&self) -> Bytes {
        Bytes::new(u64::from(self.queue) * QUEUE_UNIT)
    }
}

/// Records that switches wrote into a packet on its way, in the order of switches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Telemetry {
    /// The same for packets that took the same way. 12 bits.
    pub path: u16,
    count: u8,
    hops: [Hop; MOST_HOPS],
}

impl Telemetry {
    /// With these records; no more than [`MOST_HOPS`] are kept.
    pub fn new(path: u16, hops: impl IntoIterator<Item = Hop>) -> Self {
        let mut telemetry = Self { path, ..Self::default() };
        for (place, hop) in telemetry.hops.iter_mut().zip(hops) {
            *place = hop;
            telemetry.count += 1;
        }
        telemetry
    }

    /// The records.
    pub fn hops(&self) -> &[Hop] {
        &self.hops[..usize::from(self.count)]
    }

    /// It and an earlier one `ns` before it are of the same ports, and near enough that no counter went round between them.
    pub fn follows(&self, earlier: &Self, ns: u64) -> bool {
        let near = |hop: &Hop| {
            u128::from(hop.rate.as_bps()) * u128::from(ns) < u128::from(MOST_SENT) * 8_000_000_000
        };
        self.path == earlier.path
            && self.count == earlier.count
            && self.count > 0
            && ns < u64::from(LONGEST_NS)
            && self.hops().iter().all(near)
    }
}

/// The latest telemetry of a flow, with which the next is compared.
#[derive(Clone, Debug, Default)]
pub struct Latest {
    at: Time,
    telemetry: Telemetry,
}

/// Outcome of a comparison with the latest telemetry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received {
    /// It is older than what is known.
    Nothing,
    /// It follows no other and is only kept.
    Kept,
    /// All its records follow earlier ones.
    Measured,
}

impl Latest {
    /// Calls `each` with every record that arrives at `now`, the one of the same port before it, and the ns between them. Only if
    /// [`Received::Measured`] is the outcome it has seen all.
    #[inline]
    pub fn compare(
        &mut self,
        now: Time,
        telemetry: &Telemetry,
        mut each: impl FnMut(&Hop, &Hop, u32),
    ) -> Received {
        let gap = now.saturating_since(self.at).as_ps() / 1000;
        let follows = telemetry.follows(&self.telemetry, gap);
        if follows {
            for (hop, before) in telemetry.hops().iter().zip(self.telemetry.hops()) {
                // Answers that overtook each other: the newer one was received.
                let Some(ns) = hop.ns_since(before) else { return Received::Nothing };
                each(hop, before, ns);
            }
        }
        *self = Self { at: now, telemetry: *telemetry };
        if follows { Received::Measured } else { Received::Kept }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Span;

    const RATE: BitRate = BitRate::from_gbps(100);

    fn at(ns: u64) -> Time {
        Time::ZERO + Span::from_ns(ns)
    }

    #[test]
    fn a_record_survives_its_64_bits() {
        let hop = Hop::new(RATE, at(0xabcdef), 0x12345 * 128, 0x6789 * 80);
        assert_eq!(hop.pack(2), 0x2abc_def1_2345_6789);
        let rates = [BitRate::from_gbps(25), RATE];
        assert_eq!(Hop::unpack(hop.pack(2), &rates), Some(hop));
        assert_eq!((Hop::unpack(0, &rates), Hop::unpack(3 << 60, &rates)), (None, None));
    }

    #[test]
    fn units_are_rounded_down_and_long_queues_recorded_as_the_longest() {
        assert_eq!(Hop::new(RATE, at(0), 0, 159).queue(), Bytes::new(80));
        assert_eq!(Hop::new(RATE, at(0), 0, 1 << 40).queue(), Bytes::new(65_535 * 80));
        let (before, after) = (Hop::new(RATE, at(0), 127, 0), Hop::new(RATE, at(1), 128, 0));
        assert_eq!(after.sent_since(&before), Bytes::new(128));
    }

    #[test]
    fn differences_are_right_where_times_and_counters_go_round() {
        // 2^24 ns and 2^20 · 128 B.
        let before = Hop::new(RATE, at((1 << 24) - 100), (1 << 27) - 1280, 0);
        let after = Hop::new(RATE, at((1 << 24) + 50), (1 << 27) + 640, 0);
        assert_eq!((after.ns_since(&before), after.sent_since(&before)), (Some(150), Bytes::new(1920)));
        assert_eq!((before.ns_since(&after), before.ns_since(&before)), (None, None));
    }

    #[test]
    fn records_of_another_way_or_of_long_ago_do_not_follow() {
        let hop = |ns| Hop::new(RATE, at(ns), 0, 0);
        let one = |path, ns| Telemetry::new(path, [hop(ns)]);
        assert!(one(1, 1000).follows(&one(1, 0), 1000));
        assert!(!one(1, 1000).follows(&one(2, 0), 1000));
        assert!(!one(1, 1000).follows(&Telemetry::new(1, [hop(0), hop(0)]), 1000));
        // Half of 16.8 ms; 134 MB take 10.7 ms at 100 Gb/s, 2.7 ms at 400 Gb/s.
        assert!(one(1, 0).follows(&one(1, 0), 8_388_607) && !one(1, 0).follows(&one(1, 0), 8_388_608));
        let fast = Telemetry::new(1, [Hop { rate: BitRate::from_gbps(400), ..hop(0) }]);
        assert!(fast.follows(&fast, 2_684_354) && !fast.follows(&fast, 2_684_355));
    }

    #[test]
    fn five_records_are_kept() {
        let hop = Hop::new(RATE, at(0), 0, 0);
        assert_eq!(Telemetry::new(0, [hop; 7]).hops().len(), 5);
    }
}
