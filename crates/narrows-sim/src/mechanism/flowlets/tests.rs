//! Flowlets without a network.

use narrows_proto::units::{Span, Time};

use super::*;
use crate::ids::{FlowId, NodeId};

const PORTS: [u16; 4] = [2, 3, 5, 7];

fn site(pairs: Option<std::sync::Arc<[FlowId]>>) -> RoutingSite {
    RoutingSite { node: NodeId(0), ports: 8, leaves: 2, first_of_pairs: pairs, seed: 1 }
}

fn fork(us: u64, flow: u32) -> Fork<'static> {
    Fork { now: Time::ZERO + Span::from_us(us), flow: FlowId(flow), leaf: 0, ports: &PORTS }
}

fn flowlets() -> FlowletSwitching {
    FlowletSwitching::new(&Flowlets::default(), &site(None))
}

fn choose(flowlets: &mut FlowletSwitching, us: u64, flow: u32) -> u16 {
    flowlets.choose(&fork(us, flow), |_| 0)
}

fn counted(flowlets: &FlowletSwitching) -> FlowletCounters {
    let mut total = FlowletCounters::default();
    for port in 0..8 {
        let mut counters = PortCounters::default();
        flowlets.report(port, &mut counters);
        total.add(&counters.flowlets);
    }
    total
}

#[test]
fn packets_without_a_gap_keep_their_port() {
    let mut flowlets = flowlets();
    let port = choose(&mut flowlets, 0, 9);
    // The gap is 100 us, counted from the last packet.
    assert!((1..50).all(|n| choose(&mut flowlets, 100 * n, 9) == port));
    assert_eq!(counted(&flowlets), FlowletCounters { flowlets: 1, moves: 0 });
}

#[test]
fn after_a_gap_any_port_is_as_likely_as_another() {
    let mut flowlets = flowlets();
    let mut chosen = [0_i32; 8];
    for n in 0..8_000 {
        chosen[usize::from(choose(&mut flowlets, 101 * n, 9))] += 1;
    }
    let FlowletCounters { flowlets, moves } = counted(&flowlets);
    assert_eq!(flowlets, 8_000);
    // Five standard deviations of 8000 draws with probability 1/4, and of as many moves with 3/4.
    assert!(PORTS.iter().all(|port| (chosen[usize::from(*port)] - 2_000).abs() < 194), "{chosen:?}");
    assert!(moves.abs_diff(6_000) < 194, "{moves}");
}

#[test]
fn what_has_aged_is_new_and_does_not_move() {
    let mut flowlets = flowlets();
    for n in 0..100 {
        choose(&mut flowlets, 2_001 * n, 9);
    }
    assert_eq!(counted(&flowlets), FlowletCounters { flowlets: 100, moves: 0 });
}

#[test]
fn a_port_that_leads_there_no_longer_is_not_kept() {
    let mut flowlets = flowlets();
    let port = choose(&mut flowlets, 0, 9);
    let left: Vec<_> = PORTS.into_iter().filter(|other| *other != port).collect();
    let now = Time::ZERO + Span::from_us(1);
    let after = flowlets.choose(&Fork { now, flow: FlowId(9), leaf: 0, ports: &left }, |_| 0);
    assert_ne!(after, port);
    assert_eq!(choose(&mut flowlets, 2, 9), after);
}

#[test]
fn messages_of_a_queue_pair_are_one_flow() {
    let pairs = Some([0, 0, 0, 0, 0, 0, 0, 0].map(FlowId).into());
    let mut flowlets = FlowletSwitching::new(&Flowlets::default(), &site(pairs));
    let port = choose(&mut flowlets, 0, 0);
    assert!((1..8).all(|flow| choose(&mut flowlets, 1, flow) == port));
    assert_eq!(counted(&flowlets).flowlets, 1);
}

#[test]
fn flows_of_one_entry_share_a_flowlet() {
    let settings = Flowlets { table: 1, ..Flowlets::default() };
    let mut flowlets = FlowletSwitching::new(&settings, &site(None));
    let port = choose(&mut flowlets, 0, 1);
    assert!((2..100).all(|flow| choose(&mut flowlets, 1, flow) == port));
}
