//! The temporary reaction point: packets of flows that are asked to slow down are held until their sources can react.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use narrows_proto::units::{Span, Time, WireTime};

use super::notify::source;
use super::{Hold, ThemisRecord, near};
use crate::ids::FlowId;
use crate::mechanism::at_switch::{AtSwitch, Pass, SwitchSite};
use crate::observe::Observer;
use crate::packet::{Control, Kind, NO_TRAILERS, Packet, Trailers};
use crate::ring::Ring;
use crate::switch::Reached;
use crate::world::{Log, World};

/// The reaction point of a switch.
#[derive(Debug)]
pub(crate) struct Holds {
    config: Hold,
    near: Reached,
    loop_time: WireTime,
    /// Flows of which CNPs passed, in order.
    flows: Vec<(FlowId, Held)>,
    /// When the first packets of flows leave: one entry for each packet, in the order in which they came.
    agenda: BinaryHeap<Reverse<(Time, u64, FlowId)>>,
    came: u64,
    /// Bytes held.
    bytes: u64,
    released: Option<Packet>,
    record: ThemisRecord,
}

/// A flow of which CNPs passed.
#[derive(Debug)]
pub(super) struct Held {
    passes: Passes,
    packets: Ring<Packet>,
    /// When the last packet leaves.
    last: Time,
}

/// Number of passes of the packets of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Passes {
    pub(super) now: u32,
    /// CNPs counted since there was one pass more, and the number after which there is the next.
    counted: u32,
    threshold: u32,
    /// When a CNP passed last, or there were half as many passes.
    since: Time,
}

impl Passes {
    pub(super) fn new(config: &Hold) -> Self {
        Self { now: 0, counted: 0, threshold: config.threshold, since: Time::ZERO }
    }

    /// A CNP passed.
    pub(super) fn on_cnp(&mut self, now: Time, config: &Hold) {
        self.let_go(now, config);
        self.since = now;
        if self.now == 0 {
            *self = Self { now: 1, since: now, ..Self::new(config) };
        }
        self.counted += 1;
        if self.counted > self.threshold {
            self.now = (self.now + 1).min(config.most);
            self.threshold = self.threshold.saturating_add(1);
            self.counted = 0;
        }
    }

    /// Time has passed.
    pub(super) fn let_go(&mut self, now: Time, config: &Hold) {
        while self.now > 0 && now.saturating_since(self.since) >= config.release {
            self.now /= 2;
            self.threshold = (self.threshold / 2).max(config.threshold);
            self.counted = 0;
            self.since += config.release;
        }
    }
}

impl AtSwitch for Holds {
    fn new(site: &SwitchSite<'_>) -> Option<Self> {
        let config = site.config.themis.as_ref()?.hold.clone()?;
        Some(Self::of(near(site.network, site.node), config))
    }

    fn pass<O: Observer>(&mut self, now: Time, packet: Packet, from: u32, world: &mut World<O>) -> Pass {
        match packet.kind() {
            Kind::Control(Control::Cnp) => {
                if !self.near.has(packet.to()) && source(packet.flow(), &world.shared).is_some() {
                    self.on_cnp(now, packet.flow());
                }
                Pass::Through(packet)
            }
            Kind::Data if !self.flows.is_empty() && self.near.has(packet.to()) => {
                self.take(now, packet, from)
            }
            _ => Pass::Through(packet),
        }
    }

    fn next(&self) -> Time {
        self.agenda.peek().map_or(Time::NEVER, |entry| entry.0.0)
    }

    fn step<O: Observer>(&mut self, at: Time, _: &mut World<O>) {
        self.release(at);
    }

    fn take_packet(&mut self) -> Option<(Packet, Trailers, u32)> {
        self.released.take().map(|packet| (packet, NO_TRAILERS, packet.at().as_ps() as u32))
    }

    fn finish(&self, log: &mut Log) {
        log.mechanisms.themis.add(&self.record);
    }
}

impl Holds {
    /// Of packets for these hosts.
    pub(super) fn of(near: Reached, config: Hold) -> Self {
        Self {
            near,
            loop_time: config.loop_rate.wire_time(),
            config,
            flows: Vec::new(),
            agenda: BinaryHeap::new(),
            came: 0,
            bytes: 0,
            released: None,
            record: ThemisRecord::default(),
        }
    }

    fn place(&self, flow: FlowId) -> Option<usize> {
        self.flows.binary_search_by_key(&flow, |held| held.0).ok()
    }

    /// The first packet that is due leaves.
    pub(super) fn release(&mut self, at: Time) {
        let Some(Reverse((_, _, flow))) = self.agenda.pop() else { return };
        let Some(place) = self.place(flow) else { return };
        let held = &mut self.flows[place].1;
        let packet = held.packets.take();
        held.passes.let_go(at, &self.config);
        if held.packets.is_empty() && held.passes.now == 0 {
            self.flows.remove(place);
        }
        self.bytes -= u64::from(packet.size());
        self.released = Some(packet);
    }

    /// A CNP of a flow passes.
    pub(super) fn on_cnp(&mut self, now: Time, flow: FlowId) {
        if self.flows.len() == self.flows.capacity() {
            let config = &self.config;
            self.flows.retain_mut(|(_, held)| {
                held.passes.let_go(now, config);
                held.passes.now > 0 || !held.packets.is_empty()
            });
        }
        let place = self.flows.binary_search_by_key(&flow, |held| held.0).unwrap_or_else(|place| {
            let held = Held { passes: Passes::new(&self.config), packets: Ring::default(), last: Time::ZERO };
            self.flows.insert(place, (flow, held));
            place
        });
        self.flows[place].1.passes.on_cnp(now, &self.config);
    }

    /// A data packet arrives for a host of this data center.
    pub(super) fn take(&mut self, now: Time, packet: Packet, from: u32) -> Pass {
        let Some(place) = self.place(packet.flow()) else { return Pass::Through(packet) };
        let held = &mut self.flows[place].1;
        held.passes.let_go(now, &self.config);
        let passes = held.passes.now;
        if passes == 0 && held.packets.is_empty() {
            self.flows.remove(place);
            return Pass::Through(packet);
        }
        debug_assert!(packet.trailers() == 0, "packets under DCQCN bring no trailers");
        let pass = self.loop_time.of(packet.size()) + self.config.loop_delay;
        held.last = held.last.max(now + Span::from_ps(pass.as_ps().saturating_mul(passes.into())));
        self.agenda.push(Reverse((held.last, self.came, packet.flow())));
        self.came += 1;
        // While it waits a packet needs no time of arrival; it remembers which way it came.
        held.packets.push(packet.arriving(Time::from_ps(from.into())));
        self.bytes += u64::from(packet.size());
        self.record.held += 1;
        self.record.passes = self.record.passes.max(passes.into());
        self.record.most = self.record.most.max(self.bytes);
        Pass::Taken
    }
}
