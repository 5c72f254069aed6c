//! The sending half where packets are taken in any order: selective acknowledgments, NAKs of trimmed packets, losses, timeouts.

use super::params::Params;
use super::selective::Selective;
use super::sender::Sender;
use super::wire::AckFrame;
use crate::cc::{Controller, Signal};
use crate::stream::sent::Tally;
use crate::units::{Bytes, Time};

impl Sender {
    /// Takes what an acknowledgment says of packets beyond the first that is missing. Returns what is lost.
    pub(super) fn take_selective(
        &mut self,
        params: &Params,
        now: Time,
        frame: &AckFrame,
        tally: &mut Tally,
    ) -> Bytes {
        let Selective { again, at_last_hop, .. } = frame.selective;
        if let Some(spread) = &mut self.spread {
            spread.on_ack(now, self.board.una().div_ceil(self.mtu.get()), frame);
        }
        for block in frame.selective.blocks(self.mtu, self.size) {
            self.board.sack(block, tally);
        }
        // A receiver drops nothing that it holds. The acknowledgment that says that nothing is missing may have been lost.
        self.board.acknowledge_front(tally);
        if let Some(trimmed) = frame.nak {
            let Some((lost, sent_at)) = self.board.lose_at(trimmed, again) else { return Bytes::ZERO };
            let (size, rtt) = (params.packet_size(lost), now.saturating_since(sent_at));
            self.cc.on_signal(now, &Signal::Trimmed { size, rtt, at_last_hop });
            return lost;
        }
        self.lose_overtaken(params)
    }

    /// The timeout of a packet that is under way counts from when it was sent. Returns when the first one expires, if that is later.
    pub(super) fn first_timeout(&self, params: &Params, now: Time) -> Option<Time> {
        let expires = self.board.oldest_in_flight()? + params.timeout();
        (expires > now).then_some(expires)
    }

    /// The retransmission timer has expired: what was sent that long ago is lost.
    pub(super) fn lose_late(&mut self, params: &Params, now: Time) {
        let noticed = self.board.noticed();
        let before = now.as_ps().saturating_sub(params.timeout().as_ps());
        self.board.lose_sent_by(Time::from_ps(before));
        if let Some(spread) = &mut self.spread {
            for lost in self.board.lost_after(noticed) {
                spread.on_timeout(now, lost.first / self.mtu.get());
            }
        }
    }

    /// Entropy of the packet that begins at `seq` and is sent now.
    #[inline]
    pub(super) fn entropy(&mut self, now: Time, seq: u64) -> u16 {
        match &mut self.spread {
            None => 0,
            Some(spread) => spread.send(now, seq / self.mtu.get()),
        }
    }

    /// Packets are lost if more has arrived beyond the first that is missing than reordering explains: up to a window from there on, as far as
    /// something sent later has arrived.
    fn lose_overtaken(&mut self, params: &Params) -> Bytes {
        let beyond = self.board.sacked_segments();
        if beyond < params.reordering.packets {
            return Bytes::ZERO;
        }
        let window = self.limit.cwnd.min(params.window.unwrap_or(Bytes::MAX));
        if (beyond * self.mtu.get()) as f64 >= params.reordering.windows * window.as_f64() {
            let end = self.board.una().saturating_add(window.get()).min(self.board.highest());
            return self.board.lose_below(end);
        }
        Bytes::ZERO
    }
}
