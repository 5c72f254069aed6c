use std::collections::{BTreeMap, VecDeque};

use proptest::prelude::*;

use super::*;
use crate::ids::{FlowId, HostId};
use crate::packet::{Fields, Kind, NO_TRAILERS, Packet, Parcel};

const QUANTUM: u32 = 1_514;

fn packet(flow: u32, size: u16, seq: u64, trailers: u8) -> Packet {
    let (flow, to, kind) = (FlowId(flow), HostId(0), Kind::Data);
    Packet::new(Fields { seq, flow, to, size, incarnation: 0, kind, priority: 0, flags: 0, trailers })
}

struct Fixture {
    queues: FlowQueues,
    counters: FlowQueueCounters,
}

impl Fixture {
    fn new(new_first: bool) -> Self {
        Self { queues: FlowQueues::new(1_024, QUANTUM, new_first, 7), counters: FlowQueueCounters::default() }
    }

    fn push(&mut self, flow: u32, size: u16, packets: u64) {
        for seq in 0..packets {
            self.queues.push(Parcel::bare(packet(flow, size, seq, 0)), &mut self.counters);
        }
    }

    /// Flows of the packets that leave next.
    fn leave(&mut self, packets: usize) -> Vec<u32> {
        let mut pop = || {
            let popped = self.queues.pop(&mut NO_TRAILERS.clone());
            self.queues.charge(popped.flow_queue, popped.packet);
            popped.packet.flow().0
        };
        (0..packets).map(|_| pop()).collect()
    }
}

/// RFC 8290 §3: a turn ends when the credits are gone. 1514 B of credits are one packet of 1514 B; of packets of 500 B four at first,
/// which overdraw 486 B, and then three or four, so that the bytes are the same.
#[test]
fn flows_with_small_packets_send_as_many_bytes() {
    let mut fixture = Fixture::new(false);
    fixture.push(1, 1_514, 1_000);
    fixture.push(2, 500, 4_000);
    let left = fixture.leave(4_000);
    let turns: Vec<_> = left.split(|flow| *flow == 1).map(<[u32]>::len).collect();
    assert_eq!(turns[..8], [0, 4, 3, 3, 3, 3, 3, 3]);
    let small = left.iter().filter(|flow| **flow == 2).count() as f64 * 500.0;
    let large = left.iter().filter(|flow| **flow == 1).count() as f64 * 1_514.0;
    // One turn either way.
    assert!((small - large).abs() <= f64::from(QUANTUM) + 500.0, "{small} B and {large} B");
}

#[test]
fn a_flow_that_had_nothing_waiting_goes_before_those_that_had() {
    let mut fixture = Fixture::new(true);
    fixture.push(1, 1_500, 10);
    fixture.push(2, 1_500, 10);
    fixture.leave(4);
    fixture.push(3, 100, 1);
    assert_eq!(fixture.leave(1), [3]);
    let mut fixture = Fixture::new(false);
    fixture.push(1, 1_500, 10);
    fixture.push(2, 1_500, 10);
    fixture.leave(4);
    fixture.push(3, 100, 1);
    assert_ne!(fixture.leave(1), [3], "in plain deficit round robin it waits for its turn");
}

/// RFC 8290 §4.2: it goes to the end of the old ones before it may be new again.
#[test]
fn a_flow_that_comes_back_at_once_cannot_starve_others() {
    let mut fixture = Fixture::new(true);
    fixture.push(1, 1_500, 100);
    fixture.leave(2);
    let mut left = Vec::new();
    for _ in 0..40 {
        fixture.push(2, 1_000, 1);
        left.extend(fixture.leave(1));
    }
    let of_the_other = left.iter().filter(|flow| **flow == 1).count();
    // Two packets of 1000 B overdraw a quantum: then it is the turn of the other.
    assert!(of_the_other >= 13, "{left:?}");
}

#[test]
fn when_the_link_has_been_free_all_flows_are_new_again() {
    let mut fixture = Fixture::new(true);
    fixture.push(1, 1_500, 1);
    fixture.leave(1);
    let of = |fixture: &Fixture| fixture.counters.new;
    let before = of(&fixture);
    fixture.queues.pass(packet(1, 1_500, 0, 0), &mut fixture.counters);
    assert_eq!(of(&fixture), before + 1);
    // What has passed counts: another goes first.
    fixture.push(1, 1_500, 1);
    fixture.push(2, 1_500, 1);
    fixture.queues.pop(&mut NO_TRAILERS.clone());
    assert_eq!(fixture.counters.max_active, 2);
}

/// RFC 8290 §4.1: half of the packets, at most 64, from the head.
#[test]
fn packets_at_the_head_of_the_flow_that_holds_most_give_way() {
    let mut fixture = Fixture::new(true);
    fixture.push(1, 1_500, 40);
    fixture.push(2, 100, 300);
    assert_eq!(fixture.queues.overflow(), 20);
    let dropped = fixture.queues.give_way(&mut NO_TRAILERS.clone()).expect("one waits");
    assert_eq!((dropped.flow(), dropped.seq()), (FlowId(1), 0));
    fixture.push(3, 1_500, 1_000);
    assert_eq!(fixture.queues.overflow(), 64);
}

#[test]
fn a_hundred_flows_seldom_share_a_flow_queue() {
    let mut alone = 0;
    for salt in 0..1_000 {
        let mut queues = FlowQueues::new(1_024, QUANTUM, true, crate::random::mix(salt));
        let mut counters = FlowQueueCounters::default();
        for flow in 0..100 {
            queues.push(Parcel::bare(packet(flow, 100, 0, 0)), &mut counters);
        }
        let popped = queues.pop(&mut NO_TRAILERS.clone());
        alone += u32::from(popped.left == 0);
    }
    // §5.3: 90.78 %; ±3 %: three standard deviations of 1000 trials.
    assert!((880..=938).contains(&alone), "{alone} of 1000");
}

proptest! {
    #[test]
    fn nothing_is_lost_and_every_flow_keeps_its_order(steps in prop::collection::vec((0..4_u8, 0..30_u32, 64..2_000_u16, 0..3_u8), 1..400)) {
        let mut queues = FlowQueues::new(8, 300, true, 3);
        let mut counters = FlowQueueCounters::default();
        let mut model: BTreeMap<u32, VecDeque<u64>> = BTreeMap::new();
        let (mut waiting, mut slots) = (0, NO_TRAILERS);
        for (number, (step, flow, size, extra)) in (0..).zip(steps) {
            let taken = match step {
                0 if waiting > 0 => {
                    let popped = queues.pop(&mut slots);
                    queues.charge(popped.flow_queue, popped.packet);
                    Some(popped.packet)
                }
                1 if waiting > 0 => {
                    prop_assert!(queues.overflow() > 0);
                    queues.give_way(&mut slots)
                }
                _ => {
                    let trailers = [packet(flow, 0, number + 1_000, 0); 2];
                    queues.push(Parcel { packet: packet(flow, size, number, extra), trailers: &trailers }, &mut counters);
                    model.entry(flow).or_default().push_back(number);
                    waiting += 1;
                    None
                }
            };
            if let Some(packet) = taken {
                waiting -= 1;
                let expected = model.get_mut(&packet.flow().0).and_then(VecDeque::pop_front);
                prop_assert_eq!(Some(packet.seq()), expected);
                prop_assert!(slots[..packet.trailers()].iter().all(|slot| slot.seq() == packet.seq() + 1_000));
            }
        }
        prop_assert_eq!(waiting, model.values().map(VecDeque::len).sum::<usize>());
    }
}
