//! Timers of a host.

use narrows_proto::units::Time;

/// Planned action of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Wake {
    /// Look at the sender in this slot.
    Sender(u32),
    /// Look at the receiver in this slot.
    Receiver(u32),
    /// Let this generator go on.
    Generator(u32),
    /// Let this rank go on.
    Rank(u32),
    /// Let mechanisms do what is due.
    Mechanisms,
    /// Let the next sender have its grant.
    Grant,
    /// The measured time begins.
    MeasureFrom,
    /// The measured time ends.
    MeasureUntil,
    /// A report for a flow that waits.
    Report(u32),
    /// A flow that waited starts.
    Dependent(u32),
    /// Flows that still wait may start no more.
    GiveUp,
    /// A packet from outside is ready.
    Outside,
    /// Arrivals are handed over.
    Interrupt,
    /// Software reads a message.
    Message,
    /// Note what flows have delivered.
    Sample(u32),
}

/// Timers of one host in order of `(Time, Wake)`. None is ever canceled: one that moved to a later time wakes early, finds
/// nothing due and is set again.
///
/// Most entries are timeouts far ahead, and of those that come next many were planned a moment ago. So only the next few are
/// kept in order. The others wait in tiers, each without order and before the next, and a tier is split when it comes near.
/// A host with 250 paced flows has 2500 entries, and they cost a fifth of what they cost in a binary heap (`racks-10k-rackcc`).
#[derive(Clone, Debug)]
pub(crate) struct Agenda {
    /// When the next entry is due.
    next: Time,
    /// The next entries, the first of all at the end. Empty only if there is none.
    near: Vec<Entry>,
    /// Entries from here on wait in tiers.
    horizon: Entry,
    /// The latest first.
    tiers: Vec<Tier>,
    /// Room of tiers that are gone.
    spare: Vec<Vec<Entry>>,
}

/// Entries from `from` until the next tier begins.
#[derive(Clone, Debug)]
struct Tier {
    from: Entry,
    entries: Vec<Entry>,
}

/// The most entries that are kept in order.
const NEAR: usize = 64;
/// Of a tier that comes near, the first of so many parts is split off.
const PARTS: usize = 4;

impl Default for Agenda {
    fn default() -> Self {
        Self {
            next: Time::NEVER,
            near: Vec::new(),
            horizon: Entry::LAST,
            tiers: Vec::new(),
            spare: Vec::new(),
        }
    }
}

impl Agenda {
    #[inline]
    pub(crate) fn next(&self) -> Time {
        self.next
    }

    pub(crate) fn plan(&mut self, at: Time, wake: Wake) {
        let entry = Entry::new(at, wake);
        // What is planned often comes next.
        match self.near.last() {
            Some(next) if *next < entry => self.plan_behind(entry),
            _ => {
                self.next = at;
                self.near.push(entry);
            }
        }
    }

    /// Plans what is not the next.
    /// Plans the sample of this number, if there is one.
    pub(crate) fn plan_sample(&mut self, number: u32, moments: &[Time]) {
        if let Some(at) = moments.get(number as usize) {
            self.plan(*at, Wake::Sample(number));
        }
    }

    fn plan_behind(&mut self, entry: Entry) {
        if entry >= self.horizon {
            return self.plan_later(entry);
        }
        let place = self.near.partition_point(|other| *other > entry);
        self.near.insert(place, entry);
        if self.near.len() > NEAR {
            self.put_off();
        }
    }

    /// Takes the next entry, which must exist.
    pub(crate) fn take(&mut self) -> (Time, Wake) {
        let entry = self.near.pop().expect("there is a next entry");
        if self.near.is_empty() && !self.tiers.is_empty() {
            self.draw_near();
        }
        self.next = self.near.last().map_or(Time::NEVER, |entry| entry.at());
        (entry.at(), entry.wake())
    }

    /// The wake after the next, if many are planned.
    #[inline]
    pub(crate) fn soon(&self) -> Option<Wake> {
        let place = self.near.len().checked_sub(2).filter(|_| !self.tiers.is_empty())?;
        Some(self.near[place].wake())
    }

    /// Plans what is not near.
    fn plan_later(&mut self, entry: Entry) {
        if let Some(tier) = self.tiers.iter_mut().find(|tier| tier.from <= entry) {
            tier.entries.push(entry);
        }
    }

    /// Too much is near: moves all but the next few to the nearest tier.
    #[inline(never)]
    fn put_off(&mut self) {
        let later = self.near.drain(..self.near.len() - NEAR / 2);
        let Some(&from) = later.as_slice().last() else { return };
        self.horizon = from;
        match self.tiers.last_mut() {
            Some(tier) => {
                tier.from = from;
                tier.entries.extend(later);
            }
            None => {
                let mut entries = self.spare.pop().unwrap_or_default();
                entries.extend(later);
                self.tiers.push(Tier { from, entries });
            }
        }
    }

    /// Nothing is near any more: the nearest tier is, or its first part.
    #[inline(never)]
    fn draw_near(&mut self) {
        while let Some(tier) = self.tiers.last_mut() {
            let len = tier.entries.len();
            if len > NEAR {
                let left = len - len / PARTS;
                let from = *tier.entries.select_nth_unstable_by(left, |a, b| b.cmp(a)).1;
                let mut entries = self.spare.pop().unwrap_or_default();
                entries.extend(tier.entries.drain(left..));
                let nearer = Tier { from: std::mem::replace(&mut tier.from, from), entries };
                self.tiers.push(nearer);
            } else {
                std::mem::swap(&mut self.near, &mut tier.entries);
                self.spare.extend(self.tiers.pop().map(|tier| tier.entries));
                self.horizon = self.tiers.last().map_or(Entry::LAST, |tier| tier.from);
                if !self.near.is_empty() {
                    break;
                }
            }
        }
        self.near.sort_unstable_by(|a, b| b.cmp(a));
    }
}

/// A time and what was planned then, as a number in the same order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry(u128);

impl Entry {
    /// After all others.
    const LAST: Self = Self(u128::MAX);

    #[inline]
    fn new(at: Time, wake: Wake) -> Self {
        let (kind, number) = match wake {
            Wake::Sender(slot) => (0, slot),
            Wake::Receiver(slot) => (1, slot),
            Wake::Generator(number) => (2, number),
            Wake::Mechanisms => (3, 0),
            Wake::MeasureFrom => (4, 0),
            Wake::MeasureUntil => (5, 0),
            Wake::Report(dependent) => (6, dependent),
            Wake::Dependent(dependent) => (7, dependent),
            Wake::GiveUp => (8, 0),
            Wake::Outside => (9, 0),
            Wake::Interrupt => (10, 0),
            Wake::Message => (11, 0),
            Wake::Sample(number) => (12, number),
            Wake::Rank(number) => (13, number),
            Wake::Grant => (14, 0),
        };
        Self(u128::from(at.as_ps()) << 64 | kind << 32 | u128::from(number))
    }

    #[inline]
    fn at(self) -> Time {
        Time::from_ps((self.0 >> 64) as u64)
    }

    #[inline]
    fn wake(self) -> Wake {
        let number = self.0 as u32;
        match (self.0 >> 32) as u32 {
            0 => Wake::Sender(number),
            1 => Wake::Receiver(number),
            2 => Wake::Generator(number),
            3 => Wake::Mechanisms,
            4 => Wake::MeasureFrom,
            5 => Wake::MeasureUntil,
            6 => Wake::Report(number),
            7 => Wake::Dependent(number),
            8 => Wake::GiveUp,
            9 => Wake::Outside,
            10 => Wake::Interrupt,
            11 => Wake::Message,
            12 => Wake::Sample(number),
            13 => Wake::Rank(number),
            _ => Wake::Grant,
        }
    }
}

#[cfg(test)]
mod tests {
    use narrows_proto::units::Span;
    use proptest::prelude::*;

    use super::*;

    const WAKES: [Wake; 14] = [
        Wake::Sender(0),
        Wake::Sender(u32::MAX),
        Wake::Receiver(7),
        Wake::Generator(3),
        Wake::Mechanisms,
        Wake::MeasureFrom,
        Wake::MeasureUntil,
        Wake::Report(2),
        Wake::Dependent(2),
        Wake::GiveUp,
        Wake::Outside,
        Wake::Interrupt,
        Wake::Message,
        Wake::Sample(9),
    ];

    /// Moments at which things are planned, many of them equal; and nothing where the next entry is taken.
    fn steps(most: usize, moments: u64) -> impl Strategy<Value = Vec<Option<(u64, usize)>>> {
        let plan = prop::option::weighted(0.7, (0..moments, 0..WAKES.len()));
        prop::collection::vec(plan, 0..most)
    }

    /// Plans and takes, and then takes what is left; holds it against a sorted list.
    fn check(steps: Vec<Option<(u64, usize)>>) -> Result<(), TestCaseError> {
        let (mut agenda, mut sorted) = (Agenda::default(), Vec::new());
        let left = std::iter::repeat_n(None, steps.len());
        for step in steps.into_iter().chain(left) {
            if let Some((at, wake)) = step {
                let entry = (Time::ZERO + Span::from_us(at), WAKES[wake]);
                agenda.plan(entry.0, entry.1);
                let place = sorted.partition_point(|other| *other < entry);
                sorted.insert(place, entry);
            } else if !sorted.is_empty() {
                prop_assert_eq!(agenda.take(), sorted.remove(0));
            }
            prop_assert_eq!(agenda.next(), sorted.first().map_or(Time::NEVER, |entry| entry.0));
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn entries_are_taken_in_order(steps in steps(200, 20)) {
            check(steps)?;
        }

        #[test]
        fn many_entries_are_taken_in_order(steps in steps(4000, 1_000_000)) {
            check(steps)?;
        }
    }

    #[test]
    fn entries_that_come_ever_later_are_taken_in_order() {
        check((0..2000).map(|at| Some((at, 0))).collect()).unwrap();
    }

    #[test]
    fn entries_that_come_ever_earlier_are_taken_in_order() {
        check((0..2000).rev().map(|at| Some((at, 0))).collect()).unwrap();
    }

    #[test]
    fn equal_entries_are_all_taken() {
        check(vec![Some((5, 1)); 1000]).unwrap();
    }

    #[test]
    fn an_entry_is_ordered_and_read_back_as_what_was_planned() {
        let wakes = WAKES.map(|wake| Entry::new(Time::ZERO, wake));
        assert!(wakes.is_sorted());
        assert_eq!(wakes.map(Entry::wake), WAKES);
        assert!(Entry::new(Time::NEVER, Wake::MeasureUntil) < Entry::LAST);
        assert_eq!(Entry::new(Time::NEVER, Wake::Mechanisms).at(), Time::NEVER);
    }
}
