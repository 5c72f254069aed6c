use std::ops::ControlFlow;

use narrows_proto::units::Time;

use crate::packet::{Packet, Parcel, Trailers};
use crate::prefetch::prefetch_at;

/// A queue in one block of memory that grows to the most it ever held.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ring<T> {
    /// A power of two, or none before the first element.
    slots: Box<[T]>,
    head: u32,
    len: u32,
}

const FIRST_CAPACITY: usize = 8;

impl<T: Copy + Default> Ring<T> {
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[inline(always)]
    pub(crate) fn push(&mut self, element: T) {
        if self.len as usize == self.slots.len() {
            self.grow();
        }
        let place = self.place(self.len);
        self.slots[place] = element;
        self.len = self.len.wrapping_add(1);
    }

    /// Index of the element `offset` places behind the first.
    #[inline(always)]
    fn place(&self, offset: u32) -> usize {
        self.head.wrapping_add(offset) as usize & self.slots.len().wrapping_sub(1)
    }

    /// Prefetches the first element.
    #[inline(always)]
    pub(crate) fn prefetch_first(&self) {
        prefetch_at(&self.slots, self.place(0));
    }

    /// Prefetches the place of the next element.
    #[inline(always)]
    pub(crate) fn prefetch_end(&self) {
        prefetch_at(&self.slots, self.place(self.len));
    }

    /// The first element.
    #[inline(always)]
    pub(crate) fn front(&self) -> Option<&T> {
        self.get(0)
    }

    /// The element `offset` places behind the first.
    #[inline(always)]
    pub(crate) fn get(&self, offset: u32) -> Option<&T> {
        if offset < self.len { Some(&self.slots[self.place(offset)]) } else { None }
    }

    /// All elements, front first: up to the end of the memory, and from its beginning.
    #[inline(always)]
    fn pieces(&self) -> (&[T], &[T]) {
        let (around, from_head) = self.slots.split_at(self.place(0).min(self.slots.len()));
        let first = (self.len as usize).min(from_head.len());
        (&from_head[..first], &around[..self.len as usize - first])
    }

    /// The last element.
    pub(crate) fn last(&self) -> Option<&T> {
        let last = self.len.checked_sub(1)?;
        Some(&self.slots[self.place(last)])
    }

    /// Takes the first element, which must exist.
    #[inline(always)]
    pub(crate) fn take(&mut self) -> T {
        debug_assert!(self.len > 0, "took from an empty ring");
        let element = self.slots[self.place(0)];
        self.len -= 1;
        // An empty ring begins again at the first slot: those that hold few packets at a time touch little memory.
        self.head = if self.len == 0 { 0 } else { self.head.wrapping_add(1) };
        element
    }

    #[cold]
    fn grow(&mut self) {
        let capacity = (self.slots.len() * 2).max(FIRST_CAPACITY);
        assert!(capacity <= 1 << 31, "a ring holds fewer than 2^31 elements");
        let mut slots = Vec::with_capacity(capacity);
        slots.extend((0..self.len).map(|offset| self.slots[self.place(offset)]));
        slots.resize(capacity, T::default());
        self.slots = slots.into_boxed_slice();
        self.head = 0;
    }
}

/// A ring of packets; each may be followed by trailers.
impl Ring<Packet> {
    /// Prefetches the first packets, two of which share a cache line.
    #[inline(always)]
    pub(crate) fn prefetch_front(&self) {
        for offset in [0, 2, 4, 6] {
            prefetch_at(&self.slots, self.place(offset));
        }
    }

    /// Pushes a packet and what belongs to it.
    #[inline(always)]
    pub(crate) fn push_with(&mut self, parcel: Parcel<'_>) {
        self.push(parcel.packet);
        for trailer in parcel.slots() {
            self.push(*trailer);
        }
    }

    /// Puts a packet and what belongs to it before all that arrive later.
    pub(crate) fn insert(&mut self, parcel: Parcel<'_>) {
        let (len, at) = (self.len, parcel.packet.at());
        let mut offset = 0;
        while offset < len {
            let packet = self.slots[self.place(offset)];
            if packet.at() > at {
                break;
            }
            offset += 1 + packet.trailers() as u32;
        }
        self.push_with(parcel);
        let added = self.len - len;
        let new: Vec<_> = (len..self.len).map(|offset| self.slots[self.place(offset)]).collect();
        for behind in (offset..len).rev() {
            let (from, to) = (self.place(behind), self.place(behind + added));
            self.slots[to] = self.slots[from];
        }
        for (offset, slot) in (offset..).zip(new) {
            let place = self.place(offset);
            self.slots[place] = slot;
        }
    }

    /// The first packet, which must exist; its trailers, if it has any, go to `trailers`.
    #[inline(always)]
    pub(crate) fn pop(&mut self, trailers: &mut Trailers) -> Packet {
        let packet = self.take();
        for trailer in 0..packet.trailers() {
            trailers[trailer] = self.take();
        }
        packet
    }

    /// The packet that was pushed last, found by going through all; its trailers, if it has any, go to `trailers`.
    pub(crate) fn pop_last(&mut self, trailers: &mut Trailers) -> Option<Packet> {
        let packet = *self.iter().last()?;
        let first = self.len - 1 - packet.trailers() as u32;
        for trailer in 0..packet.trailers() {
            trailers[trailer] = self.slots[self.place(first + 1 + trailer as u32)];
        }
        self.len = first;
        Some(packet)
    }

    /// Moves all packets that arrive before `until` to `list`, each with its trailers behind it. Returns when the next one arrives.
    #[inline(always)]
    pub(crate) fn take_before(&mut self, until: Time, list: &mut Vec<Packet>) -> Time {
        let (before, mut trailers) = (list.len(), 0);
        let (first, second) = self.pieces();
        let next = first.iter().chain(second).try_for_each(|slot| {
            if trailers > 0 {
                trailers -= 1;
            } else if slot.at() >= until {
                return ControlFlow::Break(slot.at());
            } else {
                trailers = slot.trailers();
            }
            list.push(*slot);
            ControlFlow::Continue(())
        });
        let taken = list.len() - before;
        self.len -= taken as u32;
        self.head = if self.len == 0 { 0 } else { self.head.wrapping_add(taken as u32) };
        next.break_value().unwrap_or(Time::NEVER)
    }

    /// When the first packet arrives.
    #[inline(always)]
    pub(crate) fn front_at(&self) -> Time {
        self.front().map_or(Time::NEVER, |packet| packet.at())
    }

    /// The packets, without their trailers, front first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Packet> + Clone {
        let mut offset = 0;
        std::iter::from_fn(move || {
            let packet = (offset < self.len).then(|| &self.slots[self.place(offset)])?;
            offset += 1 + packet.trailers() as u32;
            Some(packet)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;
    use crate::ids::{FlowId, HostId};
    use crate::packet::{Fields, Kind};

    fn numbered(number: u64, extra: u8) -> Packet {
        let (flow, to, kind) = (FlowId(0), HostId(0), Kind::Ack);
        let fields = Fields {
            seq: number,
            flow,
            to,
            size: 84,
            incarnation: 0,
            kind,
            priority: 0,
            flags: 0,
            trailers: extra,
        };
        Packet::new(fields).arriving(Time::from_ps(number))
    }

    proptest! {
        #[test]
        fn taking_all_before_a_time_is_to_pop_them(extras in prop::collection::vec(0..3_u8, 0..40), first in 0..40_usize, until in 0..50_u64) {
            let trailers = [numbered(1000, 0), numbered(1001, 0)];
            let (mut ring, mut slots) = (Ring::<Packet>::default(), Trailers::default());
            for (number, extra) in (0..).zip(&extras) {
                ring.push_with(Parcel { packet: numbered(number, *extra), trailers: &trailers });
            }
            for _ in 0..first.min(extras.len()) {
                ring.pop(&mut slots);
            }
            let (mut popped, mut model) = (Vec::new(), ring.clone());
            while model.front_at() < Time::from_ps(until) {
                let packet = model.pop(&mut slots);
                popped.push(packet);
                popped.extend(&slots[..packet.trailers()]);
            }
            let mut taken = Vec::new();
            prop_assert_eq!(ring.take_before(Time::from_ps(until), &mut taken), model.front_at());
            prop_assert_eq!(taken, popped);
            prop_assert!(ring.iter().eq(model.iter()));
        }

        #[test]
        fn what_is_inserted_stands_before_all_that_arrives_later(
            packets in prop::collection::vec((0..20_u64, 0..3_u8), 0..40),
            taken in 0..10_usize,
        ) {
            let trailers = [numbered(1000, 0), numbered(1001, 0)];
            let (mut ring, mut slots) = (Ring::<Packet>::default(), Trailers::default());
            for number in 0..taken {
                ring.push(numbered(number as u64, 0));
            }
            for _ in 0..taken {
                ring.pop(&mut slots);
            }
            let mut expected = packets.clone();
            expected.sort_by_key(|(at, _)| *at);
            for (at, extra) in packets {
                ring.insert(Parcel { packet: numbered(at, extra), trailers: &trailers });
            }
            for (at, extra) in expected {
                let packet = ring.pop(&mut slots);
                prop_assert_eq!((packet.at().as_ps(), packet.trailers() as u8), (at, extra));
                prop_assert!((0..).zip(&slots[..packet.trailers()]).all(|(place, slot)| slot.seq() == 1000 + place));
            }
            prop_assert!(ring.is_empty());
        }

        #[test]
        fn it_is_a_queue(steps in prop::collection::vec((any::<bool>(), 0..3_u8), 0..200)) {
            let mut ring = Ring::<Packet>::default();
            let mut model = VecDeque::new();
            let mut trailers = Trailers::default();
            for (number, (push, extra)) in (0..).zip(steps) {
                if push || model.is_empty() {
                    let trailers = [numbered(number + 1000, 0); 2];
                    ring.push_with(Parcel { packet: numbered(number, extra), trailers: &trailers });
                    model.push_back((number, extra));
                } else {
                    let packet = ring.pop(&mut trailers);
                    prop_assert_eq!(Some((packet.seq(), packet.trailers() as u8)), model.pop_front());
                    prop_assert!(trailers[..packet.trailers()].iter().all(|t| t.seq() == packet.seq() + 1000));
                }
                prop_assert_eq!(ring.front_at().as_ps(), model.front().map_or(u64::MAX, |front| front.0));
                prop_assert_eq!(ring.iter().count(), model.len());
            }
        }
    }
}
