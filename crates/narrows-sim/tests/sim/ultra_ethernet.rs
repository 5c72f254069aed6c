//! Trimming, packets in any order, paths by entropy, and the controls of Ultra Ethernet.

use narrows_proto::cc::{Config, fixed, nscc, rccc};
use narrows_proto::rdma::{self, Paths, Recovery, paths};
use narrows_proto::stream::Stats;
use narrows_proto::units::{BitRate, Bytes, Span, Time};
use narrows_sim::mechanism::trimming::Trimming;
use narrows_sim::observe::{Observer, PacketKind, PacketRef};
use narrows_sim::switch::{Buffer, MarkAt, Marking, PortKind, Red, RedAction, Sharing, SwitchConfig};
use narrows_sim::topology::{LeafSpine, Topology};
use narrows_sim::traffic::{FlowSpec, Group, Traffic, Transport};
use narrows_sim::{DropCause, Execution, Failure, FlowRecord, LinkId, Network, Outage, Outcome};
use proptest::prelude::*;

use crate::support::{Run, at, flow, link, network, rdma, trace, traffic};

const RATE: BitRate = BitRate::from_gbps(100);
/// Of the reference network of NSCC, 100 Gb/s over 12 us.
const BDP: u64 = 150_000;
const MTU: u64 = 4_096;
/// With 44 B of headers and 38 B of framing.
const PACKET: u64 = MTU + 82;

/// Two tiers, as many hosts in a rack as spines, 1.4 us a link: 12 us for a full packet there and its answer back.
fn topology(racks: u32, spines: u32) -> Topology {
    let mut topology = Topology::default();
    let (host_rate, uplink_rate, delay) = (RATE, RATE, Span::from_ns(1_400));
    let hosts_per_rack = spines;
    LeafSpine { racks, hosts_per_rack, spines, links_per_spine: 1, host_rate, uplink_rate, delay }
        .build(&mut topology, "");
    topology
}

/// Queues of a product, trimmed beyond it, and marks from a fifth of it on.
fn trimming() -> SwitchConfig {
    let buffer = Buffer { size: Bytes::new(16_000_000), sharing: Sharing::PerPort };
    let marking = Marking::Red(Red {
        min: Bytes::new(BDP / 5),
        max: Bytes::new(BDP * 4 / 5),
        max_p: 1.0,
        weight: 1.0,
        gentle: false,
        spread: false,
        action: RedAction::Mark,
        mark_at: MarkAt::Dequeue,
        at: vec![],
    });
    let trimming = Some(Trimming { above: Some(Bytes::new(BDP)), ..Trimming::default() });
    SwitchConfig { ports: PortKind::Scheduled, marking, trimming, ..SwitchConfig::new(buffer) }
}

fn oblivious() -> Paths {
    Paths::Oblivious(paths::Oblivious::default())
}

fn bitmap() -> Paths {
    Paths::Bitmap(paths::Bitmap::default())
}

fn reps() -> Paths {
    Paths::Reps(paths::Reps::default())
}

const RTO: Span = Span::from_us(100);

fn over(paths: Paths, cc: Config) -> Group {
    let params = rdma::Params {
        mtu: Bytes::new(MTU),
        recovery: Recovery::AnyOrder,
        rto: RTO,
        paths: Some(paths),
        ack_priority: Some(6),
        ..rdma::Params::default()
    };
    rdma(params, cc)
}

fn nscc() -> Config {
    Config::Nscc(nscc::Params::default())
}

fn rccc() -> Config {
    Config::Rccc(rccc::Params::default())
}

fn both() -> Config {
    Config::Nscc(nscc::Params { credits: Some(rdma::Credits::default()), ..Default::default() })
}

/// A window of one product and a half that reacts to nothing.
fn blind() -> Config {
    Config::Fixed(fixed::Params { window: Some(Bytes::new(BDP * 3 / 2)), ecn: true, ..Default::default() })
}

/// Flows from the hosts of the first racks to one host of the last.
fn incast(senders: u32, to: u32, size: u64) -> Vec<FlowSpec> {
    (0..senders).map(|host| flow(host, to, size)).collect()
}

/// Each host to the one so many further on.
fn shifted(hosts: u32, by: u32, size: u64) -> Vec<FlowSpec> {
    (0..hosts).map(|host| flow(host, (host + by) % hosts, size)).collect()
}

fn sum<O>(outcome: &Outcome<O>, value: fn(&Stats) -> u64) -> u64 {
    outcome.flows.iter().map(|flow| value(&flow.stats)).sum()
}

fn trims<O>(outcome: &Outcome<O>) -> u64 {
    outcome.ports.iter().map(|port| port.trimming.packets).sum()
}

fn drops<O>(outcome: &Outcome<O>) -> u64 {
    outcome.ports.iter().map(|port| port.dropped()).sum()
}

fn ends<O>(outcome: &Outcome<O>) -> Vec<Span> {
    let end = |flow: &FlowRecord| flow.end.expect("every flow ends") - Time::ZERO;
    outcome.flows.iter().map(end).collect()
}

/// Time that a link takes for so much payload, in full packets.
fn time_of(payload: u64) -> Span {
    RATE.time_to_send(Bytes::new(payload.div_ceil(MTU) * PACKET))
}

#[test]
fn every_trimmed_packet_is_repeated_and_nothing_is_dropped_while_headers_find_room() {
    let by_coin = || {
        let trimming = trimming().trimming.map(|trimming| Trimming { coin: true, ..trimming });
        SwitchConfig { trimming, ..self::trimming() }
    };
    let networks = [network(topology(2, 8), &trimming()), network(topology(2, 8), &by_coin())];
    for (network, cc) in
        networks.iter().flat_map(|network| [blind(), nscc(), rccc(), both()].map(|cc| (network, cc)))
    {
        let name = cc.to_string();
        let outcome = Run::new(network, &traffic(over(oblivious(), cc), incast(8, 8, 2_000_000))).run();
        let (trims, repeats) = (trims(&outcome), sum(&outcome, |stats| stats.retransmissions));
        assert_eq!((trims, drops(&outcome)), (repeats, 0), "{name}");
        assert!(trims > 0 && sum(&outcome, |stats| stats.timeouts) == 0, "{name}");
        assert!(outcome.flows.iter().all(|flow| flow.delivered == Bytes::new(2_000_000)));
    }
}

#[test]
fn headers_without_room_are_dropped_and_the_timeout_repeats_their_packets() {
    // Half of a packet stays, and there is room for two such halves: of eight packets that arrive at once some find none.
    let buffer = Buffer { size: Bytes::new(5_000), sharing: Sharing::PerPort };
    let trimming = Some(Trimming { size: Bytes::new(2_000), ..Trimming::default() });
    let switch = SwitchConfig { ports: PortKind::Scheduled, trimming, ..SwitchConfig::new(buffer) };
    let network = network(topology(2, 8), &switch);
    let outcome = Run::new(&network, &traffic(over(oblivious(), blind()), incast(8, 8, 200_000))).run();
    assert!(drops(&outcome) > 0 && sum(&outcome, |stats| stats.timeouts) > 0);
    assert!(outcome.flows.iter().all(|flow| flow.delivered == Bytes::new(200_000)));
}

/// Bytes that left over the uplinks of the first rack.
fn uplinks<O>(network: &Network, outcome: &Outcome<O>, spines: u32) -> Vec<u64> {
    let of = |spine: u32| link(network, "rack0/tor", &format!("spine{spine}"));
    (0..spines).map(|spine| outcome.ports[of(spine).index()].bytes).collect()
}

#[test]
fn oblivious_spraying_loads_equal_paths_within_two_percent() {
    // 2^17 packets of one flow over four paths, and of four flows over eight. 64 values fall on n ports as a hash has it: 1024 values
    // do so evenly enough.
    let values = paths::Oblivious { values: 65_536 };
    for (spines, flows) in [(4_u32, 1), (8, 4)] {
        let network = network(topology(2, spines), &trimming());
        let size = (1 << 17) / flows * MTU;
        let flows = (0..flows as u32).map(|host| flow(host, spines + host, size)).collect();
        let group = over(Paths::Oblivious(values), blind());
        let outcome = Run::new(&network, &traffic(group, flows)).run();
        let sent = uplinks(&network, &outcome, spines);
        let mean = sent.iter().sum::<u64>() as f64 / f64::from(spines);
        assert!(sent.iter().all(|sent| (*sent as f64 / mean - 1.0).abs() < 0.02), "{sent:?}");
    }
}

#[test]
fn flows_fill_a_fabric_that_does_not_block_and_feedback_is_no_worse_than_none() {
    // 32 hosts each send 4 MB to another rack. With paths by flow some uplinks have three flows and others none.
    let network = network(topology(4, 8), &trimming());
    let (size, alone) = (4_000_000, time_of(4_000_000));
    let last = |paths: Option<Paths>| {
        let mut group = over(oblivious(), nscc());
        if let Transport::Rdma { params, .. } = &mut group.transport {
            params.paths = paths;
        }
        let outcome = Run::new(&network, &traffic(group, shifted(32, 8, size))).run();
        let busiest =
            RATE.time_to_send(Bytes::new(uplinks(&network, &outcome, 8).into_iter().max().expect("uplinks")));
        println!("{:?} {busiest} {} {}", paths, ends(&outcome).into_iter().max().expect("flows"), alone);
        ends(&outcome).into_iter().max().expect("flows")
    };
    let [by_flow, oblivious, bitmap, reps] =
        [None, Some(oblivious()), Some(bitmap()), Some(reps())].map(last);
    assert!(by_flow > alone * 3 / 2, "{by_flow}");
    // 512 values of a rack fall on eight uplinks, 64 ± 7.5 each: the busiest has a sixth more than the mean, and 24 us are two round trips.
    assert!(oblivious < alone * 6 / 5 + Span::from_us(24), "{oblivious} of {alone}");
    assert!(bitmap <= oblivious && reps <= oblivious, "{bitmap}, {reps}, {oblivious}");
}

/// When data packets were lost.
#[derive(Default)]
struct Discards(Vec<Time>);

impl Observer for Discards {
    const ACTIVE: bool = true;

    fn discarded(&mut self, at: Time, _: LinkId, packet: PacketRef<'_>, _: DropCause) {
        if packet.kind() == PacketKind::Data {
            self.0.push(at);
        }
    }
}

#[test]
fn recycled_entropy_leaves_a_failed_path_within_a_retransmission_timeout() {
    let mut network = network(topology(2, 8), &trimming());
    let failing = link(&network, "rack0/tor", "spine3");
    let failure = at(Span::from_us(200));
    // Switches go on to hash packets onto it.
    let outage = Outage { from: failure, until: Time::NEVER };
    network.failures = vec![Failure { link: failing, outage, reroute_after: Span::MAX }];
    // Four flows on eight paths: seven are more than enough. They end after 650 us.
    let flows = (0..4).map(|host| flow(host, 8 + host, 8_000_000));
    let lost = |paths| {
        let traffic = traffic(over(paths, nscc()), flows.clone().collect());
        let outcome = Run::new(&network, &traffic).observed(Discards::default);
        let lost: Vec<_> = outcome.observers.iter().flat_map(|observer| observer.0.iter().copied()).collect();
        let late = lost.iter().filter(|at| **at > failure + RTO).count();
        (lost.len() as u64, late, ends(&outcome).into_iter().max().expect("flows"))
    };
    let (all, late, end) = lost(reps());
    // An eighth of what is sent in a round trip, and again as much for values that were on their way back.
    assert!(all > 0 && all <= 4 * 2 * BDP / PACKET / 8, "{all}");
    // Where no good value is at hand a random one may be a bad one.
    assert!(late <= 4, "{late}");
    let (all_oblivious, late_oblivious, end_oblivious) = lost(oblivious());
    assert!(all_oblivious > 10 * all && late_oblivious > 100 && end_oblivious > end * 2);
}

#[test]
fn an_incast_of_any_degree_fills_the_link_and_shares_it() {
    let network = network(topology(9, 8), &trimming());
    for cc in [nscc(), rccc(), both()] {
        for senders in [2, 8, 32, 64] {
            // As much for all together.
            let size = 32_000_000 / u64::from(senders);
            let group = over(reps(), cc.clone());
            let outcome = Run::new(&network, &traffic(group, incast(senders, 64, size))).run();
            let ends = ends(&outcome);
            let (first, last) = (ends.iter().min().expect("flows"), ends.iter().max().expect("flows"));
            let all = time_of(size) * u64::from(senders);
            // One round trip to begin with, and one in twenty for headers of what was trimmed.
            assert!(*last < all * 21 / 20 + Span::from_us(24), "{cc}, {senders}: {last} of {all}");
            // Credit is granted in turn. A window of NSCC is of two packets here, and shares are as coarse.
            if cc.name() == "rccc" {
                assert!(*first > all * 19 / 20, "{cc}, {senders}: {first} of {all}");
            }
        }
    }
}

#[test]
fn nscc_holds_the_queue_at_its_target() {
    // After the first milliseconds at most T·C and a product wait: 112.5 kB and 150 kB. The product is where packets are trimmed.
    let network = network(topology(2, 8), &trimming());
    let towards = link(&network, "rack1/tor", "rack1/host0");
    let traffic = traffic(over(reps(), nscc()), incast(8, 8, 10_000_000));
    let rows = Run::new(&network, &traffic).until(Span::from_ms(6)).ports(Span::from_us(20));
    let late: Vec<_> =
        rows.iter().filter(|row| row.link == towards && row.start > at(Span::from_ms(2))).collect();
    assert!(late.len() > 150, "{}", late.len());
    let mean = late.iter().map(|row| row.mean_backlog).sum::<f64>() / late.len() as f64;
    assert!((BDP as f64 / 5.0..BDP as f64).contains(&mean), "{mean}");
    let busy = late.iter().map(|row| row.bytes).sum::<u64>() as f64 / late.len() as f64;
    let full = RATE.as_f64() / 8.0 * 20e-6;
    assert!(busy > 0.98 * full, "{busy} of {full}");
}

proptest! {
    #[test]
    fn runs_are_the_same_on_any_number_of_threads_and_conserve_packets(
        scheme in prop::sample::select(vec![oblivious(), bitmap(), reps()]),
        cc in prop::sample::select(vec![nscc(), rccc(), both()]),
        memory in 20_000..2_000_000_u64,
        above in prop::option::of(10_000..200_000_u64),
        by in 1..23_u32,
        size in 1..400_000_u64,
        seed in 0..100_u64,
    ) {
        let buffer = Buffer { size: Bytes::new(memory), sharing: Sharing::Complete };
        let trimming = Some(Trimming { above: above.map(Bytes::new), ..Trimming::default() });
        let network = network(topology(3, 8), &SwitchConfig { buffer, trimming, ..self::trimming() });
        let mut flows = shifted(24, by, size);
        flows.extend(incast(23, 23, size));
        let traffic: Traffic = traffic(over(scheme, cc), flows);
        let run = |threads| {
            let execution = Execution { window_divisor: 1, threads };
            Run { execution, ..Run::new(&network, &traffic).seed(seed) }.run()
        };
        let one = run(1);
        prop_assert!(one.flows.iter().all(|flow| flow.end.is_some() && flow.delivered == flow.size));
        prop_assert!(trace(&one) == trace(&run(3)));
    }
}
