//! Settings of priority-based flow control.

use narrows_proto::units::{BitRate, Bytes, Span};

use crate::mechanism::pause::{headroom, lasts, smallest_frame};
use crate::mechanism::settings::SwitchSettings;

/// Priorities that a switch keeps free of loss, and the memory for that.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Pfc {
    /// Priorities without loss. The others are dropped as `sharing` of the buffer says, within the shared pool.
    pub priorities: Vec<u8>,
    /// Part of the shared pool that a class of a link may hold before it is stopped.
    pub xoff: Xoff,
    /// It may go on when it is this much below.
    pub resume: Bytes,
    /// Memory that each class of each link has for itself.
    #[serde(rename = "static")]
    pub reserve: Bytes,
    /// Memory for what arrives on a class of a link after it was stopped; what rates, lengths and packets ask for if left out.
    pub headroom: Option<Bytes>,
    /// Memory for what does not fit any headroom; one packet for each port if left out.
    pub global_headroom: Option<Bytes>,
    /// Duration of a stop unless it is renewed, in times of 512 bits.
    pub quanta: u16,
    /// PFC frames on the wire, framing included: a 64 B frame, preamble and gap.
    pub frame: Bytes,
    /// A class that packets wait in and that stays stopped for longer than this is reported.
    pub watchdog: Span,
}

/// When a class is stopped.
#[derive(Clone, Copy, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Xoff {
    /// Above α times what is free of the shared pool.
    Alpha(f64),
    /// Above this much.
    Fixed(Bytes),
}

impl Default for Xoff {
    /// α = 1/8, as the switches of the HPCC paper (Li et al., SIGCOMM 2019).
    fn default() -> Self {
        Self::Alpha(0.125)
    }
}

impl Default for Pfc {
    fn default() -> Self {
        Self {
            priorities: vec![0],
            xoff: Xoff::default(),
            resume: Bytes::new(2_000),
            reserve: Bytes::ZERO,
            headroom: None,
            global_headroom: None,
            quanta: u16::MAX,
            frame: smallest_frame(),
            watchdog: Span::from_ms(10),
        }
    }
}

impl SwitchSettings for Pfc {
    fn control_size(&self) -> Option<Bytes> {
        Some(self.frame)
    }
}

impl Pfc {
    /// Duration of a stop on a link of this rate.
    pub fn lasts(&self, rate: BitRate) -> Span {
        lasts(self.quanta, rate)
    }

    /// Lossless classes of each link: one more if the switch has a side class.
    pub fn classes(&self, side: bool) -> u64 {
        self.priorities.len() as u64 + u64::from(side)
    }

    /// The headroom each class of a link needs: the most that may still arrive from the first byte on that went to headroom.
    pub fn needed_headroom(&self, rate: BitRate, forth: Span, back: Span, largest: Bytes) -> Bytes {
        headroom(rate, forth, back, self.frame, largest)
    }

    /// The global headroom of a switch with this many ports.
    pub fn global_headroom(&self, ports: usize, largest: Bytes) -> Bytes {
        self.global_headroom.unwrap_or(largest.saturating_mul(ports as u64))
    }

    /// Bytes of `buffer` left for the shared pool, if any are.
    pub fn pool(
        &self,
        buffer: Bytes,
        headrooms: Bytes,
        links: usize,
        side: bool,
        global: Bytes,
    ) -> Option<Bytes> {
        let classes = self.classes(side);
        let kept = self.reserve.saturating_mul(classes.saturating_mul(links as u64));
        let kept = kept.saturating_add(headrooms.saturating_mul(classes)).saturating_add(global);
        (kept < buffer).then(|| buffer.saturating_sub(kept))
    }
}
