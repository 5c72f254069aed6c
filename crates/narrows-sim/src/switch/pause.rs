//! PAUSE (IEEE 802.3 Annex 31B): a switch that runs out of room stops the neighbour that fills it.
//!
//! What waits is counted by the link it came over. Above XOFF the neighbour at its other end is told to pause, at or below
//! XON to go on. A pause ends by itself after a time, so it is asked for again while it is needed; a lost frame then stops
//! nobody for good.

use narrows_proto::units::{BitRate, Bytes, Span, Time};

use crate::ids::{FlowId, HostId, LinkId};
use crate::packet::{Fields, Kind, Packet};

/// When a switch pauses its neighbours.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pause {
    /// A neighbour whose packets hold more than this of the packet memory is paused.
    pub xoff: Bytes,
    /// It may go on when they hold no more than this; half of `xoff` if left out.
    #[serde(default)]
    pub xon: Option<Bytes>,
    /// How long a pause lasts unless it is renewed, in times of 512 bits.
    #[serde(default = "longest_pause")]
    pub quanta: u16,
    /// PAUSE frames on the wire, framing included: a 64 B frame, preamble and gap.
    #[serde(default = "smallest_frame")]
    pub frame: Bytes,
}

pub(super) fn longest_pause() -> u16 {
    u16::MAX
}

/// A 64 B frame with preamble and gap.
pub(super) fn smallest_frame() -> Bytes {
    Bytes::new(84)
}

/// How long so many times of 512 bits last on a link of this rate.
pub(super) fn lasts(quanta: u16, rate: BitRate) -> Span {
    rate.time_to_send(Bytes::new(64 * u64::from(quanta)))
}

/// The most that may still arrive over a link after the packet that made its switch send a stop, that packet included: what is
/// sent while the frame waits for a packet of ours, is sent itself and travels, and while the neighbour ends the packet it has
/// begun when it hears; what was on the way then (IEEE 802.1Qbb Annex O; reaction times are part of the delays).
pub(super) fn headroom(rate: BitRate, forth: Span, back: Span, frame: Bytes, largest: Bytes) -> Bytes {
    let travelling = rate * (forth + back);
    travelling.saturating_add(frame).saturating_add(largest.saturating_mul(3))
}

impl Pause {
    /// The threshold at which a neighbour may go on.
    pub fn xon(&self) -> Bytes {
        self.xon.unwrap_or(self.xoff / 2)
    }

    /// How long a pause lasts on a link of this rate.
    pub fn lasts(&self, rate: BitRate) -> Span {
        lasts(self.quanta, rate)
    }

    /// The most that may still arrive over a link after XOFF is crossed.
    pub fn headroom(&self, rate: BitRate, forth: Span, back: Span, largest: Bytes) -> Bytes {
        headroom(rate, forth, back, self.frame, largest)
    }
}

/// What a switch with PAUSE keeps of the links that lead to it.
#[derive(Debug)]
pub(super) struct Ingresses {
    xoff: u64,
    xon: u64,
    frame: u16,
    links: Vec<Ingress>,
}

/// What is known of one link.
#[derive(Debug)]
struct Ingress {
    number: u32,
    link: LinkId,
    /// The port that leads back to the neighbour.
    back: u32,
    /// Bytes waiting that came over it.
    stored: u64,
    lasts: Span,
    /// While the neighbour is to pause: when that is said again.
    renew_at: Time,
}

/// What a neighbour is to be told.
#[derive(Clone, Copy, Debug)]
pub(super) struct Order {
    /// The port that leads to it, and the number of the link from it.
    pub(super) port: u32,
    pub(super) ingress: u32,
    pub(super) frame: Packet,
    /// When to look again whether it still has to be stopped; never if it may go on.
    pub(super) renew_at: Time,
}

/// One link that leads to a switch which stops its neighbours or is stopped by them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InputLink {
    pub(crate) link: LinkId,
    /// The port that leads back over it.
    pub(crate) back: usize,
    pub(crate) rate: BitRate,
    /// Of each of its classes, with priority-based flow control.
    pub(crate) headroom: Bytes,
    /// A host is at its other end.
    pub(crate) from_host: bool,
}

impl Ingresses {
    pub(super) fn new(config: &Pause, links: &[InputLink]) -> Self {
        let ingress = |(number, parts): (u32, &InputLink)| Ingress {
            number,
            link: parts.link,
            back: parts.back as u32,
            stored: 0,
            lasts: config.lasts(parts.rate),
            renew_at: Time::NEVER,
        };
        Self {
            xoff: config.xoff.get(),
            xon: config.xon().get(),
            frame: config.frame.get() as u16,
            links: (0..).zip(links).map(ingress).collect(),
        }
    }

    /// A packet that came over link number `from` begins to wait.
    pub(super) fn store(&mut self, now: Time, from: usize, size: u64, neighbour: HostId) -> Option<Order> {
        let ingress = self.links.get_mut(from)?;
        ingress.stored += size;
        let pause = ingress.renew_at == Time::NEVER && ingress.stored > self.xoff;
        pause.then(|| ingress.order(now, ingress.lasts, self.frame, neighbour))
    }

    /// It waits no longer.
    pub(super) fn release(&mut self, now: Time, from: usize, size: u64, neighbour: HostId) -> Option<Order> {
        let ingress = self.links.get_mut(from)?;
        ingress.stored -= size;
        let resume = ingress.renew_at < Time::NEVER && ingress.stored <= self.xon;
        resume.then(|| ingress.order(now, Span::ZERO, self.frame, neighbour))
    }

    /// The time to renew a pause of link number `from` has come, if it is `now`.
    pub(super) fn renew(&mut self, now: Time, from: usize, neighbour: HostId) -> Option<Order> {
        let ingress = self.links.get_mut(from)?;
        (ingress.renew_at == now).then(|| ingress.order(now, ingress.lasts, self.frame, neighbour))
    }
}

impl Ingress {
    fn order(&mut self, now: Time, pause: Span, size: u16, neighbour: HostId) -> Order {
        // Half of the time is left for the next frame to arrive.
        self.renew_at = if pause > Span::ZERO { now + pause / 2 } else { Time::NEVER };
        let (seq, flow, kind) = (pause.as_ps(), FlowId(self.link.0), Kind::Pause);
        let frame = Packet::new(Fields {
            seq,
            flow,
            to: neighbour,
            size,
            turn: 0,
            kind,
            priority: 7,
            flags: 0,
            trailers: 0,
        });
        Order { port: self.back, ingress: self.number, frame, renew_at: self.renew_at }
    }
}

/// What a PAUSE frame says: the link that is to pause, and for how long.
pub(crate) fn read(frame: Packet) -> (LinkId, Span) {
    (LinkId(frame.flow().0), Span::from_ps(frame.seq()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEIGHBOUR: HostId = HostId(9);

    fn ingresses() -> Ingresses {
        let config = Pause { xoff: Bytes::new(10_000), xon: None, quanta: 1000, frame: Bytes::new(84) };
        let rate = BitRate::from_gbps(10);
        let (headroom, from_host) = (Bytes::ZERO, false);
        Ingresses::new(&config, &[InputLink { link: LinkId(3), back: 5, rate, headroom, from_host }])
    }

    fn at(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    #[test]
    fn a_neighbour_is_paused_above_xoff_and_released_at_xon() {
        let mut ingresses = ingresses();
        assert!(ingresses.store(at(1), 0, 10_000, NEIGHBOUR).is_none());
        let order = ingresses.store(at(2), 0, 1, NEIGHBOUR).unwrap();
        // 1000 times 512 bits at 10 Gb/s.
        assert_eq!(read(order.frame), (LinkId(3), Span::from_ns(51_200)));
        assert_eq!((order.port, order.renew_at), (5, at(2) + Span::from_ns(25_600)));
        assert!(ingresses.store(at(3), 0, 500, NEIGHBOUR).is_none(), "said once");
        assert!(ingresses.release(at(4), 0, 5_500, NEIGHBOUR).is_none());
        let order = ingresses.release(at(5), 0, 1, NEIGHBOUR).unwrap();
        assert_eq!(read(order.frame), (LinkId(3), Span::ZERO));
        assert_eq!(order.renew_at, Time::NEVER);
    }

    #[test]
    fn a_pause_is_renewed_while_it_is_needed() {
        let mut ingresses = ingresses();
        let first = ingresses.store(at(0), 0, 20_000, NEIGHBOUR).unwrap();
        assert!(ingresses.renew(at(1), 0, NEIGHBOUR).is_none(), "too early");
        let second = ingresses.renew(first.renew_at, 0, NEIGHBOUR).unwrap();
        ingresses.release(at(40), 0, 20_000, NEIGHBOUR).unwrap();
        assert!(ingresses.renew(second.renew_at, 0, NEIGHBOUR).is_none(), "over");
    }

    #[test]
    fn packets_of_the_switch_itself_pause_nobody() {
        assert!(ingresses().store(at(0), super::super::OWN as usize, 1 << 30, NEIGHBOUR).is_none());
    }
}
