//! Queue pairs that carry several messages: order, how many are outstanding, one rate, one path; and incasts of them that lose packets.

use std::sync::Arc;

use crate::support::{
    Run, at, dcqcn, dcqcn_marking, deep, flow, link, network, rdma, shallow, traffic, unlimited,
};
use narrows_proto::cc::Config;
use narrows_proto::rdma::{Params, QueuePair};
use narrows_proto::units::{BitRate, Bytes, Span, Time};
use narrows_sim::observe::{Observer, PacketKind, PacketRef};
use narrows_sim::switch::{PortKind, SwitchConfig};
use narrows_sim::topology::{LeafSpine, Star, Topology, Wire};
use narrows_sim::traffic::{FlowSpec, Generator, GeneratorKind, Pause};
use narrows_sim::workload::Sizes;
use narrows_sim::{DropCause, FlowId, Hosts, LinkId, Network, Outcome, RealHosts};

const RATE: BitRate = BitRate::from_gbps(40);
const MIB: u64 = 1 << 20;

fn star(hosts: u32, switch: &SwitchConfig) -> Network {
    let mut topology = Topology::default();
    Star { hosts, rate: RATE, delay: Span::from_us(1) }.build(&mut topology, "");
    network(topology, switch)
}

fn sharing(outstanding: u32) -> Params {
    Params { queue_pair: Some(QueuePair { outstanding }), ..Params::default() }
}

/// When each flow ends, in order.
fn ends<O>(outcome: &Outcome<O>) -> Vec<Time> {
    outcome.flows.iter().map(|flow| flow.end.expect("every message ends")).collect()
}

fn sum<O>(outcome: &Outcome<O>, value: fn(&narrows_proto::stream::Stats) -> u64) -> u64 {
    outcome.flows.iter().map(|flow| value(&flow.stats)).sum()
}

#[test]
fn messages_are_sent_in_order_and_as_many_at_once_as_may_be_outstanding() {
    let network = star(2, &deep());
    let doorbell = Span::from_ns(800);
    let run = |outstanding, doorbell| {
        let params = Params { doorbell, ..sharing(outstanding) };
        let flows = (0..4).map(|_| flow(0, 1, 10 * 1024)).collect();
        let outcome = Run::new(&network, &traffic(rdma(params, unlimited()), flows)).run();
        assert!(outcome.flows.iter().all(|flow| flow.delivered == flow.size));
        ends(&outcome).iter().map(|end| end.saturating_since(Time::ZERO)).collect::<Vec<_>>()
    };
    let (packet, ack) = (RATE.time_to_send(Bytes::new(1106)), RATE.time_to_send(Bytes::new(86)));
    let way = packet + Span::from_us(2);
    let message = packet * 10;
    // One at a time: the next begins when the answer to the last packet of the one before is there, and its doorbell was rung.
    for doorbell in [Span::ZERO, doorbell] {
        let whole = doorbell + message + way;
        let period = whole + ack * 2 + Span::from_us(2);
        assert_eq!(run(1, doorbell), [0, 1, 2, 3].map(|n| whole + period * n));
        // All at once: back to back.
        assert_eq!(run(4, doorbell), [1, 2, 3, 4].map(|n| doorbell + message * n + way));
    }
    // Two: a message takes 2.2 us, a round trip more than one of them and less than two.
    let two = run(2, Span::ZERO);
    assert_eq!(two[1], message * 2 + way);
    assert!(two[3] > message * 4 + way && two[3] < run(1, Span::ZERO)[3]);
}

#[test]
fn messages_of_other_pairs_and_groups_do_not_wait() {
    let network = star(3, &deep());
    let flows = vec![flow(0, 1, 10 * MIB), flow(0, 1, 1024), flow(0, 2, 1024)];
    let outcome = Run::new(&network, &traffic(rdma(sharing(1), unlimited()), flows)).run();
    let ends = ends(&outcome);
    assert!(ends[2] < at(Span::from_us(5)), "another destination");
    assert!(ends[1] > ends[0], "the same queue pair");
}

#[test]
fn a_message_begins_at_the_rate_that_the_one_before_left() {
    // Four senders of two messages; what waits for the link is marked.
    let network = star(5, &SwitchConfig { marking: dcqcn_marking(), ..deep() });
    let second_took = |params: Params| {
        let flows = (0..8).map(|number| flow(number % 4, 4, MIB));
        // 8 MiB take 1.8 ms: the last message of host 0 has the network for itself.
        let late = |us| FlowSpec { start: at(Span::from_us(us)), ..flow(0, 4, MIB) };
        let flows = flows.chain([late(1_800)]).collect();
        let outcome = Run::new(&network, &traffic(rdma(params, dcqcn()), flows)).run();
        let last = &outcome.flows[8];
        assert!(sum(&outcome, |stats| stats.cnps) > 20);
        last.end.expect("it ends").saturating_since(last.start)
    };
    let alone = RATE.time_to_send(Bytes::new(1024 * 1106));
    let (own, shared) = (second_took(Params::default()), second_took(sharing(8)));
    assert!(own < alone * 2, "its own connection begins at line rate: {own}");
    assert!(shared > own * 2, "{shared} after {own}");
}

#[test]
fn the_next_message_tells_of_a_lost_tail_before_the_timeout() {
    let mut topology = Topology::default();
    let switch = topology.add_switch("switch", "switch", 0);
    let hosts = ["from", "to"].map(|name| topology.add_host(name));
    let wire = Wire::new(RATE, Span::from_us(1));
    topology.connect(hosts[0], switch, Wire { error_rate: 1e-3, ..wire });
    topology.connect(switch, hosts[1], wire);
    let network = network(topology, &deep());
    let timeouts = |outstanding| {
        let flows = (0..2000).map(|_| flow(0, 1, 4 * 1024)).collect();
        let outcome = Run::new(&network, &traffic(rdma(sharing(outstanding), unlimited()), flows)).run();
        assert!(ends(&outcome).is_sorted());
        assert!(sum(&outcome, |stats| stats.retransmissions) > 0);
        sum(&outcome, |stats| stats.timeouts)
    };
    // One in a thousand of 8000 packets: with one message at a time a fourth of the eight is the last of its message, and more are NAKs or
    // answers that are lost.
    assert!(timeouts(1) >= 2, "{}", timeouts(1));
    assert_eq!(timeouts(64), 0);
}

#[test]
fn messages_of_a_queue_pair_take_one_path() {
    // Two messages over different spines would overtake each other and be taken for lost.
    let mut topology = Topology::default();
    let (host_rate, uplink_rate, delay) = (RATE, RATE, Span::from_us(1));
    LeafSpine { racks: 2, hosts_per_rack: 4, spines: 4, links_per_spine: 1, host_rate, uplink_rate, delay }
        .build(&mut topology, "");
    let network = network(topology, &deep());
    let flows = (0..400).map(|number| flow(number % 4, 4 + number % 3, 3000 + u64::from(number))).collect();
    let outcome = Run::new(&network, &traffic(rdma(sharing(16), unlimited()), flows)).run();
    assert_eq!(sum(&outcome, |stats| stats.retransmissions), 0);
}

#[test]
fn clients_share_queue_pairs_and_any_number_of_threads_gives_the_same_bytes() {
    let run = |threads, ports| {
        let network = star(9, &SwitchConfig { marking: dcqcn_marking(), ports, ..shallow(100_000) });
        let mut flows: Vec<_> =
            (0..8).map(|host| FlowSpec { start: Time::NEVER, ..flow(host, 8, 0) }).collect();
        flows.extend((0..80).map(|number| flow(number % 8, 8, 50_000 + u64::from(number))));
        let params = Params { ack_timeout: Some(6), cnp_on_out_of_sequence: true, ..sharing(3) };
        let mut traffic = traffic(rdma(params, dcqcn()), flows);
        traffic.measured = at(Span::from_us(200))..at(Span::from_ms(2));
        traffic.generators.extend((0..8).map(|client| Generator {
            kind: GeneratorKind::ClosedLoop {
                flows: vec![FlowId(client)],
                parallel: 1,
                sizes: Arc::new(Sizes::constant(Bytes::new(30_001))),
                think: Pause::Constant(Span::from_us(2)),
            },
            start: Time::ZERO,
            until: at(Span::from_ms(5)),
        }));
        let outcome = Run::new(&network, &traffic).threads(threads).run();
        assert!(outcome.ports.iter().any(|port| port.dropped() > 0));
        assert!(outcome.flows.len() > 150, "{}", outcome.flows.len());
        assert!(outcome.flows.iter().all(|flow| flow.end.is_some() && flow.delivered == flow.size));
        assert!(outcome.flows.iter().all(|flow| flow.delivered_measured <= flow.size));
        (outcome.fingerprint(), outcome.flows)
    };
    let alone = run(1, PortKind::Plain);
    assert_eq!(run(2, PortKind::Plain), alone);
    assert_eq!(run(3, PortKind::Plain), alone);
    assert_eq!(run(1, PortKind::Scheduled), alone);
}

/// Bytes that a port sends, and drops there of even and odd flows.
#[derive(Default)]
struct Seen {
    port: Option<LinkId>,
    bytes: u64,
    last: Time,
    drops: [u64; 2],
}

impl Observer for Seen {
    fn sent(&mut self, at: Time, link: LinkId, size: u16) {
        if Some(link) == self.port {
            self.bytes += u64::from(size);
            self.last = self.last.max(at);
        }
    }

    fn discarded(&mut self, _: Time, link: LinkId, packet: PacketRef<'_>, _: DropCause) {
        if let (true, PacketKind::Data, Some(flow)) = (Some(link) == self.port, packet.kind(), packet.flow())
        {
            self.drops[flow.index() % 2] += 1;
        }
    }
}

/// Two hosts send a third a hundred messages of 1 MiB each, through a port with tail drop that marks nothing: the part of the time that it
/// is busy until everything is there, and the part of what is lost that the first of them loses.
fn incast(memory: u64, hosts: Hosts, params: Params, cc: Config, seed: u64) -> (f64, f64) {
    let network = Network { hosts, ..star(3, &shallow(memory)) };
    let flows = (0..200).map(|number| flow(number % 2, 2, MIB)).collect();
    let port = Some(link(&network, "switch", "host2"));
    let traffic = traffic(rdma(params, cc), flows);
    let outcome = Run::new(&network, &traffic).seed(seed).observed(|| Seen { port, ..Seen::default() });
    ends(&outcome);
    let seen = &outcome.observers[0];
    let busy = seen.bytes as f64 * 8.0 / RATE.as_f64() / seen.last.saturating_since(Time::ZERO).as_secs_f64();
    (busy, seen.drops[0] as f64 / (seen.drops[0] + seen.drops[1]) as f64)
}

#[test]
fn an_incast_without_marks_keeps_the_port_busy_and_real_hosts_lose_alike() {
    // 4.096 us·2^8 are 1 ms. As long as neither clock has gained a packet on the other, one loses all and the other nothing: with clocks up to
    // 200 ppm slow that lasts for a few messages, and evens out over a hundred.
    let params = Params { ack_timeout: Some(8), ..sharing(8) };
    for memory in [100_000, 1_000_000] {
        let runs: Vec<_> = (1..=5)
            .map(|seed| incast(memory, Hosts::Real(RealHosts::default()), params.clone(), unlimited(), seed))
            .collect();
        let mean = |of: fn(&(f64, f64)) -> f64| runs.iter().map(of).sum::<f64>() / runs.len() as f64;
        let (busy, share) = (mean(|run| run.0), mean(|run| run.1));
        assert!(busy > 0.95, "{memory} B: {runs:?}");
        assert!((0.45..=0.55).contains(&share), "{memory} B: {runs:?}");
    }
}

#[test]
fn of_ideal_hosts_one_loses_everything() {
    let params = Params { ack_timeout: Some(8), ..sharing(8) };
    let (busy, share) = incast(100_000, Hosts::Ideal, params, unlimited(), 1);
    assert!(busy > 0.95 && [0.0, 1.0].contains(&share), "{busy}, {share}");
}

#[test]
fn a_timeout_longer_than_all_messages_leaves_the_port_idle() {
    // A NAK is sent once for each gap. Where what is retransmitted is lost again, nothing but the timeout helps, 67 ms in place of the 23 ms
    // that a hundred messages take.
    let (busy, _) = incast(100_000, Hosts::Real(RealHosts::default()), sharing(2), unlimited(), 1);
    assert!(busy < 0.6, "{busy}");
}
