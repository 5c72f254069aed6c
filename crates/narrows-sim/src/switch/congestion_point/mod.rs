//! Congestion points: they sample what joins a queue and tell its source how the queue fares.
//!
//! Each queue of a port, one for each priority, is sampled by itself. What is sampled is the arriving packet; the queue
//! includes it. Acknowledgements count as arrivals, but no message follows them: nothing limits them at their source.
//! Messages themselves are not sampled (IEEE 802.1Qau §32.1.1).

mod bcn;
mod qcn;

use std::num::NonZeroU16;

use narrows_proto::notification::{CpId, Notification, Signal};
use narrows_proto::units::Bytes;

pub use self::bcn::{Bcn, BcnVersion, Sampling};
pub use self::qcn::Qcn;
use crate::packet::{Kind, Packet};
use crate::random::Stream;

/// How the queues of a switch talk to the sources of their packets.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CongestionPoint {
    /// They do not.
    #[default]
    Off,
    /// Backward congestion notification: slow down, speed up, stop.
    Bcn(Bcn),
    /// Quantised congestion notification (IEEE 802.1Qau): slow down.
    Qcn(Qcn),
}

/// Messages of congestion points as frames.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Message {
    /// Bytes on the wire, framing included: a 64 B frame, preamble and gap. 118 B and more if a message quotes 64 B of the
    /// sampled frame.
    pub size: Bytes,
    /// 0 to 7. The highest by default, so that messages wait for nothing but the packet on the wire.
    pub priority: u8,
}

impl Default for Message {
    fn default() -> Self {
        Self { size: Bytes::new(84), priority: 7 }
    }
}

impl CongestionPoint {
    /// Its messages, unless it has none.
    pub fn message(&self) -> Option<&Message> {
        match self {
            Self::Off => None,
            Self::Bcn(bcn) => Some(&bcn.message),
            Self::Qcn(qcn) => Some(&qcn.message),
        }
    }
}

/// The most congestion points that can be told apart: ports of all switches that have some.
pub const MOST_CONGESTION_POINTS: usize = u16::MAX as usize;

const PRIORITIES: usize = 8;

/// The congestion points of one switch.
#[derive(Debug)]
pub(super) struct CongestionPoints {
    rule: Rule,
    /// By port and priority.
    queues: Vec<Queue>,
    random: Box<Stream>,
    /// The congestion point of the first port.
    first: NonZeroU16,
    message_size: u16,
    message_priority: u8,
    /// Each arrival counts as its size (QCN) or as one (BCN).
    by_size: bool,
}

#[derive(Debug)]
enum Rule {
    Bcn(Bcn),
    Qcn(Qcn),
}

/// What a congestion point remembers of a queue.
#[derive(Clone, Copy, Debug)]
struct Queue {
    /// Below zero an arrival is a sample.
    countdown: i64,
    /// Bytes waiting at the last sample.
    before: u64,
}

impl CongestionPoints {
    /// `first` numbers the congestion point of the first of `ports` ports.
    pub(super) fn new(config: &CongestionPoint, ports: usize, first: u16, random: Stream) -> Option<Self> {
        let rule = match config {
            CongestionPoint::Off => return None,
            CongestionPoint::Bcn(bcn) => Rule::Bcn(bcn.clone()),
            CongestionPoint::Qcn(qcn) => Rule::Qcn(qcn.clone()),
        };
        let message = config.message()?;
        let mut points = Self {
            by_size: matches!(rule, Rule::Qcn(_)),
            rule,
            queues: Vec::new(),
            random: Box::new(random),
            first: NonZeroU16::new(first)?,
            message_size: message.size.get() as u16,
            message_priority: message.priority,
        };
        for _ in 0..ports * PRIORITIES {
            let countdown = match &points.rule {
                Rule::Bcn(bcn) => bcn.next_sample(&mut points.random),
                Rule::Qcn(qcn) => qcn.next_sample(0, &mut points.random),
            };
            points.queues.push(Queue { countdown, before: 0 });
        }
        Some(points)
    }

    /// A packet has joined a queue of `port` that holds `waiting` bytes now. Returns what its source is to be told.
    #[inline(always)]
    pub(super) fn on_arrival(&mut self, port: usize, packet: Packet, waiting: u64) -> Option<Notification> {
        let queue = &mut self.queues[port * PRIORITIES + usize::from(packet.priority())];
        queue.countdown -= if self.by_size { i64::from(packet.size()) } else { 1 };
        if queue.countdown >= 0 {
            return None;
        }
        self.sample(port, packet, waiting)
    }

    #[inline(never)]
    fn sample(&mut self, port: usize, packet: Packet, waiting: u64) -> Option<Notification> {
        let from = CpId(self.first.saturating_add(port as u16));
        let queue = &mut self.queues[port * PRIORITIES + usize::from(packet.priority())];
        let before = std::mem::replace(&mut queue.before, waiting);
        let (signal, set_point) = match &self.rule {
            Rule::Bcn(bcn) => {
                queue.countdown = bcn.next_sample(&mut self.random);
                (bcn.signal(waiting, before, packet.tag() == Some(from)), bcn.set_point)
            }
            Rule::Qcn(qcn) => {
                let feedback = qcn.feedback(waiting, before);
                queue.countdown = qcn.next_sample(feedback, &mut self.random);
                ((feedback > 0).then_some(Signal::Quantised(feedback)), qcn.set_point)
            }
        };
        if !is_limitable(packet.kind()) {
            return None;
        }
        let units = |bytes: i64| (bytes / 64).clamp(i16::MIN.into(), i16::MAX.into()) as i16;
        Some(Notification {
            from,
            signal: signal?,
            q_offset: units(set_point.get() as i64 - waiting as i64),
            q_delta: units(waiting as i64 - before as i64),
        })
    }

    /// The message that carries `notification` about `flow` to `to`.
    pub(super) fn message(
        &self,
        notification: &Notification,
        sampled: Packet,
        to: crate::ids::HostId,
    ) -> Packet {
        Packet::notice(notification, sampled.flow(), to, self.message_size, self.message_priority)
    }
}

/// A limiter at the source could slow down packets of this kind.
pub(super) fn is_limitable(kind: Kind) -> bool {
    matches!(kind, Kind::Data | Kind::Syn | Kind::Datagram | Kind::Limited)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{FlowId, HostId};
    use crate::packet::Fields;
    use crate::random::Purpose;

    fn points(config: &CongestionPoint) -> CongestionPoints {
        CongestionPoints::new(config, 4, 10, Stream::new(1, Purpose::Sampling, 0)).unwrap()
    }

    fn every_frame() -> CongestionPoint {
        CongestionPoint::Bcn(Bcn { sampling: Sampling::Every(1), ..Bcn::default() })
    }

    fn packet(kind: Kind, priority: u8) -> Packet {
        let (flow, to) = (FlowId(3), HostId(5));
        Packet::new(Fields { seq: 0, flow, to, size: 1500, turn: 0, kind, priority, flags: 0, trailers: 0 })
    }

    #[test]
    fn the_message_has_every_field_of_the_queue() {
        // Qeq 24 000 B; 48 064 B wait, 25 600 B at the sample before: (24 000 − 48 064)/64 = −376, 22 464/64 = 351.
        let mut points = points(&every_frame());
        points.on_arrival(2, packet(Kind::Data, 0), 25_600);
        let notification = points.on_arrival(2, packet(Kind::Data, 0), 48_064).unwrap();
        assert_eq!(notification.from, CpId(NonZeroU16::new(12).unwrap()));
        assert_eq!((notification.q_offset, notification.q_delta), (-376, 351));
        let message = points.message(&notification, packet(Kind::Data, 0), HostId(9));
        assert_eq!((message.to(), message.size(), message.priority()), (HostId(9), 84, 7));
        assert_eq!((message.flow(), message.notification()), (FlowId(3), Some(notification)));
    }

    #[test]
    fn queues_of_one_port_are_sampled_by_themselves() {
        let mut points = points(&every_frame());
        points.on_arrival(2, packet(Kind::Data, 0), 48_000);
        let other = points.on_arrival(2, packet(Kind::Data, 1), 64_000).unwrap();
        assert_eq!(other.q_delta, 1_000);
    }

    #[test]
    fn acknowledgements_are_samples_without_a_message() {
        let mut points = points(&every_frame());
        assert_eq!(points.on_arrival(0, packet(Kind::Ack, 0), 60_000), None);
        // The sample counts: nothing has changed since.
        assert_eq!(points.on_arrival(0, packet(Kind::Data, 0), 60_000).unwrap().q_delta, 0);
    }

    #[test]
    fn only_frames_tagged_with_this_congestion_point_are_sped_up() {
        let mut points = points(&every_frame());
        let tag = |point: u16| NonZeroU16::new(point).map(CpId);
        let tagged = |point| packet(Kind::Data, 0).tagged(tag(point), 8);
        assert!(points.on_arrival(1, tagged(11), 100).is_some_and(|told| !told.signal.is_slower()));
        assert_eq!(points.on_arrival(1, tagged(12), 100), None);
        assert_eq!(points.on_arrival(1, packet(Kind::Data, 0), 100), None);
    }
}
