//! The isolation of one switch: which flows are isolated at which port, and what neighbors are told.
//!
//! Packets wait in the queues of their port; here is only what is known of them. What is to be done elsewhere, messages to
//! neighbors and times to look again, is left in an outbox.

use narrows_proto::units::{Bytes, Span, Time};

use super::lane::{Entry, Input, Lane, LaneCounters, NOWHERE};
use super::order::Side;
use super::{Isolation, IsolationEvent, JointStop, Scheme};
use crate::ids::{FlowId, LinkId};
use crate::mechanism::{ISOLATED_CLASS, InputLink};
use crate::observe::Observer;
use crate::packet::Packet;
use crate::record::PortCounters;
use crate::world::OWN;

/// A flow and its destination, so that acknowledgments are not their data.
pub(super) fn key(packet: Packet) -> u64 {
    u64::from(packet.flow().0) | u64::from(packet.to().0) << 32
}

/// The isolation of one switch.
#[derive(Debug)]
pub(crate) struct Stage {
    config: Isolation,
    joint_stop: JointStop,
    lanes: Vec<Lane>,
    inputs: Vec<Input>,
    /// Bytes of credit for each byte that others send.
    earned: f64,
    largest: f64,
    outbox: Outbox,
}

/// What is to be done elsewhere.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    pub(crate) messages: Vec<FlowMessage>,
    /// Ports, and when to look whether they still need their queue.
    pub(crate) looks: Vec<(Time, usize)>,
}

/// A message to the neighbor that a port leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FlowMessage {
    pub(crate) at: Time,
    pub(crate) port: usize,
    pub(crate) key: u64,
    /// The flow is not congested any more.
    pub(crate) over: bool,
}

/// A port as isolation sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View {
    pub(crate) now: Time,
    pub(crate) port: usize,
    pub(crate) link: LinkId,
    /// Bytes that wait in the queue of the watched priority.
    pub(crate) normal: u64,
    /// Bytes of isolated flows that wait.
    pub(crate) isolated: u64,
    /// A bit for each class that the neighbor downstream has stopped.
    pub(crate) stops: u16,
}

/// A packet that is about to join a queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Joining {
    pub(crate) packet: Packet,
    /// The link it came over.
    pub(crate) from: u32,
    /// It came isolated.
    pub(crate) isolated: bool,
    /// The queue it joins.
    pub(crate) queue: usize,
    /// It does not leave at once.
    pub(crate) waits: bool,
}

/// What a packet that joined a queue has brought about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Joined {
    /// It was counted at its link.
    pub(crate) counted: bool,
    /// The class of isolated flows is to be stopped at the link it came over.
    pub(crate) stop: bool,
}

/// The queue that sends next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Choice {
    pub(crate) queue: usize,
    /// It is that of isolated flows, and others of their priority wait.
    pub(crate) paid: bool,
}

impl View {
    fn isolated_is_stopped(self) -> bool {
        self.stops & 1 << ISOLATED_CLASS != 0
    }
}

/// A link between two switches takes this long at least; a neighbor is not notified again sooner.
const NOTIFY_AGAIN_AFTER: Span = Span::from_us(10);

impl Stage {
    pub(crate) fn new(config: &Isolation, ports: usize, links: &[InputLink], largest: Bytes) -> Self {
        let input = |parts: &InputLink| Input {
            link: parts.link,
            back: parts.back,
            listens: config.hosts || !parts.from_host,
            ..Input::default()
        };
        Self {
            joint_stop: config.joint_stop(),
            earned: config.share / (1.0 - config.share).max(1e-9),
            config: config.clone(),
            lanes: (0..ports).map(|_| Lane::default()).collect(),
            inputs: links.iter().map(input).collect(),
            largest: largest.as_f64(),
            outbox: Outbox::default(),
        }
    }

    /// The priority that is watched.
    #[inline]
    pub(crate) fn priority(&self) -> u8 {
        self.config.priority
    }

    /// Size of its messages on the wire.
    pub(crate) fn message_size(&self) -> u16 {
        self.config.message_size.get() as u16
    }

    /// What is to be done elsewhere, if anything is.
    #[inline]
    pub(crate) fn take_outbox(&mut self) -> Option<Outbox> {
        let empty = self.outbox.messages.is_empty() && self.outbox.looks.is_empty();
        if empty { None } else { Some(std::mem::take(&mut self.outbox)) }
    }

    /// The queue that a packet joins.
    #[inline]
    pub(crate) fn queue_of(&self, port: usize, packet: Packet) -> usize {
        let priority = packet.priority();
        let keys = &self.lanes[port].table.keys;
        let isolated = !keys.is_empty() && priority == self.config.priority && keys.contains(&key(packet));
        if isolated { ISOLATED_CLASS } else { priority.into() }
    }

    /// A bit for each queue of a port that may send while its neighbor stops these classes.
    #[inline]
    pub(crate) fn open(&self, port: usize, stops: u16) -> u16 {
        let tokens = &self.lanes[port].tokens;
        let joint = stops & 1 << ISOLATED_CLASS != 0
            && match self.joint_stop {
                JointStop::Never => false,
                JointStop::WhileClosing => tokens.is_closing(),
                JointStop::WithMarkings => tokens.is_active(),
            };
        let normal = u16::from(joint || tokens.blocks(Side::Normal)) << self.config.priority;
        let isolated = u16::from(tokens.blocks(Side::Congested)) << ISOLATED_CLASS;
        !(stops | normal | isolated)
    }

    /// The queue of a port that sends next, of those that are `ready`: the highest priority, and of the watched one those that
    /// are not isolated unless the others have a share left. The first isolated packet has `size` bytes.
    #[inline]
    pub(crate) fn choose(&self, port: usize, ready: u16, size: u16) -> Option<Choice> {
        let highest = 7_u32.checked_sub((ready as u8).leading_zeros()).map(|highest| highest as usize);
        let normal = |queue| Choice { queue, paid: false };
        if ready & 1 << ISOLATED_CLASS == 0 {
            return highest.map(normal);
        }
        let watched = usize::from(self.config.priority);
        Some(match highest {
            Some(highest) if highest > watched => normal(highest),
            Some(highest) if highest == watched && self.lanes[port].credit < f64::from(size) => {
                normal(highest)
            }
            highest => Choice { queue: ISOLATED_CLASS, paid: highest == Some(watched) },
        })
    }

    /// A packet joins a queue of a port, which looked like this before.
    #[inline]
    pub(crate) fn on_enqueue<O: Observer>(
        &mut self,
        view: View,
        joining: &Joining,
        observer: &mut O,
    ) -> Joined {
        let size = u64::from(joining.packet.size());
        let lane = &mut self.lanes[view.port];
        if joining.queue == ISOLATED_CLASS {
            lane.tokens.join(Side::Congested);
            if joining.waits {
                observer.isolated_backlog(view.now, view.link, view.isolated + size);
                return self.store(view, joining, observer);
            }
            lane.tokens.leave(Side::Congested);
        } else if joining.queue == usize::from(self.config.priority) {
            lane.tokens.join(Side::Normal);
            if !joining.waits {
                lane.leave(Side::Normal);
            } else if view.normal + size >= self.config.detect.get() && joining.from != OWN {
                self.detect(view, joining.packet, observer);
            }
        }
        Joined::default()
    }

    /// A packet has joined a queue that is congested: its flow is, unless those who wait there may be victims.
    #[inline(never)]
    fn detect<O: Observer>(&mut self, view: View, packet: Packet, observer: &mut O) {
        let stopped = view.stops & 1 << packet.priority() != 0;
        if !(self.config.spare_stopped && stopped) {
            self.isolate(view, key(packet), false, observer);
        }
    }

    /// Names a flow as congested.
    fn isolate<O: Observer>(&mut self, view: View, key: u64, downstream: bool, observer: &mut O) {
        let lane = &mut self.lanes[view.port];
        if lane.tokens.is_closing() {
            return;
        }
        if let Some(place) = lane.table.keys.iter().position(|known| *known == key) {
            lane.table.entries[place].downstream |= downstream;
            return;
        }
        if lane.table.keys.len() >= self.config.table as usize {
            lane.counters.refused += 1;
            return;
        }
        let first = lane.table.keys.is_empty();
        lane.table.keys.push(key);
        lane.table.entries.push(Entry { downstream, notified: 0, notified_at: Time::ZERO, from: NOWHERE });
        lane.tokens.open();
        lane.was_congested |= !downstream;
        lane.counters.allocated += u64::from(first);
        lane.counters.flows += 1;
        self.plan_look(view, downstream);
        if O::ACTIVE {
            if first {
                observer.isolation(view.now, view.link, IsolationEvent::Allocated);
            }
            observer.isolation(view.now, view.link, IsolationEvent::Flow(FlowId(key as u32)));
        }
    }

    /// A packet of an isolated flow is to wait.
    #[inline(never)]
    fn store<O: Observer>(&mut self, view: View, joining: &Joining, observer: &mut O) -> Joined {
        let lane = &mut self.lanes[view.port];
        let size = u64::from(joining.packet.size());
        let backlog = view.isolated + size;
        lane.counters.max_backlog = lane.counters.max_backlog.max(backlog);
        let mut joined = Joined::default();
        let Some(input) = self.inputs.get_mut(joining.from as usize) else { return joined };
        if !input.allocated && backlog > self.config.propagate_egress.get() {
            input.allocated = true;
            observer.isolation(view.now, input.link, IsolationEvent::AllocatedAtInput);
        }
        if input.allocated {
            input.stored += size;
            input.isolated += if joining.isolated { size } else { 0 };
            joined.counted = true;
            if !input.full && input.isolated > self.config.stop.get() {
                input.full = true;
                joined.stop = true;
            }
        }
        let grown = input.listens
            && (self.config.scheme == Scheme::Qcz || input.stored > self.config.propagate_ingress.get());
        if grown || joining.isolated {
            self.notify(view, joining, observer);
        }
        joined
    }

    /// The neighbor that an isolated flow comes from is notified of it, unless it knows.
    fn notify<O: Observer>(&mut self, view: View, joining: &Joining, observer: &mut O) {
        let (now, key) = (view.now, key(joining.packet));
        let table = &mut self.lanes[view.port].table;
        let Some(place) = table.keys.iter().position(|known| *known == key) else { return };
        let entry = &mut table.entries[place];
        if joining.isolated {
            entry.notified = 0;
        } else if entry.notified < self.config.messages
            && (entry.notified == 0 || now >= entry.notified_at + NOTIFY_AGAIN_AFTER)
        {
            (entry.notified, entry.notified_at, entry.from) = (entry.notified + 1, now, joining.from);
            let input = &self.inputs[joining.from as usize];
            self.outbox.messages.push(FlowMessage { at: now, port: input.back, key, over: false });
            observer.isolation(now, input.link, IsolationEvent::Told(FlowId(key as u32)));
        }
    }

    /// A packet of `size` bytes begins to be sent. The port looks like this without it.
    #[inline]
    pub(crate) fn on_dequeue<O: Observer>(
        &mut self,
        view: View,
        choice: Choice,
        size: u16,
        observer: &mut O,
    ) {
        let lane = &mut self.lanes[view.port];
        let freed = if choice.queue == ISOLATED_CLASS {
            if choice.paid {
                lane.credit -= f64::from(size);
            }
            if view.isolated == 0 {
                lane.empty_since = view.now;
            }
            let freed = lane.leave(Side::Congested);
            observer.isolated_backlog(view.now, view.link, view.isolated);
            freed
        } else if choice.queue == usize::from(self.config.priority) {
            if view.isolated > 0 {
                lane.credit = (lane.credit + f64::from(size) * self.earned).min(self.largest);
            }
            lane.leave(Side::Normal)
        } else {
            false
        };
        if freed {
            observer.isolation(view.now, view.link, IsolationEvent::Freed);
        }
    }

    /// A packet waits no longer. It came over link number `from`, `isolated` or not, and was `counted` there or not. Returns whether
    /// isolated flows may go on at that link.
    #[inline]
    pub(crate) fn on_left<O: Observer>(
        &mut self,
        view: View,
        (from, size, isolated, counted): (u32, u64, bool, bool),
        observer: &mut O,
    ) -> bool {
        let mut go = false;
        if counted {
            let input = &mut self.inputs[from as usize];
            input.stored -= size;
            input.isolated -= if isolated { size } else { 0 };
            go = input.full && input.isolated <= self.config.go.get();
            input.full &= !go;
            if input.stored == 0 {
                input.allocated = false;
                observer.isolation(view.now, input.link, IsolationEvent::FreedAtInput);
            }
        }
        self.end_if_over(view, observer);
        go
    }

    /// The classes that the neighbor downstream stops have changed.
    #[inline(never)]
    pub(crate) fn on_stop<O: Observer>(&mut self, view: View, observer: &mut O) {
        self.end_if_over(view, observer);
    }

    /// The port that leads back over link number `from`.
    pub(crate) fn port_back(&self, from: u32) -> Option<usize> {
        self.inputs.get(from as usize).map(|input| input.back)
    }

    /// The neighbor says that a flow which goes there is congested, or no longer.
    #[inline(never)]
    pub(crate) fn on_message<O: Observer>(&mut self, view: View, key: u64, over: bool, observer: &mut O) {
        if !over {
            return self.isolate(view, key, true, observer);
        }
        let table = &mut self.lanes[view.port].table;
        if let Some(place) = table.keys.iter().position(|known| *known == key) {
            table.entries[place].downstream = false;
        }
        self.end_if_over(view, observer);
    }

    /// The time has come to look whether a port still needs its queue.
    #[inline(never)]
    pub(crate) fn on_timer<O: Observer>(&mut self, view: View, observer: &mut O) {
        self.lanes[view.port].look_planned = false;
        if self.is_allocated(view.port) && self.is_idle(view) {
            self.close(view, observer);
        } else {
            self.end_if_over(view, observer);
        }
        if self.is_allocated(view.port) {
            self.plan_look(view, true);
        }
    }

    /// Plans to look whether a port still needs its queue, which it has because of a neighbor (`downstream`) or by itself.
    fn plan_look(&mut self, view: View, downstream: bool) {
        let after = match self.config.scheme {
            Scheme::Dvl => return,
            Scheme::Edvl if !downstream => return,
            Scheme::Edvl => self.config.idle_life,
            Scheme::Qcz => self.config.flow_life,
        };
        if !std::mem::replace(&mut self.lanes[view.port].look_planned, true) {
            self.outbox.looks.push((view.now + after, view.port));
        }
    }

    /// A flow of a port is isolated.
    fn is_allocated(&self, port: usize) -> bool {
        !self.lanes[port].table.keys.is_empty()
    }

    /// Ends isolation at a port if its queues are empty enough.
    #[inline]
    fn end_if_over<O: Observer>(&mut self, view: View, observer: &mut O) {
        if self.is_over(view) {
            self.close(view, observer);
        }
    }

    /// Whether the two queues of a port are too empty for isolation now.
    fn is_over(&mut self, view: View) -> bool {
        let lane = &mut self.lanes[view.port];
        if lane.table.keys.is_empty() || lane.tokens.is_active() {
            return false;
        }
        let detect = self.config.detect.get();
        match self.config.scheme {
            // One that a neighbor has requested may be far below from the beginning: it has to have been above.
            Scheme::Edvl => {
                let congested = view.isolated + view.normal >= detect;
                lane.was_congested |= congested;
                !congested && !view.isolated_is_stopped() && lane.was_congested
            }
            Scheme::Dvl => view.isolated == 0 && view.normal < detect && !lane.has_downstream(),
            Scheme::Qcz => {
                let aged = view.now.saturating_since(lane.empty_since) >= self.config.flow_life;
                view.isolated == 0 && view.normal < detect && (aged || !lane.has_downstream())
            }
        }
    }

    /// Whether a port that has not been congested since a neighbor named a flow may go without its queue: the flow does not
    /// need it.
    fn is_idle(&self, view: View) -> bool {
        let lane = &self.lanes[view.port];
        let enhanced = self.config.scheme == Scheme::Edvl;
        let busy = view.isolated_is_stopped() || view.isolated > 0 || lane.tokens.is_active();
        enhanced && !lane.was_congested && !busy
    }

    /// Lets all flows of a port go back to the normal queue.
    #[inline(never)]
    fn close<O: Observer>(&mut self, view: View, observer: &mut O) {
        let lane = &mut self.lanes[view.port];
        if self.config.scheme == Scheme::Dvl {
            for (key, entry) in lane.table.keys.iter().zip(&lane.table.entries) {
                if let Some(input) = self.inputs.get(entry.from as usize) {
                    let (at, port) = (view.now, input.back);
                    self.outbox.messages.push(FlowMessage { at, port, key: *key, over: true });
                }
            }
        }
        lane.table.keys.clear();
        lane.table.entries.clear();
        if lane.tokens.close() {
            lane.free();
            observer.isolation(view.now, view.link, IsolationEvent::Freed);
        }
    }

    /// Adds what happened at a port to its counters.
    pub(crate) fn report(&self, port: usize, counters: &mut PortCounters) {
        let LaneCounters { allocated, freed, flows, refused, max_backlog } = self.lanes[port].counters;
        (counters.isolations, counters.isolations_ended) = (allocated, freed);
        (counters.isolated_flows, counters.isolation_refused) = (flows, refused);
        counters.max_isolated = max_backlog;
    }
}
