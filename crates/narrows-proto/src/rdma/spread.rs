//! Entropy of the packets of a sender.

use std::collections::VecDeque;

use super::paths::{Outcome, PathChoice, Paths};
use super::wire::AckFrame;
use crate::units::Time;

/// The choice of paths of a sender, and the entropy of its packets that wait for an acknowledgment.
#[derive(Clone, Debug)]
pub(super) struct Spread {
    choice: PathChoice,
    /// By packet, from the first that has not been acknowledged.
    sent: VecDeque<u16>,
    /// The number of that packet.
    first: u64,
}

impl Spread {
    pub(super) fn new(paths: &Paths, seed: u64) -> Self {
        Self { choice: PathChoice::new(paths, seed), sent: VecDeque::new(), first: 0 }
    }

    /// Entropy of packet `number`, which is sent now: again, or as the next of all.
    pub(super) fn send(&mut self, now: Time, number: u64) -> u16 {
        let entropy = self.choice.next(now);
        match self.sent.get_mut((number - self.first) as usize) {
            Some(sent) => *sent = entropy,
            None => self.sent.push_back(entropy),
        }
        entropy
    }

    /// Entropy of a packet without payload.
    pub(super) fn any(&mut self, now: Time) -> u16 {
        self.choice.next(now)
    }

    /// Packets below this number have been acknowledged, and this is one of the acknowledgments.
    pub(super) fn on_ack(&mut self, now: Time, below: u64, frame: &AckFrame) {
        while self.first < below && self.sent.pop_front().is_some() {
            self.first += 1;
        }
        let outcome = match frame.nak {
            Some(_) if frame.selective.at_last_hop => Outcome::TrimmedAtLastHop { marked: frame.ece },
            Some(_) => Outcome::Trimmed,
            None if frame.ece => Outcome::Marked,
            None => Outcome::Good,
        };
        self.choice.feedback(now, frame.selective.entropy, outcome);
    }

    /// The retransmission timer expired for packet `number`.
    pub(super) fn on_timeout(&mut self, now: Time, number: u64) {
        if let Some(entropy) = self.sent.get((number - self.first) as usize) {
            self.choice.feedback(now, *entropy, Outcome::Timeout);
        }
    }
}
