//! Naming of flows by what they have at a port.
//!
//! The slides (Gonzalez-Naharro et al., NEAT 2019) fill an entry of the table from "packet header" when a queue reaches the threshold,
//! and do not say of which packet. IEEE 802.1Qcz leaves it open too. Who arrives at a long queue may be a victim; who has most of what
//! waits is not.
//!
//! Both queues of the port count. What is named leaves the normal queue, and if that counted alone the others there would be the largest
//! in their turn, until all of them were named.

use super::Naming;
use crate::random::Stream;

/// Bytes that flows have at a port, in the order in which they came.
#[derive(Debug, Default)]
pub(super) struct Census {
    keys: Vec<u64>,
    bytes: Vec<u64>,
    /// Their sum.
    all: u64,
}

impl Census {
    /// None if flows are named without it.
    pub(super) fn for_naming(naming: Naming) -> Option<Box<Self>> {
        match naming {
            Naming::Arrivals | Naming::Crossing => None,
            Naming::Largest | Naming::Sampled => Some(Box::default()),
        }
    }

    /// A packet joins a queue.
    #[inline]
    pub(super) fn join(&mut self, key: u64, size: u64) {
        self.all += size;
        match self.keys.iter().position(|known| *known == key) {
            Some(place) => self.bytes[place] += size,
            None => {
                self.keys.push(key);
                self.bytes.push(size);
            }
        }
    }

    /// A packet that joined one leaves.
    #[inline]
    pub(super) fn leave(&mut self, key: u64, size: u64) {
        let place = self.keys.iter().position(|known| *known == key);
        let place = place.expect("what leaves a queue has joined it");
        self.all -= size;
        self.bytes[place] -= size;
        if self.bytes[place] == 0 {
            self.keys.remove(place);
            self.bytes.remove(place);
        }
    }

    /// The flow with the most bytes; of several the one that came first. None if nobody waits.
    pub(super) fn largest(&self) -> Option<u64> {
        let mut largest: Option<(u64, u64)> = None;
        for (key, bytes) in self.keys.iter().zip(&self.bytes) {
            if largest.is_none_or(|(_, most)| *bytes > most) {
                largest = Some((*key, *bytes));
            }
        }
        largest.map(|(key, _)| key)
    }

    /// The flow of a byte that is drawn. None if nobody waits.
    pub(super) fn draw(&self, random: &mut Stream) -> Option<u64> {
        if self.all == 0 {
            return None;
        }
        let mut byte = random.below(self.all);
        for (key, bytes) in self.keys.iter().zip(&self.bytes) {
            if byte < *bytes {
                return Some(*key);
            }
            byte -= bytes;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Purpose;

    fn census(packets: &[(u64, u64)]) -> Census {
        let mut census = Census::default();
        packets.iter().for_each(|(key, size)| census.join(*key, *size));
        census
    }

    #[test]
    fn the_largest_is_who_has_most_bytes_now_and_not_most_packets() {
        let mut census = census(&[(1, 100), (1, 100), (2, 1_000), (3, 999)]);
        assert_eq!(census.largest(), Some(2));
        census.leave(2, 1_000);
        assert_eq!(census.largest(), Some(3));
        census.join(1, 800);
        assert_eq!(census.largest(), Some(1));
    }

    #[test]
    fn of_those_with_as_much_the_largest_is_who_came_first() {
        let mut census = census(&[(1, 500), (2, 1_000), (3, 1_000)]);
        assert_eq!(census.largest(), Some(2));
        census.leave(2, 1_000);
        census.join(2, 1_000);
        assert_eq!(census.largest(), Some(3));
    }

    #[test]
    fn nobody_is_named_where_nobody_waits() {
        let mut census = census(&[(1, 1_000)]);
        census.leave(1, 1_000);
        assert_eq!((census.largest(), census.draw(&mut Stream::new(1, Purpose::Naming, 0))), (None, None));
    }

    #[test]
    fn flows_are_drawn_by_their_bytes_and_again_the_same_with_the_same_seed() {
        let census = census(&[(1, 1_000), (2, 3_000), (1, 1_000)]);
        let drawn = |seed| {
            let mut random = Stream::new(seed, Purpose::Naming, 0);
            (0..10_000).map(|_| census.draw(&mut random).unwrap()).collect::<Vec<_>>()
        };
        let first = drawn(1);
        assert_eq!(first, drawn(1));
        assert_ne!(first, drawn(2));
        let of_two = first.iter().filter(|key| **key == 2).count();
        // 6000 ± 49, so five deviations.
        assert!((5_755..=6_245).contains(&of_two), "{of_two}");
    }
}
