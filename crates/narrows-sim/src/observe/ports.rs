use narrows_proto::cnm::Signal;
use narrows_proto::units::{Span, Time};

use super::Observer;
use super::rows::{counted, gather};
use crate::ids::LinkId;
use crate::record::{DropCause, counters, keep, sum};

counters! {
    /// Activity of a port in one interval. Intervals in which nothing waited, left, was marked or dropped have no row.
    pub struct PortRow {
        /// When the interval began.
        pub start: Time = keep,
        /// The port.
        pub link: LinkId = keep,
        /// The most bytes that waited.
        pub max_backlog: u64 = sum,
        /// The most bytes that waited in a side queue.
        pub max_side: u64 = sum,
        /// Bytes that waited on average over time.
        pub mean_backlog: f64 = sum,
        /// Packets that began to be sent.
        pub packets: u64 = sum,
        /// Bytes of those, framing included.
        pub bytes: u64 = sum,
        /// Packets marked.
        pub marks: u64 = sum,
        /// Packets dropped at the port or lost on its link.
        pub drops: u64 = sum,
        /// Messages of its congestion points.
        pub messages: u64 = sum,
        /// Time for which the node at the far end paused it.
        pub paused: Span = sum,
    }
}

/// Watches ports: how much waits, leaves, is marked and dropped, interval by interval.
#[derive(Clone, Debug)]
pub struct PortObserver {
    interval: Span,
    /// By link: its place in `watched`, or [`NOT_WATCHED`].
    place: Vec<u32>,
    watched: Vec<Watched>,
    /// Packets lost on the links of these ports, reported by the far end: (interval, packets).
    lost: Vec<(u64, u64)>,
    rows: Vec<PortRow>,
}

/// The place of a link that is not watched.
const NOT_WATCHED: u32 = u32::MAX;

/// One port in its current interval.
#[derive(Clone, Debug)]
struct Watched {
    /// When the next interval begins: whether an event belongs to this one is known without a division.
    end: Time,
    /// Bytes that wait now, and since when they are accounted for.
    backlog: u64,
    since: Time,
    paused_until: Time,
    /// Byte-picoseconds.
    area: u128,
    side: u64,
    row: PortRow,
}

impl PortObserver {
    /// Watches these of `links` links.
    ///
    /// # Panics
    /// If the interval is zero.
    pub fn new(interval: Span, links: usize, watched: &[LinkId]) -> Self {
        assert!(interval > Span::ZERO, "an interval takes time");
        let mut place = vec![NOT_WATCHED; links];
        for (number, link) in (0..).zip(watched) {
            place[link.index()] = number;
        }
        let watched: Vec<_> = watched.iter().map(|link| Watched::new(*link, interval)).collect();
        Self { interval, place, lost: vec![(0, 0); watched.len()], watched, rows: Vec::new() }
    }

    /// Notes what was lost on the link of the port at `place` in the interval that is over.
    fn close_lost(&mut self, place: usize) {
        let (interval, drops) = self.lost[place];
        if drops > 0 {
            let start = Time::from_ps(interval * self.interval.as_ps());
            self.rows.push(PortRow { drops, ..PortRow::new(start, self.watched[place].row.link, 0) });
        }
    }

    /// The row in which what happens at `at` is noted.
    #[inline(always)]
    fn row(&mut self, at: Time, link: LinkId) -> Option<&mut PortRow> {
        let watched = self.reach(at, link)?;
        Some(&mut watched.row)
    }

    #[inline(always)]
    fn reach(&mut self, at: Time, link: LinkId) -> Option<&mut Watched> {
        let watched = self.watched.get_mut(self.place[link.index()] as usize)?;
        watched.reach(at, self.interval.as_ps(), &mut self.rows);
        Some(watched)
    }

    /// All rows of these observers, by time and link. `end` is when the run ended.
    pub fn finish(observers: impl IntoIterator<Item = Self>, end: Time) -> Vec<PortRow> {
        let mut interval = Span::ZERO;
        let finish = |mut observer: Self| {
            interval = observer.interval;
            let length = interval.as_ps();
            for place in 0..observer.watched.len() {
                observer.close_lost(place);
                let Self { watched, rows, .. } = &mut observer;
                watched[place].reach(end, length, rows);
                watched[place].close(end, rows);
            }
            observer.rows
        };
        let mut rows = in_order(gather(observers.into_iter().map(finish)), interval);
        rows.dedup_by(|part, sum| {
            let same = (part.start, part.link) == (sum.start, sum.link);
            if same {
                sum.add(part);
            }
            same
        });
        rows
    }
}

/// The rows by time and link. Both are small numbers, so that each row is counted into its place, unless nothing happened in most
/// intervals.
fn in_order(mut rows: Vec<PortRow>, interval: Span) -> Vec<PortRow> {
    let last = |of: fn(&PortRow) -> u64| rows.iter().map(of).max().unwrap_or(0);
    let (links, length) = (last(|row| row.link.0.into()) + 1, interval.as_ps().max(1));
    let intervals = last(|row| row.start.as_ps()) / length + 1;
    let most = links.max(intervals).max(rows.len() as u64);
    if most > 4 * rows.len() as u64 || u32::try_from(most).is_err() {
        rows.sort_by_key(|row| (row.start, row.link));
        return rows;
    }
    let by_link = counted(0..rows.len() as u32, links as usize, |row| rows[row as usize].link.index());
    // In the order of links rows are far from each other; their numbers alone stay in the cache.
    let number = |row: &PortRow| (row.start.as_ps() / length) as u32;
    let numbers: Vec<u32> = rows.iter().map(number).collect();
    let order = counted(by_link.into_iter(), intervals as usize, |row| numbers[row as usize] as usize);
    order.into_iter().map(|row| rows[row as usize]).collect()
}

impl PortRow {
    fn new(start: Time, link: LinkId, max_backlog: u64) -> Self {
        Self { start, link, max_backlog, ..Self::default() }
    }
}

impl Watched {
    fn new(link: LinkId, interval: Span) -> Self {
        Self {
            end: Time::ZERO + interval,
            backlog: 0,
            since: Time::ZERO,
            paused_until: Time::ZERO,
            area: 0,
            side: 0,
            row: PortRow::new(Time::ZERO, link, 0),
        }
    }

    /// Lets time pass until `at`, closing intervals of `length` picoseconds.
    #[inline(always)]
    fn reach(&mut self, at: Time, length: u64, rows: &mut Vec<PortRow>) {
        if at >= self.end {
            self.turn(at, length, rows);
        }
        self.accumulate(at);
    }

    /// Closes all intervals before that of `at`.
    #[inline(never)]
    fn turn(&mut self, at: Time, length: u64, rows: &mut Vec<PortRow>) {
        while at >= self.end {
            let end = self.end;
            self.accumulate(end);
            self.close(end, rows);
            // Nothing happens while nothing waits.
            let idle = self.backlog == 0 && self.paused_until <= end;
            let start = if idle { at.as_ps() / length * length } else { end.as_ps() };
            self.since = Time::from_ps(start);
            self.end = Time::from_ps(start + length);
            self.row =
                PortRow { max_side: self.side, ..PortRow::new(self.since, self.row.link, self.backlog) };
        }
    }

    #[inline(always)]
    fn accumulate(&mut self, until: Time) {
        if self.backlog > 0 {
            self.area += u128::from(self.backlog) * u128::from(until.saturating_since(self.since).as_ps());
        }
        if self.paused_until > self.since {
            self.row.paused += until.min(self.paused_until).saturating_since(self.since);
        }
        self.since = until;
    }

    fn close(&mut self, end: Time, rows: &mut Vec<PortRow>) {
        let lasted = end.saturating_since(self.row.start).as_ps();
        let row = PortRow { mean_backlog: self.area as f64 / lasted.max(1) as f64, ..self.row };
        let waited = lasted > 0 && row.max_backlog > 0;
        if waited || row.paused > Span::ZERO || row.packets + row.marks + row.drops + row.messages > 0 {
            rows.push(row);
        }
        self.area = 0;
    }
}

impl Observer for PortObserver {
    const BY_LINK: bool = true;

    #[inline]
    fn backlog(&mut self, at: Time, link: LinkId, backlog: u64) {
        let Some(watched) = self.reach(at, link) else { return };
        watched.backlog = backlog;
        watched.row.max_backlog = watched.row.max_backlog.max(backlog);
    }

    fn side_backlog(&mut self, at: Time, link: LinkId, backlog: u64) {
        let Some(watched) = self.reach(at, link) else { return };
        watched.side = backlog;
        watched.row.max_side = watched.row.max_side.max(backlog);
    }

    #[inline]
    fn left(&mut self, at: Time, link: LinkId, size: u16, backlog: u64) {
        let Some(watched) = self.reach(at, link) else { return };
        debug_assert!(
            backlog <= watched.backlog,
            "{backlog} of {} wait when a packet has left",
            watched.backlog
        );
        watched.backlog = backlog;
        watched.row.packets += 1;
        watched.row.bytes += u64::from(size);
    }

    #[inline]
    fn sent(&mut self, at: Time, link: LinkId, size: u16) {
        let Some(row) = self.row(at, link) else { return };
        row.packets += 1;
        row.bytes += u64::from(size);
    }

    fn marked(&mut self, at: Time, link: LinkId) {
        let Some(row) = self.row(at, link) else { return };
        row.marks += 1;
    }

    fn dropped(&mut self, at: Time, link: LinkId, _size: u16, _cause: DropCause) {
        let Some(row) = self.row(at, link) else { return };
        row.drops += 1;
    }

    fn notified(&mut self, at: Time, link: LinkId, _signal: Signal) {
        let Some(row) = self.row(at, link) else { return };
        row.messages += 1;
    }

    fn paused(&mut self, at: Time, link: LinkId, until: Time) {
        let Some(watched) = self.reach(at, link) else { return };
        watched.paused_until = until;
    }

    fn lost(&mut self, at: Time, link: LinkId, _size: u16, _cause: DropCause) {
        let place = self.place[link.index()] as usize;
        let Some((current, drops)) = self.lost.get(place).copied() else { return };
        let interval = at.as_ps() / self.interval.as_ps();
        if current != interval {
            self.close_lost(place);
        }
        self.lost[place] = (interval, if current == interval { drops + 1 } else { 1 });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINK: LinkId = LinkId(3);

    fn at(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    fn observer() -> PortObserver {
        PortObserver::new(Span::from_us(10), 8, &[LINK])
    }

    #[test]
    fn the_mean_is_over_time_and_the_maximum_over_moments() {
        let mut observer = observer();
        observer.backlog(at(2), LINK, 1000);
        observer.backlog(at(7), LINK, 3000);
        observer.backlog(at(9), LINK, 0);
        let rows = PortObserver::finish([observer], at(100));
        assert_eq!(rows.len(), 1);
        // 5 us of 1000 B and 2 us of 3000 B in 10 us.
        assert_eq!((rows[0].max_backlog, rows[0].mean_backlog), (3000, 1100.0));
    }

    #[test]
    fn a_backlog_that_lasts_has_a_row_in_every_interval() {
        let mut observer = observer();
        observer.backlog(at(5), LINK, 1000);
        observer.backlog(at(35), LINK, 0);
        let means: Vec<_> =
            PortObserver::finish([observer], at(100)).iter().map(|row| row.mean_backlog).collect();
        assert_eq!(means, [500.0, 1000.0, 1000.0, 500.0]);
    }

    #[test]
    fn the_time_a_port_is_paused_is_split_among_intervals() {
        let mut observer = observer();
        observer.paused(at(5), LINK, at(100));
        observer.paused(at(32), LINK, at(32));
        let rows = PortObserver::finish([observer], at(100));
        let paused: Vec<_> = rows.iter().map(|row| row.paused.as_ps() / 1_000_000).collect();
        assert_eq!(paused, [5, 10, 10, 2]);
    }

    #[test]
    fn what_is_sent_marked_and_dropped_is_counted_where_it_happens() {
        let mut observer = observer();
        observer.sent(at(1), LINK, 100);
        observer.marked(at(3), LINK);
        observer.dropped(at(11), LINK, 100, DropCause::BufferFull);
        observer.sent(at(12), LINK, 200);
        observer.lost(at(7), LINK, 100, DropCause::LinkError);
        observer.sent(at(13), LinkId(4), 999);
        let rows = PortObserver::finish([observer], at(100));
        let counted: Vec<_> = rows.iter().map(|row| (row.bytes, row.marks, row.drops)).collect();
        assert_eq!(counted, [(100, 1, 1), (200, 0, 1)]);
    }
}
