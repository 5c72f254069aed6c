use super::*;
use crate::cc::conformance::{MSS, ack, path};

const LINE: BitRate = BitRate::from_gbps(40);

fn at(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

fn dcqcn(params: &Params) -> Dcqcn {
    Dcqcn::new(params, &Path { link: LINE, ..path() })
}

fn paper() -> Dcqcn {
    dcqcn(&Params::default())
}

fn vendor() -> Params {
    Params { variant: Variant::Vendor, ..Params::default() }
}

/// Current and target rate in Gb/s.
fn rates(dcqcn: &Dcqcn) -> (f64, f64) {
    (dcqcn.current / 1e9, dcqcn.target / 1e9)
}

/// Calls `on_timer` whenever it is due, up to `until`. The rates after each call.
fn play(dcqcn: &mut Dcqcn, until: Time) -> Vec<(u64, f64)> {
    let mut steps = Vec::new();
    while dcqcn.next_timer() <= until {
        let now = dcqcn.next_timer();
        dcqcn.on_timer(now);
        steps.push(((now - Time::ZERO).as_ps() / 1_000_000, dcqcn.current / 1e9));
    }
    steps
}

#[test]
fn a_flow_begins_at_line_rate_and_nothing_is_due() {
    let dcqcn = paper();
    assert_eq!(dcqcn.limit(), Limit { cwnd: Bytes::MAX, pacing: Some(LINE) });
    assert_eq!(dcqcn.next_timer(), Time::NEVER);
}

#[test]
fn the_first_cnp_halves_the_rate_whenever_it_comes() {
    // alpha begins at 1 with it: 40·(1 − 1/2) = 20 Gb/s; 1·255/256 + 1/256 = 1.
    let mut dcqcn = paper();
    dcqcn.on_cnp(at(1_000_000));
    assert_eq!(rates(&dcqcn), (20.0, 40.0));
    assert_eq!(dcqcn.alpha, 1.0);
}

#[test]
fn a_cut_takes_half_of_alpha_and_alpha_rises_after_it() {
    let mut dcqcn = paper();
    dcqcn.first_cnp = Some(at(0));
    dcqcn.alpha = 0.5;
    dcqcn.on_cnp(at(10));
    // 40·(1 − 0.25) = 30; 0.5·255/256 + 1/256 = 128.5/256.
    assert_eq!(rates(&dcqcn), (30.0, 40.0));
    assert_eq!(dcqcn.alpha, 128.5 / 256.0);
    // The target is where the rate was.
    dcqcn.on_cnp(at(20));
    assert_eq!(dcqcn.target / 1e9, 30.0);
}

#[test]
fn alpha_falls_once_for_each_interval_without_a_cnp() {
    let mut dcqcn = paper();
    dcqcn.on_cnp(at(0));
    dcqcn.on_cnp(at(50));
    assert_eq!(dcqcn.alpha, 1.0, "50 us are no interval");
    // 164 us hold two intervals of 55 us, 165 us three.
    let expected = |falls: i32| (255.0_f64 / 256.0).powi(falls);
    for (us, falls) in [(50 + 164, 2), (50 + 165, 3)] {
        let mut later = dcqcn.clone();
        later.settle_alpha(at(us));
        // ±1e-15: a power instead of products.
        assert!((later.alpha - expected(falls)).abs() < 1e-15, "{}", later.alpha);
    }
}

#[test]
fn without_further_cnps_the_rate_recovers_by_halves_then_by_steps() {
    // 20, and RT = 40: the distance halves each 55 us. From the fifth stage on 40 Mb/s are added to RT, which is line rate
    // already.
    let mut dcqcn = paper();
    dcqcn.on_cnp(at(0));
    let steps = play(&mut dcqcn, at(275));
    assert_eq!(steps, [(55, 30.0), (110, 35.0), (165, 37.5), (220, 38.75), (275, 39.375)]);
}

#[test]
fn four_stages_recover_and_the_fifth_adds() {
    // Two cuts: 20, then RT = 20 and RC = 10.
    let mut dcqcn = paper();
    dcqcn.on_cnp(at(0));
    dcqcn.on_cnp(at(50));
    assert_eq!(rates(&dcqcn), (10.0, 20.0));
    play(&mut dcqcn, at(50 + 4 * 55));
    assert_eq!(rates(&dcqcn), (19.375, 20.0));
    play(&mut dcqcn, at(50 + 5 * 55));
    // RT = 20.04, RC = (19.375 + 20.04)/2.
    assert_eq!((dcqcn.target, dcqcn.current), (20.04e9, 19.707_5e9));
}

#[test]
fn a_byte_stage_completes_when_its_bytes_are_sent() {
    let mut dcqcn = paper();
    dcqcn.on_sent(Bytes::new(20_000_000));
    assert_eq!(rates(&dcqcn), (40.0, 40.0), "nothing counts before the first CNP");
    dcqcn.on_cnp(at(0));
    dcqcn.on_sent(Bytes::new(9_999_999));
    assert_eq!(rates(&dcqcn).0, 20.0);
    dcqcn.on_sent(Bytes::new(1));
    assert_eq!((rates(&dcqcn).0, dcqcn.byte_stage), (30.0, 1));
}

#[test]
fn hyper_increase_needs_both_stages_above_f_and_grows_with_the_smaller() {
    let mut dcqcn = paper();
    (0..10).for_each(|_| dcqcn.on_cnp(at(0)));
    dcqcn.time_stage = 7;
    let raised = |dcqcn: &mut Dcqcn| {
        let before = dcqcn.target;
        dcqcn.bytes_left = 1;
        dcqcn.on_sent(Bytes::new(1));
        (dcqcn.target - before) / 1e6
    };
    // T = 7, B from 1: min(T, B) − 5 = 1 at B = 6, 2 at B = 7, and no more.
    let found: Vec<_> = (1..=8).map(|_| raised(&mut dcqcn).round()).collect();
    assert_eq!(found, [40.0, 40.0, 40.0, 40.0, 40.0, 200.0, 400.0, 400.0]);
}

#[test]
fn a_cnp_starts_recovery_anew() {
    let mut dcqcn = paper();
    dcqcn.on_cnp(at(0));
    play(&mut dcqcn, at(165));
    dcqcn.on_sent(Bytes::new(4_000_000));
    dcqcn.on_cnp(at(170));
    assert_eq!((dcqcn.time_stage, dcqcn.byte_stage, dcqcn.bytes_left), (0, 0, 10_000_000));
    assert_eq!(dcqcn.next_timer(), at(225));
}

#[test]
fn no_cut_goes_below_the_smallest_rate() {
    let mut dcqcn = paper();
    (0..100).for_each(|us| dcqcn.on_cnp(at(us)));
    assert_eq!(dcqcn.limit().pacing, Some(BitRate::from_mbps(40)));
}

#[test]
fn at_line_rate_nothing_is_due_any_more() {
    let mut dcqcn = paper();
    dcqcn.on_cnp(at(0));
    play(&mut dcqcn, at(100_000));
    assert_eq!((dcqcn.limit().pacing, dcqcn.next_timer()), (Some(LINE), Time::NEVER));
}

#[test]
fn cards_cut_when_they_look_at_the_flag() {
    let mut dcqcn = dcqcn(&vendor());
    dcqcn.on_cnp(at(100));
    assert_eq!((rates(&dcqcn), dcqcn.next_timer()), ((40.0, 40.0), at(104)));
    dcqcn.on_timer(at(104));
    // Four intervals of 1 us without a flag: alpha = (255/256)^4.
    let alpha = (255.0_f64 / 256.0).powi(4);
    assert!((rates(&dcqcn).0 - 40.0 * (1.0 - alpha / 2.0)).abs() < 1e-9, "{:?}", rates(&dcqcn));
    assert_eq!(dcqcn.next_timer(), at(404), "300 us later");
    // The next looks are at 108, 112, …: a CNP at 109 and one at 110 make one cut at 112.
    dcqcn.on_cnp(at(109));
    dcqcn.on_cnp(at(110));
    assert_eq!(dcqcn.next_timer(), at(112));
}

#[test]
fn cards_raise_alpha_once_for_an_interval_with_cnps() {
    let mut dcqcn = dcqcn(&vendor());
    dcqcn.on_cnp(at(0));
    dcqcn.alpha = 0.5;
    dcqcn.alpha_at = at(10);
    let half = Time::ZERO + Span::from_ns(10_500);
    dcqcn.on_cnp(half);
    dcqcn.on_cnp(half);
    dcqcn.settle_alpha(at(11));
    assert_eq!(dcqcn.alpha, 128.5 / 256.0);
    dcqcn.settle_alpha(at(12));
    assert_eq!(dcqcn.alpha, 128.5 / 256.0 * 255.0 / 256.0);
}

#[test]
fn cards_keep_the_target_until_a_time_stage_has_completed() {
    let mut dcqcn = dcqcn(&vendor());
    dcqcn.on_cnp(at(0));
    play(&mut dcqcn, at(4));
    dcqcn.on_cnp(at(5));
    play(&mut dcqcn, at(8));
    assert_eq!(dcqcn.target / 1e9, 40.0);
    play(&mut dcqcn, at(308));
    let before = dcqcn.current;
    dcqcn.on_cnp(at(309));
    play(&mut dcqcn, at(312));
    assert_eq!(dcqcn.target, before);
}

#[test]
fn cards_recover_once_add_once_then_add_ten_times_as_much() {
    // 40 Gb/s: R_AI = 8 Mb/s, R_HAI = 80 Mb/s.
    let mut dcqcn = dcqcn(&vendor());
    dcqcn.on_cnp(at(0));
    play(&mut dcqcn, at(4));
    dcqcn.target = 30e9;
    let targets = [304, 604, 904, 1204].map(|us| {
        play(&mut dcqcn, at(us));
        dcqcn.target / 1e6
    });
    assert_eq!(targets, [30_000.0, 30_008.0, 30_088.0, 30_168.0]);
}

#[test]
fn single_settings_override_the_variant() {
    let params = Params { threshold: Some(3), timer: Some(Span::from_us(7)), ..vendor() };
    let rules = params.rules(LINE);
    assert_eq!((rules.threshold, rules.timer), (3, Span::from_us(7)));
    assert_eq!(Rules { threshold: 1, timer: Span::from_us(300), ..rules }, vendor().rules(LINE));
    let refused = Dcqcn::check(
        &Params { cut_interval: Some(Span::from_us(4)), ..Params::default() },
        &mut Ranges::default(),
    );
    assert_eq!(refused.map_err(|error| error.setting), Err("cut_interval"));
}

#[test]
fn a_loss_is_worth_a_cnp_only_if_that_is_set() {
    let loss = Congestion::Loss { flight_size: Bytes::new(10_000) };
    let timeout = Congestion::Timeout { flight_size: Bytes::new(10_000), repeated: false };
    for event in [loss, timeout] {
        let mut ignores = paper();
        ignores.on_congestion(at(10), event);
        assert_eq!(rates(&ignores), (40.0, 40.0));
        let mut cuts = dcqcn(&Params { on_loss: OnLoss::Cut, ..Params::default() });
        cuts.on_congestion(at(10), event);
        assert_eq!(rates(&cuts), (20.0, 40.0));
    }
    // A mark is none, whoever reports it.
    let mut cuts = dcqcn(&Params { on_loss: OnLoss::Cut, ..Params::default() });
    cuts.on_congestion(at(10), Congestion::Mark { flight_size: Bytes::new(10_000) });
    assert_eq!(rates(&cuts), (40.0, 40.0));
}

#[test]
fn the_window_follows_the_rate() {
    let mut dcqcn = dcqcn(&Params { window: Some(MSS * 20), ..Params::default() });
    assert_eq!(dcqcn.limit().cwnd, MSS * 20);
    // 40 to 20 Gb/s.
    dcqcn.on_cnp(at(10));
    assert_eq!(dcqcn.limit().cwnd, MSS * 10);
}

#[test]
fn an_acknowledgment_of_a_marked_packet_is_worth_a_cnp() {
    let params = Params { feedback: Feedback::Acks, ..vendor() };
    assert_eq!([Dcqcn::ecn(&params), Dcqcn::ecn(&vendor())], [Ecn::Accurate, Ecn::Cnp]);
    let [mut by_ack, mut by_cnp] = [dcqcn(&params), dcqcn(&vendor())];
    by_ack.on_ack(&Ack { now: at(3), ..ack(MSS) });
    assert_eq!(by_ack.next_timer(), Time::NEVER, "it was not marked");
    by_ack.on_ack(&Ack { now: at(5), marked: MSS, ..ack(MSS) });
    by_cnp.on_cnp(at(5));
    assert_eq!(play(&mut by_ack, at(400)), play(&mut by_cnp, at(400)));
    assert!(by_ack.current < 40e9);
}
