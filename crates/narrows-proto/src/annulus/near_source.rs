//! The near-source loop: QCN's reaction point in software, beside an end-to-end control.

use super::meter::Meter;
use crate::cc::{OutOfRange, Ranges};
use crate::cnm::{Cnm, Signal};
use crate::reaction::qcn;
use crate::units::{BitRate, Bytes, Span, Time, WireTime};

/// Settings of a near-source loop. Constants of QCN that are left out are those of IEEE8021-CN-MIB, which are meant for
/// 10 Gb/s and for network cards, scaled to the line rate C and to the round-trip time of the data center.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "NearSource")]
pub struct Params {
    /// Round-trip time inside the data center, to which times are scaled. The talk has "tens of microseconds".
    pub dc_rtt: Span,
    /// BC, bytes to send for a byte stage; 150 kB·(C/10 Gb/s)·(dc_rtt/30 us) if left out: four times what is in flight
    /// inside the data center.
    pub byte_reset: Option<Bytes>,
    /// T, the length of a time stage; ten times `dc_rtt` if left out.
    pub time_reset: Option<Span>,
    /// R_AI, what an event of the active state adds; 5 Mb/s·C/10 Gb/s if left out.
    pub ai_rate: Option<BitRate>,
    /// R_HAI, what an event of the hyper-active state adds, times the stages past F; 50 Mb/s·C/10 Gb/s if left out.
    pub hai_rate: Option<BitRate>,
    /// No cut goes below this; 5 Mb/s·C/10 Gb/s if left out.
    pub min_rate: Option<BitRate>,
    /// F, stages until fast recovery ends.
    pub threshold: u32,
    /// Gd, the part of the rate that one unit of feedback takes.
    pub gd: f64,
    /// The smallest factor of a cut.
    pub min_dec_fac: f64,
    /// Every byte countdown and timer lasts up to this part more or less, by chance.
    pub jitter: f64,
    /// Version of the end of recovery.
    pub variant: qcn::Variant,
    /// The rate from which the first message cuts.
    pub start: Start,
    /// The actual rate is measured over this time; over `dc_rtt` if left out.
    pub measure_over: Option<Span>,
    /// While the end-to-end loop is the slower one, the near-source rate is at most this many times the rate in fact sent.
    /// `inf` turns it off.
    pub cap: f64,
    /// The loop ends when it has held up nothing for this long; a smoothed round trip of the flow if left out.
    pub release_after: Option<Span>,
    /// Packets sent while the loop holds the flow up count as application-limited, as if there had been nothing to send.
    pub app_limited: bool,
    /// A window that the loop keeps from being used does not grow.
    pub validate_window: bool,
}

/// The rate from which the first message of a near-source switch cuts.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "NearSourceStart")]
pub enum Start {
    /// The one at which packets left lately.
    #[default]
    Measured,
    /// Line rate, as QCN in a network card.
    LineRate,
}

impl Default for Params {
    fn default() -> Self {
        let qcn = qcn::Params::default();
        Self {
            dc_rtt: Span::from_us(30),
            byte_reset: None,
            time_reset: None,
            ai_rate: None,
            hai_rate: None,
            min_rate: None,
            threshold: qcn.threshold,
            gd: qcn.gd,
            min_dec_fac: qcn.min_dec_fac,
            jitter: qcn.jitter,
            variant: qcn.variant,
            start: Start::default(),
            measure_over: None,
            cap: 2.0,
            release_after: None,
            app_limited: true,
            validate_window: true,
        }
    }
}

/// The line rate for which the constants of QCN are meant.
const QCN_LINE_RATE: BitRate = BitRate::from_gbps(10);
/// Time stages last this many round trips of the data center.
const ROUND_TRIPS_OF_A_STAGE: u64 = 10;

impl Params {
    /// The constants of QCN at a line rate.
    pub fn qcn(&self, line_rate: BitRate) -> qcn::Params {
        let defaults = qcn::Params::default();
        let scale = line_rate.as_f64() / QCN_LINE_RATE.as_f64();
        let rate = |set: Option<BitRate>, default: BitRate| set.unwrap_or_else(|| default.scaled(scale));
        let round_trips = self.dc_rtt.as_secs_f64() / Self::default().dc_rtt.as_secs_f64();
        let bytes = || Bytes::new((defaults.byte_reset.as_f64() * scale * round_trips).max(1.0) as u64);
        qcn::Params {
            byte_reset: self.byte_reset.unwrap_or_else(bytes),
            time_reset: self.time_stage(),
            threshold: self.threshold,
            ai_rate: rate(self.ai_rate, defaults.ai_rate),
            hai_rate: rate(self.hai_rate, defaults.hai_rate),
            gd: self.gd,
            min_dec_fac: self.min_dec_fac,
            min_rate: rate(self.min_rate, defaults.min_rate),
            jitter: self.jitter,
            variant: self.variant,
            tag: Bytes::ZERO,
        }
    }

    fn time_stage(&self) -> Span {
        self.time_reset.unwrap_or_else(|| self.dc_rtt.saturating_mul(ROUND_TRIPS_OF_A_STAGE))
    }

    /// Writes out settings that were left out, unless they depend on the line rate or the flow.
    pub fn complete(&mut self) {
        self.time_reset = Some(self.time_stage());
        self.measure_over.get_or_insert(self.dc_rtt);
    }

    /// Checks ranges that types cannot express, of scaled constants too if the line rate is known.
    ///
    /// # Errors
    /// Names the first setting that is out of its range.
    pub fn check(&self, line_rate: Option<BitRate>, ranges: &mut Ranges) -> Result<(), OutOfRange> {
        ranges.timer("dc_rtt", self.dc_rtt)?;
        ranges.timer("measure_over", self.measure_over.unwrap_or(Span::MAX))?;
        ranges.timer("release_after", self.release_after.unwrap_or(Span::MAX))?;
        ranges.unless(self.cap >= 1.0, "cap", self.cap, "at least 1; inf for none")?;
        let scaled = |error: OutOfRange| match self.is_set(error.setting) {
            true => error,
            false => OutOfRange { found: format!("{}, scaled to the line rate", error.found), ..error },
        };
        self.qcn(line_rate.unwrap_or(QCN_LINE_RATE)).check(line_rate, ranges).map_err(scaled)
    }

    /// The constant of QCN is not left to scaling.
    fn is_set(&self, setting: &str) -> bool {
        match setting {
            "byte_reset" => self.byte_reset.is_some(),
            "ai_rate" => self.ai_rate.is_some(),
            "hai_rate" => self.hai_rate.is_some(),
            "min_rate" => self.min_rate.is_some(),
            _ => true,
        }
    }
}

/// The settings of the near-source loops of one host, scaled to its line rate.
#[derive(Clone, Debug)]
pub struct Settings {
    qcn: qcn::Params,
    line_rate: BitRate,
    start: Start,
    measure_over: Span,
    cap: f64,
    release_after: Option<Span>,
    dc_rtt: Span,
    /// See [`Params::app_limited`].
    pub app_limited: bool,
    /// See [`Params::validate_window`].
    pub validate_window: bool,
}

impl Settings {
    /// These settings, which have passed [`Params::check`], at a host with this line rate.
    pub fn new(params: &Params, line_rate: BitRate) -> Self {
        let Params { start, cap, release_after, dc_rtt, app_limited, validate_window, .. } = *params;
        let qcn = params.qcn(line_rate);
        let measure_over = params.measure_over.unwrap_or(dc_rtt);
        Self { qcn, line_rate, start, measure_over, cap, release_after, dc_rtt, app_limited, validate_window }
    }
}

/// The near-source loop of a flow or of an aggregate of flows.
///
/// Call [`advance`](Self::advance), then look at [`release`](Self::release): the next packet may leave then, as far as this
/// loop goes. Report what is sent to [`on_sent`](Self::on_sent), and a sender that could send but for this loop to
/// [`on_held`](Self::on_held).
#[derive(Clone, Debug, Default)]
pub struct NearSource {
    meter: Meter,
    active: Option<Box<Active>>,
}

/// A loop that has a rate.
#[derive(Clone, Debug)]
struct Active {
    point: qcn::ReactionPoint,
    rate: BitRate,
    wire_time: WireTime,
    /// From when the gap after the last packet counts, and its size.
    sent: (Time, u16),
    /// When the next packet may leave.
    release: Time,
    /// When it held up a sender last, or began.
    held_at: Time,
}

/// `random` is uniform in [0, 1) in all methods that take it.
impl NearSource {
    /// A message of a congestion point arrived. Messages of BCN are ignored.
    pub fn on_cnm(&mut self, settings: &Settings, now: Time, cnm: &Cnm, random: &mut impl FnMut() -> f64) {
        if !matches!(cnm.signal, Signal::Quantized(1..)) {
            return;
        }
        let meter = &self.meter;
        let active = self.active.get_or_insert_with(|| {
            let mut point = qcn::ReactionPoint::new(&settings.qcn, settings.line_rate);
            if settings.start == Start::Measured {
                point.start_at(meter.rate(now, settings.measure_over));
            }
            Box::new(Active::new(point, now))
        });
        active.point.on_cnm(now, cnm, random);
        active.follow();
    }

    /// Time has passed: recovers, and ends if it has held up nothing for long. `rtt` is the smoothed round-trip time of the
    /// flow that wants to send, zero if it is not known.
    #[inline]
    pub fn advance(&mut self, settings: &Settings, now: Time, rtt: Span, random: &mut impl FnMut() -> f64) {
        if self.active.is_some() {
            self.advance_active(settings, now, rtt, random);
        }
    }

    #[inline(never)]
    fn advance_active(
        &mut self,
        settings: &Settings,
        now: Time,
        rtt: Span,
        random: &mut impl FnMut() -> f64,
    ) {
        let Some(active) = &mut self.active else { return };
        let patience = settings.release_after.unwrap_or(rtt.max(settings.dc_rtt));
        if now.saturating_since(active.held_at) > patience {
            self.active = None;
            return;
        }
        if active.point.next_timer() > now {
            return;
        }
        while active.point.next_timer() <= now {
            active.point.on_timer(active.point.next_timer(), random);
        }
        self.settle(settings, now);
    }

    /// After a step of recovery: keeps the rate below its cap, and ends at line rate.
    fn settle(&mut self, settings: &Settings, now: Time) {
        let Some(active) = &mut self.active else { return };
        if active.point.is_released() {
            self.active = None;
            return;
        }
        if settings.cap.is_finite() {
            active.point.cap(self.meter.rate(now, settings.measure_over).scaled(settings.cap));
        }
        active.follow();
    }

    /// A packet of `size` bytes on the wire leaves at `now`.
    #[inline]
    pub fn on_sent(&mut self, settings: &Settings, now: Time, size: u16, random: &mut impl FnMut() -> f64) {
        self.meter.on_sent(now, size.into(), settings.measure_over);
        if let Some(active) = &mut self.active {
            let is_event = active.point.on_sent(size.into(), random);
            active.pace(now, size);
            if is_event {
                self.settle(settings, now);
            }
        }
    }

    /// A flow could send at `now`, but for this loop.
    pub fn on_held(&mut self, now: Time) {
        if let Some(active) = &mut self.active {
            active.held_at = now;
        }
    }

    /// When the next packet may leave, at the rate of now.
    #[inline]
    pub fn release(&self) -> Time {
        self.active.as_ref().map_or(Time::ZERO, |active| active.release)
    }

    /// When to look again at a packet that is held up: when it may leave, or when the rate rises before that.
    pub fn next_look(&self) -> Time {
        self.active.as_ref().map_or(Time::ZERO, |active| active.release.min(active.point.next_timer()))
    }

    /// R_ns; none while the loop does not limit anything.
    pub fn rate(&self) -> Option<BitRate> {
        self.active.as_ref().map(|active| active.rate)
    }
}

impl Active {
    fn new(point: qcn::ReactionPoint, now: Time) -> Self {
        let rate = point.rate();
        Self { point, rate, wire_time: rate.wire_time(), sent: (now, 0), release: now, held_at: now }
    }

    /// The next packet may follow this one after the time it takes at the rate. A packet that was late by less than that
    /// does not delay those behind it.
    fn pace(&mut self, now: Time, size: u16) {
        let gap = self.wire_time.of(size);
        let late = now.saturating_since(self.release);
        let from = if late <= gap { self.release.min(now) } else { now };
        self.sent = (from, size);
        self.release = from + gap;
    }

    /// Takes over the rate of the reaction point.
    fn follow(&mut self) {
        if self.point.rate() != self.rate {
            self.rate = self.point.rate();
            self.wire_time = self.rate.wire_time();
            let (from, size) = self.sent;
            self.release = from + self.wire_time.of(size);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU16;

    use super::*;
    use crate::cnm::CpId;

    const LINE: BitRate = BitRate::from_gbps(10);
    const RTT: Span = Span::from_ms(8);

    fn middle() -> f64 {
        0.5
    }

    fn at(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    fn message(feedback: u8) -> Cnm {
        let from = CpId(NonZeroU16::MIN);
        Cnm { from, signal: Signal::Quantized(feedback), q_offset: 0, q_delta: 0 }
    }

    fn settings(params: &Params) -> Settings {
        Settings::new(&Params { jitter: 0.0, ..params.clone() }, LINE)
    }

    /// Sends packets of 1500 B as fast as the loop and `gap` allow, from `from` until before `until`, and returns how many.
    fn send(loop_: &mut NearSource, set: &Settings, from: Time, until: Time, gap: Span) -> u64 {
        let (mut now, mut sent) = (from, 0);
        loop {
            loop_.advance(set, now, RTT, &mut middle);
            while loop_.release() > now {
                loop_.on_held(now);
                now = loop_.next_look();
                loop_.advance(set, now, RTT, &mut middle);
            }
            if now >= until {
                return sent;
            }
            loop_.on_sent(set, now, 1500, &mut middle);
            sent += 1;
            now += gap;
        }
    }

    /// A loop whose flow has sent 1500 B every 3 us, 4 Gb/s, for 3 ms.
    fn at_4_gbps(set: &Settings) -> NearSource {
        let mut it = NearSource::default();
        send(&mut it, set, at(1_000), at(4_000), Span::from_us(3));
        it
    }

    #[test]
    fn without_messages_nothing_is_held_up() {
        let it = at_4_gbps(&settings(&Params::default()));
        assert_eq!((it.rate(), it.release()), (None, Time::ZERO));
    }

    #[test]
    fn the_first_message_cuts_from_the_measured_rate() {
        // Feedback 32 takes 32/128: 3/4 of 4 Gb/s.
        let set = settings(&Params::default());
        let mut it = at_4_gbps(&set);
        it.on_cnm(&set, at(4_000), &message(32), &mut middle);
        let rate = it.rate().expect("it limits").as_f64();
        assert!((rate / 3e9 - 1.0).abs() < 0.01, "{rate}");
    }

    #[test]
    fn or_from_line_rate_if_set_to() {
        let set = settings(&Params { start: Start::LineRate, ..Params::default() });
        let mut it = at_4_gbps(&set);
        it.on_cnm(&set, at(4_000), &message(32), &mut middle);
        assert_eq!(it.rate(), Some(BitRate::from_mbps(7_500)));
    }

    #[test]
    fn packets_leave_at_the_rate() {
        // No recovery within a stage of 100 ms and 1 GB: 3/4 of 4 Gb/s, 1500 B every 4 us, for 3 ms.
        let long = Params {
            time_reset: Some(Span::from_ms(100)),
            byte_reset: Some(Bytes::new(1_000_000_000)),
            ..Params::default()
        };
        let set = settings(&long);
        let mut it = at_4_gbps(&set);
        it.on_cnm(&set, at(4_000), &message(32), &mut middle);
        let sent = send(&mut it, &set, at(4_000), at(7_000), Span::ZERO);
        assert!((715..=790).contains(&sent), "{sent} packets, expected 750 within 5 %");
    }

    #[test]
    fn it_recovers_within_stages_of_the_data_center_not_of_the_wan() {
        // Five stages of 300 us and of 150 kB halve the distance to 4 Gb/s each: nothing is left of it after 2 ms.
        let set = settings(&Params::default());
        let mut it = at_4_gbps(&set);
        it.on_cnm(&set, at(4_000), &message(63), &mut middle);
        send(&mut it, &set, at(4_000), at(6_000), Span::ZERO);
        let rate = it.rate().map_or(LINE.as_f64(), BitRate::as_f64);
        assert!(rate > 3.8e9, "{rate}");
    }

    #[test]
    fn it_ends_a_round_trip_after_it_held_up_something_last() {
        let set = settings(&Params::default());
        let mut it = at_4_gbps(&set);
        it.on_cnm(&set, at(4_000), &message(63), &mut middle);
        it.on_held(at(4_100));
        it.advance(&set, at(12_100), RTT, &mut middle);
        assert!(it.rate().is_some());
        it.advance(&set, at(12_101), RTT, &mut middle);
        assert_eq!((it.rate(), it.release()), (None, Time::ZERO));
    }

    #[test]
    fn a_slow_flow_caps_the_rate() {
        // The flow slows down to 1500 B every 30 us, 400 Mb/s, by itself. The rate ends at twice that, not at 4 Gb/s.
        let capped = settings(&Params { release_after: Some(Span::from_secs(1)), ..Params::default() });
        let mut it = at_4_gbps(&capped);
        it.on_cnm(&capped, at(4_000), &message(63), &mut middle);
        send(&mut it, &capped, at(4_000), at(9_000), Span::from_us(30));
        let rate = it.rate().expect("it limits").as_f64();
        assert!((0.78e9..0.82e9).contains(&rate), "{rate}");
        let free = settings(&Params {
            cap: f64::INFINITY,
            release_after: Some(Span::from_secs(1)),
            ..Params::default()
        });
        let mut it = at_4_gbps(&free);
        it.on_cnm(&free, at(4_000), &message(63), &mut middle);
        send(&mut it, &free, at(4_000), at(9_000), Span::from_us(30));
        assert!(it.rate().is_none_or(|rate| rate > BitRate::from_mbps(3_800)));
    }

    #[test]
    fn no_cut_goes_below_the_scaled_minimum() {
        // 5 Mb/s·100/10.
        let set = Settings::new(&Params::default(), BitRate::from_gbps(100));
        let mut it = NearSource::default();
        (0..20).for_each(|_| it.on_cnm(&set, at(1), &message(63), &mut middle));
        assert_eq!(it.rate(), Some(BitRate::from_mbps(50)));
    }

    #[test]
    fn constants_scale_with_the_line_rate_and_the_round_trip() {
        let at_100 = Params { dc_rtt: Span::from_us(12), ..Params::default() }.qcn(BitRate::from_gbps(100));
        // 150 kB·10·12/30
        assert_eq!(at_100.byte_reset, Bytes::new(600_000));
        assert_eq!(at_100.time_reset, Span::from_us(120));
        assert_eq!(at_100.ai_rate, BitRate::from_mbps(50));
        assert_eq!(at_100.hai_rate, BitRate::from_mbps(500));
        let set = Params { ai_rate: Some(BitRate::from_mbps(7)), ..Params::default() };
        assert_eq!(set.qcn(BitRate::from_gbps(100)).ai_rate, BitRate::from_mbps(7));
    }

    #[test]
    fn messages_of_bcn_are_ignored() {
        let mut it = NearSource::default();
        let level = Cnm { signal: Signal::Level(-4), ..message(0) };
        it.on_cnm(&settings(&Params::default()), at(1), &level, &mut middle);
        assert_eq!(it.rate(), None);
    }

    #[test]
    fn settings_out_of_range_are_refused_by_name() {
        let good = Params::default;
        let refused = |params: Params| {
            params.check(Some(LINE), &mut Ranges::default()).expect_err("should be refused").to_string()
        };
        let bad = [
            (Params { cap: 0.5, ..good() }, "cap = 0.5, expected at least 1; inf for none"),
            (Params { cap: f64::NAN, ..good() }, "cap = NaN, expected at least 1; inf for none"),
            (Params { dc_rtt: Span::ZERO, ..good() }, "dc_rtt = 0 ps, expected at least 100 ns"),
            (Params { gd: 2.0, ..good() }, "gd = 2, expected above 0, at most 1"),
            (
                Params { min_rate: Some(BitRate::from_gbps(40)), ..good() },
                "min_rate = 40 Gb/s, expected at most the line rate",
            ),
        ];
        for (params, expected) in bad {
            assert_eq!(refused(params), expected);
        }
        // 5 Mb/s·C/10 Gb/s is below the slowest rate there is.
        let slow = good()
            .check(Some(BitRate::from_mbps(1)), &mut Ranges::default())
            .expect_err("scaled out of range");
        assert_eq!(slow.to_string(), "min_rate = 500 b/s, scaled to the line rate, expected at least 1 kb/s");
    }
}
