use std::collections::VecDeque;
use std::ops::Range;

/// A set of sequence numbers as disjoint, sorted ranges: what arrived out of order, what was selectively acknowledged.
///
/// Work at either end is constant, so a window that is repaired from the front while it grows at the back costs no
/// more than its number of segments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RangeSet {
    ranges: VecDeque<Range<u64>>,
}

impl RangeSet {
    /// Total length of its ranges.
    pub(crate) fn total(&self) -> u64 {
        self.ranges.iter().map(|range| range.end - range.start).sum()
    }

    /// Contains nothing.
    pub(crate) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// The lowest range.
    pub(crate) fn first(&self) -> Option<Range<u64>> {
        self.ranges.front().cloned()
    }

    /// Its ranges that reach into `within`, in order, and beyond it.
    pub(crate) fn within(&self, within: Range<u64>) -> impl Iterator<Item = &Range<u64>> {
        let ranges = self.ranges.range(self.position(within.start + 1)..);
        ranges.take_while(move |range| range.start < within.end)
    }

    /// The range that holds `point`.
    pub(crate) fn around(&self, point: u64) -> Option<Range<u64>> {
        self.ranges.get(self.position(point + 1)).filter(|range| range.start <= point).cloned()
    }

    /// Holds every number of `range`.
    pub(crate) fn contains(&self, range: &Range<u64>) -> bool {
        self.around(range.start).is_some_and(|around| range.end <= around.end)
    }

    /// Adds `range` and hands the parts that were missing to `added`, in order.
    pub(crate) fn insert(&mut self, range: Range<u64>, mut added: impl FnMut(Range<u64>)) {
        let from = self.position(range.start);
        let mut merged = range.clone();
        let mut next_missing = range.start;
        let mut to = from;
        while let Some(present) = self.ranges.get(to).filter(|present| present.start <= range.end) {
            if next_missing < present.start {
                added(next_missing..present.start);
            }
            next_missing = present.end;
            merged = merged.start.min(present.start)..merged.end.max(present.end);
            to += 1;
        }
        if next_missing < range.end {
            added(next_missing..range.end);
        }
        if from == to {
            self.ranges.insert(from, merged);
        } else {
            self.ranges[from] = merged;
            self.ranges.drain(from + 1..to);
        }
    }

    /// Forgets everything below `bound`.
    pub(crate) fn remove_below(&mut self, bound: u64) {
        while let Some(first) = self.ranges.front_mut() {
            if first.end > bound {
                first.start = first.start.max(bound);
                break;
            }
            self.ranges.pop_front();
        }
    }

    /// Index of the first range that ends at or after `point`. New data mostly extends the last range.
    fn position(&self, point: u64) -> usize {
        match self.ranges.back() {
            Some(last) if last.end < point => self.ranges.len(),
            Some(last) if last.start <= point => {
                let before = self.ranges.len() - 1;
                if before > 0 && self.ranges[before - 1].end >= point { before - 1 } else { before }
            }
            _ => self.ranges.partition_point(|range| range.end < point),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_is_the_set_of_the_numbers_inserted(steps in prop::collection::vec((0..60_u64, 1..9_u64, any::<bool>()), 0..40)) {
            let mut set = RangeSet::default();
            let mut model = BTreeSet::new();
            for (start, len, remove) in steps {
                if remove {
                    set.remove_below(start);
                    model.retain(|number| *number >= start);
                    continue;
                }
                let mut added = Vec::new();
                set.insert(start..start + len, |range| added.extend(range));
                let missing: Vec<_> = (start..start + len).filter(|number| !model.contains(number)).collect();
                prop_assert_eq!(added, missing);
                model.extend(start..start + len);
            }
            prop_assert_eq!(set.ranges.iter().cloned().flatten().collect::<Vec<_>>(), model.iter().copied().collect::<Vec<_>>());
            prop_assert!(set.ranges.iter().zip(set.ranges.iter().skip(1)).all(|(a, b)| a.end < b.start), "{:?}", set);
            for point in 0..70 {
                prop_assert_eq!(set.around(point).is_some(), model.contains(&point));
                prop_assert_eq!(set.contains(&(point..point + 3)), (point..point + 3).all(|number| model.contains(&number)));
            }
        }
    }
}
