//! Flows that end at a host.

use super::reception::Incoming;
use narrows_proto::rdma::credits::Arrival;
use narrows_proto::rdma::{self, CnpPer, Reply, Trimmed};
use narrows_proto::stream::AckFrame;
use narrows_proto::units::{BitRate, Bytes, Span, Time};

use super::Host;
use super::agenda::{Agenda, Wake};
use super::grants::Grants;
use super::new_flow::NewFlow;
use super::nic::Nic;
use super::packets::{Way, ack_packet, arrived_segment, cnp_packet, grant_packet, rdma_ack_packet};
use super::senders::Senders;
use super::transport::Sink;
use crate::ids::FlowId;
use crate::mechanism::at_host::AtHost;
use crate::mechanism::registry::{HostMechanisms, each};
use crate::observe::Observer;
use crate::packet::{self, Kind, Packet, Parcel};
use crate::traffic::Milestone;
use crate::world::{GroupState, Reception, TransportState, World};

impl Host {
    /// The slot of what receives a segment. None if all has arrived.
    #[inline(always)]
    fn slot_of<O: Observer>(&mut self, now: Time, packet: Packet, world: &mut World<O>) -> Option<u32> {
        match world.flows.receivers[packet.flow().index()] {
            Reception::Live { slot, incarnation } if incarnation == packet.incarnation() => Some(slot),
            Reception::Done { incarnation, ack } if incarnation == packet.incarnation() => {
                self.repeat_final_ack(packet, ack, world);
                None
            }
            // Late copies of an earlier flow of the same client. Its sender knows that all arrived.
            Reception::Live { incarnation, .. } | Reception::Done { incarnation, .. }
                if is_older(packet.incarnation(), incarnation) =>
            {
                None
            }
            _ => Some(self.open(now, packet, world)),
        }
    }

    /// A data segment or SYN arrived.
    pub(super) fn on_segment<O: Observer>(&mut self, now: Time, parcel: Parcel<'_>, world: &mut World<O>) {
        let packet = parcel.packet;
        let Some(slot) = self.slot_of(now, packet, world) else { return };
        let incoming = self.incoming.get_mut(slot).expect("live receptions have a slot");
        let group = &world.shared.groups[incoming.group as usize];
        let nic = &mut self.senders.nic;
        let back = Way { flow: packet.flow(), to: incoming.from, incarnation: packet.incarnation() };
        let mechanisms = &mut self.mechanisms;
        let ack = match &mut incoming.sink {
            Sink::Stream(receiver) => {
                let params = &group.stream().params;
                receiver.on_segment(params, now, &arrived_segment(packet, group), |frame| {
                    push_answer(nic, &frame, mechanisms.as_deref_mut(), back, group);
                });
                if !receiver.is_complete() {
                    let at = receiver.next_timer();
                    return incoming.arm(at, slot, &mut self.senders.agenda);
                }
                receiver.delivered()
            }
            Sink::Merging(merging) => {
                let params = &group.stream().params;
                merging.on_segment(params, now, &arrived_segment(packet, group), |frame| {
                    push_answer(nic, &frame, mechanisms.as_deref_mut(), back, group);
                });
                if !merging.receiver().is_complete() {
                    let at = merging.next_timer();
                    return incoming.arm(at, slot, &mut self.senders.agenda);
                }
                merging.receiver().delivered()
            }
            Sink::Rdma(receiver) => {
                let params = &group.rdma().params;
                // Of a queue pair: the message that its answers name.
                (incoming.flow, incoming.incarnation) = (packet.flow(), packet.incarnation());
                let before = receiver.delivered();
                let telemetry = (packet.trailers() > 0).then_some(parcel);
                let (cnp_at, agenda) = (&mut self.cnp_at, &mut self.senders.agenda);
                let (armed, replies) = (&mut incoming.armed, Replies { now, slot, telemetry, back, group });
                receiver.on_segment(params, now, &packet.rdma_segment(group.overhead), |reply| {
                    replies.push(reply, nic, cnp_at, (armed, agenda));
                });
                if group.requests {
                    let arrival = Arrival::Full { marked: packet.is_marked() };
                    replies.grant(&mut self.grants, parcel, arrival, self.rate, &mut self.senders);
                }
                if !receiver.is_complete() || receiver.delivered() == before {
                    return;
                }
                receiver.delivered()
            }
            Sink::Datagram { .. } => unreachable!("segments belong to connections"),
        };
        self.received(now, slot, ack, world);
    }

    /// The headers of a data packet arrived, whose payload a switch has cut off.
    pub(super) fn on_trimmed<O: Observer>(&mut self, now: Time, parcel: Parcel<'_>, world: &mut World<O>) {
        let packet = parcel.packet;
        let Some(slot) = self.slot_of(now, packet, world) else { return };
        let incoming = self.incoming.get_mut(slot).expect("live receptions have a slot");
        let group = &world.shared.groups[incoming.group as usize];
        let back = Way { flow: packet.flow(), to: incoming.from, incarnation: packet.incarnation() };
        let Sink::Rdma(receiver) = &mut incoming.sink else {
            unreachable!("only what RDMA sends may be trimmed");
        };
        let Senders { nic, agenda, .. } = &mut self.senders;
        let (cnp_at, armed) = (&mut self.cnp_at, &mut incoming.armed);
        let replies = Replies { now, slot, telemetry: None, back, group };
        let segment = packet.rdma_segment(packet.size());
        let trimmed = Trimmed { segment, at_last_hop: packet.is(packet::AT_LAST_HOP) };
        receiver.on_trimmed(&group.rdma().params, now, &trimmed, |reply| {
            replies.push(reply, nic, cnp_at, (armed, agenda));
        });
        if group.requests {
            let arrival = Arrival::Trimmed { at_last_hop: trimmed.at_last_hop };
            replies.grant(&mut self.grants, parcel, arrival, self.rate, &mut self.senders);
        }
    }

    /// All of the flow in `slot` has arrived, and so says `ack`.
    fn received<O: Observer>(&mut self, now: Time, slot: u32, ack: u64, world: &mut World<O>) {
        let Some(incoming) = self.incoming.get_mut(slot) else { return };
        let Incoming { flow, group, incarnation, .. } = *incoming;
        let state = &world.shared.groups[group as usize];
        if state.keeps_ack_states().is_some()
            && let Some(ack_state) = incoming.sink.ack_state()
        {
            self.connections.receiving.keep(group, incoming.from, ack_state);
        }
        if !state.has_queue_pairs() {
            self.incoming.remove(slot);
        }
        if let Some(grants) = &mut self.grants {
            grants.close(slot);
        }
        world.log.completions.push((flow, now));
        world.observer.completed(now, flow);
        world.flows.receivers[flow.index()] = Reception::Done { incarnation, ack };
        self.ask(now, world, |all, at| each!(all, mechanism => mechanism.on_received(at, flow)));
        self.answer(now, flow, world);
        self.hand_to_rank(now, flow, world);
        self.announce(now, flow, Milestone::Received, world);
    }

    /// All of `flow` has arrived: if it is a request, the response starts.
    fn answer<O: Observer>(&mut self, now: Time, flow: FlowId, world: &mut World<O>) {
        let Some(flow) = world.shared.answer_to(flow) else { return };
        let size = world.shared.flows[flow.index()].size;
        self.start(now, &NewFlow { flow, incarnation: 0, size, start: now, starter: None }, world);
    }

    /// The first packet of a flow: keeps a receiver for it.
    fn open<O: Observer>(&mut self, now: Time, packet: Packet, world: &mut World<O>) -> u32 {
        let spec = &world.shared.flows[packet.flow().index()];
        let group = &world.shared.groups[spec.group.index()];
        let pair = group.has_queue_pairs().then(|| self.receiving_pair(spec.group.0, spec.from));
        if let Some(Ok(slot)) = pair {
            world.flows.receivers[packet.flow().index()] =
                Reception::Live { slot, incarnation: packet.incarnation() };
            return slot;
        }
        // Without a handshake it goes on with a connection that was kept.
        let goes_on = packet.kind() == Kind::Data && group.keeps_ack_states().is_some();
        let connection =
            if goes_on { self.connections.receiving.take(spec.group.0, spec.from) } else { None };
        let sink = Sink::new(group, now, connection);
        let is_connected = sink.is_connected();
        let slot = self.incoming.add(Incoming {
            flow: packet.flow(),
            from: spec.from,
            group: spec.group.0,
            incarnation: packet.incarnation(),
            sink,
            armed: Time::NEVER,
        });
        if let Some(Err(place)) = pair {
            self.receiving_pairs.insert(place, ((spec.group.0, spec.from), slot));
        }
        world.flows.receivers[packet.flow().index()] =
            Reception::Live { slot, incarnation: packet.incarnation() };
        if is_connected {
            self.ask(now, world, |all, at| each!(all, mechanism => mechanism.on_open(at, packet.flow())));
        }
        slot
    }

    /// The sender does not know that everything arrived.
    #[cold]
    fn repeat_final_ack<O>(&mut self, packet: Packet, ack: u64, world: &World<O>) {
        let spec = &world.shared.flows[packet.flow().index()];
        let group = &world.shared.groups[spec.group.index()];
        let back = Way { flow: packet.flow(), to: spec.from, incarnation: packet.incarnation() };
        if let TransportState::Rdma(_) = group.transport {
            let mut frame = rdma::AckFrame { ack, ..rdma::AckFrame::default() };
            frame.selective.entropy = packet.entropy();
            return push_rdma_ack(&mut self.senders.nic, &frame, None, back, group);
        }
        let frame = AckFrame { ack, syn: packet.kind() == Kind::Syn, ..AckFrame::default() };
        push_ack(&mut self.senders.nic, &frame, back, group);
    }

    pub(super) fn on_datagram<O: Observer>(&mut self, now: Time, packet: Packet, world: &mut World<O>) {
        let slot = match world.flows.receivers[packet.flow().index()] {
            Reception::Live { slot, .. } => slot,
            _ => self.open(now, packet, world),
        };
        let incoming = self.incoming.get_mut(slot).expect("live receptions have a slot");
        let overhead = world.shared.groups[incoming.group as usize].overhead;
        if let Sink::Datagram { received, bytes } = &mut incoming.sink {
            *received += 1;
            *bytes += Bytes::new(packet.segment(overhead).len.into());
        }
        self.ask(now, world, |all, at| each!(all, mechanism => mechanism.on_datagram(at, packet)));
    }

    /// A delayed acknowledgment or congestion notification packet may be due, or what was merged is to be handed on.
    pub(super) fn wake_receiver<O: Observer>(&mut self, now: Time, slot: u32, world: &mut World<O>) {
        let Some(incoming) = self.incoming.get_mut(slot).filter(|incoming| incoming.armed == now) else {
            return;
        };
        incoming.armed = Time::NEVER;
        let group = &world.shared.groups[incoming.group as usize];
        let (nic, back) = (&mut self.senders.nic, incoming.back());
        let mechanisms = &mut self.mechanisms;
        let at = match &mut incoming.sink {
            Sink::Stream(receiver) => {
                receiver
                    .on_timer(&group.stream().params, now)
                    .iter()
                    .for_each(|frame| push_late(nic, frame, mechanisms.as_deref_mut(), back, group));
                receiver.next_timer()
            }
            Sink::Merging(merging) => {
                merging.on_timer(&group.stream().params, now, |frame| {
                    push_late(nic, &frame, mechanisms.as_deref_mut(), back, group);
                });
                if merging.receiver().is_complete() {
                    let ack = merging.receiver().delivered();
                    return self.received(now, slot, ack, world);
                }
                merging.next_timer()
            }
            Sink::Rdma(_) => return push_cnp(nic, back, group),
            Sink::Datagram { .. } => return,
        };
        incoming.arm(at, slot, &mut self.senders.agenda);
    }
}

/// Queues the acknowledgment `frame`, which has waited, and may answer a SYN. Apart: as a closure of its caller it made all handlers of packets
/// take 2 % more instructions.
#[inline(never)]
fn push_late(
    nic: &mut Nic,
    frame: &AckFrame,
    mechanisms: Option<&mut HostMechanisms>,
    back: Way,
    group: &GroupState,
) {
    push_answer(nic, frame, mechanisms, back, group);
}

/// Queues the acknowledgment `frame`, which may answer a SYN.
#[inline]
fn push_answer(
    nic: &mut Nic,
    frame: &AckFrame,
    mechanisms: Option<&mut HostMechanisms>,
    back: Way,
    group: &GroupState,
) {
    if frame.syn {
        return push_syn_ack(nic, frame, mechanisms, back, group);
    }
    push_ack(nic, frame, back, group);
}

/// Queues the acknowledgment `frame`.
#[inline]
fn push_ack(nic: &mut Nic, frame: &AckFrame, back: Way, group: &GroupState) {
    let (trailers, slots) = packet::pack(frame);
    let packet = ack_packet(frame, trailers, back, group);
    nic.push_ready(Parcel { packet, trailers: &slots });
}

/// Queues the answer to a SYN, with what a mechanism gives it to bring along.
#[cold]
fn push_syn_ack(
    nic: &mut Nic,
    frame: &AckFrame,
    mechanisms: Option<&mut HostMechanisms>,
    back: Way,
    group: &GroupState,
) {
    let (trailers, slots) = match mechanisms.and_then(|mechanisms| mechanisms.answer_to_syn(group)) {
        None => packet::pack(frame),
        Some(slot) => (1, [slot, Packet::default()]),
    };
    let packet = ack_packet(frame, trailers, back, group);
    nic.push_ready(Parcel { packet, trailers: &slots });
}

/// Queues the acknowledgment `frame` of an RDMA connection, with the telemetry of the data packet it answers, if there is some.
#[inline]
fn push_rdma_ack(
    nic: &mut Nic,
    frame: &rdma::AckFrame,
    telemetry: Option<Parcel<'_>>,
    back: Way,
    group: &GroupState,
) {
    let (packet, slots) = rdma_ack_packet(frame, telemetry, back, group);
    nic.push_ready(Parcel { packet, trailers: &slots });
}

/// A packet over RDMA that is answered.
struct Replies<'a> {
    now: Time,
    /// Of what receives it.
    slot: u32,
    /// It, if it brings telemetry.
    telemetry: Option<Parcel<'a>>,
    back: Way,
    group: &'a GroupState,
}

impl Replies<'_> {
    /// Takes the request for credit that the packet brings along, or answers one that asks for no more than it was granted: that grant was
    /// lost.
    #[inline(never)]
    fn grant(
        &self,
        grants: &mut Option<Box<Grants>>,
        parcel: Parcel<'_>,
        arrival: Arrival,
        rate: BitRate,
        senders: &mut Senders,
    ) {
        let &Self { now, slot, back, group, .. } = self;
        Grants::on_arrival(grants, (now, slot), parcel, arrival, group, rate);
        let Some(grants) = grants else { return };
        if parcel.packet.segment(group.overhead).len == 0 && matches!(arrival, Arrival::Full { .. }) {
            let granted = grants.granted(slot);
            senders.nic.push_ready(Parcel::bare(grant_packet(granted, back, group)));
        }
        grants.arm(now, &mut senders.agenda);
    }

    /// Queues an answer, or notes in the agenda when to.
    #[inline]
    fn push(
        &self,
        reply: Reply,
        nic: &mut Nic,
        cnp_at: &mut Time,
        (armed, agenda): (&mut Time, &mut Agenda),
    ) {
        let &Self { now, slot, telemetry, back, group } = self;
        let params = &group.rdma().params;
        match reply {
            Reply::Ack(frame) => push_rdma_ack(nic, &frame, telemetry, back, group),
            Reply::Cnp if params.cnp_per == CnpPer::Nic && now < *cnp_at => {}
            Reply::Cnp => {
                *cnp_at = now + params.cnp_interval;
                if params.cnp_delay == Span::ZERO {
                    return push_cnp(nic, back, group);
                }
                *armed = now + params.cnp_delay;
                agenda.plan(*armed, Wake::Receiver(slot));
            }
        }
    }
}

/// Queues a congestion notification packet.
fn push_cnp(nic: &mut Nic, back: Way, group: &GroupState) {
    nic.push_ready(Parcel::bare(cnp_packet(back, group)));
}

/// `incarnation` came before `than`, on a circle of 2^16.
fn is_older(incarnation: u16, than: u16) -> bool {
    (incarnation.wrapping_sub(than) as i16) < 0
}
