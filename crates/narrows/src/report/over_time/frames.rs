//! The moving picture: ports over time, in frames.

use serde::Serialize;

use crate::report::fabric::Fabric;
use crate::report::packed::{Array, Packer};
use crate::results::Table;

/// Frames at the most, and ports times frames.
pub(super) const FRAMES: u64 = 4096;
const CELLS: u64 = 2_000_000;

/// What ports did, frame by frame. Arrays hold the frames of the first port, then those of the second, and so on.
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
    pub(super) utilisation: Array,
    /// Time that the port was stopped, in 250ths of the frame.
    paused: Array,
    /// The most bytes of isolated flows, in 255ths of `most_bytes`, rounded up.
    isolated: Array,
    /// Packets dropped; 255 and more.
    drops: Array,
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

impl Matrix {
    pub(super) fn new(
        fabric: &Fabric,
        queues: Option<&Table>,
        links: Option<&Table>,
        interval: u64,
        ended: u64,
    ) -> Self {
        let mut known = vec![false; fabric.links.len()];
        let tables = || queues.into_iter().chain(links);
        for link in tables().flat_map(|table| table.integers("link")) {
            if let Some(known) = known.get_mut(*link as usize) {
                *known = true;
            }
        }
        let shown: Vec<_> = (0..known.len() as u32).filter(|link| known[*link as usize]).collect();
        let mut place = vec![None; known.len()];
        for (number, link) in shown.iter().enumerate() {
            place[*link as usize] = Some(number);
        }
        let all = ended.div_ceil(interval).max(1);
        let most = FRAMES.min((CELLS / (shown.len() as u64).max(1)).max(1));
        let intervals = all.div_ceil(most);
        let (frame, count) = (interval.saturating_mul(intervals), all.div_ceil(intervals) as usize);
        let cells = count * shown.len();
        let rates = shown.iter().map(|link| fabric.links[*link as usize].2).collect();
        let zeros = || vec![0_u64; cells];
        let mut matrix = Self {
            frame,
            intervals,
            count,
            links: shown,
            rates,
            queue: zeros(),
            bytes: zeros(),
            paused: zeros(),
            isolated: zeros(),
            drops: zeros(),
            marks: zeros(),
        };
        let add = |table: &Table, column: &str, sums: &mut Vec<u64>, most: bool| {
            let rows =
                table.integers("start_ps").iter().zip(table.integers("link")).zip(table.integers(column));
            for ((start, link), value) in rows {
                let Some(Some(port)) = place.get(*link as usize) else { continue };
                let cell = port * count + ((start / frame) as usize).min(count - 1);
                sums[cell] = if most { sums[cell].max(*value) } else { sums[cell].saturating_add(*value) };
            }
        };
        if let Some(queues) = queues {
            add(queues, "max_backlog_bytes", &mut matrix.queue, true);
            add(queues, "max_isolated_bytes", &mut matrix.isolated, true);
            add(queues, "paused_ps", &mut matrix.paused, false);
            add(queues, "marks", &mut matrix.marks, false);
        }
        // A link that is in both tables counts once. Where queues are recorded, their rows hold the bytes as well.
        let mut carried = zeros();
        for table in tables() {
            let (mut bytes, mut drops) = (zeros(), zeros());
            add(table, "bytes", &mut bytes, false);
            add(table, "drops", &mut drops, false);
            for cell in 0..cells {
                carried[cell] = carried[cell].max(bytes[cell]);
                matrix.drops[cell] = matrix.drops[cell].max(drops[cell]);
            }
        }
        matrix.bytes = carried;
        matrix
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
        let utilisation: Vec<_> = self.bytes.iter().enumerate().map(carried).collect();
        let drops: Vec<_> = self.drops.iter().map(capped).collect();
        let marks: Vec<_> = self.marks.iter().map(capped).collect();
        Frames {
            length_ms: self.frame as f64 / 1e9,
            intervals: self.intervals,
            count: self.count,
            links: self.links,
            queue: packer.shorts(&queue),
            most_bytes: most,
            utilisation: packer.bytes(&utilisation),
            paused: packer.bytes(&paused),
            isolated: packer.bytes(&isolated),
            drops: packer.bytes(&drops),
            marks: packer.bytes(&marks),
        }
    }
}
