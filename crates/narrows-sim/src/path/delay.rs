//! Propagation delay that changes.
//!
//! A packet takes the delay of the moment at which its last bit has been sent. When the delay falls, packets that
//! are sent then may arrive before some that were sent earlier, once, as when a path is switched.

use std::sync::Arc;

use narrows_proto::units::{Span, Time};

use super::steps::{Cursor, Steps};

/// Time on the way from the end of the sending on.
#[derive(Clone, Debug)]
pub(super) enum Delay {
    Fixed(Span),
    /// The delay that changes, and the latency of the far end, which is added to it.
    Steps(Cursor<Span>, Span),
}

impl Delay {
    /// `fixed` if it does not change. `added` is added to it in any case.
    pub(super) fn new(steps: Option<&Arc<Steps<Span>>>, fixed: Span, added: Span) -> Self {
        match steps {
            None => Self::Fixed(fixed + added),
            Some(steps) => Self::Steps(Cursor::new(steps), added),
        }
    }

    /// When a packet arrives that has left at `sent`.
    #[inline]
    pub(super) fn arrival(&mut self, sent: Time) -> Time {
        match self {
            Self::Fixed(delay) => sent + *delay,
            Self::Steps(cursor, added) => sent + cursor.at(sent).value + *added,
        }
    }
}
