//! Ideal completion time of a flow, alone on the empty network.
//!
//! On one path the time is exact: a flow alone takes it, to the picosecond. Where switches spray packets over several paths, chance
//! decides which packets meet, and the time is a bound that no flow beats, whatever its packets do: the largest of
//! ```text
//! every hop     the packets of full size cross it, each over one of its links, none of which begins before a packet can be there or
//!               ends later than leaves time for the rest of the way
//! one link      where all paths share a link, the last packet, which may be smaller, crosses it too
//! last packet   it leaves the host after all others, and takes the fastest path
//! ```
//! It is tight where host links are the slowest of the way and paths are equal: it is then the time on one path.
//!
//! Over links that change it is the time of a flow that starts when this one did, alone on the same changing links: exact on one path,
//! where each packet is walked over each hop. Nothing that is left to chance there counts: no loss, no jitter, no slot. Over several
//! paths, for more than [`MOST_WALKED`] packets, and while a delay falls, it is a bound: a packet that is sent later, at the lower delay,
//! may arrive sooner, so each is taken to wait for that.

use narrows_proto::units::{Bytes, Span, Time, WireTime};

use crate::ids::{FlowId, HostId, LinkId};
use crate::network::Network;
use crate::path::Timing;
use crate::routing::paths::Paths;
use crate::traffic::Transport;

/// The links one direction of a flow crosses.
#[derive(Clone, Debug)]
pub struct IdealPath {
    /// Hop after hop, the links among which there is a choice.
    hops: Vec<Vec<Link>>,
    /// If there is one path, and a link of it changes: by hop, its times.
    changing: Vec<Timing>,
}

/// Of longer trains over links that change, packets are not walked one by one.
const MOST_WALKED: u64 = 1 << 20;

#[derive(Clone, Copy, Debug)]
struct Link {
    /// At the highest rate it ever has.
    wire_time: WireTime,
    /// The shortest propagation, and forwarding latency of the node behind.
    delay: Span,
    /// Which of the nodes before this hop it leaves, and which of those behind it enters.
    from: usize,
    to: usize,
}

/// The fastest way of a packet of one size.
struct Fastest {
    /// By hop and link: when the packet can be there, on the first hop at zero, and how long it takes from the end of its sending.
    around: Vec<Vec<(Span, Span)>>,
    whole: Span,
}

impl IdealPath {
    /// The path over these links, which must not be empty.
    pub fn new(network: &Network, links: &[LinkId]) -> Self {
        let hops: Vec<_> = links.iter().map(|link| vec![*link]).collect();
        Self::among(network, &hops)
    }

    /// All that a packet of `flow` may take, which [`spreads`](crate::traffic::Transport::has_entropy) or not. None if there is no path.
    pub fn between(
        network: &Network,
        paths: &Paths<'_>,
        (flow, spreads): (FlowId, bool),
        from: HostId,
        to: HostId,
    ) -> Option<Self> {
        Some(Self::among(network, &paths.ways((flow, spreads), from, to)?))
    }

    fn among(network: &Network, hops: &[Vec<LinkId>]) -> Self {
        assert!(!hops.is_empty(), "a path has links");
        let node = |links: &Vec<LinkId>| network.topology.link(links[0]).from;
        let mut before = vec![node(&hops[0])];
        let changes = hops.iter().flatten().any(|link| network.paths.contains_key(link));
        let changing =
            hops.iter().filter(|links| changes && links.len() == 1).map(|links| network.timing(links[0]));
        let changing: Vec<_> = changing.collect();
        let all_hops = hops.iter().map(|links| {
            let mut behind: Vec<_> = links.iter().map(|link| network.topology.link(*link).to).collect();
            behind.sort_unstable();
            behind.dedup();
            let links = links.iter().map(|number| {
                let link = network.topology.link(*number);
                Link {
                    wire_time: network.highest_rate(*number).wire_time(),
                    delay: network.least_delay(*number),
                    from: before.binary_search(&link.from).expect("hops follow each other"),
                    to: behind.binary_search(&link.to).expect("just collected"),
                }
            });
            let links = links.collect();
            before = behind;
            links
        });
        let changing = if changing.len() == hops.len() { changing } else { Vec::new() };
        Self { hops: all_hops.collect(), changing }
    }

    /// Time that one packet is under way, on the fastest path, as links are at the beginning.
    pub fn packet_time(&self, size: Bytes) -> Span {
        self.train_time(Time::ZERO, 1, size, size)
    }

    /// Time that `count` packets are under way that are sent from `start` on as fast as the first link takes them, from the first bit
    /// sent to the last bit received. All have size `full` but for the last one. Over several paths, no less than this.
    fn train_time(&self, start: Time, count: u64, full: Bytes, last: Bytes) -> Span {
        let (full, last) = (full.get() as u16, last.get() as u16);
        if !self.changing.is_empty() {
            self.walked(start, count, full, last)
        } else if self.hops.iter().all(|links| links.len() == 1) {
            self.in_order(count, full, last)
        } else {
            self.at_least(count - 1, full, last)
        }
    }

    /// Exact, on one path: each hop stores and forwards. Of n equal packets the k-th leaves hop i at t₁ + … + tᵢ + (k − 1)·max(t₁…tᵢ)
    /// plus delays; the last, smaller packet follows as soon as it has arrived and its predecessor is gone.
    fn in_order(&self, count: u64, full: u16, last: u16) -> Span {
        // When the last but one of the full packets, and the last packet, have left the hop.
        let (mut before, mut slowest, mut end) = (Span::ZERO, Span::ZERO, Span::ZERO);
        let mut first = true;
        for hop in self.hops.iter().flatten() {
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

    /// Over links that change: packet by packet, hop by hop. As packets wait where that pays, none overtakes another.
    fn walked(&self, start: Time, count: u64, full: u16, last: u16) -> Span {
        if count > MOST_WALKED {
            return self.at_least_over_changes(start, count, full, last);
        }
        let sizes = (1..count).map(|_| full).chain([last]);
        let mut packets: Vec<_> = sizes.map(|size| (start, size)).collect();
        for timing in &self.changing {
            let (mut timing, mut free) = (timing.clone(), start);
            for (at, size) in &mut packets {
                free = timing.sent_at(free.max(*at), (*size).into());
                *at = timing.earliest_arrival(free);
            }
        }
        packets.iter().map(|(at, _)| *at).max().unwrap_or(start) - start
    }

    /// No less than this: on each hop, all bytes cross it after the first packet can be there, and the rest takes the least time.
    fn at_least_over_changes(&self, start: Time, count: u64, full: u16, last: u16) -> Span {
        let bytes = (count - 1).saturating_mul(full.into()).saturating_add(last.into());
        let smallest = full.min(last);
        let (mut arrival, mut bound) = (start, start);
        for (hop, timing) in self.changing.iter().enumerate() {
            let crossed = timing.clone().sent_at(arrival, bytes);
            let rest =
                self.hops[hop + 1..].iter().flatten().map(|link| link.wire_time.of(smallest) + link.delay);
            let rest = rest.fold(self.hops[hop][0].delay, std::ops::Add::add);
            bound = bound.max(crossed + rest);
            let mut timing = timing.clone();
            let sent = timing.sent_at(arrival, smallest.into());
            arrival = sent + self.hops[hop][0].delay;
        }
        bound - start
    }

    /// The bound of the module's page, for a number of full packets and a last one.
    fn at_least(&self, fulls: u64, full: u16, last: u16) -> Span {
        let end = self.fastest(last);
        let gone = self.hops[0][0].wire_time.of(full).saturating_mul(fulls);
        let mut bound = gone + end.whole;
        if fulls == 0 {
            return bound;
        }
        let begin = self.fastest(full);
        for (hop, links) in self.hops.iter().enumerate() {
            let around = &begin.around[hop];
            bound = bound.max(time_to_cross(fulls, full, links, around));
            if let ([link], [(arrival, _)], [(last_arrival, rest)]) =
                (&links[..], &around[..], &end.around[hop][..])
            {
                let busy = link.wire_time.of(full).saturating_mul(fulls) + link.wire_time.of(last);
                // A last packet that is much smaller may be there first.
                bound = bound.max((*arrival).min(gone + *last_arrival) + busy + *rest);
            }
        }
        bound
    }

    fn fastest(&self, size: u16) -> Fastest {
        let nodes = |hop: &Vec<Link>| hop.iter().map(|link| link.to + 1).max().unwrap_or(1);
        let mut reached = vec![Span::ZERO];
        let mut around: Vec<Vec<_>> = Vec::with_capacity(self.hops.len());
        for hop in &self.hops {
            let mut next = vec![Span::MAX; nodes(hop)];
            around.push(hop.iter().map(|link| (reached[link.from], Span::ZERO)).collect());
            for link in hop {
                let there = reached[link.from] + link.wire_time.of(size) + link.delay;
                next[link.to] = next[link.to].min(there);
            }
            reached = next;
        }
        let whole = reached[0];
        let mut left = vec![Span::ZERO; reached.len()];
        for (hop, around) in self.hops.iter().zip(&mut around).rev() {
            let mut before = vec![Span::MAX; hop.iter().map(|link| link.from + 1).max().unwrap_or(1)];
            for (link, (_, rest)) in hop.iter().zip(around) {
                *rest = link.delay + left[link.to];
                before[link.from] = before[link.from].min(link.wire_time.of(size) + *rest);
            }
            left = before;
        }
        Fastest { around, whole }
    }
}

/// The earliest end of `packets` packets that each cross one of `links`, if none begins to cross before it can be there nor ends later
/// than leaves time for the rest: the least T with Σ ⌊(T − arrival − rest)/time⌋ ≥ packets.
fn time_to_cross(packets: u64, size: u16, links: &[Link], around: &[(Span, Span)]) -> Span {
    let ways = || {
        links.iter().zip(around).map(|(link, (arrival, rest))| (link.wire_time.of(size), *arrival + *rest))
    };
    let over_one = |(time, fixed): (Span, Span)| fixed + time.saturating_mul(packets);
    let mut enough = ways().map(over_one).min().unwrap_or(Span::MAX).as_ps();
    let mut too_short = ways().map(|(_, fixed)| fixed).min().unwrap_or(Span::ZERO).as_ps();
    while too_short + 1 < enough {
        let middle = too_short.midpoint(enough);
        let crossed = ways().map(|(time, fixed)| middle.saturating_sub(fixed.as_ps()) / time.as_ps().max(1));
        if crossed.fold(0, u64::saturating_add) >= packets {
            enough = middle;
        } else {
            too_short = middle;
        }
    }
    Span::from_ps(enough)
}

/// The shortest time in which `size` bytes can be handed over and arrive on the empty network: no window, no
/// acknowledgment to wait for but the handshake's, headers included. Exact on one path, over several a bound that nothing
/// beats (see the top of this file); over links that change, from `start` on. `back` is the path of acknowledgments. If connections are kept there is one already.
pub fn ideal_fct(
    transport: &Transport,
    forth: &IdealPath,
    back: &IdealPath,
    start: Time,
    size: Bytes,
) -> Span {
    let handshake = match transport {
        Transport::Stream { params, .. } if params.handshake && !params.keep_connections => {
            let control = params.packet_size(Bytes::ZERO);
            let there = forth.train_time(start, 1, control, control);
            there + back.train_time(start + there, 1, control, control)
        }
        _ => Span::ZERO,
    };
    let full = transport.full_payload();
    let packets = size.div_ceil(full).max(1);
    let last = size - full * (packets - 1);
    handshake
        + forth.train_time(
            start + handshake,
            packets,
            transport.packet_size(full),
            transport.packet_size(last),
        )
}

#[cfg(test)]
mod tests {
    use narrows_proto::units::BitRate;
    use proptest::prelude::*;

    use super::*;

    fn path(rates_gbps: &[u64]) -> IdealPath {
        IdealPath {
            hops: rates_gbps.iter().map(|rate| vec![link(*rate, 0, 0)]).collect(),
            changing: Vec::new(),
        }
    }

    fn link(rate_gbps: u64, from: usize, to: usize) -> Link {
        Link { wire_time: BitRate::from_gbps(rate_gbps).wire_time(), delay: Span::from_us(1), from, to }
    }

    /// Packet by packet, hop by hop.
    fn walked(path: &IdealPath, sizes: &[u16]) -> Span {
        let mut free = vec![Span::ZERO; path.hops.len()];
        let mut end = Span::ZERO;
        for size in sizes {
            let mut at = Span::ZERO;
            for (hop, free) in path.hops.iter().flatten().zip(&mut free) {
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

    #[test]
    fn over_equal_paths_behind_a_slow_host_link_the_bound_is_the_time_on_one_path() {
        // 10 Gb/s to a switch, 40 Gb/s over one of two others, 10 Gb/s to the host.
        let up = vec![link(40, 0, 0), link(40, 0, 1)];
        let down = vec![link(40, 0, 0), link(40, 1, 0)];
        let sprayed = IdealPath {
            hops: vec![vec![link(10, 0, 0)], up, down, vec![link(10, 0, 0)]],
            changing: Vec::new(),
        };
        let single = path(&[10, 40, 40, 10]);
        let time = |path: &IdealPath, count, last| {
            path.train_time(Time::ZERO, count, Bytes::new(1500), Bytes::new(last))
        };
        for (count, last) in [(1, 100), (1, 1500), (2, 1500), (50, 84), (50, 700)] {
            assert_eq!(
                time(&sprayed, count, last),
                time(&single, count, last),
                "{count}, the last of {last} B"
            );
        }
        // 100 B overtake the only packet before them: 80 ns less to send behind it.
        assert_eq!(time(&sprayed, 2, 100) + Span::from_ns(80), time(&single, 2, 100));
    }

    #[test]
    fn two_links_carry_a_train_in_half_of_the_time() {
        // 1250 B take 1 us at 10 Gb/s and 10 ns at 1000 Gb/s; 1 us propagation each.
        let path = IdealPath {
            hops: vec![vec![link(1000, 0, 0)], vec![link(10, 0, 0), link(10, 0, 0)]],
            changing: Vec::new(),
        };
        let time = path.train_time(Time::ZERO, 11, Bytes::new(1250), Bytes::new(1250));
        // Of ten packets before the last each link takes five.
        assert_eq!(time, Span::from_ns(10 + 1_000 + 5_000 + 1_000));
    }

    #[test]
    fn a_packet_takes_the_fastest_of_its_paths() {
        let up = vec![link(10, 0, 0), link(1, 0, 1)];
        let down = vec![link(1, 0, 0), link(100, 1, 0)];
        // 1250 B: 1 us and 10 us over one, 10 us and 0.1 us over the other.
        let path = IdealPath { hops: vec![up, down], changing: Vec::new() };
        assert_eq!(path.packet_time(Bytes::new(1250)), Span::from_ns(12_100));
    }

    /// Packet by packet over the links that `choose` says, each link in order of arrival.
    fn sprayed(hops: &[Vec<Link>], sizes: &[u16], mut choose: impl FnMut() -> usize) -> Span {
        let mut packets: Vec<_> = sizes.iter().map(|size| (Span::ZERO, 0, *size)).collect();
        for links in hops {
            let mut free = vec![Span::ZERO; links.len()];
            packets.sort_by_key(|(at, _, _)| *at);
            for (at, node, size) in &mut packets {
                let ways: Vec<_> = (0..links.len()).filter(|way| links[*way].from == *node).collect();
                let way = ways[choose() % ways.len()];
                free[way] = (*at).max(free[way]) + links[way].wire_time.of(*size);
                (*at, *node) = (free[way] + links[way].delay, links[way].to);
            }
        }
        packets.iter().map(|(at, _, _)| *at).max().unwrap_or_default()
    }

    proptest! {
        #[test]
        fn no_choice_of_paths_beats_the_bound(
            first in prop::sample::select(vec![1_u64, 10, 100]),
            up in prop::collection::vec(prop::sample::select(vec![1_u64, 7, 10, 40]), 1..4),
            last_hop in prop::sample::select(vec![1_u64, 10, 25, 100]),
            twice in any::<bool>(),
            count in 1..30_u64,
            full in 84..9000_u64,
            smaller in 0..9000_u64,
            choices in prop::collection::vec(any::<usize>(), 1..60),
        ) {
            let mut hops = vec![vec![link(first, 0, 0)]];
            hops.push(up.iter().enumerate().map(|(to, rate)| link(*rate, 0, to)).collect());
            hops.push(up.iter().rev().enumerate().map(|(from, rate)| link(*rate, from, 0)).collect());
            if twice {
                hops.push(up.iter().map(|rate| link(*rate, 0, 0)).collect());
            }
            hops.push(vec![link(last_hop, 0, 0)]);
            let last = full.saturating_sub(smaller).max(84);
            let mut sizes = vec![full as u16; count as usize - 1];
            sizes.push(last as u16);
            let mut next = choices.iter().cycle().copied();
            let took = sprayed(&hops, &sizes, || next.next().unwrap_or_default());
            let bound = IdealPath { hops, changing: Vec::new() }.train_time(Time::ZERO, count, Bytes::new(full), Bytes::new(last));
            prop_assert!(bound <= took, "{bound} above {took}");
        }

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
            prop_assert_eq!(path.train_time(Time::ZERO, count, Bytes::new(full), Bytes::new(last)), walked(&path, &sizes));
        }
    }
}
