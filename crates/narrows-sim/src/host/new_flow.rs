//! What is known of a flow that starts.

use narrows_proto::units::Bytes;

use crate::ids::FlowId;

/// A flow about to start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewFlow {
    pub(crate) flow: FlowId,
    pub(crate) incarnation: u64,
    pub(crate) size: Bytes,
    pub(crate) generator: Option<u32>,
}
