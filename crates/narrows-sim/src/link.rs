//! Links: the end that sends, and the end that receives and owns what is in flight.

use narrows_proto::units::{BitRate, Span, Time, WireTime};

use crate::ids::LinkId;
use crate::packet::Packet;
use crate::prefetch::prefetch_at;
use crate::random::{Purpose, Stream};
use crate::record::{DropCause, PortCounters};
use crate::ring::Ring;

/// The sending end of a link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Egress {
    pub(crate) rate: BitRate,
    pub(crate) wire_time: WireTime,
    /// Propagation, and the forwarding latency of the node it leads to.
    pub(crate) delay: Span,
    pub(crate) to: Target,
    pub(crate) link: LinkId,
    /// The number of its line in its thread, or [`NO_LINE`](crate::path::NO_LINE).
    pub(crate) line: u32,
}

/// The receiving end of a link: the thread that owns it, and where that keeps it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target {
    pub(crate) wire: u32,
    pub(crate) shard: u16,
}

/// The receiving ends of all links of one thread. The wires of a node are next to each other, in the seeded order in
/// which it takes simultaneous arrivals.
#[derive(Debug, Default)]
pub(crate) struct Wires {
    /// When the first packet of each wire arrives.
    pub(crate) heads: Vec<Time>,
    pub(crate) wires: Vec<Wire>,
    /// Causes of loss; most wires have none.
    pub(crate) impairments: Vec<Option<Box<Impairment>>>,
}

/// The receiving end of a link. One cache line.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct Wire {
    /// Packets in flight.
    pub(crate) ring: Ring<Packet>,
    /// The node it leads to.
    pub(crate) node: u32,
    pub(crate) link: LinkId,
    /// Packets and bytes that were put on the link.
    pub(crate) packets: u64,
    pub(crate) bytes: u64,
}

const _: () = assert!(size_of::<Wire>() == 64);

impl Wires {
    /// Prefetches a wire, if there is one with this number.
    #[inline(always)]
    pub(crate) fn prefetch(&self, wire: u32) {
        prefetch_at(&self.wires, wire as usize);
    }

    pub(crate) fn add(&mut self, node: u32, link: LinkId, impairment: Option<Impairment>) {
        self.heads.push(Time::NEVER);
        self.wires.push(Wire { ring: Ring::default(), node, link, packets: 0, bytes: 0 });
        self.impairments.push(impairment.map(Box::new));
    }
}

/// A time during which a link is down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outage {
    /// The first moment at which nothing passes.
    pub from: Time,
    /// The first moment at which it passes again.
    pub until: Time,
}

/// Loss of packets on their way over a link.
#[derive(Clone, Debug)]
pub(crate) struct Impairment {
    pub(crate) link: LinkId,
    /// Losses so far.
    pub(crate) lost: PortCounters,
    /// Everything between the first bit sent and the last bit received must lie outside these times.
    outages: Vec<Outage>,
    wire_time: WireTime,
    delay: Span,
    errors: Option<Errors>,
}

/// Losses that do not depend on each other.
#[derive(Clone, Debug)]
pub(crate) struct Errors {
    rate: f64,
    /// Packets that pass before the next is lost.
    good: u64,
    random: Stream,
}

impl Errors {
    pub(crate) fn new(rate: f64, mut random: Stream) -> Self {
        Self { rate, good: good_packets(rate, &mut random), random }
    }

    /// The next packet is lost.
    pub(crate) fn hits(&mut self) -> bool {
        if self.good > 0 {
            self.good -= 1;
            return false;
        }
        self.good = good_packets(self.rate, &mut self.random);
        true
    }
}

impl Impairment {
    pub(crate) fn new(egress: &Egress, error_rate: f64, outages: Vec<Outage>, seed: u64) -> Self {
        let random = || Stream::new(seed, Purpose::LinkErrors, egress.link.0.into());
        let errors = (error_rate > 0.0).then(|| Errors::new(error_rate, random()));
        Self {
            link: egress.link,
            lost: PortCounters::default(),
            outages,
            wire_time: egress.wire_time,
            delay: egress.delay,
            errors,
        }
    }

    /// Decides whether a packet that would arrive now is lost.
    pub(crate) fn pass(&mut self, packet: Packet) -> Result<(), DropCause> {
        let passed = self.judge(packet);
        if let Err(cause) = passed {
            self.lost.count_drop(cause, packet.size());
        }
        passed
    }

    fn judge(&mut self, packet: Packet) -> Result<(), DropCause> {
        let flight = self.wire_time.of(packet.size()) + self.delay;
        let sent = Time::ZERO + packet.at().saturating_since(Time::ZERO + flight);
        if self.outages.iter().any(|outage| sent < outage.until && packet.at() >= outage.from) {
            return Err(DropCause::LinkDown);
        }
        let lost = self.errors.as_mut().is_some_and(Errors::hits);
        if lost { Err(DropCause::LinkError) } else { Ok(()) }
    }
}

/// Packets between two losses: geometric, P(n) = (1 − p)^n·p.
fn good_packets(rate: f64, random: &mut Stream) -> u64 {
    if rate >= 1.0 { 0 } else { (libm::log(1.0 - random.uniform()) / libm::log1p(-rate)) as u64 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{FlowId, HostId};
    use crate::packet::{Fields, Kind};
    use crate::path::NO_LINE;

    fn impairment(error_rate: f64, outages: Vec<Outage>) -> Impairment {
        let rate = BitRate::from_gbps(10);
        let wire_time = rate.wire_time();
        let to = Target { wire: 0, shard: 0 };
        let egress = Egress { rate, wire_time, delay: Span::from_us(5), to, link: LinkId(0), line: NO_LINE };
        Impairment::new(&egress, error_rate, outages, 1)
    }

    fn packet(us: u64) -> Packet {
        let (flow, to, kind) = (FlowId(0), HostId(0), Kind::Data);
        let fields =
            Fields { seq: 0, flow, to, size: 1250, incarnation: 0, kind, priority: 0, flags: 0, trailers: 0 };
        Packet::new(fields).arriving(Time::ZERO + Span::from_us(us)) // 1 us on the wire
    }

    #[test]
    fn packets_are_lost_at_the_rate_asked_for() {
        for rate in [0.001, 0.1, 0.5] {
            let mut impairment = impairment(rate, Vec::new());
            let lost = (0..200_000).filter(|_| impairment.pass(packet(100)).is_err()).count() as f64;
            // Five standard deviations of a binomial.
            let deviation = 5.0 * (200_000.0 * rate * (1.0 - rate)).sqrt();
            assert!((lost - 200_000.0 * rate).abs() < deviation, "{rate}: {lost}");
        }
        assert!(impairment(1.0, Vec::new()).pass(packet(100)).is_err());
    }

    #[test]
    fn an_outage_loses_what_is_under_way() {
        let at = |us| Time::ZERO + Span::from_us(us);
        let mut impairment = impairment(0.0, vec![Outage { from: at(100), until: at(200) }]);
        let mut lost = |us| impairment.pass(packet(us)) == Err(DropCause::LinkDown);
        // On the wire from 6 us before its arrival on.
        assert_eq!([lost(99), lost(100), lost(205), lost(206)], [false, true, true, false]);
    }
}
