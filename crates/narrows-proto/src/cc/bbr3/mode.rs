//! States, and the end of growth that leads from one to the next.

use crate::units::{BitRate, Time};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Mode {
    Startup,
    /// Since this round.
    Drain {
        since: u64,
    },
    Down,
    Cruise,
    Refill,
    Up,
    /// Until then, once the flight is small enough, and until a round has passed since.
    ProbeRtt {
        until: Option<Time>,
        round_done: bool,
    },
}

impl Mode {
    /// As observers see it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Startup => "startup",
            Self::Drain { .. } => "drain",
            Self::Down => "down",
            Self::Cruise => "cruise",
            Self::Refill => "refill",
            Self::Up => "up",
            Self::ProbeRtt { .. } => "probe_rtt",
        }
    }

    /// One of the four of the cycle.
    pub(super) fn is_cycle(self) -> bool {
        matches!(self, Self::Down | Self::Cruise | Self::Refill | Self::Up)
    }

    /// Losses show what the path cannot carry, and are what it looks for.
    pub(super) fn is_probing(self) -> bool {
        matches!(self, Self::Startup | Self::Refill | Self::Up)
    }
}

/// Whether the bandwidth has ceased to grow.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FullPipe {
    /// The bandwidth that has to be exceeded.
    pub(super) rate: BitRate,
    /// Rounds without growth.
    pub(super) rounds: u32,
    /// It has, in this probe.
    pub(super) now: bool,
    /// It had once.
    pub(super) reached: bool,
}

impl FullPipe {
    /// Looks for growth beyond `rate` from now on.
    pub(super) fn restart(&mut self, rate: BitRate) {
        *self = Self { rate, reached: self.reached, ..Self::default() };
    }
}
