//! What is known of a flow that starts.

use narrows_proto::units::Bytes;

use crate::ids::FlowId;

/// A flow about to start.
pub(super) struct NewFlow {
    pub(super) flow: FlowId,
    pub(super) turn: u64,
    pub(super) size: Bytes,
    pub(super) generator: Option<u32>,
}
