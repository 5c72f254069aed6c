//! First-in-first-out ports that need no event per packet: what waits, and when each packet begins to be sent, is known
//! when it arrives. The packets themselves are on the link already.

use narrows_proto::units::{Span, Time, WireTime};

use super::common::Common;
use crate::ids::LinkId;
use crate::link::{Egress, Target};
use crate::mechanism::marking::Verdict;
use crate::observe::{Observer, PacketRef};
use crate::packet::{CE, ECT, Packet, Parcel, in_hand};
use crate::prefetch::prefetch;
use crate::ring::Ring;
use crate::world::{World, place};

/// All FIFO ports of a switch.
#[derive(Debug)]
pub(super) struct FifoPorts {
    ports: Vec<FifoPort>,
    /// The different links the ports lead to.
    kinds: Vec<LinkKind>,
}

/// A port. One cache line.
#[derive(Debug)]
#[repr(align(64))]
struct FifoPort {
    /// When the last packet has been sent.
    busy_until: Time,
    /// Bytes that wait, as of the last call of [`settle`](FifoPort::settle).
    waiting: u64,
    max_waiting: u64,
    /// Starts of the packets that wait.
    starts: Ring<Start>,
    to: Target,
    link: LinkId,
    /// Index into [`FifoPorts::kinds`].
    kind: u16,
}

const _: () = assert!(size_of::<FifoPort>() == 64);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct LinkKind {
    wire_time: WireTime,
    delay: Span,
}

/// When a packet begins to be sent, in 48 bits of picoseconds, and its size in 16 bits. Times are compared on a circle
/// of 281 s; nothing waits half as long.
#[derive(Clone, Copy, Debug, Default)]
struct Start(u64);

impl Start {
    const SIZE_BITS: u32 = 16;

    #[inline]
    fn new(at: Time, size: u16) -> Self {
        Self(at.as_ps() << Self::SIZE_BITS | u64::from(size))
    }

    #[inline]
    fn size(self) -> u64 {
        self.0 & ((1 << Self::SIZE_BITS) - 1)
    }

    /// Time since the start at `now`, in picoseconds; negative if it lies ahead.
    #[inline]
    fn age(self, now: Time) -> i64 {
        (now.as_ps() << Self::SIZE_BITS).wrapping_sub(self.0 - self.size()) as i64 >> Self::SIZE_BITS
    }

    /// Tells who watches `link` of a start by `now` that left `waiting` bytes behind.
    #[inline(always)]
    fn report<O: Observer>(self, now: Time, link: LinkId, waiting: u64, observer: &mut O) {
        if O::ACTIVE {
            let at = Time::from_ps(now.as_ps() - self.age(now) as u64);
            observer.left(at, link, self.size() as u16, waiting);
        }
    }
}

impl FifoPorts {
    pub(super) fn new(egresses: &[Egress]) -> Self {
        let mut kinds = Vec::new();
        let port = |egress: &Egress| {
            let kind = LinkKind { wire_time: egress.wire_time, delay: egress.delay };
            let known = kinds.iter().position(|known| *known == kind).unwrap_or_else(|| {
                kinds.push(kind);
                kinds.len() - 1
            });
            FifoPort {
                busy_until: Time::ZERO,
                waiting: 0,
                max_waiting: 0,
                starts: Ring::default(),
                to: egress.to,
                link: egress.link,
                kind: known as u16,
            }
        };
        Self { ports: egresses.iter().map(port).collect(), kinds }
    }

    #[inline]
    pub(super) fn prefetch(&self) {
        self.ports.iter().for_each(prefetch);
    }

    /// Prefetches what waits.
    #[inline]
    pub(super) fn prefetch_starts(&self) {
        for port in &self.ports {
            if port.waiting > 0 {
                port.starts.prefetch_first();
            }
        }
    }

    /// A packet arrives at a port.
    #[inline(always)]
    pub(super) fn join<O: Observer>(
        &mut self,
        now: Time,
        number: usize,
        parcel: Parcel<'_>,
        common: &mut Common,
        world: &mut World<O>,
    ) {
        let packet = parcel.packet;
        let port = &mut self.ports[number];
        if port.waiting > 0 {
            common.memory.used -= port.settle(now, &mut world.observer);
        }
        let idle_since = (port.busy_until <= now).then_some(port.busy_until);
        let verdict = common.marker.judge(now, number, 0, port.waiting, idle_since, packet);
        if idle_since.is_none() && common.memory.admit(port.waiting, packet.size().into()).is_err() {
            // The memory still counts what has begun to be sent since the other ports were last looked at.
            self.settle(now, common, world);
            if let Err(cause) = common.memory.admit(self.ports[number].waiting, packet.size().into()) {
                common.marker.take_back(number);
                return common.drop(now, number, parcel, cause, world);
            }
        }
        let packet = match verdict {
            Verdict::Pass => packet,
            Verdict::Mark => common.mark(now, number, packet, world),
            Verdict::Drop if common.is_spared(now, number, parcel, world) => packet,
            Verdict::Drop => return,
        };
        let port = &mut self.ports[number];
        let kind = &self.kinds[usize::from(port.kind)];
        let start = if idle_since.is_some() { now } else { port.busy_until };
        if O::ACTIVE {
            let seen = PacketRef::new(parcel.with(packet));
            world.observer.queued(now, port.link, seen, port.waiting);
            world.observer.departs(start, port.link, seen);
        }
        if start > now {
            common.memory.used += u64::from(packet.size());
            port.wait(start, packet.size());
            world.observer.backlog(now, port.link, port.waiting);
        } else {
            world.observer.sent(now, port.link, packet.size());
        }
        port.busy_until = start + kind.wire_time.of(packet.size());
        world.carry(port.to, parcel.with(packet.arriving(port.busy_until + kind.delay)));
    }

    /// Bytes that wait at a port, or more.
    #[inline]
    pub(super) fn at_most_waiting(&self, number: usize) -> u64 {
        self.ports[number].waiting
    }

    /// Packets arrive at a port, in this order: [`join`](Self::join) of one after the other, where the memory refuses none of them,
    /// nobody looks at packets, and marking is a step at `above`. The state of the port is kept in registers meanwhile.
    #[inline]
    pub(super) fn join_run<O: Observer>(
        &mut self,
        number: usize,
        above: u64,
        entries: &[u64],
        packets: &[Packet],
        common: &mut Common,
        world: &mut World<O>,
    ) {
        let port = &mut self.ports[number];
        let kind = self.kinds[usize::from(port.kind)];
        let (before, mut waiting, mut max_waiting) = (port.waiting, port.waiting, port.max_waiting);
        let (mut busy_until, mut marks) = (port.busy_until, 0);
        let mut link = world.open(port.to);
        for entry in entries {
            let place = place(*entry);
            let packet = packets[place];
            let trailers = &packets[place + 1..][..packet.trailers()];
            let (now, size) = (packet.at(), packet.size());
            while waiting > 0 {
                let Some(start) = port.starts.front().copied().filter(|start| start.age(now) >= 0) else {
                    break;
                };
                port.starts.take();
                waiting -= start.size();
                start.report(now, port.link, waiting, &mut world.observer);
            }
            let marked = waiting > above && packet.is(ECT);
            marks += u64::from(marked);
            if marked {
                world.observer.marked(now, port.link);
            }
            let packet = if marked { packet.with(CE) } else { packet };
            let start = if busy_until > now {
                waiting += u64::from(size);
                max_waiting = max_waiting.max(waiting);
                port.starts.push(Start::new(busy_until, size));
                world.observer.backlog(now, port.link, waiting);
                busy_until
            } else {
                world.observer.sent(now, port.link, size);
                now
            };
            busy_until = start + kind.wire_time.of(size);
            let packet = packet.arriving(busy_until + kind.delay);
            match &mut link {
                Some(link) => link.carry(packet, trailers),
                None => world.carry(port.to, Parcel { packet, trailers: &in_hand(trailers) }),
            }
        }
        (port.waiting, port.max_waiting, port.busy_until) = (waiting, max_waiting, busy_until);
        common.memory.used = common.memory.used + waiting - before;
        common.counters[number].marks += marks;
        if let Some(link) = link {
            world.close(link, entries.len());
        }
    }

    /// When a port has sent what it has.
    pub(super) fn busy_until(&self, number: usize) -> Time {
        self.ports[number].busy_until
    }

    /// Bytes that wait at a port.
    pub(super) fn backlog<O: Observer>(
        &mut self,
        now: Time,
        number: usize,
        common: &mut Common,
        world: &mut World<O>,
    ) -> u64 {
        let port = &mut self.ports[number];
        if port.waiting > 0 {
            common.memory.used -= port.settle(now, &mut world.observer);
        }
        port.waiting
    }

    /// Takes off what has begun to be sent by `now`, at all ports. When this is done changes nothing else.
    #[cold]
    pub(super) fn settle<O: Observer>(&mut self, now: Time, common: &mut Common, world: &mut World<O>) {
        for port in &mut self.ports {
            common.memory.used -= port.settle(now, &mut world.observer);
        }
    }

    /// Brings everything up to date at the end of the run. Returns how much waits.
    pub(super) fn finish<O: Observer>(
        &mut self,
        now: Time,
        common: &mut Common,
        world: &mut World<O>,
    ) -> u64 {
        self.settle(now, common, world);
        for (port, counters) in self.ports.iter().zip(&mut common.counters) {
            counters.max_backlog = port.max_waiting;
        }
        self.ports.iter().map(|port| port.waiting).sum()
    }
}

impl FifoPort {
    /// Takes off what has begun to be sent by `now`. Returns how many bytes that are.
    #[inline]
    fn settle<O: Observer>(&mut self, now: Time, observer: &mut O) -> u64 {
        let before = self.waiting;
        while self.waiting > 0 {
            let Some(start) = self.starts.front().copied().filter(|start| start.age(now) >= 0) else { break };
            self.starts.take();
            self.waiting -= start.size();
            start.report(now, self.link, self.waiting, observer);
        }
        before - self.waiting
    }

    #[inline]
    fn wait(&mut self, start: Time, size: u16) {
        self.waiting += u64::from(size);
        self.max_waiting = self.max_waiting.max(self.waiting);
        self.starts.push(Start::new(start, size));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_are_compared_across_the_end_of_48_bits() {
        let before = Time::from_ps((1 << 48) - 10);
        let after = Time::from_ps((1 << 48) + 10);
        assert_eq!(Start::new(before, 1538).age(after), 20);
        assert_eq!(Start::new(after, 1538).age(before), -20);
        assert_eq!(Start::new(after, u16::MAX).age(after), 0);
        assert_eq!(Start::new(after, u16::MAX).size(), u64::from(u16::MAX));
    }
}
