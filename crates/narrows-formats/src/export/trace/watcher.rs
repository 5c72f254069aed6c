use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use narrows::plan::Plan;
use narrows_proto::units::{Span, Time, WireTime};
use narrows_sim::observe::{Observer, PacketKind, PacketRef, SenderRef};
use narrows_sim::{DropCause, FlowId, LinkId};

use super::happening::{Happening, Packet, Queued, Window};
use super::selection::Selection;
use super::sink::{Sink, Wants};

/// Hands what is selected to a sink, in order of time.
///
/// Nodes report what they do window by window, and plain ports report departures before they are due, so happenings wait in a heap until
/// everything before them is known. A packet on a link that loses packets waits until it would have arrived: only then is it known
/// whether it was lost. What waits is bounded by what is under way, and by the limit.
pub(super) struct Watcher {
    selection: Selection,
    wants: Wants,
    limit: u64,
    taken: u64,
    heap: BinaryHeap<Reverse<Entry>>,
    /// Packets that wait at ports: what they met there.
    waiting: HashMap<Identity, VecDeque<Queued>>,
    /// The last packet that was marked, and where.
    marked: Option<(Time, LinkId)>,
    /// By link that loses packets: how long a bit takes, and the way.
    lossy: HashMap<LinkId, Way>,
    /// Packets that were lost: link and departure.
    lost: HashMap<(LinkId, Time), DropCause>,
    /// By flow: the incarnation that was sent last.
    incarnations: Vec<u16>,
    /// Links that leave hosts.
    first_hops: HashSet<LinkId>,
    sink: Option<Box<dyn Sink>>,
    failure: Option<std::io::Error>,
    stopped: Arc<AtomicBool>,
}

/// From when a packet begins to be sent until it is known whether it is lost: the time it takes to be sent, and to arrive. Neither on
/// links with a path: the end that sends knows at once.
type Way = Option<(WireTime, Span)>;

/// Identity of a packet at a port. Packets with equal ones leave in the order they came.
type Identity = (LinkId, PacketKind, Option<FlowId>, u16, u64);

/// Something that waits for its turn.
struct Entry {
    at: Time,
    order: u64,
    /// It is known by then what there is to know of it.
    ripe: Time,
    what: Happening,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        (self.at, self.order) == (other.at, other.order)
    }
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.order).cmp(&(other.at, other.order))
    }
}

/// Reason a trace ended.
pub(super) enum End {
    Done(Box<dyn Sink>),
    /// There was more than the limit.
    TooMuch,
    /// Nothing was selected.
    Nothing,
    Failed(std::io::Error),
}

impl Watcher {
    pub(super) fn new(
        plan: &Plan,
        selection: Selection,
        limit: u64,
        sink: Box<dyn Sink>,
        stopped: Arc<AtomicBool>,
    ) -> Self {
        let topology = &plan.network.topology;
        let links = (0..topology.links().len()).map(LinkId::from);
        let first_hops = links.clone().filter(|link| topology.as_host(topology.link(*link).from).is_some());
        let failures = plan.network.failures.iter();
        let failing: HashSet<LinkId> = failures.flat_map(|failure| both_directions(failure.link)).collect();
        let paths = &plan.network.paths;
        let loses = |link: &LinkId| {
            topology.link(*link).wire.error_rate > 0.0 || failing.contains(link) || paths.contains_key(link)
        };
        let lossy = links.filter(loses);
        let way = |link: LinkId| {
            let ends = topology.link(link);
            let switch = plan.network.switches[ends.to.index()].as_ref();
            let latency = switch.map_or(Span::ZERO, |switch| switch.latency);
            let way = (ends.wire.rate.wire_time(), ends.wire.delay + latency);
            (link, (!paths.contains_key(&link)).then_some(way))
        };
        Self {
            selection,
            wants: sink.wants(),
            limit,
            taken: 0,
            heap: BinaryHeap::new(),
            waiting: HashMap::new(),
            marked: None,
            lossy: lossy.map(way).collect(),
            lost: HashMap::new(),
            incarnations: vec![0; plan.traffic.flows.len()],
            first_hops: first_hops.collect(),
            sink: Some(sink),
            failure: None,
            stopped,
        }
    }

    /// The run ended at `ended`; what lies beyond never happens.
    pub(super) fn finish(mut self, ended: Time) -> End {
        self.heap.retain(|Reverse(entry)| entry.at <= ended);
        self.hand_over(Time::NEVER);
        match (self.sink, self.failure) {
            (_, Some(error)) => End::Failed(error),
            _ if self.taken > self.limit => End::TooMuch,
            _ if self.taken == 0 => End::Nothing,
            (Some(sink), None) => End::Done(sink),
            (None, None) => End::Nothing,
        }
    }

    /// Whether packets at a port are of interest.
    fn selects(&self, at: Time, link: LinkId, packet: PacketRef<'_>) -> bool {
        self.selection.has_time(at) && self.selection.has_link(link) && self.selection.has_flow(packet.flow())
    }

    fn push(&mut self, at: Time, ripe: Time, what: Happening) {
        if self.failure.is_some() || self.taken > self.limit {
            return;
        }
        self.taken += 1;
        if self.taken > self.limit {
            self.stopped.store(true, Ordering::Relaxed);
            self.heap.clear();
            return;
        }
        self.heap.push(Reverse(Entry { at, order: self.taken, ripe, what }));
    }

    /// Hands over what happened before `until` and is known.
    fn hand_over(&mut self, until: Time) {
        let Some(sink) = &mut self.sink else { return };
        while let Some(Reverse(entry)) =
            self.heap.peek().filter(|Reverse(entry)| entry.at < until && entry.ripe < until)
        {
            let (at, link) = (entry.at, entry.link());
            let Some(Reverse(mut entry)) = self.heap.pop() else { return };
            if let Happening::Departs(packet) = &mut entry.what {
                packet.lost = self.lost.remove(&(link, at));
            }
            if let Err(error) = sink.take(at, &entry.what) {
                self.failure = Some(error);
                self.stopped.store(true, Ordering::Relaxed);
                self.heap.clear();
                return;
            }
        }
    }

    fn identity(link: LinkId, packet: PacketRef<'_>) -> Identity {
        (link, packet.kind(), packet.flow(), packet.incarnation(), packet.seq())
    }

    /// Outcome of a packet's arrival at the port it leaves.
    fn met(&mut self, link: LinkId, packet: PacketRef<'_>) -> Option<Queued> {
        let std::collections::hash_map::Entry::Occupied(mut entry) =
            self.waiting.entry(Self::identity(link, packet))
        else {
            return None;
        };
        let first = entry.get_mut().pop_front();
        if entry.get().is_empty() {
            entry.remove();
        }
        first
    }
}

impl Entry {
    /// The link of a departure; of no use otherwise.
    fn link(&self) -> LinkId {
        match &self.what {
            Happening::Departs(packet) => packet.link,
            _ => LinkId(u32::MAX),
        }
    }
}

/// From when a packet begins to be sent until it is known whether it is lost.
fn until_known(way: Way, packet: PacketRef<'_>) -> Span {
    way.map_or(Span::ZERO, |(wire_time, way)| wire_time.of(packet.size()) + way)
}

fn both_directions(link: LinkId) -> [LinkId; 2] {
    [link, narrows_sim::topology::Topology::reverse(link)]
}

impl Observer for Watcher {
    fn backlog(&mut self, at: Time, link: LinkId, backlog: u64) {
        if self.wants.backlogs && self.selection.has_time(at) && self.selection.has_link(link) {
            self.push(at, at, Happening::Backlog(link, backlog));
        }
    }

    fn marked(&mut self, at: Time, link: LinkId) {
        self.marked = Some((at, link));
    }

    fn paused(&mut self, at: Time, link: LinkId, until: Time) {
        if self.wants.pauses && self.selection.has_time(at) && self.selection.has_link(link) {
            self.push(at, at, Happening::Paused(link, until));
        }
    }

    fn window(&mut self, at: Time, flow: FlowId, sender: SenderRef<'_>) {
        if self.wants.windows && self.selection.has_time(at) && self.selection.has_flow(Some(flow)) {
            let incarnation = self.incarnations[flow.index()];
            self.push(at, at, Happening::Window(Box::new(Window::new(flow, incarnation, sender))));
        }
    }

    fn queued(&mut self, at: Time, link: LinkId, packet: PacketRef<'_>, backlog: u64) {
        let marked = self.marked.take() == Some((at, link));
        if !self.selection.has_link(link) || !self.selection.has_flow(packet.flow()) {
            return;
        }
        if self.wants.packets {
            let met = Queued { at, backlog, marked };
            self.waiting.entry(Self::identity(link, packet)).or_default().push_back(met);
        }
        if marked && self.wants.marks && self.selection.has_time(at) {
            self.push(at, at, Happening::Marked(Box::new(Packet::new(link, packet))));
        }
    }

    fn departs(&mut self, at: Time, link: LinkId, packet: PacketRef<'_>) {
        let is_first_hop = self.first_hops.contains(&link);
        if let Some(flow) = packet.flow()
            && is_first_hop
            && matches!(packet.kind(), PacketKind::Data | PacketKind::Syn | PacketKind::Datagram)
        {
            self.incarnations[flow.index()] = packet.incarnation();
        }
        let queued = if self.wants.packets { self.met(link, packet) } else { None };
        let repeat = self.wants.repeats && is_first_hop && packet.is_again();
        if !repeat && !self.wants.packets {
            return;
        }
        let selected = if repeat {
            // When it leaves its host it is retransmitted, wherever ports are selected.
            self.selection.has_time(at) && self.selection.has_flow(packet.flow())
        } else {
            self.selects(at, link, packet)
        };
        if selected {
            let ripe = match self.lossy.get(&link).filter(|_| self.wants.packets) {
                Some(way) => at + until_known(*way, packet),
                None => at,
            };
            let packet = Packet { queued, ..Packet::new(link, packet) };
            self.push(at, ripe, Happening::Departs(Box::new(packet)));
        }
    }

    fn discarded(&mut self, at: Time, link: LinkId, packet: PacketRef<'_>, cause: DropCause) {
        self.marked = None;
        let on_link = matches!(cause, DropCause::LinkError | DropCause::LinkDown | DropCause::BurstLoss);
        if on_link && self.wants.packets {
            if let Some(way) = self.lossy.get(&link) {
                let departed = Time::ZERO + at.saturating_since(Time::ZERO + until_known(*way, packet));
                if self.selects(departed, link, packet) {
                    self.lost.insert((link, departed), cause);
                }
            }
            return;
        }
        if (self.wants.drops || self.wants.packets) && self.selects(at, link, packet) {
            self.push(at, at, Happening::Dropped(Box::new(Packet::new(link, packet)), cause));
        }
    }

    fn window_over(&mut self, until: Time) {
        self.hand_over(until);
    }
}
