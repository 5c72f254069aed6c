//! RDMA connections: nothing is lost under PAUSE, everything arrives without it, and DCQCN shares a link.

use std::sync::Arc;

use crate::support::{
    ENDLESS, Run, at, dcqcn, dcqcn_marking, dctcp, deep, flow, link, network, qcn, rdma, reaction, shallow,
    signaling, swift, traffic, unlimited,
};
use narrows_proto::cc::{Config, dcqcn as settings, fixed};
use narrows_proto::rdma::{Params, Recovery};
use narrows_proto::units::{BitRate, Bytes, Span, Time};
use narrows_sim::switch::{Buffer, CongestionPoint, Pause, PortKind, Qcn, Sharing, SwitchConfig};
use narrows_sim::topology::{Dumbbell, LeafSpine, Star, Topology, Wire};
use narrows_sim::traffic::{FlowSpec, Generator, GeneratorKind};
use narrows_sim::workload::Sizes;
use narrows_sim::{FlowId, Network, Outcome, PortCounters};

const GBPS: fn(u64) -> BitRate = BitRate::from_gbps;
const PACKET: u64 = 1106;

fn star(hosts: u32) -> Topology {
    let mut topology = Topology::default();
    Star { hosts, rate: GBPS(40), delay: Span::from_us(1) }.build(&mut topology, "");
    topology
}

fn params(recovery: Recovery) -> Params {
    Params { recovery, rto: Span::from_us(500), ..Params::default() }
}

/// PAUSE at 100 kB of each neighbor, with memory for all of them.
fn lossless() -> SwitchConfig {
    let pause = Pause { xoff: Bytes::new(100_000), xon: None, quanta: u16::MAX, frame: Bytes::new(84) };
    let switch = signaling(100_000_000, CongestionPoint::Off);
    SwitchConfig { pause: Some(pause), marking: dcqcn_marking(), ..switch }
}

fn dropped<O>(outcome: &Outcome<O>) -> u64 {
    outcome.ports.iter().map(PortCounters::dropped).sum()
}

fn sum<O>(outcome: &Outcome<O>, value: fn(&narrows_proto::stream::Stats) -> u64) -> u64 {
    outcome.flows.iter().map(|flow| value(&flow.stats)).sum()
}

fn last_end<O>(outcome: &Outcome<O>) -> Time {
    outcome.flows.iter().map(|flow| flow.end.expect("every flow ends")).max().expect("there are flows")
}

#[test]
fn under_pause_nothing_is_lost_and_nothing_is_sent_again() {
    let mut topology = Topology::default();
    let (host_rate, uplink_rate, delay) = (GBPS(40), GBPS(40), Span::from_us(1));
    LeafSpine { racks: 4, hosts_per_rack: 4, spines: 1, links_per_spine: 1, host_rate, uplink_rate, delay }
        .build(&mut topology, "");
    let network = network(topology, &lossless());
    let markable = Config::Fixed(fixed::Params { ecn: true, ..Default::default() });
    for control in [markable, dcqcn()] {
        let flows = (0..15).map(|host| flow(host, 15, 1_000_000)).collect();
        let name = control.name();
        let outcome = Run::new(&network, &traffic(rdma(Params::default(), control), flows)).run();
        assert_eq!(dropped(&outcome), 0);
        assert_eq!(sum(&outcome, |stats| stats.retransmissions + stats.timeouts), 0);
        assert!(outcome.ports.iter().any(|port| port.pauses > 0), "{name}");
        assert_eq!(sum(&outcome, |stats| stats.cnps) > 0, name == "dcqcn");
    }
}

#[test]
fn without_pause_both_recoveries_end_every_flow() {
    for recovery in [Recovery::GoBackN, Recovery::SelectiveRepeat] {
        for control in [unlimited(), dcqcn(), dctcp(), swift()] {
            let marking = if control.name() == "dctcp" {
                crate::support::marking(50_000).marking
            } else {
                dcqcn_marking()
            };
            let network = network(star(17), &SwitchConfig { marking, ..shallow(100_000) });
            let flows = (0..16).map(|host| flow(host, 16, 500_000)).collect();
            let outcome = Run::new(&network, &traffic(rdma(params(recovery), control.clone()), flows)).run();
            let name = control.name();
            // 8 MB at 40 Gb/s need 1.7 ms. Senders that do not yield send most of it many times.
            let bound = if name == "fixed" { Span::from_secs(1) } else { Span::from_ms(100) };
            assert!(last_end(&outcome) < at(bound), "{name}, {recovery:?}: {}", last_end(&outcome));
            assert!(outcome.flows.iter().all(|flow| flow.delivered == Bytes::new(500_000)));
            if name == "fixed" {
                assert!(dropped(&outcome) > 0 && sum(&outcome, |stats| stats.recoveries) > 0);
            }
        }
    }
}

/// A link of 40 Gb/s on which one packet in a thousand is lost in either direction, 10 us long like the two before and
/// behind it.
fn lossy() -> Network {
    let mut topology = Topology::default();
    let wire = Wire::new(GBPS(40), Span::from_us(10));
    let switches = ["left", "right"].map(|name| topology.add_switch(name, "switch", 0));
    let hosts = ["from", "to"].map(|name| topology.add_host(name));
    topology.connect(hosts[0], switches[0], wire);
    topology.connect(switches[0], switches[1], Wire { error_rate: 1e-3, ..wire });
    topology.connect(switches[1], hosts[1], wire);
    network(topology, &deep())
}

#[test]
fn selective_repeat_sends_again_what_was_lost_and_going_back_a_round_trip_each_time() {
    let network = lossy();
    let run = |recovery| {
        let flows = vec![flow(0, 1, 50_000_000)];
        let outcome = Run::new(&network, &traffic(rdma(params(recovery), unlimited()), flows)).run();
        let lost = |from, to| outcome.ports[link(&network, from, to).index()].dropped();
        let stats = outcome.flows[0].stats;
        (stats, lost("left", "right"), lost("right", "left"))
    };
    let (stats, data, answers) = run(Recovery::SelectiveRepeat);
    let again = stats.retransmissions;
    // A packet whose NAK is lost is taken for lost, and a timeout repeats all that is missing.
    assert!(
        data > 20 && again >= data && again <= 2 * (data + answers),
        "{again}: {data} and {answers} lost"
    );
    let (stats, data, _) = run(Recovery::GoBackN);
    // 60 us, and six times sending a packet or its answer: 61 us are 275 packets of 221 ns. A gap during a repair is repaired in
    // the same way without being counted; a packet that is lost and would have been dropped costs nothing.
    let (again, most) = (stats.retransmissions, data * 275);
    assert!(again > stats.recoveries * 250 && again <= most, "{stats:?}, {data} lost");
}

/// Two flows over a link of 40 Gb/s, the second 2 ms later.
fn two_flows(control: &Config, params: &Params) -> (Network, narrows_sim::traffic::Traffic) {
    let mut topology = Topology::default();
    let (rate, delay) = (GBPS(40), Span::from_us(1));
    Dumbbell { hosts: 2, host_rate: rate, bottleneck_rate: rate, host_delay: delay, bottleneck_delay: delay }
        .build(&mut topology, "");
    let later = FlowSpec { start: at(Span::from_ms(2)), ..flow(1, 3, ENDLESS) };
    let mut traffic = traffic(rdma(params.clone(), control.clone()), vec![flow(0, 2, ENDLESS), later]);
    traffic.measured = at(Span::from_ms(50))..at(Span::from_ms(250));
    (network(topology, &SwitchConfig { marking: dcqcn_marking(), ..deep() }), traffic)
}

#[test]
fn two_dcqcn_flows_share_a_link_and_the_queue_stays_where_marking_begins() {
    let vendor = settings::Params { variant: settings::Variant::Vendor, ..Default::default() };
    let cards = (Config::Dcqcn(vendor), Params { cnp_interval: Span::from_us(4), ..Params::default() });
    for (control, params) in [(dcqcn(), Params::default()), cards] {
        let (network, traffic) = two_flows(&control, &params);
        let run = Run::new(&network, &traffic).until(Span::from_ms(250));
        let rows = run.ports(Span::from_us(100));
        let bottleneck = link(&network, "left/switch", "right/switch");
        let rows: Vec<_> =
            rows.iter().filter(|row| row.link == bottleneck && row.start >= traffic.measured.start).collect();
        let mean = rows.iter().map(|row| row.mean_backlog).sum::<f64>() / rows.len() as f64;
        let outcome = run.run();
        let shares: Vec<_> = outcome.flows.iter().map(|flow| flow.delivered_measured.as_f64()).collect();
        let used = (shares[0] + shares[1]) * 8.0 / 0.2 / 40e9 * PACKET as f64 / 1024.0;
        // ±10 % around one half over 200 ms: hundreds of cuts each, which chance gives to one or the other; the rates in between are
        // cut and raised by about a third.
        assert!((shares[0] / (shares[0] + shares[1]) - 0.5).abs() < 0.05, "{shares:?}");
        assert!(used > 0.98, "{used}");
        assert!((5_000.0..100_000.0).contains(&mean), "{mean}");
    }
}

#[test]
fn limiters_slow_rdma_down_and_nothing_is_lost() {
    let point = CongestionPoint::Qcn(Qcn { set_point: Bytes::new(30_000), ..Qcn::default() });
    let mut network = network(star(3), &signaling(100_000_000, point));
    network.reaction = Some(reaction(qcn()));
    let flows = vec![flow(0, 2, 20_000_000), flow(1, 2, 20_000_000)];
    let outcome = Run::new(&network, &traffic(rdma(Params::default(), unlimited()), flows)).run();
    assert!(outcome.mechanisms.limiter.limited > 1000);
    assert_eq!((dropped(&outcome), sum(&outcome, |stats| stats.retransmissions)), (0, 0));
    last_end(&outcome);
}

#[test]
fn clients_send_one_message_after_the_other_whatever_is_lost() {
    // Answers to late copies of a message must not be taken for those of the next.
    for recovery in [Recovery::GoBackN, Recovery::SelectiveRepeat] {
        let network = network(star(9), &shallow(30_000));
        let flows: Vec<_> = (0..8).map(|host| FlowSpec { start: Time::NEVER, ..flow(host, 8, 0) }).collect();
        let mut traffic = traffic(rdma(params(recovery), unlimited()), flows);
        traffic.generators.extend((0..8).map(|client| Generator {
            kind: GeneratorKind::ClosedLoop {
                flows: vec![FlowId(client)],
                parallel: 1,
                sizes: Arc::new(Sizes::constant(Bytes::new(30_001))),
                think: narrows_sim::traffic::Pause::Constant(Span::ZERO),
            },
            start: Time::ZERO,
            until: at(Span::from_ms(10)),
        }));
        let outcome = Run::new(&network, &traffic).run();
        assert!(dropped(&outcome) > 0 && sum(&outcome, |stats| stats.timeouts) > 0);
        assert!(outcome.flows.len() > 100, "{}", outcome.flows.len());
        assert!(outcome.flows.iter().all(|flow| flow.end.is_some() && flow.delivered == Bytes::new(30_001)));
    }
}

#[test]
fn any_number_of_threads_and_both_kinds_of_ports_give_the_same_bytes() {
    let run = |threads, ports| {
        let buffer = Buffer { size: Bytes::new(300_000), sharing: Sharing::PerPort };
        let switch = SwitchConfig { marking: dcqcn_marking(), ports, ..SwitchConfig::new(buffer) };
        let mut topology = Topology::default();
        let (host_rate, uplink_rate, delay) = (GBPS(40), GBPS(40), Span::from_us(1));
        LeafSpine {
            racks: 4,
            hosts_per_rack: 4,
            spines: 2,
            links_per_spine: 1,
            host_rate,
            uplink_rate,
            delay,
        }
        .build(&mut topology, "");
        let network = network(topology, &switch);
        let flows = (0..16).map(|host| flow(host, (host * 7 + 5) % 16, 1_000_000 + 997 * u64::from(host)));
        let mut traffic = traffic(rdma(params(Recovery::SelectiveRepeat), dcqcn()), flows.collect());
        traffic.flows.extend((0..8).map(|host| flow(host, 15, 300_000)));
        let outcome = Run::new(&network, &traffic).threads(threads).run();
        assert!(sum(&outcome, |stats| stats.cnps) > 0 && sum(&outcome, |stats| stats.recoveries) > 0);
        (outcome.fingerprint(), outcome.flows)
    };
    let alone = run(1, PortKind::Plain);
    assert_eq!(run(2, PortKind::Plain), alone);
    assert_eq!(run(3, PortKind::Plain), alone);
    assert_eq!(run(1, PortKind::Scheduled), alone);
}
