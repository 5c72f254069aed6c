//! A look at a run while it goes on: what waits, what is carried, what has happened so far.
//!
//! Every thread counts for itself. When somebody asks ([`Live::ask`]), each thread leaves a copy of its counts at the end
//! of its window, and [`Live::look`] adds them up. Threads may answer as far apart as it takes until one affects the other.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use narrows_proto::stream::Stats;
use narrows_proto::units::{Bytes, Span, Time};

use super::{Observer, Reviewed};
use crate::ids::{FlowId, LinkId};
use crate::record::{DatagramRecord, FlowRecord, PortCounters, counters, max, sum};
use crate::traffic::Traffic;

/// A run at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Look {
    /// Everything before this moment is in it.
    pub until: Time,
    /// Which call of [`Live::ask`] it answers.
    pub number: u64,
    /// By link.
    pub links: Vec<LinkLook>,
    /// By traffic group.
    pub groups: Vec<GroupLook>,
    /// Counters of the whole network.
    pub counts: Counts,
}

counters! {
    /// A link and the port it leaves from.
    #[derive(Eq)]
    pub struct LinkLook {
        /// Bytes that wait at the port of a switch.
        pub backlog: u64 = sum,
        /// The most that waited since the look before.
        pub most: u64 = sum,
        /// The most that ever waited.
        pub peak: u64 = sum,
        /// Bytes in a side queue among those that wait.
        pub side: u64 = sum,
        /// It has a side queue.
        pub has_side: bool = either,
        /// Until when the node at the far end has paused it, if that lies ahead.
        pub paused_until: Time = max,
        /// Packets that began to be sent.
        pub packets: u64 = sum,
        /// Bytes of those, framing included.
        pub bytes: u64 = sum,
        /// Packets marked.
        pub marks: u64 = sum,
        /// Packets dropped at the port or lost on the link.
        pub drops: u64 = sum,
    }
}

fn either(sum: &mut bool, part: bool) {
    *sum |= part;
}

/// The flows of a traffic group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupLook {
    /// Flows that have started. A source of datagrams starts once.
    pub started: u64,
    /// Flows whose receiver has all of them.
    pub finished: u64,
    /// Payload known to senders to have arrived; of datagrams, payload that has arrived.
    pub delivered: Bytes,
    /// Completion times of finished flows.
    pub fct: Durations,
    /// Windows of some flows under way, those that have gone on for longest first. Flows that have no window are not among them.
    pub windows: Vec<WindowLook>,
}

/// The congestion window of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct WindowLook {
    /// When the flow started.
    pub start: Time,
    /// Which flow, or which client.
    pub flow: FlowId,
    /// Payload that may be on its way.
    pub cwnd: Bytes,
}

/// Windows of a group that are kept.
const WINDOWS: usize = 8;

impl GroupLook {
    fn keep_oldest(&mut self) {
        self.windows.sort_unstable();
        self.windows.truncate(WINDOWS);
    }
}

/// Counters of the whole network so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Of all ports together, and of packets without a route.
    pub ports: PortCounters,
    /// Of all sources of datagrams together; of no flow in particular.
    pub datagrams: DatagramRecord,
    /// Of all senders together.
    pub senders: Stats,
}

/// Histogram of lengths of time, each known to a thirty-second of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Durations {
    /// Grows to the longest that was seen.
    seen: Vec<u64>,
}

/// Parts that each doubling is divided into, as a power of two.
const PARTS: u32 = 5;

impl Durations {
    fn add(&mut self, span: Span) {
        let place = Self::place(span.as_ps());
        if self.seen.len() <= place {
            self.seen.resize(place + 1, 0);
        }
        self.seen[place] += 1;
    }

    fn place(ps: u64) -> usize {
        let octave = ps.checked_ilog2().unwrap_or(0).saturating_sub(PARTS);
        // Below 2^PARTS every value has a place of its own.
        ((u64::from(octave) << PARTS) + (ps >> octave)) as usize
    }

    /// The middle of the values at a place.
    fn middle(place: usize) -> Span {
        let octave = ((place >> PARTS) as u32).saturating_sub(1);
        let first = (place as u64 - (u64::from(octave) << PARTS)) << octave;
        Span::from_ps(first + (1 << octave) / 2)
    }

    /// The smallest that at least this fraction of all does not exceed; none if there are none. A sixty-fourth off at most.
    pub fn quantile(&self, fraction: f64) -> Option<Span> {
        let all: u64 = self.seen.iter().sum();
        let rank = ((all as f64 * fraction).ceil() as u64).max(1);
        let mut below = 0;
        let place = self.seen.iter().position(|times| {
            below += times;
            below >= rank
        })?;
        Some(Self::middle(place))
    }

    fn merge(&mut self, other: &Self) {
        if self.seen.len() < other.seen.len() {
            self.seen.resize(other.seen.len(), 0);
        }
        for (sum, part) in self.seen.iter_mut().zip(&other.seen) {
            *sum += part;
        }
    }
}

/// State that the threads of a run share with those who watch it.
#[derive(Debug)]
pub struct Live {
    /// Number of looks that were requested.
    asked: AtomicU64,
    /// By thread.
    parts: Vec<Mutex<Look>>,
    /// By flow, or client: when its last one started, in picoseconds. It starts in another thread than it ends in.
    starts: Box<[AtomicU64]>,
    /// By flow.
    group_of: Box<[u32]>,
    links: usize,
    groups: usize,
}

impl Live {
    /// For one run of `traffic` over `links` links on so many threads.
    pub fn new(traffic: &Traffic, links: usize, threads: usize) -> Arc<Self> {
        let part = || Mutex::new(Look { links: vec![LinkLook::default(); links], ..Look::default() });
        Arc::new(Self {
            asked: AtomicU64::new(0),
            parts: (0..threads.max(1)).map(|_| part()).collect(),
            starts: traffic.flows.iter().map(|_| AtomicU64::new(0)).collect(),
            group_of: traffic.flows.iter().map(|flow| flow.group.0).collect(),
            links,
            groups: traffic.groups.len(),
        })
    }

    /// The observers of the run, one for each thread.
    pub fn observers(self: &Arc<Self>) -> impl Iterator<Item = LiveObserver> {
        let live = Arc::clone(self);
        (0..self.parts.len()).map(move |thread| LiveObserver {
            thread,
            asked: 0,
            links: vec![LinkLook::default(); live.links],
            groups: vec![GroupLook::default(); live.groups],
            closed: vec![Bytes::ZERO; live.groups],
            over: Counts::default(),
            counts: Counts::default(),
            live: Arc::clone(&live),
        })
    }

    /// Requests a new look; answers its number.
    pub fn ask(&self) -> u64 {
        self.asked.fetch_add(1, Ordering::Release) + 1
    }

    /// The number of the newest look that all threads have contributed to; zero if there is none.
    pub fn answered(&self) -> u64 {
        (0..self.parts.len()).map(|thread| self.part(thread).number).min().unwrap_or(0)
    }

    /// The newest look.
    pub fn look(&self) -> Look {
        let mut sum = Look {
            number: u64::MAX,
            links: vec![LinkLook::default(); self.links],
            groups: vec![GroupLook::default(); self.groups],
            ..Look::default()
        };
        for thread in 0..self.parts.len() {
            sum.add(&self.part(thread));
        }
        sum
    }

    fn part(&self, thread: usize) -> MutexGuard<'_, Look> {
        self.parts[thread].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Look {
    fn add(&mut self, part: &Self) {
        self.until = self.until.max(part.until);
        self.number = self.number.min(part.number);
        for (sum, part) in self.links.iter_mut().zip(&part.links) {
            // One thread has the port, maybe another one what was lost on the link.
            sum.add(part);
        }
        for (sum, part) in self.groups.iter_mut().zip(&part.groups) {
            sum.started += part.started;
            sum.finished += part.finished;
            sum.delivered += part.delivered;
            sum.fct.merge(&part.fct);
            sum.windows.extend_from_slice(&part.windows);
            sum.keep_oldest();
        }
        self.counts.add(&part.counts);
    }

    /// Packets that were sent over all links so far.
    pub fn packets(&self) -> u64 {
        self.links.iter().map(|link| link.packets).sum()
    }
}

impl Counts {
    fn add(&mut self, part: &Self) {
        self.ports.add(&part.ports);
        self.datagrams.add(&part.datagrams);
        self.add_sender(&part.senders);
    }

    fn add_sender(&mut self, part: &Stats) {
        let sum = &mut self.senders;
        let Stats {
            retransmissions,
            retransmitted,
            timeouts,
            recoveries,
            spurious,
            probes,
            reordered,
            reordering,
            marked,
            cnps,
            injected: _,
        } = *part;
        sum.retransmissions += retransmissions;
        sum.retransmitted += retransmitted;
        sum.timeouts += timeouts;
        sum.recoveries += recoveries;
        sum.spurious += spurious;
        sum.probes += probes;
        sum.reordered += reordered;
        sum.reordering = reordering.max(sum.reordering);
        sum.marked += marked;
        sum.cnps += cnps;
    }
}

/// Counts for one thread what [`Live`] adds up.
#[derive(Debug)]
pub struct LiveObserver {
    live: Arc<Live>,
    thread: usize,
    /// The number of the look being taken, or of the last one.
    asked: u64,
    links: Vec<LinkLook>,
    groups: Vec<GroupLook>,
    /// By group: payload delivered by flows that are over.
    closed: Vec<Bytes>,
    /// Counters that do not change any more: those of senders of flows that are over.
    over: Counts,
    /// Counters of a review so far.
    counts: Counts,
}

impl LiveObserver {
    fn group(&mut self, flow: FlowId) -> &mut GroupLook {
        &mut self.groups[self.live.group_of[flow.index()] as usize]
    }

    /// When a flow started last.
    fn start(&self, flow: FlowId) -> Time {
        Time::from_ps(self.live.starts[flow.index()].load(Ordering::Relaxed))
    }

    /// Counts begin anew with what does not change any more.
    fn begin(&mut self) {
        self.counts.clone_from(&self.over);
        for (group, closed) in self.groups.iter_mut().zip(&self.closed) {
            group.delivered = *closed;
            group.windows.clear();
        }
        for link in &mut self.links {
            (link.marks, link.drops) = (0, 0);
        }
    }
}

impl Observer for LiveObserver {
    const BY_LINK: bool = true;

    #[inline]
    fn backlog(&mut self, _at: Time, link: LinkId, backlog: u64) {
        let link = &mut self.links[link.index()];
        link.backlog = backlog;
        link.most = link.most.max(backlog);
    }

    #[inline]
    fn sent(&mut self, _at: Time, link: LinkId, size: u16) {
        let link = &mut self.links[link.index()];
        link.packets += 1;
        link.bytes += u64::from(size);
    }

    fn paused(&mut self, _at: Time, link: LinkId, until: Time) {
        self.links[link.index()].paused_until = until;
    }

    fn side_backlog(&mut self, _at: Time, link: LinkId, backlog: u64) {
        self.links[link.index()].side = backlog;
    }

    fn side_queue(&mut self, _at: Time, link: LinkId, exists: bool) {
        self.links[link.index()].has_side = exists;
    }

    fn started(&mut self, at: Time, flow: FlowId) {
        // Whoever completes the flow has received packets of it, and threads meet before those arrive.
        self.live.starts[flow.index()].store(at.as_ps(), Ordering::Relaxed);
        self.group(flow).started += 1;
    }

    fn completed(&mut self, at: Time, flow: FlowId) {
        let start = self.start(flow);
        let group = self.group(flow);
        group.finished += 1;
        group.fct.add(at.saturating_since(start));
    }

    fn closed(&mut self, _at: Time, record: &FlowRecord) {
        let group = self.live.group_of[record.flow.index()] as usize;
        self.closed[group] += record.delivered;
        self.over.add_sender(&record.stats);
    }

    #[inline]
    fn wants_review(&mut self) -> bool {
        self.live.asked.load(Ordering::Acquire) > self.asked
    }

    fn review(&mut self, what: Reviewed<'_>) {
        match what {
            Reviewed::Begin => {
                self.asked = self.live.asked.load(Ordering::Acquire);
                self.begin();
            }
            Reviewed::Port(link, counters) => {
                let link = &mut self.links[link.index()];
                link.marks += counters.marks;
                link.drops += counters.dropped();
                self.counts.ports.add(counters);
            }
            Reviewed::NoRoute(counters) => self.counts.ports.add(counters),
            Reviewed::Flow(record) => {
                self.group(record.flow).delivered += record.delivered;
                self.counts.add_sender(&record.stats);
            }
            Reviewed::Sender(flow, sender) => {
                let (start, cwnd) = (self.start(flow), sender.limit().cwnd);
                if cwnd < Bytes::MAX {
                    self.group(flow).windows.push(WindowLook { start, flow, cwnd });
                }
            }
            Reviewed::Datagrams(record) => {
                self.group(record.flow).delivered += record.received_bytes;
                self.counts.datagrams.add(record);
            }
        }
    }

    fn reviewed(&mut self, until: Time) {
        for link in &mut self.links {
            link.peak = link.peak.max(link.most);
        }
        self.groups.iter_mut().for_each(GroupLook::keep_oldest);
        let mut part = self.live.parts[self.thread].lock().unwrap_or_else(PoisonError::into_inner);
        (part.until, part.number) = (until, self.asked);
        part.links.clone_from(&self.links);
        part.groups.clone_from(&self.groups);
        part.counts.clone_from(&self.counts);
        drop(part);
        for link in &mut self.links {
            link.most = link.backlog;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_length_of_time_is_found_again_to_a_sixty_fourth(ps in 0_u64..1 << 62) {
            let mut durations = Durations::default();
            durations.add(Span::from_ps(ps));
            let found = durations.quantile(0.5).unwrap().as_ps();
            prop_assert!(found.abs_diff(ps) <= ps / 64 + 1, "{found} for {ps}");
        }
    }

    #[test]
    fn quantiles_are_ranks_rounded_up() {
        let mut durations = Durations::default();
        (1..=4).for_each(|ps| durations.add(Span::from_ps(ps)));
        let quantiles =
            [0.25, 0.26, 0.5, 0.99, 1.0].map(|fraction| durations.quantile(fraction).unwrap().as_ps());
        assert_eq!(quantiles, [1, 2, 2, 4, 4]);
        assert_eq!(Durations::default().quantile(0.5), None);
    }

    #[test]
    fn the_most_that_waited_is_forgotten_with_the_look_and_the_peak_is_not() {
        let live = Live::new(&Traffic::default(), 1, 1);
        let mut observer = live.observers().next().unwrap();
        let mut look = |backlogs: &[u64]| {
            backlogs.iter().for_each(|backlog| observer.backlog(Time::ZERO, LinkId(0), *backlog));
            live.ask();
            assert!(observer.wants_review());
            observer.review(Reviewed::Begin);
            observer.reviewed(Time::from_ps(1));
            assert!(!observer.wants_review());
            let link = live.look().links[0];
            (link.backlog, link.most, link.peak)
        };
        assert_eq!(look(&[500, 900, 100]), (100, 900, 900));
        assert_eq!(look(&[50]), (50, 100, 900));
        assert_eq!(look(&[]), (50, 50, 900));
        assert_eq!((live.answered(), live.look().number), (3, 3));
    }
}
