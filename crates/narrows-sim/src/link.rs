//! Links: the end that sends, and the end that receives and owns what is in flight.

use narrows_proto::units::{Span, Time, WireTime};

use crate::ids::LinkId;
use crate::packet::Packet;
use crate::random::{Purpose, Stream};
use crate::record::{DropCause, PortCounters};
use crate::ring::Ring;

/// The sending end of a link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Egress {
    pub(crate) wire_time: WireTime,
    /// Propagation, and the forwarding latency of the node it leads to.
    pub(crate) delay: Span,
    /// The thread that owns the receiving end, and where that keeps it.
    pub(crate) shard: u32,
    pub(crate) wire: u32,
    pub(crate) node: u32,
    pub(crate) link: LinkId,
}

/// The receiving ends of all links of one thread. The wires of a node are next to each other, in the seeded order in
/// which it takes simultaneous arrivals.
#[derive(Debug, Default)]
pub(crate) struct Wires {
    /// When the first packet of each wire arrives.
    pub(crate) heads: Vec<Time>,
    /// What is in flight.
    pub(crate) rings: Vec<Ring<Packet>>,
    /// The node each wire leads to.
    pub(crate) nodes: Vec<u32>,
    /// What loses packets; most wires lose none.
    pub(crate) impairments: Vec<Option<Box<Impairment>>>,
}

impl Wires {
    pub(crate) fn add(&mut self, node: u32, impairment: Option<Impairment>) {
        self.heads.push(Time::NEVER);
        self.rings.push(Ring::default());
        self.nodes.push(node);
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

/// What happens to packets on their way over a link.
#[derive(Clone, Debug)]
pub(crate) struct Impairment {
    pub(crate) link: LinkId,
    /// What was lost so far.
    pub(crate) lost: PortCounters,
    /// Everything between the first bit sent and the last bit received must lie outside these times.
    outages: Vec<Outage>,
    wire_time: WireTime,
    delay: Span,
    errors: Option<Errors>,
}

#[derive(Clone, Debug)]
struct Errors {
    rate: f64,
    /// Packets that pass before the next is lost.
    good: u64,
    random: Stream,
}

impl Impairment {
    pub(crate) fn new(egress: &Egress, error_rate: f64, outages: Vec<Outage>, seed: u64) -> Self {
        let errors = (error_rate > 0.0).then(|| {
            let mut random = Stream::new(seed, Purpose::LinkErrors, egress.link.0.into());
            Errors { rate: error_rate, good: good_packets(error_rate, &mut random), random }
        });
        Self { link: egress.link, lost: PortCounters::default(), outages, wire_time: egress.wire_time, delay: egress.delay, errors }
    }

    /// What happens to a packet that would arrive now.
    pub(crate) fn pass(&mut self, packet: &Packet) -> Result<(), DropCause> {
        let passed = self.judge(packet);
        if let Err(cause) = passed {
            self.lost.drop(cause, packet.size);
        }
        passed
    }

    fn judge(&mut self, packet: &Packet) -> Result<(), DropCause> {
        let flight = self.wire_time.of(packet.size) + self.delay;
        let sent = Time::ZERO + packet.at.saturating_since(Time::ZERO + flight);
        if self.outages.iter().any(|outage| sent < outage.until && packet.at >= outage.from) {
            return Err(DropCause::LinkDown);
        }
        let Some(errors) = &mut self.errors else { return Ok(()) };
        if errors.good > 0 {
            errors.good -= 1;
            return Ok(());
        }
        errors.good = good_packets(errors.rate, &mut errors.random);
        Err(DropCause::LinkError)
    }
}

/// Packets between two losses: geometric, P(n) = (1 − p)^n·p.
fn good_packets(rate: f64, random: &mut Stream) -> u64 {
    if rate >= 1.0 { 0 } else { (libm::log(1.0 - random.uniform()) / libm::log1p(-rate)) as u64 }
}

#[cfg(test)]
mod tests {
    use narrows_proto::units::BitRate;

    use super::*;

    fn impairment(error_rate: f64, outages: Vec<Outage>) -> Impairment {
        let wire_time = BitRate::from_gbps(10).wire_time();
        let egress = Egress { wire_time, delay: Span::from_us(5), shard: 0, wire: 0, node: 0, link: LinkId(0) };
        Impairment::new(&egress, error_rate, outages, 1)
    }

    fn packet(us: u64) -> Packet {
        Packet { at: Time::ZERO + Span::from_us(us), size: 1250, ..Packet::default() } // 1 us on the wire
    }

    #[test]
    fn packets_are_lost_at_the_rate_asked_for() {
        for rate in [0.001, 0.1, 0.5] {
            let mut impairment = impairment(rate, Vec::new());
            let lost = (0..200_000).filter(|_| impairment.pass(&packet(100)).is_err()).count() as f64;
            // Five standard deviations of a binomial.
            let deviation = 5.0 * (200_000.0 * rate * (1.0 - rate)).sqrt();
            assert!((lost - 200_000.0 * rate).abs() < deviation, "{rate}: {lost}");
        }
        assert!(impairment(1.0, Vec::new()).pass(&packet(100)).is_err());
    }

    #[test]
    fn an_outage_loses_what_is_under_way() {
        let at = |us| Time::ZERO + Span::from_us(us);
        let mut impairment = impairment(0.0, vec![Outage { from: at(100), until: at(200) }]);
        let mut lost = |us| impairment.pass(&packet(us)) == Err(DropCause::LinkDown);
        // On the wire from 6 us before its arrival on.
        assert_eq!([lost(99), lost(100), lost(205), lost(206)], [false, true, true, false]);
    }
}
