//! State of mechanisms at hosts, at whole switches and at their ports, and calls to all of them.

use narrows_proto::units::Time;

use super::at_host::{At, AtHost, Site, Turn};
use super::at_ports::{AtPorts, Choice, Joined, Joining, Left, Outbox, PortsSite, Refused, Replaced, View};
use super::at_queues::{AtQueues, Place};
use super::at_switch::{AtSwitch, Pass, SwitchSite};
use super::flow::Hold;
use super::list::mechanisms;
use super::marking::Verdict;
use crate::host::{Senders, Source};
use crate::network::Network;
use crate::observe::Observer;
use crate::packet::{Packet, Parcel, Trailers};
use crate::record::{DropCause, PortCounters};
use crate::traffic::Group;
use crate::world::{Arrival, GroupState, Log, World};

/// Makes the state of all mechanisms of a kind, and a macro that asks each in the order of the list, or each of their types.
macro_rules! state {
    ($dollar:tt $each:ident, $(#[$about:meta])* $all:ident of $trait:ident at $site:ty: $($name:ident: $state:ident,)*) => {
        $(#[$about])*
        #[derive(Debug)]
        pub(crate) struct $all {
            $(pub(crate) $name: Option<super::$name::$state>,)*
        }

        impl $all {
            pub(crate) fn new(site: &$site) -> Self {
                Self { $($name: <super::$name::$state as $trait>::new(site),)* }
            }
        }

        macro_rules! $each {
            ($dollar all:expr, $dollar mechanism:ident => $dollar asked:expr) => {{
                $(if let Some($dollar mechanism) = &mut $dollar all.$name { $dollar asked })*
            }};
            (ref $dollar all:expr, $dollar mechanism:ident => $dollar asked:expr) => {{
                $(if let Some($dollar mechanism) = &$dollar all.$name { $dollar asked })*
            }};
            ($dollar kind:ident => $dollar asked:expr) => {
                $({ type $dollar kind = super::$name::$state; $dollar asked })*
            };
        }
    };
}

macro_rules! at_hosts {
    ($($state:tt)*) => {
        state! { $ each,
            /// State of mechanisms at a host.
            HostMechanisms of AtHost at Site<'_>: $($state)*
        }
    };
}

macro_rules! at_switches {
    ($($state:tt)*) => {
        state! { $ each_of_switch,
            /// State of mechanisms of a whole switch.
            SwitchMechanisms of AtSwitch at SwitchSite<'_>: $($state)*
        }
    };
}

macro_rules! at_all_ports {
    ($($state:tt)*) => {
        state! { $ each_at_ports,
            /// State of mechanisms at the queued ports of a switch.
            PortMechanisms of AtPorts at PortsSite<'_>: $($state)*
        }
    };
}

macro_rules! at_all_queues {
    ($($state:tt)*) => {
        state! { $ each_at_queues,
            /// State of the mechanism that keeps what waits at the ports of a switch.
            QueueMechanisms of AtQueues at PortsSite<'_>: $($state)*
        }
    };
}

mechanisms!(host => at_hosts);
mechanisms!(switch => at_switches);
mechanisms!(ports => at_all_ports);
mechanisms!(queues => at_all_queues);

pub(crate) use {each, each_at_ports};

/// Nodes without any such mechanism keep nothing.
macro_rules! boxed {
    ($all:ident at $site:ty, $each:ident) => {
        impl $all {
            /// None if there are none.
            pub(crate) fn boxed(site: &$site) -> Option<Box<Self>> {
                let (all, mut has_some) = (Self::new(site), false);
                $each!(ref all, _mechanism => has_some = true);
                has_some.then(|| Box::new(all))
            }
        }
    };
}

boxed!(HostMechanisms at Site<'_>, each);
boxed!(SwitchMechanisms at SwitchSite<'_>, each_of_switch);
boxed!(QueueMechanisms at PortsSite<'_>, each_at_queues);

// What is not asked of each with `each!`, because there is an answer. See [`AtHost`].
impl HostMechanisms {
    /// Whether the flow whose turn it is has to wait. Then it has left its queue.
    #[inline]
    pub(crate) fn gate<O: Observer>(&mut self, at: &mut At<'_, O>, slot: u32) -> bool {
        let mut gates = false;
        each!(self, mechanism => gates |= mechanism.gates());
        gates && self.ask_gates(at, slot)
    }

    #[inline(never)]
    fn ask_gates<O: Observer>(&mut self, at: &mut At<'_, O>, slot: u32) -> bool {
        let Some(outgoing) = at.senders.outgoing.get_mut(slot) else { return false };
        let to = match outgoing.source {
            Source::Over => return false,
            Source::Mechanism(place) => {
                let mut front = None;
                each!(self, mechanism => front = front.or_else(|| mechanism.front(place)));
                let Some(front) = front else { return false };
                front.to()
            }
            // It hands its packets over, and sends none itself.
            _ if matches!(outgoing.at.hold, Hold::Limiter(_)) => return false,
            _ => outgoing.to,
        };
        each!(self, mechanism => if mechanism.gate(at, slot, to) { return true });
        false
    }

    #[inline(always)]
    pub(crate) fn turn<O: Observer>(&mut self, at: &mut At<'_, O>, slot: u32) -> Turn {
        each!(self, mechanism => mechanism.before_turn(at, slot));
        each!(self, mechanism => if let Some(turn) = mechanism.turn(at, slot) { return turn });
        Turn::Nothing
    }

    #[inline]
    pub(crate) fn on_sent(&mut self, now: Time, mut packet: Packet) -> Packet {
        each!(self, mechanism => packet = mechanism.on_sent(now, packet));
        packet
    }

    /// The next packet that is ready and may be sent.
    pub(crate) fn pop_ready(&mut self, senders: &mut Senders, trailers: &mut Trailers) -> Option<Packet> {
        'next: while let Some(packet) = senders.nic.pop_ready(trailers) {
            each!(self, mechanism => if mechanism.holds(Parcel { packet, trailers }) { continue 'next });
            return Some(packet);
        }
        None
    }

    /// Some may keep packets from leaving, or change them.
    pub(crate) fn restrains(&mut self) -> bool {
        let mut restrains = false;
        each!(self, mechanism => restrains |= restrains_of(mechanism));
        restrains
    }

    /// Some want to know of all arrivals.
    pub(crate) fn watch(&mut self) -> bool {
        let mut watch = false;
        each!(self, mechanism => watch |= mechanism.watches());
        watch
    }

    #[inline]
    pub(crate) fn on_arrival(&mut self, size: u16) {
        each!(self, mechanism => mechanism.on_arrival(size));
    }

    pub(crate) fn answer_to_syn(&mut self, group: &GroupState) -> Option<Packet> {
        let mut answer = None;
        each!(self, mechanism => answer = answer.or(mechanism.answer_to_syn(group)));
        answer
    }

    pub(crate) fn finish(&mut self, now: Time, senders: &Senders, log: &mut Log) -> PortCounters {
        let mut counters = PortCounters::default();
        each!(self, mechanism => mechanism.finish(now, senders, &mut counters, log));
        counters
    }
}

// See [`AtSwitch`].
impl SwitchMechanisms {
    /// Empty if there is nothing to keep.
    pub(crate) fn of_groups(network: &Network, groups: &[Group]) -> Vec<u32> {
        each_of_switch!(Kind => {
            let kept = Kind::of_groups(network, groups);
            if !kept.is_empty() {
                return kept;
            }
        });
        Vec::new()
    }

    #[inline(never)]
    pub(crate) fn prefetch<O>(&mut self, arrivals: &[Arrival], world: &World<O>) {
        each_of_switch!(self, mechanism => mechanism.prefetch(arrivals, world));
    }

    pub(crate) fn pass<O: Observer>(
        &mut self,
        now: Time,
        mut packet: Packet,
        from: u32,
        world: &mut World<O>,
    ) -> Pass {
        each_of_switch!(self, mechanism => match mechanism.pass(now, packet, from, world) {
            Pass::Through(passed) => packet = passed,
            pass => return pass,
        });
        Pass::Through(packet)
    }

    pub(crate) fn on_last_hop(&mut self, now: Time, port: u16, mut packet: Packet, backlog: u64) -> Packet {
        each_of_switch!(self, mechanism => packet = mechanism.on_last_hop(now, port, packet, backlog));
        packet
    }

    #[inline]
    pub(crate) fn next(&mut self) -> Time {
        let mut next = Time::NEVER;
        each_of_switch!(self, mechanism => next = next.min(mechanism.next()));
        next
    }

    pub(crate) fn wants_backlogs(&mut self, at: Time) -> u16 {
        let mut ports = 0;
        each_of_switch!(self, mechanism => ports = mechanism.wants_backlogs(at).max(ports));
        ports
    }

    pub(crate) fn on_backlog(&mut self, port: u16, backlog: u64) {
        each_of_switch!(self, mechanism => mechanism.on_backlog(port, backlog));
    }

    pub(crate) fn step<O: Observer>(&mut self, at: Time, world: &mut World<O>) {
        each_of_switch!(self, mechanism => if mechanism.next() <= at { mechanism.step(at, world) });
    }

    pub(crate) fn take_packet(&mut self) -> Option<(Packet, Trailers, u32)> {
        each_of_switch!(self, mechanism => if let Some(packet) = mechanism.take_packet() { return Some(packet) });
        None
    }

    pub(crate) fn finish(&mut self, log: &mut Log) {
        each_of_switch!(self, mechanism => mechanism.finish(log));
    }
}

// What is not asked of each with `each_at_ports!`, because there is an answer. See [`AtPorts`]. What they look at is a function: where
// there are none it costs nothing.
impl PortMechanisms {
    #[inline]
    pub(crate) fn queue_of(&self, port: usize, packet: Packet) -> usize {
        each_at_ports!(ref self, mechanism => if let Some(queue) = mechanism.queue_of(port, packet) { return queue });
        packet.priority().into()
    }

    /// Some may put packets in the place of others.
    pub(crate) fn replaces(&self) -> bool {
        let mut replaces = false;
        each_at_ports!(ref self, mechanism => replaces |= replaces_of(mechanism));
        replaces
    }

    #[inline]
    pub(crate) fn replace(
        &mut self,
        refused: &Refused,
        no_room: impl Fn() -> bool,
        youngest: impl Fn() -> Option<Packet>,
    ) -> Option<Replaced> {
        each_at_ports!(self, mechanism => {
            let replaced = mechanism.replace(refused, &no_room, &youngest);
            if replaced.is_some() {
                return replaced;
            }
        });
        None
    }

    #[inline]
    pub(crate) fn marks(&self, queue: usize) -> bool {
        let mut marks = true;
        each_at_ports!(ref self, mechanism => marks &= mechanism.marks(queue));
        marks
    }

    #[inline]
    pub(crate) fn on_enqueue<'a, O: Observer>(
        &mut self,
        view: impl Fn() -> View<'a>,
        joining: &Joining,
        observer: &mut O,
    ) -> Joined {
        let mut all = Joined::default();
        each_at_ports!(self, mechanism => {
            let Joined { counted, stop } = mechanism.on_enqueue(view(), joining, observer);
            all = Joined { counted: all.counted | counted, stop: all.stop | stop };
        });
        all
    }

    #[inline]
    pub(crate) fn open(&self, port: usize, stops: u16) -> u16 {
        let mut open = !stops;
        each_at_ports!(ref self, mechanism => open &= mechanism.open(port, stops));
        open
    }

    #[inline]
    pub(crate) fn choose(&self, port: usize, ready: u16, size: impl Fn() -> u16) -> Option<Choice> {
        each_at_ports!(ref self, mechanism => if let Some(choice) = mechanism.choose(port, ready, size()) { return Some(choice) });
        None
    }

    #[inline]
    pub(crate) fn on_left<'a, O: Observer>(
        &mut self,
        view: impl Fn() -> View<'a>,
        left: &Left,
        observer: &mut O,
    ) -> bool {
        let mut goes_on = false;
        each_at_ports!(self, mechanism => goes_on |= mechanism.on_left(view(), left, observer));
        goes_on
    }

    /// Work that one of them has left to be done elsewhere.
    #[inline]
    pub(crate) fn take_outbox(&mut self) -> Option<Outbox> {
        each_at_ports!(self, mechanism => if let Some(outbox) = mechanism.take_outbox() { return Some(outbox) });
        None
    }
}

// See [`AtQueues`]. There is one of them.
impl QueueMechanisms {
    /// Why it drops packets.
    pub(crate) fn cause(&self) -> DropCause {
        each_at_queues!(ref self, mechanism => return cause_of(mechanism));
        DropCause::QueueLimit
    }

    #[inline(never)]
    pub(crate) fn pass(&mut self, place: Place, packet: Packet) -> Verdict {
        each_at_queues!(self, mechanism => return mechanism.pass(place, packet));
        Verdict::Pass
    }

    #[inline(never)]
    pub(crate) fn push(&mut self, place: Place, parcel: Parcel<'_>) {
        each_at_queues!(self, mechanism => mechanism.push(place, parcel));
    }

    #[inline(never)]
    pub(crate) fn pop(&mut self, place: Place, slots: &mut Trailers) -> (Packet, Verdict) {
        each_at_queues!(self, mechanism => return mechanism.pop(place, slots));
        unreachable!("a switch without such a mechanism keeps no state of one")
    }

    pub(crate) fn overflow(&mut self, place: Place) -> u32 {
        each_at_queues!(self, mechanism => return mechanism.overflow(place));
        0
    }

    pub(crate) fn give_way(&mut self, place: Place, slots: &mut Trailers) -> Option<Packet> {
        each_at_queues!(self, mechanism => return mechanism.give_way(place, slots));
        None
    }

    pub(crate) fn report(&self, port: usize, counters: &mut PortCounters) {
        each_at_queues!(ref self, mechanism => mechanism.report(port, counters));
    }
}

fn cause_of<M: AtQueues>(_: &M) -> DropCause {
    M::CAUSE
}

fn replaces_of<M: AtPorts>(_: &M) -> bool {
    M::REPLACES
}

fn restrains_of<M: AtHost>(_: &M) -> bool {
    M::RESTRAINS
}
