//! Limiters: queues at the edge of the network that a reaction point slows down.
//!
//! A flow gets a limiter with the first message that asks its source to slow down. From then on its packets wait in the
//! limiter's queue and leave at the rate of the reaction point, tagged as they leave. A flow without a limiter pays nothing.

mod edge;
mod host;
mod observer;
mod record;
#[cfg(test)]
mod tests;

use narrows_proto::cnm::Cnm;
use narrows_proto::reaction::{self, ReactionPoint};
use narrows_proto::units::{BitRate, Bytes, Time, WireTime};

use crate::ids::{FlowId, NodeId};
use crate::observe::{MechanismEvent, Observer};
use crate::packet::{CE, ECT, Packet};
use crate::random::{Stream, mix};
use crate::ring::Ring;
use crate::traffic::FlowSpec;

pub(crate) use self::edge::EdgeLimiters;
pub(crate) use self::host::ReactionPoints;
pub use self::observer::{LimiterEvent, LimiterObserver, LimiterRow};
pub use self::record::ReactionRecord;

/// Reaction points of a network.
#[derive(Clone, Debug, PartialEq)]
pub struct Reaction {
    /// Rule of their reaction.
    pub rule: reaction::Config,
    /// Where they are.
    pub place: ReactionPlace,
    /// Flows that share a limiter.
    pub per: LimiterScope,
    /// Number of limiters of a host or edge switch. When all are in use, further flows share them, chosen by a hash.
    pub limiters: u32,
    /// Room in one limiter. A host does not hand over more; an edge switch drops it.
    pub queue: Bytes,
    /// A packet that finds more than this in the queue of its limiter is marked, if its transport reads marks; none if left out. The
    /// slides on BCN (2005) name it as future work.
    pub mark: Option<Bytes>,
}

/// Where reaction points are.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ReactionPlace {
    /// In the network cards of hosts.
    #[default]
    Host,
    /// In the switches of hosts, where their links end. At line rate a queue drains as fast as the fastest link of the switch; that of
    /// a rack as fast as its uplinks together.
    EdgeSwitch,
}

/// Flows that share a limiter.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum LimiterScope {
    /// One connection, or one source of datagrams.
    Flow,
    /// Everything from one host to another, of one priority: what a bridge takes for a flow.
    #[default]
    Pair,
    /// Everything from one host, of one priority.
    Port,
    /// All flows of one traffic group that enter the network at one edge switch: one loop around what a rack sends. In network
    /// cards, those of one host.
    Rack,
}

impl LimiterScope {
    /// The same number for all that shares a limiter.
    #[inline]
    pub(crate) fn key(self, flow: FlowId, spec: &FlowSpec, priority: u8) -> u64 {
        match self {
            Self::Flow => flow.0.into(),
            Self::Pair => u64::from(priority) << 60 ^ u64::from(spec.from.0) << 30 ^ u64::from(spec.to.0),
            Self::Port => u64::from(priority) << 60 ^ u64::from(spec.from.0),
            Self::Rack => u64::from(spec.group.0),
        }
    }
}

/// A queue that is emptied at the rate of a reaction point.
#[derive(Debug)]
pub(crate) struct Limiter {
    pub(crate) point: ReactionPoint,
    queue: Ring<Packet>,
    waiting: u64,
    /// A packet that finds more than this is marked.
    mark: u64,
    /// The last packet sent: when, and its size.
    sent: (Time, u16),
    /// When the next may be sent, at the rate of now.
    release: Time,
    rate: BitRate,
    /// Time to send a packet at `rate`; none while it is stopped.
    wire_time: Option<WireTime>,
    /// Time to send a packet once it is at line rate; none if all may go at once.
    drain: Option<WireTime>,
    random: Stream,
}

impl Limiter {
    fn new(config: &Reaction, line_rate: BitRate, drain: Option<WireTime>, random: Stream) -> Self {
        let mut limiter = Self {
            point: ReactionPoint::new(&config.rule, line_rate),
            queue: Ring::default(),
            waiting: 0,
            mark: config.mark.map_or(u64::MAX, Bytes::get),
            sent: (Time::ZERO, 0),
            release: Time::ZERO,
            rate: BitRate::ZERO,
            wire_time: None,
            drain,
            random,
        };
        limiter.pace();
        limiter
    }

    /// Bytes that wait.
    pub(crate) fn waiting(&self) -> u64 {
        self.waiting
    }

    /// Shows an observer limiter number `limiter` of a node.
    pub(crate) fn observe<O: Observer>(&self, now: Time, node: NodeId, limiter: u32, observer: &mut O) {
        let event = LimiterEvent { node, limiter, rate: self.rate, waiting: self.waiting };
        observer.mechanism(now, &MechanismEvent::LimiterEvent(event));
    }

    /// The packet that leaves next.
    pub(crate) fn front(&self) -> Option<Packet> {
        self.queue.front().copied()
    }

    /// A packet joins the queue. Returns that it was marked.
    #[inline]
    pub(crate) fn push(&mut self, packet: Packet) -> bool {
        debug_assert!(packet.trailers() == 0, "limited packets bring no trailers");
        let is_marked = self.waiting > self.mark && packet.is(ECT) && !packet.is(CE);
        self.waiting += u64::from(packet.size());
        self.queue.push(if is_marked { packet.with(CE) } else { packet });
        is_marked
    }

    /// When the first packet of the queue may be sent; never if there is none or the limiter is stopped. At line rate it
    /// slows down nothing: all may go, as fast as it drains, and then so may the limiter.
    #[inline]
    pub(crate) fn release(&self) -> Time {
        match self.queue.is_empty() {
            true => Time::NEVER,
            false if self.point.is_released() => {
                self.drain.map_or(Time::ZERO, |drain| self.sent.0 + drain.of(self.sent.1))
            }
            false => self.release,
        }
    }

    /// It is neither full nor about to go.
    #[inline]
    pub(crate) fn has_room(&self, room: u64) -> bool {
        self.waiting < room && !self.point.is_released()
    }

    /// Takes the first packet, which must exist, to be sent at `now`. It gets its tag here, not when it joined.
    #[inline]
    pub(crate) fn take(&mut self, now: Time, tag_size: u16) -> Packet {
        let packet = self.queue.take();
        self.waiting -= u64::from(packet.size());
        let packet = packet.tagged(self.point.tag(), tag_size);
        self.sent = (now, packet.size());
        if self.point.on_sent(now, packet.size().into(), &mut || self.random.uniform()) {
            self.pace_if_changed();
        }
        self.release = self.wire_time.map_or(Time::NEVER, |wire_time| now + wire_time.of(packet.size()));
        packet
    }

    pub(crate) fn on_cnm(&mut self, now: Time, cnm: &Cnm) {
        self.point.on_cnm(now, cnm, &mut || self.random.uniform());
        self.pace_if_changed();
    }

    /// Its reaction point's timer may be due.
    pub(crate) fn on_timer(&mut self, now: Time) {
        if self.point.next_timer() <= now {
            self.point.on_timer(now, &mut || self.random.uniform());
            self.pace_if_changed();
        }
    }

    /// When to look at it again, whether or not anything waits.
    #[inline]
    pub(crate) fn next_due(&self) -> Time {
        self.release().min(self.point.next_timer())
    }

    /// Nothing waits, and it would not slow anything down.
    pub(crate) fn is_over(&self) -> bool {
        self.queue.is_empty() && self.point.is_released()
    }

    #[inline]
    fn pace_if_changed(&mut self) {
        if self.point.rate() != self.rate {
            self.pace();
        }
    }

    /// The rate has changed: the next packet may be sent when the last one would have been, at the new rate.
    fn pace(&mut self) {
        self.rate = self.point.rate();
        self.wire_time = (self.rate > BitRate::ZERO).then(|| self.rate.wire_time());
        let (at, size) = self.sent;
        self.release = self.wire_time.map_or(Time::NEVER, |wire_time| at + wire_time.of(size));
    }
}

/// The limiters of a host or an edge switch, and what they are for.
#[derive(Debug)]
pub(crate) struct Limiters {
    config: Reaction,
    /// Time to send a packet of a limiter at line rate; none if all may go at once.
    drain: Option<WireTime>,
    places: Vec<Option<Limiter>>,
    /// Keys with the place of their limiter, in order.
    keys: Vec<(u64, u32)>,
    tag_size: u16,
    seed: u64,
    /// Limiters made so far: each has a random stream of its own.
    made: u64,
    owner: u64,
}

impl Limiters {
    /// `owner` is the number of the node. A limiter at line rate drains at `drain`; if left out, whoever sends its packets sees to that.
    pub(crate) fn new(config: &Reaction, drain: Option<BitRate>, seed: u64, owner: u32) -> Self {
        let tag_size = config.rule.tag_size().get() as u16;
        let (places, keys) = (Vec::new(), Vec::new());
        let drain = drain.map(BitRate::wire_time);
        Self { config: config.clone(), drain, places, keys, tag_size, seed, made: 0, owner: owner.into() }
    }

    pub(crate) fn scope(&self) -> LimiterScope {
        self.config.per
    }

    /// Bytes that each may hold.
    pub(crate) fn room(&self) -> u64 {
        self.config.queue.get()
    }

    pub(crate) fn tag_size(&self) -> u16 {
        self.tag_size
    }

    /// There is none.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    #[inline]
    pub(crate) fn find(&self, key: u64) -> Option<u32> {
        let place = self.keys.binary_search_by_key(&key, |entry| entry.0).ok()?;
        Some(self.keys[place].1)
    }

    /// The limiter for `key`: its own if it has one; a new one if there is room; otherwise one that it shares.
    pub(crate) fn assign(&mut self, key: u64, line_rate: BitRate) -> u32 {
        let at = match self.keys.binary_search_by_key(&key, |entry| entry.0) {
            Ok(at) => return self.keys[at].1,
            Err(at) => at,
        };
        let place =
            self.free_place(line_rate).unwrap_or_else(|| (mix(key) % self.places.len() as u64) as u32);
        self.keys.insert(at, (key, place));
        place
    }

    fn free_place(&mut self, line_rate: BitRate) -> Option<u32> {
        let place = self.places.iter().position(Option::is_none).unwrap_or(self.places.len());
        if place >= self.config.limiters as usize {
            return None;
        }
        if place == self.places.len() {
            self.places.push(None);
        }
        // 2^24 limiters at each of 2^24 nodes have streams of their own.
        let random = Stream::new(
            self.seed,
            crate::random::Purpose::Limiter,
            (self.owner << 24) | (self.made % (1 << 24)),
        );
        self.made += 1;
        self.places[place] = Some(Limiter::new(&self.config, line_rate, self.drain, random));
        Some(place as u32)
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, place: u32) -> &mut Limiter {
        self.places[place as usize].as_mut().expect("keys lead to limiters")
    }

    /// Removes a limiter and forgets the keys that led to it.
    pub(crate) fn remove(&mut self, place: u32) {
        self.places[place as usize] = None;
        self.keys.retain(|entry| entry.1 != place);
    }

    /// Number of limiters made so far.
    pub(crate) fn made(&self) -> u64 {
        self.made
    }
}
