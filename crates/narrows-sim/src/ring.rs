use narrows_proto::units::Time;

use crate::packet::{Packet, Trailers};

/// A queue in one block of memory that grows to the most it ever held.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ring<T> {
    /// A power of two, or none before the first element.
    slots: Vec<T>,
    head: usize,
    len: usize,
}

const FIRST_CAPACITY: usize = 8;

impl<T: Copy + Default> Ring<T> {
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[inline]
    pub(crate) fn push(&mut self, element: T) {
        if self.len == self.slots.len() {
            self.grow();
        }
        let mask = self.slots.len() - 1;
        self.slots[(self.head + self.len) & mask] = element;
        self.len += 1;
    }

    /// The first element.
    #[inline]
    pub(crate) fn front(&self) -> Option<&T> {
        if self.len == 0 { None } else { Some(&self.slots[self.head]) }
    }

    /// Takes the first element, which must exist.
    #[inline]
    pub(crate) fn take(&mut self) -> T {
        debug_assert!(self.len > 0, "took from an empty ring");
        let element = self.slots[self.head];
        self.head = (self.head + 1) & (self.slots.len() - 1);
        self.len -= 1;
        element
    }

    #[cold]
    fn grow(&mut self) {
        let capacity = (self.slots.len() * 2).max(FIRST_CAPACITY);
        let mut slots = Vec::with_capacity(capacity);
        slots.extend_from_slice(&self.slots[self.head..]);
        slots.extend_from_slice(&self.slots[..self.head]);
        slots.resize(capacity, T::default());
        self.slots = slots;
        self.head = 0;
    }
}

/// A ring of packets; each may be followed by trailers.
impl Ring<Packet> {
    /// Pushes a packet and what belongs to it.
    #[inline]
    pub(crate) fn push_with(&mut self, packet: Packet, trailers: &Trailers) {
        self.push(packet);
        for trailer in &trailers[..packet.trailers.into()] {
            self.push(*trailer);
        }
    }

    /// The first packet, which must exist; its trailers, if it has any, go to `trailers`.
    #[inline]
    pub(crate) fn pop(&mut self, trailers: &mut Trailers) -> Packet {
        let packet = self.take();
        for trailer in 0..usize::from(packet.trailers) {
            trailers[trailer] = self.take();
        }
        packet
    }

    /// When the first packet arrives.
    #[inline]
    pub(crate) fn front_at(&self) -> Time {
        if self.len == 0 { Time::NEVER } else { self.slots[self.head].at }
    }

    /// Calls `due` with the arrival time of every packet that arrives before `until`. Returns when the one after
    /// those arrives.
    #[inline]
    pub(crate) fn due_before(&self, until: Time, mut due: impl FnMut(Time)) -> Time {
        let mask = self.slots.len().wrapping_sub(1);
        let mut offset = 0;
        while offset < self.len {
            let packet = &self.slots[(self.head + offset) & mask];
            if packet.at >= until {
                return packet.at;
            }
            due(packet.at);
            offset += 1 + usize::from(packet.trailers);
        }
        Time::NEVER
    }

    /// The packets, without their trailers, front first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Packet> {
        let mut offset = 0;
        std::iter::from_fn(move || {
            let packet = (offset < self.len).then(|| &self.slots[(self.head + offset) & (self.slots.len() - 1)])?;
            offset += 1 + usize::from(packet.trailers);
            Some(packet)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_is_a_queue(steps in prop::collection::vec((any::<bool>(), 0..3_u8), 0..200)) {
            let mut ring = Ring::<Packet>::default();
            let mut model = VecDeque::new();
            let mut trailers = Trailers::default();
            for (number, (push, extra)) in (0..).zip(steps) {
                if push || model.is_empty() {
                    let packet = Packet { seq: number, at: Time::from_ps(number), trailers: extra, ..Packet::default() };
                    ring.push_with(packet, &[Packet { seq: number + 1000, ..packet }; 2]);
                    model.push_back((number, extra));
                } else {
                    let packet = ring.pop(&mut trailers);
                    prop_assert_eq!(Some((packet.seq, packet.trailers)), model.pop_front());
                    prop_assert!(trailers[..packet.trailers.into()].iter().all(|t| t.seq == packet.seq + 1000));
                }
                prop_assert_eq!(ring.front_at().as_ps(), model.front().map_or(u64::MAX, |front| front.0));
                prop_assert_eq!(ring.iter().count(), model.len());
            }
        }
    }
}
