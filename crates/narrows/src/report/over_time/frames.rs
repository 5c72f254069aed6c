//! The moving picture: ports over time, in frames.

use serde::Serialize;

use crate::report::fabric::Fabric;
use crate::report::packed::{Array, Packer};
use crate::results::Table;

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
    frame: u64,
    intervals: u64,
    count: usize,
    links: Vec<u32>,
    rates: Vec<u64>,
    queue: Vec<u64>,
    bytes: Vec<u64>,
    paused: Vec<u64>,
    isolated: Vec<u64>,
    drops: Vec<u64>,
    marks: Vec<u64>,
}

/// A table of ports, and the length of its intervals.
#[derive(Clone, Copy, Debug)]
pub(super) struct Recorded<'a> {
    pub(super) table: &'a Table,
    pub(super) interval: u64,
}

impl Recorded<'_> {
    /// When and on which link each row was, and its value in a column.
    pub(super) fn rows(&self, column: &str) -> impl Iterator<Item = (u64, usize, u64)> {
        let [starts, links, values] = ["start_ps", "link", column].map(|name| self.table.integers(name));
        let rows = starts.iter().zip(links).zip(values);
        rows.map(|((start, link), value)| (*start, *link as usize, *value))
    }

    /// Marks the links that it has rows of.
    fn mark(&self, marks: &mut [bool]) {
        for link in self.table.integers("link") {
            if let Some(mark) = marks.get_mut(*link as usize) {
                *mark = true;
            }
        }
    }
}

impl Matrix {
    /// Of a run that ended at `ended`. None if nothing was recorded.
    pub(super) fn new(
        fabric: &Fabric,
        queues: Option<Recorded<'_>>,
        links: Option<Recorded<'_>>,
        ended: u64,
    ) -> Option<Self> {
        let interval = queues.or(links)?.interval;
        let mut queued = vec![false; fabric.links.len()];
        queues.iter().for_each(|queues| queues.mark(&mut queued));
        let mut known = queued.clone();
        links.iter().for_each(|links| links.mark(&mut known));
        let shown: Vec<_> = (0..known.len() as u32).filter(|link| known[*link as usize]).collect();
        let mut place = vec![None; known.len()];
        for (number, link) in shown.iter().enumerate() {
            place[*link as usize] = Some(number);
        }
        let all = ended.div_ceil(interval).max(1);
        let most = FRAMES.min((CELLS / (shown.len() as u64).max(1)).max(1));
        let intervals = all.div_ceil(most);
        let (frame, count) = (interval.saturating_mul(intervals), all.div_ceil(intervals) as usize);
        let zeros = || vec![0_u64; count * shown.len()];
        let rates = shown.iter().map(|link| fabric.links[*link as usize].2).collect();
        let mut matrix = Self {
            frame,
            intervals,
            count,
            rates,
            queue: zeros(),
            bytes: zeros(),
            paused: zeros(),
            isolated: zeros(),
            drops: zeros(),
            marks: zeros(),
            links: shown,
        };
        let cell = |link: usize, at: u64| {
            let port: usize = (*place.get(link)?)?;
            Some(port * count + ((at / frame) as usize).min(count - 1))
        };
        let add = |recorded: Recorded<'_>, column: &str, cells: &mut [u64], join: fn(u64, u64) -> u64| {
            for (start, link, value) in recorded.rows(column) {
                if let Some(cell) = cell(link, start) {
                    cells[cell] = join(cells[cell], value);
                }
            }
        };
        if let Some(queues) = queues {
            add(queues, "max_backlog_bytes", &mut matrix.queue, u64::max);
            add(queues, "max_isolated_bytes", &mut matrix.isolated, u64::max);
            add(queues, "paused_ps", &mut matrix.paused, u64::saturating_add);
            add(queues, "marks", &mut matrix.marks, u64::saturating_add);
            add(queues, "bytes", &mut matrix.bytes, u64::saturating_add);
            add(queues, "drops", &mut matrix.drops, u64::saturating_add);
        }
        if let Some(links) = links {
            // Rows of queues hold the same, and perhaps more often.
            let rest = |(_, link, _): &(u64, usize, u64)| queued.get(*link) == Some(&false);
            for (start, link, bytes) in links.rows("bytes").filter(rest) {
                // An interval that is longer than a frame is spread over frames.
                let end = start.saturating_add(links.interval - 1);
                if let (Some(first), Some(last)) = (cell(link, start), cell(link, end)) {
                    let share = bytes / (last - first + 1) as u64;
                    matrix.bytes[first..=last].iter_mut().for_each(|cell| *cell = cell.saturating_add(share));
                }
            }
            for (start, link, drops) in links.rows("drops").filter(rest) {
                if let Some(cell) = cell(link, start) {
                    matrix.drops[cell] = matrix.drops[cell].saturating_add(drops);
                }
            }
        }
        Some(matrix)
    }

    pub(super) fn frames(self, packer: &mut Packer) -> Frames {
        let most = self.queue.iter().max().copied().unwrap_or(0).max(1);
        let scaled = |value: u64, of: u64, steps: u64| {
            (u128::from(value) * u128::from(steps)).div_ceil(u128::from(of.max(1)))
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
