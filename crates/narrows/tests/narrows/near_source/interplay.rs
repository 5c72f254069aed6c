//! The loop that governs a flow when only one sees congestion, when both do, and when messages fail to come.

use super::{Case, QCN, annulus};

#[test]
fn near_source_congestion_is_met_within_milliseconds_and_without_it_within_round_trips() {
    let with = Case::default().play();
    let goodput = with.goodput(210.0, 320.0);
    assert!((0.1..0.25).contains(&goodput), "{goodput} Gb/s of 0.2 left");
    // BBR alone sends 1 Gb/s for a whole round trip of 8 ms before it hears anything: 0.8 Gb/s·8 ms are 800 kB.
    let without = Case { cc: "bbr = {}".into(), ..Case::default() }.play();
    let [with, without] = [with, without].map(|played| played.deepest(200.0, 320.0));
    assert!(without > 700.0, "{without} kB");
    // 0.8 Gb/s too much for the 3 ms of some ten cuts are 300 kB at most.
    assert!(with < 0.5 * without, "{with} of {without} kB");
}

#[test]
fn the_end_to_end_estimate_survives_near_source_congestion() {
    let played = Case::default().play();
    // 120 ms are 15 round trips; the filter of BBR forgets after 10.
    let (before, after) = (played.pacing(199.0), played.pacing(319.0));
    assert!((after / before - 1.0).abs() < 0.02, "{before} before, {after} Gb/s after");
    // The setting that does it: without it, BBR takes the near-source rate for the bandwidth of the path.
    let poisoned = Case { cc: annulus("bbr = {}", "app_limited = false"), ..Case::default() }.play();
    assert!(poisoned.pacing(319.0) < 0.5 * before, "{} Gb/s", poisoned.pacing(319.0));
}

#[test]
fn when_messages_stop_the_flow_recovers_by_qcn_and_before_a_round_trip_is_over() {
    let played = Case::default().play();
    // The queue drains for about a millisecond after the burst. Then come five byte stages of 15 kB at 0.2 Gb/s, 3 ms, with
    // five time stages of 0.3 ms among them, and hyper-active stages that add 5 Mb/s, 10 Mb/s, ...
    let first_free = played
        .near_source(320.0, 340.0)
        .into_iter()
        .find(|(_, rate)| *rate > 0.9)
        .map(|(ms, _)| ms - 320.0)
        .expect("it recovers");
    assert!((1.0..8.0).contains(&first_free), "{first_free} ms");
    let goodput = played.goodput(340.0, 390.0);
    assert!(goodput > 0.9, "{goodput} Gb/s");
}

#[test]
fn wan_congestion_alone_is_left_to_the_end_to_end_loop() {
    // The WAN carries 300 Mb/s, and no datagrams come.
    let case = Case { wan_rate: "300 Mb/s", burst: "1 Mb/s", ..Case::default() };
    let played = case.play();
    assert_eq!(played.messages(), 0);
    assert!(played.near_source(0.0, 400.0).is_empty());
    let alone = Case { cc: "bbr = {}".into(), ..case }.play();
    assert_eq!(played.results.windows, alone.results.windows);
    assert!(played.goodput(300.0, 400.0) > 0.25, "{} Gb/s", played.goodput(300.0, 400.0));
}

#[test]
fn with_congestion_at_both_the_slower_loop_governs_and_both_keep_their_state() {
    // The WAN carries 150 Mb/s, the uplink has 100 Mb/s left from 200 to 320 ms.
    let case = Case { wan_rate: "150 Mb/s", burst: "900 Mb/s", ..Case::default() };
    let played = case.play();
    let alone = Case { cc: "bbr = {}".into(), burst: "1 Mb/s", ..case }.play();
    assert_eq!(played.goodput(150.0, 200.0), alone.goodput(150.0, 200.0));
    // 94 Mb/s of payload are left, and 250 kB more may go into the queue meanwhile: 22 Mb/s for 90 ms.
    let during = played.goodput(230.0, 320.0);
    assert!((0.04..0.116).contains(&during), "{during} Gb/s");
    // The estimate of the WAN stays, and is used after the burst. The flow paces at 0.75 to 1.25 times the estimate.
    let estimate = played.pacing(319.0) / alone.pacing(319.0);
    assert!((0.75 / 1.25..1.25 / 0.75).contains(&estimate), "{estimate}");
    let after = played.goodput(335.0, 400.0) / alone.goodput(335.0, 400.0);
    assert!(after > 0.9, "{after}");
}

#[test]
fn the_near_source_rate_does_not_run_away_while_the_wan_is_slower() {
    // The WAN carries 150 Mb/s; near the source a little too much comes for a while: 900 Mb/s of 1 Gb/s.
    let case = |near_source: &str| Case {
        wan_rate: "150 Mb/s",
        burst: "900 Mb/s",
        cc: annulus("bbr = {}", near_source),
        ..Case::default()
    };
    // It ends a round trip after it held up something last, which is not before the queue at the uplink has gone.
    let rates = case("release_after = \"1 s\"").play().near_source(325.0, 400.0);
    let most = rates.iter().map(|(_, rate)| *rate).fold(0.0, f64::max);
    // Twice the rate measured over 30 us, in which fewer than three packets fit.
    assert!(!rates.is_empty() && most < 0.6, "{most} Gb/s");
    let free = case("release_after = \"1 s\", cap = inf").play().near_source(325.0, 400.0);
    assert!(free.iter().any(|(_, rate)| *rate > 0.9));
    let released = case("").play().near_source(325.0, 400.0);
    let last = released.last().map(|(ms, _)| *ms);
    assert!(last.is_none_or(|ms| ms < 350.0), "{last:?} ms");
}

#[test]
fn a_window_that_the_near_source_loop_keeps_from_being_used_does_not_grow() {
    // DCTCP without marks grows by a segment in each round trip while its window is used: 14 of them in 112 ms.
    let case = |near_source: &str| Case { cc: annulus("dctcp = {}", near_source), ..Case::default() };
    let growth = |near_source: &str| {
        let played = case(near_source).play();
        played.window(318.0) - played.window(206.0)
    };
    assert!(growth("").abs() < 1.5 * 1.448, "{} kB", growth(""));
    assert!(growth("validate_window = false") > 5.0 * 1.448, "{} kB", growth("validate_window = false"));
}

#[test]
fn lost_messages_are_followed_by_others() {
    // Between the switch and the host one packet in ten is lost, so one in ten messages. BBR takes such losses for noise.
    let lossy = r#"
[topology.explicit]
hosts = ["dc0/rack0/host0", "dc0/rack0/host3", "dc0/rack1/host0", "dc1/rack0/host0"]
switches = [
    { name = "dc0/rack0/tor" },
    { name = "dc0/spine" },
    { name = "dc1/border", class = "border" },
]
links = [
    { between = ["dc0/rack0/host0", "dc0/rack0/tor"], rate = "1 Gb/s", delay = "1 us", error_rate = 0.1 },
    { between = ["dc0/rack0/host3", "dc0/rack0/tor"], rate = "1 Gb/s", delay = "1 us" },
    { between = ["dc0/rack0/tor", "dc0/spine"], rate = "1 Gb/s", delay = "1 us" },
    { between = ["dc0/spine", "dc0/rack1/host0"], rate = "1 Gb/s", delay = "1 us" },
    { between = ["dc0/spine", "dc1/border"], rate = "10 Gb/s", delay = "4 ms" },
    { between = ["dc1/border", "dc1/rack0/host0"], rate = "1 Gb/s", delay = "1 us" },
]
"#;
    let played = Case { topology: Some(lossy), ..Case::default() }.play();
    assert!(played.results.drops(narrows_sim::DropCause::LinkError) > 1_000);
    assert!(
        played.results.mechanisms.limiter.received > 50,
        "{} heard",
        played.results.mechanisms.limiter.received
    );
    assert!(played.deepest(205.0, 320.0) < 300.0, "{} kB", played.deepest(205.0, 320.0));
}

#[test]
fn a_failed_link_on_the_way_of_messages_delays_nothing_for_good() {
    let failing = r#"
[[failures]]
link = ["dc0/rack0/tor", "dc0/spine0"]
from = "230 ms"
until = "260 ms"
reroute_after = "1 ms"
"#;
    let played = Case { more: failing.into(), spines: 2, points: QCN, ..Case::default() }.play();
    assert!(played.goodput(340.0, 395.0) > 0.8, "{} Gb/s", played.goodput(340.0, 395.0));
    assert!(played.near_source(395.0, 400.0).is_empty(), "the loop has ended");
}

#[test]
fn flows_that_share_a_loop_share_its_rate_equally() {
    let case = |per: &str, seconds: &str| Case {
        flows: 3,
        cc: format!("annulus = {{ end_to_end = {{ {seconds} }}, per = \"{per}\" }}"),
        ..Case::default()
    };
    // A rate of 1 Gb/s each, of which the host's link carries a third: the loop alone decides who gets what of 200 Mb/s.
    let fixed = "fixed = { rate = \"1 Gb/s\" }";
    let shared = case("host", fixed).play();
    let rates = shared.goodputs(220.0, 320.0);
    let sum: f64 = rates.iter().sum();
    assert!((0.1..0.25).contains(&sum), "{rates:?}");
    // They take turns packet by packet.
    assert!(rates.iter().all(|rate| (rate / sum * 3.0 - 1.0).abs() < 0.02), "{rates:?}");
    let loops = |played: &super::Played| {
        let rows = played.results.recorded.limiters.iter().flatten();
        rows.map(|row| (row.node, row.limiter)).collect::<std::collections::BTreeSet<_>>().len()
    };
    assert_eq!((loops(&shared), loops(&case("flow", fixed).play())), (1, 3));
}
