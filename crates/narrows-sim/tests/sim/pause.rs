//! PAUSE: nothing is lost, nothing stops for good, and what it costs others.

use crate::support::{
    Run, SECOND, at, flow, group, link, network, params, saturating, signaling, traffic, unlimited,
};
use narrows_proto::units::{BitRate, Bytes, Span, Time};
use narrows_sim::switch::{CongestionPoint, Pause, SwitchConfig};
use narrows_sim::topology::{FatTree, LeafSpine, Topology, Wire};
use narrows_sim::workload::permutation;
use narrows_sim::{DropCause, FlowRecord, GroupId, HostId, Network, Outcome, PortCounters, Purpose, Stream};

const GBPS: fn(u64) -> BitRate = BitRate::from_gbps;
const RATE: BitRate = BitRate::from_gbps(10);
const PACKET: u64 = 1538;

/// Stops a neighbor at 20 packets.
fn pause() -> Pause {
    Pause { xoff: Bytes::new(20 * PACKET), xon: None, quanta: u16::MAX, frame: Bytes::new(84) }
}

/// With `memory` for all ports.
fn pausing(memory: u64) -> SwitchConfig {
    SwitchConfig { pause: Some(pause()), ..signaling(memory, CongestionPoint::Off) }
}

/// Bytes that a neighbor may fill at a switch with such links and delays of 1 µs.
fn one_ingress() -> u64 {
    let us = Span::from_us(1);
    (pause().xoff + pause().headroom(RATE, us, us, Bytes::new(PACKET))).get()
}

fn fat_tree() -> Topology {
    let mut topology = Topology::default();
    FatTree { k: 4, rate: RATE, delay: Span::from_us(1) }.build(&mut topology, "");
    topology
}

/// `racks` of `hosts` with one uplink of a host's rate each.
fn oversubscribed(racks: u32, hosts: u32) -> Topology {
    let mut topology = Topology::default();
    let (host_rate, uplink_rate, delay) = (RATE, RATE, Span::from_us(1));
    LeafSpine { racks, hosts_per_rack: hosts, spines: 1, links_per_spine: 1, host_rate, uplink_rate, delay }
        .build(&mut topology, "");
    topology
}

fn dropped<O>(outcome: &Outcome<O>) -> u64 {
    outcome.ports.iter().map(PortCounters::dropped).sum()
}

fn last_end(flows: &[FlowRecord]) -> Time {
    flows.iter().map(|flow| flow.end.expect("every flow ends")).max().expect("there are flows")
}

/// PAUSE frames that nodes of tier `from` sent to nodes of tier `to`; hosts have none.
fn pauses_between<O>(network: &Network, outcome: &Outcome<O>, from: u32, to: Option<u32>) -> u64 {
    let tier = |node| network.topology.tier(node);
    let links = network.topology.links().iter().zip(&outcome.ports);
    let between = links.filter(|(link, _)| tier(link.from) == Some(from) && tier(link.to) == to);
    between.map(|(_, port)| port.pauses).sum()
}

#[test]
fn an_incast_through_three_tiers_loses_nothing_and_wastes_nothing() {
    // Four ports, each with room for what one neighbor may send.
    let network = network(fat_tree(), &pausing(4 * one_ingress()));
    let flows = (0..12).map(|host| flow(host, 15, 1_000_000)).collect();
    let outcome = Run::new(&network, &traffic(group(params(), unlimited()), flows)).run();
    assert_eq!(dropped(&outcome), 0);
    assert!(outcome.flows.iter().all(|flow| flow.stats.retransmissions == 0));
    // 12 MB of payload at 10 Gb/s, and 100 µs for the way and for senders that end earlier than others.
    let ideal = RATE.time_to_send(Bytes::new(12_000_000 / 1448 * PACKET));
    assert!(last_end(&outcome.flows) < at(ideal + Span::from_us(100)), "{}", last_end(&outcome.flows));
    // Each tier pauses the one before it: down to up in the pod of the receiver, up to down, and hosts in the end.
    for (from, to) in [(0, Some(1)), (1, Some(2)), (2, Some(1)), (1, Some(0)), (0, None)] {
        let pauses = pauses_between(&network, &outcome, from, to);
        assert!(pauses > 0, "from tier {from} to {to:?}");
    }
}

#[test]
fn permutations_under_pause_lose_nothing_and_end() {
    // Up-down paths wait for each other in no circle: no deadlock.
    let hosts: Vec<_> = (0..16).map(HostId).collect();
    for (topology, seed) in [fat_tree(), oversubscribed(4, 4)].iter().flat_map(|t| [(t, 1), (t, 2), (t, 3)]) {
        let network = network(topology.clone(), &pausing(5 * one_ingress()));
        let mut random = Stream::new(seed, Purpose::Workload, 0);
        let flows = permutation(GroupId(0), &hosts, Bytes::new(2_000_000), Time::ZERO, &mut random);
        let outcome = Run::new(&network, &traffic(group(params(), unlimited()), flows)).seed(seed).run();
        assert_eq!(dropped(&outcome), 0);
        assert!(outcome.ports.iter().map(|port| port.pauses).sum::<u64>() > 0);
        // 4 hosts share an uplink: 8 MB at 10 Gb/s need 6.8 ms. In the fat tree ECMP may put as many on a link.
        assert!(last_end(&outcome.flows) < at(Span::from_ms(20)), "{}", last_end(&outcome.flows));
    }
}

/// A host with 10 Gb/s, two switches 10 µs apart from it and from each other, a host with 1 Gb/s behind the second.
/// Packets between the switches are lost with probability `loss`. Only the switch named `pauses` does.
fn narrowing(loss: f64, pauses: &str, memory: u64, quanta: u16) -> Network {
    let delay = Span::from_us(10);
    let mut topology = Topology::default();
    let switches = ["left", "right"].map(|name| topology.add_switch(name, "switch", 0));
    let hosts = ["from", "to"].map(|name| topology.add_host(name));
    topology.connect(hosts[0], switches[0], Wire::new(RATE, delay));
    topology.connect(switches[0], switches[1], Wire { error_rate: loss, ..Wire::new(RATE, delay) });
    topology.connect(switches[1], hosts[1], Wire::new(GBPS(1), delay));
    let pausing = SwitchConfig { pause: Some(Pause { quanta, ..pause() }), ..pausing(memory) };
    let mut network = network(topology, &signaling(1_000_000_000, CongestionPoint::Off));
    for (node, settings) in network.topology.nodes().iter().zip(&mut network.switches) {
        if node.name == pauses {
            *settings = Some(pausing.clone());
        }
    }
    network
}

#[test]
fn what_one_neighbor_fills_stays_within_xoff_and_the_headroom() {
    // The switch sends full packets back to the host, so PAUSE frames have to wait for them.
    let delay = Span::from_us(10);
    let headroom = pause().headroom(RATE, delay, delay, Bytes::new(PACKET)).get();
    let xoff = pause().xoff.get();
    let run = |memory| {
        let mut topology = Topology::default();
        let switch = topology.add_switch("switch", "switch", 0);
        for (name, rate) in [("fast", RATE), ("slow", GBPS(1)), ("back", RATE)] {
            let host = topology.add_host(name);
            topology.connect(host, switch, Wire::new(rate, delay));
        }
        let network = network(topology, &pausing(memory));
        let traffic = saturating(&[(0, 1, RATE), (2, 0, GBPS(9))], Span::from_ms(20));
        let outcome = Run::new(&network, &traffic).run();
        let deepest = outcome.ports[link(&network, "switch", "slow").index()].max_backlog;
        (deepest, outcome.drops(DropCause::BufferFull))
    };
    // The other port needs no room: it is never full.
    let (deepest, drops) = run(xoff + headroom);
    assert_eq!(drops, 0);
    assert!(deepest <= xoff + headroom, "{deepest}");
    // While the headroom fills, a tenth of it leaves; a PAUSE frame that waits for no packet, and finds none being sent,
    // saves two packets; the packet that crosses XOFF may cross it by nothing.
    assert!(deepest as f64 > xoff as f64 + 0.9 * (headroom - 3 * PACKET) as f64, "{deepest}");
    let (_, drops) = run(xoff + headroom / 2);
    assert!(drops > 0, "half of the headroom is not enough");
}

#[test]
fn a_lost_frame_stops_traffic_no_longer_than_a_pause_lasts() {
    // Nothing but PAUSE frames travels from right to left.
    let delay = Span::from_us(10);
    let headroom = pause().headroom(RATE, delay, delay, Bytes::new(PACKET)).get();
    let full = pause().xoff.get() + headroom;
    let used = |loss, quanta| {
        let network = narrowing(loss, "right", full, quanta);
        let outcome = Run::new(&network, &saturating(&[(0, 1, RATE)], SECOND)).until(SECOND).run();
        let port = |to| outcome.ports[link(&network, "right", to).index()];
        assert!(port("left").pauses > 0);
        // A frame that asks for a pause and is lost lets the memory overflow.
        let lost = [port("left").drops[DropCause::LinkError as usize], port("to").dropped()];
        assert_eq!(lost.map(|packets| packets > 0), [loss > 0.0; 2]);
        outcome.datagrams[0].received as f64 * PACKET as f64 * 8.0 / 1e9
    };
    // 1000 quanta last 51 µs at 10 Gb/s, less than the 123 µs that what is left at XON takes to be sent.
    assert!(used(0.0, 1000) > 0.99);
    assert!(used(0.3, 1000) > 0.99);
    // 65 535 quanta last 3.36 ms. Of each cycle, memory is sent from full to XON; before that a pause may have to be asked
    // for again, each time half its length later, 0.3/0.7 times on average; after it, with probability 0.3, no resume
    // arrives, and the rest of the memory is sent, then nothing until the pause ends.
    let (sends, lasts) = (|bytes: u64| bytes as f64 * 8.0 / 1e6, 65_535.0 * 512.0 / 10e6);
    let (drain, rest) = (sends(full - pause().xon().get()), sends(pause().xon().get()));
    let busy = drain + 0.3 / 0.7 * lasts / 2.0 + 0.3 * rest;
    let idle = 0.3 * (lasts - drain - rest);
    let (longest, estimate) = (used(0.3, u16::MAX), busy / (busy + idle));
    // ±0.1: in a second there are 500 such cycles; the idle time of one varies by one and a half times its mean, so the mean
    // of all by 7 %.
    assert!((longest - estimate).abs() < 0.1, "{longest}, estimate {estimate}");
}

#[test]
fn a_pause_is_asked_for_again_until_the_neighbor_may_go_on() {
    // It takes 0.3 ms to get from what the headroom holds to XON, and a pause of 1000 quanta lasts 51 µs.
    let [short, long] = [1000, u16::MAX].map(|quanta| {
        let network = narrowing(0.0, "right", 200_000, quanta);
        let outcome = Run::new(&network, &saturating(&[(0, 1, RATE)], Span::from_ms(50))).run();
        assert_eq!(dropped(&outcome), 0);
        outcome.ports[link(&network, "right", "left").index()].pauses
    });
    // One every half of a pause: 0.344/0.0256 more.
    assert!(long > 0 && (10..16).contains(&(short / long)), "{short} {long}");
}

#[test]
fn a_victim_behind_a_paused_uplink_gets_the_share_of_the_congested_flow() {
    // Racks 0 to 3 send to rack 4 over one spine, rack 0 also to rack 1. Rates differ, so that packets of different sources do
    // not arrive in step.
    let rates = |switch: &SwitchConfig| {
        let network = network(oversubscribed(5, 2), switch);
        let pairs = [(0, 8, 9990), (1, 3, 9980), (2, 8, 9970), (4, 8, 9960), (6, 8, 9950)];
        let pairs = pairs.map(|(from, to, mbps)| (from, to, BitRate::from_mbps(mbps)));
        let traffic = saturating(&pairs, Span::from_ms(30));
        let outcome = Run::new(&network, &traffic).run();
        let rate = |flow: usize| outcome.datagrams[flow].received as f64 * PACKET as f64 * 8.0 / 0.03 / 1e9;
        (rate(0), rate(1), dropped(&outcome))
    };
    let free = SwitchConfig { pause: None, ..pausing(5 * one_ingress()) };
    let (_, victim, drops) = rates(&free);
    // Half of the uplink.
    assert!((victim / 5.0 - 1.0).abs() < 0.05 && drops > 0, "{victim}");
    let (congested, victim, drops) = rates(&pausing(5 * one_ingress()));
    // Four uplinks share 10 Gb/s, and both flows of rack 0 are served in turn.
    assert!((congested / 2.5 - 1.0).abs() < 0.1, "{congested}");
    assert!((victim / congested - 1.0).abs() < 0.1 && drops == 0, "{victim}, congested {congested}");
}

#[test]
fn more_arrives_after_a_stop_where_the_way_back_is_slow() {
    let needed = |back: BitRate| {
        let mut topology = Topology::default();
        let (host, switch) = (topology.add_host("host"), topology.add_switch("switch", "switch", 0));
        let wire = Wire::new(RATE, Span::from_us(1));
        topology.connect_by(host, switch, wire, Wire { rate: back, ..wire });
        let network = network(topology, &pausing(1_000_000));
        network.needed_headroom(link(&network, "host", "switch"), Bytes::new(PACKET)).get()
    };
    // The frame and the packet it waits for take ten times as long, in which ten times as much arrives.
    assert_eq!(needed(GBPS(1)), needed(RATE) + 9 * (84 + PACKET));
    assert_eq!(needed(GBPS(40)), needed(RATE));
}
