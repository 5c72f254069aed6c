//! Collectives on idle networks that lose nothing, held against formulas: `a` is the latency of a step, one way, a message of `S/n` takes
//! `8S/(nB)`. Headers are added to `S`.

use std::ops::ControlFlow;

use narrows_proto::rdma;
use narrows_proto::rdma::QueuePair;
use narrows_proto::units::{BitRate, Bytes, Span, Time};
use narrows_sim::topology::{CrossDc, Fabric, Star, Topology, Wan};
use narrows_sim::traffic::{Group, Traffic};
use narrows_sim::workload::collectives::{
    Iterations, Part, PartBuilder, Ring, Shape, all_to_all, all_to_all_in_rounds, halving_doubling,
    hierarchical_all_reduce, lay_out, pipeline, ring, tree_all_reduce,
};
use narrows_sim::{Execution, FlowId, GroupId, HostId, Network, Outcome, Purpose, Simulation, Stop, Stream};

use crate::support::{at, deep, group, network, params, rdma, unlimited};

const RATE: BitRate = BitRate::from_gbps(100);
const MTU: u64 = 4096;
/// One acknowledgment for so many packets, so that those do not matter.
const ACK_EVERY: u64 = 64;

fn rdma_params() -> rdma::Params {
    let queue_pair = Some(QueuePair { outstanding: 64 });
    rdma::Params { mtu: Bytes::new(MTU), ack_every: ACK_EVERY, queue_pair, ..rdma::Params::default() }
}

/// A star whose hosts are two links of half `a` apart.
fn star(hosts: u32, a: Span) -> Network {
    let mut topology = Topology::default();
    Star { hosts, rate: RATE, delay: a / 2 }.build(&mut topology, "");
    network(topology, &deep())
}

fn traffic(parts: &[Part], group: Group, count: u32, compute: Span) -> Traffic {
    let hosts: Vec<_> = (0..parts.len() as u32).map(HostId).collect();
    let iterations = Iterations { start: Time::ZERO, compute, count };
    let (ranks, flows) = lay_out(parts, &hosts, GroupId(0), FlowId(0), &iterations);
    Traffic { groups: vec![group], flows, ranks, ..Traffic::default() }
}

fn run_with(network: &Network, traffic: &Traffic, execution: Execution) -> Outcome<()> {
    let simulation = Simulation::new(network, traffic, 1, execution, || ());
    simulation.run(Stop { at: at(Span::from_secs(1)), when_drained: true }, |_| ControlFlow::Continue(()))
}

/// When the last rank had everything in iteration `iteration`.
fn ended(outcome: &Outcome<()>, iteration: u32) -> Span {
    let of = outcome.iterations.iter().filter(|record| record.iteration == iteration);
    of.map(|record| record.ended.expect("complete")).max().expect("begun") - Time::ZERO
}

fn time(network: &Network, parts: &[Part]) -> Span {
    let traffic = traffic(parts, rdma(rdma_params(), unlimited()), 1, Span::ZERO);
    let outcome = run_with(network, &traffic, Execution::default());
    assert_eq!(outcome.iterations.len(), parts.len());
    ended(&outcome, 0)
}

/// Time to send a message with its headers.
fn sent(bytes: u64, rate: BitRate) -> Span {
    let overhead = (rdma_params().headers + rdma_params().framing).get();
    rate.time_to_send(Bytes::new(bytes + bytes.div_ceil(MTU) * overhead))
}

fn shape(ranks: u32, size: u64) -> Shape {
    Shape { ranks, size: Bytes::new(size), chunks: 1, compute: Span::ZERO }
}

/// Within 1 %: a switch stores and forwards a packet, an acknowledgment takes a hundredth of one.
fn assert_close(found: Span, expected: Span) {
    let error = found.as_ps() as f64 / expected.as_ps() as f64 - 1.0;
    assert!(error.abs() < 0.01, "{found}, expected {expected}, off by {:.2} %", 100.0 * error);
}

const MB: u64 = 1_000_000;
const A: Span = Span::from_us(2);

#[test]
fn rings_take_a_latency_and_a_part_per_step() {
    let network = star(8, A);
    let step = A + sent(8 * MB, RATE);
    assert_close(time(&network, &ring(Ring::AllReduce, &shape(8, 64 * MB))), step * 14);
    assert_close(time(&network, &ring(Ring::AllGather, &shape(8, 64 * MB))), step * 7);
    assert_close(time(&network, &ring(Ring::ReduceScatter, &shape(8, 64 * MB))), step * 7);
}

#[test]
fn a_small_ring_keeps_to_the_formula_where_latency_counts() {
    // The packet that the switch stores is 1.6 % of a step of 21 us, so it is part of the latency here.
    let a = Span::from_us(1) + sent(MTU, RATE);
    let found = time(&star(4, Span::from_us(1)), &ring(Ring::AllReduce, &shape(4, MB)));
    assert_close(found, (a + sent(MB / 4, RATE)) * 6);
}

#[test]
fn halving_and_doubling_takes_two_latencies_per_power() {
    let parts: Span = [32, 16, 8].map(|size| sent(size * MB, RATE)).into_iter().sum();
    assert_close(time(&star(8, A), &halving_doubling(&shape(8, 64 * MB))), A * 6 + parts * 2);
}

#[test]
fn all_to_all_takes_one_latency_at_once_and_one_per_round_otherwise() {
    let network = star(8, A);
    let at_once = time(&network, &all_to_all(&shape(8, 64 * MB)));
    assert_close(at_once, A + sent(8 * MB, RATE) * 7);
    let in_rounds = time(&network, &all_to_all_in_rounds(&shape(8, 64 * MB)));
    assert_close(in_rounds, (A + sent(8 * MB, RATE)) * 7);
}

#[test]
fn a_full_tree_takes_a_slot_per_level_up_and_down() {
    // Two children share the link of their parent.
    let slot = A + sent(64 * MB, RATE) * 2;
    assert_close(time(&star(7, A), &tree_all_reduce(&shape(7, 64 * MB))), slot * 4);
}

#[test]
fn chunks_go_down_a_tree_while_others_go_up() {
    // With one child each direction of a link is used once: c + 1 chunks one after the other.
    let chunks = 16;
    let found = time(&star(2, A), &tree_all_reduce(&Shape { chunks, ..shape(2, 64 * MB) }));
    assert_close(found, A * 2 + sent(4 * MB, RATE) * u64::from(chunks + 1));
}

#[test]
fn a_full_tree_with_chunks_is_bound_by_what_inner_ranks_send() {
    // Once up and twice down over one link, which is less than two levels up and two down one after the other.
    let found = time(&star(7, A), &tree_all_reduce(&Shape { chunks: 16, ..shape(7, 64 * MB) }));
    assert!(found >= sent(64 * MB, RATE) * 3, "{found}");
    assert!(found <= sent(64 * MB, RATE) * 8, "{found}");
}

#[test]
fn a_pipeline_idles_for_all_but_one_stage() {
    // (m + p − 1)(forward + backward) of computing, and where messages are small, a latency per boundary and direction.
    let (stages, batches, compute) = (4, 8, Span::from_us(500));
    let parts = pipeline(&Shape { ranks: stages, size: Bytes::new(8 * MTU), chunks: batches, compute });
    let found = time(&star(stages, A), &parts);
    assert_close(found, compute * 2 * u64::from(batches + stages - 1) + (A + sent(MTU, RATE) * 2) * 6);
}

/// Two data centers of eight hosts, 5 ms apart.
fn two_data_centers() -> Network {
    let mut topology = Topology::default();
    let star = Star { hosts: 8, rate: RATE, delay: A / 2 };
    let wan = Wan {
        rate: BitRate::from_gbps(400),
        delay: Span::from_ms(5),
        error_rate: 0.0,
        borders: 1,
        border_rate: Some(BitRate::from_gbps(800)),
        border_delay: Some(Span::ZERO),
    };
    CrossDc { datacenters: 2, fabric: Fabric::Star(star), fabrics: Vec::new(), wan }.build(&mut topology, "");
    network(topology, &deep())
}

#[test]
fn a_hierarchical_all_reduce_crosses_the_wan_once() {
    let inside = (A + sent(8 * MB, RATE)) * 7;
    let across = Span::from_ms(5) + A + sent(8 * 8 * MB, BitRate::from_gbps(400));
    let found = time(&two_data_centers(), &hierarchical_all_reduce(&shape(16, 64 * MB), 2));
    assert_close(found, inside * 2 + across);
}

#[test]
fn a_part_of_a_flat_ring_crosses_the_wan_four_times() {
    let found = time(&two_data_centers(), &ring(Ring::AllReduce, &shape(16, 64 * MB)));
    assert_close(found, Span::from_ms(5) * 4 + A * 30 + sent(4 * MB, RATE) * 30);
}

#[test]
fn iterations_follow_each_other_after_a_time_to_compute() {
    let (network, compute) = (star(4, A), Span::from_ms(1));
    let parts = ring(Ring::AllReduce, &shape(4, 16 * MB));
    let traffic = traffic(&parts, rdma(rdma_params(), unlimited()), 3, compute);
    let outcome = run_with(&network, &traffic, Execution::default());
    let one = compute + (A + sent(4 * MB, RATE)) * 6;
    assert_eq!(outcome.iterations.len(), 3 * 4);
    (0..3).for_each(|iteration| assert_close(ended(&outcome, iteration), one * u64::from(iteration + 1)));
    assert_eq!(outcome.flows.len(), 3 * 4 * 6);
}

#[test]
fn the_time_to_compute_within_a_step_adds_up() {
    let compute = Span::from_us(100);
    let found = time(&star(4, A), &ring(Ring::AllReduce, &Shape { compute, ..shape(4, 16 * MB) }));
    assert_close(found, (A + sent(4 * MB, RATE) + compute) * 6);
}

#[test]
fn threads_and_windows_do_not_change_a_run_with_ranks() {
    let network = two_data_centers();
    let parts = hierarchical_all_reduce(&Shape { chunks: 3, ..shape(16, MB) }, 2);
    for group in [rdma(rdma_params(), unlimited()), group(params(), unlimited())] {
        let traffic = traffic(&parts, group, 2, Span::from_us(10));
        // A run that drains ends with a window; this one ends at a moment.
        let run = |execution| {
            let stop = Stop { at: at(Span::from_ms(40)), when_drained: false };
            Simulation::new(&network, &traffic, 1, execution, || ()).run(stop, |_| ControlFlow::Continue(()))
        };
        let serial = run(Execution::default());
        assert!(serial.iterations.iter().all(|record| record.ended.is_some()));
        for (threads, window_divisor) in [(1, 3), (2, 1), (4, 3)] {
            let other = run(Execution { threads, window_divisor });
            assert_eq!(other.iterations, serial.iterations);
            assert_eq!(other.fingerprint(), serial.fingerprint());
        }
    }
}

#[test]
fn more_messages_than_lanes_arrive_in_order() {
    let parts = ring(Ring::AllReduce, &Shape { chunks: 40, ..shape(3, MB) });
    let outcome = run_with(
        &star(3, A),
        &traffic(&parts, group(params(), unlimited()), 2, Span::ZERO),
        Execution::default(),
    );
    assert_eq!(outcome.flows.len(), 2 * 3 * 4 * 40);
    assert!(outcome.iterations.iter().all(|record| record.ended.is_some()));
}

/// Messages between three ranks, each after some tasks of its sender that come before it.
fn drawn(seed: u64) -> Vec<Part> {
    let mut random = Stream::new(seed, Purpose::Workload, 0);
    let mut builders: [PartBuilder; 3] = Default::default();
    let mut counts = [0_u32; 3];
    for step in 0..300 {
        let from = random.below(3) as usize;
        let to = (from + 1 + random.below(2) as usize) % 3;
        let mut after: Vec<_> =
            (0..random.below(3)).map(|_| random.below(counts[from].max(1).into()) as u32).collect();
        after.retain(|task| *task < counts[from]);
        after.sort_unstable();
        after.dedup();
        let size = Bytes::new(1 + random.below(20_000));
        builders[from].send(step, to as u32, size, &after);
        counts[from] += 1;
        builders[to].receive(step, from as u32, &[]);
        counts[to] += 1;
    }
    let mut parts = Vec::new();
    for builder in builders {
        let part = builder.build(&parts);
        parts.push(part);
    }
    parts
}

#[test]
fn whatever_can_be_done_in_order_ends() {
    for seed in 0..20 {
        let parts = drawn(seed);
        for group in [rdma(rdma_params(), unlimited()), group(params(), unlimited())] {
            let traffic = traffic(&parts, group, 2, Span::from_us(seed));
            let outcome = run_with(&star(3, A), &traffic, Execution::default());
            assert_eq!(outcome.flows.len(), 600, "seed {seed}");
            assert!(outcome.iterations.iter().all(|record| record.ended.is_some()), "seed {seed}");
            assert_eq!(outcome.iterations.len(), 6, "seed {seed}");
        }
    }
}
