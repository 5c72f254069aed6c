//! QCN: cut by the quantized feedback, then recover by bytes sent and time passed.
//!
//! ```text
//! Message with feedback Fb, 1 to 63                                 802.1Qau clause 32
//!     TR = CR, byte countdown = BC        if a byte stage has passed since the last message
//!     CR = CR·max(min_dec_fac, 1 − Gd·Fb)
//!     byte stage = time stage = 0, timer = T
//! Byte countdown or timer runs out: its stage is one higher, and
//!     fast recovery   while its stage is below F            TR unchanged
//!     active          until both stages are at least F      TR = TR + R_AI
//!     hyper-active    from then on                          TR = TR + R_HAI·(smaller stage − F + 1)
//!     CR = (CR + TR)/2
//! ```
//! CR is the current rate, TR the target rate. A target more than ten times the current rate is divided by eight at
//! the first stage instead of raised, so that a hard cut is not undone at once. BC and T are halved for events of the
//! hyper-active state. At line rate the limiter is released and its timer ends.
//!
//! There are no positive messages: a source that receives nothing speeds up by itself. Offset and change of the queue in
//! the message are not used.
//!
//! The states and their order are those of the RP rate control state machine, as ns3-rdma has them, too; the settings
//! are those of IEEE8021-CN-MIB, with their defaults there. Alizadeh et al., Allerton 2008, explain why it works.
//!
//! All reloads of countdown and timer are spread by chance ([`Params::jitter`]); IEEE8021-CN-MIB has no setting for it.
//!
//! Differs from 802.1Qau clause 32: a limiter at line rate whose queue is not yet empty receives its next message like a
//! new one.

use super::{check_min_rate, check_rate, check_span, check_tag};
use crate::cc::{OutOfRange, Ranges};
use crate::cnm::{Cnm, Signal};
use crate::units::{BitRate, Bytes, Span, Time};

/// Settings of a QCN reaction point.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "QcnReaction")]
pub struct Params {
    /// BC, bytes to send for a byte stage (rpgByteReset). 100 frames of 1500 B.
    pub byte_reset: Bytes,
    /// T, the length of a time stage (rpgTimeReset).
    pub time_reset: Span,
    /// F, stages until fast recovery ends (rpgThreshold).
    pub threshold: u32,
    /// R_AI, what an event of the active state adds to the target (rpgAiRate).
    pub ai_rate: BitRate,
    /// R_HAI, what an event of the hyper-active state adds, times the stages past F (rpgHaiRate).
    pub hai_rate: BitRate,
    /// Gd, the part of the rate that one unit of feedback takes (rpgGd). With 1/128 the largest feedback takes 63/128.
    pub gd: f64,
    /// The smallest factor of a cut (rpgMinDecFac).
    pub min_dec_fac: f64,
    /// No cut goes below this rate (rpgMinRate).
    pub min_rate: BitRate,
    /// Every byte countdown and timer lasts up to this part more or less, by chance; 0 turns it off. 15 % as in Pan's
    /// pseudo-code v2.3. Without it, sources that were cut together also recover together, in equal steps.
    pub jitter: f64,
    /// Version of the end of recovery.
    pub variant: Variant,
    /// Bytes that the tag adds to every frame: the CN-TAG of EtherType and flow identifier (802.1Qau clause 33).
    pub tag: Bytes,
}

/// Two versions of the end of recovery.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "QcnVariant")]
pub enum Variant {
    /// 802.1Qau: the first hyper-active event adds R_HAI, and only that state halves BC and T.
    #[default]
    Standard,
    /// Pan's pseudo-code v2.3: R_HAI·(smaller stage − F), so that the first hyper-active stage adds nothing, and each
    /// of BC and T is halved as soon as its own stage reaches F.
    PseudoCode,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            byte_reset: Bytes::new(150_000),
            time_reset: Span::from_ms(15),
            threshold: 5,
            ai_rate: BitRate::from_mbps(5),
            hai_rate: BitRate::from_mbps(50),
            gd: 1.0 / 128.0,
            min_dec_fac: 0.5,
            min_rate: BitRate::from_mbps(5),
            jitter: 0.15,
            variant: Variant::Standard,
            tag: Bytes::new(4),
        }
    }
}

impl Params {
    /// Checks ranges that types cannot express.
    ///
    /// # Errors
    /// Names the first setting that is out of its range.
    pub fn check(&self, line_rate: Option<BitRate>, ranges: &mut Ranges) -> Result<(), OutOfRange> {
        let Self { byte_reset, threshold, gd, min_dec_fac, jitter, .. } = *self;
        ranges.unless(byte_reset > Bytes::ZERO, "byte_reset", byte_reset, "more than 0 B")?;
        check_span("time_reset", self.time_reset, ranges)?;
        ranges.unless(threshold >= 1, "threshold", threshold, "at least 1")?;
        check_rate("ai_rate", self.ai_rate, ranges)?;
        check_rate("hai_rate", self.hai_rate, ranges)?;
        ranges.unless(gd > 0.0 && gd <= 1.0, "gd", gd, "above 0, at most 1")?;
        let cuts = min_dec_fac > 0.0 && min_dec_fac < 1.0;
        ranges.unless(cuts, "min_dec_fac", min_dec_fac, "above 0, below 1")?;
        check_min_rate(self.min_rate, line_rate, ranges)?;
        ranges.unless((0.0..1.0).contains(&jitter), "jitter", jitter, "0 or more, below 1")?;
        check_tag(self.tag, ranges)
    }

    /// Bytes until the next byte event.
    fn byte_countdown(&self, halved: bool, random: &mut impl FnMut() -> f64) -> i64 {
        let bytes = self.byte_reset.as_f64() * self.spread(halved, random);
        ((bytes + 0.5) as i64).max(1)
    }

    /// Time until the next timer event.
    fn timer_span(&self, halved: bool, random: &mut impl FnMut() -> f64) -> Span {
        let ps = self.time_reset.as_ps() as f64 * self.spread(halved, random);
        Span::from_ps(((ps + 0.5) as u64).max(1))
    }

    /// Which part of its setting a reload takes.
    fn spread(&self, halved: bool, random: &mut impl FnMut() -> f64) -> f64 {
        let whole = if halved { 0.5 } else { 1.0 };
        if self.jitter > 0.0 { whole * (1.0 + self.jitter * (2.0 * random() - 1.0)) } else { whole }
    }
}

/// Phase of a limiter's recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// It is at line rate, and nothing counts.
    Inactive,
    Fast,
    Active,
    Hyper,
}

/// A QCN limiter.
#[derive(Clone, Debug)]
pub struct ReactionPoint {
    params: Params,
    /// Rates in bit/s. The current one lies between the smallest rate and line rate; the target may be above both.
    line_rate: f64,
    current: f64,
    target: f64,
    phase: Phase,
    byte_stage: u32,
    time_stage: u32,
    /// Bytes left of the byte countdown. A frame may overshoot it; that does not count for the next one.
    bytes_left: i64,
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
            target: line_rate,
            phase: Phase::Inactive,
            byte_stage: 0,
            time_stage: 0,
            bytes_left: i64::MAX,
            timer: Time::NEVER,
        }
    }

    /// A limiter that has not received a message yet cuts its first one from this rate, not from line rate; from the smallest
    /// rate if it is less.
    pub fn start_at(&mut self, rate: BitRate) {
        debug_assert!(self.phase == Phase::Inactive, "it has received a message");
        self.current = rate.as_f64().clamp(self.params.min_rate.as_f64(), self.line_rate);
    }

    /// The rate is at most this, or the smallest rate. The target stays, so that recovery goes on from here.
    pub fn cap(&mut self, most: BitRate) {
        self.current = self.current.min(most.as_f64()).max(self.params.min_rate.as_f64());
    }

    /// A message arrived: cuts the rate and starts recovery anew. Feedback 0 is no message.
    pub fn on_cnm(&mut self, now: Time, cnm: &Cnm, random: &mut impl FnMut() -> f64) {
        let Signal::Quantized(feedback @ 1..) = cnm.signal else { return };
        // Messages in a row leave the target where the first one found the rate: they report the same congestion.
        if self.phase == Phase::Inactive || self.byte_stage != 0 {
            self.target = self.current;
            self.bytes_left = self.params.byte_countdown(false, random);
        }
        let factor = (1.0 - self.params.gd * f64::from(feedback)).max(self.params.min_dec_fac);
        self.current = (self.current * factor).max(self.params.min_rate.as_f64()).min(self.line_rate);
        self.byte_stage = 0;
        self.time_stage = 0;
        self.phase = Phase::Fast;
        self.timer = now + self.params.timer_span(false, random);
        self.release_at_line_rate();
    }

    /// A frame was sent; `size` is its bytes on the wire. However large, it makes one event at most. Returns whether it made
    /// one.
    #[inline]
    pub fn on_sent(&mut self, size: u32, random: &mut impl FnMut() -> f64) -> bool {
        self.bytes_left -= i64::from(size);
        let is_event = self.bytes_left <= 0;
        if is_event {
            self.on_byte_countdown(random);
        }
        is_event
    }

    fn on_byte_countdown(&mut self, random: &mut impl FnMut() -> f64) {
        if self.phase == Phase::Inactive {
            self.bytes_left = i64::MAX;
            return;
        }
        self.byte_stage = self.byte_stage.saturating_add(1);
        self.bytes_left = self.params.byte_countdown(self.is_halved(self.byte_stage), random);
        self.recover(self.byte_stage);
    }

    /// The time of [`next_timer`](Self::next_timer) may have come. If it has not, nothing happens.
    pub fn on_timer(&mut self, now: Time, random: &mut impl FnMut() -> f64) {
        if self.phase == Phase::Inactive || now < self.timer {
            return;
        }
        self.time_stage = self.time_stage.saturating_add(1);
        self.timer = now + self.params.timer_span(self.is_halved(self.time_stage), random);
        self.recover(self.time_stage);
    }

    /// When the timer runs out; [`Time::NEVER`] at line rate.
    pub fn next_timer(&self) -> Time {
        self.timer
    }

    /// Rate at which the queue may be sent, rounded down.
    #[inline]
    pub fn rate(&self) -> BitRate {
        BitRate::from_f64(self.current)
    }

    /// It is at line rate: the limiter may go once its queue is empty.
    pub fn is_released(&self) -> bool {
        self.phase == Phase::Inactive
    }

    /// The countdown or timer that has just reached `stage` starts again with half its length.
    fn is_halved(&self, stage: u32) -> bool {
        match self.params.variant {
            // The state before the event decides.
            Variant::Standard => self.phase == Phase::Hyper,
            Variant::PseudoCode => stage >= self.params.threshold,
        }
    }

    /// One event: `stage` is the one that it has raised.
    fn recover(&mut self, stage: u32) {
        let threshold = self.params.threshold;
        let smaller = self.byte_stage.min(self.time_stage);
        let increase = if self.phase == Phase::Fast && stage < threshold {
            0.0
        } else if smaller < threshold {
            self.phase = Phase::Active;
            self.params.ai_rate.as_f64()
        } else {
            self.phase = Phase::Hyper;
            let first = match self.params.variant {
                Variant::Standard => 1.0,
                Variant::PseudoCode => 0.0,
            };
            self.params.hai_rate.as_f64() * (f64::from(smaller - threshold) + first)
        };
        if (self.byte_stage == 1 || self.time_stage == 1) && self.target > 10.0 * self.current {
            self.target /= 8.0;
        } else {
            self.target += increase;
        }
        self.current = ((self.current + self.target) / 2.0).min(self.line_rate);
        self.release_at_line_rate();
    }

    fn release_at_line_rate(&mut self) {
        if self.current >= self.line_rate {
            self.target = self.line_rate;
            self.phase = Phase::Inactive;
            self.bytes_left = i64::MAX;
            self.timer = Time::NEVER;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU16;

    use Event::{Bytes as B, Message as M, Timer as T};

    use super::Phase::{Active, Fast, Hyper, Inactive};
    use super::*;
    use crate::cnm::CpId;

    const LINE: BitRate = BitRate::from_mbps(8_000);

    /// No jitter: the middle of the range.
    fn middle() -> f64 {
        0.5
    }

    fn at(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    fn feedback(feedback: u8) -> Cnm {
        let from = CpId(NonZeroU16::MIN);
        Cnm { from, signal: Signal::Quantized(feedback), q_offset: 0, q_delta: 0 }
    }

    fn limiter(variant: Variant) -> ReactionPoint {
        ReactionPoint::new(&Params { variant, ..Params::default() }, LINE)
    }

    /// A limiter that has just received its first message, with this feedback.
    fn cut(params: &Params, units: u8) -> ReactionPoint {
        let mut rp = ReactionPoint::new(params, LINE);
        rp.on_cnm(Time::ZERO, &feedback(units), &mut middle);
        rp
    }

    /// Sends frames of 1500 B until an event; how many it took.
    fn frames_to_event(rp: &mut ReactionPoint, random: &mut impl FnMut() -> f64) -> u32 {
        let before = rp.byte_stage;
        (1..)
            .find(|_| {
                rp.on_sent(1500, random);
                rp.byte_stage != before
            })
            .expect("the countdown ends")
    }

    #[derive(Clone, Copy, Debug)]
    enum Event {
        /// A message with this feedback.
        Message(u8),
        /// The byte countdown runs out.
        Bytes,
        /// The timer runs out.
        Timer,
    }

    /// An event; CR and TR in Mb/s, byte and time stage, and state after it.
    type Row = (Event, f64, f64, u32, u32, Phase);

    fn check_table(variant: Variant, table: &[Row]) {
        let mut rp = limiter(variant);
        let mut now = Time::ZERO;
        for (number, &(event, current, target, byte_stage, time_stage, phase)) in table.iter().enumerate() {
            match event {
                M(units) => rp.on_cnm(now, &feedback(units), &mut middle),
                B => assert!(rp.on_sent(150_000, &mut middle), "the byte countdown is over"),
                T => {
                    now = rp.next_timer();
                    rp.on_timer(now, &mut middle);
                }
            }
            let found = (rp.byte_stage, rp.time_stage, rp.phase);
            assert_eq!(found, (byte_stage, time_stage, phase), "row {number}, {event:?}");
            // 1e-3 b/s: the table is rounded to 1e-9 Mb/s.
            for (found, expected) in [(rp.current, current * 1e6), (rp.target, target * 1e6)] {
                assert!(
                    (found - expected).abs() < 1e-3,
                    "row {number}, {event:?}: {found} b/s, not {expected}"
                );
            }
        }
    }

    /// Up to the end of the active state both variants agree.
    const RECOVERY: [Row; 15] = [
        // 1 − 32/128 = 3/4 of the line rate, 8000. The target is where the message found the rate.
        (M(32), 6000.0, 8000.0, 0, 0, Fast),
        // 3/4 of 6000. No byte stage since the last message: the target stays.
        (M(32), 4500.0, 8000.0, 0, 0, Fast),
        // (4500 + 8000)/2
        (B, 6250.0, 8000.0, 1, 0, Fast),
        // A byte stage has passed: the target is the rate, 6250. 3/4 of it.
        (M(32), 4687.5, 6250.0, 0, 0, Fast),
        // (4687.5 + 6250)/2
        (T, 5468.75, 6250.0, 0, 1, Fast),
        // Only a time stage has passed: the target stays. 3/4 of 5468.75.
        (M(32), 4101.5625, 6250.0, 0, 0, Fast),
        // The distance to the target, 2148.4375, halves: 1074.21875, 537.109375, 268.5546875, 134.27734375.
        (B, 5175.78125, 6250.0, 1, 0, Fast),
        (B, 5712.890625, 6250.0, 2, 0, Fast),
        (B, 5981.4453125, 6250.0, 3, 0, Fast),
        (B, 6115.72265625, 6250.0, 4, 0, Fast),
        // Byte stage 5 = F, time stage below: active, the target rises by 5. (6115.72265625 + 6255)/2
        (B, 6185.361328125, 6255.0, 5, 0, Active),
        // Time stage 1 is below F, but fast recovery is over. (6185.361328125 + 6260)/2, and so on.
        (T, 6222.680664062, 6260.0, 5, 1, Active),
        (T, 6243.840332031, 6265.0, 5, 2, Active),
        (T, 6256.920166016, 6270.0, 5, 3, Active),
        (T, 6265.960083008, 6275.0, 5, 4, Active),
    ];

    #[test]
    fn the_standard_adds_r_hai_from_the_first_hyper_active_event() {
        let end = [
            // Both stages are 5: 50·(5 − 5 + 1). (6265.960083008 + 6325)/2
            (T, 6295.480041504, 6325.0, 5, 5, Hyper),
            // The smaller stage is 5 still: 50 more. (6295.480041504 + 6375)/2
            (B, 6335.240020752, 6375.0, 6, 5, Hyper),
            // 50·(6 − 5 + 1) = 100. (6335.240020752 + 6475)/2
            (T, 6405.120010376, 6475.0, 6, 6, Hyper),
            // 1 − 63/128 = 65/128 of 6405.12…
            (M(63), 3252.600005269, 6405.120010376, 0, 0, Fast),
        ];
        check_table(Variant::Standard, &[&RECOVERY[..], &end].concat());
    }

    #[test]
    fn the_pseudo_code_adds_r_hai_one_stage_later() {
        let end = [
            // Both stages are 5: 50·(5 − 5) = 0. (6265.960083008 + 6275)/2
            (T, 6270.480041504, 6275.0, 5, 5, Hyper),
            // The smaller stage is 5 still. (6270.480041504 + 6275)/2
            (B, 6272.740020752, 6275.0, 6, 5, Hyper),
            // 50·(6 − 5) = 50. (6272.740020752 + 6325)/2
            (T, 6298.870010376, 6325.0, 6, 6, Hyper),
            // Time stage 7, but the smaller one is 6: 50. (6298.870010376 + 6375)/2
            (T, 6336.935005188, 6375.0, 6, 7, Hyper),
        ];
        check_table(Variant::PseudoCode, &[&RECOVERY[..], &end].concat());
    }

    #[test]
    fn timer_events_alone_end_fast_recovery_too() {
        // 65/128 of 8000 = 4062.5. The distance, 3937.5, halves: 1968.75, 984.375, 492.1875, 246.09375.
        check_table(
            Variant::Standard,
            &[
                (M(63), 4062.5, 8000.0, 0, 0, Fast),
                (T, 6031.25, 8000.0, 0, 1, Fast),
                (T, 7015.625, 8000.0, 0, 2, Fast),
                (T, 7507.8125, 8000.0, 0, 3, Fast),
                (T, 7753.90625, 8000.0, 0, 4, Fast),
                // (7753.90625 + 8005)/2
                (T, 7879.453125, 8005.0, 0, 5, Active),
                // (7879.453125 + 8010)/2, (7944.7265625 + 8015)/2, (7979.86328125 + 8020)/2
                (B, 7944.7265625, 8010.0, 1, 5, Active),
                (T, 7979.86328125, 8015.0, 1, 6, Active),
                (T, 7999.931640625, 8020.0, 1, 7, Active),
                // (7999.931640625 + 8025)/2 is above line rate: released.
                (T, 8000.0, 8000.0, 1, 8, Inactive),
            ],
        );
    }

    #[test]
    fn a_target_more_than_ten_times_the_rate_falls_to_an_eighth_at_the_first_stage() {
        // Four messages in a row, 65/128 each: 4062.5, 2062.98828125, 1047.6112…, 531.9900….
        let mut hit = cut(&Params::default(), 63);
        for _ in 0..3 {
            hit.on_cnm(Time::ZERO, &feedback(63), &mut middle);
        }
        // 8000 > 10 · 531.99: the target is 1000, the rate (531.99 + 1000)/2.
        let expected = (1e9, (8e9 * (65.0_f64 / 128.0).powi(4) + 1e9) / 2.0);
        let (mut by_bytes, mut by_time) = (hit.clone(), hit);
        by_bytes.on_sent(150_000, &mut middle);
        by_time.on_timer(by_time.next_timer(), &mut middle);
        assert_eq!((by_bytes.target, by_bytes.current), expected);
        assert_eq!((by_time.target, by_time.current), expected);
        // The other first stage comes next; 1000 is not more than 10 · 765.99.
        by_time.on_sent(150_000, &mut middle);
        assert_eq!(by_time.target, 1e9);
    }

    #[test]
    fn every_feedback_takes_its_part_of_the_rate() {
        for units in 1..=63 {
            // 8000 Mb/s / 128 = 62.5 Mb/s per unit.
            let expected = 8_000_000_000 - 62_500_000 * u64::from(units);
            assert_eq!(cut(&Params::default(), units).rate(), BitRate::from_bps(expected));
        }
    }

    #[test]
    fn one_message_cuts_to_min_dec_fac_at_most() {
        // 1 − 40/64 = 3/8 is below 1/2.
        let params = Params { gd: 1.0 / 64.0, ..Params::default() };
        assert_eq!(cut(&params, 40).rate(), BitRate::from_mbps(4_000));
        // Numbers that do not fit 6 bits do no more.
        assert_eq!(cut(&params, 255).rate(), BitRate::from_mbps(4_000));
    }

    #[test]
    fn no_cut_goes_below_the_smallest_rate() {
        let mut rp = cut(&Params::default(), 63);
        for _ in 0..20 {
            rp.on_cnm(Time::ZERO, &feedback(63), &mut middle);
        }
        assert_eq!(rp.rate(), BitRate::from_mbps(5));
    }

    #[test]
    fn feedback_0_is_no_message() {
        let rp = cut(&Params::default(), 0);
        assert_eq!((rp.rate(), rp.next_timer(), rp.phase), (LINE, Time::NEVER, Inactive));
    }

    #[test]
    fn offset_and_change_of_the_queue_do_not_matter() {
        let mut rp = limiter(Variant::Standard);
        let message = Cnm { q_offset: i16::MIN, q_delta: i16::MAX, ..feedback(32) };
        rp.on_cnm(Time::ZERO, &message, &mut middle);
        assert_eq!(rp.rate(), BitRate::from_mbps(6_000));
    }

    #[test]
    fn a_byte_stage_is_100_full_frames() {
        let mut rp = cut(&Params::default(), 32);
        assert_eq!(frames_to_event(&mut rp, &mut middle), 100);
        assert_eq!(frames_to_event(&mut rp, &mut middle), 100);
    }

    #[test]
    fn a_message_restarts_the_byte_countdown_only_after_a_byte_stage() {
        let mut rp = cut(&Params::default(), 32);
        (0..99).for_each(|_| assert!(!rp.on_sent(1500, &mut middle)));
        rp.on_cnm(at(1), &feedback(32), &mut middle);
        assert_eq!(frames_to_event(&mut rp, &mut middle), 1);
        (0..99).for_each(|_| assert!(!rp.on_sent(1500, &mut middle)));
        rp.on_cnm(at(2), &feedback(32), &mut middle);
        assert_eq!(frames_to_event(&mut rp, &mut middle), 100);
    }

    #[test]
    fn every_message_restarts_the_timer() {
        let mut rp = cut(&Params::default(), 32);
        assert_eq!(rp.next_timer(), at(15_000));
        rp.on_cnm(at(14_000), &feedback(32), &mut middle);
        assert_eq!(rp.next_timer(), at(29_000));
        rp.on_timer(at(29_000), &mut middle);
        assert_eq!(rp.next_timer(), at(44_000));
    }

    #[test]
    fn a_frame_is_one_event_however_large() {
        let mut rp = cut(&Params::default(), 32);
        rp.on_sent(u32::MAX, &mut middle);
        assert_eq!((rp.byte_stage, rp.bytes_left), (1, 150_000));
    }

    #[test]
    fn a_timer_called_early_does_nothing() {
        let mut rp = cut(&Params::default(), 32);
        rp.on_timer(at(14_999), &mut || panic!("nothing is drawn"));
        assert_eq!((rp.time_stage, rp.next_timer()), (0, at(15_000)));
        assert_eq!(rp.rate(), BitRate::from_mbps(6_000));
    }

    /// Byte countdown in frames and timer in us after each of some byte and timer events.
    fn reloads(variant: Variant, events: &[Event]) -> Vec<u64> {
        // A target of 6031.25 Mb/s, so that none of the events reaches line rate.
        let mut rp = cut(&Params { variant, ..Params::default() }, 63);
        rp.on_sent(200_000, &mut middle);
        rp.on_cnm(Time::ZERO, &feedback(63), &mut middle);
        let mut reloads = Vec::new();
        for event in events {
            if matches!(event, B) {
                rp.on_sent(200_000, &mut middle);
                reloads.push(rp.bytes_left as u64 / 1500);
            } else {
                let now = rp.next_timer();
                rp.on_timer(now, &mut middle);
                reloads.push(rp.next_timer().saturating_since(now).as_ps() / 1_000_000);
            }
        }
        reloads
    }

    #[test]
    fn the_standard_halves_reloads_for_events_of_the_hyper_active_state() {
        // The fifth timer event leads into that state but is not of it.
        let events = [B, B, B, B, B, T, T, T, T, T, T, B];
        let frames = [100, 100, 100, 100, 100];
        let us = [15_000, 15_000, 15_000, 15_000, 15_000, 7_500];
        assert_eq!(reloads(Variant::Standard, &events), [&frames[..], &us, &[50]].concat());
    }

    #[test]
    fn the_pseudo_code_halves_each_reload_from_its_own_stage_f() {
        let events = [B, B, B, B, B, B, T, T, T, T, T, T];
        let frames = [100, 100, 100, 100, 50, 50];
        let us = [15_000, 15_000, 15_000, 15_000, 7_500, 7_500];
        assert_eq!(reloads(Variant::PseudoCode, &events), [&frames[..], &us].concat());
    }

    #[test]
    fn jitter_spreads_reloads_by_15_percent() {
        // 100 frames: 85 to 115. 15 ms: from 12.75 ms.
        let mut rp = cut(&Params::default(), 32);
        frames_to_event(&mut rp, &mut || 0.0);
        assert_eq!(frames_to_event(&mut rp, &mut || 1.0 - f64::EPSILON), 85);
        assert_eq!(frames_to_event(&mut rp, &mut middle), 115);
        rp.on_cnm(at(0), &feedback(32), &mut || 0.0);
        assert_eq!(rp.next_timer(), at(12_750));
    }

    #[test]
    fn without_jitter_nothing_is_drawn() {
        let mut rp = ReactionPoint::new(&Params { jitter: 0.0, ..Params::default() }, LINE);
        let mut random = || panic!("nothing is drawn");
        rp.on_cnm(Time::ZERO, &feedback(32), &mut random);
        assert_eq!(frames_to_event(&mut rp, &mut random), 100);
        rp.on_timer(at(15_000), &mut random);
        assert_eq!(rp.time_stage, 1);
    }

    #[test]
    fn a_released_limiter_counts_nothing_and_is_cut_from_line_rate_again() {
        let mut rp = cut(&Params::default(), 1);
        while !rp.is_released() {
            rp.on_timer(rp.next_timer(), &mut middle);
        }
        assert_eq!((rp.rate(), rp.next_timer()), (LINE, Time::NEVER));
        rp.on_sent(u32::MAX, &mut || panic!("nothing is drawn"));
        rp.on_timer(at(1_000_000), &mut || panic!("nothing is drawn"));
        assert!(rp.is_released());
        rp.on_cnm(at(1_000_000), &feedback(32), &mut middle);
        assert_eq!((rp.current, rp.target, rp.byte_stage, rp.time_stage), (6e9, 8e9, 0, 0));
        assert_eq!(frames_to_event(&mut rp, &mut middle), 100);
    }

    fn refused(params: &Params, line_rate: Option<BitRate>) -> String {
        params.check(line_rate, &mut Ranges::default()).expect_err("should be refused").to_string()
    }

    #[test]
    fn settings_out_of_range_are_refused_by_name() {
        let good = Params::default;
        let bad = [
            (Params { byte_reset: Bytes::ZERO, ..good() }, "byte_reset = 0 B, expected more than 0 B"),
            (Params { time_reset: Span::ZERO, ..good() }, "time_reset = 0 ps, expected at least 100 ns"),
            (Params { threshold: 0, ..good() }, "threshold = 0, expected at least 1"),
            (Params { ai_rate: BitRate::ZERO, ..good() }, "ai_rate = 0 b/s, expected more than 0 b/s"),
            (Params { hai_rate: BitRate::ZERO, ..good() }, "hai_rate = 0 b/s, expected more than 0 b/s"),
            (Params { gd: 0.0, ..good() }, "gd = 0, expected above 0, at most 1"),
            (Params { gd: 1.5, ..good() }, "gd = 1.5, expected above 0, at most 1"),
            (Params { gd: f64::NAN, ..good() }, "gd = NaN, expected above 0, at most 1"),
            (Params { min_dec_fac: 0.0, ..good() }, "min_dec_fac = 0, expected above 0, below 1"),
            (Params { min_dec_fac: 1.0, ..good() }, "min_dec_fac = 1, expected above 0, below 1"),
            (Params { min_rate: BitRate::ZERO, ..good() }, "min_rate = 0 b/s, expected at least 1 kb/s"),
            (Params { jitter: -0.1, ..good() }, "jitter = -0.1, expected 0 or more, below 1"),
            (Params { jitter: 1.0, ..good() }, "jitter = 1, expected 0 or more, below 1"),
            (Params { tag: Bytes::new(65), ..good() }, "tag = 65 B, expected at most 64 B"),
        ];
        for (params, message) in bad {
            assert_eq!(refused(&params, None), message);
        }
        let slow = Some(BitRate::from_mbps(4));
        assert_eq!(refused(&good(), slow), "min_rate = 5 Mb/s, expected at most the line rate");
        assert_eq!(good().check(Some(BitRate::from_mbps(5)), &mut Ranges::default()), Ok(()));
    }

    #[test]
    fn every_setting_has_a_default_and_unknown_ones_are_refused() {
        use serde::Deserialize;
        use serde::de::value::{Error, MapDeserializer};
        let read = |settings: &[(&'static str, &'static str)]| {
            Params::deserialize(MapDeserializer::<_, Error>::new(settings.iter().copied()))
        };
        assert_eq!(read(&[]), Ok(Params::default()));
        let set = [("variant", "pseudo_code"), ("min_rate", "10 Mb/s")];
        let min_rate = BitRate::from_mbps(10);
        assert_eq!(read(&set), Ok(Params { variant: Variant::PseudoCode, min_rate, ..Params::default() }));
        assert!(read(&[("alpha", "1")]).is_err());
    }
}
