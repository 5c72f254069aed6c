//! State that a connection keeps from one flow to the next.
//!
//! Sequence numbers, what is on its way, repairs and what is counted of a flow begin anew with each flow, which has a receiver
//! of its own. What is known of the path stays: congestion control, round-trip time, reordering, delivery rate and rounds,
//! and when the next packet may leave. Counts that the controller receives go on.

use super::{Endpoint, Phase, Probe, Repair, Sender, Timer, TimerKind};
use crate::cc::{Cc, Config, Controller, Ecn, Path, Signal};
use crate::stream::delivery::Delivery;
use crate::stream::metrics::{Ended, Remembered};
use crate::stream::pacer::Pacer;
use crate::stream::params::Params;
use crate::stream::rack_tlp::RackTlp;
use crate::stream::rtt::RttEstimator;
use crate::stream::scoreboard::Scoreboard;
use crate::stream::segmentation::{Bursts, Segmentation};
use crate::units::{Bytes, Span, Time};

/// A connection between two flows.
#[derive(Debug)]
pub struct Connection {
    cc: Cc,
    ecn: Ecn,
    rtt: RttEstimator,
    delivery: Delivery,
    rack_tlp: RackTlp,
    pacer: Pacer,
    /// See [`Sender::sampled`].
    sampled: bool,
    /// See [`Sender::not_ect`].
    not_ect: bool,
    /// Payload sent, repetitions included.
    sent: Bytes,
    /// Payload given up as lost.
    lost: Bytes,
}

impl Connection {
    /// The window to begin again with after so long.
    fn restart_window(&self, params: &Params, idle: Span) -> Bytes {
        let first = params.first_window();
        if !params.halve_after_idle {
            return first;
        }
        // Once for each timeout that the idle time exceeds (`tcp_cwnd_restart` of Linux).
        let timeouts = idle.as_ps().saturating_sub(1) / self.rtt.rto().as_ps().max(1);
        let halved = self.cc.limit().cwnd.get().checked_shr(timeouts.try_into().unwrap_or(u32::MAX));
        first.max(Bytes::new(halved.unwrap_or(0)))
    }

    /// One that has not carried anything.
    pub(super) fn new(params: &Params, cc: &Config, at: Endpoint) -> Self {
        let mss = params.mss();
        let path = Path {
            mss,
            initial_window: params.first_window(),
            packet: params.packet_size(mss),
            link: at.link,
            seed: at.seed,
            paced: params.pace_windows,
            merged: params.receive_offload.map_or(1, |offload| offload.segments(mss)),
            offload: params.segmentation.as_ref().map(Segmentation::offload),
            peer_ecn: params.peer_ecn,
        };
        Self {
            cc: cc.build(&path),
            ecn: params.ecn(cc),
            rtt: RttEstimator::new(params.initial_rto, params.min_rto, params.max_rto)
                .with_peaks(params.peak_deviation),
            delivery: Delivery::default(),
            rack_tlp: RackTlp::default(),
            pacer: Pacer::default(),
            sampled: false,
            not_ect: false,
            sent: Bytes::ZERO,
            lost: Bytes::ZERO,
        }
    }
}

impl Sender {
    /// A sender of `size` bytes, at least one, that begins at `now` on a connection that has carried flows before. There is no
    /// handshake; [`start`](Sender::start) is not called.
    ///
    /// If nothing was sent for more than a retransmission timeout the window restarts (RFC 5681 §4.1), unless
    /// [`Params::restart_after_idle`] says otherwise. The time counts from when the last segment was sent that was not a needless
    /// copy.
    pub fn again(mut connection: Connection, params: &Params, now: Time, size: Bytes) -> Self {
        let idle = now.saturating_since(connection.rack_tlp.newest().0);
        let restarts = params.restart_after_idle && idle > connection.rtt.rto();
        connection.cc.on_idle(now, idle, restarts.then(|| connection.restart_window(params, idle)));
        // What is sent next follows a time with nothing to send, so its samples say little of the path.
        connection.delivery.on_idle(Bytes::ZERO);
        connection.rack_tlp.forget_segments();
        let mut sender = Self::on(connection, params, size);
        sender.refresh_limit(params);
        sender
    }

    /// The connection, for the next flow. This one must be complete.
    pub fn into_connection(self) -> Connection {
        debug_assert!(self.is_complete(), "a flow ends before its connection carries another");
        Connection {
            sent: self.sent(),
            lost: self.board.lost(),
            cc: self.cc,
            ecn: self.ecn,
            rtt: self.rtt,
            delivery: self.delivery,
            rack_tlp: self.rack_tlp,
            pacer: self.pacer,
            sampled: self.sampled,
            not_ect: self.not_ect,
        }
    }

    /// Applies what is known of its host, before the first packet of a connection.
    pub fn recall(&mut self, params: &Params, now: Time, known: Remembered) {
        let (rtt, ssthresh) = known.at(now).path();
        if let Some(ssthresh) = ssthresh {
            self.cc.on_signal(now, &Signal::Remembered { ssthresh });
            self.refresh_limit(params);
        }
        self.rtt.recall(rtt);
        self.recalled = rtt;
    }

    /// Values known of its host when this connection ends.
    pub fn remember(&self, params: &Params, now: Time, before: Option<Remembered>) -> Option<Remembered> {
        let settings = params.host_metrics?;
        let mut ssthresh = None;
        self.cc.inside(&mut |name, value| {
            // Infinite before the first congestion.
            if name == "ssthresh_bytes" {
                ssthresh = value.number().filter(|threshold| threshold.is_finite()).map(Bytes::from_f64);
            }
        });
        let ended = Ended {
            srtt: if self.rtt.is_current() { self.rtt.srtt() } else { Span::ZERO },
            cwnd: self.limit.cwnd,
            ssthresh,
            open: self.repair == Repair::None,
        };
        Some(Remembered::after(before, settings, now, &ended))
    }

    /// A flow that has sent nothing.
    pub(super) fn on(connection: Connection, params: &Params, size: Bytes) -> Self {
        let Connection { cc, ecn, rtt, delivery, rack_tlp, pacer, sampled, not_ect, sent, lost } = connection;
        Self {
            size: size.get(),
            mss: params.mss(),
            phase: Phase::Open,
            limit: cc.limit(),
            cc,
            ecn,
            board: Scoreboard::new(lost),
            rtt,
            delivered_before: delivery.delivered(),
            delivery,
            rack_tlp,
            repair: Repair::None,
            prr: None,
            probe: Probe::None,
            troubles: None,
            pacer,
            bursts: Bursts::default(),
            timer: Timer { at: Time::NEVER, kind: TimerKind::Retransmission },
            rto_at: Time::NEVER,
            sampled,
            cwr: false,
            spin: false,
            not_ect,
            edge: params.first_edge(),
            most: params.most_on_its_way(),
            recalled: Span::ZERO,
            limited: [false; 2],
            marked: Bytes::ZERO,
            injected: Time::NEVER,
            sent_besides: sent,
            #[cfg(test)]
            last_ack: None,
        }
    }
}
