//! Reaction points: how fast a limiter at the edge of the network may send.
//!
//! A congestion point in a switch samples the frames of its queue and sends a
//! [`Cnm`] to the source of some of them. The reaction point there limits the
//! rate of what it sends, below any transport: TCP, UDP and everything else wait in one queue and leave at
//! [`ReactionPoint::rate`].
//!
//! One message's way through this module:
//!
//! 1. It requests to slow down ([`Signal::is_slower`](crate::cnm::Signal::is_slower)) and there is no limiter yet:
//!    the caller makes one with [`ReactionPoint::new`], at line rate.
//! 2. [`ReactionPoint::on_cnm`] changes the rate.
//! 3. The caller sends the queue at that rate, stamps [`ReactionPoint::tag`] into each frame as it leaves, and reports
//!    it to [`ReactionPoint::on_sent`]. It calls [`ReactionPoint::on_timer`] at [`ReactionPoint::next_timer`].
//! 4. [`ReactionPoint::is_released`] and the queue is empty: the limiter may go.
//!
//! Left out: queues, pacing, the layout of tags, and which flows share a limiter.
//!
//! ```
//! use narrows_proto::cnm::{CpId, Cnm, Signal};
//! use narrows_proto::reaction::{Config, ReactionPoint};
//! use narrows_proto::units::{BitRate, Time};
//!
//! // How hard does the strongest message of QCN hit?
//! let config = Config::Qcn(Default::default());
//! let mut limiter = ReactionPoint::new(&config, BitRate::from_gbps(10));
//! let from = CpId(std::num::NonZeroU16::MIN);
//! let strongest = Cnm { from, signal: Signal::Quantized(63), q_offset: -400, q_delta: 400 };
//! limiter.on_cnm(Time::ZERO, &strongest, &mut || 0.5);
//! assert_eq!(limiter.rate(), BitRate::from_bps(5_078_125_000)); // 1 − 63/128 of the line rate
//! ```

use crate::cc::{OutOfRange, Ranges};
use crate::cnm::{Cnm, CpId};
use crate::units::{BitRate, Bytes, Span, Time, WireTime};

pub mod bcn;
pub mod qcn;

/// Which rule a limiter follows, with its settings: `{ qcn = {} }` in a scenario.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Reaction")]
pub enum Config {
    /// Backward congestion notification, of 2005 or 2006 as the messages are.
    Bcn(bcn::Params),
    /// Quantized congestion notification, IEEE 802.1Qau.
    Qcn(qcn::Params),
}

impl Config {
    /// Its name in scenarios.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Bcn(_) => "bcn",
            Self::Qcn(_) => "qcn",
        }
    }

    /// Checks ranges that types cannot express; those that depend on the line rate only if it is known.
    ///
    /// # Errors
    /// Names the first setting that is out of its range.
    pub fn check(&self, line_rate: Option<BitRate>, ranges: &mut Ranges) -> Result<(), OutOfRange> {
        match self {
            Self::Bcn(params) => params.check(line_rate, ranges),
            Self::Qcn(params) => params.check(line_rate, ranges),
        }
    }

    /// Bytes that its tag adds to every frame of a limited flow.
    pub fn tag_size(&self) -> Bytes {
        match self {
            Self::Bcn(params) => params.tag,
            Self::Qcn(params) => params.tag,
        }
    }
}

/// The rate rule of one limiter, dispatched by `match`.
#[derive(Clone, Debug)]
pub enum ReactionPoint {
    /// See [`bcn`].
    Bcn(bcn::ReactionPoint),
    /// See [`qcn`].
    Qcn(qcn::ReactionPoint),
}

/// `random` is uniform in [0, 1) in all methods that take it. They draw from it only when the rule needs chance.
impl ReactionPoint {
    /// A limiter that sends at line rate and has not received a message yet. The settings have passed [`Config::check`].
    pub fn new(config: &Config, line_rate: BitRate) -> Self {
        match config {
            Config::Bcn(params) => Self::Bcn(bcn::ReactionPoint::new(params, line_rate)),
            Config::Qcn(params) => Self::Qcn(qcn::ReactionPoint::new(params, line_rate)),
        }
    }

    /// A message arrived. Messages of another scheme are ignored.
    pub fn on_cnm(&mut self, now: Time, cnm: &Cnm, random: &mut impl FnMut() -> f64) {
        match self {
            Self::Bcn(rp) => rp.on_cnm(now, cnm, random),
            Self::Qcn(rp) => rp.on_cnm(now, cnm, random),
        }
    }

    /// A frame of the limiter's queue was sent; `size` is its bytes on the wire. Returns whether the rate may have changed.
    #[inline]
    pub fn on_sent(&mut self, _now: Time, size: u32, random: &mut impl FnMut() -> f64) -> bool {
        match self {
            Self::Bcn(_) => false,
            Self::Qcn(rp) => rp.on_sent(size, random),
        }
    }

    /// The time of [`next_timer`](Self::next_timer) may have come. If it has not, nothing happens.
    pub fn on_timer(&mut self, now: Time, random: &mut impl FnMut() -> f64) {
        match self {
            Self::Bcn(rp) => rp.on_timer(now),
            Self::Qcn(rp) => rp.on_timer(now, random),
        }
    }

    /// When to call [`on_timer`](Self::on_timer) next; [`Time::NEVER`] if there is nothing to wait for.
    pub fn next_timer(&self) -> Time {
        match self {
            Self::Bcn(rp) => rp.next_timer(),
            Self::Qcn(rp) => rp.next_timer(),
        }
    }

    /// Rate at which the queue may be sent: [`BitRate::ZERO`] while stopped, otherwise from the smallest rate of the
    /// settings to line rate.
    #[inline]
    pub fn rate(&self) -> BitRate {
        match self {
            Self::Bcn(rp) => rp.rate(),
            Self::Qcn(rp) => rp.rate(),
        }
    }

    /// Which congestion point frames name as the one that limits them. QCN tags frames, but not with that.
    #[inline]
    pub fn tag(&self) -> Option<CpId> {
        match self {
            Self::Bcn(rp) => rp.tag(),
            Self::Qcn(_) => None,
        }
    }

    /// It is at line rate: the limiter may go once its queue is empty.
    pub fn is_released(&self) -> bool {
        match self {
            Self::Bcn(rp) => rp.is_released(),
            Self::Qcn(rp) => rp.is_released(),
        }
    }
}

/// Checks the smallest rate of a limiter: links can send at it, and it is not above the line rate.
fn check_min_rate(
    min_rate: BitRate,
    line_rate: Option<BitRate>,
    ranges: &mut Ranges,
) -> Result<(), OutOfRange> {
    ranges.unless(min_rate >= WireTime::MIN_RATE, "min_rate", min_rate, "at least 1 kb/s")?;
    let below_line = line_rate.is_none_or(|line_rate| min_rate <= line_rate);
    ranges.unless(below_line, "min_rate", min_rate, "at most the line rate")
}

/// Checks the size of a tag.
fn check_tag(tag: Bytes, ranges: &mut Ranges) -> Result<(), OutOfRange> {
    ranges.unless(tag <= Bytes::new(64), "tag", tag, "at most 64 B")
}

/// Checks the span of a timer.
fn check_span(setting: &'static str, span: Span, ranges: &mut Ranges) -> Result<(), OutOfRange> {
    ranges.timer(setting, span)
}

/// Checks that a rate is one.
fn check_rate(setting: &'static str, rate: BitRate, ranges: &mut Ranges) -> Result<(), OutOfRange> {
    ranges.unless(rate > BitRate::ZERO, setting, rate, "more than 0 b/s")
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU16;

    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;
    use crate::cnm::Signal;

    const LINE: BitRate = BitRate::from_gbps(10);

    fn cp(id: u16) -> CpId {
        CpId(NonZeroU16::new(id).unwrap())
    }

    fn both() -> [Config; 2] {
        [Config::Bcn(bcn::Params::default()), Config::Qcn(qcn::Params::default())]
    }

    #[test]
    fn a_new_limiter_is_at_line_rate_and_waits_for_nothing() {
        for config in both() {
            let rp = ReactionPoint::new(&config, LINE);
            assert_eq!((rp.rate(), rp.next_timer(), rp.tag()), (LINE, Time::NEVER, None));
            assert!(rp.is_released());
        }
    }

    #[test]
    fn messages_of_another_scheme_are_ignored() {
        let bcn = [Signal::Level(-4), Signal::Level(4), Signal::Explicit { slower: true }, Signal::Stop];
        let qcn = [Signal::Quantized(63)];
        for (config, foreign) in both().iter().zip([&qcn[..], &bcn[..]]) {
            let mut rp = ReactionPoint::new(config, LINE);
            for &signal in foreign {
                let message = Cnm { from: cp(1), signal, q_offset: -500, q_delta: 500 };
                rp.on_cnm(Time::ZERO, &message, &mut || 0.5);
                assert_eq!((rp.rate(), rp.next_timer(), rp.tag()), (LINE, Time::NEVER, None));
            }
        }
    }

    #[test]
    fn names_and_tags_are_those_of_the_settings() {
        let [bcn, qcn] = both();
        assert_eq!((bcn.name(), bcn.tag_size()), ("bcn", Bytes::new(8)));
        assert_eq!((qcn.name(), qcn.tag_size()), ("qcn", Bytes::new(4)));
    }

    #[test]
    fn the_defaults_suit_every_line_rate_from_10_mbps() {
        for config in both() {
            assert_eq!(config.check(None, &mut Ranges::default()), Ok(()));
            assert_eq!(config.check(Some(BitRate::from_mbps(10)), &mut Ranges::default()), Ok(()));
            let slow = config
                .check(Some(BitRate::from_mbps(1)), &mut Ranges::default())
                .expect_err("min_rate is above it");
            assert_eq!((slow.setting, slow.expected), ("min_rate", "at most the line rate"));
        }
    }

    /// Events of a limiter.
    #[derive(Clone, Copy, Debug)]
    enum Event {
        Message(Cnm),
        Sent(u32),
        /// Its timer; the next one if it has none.
        Timer,
        /// Time passes, and its timer is called too early or late.
        Wait(Span),
    }

    fn event() -> impl Strategy<Value = Event> {
        let signal = prop_oneof![
            any::<u8>().prop_map(Signal::Quantized),
            any::<i8>().prop_map(Signal::Level),
            (-4..=4_i8).prop_map(Signal::Level),
            any::<bool>().prop_map(|slower| Signal::Explicit { slower }),
            Just(Signal::Stop),
        ];
        let message =
            (1..3_u16, signal, any::<i16>(), any::<i16>()).prop_map(|(from, signal, q_offset, q_delta)| {
                Event::Message(Cnm { from: cp(from), signal, q_offset, q_delta })
            });
        prop_oneof![
            message,
            any::<u32>().prop_map(Event::Sent),
            (0..10_000_u32).prop_map(Event::Sent),
            Just(Event::Timer),
            (0..20_000_000_000_u64).prop_map(|ps| Event::Wait(Span::from_ps(ps))),
        ]
    }

    fn rate() -> impl Strategy<Value = BitRate> {
        select(vec![1, 5_000_000, 10_000_000_000, u64::MAX]).prop_map(BitRate::from_bps)
    }

    fn min_rate_setting() -> impl Strategy<Value = BitRate> {
        select(vec![1_000, 5_000_000, 10_000_000]).prop_map(BitRate::from_bps)
    }

    fn span() -> impl Strategy<Value = Span> {
        select(vec![100_000, 10_000_000, 15_000_000_000, u64::MAX]).prop_map(Span::from_ps)
    }

    fn size() -> impl Strategy<Value = Bytes> {
        select(vec![1, 64, 1500, 150_000, u64::MAX]).prop_map(Bytes::new)
    }

    /// Numbers from just above 0 to `largest`.
    fn factor(largest: f64) -> impl Strategy<Value = f64> {
        select(vec![1e-300, 1.0 / 128.0, 0.1, largest])
    }

    const BELOW_1: f64 = 1.0 - f64::EPSILON;

    /// Accepted settings, at the ends of their ranges, so that a sum or a product that can overflow does.
    fn bcn_config() -> impl Strategy<Value = Config> {
        let cuts = (factor(0.125 - f64::EPSILON), factor(1e6), factor(1.0), factor(1e6), factor(BELOW_1));
        let restart =
            (factor(1.0), select(vec![100_000, 10_000_000, 1_000_000_000_000]), select(vec![0, 10, 20]));
        let rates = (rate(), rate(), min_rate_setting());
        (rates, cuts, restart, (span(), span()), size()).prop_map(|(rates, cuts, restart, drift, unit)| {
            Config::Bcn(bcn::Params {
                ki: rates.0,
                kd: cuts.0,
                gi: cuts.1,
                gd: cuts.2,
                ru: rates.1,
                w: cuts.3,
                unit,
                max_cut: cuts.4,
                min_rate: rates.2,
                restart_rate: restart.0,
                restart_within: Span::from_ps(restart.1),
                max_backoff: restart.2,
                drift_after: drift.0,
                drift_every: drift.1,
                tag: Bytes::ZERO,
            })
        })
    }

    /// The same for QCN.
    fn qcn_config() -> impl Strategy<Value = Config> {
        let stages = (size(), span(), select(vec![1, 5, u32::MAX]), prop_oneof![Just(0.0), factor(BELOW_1)]);
        let variants = select(vec![qcn::Variant::Standard, qcn::Variant::PseudoCode]);
        let rates = (rate(), rate(), min_rate_setting());
        (stages, rates, factor(1.0), factor(BELOW_1), variants).prop_map(
            |(stages, rates, gd, min_dec_fac, variant)| {
                Config::Qcn(qcn::Params {
                    byte_reset: stages.0,
                    time_reset: stages.1,
                    threshold: stages.2,
                    ai_rate: rates.0,
                    hai_rate: rates.1,
                    gd,
                    min_dec_fac,
                    min_rate: rates.2,
                    jitter: stages.3,
                    variant,
                    tag: Bytes::ZERO,
                })
            },
        )
    }

    fn min_rate(config: &Config) -> BitRate {
        match config {
            Config::Bcn(params) => params.min_rate,
            Config::Qcn(params) => params.min_rate,
        }
    }

    /// A plain generator: what it draws covers [0, 1) well enough here.
    fn generator(mut state: u64) -> impl FnMut() -> f64 {
        move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        }
    }

    /// Rate and timer after each event; checks them on the way.
    fn rates(config: &Config, line: BitRate, events: &[Event], seed: u64) -> Vec<(BitRate, Time)> {
        let mut random = generator(seed);
        let mut rp = ReactionPoint::new(config, line);
        let mut now = Time::ZERO;
        let mut rates = Vec::new();
        for event in events {
            match *event {
                Event::Message(message) => rp.on_cnm(now, &message, &mut random),
                Event::Sent(size) => {
                    let before = rp.rate();
                    let may_have_changed = rp.on_sent(now, size, &mut random);
                    assert!(may_have_changed || rp.rate() == before);
                }
                Event::Timer => {
                    if rp.next_timer() != Time::NEVER {
                        now = now.max(rp.next_timer());
                    }
                    rp.on_timer(now, &mut random);
                }
                Event::Wait(span) => {
                    now += span;
                    rp.on_timer(now, &mut random);
                }
            }
            let rate = rp.rate();
            let stopped = rate == BitRate::ZERO && matches!(rp, ReactionPoint::Bcn(_));
            assert!(stopped || (min_rate(config)..=line).contains(&rate), "{rate} after {event:?}: {rp:?}");
            assert_eq!(rp.is_released(), rate == line, "{rp:?}");
            assert!(rp.is_released() <= (rp.next_timer() == Time::NEVER), "{rp:?}");
            rates.push((rate, rp.next_timer()));
        }
        rates
    }

    proptest! {
        #[test]
        fn rates_stay_in_range_whatever_is_received_and_runs_repeat(
            config in prop_oneof![bcn_config(), qcn_config(), select(both().to_vec())],
            line in select(vec![10_000_000, 10_000_000_000, WireTime::MAX_RATE.as_bps()]),
            events in prop::collection::vec(event(), 1..100),
            seed: u64,
        ) {
            let line = BitRate::from_bps(line);
            prop_assert_eq!(config.check(Some(line), &mut Ranges::default()), Ok(()));
            prop_assert_eq!(rates(&config, line, &events, seed), rates(&config, line, &events, seed));
        }
    }
}
