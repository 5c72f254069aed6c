//! Counts of packets in the queue of a host, by sender.

/// Counts by slot of a sender. Whoever gets a slot later counts what waits of the one before as its own.
#[derive(Debug, Default)]
pub(super) struct Enqueued(Vec<Count>);

#[derive(Clone, Copy, Debug, Default)]
struct Count {
    packets: u32,
    /// It waits until one of them has left.
    is_held_up: bool,
}

impl Enqueued {
    pub(super) fn packets(&self, slot: u32) -> u32 {
        self.0.get(slot as usize).map_or(0, |count| count.packets)
    }

    /// One more waits.
    pub(super) fn add(&mut self, slot: u32) {
        let slot = slot as usize;
        if slot >= self.0.len() {
            self.0.resize(slot + 1, Count::default());
        }
        self.0[slot].packets += 1;
    }

    /// The sender in a slot waits until one of its packets has left.
    pub(super) fn hold_up(&mut self, slot: u32) {
        self.0[slot as usize].is_held_up = true;
    }

    /// One has left. Returns whether its sender has waited for that.
    pub(super) fn leave(&mut self, slot: u32) -> bool {
        let Some(count) = self.0.get_mut(slot as usize) else { return false };
        count.packets = count.packets.saturating_sub(1);
        std::mem::take(&mut count.is_held_up)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_held_up_goes_on_when_one_of_its_packets_has_left() {
        let mut enqueued = Enqueued::default();
        [3, 3, 1].into_iter().for_each(|slot| enqueued.add(slot));
        enqueued.hold_up(3);
        assert!(!enqueued.leave(1));
        assert!(enqueued.leave(3) && !enqueued.leave(3));
        assert_eq!([0, 1, 3, 9].map(|slot| enqueued.packets(slot)), [0; 4]);
        assert!(!enqueued.leave(9), "of what never waited nothing leaves");
    }
}
