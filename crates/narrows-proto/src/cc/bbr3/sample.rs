use crate::units::{BitRate, Bytes};

/// Facts about an acknowledgment besides its fields.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    /// None of reordered acknowledgments.
    pub(super) rate: Option<BitRate>,
    /// Bytes delivered in the flight of the newest segment.
    pub(super) delivered: Bytes,
    /// Bytes that had been delivered when it was sent.
    pub(super) sent_after: Bytes,
    /// Bytes in flight when it was sent, and lost since.
    pub(super) inflight: Bytes,
    pub(super) lost: Bytes,
    pub(super) app_limited: bool,
    /// The first acknowledgment after an idle time.
    pub(super) restart: bool,
}
