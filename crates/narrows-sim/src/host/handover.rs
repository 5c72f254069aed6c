//! Arrivals at a real host that have not reached its software yet: packets that wait for an interrupt, and messages that software reads
//! later.

use std::collections::VecDeque;

use narrows_proto::units::{Span, Time};

use crate::mechanism::hosts::{Interrupts, Lateness};
use crate::packet::{Packet, Trailers};
use crate::ring::Ring;

/// Arrivals that wait at a host that takes a while to notice.
#[derive(Debug)]
pub(super) struct Handover {
    pub(super) interrupts: Option<Interrupts>,
    pub(super) software_delay: Span,
    /// For the interrupt, in order of arrival.
    pub(super) waiting: Ring<Packet>,
    pub(super) frames: u32,
    /// When the interrupt is due, if something waits.
    pub(super) due: Time,
    /// For software, in order; each has the time at which it is read.
    pub(super) messages: VecDeque<Packet>,
}

impl Handover {
    pub(super) fn new(lateness: Lateness) -> Self {
        let Lateness { interrupts, software_delay } = lateness;
        Self {
            interrupts,
            software_delay,
            waiting: Ring::default(),
            frames: 0,
            due: Time::NEVER,
            messages: VecDeque::new(),
        }
    }

    /// The next packet of the interrupt.
    pub(super) fn take(&mut self, slots: &mut Trailers) -> Option<Packet> {
        if self.waiting.is_empty() {
            (self.frames, self.due) = (0, Time::NEVER);
            return None;
        }
        Some(self.waiting.pop(slots))
    }
}
