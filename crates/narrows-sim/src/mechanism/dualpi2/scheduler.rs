//! Which of the two queues sends next (RFC 9332 §4.2.2).

use narrows_proto::cc::{OutOfRange, Ranges};
use narrows_proto::units::Span;

/// Which of the two queues sends next. L4S goes first, but cannot starve classic traffic.
#[derive(Clone, Copy, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scheduler {
    /// Classic traffic gets a small part of the link at least (weighted round robin).
    Weighted(Weighted),
    /// The packet that has waited longer goes first, but L4S packets as if they had come earlier.
    TimeShifted(TimeShifted),
}

/// Weighted round robin by bytes.
#[derive(Clone, Copy, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Weighted {
    /// Part of the link that classic traffic gets at least while both queues wait; 1/16 (§4.2.2).
    pub classic: f64,
}

/// Time-shifted FIFO.
#[derive(Clone, Copy, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TimeShifted {
    /// Head start of L4S packets, tshift; 50 ms (App. A.2).
    pub shift: Span,
}

impl Default for Scheduler {
    fn default() -> Self {
        Self::Weighted(Weighted::default())
    }
}

impl Default for Weighted {
    fn default() -> Self {
        Self { classic: 1.0 / 16.0 }
    }
}

impl Default for TimeShifted {
    fn default() -> Self {
        Self { shift: Span::from_ms(50) }
    }
}

impl Scheduler {
    pub(super) fn check(self, ranges: &mut Ranges) -> Result<(), OutOfRange> {
        let weighted = if let Self::Weighted(weighted) = self { weighted } else { Weighted::default() };
        let Weighted { classic } = weighted;
        ranges.unless(
            (0.001..=0.999).contains(&classic),
            "scheduler.weighted.classic",
            classic,
            "0.001 to 0.999",
        )
    }
}

/// State of a scheduler.
#[derive(Clone, Debug)]
pub(super) enum Turns {
    /// L sends while `credit` is not above zero. Bytes of L raise it by `classic` each while C waits, bytes of C lower it by `l4s` each
    /// while L waits (as in Linux `sch_dualpi2`).
    Weighted {
        credit: i64,
        classic: i64,
        l4s: i64,
        start: i64,
    },
    TimeShifted {
        shift: Span,
    },
}

impl Turns {
    /// `largest` is the largest packet.
    pub(super) fn new(scheduler: Scheduler, largest: u64) -> Self {
        match scheduler {
            Scheduler::Weighted(Weighted { classic }) => {
                let classic = (classic * 65_536.0) as i64;
                let l4s = 65_536 - classic;
                let start = largest as i64 * (classic - l4s);
                Self::Weighted { credit: start, classic, l4s, start }
            }
            Scheduler::TimeShifted(TimeShifted { shift }) => Self::TimeShifted { shift },
        }
    }

    /// Both queues have packets, whose first have waited so long: whether L sends.
    #[inline]
    pub(super) fn l4s_first(&self, l4s: Span, classic: Span) -> bool {
        match *self {
            Self::Weighted { credit, .. } => credit <= 0,
            Self::TimeShifted { shift } => l4s + shift >= classic,
        }
    }

    /// A packet of this size is sent while the other queue has packets, too.
    #[inline]
    pub(super) fn charge(&mut self, from_l4s: bool, size: u16) {
        if let Self::Weighted { credit, classic, l4s, .. } = self {
            let size = i64::from(size);
            *credit += if from_l4s { *classic * size } else { -*l4s * size };
        }
    }

    /// The link has run out of packets.
    pub(super) fn reset(&mut self) {
        if let Self::Weighted { credit, start, .. } = self {
            *credit = *start;
        }
    }
}
