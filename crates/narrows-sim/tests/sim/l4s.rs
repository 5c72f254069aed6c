//! Prague at two coupled queues and beside classic controls, held against RFC 9331, RFC 9332 and the law of its window.

use crate::queue_management::{
    Shared, bottleneck, classic_ecn, link_of, mean_delay_ms, measured, paced, pairs, rates, rows, run,
    shared, unequal, use_of, wan,
};
use crate::support::{Run, dctcp, deep, group, reno, shallow};
use narrows_proto::cc::{self, Config};
use narrows_proto::stream::{AccurateEcn, Params};
use narrows_proto::units::{BitRate, Bytes, Span};
use narrows_sim::mechanism::dualpi2::DualPi2;
use narrows_sim::switch::SwitchConfig;
use narrows_sim::traffic::Group;

fn prague() -> Group {
    group(wan(), Config::Prague(cc::prague::Params::default()))
}

fn cubic_ecn() -> Config {
    Config::Cubic(cc::cubic::Params { ecn: true, ..Default::default() })
}

fn dualpi2() -> SwitchConfig {
    SwitchConfig { dualpi2: Some(DualPi2::default()), ..deep() }
}

/// r_L/r_C of RFC 9332 App. C.2 with windows of 2.7/p_L: a reduction of Prague waits for the first mark after a virtual round trip
/// (`cc/prague`). Classic windows are 1.22/√p_C: Reno, and CUBIC in its Reno-friendly region (RFC 9438 §4.3).
fn coupling_law(rtt_ms: u64) -> f64 {
    let base = rtt_ms as f64;
    2.7 / (2.0 * 1.22) * (base + 15.0) / (base + 0.5).max(25.0)
}

#[test]
fn prague_and_classic_controls_share_a_dual_queue_as_the_coupling_law_says() {
    let cases = [(120, 1, 3), (120, 5, 3), (120, 10, 3), (120, 20, 3), (120, 40, 3), (40, 100, 8)];
    for classic in [classic_ecn(), cubic_ecn()] {
        for (mbps, rtt_ms, flows) in cases {
            let seconds = if rtt_ms == 100 { 40..120 } else { 20..60 };
            let groups = vec![prague(), group(paced(), classic.clone())];
            let [ratio, _] = shared(&Shared { mbps, rtt_ms, flows, seconds }, groups);
            let expected = coupling_law(rtt_ms);
            // ±25 %: constants of smooth models, and means of p' and of its square.
            assert!(
                (ratio / expected - 1.0).abs() < 0.25,
                "{}, {mbps} Mb/s, {rtt_ms} ms: {ratio}, expected {expected}",
                classic.name()
            );
        }
    }
}

/// The rate of a flow with 5 ms over that of one with 25 ms.
fn bias(group: Group) -> f64 {
    let network = unequal(&[5, 25], BitRate::from_mbps(40), dualpi2());
    let traffic = measured(pairs(vec![group], &[0; 2]), 20..80);
    let rates = rates(&run(&network, &traffic), &traffic);
    rates[0] / rates[1]
}

#[test]
fn below_25_ms_the_round_trip_does_not_decide_the_share_of_prague() {
    let (ours, theirs) = (bias(prague()), bias(group(Params { l4s: true, ..wan() }, dctcp())));
    // RFC 9331 §4.3. A quarter each way, where the ratio of round trips is five.
    assert!((0.8..=1.25).contains(&ours), "{ours}");
    assert!(theirs > 2.5, "DCTCP {theirs}");
}

#[test]
fn prague_alone_fills_the_link_with_a_millisecond_of_queue() {
    for (mbps, rtt_ms, flows) in [(40, 5, 1), (40, 20, 1), (100, 10, 1), (200, 20, 4)] {
        let rate = BitRate::from_mbps(mbps);
        let network = bottleneck(flows, rate, Span::from_ms(rtt_ms), dualpi2());
        let traffic = measured(pairs(vec![prague()], &vec![0; flows as usize]), 10..40);
        let rows = rows(&network, &traffic, 10..40);
        let (delay, used) = (mean_delay_ms(&rows, rate), use_of(&rows, rate));
        // The ramp of marks is from 0.8 to 1.2 ms.
        assert!(delay < 1.0 && used > 0.95, "{mbps} Mb/s, {rtt_ms} ms: {delay} ms, {used}");
        let most = |row: &narrows_sim::observe::PortRow| row.max_backlog as f64 * 8.0 / rate.as_f64() * 1e3;
        let mut delays: Vec<_> = rows.iter().map(most).collect();
        delays.sort_by(f64::total_cmp);
        let p99 = delays[delays.len() * 99 / 100];
        assert!(p99 < 2.0, "{mbps} Mb/s, {rtt_ms} ms: {p99} ms");
    }
}

#[test]
fn without_marks_prague_and_reno_share_a_link() {
    // RFC 9331 §4.3: a loss is answered like Reno's.
    for rtt_ms in [30, 60] {
        let rate = BitRate::from_mbps(40);
        let product = (rate * Span::from_ms(rtt_ms)).get();
        let network = bottleneck(2, rate, Span::from_ms(rtt_ms), shallow(product));
        let traffic = measured(pairs(vec![prague(), group(wan(), reno())], &[0, 1]), 20..120);
        let rates = rates(&run(&network, &traffic), &traffic);
        let ratio = rates[0] / rates[1];
        assert!((0.5..=2.0).contains(&ratio), "{rtt_ms} ms: {ratio}");
    }
}

#[test]
fn twenty_small_rates_neither_lose_nor_wait_if_packets_are_small() {
    // 0.5 Mb/s each over 100 us: one packet of 576 B in 9 ms.
    let rate = BitRate::from_mbps(10);
    let network = bottleneck(20, rate, Span::from_us(100), dualpi2());
    let params = Params { mtu: Bytes::new(576), ack_every: 1, ..wan() };
    let small = group(params, Config::Prague(cc::prague::Params::default()));
    let traffic = measured(pairs(vec![small], &[0; 20]), 10..40);
    let rows = rows(&network, &traffic, 10..40);
    let drops: u64 = rows.iter().map(|row| row.drops).sum();
    let mut delays: Vec<_> =
        rows.iter().map(|row| row.max_backlog as f64 * 8.0 / rate.as_f64() * 1e3).collect();
    delays.sort_by(f64::total_cmp);
    let p99 = delays[delays.len() * 99 / 100];
    assert!(drops == 0 && p99 < 5.0, "{drops} drops, {p99} ms");
}

#[test]
fn three_bits_of_the_count_are_enough_as_long_as_all_acknowledgments_arrive() {
    let rate = BitRate::from_mbps(40);
    let marked = |accurate_ecn| {
        let network = bottleneck(1, rate, Span::from_ms(20), dualpi2());
        let params = Params { accurate_ecn, ..wan() };
        let traffic =
            measured(pairs(vec![group(params, Config::Prague(cc::prague::Params::default()))], &[0]), 1..10);
        let outcome = run(&network, &traffic);
        let port = &outcome.ports[link_of(&network).index()];
        (outcome.flows[0].stats.marked, port.marks)
    };
    let (counted, marks) = marked(Some(AccurateEcn::Count));
    // What was marked last is on its way.
    let full = counted.get() / 1448;
    assert!(marks > 500 && marks - full < 20, "{full} of {marks}");
    let (by_bits, marks) = marked(Some(AccurateEcn::Ace));
    let full = by_bits.get() / 1448;
    assert!(marks > 500 && marks.abs_diff(full) < 20, "{full} of {marks}");
}

#[test]
fn any_number_of_threads_gives_the_same_bytes_with_counts_of_marks() {
    let network = bottleneck(2, BitRate::from_mbps(40), Span::from_ms(20), dualpi2());
    let traffic = measured(pairs(vec![prague(), group(wan(), cubic_ecn())], &[0, 1]), 1..4);
    let traced = |threads| {
        crate::support::trace(&Run::new(&network, &traffic).until(Span::from_secs(4)).threads(threads).run())
    };
    assert_eq!(traced(1), traced(2));
}
