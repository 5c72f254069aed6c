//! Parts that all ports of a switch share: packet memory, marking, counters.

use narrows_proto::cnm::Signal;
use narrows_proto::units::Time;

use crate::ids::LinkId;
use crate::mechanism::buffer::Memory;
use crate::mechanism::marking::{Leaving, Marker, Verdict};
use crate::observe::{Observer, PacketRef};
use crate::packet::{CE, ECT, Packet, Parcel};
use crate::record::{DropCause, PortCounters};
use crate::world::World;

/// A packet that arrives at a port.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arriving<'a> {
    pub(super) now: Time,
    pub(super) port: usize,
    pub(super) parcel: Parcel<'a>,
    /// The queue it joins.
    pub(super) queue: usize,
    /// Bytes that wait there.
    pub(super) backlog: u64,
    /// It need not wait: when the link ran out of packets.
    pub(super) idle_since: Option<Time>,
    /// The packet memory is asked whether it may wait.
    pub(super) needs_memory: bool,
}

/// Parts that all ports of a switch share.
#[derive(Debug)]
pub(super) struct Common {
    pub(super) memory: Memory,
    pub(super) marker: Marker,
    /// By port.
    pub(super) counters: Vec<PortCounters>,
    pub(super) links: Vec<LinkId>,
}

impl Common {
    /// Marking, for what `may_be_marked`, and admission to the packet memory: what becomes of a packet, if it is not dropped.
    #[inline(always)]
    pub(super) fn take<O: Observer>(
        &mut self,
        arriving: &Arriving<'_>,
        may_be_marked: bool,
        world: &mut World<O>,
    ) -> Option<Packet> {
        let &Arriving { now, port, parcel, queue, backlog, idle_since, .. } = arriving;
        let packet = parcel.packet;
        let verdict = if may_be_marked {
            self.marker.judge(now, port, queue, backlog, idle_since, packet)
        } else {
            Verdict::Pass
        };
        match verdict {
            _ if !self.admit(arriving, world) => {
                if may_be_marked {
                    self.marker.take_back(port);
                }
                None
            }
            Verdict::Pass => Some(packet),
            Verdict::Mark => Some(self.mark(now, port, packet, world)),
            Verdict::Drop => self.is_spared(now, port, parcel, world).then_some(packet),
        }
    }

    /// A packet joins a port where `backlog` bytes go before it.
    #[inline(always)]
    pub(super) fn report_queued<O: Observer>(
        &self,
        now: Time,
        port: usize,
        parcel: Parcel<'_>,
        backlog: u64,
        world: &mut World<O>,
    ) {
        if O::ACTIVE {
            world.observer.queued(now, self.links[port], PacketRef::new(parcel), backlog);
        }
    }

    /// Whether there is room for the packet, which is dropped if there is not.
    #[inline(always)]
    fn admit<O: Observer>(&mut self, arriving: &Arriving<'_>, world: &mut World<O>) -> bool {
        let &Arriving { now, port, parcel, backlog, needs_memory, .. } = arriving;
        if needs_memory && let Err(cause) = self.memory.admit(backlog, parcel.packet.size().into()) {
            self.drop(now, port, parcel, cause, world);
            return false;
        }
        true
    }

    #[inline]
    pub(super) fn note_backlog<O: Observer>(
        &mut self,
        now: Time,
        port: usize,
        waiting: u64,
        world: &mut World<O>,
    ) {
        let counters = &mut self.counters[port];
        counters.max_backlog = counters.max_backlog.max(waiting);
        world.observer.backlog(now, self.links[port], waiting);
    }

    pub(super) fn note_message<O: Observer>(
        &mut self,
        now: Time,
        port: usize,
        signal: Signal,
        world: &mut World<O>,
    ) {
        let counters = &mut self.counters[port];
        match signal {
            Signal::Stop => counters.stops += 1,
            _ if signal.is_slower() => counters.slower += 1,
            _ => counters.faster += 1,
        }
        world.observer.notified(now, self.links[port], signal);
    }

    /// Marking of what is about to leave: what becomes of a packet, if it is not dropped. `idle_since` is when the link ran out of
    /// packets, if this one has not waited.
    #[inline(never)]
    pub(super) fn judge_leaving<O: Observer>(
        &mut self,
        leaving: Leaving,
        parcel: Parcel<'_>,
        idle_since: Option<Time>,
        world: &mut World<O>,
    ) -> Option<Packet> {
        let packet = parcel.packet;
        if packet.is_cnm() || packet.is_exempt() {
            return Some(packet);
        }
        let verdict = self.marker.judge_leaving(&leaving, idle_since);
        self.carry_out(verdict, self.marker.cause(), &leaving, parcel, world)
    }

    /// Does what was decided of a packet that is about to leave: what becomes of it, if it is not dropped.
    #[inline]
    pub(super) fn carry_out<O: Observer>(
        &mut self,
        verdict: Verdict,
        cause: DropCause,
        &Leaving { now, port, .. }: &Leaving,
        parcel: Parcel<'_>,
        world: &mut World<O>,
    ) -> Option<Packet> {
        let packet = parcel.packet;
        match verdict {
            Verdict::Mark if packet.is(ECT) => Some(self.mark(now, port, packet, world)),
            Verdict::Drop if !packet.is_cnm() && !packet.is_exempt() => {
                self.drop(now, port, parcel, cause, world);
                None
            }
            _ => Some(packet),
        }
    }

    /// Marking drops a packet that arrives, unless it is to be left alone. Returns whether it is.
    #[cold]
    pub(super) fn is_spared<O: Observer>(
        &mut self,
        now: Time,
        port: usize,
        parcel: Parcel<'_>,
        world: &mut World<O>,
    ) -> bool {
        let spared = parcel.packet.is_exempt();
        if !spared {
            self.drop(now, port, parcel, self.marker.cause(), world);
        }
        spared
    }

    #[inline(always)]
    pub(super) fn drop<O: Observer>(
        &mut self,
        now: Time,
        port: usize,
        parcel: Parcel<'_>,
        cause: DropCause,
        world: &mut World<O>,
    ) {
        self.note_drop(now, port, parcel.packet.size(), cause, world);
        if O::ACTIVE {
            world.observer.discarded(now, self.links[port], PacketRef::new(parcel), cause);
        }
    }

    #[cold]
    pub(super) fn note_drop<O: Observer>(
        &mut self,
        now: Time,
        port: usize,
        size: u16,
        cause: DropCause,
        world: &mut World<O>,
    ) {
        self.counters[port].count_drop(cause, size);
        world.observer.dropped(now, self.links[port], size, cause);
    }

    /// Enters what marking has counted by itself into the counters of the ports.
    pub(super) fn report_marking(&mut self) {
        for (port, counters) in self.counters.iter_mut().enumerate() {
            if let Some(counted) = self.marker.counted(port) {
                counters.marking = counted;
            }
        }
    }

    #[inline]
    pub(super) fn mark<O: Observer>(
        &mut self,
        now: Time,
        port: usize,
        packet: Packet,
        world: &mut World<O>,
    ) -> Packet {
        self.counters[port].marks += 1;
        if O::ACTIVE {
            world.observer.marked(now, self.links[port]);
        }
        packet.with(CE)
    }
}
