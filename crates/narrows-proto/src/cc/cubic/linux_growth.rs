use super::super::{Ack, OutOfRange, Ranges};
use crate::units::{Span, Time};

/// Settings of growth as Linux computes it.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "LinuxGrowth")]
pub struct LinuxGrowthParams {
    /// The clock of the kernel goes so far at once: 4 ms at HZ = 250, 1 ms at HZ = 1000.
    pub tick: Span,
}

impl Default for LinuxGrowthParams {
    fn default() -> Self {
        Self { tick: Span::from_ms(4) }
    }
}

impl LinuxGrowthParams {
    /// Checks ranges that types cannot express.
    ///
    /// # Errors
    /// Names the first setting that is out of its range.
    pub fn check(&self, ranges: &mut Ranges) -> Result<(), OutOfRange> {
        let ticks = Span::from_us(1)..=Span::from_ms(10);
        ranges.unless(ticks.contains(&self.tick), "linux_growth.tick", self.tick, "1 us to 10 ms")
    }
}

/// Growth in congestion avoidance as Linux computes it (`bictcp_update` of `net/ipv4/tcp_cubic.c`, `tcp_cong_avoid_ai` of
/// `net/ipv4/tcp_cong.c`), in whole segments and ticks.
///
/// ```text
/// W(t)   = W_max ∓ ⌊C·|t − K|³⌋,  t the time since the epoch began and the smallest round-trip time
/// W_est  one more for each window·scale/8 segments acknowledged,  scale = ⌊8(1 + β)/3(1 − β)⌋
/// every  = window/(W(t) − window), if W(t) is larger, else 100 windows
///        ≤ 20 before the first congestion                          (least_growth)
///        ≤ window/(W_est − window), if W_est is larger;  ≥ 2
/// window one more for `every` segments acknowledged
/// ```
/// `every` stays while the window does, for up to 1/32 s, and W(t) stays for a tick. So the window follows its goal in steps, up to a
/// segment or two below it.
///
/// Differs from Linux: K is exact, there a whole number of 1/1024 s that a table and one step of Newton's method give.
#[derive(Clone, Debug)]
pub(super) struct LinuxGrowth {
    tick: Span,
    /// Ticks for which `every` stays while the window does.
    hold: u64,
    c: f64,
    scale: u64,
    full_reno_growth: bool,
    /// Before the first congestion.
    most_every: u64,
    min_rtt: Option<Span>,
    epoch: Option<Epoch>,
    /// The window for which `every` was computed, and the tick.
    window: u64,
    computed: u64,
    every: u64,
    /// Segments acknowledged towards the next one.
    counted: u64,
}

#[derive(Clone, Copy, Debug)]
struct Epoch {
    /// In ticks.
    start: u64,
    /// K in seconds.
    k: f64,
    origin: u64,
    w_est: u64,
    /// Segments acknowledged towards the next one of `w_est`.
    acked: u64,
}

/// Settings of CUBIC on which its growth depends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rule {
    pub(super) c: f64,
    pub(super) beta: f64,
    /// Before the first congestion, in a round trip; none with 0.
    pub(super) least_growth: f64,
    pub(super) full_reno_growth: bool,
}

/// A window that grows, in segments, and what congestion left of what is known of the path.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    pub(super) cwnd: u64,
    pub(super) w_max: Option<u64>,
    /// W_est grows by one in a round trip from this window on.
    pub(super) prior: f64,
}

impl LinuxGrowth {
    pub(super) fn new(settings: &LinuxGrowthParams, rule: Rule) -> Self {
        let per_second = Span::from_secs(1).as_ps() / settings.tick.as_ps().max(1);
        let Rule { c, beta, least_growth, full_reno_growth } = rule;
        Self {
            tick: settings.tick,
            hold: per_second / 32,
            c,
            scale: (8.0 * (1.0 + beta) / (3.0 * (1.0 - beta))) as u64,
            full_reno_growth,
            most_every: if least_growth > 0.0 { (1.0 / least_growth) as u64 } else { u64::MAX },
            min_rtt: None,
            epoch: None,
            window: 0,
            computed: 0,
            every: 0,
            counted: 0,
        }
    }

    fn ticks(&self, now: Time) -> u64 {
        now.saturating_since(Time::ZERO).as_ps() / self.tick.as_ps()
    }

    /// Any acknowledgment. Those in the first second of an epoch say nothing of the smallest round-trip time: queues are full.
    pub(super) fn on_ack(&mut self, ack: &Ack) {
        let Some(rtt) = ack.rtt else { return };
        let second = Span::from_secs(1).as_ps() / self.tick.as_ps();
        let now = self.ticks(ack.now);
        if self.epoch.is_none_or(|epoch| now.saturating_sub(epoch.start) >= second) {
            self.min_rtt = Some(self.min_rtt.map_or(rtt, |min| min.min(rtt)));
        }
    }

    /// The window after `acked` more segments have been acknowledged.
    pub(super) fn grow(&mut self, now: Time, known: Known, acked: u64) -> u64 {
        let now = self.ticks(now);
        let mut cwnd = known.cwnd;
        if let Some(epoch) = &mut self.epoch {
            epoch.acked += acked;
        }
        let stays = self.window == cwnd && now.saturating_sub(self.computed) <= self.hold;
        if self.epoch.is_none() || !stays {
            self.compute(now, known, acked);
        }
        // What was counted towards a slower growth makes no jump.
        if self.counted >= self.every {
            self.counted = 0;
            cwnd += 1;
        }
        self.counted += acked;
        cwnd += self.counted / self.every;
        self.counted %= self.every;
        cwnd
    }

    #[inline(never)]
    fn compute(&mut self, now: u64, known: Known, acked: u64) {
        let Known { cwnd, w_max, prior } = known;
        let is_new = self.epoch.is_none();
        let epoch = self.epoch.get_or_insert_with(|| Epoch::new(now, cwnd, w_max, acked, self.c));
        if is_new || now != self.computed {
            (self.window, self.computed) = (cwnd, now);
            let rtt = self.min_rtt.unwrap_or_default().as_ps().div_ceil(self.tick.as_ps());
            let t = (now - epoch.start + rtt) as f64 * self.tick.as_secs_f64();
            let target = epoch.cubic(self.c, t);
            self.every = if target > cwnd { cwnd / (target - cwnd) } else { 100 * cwnd };
            if w_max.is_none() {
                self.every = self.every.min(self.most_every);
            }
        }
        let is_level = self.full_reno_growth && epoch.w_est as f64 >= prior;
        let share = (cwnd * if is_level { 8 } else { self.scale } / 8).max(1);
        let more = epoch.acked.saturating_sub(1) / share;
        epoch.acked -= more * share;
        epoch.w_est += more;
        if epoch.w_est > cwnd {
            self.every = self.every.min(cwnd / (epoch.w_est - cwnd));
        }
        self.every = self.every.max(2);
    }

    /// Congestion ends the epoch; a timeout, what was known of the path, too.
    pub(super) fn end(&mut self, timeout: bool) {
        self.epoch = None;
        self.counted = 0;
        if timeout {
            self.min_rtt = None;
        }
    }

    /// Nothing was sent for `idle`, which ends now.
    pub(super) fn leave_out(&mut self, now: Time, idle: Span) {
        let now = self.ticks(now);
        let idle = idle.as_ps() / self.tick.as_ps();
        if let Some(epoch) = &mut self.epoch {
            epoch.start = epoch.start.saturating_add(idle).min(now);
        }
    }
}

impl Epoch {
    fn new(start: u64, cwnd: u64, w_max: Option<u64>, acked: u64, c: f64) -> Self {
        let origin = w_max.unwrap_or(cwnd).max(cwnd);
        Self { start, k: libm::cbrt((origin - cwnd) as f64 / c), origin, w_est: cwnd, acked }
    }

    /// W(t) in whole segments.
    fn cubic(&self, c: f64, t: f64) -> u64 {
        let x = t - self.k;
        let delta = (c * x * x * x).abs() as u64;
        if x < 0.0 { self.origin.saturating_sub(delta) } else { self.origin.saturating_add(delta) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn growth(least_growth: f64) -> LinuxGrowth {
        let rule = Rule { c: 410.0 / 1024.0, beta: 717.0 / 1024.0, least_growth, full_reno_growth: false };
        LinuxGrowth::new(&LinuxGrowthParams::default(), rule)
    }

    /// Windows at the end of each round trip of `rtt` ms; acknowledgments are for two segments each and spread over it.
    fn rounds(growth: &mut LinuxGrowth, mut known: Known, rtt: u64, count: u64) -> Vec<u64> {
        let mut windows = Vec::new();
        for round in 0..count {
            let acks = known.cwnd / 2;
            for number in 0..acks {
                let now = Time::ZERO + Span::from_ms(rtt * round) + Span::from_us(1000 * rtt * number / acks);
                known.cwnd = growth.grow(now, known, 2);
            }
            windows.push(known.cwnd);
        }
        windows
    }

    #[test]
    fn w_est_grows_by_one_for_fifteen_eighths_of_a_window() {
        // 8·1741/(3·307) = 15.12.
        assert_eq!(growth(0.0).scale, 15);
    }

    #[test]
    fn the_window_follows_w_est_in_steps_as_long_as_ticks_have_it() {
        let known = Known { cwnd: 70, w_max: Some(100), prior: f64::INFINITY };
        let windows = rounds(&mut growth(0.0), known, 10, 60);
        // W_est grows by 8/15 a round trip; the window stays while W_est is computed every eighth tick (32 ms) only.
        let longest = windows.chunk_by(|a, b| a == b).map(<[u64]>::len).max();
        assert!(longest >= Some(3), "{windows:?}");
        let last = windows[59] as f64;
        let expected = 70.0 + 60.0 * 8.0 / 15.0;
        // At most what one period of 32 ms gives below it, and the first one.
        assert!((expected - 4.0..=expected).contains(&last), "{last} of {expected}");
    }

    #[test]
    fn the_window_is_a_segment_below_its_plateau_until_the_cubic_is_a_segment_beyond() {
        let known = Known { cwnd: 700, w_max: Some(1000), prior: f64::INFINITY };
        // K = ∛(300/0.4004) = 9.08 s; at 100 ms the cubic is far faster than W_est (32 in 6 s).
        let windows = rounds(&mut growth(0.0), known, 100, 110);
        assert!(windows.is_sorted(), "{windows:?}");
        // ⌊C·x³⌋ = 0 for |x| ≤ ∛(1/C) = 1.357 s: the plateau.
        let plateau: Vec<_> = (80..104).map(|round| windows[round]).collect();
        assert!(plateau.iter().all(|window| (998..=1000).contains(window)), "{plateau:?}");
        let w = |t: f64| 1000.0 - 0.400_390_625 * (9.083_f64 - t).powi(3);
        // The rate is a window's in a round trip, so that the window follows within a round trip of 100 ms.
        for round in [30, 50, 70] {
            let (least, most) = (w(0.1 * round as f64 - 0.2), w(0.1 * round as f64 + 0.2));
            assert!((least..=most).contains(&(windows[round] as f64)), "{round}: {} {least}", windows[round]);
        }
    }

    #[test]
    fn before_the_first_congestion_the_window_grows_by_a_twentieth_a_round_trip() {
        let known = Known { cwnd: 100, w_max: None, prior: f64::INFINITY };
        let windows = rounds(&mut growth(0.05), known, 10, 15);
        // 100·1.05^15 = 207.9, -3 % as growth is in whole segments of the window at the beginning of a round trip.
        assert!((201..=208).contains(&windows[14]), "{windows:?}");
    }

    #[test]
    fn idle_time_is_left_out_and_congestion_begins_a_new_epoch() {
        let at = |ms| Time::ZERO + Span::from_ms(ms);
        let mut growth = growth(0.0);
        let known = Known { cwnd: 70, w_max: Some(100), prior: f64::INFINITY };
        growth.grow(at(100), known, 2);
        growth.leave_out(at(5000), Span::from_ms(4000));
        assert_eq!(growth.epoch.map(|epoch| epoch.start), Some((100 + 4000) / 4));
        growth.end(false);
        growth.grow(at(6000), known, 2);
        assert_eq!(growth.epoch.map(|epoch| epoch.start), Some(1500));
    }
}
