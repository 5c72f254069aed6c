use narrows_proto::units::Time;

use crate::ids::LinkId;
use crate::observe::Observer;
use crate::ring::Ring;

/// A first-in-first-out queue that needs no event per packet: what waits, and when each packet begins to be sent, is
/// known when it arrives. The packets themselves are on the link already.
#[derive(Debug, Default)]
pub(super) struct PlainQueue {
    /// When the last packet has been sent.
    pub(super) busy_until: Time,
    /// Bytes that wait, as of the last call of [`settle`](PlainQueue::settle).
    pub(super) waiting: u64,
    starts: Ring<Start>,
}

/// A packet that waits.
#[derive(Clone, Copy, Debug, Default)]
struct Start {
    at: Time,
    size: u64,
}

impl PlainQueue {
    /// Takes off what has begun to be sent by `now`. Returns how many bytes that are.
    #[inline]
    pub(super) fn settle<O: Observer>(&mut self, now: Time, link: LinkId, observer: &mut O) -> u64 {
        let before = self.waiting;
        while let Some(start) = self.starts.front().filter(|start| start.at <= now) {
            self.waiting -= start.size;
            observer.backlog(start.at, link, self.waiting);
            self.starts.take();
        }
        before - self.waiting
    }

    /// A packet begins to wait.
    #[inline]
    pub(super) fn wait(&mut self, start: Time, size: u64) {
        self.waiting += size;
        self.starts.push(Start { at: start, size });
    }
}
