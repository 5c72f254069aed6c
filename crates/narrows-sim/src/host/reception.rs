//! The receiving half of a flow.

use narrows_proto::units::{Bytes, Time};

use super::agenda::{Agenda, Wake};
use super::packets::Way;
use super::transport::Sink;
use crate::ids::{FlowId, HostId};

/// The receiving half of a flow.
#[derive(Debug)]
pub(crate) struct Incoming {
    pub(crate) flow: FlowId,
    /// Who sends.
    pub(crate) from: HostId,
    pub(crate) group: u32,
    pub(crate) incarnation: u16,
    pub(crate) sink: Sink,
    /// The earliest entry of the agenda for it.
    pub(crate) armed: Time,
}

impl Incoming {
    /// The way of its acknowledgments.
    pub(crate) fn back(&self) -> Way {
        Way { flow: self.flow, to: self.from, incarnation: self.incarnation }
    }

    /// Bytes of a flow of `size` that have not arrived. None if that cannot be said: some have arrived beyond a gap or wait to be merged,
    /// or the connection carries several messages.
    pub(super) fn missing(&self, size: Bytes) -> Option<u64> {
        let delivered = match &self.sink {
            Sink::Stream(receiver) if receiver.is_in_order() => receiver.delivered(),
            Sink::Rdma(receiver) if receiver.is_in_order() => receiver.delivered(),
            _ => return None,
        };
        size.get().checked_sub(delivered)
    }

    #[inline]
    pub(super) fn arm(&mut self, at: Time, slot: u32, agenda: &mut Agenda) {
        if at < self.armed {
            self.armed = at;
            agenda.plan(at, Wake::Receiver(slot));
        }
    }
}
