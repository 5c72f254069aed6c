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
//! [`rdma::Receiver`](crate::rdma::Receiver).

#[cfg(test)]
mod tests;

use super::{
    Ack, Algorithm, Congestion, Controller, Described, Ecn, Limit, OutOfRange, Path, Ranges, Reporter, Signal,
};
use crate::units::{BitRate, Bytes, Span, Time, WireTime};

/// Settings of DCQCN. What is left out is taken from the variant.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Dcqcn")]
pub struct Params {
    /// Which rules, and the settings that go with them.
    pub variant: Variant,
    /// g, the weight of a CNP in alpha; 1/256.
    pub gain: Option<f64>,
    /// After so long without a CNP alpha falls. Paper: 55 us; vendor: 1 us.
    pub alpha_interval: Option<Span>,
    /// Interval between looks at a flag that CNPs set. Vendor: 4 us; the paper cuts at once and has none.
    pub cut_interval: Option<Span>,
    /// Length of a time stage. Paper: 55 us; vendor: 300 us.
    pub timer: Option<Span>,
    /// Bytes on the wire of a byte stage. Paper: 10 MB; vendor: it has no byte stages.
    pub byte_counter: Option<Bytes>,
    /// F, stages of fast recovery. Paper: 5; vendor: 1.
    pub threshold: Option<u32>,
    /// R_AI, what additive increase adds to the target. Paper: 40 Mb/s; vendor: 5 Mb/s for each 25 Gb/s of the host's link.
    pub ai_rate: Option<BitRate>,
    /// R_HAI, what hyper increase adds. Vendor: 50 Mb/s for each 25 Gb/s of the host's link. The paper gives no value: 200 Mb/s
    /// as in ns3-rdma.
    pub hai_rate: Option<BitRate>,
    /// No cut goes below this. Paper: 40 Mb/s; vendor: 100 Mb/s.
    pub min_rate: Option<BitRate>,
    /// Every cut sets the target to the rate before it. Paper: true; vendor: false, only if a time stage has completed.
    pub clamp_target: Option<bool>,
    /// Reaction to a loss. The papers say nothing of losses.
    pub on_loss: OnLoss,
}

/// Reaction of the rate to a loss.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "DcqcnOnLoss")]
pub enum OnLoss {
    /// Nothing.
    #[default]
    Nothing,
    /// A loss or a timeout that the sender notices is worth a CNP. NVIDIA's cards have such a setting for networks that lose packets
    /// (`roce_slow_restart_en` of the register ROCE_ACCL); what it does is not published, this is an assumption.
    Cut,
}

/// Rules and settings of DCQCN.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "DcqcnVariant")]
pub enum Variant {
    /// Zhu et al., SIGCOMM 2015, with its settings for 40 Gb/s.
    #[default]
    Paper,
    /// As network cards do it, with the settings of HPCC's public simulations. Its short intervals want CNPs more often than the
    /// paper's: `rdma = { cnp_interval = "4 us" }`.
    Vendor,
}

/// All settings of one variant.
#[derive(Clone, Debug, PartialEq)]
struct Rules {
    variant: Variant,
    gain: f64,
    alpha_interval: Span,
    cut_interval: Span,
    timer: Span,
    byte_counter: u64,
    threshold: u32,
    ai_rate: f64,
    hai_rate: f64,
    min_rate: f64,
    line_rate: f64,
    clamp_target: bool,
    on_loss: OnLoss,
}

impl Params {
    /// The settings in force on a link of this rate.
    fn rules(&self, link: BitRate) -> Rules {
        let line_rate = link.as_f64();
        let mbps = |rate: f64| rate * 1e6;
        let of_25g = line_rate / 25e9;
        let (variant, gain, on_loss) = (self.variant, 1.0 / 256.0, self.on_loss);
        let set = match variant {
            Variant::Paper => Rules {
                variant,
                gain,
                alpha_interval: Span::from_us(55),
                cut_interval: Span::ZERO,
                timer: Span::from_us(55),
                byte_counter: 10_000_000,
                threshold: 5,
                ai_rate: mbps(40.0),
                hai_rate: mbps(200.0),
                min_rate: mbps(40.0),
                line_rate,
                clamp_target: true,
                on_loss,
            },
            Variant::Vendor => Rules {
                variant,
                gain,
                alpha_interval: Span::from_us(1),
                cut_interval: Span::from_us(4),
                timer: Span::from_us(300),
                byte_counter: u64::MAX,
                threshold: 1,
                ai_rate: mbps(5.0 * of_25g),
                hai_rate: mbps(50.0 * of_25g),
                min_rate: mbps(100.0),
                line_rate,
                clamp_target: false,
                on_loss,
            },
        };
        let rate = |setting: Option<BitRate>, of_set: f64| setting.map_or(of_set, BitRate::as_f64);
        Rules {
            gain: self.gain.unwrap_or(set.gain),
            alpha_interval: self.alpha_interval.unwrap_or(set.alpha_interval),
            cut_interval: self.cut_interval.unwrap_or(set.cut_interval),
            timer: self.timer.unwrap_or(set.timer),
            byte_counter: self.byte_counter.map_or(set.byte_counter, Bytes::get),
            threshold: self.threshold.unwrap_or(set.threshold),
            ai_rate: rate(self.ai_rate, set.ai_rate),
            hai_rate: rate(self.hai_rate, set.hai_rate),
            min_rate: rate(self.min_rate, set.min_rate),
            clamp_target: self.clamp_target.unwrap_or(set.clamp_target),
            ..set
        }
    }
}

/// A DCQCN rate.
#[derive(Clone, Debug)]
pub struct Dcqcn {
    rules: Box<Rules>,
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

    fn ecn(_params: &Params) -> Ecn {
        Ecn::Cnp
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
    fn on_ack(&mut self, _ack: &Ack) {}

    fn on_congestion(&mut self, now: Time, event: Congestion) {
        let lost = matches!(event, Congestion::Loss { .. } | Congestion::Timeout { .. });
        if lost && self.rules.on_loss == OnLoss::Cut {
            self.on_cnp(now);
        }
    }

    fn limit(&self) -> Limit {
        Limit { cwnd: Bytes::MAX, pacing: Some(BitRate::from_f64(self.current)) }
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
