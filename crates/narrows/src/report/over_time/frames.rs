//! The moving picture: ports over time, in frames.

use serde::Serialize;

use crate::diagnostic::Checked;
use crate::report::fabric::Fabric;
use crate::report::packed::{Array, Packer};
use crate::results::{Source, Table};

/// The most frames, and ports times frames.
pub(super) const FRAMES: u64 = 4096;
const CELLS: u64 = 2_000_000;

/// State of ports, frame by frame. Arrays hold the frames of the first port, then those of the second, and so on.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Frames {
    /// Length of a frame, ms.
    pub(super) length_ms: f64,
    /// Recorded intervals in a frame.
    pub(super) intervals: u64,
    pub(super) count: usize,
    /// By port: its link.
    pub(super) links: Vec<u32>,
    /// The most bytes that waited in a frame, in 65535ths of `most_bytes`, rounded up.
    pub(super) queue: Array,
    pub(super) most_bytes: u64,
    /// Bits sent in 250ths of what the link could carry.
    pub(super) utilization: Array,
    /// Time that the port was stopped, in 250ths of the frame.
    paused: Array,
    /// The most bytes of isolated flows, in 255ths of `most_bytes`, rounded up.
    isolated: Array,
    /// Packets dropped; 255 and more.
    pub(super) drops: Array,
    /// Packets marked; 255 and more.
    marks: Array,
}

/// Ports times frames.
pub(super) struct Matrix {
    interval: u64,
    frame: u64,
    intervals: u64,
    count: usize,
    /// By link: its place in `links`, if it is shown.
    place: Vec<Option<usize>>,
    links: Vec<u32>,
    rates: Vec<u64>,
    queue: Vec<u64>,
    bytes: Vec<u64>,
    paused: Vec<u64>,
    isolated: Vec<u64>,
    drops: Vec<u64>,
    marks: Vec<u64>,
}

/// A table of ports over time.
pub(super) struct Recorded<'a, S> {
    source: &'a S,
    name: &'static str,
    /// Length of its intervals.
    pub(super) interval: u64,
    /// By link: the largest of some value in its rows; none if it has no rows.
    pub(super) peaks: Vec<Option<u64>>,
}

impl<'a, S: Source> Recorded<'a, S> {
    /// The table of this name and the peaks of a column, in a network of so many links. None if it was not recorded.
    pub(super) fn find(
        source: &'a S,
        name: &'static str,
        interval: Option<u64>,
        column: &str,
        links: usize,
    ) -> Checked<Option<Self>> {
        let Some(interval) = interval else { return Ok(None) };
        let mut peaks = vec![None; links];
        let there = source.parts(name, &["link", column], &mut |part| {
            for (link, value) in part.integers("link").iter().zip(part.integers(column)) {
                if let Some(peak) = peaks.get_mut(*link as usize) {
                    *peak = (*peak).max(Some(*value));
                }
            }
        })?;
        Ok(there.then_some(Self { source, name, interval: interval.max(1), peaks }))
    }

    /// Goes through its rows.
    pub(super) fn parts(&self, columns: &[&str], each: &mut dyn FnMut(&Table)) -> Checked<()> {
        self.source.parts(self.name, columns, each).map(drop)
    }
}

/// When and on which link each row was, and its value in a column.
pub(super) fn rows<'a>(part: &'a Table, column: &str) -> impl Iterator<Item = (u64, usize, u64)> + 'a {
    let [starts, links, values] = ["start_ps", "link", column].map(|name| part.integers(name));
    let rows = starts.iter().zip(links).zip(values);
    rows.map(|((start, link), value)| (*start, *link as usize, *value))
}

impl Matrix {
    /// Of a run that ended at `ended`, before the rows are added. None if nothing was recorded.
    pub(super) fn new<S>(
        fabric: &Fabric,
        queues: Option<&Recorded<'_, S>>,
        links: Option<&Recorded<'_, S>>,
        ended: u64,
    ) -> Option<Self> {
        let interval = queues.or(links)?.interval;
        let has = |recorded: Option<&Recorded<'_, S>>, link: usize| {
            recorded.is_some_and(|recorded| recorded.peaks[link].is_some())
        };
        let is_shown = |link: &u32| has(queues, *link as usize) || has(links, *link as usize);
        let shown: Vec<_> = (0..fabric.links.len() as u32).filter(is_shown).collect();
        let mut place = vec![None; fabric.links.len()];
        for (number, link) in shown.iter().enumerate() {
            place[*link as usize] = Some(number);
        }
        let all = ended.div_ceil(interval).max(1);
        let most = FRAMES.min((CELLS / (shown.len() as u64).max(1)).max(1));
        let intervals = all.div_ceil(most);
        let (frame, count) = (interval.saturating_mul(intervals), all.div_ceil(intervals) as usize);
        let zeros = || vec![0_u64; count * shown.len()];
        let rates = shown.iter().map(|link| fabric.links[*link as usize].2).collect();
        Some(Self {
            interval: links.map_or(interval, |links| links.interval),
            frame,
            intervals,
            count,
            place,
            rates,
            queue: zeros(),
            bytes: zeros(),
            paused: zeros(),
            isolated: zeros(),
            drops: zeros(),
            marks: zeros(),
            links: shown,
        })
    }

    fn cell(&self, link: usize, at: u64) -> Option<usize> {
        let port: usize = (*self.place.get(link)?)?;
        Some(port * self.count + ((at / self.frame) as usize).min(self.count - 1))
    }

    /// Adds rows of queues.
    pub(super) fn add_queues(&mut self, part: &Table) {
        // Found once for all columns: there are many rows.
        let of_rows: Vec<_> = rows(part, "link").map(|(start, link, _)| self.cell(link, start)).collect();
        let add = |column: &str, cells: &mut [u64], join: fn(u64, u64) -> u64| {
            for (cell, value) in of_rows.iter().zip(part.integers(column)) {
                if let Some(cell) = cell {
                    cells[*cell] = join(cells[*cell], *value);
                }
            }
        };
        add("max_backlog_bytes", &mut self.queue, u64::max);
        add("max_isolated_bytes", &mut self.isolated, u64::max);
        add("paused_ps", &mut self.paused, u64::saturating_add);
        add("marks", &mut self.marks, u64::saturating_add);
        add("bytes", &mut self.bytes, u64::saturating_add);
        add("drops", &mut self.drops, u64::saturating_add);
    }

    /// Adds rows of links that have none of queues, which would hold the same, and perhaps more often.
    pub(super) fn add_links<S>(&mut self, part: &Table, queues: Option<&Recorded<'_, S>>) {
        let rest = |(_, link, _): &(u64, usize, u64)| {
            queues.is_none_or(|queues| queues.peaks.get(*link) == Some(&None))
        };
        for (start, link, bytes) in rows(part, "bytes").filter(rest) {
            // An interval that is longer than a frame is spread over frames.
            let end = start.saturating_add(self.interval - 1);
            if let (Some(first), Some(last)) = (self.cell(link, start), self.cell(link, end)) {
                let share = bytes / (last - first + 1) as u64;
                self.bytes[first..=last].iter_mut().for_each(|cell| *cell = cell.saturating_add(share));
            }
        }
        for (start, link, drops) in rows(part, "drops").filter(rest) {
            if let Some(cell) = self.cell(link, start) {
                self.drops[cell] = self.drops[cell].saturating_add(drops);
            }
        }
    }

    pub(super) fn frames(self, packer: &mut Packer) -> Frames {
        let most = self.queue.iter().max().copied().unwrap_or(0).max(1);
        let scaled = |value: u64, of: u64, steps: u64| match value.checked_mul(steps) {
            Some(product) => product.div_ceil(of.max(1)).into(),
            None => (u128::from(value) * u128::from(steps)).div_ceil(u128::from(of.max(1))),
        };
        let capped = |value: &u64| (*value).min(255) as u8;
        let queue: Vec<_> = self.queue.iter().map(|bytes| scaled(*bytes, most, 65_535) as u16).collect();
        let isolated: Vec<_> =
            self.isolated.iter().map(|bytes| scaled(*bytes, most, 255).min(255) as u8).collect();
        let paused: Vec<_> =
            self.paused.iter().map(|time| scaled(*time, self.frame, 250).min(250) as u8).collect();
        let carried = |(cell, bytes): (usize, &u64)| {
            let most = self.rates[cell / self.count] as f64 * self.frame as f64 / 8e12;
            (*bytes as f64 / most * 250.0).round().min(255.0) as u8
        };
        let utilization: Vec<_> = self.bytes.iter().enumerate().map(carried).collect();
        let drops: Vec<_> = self.drops.iter().map(capped).collect();
        let marks: Vec<_> = self.marks.iter().map(capped).collect();
        Frames {
            length_ms: self.frame as f64 / 1e9,
            intervals: self.intervals,
            count: self.count,
            links: self.links,
            queue: packer.shorts(&queue),
            most_bytes: most,
            utilization: packer.bytes(&utilization),
            paused: packer.bytes(&paused),
            isolated: packer.bytes(&isolated),
            drops: packer.bytes(&drops),
            marks: packer.bytes(&marks),
        }
    }
}
