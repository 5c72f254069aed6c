//! Queues of the flows that wait in one queue of a port, and the order in which they send.

use super::store::{Chain, Store};
use crate::packet::{Packet, Parcel, Trailers};
use crate::random::mix;
use crate::record::{counters, max, sum};

/// The most packets that give way at once (RFC 8290 §4.1).
const MOST_AT_ONCE: u32 = 64;

/// No flow queue.
const NONE: u32 = u32::MAX;

/// Queues of flows, in which a packet of a flow joins the one that a hash names.
#[derive(Clone, Debug)]
pub(crate) struct FlowQueues {
    /// Of the hash: the perturbation of RFC 8290 §4.1.
    salt: u64,
    quantum: i32,
    /// Queues that were empty go first.
    new_first: bool,
    queues: Box<[FlowQueue]>,
    store: Store,
    new: List,
    old: List,
    /// The queue whose packets give way.
    fattest: u32,
    /// Queues in a list.
    active: u64,
}

counters! {
    #[derive(Eq)]
    /// Flow queues of a port.
    pub struct FlowQueueCounters {
        /// Times that a flow queue without packets got one and joined the turns.
        pub new: u64 = sum,
        /// The most flow queues that ever took turns at once.
        pub max_active: u64 = max,
    }
}

/// A queue of one flow, or of a few whose hashes agree.
#[derive(Clone, Copy, Debug, Default)]
struct FlowQueue {
    packets: Chain,
    bytes: u64,
    len: u32,
    /// Bytes that it may send before it is another's turn.
    credits: i32,
    /// The next one in its list.
    next: u32,
    is_active: bool,
}

/// Memory that a flow queue takes.
pub const BYTES_OF_FLOW_QUEUE: u64 = size_of::<FlowQueue>() as u64;

/// Flow queues that take turns.
#[derive(Clone, Copy, Debug)]
struct List {
    first: u32,
    last: u32,
}

impl List {
    const EMPTY: Self = Self { first: NONE, last: NONE };

    fn is_empty(&self) -> bool {
        self.first == NONE
    }

    fn push(&mut self, number: u32, queues: &mut [FlowQueue]) {
        queues[number as usize].next = NONE;
        match self.last {
            NONE => self.first = number,
            last => queues[last as usize].next = number,
        }
        self.last = number;
    }

    /// Takes out the first, which must exist.
    fn pop(&mut self, queues: &[FlowQueue]) -> u32 {
        let number = self.first;
        self.first = queues[number as usize].next;
        if self.first == NONE {
            self.last = NONE;
        }
        number
    }
}

/// A packet that was taken out of a flow queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Popped {
    pub(crate) packet: Packet,
    /// The flow queue.
    pub(crate) flow_queue: usize,
    /// Bytes that wait behind it there.
    pub(crate) left: u64,
}

impl FlowQueues {
    /// So many `queues`, whose hash has this salt.
    pub(crate) fn new(queues: u32, quantum: u32, new_first: bool, salt: u64) -> Self {
        Self {
            salt,
            quantum: i32::try_from(quantum).unwrap_or(i32::MAX),
            new_first,
            queues: vec![FlowQueue::default(); queues as usize].into_boxed_slice(),
            store: Store::default(),
            new: List::EMPTY,
            old: List::EMPTY,
            fattest: NONE,
            active: 0,
        }
    }

    /// The flow queue of a packet.
    #[inline]
    fn queue_of(&self, packet: Packet) -> u32 {
        let flow = u64::from(packet.flow().0) | u64::from(packet.to().0) << 32;
        let hash = mix(flow ^ self.salt);
        ((u128::from(hash) * self.queues.len() as u128) >> 64) as u32
    }

    /// Lets a flow queue take turns, if it does not.
    #[inline]
    fn activate(&mut self, number: u32, counters: &mut FlowQueueCounters) {
        let queue = &mut self.queues[number as usize];
        if queue.is_active {
            return;
        }
        queue.is_active = true;
        queue.credits = self.quantum;
        self.active += 1;
        counters.new += 1;
        counters.max_active = counters.max_active.max(self.active);
        let list = if self.new_first { &mut self.new } else { &mut self.old };
        list.push(number, &mut self.queues);
    }

    /// A packet begins to wait.
    #[inline]
    pub(crate) fn push(&mut self, parcel: Parcel<'_>, counters: &mut FlowQueueCounters) {
        let number = self.queue_of(parcel.packet);
        self.activate(number, counters);
        let queue = &mut self.queues[number as usize];
        queue.bytes += u64::from(parcel.packet.size());
        queue.len += 1;
        self.store.push(&mut queue.packets, parcel);
    }

    /// A packet leaves at once. Nothing waits, and the link is free: the turns of all that have sent are over.
    pub(crate) fn pass(&mut self, packet: Packet, counters: &mut FlowQueueCounters) -> usize {
        for mut list in
            [std::mem::replace(&mut self.new, List::EMPTY), std::mem::replace(&mut self.old, List::EMPTY)]
        {
            while !list.is_empty() {
                let number = list.pop(&self.queues);
                self.queues[number as usize].is_active = false;
            }
        }
        self.active = 0;
        let number = self.queue_of(packet);
        self.activate(number, counters);
        self.charge(number as usize, packet);
        number as usize
    }

    /// The first packet of the flow queue whose turn it is. There must be one.
    #[inline]
    pub(crate) fn pop(&mut self, slots: &mut Trailers) -> Popped {
        let number = self.turn();
        self.take(number, slots)
    }

    /// A packet of a flow queue is sent.
    #[inline]
    pub(crate) fn charge(&mut self, flow_queue: usize, packet: Packet) {
        self.queues[flow_queue].credits -= i32::from(packet.size());
    }

    /// The flow queue whose turn it is (RFC 8290 §4.2).
    #[inline]
    fn turn(&mut self) -> u32 {
        loop {
            let is_new = !self.new.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.old };
            let number = list.first;
            let queue = &mut self.queues[number as usize];
            let spent = queue.credits <= 0;
            if !spent && queue.len > 0 {
                return number;
            }
            list.pop(&self.queues);
            let queue = &mut self.queues[number as usize];
            if spent {
                queue.credits = queue.credits.saturating_add(self.quantum);
            }
            // One that was new and has run empty waits for the turns of all old ones, so that it cannot come back before them.
            if spent || is_new {
                self.old.push(number, &mut self.queues);
            } else {
                queue.is_active = false;
                self.active -= 1;
            }
        }
    }

    #[inline]
    fn take(&mut self, number: u32, slots: &mut Trailers) -> Popped {
        let queue = &mut self.queues[number as usize];
        let packet = self.store.pop(&mut queue.packets, slots);
        queue.bytes -= u64::from(packet.size());
        queue.len -= 1;
        Popped { packet, flow_queue: number as usize, left: queue.bytes }
    }

    /// Finds the flow queue that holds most bytes: half of its packets, at most 64, give way (RFC 8290 §4.1).
    #[cold]
    pub(crate) fn overflow(&mut self) -> u32 {
        let most = (0..self.queues.len()).max_by_key(|number| self.queues[*number].bytes).unwrap_or(0);
        self.fattest = most as u32;
        self.queues[most].len.div_ceil(2).min(MOST_AT_ONCE)
    }

    /// The first packet of the flow queue that [`overflow`](Self::overflow) has found.
    pub(crate) fn give_way(&mut self, slots: &mut Trailers) -> Option<Packet> {
        let queue = self.queues.get(self.fattest as usize)?;
        (queue.len > 0).then(|| self.take(self.fattest, slots).packet)
    }
}
