//! Flows that end at a host.

use super::reception::Incoming;
use narrows_proto::rdma::{self, Reply};
use narrows_proto::stream::AckFrame;
use narrows_proto::units::{Bytes, Time};

use super::Host;
use super::agenda::Wake;
use super::nic::Nic;
use super::outgoing::NewFlow;
use super::packets::{Way, ack_packet, cnp_packet, rdma_ack_packet};
use super::transport::Sink;
use crate::ids::FlowId;
use crate::mechanism::registry::{HostMechanisms, each};
use crate::observe::Observer;
use crate::packet::{self, Kind, Packet, Parcel};
use crate::traffic::Milestone;
use crate::world::{GroupState, Reception, TransportState, World};

impl Host {
    /// A data segment or SYN arrived.
    pub(super) fn on_segment<O: Observer>(&mut self, now: Time, parcel: Parcel<'_>, world: &mut World<O>) {
        let packet = parcel.packet;
        let slot = match world.flows.receivers[packet.flow().index()] {
            Reception::Live { slot, incarnation } if incarnation == packet.incarnation() => slot,
            Reception::Done { incarnation, ack } if incarnation == packet.incarnation() => {
                self.repeat_final_ack(packet, ack, world);
                return;
            }
            // Late copies of an earlier flow of the same client. Its sender knows that all arrived.
            Reception::Live { incarnation, .. } | Reception::Done { incarnation, .. }
                if is_older(packet.incarnation(), incarnation) =>
            {
                return;
            }
            _ => self.open(now, packet, world),
        };
        let incoming = self.incoming.get_mut(slot).expect("live receptions have a slot");
        let group = &world.shared.groups[incoming.group as usize];
        let (nic, back) = (&mut self.senders.nic, incoming.back());
        let mechanisms = &mut self.mechanisms;
        let ack = match &mut incoming.sink {
            Sink::Stream(receiver) => {
                let params = &group.stream().params;
                receiver.on_segment(params, now, &packet.segment(group.overhead), |frame| {
                    if frame.syn {
                        return push_syn_ack(nic, &frame, mechanisms.as_deref_mut(), back, group);
                    }
                    push_ack(nic, &frame, back, group);
                });
                if !receiver.is_complete() {
                    if receiver.next_timer() < incoming.armed {
                        incoming.armed = receiver.next_timer();
                        self.senders.agenda.plan(incoming.armed, Wake::Receiver(slot));
                    }
                    return;
                }
                receiver.delivered()
            }
            Sink::Rdma(receiver) => {
                let params = &group.rdma().params;
                let told = (packet.trailers() > 0).then_some(parcel);
                receiver.on_segment(params, now, &packet.rdma_segment(group.overhead), |reply| match reply {
                    Reply::Ack(frame) => push_rdma_ack(nic, &frame, told, back, group),
                    Reply::Cnp => push_cnp(nic, back, group),
                });
                if !receiver.is_complete() {
                    return;
                }
                receiver.delivered()
            }
            Sink::Datagram { .. } => unreachable!("segments belong to connections"),
        };
        world.log.completions.push((packet.flow(), now));
        world.observer.completed(now, packet.flow());
        world.flows.receivers[packet.flow().index()] =
            Reception::Done { incarnation: packet.incarnation(), ack };
        self.ask(now, world, |all, at| each!(all, mechanism => mechanism.on_received(at, packet.flow())));
        self.incoming.remove(slot);
        self.answer(now, packet.flow(), world);
        self.announce(now, packet.flow(), Milestone::Received, world);
    }

    /// All of `flow` has arrived: if it is a request, the response starts.
    fn answer<O: Observer>(&mut self, now: Time, flow: FlowId, world: &mut World<O>) {
        let Some(flow) = world.shared.answer_to(flow) else { return };
        let size = world.shared.flows[flow.index()].size;
        self.start(now, &NewFlow { flow, incarnation: 0, size, generator: None }, world);
    }

    /// The first packet of a flow: keeps a receiver for it.
    fn open<O: Observer>(&mut self, now: Time, packet: Packet, world: &mut World<O>) -> u32 {
        let spec = &world.shared.flows[packet.flow().index()];
        let group = &world.shared.groups[spec.group.index()];
        let sink = Sink::new(group);
        let is_connected = sink.is_connected();
        let slot = self.incoming.add(Incoming {
            flow: packet.flow(),
            from: spec.from,
            group: spec.group.0,
            incarnation: packet.incarnation(),
            sink,
            armed: Time::NEVER,
        });
        world.flows.receivers[packet.flow().index()] =
            Reception::Live { slot, incarnation: packet.incarnation() };
        if is_connected {
            self.ask(now, world, |all, at| each!(all, mechanism => mechanism.on_open(at, packet.flow())));
        }
        slot
    }

    /// The sender has not heard that everything arrived.
    #[cold]
    fn repeat_final_ack<O>(&mut self, packet: Packet, ack: u64, world: &World<O>) {
        let spec = &world.shared.flows[packet.flow().index()];
        let group = &world.shared.groups[spec.group.index()];
        let back = Way { flow: packet.flow(), to: spec.from, incarnation: packet.incarnation() };
        if let TransportState::Rdma(_) = group.transport {
            let frame = rdma::AckFrame { ack, ..rdma::AckFrame::default() };
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

    /// A delayed acknowledgement may be due.
    pub(super) fn wake_receiver<O>(&mut self, now: Time, slot: u32, world: &World<O>) {
        let Some(incoming) = self.incoming.get_mut(slot).filter(|incoming| incoming.armed == now) else {
            return;
        };
        incoming.armed = Time::NEVER;
        let Sink::Stream(receiver) = &mut incoming.sink else { return };
        if let Some(frame) = receiver.on_timer(now) {
            push_ack(
                &mut self.senders.nic,
                &frame,
                incoming.back(),
                &world.shared.groups[incoming.group as usize],
            );
        } else if receiver.next_timer() < Time::NEVER {
            incoming.armed = receiver.next_timer();
            self.senders.agenda.plan(incoming.armed, Wake::Receiver(slot));
        }
    }
}

/// Queues the acknowledgement `frame`.
#[inline]
fn push_ack(nic: &mut Nic, frame: &AckFrame, back: Way, group: &GroupState) {
    let (trailers, slots) = packet::pack(&frame.sacks);
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
        None => packet::pack(&frame.sacks),
        Some(slot) => (1, [slot, Packet::default()]),
    };
    let packet = ack_packet(frame, trailers, back, group);
    nic.push_ready(Parcel { packet, trailers: &slots });
}

/// Queues the acknowledgement `frame` of an RDMA connection, with the telemetry of the data packet it answers, if there is some.
#[inline]
fn push_rdma_ack(
    nic: &mut Nic,
    frame: &rdma::AckFrame,
    told: Option<Parcel<'_>>,
    back: Way,
    group: &GroupState,
) {
    let (packet, slots) = rdma_ack_packet(frame, told, back, group);
    nic.push_ready(Parcel { packet, trailers: &slots });
}

/// Queues a congestion notification packet.
fn push_cnp(nic: &mut Nic, back: Way, group: &GroupState) {
    nic.push_ready(Parcel::bare(cnp_packet(back, group)));
}

/// `turn` came before `than`, on a circle of 2^16.
fn is_older(incarnation: u16, than: u16) -> bool {
    (incarnation.wrapping_sub(than) as i16) < 0
}
