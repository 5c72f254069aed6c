use narrows_proto::cnm::Signal;
use narrows_proto::units::{BitRate, Bytes, Span, Time};

use super::rows::{FlowTurns, gather};
use super::{Observer, SenderRef};
use crate::ids::FlowId;

/// The state of a sender at its first acknowledgment in an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowRow {
    /// When.
    pub at: Time,
    /// Whose.
    pub flow: FlowId,
    /// Congestion window, payload.
    pub cwnd: Bytes,
    /// Pacing rate, if the sender is paced.
    pub pacing: Option<BitRate>,
    /// Payload in flight, before the acknowledgment allows more to be sent.
    pub inflight: Bytes,
    /// Smoothed round-trip time.
    pub srtt: Span,
    /// Payload delivered since the flow began.
    pub delivered: Bytes,
    /// Payload retransmitted since the flow began.
    pub retransmitted: Bytes,
    /// Payload acknowledged as marked since the flow began.
    pub marked: Bytes,
    /// Congestion notification packets received since the flow began.
    pub cnps: u64,
    /// Expiries of its timer since the flow began.
    pub timeouts: u64,
    /// Messages of congestion points that its host has received since the run began.
    pub messages: u64,
}

/// Watches senders: at most one row per flow and interval.
#[derive(Clone, Debug)]
pub struct WindowObserver {
    turns: FlowTurns,
    /// By flow: messages of congestion points so far; empty before the first.
    messages: Vec<u64>,
    rows: Vec<WindowRow>,
}

impl WindowObserver {
    /// Watches these of `flows` flows.
    ///
    /// # Panics
    /// If the interval is zero.
    pub fn new(interval: Span, flows: usize, watched: &[FlowId]) -> Self {
        let turns = FlowTurns::new(interval, flows, watched);
        Self { turns, messages: Vec::new(), rows: Vec::new() }
    }

    /// All rows of these observers, by time and flow.
    pub fn finish(observers: impl IntoIterator<Item = Self>) -> Vec<WindowRow> {
        let mut rows = gather(observers.into_iter().map(|observer| observer.rows));
        rows.sort_by_key(|row| (row.at, row.flow));
        rows
    }
}

impl Observer for WindowObserver {
    const BY_LINK: bool = true;

    fn window(&mut self, at: Time, flow: FlowId, sender: SenderRef<'_>) {
        if !self.turns.take(at, flow) {
            return;
        }
        let (limit, stats) = (sender.limit(), sender.stats());
        self.rows.push(WindowRow {
            at,
            flow,
            cwnd: limit.cwnd,
            pacing: limit.pacing,
            inflight: sender.inflight(),
            srtt: sender.srtt(),
            delivered: sender.delivered(),
            retransmitted: stats.retransmitted,
            marked: stats.marked,
            cnps: stats.cnps,
            timeouts: stats.timeouts,
            messages: self.messages.get(flow.index()).copied().unwrap_or(0),
        });
    }

    fn cnm_received(&mut self, _: Time, flow: FlowId, _: Signal) {
        self.messages.resize(self.turns.flows(), 0);
        if let Some(messages) = self.messages.get_mut(flow.index()) {
            *messages += 1;
        }
    }
}
