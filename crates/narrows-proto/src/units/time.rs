use std::ops::{Add, AddAssign, Div, Mul, Sub};

use super::text::{Kind, quantity_text};

/// A moment: picoseconds since the run began.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(u64);

/// A length of time in picoseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span(u64);

const PS_PER_SECOND: u64 = 1_000_000_000_000;

const KIND: Kind = Kind {
    expected: "a time with a unit, such as \"5 ms\"",
    step: "1 ps",
    decimal: &[("s", PS_PER_SECOND), ("ms", 1_000_000_000), ("us", 1_000_000), ("ns", 1_000), ("ps", 1)],
    binary: &[],
    synonyms: &[
        ("µs", 1_000_000),
        ("μs", 1_000_000),
        ("min", 60 * PS_PER_SECOND),
        ("h", 3600 * PS_PER_SECOND),
    ],
};

quantity_text!(
    Time,
    KIND,
    "Time",
    r"^\s*[0-9][0-9_.]*([eE][+-]?[0-9]+)?\s*(ps|ns|us|µs|μs|ms|s|min|h)\s*$",
    ["0 s", "200 ms"]
);
quantity_text!(
    Span,
    KIND,
    "Span",
    r"^\s*[0-9][0-9_.]*([eE][+-]?[0-9]+)?\s*(ps|ns|us|µs|μs|ms|s|min|h)\s*$",
    ["5 ms", "1 us"]
);

impl Time {
    /// The beginning of the run.
    pub const ZERO: Self = Self(0);
    /// Later than every event: "not scheduled".
    pub const NEVER: Self = Self(u64::MAX);

    /// The moment `ps` picoseconds after the beginning.
    pub const fn from_ps(ps: u64) -> Self {
        Self(ps)
    }

    /// Picoseconds since the beginning.
    pub const fn as_ps(self) -> u64 {
        self.0
    }

    /// Seconds since the beginning, rounded to the nearest double.
    pub fn as_secs_f64(self) -> f64 {
        Span(self.0).as_secs_f64()
    }

    /// The time since `earlier`, zero if that lies ahead.
    pub const fn saturating_since(self, earlier: Self) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

impl Span {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// Longer than any run.
    pub const MAX: Self = Self(u64::MAX);

    /// A span of `ps` picoseconds.
    pub const fn from_ps(ps: u64) -> Self {
        Self(ps)
    }

    /// A span of `ns` nanoseconds.
    pub const fn from_ns(ns: u64) -> Self {
        Self(ns * 1_000)
    }

    /// A span of `us` microseconds.
    pub const fn from_us(us: u64) -> Self {
        Self(us * 1_000_000)
    }

    /// A span of `ms` milliseconds.
    pub const fn from_ms(ms: u64) -> Self {
        Self(ms * 1_000_000_000)
    }

    /// A span of `s` seconds.
    pub const fn from_secs(s: u64) -> Self {
        Self(s * PS_PER_SECOND)
    }

    /// The nearest whole number of picoseconds; zero below zero and for NaN, [`Span::MAX`] above the range.
    pub fn from_secs_f64(seconds: f64) -> Self {
        Self((seconds * PS_PER_SECOND as f64 + 0.5) as u64)
    }

    /// Its picoseconds.
    pub const fn as_ps(self) -> u64 {
        self.0
    }

    /// Its seconds, rounded to the nearest double.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / PS_PER_SECOND as f64
    }

    /// This span without `other`, zero if `other` is longer.
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// This span `times` over, [`Span::MAX`] if that leaves the range.
    pub const fn saturating_mul(self, times: u64) -> Self {
        Self(self.0.saturating_mul(times))
    }

    /// This span and `other`, or `None` beyond the range.
    pub fn checked_add(self, other: Self) -> Option<Self> {
        self.0.checked_add(other.0).map(Self)
    }
}

/// Saturates at [`Time::NEVER`].
impl Add<Span> for Time {
    type Output = Self;
    fn add(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl AddAssign<Span> for Time {
    fn add_assign(&mut self, span: Span) {
        *self = *self + span;
    }
}

/// Panics if the right side is the later one; see [`Time::saturating_since`].
impl Sub for Time {
    type Output = Span;
    fn sub(self, earlier: Self) -> Span {
        Span(self.0 - earlier.0)
    }
}

/// Saturates at [`Span::MAX`].
impl Add for Span {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Span {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Span {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl Mul<u64> for Span {
    type Output = Self;
    fn mul(self, times: u64) -> Self {
        Self(self.0 * times)
    }
}

/// Rounds down.
impl Div<u64> for Span {
    type Output = Self;
    fn div(self, parts: u64) -> Self {
        Self(self.0 / parts)
    }
}

impl std::iter::Sum for Span {
    fn sum<I: Iterator<Item = Self>>(spans: I) -> Self {
        spans.fold(Self::ZERO, Add::add)
    }
}
