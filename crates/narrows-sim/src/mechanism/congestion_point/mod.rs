//! Congestion points: they sample what joins a queue and tell its source how the queue fares.
//!
//! Each queue of a port, one for each priority, is sampled by itself. What is sampled is the arriving packet; the queue
//! includes it. Acknowledgments count as arrivals, but no message follows them: nothing limits them at their source.
//! Messages themselves are not sampled (IEEE 802.1Qau §32.1.1).

mod bcn;
mod config;
mod message;
mod qcn;

use std::num::NonZeroU16;

use narrows_proto::cnm::{Cnm, CpId, Signal};

pub use self::bcn::{Bcn, BcnVersion, Sampling};
pub use self::config::{CongestionPoint, MOST_CONGESTION_POINTS};
pub use self::message::{Message, Reach, Reached};
pub use self::qcn::Qcn;
use crate::ids::HostId;
use crate::packet::{Kind, Packet};
use crate::random::Stream;
use crate::world::World;

const PRIORITIES: usize = 8;

/// The congestion points of one switch.
#[derive(Debug)]
pub(crate) struct CongestionPoints {
    rule: Rule,
    random: Box<Stream>,
    /// The congestion point of the first port.
    first: NonZeroU16,
    message_size: u16,
    message_priority: u8,
    /// Hosts that can be notified.
    reach: Reached,
    /// Each arrival counts as its size (QCN) or as one (BCN).
    by_size: bool,
    /// By port.
    samplers: Vec<Sampler>,
}

#[derive(Debug)]
enum Rule {
    Bcn(Bcn),
    Qcn(Qcn),
}

/// State of the congestion points of a port.
#[derive(Clone, Copy, Debug, Default)]
struct Sampler {
    /// Below zero an arrival is a sample.
    countdown: [i64; PRIORITIES],
    /// Bytes waiting at the last sample.
    before: [u64; PRIORITIES],
}

impl CongestionPoints {
    /// `first` numbers the congestion point of the first of so many `ports`; `reach` are the hosts that can be notified.
    pub(crate) fn new(
        config: &CongestionPoint,
        ports: usize,
        first: u16,
        reach: Reached,
        random: Stream,
    ) -> Option<Self> {
        let rule = match config {
            CongestionPoint::Off => return None,
            CongestionPoint::Bcn(bcn) => Rule::Bcn(bcn.clone()),
            CongestionPoint::Qcn(qcn) => Rule::Qcn(qcn.clone()),
        };
        let message = config.message()?;
        let mut points = Self {
            by_size: matches!(rule, Rule::Qcn(_)),
            rule,
            reach,
            random: Box::new(random),
            first: NonZeroU16::new(first)?,
            message_size: message.size.get() as u16,
            message_priority: message.priority,
            samplers: Vec::new(),
        };
        points.samplers = (0..ports).map(|_| points.sampler()).collect();
        Some(points)
    }

    /// A port that nothing has come to yet.
    fn sampler(&mut self) -> Sampler {
        let mut sampler = Sampler::default();
        for countdown in &mut sampler.countdown {
            *countdown = match &self.rule {
                Rule::Bcn(bcn) => bcn.next_sample(&mut self.random),
                Rule::Qcn(qcn) => qcn.next_sample(0, &mut self.random),
            };
        }
        sampler
    }

    /// A packet has joined a queue of the port `number`. Returns whether it is a sample.
    #[inline(always)]
    pub(crate) fn counts(&mut self, number: usize, packet: Packet) -> bool {
        let countdown = &mut self.samplers[number].countdown[usize::from(packet.priority())];
        *countdown -= if self.by_size { i64::from(packet.size()) } else { 1 };
        *countdown < 0
    }

    /// A sample has joined a queue of the port `number` that holds `waiting` bytes now. Returns the message to its source, if it
    /// is notified, and what that says.
    pub(crate) fn answer<O>(
        &mut self,
        number: usize,
        packet: Packet,
        waiting: u64,
        world: &World<O>,
    ) -> Option<(Packet, Signal)> {
        let cnm = self.sample(number, packet, waiting)?;
        let source = world.shared.flows[packet.flow().index()].from;
        // What goes back to the source (a live host's acknowledgment) is nothing that the source sends.
        if packet.to() == source {
            return None;
        }
        let message = || (self.message(&cnm, packet, source), cnm.signal);
        self.reach.has(source).then(message)
    }

    /// A sample has joined a queue of the port `number` that holds `waiting` bytes now. Returns what its source is to be notified of.
    fn sample(&mut self, number: usize, packet: Packet, waiting: u64) -> Option<Cnm> {
        let sampler = &mut self.samplers[number];
        let from = CpId(self.first.saturating_add(number as u16));
        let priority = usize::from(packet.priority());
        let before = std::mem::replace(&mut sampler.before[priority], waiting);
        let (signal, set_point) = match &self.rule {
            Rule::Bcn(bcn) => {
                sampler.countdown[priority] = bcn.next_sample(&mut self.random);
                (bcn.signal(waiting, before, packet.tag() == Some(from)), bcn.set_point)
            }
            Rule::Qcn(qcn) => {
                let feedback = qcn.feedback(waiting, before);
                sampler.countdown[priority] = qcn.next_sample(feedback, &mut self.random);
                ((feedback > 0).then_some(Signal::Quantized(feedback)), qcn.set_point)
            }
        };
        if !is_limitable(packet.kind()) {
            return None;
        }
        let units = |bytes: i64| (bytes / 64).clamp(i16::MIN.into(), i16::MAX.into()) as i16;
        Some(Cnm {
            from,
            signal: signal?,
            q_offset: units(set_point.get() as i64 - waiting as i64),
            q_delta: units(waiting as i64 - before as i64),
        })
    }

    /// The message that carries `notification` about `flow` to `to`.
    fn message(&self, cnm: &Cnm, sampled: Packet, to: HostId) -> Packet {
        Packet::from_cnm(cnm, sampled.flow(), to, self.message_size, self.message_priority)
    }
}

/// A limiter at the source could slow down packets of this kind.
pub(crate) fn is_limitable(kind: Kind) -> bool {
    matches!(kind, Kind::Data | Kind::Syn | Kind::Datagram | Kind::Limited)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::FlowId;
    use crate::packet::Fields;
    use crate::random::Purpose;

    fn points(config: &CongestionPoint) -> CongestionPoints {
        CongestionPoints::new(config, 3, 10, Reached::default(), Stream::new(1, Purpose::Sampling, 0))
            .unwrap()
    }

    fn every_frame() -> CongestionPoint {
        CongestionPoint::Bcn(Bcn { sampling: Sampling::Every(1), ..Bcn::default() })
    }

    fn arrive(points: &mut CongestionPoints, number: usize, packet: Packet, waiting: u64) -> Option<Cnm> {
        if points.counts(number, packet) { points.sample(number, packet, waiting) } else { None }
    }

    fn packet(kind: Kind, priority: u8) -> Packet {
        let (flow, to) = (FlowId(3), HostId(5));
        Packet::new(Fields {
            seq: 0,
            flow,
            to,
            size: 1500,
            incarnation: 0,
            kind,
            priority,
            flags: 0,
            trailers: 0,
        })
    }

    #[test]
    fn the_message_has_every_field_of_the_queue() {
        // Qeq 24 000 B; 48 064 B wait, 25 600 B at the sample before: (24 000 − 48 064)/64 = −376, 22 464/64 = 351.
        let mut points = points(&every_frame());
        arrive(&mut points, 2, packet(Kind::Data, 0), 25_600);
        let cnm = arrive(&mut points, 2, packet(Kind::Data, 0), 48_064).unwrap();
        assert_eq!(cnm.from, CpId(NonZeroU16::new(12).unwrap()));
        assert_eq!((cnm.q_offset, cnm.q_delta), (-376, 351));
        let message = points.message(&cnm, packet(Kind::Data, 0), HostId(9));
        assert_eq!((message.to(), message.size(), message.priority()), (HostId(9), 84, 7));
        assert_eq!((message.flow(), message.cnm()), (FlowId(3), Some(cnm)));
    }

    #[test]
    fn queues_of_one_port_are_sampled_by_themselves() {
        let mut points = points(&every_frame());
        arrive(&mut points, 2, packet(Kind::Data, 0), 48_000);
        let other = arrive(&mut points, 2, packet(Kind::Data, 1), 64_000).unwrap();
        assert_eq!(other.q_delta, 1_000);
    }

    #[test]
    fn acknowledgments_are_samples_without_a_message() {
        let mut points = points(&every_frame());
        assert_eq!(arrive(&mut points, 0, packet(Kind::Ack, 0), 60_000), None);
        // The sample counts: nothing has changed since.
        assert_eq!(arrive(&mut points, 0, packet(Kind::Data, 0), 60_000).unwrap().q_delta, 0);
    }

    #[test]
    fn only_frames_tagged_with_this_congestion_point_are_sped_up() {
        let mut points = points(&every_frame());
        let tag = |point: u16| NonZeroU16::new(point).map(CpId);
        let tagged = |point| packet(Kind::Data, 0).tagged(tag(point), 8);
        assert!(arrive(&mut points, 1, tagged(11), 100).is_some_and(|notified| !notified.signal.is_slower()));
        assert_eq!(arrive(&mut points, 1, tagged(12), 100), None);
        assert_eq!(arrive(&mut points, 1, packet(Kind::Data, 0), 100), None);
    }
}
