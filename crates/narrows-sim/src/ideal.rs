//! How fast a flow could be on the empty network.

use narrows_proto::units::{Bytes, Span, WireTime};

use crate::engine::Network;
use crate::ids::LinkId;
use crate::traffic::Transport;

/// The links one direction of a flow crosses.
#[derive(Clone, Debug)]
pub struct IdealPath {
    hops: Vec<Hop>,
}

#[derive(Clone, Copy, Debug)]
struct Hop {
    wire_time: WireTime,
    /// Propagation, and forwarding latency of the node behind.
    delay: Span,
}

impl IdealPath {
    /// The path over these links, which must not be empty.
    pub fn new(network: &Network, links: &[LinkId]) -> Self {
        let hop = |link: &LinkId| {
            let link = network.topology.link(*link);
            let latency =
                network.switches[link.to.index()].as_ref().map_or(Span::ZERO, |switch| switch.latency);
            Hop { wire_time: link.wire.rate.wire_time(), delay: link.wire.delay + latency }
        };
        assert!(!links.is_empty(), "a path has links");
        Self { hops: links.iter().map(hop).collect() }
    }

    /// How long one packet is under way.
    pub fn packet_time(&self, size: Bytes) -> Span {
        self.train_time(1, size, size)
    }

    /// How long `count` packets are under way that are sent as fast as the first link takes them, from the first bit
    /// sent to the last bit received. All have size `full` but for the last one.
    ///
    /// Exact: each hop stores and forwards. Of n equal packets the k-th leaves hop i at t₁ + … + tᵢ + (k − 1)·max(t₁…tᵢ)
    /// plus delays; the last, smaller packet follows as soon as it has arrived and its predecessor is gone.
    fn train_time(&self, count: u64, full: Bytes, last: Bytes) -> Span {
        let (full, last) = (full.get() as u16, last.get() as u16);
        // When the last but one of the full packets, and the last packet, have left the hop.
        let (mut before, mut slowest, mut end) = (Span::ZERO, Span::ZERO, Span::ZERO);
        let mut first = true;
        for hop in &self.hops {
            let time = hop.wire_time.of(full);
            slowest = slowest.max(time);
            before += time;
            let predecessor = if count > 1 { before + slowest.saturating_mul(count - 2) } else { Span::ZERO };
            let arrived = if first { Span::ZERO } else { end };
            first = false;
            end = arrived.max(predecessor) + hop.wire_time.of(last) + hop.delay;
            before += hop.delay;
        }
        end
    }
}

/// The shortest time in which `size` bytes can be handed over and arrive on the empty network: no window, no
/// acknowledgement to wait for but the handshake's, headers included. `back` is the path of acknowledgements. If connections
/// are kept there is one already.
pub fn ideal_fct(transport: &Transport, forth: &IdealPath, back: &IdealPath, size: Bytes) -> Span {
    let handshake = match transport {
        Transport::Stream { params, .. } if params.handshake && !params.keep_connections => {
            let control = params.packet_size(Bytes::ZERO);
            forth.packet_time(control) + back.packet_time(control)
        }
        _ => Span::ZERO,
    };
    let full = transport.full_payload();
    let packets = size.div_ceil(full).max(1);
    let last = size - full * (packets - 1);
    handshake + forth.train_time(packets, transport.packet_size(full), transport.packet_size(last))
}

#[cfg(test)]
mod tests {
    use narrows_proto::units::BitRate;
    use proptest::prelude::*;

    use super::*;

    fn path(rates_gbps: &[u64]) -> IdealPath {
        let hop =
            |rate: &u64| Hop { wire_time: BitRate::from_gbps(*rate).wire_time(), delay: Span::from_us(1) };
        IdealPath { hops: rates_gbps.iter().map(hop).collect() }
    }

    /// Packet by packet, hop by hop.
    fn walked(path: &IdealPath, sizes: &[u16]) -> Span {
        let mut free = vec![Span::ZERO; path.hops.len()];
        let mut end = Span::ZERO;
        for size in sizes {
            let mut at = Span::ZERO;
            for (hop, free) in path.hops.iter().zip(&mut free) {
                *free = at.max(*free) + hop.wire_time.of(*size);
                at = *free + hop.delay;
            }
            end = at;
        }
        end
    }

    #[test]
    fn one_packet_is_stored_and_forwarded_at_each_hop() {
        // 1250 B: 1 us at 10 Gb/s, 0.1 us at 100 Gb/s; 1 us propagation each.
        assert_eq!(path(&[10, 100, 10]).packet_time(Bytes::new(1250)), Span::from_ns(5_100));
    }

    proptest! {
        #[test]
        fn the_formula_is_what_a_walk_gives(
            rates in prop::collection::vec(prop::sample::select(vec![1_u64, 7, 10, 25, 40, 100]), 1..7),
            count in 1..40_u64,
            full in 84..9000_u64,
            smaller in 0..9000_u64,
        ) {
            let last = full.saturating_sub(smaller).max(84);
            let mut sizes = vec![full as u16; count as usize - 1];
            sizes.push(last as u16);
            let path = path(&rates);
            prop_assert_eq!(path.train_time(count, Bytes::new(full), Bytes::new(last)), walked(&path, &sizes));
        }
    }
}
