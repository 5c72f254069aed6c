//! Quick adapt: the window becomes what arrives, if that is far less.

use super::params::Params;
use crate::units::{Span, Time};

#[derive(Clone, Debug)]
pub(super) struct QuickAdapt {
    is_on: bool,
    /// T, in seconds, and as a span.
    target: Span,
    /// A longer delay is a sign, in seconds.
    delay: f64,
    /// The part of the largest window below which it sets in.
    below: f64,
    /// None before the first acknowledgment.
    period: Option<Period>,
    /// A packet was trimmed since it last set in.
    trimmed: bool,
    /// Bytes that were in flight when it set in and about which nothing is known yet.
    ignore: f64,
}

#[derive(Clone, Copy, Debug)]
struct Period {
    end: Time,
    /// Bytes that arrived in it.
    received: f64,
}

/// An acknowledgment. Amounts in bytes on the wire, delay in seconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    pub(super) now: Time,
    pub(super) bytes: f64,
    pub(super) marked: bool,
    pub(super) delay: f64,
}

/// Decision about an event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Verdict {
    /// The window is what arrived.
    Adapt {
        /// In bytes.
        received: f64,
    },
    /// It changes nothing.
    Ignore,
    /// The other rules apply.
    Normal,
}

impl QuickAdapt {
    pub(super) fn new(params: &Params, target: f64) -> Self {
        Self {
            is_on: params.quick_adapt,
            target: params.target(),
            delay: params.quick_delay * target,
            below: params.quick_below,
            period: None,
            trimmed: false,
            ignore: 0.0,
        }
    }

    /// A packet was trimmed since it last set in.
    #[cfg(test)]
    pub(super) fn has_sign(&self) -> bool {
        self.trimmed
    }

    /// The next acknowledgment starts the first period.
    pub(super) fn rest(&mut self) {
        self.period = None;
        self.trimmed = false;
    }

    pub(super) fn on_ack(&mut self, seen: &Seen, base: Span, largest: f64, inflight: f64) -> Verdict {
        if !self.is_on {
            return Verdict::Normal;
        }
        if let Some(period) = &mut self.period {
            period.received += seen.bytes;
        }
        if self.ignores(seen.bytes) && seen.marked {
            return Verdict::Ignore;
        }
        self.end_period(seen.now, seen.delay > self.delay, base, largest, inflight)
    }

    pub(super) fn on_trimmed(
        &mut self,
        now: Time,
        size: f64,
        base: Span,
        largest: f64,
        inflight: f64,
    ) -> Verdict {
        if !self.is_on {
            return Verdict::Normal;
        }
        self.trimmed = true;
        if self.ignores(size) {
            return Verdict::Ignore;
        }
        self.end_period(now, true, base, largest, inflight)
    }

    /// Whether this is about what was in flight when it set in.
    fn ignores(&mut self, bytes: f64) -> bool {
        self.ignore -= bytes.min(self.ignore);
        self.ignore > 0.0
    }

    fn end_period(&mut self, now: Time, sign: bool, base: Span, largest: f64, inflight: f64) -> Verdict {
        let next = Period { end: now + base + self.target, received: 0.0 };
        let Some(period) = self.period else {
            self.period = Some(next);
            return Verdict::Normal;
        };
        if now <= period.end {
            return Verdict::Normal;
        }
        self.period = Some(next);
        if !(sign || self.trimmed) || period.received >= self.below * largest {
            return Verdict::Normal;
        }
        self.trimmed = false;
        self.ignore = inflight;
        Verdict::Adapt { received: period.received }
    }
}
