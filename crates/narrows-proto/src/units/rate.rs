use std::ops::Mul;

use super::text::{Kind, quantity_text};
use super::{Bytes, Span};

/// A transmission rate in bit/s.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct BitRate(u64);

/// Picoseconds it takes to send one byte at one bit/s.
const PS_BITS_PER_BYTE: u64 = 8_000_000_000_000;

const KIND: Kind = Kind {
    expected: "a rate with a unit, such as \"100 Gb/s\"",
    step: "1 b/s",
    decimal: &[
        ("Tb/s", 1_000_000_000_000),
        ("Gb/s", 1_000_000_000),
        ("Mb/s", 1_000_000),
        ("kb/s", 1_000),
        ("b/s", 1),
    ],
    binary: &[],
    synonyms: &[
        ("Tbps", 1_000_000_000_000),
        ("Gbps", 1_000_000_000),
        ("Mbps", 1_000_000),
        ("kbps", 1_000),
        ("bps", 1),
        ("Tbit/s", 1_000_000_000_000),
        ("Gbit/s", 1_000_000_000),
        ("Mbit/s", 1_000_000),
        ("kbit/s", 1_000),
        ("bit/s", 1),
    ],
};

quantity_text!(
    BitRate,
    KIND,
    "BitRate",
    r"^\s*[0-9][0-9_.]*([eE][+-]?[0-9]+)?\s*[kMGT]?(b/s|bps|bit/s)\s*$",
    ["100 Gb/s", "25 Mb/s"]
);

impl BitRate {
    /// Nothing moves.
    pub const ZERO: Self = Self(0);

    /// A rate of `bits` per second.
    pub const fn from_bps(bits: u64) -> Self {
        Self(bits)
    }

    /// A rate of `mega` Mb/s.
    pub const fn from_mbps(mega: u64) -> Self {
        Self(mega * 1_000_000)
    }

    /// A rate of `giga` Gb/s.
    pub const fn from_gbps(giga: u64) -> Self {
        Self(giga * 1_000_000_000)
    }

    /// Bit/s.
    pub const fn as_bps(self) -> u64 {
        self.0
    }

    /// Bit/s as a double; exact below 2^53.
    pub fn as_f64(self) -> f64 {
        self.0 as f64
    }

    /// Rounded down; zero below zero and for NaN, the largest rate above the range.
    pub fn from_f64(bits_per_second: f64) -> Self {
        Self(bits_per_second as u64)
    }

    /// The rate at which `amount` passes in `span`, rounded down; the largest rate if `span` is zero.
    pub fn per(amount: Bytes, span: Span) -> Self {
        let bits = u128::from(amount.get()) * u128::from(PS_BITS_PER_BYTE);
        Self(
            bits.checked_div(u128::from(span.as_ps()))
                .map_or(u64::MAX, |rate| u64::try_from(rate).unwrap_or(u64::MAX)),
        )
    }

    /// Time that `amount` takes, rounded up so that no sender exceeds its rate; [`Span::MAX`] at rate zero or
    /// beyond the range.
    pub fn time_to_send(self, amount: Bytes) -> Span {
        let bits = u128::from(amount.get()) * u128::from(PS_BITS_PER_BYTE);
        let ps = if self.0 == 0 { u128::MAX } else { bits.div_ceil(u128::from(self.0)) };
        Span::from_ps(u64::try_from(ps).unwrap_or(u64::MAX))
    }

    /// This rate times a factor, rounded down.
    pub fn scaled(self, factor: f64) -> Self {
        Self::from_f64(self.as_f64() * factor)
    }

    /// The same as [`BitRate::time_to_send`] for packets, with the division done once.
    ///
    /// # Panics
    /// If the rate is below [`WireTime::MIN_RATE`] or above [`WireTime::MAX_RATE`].
    pub fn wire_time(self) -> WireTime {
        WireTime::new(self)
    }
}

/// Bytes that pass at this rate in this time, rounded down; [`Bytes::MAX`] beyond the range.
impl Mul<Span> for BitRate {
    type Output = Bytes;
    fn mul(self, span: Span) -> Bytes {
        let bytes = u128::from(self.0) * u128::from(span.as_ps()) / u128::from(PS_BITS_PER_BYTE);
        Bytes::new(u64::try_from(bytes).unwrap_or(u64::MAX))
    }
}

impl std::iter::Sum for BitRate {
    fn sum<I: Iterator<Item = Self>>(rates: I) -> Self {
        Self(rates.map(|rate| rate.0).sum())
    }
}

/// Picoseconds per byte as a 64.64 fixed-point number: serialization times without a division per packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WireTime {
    whole: u64,
    fraction: u64,
}

impl WireTime {
    /// The slowest rate a link may have.
    pub const MIN_RATE: BitRate = BitRate(1_000);
    /// The fastest rate a link may have. With it, 64 fractional bits decide every rounding exactly: a product is
    /// either whole or at least 1/rate away from a whole number, and `(65 536 + 1) · rate < 2^64`.
    pub const MAX_RATE: BitRate = BitRate(100_000_000_000_000);

    fn new(rate: BitRate) -> Self {
        assert!(
            (Self::MIN_RATE..=Self::MAX_RATE).contains(&rate),
            "{rate} is outside the range of link rates"
        );
        let fixed = (u128::from(PS_BITS_PER_BYTE) << 64) / u128::from(rate.0);
        Self { whole: (fixed >> 64) as u64, fraction: fixed as u64 }
    }

    /// Time that a packet of `size` bytes takes: exactly [`BitRate::time_to_send`].
    #[inline]
    pub const fn of(self, size: u16) -> Span {
        let fraction = (size as u128 * self.fraction as u128 + (u64::MAX as u128)) >> 64;
        Span::from_ps(size as u64 * self.whole + fraction as u64)
    }

    /// Time that any number of bytes takes: exact for a packet; for more rounded down, by less than a millionth; [`Span::MAX`] beyond the
    /// range.
    #[inline]
    pub fn of_many(self, size: u64) -> Span {
        if let Ok(size) = u16::try_from(size) {
            return self.of(size);
        }
        let fraction = (u128::from(size) * u128::from(self.fraction)) >> 64;
        let ps = u128::from(size) * u128::from(self.whole) + fraction;
        Span::from_ps(u64::try_from(ps).unwrap_or(u64::MAX))
    }
}
