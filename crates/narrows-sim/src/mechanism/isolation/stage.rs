//! The isolation of one switch: which flows are isolated at which port, and what neighbors are notified of.
//!
//! Packets wait in the queues of their port; here is only what is known of them. What is to be done elsewhere, messages to
//! neighbors and times to look again, is left in an outbox.

use narrows_proto::units::{Span, Time};

use super::lane::{Entry, Input, Lane, NOWHERE, key};
use super::naming::Census;
use super::order::Side;
use super::{Isolation, IsolationChange, IsolationEvent, JointStop, Marked, Naming, Scheme};
use crate::ids::{FlowId, HostId, LinkId};
use crate::mechanism::at_ports::{AtPorts, Choice, Joined, Joining, Left, Message, Outbox, PortsSite, View};
use crate::mechanism::{InputLink, SIDE_CLASS};
use crate::observe::{MechanismEvent, Observer};
use crate::packet::{Control, FIN, Fields, Kind, Packet};
use crate::random::{Purpose, Stream};
use crate::record::PortCounters;
use crate::world::OWN;

/// The isolation of one switch.
#[derive(Debug)]
pub(crate) struct Stage {
    config: Isolation,
    joint_stop: JointStop,
    /// The queue of the watched priority.
    watched: usize,
    lanes: Vec<Lane>,
    inputs: Vec<Input>,
    /// Bytes of credit for each byte that others send.
    earned: f64,
    largest: f64,
    /// Address of messages to neighbors.
    neighbor: HostId,
    outbox: Outbox,
    random: Stream,
}

/// A link between two switches takes this long at least; a neighbor is not notified again sooner.
const NOTIFY_AGAIN_AFTER: Span = Span::from_us(10);

/// Shows an observer what happened to a congested queue.
#[inline]
fn show<O: Observer>(observer: &mut O, at: Time, link: LinkId, event: IsolationEvent) {
    observer.mechanism(at, &MechanismEvent::IsolationChange(IsolationChange { link, event }));
}

/// Shows an observer that the congested queue of a port is gone.
fn show_freed<O: Observer>(observer: &mut O, view: View<'_>) {
    observer.side_queue(view.now, view.link, false);
    show(observer, view.now, view.link, IsolationEvent::Freed);
}

impl AtPorts for Stage {
    fn new(site: &PortsSite<'_>) -> Option<Self> {
        let config = site.config.isolation.clone()?;
        let input = |parts: &InputLink| Input {
            link: parts.link,
            back: parts.back,
            listens: config.hosts || !parts.from_host,
            ..Input::default()
        };
        Some(Self {
            joint_stop: config.joint_stop(),
            watched: config.priority.into(),
            earned: config.share / (1.0 - config.share).max(1e-9),
            lanes: (0..site.ports)
                .map(|_| Lane { census: Census::for_naming(config.naming), ..Lane::default() })
                .collect(),
            inputs: site.inputs.iter().map(input).collect(),
            largest: site.largest.as_f64(),
            neighbor: site.neighbor,
            outbox: Outbox::default(),
            random: Stream::new(site.seed, Purpose::Naming, site.node.0.into()),
            config,
        })
    }

    #[inline]
    fn take_outbox(&mut self) -> Option<Outbox> {
        let empty = self.outbox.messages.is_empty() && self.outbox.looks.is_empty();
        if empty { None } else { Some(std::mem::take(&mut self.outbox)) }
    }

    #[inline]
    fn queue_of(&self, port: usize, packet: Packet) -> Option<usize> {
        let keys = &self.lanes[port].table.keys;
        let isolated =
            !keys.is_empty() && packet.priority() == self.config.priority && keys.contains(&key(packet));
        isolated.then_some(SIDE_CLASS)
    }

    #[inline]
    fn open(&self, port: usize, stops: u16) -> u16 {
        let tokens = &self.lanes[port].tokens;
        let joint = stops & 1 << SIDE_CLASS != 0
            && match self.joint_stop {
                JointStop::Never => false,
                JointStop::WhileClosing => tokens.is_closing(),
                JointStop::WithQueueMarkings => tokens.is_of_queue(),
                JointStop::WithMarkings => tokens.is_active(),
            };
        let normal = u16::from(joint || tokens.blocks(Side::Normal)) << self.config.priority;
        let isolated = u16::from(tokens.blocks(Side::Congested)) << SIDE_CLASS;
        !(stops | normal | isolated)
    }

    /// The highest priority, and of the watched one those that are not isolated unless the others have a share left.
    #[inline]
    fn choose(&self, port: usize, ready: u16, size: u16) -> Option<Choice> {
        if ready & 1 << SIDE_CLASS == 0 {
            return None;
        }
        let highest = 7_u32.checked_sub((ready as u8).leading_zeros()).map(|highest| highest as usize);
        let normal = |queue| Choice { queue, paid: false };
        Some(match highest {
            Some(highest) if highest > self.watched => normal(highest),
            Some(highest) if highest == self.watched && self.lanes[port].credit < f64::from(size) => {
                normal(highest)
            }
            highest => Choice { queue: SIDE_CLASS, paid: highest == Some(self.watched) },
        })
    }

    #[inline]
    fn marks(&self, queue: usize) -> bool {
        queue == SIDE_CLASS || self.config.mark == Marked::All
    }

    #[inline]
    fn on_enqueue<O: Observer>(&mut self, view: View<'_>, joining: &Joining, observer: &mut O) -> Joined {
        let size = u64::from(joining.packet.size());
        let lane = &mut self.lanes[view.port];
        if joining.queue == SIDE_CLASS {
            lane.tokens.join(Side::Congested);
            if joining.waits {
                lane.count(joining.packet);
                return self.store(view, joining, observer);
            }
            lane.tokens.leave(Side::Congested);
        } else if joining.queue == self.watched {
            lane.tokens.join(Side::Normal);
            if !joining.waits {
                lane.leave(Side::Normal);
                return Joined::default();
            }
            lane.count(joining.packet);
            if view.backlogs[self.watched] + size >= self.config.detect.get() && joining.from != OWN {
                self.detect(view, joining.packet, observer);
            }
        }
        Joined::default()
    }

    #[inline]
    fn on_dequeue<O: Observer>(&mut self, view: View<'_>, choice: Choice, packet: Packet, observer: &mut O) {
        let lane = &mut self.lanes[view.port];
        let size = packet.size();
        let freed = if choice.queue == SIDE_CLASS {
            lane.count_off(packet);
            if choice.paid {
                lane.credit -= f64::from(size);
            }
            if view.aside() == 0 {
                lane.empty_since = view.now;
            }
            lane.leave(Side::Congested)
        } else if choice.queue == self.watched {
            lane.count_off(packet);
            if view.aside() > 0 {
                lane.credit = (lane.credit + f64::from(size) * self.earned).min(self.largest);
            }
            lane.leave(Side::Normal)
        } else {
            false
        };
        if freed {
            show_freed(observer, view);
        }
    }

    #[inline]
    fn on_left<O: Observer>(&mut self, view: View<'_>, left: &Left, observer: &mut O) -> bool {
        let mut go = false;
        if left.counted {
            let input = &mut self.inputs[left.from as usize];
            input.stored -= left.size;
            input.isolated -= if left.class == SIDE_CLASS { left.size } else { 0 };
            go = input.full && input.isolated <= self.config.go.get();
            input.full &= !go;
            if input.stored == 0 {
                input.allocated = false;
                show(observer, view.now, input.link, IsolationEvent::FreedAtInput);
            }
        }
        self.end_if_over(view, observer);
        go
    }

    #[inline(never)]
    fn on_stop<O: Observer>(&mut self, view: View<'_>, observer: &mut O) {
        self.end_if_over(view, observer);
    }

    /// The neighbor says that a flow which goes there is congested, or no longer.
    #[inline(never)]
    fn on_message<O: Observer>(&mut self, view: View<'_>, message: Packet, observer: &mut O) {
        if message.control() != Some(Control::Isolate) {
            return;
        }
        let key = message.seq();
        if !message.is(FIN) {
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
    fn on_timer<O: Observer>(&mut self, view: View<'_>, observer: &mut O) {
        if self.lanes[view.port].look_at.take_if(|at| *at <= view.now).is_none() {
            return;
        }
        if self.is_allocated(view.port) && self.is_idle(view) {
            self.close(view, observer);
        } else {
            self.end_if_over(view, observer);
        }
        if self.is_allocated(view.port) {
            self.plan_look(view, true);
        }
    }

    fn report(&self, port: usize, counters: &mut PortCounters) {
        counters.isolation = self.lanes[port].counters;
    }
}

impl Stage {
    /// A packet has joined a queue that is congested: a flow there is, unless those who wait there may be victims.
    #[inline(never)]
    fn detect<O: Observer>(&mut self, view: View<'_>, packet: Packet, observer: &mut O) {
        let stopped = view.stops & 1 << packet.priority() != 0;
        if self.config.spare_stopped && stopped {
            return;
        }
        let census = self.lanes[view.port].census.as_deref();
        let named = match self.config.naming {
            Naming::Arrivals => Some(key(packet)),
            Naming::Crossing => {
                (view.backlogs[self.watched] < self.config.detect.get()).then_some(key(packet))
            }
            Naming::Largest => census.and_then(Census::largest),
            Naming::Sampled => census.and_then(|census| census.draw(&mut self.random)),
        };
        if let Some(named) = named {
            self.isolate(view, named, false, observer);
        }
    }

    /// Names a flow as congested.
    fn isolate<O: Observer>(&mut self, view: View<'_>, key: u64, downstream: bool, observer: &mut O) {
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
        if self.config.order.needs_pair(first) {
            lane.tokens.open(first);
        }
        lane.was_congested |= !downstream;
        lane.counters.allocated += u64::from(first);
        lane.counters.flows += 1;
        self.plan_look(view, downstream);
        if O::ACTIVE {
            if first {
                observer.side_queue(view.now, view.link, true);
                show(observer, view.now, view.link, IsolationEvent::Allocated);
            }
            show(observer, view.now, view.link, IsolationEvent::Flow(FlowId(key as u32)));
        }
    }

    /// A packet of an isolated flow is to wait.
    #[inline(never)]
    fn store<O: Observer>(&mut self, view: View<'_>, joining: &Joining, observer: &mut O) -> Joined {
        let lane = &mut self.lanes[view.port];
        let size = u64::from(joining.packet.size());
        let backlog = view.aside() + size;
        lane.counters.max_backlog = lane.counters.max_backlog.max(backlog);
        let mut joined = Joined::default();
        let came_isolated = joining.class == SIDE_CLASS;
        let Some(input) = self.inputs.get_mut(joining.from as usize) else { return joined };
        if !input.allocated && backlog > self.config.propagate_egress.get() {
            input.allocated = true;
            show(observer, view.now, input.link, IsolationEvent::AllocatedAtInput);
        }
        if input.allocated {
            input.stored += size;
            input.isolated += if came_isolated { size } else { 0 };
            joined.counted = true;
            if !input.full && input.isolated > self.config.stop.get() {
                input.full = true;
                joined.stop = true;
            }
        }
        let grown = input.listens
            && (self.config.scheme == Scheme::Qcz || input.stored > self.config.propagate_ingress.get());
        if grown || came_isolated {
            self.notify(view, joining, observer);
        }
        joined
    }

    /// The neighbor that an isolated flow comes from is notified of it, unless it knows.
    fn notify<O: Observer>(&mut self, view: View<'_>, joining: &Joining, observer: &mut O) {
        let (now, key) = (view.now, key(joining.packet));
        let table = &mut self.lanes[view.port].table;
        let Some(place) = table.keys.iter().position(|known| *known == key) else { return };
        let entry = &mut table.entries[place];
        if joining.class == SIDE_CLASS {
            entry.notified = 0;
        } else if entry.notified < self.config.messages
            && (entry.notified == 0 || now >= entry.notified_at + NOTIFY_AGAIN_AFTER)
        {
            (entry.notified, entry.notified_at, entry.from) = (entry.notified + 1, now, joining.from);
            let Input { link, back, .. } = self.inputs[joining.from as usize];
            self.send(now, back, key, false);
            show(observer, now, link, IsolationEvent::Notified(FlowId(key as u32)));
        }
    }

    /// Plans to look whether a port still needs its queue, which it has because of a neighbor (`downstream`) or by itself.
    fn plan_look(&mut self, view: View<'_>, downstream: bool) {
        let after = match self.config.scheme {
            Scheme::Dvl => return,
            Scheme::Edvl if !downstream => return,
            Scheme::Edvl => self.config.idle_life,
            Scheme::Qcz => self.config.flow_life,
        };
        let look_at = &mut self.lanes[view.port].look_at;
        if look_at.is_none() {
            *look_at = Some(view.now + after);
            self.outbox.looks.push((view.now + after, view.port));
        }
    }

    /// A flow of a port is isolated.
    fn is_allocated(&self, port: usize) -> bool {
        !self.lanes[port].table.keys.is_empty()
    }

    /// Ends isolation at a port if its queues are empty enough.
    #[inline]
    fn end_if_over<O: Observer>(&mut self, view: View<'_>, observer: &mut O) {
        if self.is_over(view) {
            self.close(view, observer);
        }
    }

    /// Whether the two queues of a port are too empty for isolation now.
    fn is_over(&mut self, view: View<'_>) -> bool {
        let lane = &mut self.lanes[view.port];
        if lane.table.keys.is_empty() || lane.tokens.is_active() {
            return false;
        }
        let detect = self.config.detect.get();
        match self.config.scheme {
            // One that a neighbor has requested may be far below from the beginning: it has to have been above.
            Scheme::Edvl => {
                let waits = view.aside() + view.backlogs[self.watched];
                lane.was_congested |= waits >= detect;
                waits < self.config.free_below().get() && !view.side_is_stopped() && lane.was_congested
            }
            Scheme::Dvl => {
                view.aside() == 0 && view.backlogs[self.watched] < detect && !lane.has_downstream()
            }
            Scheme::Qcz => {
                let aged = view.now.saturating_since(lane.empty_since) >= self.config.flow_life;
                view.aside() == 0 && view.backlogs[self.watched] < detect && (aged || !lane.has_downstream())
            }
        }
    }

    /// Whether a port that has not been congested since a neighbor named a flow may go without its queue: the flow does not
    /// need it.
    fn is_idle(&self, view: View<'_>) -> bool {
        let lane = &self.lanes[view.port];
        let enhanced = self.config.scheme == Scheme::Edvl;
        let busy = view.side_is_stopped() || view.aside() > 0 || lane.tokens.is_active();
        enhanced && !lane.was_congested && !busy
    }

    /// Lets all flows of a port go back to the normal queue.
    #[inline(never)]
    fn close<O: Observer>(&mut self, view: View<'_>, observer: &mut O) {
        let mut table = std::mem::take(&mut self.lanes[view.port].table);
        if self.config.scheme == Scheme::Dvl {
            for (key, entry) in table.keys.iter().zip(&table.entries) {
                if let Some(back) = self.inputs.get(entry.from as usize).map(|input| input.back) {
                    self.send(view.now, back, *key, true);
                }
            }
        }
        table.keys.clear();
        table.entries.clear();
        let lane = &mut self.lanes[view.port];
        lane.table = table;
        if lane.tokens.close() {
            lane.free();
            show_freed(observer, view);
        }
    }

    /// Notifies the neighbor that a port leads to of a flow that is congested, or that is so no longer.
    fn send(&mut self, at: Time, port: usize, key: u64, over: bool) {
        let packet = Packet::new(Fields {
            seq: key,
            flow: FlowId(key as u32),
            to: self.neighbor,
            size: self.config.message_size.get() as u16,
            incarnation: 0,
            kind: Kind::Control(Control::Isolate),
            priority: self.config.priority,
            flags: if over { FIN } else { 0 },
            trailers: 0,
        });
        self.lanes[port].counters.messages += 1;
        self.outbox.messages.push(Message { at, port, packet });
    }
}
