//! BBR version 1: paces at the bandwidth it has measured and keeps about as much in flight as the path holds, whatever is
//! lost.
//!
//! ```text
//! Model       bw      = windowed max of delivery rates, 10 rounds               BBR draft §4.1.1
//!             min_rtt = windowed min of round-trip times, 10 s                  BBR draft §4.1.2
//!             bdp     = bw·min_rtt
//! Pacing      rate    = pacing_gain·bw·0.99; only raised until the pipe is full   BBR draft §4.2.1, Linux
//! Window      target  = cwnd_gain·bdp + extra_acked + 3 quanta, an even number of segments, + 2 while probing up
//!             cwnd    = min(cwnd + acked, target), at least 4 segments          BBR draft §4.2.3, Linux
//! STARTUP     gains 2.885 until bw has not grown by 25 % for 3 rounds           BBR draft §4.3.2
//! DRAIN       pacing gain 1/2.885 until inflight ≤ target(gain 1)                BBR draft §4.3.3
//! PROBE_BW    pacing gains 1.25, 0.75, 1, 1, 1, 1, 1, 1; window gain 2          BBR draft §4.3.4
//!             1.25 ends after min_rtt, with a loss or inflight ≥ target(1.25)
//!             0.75 ends after min_rtt or when inflight ≤ target(1)
//!             1    ends after min_rtt
//! PROBE_RTT   without a new min_rtt for 10 s: 4 segments for 200 ms and a round  BBR draft §4.3.5
//! Loss        cwnd = inflight + acked for a round, then growth; the old cwnd after the repair   BBR draft §4.2.3.4
//! Timeout     cwnd = 1 segment, growth as ever, the old cwnd after the repair     BBR draft §4.2.3.4
//! Policer     two intervals with 20 % loss and equal throughput: bw = that throughput for 48 rounds   Linux
//! Aggregation extra_acked = windowed max of what is acknowledged beyond bw, 5 to 10 rounds            Linux
//! ```
//!
//! Differs from Linux: what has left is what is in flight, so that nothing is deducted for packets that wait for their release.
//! Differs from Linux: the round-trip time of the handshake is not used. The initial window is not paced unless
//! [`Params::initial_rtt`] is set. From the first acknowledgment on the rate is 2.885·cwnd/RTT, as in Linux.
//! Differs from Linux: recovery and `PROBE_RTT` do not restart the count of rounds, which the transport keeps. Each notes
//! for itself when a round has passed.
//! Differs from Linux: `PROBE_RTT` cannot report to the transport that samples are limited by it; they are recognized here by
//! when their data was sent.
//! Differs from Linux: the repair of a timeout ends when as much is delivered as was outstanding. Linux knows when the
//! last of it is acknowledged, which is sooner if a part had arrived before.
//! Differs from Linux: a loss that a timer notices counts with the next acknowledgment.
//! Differs from Linux: at a timeout the policer detector knows of losses before it only.
//! Differs from Linux: after an idle time pacing falls to gain 1 with the first acknowledgment, not with the first
//! packet.
//!
//! "BBR draft" is draft-cardwell-iccrg-bbr-congestion-control-00, "Linux" is `tcp_bbr.c` of 5.10 or later.
//!
//! The transport spreads a recovery with PRR only if the window is less than what is in flight when a loss is noticed. BBR
//! leaves the window alone then, so its packet conservation decides, except where the target fell shortly before (in
//! `PROBE_RTT` or when a high sample expires).

use super::parts::{Aggregation, SplitMix, WindowedMax};
use super::{
    Ack, Algorithm, Congestion, Controller, Described, Ecn, Limit, OutOfRange, Path, Ranges, Reporter,
};
use crate::units::{BitRate, Bytes, Span, Time, WireTime};

mod machine;
mod params;
mod policer;
mod recovery;

#[cfg(test)]
mod tests;
#[cfg(test)]
mod trajectories;

use machine::{FullPipe, Mode};
pub use params::Params;
pub use policer::PolicerParams;
use policer::{Policer, Sign, Totals};
use recovery::Recovery;

/// A BBR sender.
#[derive(Clone, Debug)]
pub struct Bbr(Box<Model>);

impl Algorithm for Bbr {
    type Params = Params;
    const SUMMARY: &'static str =
        "version 1: paces at the bandwidth it measured, window of two bandwidth-delay products";
    const SOURCE: &'static str =
        "Cardwell et al., ACM Queue 2016; draft-cardwell-iccrg-bbr-congestion-control-00; Linux";
    const INSIDE: Described = &[
        ("mode", "`startup`, `drain`, `probe_bw` or `probe_rtt`."),
        ("bandwidth_bps", "The largest delivery rate of the last rounds, payload."),
        ("min_rtt_ps", "The smallest round-trip time of the last ten seconds; no row before there is one."),
        ("pacing_gain", "The factor of the bandwidth at which packets leave."),
        ("cwnd_gain", "The factor of the bandwidth-delay product that the window aims at."),
    ];
    const READS_DELAY: bool = true;

    fn new(params: &Params, path: &Path) -> Self {
        Self(Box::new(Model::new(params, path)))
    }

    fn ecn(_params: &Params) -> Ecn {
        Ecn::Off
    }

    fn check(params: &Params, ranges: &mut Ranges) -> Result<(), OutOfRange> {
        params.check(ranges)
    }
}

impl Controller for Bbr {
    fn on_ack(&mut self, ack: &Ack) {
        self.0.on_ack(ack);
    }

    fn on_congestion(&mut self, now: Time, event: Congestion) {
        self.0.on_congestion(now, event);
    }

    fn limit(&self) -> Limit {
        Limit { cwnd: self.0.cwnd, pacing: self.0.pacing }
    }

    fn inside(&self, report: &mut Reporter<'_>) {
        let model = &self.0;
        report("mode", model.mode.name().into());
        report("bandwidth_bps", model.bandwidth.get().as_f64().into());
        if let Some(min_rtt) = model.min_rtt {
            report("min_rtt_ps", (min_rtt.as_ps() as f64).into());
        }
        let (pacing, window) = model.gains();
        report("pacing_gain", pacing.into());
        report("cwnd_gain", window.into());
    }
}

#[derive(Clone, Debug)]
struct Model {
    params: Params,
    path: Path,
    mode: Mode,
    cwnd: Bytes,
    pacing: Option<BitRate>,
    /// Pacing follows a measured round-trip time.
    seen_rtt: bool,
    /// Payload delivered per time, over rounds.
    bandwidth: WindowedMax<BitRate>,
    round: u64,
    /// The smallest round-trip time, and when it was seen last.
    min_rtt: Option<Span>,
    min_rtt_at: Time,
    full: FullPipe,
    recovery: Recovery,
    policer: Policer,
    aggregation: Aggregation,
    /// Data sent while this much had been delivered, both ends included, was held back by `PROBE_RTT`.
    held_back: Option<(Bytes, Bytes)>,
    random: SplitMix,
    /// After the acknowledgment before: totals, and whether nothing was in flight.
    last: Totals,
    was_empty: bool,
    /// A timeout has given everything up; the losses it counts are no news.
    timed_out: bool,
}

/// Facts about an acknowledgment besides its fields.
#[derive(Clone, Copy, Debug)]
struct News {
    /// Bytes that had been delivered when the newest segment was sent.
    sent_after: Bytes,
    /// Bytes given up as lost since the acknowledgment before.
    lost: Bytes,
    app_limited: bool,
    /// The first acknowledgment after an idle time.
    restart: bool,
}

impl Model {
    fn new(params: &Params, path: &Path) -> Self {
        let mut model = Self {
            params: params.clone(),
            path: *path,
            mode: Mode::Startup,
            cwnd: path.initial_window,
            pacing: None,
            seen_rtt: false,
            bandwidth: WindowedMax::new(BitRate::ZERO),
            round: 0,
            min_rtt: None,
            min_rtt_at: Time::ZERO,
            full: FullPipe::default(),
            recovery: Recovery::new(),
            policer: Policer::new(),
            aggregation: Aggregation::default(),
            held_back: None,
            random: SplitMix::new(path.seed),
            last: Totals { now: Time::ZERO, delivered: Bytes::ZERO, lost: Bytes::ZERO },
            was_empty: false,
            timed_out: false,
        };
        model.pacing = params.initial_rtt.map(|rtt| model.initial_pacing(rtt));
        model
    }

    fn on_ack(&mut self, ack: &Ack) {
        let news = self.digest(ack);
        self.update_bandwidth(ack, &news);
        self.update_aggregation(ack, &news);
        self.advance_cycle(ack, &news);
        self.check_full_pipe(ack, &news);
        self.check_drain(ack);
        self.update_min_rtt(ack, &news);
        self.set_pacing(ack, &news);
        self.set_cwnd(ack, &news);
    }

    fn digest(&mut self, ack: &Ack) -> News {
        let sent_after = ack.delivered.saturating_sub(ack.delivery.delivered);
        let held_back = self.held_back.is_some_and(|(from, to)| (from..=to).contains(&sent_after));
        if self.held_back.is_some_and(|(_, to)| sent_after > to) {
            self.held_back = None;
        }
        let lost = ack.lost.saturating_sub(self.last.lost);
        let news = News {
            sent_after,
            lost: if self.timed_out { Bytes::ZERO } else { lost },
            app_limited: ack.delivery.app_limited || held_back,
            restart: self.was_empty && ack.delivery.app_limited,
        };
        self.last = Totals { now: ack.now, delivered: ack.delivered, lost: ack.lost };
        self.was_empty = ack.inflight == Bytes::ZERO;
        self.timed_out = false;
        news
    }

    /// The bandwidth to work with.
    fn rate(&self) -> BitRate {
        self.policer.rate().unwrap_or(self.bandwidth.get())
    }

    fn update_bandwidth(&mut self, ack: &Ack, news: &News) {
        self.round += u64::from(ack.round_start);
        if self.params.policer_detection {
            let sign = Sign {
                round_start: ack.round_start,
                loss: news.lost > Bytes::ZERO,
                app_limited: news.app_limited,
                probing: self.is_probing(),
            };
            if self.policer.on_sign(&self.params.policer, sign, self.last) {
                self.start_cycle(ack.now);
            }
        }
        // A sender without data says nothing of the path, unless it was faster than ever (BBR draft §4.1.1.4).
        if let Some(rate) =
            ack.delivery.rate().filter(|rate| !news.app_limited || *rate >= self.bandwidth.get())
        {
            self.bandwidth.add(self.params.bandwidth_rounds, self.round, rate);
        }
    }

    fn update_aggregation(&mut self, ack: &Ack, news: &News) {
        if !self.params.ack_aggregation || ack.delivery.interval == Span::ZERO {
            return;
        }
        if news.restart {
            self.aggregation.restart(ack.now);
        }
        // Linux: an epoch ends at 2^20 segments, lest old errors stay.
        let longest = self.path.mss.saturating_mul(1 << 20);
        let (rate, part) = (self.rate(), self.params.extra_acked_rounds);
        self.aggregation.on_ack(ack, rate, self.cwnd, part, longest);
    }

    fn set_pacing(&mut self, ack: &Ack, news: &News) {
        if !self.seen_rtt && ack.srtt > Span::ZERO {
            self.seen_rtt = true;
            self.pacing = Some(self.initial_pacing(ack.srtt));
        }
        let gain = if news.restart && self.is_probing() { 1.0 } else { self.gains().0 };
        let pacing = self.on_wire(self.rate().scaled(gain));
        // A small sample early on must not slow the start down.
        if self.full.reached || self.pacing.is_some_and(|before| pacing > before) {
            self.pacing = Some(pacing);
        }
    }

    fn initial_pacing(&self, rtt: Span) -> BitRate {
        self.on_wire(BitRate::per(self.cwnd, rtt).scaled(self.params.startup_gain))
    }

    fn on_wire(&self, payload: BitRate) -> BitRate {
        let rate = self.path.on_wire(payload.scaled(1.0 - self.params.pacing_margin));
        rate.clamp(WireTime::MIN_RATE, WireTime::MAX_RATE)
    }

    /// Segments that leave the host in one piece (`bbr_tso_segs_goal` of Linux).
    fn quantum(&self) -> u64 {
        self.params.send_quantum.or_else(|| self.path.burst(self.pacing)).unwrap_or(1)
    }

    /// `gain` products of `rate`, and what it takes to use them.
    fn window(&self, rate: BitRate, gain: f64, extra: Bytes) -> Bytes {
        let product = self.min_rtt.map_or(self.path.initial_window, |min| {
            Bytes::from_f64(rate.as_f64() / 8.0 * min.as_secs_f64() * gain)
        });
        let segments = product.saturating_add(extra).div_ceil(self.path.mss);
        // One quantum each waits at the sender, is on its way, and is being acknowledged.
        let segments = segments.saturating_add(3 * self.quantum());
        // An even number takes fewer delayed acknowledgments; two more let a small window probe.
        let segments = segments.saturating_add(segments % 2);
        let probe = u64::from(matches!(self.mode, Mode::ProbeBw { phase: 0, .. })) * 2;
        self.path.mss.saturating_mul(segments.saturating_add(probe))
    }

    fn set_cwnd(&mut self, ack: &Ack, news: &News) {
        let (mut cwnd, settled) = self.recovery.window(ack, news.sent_after, news.lost, self.cwnd);
        let least = self.path.mss * self.params.min_window;
        if !settled {
            let rate = self.rate();
            let extra = if self.params.ack_aggregation && self.full.reached {
                self.aggregation.extra(rate, self.params.extra_acked_limit)
            } else {
                Bytes::ZERO
            };
            let target = self.window(rate, self.gains().1, extra);
            let grown = cwnd.saturating_add(ack.acked);
            if self.full.reached {
                cwnd = grown.min(target);
            } else if cwnd < target || ack.delivered < self.path.initial_window {
                cwnd = grown;
            }
            cwnd = cwnd.max(least);
        }
        if let Mode::ProbeRtt { .. } = self.mode {
            cwnd = cwnd.min(least);
        }
        self.cwnd = cwnd.max(self.path.mss);
    }

    fn on_congestion(&mut self, _now: Time, event: Congestion) {
        let held = matches!(self.mode, Mode::ProbeRtt { .. });
        match event {
            Congestion::Loss { .. } => self.recovery.on_loss(self.cwnd, held),
            // It needs no marks.
            Congestion::Mark { .. } => {}
            Congestion::Timeout { flight_size, .. } => {
                self.recovery.on_timeout(self.cwnd, held, self.last.delivered, flight_size);
                self.cwnd = self.path.mss;
                self.timed_out = true;
                self.full.rate = BitRate::ZERO;
                self.policer_after_timeout();
            }
            Congestion::Spurious => {
                self.cwnd = self.recovery.leave(self.cwnd);
                if held {
                    self.cwnd = self.cwnd.min(self.path.mss * self.params.min_window);
                }
                // The losses were none, so they say nothing of the pipe or of a policer.
                self.full.rate = BitRate::ZERO;
                self.full.rounds = 0;
                self.policer.reset();
            }
        }
    }

    /// Linux: a timeout counts as a round with a loss.
    fn policer_after_timeout(&mut self) {
        if self.params.policer_detection {
            let probing = self.is_probing();
            let sign = Sign { round_start: true, loss: true, app_limited: false, probing };
            if self.policer.on_sign(&self.params.policer, sign, self.last) {
                self.start_cycle(self.last.now);
            }
        }
    }
}
