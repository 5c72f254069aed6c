//! Links that change.

use std::sync::Arc;

use narrows_proto::stream::Params;
use narrows_proto::units::{BitRate, Bytes, Span, Time};
use narrows_sim::path::{Opportunities, Path, Rate, Steps};
use narrows_sim::topology::{Dumbbell, Topology};
use narrows_sim::traffic::FlowSpec;
use narrows_sim::{DropCause, Failure, FlowId, HostId, IdealPath, LinkId, Network, Outage, Paths, ideal_fct};
use proptest::prelude::*;

use crate::support::{
    Run, at, cubic, deep, flow, group, marking, network, params, shallow, traffic, unlimited, window,
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

fn opportunities(lines: &[u64]) -> Option<Rate> {
    let times: Vec<_> = lines.iter().map(|line| ms(*line)).collect();
    let period = *times.last().expect("a line");
    Some(Rate::Opportunities(Arc::new(Opportunities::new(times, period, Bytes::new(1500)))))
}

/// Times that a flow took alone, and the ideal ones: without and with a handshake.
fn alone(network: &Network, start: Time, size: u64) -> [(Span, Span); 2] {
    let paths = Paths::new(&network.topology, network.routing, 1);
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
        Path { delay: delay(&[(0, 5), (20, 9), (60, 12)], Some(90)), ..Path::default() },
        Path { rate: opportunities(&[1, 1, 2, 5, 9, 9, 9, 14]), ..Path::default() },
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
fn when_the_delay_falls_packets_overtake_once() {
    // At 20 ms the delay falls by 8 ms: some 6 packets of 1.2 ms are overtaken.
    let network = with(Path { delay: delay(&[(0, 10), (20, 2)], None), ..Path::default() });
    let outcome =
        Run::new(&network, &traffic(group(params(), window(1 << 20)), vec![flow(0, 2, 100_000)])).run();
    assert!(outcome.flows[0].end.is_some());
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
    fn threads_change_nothing_and_packets_are_conserved(forth in any_path(), host in any_path(), drops: bool) {
        let topology = topology();
        let (middle, host_link) = (bottleneck(&topology), LinkId(0));
        let switch = if drops { shallow(15_000) } else { marking(30_000) };
        let mut network = network(topology, &switch);
        network.paths = [(middle, forth), (host_link, host)].into();
        let flows = vec![flow(0, 2, 150_000), flow(1, 3, 150_000), flow(2, 1, 150_000)];
        let run = |threads| Run::new(&network, &traffic(group(params(), cubic()), flows.clone())).threads(threads).run();
        let (one, three) = (run(1), run(3));
        prop_assert_eq!(&one.flows, &three.flows);
        prop_assert_eq!(&one.ports, &three.ports);
        // Every packet that was sent arrived, was lost, or is still on a link: checked at the end of each run.
        prop_assert!(one.flows.iter().all(|flow| flow.end.is_some()));
    }
}
