use narrows_proto::units::{BitRate, Bytes, Span, Time};

use crate::ids::NodeId;
use crate::observe::rows::{NodeTurns, gather};
use crate::observe::{MechanismEvent, Observer};

/// Something happened to a limiter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimiterEvent {
    /// Whose.
    pub node: NodeId,
    /// Which of the limiters there.
    pub limiter: u32,
    /// Its rate; zero while it is stopped.
    pub rate: BitRate,
    /// Bytes that wait in it.
    pub waiting: u64,
}

/// The state of a limiter at the first event in an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimiterRow {
    /// When.
    pub at: Time,
    /// Whose.
    pub node: NodeId,
    /// Which of the limiters there. Numbers are used again.
    pub limiter: u32,
    /// Its rate; zero while it is stopped.
    pub rate: BitRate,
    /// Bytes that wait in it.
    pub waiting: Bytes,
}

/// Watches limiters: at most one row per limiter and interval.
#[derive(Clone, Debug)]
pub struct LimiterObserver {
    turns: NodeTurns,
    rows: Vec<LimiterRow>,
}

impl LimiterObserver {
    /// Watches the limiters of these of `nodes` nodes.
    ///
    /// # Panics
    /// If the interval is zero.
    pub fn new(interval: Span, nodes: usize, watched: &[NodeId]) -> Self {
        Self { turns: NodeTurns::new(interval, nodes, watched), rows: Vec::new() }
    }

    /// All rows of these observers, by time, node and limiter.
    pub fn finish(observers: impl IntoIterator<Item = Self>) -> Vec<LimiterRow> {
        let mut rows = gather(observers.into_iter().map(|observer| observer.rows));
        rows.sort_by_key(|row| (row.at, row.node, row.limiter));
        rows
    }
}

impl Observer for LimiterObserver {
    const BY_LINK: bool = true;

    fn mechanism(&mut self, at: Time, event: &MechanismEvent) {
        let MechanismEvent::LimiterEvent(LimiterEvent { node, limiter, rate, waiting }) = *event else {
            return;
        };
        if self.turns.take(at, node, limiter.into()) {
            self.rows.push(LimiterRow { at, node, limiter, rate, waiting: Bytes::new(waiting) });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limiter_has_at_most_one_row_per_interval() {
        let mut observer = LimiterObserver::new(Span::from_us(10), 4, &[NodeId(2)]);
        for (us, node, limiter) in [(1, 2, 0), (2, 2, 0), (3, 2, 1), (4, 1, 0), (12, 2, 0)] {
            let at = Time::ZERO + Span::from_us(us);
            let (node, rate) = (NodeId(node), BitRate::from_gbps(us));
            let event = LimiterEvent { node, limiter, rate, waiting: us };
            observer.mechanism(at, &MechanismEvent::LimiterEvent(event));
        }
        let rows = LimiterObserver::finish([observer]);
        let seen: Vec<_> = rows.iter().map(|row| (row.rate.as_bps() / 1_000_000_000, row.limiter)).collect();
        assert_eq!(seen, [(1, 0), (3, 1), (12, 0)]);
    }
}
