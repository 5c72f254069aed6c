//! Themis: border switches notify sources near them, and hold packets for those far away.

use crate::support::{
    ENDLESS, Run, dcqcn, dcqcn_marking, dctcp, flow, group, link, marking, network, params, rdma, signaling,
    trace, traffic,
};
use narrows_proto::rdma::Params;
use narrows_proto::stream::Stats;
use narrows_proto::units::{BitRate, Span, Time};
use narrows_sim::mechanism::themis::{Hold, Themis, ThemisCounters};
use narrows_sim::switch::{CongestionPoint, SwitchConfig};
use narrows_sim::topology::{CrossDc, Fabric, NodeKind, Star, Topology, Wan};
use narrows_sim::{Network, Outcome};

/// Two data centers of six hosts at 10 Gb/s each, 100 us apart over 10 Gb/s.
fn two(themis: Option<&Themis>) -> Network {
    let rate = BitRate::from_gbps(10);
    let wan = Wan {
        rate,
        delay: Span::from_us(100),
        error_rate: 0.0,
        borders: 1,
        border_rate: None,
        border_delay: None,
    };
    let fabric = Fabric::Star(Star { hosts: 6, rate, delay: Span::from_us(1) });
    let mut topology = Topology::default();
    CrossDc { datacenters: 2, fabric, fabrics: Vec::new(), wan }.build(&mut topology, "");
    let switch = SwitchConfig { marking: dcqcn_marking(), ..signaling(100_000_000, CongestionPoint::Off) };
    let mut network = network(topology, &switch);
    for (node, settings) in network.topology.nodes().iter().zip(&mut network.switches) {
        if matches!(&node.kind, NodeKind::Switch { class, .. } if class == "border") {
            *settings = Some(SwitchConfig { themis: themis.cloned(), ..switch.clone() });
        }
    }
    network
}

fn holding() -> Themis {
    Themis { hold: Some(Hold::default()), ..Themis::default() }
}

fn counted<O>(network: &Network, outcome: &Outcome<O>, from: &str, to: &str) -> ThemisCounters {
    outcome.ports[link(network, from, to).index()].themis
}

fn all<O>(outcome: &Outcome<O>) -> [u64; 2] {
    let sum = |value: fn(&ThemisCounters) -> u64| outcome.ports.iter().map(|port| value(&port.themis)).sum();
    [sum(|themis| themis.cleared), sum(|themis| themis.notified)]
}

fn stats<O>(outcome: &Outcome<O>, value: fn(&Stats) -> u64) -> u64 {
    outcome.flows.iter().map(|flow| value(&flow.stats)).sum()
}

/// When the first source heard of congestion: of one that sends, of those that arrive at the switch of the first data center.
fn first_cnp(network: &Network) -> Time {
    let flows = (0..2).map(|host| flow(host, 6 + host, ENDLESS)).collect();
    let traffic = traffic(rdma(Params::default(), dcqcn()), flows);
    let windows = Run::new(network, &traffic).until(Span::from_ms(5)).windows(Span::from_ns(100));
    windows.iter().find(|row| row.cnps > 0).expect("there are marks").at
}

#[test]
fn a_source_hears_of_congestion_near_it_before_its_packets_have_arrived() {
    // The switch of the data center marks, 10 + 10 Gb/s into 10; the border behind it answers. Data arrives after 100 us and more, and so
    // does a CNP of the receiver, twice.
    let [far, near] = [two(None), two(Some(&Themis::default()))].map(|network| first_cnp(&network));
    assert!(far > Time::ZERO + Span::from_us(200), "{far}");
    let sooner = far - near;
    let bounds = Span::from_us(190)..Span::from_us(210);
    assert!(bounds.contains(&sooner), "{far}, with themis {near}");
}

#[test]
fn every_notification_is_a_cnp_at_a_source_and_receivers_far_away_send_none() {
    let network = two(Some(&Themis::default()));
    let flows = (0..4).map(|host| flow(host, 6 + host, 20_000_000)).collect();
    let traffic = traffic(rdma(Params::default(), dcqcn()), flows);
    let outcome = Run::new(&network, &traffic).run();
    let [cleared, notified] = all(&outcome);
    assert_eq!(
        counted(&network, &outcome, "dc0/border0", "dc1/border0"),
        ThemisCounters { cleared, notified }
    );
    assert!(notified > 100 && cleared >= notified, "{cleared} {notified}");
    // Some find their flow over.
    let cnps = stats(&outcome, |stats| stats.cnps);
    assert!((notified - 4..=notified).contains(&cnps), "{cnps} of {notified}");
}

#[test]
fn a_flow_is_notified_once_in_a_gap() {
    let count = |gap| {
        let network = two(Some(&Themis { gap, ..Themis::default() }));
        let flows = (0..2).map(|host| flow(host, 6 + host, ENDLESS)).collect();
        let traffic = traffic(rdma(Params::default(), dcqcn()), flows);
        all(&Run::new(&network, &traffic).until(Span::from_ms(20)).run())[1]
    };
    // Two flows, and 2 us until a notification has been made: once in 1002 us.
    let most = 2 * (20_000 / 1_002 + 1);
    let slow = count(Span::from_ms(1));
    assert!(slow <= most && slow >= most / 2, "{slow} of {most}");
    assert!(count(Span::from_us(5)) > slow);
}

#[test]
fn only_sources_near_the_switch_are_notified() {
    // Congestion is where the flows arrive: at the switch of the second data center, behind its border.
    let network = two(Some(&Themis::default()));
    let flows = (0..4).map(|host| flow(host, 6, ENDLESS)).collect();
    let pair = traffic(rdma(Params::default(), dcqcn()), flows);
    let outcome = Run::new(&network, &pair).until(Span::from_ms(5)).run();
    assert_eq!(counted(&network, &outcome, "dc1/border0", "dc1/switch"), ThemisCounters::default());
    // What comes back from there is marked by nobody.
    assert_eq!(counted(&network, &outcome, "dc1/border0", "dc0/border0"), ThemisCounters::default());
}

#[test]
fn marks_of_streams_stay() {
    let mut network = two(Some(&Themis::default()));
    for switch in network.switches.iter_mut().flatten() {
        switch.marking = marking(30_000).marking;
    }
    let flows = (0..4).map(|host| flow(host, 6 + host, 5_000_000)).collect();
    let traffic = traffic(group(params(), dctcp()), flows);
    let outcome = Run::new(&network, &traffic).run();
    assert_eq!(all(&outcome), [0, 0]);
    assert!(outcome.ports.iter().any(|port| port.marks > 0));
}

#[test]
fn what_is_held_arrives_in_order_and_all_of_it() {
    // Two flows from elsewhere and two from beside it meet at a host. Its CNPs to the first two pass the border of its data center.
    let flows = [0, 1, 7, 8].map(|from| flow(from, 6, 5_000_000)).into();
    let traffic = traffic(rdma(Params::default(), dcqcn()), flows);
    let outcome = Run::new(&two(Some(&holding())), &traffic).run();
    assert!(outcome.mechanisms.themis.held > 100, "{:?}", outcome.mechanisms.themis);
    assert!(outcome.flows.iter().all(|flow| flow.end.is_some()));
    assert_eq!(stats(&outcome, |stats| stats.retransmissions), 0);
}

#[test]
fn any_number_of_threads_gives_the_same_bytes() {
    let network = two(Some(&holding()));
    let across = (0..4).map(|host| flow(host, 6 + host % 2, 1_000_000));
    let back = (0..4).map(|host| flow(6 + host, host % 2, 1_000_000));
    let traffic = traffic(rdma(Params::default(), dcqcn()), across.chain(back).collect());
    let run = Run::new(&network, &traffic);
    let one = trace(&run.run());
    for threads in [2, 3] {
        assert!(trace(&run.threads(threads).run()) == one, "{threads} threads");
    }
}
