//! Inside of a network: the simulation, what is bound, what is on its way, and who waits.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::net::SocketAddr;
use std::task::Waker;

use narrows::run::Steps;
use narrows_proto::units::{BitRate, Bytes, Span, Time};
use narrows_sim::observe::PacketKind;
use narrows_sim::{Codepoint, Delivered, Delivery, FlowId, GroupId, HostId, Injected, RecordedSession};

use crate::datagram::{Counters, Datagram};
use crate::error::Error;

/// Headers of IPv4 and UDP.
pub(crate) const HEADERS: u64 = 20 + 8;

/// Header and checksum of an Ethernet frame, preamble and gap.
pub(crate) const FRAMING: u64 = 38;

/// The smallest packet on the wire, framing included.
pub(crate) const SMALLEST: Bytes = Bytes::new(84);

/// A card takes as much as Linux lets a socket hand it (`net.core.wmem_default`).
const SEND_BUFFER: Bytes = Bytes::new(212_992);

/// The network card of a host with sockets.
#[derive(Debug)]
pub(crate) struct Card {
    pub(crate) rate: BitRate,
    /// Time that its link is busy from `seen` on.
    backlog: Span,
    seen: Option<Time>,
}

impl Card {
    pub(crate) fn new(rate: BitRate) -> Self {
        Self { rate, backlog: Span::ZERO, seen: None }
    }

    /// When it takes the next datagram.
    fn has_room_at(&mut self, host: HostId, session: &mut RecordedSession) -> Time {
        let now = session.now();
        if self.seen != Some(now) {
            (self.backlog, self.seen) = (session.backlog(host), Some(now));
        }
        let over = self.backlog.saturating_sub(self.rate.time_to_send(SEND_BUFFER));
        // In whole nanoseconds, as those who wait have them.
        if over == Span::ZERO { now } else { now + Span::from_ns(over.as_ps().div_ceil(1000)) }
    }
}

/// A bound port.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    arrived: VecDeque<Datagram>,
    pub(crate) waiting: Option<Waker>,
}

impl Inbox {
    pub(crate) fn next(&mut self) -> Option<Datagram> {
        self.arrived.pop_front()
    }
}

/// A datagram on its way.
#[derive(Debug)]
struct Carried {
    from: SocketAddr,
    to: SocketAddr,
    ecn: Codepoint,
    payload: Box<[u8]>,
}

#[derive(Debug)]
pub(crate) struct State {
    pub(crate) steps: Steps,
    pub(crate) now: Time,
    pub(crate) end: Time,
    /// The largest payload.
    pub(crate) most: usize,
    pub(crate) cards: BTreeMap<HostId, Card>,
    pub(crate) inboxes: BTreeMap<SocketAddr, Inbox>,
    /// By the addresses of both ends: what switches spread over paths of the same length.
    flows: HashMap<(SocketAddr, SocketAddr), FlowId>,
    /// By number.
    carried: HashMap<u64, Carried>,
    counters: Counters,
    /// By time, then in the order in which they were set.
    pub(crate) timers: BTreeMap<(Time, u64), Option<Waker>>,
    pub(crate) timers_made: u64,
}

impl State {
    pub(crate) fn new(steps: Steps, end: Time, most: usize, cards: BTreeMap<HostId, Card>) -> Self {
        Self {
            steps,
            now: Time::ZERO,
            end,
            most,
            cards,
            inboxes: BTreeMap::new(),
            flows: HashMap::new(),
            carried: HashMap::new(),
            counters: Counters::default(),
            timers: BTreeMap::new(),
            timers_made: 0,
        }
    }

    pub(crate) fn counters(&self) -> Counters {
        Counters { in_flight: self.carried.len() as u64, ..self.counters }
    }

    /// When the card of a host takes the next datagram.
    pub(crate) fn has_room_at(&mut self, host: HostId) -> Time {
        let Self { cards, steps, now, .. } = self;
        let session = steps.session();
        let at = cards.get_mut(&host).map_or(*now, |card| card.has_room_at(host, session));
        if at == session.now() { *now } else { at }
    }

    /// A datagram from a socket of one host to another host.
    pub(crate) fn send(
        &mut self,
        (host, from): (HostId, SocketAddr),
        (other, to): (HostId, SocketAddr),
        ecn: Codepoint,
        payload: &[u8],
    ) -> Result<(), Error> {
        if payload.len() > self.most {
            return Err(Error::TooLarge { size: payload.len(), most: self.most });
        }
        let until = self.has_room_at(host);
        if until > self.now {
            return Err(Error::Full { until });
        }
        let session = self.steps.session();
        let flow = self.flows.entry((from, to)).or_insert_with(|| session.open(GroupId(0), host, other));
        let size = Bytes::new(payload.len() as u64 + HEADERS + FRAMING).max(SMALLEST);
        let number = self.counters.sent;
        session.send(*flow, &Injected::Datagram { back: false, number, size, ecn }, session.now());
        if let Some(card) = self.cards.get_mut(&host) {
            card.backlog += card.rate.time_to_send(size);
        }
        self.counters.sent += 1;
        self.carried.insert(number, Carried { from, to, ecn, payload: payload.into() });
        Ok(())
    }

    /// Advances to the first arrival or timer, `until` at the latest. Returns who is to be woken, and whether there was any.
    pub(crate) fn advance(&mut self, until: Time) -> Result<(bool, Vec<Waker>), Error> {
        if until < self.now {
            return Err(Error::Backward { until, now: self.now });
        }
        let timer = self.timers.first_key_value().map_or(Time::NEVER, |(key, _)| key.0);
        let at = until.min(self.end).min(timer).max(self.now);
        let session = self.steps.session();
        session.advance_until_delivery(at);
        // Everything up to now has happened.
        self.now = Time::from_ps(session.now().as_ps().saturating_sub(1)).max(self.now);
        let mut woken = Vec::new();
        let mut happened = self.deliver(&mut woken);
        while let Some(first) = self.timers.first_entry().filter(|first| first.key().0 <= self.now) {
            woken.extend(first.remove());
            happened = true;
        }
        Ok((happened, woken))
    }

    /// Takes what has left the network. Returns whether a datagram has arrived.
    fn deliver(&mut self, woken: &mut Vec<Waker>) -> bool {
        let Self { steps, carried, counters, inboxes, .. } = self;
        let session = steps.session();
        for number in session.take_discarded() {
            counters.dropped += u64::from(carried.remove(&number).is_some());
        }
        let mut arrived = false;
        for Delivery { at, what, .. } in session.take_deliveries() {
            let Delivered::Packet(packet) = what else { continue };
            let packet = packet.as_seen();
            // Messages of mechanisms are for network cards that know them.
            if packet.kind() != PacketKind::Datagram {
                continue;
            }
            let Some(Carried { from, to, ecn, payload }) = carried.remove(&packet.seq()) else { continue };
            arrived = true;
            let Some(inbox) = inboxes.get_mut(&to) else {
                counters.unclaimed += 1;
                continue;
            };
            counters.received += 1;
            let ecn = if packet.is_marked() { Codepoint::Ce } else { ecn };
            inbox.arrived.push_back(Datagram { at, from, ecn, payload: payload.into() });
            woken.extend(inbox.waiting.take());
        }
        arrived
    }
}
