//! Network cards of RDMA: what they take, how they take turns, when they notify, and when they give up.

use crate::support::{
    ENDLESS, Run, at, dcqcn, dcqcn_marking, deep, flow, network, rdma, shallow, traffic, unlimited,
};
use narrows_proto::cc::{Config, fixed};
use narrows_proto::rdma::{CnpPer, Joins, Params};
use narrows_proto::units::{BitRate, Bytes, Span, Time};
use narrows_sim::switch::SwitchConfig;
use narrows_sim::topology::{Star, Topology};
use narrows_sim::traffic::FlowSpec;
use narrows_sim::{Hosts, Network, Outcome, Processing, RealHosts};

const RATE: BitRate = BitRate::from_gbps(40);

fn star(hosts: u32, switch: &SwitchConfig) -> Network {
    let mut topology = Topology::default();
    Star { hosts, rate: RATE, delay: Span::from_us(1) }.build(&mut topology, "");
    network(topology, switch)
}

fn run(network: &Network, params: Params, cc: Config, flows: Vec<FlowSpec>, until: Span) -> Outcome<()> {
    Run::new(network, &traffic(rdma(params, cc), flows)).until(until).run()
}

/// Time that one message takes over an empty network.
fn took(network: &Network, params: Params, size: u64) -> Span {
    let outcome = run(network, params, unlimited(), vec![flow(0, 1, size)], Span::from_ms(10));
    outcome.flows[0].end.expect("it ends").saturating_since(outcome.flows[0].start)
}

#[test]
fn the_doorbell_delays_a_message_once_and_the_pipeline_every_packet_alike() {
    let ideal = star(2, &deep());
    let (doorbell, pipeline) = (Span::from_ns(900), Span::from_ns(400));
    let real = RealHosts { processing: Processing::None, clock_ppm: 0, pipeline, ..RealHosts::default() };
    let network = Network { hosts: Hosts::Real(real), ..ideal.clone() };
    for size in [1, 100_000] {
        let alone = took(&ideal, Params::default(), size);
        assert_eq!(took(&ideal, Params { doorbell, ..Params::default() }, size), alone + doorbell);
        assert_eq!(took(&network, Params::default(), size), alone + pipeline);
    }
}

#[test]
fn a_message_that_joins_at_the_head_goes_before_all_that_wait() {
    // Eight long messages share the link of host 0; a message of one packet starts while they do.
    let took = |joins| {
        let mut flows: Vec<_> = (0..8).map(|_| flow(0, 1, ENDLESS)).collect();
        flows.push(FlowSpec { start: at(Span::from_us(100)), ..flow(0, 1, 1024) });
        let params = Params { joins, ..Params::default() };
        let outcome = run(&star(2, &deep()), params, unlimited(), flows, Span::from_us(200));
        outcome.flows[8].end.expect("it ends").saturating_since(outcome.flows[8].start)
    };
    let (head, tail) = (took(Joins::Head), took(Joins::Tail));
    // A packet of 1106 B takes 221 ns. At the head it waits for the one on the link and perhaps for what is left of a turn; at the tail for
    // eight turns.
    let packet = RATE.time_to_send(Bytes::new(1106));
    let alone = packet * 2 + Span::from_us(2);
    assert!(head <= alone + packet * 2, "{head}");
    assert!(tail >= alone + packet * 7, "{tail}");
}

fn cnps(params: Params, until: Span) -> u64 {
    let network = star(5, &SwitchConfig { marking: dcqcn_marking(), ..deep() });
    let flows = (0..4).map(|host| flow(host, 4, ENDLESS)).collect();
    // Nobody slows down, so that all is marked after a moment.
    let cc = Config::Dcqcn(narrows_proto::cc::dcqcn::Params { min_rate: Some(RATE), ..Default::default() });
    run(&network, params, cc, flows, until).flows.iter().map(|flow| flow.stats.cnps).sum()
}

#[test]
fn a_card_spaces_notifications_for_each_queue_pair_or_for_all_together() {
    let until = Span::from_ms(5);
    let per_pair = cnps(Params::default(), until);
    let per_card = cnps(Params { cnp_per: CnpPer::Nic, ..Params::default() }, until);
    // 5 ms are 100 intervals of 50 us. Less than an interval passes before the queue is at 200 kB, and packets of a flow come every 0.9 us.
    assert!((4 * 97..=4 * 100).contains(&per_pair), "{per_pair}");
    assert!((97..=100).contains(&per_card), "{per_card}");
}

#[test]
fn notifications_that_take_a_while_come_as_often() {
    let until = Span::from_ms(5);
    let delayed = cnps(Params { cnp_delay: Span::from_us(10), ..Params::default() }, until);
    assert!(delayed.abs_diff(cnps(Params::default(), until)) <= 4, "{delayed}");
    // One that takes longer than all there is never comes.
    let late = Params { cnp_delay: Span::from_ms(6), cnp_interval: Span::from_ms(6), ..Params::default() };
    assert_eq!(cnps(late, until), 0);
}

#[test]
fn a_connection_ends_after_as_many_timeouts_as_it_may_have_and_others_go_on() {
    // Nothing reaches host 2: its link loses everything.
    let mut topology = Topology::default();
    let switch = topology.add_switch("switch", "switch", 0);
    let hosts = ["a", "b", "c"].map(|name| topology.add_host(name));
    let wire = narrows_sim::topology::Wire::new(RATE, Span::from_us(1));
    for (host, error_rate) in hosts.into_iter().zip([0.0, 0.0, 1.0]) {
        topology.connect(host, switch, narrows_sim::topology::Wire { error_rate, ..wire });
    }
    let network = network(topology, &deep());
    let params = Params { ack_timeout: Some(4), retry_count: Some(3), ..Params::default() };
    let flows = vec![flow(0, 2, 100_000), flow(0, 1, 100_000)];
    let outcome = Run::new(&network, &traffic(rdma(params, unlimited()), flows)).run();
    // Three times it retransmits all after 65.536 us, and gives up after the fourth.
    assert_eq!(outcome.flows[0].stats.timeouts, 4);
    assert_eq!((outcome.flows[0].end, outcome.flows[0].delivered), (None, Bytes::ZERO));
    assert!(outcome.flows[1].end.is_some());
    let ended = outcome.ended.saturating_since(Time::ZERO);
    assert!((Span::from_us(262)..Span::from_us(400)).contains(&ended), "{ended}");
}

#[test]
fn notifications_of_packets_out_of_sequence_slow_dcqcn_down_where_nothing_marks() {
    let drops = |cnp_on_out_of_sequence| {
        // Of ideal hosts one loses all and one nothing.
        let hosts = Hosts::Real(RealHosts::default());
        let network = Network { hosts, ..star(3, &shallow(100_000)) };
        let params = Params { cnp_on_out_of_sequence, ack_timeout: Some(5), ..Params::default() };
        let flows = vec![flow(0, 2, ENDLESS), flow(1, 2, ENDLESS)];
        let outcome = run(&network, params, dcqcn(), flows, Span::from_ms(20));
        (
            outcome.ports.iter().map(|port| port.dropped()).sum::<u64>(),
            outcome.flows.iter().map(|flow| flow.stats.cnps).sum::<u64>(),
        )
    };
    let ((without, none), (with, some)) = (drops(false), drops(true));
    assert_eq!(none, 0);
    assert!(some > 10);
    // Two at line rate lose half of what they send, 90 000 packets in 20 ms; those that slow down a small part of that.
    assert!(without > 10 * with, "{without} and {with}");
}

#[test]
fn cards_give_the_same_bytes_at_any_number_of_threads() {
    let fingerprint = |threads| {
        let params = Params {
            doorbell: Span::from_ns(700),
            cnp_delay: Span::from_us(3),
            cnp_per: CnpPer::Nic,
            cnp_interval: Span::from_us(4),
            cnp_on_out_of_sequence: true,
            joins: Joins::Head,
            ack_timeout: Some(6),
            retry_count: Some(7),
            ..Params::default()
        };
        let real = RealHosts { pipeline: Span::from_ns(300), ..RealHosts::default() };
        let network = star(9, &SwitchConfig { marking: dcqcn_marking(), ..shallow(150_000) });
        let network = Network { hosts: Hosts::Real(real), ..network };
        let flows = (0..24).map(|n| flow(n % 8, 8, 200_000 + 997 * u64::from(n))).collect();
        let traffic = traffic(rdma(params, dcqcn()), flows);
        Run::new(&network, &traffic).threads(threads).run().fingerprint()
    };
    let alone = fingerprint(1);
    assert_eq!([fingerprint(2), fingerprint(3)], [alone, alone]);
}

#[test]
fn a_rate_is_kept_whatever_the_card_takes() {
    let rate = Some(BitRate::from_gbps(10));
    let cc = Config::Fixed(fixed::Params { rate, ..Default::default() });
    let delivered = |doorbell| {
        let params = Params { doorbell, ..Params::default() };
        let flows = vec![flow(0, 1, ENDLESS)];
        run(&star(2, &deep()), params, cc.clone(), flows, Span::from_ms(2)).flows[0].delivered
    };
    let (without, with) = (delivered(Span::ZERO), delivered(Span::from_us(1)));
    // 1 us of 2 ms.
    assert!(with < without && with.as_f64() > without.as_f64() * 0.999, "{with} of {without}");
}
