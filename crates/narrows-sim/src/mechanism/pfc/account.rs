//! Memory by link and class, and when a class is stopped at the neighbor.

use narrows_proto::units::{Bytes, Span, Time};

use super::{Pfc, Xoff};
use crate::ids::{FlowId, HostId, LinkId};
use crate::mechanism::buffer::{Buffer, Memory, Sharing};
use crate::mechanism::{CLASSES, InputLink, SIDE_CLASS, StopFrame, StopOrder};
use crate::packet::{Control, Fields, Kind, Packet};
use crate::record::DropCause;

/// Account of a lossless switch for the links that lead to it.
#[derive(Debug)]
pub(crate) struct Account {
    /// A bit for each class without loss.
    lossless: u16,
    reserve: u64,
    resume: u64,
    xoff: Limit,
    frame: u16,
    /// The shared pool, and how queues share it whose packets may be dropped.
    pool: Memory,
    pool_size: u64,
    global: u64,
    global_used: u64,
    links: Vec<Ingress>,
}

/// α · 2^16, or bytes.
#[derive(Clone, Copy, Debug)]
enum Limit {
    Alpha(u64),
    Fixed(u64),
}

/// State of one link.
#[derive(Debug)]
struct Ingress {
    link: LinkId,
    /// The port that leads back to the neighbor.
    back: u32,
    headroom: u64,
    lasts: Span,
    /// A bit for each class that is stopped for want of memory.
    stopped: u16,
    /// A mechanism stops the side class.
    side_stopped: bool,
    /// While a class is stopped: when that is said again.
    renew_at: Time,
    classes: [Held; CLASSES],
}

/// Bytes that packets of one class hold, by kind of memory.
#[derive(Clone, Copy, Debug, Default)]
struct Held {
    reserve: u64,
    shared: u64,
    headroom: u64,
    global: u64,
}

impl Account {
    /// With the side class, if the switch has one. `largest` is the largest packet.
    pub(crate) fn new(pfc: &Pfc, buffer: &Buffer, side: bool, links: &[InputLink], largest: Bytes) -> Self {
        let priorities = pfc.priorities.iter().fold(0, |mask, priority| mask | 1 << priority);
        let global = pfc.global_headroom(links.len(), largest);
        let headrooms = links.iter().fold(Bytes::ZERO, |sum, link| sum.saturating_add(link.headroom));
        let pool = pfc.pool(buffer.size, headrooms, links.len(), side, global);
        let pool = pool.expect("a checked plan leaves a shared pool");
        let sharing = match buffer.sharing {
            Sharing::Dynamic(dynamic) => Sharing::Dynamic(dynamic),
            _ => Sharing::Complete,
        };
        let ingress = |parts: &InputLink| Ingress {
            link: parts.link,
            back: parts.back as u32,
            headroom: parts.headroom.get(),
            lasts: pfc.lasts(parts.rate),
            stopped: 0,
            side_stopped: false,
            renew_at: Time::NEVER,
            classes: Default::default(),
        };
        Self {
            lossless: if side { priorities | 1 << SIDE_CLASS } else { priorities },
            reserve: pfc.reserve.get(),
            resume: pfc.resume.get(),
            xoff: match pfc.xoff {
                Xoff::Alpha(alpha) => Limit::Alpha((alpha * 65_536.0) as u64),
                Xoff::Fixed(bytes) => Limit::Fixed(bytes.get()),
            },
            frame: pfc.frame.get() as u16,
            pool: Memory::new(&Buffer { size: pool, sharing }, links.len()),
            pool_size: pool.get(),
            global: global.get(),
            global_used: 0,
            links: links.iter().map(ingress).collect(),
        }
    }

    /// Bytes of the shared pool that a class may hold.
    #[inline]
    fn limit(&self) -> u64 {
        match self.xoff {
            Limit::Fixed(bytes) => bytes,
            Limit::Alpha(alpha) => {
                let free = u128::from(self.pool_size.saturating_sub(self.pool.used));
                ((free * u128::from(alpha)) >> 16) as u64
            }
        }
    }

    /// A packet that came in `class` over link number `from` is to wait in a queue of `backlog` bytes. Returns whether the
    /// neighbor is to be notified.
    #[inline]
    pub(crate) fn store(
        &mut self,
        from: u32,
        class: usize,
        size: u64,
        backlog: u64,
    ) -> Result<bool, DropCause> {
        let limit = self.limit();
        let fits_pool = self.pool.used + size <= self.pool_size;
        let Some(ingress) = self.links.get_mut(from as usize) else {
            // The switch's own packets.
            return if fits_pool { Ok(self.share(size)) } else { Err(DropCause::BufferFull) };
        };
        let account = &mut ingress.classes[class];
        if self.lossless & 1 << class == 0 {
            self.pool.admit(backlog, size)?;
            account.shared += size;
            return Ok(self.share(size));
        }
        if account.reserve + size <= self.reserve {
            account.reserve += size;
            return Ok(false);
        }
        if fits_pool && account.shared + size <= limit {
            account.shared += size;
            return Ok(self.share(size));
        }
        if account.headroom + size <= ingress.headroom {
            account.headroom += size;
        } else if self.global_used + size <= self.global {
            account.global += size;
            self.global_used += size;
        } else {
            return Err(DropCause::BufferFull);
        }
        let was_stopped = ingress.stopped & 1 << class != 0;
        ingress.stopped |= 1 << class;
        Ok(!was_stopped)
    }

    #[inline]
    fn share(&mut self, size: u64) -> bool {
        self.pool.used += size;
        false
    }

    /// It waits no longer. Returns whether the neighbor is to be notified.
    #[inline]
    pub(crate) fn release(&mut self, from: u32, class: usize, size: u64) -> bool {
        let Some(ingress) = self.links.get_mut(from as usize) else {
            self.pool.used -= size;
            return false;
        };
        let account = &mut ingress.classes[class];
        let mut left = size;
        let mut give = |held: &mut u64| {
            let given = left.min(*held);
            *held -= given;
            left -= given;
            given
        };
        if account.global | account.headroom != 0 {
            self.global_used -= give(&mut account.global);
            give(&mut account.headroom);
        }
        self.pool.used -= give(&mut account.shared);
        give(&mut account.reserve);
        debug_assert!(left == 0, "a packet gives back what it held");
        if ingress.stopped & 1 << class == 0 || account.global | account.headroom != 0 {
            return false;
        }
        let shared = account.shared;
        let goes_on = shared == 0 || shared.saturating_add(self.resume) <= self.limit();
        if goes_on {
            self.links[from as usize].stopped &= !(1 << class);
        }
        goes_on
    }

    /// A mechanism stops the side class at link number `from`, or no longer. Returns whether the neighbor is to be notified.
    pub(crate) fn stop_side(&mut self, from: u32, stopped: bool) -> bool {
        let ingress = &mut self.links[from as usize];
        let before = ingress.mask();
        ingress.side_stopped = stopped;
        ingress.mask() != before
    }

    /// The frame for the neighbor of link number `from` at `now`, if there is such a neighbor.
    pub(crate) fn order(&mut self, now: Time, from: u32, to: HostId) -> Option<StopOrder> {
        let size = self.frame;
        let ingress = self.links.get_mut(from as usize)?;
        let mask = ingress.mask();
        // Half of the time is left for the next frame to arrive.
        ingress.renew_at = if mask == 0 { Time::NEVER } else { now + ingress.lasts / 2 };
        let frame = frame(ingress.link, mask, ingress.lasts, size, to);
        Some(StopOrder { port: ingress.back, frame, renew_at: ingress.renew_at })
    }

    /// The time to renew what link number `from` was sent has come, if it is `now`.
    pub(crate) fn is_due(&self, now: Time, from: u32) -> bool {
        self.links[from as usize].renew_at == now
    }
}

impl Ingress {
    /// A bit for each class the neighbor may not send.
    fn mask(&self) -> u16 {
        self.stopped | u16::from(self.side_stopped) << SIDE_CLASS
    }
}

/// A PFC frame. It says of all classes whether they are stopped, so the latest is always enough.
fn frame(link: LinkId, stopped: u16, lasts: Span, size: u16, to: HostId) -> Packet {
    let seq = lasts.as_ps() << 16 | u64::from(stopped);
    let (flow, kind) = (FlowId(link.0), Kind::Control(Control::Pfc));
    Packet::new(Fields { seq, flow, to, size, incarnation: 0, kind, priority: 7, flags: 0, trailers: 0 })
}

/// The request of a PFC frame.
pub(crate) fn read(frame: Packet) -> StopFrame {
    StopFrame {
        link: LinkId(frame.flow().0),
        classes: frame.seq() as u16,
        lasts: Span::from_ps(frame.seq() >> 16),
    }
}

#[cfg(test)]
mod tests {
    use narrows_proto::units::BitRate;
    use proptest::prelude::*;

    use super::*;

    fn link(headroom: u64) -> InputLink {
        InputLink {
            link: LinkId(3),
            back: 5,
            rate: BitRate::from_gbps(10),
            headroom: Bytes::new(headroom),
            from_host: false,
        }
    }

    fn pfc(xoff: Xoff) -> Pfc {
        let (reserve, global_headroom) = (Bytes::new(1_000), Some(Bytes::new(2_000)));
        Pfc { xoff, reserve, global_headroom, ..Pfc::default() }
    }

    /// Two links with 1 kB of static space, 5 kB of headroom, 2 kB of global headroom: 28 kB are shared.
    fn account(xoff: Xoff) -> Account {
        let buffer = Buffer { size: Bytes::new(42_000), sharing: Sharing::Complete };
        let links = [link(5_000), link(5_000)];
        Account::new(&pfc(xoff), &buffer, false, &links, Bytes::new(1_000))
    }

    fn held(account: &Account, from: usize) -> [u64; 4] {
        let Held { reserve, shared, headroom, global } = account.links[from].classes[0];
        [reserve, shared, headroom, global]
    }

    #[test]
    fn memory_is_used_in_the_order_of_the_slides_and_given_back_the_other_way_round() {
        let mut account = account(Xoff::Fixed(Bytes::new(3_000)));
        let store = |account: &mut Account| account.store(0, 0, 1_000, 0);
        for expected in [[1, 0, 0, 0], [1, 1, 0, 0], [1, 2, 0, 0], [1, 3, 0, 0]] {
            assert_eq!(store(&mut account), Ok(false));
            assert_eq!(held(&account, 0), expected.map(|kb| kb * 1_000));
        }
        assert_eq!(store(&mut account), Ok(true), "the first byte of headroom stops the class");
        (0..4).for_each(|_| assert_eq!(store(&mut account), Ok(false)));
        (0..2).for_each(|_| assert_eq!(store(&mut account), Ok(false)));
        assert_eq!(held(&account, 0), [1_000, 3_000, 5_000, 2_000]);
        assert_eq!(store(&mut account), Err(DropCause::BufferFull));
        for expected in [[1, 3, 5, 1], [1, 3, 5, 0], [1, 3, 4, 0]] {
            assert!(!account.release(0, 0, 1_000));
            assert_eq!(held(&account, 0), expected.map(|kb| kb * 1_000));
        }
        (0..5).for_each(|_| assert!(!account.release(0, 0, 1_000), "less than 2 kB below the threshold"));
        assert!(account.release(0, 0, 1_000), "it may go on");
        assert_eq!(held(&account, 0), [1_000, 1_000, 0, 0]);
    }

    #[test]
    fn classes_that_share_the_pool_settle_at_the_share_of_choudhury_and_hahne() {
        // Two classes, α = 1/2: each gets αB/(1 + 2α) = 7 kB of 28 kB, and half of it is left.
        let mut account = account(Xoff::Alpha(0.5));
        for _ in 0..400 {
            for from in 0..2 {
                if account.links[from].stopped == 0 {
                    account.store(from as u32, 0, 100, 0).unwrap();
                }
            }
        }
        for from in 0..2 {
            let [reserve, shared, headroom, _] = held(&account, from);
            assert_eq!((reserve, headroom), (1_000, 100));
            assert!(shared.abs_diff(7_000) <= 100, "{shared}");
        }
    }

    #[test]
    fn a_class_that_holds_nothing_goes_on_however_full_the_pool_is() {
        let mut account = account(Xoff::Alpha(0.5));
        account.pool.used = account.pool_size;
        account.store(1, 0, 1_000, 0).unwrap();
        assert_eq!(account.store(1, 0, 1_000, 0), Ok(true));
        assert!(account.release(1, 0, 1_000));
    }

    fn order(account: &mut Account, from: u32) -> StopOrder {
        account.order(Time::ZERO, from, HostId(9)).unwrap()
    }

    #[test]
    fn a_frame_says_which_classes_are_stopped_and_for_how_long() {
        let mut account = account(Xoff::Fixed(Bytes::ZERO));
        account.store(1, 0, 1_000, 0).unwrap();
        account.store(1, 0, 1_000, 0).unwrap();
        let stop = order(&mut account, 1);
        // 65535 times 512 bits at 10 Gb/s.
        let lasts = Span::from_ps(65_535 * 51_200);
        assert_eq!(read(stop.frame), StopFrame { link: LinkId(3), classes: 1, lasts });
        assert_eq!((stop.port, stop.renew_at), (5, Time::ZERO + lasts / 2));
        assert!(account.is_due(stop.renew_at, 1));
        assert!(account.release(1, 0, 1_000));
        let go = order(&mut account, 1);
        assert_eq!((read(go.frame).classes, go.renew_at), (0, Time::NEVER));
    }

    #[test]
    fn priorities_that_are_not_lossless_are_dropped_when_the_pool_is_full() {
        let mut account = account(Xoff::default());
        assert_eq!(account.store(0, 3, 27_000, 0), Ok(false));
        assert_eq!(account.store(0, 3, 1_001, 0), Err(DropCause::BufferFull));
        assert_eq!(account.links[0].stopped, 0);
    }

    proptest! {
        #[test]
        fn what_is_stored_is_given_back(steps in prop::collection::vec((0..2_u32, any::<bool>(), 1..1_500_u64), 0..300)) {
            let mut account = account(Xoff::Alpha(0.25));
            let mut waiting = [Vec::new(), Vec::new()];
            for (from, store, size) in steps {
                let of_link = &mut waiting[from as usize];
                if store || of_link.is_empty() {
                    if account.store(from, 0, size, 0).is_ok() {
                        of_link.push(size);
                    }
                } else {
                    account.release(from, 0, of_link.remove(0));
                }
                for (number, sizes) in waiting.iter().enumerate() {
                    prop_assert_eq!(held(&account, number).iter().sum::<u64>(), sizes.iter().sum::<u64>());
                }
            }
            for (number, sizes) in waiting.iter().enumerate() {
                sizes.iter().for_each(|size| { account.release(number as u32, 0, *size); });
                prop_assert_eq!(account.links[number].stopped, 0, "an empty link is not stopped");
            }
            prop_assert_eq!((account.pool.used, account.global_used), (0, 0));
        }
    }
}
