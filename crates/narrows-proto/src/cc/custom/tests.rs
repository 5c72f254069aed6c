use std::collections::BTreeMap;

use super::*;
use crate::cc::conformance::{MSS, ack, path};
use crate::cc::{Algorithm, Cc, Config, OutOfRange, Ranges, dctcp};
use crate::units::BitRate;

/// Requests whatever it was made with.
struct Rash {
    limit: Limit,
    timer: Time,
}

impl Controller for Rash {
    fn on_ack(&mut self, _ack: &Ack) {}

    fn on_congestion(&mut self, _now: Time, _event: Congestion) {}

    fn limit(&self) -> Limit {
        self.limit
    }

    fn next_timer(&self) -> Time {
        self.timer
    }
}

fn rash(cwnd: u64, pacing: Option<u64>, timer: Time) -> Custom {
    let limit = Limit { cwnd: Bytes::new(cwnd), pacing: pacing.map(BitRate::from_bps) };
    Custom { controller: Box::new(Rash { limit, timer }), mss: MSS, not_before: Time::ZERO }
}

fn at(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

#[test]
fn a_window_always_lets_one_segment_out() {
    assert_eq!(rash(0, None, Time::NEVER).limit(), Limit::window(MSS));
    assert_eq!(rash(5_000, None, Time::NEVER).limit(), Limit::window(Bytes::new(5_000)));
}

#[test]
fn a_rate_is_one_that_a_link_may_have() {
    let rate = |bps| rash(5_000, Some(bps), Time::NEVER).limit().pacing.map(BitRate::as_bps);
    let requested = [0, 1_000_000, u64::MAX];
    assert_eq!(requested.map(rate), [1_000, 1_000_000, 100_000_000_000_000].map(Some));
}

#[test]
fn a_timer_is_never_in_the_past() {
    let mut custom = rash(5_000, None, at(3));
    assert_eq!(custom.next_timer(), at(3));
    custom.on_ack(&Ack { now: at(10), ..ack(MSS) });
    assert_eq!(custom.next_timer(), at(10));
}

#[test]
fn a_timer_expires_at_most_once_per_microsecond() {
    let mut custom = rash(5_000, None, at(10));
    custom.on_signal(at(10), &Signal::Timer);
    assert_eq!(custom.next_timer(), at(11));
    custom.on_ack(&Ack { now: at(10), ..ack(MSS) });
    assert_eq!(custom.next_timer(), at(11));
}

#[test]
fn a_control_without_a_timer_has_none() {
    let mut custom = rash(5_000, None, Time::NEVER);
    custom.on_signal(at(10), &Signal::Timer);
    assert_eq!(custom.next_timer(), Time::NEVER);
}

fn settings(entries: impl IntoIterator<Item = (&'static str, Setting)>) -> Settings {
    Settings(entries.into_iter().map(|(name, setting)| (name.to_owned(), setting)).collect())
}

#[test]
fn an_algorithm_from_outside_reads_its_settings_like_one_from_inside() {
    let maker = Outside::<dctcp::Dctcp>::new("1");
    let gain = |gain: Setting| settings([("gain", gain), ("min_window", Setting::Integer(4))]);
    assert_eq!(maker.check(&gain(Setting::Float(0.5))), Ok(()));
    let refused = |settings: Settings| maker.check(&settings).expect_err("refused");
    assert_eq!(refused(gain(Setting::Integer(2))), "gain = 2, expected above 0, at most 1");
    assert_eq!(refused(gain(Setting::Text("a".into()))), "invalid type: string \"a\", expected f64");
    assert!(refused(settings([("gian", Setting::Float(0.5))])).starts_with("unknown field `gian`"));
}

#[test]
fn settings_of_every_kind_are_read() {
    #[derive(Debug, Default, PartialEq, serde::Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Mode {
        #[default]
        Slow,
        Fast(u8),
    }
    #[derive(Debug, Default, PartialEq, serde::Deserialize)]
    struct All {
        yes: bool,
        some: Option<u32>,
        none: Option<u32>,
        span: Span,
        list: Vec<f64>,
        table: BTreeMap<String, i64>,
        modes: (Mode, Mode),
    }
    let one = Setting::Integer(1);
    let table = |name: &str| Setting::Table([(name.to_owned(), one.clone())].into());
    let all = settings([
        ("yes", Setting::Bool(true)),
        ("some", one.clone()),
        ("span", Setting::Text("5 us".into())),
        ("list", Setting::List(vec![one.clone(), Setting::Float(0.5)])),
        ("table", table("a")),
        ("modes", Setting::List(vec![Setting::Text("slow".into()), table("fast")])),
    ]);
    let expected = All {
        yes: true,
        some: Some(1),
        none: None,
        span: Span::from_us(5),
        list: vec![1.0, 0.5],
        table: [("a".to_owned(), 1)].into(),
        modes: (Mode::Slow, Mode::Fast(1)),
    };
    assert_eq!(all.read(), Ok(expected));
}

/// Rests on a setting, to see that it arrives.
struct Halting(Bytes);

#[derive(Default, serde::Deserialize)]
struct HaltingParams {
    segments: u64,
}

impl Controller for Halting {
    fn on_ack(&mut self, _ack: &Ack) {}

    fn on_congestion(&mut self, _now: Time, _event: Congestion) {}

    fn limit(&self) -> Limit {
        Limit::window(self.0)
    }
}

impl Algorithm for Halting {
    type Params = HaltingParams;
    const SUMMARY: &'static str = "a window that stays";
    const SOURCE: &'static str = "none";
    const NEEDS_RDMA: bool = true;

    fn new(params: &HaltingParams, path: &Path) -> Self {
        Self(path.mss * params.segments)
    }

    fn ecn(_params: &HaltingParams) -> Ecn {
        Ecn::Accurate
    }

    fn check(params: &HaltingParams, ranges: &mut Ranges) -> Result<(), OutOfRange> {
        ranges.unless(params.segments > 0, "segments", params.segments, "at least 1")
    }
}

#[test]
fn a_control_from_outside_is_built_with_its_settings_and_says_what_it_uses() {
    let maker = Arc::new(Outside::<Halting>::new("7"));
    let params = Params::new("halting", settings([("segments", Setting::Integer(3))]), maker);
    assert_eq!(params.code.as_deref(), Some("7"));
    let config = Config::Custom(params);
    assert_eq!((config.ecn(), config.needs_rdma(), config.reads_delay()), (Ecn::Accurate, true, false));
    assert_eq!((config.name(), config.to_string().as_str()), ("custom", "custom(halting)"));
    let cc: Cc = config.build(&path());
    assert_eq!(cc.limit().cwnd, MSS * 3);
}
