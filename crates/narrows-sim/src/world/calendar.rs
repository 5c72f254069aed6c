//! Which node has to be looked at in which window.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use narrows_proto::units::{Span, Time};

/// Cuts time into windows no longer than a given span, without a division per packet.
///
/// Window n holds the times t with ⌊t·m / 2^64⌋ = n. All windows are `width` long or one picosecond shorter.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Windows {
    multiplier: u64,
}

impl Windows {
    /// # Panics
    /// If `width` is less than 2 ps.
    pub(crate) fn new(width: Span) -> Self {
        assert!(width >= Span::from_ps(2), "windows of {width} are too short");
        // Rounded up, so that no window is longer than `width`.
        Self { multiplier: (1_u128 << 64).div_ceil(u128::from(width.as_ps())) as u64 }
    }

    #[inline]
    pub(crate) fn of(self, at: Time) -> u64 {
        ((u128::from(at.as_ps()) * u128::from(self.multiplier)) >> 64) as u64
    }

    /// First moment after window `window`.
    pub(crate) fn end(self, window: u64) -> Time {
        Time::from_ps(
            ((u128::from(window) + 1) << 64)
                .div_ceil(u128::from(self.multiplier))
                .try_into()
                .unwrap_or(u64::MAX),
        )
    }
}

/// Windows that have a list of their own; later ones wait in a heap.
const NEAR: u64 = 4096;
const WORDS: usize = NEAR as usize / 64;
const NOT_DUE: u64 = u64::MAX;

/// Holds nodes, never packets: each at most once per window, usually once in all.
#[derive(Clone, Debug)]
pub(crate) struct Calendar {
    windows: Windows,
    /// The window being worked on, or the next one that may hold a node.
    current: u64,
    /// By node.
    due: Vec<Due>,
    near: Vec<Vec<u32>>,
    /// A bit for each list of `near` that is not empty.
    occupied: [u64; WORDS],
    far: BinaryHeap<Reverse<(u64, u32)>>,
}

/// When a node is due.
#[derive(Clone, Copy, Debug)]
struct Due {
    /// The earliest window; entries for others are void.
    window: u64,
    /// The window of a void entry, if one is known. A node whose timer lies far ahead while packets keep it busy is entered
    /// for that timer once, and not after every packet.
    void: u64,
}

impl Calendar {
    pub(crate) fn new(windows: Windows, nodes: usize) -> Self {
        Self {
            windows,
            current: 0,
            due: vec![Due { window: NOT_DUE, void: NOT_DUE }; nodes],
            near: vec![Vec::new(); NEAR as usize],
            occupied: [0; WORDS],
            far: BinaryHeap::new(),
        }
    }

    pub(crate) fn windows(&self) -> Windows {
        self.windows
    }

    /// `node` has something to do at `at`, which lies in the current window at the earliest.
    #[inline(always)]
    pub(crate) fn schedule(&mut self, node: u32, at: Time) {
        let window = self.windows.of(at);
        let due = &mut self.due[node as usize];
        if window >= due.window {
            return;
        }
        let entered = due.void == window;
        if entered || due.window != NOT_DUE {
            due.void = due.window;
        }
        due.window = window;
        if !entered {
            self.insert(node, window);
        }
    }

    fn insert(&mut self, node: u32, window: u64) {
        debug_assert!(window >= self.current, "window {window} is over, {} is current", self.current);
        if window - self.current < NEAR {
            let slot = (window % NEAR) as usize;
            self.near[slot].push(node);
            self.occupied[slot / 64] |= 1 << (slot % 64);
        } else {
            self.far.push(Reverse((window, node)));
        }
    }

    /// The earliest window with a node; `None` when no node is due.
    pub(crate) fn next_window(&mut self) -> Option<u64> {
        let near = self.next_near();
        match self.far.peek() {
            Some(Reverse((far, _))) if near.is_none_or(|near| *far <= near) => Some(*far),
            _ => near,
        }
    }

    fn next_near(&self) -> Option<u64> {
        let first = (self.current % NEAR) as usize;
        // The word of the current slot is looked at twice: from the slot on, and at the end, up to the slot.
        for step in 0..=WORDS {
            let word = (first / 64 + step) % WORDS;
            let mut bits = self.occupied[word];
            if step == 0 {
                bits &= !0 << (first % 64);
            } else if step == WORDS {
                bits &= !(!0 << (first % 64));
            }
            if bits != 0 {
                let slot = (word * 64) as u64 + u64::from(bits.trailing_zeros());
                return Some(self.current + (slot + NEAR - first as u64) % NEAR);
            }
        }
        None
    }

    /// Makes `window` the current one and moves the nodes due in it to `nodes`.
    pub(crate) fn take(&mut self, window: u64, nodes: &mut Vec<u32>) {
        nodes.clear();
        self.current = window;
        while let Some(&Reverse((far, node))) = self.far.peek().filter(|entry| entry.0.0 - window < NEAR) {
            self.far.pop();
            self.insert(node, far);
        }
        let slot = (window % NEAR) as usize;
        std::mem::swap(&mut self.near[slot], nodes);
        self.occupied[slot / 64] &= !(1 << (slot % 64));
        let due = &mut self.due;
        nodes.retain(|node| {
            let due = &mut due[*node as usize];
            let valid = due.window == window;
            if valid {
                due.window = NOT_DUE;
            } else if due.void == window {
                due.void = NOT_DUE;
            }
            valid
        });
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn windows_are_never_longer_than_asked_and_cover_all_time(width in 2..10_000_000_000_u64, at in 0..1_u64 << 62) {
            let windows = Windows::new(Span::from_ps(width));
            let window = windows.of(Time::from_ps(at));
            let end = windows.end(window);
            prop_assert!(end > Time::from_ps(at));
            prop_assert_eq!(windows.of(end), window + 1);
            prop_assert_eq!(windows.of(Time::from_ps(end.as_ps() - 1)), window);
            let start = if window == 0 { Time::ZERO } else { windows.end(window - 1) };
            prop_assert!(end - start <= Span::from_ps(width));
        }

        #[test]
        fn a_node_kept_busy_before_a_distant_timer_is_entered_for_it_once(timer in 100..20_000_u64) {
            let windows = Windows::new(Span::from_ns(1));
            let mut calendar = Calendar::new(windows, 1);
            let at = |window: u64| windows.end(window - 1);
            let mut nodes = Vec::new();
            for window in 1..100 {
                calendar.schedule(0, at(timer));
                calendar.schedule(0, at(window));
                prop_assert_eq!(calendar.next_window(), Some(window));
                calendar.take(window, &mut nodes);
                prop_assert_eq!(&nodes, &[0]);
            }
            let entries = calendar.far.len() + calendar.near.iter().map(Vec::len).sum::<usize>();
            prop_assert_eq!(entries, 1);
        }

        #[test]
        fn every_node_comes_in_the_window_it_is_due_first(times in prop::collection::vec((0..50_u32, 0..100_000_000_u64), 1..200)) {
            let windows = Windows::new(Span::from_ns(1));
            let mut calendar = Calendar::new(windows, 50);
            let mut expected = std::collections::BTreeMap::new();
            for &(node, at) in &times {
                calendar.schedule(node, Time::from_ps(at));
                let window = windows.of(Time::from_ps(at));
                expected.entry(node).and_modify(|w: &mut u64| *w = window.min(*w)).or_insert(window);
            }
            let mut nodes = Vec::new();
            let mut last = None;
            while let Some(window) = calendar.next_window() {
                prop_assert!(last < Some(window));
                last = Some(window);
                calendar.take(window, &mut nodes);
                for node in &nodes {
                    prop_assert_eq!(expected.remove(node), Some(window));
                }
            }
            prop_assert!(expected.is_empty(), "{:?}", expected);
        }
    }
}
