//! Credits at a sender: when it may send, and what it requests.

use super::credits::Demand;
use super::params::Params;
use super::sender::{Next, Sender};
use crate::stream::{Poll, Segment};
use crate::units::{Bytes, Time};

impl Sender {
    /// Its next action without credit: maybe a request alone.
    #[cold]
    pub(super) fn next_without_credit(&self, params: &Params, now: Time) -> Next {
        let Some(credits) = &self.credits else { return Next::Nothing };
        // How many share the card matters when the request is made.
        if !credits.wants_more(&self.demand(params, 1)) {
            return Next::Nothing;
        }
        if credits.rts_from() <= now { Next::Request } else { Next::Wait(credits.rts_from()) }
    }

    /// Sends a packet without payload, for what it requests.
    pub(super) fn send_request(&mut self, params: &Params, now: Time) -> Poll {
        let demand = self.demand(params, 1);
        if let Some(credits) = &mut self.credits {
            credits.rts(now, &demand);
        }
        if self.board.is_empty() {
            self.restart_timeout(params, now);
        }
        let entropy = self.spread.as_mut().map_or(0, |spread| spread.any(now));
        let seq = self.board.next();
        Poll::Send(Segment { seq, requests_ack: true, entropy, ..Segment::default() })
    }

    /// The request in the packet that has just been sent: bytes on the wire that it wants to have been granted since it began. So many
    /// senders of its network card have something to send. None without credits.
    pub fn request(&mut self, params: &Params, sources: u32) -> Option<u64> {
        let demand = self.demand(params, sources);
        Some(self.credits.as_mut()?.pull_target(&demand))
    }

    /// A grant arrived: so many bytes since it began.
    pub fn on_grant(&mut self, granted: u64) {
        if let Some(credits) = &mut self.credits {
            credits.on_pull(granted);
        }
    }

    fn demand(&self, params: &Params, sources: u32) -> Demand {
        let backlog = on_the_wire(params, self.size - self.board.next());
        let retransmit = on_the_wire(params, self.board.waiting().get());
        Demand { backlog, retransmit, cwnd: self.limit.cwnd, sources }
    }
}

/// Bytes of payload, in full packets as far as they go.
fn on_the_wire(params: &Params, payload: u64) -> Bytes {
    let overhead = params.packet_size(Bytes::ZERO);
    Bytes::new(payload) + overhead * payload.div_ceil(params.mtu.get())
}
