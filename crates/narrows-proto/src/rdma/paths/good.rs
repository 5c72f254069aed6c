//! Values that came back good.

/// A ring of values, each to be used once, oldest first. The newest takes the place of the oldest.
#[derive(Clone, Debug)]
pub(super) struct Good {
    ring: Box<[u16]>,
    /// Place of the next value.
    head: usize,
    /// Places that have a value, used or not.
    filled: usize,
    /// The newest values, which are not used yet.
    fresh: usize,
    /// Place of the next value of a [cycle](Self::cycle).
    cursor: usize,
}

impl Good {
    pub(super) fn new(size: u32) -> Self {
        let ring = vec![0; size as usize].into_boxed_slice();
        Self { ring, head: 0, filled: 0, fresh: 0, cursor: 0 }
    }

    pub(super) fn put(&mut self, value: u16) {
        let size = self.ring.len();
        self.ring[self.head] = value;
        self.head = if self.head + 1 == size { 0 } else { self.head + 1 };
        self.filled = (self.filled + 1).min(size);
        self.fresh = (self.fresh + 1).min(size);
    }

    /// The oldest value that is not used, which is used now.
    pub(super) fn take(&mut self) -> Option<u16> {
        let back = self.fresh;
        self.fresh = back.checked_sub(1)?;
        let place = if self.head >= back { self.head - back } else { self.head + self.ring.len() - back };
        Some(self.ring[place])
    }

    /// One value after the other, used or not; none if there never was one.
    pub(super) fn cycle(&mut self) -> Option<u16> {
        if self.filled == 0 {
            return None;
        }
        if self.cursor >= self.filled {
            self.cursor = 0;
        }
        let value = self.ring[self.cursor];
        self.cursor += 1;
        Some(value)
    }

    pub(super) fn clear(&mut self) {
        *self = Self { ring: std::mem::take(&mut self.ring), head: 0, filled: 0, fresh: 0, cursor: 0 };
    }
}
