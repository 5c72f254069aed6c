//! PAUSE (IEEE 802.3 Annex 31B): a switch that runs out of room stops the neighbor that fills it.
//!
//! Packets that wait are counted by the link they came over. Above XOFF the neighbor at its other end is notified to pause, at or below
//! XON to go on. A pause ends by itself after a time, so it is requested again while it is needed; a lost frame then stops
//! nobody for good.

mod host;
mod stopped;

use narrows_proto::units::{BitRate, Bytes, Span, Time};

pub(crate) use self::host::Paused;
pub(crate) use self::stopped::Stopped;
use super::settings::SwitchSettings;
use super::{InputLink, StopFrame, StopOrder};
use crate::ids::{FlowId, HostId, LinkId};
use crate::packet::{Control, Fields, Kind, Packet};

/// When a switch pauses its neighbors.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pause {
    /// A neighbor whose packets hold more than this of the packet memory is paused.
    pub xoff: Bytes,
    /// It may go on when they hold no more than this; half of `xoff` if left out.
    #[serde(default)]
    pub xon: Option<Bytes>,
    /// Duration of a pause unless it is renewed, in times of 512 bits.
    #[serde(default = "longest_pause")]
    pub quanta: u16,
    /// PAUSE frames on the wire, framing included: a 64 B frame, preamble and gap.
    #[serde(default = "smallest_frame")]
    pub frame: Bytes,
}

pub(crate) fn longest_pause() -> u16 {
    u16::MAX
}

/// A 64 B frame with preamble and gap.
pub(crate) fn smallest_frame() -> Bytes {
    Bytes::new(84)
}

/// Duration of so many times of 512 bits on a link of this rate.
pub(crate) fn lasts(quanta: u16, rate: BitRate) -> Span {
    rate.time_to_send(Bytes::new(64 * u64::from(quanta)))
}

/// The most that may still arrive over a link after the packet that made its switch send a stop, that packet included: what is
/// sent while the frame waits for a packet of ours, is sent itself and travels, and while the neighbor ends the packet it has
/// begun when it receives the frame; what was on the way then (IEEE 802.1Qbb Annex O; reaction times are part of the delays).
pub(crate) fn headroom(rate: BitRate, forth: Span, back: Span, frame: Bytes, largest: Bytes) -> Bytes {
    let traveling = rate * (forth + back);
    traveling.saturating_add(frame).saturating_add(largest.saturating_mul(3))
}

impl SwitchSettings for Pause {
    fn control_size(&self) -> Option<Bytes> {
        Some(self.frame)
    }
}

impl Pause {
    /// The threshold at which a neighbor may go on.
    pub fn xon(&self) -> Bytes {
        self.xon.unwrap_or(self.xoff / 2)
    }

    /// Duration of a pause on a link of this rate.
    pub fn lasts(&self, rate: BitRate) -> Span {
        lasts(self.quanta, rate)
    }

    /// The most that may still arrive over a link after XOFF is crossed.
    pub fn headroom(&self, rate: BitRate, forth: Span, back: Span, largest: Bytes) -> Bytes {
        headroom(rate, forth, back, self.frame, largest)
    }
}

/// Account of a switch with PAUSE for the links that lead to it.
#[derive(Debug)]
pub(crate) struct Account {
    xoff: u64,
    xon: u64,
    frame: u16,
    links: Vec<Ingress>,
}

/// State of one link.
#[derive(Debug)]
struct Ingress {
    link: LinkId,
    /// The port that leads back to the neighbor.
    back: u32,
    /// Bytes waiting that came over it.
    stored: u64,
    /// The neighbor is to pause.
    paused: bool,
    lasts: Span,
    /// While it is: when that is said again.
    renew_at: Time,
}

impl Account {
    pub(crate) fn new(config: &Pause, links: &[InputLink]) -> Self {
        let ingress = |parts: &InputLink| Ingress {
            link: parts.link,
            back: parts.back as u32,
            stored: 0,
            paused: false,
            lasts: config.lasts(parts.rate),
            renew_at: Time::NEVER,
        };
        Self {
            xoff: config.xoff.get(),
            xon: config.xon().get(),
            frame: config.frame.get() as u16,
            links: links.iter().map(ingress).collect(),
        }
    }

    /// A packet that came over link number `from` begins to wait. Returns whether the neighbor is to be notified.
    #[inline]
    pub(crate) fn store(&mut self, from: u32, size: u64) -> bool {
        let Some(ingress) = self.links.get_mut(from as usize) else { return false };
        ingress.stored += size;
        let pause = !ingress.paused && ingress.stored > self.xoff;
        ingress.paused |= pause;
        pause
    }

    /// It waits no longer. Returns whether the neighbor is to be notified.
    #[inline]
    pub(crate) fn release(&mut self, from: u32, size: u64) -> bool {
        let Some(ingress) = self.links.get_mut(from as usize) else { return false };
        ingress.stored -= size;
        let resume = ingress.paused && ingress.stored <= self.xon;
        ingress.paused &= !resume;
        resume
    }

    /// The frame for the neighbor of link number `from` at `now`, if there is such a neighbor.
    pub(crate) fn order(&mut self, now: Time, from: u32, to: HostId) -> Option<StopOrder> {
        let size = self.frame;
        let ingress = self.links.get_mut(from as usize)?;
        let pause = if ingress.paused { ingress.lasts } else { Span::ZERO };
        // Half of the time is left for the next frame to arrive.
        ingress.renew_at = if ingress.paused { now + pause / 2 } else { Time::NEVER };
        let (seq, flow, kind) = (pause.as_ps(), FlowId(ingress.link.0), Kind::Control(Control::Pause));
        let frame = Packet::new(Fields {
            seq,
            flow,
            to,
            size,
            incarnation: 0,
            kind,
            priority: 7,
            flags: 0,
            trailers: 0,
        });
        Some(StopOrder { port: ingress.back, frame, renew_at: ingress.renew_at })
    }

    /// The time to renew a pause of link number `from` has come, if it is `now`.
    pub(crate) fn is_due(&self, now: Time, from: u32) -> bool {
        self.links[from as usize].renew_at == now
    }
}

/// The request of a PAUSE frame.
pub(super) fn read(frame: Packet) -> StopFrame {
    StopFrame { link: LinkId(frame.flow().0), classes: u16::MAX, lasts: Span::from_ps(frame.seq()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account() -> Account {
        let config = Pause { xoff: Bytes::new(10_000), xon: None, quanta: 1000, frame: Bytes::new(84) };
        let rate = BitRate::from_gbps(10);
        let (headroom, from_host) = (Bytes::ZERO, false);
        Account::new(&config, &[InputLink { link: LinkId(3), back: 5, rate, headroom, from_host }])
    }

    fn at(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    fn order(account: &mut Account, us: u64) -> StopOrder {
        account.order(at(us), 0, HostId(9)).unwrap()
    }

    #[test]
    fn a_neighbor_is_paused_above_xoff_and_released_at_xon() {
        let mut account = account();
        assert!(!account.store(0, 10_000));
        assert!(account.store(0, 1));
        let frame = order(&mut account, 2);
        // 1000 times 512 bits at 10 Gb/s.
        let read_back = read(frame.frame);
        assert_eq!((read_back.link, read_back.lasts), (LinkId(3), Span::from_ns(51_200)));
        assert_eq!((frame.port, frame.renew_at), (5, at(2) + Span::from_ns(25_600)));
        assert!(!account.store(0, 500), "said once");
        assert!(!account.release(0, 5_500));
        assert!(account.release(0, 1));
        let frame = order(&mut account, 5);
        assert_eq!(read(frame.frame).lasts, Span::ZERO);
        assert_eq!(frame.renew_at, Time::NEVER);
    }

    #[test]
    fn a_pause_is_renewed_while_it_is_needed() {
        let mut account = account();
        assert!(account.store(0, 20_000));
        let first = order(&mut account, 0);
        assert!(!account.is_due(at(1), 0), "too early");
        assert!(account.is_due(first.renew_at, 0));
        let second = account.order(first.renew_at, 0, HostId(9)).unwrap();
        assert!(account.release(0, 20_000));
        order(&mut account, 40);
        assert!(!account.is_due(second.renew_at, 0), "over");
    }

    #[test]
    fn packets_of_the_switch_itself_pause_nobody() {
        assert!(!account().store(u32::MAX, 1 << 30));
    }
}
