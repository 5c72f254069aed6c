//! Links that change.

use std::sync::Arc;

use narrows_proto::stream::{Params, ReceiveOffload};
use narrows_proto::units::{BitRate, Bytes, Span, Time};
use narrows_sim::path::{
    Added, Excess, Gap, GilbertElliott, Jitter, Keep, Late, Opportunities, Path, Peak, Policer, Rate, Shaper,
    Slots, Steps,
};
use narrows_sim::topology::{Dumbbell, Topology};
use narrows_sim::traffic::FlowSpec;
use narrows_sim::{
    DropCause, Failure, FlowId, HostId, IdealPath, LinkId, Network, Outage, Paths, PortCounters, ideal_fct,
};
use proptest::prelude::*;

use crate::support::{
    Run, SECOND, at, cubic, dctcp, deep, flow, group, marking, network, params, reno, saturating, shallow,
    traffic, unlimited, window,
};

fn ms(ms: u64) -> Span {
    Span::from_ms(ms)
}

/// Two hosts on each side of a bottleneck of 10 Mb/s and 5 ms.
fn topology() -> Topology {
    let mut topology = Topology::default();
    let (host_rate, bottleneck_rate) = (BitRate::from_mbps(100), BitRate::from_mbps(10));
    let (host_delay, bottleneck_delay) = (Span::from_us(10), ms(5));
    Dumbbell { hosts: 2, host_rate, bottleneck_rate, host_delay, bottleneck_delay }.build(&mut topology, "");
    topology
}

fn bottleneck(topology: &Topology) -> LinkId {
    let between = |link: &LinkId| {
        let ends = topology.link(*link);
        [ends.from, ends.to].iter().all(|node| topology.as_host(*node).is_none())
    };
    (0..topology.links().len()).map(LinkId::from).find(between).expect("a bottleneck")
}

/// With this path from the first switch to the second.
fn with(path: Path) -> Network {
    let topology = topology();
    let link = bottleneck(&topology);
    Network { paths: [(link, path)].into(), ..network(topology, &deep()) }
}

fn rate(steps: &[(u64, u64)], period: Option<u64>) -> Option<Rate> {
    let steps = steps.iter().map(|(at, mbps)| (ms(*at), BitRate::from_mbps(*mbps)));
    Some(Rate::Steps(Arc::new(Steps::new(steps, period.map(ms)))))
}

fn delay(steps: &[(u64, u64)], period: Option<u64>) -> Option<Arc<Steps<Span>>> {
    Some(Arc::new(Steps::new(steps.iter().map(|(at, delay)| (ms(*at), ms(*delay))), period.map(ms))))
}

fn shaper(mbps: u64, burst: u64) -> Option<Shaper> {
    Some(Shaper { rate: BitRate::from_mbps(mbps), burst: Bytes::new(burst), peak: None })
}

/// With a second bucket of this rate that holds one packet.
fn with_peak(shaper: Option<Shaper>, mbps: u64) -> Option<Shaper> {
    let peak = Some(Peak { rate: BitRate::from_mbps(mbps), burst: Bytes::new(1_538) });
    Some(Shaper { peak, ..shaper? })
}

fn opportunities(lines: &[u64]) -> Option<Rate> {
    let times: Vec<_> = lines.iter().map(|line| ms(*line)).collect();
    let period = *times.last().expect("a line");
    Some(Rate::Opportunities(Arc::new(Opportunities::new(times, period, Bytes::new(1500)))))
}

/// Times that a flow took alone, and the ideal ones: without and with a handshake.
fn alone(network: &Network, start: Time, size: u64) -> [(Span, Span); 2] {
    let paths = Paths::of(network, 1);
    let path =
        |from, to| IdealPath::new(network, &paths.path(FlowId(0), HostId(from), HostId(to)).expect("a path"));
    [false, true].map(|handshake| {
        // A sender that waits for long retransmits nothing in vain.
        let params = Params { handshake, min_rto: Span::from_secs(100), ..params() };
        let group = group(params, unlimited());
        let flows = vec![FlowSpec { start, ..flow(0, 2, size) }];
        let outcome = Run::new(network, &traffic(group.clone(), flows)).run();
        let fct = outcome.flows[0].end.expect("complete") - start;
        let ideal = ideal_fct(&group.transport, &path(0, 2), &path(2, 0), start, Bytes::new(size));
        (fct, ideal)
    })
}

fn assert_ideal(network: &Network, start: Time, size: u64) {
    for (fct, ideal) in alone(network, start, size) {
        assert_eq!(fct, ideal, "{size} B at {start}");
    }
}

#[test]
fn alone_a_flow_takes_its_ideal_time_over_any_link_that_changes() {
    let paths = [
        Path { rate: rate(&[(0, 10), (30, 2), (50, 0), (70, 40)], None), ..Path::default() },
        Path { rate: rate(&[(0, 1), (7, 100)], Some(11)), ..Path::default() },
        Path { delay: delay(&[(0, 5), (20, 9), (60, 12)], None), ..Path::default() },
        Path { rate: opportunities(&[1, 1, 2, 5, 9, 9, 9, 14]), ..Path::default() },
        Path { shaper: shaper(4, 15_380), ..Path::default() },
        Path { shaper: with_peak(shaper(4, 15_380), 6), ..Path::default() },
        Path { shaper: shaper(7, 3_000), rate: rate(&[(0, 10), (20, 3)], Some(31)), ..Path::default() },
    ];
    for path in paths {
        let network = with(path);
        for start in [0, 3_333, 48_000] {
            for size in [1, 1448, 1449, 14_480, 200_000] {
                assert_ideal(&network, at(Span::from_us(start)), size);
            }
        }
    }
}

#[test]
fn a_flow_begins_later_by_what_the_answer_to_its_syn_waits() {
    let network = network(topology(), &deep());
    for receive_offload in [None, Some(ReceiveOffload::default())] {
        let [at_once, later] = [Span::ZERO, ms(3)].map(|syn_ack_delay| {
            let params = Params { handshake: true, syn_ack_delay, receive_offload, ..params() };
            let group = group(params, window(1 << 20));
            let outcome = Run::new(&network, &traffic(group, vec![flow(0, 2, 100_000)])).run();
            outcome.flows[0].end.expect("complete") - Time::ZERO
        });
        assert_eq!(later, at_once + ms(3));
    }
}

#[test]
fn when_the_delay_falls_packets_overtake_once() {
    // At 20 ms the delay falls by 8 ms: some 6 packets of 1.2 ms are overtaken.
    let network = with(Path { delay: delay(&[(0, 10), (20, 2)], None), ..Path::default() });
    let outcome =
        Run::new(&network, &traffic(group(params(), window(1 << 20)), vec![flow(0, 2, 100_000)])).run();
    assert!(outcome.flows[0].end.is_some());
    assert!((4..=8).contains(&outcome.flows[0].stats.reordered), "{}", outcome.flows[0].stats.reordered);
    assert_eq!(outcome.ports.iter().map(|port| port.dropped()).sum::<u64>(), 0);
}

#[test]
fn what_a_link_that_is_never_idle_carries_is_the_integral_of_its_rate() {
    let paths = [rate(&[(0, 10), (100, 20), (300, 4)], Some(500)), rate(&[(0, 3), (40, 0), (60, 9)], None)];
    for rate in paths {
        let path = Path { rate: rate.clone(), ..Path::default() };
        let network = with(path);
        let flows = vec![flow(0, 2, 20_000_000)];
        let until = ms(2_222);
        let outcome = Run::new(&network, &traffic(group(params(), unlimited()), flows)).until(until).run();
        let carried = outcome.ports[bottleneck(&network.topology).index()].bytes as f64 * 8.0;
        let integral = rate.expect("a rate").bits_between(Time::ZERO, at(until));
        // From the arrival of the first packet (0.13 ms) on, and the last one may not have been sent completely.
        let most = 8.0 * 1538.0 + 20e6 * 0.14e-3;
        assert!((carried - integral).abs() <= most, "{carried} of {integral} bits");
    }
}

#[test]
fn an_outage_and_bit_errors_lose_packets_of_a_link_that_changes() {
    let mut network = with(Path { rate: rate(&[(0, 10), (300, 20)], None), ..Path::default() });
    let link = bottleneck(&network.topology);
    let outage = Outage { from: at(ms(100)), until: at(ms(150)) };
    network.failures.push(Failure { link, outage, reroute_after: Span::MAX });
    let flows = || traffic(group(params(), cubic()), vec![flow(0, 2, 2_000_000)]);
    let outcome = Run::new(&network, &flows()).run();
    assert!(outcome.drops(DropCause::LinkDown) > 0);
    assert!(outcome.flows[0].end.is_some());
    network.failures.clear();
    let steps = [(ms(0), 0.0), (ms(200), 0.05), (ms(400), 0.0)];
    let path = network.paths.get_mut(&link).expect("it has one");
    path.loss = Some(Arc::new(Steps::new(steps, None)));
    let outcome = Run::new(&network, &flows()).run();
    assert!(outcome.drops(DropCause::LinkError) > 0);
    assert!(outcome.flows[0].end.is_some());
}

fn constant(mbps: u64) -> Option<Rate> {
    rate(&[(0, mbps)], None)
}

fn bursts(p: f64, r: f64) -> Option<GilbertElliott> {
    Some(GilbertElliott { p, r: Some(r), bad_loss: 1.0, good_loss: 0.0 })
}

fn uniform(most: Span, reorder: bool) -> Option<Jitter> {
    Some(Jitter { added: Some(Added::Uniform { most }), late: None, reorder })
}

fn slots(gap: Gap, keep: Keep) -> Option<Slots> {
    Some(Slots { gap, max_packets: None, max_bytes: None, keep })
}

/// Counters of the bottleneck after datagrams of 20 Mb/s for a second.
fn of_datagrams(path: Path) -> PortCounters {
    let network = with(Path { rate: constant(100), ..path });
    let traffic = saturating(&[(0, 2, BitRate::from_mbps(20))], SECOND);
    let outcome = Run::new(&network, &traffic).until(ms(1_100)).run();
    outcome.ports[bottleneck(&network.topology).index()]
}

#[test]
fn a_policer_passes_its_bucket_and_its_rate_to_the_packet() {
    let (rate, burst) = (BitRate::from_mbps(10), Bytes::new(100_000));
    let policer = Some(Policer { rate, burst, excess: Excess::Drop });
    let passed = of_datagrams(Path { policer, ..Path::default() });
    // 100 kB and 10 Mb/s for a second, but for the packet that lacks tokens at the end and one that has not come by then.
    let tokens = 100_000 + 1_250_000;
    assert!((tokens - 3 * 1_538..=tokens).contains(&passed.bytes), "{} B", passed.bytes);
    let dropped = passed.drops[DropCause::Policer as usize];
    // 20 Mb/s are more than 20 Mb/s with headers: half of what has come after 8·B/(S − R).
    let share = dropped as f64 / (dropped + passed.packets) as f64;
    assert!((0.45..0.5).contains(&share), "{share}");
}

#[test]
fn a_policer_that_marks_drops_only_what_cannot_be_marked() {
    let (rate, burst) = (BitRate::from_mbps(5), Bytes::new(30_000));
    let policer = Some(Policer { rate, burst, excess: Excess::Mark });
    let network = with(Path { policer, ..Path::default() });
    let link = bottleneck(&network.topology).index();
    let run =
        |cc| Run::new(&network, &traffic(group(params(), cc), vec![flow(0, 2, 1_000_000)])).run().ports[link];
    let (ecn, plain) = (run(dctcp()), run(reno()));
    assert!(ecn.marks > 0 && plain.marks == 0);
    assert!(plain.drops[DropCause::Policer as usize] > 0);
    // A SYN, and what is retransmitted, cannot be marked.
    assert!(ecn.drops[DropCause::Policer as usize] < plain.drops[DropCause::Policer as usize]);
}

#[test]
fn losses_come_in_bursts_and_are_counted() {
    let passed = of_datagrams(Path { bursts: bursts(0.05, 0.25), ..Path::default() });
    let share = passed.drops[DropCause::BurstLoss as usize] as f64 / passed.packets as f64;
    // p/(p + r) = 1/6 of 1700 packets, in some 70 bursts whose length deviates as much as its mean: three deviations are 35 %.
    assert!((share * 6.0 - 1.0).abs() < 0.35, "{share}");
}

#[test]
fn what_is_drawn_for_one_thing_does_not_move_what_is_drawn_for_another() {
    let lost = |path| of_datagrams(path).drops;
    let alone = lost(Path { bursts: bursts(0.02, 0.3), ..Path::default() });
    let jitter = uniform(ms(7), true);
    assert_eq!(lost(Path { bursts: bursts(0.02, 0.3), jitter, ..Path::default() }), alone);
    let slots = slots(Gap::Exponential { mean: ms(3) }, Keep::All);
    assert_eq!(lost(Path { bursts: bursts(0.02, 0.3), slots, ..Path::default() }), alone);
}

/// Payload that a flow of 2 MB retransmitted over a link with this path.
fn retransmitted(path: Path) -> Bytes {
    let network = with(path);
    let outcome =
        Run::new(&network, &traffic(group(params(), window(60_000)), vec![flow(0, 2, 2_000_000)])).run();
    assert!(outcome.flows[0].end.is_some());
    assert_eq!(outcome.ports.iter().map(PortCounters::dropped).sum::<u64>(), 0);
    outcome.flows[0].stats.retransmitted
}

#[test]
fn jitter_reorders_only_where_it_may() {
    let jitters = [
        Added::Uniform { most: ms(8) },
        Added::Normal { mean: ms(4), deviation: ms(3) },
        Added::Pareto { least: ms(1), shape: 3.0 },
    ];
    for added in jitters {
        let path = |reorder| {
            let jitter = Some(Jitter { added: Some(added), late: None, reorder });
            Path { jitter, ..Path::default() }
        };
        assert_eq!(retransmitted(path(false)), Bytes::ZERO, "{added:?}");
        assert!(retransmitted(path(true)) > Bytes::ZERO, "{added:?}");
    }
    let late = Some(Late { probability: 0.01, by: ms(30) });
    let jitter = Some(Jitter { added: None, late, reorder: true });
    assert!(retransmitted(Path { jitter, ..Path::default() }) > Bytes::ZERO);
}

#[test]
fn acknowledgments_of_a_slot_are_thinned_and_flows_complete_as_soon() {
    let run = |keep| {
        let mut network = with(Path::default());
        let reverse = Topology::reverse(bottleneck(&network.topology));
        let path = Path { slots: slots(Gap::Fixed(ms(20)), keep), ..Path::default() };
        network.paths.insert(reverse, path);
        let flows = vec![flow(0, 2, 1_000_000), flow(1, 3, 1_000_000)];
        let outcome = Run::new(&network, &traffic(group(params(), window(60_000)), flows)).run();
        let ends = outcome.flows.iter().map(|flow| flow.end.expect("complete")).max();
        (outcome.ports[reverse.index()], ends.expect("two flows"))
    };
    let ((all, end), (thinned, thinned_end)) = (run(Keep::All), run(Keep::LastAck));
    let lost = thinned.drops[DropCause::Thinned as usize];
    assert_eq!(all.drops[DropCause::Thinned as usize], 0);
    // Some 16 packets come in a slot, and their 8 acknowledgments become two: of each flow the last.
    assert!(lost * 2 > thinned.packets && lost < thinned.packets, "{lost} of {}", thinned.packets);
    let (end, thinned_end) = (end.as_secs_f64(), thinned_end.as_secs_f64());
    // An acknowledgment that covers several packets opens the window as far.
    assert!((thinned_end / end - 1.0).abs() < 0.02, "{thinned_end} s, {end} s");
}

/// A packet that waits for the lower delay arrives before one that did not.
#[test]
fn alone_no_flow_beats_its_ideal_time_where_the_delay_falls() {
    let forth = Path {
        rate: rate(&[(0, 8), (27, 10), (41, 22), (63, 9), (76, 5)], Some(77)),
        delay: delay(&[(0, 1), (26, 3), (41, 25)], Some(54)),
        ..Path::default()
    };
    let mut network = with(forth);
    let reverse = Topology::reverse(bottleneck(&network.topology));
    let back =
        Path { rate: rate(&[(0, 1), (13, 5)], None), delay: delay(&[(0, 1)], None), ..Path::default() };
    network.paths.insert(reverse, back);
    for (fct, ideal) in alone(&network, at(Span::from_us(17_457)), 41_088) {
        assert!(fct >= ideal, "{fct} below {ideal}");
    }
}

/// Any path.
fn any_path() -> impl Strategy<Value = Path> {
    let lasting = || prop::collection::vec((1..60_u64, 0..30_u64), 0..6);
    let with_begin = |steps: Vec<(u64, u64)>, first: u64| {
        let mut at = 0;
        let mut list = vec![(0, first)];
        for (lasts, value) in steps {
            at += lasts;
            list.push((at, value));
        }
        (list, at + 13)
    };
    let rates = (lasting(), 1..30_u64, any::<bool>()).prop_map(move |(steps, first, repeats)| {
        let (mut list, end) = with_begin(steps, first);
        list.push((end, 5));
        rate(&list, repeats.then_some(end + 1))
    });
    let traces = prop::collection::vec(0..40_u64, 1..40).prop_map(|mut lines| {
        lines.sort_unstable();
        lines.push(lines.last().expect("one") + 1);
        opportunities(&lines)
    });
    let delays = (lasting(), 1..30_u64, any::<bool>()).prop_map(move |(steps, first, repeats)| {
        let (list, end) = with_begin(steps, first);
        let list: Vec<_> = list.into_iter().map(|(at, delay)| (at, delay.max(1))).collect();
        delay(&list, repeats.then_some(end))
    });
    let no_rate = Just(None::<Rate>);
    let no_delay = Just(None::<Arc<Steps<Span>>>);
    (prop_oneof![rates, traces, no_rate], prop_oneof![delays, no_delay]).prop_map(|(rate, delay)| Path {
        rate,
        delay,
        ..Path::default()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn alone_no_flow_beats_its_ideal_time(forth in any_path(), back in any_path(), size in 1..300_000_u64, start in 0..90_000_u64) {
        let mut network = with(forth);
        let reverse = Topology::reverse(bottleneck(&network.topology));
        network.paths.insert(reverse, back);
        // What has been overtaken may be retransmitted.
        for (fct, ideal) in alone(&network, at(Span::from_us(start)), size) {
            prop_assert!(fct >= ideal, "{} below {}", fct, ideal);
        }
    }

    #[test]
    fn threads_change_nothing_and_packets_are_conserved(forth in any_path(), back in any_path(), host in any_path(), drops: bool, loses: bool) {
        let topology = topology();
        let (middle, host_link) = (bottleneck(&topology), LinkId(0));
        let switch = if drops { shallow(15_000) } else { marking(30_000) };
        let mut network = network(topology, &switch);
        let bursts = if loses { bursts(0.01, 0.4) } else { None };
        let policer = drops.then(|| Policer { rate: BitRate::from_mbps(6), burst: Bytes::new(40_000), excess: Excess::Drop });
        let forth = Path { bursts, policer, ..forth };
        network.paths = [(middle, forth), (Topology::reverse(middle), back), (host_link, host)].into();
        let flows = vec![flow(0, 2, 150_000), flow(1, 3, 150_000), flow(2, 1, 150_000)];
        let run = |threads| Run::new(&network, &traffic(group(params(), cubic()), flows.clone())).threads(threads).run();
        let (one, three) = (run(1), run(3));
        prop_assert_eq!(&one.flows, &three.flows);
        prop_assert_eq!(&one.ports, &three.ports);
        // Every packet that was sent arrived, was lost, or is still on a link: checked at the end of each run.
        prop_assert!(one.flows.iter().all(|flow| flow.end.is_some()));
    }
}

/// Of two threads, one has nothing to do before a timeout, but for what the other sends it.
#[test]
fn a_run_ends_in_the_same_window_on_any_number_of_threads() {
    let forth = Path {
        rate: opportunities(&[0, 1, 3, 5, 5, 5, 5, 5, 9, 13, 17, 19, 19, 28, 30, 34, 36, 37, 37, 39, 40]),
        delay: delay(&[(0, 25), (32, 20), (47, 26)], Some(60)),
        ..Path::default()
    };
    let back = Path {
        rate: rate(&[(0, 1), (13, 5)], None),
        delay: delay(&[(0, 15), (13, 9)], None),
        ..Path::default()
    };
    let host = Path {
        rate: rate(&[(0, 17), (35, 0), (55, 18), (102, 26), (130, 17), (143, 5)], None),
        delay: delay(&[(0, 10), (10, 13), (32, 1)], Some(45)),
        ..Path::default()
    };
    let topology = topology();
    let middle = bottleneck(&topology);
    let mut network = network(topology, &marking(30_000));
    network.paths = [(middle, forth), (Topology::reverse(middle), back), (LinkId(0), host)].into();
    let flows = [(0, 2), (1, 3), (2, 1)].map(|(from, to)| flow(from, to, 150_000));
    let traffic = traffic(group(params(), cubic()), flows.into());
    let run = |threads| Run::new(&network, &traffic).threads(threads).run();
    let one = run(1);
    for threads in 2..=6 {
        assert_eq!(run(threads).fingerprint(), one.fingerprint(), "{threads} threads");
    }
}
