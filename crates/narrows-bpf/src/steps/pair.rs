//! A connection under both, and how far they may be apart.

use narrows_proto::cc::{self, Controller, Inside, Signal};
use narrows_proto::units::{Bytes, Span, Time};

use super::core::{Ack, Core, Dctcp, Gemini};
use crate::{DctcpParams, GeminiParams};

/// Bytes of a segment.
pub(super) const SEGMENT: u64 = 1 << 32;

const U: f64 = 1.0 / SEGMENT as f64;
const V: f64 = 2.0 * U;

/// Differences that rounding explains.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Errors {
    cwnd: f64,
    ssthresh: f64,
    alpha: f64,
    /// Of window and threshold before the last loss.
    before: (f64, f64),
    /// Of what was acknowledged towards the next segment.
    credit: f64,
}

/// Formulas of a control that its errors follow.
pub(super) trait Bounded: Core {
    /// g.
    fn gain(params: &Self::Params) -> f64;
    /// The error of the part of the window that a mark or a delay takes. `alpha` is that of alpha.
    fn of_cut(&self, params: &Self::Params, alpha: f64) -> f64;
    /// The error of the window after growth beyond slow start, from that before.
    fn grown(&self, params: &Self::Params, acked: u32, e: &Errors) -> f64;
    /// This acknowledgment adds a segment or not, and the error decides.
    fn is_tie(&self, _acked: u32, _e: &Errors) -> bool {
        false
    }
}

impl Bounded for Gemini {
    fn gain(params: &GeminiParams) -> f64 {
        f64::from(params.gain) * V
    }

    fn of_cut(&self, params: &GeminiParams, alpha: f64) -> f64 {
        let base = f64::from(self.base_rtt_us.min(1 << 26));
        let (bits, scale) = (params.capacity as f64 / 1024.0 * base, f64::from(self.scale) / 2_f64.powi(29));
        let of_scale = scale / (bits + params.threshold as f64) + 2_f64.powi(-28);
        f64::from(self.fraction.alpha) * V * of_scale + scale * alpha + 4.0 * U
    }

    fn grown(&self, params: &GeminiParams, acked: u32, e: &Errors) -> f64 {
        let (h, unit) = (f64::from(self.increase) / 2_f64.powi(22), 2_f64.powi(-22));
        let most = f64::from(params.max_increase) * unit;
        let of_h = most * (2_f64.powi(-30) + 2.0 / (params.largest_product as f64).max(1.0)) + 2.0 * unit;
        let (acked, cwnd) = (f64::from(acked.min(1 << 16)), self.window.cwnd as f64 * U);
        let slope = (1.0 - h * acked / (cwnd - e.cwnd).powi(2)).abs().max(1.0);
        let step = h * acked / cwnd;
        e.cwnd * slope + acked / cwnd * of_h + step * 2_f64.powi(-20) / cwnd + 2.0 * U
    }
}

impl Bounded for Dctcp {
    fn gain(params: &DctcpParams) -> f64 {
        f64::from(params.gain) * V
    }

    fn of_cut(&self, _params: &DctcpParams, alpha: f64) -> f64 {
        alpha / 2.0 + U
    }

    fn grown(&self, _params: &DctcpParams, _acked: u32, e: &Errors) -> f64 {
        e.cwnd
    }

    fn is_tie(&self, acked: u32, e: &Errors) -> bool {
        let credit = (self.window.credit + (u64::from(acked) << 32)) as f64 * U;
        let margin = (credit - self.window.cwnd as f64 * U).abs();
        margin > 0.0 && margin <= e.cwnd + e.credit
    }
}

/// Something that happens to a connection; amounts in segments.
#[derive(Clone, Copy, Debug)]
pub(super) enum Event {
    Handshake { rtt_us: u32 },
    Ack(Ack),
    Loss { flight: u32 },
    Timeout { flight: u32, repeated: bool },
    Spurious,
    Idle { restart: Option<u32> },
}

/// A connection under both.
pub(super) struct Pair<C: Core, R> {
    params: C::Params,
    core: C,
    original: R,
    errors: Errors,
}

impl<C: Bounded, R: Controller> Pair<C, R> {
    pub(super) fn new(params: C::Params, window: u32, original: R) -> Self {
        let core = C::init(&params, window);
        Self { params, core, original, errors: Errors::default() }
    }

    /// A step of both, and the comparison. Returns false, and does nothing, if an error decides what happens.
    pub(super) fn step(&mut self, now_us: u64, event: Event) -> bool {
        let window = *self.core.window();
        let (cwnd, ssthresh, _) = self.of_original();
        // The window of the original is read in whole units.
        let in_slow_start = cwnd + U < ssthresh;
        let grows =
            matches!(event, Event::Ack(ack) if !in_slow_start && self.core.is_tie(ack.acked, &self.errors));
        if grows || in_slow_start != (window.cwnd < window.ssthresh) {
            return false;
        }
        let before = self.core;
        self.step_core(now_us, event);
        self.step_original(now_us, event);
        self.follow(&before, event);
        self.compare(event);
        true
    }

    fn step_core(&mut self, now_us: u64, event: Event) {
        let (core, params) = (&mut self.core, &self.params);
        match event {
            Event::Handshake { rtt_us } => core.remember(params, now_us, rtt_us),
            Event::Ack(ack) => core.on_ack(params, &ack),
            Event::Loss { flight } => core.on_loss(now_us, flight),
            Event::Timeout { flight, repeated } => core.on_timeout(now_us, flight, repeated),
            Event::Spurious => core.undo(),
            Event::Idle { restart } => core.on_idle(restart.unwrap_or(0)),
        }
    }

    fn step_original(&mut self, now_us: u64, event: Event) {
        let bytes = |segments: u32| Bytes::new(u64::from(segments) * SEGMENT);
        let (now, us) = (Time::ZERO + Span::from_us(now_us), |us: u32| Span::from_us(us.into()));
        match event {
            Event::Handshake { rtt_us } => {
                self.original.on_signal(now, &Signal::Handshake { rtt: us(rtt_us) });
            }
            Event::Ack(ack) => self.original.on_ack(&cc::Ack {
                now,
                rtt: (ack.rtt_us > 0).then(|| us(ack.rtt_us)),
                since_sent: us(ack.rtt_us),
                srtt: us(ack.srtt_us),
                acked: bytes(ack.acked),
                marked: bytes(ack.marked),
                inflight: Bytes::ZERO,
                inflight_before: Bytes::ZERO,
                sent: Bytes::ZERO,
                delivered: Bytes::ZERO,
                lost: Bytes::ZERO,
                delivery: cc::DeliverySample::default(),
                round_start: ack.round_start != 0,
                cwnd_limited: ack.cwnd_limited != 0,
                in_recovery: ack.in_recovery != 0,
            }),
            Event::Loss { flight } => {
                self.original.on_congestion(now, cc::Congestion::Loss { flight_size: bytes(flight) });
            }
            Event::Timeout { flight, repeated } => {
                let flight_size = bytes(flight);
                self.original.on_congestion(now, cc::Congestion::Timeout { flight_size, repeated });
            }
            Event::Spurious => self.original.on_congestion(now, cc::Congestion::Spurious),
            Event::Idle { restart } => self.original.on_idle(now, Span::from_secs(1), restart.map(bytes)),
        }
    }

    /// The errors follow a step of the core from `before`.
    fn follow(&mut self, before: &C, event: Event) {
        let (from, to) = (before.window(), self.core.window());
        let e = &mut self.errors;
        match event {
            Event::Handshake { .. } => {}
            Event::Ack(ack) => {
                if ack.round_start != 0 {
                    e.alpha = (1.0 - C::gain(&self.params)) * e.alpha + 4.0 * V;
                }
                if to.cwnd < from.cwnd || to.ssthresh != from.ssthresh {
                    let (left, before) = ((to.ssthresh as f64 * U), from.cwnd as f64 * U);
                    let of_cut = self.core.of_cut(&self.params, e.alpha);
                    let reduced = (left / before).min(1.0) * e.cwnd + before * of_cut + 2.0 * U;
                    *e = Errors { cwnd: reduced, ssthresh: reduced, alpha: e.alpha, ..Errors::default() };
                } else if from.cwnd < from.ssthresh {
                    e.cwnd = e.cwnd.max(e.ssthresh);
                } else if to.cwnd != from.cwnd || to.credit != from.credit {
                    let grown = before.grown(&self.params, ack.acked, e);
                    e.credit += e.cwnd;
                    e.cwnd = grown;
                }
            }
            Event::Loss { .. } => {
                let half = e.cwnd / 2.0 + U;
                *e = Errors { cwnd: half, ssthresh: half, before: (e.cwnd, e.ssthresh), credit: 0.0, ..*e };
            }
            Event::Timeout { repeated, .. } => {
                if !repeated {
                    e.before = (e.cwnd, e.ssthresh);
                    e.ssthresh = e.cwnd / 2.0 + U;
                }
                (e.cwnd, e.credit) = (0.0, 0.0);
            }
            Event::Spurious => {
                e.cwnd = e.cwnd.max(e.before.0);
                e.ssthresh = e.ssthresh.max(e.before.1);
            }
            Event::Idle { restart } => {
                if restart.is_some() {
                    e.ssthresh = e.ssthresh.max(e.cwnd + U);
                    (e.before, e.credit) = ((0.0, 0.0), 0.0);
                }
            }
        }
    }

    /// Window, threshold, in segments, and alpha of the original.
    fn of_original(&self) -> (f64, f64, f64) {
        let (mut ssthresh, mut alpha) = (f64::NAN, f64::NAN);
        self.original.inside(&mut |name, value| match (name, value) {
            ("ssthresh_bytes", Inside::Number(value)) => ssthresh = value * U,
            ("alpha", Inside::Number(value)) => alpha = value,
            _ => {}
        });
        (self.original.limit().cwnd.as_f64() * U, ssthresh, alpha)
    }

    fn compare(&self, event: Event) {
        let (cwnd, ssthresh, alpha) = self.of_original();
        let (window, errors) = (self.core.window(), &self.errors);
        let of_core = |value: u64| if value == u64::MAX { f64::INFINITY } else { value as f64 * U };
        // The original rounds its window to a unit when it is read.
        for (name, ours, theirs, error) in [
            ("cwnd", of_core(window.cwnd), cwnd, errors.cwnd + U),
            ("ssthresh", of_core(window.ssthresh), ssthresh, errors.ssthresh + U),
            ("alpha", f64::from(self.core.fraction().alpha) * V, alpha, errors.alpha + U),
        ] {
            // Floats of the original have 53 bits.
            let allowed = error + theirs.abs() * 2_f64.powi(-50);
            assert!(
                ours == theirs || (ours - theirs).abs() <= allowed,
                "{name}: {ours} for {theirs}, more than {allowed:e} apart after {event:?}; {window:?} {errors:?}"
            );
        }
    }
}
