//! CUBIC: the window is a cubic function of the time since the last congestion, so that it grows fast far from the
//! last known limit and slowly near it, whatever the round-trip time.
//!
//! All windows in segments, t since the epoch (the end of the last recovery) began.
//! ```text
//!     W(t)   = C·(t − K)³ + W_max,   K = ∛((W_max − cwnd_epoch)/C)         RFC 9438 §4.2 Fig. 1, 2
//!     target = W(t + RTT), between cwnd and 1.5·cwnd                       RFC 9438 §4.2
//!     cwnd  += (target − cwnd)/cwnd                per segment acknowledged, §4.4, §4.5
//!     W_est += α·acked/cwnd,  cwnd ≥ W_est                                 RFC 9438 §4.3 Fig. 4 (Reno-friendly)
//!     α = 3(1 − β)/(1 + β), 1 once W_est is the window before the reduction (`full_reno_growth`)   §4.3
//! Loss or mark: cwnd = ssthresh = β·flight_size                            RFC 9438 §4.6
//!     W_max = cwnd·(1 + β)/2 if the window had not reached the old W_max, else cwnd   §4.7 (fast convergence)
//! Timeout: the next epoch starts with K = 0, W_max = cwnd                  RFC 9438 §4.8
//! Idle: not part of t                                                     RFC 9438 §5.8
//!     after more than a timeout ssthresh = max(ssthresh, 3/4·cwnd), cwnd = min(RW, cwnd)   RFC 2861, RFC 5681 §4.1
//! ```
//! Linux computes the growth in whole segments and ticks of its clock (`linux_growth`).
//! Slow start is `HyStart++` (RFC 9406), as RFC 9438 §4.10 recommends, or HyStart as Linux has it (`linux_hystart`).
//!
//! Differs from RFC 9438 §4.6: after a mark, too, cwnd is at least 2 segments.
//! Differs from RFC 9438 §4.4: the window grows by each segment acknowledged and not by each acknowledgment, as in Linux, so
//! that delayed acknowledgments do not halve the growth; and W_est never lowers it (§4.3).

mod linux_growth;

pub use self::linux_growth::LinuxGrowthParams;
use self::linux_growth::{Known, LinuxGrowth, Rule};
use super::inside::SSTHRESH;
use super::parts::{HyStart, HyStartParams, LinuxHyStart, LinuxHyStartParams, MIN_THRESHOLD};
use super::{
    Ack, Algorithm, Congestion, Controller, Described, Ecn, Limit, OutOfRange, Path, Ranges, Reporter, Signal,
};
use crate::units::{Bytes, Span, Time};

/// Settings of CUBIC.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Cubic")]
pub struct Params {
    /// Ask switches to mark instead of dropping.
    pub ecn: bool,
    /// C in segments/s³: how steep the cubic is; 0.4 (RFC 9438 §5.1).
    pub c: f64,
    /// β: what congestion leaves of the window; 0.7 (RFC 9438 §4.6).
    pub beta: f64,
    /// Give up bandwidth to newcomers after losing some (RFC 9438 §4.7).
    pub fast_convergence: bool,
    /// Once W_est is level with the window before the last reduction it grows by one segment a round trip, as Reno does (RFC 9438 §4.3).
    /// `false` keeps it at 3(1 − β)/(1 + β), as Linux does (`bictcp_update`).
    pub full_reno_growth: bool,
    /// As long as no loss or mark has shown where the limit is, and again after a timeout, a round trip adds at least this part of the
    /// window. Linux has 0.05 (`bictcp_update`); 0, as in RFC 9438, if left out.
    pub least_growth: f64,
    /// Leave slow start when the delay rises (RFC 9406); `false` leaves it at the first loss or mark.
    pub hystart: bool,
    /// Its constants.
    pub hystart_params: HyStartParams,
    /// Leave slow start as Linux does, by the length of the train of acknowledgments and by the delay (`tcp_cubic.c`), in place of
    /// RFC 9406. Not used if `hystart` is `false`.
    pub linux_hystart: Option<LinuxHyStartParams>,
    /// Growth as Linux computes it, in whole segments, and in ticks of its clock (`bictcp_update`): the window follows its goal in steps, from
    /// below. If left out each acknowledgment takes it to where the formulas have it.
    pub linux_growth: Option<LinuxGrowthParams>,
    /// L: segments one acknowledgment may add in slow start; 8 (RFC 9406 §4.3).
    pub slow_start_limit: u64,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            ecn: false,
            c: 0.4,
            beta: 0.7,
            fast_convergence: true,
            full_reno_growth: true,
            least_growth: 0.0,
            hystart: true,
            hystart_params: HyStartParams::default(),
            linux_hystart: None,
            linux_growth: None,
            slow_start_limit: 8,
        }
    }
}

/// A CUBIC window.
#[derive(Clone, Debug)]
pub struct Cubic {
    c: f64,
    beta: f64,
    fast_convergence: bool,
    full_reno_growth: bool,
    /// So that the enum of controllers stays small.
    least_growth: f32,
    slow_start_limit: u32,
    /// The same after a timeout.
    limit_after_timeout: u32,
    mss: Bytes,
    state: State,
    extras: Option<Box<Extras>>,
    /// For a reduction that turns out to be spurious (RFC 9438 §4.9).
    before_reduction: Option<Box<State>>,
}

/// Parts that a connection has for a while, or if settings want them; none of them is `None`.
#[derive(Clone, Debug)]
struct Extras {
    exit: Option<Exit>,
    growth: Option<LinuxGrowth>,
}

/// Algorithm that ends slow start before the first loss.
#[derive(Clone, Debug)]
enum Exit {
    /// During the first slow start.
    Rfc9406(HyStart),
    /// For all of the connection.
    Linux(LinuxHyStart),
}

/// Windows in segments.
#[derive(Clone, Copy, Debug)]
struct State {
    cwnd: f64,
    ssthresh: f64,
    /// The window at the last congestion; none after a timeout and at the beginning.
    w_max: Option<f64>,
    /// The window from which on W_est grows faster: that of the last reduction; infinite if it never does.
    cwnd_prior: f64,
    epoch: Option<Epoch>,
}

/// One congestion avoidance stage.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    start: Time,
    /// K in seconds.
    k: f64,
    /// The plateau of the cubic.
    origin: f64,
    w_est: f64,
    /// Since when the window has not limited the sender; that time does not count (RFC 9438 §5.8).
    idle_since: Option<Time>,
}

impl Algorithm for Cubic {
    type Params = Params;
    const SUMMARY: &'static str = "window a cubic function of time since the last congestion, with HyStart++";
    const SOURCE: &'static str = "RFC 9438, RFC 9406";
    const INSIDE: Described = &[SSTHRESH];

    fn new(params: &Params, path: &Path) -> Self {
        let exit = params.hystart.then(|| match &params.linux_hystart {
            None => Exit::Rfc9406(HyStart::new(params.hystart_params.clone())),
            Some(linux) => Exit::Linux(LinuxHyStart::new(linux.clone(), path)),
        });
        let Params { c, beta, least_growth, full_reno_growth, .. } = *params;
        let rule = Rule { c, beta, least_growth, full_reno_growth };
        let growth = params.linux_growth.as_ref().map(|linux| LinuxGrowth::new(linux, rule));
        let limit = |segments| u32::try_from(segments).unwrap_or(u32::MAX);
        Self {
            c,
            beta,
            fast_convergence: params.fast_convergence,
            full_reno_growth,
            least_growth: least_growth as f32,
            slow_start_limit: limit(params.slow_start_limit.max(path.merged)),
            limit_after_timeout: limit(path.merged),
            mss: path.mss,
            state: State {
                cwnd: path.initial_window.as_f64() / path.mss.as_f64(),
                ssthresh: f64::INFINITY,
                w_max: None,
                cwnd_prior: if full_reno_growth { 0.0 } else { f64::INFINITY },
                epoch: None,
            },
            extras: Extras { exit, growth }.boxed(),
            before_reduction: None,
        }
    }

    fn ecn(params: &Params) -> Ecn {
        if params.ecn { Ecn::Classic } else { Ecn::Off }
    }

    fn check(params: &Params, ranges: &mut Ranges) -> Result<(), OutOfRange> {
        let Params { c, beta, least_growth, slow_start_limit: limit, .. } = *params;
        ranges.unless(c > 0.0 && c.is_finite(), "c", c, "above 0")?;
        ranges.unless(beta > 0.0 && beta < 1.0, "beta", beta, "between 0 and 1, both excluded")?;
        ranges.unless((0.0..=0.5).contains(&least_growth), "least_growth", least_growth, "0 to 0.5")?;
        ranges.unless(limit >= 1, "slow_start_limit", limit, "at least 1 segment")?;
        params.hystart_params.check(ranges)?;
        params.linux_hystart.as_ref().map_or(Ok(()), |linux| linux.check(ranges))?;
        params.linux_growth.as_ref().map_or(Ok(()), |linux| linux.check(ranges))
    }
}

impl Cubic {
    fn segments(&self, amount: Bytes) -> f64 {
        amount.as_f64() / self.mss.as_f64()
    }

    fn slow_start(&mut self, ack: &Ack) {
        let step =
            if ack.cwnd_limited { self.segments(ack.acked).min(self.slow_start_limit.into()) } else { 0.0 };
        // Rounds and round-trip times count whether the window limits or not.
        match self.extras.as_deref_mut().and_then(|extras| extras.exit.as_mut()) {
            None => self.state.cwnd += step,
            Some(Exit::Rfc9406(hystart)) => {
                self.state.cwnd += step / hystart.growth_divisor() as f64;
                if hystart.on_ack(ack.rtt, ack.round_start) {
                    self.state.ssthresh = self.state.cwnd.max(MIN_THRESHOLD as f64);
                    self.drop_hystart();
                }
            }
            Some(Exit::Linux(hystart)) => {
                if hystart.on_ack(ack, self.state.cwnd) {
                    self.state.ssthresh = self.state.cwnd;
                } else {
                    self.state.cwnd += step;
                }
            }
        }
    }

    /// The algorithm that ends the first slow start has done so, or a loss has.
    fn drop_hystart(&mut self) {
        if let Some(Extras { exit: Some(Exit::Rfc9406(_)), growth }) = self.extras.as_deref_mut() {
            self.extras = Extras { exit: None, growth: growth.take() }.boxed();
        }
    }

    fn growth(&mut self) -> Option<&mut LinuxGrowth> {
        self.extras.as_deref_mut()?.growth.as_mut()
    }

    /// An acknowledgment where Linux computes the growth.
    #[inline(never)]
    fn on_ack_in_steps(&mut self, ack: &Ack) {
        let State { cwnd, w_max, cwnd_prior: prior, ssthresh, .. } = self.state;
        let segments = ack.acked.get().div_ceil(self.mss.get());
        let Some(growth) = self.growth() else { return };
        growth.on_ack(ack);
        if ack.in_recovery {
            return;
        }
        if cwnd < ssthresh {
            self.slow_start(ack);
        } else if ack.cwnd_limited {
            let known = Known { cwnd: cwnd as u64, w_max: w_max.map(|w_max| w_max as u64), prior };
            self.state.cwnd = growth.grow(ack.now, known, segments) as f64;
        }
    }

    fn avoidance(&mut self, ack: &Ack) {
        let acked = self.segments(ack.acked);
        let (c, beta) = (self.c, self.beta);
        let State { cwnd, w_max, cwnd_prior, .. } = self.state;
        let epoch = self.state.epoch.get_or_insert_with(|| Epoch::new(ack.now, cwnd, w_max, c));
        epoch.resume(ack.now);
        let t = ack.now.saturating_since(epoch.start);
        let target = epoch.cubic(c, t + ack.srtt).clamp(cwnd, 1.5 * cwnd);
        // §4.3: α makes a window reduced by β grow like one reduced by 1/2; once level with the old one, α = 1.
        let alpha = if epoch.w_est < cwnd_prior { 3.0 * (1.0 - beta) / (1.0 + beta) } else { 1.0 };
        epoch.w_est += alpha * acked / cwnd;
        let friendly = epoch.cubic(c, t) < epoch.w_est;
        let grown = if friendly { cwnd.max(epoch.w_est) } else { cwnd + (target - cwnd) / cwnd * acked };
        self.state.cwnd = grown;
        if w_max.is_none() {
            self.state.cwnd = grown.max(cwnd + f64::from(self.least_growth) * acked);
        }
    }

    fn reduce(&mut self, flight_size: Bytes) {
        self.before_reduction = Some(Box::new(self.state));
        self.drop_hystart();
        let is_whole = self.growth().is_some();
        let whole = |segments: f64| if is_whole { segments.floor() } else { segments };
        let State { cwnd, w_max, .. } = self.state;
        let used = self.segments(flight_size).min(cwnd);
        let lost_ground = self.fast_convergence && w_max.is_some_and(|w_max| cwnd < w_max);
        self.state.w_max = Some(whole(if lost_ground { cwnd * (1.0 + self.beta) / 2.0 } else { cwnd }));
        if self.full_reno_growth {
            self.state.cwnd_prior = cwnd;
        }
        self.state.ssthresh = whole(used * self.beta).max(MIN_THRESHOLD as f64);
        self.state.epoch = None;
    }
}

impl Extras {
    fn boxed(self) -> Option<Box<Self>> {
        (self.exit.is_some() || self.growth.is_some()).then(|| Box::new(self))
    }
}

impl Epoch {
    fn new(start: Time, cwnd: f64, w_max: Option<f64>, c: f64) -> Self {
        let origin = w_max.unwrap_or(cwnd).max(cwnd);
        Self { start, k: libm::cbrt((origin - cwnd) / c), origin, w_est: cwnd, idle_since: None }
    }

    /// W(t) in segments.
    fn cubic(&self, c: f64, t: Span) -> f64 {
        let x = t.as_secs_f64() - self.k;
        c * x * x * x + self.origin
    }

    /// Leaves `idle`, which ends now, out of the epoch (RFC 9438 §5.8).
    fn leave_out(&mut self, now: Time, idle: Span) {
        // Otherwise it is left out by `resume`.
        if self.idle_since.is_none() {
            self.start = (self.start + idle).min(now);
        }
    }

    /// Leaves the time since `idle_since` out of the epoch.
    fn resume(&mut self, now: Time) {
        if let Some(since) = self.idle_since.take() {
            self.start += now.saturating_since(since);
        }
    }
}

impl Controller for Cubic {
    fn on_idle(&mut self, now: Time, idle: Span, restart: Option<Bytes>) {
        if let Some(epoch) = &mut self.state.epoch {
            epoch.leave_out(now, idle);
        } else if let Some(growth) = self.growth() {
            growth.leave_out(now, idle);
        }
        if let Some(window) = restart {
            // As `RenoWindow::restart`. The next stage of avoidance begins at what slow start reaches.
            let State { cwnd, ssthresh, .. } = self.state;
            self.state.ssthresh = ssthresh.max(0.75 * cwnd);
            self.state.cwnd = cwnd.min(self.segments(window));
            self.state.epoch = None;
            self.before_reduction = None;
        }
    }

    fn on_ack(&mut self, ack: &Ack) {
        if self.extras.as_deref().is_some_and(|extras| extras.growth.is_some()) {
            self.on_ack_in_steps(ack);
            return;
        }
        if ack.in_recovery {
            return;
        }
        if self.state.cwnd < self.state.ssthresh {
            self.slow_start(ack);
        } else if ack.cwnd_limited {
            self.avoidance(ack);
        } else if let Some(epoch) = &mut self.state.epoch {
            epoch.idle_since.get_or_insert(ack.now);
        }
    }

    fn on_congestion(&mut self, _now: Time, event: Congestion) {
        if let Some(growth) = self.growth() {
            growth.end(matches!(event, Congestion::Timeout { .. }));
        }
        match event {
            Congestion::Loss { flight_size } | Congestion::Mark { flight_size } => {
                self.reduce(flight_size);
                self.state.cwnd = self.state.ssthresh;
            }
            Congestion::Timeout { flight_size, repeated } => {
                if !repeated {
                    self.reduce(flight_size);
                }
                let exit = self.extras.as_deref_mut().and_then(|extras| extras.exit.as_mut());
                if let Some(Exit::Linux(hystart)) = exit {
                    hystart.forget();
                }
                self.state.w_max = None;
                self.state.cwnd = 1.0;
                // RFC 3465 §2.3: one acknowledgment may now cover much that was sent before the timeout.
                self.slow_start_limit = self.slow_start_limit.min(self.limit_after_timeout);
            }
            Congestion::Spurious => {
                if let Some(state) =
                    self.before_reduction.take().filter(|before| before.cwnd > self.state.cwnd)
                {
                    self.state = *state;
                }
            }
        }
    }

    fn on_signal(&mut self, _now: Time, signal: &Signal<'_>) {
        if let Signal::Remembered { ssthresh } = *signal {
            self.state.ssthresh = self.segments(ssthresh).max(MIN_THRESHOLD as f64);
        }
    }

    fn inside(&self, report: &mut Reporter<'_>) {
        report("ssthresh_bytes", (self.state.ssthresh * self.mss.as_f64()).into());
    }

    fn limit(&self) -> Limit {
        Limit::window(Bytes::from_f64(self.state.cwnd * self.mss.as_f64()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::conformance::{MSS, ack, path};

    fn cubic() -> Cubic {
        Cubic::new(&Params::default(), &path())
    }

    fn after_loss_at(segments: u64) -> Cubic {
        let mut cubic = cubic();
        cubic.state.cwnd = segments as f64;
        cubic.on_congestion(Time::ZERO, Congestion::Loss { flight_size: MSS * segments });
        cubic
    }

    /// Acknowledges window after window, one per `rtt`, until `until`.
    fn run(cubic: &mut Cubic, rtt: Span, until: Span) {
        let mut now = Time::ZERO;
        while now < Time::ZERO + until {
            for _ in 0..cubic.state.cwnd as u64 {
                cubic.on_ack(&Ack { now, srtt: rtt, ..ack(MSS) });
            }
            now += rtt;
        }
    }

    #[test]
    fn a_loss_leaves_seven_tenths() {
        assert_eq!(after_loss_at(100).limit().cwnd, MSS * 70);
    }

    #[test]
    fn the_window_is_back_at_w_max_after_k_seconds() {
        // K = ∛(100·0.3/0.4) = 4.217 s (RFC 9438 §4.2 Fig. 2); with 100 ms round trips the cubic rules, not W_est.
        let mut cubic = after_loss_at(100);
        run(&mut cubic, Span::from_ms(100), Span::from_ms(4_217));
        let k = cubic.state.epoch.expect("in avoidance").k;
        assert!((k - 4.217).abs() < 0.001, "{k}");
        // ±1 segment: the window follows W(t + RTT) in steps of a round.
        assert!((cubic.state.cwnd - 100.0).abs() < 1.0, "{}", cubic.state.cwnd);
    }

    #[test]
    fn with_short_round_trips_it_grows_like_reno() {
        // 100 rounds of 100 us: α = 0.53 segments a round (RFC 9438 §4.3), while the cubic has hardly moved in 10 ms.
        let mut cubic = after_loss_at(1000);
        run(&mut cubic, Span::from_us(100), Span::from_ms(10));
        let grown = cubic.state.cwnd - 700.0;
        // ±3 %: the last segments of a window are acknowledged against a window already grown.
        assert!((grown / (100.0 * 0.5294) - 1.0).abs() < 0.03, "{grown}");
    }

    #[test]
    fn beyond_the_window_before_the_loss_it_grows_like_reno_or_as_before() {
        // From 70 segments W_est is level with 100 after 30/0.529 = 57 rounds of 1 ms. 57 + 50 rounds later: 150 or 126.
        for (full_reno_growth, expected) in [(true, 150.0), (false, 126.5)] {
            let mut cubic = Cubic::new(&Params { full_reno_growth, ..Params::default() }, &path());
            cubic.state.cwnd = 100.0;
            cubic.on_congestion(Time::ZERO, Congestion::Loss { flight_size: MSS * 100 });
            run(&mut cubic, Span::from_ms(1), Span::from_ms(107));
            // ±3 %, as above.
            assert!((cubic.state.cwnd / expected - 1.0).abs() < 0.03, "{} of {expected}", cubic.state.cwnd);
        }
    }

    #[test]
    fn before_the_first_loss_the_window_grows_by_the_least_growth_a_round_trip() {
        // 0.4·t³ adds a thousandth of a segment in the 150 ms of 15 round trips; 5 % a round trip make 100·1.05^15 = 207.9.
        let mut cubic = Cubic::new(&Params { least_growth: 0.05, ..Params::default() }, &path());
        (cubic.state.cwnd, cubic.state.ssthresh) = (100.0, 100.0);
        run(&mut cubic, Span::from_ms(10), Span::from_ms(150));
        // -3 %: growth is per segment of a window in whole segments, and compounds only from round to round.
        assert!((0.97..=1.0).contains(&(cubic.state.cwnd / 207.9)), "{}", cubic.state.cwnd);
        let mut known = after_loss_at(100);
        known.least_growth = 0.05;
        run(&mut known, Span::from_ms(10), Span::from_ms(150));
        assert!(known.state.cwnd < 85.0, "{}", known.state.cwnd);
    }

    #[test]
    fn a_window_that_lost_ground_lowers_its_goal() {
        let mut cubic = after_loss_at(100);
        cubic.on_congestion(Time::ZERO, Congestion::Loss { flight_size: MSS * 70 });
        assert_eq!(cubic.state.w_max, Some(70.0 * 0.85));
    }

    #[test]
    fn idle_time_does_not_count() {
        let mut cubic = after_loss_at(100);
        let at = |ms| Time::ZERO + Span::from_ms(ms);
        cubic.on_ack(&Ack { now: at(100), ..ack(MSS) });
        cubic.on_ack(&Ack { now: at(200), cwnd_limited: false, ..ack(MSS) });
        cubic.on_ack(&Ack { now: at(5000), ..ack(MSS) });
        assert_eq!(cubic.state.epoch.expect("in avoidance").start, at(4900));
    }

    #[test]
    fn the_time_between_flows_does_not_count() {
        let mut cubic = after_loss_at(100);
        let at = |ms| Time::ZERO + Span::from_ms(ms);
        cubic.on_ack(&Ack { now: at(100), ..ack(MSS) });
        cubic.on_idle(at(5000), Span::from_ms(4000), None);
        assert_eq!(cubic.state.epoch.expect("in avoidance").start, at(4100));
        // What was left out since the window stopped limiting the sender is not left out twice.
        cubic.on_ack(&Ack { now: at(5000), cwnd_limited: false, ..ack(MSS) });
        cubic.on_idle(at(7000), Span::from_ms(1500), None);
        cubic.on_ack(&Ack { now: at(7100), ..ack(MSS) });
        assert_eq!(cubic.state.epoch.expect("in avoidance").start, at(4100 + 2100));
    }

    #[test]
    fn after_a_long_idle_time_slow_start_leads_to_a_new_epoch() {
        let mut cubic = after_loss_at(100);
        cubic.on_ack(&ack(MSS));
        cubic.state.cwnd = 80.0;
        cubic.on_idle(Time::ZERO + Span::from_secs(9), Span::from_secs(9), Some(MSS * 10));
        // The threshold of 70 segments exceeds 3/4 of 80.
        assert_eq!((cubic.limit().cwnd, cubic.state.ssthresh), (MSS * 10, 70.0));
        assert!(cubic.state.epoch.is_none());
        assert_eq!(cubic.state.w_max, Some(100.0));
    }

    #[test]
    fn after_a_timeout_the_cubic_starts_flat() {
        let mut cubic = after_loss_at(100);
        cubic.on_congestion(Time::ZERO, Congestion::Timeout { flight_size: MSS * 40, repeated: false });
        assert_eq!(cubic.limit().cwnd, MSS);
        cubic.state.cwnd = cubic.state.ssthresh;
        cubic.on_ack(&ack(MSS));
        let epoch = cubic.state.epoch.expect("in avoidance");
        assert_eq!((epoch.k, epoch.origin), (0.0, 28.0));
    }

    #[test]
    fn a_spurious_loss_is_taken_back() {
        let mut cubic = after_loss_at(100);
        cubic.on_congestion(Time::ZERO, Congestion::Spurious);
        assert_eq!(cubic.limit().cwnd, MSS * 100);
    }
}
