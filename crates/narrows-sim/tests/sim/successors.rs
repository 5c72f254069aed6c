//! PowerTCP by telemetry of switches, and UnoCC over phantom queues.

use narrows_proto::cc::{Config, powertcp, uno};
use narrows_proto::stream::Params;
use narrows_proto::units::{BitRate, Bytes, Span};
use narrows_sim::Network;
use narrows_sim::switch::{MarkAt, Marking, Phantom, PortKind, SwitchConfig};
use narrows_sim::topology::{Star, Topology};
use narrows_sim::traffic::{FlowSpec, Traffic};

use crate::support::{
    ENDLESS, Run, at, deep, flow, group, link, network, params, shallow, telling, traffic, unlimited,
};
use crate::telemetry::{flows, measure, star};

const GBPS: fn(u64) -> BitRate = BitRate::from_gbps;

fn powertcp() -> Config {
    Config::Powertcp(powertcp::Params { base_rtt: Span::from_ns(4_300), ..Default::default() })
}

#[test]
fn powertcp_flows_share_a_link_and_have_beta_in_the_queue_each() {
    for count in [2, 8] {
        let network = star(count + 1, GBPS(100), &telling());
        let mut flows = flows(&powertcp(), count, Span::from_us(200));
        let found = measure(&network, &mut flows, Span::from_ms(3), Span::from_ms(5));
        // beta is a tenth of 100 Gb/s · 4.3 us, 5375 B, of each flow. 10 %: an empty round trip is 4.21 us, so that 1.1 kB more of the
        // windows wait, and the packet on the wire does not.
        let expected = 5_375.0 * f64::from(count);
        assert!(
            (found.mean_queue / expected - 1.0).abs() < 0.1,
            "{count}: {} of {expected} B",
            found.mean_queue
        );
        assert!(found.used > 0.995, "{count}: {}", found.used);
        let fair = 1.0 / f64::from(count);
        assert!(found.shares.iter().all(|share| (share / fair - 1.0).abs() < 0.05), "{:?}", found.shares);
    }
}

#[test]
fn a_powertcp_flow_alone_fills_its_link_and_no_queue() {
    let network = star(2, GBPS(100), &telling());
    let found = measure(&network, &mut flows(&powertcp(), 1, Span::ZERO), Span::from_ms(1), Span::from_ms(2));
    assert!(found.used > 0.99, "{}", found.used);
    // A packet.
    assert!(found.max_queue <= 1_148, "{} B", found.max_queue);
}

#[test]
fn a_late_powertcp_flow_costs_its_first_round_trip_and_no_more() {
    let network = star(3, GBPS(100), &telling());
    let late = || flows(&powertcp(), 2, Span::from_us(200));
    // It begins with all of B·T, 53.75 kB, while the link is in use.
    let found = measure(&network, &mut late(), Span::ZERO, Span::from_ms(1));
    assert!(found.max_queue <= 56_000, "{} B", found.max_queue);
    // Later 2·beta are left, 10.75 kB, around which the queue swings, as windows change with every acknowledgment.
    let found = measure(&network, &mut late(), Span::from_us(300), Span::from_ms(1));
    assert!(found.max_queue < 2 * 10_750, "{} B", found.max_queue);
}

/// 10 Gb/s and 25 us of delay on each link: an empty round trip is 102.6 us, 128 kB.
fn slow_star(hosts: u32, switch: &SwitchConfig) -> Network {
    let mut topology = Topology::default();
    Star { hosts, rate: GBPS(10), delay: Span::from_us(25) }.build(&mut topology, "");
    network(topology, switch)
}

fn phantom(phantom: Phantom) -> SwitchConfig {
    let ports = if phantom.mark_at == MarkAt::Dequeue { PortKind::Scheduled } else { PortKind::Plain };
    SwitchConfig { marking: Marking::Phantom(Box::new(phantom)), ports, ..deep() }
}

/// V: eight times what is on the path.
fn uno_queue() -> Phantom {
    Phantom::new(Bytes::new(1_000_000).into())
}

/// Flows under UnoCC without an end, each a round trip after the one before.
fn uno(count: u32) -> Traffic {
    let cc = Config::Uno(uno::Params { intra_rtt: Span::from_us(103), ..Default::default() });
    let one =
        |host: u32| FlowSpec { start: at(Span::from_us(103) * host.into()), ..flow(host, count, ENDLESS) };
    traffic(group(Params { ack_every: 1, ..params() }, cc), (0..count).map(one).collect())
}

#[test]
fn uno_flows_use_what_phantom_queues_drain_and_leave_real_ones_empty() {
    for (count, from) in [(1, 100), (2, 200), (8, 200)] {
        let network = slow_star(count + 1, &phantom(uno_queue()));
        let (from, until) = (Span::from_ms(from), Span::from_ms(from + 100));
        let found = measure(&network, &mut uno(count), from, until);
        // 1/1.05 = 0.952 drain.
        assert!((0.93..0.953).contains(&found.used), "{count}: {}", found.used);
        // Two packets of each flow.
        assert!(found.max_queue <= 2 * 1_538 * u64::from(count), "{count}: {} B", found.max_queue);
        // A window is some packets, and cut for whole marks: by chance flows differ by up to 10 % of standard deviation.
        let squares: f64 = found.shares.iter().map(|share| share * share).sum();
        assert!(1.0 / squares > 0.99 * f64::from(count), "{count}: {:?}", found.shares);
    }
}

#[test]
fn a_hundred_round_trips_after_two_uno_flows_began_the_real_queue_is_empty() {
    let network = slow_star(3, &phantom(uno_queue()));
    let found = measure(&network, &mut uno(2), Span::from_ms(11), Span::from_ms(20));
    // Both have sent windows of 128 kB into the same round trips. Quick adapt leaves 0.96 of what arrives, so that the real queue loses 4 %
    // of the link: 128 kB in 2.6 ms. Two packets of each are left.
    assert!(found.max_queue <= 4 * 1_538, "{} B", found.max_queue);
}

/// Bytes in the phantom queue at most, and packets chosen there, of the port to the last host.
fn counted(switch: &SwitchConfig) -> (u64, u64, u64) {
    let network = slow_star(3, switch);
    let outcome = Run::new(&network, &uno(2)).until(Span::from_ms(10)).run();
    let port = outcome.ports[link(&network, "switch", "host2").index()];
    (port.marking.most, port.marking.chosen, port.marks)
}

#[test]
fn phantom_queues_are_counted_and_without_a_rule_beside_them_all_they_choose_is_marked() {
    for mark_at in [MarkAt::Dequeue, MarkAt::Enqueue] {
        let (most, chosen, marks) = counted(&phantom(Phantom { mark_at, ..uno_queue() }));
        assert!(most > 20_000 && chosen > 0 && chosen == marks, "{most}, {chosen}, {marks}");
    }
    assert_eq!(counted(&SwitchConfig { ports: PortKind::Scheduled, ..deep() }), (0, 0, 0));
}

#[test]
fn phantom_queues_give_the_same_bytes_at_plain_and_scheduled_ports() {
    let switch = phantom(Phantom { mark_at: MarkAt::Enqueue, ..uno_queue() });
    let scheduled = SwitchConfig { ports: PortKind::Scheduled, ..switch.clone() };
    assert_eq!(counted(&switch), counted(&scheduled));
}

#[test]
fn what_is_dropped_does_not_count() {
    // Two hosts send at 10 Gb/s each what a buffer of 15 kB lets through: 10 Gb/s. A phantom queue that drains 9.52 Gb/s gets 0.48 Gb/s
    // more than that, 60 kB in 1 ms, and what waits in the buffer; with the dropped half it would get 1250 kB.
    let switch = SwitchConfig { buffer: shallow(15_000).buffer, ..phantom(uno_queue()) };
    for ports in [PortKind::Plain, PortKind::Scheduled] {
        let mark_at = if ports == PortKind::Plain { MarkAt::Enqueue } else { MarkAt::Dequeue };
        let network = slow_star(3, &SwitchConfig { ports, ..phantom(Phantom { mark_at, ..uno_queue() }) });
        let network = Network {
            switches: network
                .switches
                .iter()
                .map(|of| of.as_ref().map(|of| SwitchConfig { buffer: switch.buffer.clone(), ..of.clone() }))
                .collect(),
            ..network
        };
        let both = vec![flow(0, 2, ENDLESS), flow(1, 2, ENDLESS)];
        let outcome = Run::new(&network, &traffic(group(params(), unlimited()), both))
            .until(Span::from_us(1_051))
            .run();
        let port = outcome.ports[link(&network, "switch", "host2").index()];
        assert!(port.dropped() > 500, "{}", port.dropped());
        let expected = 75_000.0;
        assert!(
            (port.marking.most as f64 / expected - 1.0).abs() < 0.15,
            "{} of {expected} B",
            port.marking.most
        );
    }
}
