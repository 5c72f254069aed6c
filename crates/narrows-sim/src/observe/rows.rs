//! Common parts of observers that keep rows.

use std::sync::atomic::{AtomicU64, Ordering};

use narrows_proto::units::{Span, Time};

use crate::ids::{FlowId, NodeId};

/// The rows of several observers in one list, without a second copy of them if there is one.
pub(crate) fn gather<R>(parts: impl IntoIterator<Item = Vec<R>>) -> Vec<R> {
    let mut parts: Vec<_> = parts.into_iter().collect();
    if parts.len() == 1 {
        return parts.pop().unwrap_or_default();
    }
    let mut rows = Vec::with_capacity(parts.iter().map(Vec::len).sum());
    parts.into_iter().for_each(|mut part| rows.append(&mut part));
    rows
}

/// These rows in the order of their keys, which are below `keys`; those with the same key stay in order.
pub(super) fn counted(
    rows: impl ExactSizeIterator<Item = u32> + Clone,
    keys: usize,
    key: impl Fn(u32) -> usize,
) -> Vec<u32> {
    let mut next = vec![0_u32; keys + 1];
    rows.clone().for_each(|row| next[key(row) + 1] += 1);
    let mut sum = 0;
    for first in &mut next {
        sum += *first;
        *first = sum;
    }
    let mut sorted = vec![0; rows.len()];
    for row in rows {
        let place = &mut next[key(row)];
        sorted[*place as usize] = row;
        *place += 1;
    }
    sorted
}

/// Limit on the rows that the observers of one run keep together. They come with events, so that nothing else bounds them.
#[derive(Debug)]
pub struct RowLimit {
    most: u64,
    asked: AtomicU64,
}

impl RowLimit {
    /// At most so many.
    pub fn new(most: u64) -> Self {
        Self { most, asked: AtomicU64::new(0) }
    }

    /// There were more, which are not kept.
    pub fn is_exceeded(&self) -> bool {
        self.asked.load(Ordering::Relaxed) > self.most
    }

    /// One more row may be kept.
    pub(crate) fn admits(&self) -> bool {
        self.asked.fetch_add(1, Ordering::Relaxed) < self.most
    }
}

/// When the interval after that of `at` begins.
fn next_interval(at: Time, interval: Span) -> Time {
    Time::from_ps((at.as_ps() / interval.as_ps() + 1) * interval.as_ps())
}

/// When the next row of each watched flow is due: the first event of an interval makes one.
#[derive(Clone, Debug)]
pub(super) struct FlowTurns {
    interval: Span,
    /// By flow; never for those that are not watched.
    next: Vec<Time>,
}

impl FlowTurns {
    /// For these of `flows` flows.
    ///
    /// # Panics
    /// If the interval is zero.
    pub(super) fn new(interval: Span, flows: usize, watched: &[FlowId]) -> Self {
        assert!(interval > Span::ZERO, "an interval takes time");
        let mut next = vec![Time::NEVER; flows];
        for flow in watched {
            next[flow.index()] = Time::ZERO;
        }
        Self { interval, next }
    }

    /// Whether a row is due. Then the next is due in the next interval.
    pub(super) fn take(&mut self, at: Time, flow: FlowId) -> bool {
        // Flows that a session adds are not watched.
        let Some(next) = self.next.get_mut(flow.index()).filter(|next| at >= **next) else { return false };
        *next = next_interval(at, self.interval);
        true
    }

    /// Number of flows.
    pub(super) fn flows(&self) -> usize {
        self.next.len()
    }
}

/// When the next row of each thing at watched nodes is due: the first event of an interval makes one.
#[derive(Clone, Debug)]
pub(crate) struct NodeTurns {
    interval: Span,
    /// By node: the keys of what was seen there, in order. None for nodes that are not watched.
    next: Vec<Option<Vec<(u64, Time)>>>,
}

impl NodeTurns {
    /// For these of `nodes` nodes.
    ///
    /// # Panics
    /// If the interval is zero.
    pub(crate) fn new(interval: Span, nodes: usize, watched: &[NodeId]) -> Self {
        assert!(interval > Span::ZERO, "an interval takes time");
        let mut next = vec![None; nodes];
        for node in watched {
            next[node.index()] = Some(Vec::new());
        }
        Self { interval, next }
    }

    /// Whether a row of the thing `key` is due. Then the next is due in the next interval.
    pub(crate) fn take(&mut self, at: Time, node: NodeId, key: u64) -> bool {
        let Some(next) = &mut self.next[node.index()] else { return false };
        let place = next.binary_search_by_key(&key, |(key, _)| *key).unwrap_or_else(|place| {
            next.insert(place, (key, Time::ZERO));
            place
        });
        let due = at >= next[place].1;
        if due {
            next[place].1 = next_interval(at, self.interval);
        }
        due
    }
}
