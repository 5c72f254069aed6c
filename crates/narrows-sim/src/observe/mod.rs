//! Watching a run without changing it.
//!
//! An [`Observer`] is called at what happens; the default methods are empty and vanish when compiled, so what is not
//! watched costs nothing. Each thread has an observer of its own that sees the nodes of that thread; calls for one link
//! or flow come in the order of time.

use narrows_proto::stream::Sender;
use narrows_proto::units::Time;

use crate::ids::{FlowId, LinkId};
use crate::record::DropCause;

/// Hears of what happens. Compose observers in tuples.
pub trait Observer: Send {
    /// False only if no method does anything; then what would be told is not even looked up.
    const ACTIVE: bool = true;

    /// At `at`, `backlog` bytes wait at the port of `link`.
    #[inline]
    fn backlog(&mut self, at: Time, link: LinkId, backlog: u64) {
        let _ = (at, link, backlog);
    }

    /// At `at`, a packet of `size` bytes begins to be sent over `link`. Plain ports announce this when the packet arrives.
    #[inline]
    fn sent(&mut self, at: Time, link: LinkId, size: u16) {
        let _ = (at, link, size);
    }

    /// At `at`, a packet at the port of `link` was marked.
    #[inline]
    fn marked(&mut self, at: Time, link: LinkId) {
        let _ = (at, link);
    }

    /// At `at`, a packet of `size` bytes was dropped at the port of `link` or on `link` itself.
    #[inline]
    fn dropped(&mut self, at: Time, link: LinkId, size: u16, cause: DropCause) {
        let _ = (at, link, size, cause);
    }

    /// At `at`, the sender of `flow` has taken in an acknowledgement or a timeout.
    #[inline]
    fn window(&mut self, at: Time, flow: FlowId, sender: &Sender) {
        let _ = (at, flow, sender);
    }
}

impl Observer for () {
    const ACTIVE: bool = false;
}

impl<A: Observer, B: Observer> Observer for (A, B) {
    const ACTIVE: bool = A::ACTIVE || B::ACTIVE;

    #[inline]
    fn backlog(&mut self, at: Time, link: LinkId, backlog: u64) {
        self.0.backlog(at, link, backlog);
        self.1.backlog(at, link, backlog);
    }

    #[inline]
    fn sent(&mut self, at: Time, link: LinkId, size: u16) {
        self.0.sent(at, link, size);
        self.1.sent(at, link, size);
    }

    #[inline]
    fn marked(&mut self, at: Time, link: LinkId) {
        self.0.marked(at, link);
        self.1.marked(at, link);
    }

    #[inline]
    fn dropped(&mut self, at: Time, link: LinkId, size: u16, cause: DropCause) {
        self.0.dropped(at, link, size, cause);
        self.1.dropped(at, link, size, cause);
    }

    #[inline]
    fn window(&mut self, at: Time, flow: FlowId, sender: &Sender) {
        self.0.window(at, flow, sender);
        self.1.window(at, flow, sender);
    }
}
