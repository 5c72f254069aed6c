use super::*;
use crate::cc::PeerEcn;

const RTT: Span = Span::from_us(60);

fn at(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

fn path() -> Path {
    Path {
        mss: Bytes::new(1460),
        initial_window: Bytes::new(14_600),
        packet: Bytes::new(1538),
        link: BitRate::from_gbps(10),
        seed: 1,
        paced: true,
        merged: 1,
        offload: None,
        peer_ecn: PeerEcn::Accurate,
    }
}

/// Five subflows have 5 Gb/s together, and nothing is marked.
fn report() -> JumboReport {
    JumboReport {
        alpha: 0.0,
        joined: 0,
        subflows: 5,
        throughput: BitRate::from_gbps(5),
        yielded: 0.0,
        marked: 0,
        rtt: RTT,
        base_rtt: RTT,
        recent_rtt: RTT,
        quiet: false,
    }
}

/// A subflow at 1 Gb/s.
fn subflow(params: &Params) -> Subflow {
    let mut subflow = Subflow::new(params, &path());
    subflow.on_rtt(RTT);
    subflow.on_report(at(0), &report());
    subflow
}

fn gbps(subflow: &Subflow) -> f64 {
    subflow.share().as_f64() / 1e9
}

/// A packet per round trip, in Gb/s.
const PACKET: f64 = 1538.0 * 8.0 / 60e-6 / 1e9;

/// So many rounds, in which it sends `part` of what it may. Returns when they are over.
fn rounds(subflow: &mut Subflow, from: u64, rounds: u64, part: f64) -> u64 {
    for round in 0..rounds {
        let now = at(from + 60 * (round + 1));
        let bits = part * subflow.rate() * RTT.as_secs_f64();
        let sent = subflow.round_sent + bits;
        subflow.on_acked(now, bits);
        subflow.end_round(now, sent);
    }
    from + 60 * rounds
}

#[test]
fn a_new_subflow_begins_with_its_share() {
    assert!((gbps(&subflow(&Params::default())) - 1.0).abs() < 1e-9);
}

#[test]
fn before_its_first_report_it_has_not_begun_and_alone_it_begins_with_the_initial_window() {
    let mut subflow = Subflow::new(&Params::default(), &path());
    assert!(!subflow.has_begun());
    subflow.on_rtt(RTT);
    subflow.begin_alone(at(60));
    assert!((gbps(&subflow) - 10.0 * PACKET).abs() < 1e-6, "{}", gbps(&subflow));
}

#[test]
fn before_a_round_trip_was_measured_it_does_not_begin_alone() {
    let mut subflow = Subflow::new(&Params::default(), &path());
    subflow.begin_alone(at(60));
    assert!(!subflow.has_begun());
    subflow.on_rtt(RTT);
    subflow.begin_alone(at(120));
    assert!((gbps(&subflow) - 10.0 * PACKET).abs() < 1e-9);
}

#[test]
fn a_round_trip_that_nobody_knows_changes_nothing() {
    let mut subflow = subflow(&Params::default());
    subflow.on_rtt(Span::ZERO);
    assert!((gbps(&subflow) - 1.0).abs() < 1e-9);
}

#[test]
fn the_first_subflow_of_a_jumboflow_begins_with_the_initial_window_and_doubles() {
    let mut subflow = Subflow::new(&Params::default(), &path());
    subflow.on_rtt(RTT);
    subflow
        .on_report(at(0), &JumboReport { throughput: BitRate::ZERO, subflows: 1, quiet: true, ..report() });
    assert!((gbps(&subflow) - 10.0 * PACKET).abs() < 1e-6);
    rounds(&mut subflow, 0, 2, 1.0);
    assert!((gbps(&subflow) - 40.0 * PACKET).abs() < 1e-6, "{}", gbps(&subflow));
}

#[test]
fn without_marks_it_gains_a_segment_each_round_trip() {
    let mut subflow = subflow(&Params::default());
    rounds(&mut subflow, 0, 10, 1.0);
    assert!((gbps(&subflow) - 1.0 - 10.0 * PACKET).abs() < 1e-6, "{}", gbps(&subflow));
}

#[test]
fn as_a_window_it_slows_down_when_round_trips_grow_and_as_a_rate_it_does_not() {
    let mut window = subflow(&Params::default());
    let mut rate = subflow(&Params { control: Control::Rate, ..Params::default() });
    for subflow in [&mut window, &mut rate] {
        subflow.on_rtt(RTT * 2);
    }
    assert!((gbps(&window) - 0.5).abs() < 1e-9 && (gbps(&rate) - 1.0).abs() < 1e-9);
    assert_eq!(window.in_flight(), Bytes::new(7500 + 1537));
}

#[test]
fn a_constrained_subflow_keeps_its_rate() {
    let mut subflow = subflow(&Params::default());
    // What it sends is known after the first two rounds, the first of which is not a whole one.
    rounds(&mut subflow, 0, 2, 0.5);
    let before = gbps(&subflow);
    assert!(before < 1.0 + 1.1 * PACKET);
    rounds(&mut subflow, 120, 20, 0.5);
    assert_eq!(gbps(&subflow), before);
    // And goes on from there when the other bottleneck is gone, of which it learns in a round.
    rounds(&mut subflow, 1320, 11, 1.0);
    assert!((gbps(&subflow) - before - 10.0 * PACKET).abs() < 1e-6, "{}", gbps(&subflow));
}

#[test]
fn packets_that_come_whole_do_not_make_it_constrained() {
    // 2.5 packets per round trip: two in some rounds, three in others.
    let mut subflow = subflow(&Params::default());
    subflow.set_rate(2.5 * PACKET * 1e9);
    subflow.end_round(at(60), 0.0);
    let sent = subflow.round_sent + 2.0 * subflow.packet;
    subflow.end_round(at(120), sent);
    assert!(!subflow.constrained);
}

#[test]
fn marks_cut_once_in_a_round_trip_however_often_they_are_reported() {
    let mut subflow = subflow(&Params::default());
    for tick in 0..6 {
        let marked = 1000 * (tick + 1);
        subflow.on_report(at(10 * tick + 1), &JumboReport { alpha: 0.5, marked, ..report() });
    }
    assert!((gbps(&subflow) - 0.75).abs() < 1e-9, "{}", gbps(&subflow));
    subflow.on_report(at(70), &JumboReport { alpha: 0.5, marked: 9000, ..report() });
    assert!((gbps(&subflow) - 0.5625).abs() < 1e-9, "{}", gbps(&subflow));
}

#[test]
fn congestion_does_not_reduce_it_below_the_smallest_window_nor_keep_less_from_growing() {
    let mut subflow = subflow(&Params::default());
    subflow.set_rate(2.2 * PACKET * 1e9);
    subflow.on_report(at(1), &JumboReport { alpha: 1.0, marked: 1, ..report() });
    assert!((gbps(&subflow) - 2.0 * PACKET).abs() < 1e-6, "{}", gbps(&subflow));
    subflow.set_rate(0.5 * PACKET * 1e9);
    subflow.on_report(at(200), &JumboReport { alpha: 1.0, marked: 2, ..report() });
    assert!((gbps(&subflow) - 0.5 * PACKET).abs() < 1e-6, "{}", gbps(&subflow));
    subflow.on_acked(at(201), 0.5 * subflow.packet);
    assert!(gbps(&subflow) > 0.5 * PACKET);
}

#[test]
fn at_its_smallest_window_it_has_as_many_packets_on_their_way_as_the_window_holds() {
    for min_window in [1.0, 2.0, 5.0] {
        let mut subflow = subflow(&Params { min_window, ..Params::default() });
        for round in 1..=40 {
            subflow.on_report(at(60 * round), &JumboReport { alpha: 1.0, marked: round, ..report() });
        }
        assert_eq!(subflow.in_flight().get() / 1538, min_window as u64);
    }
}

#[test]
fn the_first_marks_of_a_slow_start_halve_it() {
    let mut subflow = Subflow::new(&Params::default(), &path());
    subflow.on_rtt(RTT);
    subflow.on_report(at(0), &JumboReport { quiet: true, ..report() });
    subflow.on_report(at(1), &JumboReport { alpha: 0.01, marked: 1, ..report() });
    assert!((gbps(&subflow) - 0.5 * 10.0 * PACKET).abs() < 1e-6, "{}", gbps(&subflow));
    subflow.on_report(at(100), &JumboReport { alpha: 0.01, marked: 2, ..report() });
    assert!((gbps(&subflow) - 0.5 * 10.0 * PACKET * 0.995).abs() < 1e-6, "{}", gbps(&subflow));
}

#[test]
fn the_tail_of_alpha_cuts_nothing() {
    let mut subflow = subflow(&Params::default());
    subflow.on_report(at(1), &JumboReport { alpha: 0.5, marked: 1, ..report() });
    let after = gbps(&subflow);
    for tick in 1..100 {
        subflow.on_report(at(10 * tick), &JumboReport { alpha: 0.4, marked: 1, ..report() });
    }
    assert_eq!(gbps(&subflow), after);
}

#[test]
fn with_a_bound_for_alpha_its_tail_cuts_round_after_round() {
    let params = Params { zero: Zero::Below(1.0 / 64.0), ..Params::default() };
    let mut subflow = subflow(&params);
    for tick in 0..100 {
        subflow.on_report(at(10 * tick), &JumboReport { alpha: 0.1, marked: 1, ..report() });
    }
    // 1 ms is 16 whole round trips.
    assert!((gbps(&subflow) - 0.95_f64.powi(17)).abs() < 1e-9, "{}", gbps(&subflow));
    let before = gbps(&subflow);
    subflow.on_report(at(2000), &JumboReport { alpha: 1.0 / 65.0, marked: 9, ..report() });
    assert_eq!(gbps(&subflow), before);
}

#[test]
fn for_a_round_trip_after_a_cut_it_does_not_grow() {
    let mut subflow = subflow(&Params::default());
    subflow.on_report(at(5), &JumboReport { alpha: 0.1, marked: 1, ..report() });
    subflow.on_acked(at(64), subflow.packet);
    assert!((gbps(&subflow) - 0.95).abs() < 1e-9, "{}", gbps(&subflow));
    subflow.on_acked(at(65), subflow.packet);
    assert!(gbps(&subflow) > 0.95);
}

#[test]
fn it_makes_room_for_those_who_join_even_if_a_message_was_lost() {
    let mut subflow = subflow(&Params::default());
    // Five become six, of which no report came, then eight.
    let yielded = libm::log(6.0 / 5.0) + libm::log(8.0 / 6.0);
    subflow.on_report(at(30), &JumboReport { joined: 2, subflows: 8, yielded, ..report() });
    assert!((gbps(&subflow) - 5.0 / 8.0).abs() < 1e-9, "{}", gbps(&subflow));
}

#[test]
fn the_destination_limits_it_but_not_its_share() {
    let mut subflow = subflow(&Params::default());
    subflow.on_destination(BitRate::from_mbps(300));
    assert_eq!(subflow.limit(), BitRate::from_mbps(300));
    assert!((gbps(&subflow) - 1.0).abs() < 1e-9);
}

#[test]
fn a_share_of_almost_nothing_is_never_less_than_the_floor() {
    let mut subflow = Subflow::new(&Params::default(), &path());
    subflow.on_rtt(RTT);
    subflow
        .on_report(at(0), &JumboReport { throughput: BitRate::from_bps(70_000), subflows: 1000, ..report() });
    assert!((gbps(&subflow) - 0.1 * PACKET).abs() < 1e-9);
}

#[test]
fn a_loss_halves_it_once_in_a_round_trip() {
    let mut subflow = subflow(&Params::default());
    for us in [1, 2, 50] {
        subflow.on_loss(at(us));
    }
    assert!((gbps(&subflow) - 0.5).abs() < 1e-9, "{}", gbps(&subflow));
}

#[test]
fn after_an_idle_time_it_begins_with_its_share_again() {
    let mut subflow = subflow(&Params::default());
    subflow.restart();
    assert!(!subflow.has_begun());
    subflow.on_report(at(500), &JumboReport { subflows: 2, yielded: 3.0, ..report() });
    assert!((gbps(&subflow) - 2.5).abs() < 1e-9, "{}", gbps(&subflow));
}

/// GEMINI with 10 Gb/s and K = 100 kB.
fn gemini() -> Params {
    let settings = gemini::Params {
        capacity: Some(BitRate::from_gbps(10)),
        marking_threshold: Some(Bytes::new(100_000).into()),
        ..gemini::Params::default()
    };
    Params { rule: Rule::Gemini(Box::new(settings)), ..Params::default() }
}

#[test]
fn under_the_rule_of_gemini_delay_takes_beta_and_marks_take_f_times_alpha() {
    let far = |recent_us: u64, marked| JumboReport {
        alpha: 0.5,
        marked,
        base_rtt: Span::from_ms(10),
        recent_rtt: Span::from_us(recent_us),
        ..report()
    };
    let mut delayed = subflow(&gemini());
    delayed.on_report(at(1), &far(15_001, 0));
    assert!((gbps(&delayed) - 0.8).abs() < 1e-9, "{}", gbps(&delayed));
    let mut near_enough = subflow(&gemini());
    near_enough.on_report(at(1), &far(15_000, 0));
    assert!((gbps(&near_enough) - 1.0).abs() < 1e-9);
    // F = 4K/(C·RTT + K) = 4·0.8/(100 + 0.8) in Mb.
    let mut marked = subflow(&gemini());
    marked.on_report(at(1), &far(10_000, 1));
    let scale: f64 = 4.0 * 0.8 / 100.8;
    assert!((gbps(&marked) - 1.0 + 0.5 * scale).abs() < 1e-9, "{}", gbps(&marked));
}

#[test]
fn a_share_from_before_the_first_round_trip_becomes_a_window_with_it() {
    let mut subflow = Subflow::new(&Params::default(), &path());
    subflow.on_report(at(0), &JumboReport::unlimited(BitRate::from_gbps(10)));
    subflow.on_rtt(RTT);
    assert!((gbps(&subflow) - 10.0).abs() < 1e-9);
    // 10 Gb/s for 60 us, and room for the packet that is partly in it.
    assert_eq!(subflow.in_flight(), Bytes::new(75_000 + 1537));
}
