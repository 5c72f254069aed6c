//! Priority-based flow control (IEEE 802.1Qbb): what waits is counted by the link and the class it came in, and a class that
//! has used up its share of the packet memory is stopped at the neighbour.
//!
//! Memory is used in the order static space, shared pool, headroom of the class, global headroom (Gonzalez-Naharro et al.,
//! NEAT 2019, "Switch architecture"), and given back the other way round. A class is stopped when its first byte goes to
//! headroom, so headroom holds what is on its way then.

use narrows_proto::units::{BitRate, Bytes, Span, Time};

use super::super::buffer::Memory;
use super::super::pause::{InputLink, Order, headroom, lasts, longest_pause, smallest_frame};
use super::super::{Buffer, Sharing};
use crate::ids::{FlowId, HostId, LinkId};
use crate::packet::{Fields, Kind, Packet};
use crate::record::DropCause;

/// Classes of packets on a link: eight priorities, and packets of isolated flows.
pub(super) const CLASSES: usize = 9;

/// The class of isolated flows.
pub(crate) const ISOLATED_CLASS: usize = 8;

/// How a switch keeps priorities free of loss.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pfc {
    /// Priorities without loss. The others are dropped as `sharing` of the buffer says, within the shared pool.
    #[serde(default = "lowest_priority")]
    pub priorities: Vec<u8>,
    /// What a class of a link may hold of the shared pool before it is stopped.
    #[serde(default)]
    pub xoff: Xoff,
    /// It may go on when it is this much below.
    #[serde(default = "two_packets")]
    pub resume: Bytes,
    /// Memory that each class of each link has for itself.
    #[serde(default, rename = "static")]
    pub reserve: Bytes,
    /// Memory for what arrives on a class of a link after it was stopped; what rates, lengths and packets ask for if left out.
    #[serde(default)]
    pub headroom: Option<Bytes>,
    /// Memory for what does not fit any headroom; one packet for each port if left out.
    #[serde(default)]
    pub global_headroom: Option<Bytes>,
    /// How long a class stays stopped unless that is renewed, in times of 512 bits.
    #[serde(default = "longest_pause")]
    pub quanta: u16,
    /// PFC frames on the wire, framing included: a 64 B frame, preamble and gap.
    #[serde(default = "smallest_frame")]
    pub frame: Bytes,
    /// A class that packets wait in and that stays stopped for longer than this is reported.
    #[serde(default = "long")]
    pub watchdog: Span,
}

/// When a class is stopped.
#[derive(Clone, Copy, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Xoff {
    /// Above α times what is free of the shared pool.
    Alpha(f64),
    /// Above this much.
    Fixed(Bytes),
}

impl Default for Xoff {
    /// α = 1/8, as the switches of the HPCC paper (Li et al., SIGCOMM 2019).
    fn default() -> Self {
        Self::Alpha(0.125)
    }
}

fn lowest_priority() -> Vec<u8> {
    vec![0]
}

fn two_packets() -> Bytes {
    Bytes::new(2_000)
}

fn long() -> Span {
    Span::from_ms(10)
}

impl Default for Pfc {
    fn default() -> Self {
        Self {
            priorities: lowest_priority(),
            xoff: Xoff::default(),
            resume: two_packets(),
            reserve: Bytes::ZERO,
            headroom: None,
            global_headroom: None,
            quanta: longest_pause(),
            frame: smallest_frame(),
            watchdog: long(),
        }
    }
}

impl Pfc {
    /// How long a class stays stopped on a link of this rate.
    pub fn lasts(&self, rate: BitRate) -> Span {
        lasts(self.quanta, rate)
    }

    /// Lossless classes of each link: `isolating` switches have one more.
    pub fn classes(&self, isolating: bool) -> u64 {
        self.priorities.len() as u64 + u64::from(isolating)
    }

    /// The headroom each class of a link needs: the most that may still arrive from the first byte on that went to headroom.
    pub fn needed_headroom(&self, rate: BitRate, forth: Span, back: Span, largest: Bytes) -> Bytes {
        headroom(rate, forth, back, self.frame, largest)
    }

    /// The global headroom of a switch with this many ports.
    pub fn global_headroom(&self, ports: usize, largest: Bytes) -> Bytes {
        self.global_headroom.unwrap_or(largest.saturating_mul(ports as u64))
    }

    /// What is left of `buffer` for the shared pool, if anything is.
    pub fn pool(
        &self,
        buffer: Bytes,
        headrooms: Bytes,
        links: usize,
        isolating: bool,
        global: Bytes,
    ) -> Option<Bytes> {
        let classes = self.classes(isolating);
        let kept = self.reserve.saturating_mul(classes.saturating_mul(links as u64));
        let kept = kept.saturating_add(headrooms.saturating_mul(classes)).saturating_add(global);
        (kept < buffer).then(|| buffer.saturating_sub(kept))
    }
}

/// What a lossless switch keeps of the links that lead to it.
#[derive(Debug)]
pub(super) struct Ingresses {
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

/// What is known of one link.
#[derive(Debug)]
struct Ingress {
    link: LinkId,
    /// The port that leads back to the neighbour.
    back: u32,
    headroom: u64,
    lasts: Span,
    /// A bit for each class that is stopped for want of memory, and for the class of isolated flows if their queue is full.
    stopped: u16,
    queue_full: bool,
    /// While a class is stopped: when that is said again.
    renew_at: Time,
    classes: [Account; CLASSES],
}

/// What packets of one class hold, by kind of memory.
#[derive(Clone, Copy, Debug, Default)]
struct Account {
    reserve: u64,
    shared: u64,
    headroom: u64,
    global: u64,
}

impl Ingresses {
    /// `isolating` switches have a class of isolated flows. `largest` is the largest packet.
    pub(super) fn new(
        pfc: &Pfc,
        buffer: &Buffer,
        isolating: bool,
        links: &[InputLink],
        largest: Bytes,
    ) -> Self {
        let priorities = pfc.priorities.iter().fold(0, |mask, priority| mask | 1 << priority);
        let global = pfc.global_headroom(links.len(), largest);
        let headrooms = links.iter().fold(Bytes::ZERO, |sum, link| sum.saturating_add(link.headroom));
        let pool = pfc.pool(buffer.size, headrooms, links.len(), isolating, global);
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
            queue_full: false,
            renew_at: Time::NEVER,
            classes: Default::default(),
        };
        Self {
            lossless: if isolating { priorities | 1 << ISOLATED_CLASS } else { priorities },
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

    /// The port that leads back over link number `from`.
    pub(super) fn port_back(&self, from: u32) -> Option<usize> {
        self.links.get(from as usize).map(|link| link.back as usize)
    }

    /// Link number `from`.
    pub(super) fn link(&self, from: u32) -> LinkId {
        self.links[from as usize].link
    }

    /// What a class may hold of the shared pool.
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
    /// neighbour is to be told something.
    #[inline]
    pub(super) fn store(
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

    /// It waits no longer. Returns whether the neighbour is to be told something.
    #[inline]
    pub(super) fn release(&mut self, from: u32, class: usize, size: u64) -> bool {
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

    /// The queue of isolated flows of link number `from` is too full, or no longer. Returns whether the neighbour is to be
    /// told something.
    pub(super) fn stop_isolated(&mut self, from: u32, full: bool) -> bool {
        let ingress = &mut self.links[from as usize];
        let before = ingress.mask();
        ingress.queue_full = full;
        ingress.mask() != before
    }

    /// What the neighbour of link number `from` is to be told at `now`.
    pub(super) fn order(&mut self, now: Time, from: u32, neighbour: HostId) -> Order {
        let frame = self.frame;
        let ingress = &mut self.links[from as usize];
        let mask = ingress.mask();
        // Half of the time is left for the next frame to arrive.
        ingress.renew_at = if mask == 0 { Time::NEVER } else { now + ingress.lasts / 2 };
        Order {
            port: ingress.back,
            ingress: from,
            frame: frame_of(ingress.link, mask, ingress.lasts, frame, neighbour),
            renew_at: ingress.renew_at,
        }
    }

    /// The time to renew what link number `from` was told has come, if it is `now`.
    pub(super) fn is_due(&self, now: Time, from: u32) -> bool {
        self.links[from as usize].renew_at == now
    }
}

impl Ingress {
    /// A bit for each class the neighbour may not send.
    fn mask(&self) -> u16 {
        self.stopped | u16::from(self.queue_full) << ISOLATED_CLASS
    }
}

/// A PFC frame. It says of all classes whether they are stopped, so the latest is always enough.
fn frame_of(link: LinkId, stopped: u16, lasts: Span, size: u16, to: HostId) -> Packet {
    let seq = lasts.as_ps() << 16 | u64::from(stopped);
    let (flow, kind) = (FlowId(link.0), Kind::Pfc);
    Packet::new(Fields { seq, flow, to, size, turn: 0, kind, priority: 7, flags: 0, trailers: 0 })
}

/// What a PFC frame says: the link it is about, the classes that may not be sent on it, and for how long.
pub(crate) fn read(frame: Packet) -> (LinkId, u16, Span) {
    (LinkId(frame.flow().0), frame.seq() as u16, Span::from_ps(frame.seq() >> 16))
}

#[cfg(test)]
mod tests {
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
    fn ingresses(xoff: Xoff) -> Ingresses {
        let buffer = Buffer { size: Bytes::new(42_000), sharing: Sharing::Complete };
        let links = [link(5_000), link(5_000)];
        Ingresses::new(&pfc(xoff), &buffer, false, &links, Bytes::new(1_000))
    }

    fn held(ingresses: &Ingresses, from: usize) -> [u64; 4] {
        let Account { reserve, shared, headroom, global } = ingresses.links[from].classes[0];
        [reserve, shared, headroom, global]
    }

    #[test]
    fn memory_is_used_in_the_order_of_the_slides_and_given_back_the_other_way_round() {
        let mut ingresses = ingresses(Xoff::Fixed(Bytes::new(3_000)));
        let store = |ingresses: &mut Ingresses| ingresses.store(0, 0, 1_000, 0);
        for expected in [[1, 0, 0, 0], [1, 1, 0, 0], [1, 2, 0, 0], [1, 3, 0, 0]] {
            assert_eq!(store(&mut ingresses), Ok(false));
            assert_eq!(held(&ingresses, 0), expected.map(|kb| kb * 1_000));
        }
        assert_eq!(store(&mut ingresses), Ok(true), "the first byte of headroom stops the class");
        (0..4).for_each(|_| assert_eq!(store(&mut ingresses), Ok(false)));
        (0..2).for_each(|_| assert_eq!(store(&mut ingresses), Ok(false)));
        assert_eq!(held(&ingresses, 0), [1_000, 3_000, 5_000, 2_000]);
        assert_eq!(store(&mut ingresses), Err(DropCause::BufferFull));
        for expected in [[1, 3, 5, 1], [1, 3, 5, 0], [1, 3, 4, 0]] {
            assert!(!ingresses.release(0, 0, 1_000));
            assert_eq!(held(&ingresses, 0), expected.map(|kb| kb * 1_000));
        }
        (0..5).for_each(|_| assert!(!ingresses.release(0, 0, 1_000), "less than 2 kB below the threshold"));
        assert!(ingresses.release(0, 0, 1_000), "it may go on");
        assert_eq!(held(&ingresses, 0), [1_000, 1_000, 0, 0]);
    }

    #[test]
    fn classes_that_share_the_pool_settle_at_the_share_of_choudhury_and_hahne() {
        // Two classes, α = 1/2: each gets αB/(1 + 2α) = 7 kB of 28 kB, and half of it is left.
        let mut ingresses = ingresses(Xoff::Alpha(0.5));
        for _ in 0..400 {
            for from in 0..2 {
                if ingresses.links[from].stopped == 0 {
                    ingresses.store(from as u32, 0, 100, 0).unwrap();
                }
            }
        }
        for from in 0..2 {
            let [reserve, shared, headroom, _] = held(&ingresses, from);
            assert_eq!((reserve, headroom), (1_000, 100));
            assert!(shared.abs_diff(7_000) <= 100, "{shared}");
        }
    }

    #[test]
    fn a_class_that_holds_nothing_goes_on_however_full_the_pool_is() {
        let mut ingresses = ingresses(Xoff::Alpha(0.5));
        ingresses.pool.used = ingresses.pool_size;
        ingresses.store(1, 0, 1_000, 0).unwrap();
        assert_eq!(ingresses.store(1, 0, 1_000, 0), Ok(true));
        assert!(ingresses.release(1, 0, 1_000));
    }

    #[test]
    fn a_frame_says_which_classes_are_stopped_and_for_how_long() {
        let mut ingresses = ingresses(Xoff::Fixed(Bytes::ZERO));
        ingresses.store(1, 0, 1_000, 0).unwrap();
        ingresses.store(1, 0, 1_000, 0).unwrap();
        let order = ingresses.order(Time::ZERO, 1, HostId(9));
        // 65535 times 512 bits at 10 Gb/s.
        let lasts = Span::from_ps(65_535 * 51_200);
        assert_eq!(read(order.frame), (LinkId(3), 1, lasts));
        assert_eq!((order.port, order.ingress, order.renew_at), (5, 1, Time::ZERO + lasts / 2));
        assert!(ingresses.is_due(order.renew_at, 1));
        assert!(ingresses.release(1, 0, 1_000));
        let order = ingresses.order(Time::ZERO, 1, HostId(9));
        assert_eq!((read(order.frame).1, order.renew_at), (0, Time::NEVER));
    }

    #[test]
    fn priorities_that_are_not_lossless_are_dropped_when_the_pool_is_full() {
        let mut ingresses = ingresses(Xoff::default());
        assert_eq!(ingresses.store(0, 3, 27_000, 0), Ok(false));
        assert_eq!(ingresses.store(0, 3, 1_001, 0), Err(DropCause::BufferFull));
        assert_eq!(ingresses.links[0].stopped, 0);
    }

    proptest! {
        #[test]
        fn what_is_stored_is_given_back(steps in prop::collection::vec((0..2_u32, any::<bool>(), 1..1_500_u64), 0..300)) {
            let mut ingresses = ingresses(Xoff::Alpha(0.25));
            let mut waiting = [Vec::new(), Vec::new()];
            for (from, store, size) in steps {
                let of_link = &mut waiting[from as usize];
                if store || of_link.is_empty() {
                    if ingresses.store(from, 0, size, 0).is_ok() {
                        of_link.push(size);
                    }
                } else {
                    ingresses.release(from, 0, of_link.remove(0));
                }
                for (number, sizes) in waiting.iter().enumerate() {
                    prop_assert_eq!(held(&ingresses, number).iter().sum::<u64>(), sizes.iter().sum::<u64>());
                }
            }
            for (number, sizes) in waiting.iter().enumerate() {
                sizes.iter().for_each(|size| { ingresses.release(number as u32, 0, *size); });
                prop_assert_eq!(ingresses.links[number].stopped, 0, "an empty link is not stopped");
            }
            prop_assert_eq!((ingresses.pool.used, ingresses.global_used), (0, 0));
        }
    }
}
