//! BCN: additive increase, multiplicative decrease, as the congestion point says.
//!
//! ```text
//! BCN of 2005, a level                                     the slides of May 2005, "Reaction (2)"
//!     BCN+n   R = R + 2^(n−1)·Ki             n = 1 to 4
//!     BCN−n   R = R·(1 − 2^(n−1)·Kd)         8·Kd < 1
//!     BCN0    R = 0
//! BCN of 2006, offset and change of the queue              Alizadeh et al., Allerton 2008
//!     Fb = (Qoff − w·Qdelta)/unit
//!     Fb > 0  R = R + Gi·Fb·Ru
//!     Fb < 0  R = R·(1 − Gd·|Fb|)            at most max_cut of R is taken
//! ```
//! The slides are: D. Bergamasco, *Data Center Ethernet Congestion Management: Backward Congestion Notification*, IEEE
//! 802.1 Interim, Berlin, May 2005. Which rule holds is up to the message, so one limiter knows both.
//!
//! *Who may speed up.* The congestion point of the last negative message is remembered and stamped into every frame.
//! Positive messages count only if they come from there. So with several congested queues on a path the rate follows
//! the one that complained last, and none speeds up what another has slowed.
//!
//! *After a stop.* BCN0 stops the queue for a random time of up to Tmax; then it starts again with a tenth of the line
//! rate. Each further BCN0 before a positive message counts doubles Tmax and halves that rate. While the queue is
//! stopped, messages change the stamp and nothing else: they speak of frames sent before the stop, so they neither
//! start the queue, nor move its timer, nor count as one more BCN0 or as a positive message.
//!
//! *Drift.* A limiter that receives nothing at all for a while rises by Ki at regular intervals, so that lost messages,
//! or a flow that no congestion point samples any more, do not leave it limited for ever.
//!
//! Differs from the slides: rates stay between a smallest rate and line rate; the restart after BCN0, which they leave
//! open, and the drift are added here.

use super::{check_min_rate, check_rate, check_span, check_tag};
use crate::cc::{OutOfRange, Ranges};
use crate::cnm::{Cnm, CpId, Signal};
use crate::units::{BitRate, Bytes, Span, Time};

/// Settings of a BCN reaction point.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "BcnReaction")]
pub struct Params {
    /// Ki, what BCN+1 of 2005 and each step of the drift add. The slides give no value; this is Gi·Ru.
    pub ki: BitRate,
    /// Kd, the part of the rate that BCN−1 of 2005 takes. The slides give no value; with 1/16, BCN−4 halves the rate.
    pub kd: f64,
    /// Gi, how strongly positive feedback of 2006 acts.
    pub gi: f64,
    /// Gd, the part of the rate that one unit of negative feedback of 2006 takes.
    pub gd: f64,
    /// Ru, the unit of rate for positive feedback of 2006.
    pub ru: BitRate,
    /// w, the weight of the change of the queue in the feedback of 2006.
    pub w: f64,
    /// The unit of the feedback of 2006: full frames.
    pub unit: Bytes,
    /// The largest part of the rate that one message of 2006 takes.
    pub max_cut: f64,
    /// Nothing but a stop goes below this rate, not even a restart.
    pub min_rate: BitRate,
    /// Rate at which a stopped queue starts again, as a part of line rate.
    pub restart_rate: f64,
    /// Tmax, the longest stop.
    pub restart_within: Span,
    /// Most BCN0 in a row that double Tmax and halve the restart rate.
    pub max_backoff: u32,
    /// Silence after which the rate drifts up.
    pub drift_after: Span,
    /// Time between two steps of the drift.
    pub drift_every: Span,
    /// Bytes that the tag adds to every frame. The slides leave its layout open: 8 B hold an EtherType, the name of a
    /// congestion point and a time stamp.
    pub tag: Bytes,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            ki: BitRate::from_mbps(32),
            kd: 1.0 / 16.0,
            gi: 4.0,
            gd: 1.0 / 128.0,
            ru: BitRate::from_mbps(8),
            w: 2.0,
            unit: Bytes::new(1500),
            max_cut: 0.5,
            min_rate: BitRate::from_mbps(10),
            restart_rate: 0.1,
            restart_within: Span::from_us(10),
            max_backoff: 10,
            drift_after: Span::from_ms(10),
            drift_every: Span::from_ms(1),
            tag: Bytes::new(8),
        }
    }
}

impl Params {
    /// Checks ranges that types cannot express.
    ///
    /// # Errors
    /// Names the first setting that is out of its range.
    pub fn check(&self, line_rate: Option<BitRate>, ranges: &mut Ranges) -> Result<(), OutOfRange> {
        let Self { kd, gi, gd, w, unit, max_cut, restart_rate, restart_within, max_backoff, .. } = *self;
        check_rate("ki", self.ki, ranges)?;
        let stays_positive = kd > 0.0 && 8.0 * kd < 1.0;
        let below = "above 0, below 1/8, so that BCN-4 does not make a rate zero or negative";
        ranges.unless(stays_positive, "kd", kd, below)?;
        ranges.unless(gi > 0.0 && gi <= 1e6, "gi", gi, "above 0, at most 1000000")?;
        ranges.unless(gd > 0.0 && gd <= 1.0, "gd", gd, "above 0, at most 1")?;
        check_rate("ru", self.ru, ranges)?;
        ranges.unless((0.0..=1e6).contains(&w), "w", w, "0 to 1000000")?;
        ranges.unless(unit > Bytes::ZERO, "unit", unit, "more than 0 B")?;
        ranges.unless(max_cut > 0.0 && max_cut < 1.0, "max_cut", max_cut, "above 0, below 1")?;
        check_min_rate(self.min_rate, line_rate, ranges)?;
        let part = restart_rate > 0.0 && restart_rate <= 1.0;
        ranges.unless(part, "restart_rate", restart_rate, "above 0, at most 1")?;
        check_span("restart_within", restart_within, ranges)?;
        let short = restart_within <= Span::from_secs(1);
        ranges.unless(short, "restart_within", restart_within, "at most 1 s")?;
        // 2^20 times 1 s is 12 days, well within the range of a span.
        ranges.unless(max_backoff <= 20, "max_backoff", max_backoff, "at most 20")?;
        check_span("drift_after", self.drift_after, ranges)?;
        check_span("drift_every", self.drift_every, ranges)?;
        check_tag(self.tag, ranges)
    }

    /// Fb of 2006. Offset and change are in units of 64 B.
    fn feedback(&self, cnm: &Cnm) -> f64 {
        let Cnm { q_offset, q_delta, .. } = *cnm;
        (f64::from(q_offset) - self.w * f64::from(q_delta)) * 64.0 / self.unit.as_f64()
    }
}

/// A BCN limiter.
#[derive(Clone, Debug)]
pub struct ReactionPoint {
    params: Params,
    /// Rates in bit/s. While stopped, `current` is the one to start again with.
    line_rate: f64,
    current: f64,
    stopped: bool,
    /// BCN0 that counted since the last positive message that did.
    stops: u32,
    /// Who sent the last negative message.
    tag: Option<CpId>,
    /// End of the stop, or the next step of the drift.
    timer: Time,
}

impl ReactionPoint {
    /// A limiter that sends at line rate and has not received a message yet. The settings have passed [`Params::check`].
    pub fn new(params: &Params, line_rate: BitRate) -> Self {
        let line_rate = line_rate.as_f64();
        Self {
            params: params.clone(),
            line_rate,
            current: line_rate,
            stopped: false,
            stops: 0,
            tag: None,
            timer: Time::NEVER,
        }
    }

    /// A message arrived.
    pub fn on_cnm(&mut self, now: Time, cnm: &Cnm, random: &mut impl FnMut() -> f64) {
        let signal = cnm.signal;
        if matches!(signal, Signal::Quantized(_) | Signal::Level(0)) {
            return;
        }
        if signal.is_slower() {
            self.tag = Some(cnm.from);
        }
        if self.stopped {
            return;
        }
        if signal == Signal::Stop {
            self.stop(now, random);
            return;
        }
        if signal.is_slower() {
            self.set_rate(self.current * (1.0 - self.cut(cnm)));
        } else if self.tag == Some(cnm.from) {
            self.set_rate(self.current + self.increase(cnm));
            self.stops = 0;
        }
        // Any message shows that somebody still watches, even one that does not count.
        self.drift_in(now, self.params.drift_after);
    }

    /// The time of [`next_timer`](Self::next_timer) may have come. If it has not, nothing happens.
    pub fn on_timer(&mut self, now: Time) {
        if now < self.timer {
            return;
        }
        if self.stopped {
            self.stopped = false;
            self.drift_in(now, self.params.drift_after);
        } else {
            self.set_rate(self.current + self.params.ki.as_f64());
            self.drift_in(now, self.params.drift_every);
        }
    }

    /// When the stop ends or the drift goes on; [`Time::NEVER`] at line rate.
    pub fn next_timer(&self) -> Time {
        self.timer
    }

    /// Rate at which the queue may be sent, rounded down; [`BitRate::ZERO`] while stopped.
    #[inline]
    pub fn rate(&self) -> BitRate {
        if self.stopped { BitRate::ZERO } else { BitRate::from_f64(self.current) }
    }

    /// The congestion point of the last negative message, BCN0 included.
    #[inline]
    pub fn tag(&self) -> Option<CpId> {
        self.tag
    }

    /// It is at line rate: the limiter may go once its queue is empty.
    pub fn is_released(&self) -> bool {
        !self.stopped && self.current >= self.line_rate
    }

    /// The part of the rate that a negative message takes.
    fn cut(&self, cnm: &Cnm) -> f64 {
        match cnm.signal {
            Signal::Level(level) => weight(level) * self.params.kd,
            // The sender knows its sign; where rounding on the way has turned it, nothing is left to take.
            _ => (-self.params.gd * self.params.feedback(cnm)).clamp(0.0, self.params.max_cut),
        }
    }

    /// Increase of the rate by a positive message, in bit/s.
    fn increase(&self, cnm: &Cnm) -> f64 {
        let Params { ki, gi, ru, .. } = self.params;
        match cnm.signal {
            Signal::Level(level) => weight(level) * ki.as_f64(),
            _ => gi * self.params.feedback(cnm).max(0.0) * ru.as_f64(),
        }
    }

    fn stop(&mut self, now: Time, random: &mut impl FnMut() -> f64) {
        let backoff = 1_u64 << self.stops.min(self.params.max_backoff);
        let longest = self.params.restart_within.saturating_mul(backoff).as_ps() as f64;
        self.stops = self.stops.saturating_add(1);
        self.stopped = true;
        self.set_rate(self.params.restart_rate * self.line_rate / backoff as f64);
        self.timer = now + Span::from_ps((longest * random()) as u64);
    }

    fn set_rate(&mut self, rate: f64) {
        self.current = rate.max(self.params.min_rate.as_f64()).min(self.line_rate);
    }

    fn drift_in(&mut self, now: Time, span: Span) {
        self.timer = if self.is_released() { Time::NEVER } else { now + span };
    }
}

/// Multiple of Ki or Kd that a level stands for: 1, 2, 4, 8. Levels beyond 4 count as 4.
fn weight(level: i8) -> f64 {
    match level.unsigned_abs() {
        0 => 0.0,
        level => f64::from(1_u8 << (level.min(4) - 1)),
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU16;

    use super::*;

    const LINE: BitRate = BitRate::from_gbps(10);

    fn middle() -> f64 {
        0.5
    }

    fn at(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    fn cp(id: u16) -> CpId {
        CpId(NonZeroU16::new(id).unwrap())
    }

    fn message(from: u16, signal: Signal) -> Cnm {
        Cnm { from: cp(from), signal, q_offset: 0, q_delta: 0 }
    }

    fn level(level: i8) -> Cnm {
        message(1, Signal::Level(level))
    }

    /// A limiter after these messages of congestion point 1, all at the beginning.
    fn after(messages: &[Cnm]) -> ReactionPoint {
        let mut rp = ReactionPoint::new(&Params::default(), LINE);
        receive(&mut rp, messages);
        rp
    }

    fn receive(rp: &mut ReactionPoint, messages: &[Cnm]) {
        messages.iter().for_each(|message| rp.on_cnm(Time::ZERO, message, &mut middle));
    }

    fn mbps(rp: &ReactionPoint) -> u64 {
        rp.rate().as_bps() / 1_000_000
    }

    #[test]
    fn the_nine_reactions_of_the_slides() {
        // From half of 10 Gb/s, with Ki = 32 Mb/s and Kd = 1/16.
        let table = [
            (Signal::Level(4), 5_256),  // + 8 · 32
            (Signal::Level(3), 5_128),  // + 4 · 32
            (Signal::Level(2), 5_064),  // + 2 · 32
            (Signal::Level(1), 5_032),  // + 32
            (Signal::Level(-1), 4_687), // · 15/16 = 4687.5
            (Signal::Level(-2), 4_375), // · 14/16
            (Signal::Level(-3), 3_750), // · 12/16
            (Signal::Level(-4), 2_500), // · 8/16
            (Signal::Stop, 0),
        ];
        for (signal, expected) in table {
            assert_eq!(mbps(&after(&[level(-4), message(1, signal)])), expected, "{signal:?}");
        }
    }

    #[test]
    fn negative_feedback_of_2006_takes_its_part_in_frames() {
        // Qoff = −375 · 64 B = −24 000 B, Qdelta = 75 · 64 B = 4 800 B: −24 000 − 2 · 4 800 = −33 600 B, or −22.4
        // frames. 1 − 22.4/128 = 0.825.
        let signal = Signal::Explicit { slower: true };
        let rp = after(&[Cnm { q_offset: -375, q_delta: 75, ..message(1, signal) }]);
        assert_eq!(mbps(&rp), 8_250);
        // −375 alone: −16 frames, 1 − 16/128 = 0.875. 75 alone: −6.4 frames, 1 − 6.4/128 = 0.95.
        let rp = after(&[Cnm { q_offset: -375, ..message(1, signal) }]);
        assert_eq!(mbps(&rp), 8_750);
        let rp = after(&[Cnm { q_delta: 75, ..message(1, signal) }]);
        assert_eq!(mbps(&rp), 9_500);
    }

    #[test]
    fn positive_feedback_of_2006_adds_its_frames_times_gi_and_ru() {
        // Qoff = 9 600 B, Qdelta = −4 800 B: 9 600 + 2 · 4 800 = 19 200 B, or 12.8 frames; 4 · 12.8 · 8 = 409.6 Mb/s.
        let signal = Signal::Explicit { slower: false };
        let faster = Cnm { q_offset: 150, q_delta: -75, ..message(1, signal) };
        assert_eq!(after(&[level(-4), faster]).rate(), BitRate::from_bps(5_409_600_000));
    }

    #[test]
    fn one_message_of_2006_takes_max_cut_at_most() {
        // Qoff = −48 000 B, Qdelta = 96 000 B: −160 frames, and 160/128 is more than the whole rate.
        let signal = Signal::Explicit { slower: true };
        let rp = after(&[Cnm { q_offset: -750, q_delta: 1_500, ..message(1, signal) }]);
        assert_eq!(mbps(&rp), 5_000);
    }

    #[test]
    fn a_message_of_2006_never_acts_against_its_sign() {
        let slower = Cnm { q_offset: 500, ..message(1, Signal::Explicit { slower: true }) };
        let faster = Cnm { q_offset: -500, ..message(1, Signal::Explicit { slower: false }) };
        assert_eq!(mbps(&after(&[level(-4), slower])), 5_000);
        assert_eq!(mbps(&after(&[level(-4), faster])), 5_000);
    }

    #[test]
    fn levels_that_do_not_exist_change_no_more_than_those_that_do() {
        assert_eq!(mbps(&after(&[level(i8::MIN)])), 5_000);
        assert_eq!(mbps(&after(&[level(-4), level(i8::MAX)])), 5_256);
        let rp = after(&[level(0)]);
        assert_eq!((rp.rate(), rp.next_timer()), (LINE, Time::NEVER));
    }

    #[test]
    fn frames_name_the_congestion_point_of_the_last_negative_message() {
        let mut rp = after(&[message(1, Signal::Level(4))]);
        assert_eq!(rp.tag(), None);
        let steps = [
            (message(1, Signal::Level(-1)), 1),
            (message(2, Signal::Level(4)), 1),
            (message(2, Signal::Explicit { slower: true }), 2),
            (message(3, Signal::Stop), 3),
            (message(4, Signal::Level(-1)), 4), // while stopped
        ];
        for (message, tag) in steps {
            receive(&mut rp, &[message]);
            assert_eq!(rp.tag(), Some(cp(tag)), "{message:?}");
        }
    }

    #[test]
    fn positive_messages_count_only_from_who_complained_last() {
        let rp = after(&[message(1, Signal::Level(-4)), message(2, Signal::Level(4))]);
        assert_eq!(mbps(&rp), 5_000);
        let explicit = Cnm { q_offset: 300, ..message(2, Signal::Explicit { slower: false }) };
        assert_eq!(mbps(&after(&[message(1, Signal::Level(-4)), explicit])), 5_000);
        // Point 2 complains: 5000 · 15/16. Now 1 is a stranger and 2 is not.
        let slowed = [message(1, Signal::Level(-4)), message(2, Signal::Level(-1))];
        assert_eq!(mbps(&after(&[slowed[0], slowed[1], message(1, Signal::Level(4))])), 4_687);
        assert_eq!(mbps(&after(&[slowed[0], slowed[1], message(2, Signal::Level(4))])), 4_943); // + 256
    }

    #[test]
    fn rates_stay_between_the_smallest_one_and_line_rate() {
        assert_eq!(after(&[level(-4); 40]).rate(), BitRate::from_mbps(10));
        let rp = after(&[level(-1), level(4), level(4), level(4)]);
        assert_eq!(rp.rate(), LINE); // 9375 + 3 · 256 would be 10 143
        assert!(rp.is_released());
        assert_eq!(rp.next_timer(), Time::NEVER);
    }

    #[test]
    fn a_stop_lasts_a_random_time_and_ends_at_a_tenth_of_line_rate() {
        for (chance, us) in [(0.0, 0), (0.25, 2), (0.5, 5)] {
            let mut rp = ReactionPoint::new(&Params::default(), LINE);
            rp.on_cnm(at(100), &message(1, Signal::Stop), &mut || chance);
            assert_eq!(rp.rate(), BitRate::ZERO);
            assert!(!rp.is_released());
            let end = rp.next_timer();
            assert_eq!(end.as_ps() / 1_000_000, 100 + us);
            rp.on_timer(end);
            assert_eq!(rp.rate(), BitRate::from_gbps(1));
        }
    }

    #[test]
    fn no_message_starts_a_stopped_queue_or_moves_its_timer() {
        let mut rp = after(&[message(1, Signal::Stop)]);
        for signal in [Signal::Level(-4), Signal::Stop, Signal::Level(4), Signal::Explicit { slower: true }] {
            rp.on_cnm(at(1), &message(1, signal), &mut || panic!("nothing is drawn"));
            assert_eq!((rp.rate(), rp.next_timer(), rp.stops), (BitRate::ZERO, at(5), 1), "{signal:?}");
        }
        rp.on_timer(at(5));
        assert_eq!(rp.rate(), BitRate::from_gbps(1));
    }

    /// Stops a limiter and lets it start again; length of the stop in us, half of the longest, and rate after it in
    /// Mb/s.
    fn stop(rp: &mut ReactionPoint) -> (u64, u64) {
        receive(rp, &[message(1, Signal::Stop)]);
        let length = rp.next_timer().as_ps() / 1_000_000;
        rp.on_timer(rp.next_timer());
        (length, mbps(rp))
    }

    #[test]
    fn stops_in_a_row_double_the_wait_and_halve_the_restart() {
        let mut rp = after(&[]);
        let stops: Vec<_> = (0..12).map(|_| stop(&mut rp)).collect();
        let first = [(5, 1_000), (10, 500), (20, 250), (40, 125), (80, 62), (160, 31), (320, 15)];
        assert_eq!(stops[..7], first);
        // 7.8 Mb/s and less is below the smallest rate; the wait doubles ten times.
        assert_eq!(stops[7..], [(640, 10), (1_280, 10), (2_560, 10), (5_120, 10), (5_120, 10)]);
    }

    #[test]
    fn only_a_positive_message_that_counts_ends_the_back_off() {
        let mut rp = after(&[]);
        stop(&mut rp);
        receive(&mut rp, &[level(-1), message(2, Signal::Level(1))]);
        assert_eq!(stop(&mut rp), (10, 500));
        receive(&mut rp, &[level(1)]);
        assert_eq!(stop(&mut rp), (5, 1_000));
    }

    #[test]
    fn a_limiter_that_receives_nothing_drifts_up_to_line_rate() {
        // 10 000 · 15/16 = 9375 Mb/s; 20 steps of 32 Mb/s are more than what is missing.
        let mut rp = after(&[level(-1)]);
        let mut steps = Vec::new();
        while !rp.is_released() {
            steps.push((rp.next_timer(), mbps(&rp)));
            rp.on_timer(rp.next_timer());
        }
        assert_eq!(steps[..3], [(at(10_000), 9_375), (at(11_000), 9_407), (at(12_000), 9_439)]);
        assert_eq!((steps.len(), rp.rate(), rp.next_timer()), (20, LINE, Time::NEVER));
    }

    #[test]
    fn any_message_holds_the_drift_up() {
        let mut rp = after(&[level(-1)]);
        rp.on_timer(at(10_000));
        rp.on_cnm(at(10_500), &message(2, Signal::Level(1)), &mut middle);
        assert_eq!((mbps(&rp), rp.next_timer()), (9_407, at(20_500)));
        rp.on_timer(at(11_000));
        assert_eq!(mbps(&rp), 9_407);
    }

    #[test]
    fn a_restarted_queue_drifts_like_any_other() {
        let mut rp = after(&[message(1, Signal::Stop)]);
        rp.on_timer(at(5));
        assert_eq!(rp.next_timer(), at(10_005));
        rp.on_timer(at(10_005));
        assert_eq!(mbps(&rp), 1_032);
    }

    #[test]
    fn a_timer_called_early_does_nothing() {
        let mut rp = after(&[level(-1)]);
        rp.on_timer(at(9_999));
        assert_eq!((mbps(&rp), rp.next_timer()), (9_375, at(10_000)));
        let mut rp = after(&[message(1, Signal::Stop)]);
        rp.on_timer(at(4));
        assert_eq!((rp.rate(), rp.next_timer()), (BitRate::ZERO, at(5)));
        let mut rp = after(&[]);
        rp.on_timer(at(1_000));
        assert_eq!(rp.next_timer(), Time::NEVER);
    }

    fn refused(params: &Params, line_rate: Option<BitRate>) -> String {
        params.check(line_rate, &mut Ranges::default()).expect_err("should be refused").to_string()
    }

    #[test]
    fn settings_out_of_range_are_refused_by_name() {
        let good = Params::default;
        let kd = "expected above 0, below 1/8, so that BCN-4 does not make a rate zero or negative";
        let bad = [
            (Params { ki: BitRate::ZERO, ..good() }, "ki = 0 b/s, expected more than 0 b/s"),
            (Params { kd: 0.0, ..good() }, &format!("kd = 0, {kd}")),
            (Params { kd: 0.125, ..good() }, &format!("kd = 0.125, {kd}")),
            (Params { kd: f64::NAN, ..good() }, &format!("kd = NaN, {kd}")),
            (Params { gi: 0.0, ..good() }, "gi = 0, expected above 0, at most 1000000"),
            (Params { gi: f64::INFINITY, ..good() }, "gi = inf, expected above 0, at most 1000000"),
            (Params { gd: 0.0, ..good() }, "gd = 0, expected above 0, at most 1"),
            (Params { gd: 2.0, ..good() }, "gd = 2, expected above 0, at most 1"),
            (Params { ru: BitRate::ZERO, ..good() }, "ru = 0 b/s, expected more than 0 b/s"),
            (Params { w: -1.0, ..good() }, "w = -1, expected 0 to 1000000"),
            (Params { unit: Bytes::ZERO, ..good() }, "unit = 0 B, expected more than 0 B"),
            (Params { max_cut: 0.0, ..good() }, "max_cut = 0, expected above 0, below 1"),
            (Params { max_cut: 1.0, ..good() }, "max_cut = 1, expected above 0, below 1"),
            (Params { min_rate: BitRate::ZERO, ..good() }, "min_rate = 0 b/s, expected at least 1 kb/s"),
            (Params { restart_rate: 0.0, ..good() }, "restart_rate = 0, expected above 0, at most 1"),
            (Params { restart_rate: 1.1, ..good() }, "restart_rate = 1.1, expected above 0, at most 1"),
            (
                Params { restart_within: Span::ZERO, ..good() },
                "restart_within = 0 ps, expected at least 100 ns",
            ),
            (
                Params { restart_within: Span::MAX, ..good() },
                &format!("restart_within = {}, expected at most 1 s", Span::MAX),
            ),
            (Params { max_backoff: 21, ..good() }, "max_backoff = 21, expected at most 20"),
            (Params { drift_after: Span::ZERO, ..good() }, "drift_after = 0 ps, expected at least 100 ns"),
            (Params { drift_every: Span::ZERO, ..good() }, "drift_every = 0 ps, expected at least 100 ns"),
            (Params { tag: Bytes::new(65), ..good() }, "tag = 65 B, expected at most 64 B"),
        ];
        for (params, message) in bad {
            assert_eq!(refused(&params, None), message);
        }
        let slow = Some(BitRate::from_mbps(9));
        assert_eq!(refused(&good(), slow), "min_rate = 10 Mb/s, expected at most the line rate");
        assert_eq!(good().check(Some(BitRate::from_mbps(10)), &mut Ranges::default()), Ok(()));
    }

    #[test]
    fn every_setting_has_a_default_and_unknown_ones_are_refused() {
        use serde::Deserialize;
        use serde::de::value::{Error, MapDeserializer};
        let read = |settings: &[(&'static str, &'static str)]| {
            Params::deserialize(MapDeserializer::<_, Error>::new(settings.iter().copied()))
        };
        assert_eq!(read(&[]), Ok(Params::default()));
        let ki = BitRate::from_mbps(1);
        assert_eq!(read(&[("ki", "1 Mb/s")]), Ok(Params { ki, ..Params::default() }));
        assert!(read(&[("speed", "1")]).is_err());
    }
}
