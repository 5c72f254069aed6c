//! Prague where something of L4S is missing: the feedback, the codepoint on the way, a queue that marks it by itself.

use crate::queue_management::{bottleneck, classic_ecn, link_of, measured, pairs, rates, rows, run, wan};
use crate::support::{Run, deep, group, link, reno, trace};
use narrows_proto::cc::{self, Config, PeerEcn};
use narrows_proto::stream::{AccurateEcn, Params};
use narrows_proto::units::{BitRate, Bytes, Span};
use narrows_sim::mechanism::dualpi2::DualPi2;
use narrows_sim::path::{Mangling, Path};
use narrows_sim::switch::{Codel, MarkAt, Marking, Pie, Red, RedAction, SwitchConfig};
use narrows_sim::traffic::Group;
use narrows_sim::{Network, PortCounters};

fn prague(params: Params) -> Group {
    group(params, Config::Prague(cc::prague::Params::default()))
}

fn dualpi2() -> SwitchConfig {
    SwitchConfig { dualpi2: Some(DualPi2::default()), ..deep() }
}

#[test]
fn a_receiver_without_counts_makes_prague_reno() {
    let network = bottleneck(2, BitRate::from_mbps(40), Span::from_ms(20), dualpi2());
    let bytes = |group: Group| {
        let traffic = measured(pairs(vec![group], &[0, 0]), 1..10);
        trace(&run(&network, &traffic))
    };
    for (peer_ecn, same) in [(PeerEcn::Classic, classic_ecn()), (PeerEcn::Off, reno())] {
        assert_eq!(bytes(prague(Params { peer_ecn, ..wan() })), bytes(group(wan(), same)), "{peer_ecn:?}");
    }
}

fn cubic_ecn() -> Config {
    Config::Cubic(cc::cubic::Params { ecn: true, ..Default::default() })
}

/// Marks at the bottleneck, codepoints changed on the link of the sender (or behind the bottleneck), and payload that the sender takes
/// for marked.
fn mangled(ecn: Mangling, behind: bool, params: Params) -> (u64, u64, Bytes) {
    let network = bottleneck(1, BitRate::from_mbps(40), Span::from_ms(20), dualpi2());
    let changing = if behind { link_of(&network) } else { link(&network, "left/host0", "left/switch") };
    let paths = [(changing, Path { ecn: Some(ecn), ..Path::default() })].into();
    let network = Network { paths, ..network };
    let traffic = measured(pairs(vec![prague(params)], &[0]), 1..10);
    let outcome = run(&network, &traffic);
    let sum = |of: fn(&PortCounters) -> u64| outcome.ports.iter().map(of).sum::<u64>();
    (sum(|port| port.marks), sum(|port| port.mangled), outcome.flows[0].stats.marked)
}

#[test]
fn a_syn_that_arrives_without_ect_1_is_the_last_packet_that_says_it() {
    for accurate_ecn in [AccurateEcn::Count, AccurateEcn::Ace].map(Some) {
        for ecn in [Mangling::Bleach, Mangling::ToEct0] {
            let found = mangled(ecn, false, Params { handshake: true, accurate_ecn, ..wan() });
            assert_eq!(found, (0, 1, Bytes::ZERO), "{ecn:?}, {accurate_ecn:?}");
        }
    }
}

#[test]
fn without_a_handshake_the_first_acknowledgment_with_the_option_shows_it() {
    let changed = |accurate_ecn| {
        let params = Params { handshake: false, accurate_ecn: Some(accurate_ecn), ..wan() };
        mangled(Mangling::Bleach, false, params).1
    };
    assert_eq!(changed(AccurateEcn::Count), 10, "the first window");
    assert!(changed(AccurateEcn::Ace) > 10_000, "three bits say nothing of it");
}

#[test]
fn marks_that_are_taken_off_reach_nobody() {
    let (marks, changed, noticed) = mangled(Mangling::Unmark, true, wan());
    assert!(marks > 1_000, "{marks}");
    assert_eq!((changed, noticed), (marks, Bytes::ZERO));
}

#[test]
fn any_number_of_threads_gives_the_same_bytes_with_changed_codepoints() {
    let network = bottleneck(2, BitRate::from_mbps(40), Span::from_ms(20), dualpi2());
    let path = Path { ecn: Some(Mangling::Unmark), ..Path::default() };
    let network = Network { paths: [(link_of(&network), path)].into(), ..network };
    let traffic = measured(pairs(vec![prague(wan())], &[0, 0]), 1..4);
    let traced =
        |threads| trace(&Run::new(&network, &traffic).until(Span::from_secs(4)).threads(threads).run());
    assert_eq!(traced(1), traced(2));
}

/// The rate of Prague over that of a classic flow at one queue, with and without the detection of classic queues.
fn beside(classic: &Config, detects: bool, mbps: u64, rtt_ms: u64, config: SwitchConfig) -> f64 {
    let ecn_fallback = detects.then(Default::default);
    let prague = Config::Prague(cc::prague::Params { ecn_fallback, ..Default::default() });
    let network = bottleneck(2, BitRate::from_mbps(mbps), Span::from_ms(rtt_ms), config);
    let groups = vec![group(wan(), prague), group(wan(), classic.clone())];
    let traffic = measured(pairs(groups, &[0, 1]), 30..90);
    let rates = rates(&run(&network, &traffic), &traffic);
    rates[0] / rates[1]
}

#[test]
fn at_one_queue_that_marks_by_classic_rules_only_detection_leaves_classic_flows_a_share() {
    let codel = Marking::Codel(Codel { ecn: true, ..Codel::default() });
    let pie = Marking::Pie(Pie { ecn: true, ..Pie::default() });
    for marking in [codel, pie] {
        for classic in [classic_ecn(), cubic_ecn()] {
            for (mbps, rtt_ms) in [(12, 20), (40, 10), (40, 50)] {
                let [off, on] = [false, true].map(|detects| {
                    beside(
                        &classic,
                        detects,
                        mbps,
                        rtt_ms,
                        SwitchConfig { marking: marking.clone(), ..deep() },
                    )
                });
                // With the window of both under p, 2.7/p against 1.22/√p: the ratio is that of windows of some 10 to 100 packets. A
                // reduction by 0.31 each time is Reno's of 0.5 with a rate of 1.3 to 1.6; RFC 9331 §4.3 asks for coexistence.
                let of = format!("{marking:?}, {}, {mbps} Mb/s, {rtt_ms} ms: {off} and {on}", classic.name());
                assert!(off > 4.0 && (0.5..=2.0).contains(&on), "{of}");
            }
        }
    }
}

/// RED with ECN whose thresholds are so many milliseconds of the link.
fn red(mbps: u64, min_ms: u64, max_ms: u64) -> Marking {
    let bytes = |ms: u64| Bytes::new(mbps * 125 * ms);
    Marking::Red(Red {
        min: bytes(min_ms),
        max: bytes(max_ms),
        max_p: 0.1,
        weight: 0.002,
        gentle: true,
        spread: true,
        action: RedAction::Mark,
        mark_at: MarkAt::Enqueue,
        at: Vec::new(),
    })
}

/// The rate of Prague over that of a classic flow at RED, without and with detection.
fn beside_red(classic: &Config, mbps: u64, rtt_ms: u64, [min_ms, max_ms]: [u64; 2]) -> [f64; 2] {
    [false, true].map(|detects| {
        let config = SwitchConfig { marking: red(mbps, min_ms, max_ms), ..deep() };
        beside(classic, detects, mbps, rtt_ms, config)
    })
}

#[test]
fn at_red_a_long_queue_is_detected() {
    for classic in [classic_ecn(), cubic_ecn()] {
        for (mbps, rtt_ms) in [(12, 20), (40, 10), (40, 50)] {
            let [off, on] = beside_red(&classic, mbps, rtt_ms, [10, 30]);
            // The same bounds as at CoDel and PIE.
            let of = format!("{}, {mbps} Mb/s, {rtt_ms} ms: {off} and {on}", classic.name());
            assert!(off > 4.0 && (0.5..=2.0).contains(&on), "{of}");
        }
    }
}

/// A limit of the detection: a queue of 1 to 3 ms counts as one of L4S, whatever marks there.
#[test]
fn at_red_a_short_queue_is_not_detected() {
    for classic in [classic_ecn(), cubic_ecn()] {
        let [off, on] = beside_red(&classic, 40, 50, [1, 3]);
        assert!(off > 4.0 && on > 4.0, "{}: {off} and {on}", classic.name());
    }
}

#[test]
fn at_a_dual_queue_nothing_is_detected() {
    for (mbps, rtt_ms) in [(10, 5), (100, 20)] {
        let [off, on] = [false, true].map(|detects| beside(&classic_ecn(), detects, mbps, rtt_ms, dualpi2()));
        assert_eq!(off, on, "{mbps} Mb/s, {rtt_ms} ms");
    }
}

/// The 99th percentile of the delay that twenty Prague flows with 0.5 Mb/s each have at a dual queue, whose packets shrink to this.
fn small_rates_ms(min_packet: u64) -> f64 {
    let rate = BitRate::from_mbps(10);
    let network = bottleneck(20, rate, Span::from_us(100), dualpi2());
    let params = Params { ack_every: 1, ..wan() };
    let cc = cc::prague::Params { min_packet: Bytes::new(min_packet), ..Default::default() };
    let traffic = measured(pairs(vec![group(params, Config::Prague(cc))], &[0; 20]), 10..40);
    let rows = rows(&network, &traffic, 10..40);
    let mut delays: Vec<_> =
        rows.iter().map(|row| row.max_backlog as f64 * 8.0 / rate.as_f64() * 1e3).collect();
    delays.sort_by(f64::total_cmp);
    delays[delays.len() * 99 / 100]
}

#[test]
fn packets_that_shrink_keep_the_queue_of_small_rates_low() {
    let [shrinking, full] = [150, 1538].map(small_rates_ms);
    // A full packet takes 1.2 ms, and each flow has one in 25 ms.
    assert!(shrinking < 5.0 && full > shrinking, "{shrinking} ms, full packets {full} ms");
}
