//! DCQCN: a rate that notification packets cut and that time and bytes raise again.
//!
//! ```text
//! CNP                                                      Zhu et al. (SIGCOMM 2015) §3.1
//!     RT = RC,  RC = RC·(1 − alpha/2),  alpha = (1 − g)·alpha + g
//!     time stage T = byte stage B = 0, timer and byte counter begin anew
//! No CNP for an alpha interval
//!     alpha = (1 − g)·alpha
//! Timer or byte counter runs out: its stage is one higher, and
//!     fast recovery       max(T, B) < F                    RT unchanged
//!     hyper increase      min(T, B) > F                    RT = RT + (min(T, B) − F)·R_HAI
//!     additive increase   otherwise                        RT = RT + R_AI
//!     RC = (RC + RT)/2
//! ```
//! RC is the current rate, RT the target rate, line rate the most of both. A flow begins at line rate. alpha begins at 1
//! with the first CNP: before it there is nothing to limit.
//!
//! Network cards go about it in another way, as the public simulation code of HPCC has it ([`Variant::Vendor`]):
//!
//! ```text
//! CNP                         sets two flags; the first one of a flow starts the clocks
//! Each alpha interval         alpha = (1 − g)·alpha, and + g if its flag is set
//! Each cut interval,          RT = RC if a time stage has completed since the last cut
//!   if its flag is set        RC = RC·(1 − alpha/2), T = 0, timer begins anew
//! Timer runs out              T < F: fast recovery; T = F: RT = RT + R_AI; T > F: RT = RT + R_HAI
//!                             RC = (RC + RT)/2, T = T + 1
//! ```
//! When a cut and an increase are due at once, the cut comes first.
//!
//! Losses and timeouts do not change the rate unless [`Params::on_loss`] says so. A target far above the current rate is not lowered: that rule of QCN is not
//! in the paper.
//!
//! Packets are marked by RED on the queue as it is ([`crate::cc::Ecn::Cnp`]); who sends the CNPs is
//! [`rdma::Receiver`](crate::rdma::Receiver). In HPCC's simulations acknowledgments report marks instead ([`Feedback::Acks`]), and a window
//! follows the rate ([`Params::window`]).

mod settings;
#[cfg(test)]
mod tests;

use self::settings::Rules;
pub use self::settings::{Feedback, OnLoss, Params, Variant};
use super::parts::RateWindow;
use super::{
    Ack, Algorithm, Congestion, Controller, Described, Ecn, Limit, OutOfRange, Path, Ranges, Reporter, Signal,
};
use crate::units::{BitRate, Bytes, Span, Time, WireTime};

/// A DCQCN rate.
#[derive(Clone, Debug)]
pub struct Dcqcn {
    rules: Box<Rules>,
    window: RateWindow,
    /// RC and RT, in bit/s.
    current: f64,
    target: f64,
    /// In [0, 1]; up to date at `alpha_at`.
    alpha: f64,
    alpha_at: Time,
    /// Vendor: a CNP has come since `alpha_at`.
    alpha_flag: bool,
    /// Vendor: when the cut that a CNP has requested is due.
    cut_at: Time,
    /// When the first CNP came.
    first_cnp: Option<Time>,
    /// When the time stage completes; never at line rate.
    timer_at: Time,
    /// Bytes left of the byte stage. They do not run out at line rate.
    bytes_left: u64,
    time_stage: u32,
    byte_stage: u32,
}

impl Algorithm for Dcqcn {
    type Params = Params;
    const SUMMARY: &'static str = "rate cut by notification packets (RDMA)";
    const SOURCE: &'static str = "Zhu et al., SIGCOMM 2015";
    const INSIDE: Described = &[
        ("alpha", "The estimate of congestion, 0 to 1."),
        ("target_rate_bps", "R_T, the rate that is recovered to."),
    ];
    const NEEDS_RDMA: bool = true;

    fn new(params: &Params, path: &Path) -> Self {
        let rules = params.rules(path.link);
        Self {
            current: rules.line_rate,
            target: rules.line_rate,
            rules: Box::new(rules),
            window: RateWindow::new(params.window, path.link, path.mss),
            alpha: 1.0,
            alpha_at: Time::ZERO,
            alpha_flag: false,
            cut_at: Time::NEVER,
            first_cnp: None,
            timer_at: Time::NEVER,
            bytes_left: u64::MAX,
            time_stage: 0,
            byte_stage: 0,
        }
    }

    fn ecn(params: &Params) -> Ecn {
        match params.feedback {
            Feedback::Cnp => Ecn::Cnp,
            Feedback::Acks => Ecn::Accurate,
        }
    }

    fn complete(params: &mut Params) {
        // What the vendor adds to rates grows with the link; byte stages are the paper's, the interval between cuts the vendor's.
        let rules = params.rules(BitRate::from_gbps(25));
        let rate = |rate: f64| BitRate::from_bps(rate as u64);
        params.gain = Some(rules.gain);
        params.alpha_interval = Some(rules.alpha_interval);
        params.timer = Some(rules.timer);
        params.threshold = Some(rules.threshold);
        params.min_rate = Some(rate(rules.min_rate));
        params.clamp_target = Some(rules.clamp_target);
        match params.variant {
            Variant::Paper => {
                params.byte_counter = Some(Bytes::new(rules.byte_counter));
                params.ai_rate = Some(rate(rules.ai_rate));
                params.hai_rate = Some(rate(rules.hai_rate));
            }
            Variant::Vendor => params.cut_interval = Some(rules.cut_interval),
        }
    }

    fn check(params: &Params, ranges: &mut Ranges) -> Result<(), OutOfRange> {
        let gain = params.gain.unwrap_or(1.0);
        ranges.unless(gain > 0.0 && gain <= 1.0, "gain", gain, "above 0, at most 1")?;
        let spans = [
            ("alpha_interval", params.alpha_interval),
            ("cut_interval", params.cut_interval),
            ("timer", params.timer),
        ];
        for (name, span) in spans {
            let span = span.unwrap_or(Span::from_us(1));
            ranges.timer(name, span)?;
        }
        if let (Variant::Paper, Some(interval)) = (params.variant, params.cut_interval) {
            let expected = "none with the variant \"paper\", which cuts at once";
            ranges.unless(false, "cut_interval", interval, expected)?;
        }
        let bytes = params.byte_counter.unwrap_or(Bytes::MAX);
        ranges.unless(bytes > Bytes::ZERO, "byte_counter", bytes, "more than 0 B")?;
        RateWindow::check(params.window, ranges)?;
        let threshold = params.threshold.unwrap_or(1);
        ranges.unless(threshold >= 1, "threshold", threshold, "at least 1")?;
        for (name, rate) in [("ai_rate", params.ai_rate), ("hai_rate", params.hai_rate)] {
            let rate = rate.unwrap_or(BitRate::ZERO);
            ranges.unless(rate <= WireTime::MAX_RATE, name, rate, "at most 100 Tb/s")?;
        }
        let rate = params.min_rate.unwrap_or(WireTime::MIN_RATE);
        let range = WireTime::MIN_RATE..=WireTime::MAX_RATE;
        ranges.unless(range.contains(&rate), "min_rate", rate, "1 kb/s to 100 Tb/s")
    }
}

impl Dcqcn {
    /// Brings alpha up to date.
    fn settle_alpha(&mut self, now: Time) {
        let interval = self.rules.alpha_interval;
        let mut passed = now.saturating_since(self.alpha_at).as_ps() / interval.as_ps();
        if passed == 0 {
            return;
        }
        self.alpha_at += interval.saturating_mul(passed);
        let (gain, keep) = (self.rules.gain, 1.0 - self.rules.gain);
        if std::mem::take(&mut self.alpha_flag) {
            self.alpha = keep * self.alpha + gain;
            passed -= 1;
        }
        self.alpha *= libm::pow(keep, passed as f64);
    }

    /// Lowers the rate, and begins to recover.
    fn cut(&mut self, now: Time) {
        if self.rules.clamp_target || self.time_stage > 0 {
            self.target = self.current;
        }
        self.current *= 1.0 - self.alpha / 2.0;
        self.current = self.current.max(self.rules.min_rate).min(self.rules.line_rate);
        (self.time_stage, self.byte_stage) = (0, 0);
        self.timer_at = now + self.rules.timer;
        self.bytes_left = self.rules.byte_counter;
    }

    /// A stage has completed: `stage` of its kind came before it.
    fn increase(&mut self, stage: u32) {
        let Rules { variant, threshold, ai_rate, hai_rate, line_rate, .. } = *self.rules;
        let (most, least) = (self.time_stage.max(self.byte_stage), self.time_stage.min(self.byte_stage));
        self.target += match variant {
            Variant::Paper if most < threshold => 0.0,
            Variant::Paper if least > threshold => f64::from(least - threshold) * hai_rate,
            Variant::Paper => ai_rate,
            Variant::Vendor => match stage.cmp(&threshold) {
                std::cmp::Ordering::Less => 0.0,
                std::cmp::Ordering::Equal => ai_rate,
                std::cmp::Ordering::Greater => hai_rate,
            },
        };
        self.target = self.target.min(line_rate);
        self.current = f64::midpoint(self.current, self.target);
        if self.current >= line_rate {
            self.timer_at = Time::NEVER;
            self.bytes_left = u64::MAX;
        }
    }
    fn on_cnp(&mut self, now: Time) {
        let first = *self.first_cnp.get_or_insert(now);
        if first == now {
            self.alpha_at = now;
        }
        self.settle_alpha(now);
        match self.rules.variant {
            Variant::Paper => {
                self.cut(now);
                self.alpha = (1.0 - self.rules.gain) * self.alpha + self.rules.gain;
                self.alpha_at = now;
            }
            Variant::Vendor => {
                // The first one only starts the clocks of alpha.
                self.alpha_flag = now > first;
                if self.cut_at == Time::NEVER {
                    let interval = self.rules.cut_interval;
                    let passed = (now - first).as_ps() / interval.as_ps();
                    self.cut_at = first + interval.saturating_mul(passed + 1);
                }
            }
        }
    }

    fn on_sent(&mut self, size: Bytes) {
        if let Some(left) = self.bytes_left.checked_sub(size.get()).filter(|left| *left > 0) {
            // At line rate, and without byte stages, nothing counts.
            self.bytes_left = if self.bytes_left == u64::MAX { u64::MAX } else { left };
            return;
        }
        self.bytes_left = self.rules.byte_counter;
        let stage = self.byte_stage;
        self.byte_stage = stage.saturating_add(1);
        self.increase(stage);
    }

    fn on_timer(&mut self, now: Time) {
        if self.cut_at <= now {
            self.cut_at = Time::NEVER;
            self.settle_alpha(now);
            self.cut(now);
        }
        if self.timer_at <= now {
            self.timer_at = now + self.rules.timer;
            let stage = self.time_stage;
            self.time_stage = stage.saturating_add(1);
            self.increase(stage);
        }
    }
}

impl Controller for Dcqcn {
    fn on_ack(&mut self, ack: &Ack) {
        if ack.marked > Bytes::ZERO {
            self.on_cnp(ack.now);
        }
    }

    fn on_congestion(&mut self, now: Time, event: Congestion) {
        let lost = matches!(event, Congestion::Loss { .. } | Congestion::Timeout { .. });
        if lost && self.rules.on_loss == OnLoss::Cut {
            self.on_cnp(now);
        }
    }

    fn limit(&self) -> Limit {
        Limit { cwnd: self.window.at(self.current), pacing: Some(BitRate::from_f64(self.current)) }
    }

    #[inline]
    fn on_signal(&mut self, now: Time, signal: &Signal<'_>) {
        match signal {
            Signal::Cnp => self.on_cnp(now),
            Signal::Sent { size } => self.on_sent(*size),
            Signal::Timer => self.on_timer(now),
            _ => {}
        }
    }

    fn next_timer(&self) -> Time {
        self.timer_at.min(self.cut_at)
    }

    fn inside(&self, report: &mut Reporter<'_>) {
        report("alpha", self.alpha.into());
        report("target_rate_bps", self.target.into());
    }
}
