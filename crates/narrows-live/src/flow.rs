//! A flow of real hosts: what its receiver has read, and what the kernel says of its sender.

use std::mem;

use narrows_proto::stream::Stats;
use narrows_proto::units::{BitRate, Bytes, Time};
use narrows_sim::observe::WindowRow;
use narrows_sim::{FlowId, FlowRecord};

use crate::sys::TcpInfo;

/// A flow that has started.
#[derive(Debug)]
pub(crate) struct Flow {
    incarnation: u64,
    pub(crate) start: Time,
    pub(crate) size: Bytes,
    /// Payload that the receiver has read.
    pub(crate) received: u64,
    pub(crate) end: Option<Time>,
    /// Place of its sending half; none if that is closed.
    pub(crate) sender: Option<usize>,
    pub(crate) delivered: u64,
    /// Payload that was delivered when the measured time began and ended.
    pub(crate) measured: [Option<u64>; 2],
    stats: Stats,
    /// Segments that its sender had received, and expiries of its timer, when its window was recorded last.
    recorded: [u64; 2],
}

impl Flow {
    pub(crate) fn new(incarnation: u64, start: Time, size: Bytes, sender: usize) -> Self {
        Self {
            incarnation,
            start,
            size,
            received: 0,
            end: None,
            sender: Some(sender),
            delivered: 0,
            measured: [None; 2],
            stats: Stats::default(),
            recorded: [0; 2],
        }
    }

    /// Takes over what the kernel counts.
    pub(crate) fn note(&mut self, info: &TcpInfo) {
        // The SYN counts as one.
        self.delivered = info.acknowledged().saturating_sub(1).min(self.size.get());
        self.stats = Stats {
            retransmissions: info.retransmissions(),
            retransmitted: Bytes::new(info.retransmitted()),
            timeouts: info.timeouts(),
            marked: Bytes::new(info.marked() * info.segment()),
            ..Stats::default()
        };
    }

    /// The window as it stands in the scaled time of the fabric. None if nothing has arrived at the sender since the last one and its
    /// timer has not expired: simulated senders that wait are not recorded either, and means of both are of the same moments.
    pub(crate) fn window(&mut self, flow: FlowId, at: Time, info: &TcpInfo, scale: f64) -> Option<WindowRow> {
        let happened = [info.segments_received(), info.timeouts()];
        if mem::replace(&mut self.recorded, happened) == happened {
            return None;
        }
        let pacing = Some(info.pacing()).filter(|pacing| *pacing < u64::MAX);
        let pacing = pacing.map(|bytes| BitRate::from_f64(bytes as f64 * 8.0 * scale));
        let Stats { retransmitted, marked, timeouts, .. } = self.stats;
        Some(WindowRow {
            at,
            flow,
            cwnd: Bytes::new(info.window() * info.segment()),
            pacing,
            inflight: Bytes::new(info.in_flight() * info.segment()),
            srtt: info.rtt(scale),
            delivered: Bytes::new(self.delivered),
            retransmitted,
            marked,
            cnps: 0,
            timeouts,
            messages: 0,
        })
    }

    pub(crate) fn record(&self, flow: FlowId) -> FlowRecord {
        let delivered = if self.end.is_some() { self.size.get() } else { self.delivered };
        // A flow that started later has delivered nothing before.
        let before = self.measured[0].unwrap_or(0);
        let until = self.measured[1].unwrap_or(delivered);
        FlowRecord {
            flow,
            incarnation: self.incarnation,
            size: self.size,
            start: self.start,
            again: false,
            end: self.end,
            delivered: Bytes::new(delivered),
            delivered_measured: Bytes::new(until.saturating_sub(before)),
            stats: self.stats,
        }
    }
}
