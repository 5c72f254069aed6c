//! Packets that leave a queue: marking at dequeue, sojourn thresholds and CoDel, held against theory.

use crate::support::{ENDLESS, Run, at, dctcp, deep, flow, group, link, network, params, reno, traffic};
use narrows_proto::cc::Config;
use narrows_proto::units::{BitRate, Bytes, Span};
use narrows_sim::observe::PortRow;
use narrows_sim::switch::{
    Buffer, Codel, MarkAt, Marking, Pfc, PortKind, Red, RedAction, Sharing, Sojourn, Step, SwitchConfig,
};
use narrows_sim::topology::{Dumbbell, Topology};
use narrows_sim::{DropCause, Network, Outcome};

const PACKET: u64 = 1538;

fn dumbbell(rate: BitRate, rtt: Span, marking: Marking) -> Network {
    let mut topology = Topology::default();
    let (host_rate, host_delay) = (BitRate::from_gbps(40), Span::from_ns(100));
    let (bottleneck_rate, bottleneck_delay) = (rate, rtt / 2);
    Dumbbell { hosts: 2, host_rate, bottleneck_rate, host_delay, bottleneck_delay }.build(&mut topology, "");
    network(topology, &SwitchConfig { marking, ports: PortKind::Scheduled, ..deep() })
}

/// The bottleneck's rows from `from` to `until`, and what the run left behind.
fn run(network: &Network, cc: &Config, flows: u32, from: Span, until: Span) -> (Vec<PortRow>, Outcome<()>) {
    let flows = (0..flows).map(|host| flow(host, 2 + host, ENDLESS)).collect();
    let traffic = traffic(group(params(), cc.clone()), flows);
    let run = Run::new(network, &traffic).until(until);
    let bottleneck = link(network, "left/switch", "right/switch");
    let rows = run.ports(Span::from_us(100));
    let settled = rows.into_iter().filter(|row| row.link == bottleneck && row.start >= at(from)).collect();
    (settled, run.run())
}

fn deepest(rows: &[PortRow]) -> u64 {
    rows.iter().map(|row| row.max_backlog).max().unwrap_or(0)
}

/// Bytes on the link in relation to what fits it.
fn use_of(rows: &[PortRow], rate: BitRate) -> f64 {
    let bytes: u64 = rows.iter().map(|row| row.bytes).sum();
    bytes as f64 / (rate * (Span::from_us(100) * rows.len() as u64)).as_f64()
}

fn step(mark_at: MarkAt) -> Marking {
    Marking::Step(Step { k: Bytes::new(40 * PACKET).into(), mark_at })
}

const RATE: BitRate = BitRate::from_gbps(10);
const RTT: Span = Span::from_us(100);

#[test]
fn dctcp_under_a_sojourn_threshold_does_as_under_the_step_of_that_length() {
    // A packet that finds K bytes waits K/C, and at most a packet more for what is on the wire: the same packets are marked, so the
    // sawtooth of Alizadeh et al. (SIGCOMM 2010) §3.3 is the same: Qmax = K + N.
    let above = RATE.time_to_send(Bytes::new(40 * PACKET));
    let queue = |marking| {
        let network = dumbbell(RATE, RTT, marking);
        let (rows, _) = run(&network, &dctcp(), 2, Span::from_ms(20), Span::from_ms(60));
        (deepest(&rows) as f64 / PACKET as f64, use_of(&rows, RATE))
    };
    let (step, by_time) = (queue(step(MarkAt::Enqueue)), queue(Marking::Sojourn(Sojourn { above })));
    for (deepest, used) in [step, by_time] {
        assert!((deepest - 42.0).abs() <= 6.0, "Qmax {deepest}, theory 42");
        assert!(used > 0.999, "{used}");
    }
    // One packet for what is on the wire, one for the phase of the flows.
    assert!((step.0 - by_time.0).abs() <= 2.0, "{step:?}, {by_time:?}");
}

#[test]
fn marks_at_dequeue_tell_of_a_queue_that_grows_before_those_at_enqueue() {
    // In slow start a packet marked on arrival waits K/C before it tells of the queue; one that is marked as it leaves does not.
    let deepest_at = |mark_at| {
        let network = dumbbell(RATE, RTT, step(mark_at));
        let (rows, outcome) = run(&network, &dctcp(), 2, Span::ZERO, Span::from_ms(20));
        assert!(outcome.ports.iter().any(|port| port.marks > 0));
        deepest(&rows)
    };
    let (enqueue, dequeue) = (deepest_at(MarkAt::Enqueue), deepest_at(MarkAt::Dequeue));
    // Two windows that double every round trip of RTT + K/C = 149 us grow by C in that time: K/C earlier is at least K/2 less.
    assert!(dequeue + 20 * PACKET < enqueue, "{dequeue} B at dequeue, {enqueue} B at enqueue");
}

#[test]
fn codel_keeps_the_queue_of_reno_near_its_target_and_the_link_busy() {
    // 100 Mb/s and 20 ms: a product of 163 packets. Without anything Reno fills whatever there is; CoDel lets the queue stand at target
    // for an interval at a time. RFC 8289 §4.4: between 5 and 10 % of the round-trip time costs little throughput.
    let (rate, rtt) = (BitRate::from_mbps(100), Span::from_ms(20));
    let queue = |marking| {
        let network = dumbbell(rate, rtt, marking);
        let (rows, outcome) = run(&network, &reno(), 2, Span::from_secs(4), Span::from_secs(16));
        let mean = rows.iter().map(|row| row.mean_backlog).sum::<f64>() / rows.len() as f64;
        let wait = mean * 8.0 / rate.as_f64() * 1e3;
        (wait, use_of(&rows, rate), outcome.drops(DropCause::Codel), outcome)
    };
    let (standing, ..) = queue(Marking::Off);
    assert!(standing > 50.0, "{standing} ms without CoDel");
    for ecn in [false, true] {
        let (wait, used, drops, outcome) = queue(Marking::Codel(Codel { ecn, ..Codel::default() }));
        // The mean of a sawtooth whose lowest points are what CoDel controls: above the target of 5 ms, below twice as much.
        assert!((2.0..10.0).contains(&wait), "ecn {ecn}: {wait} ms");
        assert!(used > 0.95, "ecn {ecn}: {used}");
        // Reno does not use ECN, so that both drop.
        assert!(drops > 0 && outcome.flows.iter().all(|flow| flow.stats.retransmissions >= 1));
    }
}

#[test]
fn codel_with_ecn_marks_and_drops_nothing() {
    let network = dumbbell(
        RATE,
        RTT,
        Marking::Codel(Codel { target: Span::from_us(50), interval: Span::from_us(500), ecn: true }),
    );
    let (rows, outcome) = run(&network, &dctcp(), 2, Span::from_ms(20), Span::from_ms(60));
    assert_eq!(outcome.drops(DropCause::Codel), 0);
    assert!(outcome.ports.iter().any(|port| port.marks > 0));
    assert!(use_of(&rows, RATE) > 0.99);
}

#[test]
fn red_at_dequeue_drops_what_waited_and_every_byte_is_accounted_for() {
    // In a network without loss by class, what is dropped as it leaves gives its memory back: `Switch::finish` and
    // `Outcome::check_balance` check that after every run.
    let red = Red {
        min: Bytes::new(5_000),
        max: Bytes::new(20_000),
        max_p: 0.1,
        weight: 1.0,
        gentle: true,
        spread: true,
        action: RedAction::Drop,
        mark_at: MarkAt::Dequeue,
        at: vec![],
    };
    let mut network = dumbbell(RATE, RTT, Marking::Red(red));
    for switch in network.switches.iter_mut().flatten() {
        switch.buffer = Buffer { size: Bytes::new(2_000_000), sharing: Sharing::Complete };
        switch.pfc = Some(Pfc::default());
    }
    let (_, outcome) = run(&network, &reno(), 2, Span::ZERO, Span::from_ms(50));
    assert!(outcome.drops(DropCause::Red) > 0);
    assert_eq!(outcome.drops(DropCause::BufferFull), 0);
}
