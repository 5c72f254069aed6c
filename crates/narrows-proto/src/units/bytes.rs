use std::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};

use super::text::{Kind, quantity_text};

/// An amount of data.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bytes(u64);

const KIND: Kind = Kind {
    expected: "a size with a unit, such as \"9 MB\" or \"64 KiB\"",
    step: "1 B",
    decimal: &[
        ("PB", 1_000_000_000_000_000),
        ("TB", 1_000_000_000_000),
        ("GB", 1_000_000_000),
        ("MB", 1_000_000),
        ("kB", 1_000),
        ("B", 1),
    ],
    binary: &[("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)],
    synonyms: &[("KB", 1_000)],
};

quantity_text!(
    Bytes,
    KIND,
    "Bytes",
    r"^\s*[0-9][0-9_.]*([eE][+-]?[0-9]+)?\s*(B|kB|KB|MB|GB|TB|PB|KiB|MiB|GiB|TiB)\s*$",
    ["9 MB", "64 KiB"]
);

impl Bytes {
    /// Nothing.
    pub const ZERO: Self = Self(0);
    /// More than anything: "no limit".
    pub const MAX: Self = Self(u64::MAX);

    /// An amount of `bytes`.
    pub const fn new(bytes: u64) -> Self {
        Self(bytes)
    }

    /// The plain number.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// As a double; exact below 2^53.
    pub fn as_f64(self) -> f64 {
        self.0 as f64
    }

    /// Rounded down; zero below zero and for NaN, [`Bytes::MAX`] above the range.
    pub fn from_f64(bytes: f64) -> Self {
        Self(bytes as u64)
    }

    /// This amount without `other`, zero if `other` is larger.
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// Both together, [`Bytes::MAX`] beyond the range.
    pub const fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// This amount `times` over, [`Bytes::MAX`] beyond the range.
    pub const fn saturating_mul(self, times: u64) -> Self {
        Self(self.0.saturating_mul(times))
    }

    /// Number of pieces of `piece` it takes, the last one perhaps smaller.
    ///
    /// # Panics
    /// If `piece` is zero.
    pub const fn div_ceil(self, piece: Self) -> u64 {
        self.0.div_ceil(piece.0)
    }
}

impl Add for Bytes {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl AddAssign for Bytes {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl Sub for Bytes {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl SubAssign for Bytes {
    fn sub_assign(&mut self, other: Self) {
        self.0 -= other.0;
    }
}

impl Mul<u64> for Bytes {
    type Output = Self;
    fn mul(self, times: u64) -> Self {
        Self(self.0 * times)
    }
}

/// Rounds down.
impl Div<u64> for Bytes {
    type Output = Self;
    fn div(self, parts: u64) -> Self {
        Self(self.0 / parts)
    }
}

impl std::iter::Sum for Bytes {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        amounts.fold(Self::ZERO, Add::add)
    }
}
