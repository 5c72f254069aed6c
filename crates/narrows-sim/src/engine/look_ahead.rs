//! The time in which nodes, and the threads they are on, cannot affect each other.

use narrows_proto::units::{Bytes, Span, Time};

use crate::ids::LinkId;
use crate::network::Network;
use crate::traffic::{Traffic, Transport};
use crate::world::{MAX_WINDOW, Windows};

/// The time in which nodes cannot affect each other.
#[derive(Clone, Copy, Debug)]
pub(super) struct LookAhead {
    /// The smallest packet of all.
    smallest: Bytes,
    /// No node can affect another sooner than this.
    pub(super) least: Span,
    /// The most a window takes.
    width: Span,
}

impl LookAhead {
    /// `external` is the smallest packet from outside, if any come from there. Windows are so many times shorter than they may be.
    pub(super) fn new(network: &Network, traffic: &Traffic, external: Option<Bytes>, divisor: u64) -> Self {
        let switches = network.switches.iter().flatten();
        let control = switches.flat_map(|switch| switch.control_sizes());
        let packets = traffic.groups.iter().map(|group| group.smallest_packet());
        let smallest = packets.chain(control).chain(external).min().unwrap_or(Bytes::new(64));
        let links = (0..network.topology.links().len()).map(LinkId::from);
        let links = links.map(|link| network.least_crossing(link, smallest));
        let least = links.min().expect("a network has links").min(MAX_WINDOW);
        assert!(least > Span::ZERO, "it takes time to cross a link");
        Self { smallest, least, width: (least / divisor.max(1)).max(Span::from_ps(2)) }
    }

    pub(super) fn windows(&self) -> Windows {
        Windows::new(self.width)
    }
}

/// Windows that it takes at least until one thread affects another, over links and by way of other threads. Reports of flows that
/// others wait for take no less than packets.
#[derive(Clone, Debug)]
pub(super) struct Distances {
    threads: usize,
    /// From each thread, to each thread; to itself, by way of others.
    windows: Vec<u64>,
}

impl Distances {
    /// `places` are the threads of nodes.
    pub(super) fn new(network: &Network, look_ahead: &LookAhead, places: &[u32], threads: usize) -> Self {
        let LookAhead { smallest, width, .. } = *look_ahead;
        let mut shortest = vec![Span::MAX; threads * threads];
        for (number, link) in (0_usize..).zip(network.topology.links()) {
            let [from, to] = [link.from, link.to].map(|node| places[node.index()] as usize);
            if from != to {
                let shortest = &mut shortest[from * threads + to];
                *shortest = (*shortest).min(network.least_crossing(LinkId::from(number), smallest));
            }
        }
        for by in 0..threads {
            for from in 0..threads {
                for to in 0..threads {
                    let way = shortest[from * threads + by] + shortest[by * threads + to];
                    let shortest = &mut shortest[from * threads + to];
                    *shortest = (*shortest).min(way);
                }
            }
        }
        // Windows may be shorter than `width`, so that more of them pass.
        let windows =
            |span: Span| if span == Span::MAX { u64::MAX } else { (span.as_ps() / width.as_ps()).max(1) };
        Self { threads, windows: shortest.into_iter().map(windows).collect() }
    }

    /// The last window in which nothing arrives at thread `to` that has not been sent yet, if `next` are the next windows of all threads.
    pub(super) fn safe(&self, to: usize, next: &[u64]) -> u64 {
        let distances = self.windows.iter().skip(to).step_by(self.threads);
        let arrivals = next.iter().zip(distances).map(|(next, distance)| next.saturating_add(*distance));
        arrivals.min().map_or(u64::MAX, |first| first.saturating_sub(1))
    }
}

/// The first window that may end with nothing of the traffic outstanding.
pub(super) fn first_drained(network: &Network, traffic: &Traffic, windows: Windows) -> u64 {
    let ports = network.topology.ports();
    let hosts = network.topology.hosts().iter();
    let rates: Vec<_> = hosts.map(|host| network.highest_rate(ports[host.index()][0])).collect();
    let scheduled = traffic.flows.iter().filter(|flow| flow.start < Time::NEVER);
    let ends = scheduled.map(|flow| match traffic.groups[flow.group.index()].transport {
        // All of it leaves over the link of its source.
        Transport::Stream { .. } => flow.start + rates[flow.from.index()].time_to_send(flow.size),
        // Who sends it may give up.
        Transport::Rdma { .. } | Transport::Datagram { .. } => flow.start,
    });
    ends.max().map_or(0, |end| windows.of(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_may_go_on_until_the_first_window_in_which_something_could_arrive() {
        // Two threads that are 5000 windows apart: there and back takes twice as long.
        let distances = Distances { threads: 2, windows: vec![10_000, 5_000, 5_000, 10_000] };
        assert_eq!(distances.safe(0, &[10, 7_000]), 10_009);
        assert_eq!(distances.safe(1, &[10, 7_000]), 5_009);
        assert_eq!(distances.safe(0, &[10, u64::MAX]), 10_009);
        // Neighbors, and a thread that nobody reaches.
        assert_eq!(Distances { threads: 2, windows: vec![2, 1, 1, 2] }.safe(1, &[10, 10]), 10);
        assert_eq!(Distances { threads: 1, windows: vec![u64::MAX] }.safe(0, &[10]), u64::MAX - 1);
    }
}
