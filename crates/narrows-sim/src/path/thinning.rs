//! Acknowledgments that a newer one of their flow makes needless, where they arrive in the same slot.

use std::collections::VecDeque;

use narrows_proto::units::Time;

use crate::packet::{Kind, Packet};

/// The far end of a link whose slots keep the last acknowledgment of each flow.
#[derive(Clone, Debug, Default)]
pub(crate) struct Thinning {
    /// When the slot is that came last.
    slot: Time,
    /// Of it: the newest acknowledgment of each flow, and its number on the link.
    newest: Vec<(Packet, u64)>,
    /// By packet on its way: it is discarded when it arrives.
    needless: VecDeque<bool>,
    /// Number of packets that have arrived.
    arrived: u64,
}

impl Thinning {
    /// A packet is put on the link, behind all others.
    pub(crate) fn on_sent(&mut self, packet: Packet) {
        let number = self.arrived + self.needless.len() as u64;
        self.needless.push_back(false);
        if packet.at() != self.slot {
            self.newest.clear();
            self.slot = packet.at();
        }
        if packet.kind() != Kind::Ack || packet.trailers() > 0 {
            return;
        }
        let same =
            |known: &&mut (Packet, u64)| known.0.flow() == packet.flow() && known.0.to() == packet.to();
        let Some(known) = self.newest.iter_mut().find(same) else {
            self.newest.push((packet, number));
            return;
        };
        let (older, place) = std::mem::replace(known, (packet, number));
        if packet.says_all_of(older)
            && let Some(needless) = self.needless.get_mut((place - self.arrived) as usize)
        {
            *needless = true;
        }
    }

    /// The first packet on the link arrives. Returns whether it is discarded.
    pub(crate) fn on_arrival(&mut self) -> bool {
        self.arrived += 1;
        self.needless.pop_front().unwrap_or(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{FlowId, HostId};
    use crate::packet::{ECE, Fields};
    use narrows_proto::units::Span;

    /// Of acknowledgments (slot, flow, number, flags, slots behind): which arrive.
    fn arriving(packets: &[(u64, u32, u64, u8, u8)]) -> Vec<bool> {
        let mut thinning = Thinning::default();
        for (slot, flow, seq, flags, trailers) in packets {
            let (flow, to, kind) = (FlowId(*flow), HostId(0), Kind::Ack);
            let packet = Packet::new(Fields {
                seq: *seq,
                flow,
                to,
                size: 84,
                incarnation: 0,
                kind,
                priority: 0,
                flags: *flags,
                trailers: *trailers,
            });
            thinning.on_sent(packet.arriving(Time::ZERO + Span::from_ms(*slot)));
        }
        packets.iter().map(|_| !thinning.on_arrival()).collect()
    }

    #[test]
    fn of_a_flow_the_last_of_a_slot_arrives() {
        let packets =
            [(1, 0, 10, 0, 0), (1, 1, 7, 0, 0), (1, 0, 20, 0, 0), (1, 0, 30, 0, 0), (2, 0, 40, 0, 0)];
        assert_eq!(arriving(&packets), [false, true, false, true, true]);
    }

    #[test]
    fn selective_acknowledgments_duplicates_and_other_ecn_feedback_stay() {
        assert_eq!(arriving(&[(1, 0, 10, 0, 1), (1, 0, 20, 0, 1)]), [true, true]);
        assert_eq!(arriving(&[(1, 0, 10, 0, 0), (1, 0, 10, 0, 0)]), [true, true], "a duplicate counts");
        assert_eq!(
            arriving(&[(1, 0, 10, 0, 0), (1, 0, 20, ECE, 0), (1, 0, 30, ECE, 0)]),
            [true, false, true]
        );
    }
}
