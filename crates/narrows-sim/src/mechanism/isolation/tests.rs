//! Decisions of isolation, without a network around them.

use narrows_proto::units::{BitRate, Bytes, Span, Time};

use super::lane::key;
use super::{Isolation, IsolationCounters, JointStop, Marked, Naming, Order, Scheme, Stage};
use crate::ids::{FlowId, HostId, LinkId, NodeId};
use crate::mechanism::at_ports::{AtPorts, Choice, Joined, Joining, PortsSite, View};
use crate::mechanism::{CLASSES, InputLink, SIDE_CLASS};
use crate::network::Network;
use crate::packet::{Control, FIN, Fields, Kind, Packet};
use crate::record::PortCounters;
use crate::switch::{Buffer, Sharing, SwitchConfig};

const SIZE: u16 = 1000;

fn fields(flow: u32) -> Fields {
    let (flow, to, kind) = (FlowId(flow), HostId(7), Kind::Data);
    Fields { seq: 0, flow, to, size: SIZE, incarnation: 0, kind, priority: 0, flags: 0, trailers: 0 }
}

fn packet(flow: u32) -> Packet {
    Packet::new(fields(flow))
}

fn stage(config: &Isolation) -> Stage {
    let link = |link| InputLink {
        link: LinkId(link),
        back: link as usize,
        rate: BitRate::from_gbps(40),
        headroom: Bytes::new(10_000),
        from_host: false,
    };
    let buffer = Buffer { size: Bytes::new(1_000_000), sharing: Sharing::Complete };
    let config = SwitchConfig { isolation: Some(config.clone()), ..SwitchConfig::new(buffer) };
    let (inputs, largest, neighbor) = (&[link(0), link(1)], Bytes::new(SIZE.into()), HostId(9));
    let (node, seed) = (NodeId(0), 1);
    let network = &Network::default();
    let site = PortsSite { network, config: &config, ports: 2, inputs, largest, neighbor, node, seed };
    Stage::new(&site).unwrap()
}

fn at(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

/// An idle port.
fn view(us: u64, port: usize) -> View<'static> {
    View { now: at(us), port, link: LinkId(9), backlogs: &[0; CLASSES], stops: 0 }
}

/// So many bytes wait in the normal queue and in that of isolated flows.
fn waiting(normal: u64, isolated: u64) -> [u64; CLASSES] {
    let mut backlogs = [0; CLASSES];
    (backlogs[0], backlogs[SIDE_CLASS]) = (normal, isolated);
    backlogs
}

/// The neighbor says that a flow is congested.
fn name(stage: &mut Stage, view: View<'_>, flow: u32) {
    let message =
        Packet::new(Fields { seq: key(packet(flow)), kind: Kind::Control(Control::Isolate), ..fields(flow) });
    stage.on_message(view, message, &mut ());
}

/// The switch itself names a flow: a packet of it finds a long queue.
fn isolate(stage: &mut Stage, port: usize, flow: u32) {
    let joining = Joining { packet: packet(flow), from: 0, class: 0, queue: 0, waits: true };
    let long = View { backlogs: &waiting(1 << 20, 0), ..view(0, port) };
    stage.on_enqueue(long, &joining, &mut ());
    // The packet leaves again.
    stage.on_dequeue(view(0, port), Choice { queue: 0, paid: false }, packet(flow), &mut ());
}

/// A packet of an isolated flow comes over link 1 and is to wait behind `before` bytes.
fn store(stage: &mut Stage, us: u64, flow: u32, before: u64, isolated: bool) -> Joined {
    let (queue, class) = (SIDE_CLASS, if isolated { SIDE_CLASS } else { 0 });
    let joining = Joining { packet: packet(flow), from: 1, class, queue, waits: true };
    stage.on_enqueue(View { backlogs: &waiting(0, before), ..view(us, 0) }, &joining, &mut ())
}

/// Messages since the last call: the flow, and whether it is over.
fn messages(stage: &mut Stage) -> Vec<(u64, bool)> {
    let outbox = stage.take_outbox().unwrap_or_default();
    outbox.messages.iter().map(|message| (message.packet.seq(), message.packet.is(FIN))).collect()
}

fn counters(stage: &Stage) -> IsolationCounters {
    let mut counters = PortCounters::default();
    stage.report(0, &mut counters);
    counters.isolation
}

/// The port has its queue for isolated flows.
fn is_isolated(stage: &Stage, flow: u32) -> bool {
    stage.queue_of(0, packet(flow)) == Some(SIDE_CLASS)
}

#[test]
fn a_full_table_leaves_flows_where_they_are_and_counts_them() {
    let mut stage = stage(&Isolation { table: 2, ..Isolation::default() });
    (1..=2).for_each(|flow| isolate(&mut stage, 0, flow));
    isolate(&mut stage, 0, 2);
    assert_eq!((counters(&stage).flows, counters(&stage).refused), (2, 0), "known");
    isolate(&mut stage, 0, 3);
    assert_eq!(counters(&stage).refused, 1);
    assert!(is_isolated(&stage, 2) && !is_isolated(&stage, 3));
    assert_eq!(stage.queue_of(1, packet(2)), None, "at this port only");
}

#[test]
fn the_neighbor_is_notified_when_the_queue_of_the_link_has_grown_and_stopped_when_it_is_full() {
    let mut stage = stage(&Isolation::default());
    isolate(&mut stage, 0, 1);
    messages(&mut stage);
    let mut events = Vec::new();
    let mut was_counted = false;
    for number in 1..=130 {
        // The neighbor has listened by the fiftieth.
        let joined = store(&mut stage, 0, 1, (number - 1) * 1000, number > 50);
        let notified = !messages(&mut stage).is_empty();
        if joined.counted != was_counted || notified || joined.stop {
            events.push((number, joined.counted && !was_counted, notified, joined.stop));
        }
        was_counted = joined.counted;
    }
    // 20 kB at the port, then 20 kB of the link, then 60 kB that came isolated.
    assert_eq!(events, [(21, true, false, false), (41, false, true, false), (111, false, false, true)]);
}

#[test]
fn a_neighbor_is_notified_three_times_and_again_once_it_has_listened() {
    let mut stage = stage(&Isolation { scheme: Scheme::Qcz, ..Isolation::default() });
    isolate(&mut stage, 0, 1);
    messages(&mut stage);
    let mut notified = |us, isolated| {
        store(&mut stage, us, 1, 0, isolated);
        !messages(&mut stage).is_empty()
    };
    assert_eq!(
        [notified(0, false), notified(1, false), notified(10, false), notified(20, false)],
        [true, false, true, true]
    );
    assert!(!notified(100, false), "enough");
    assert!(!notified(200, true));
    assert!(notified(201, false));
}

#[test]
fn each_scheme_ends_isolation_in_its_own_way() {
    let over = |scheme, downstream, isolated, normal, us| {
        let mut stage = stage(&Isolation { scheme, detect: Bytes::new(40_000), ..Isolation::default() });
        isolate(&mut stage, 0, 1);
        if downstream {
            name(&mut stage, View { backlogs: &waiting(1 << 20, 0), ..view(0, 0) }, 1);
        }
        stage.on_stop(View { backlogs: &waiting(normal, isolated), ..view(us, 0) }, &mut ());
        !is_isolated(&stage, 1)
    };
    assert!(over(Scheme::Edvl, true, 20_000, 19_999, 0), "both queues together");
    assert!(!over(Scheme::Edvl, false, 20_000, 20_000, 0));
    assert!(over(Scheme::Dvl, false, 0, 39_999, 0));
    assert!(!over(Scheme::Dvl, false, 1_000, 0, 0));
    assert!(!over(Scheme::Dvl, true, 0, 0, 0), "the neighbor downstream still isolates it");
    assert!(!over(Scheme::Qcz, true, 0, 0, 999_999));
    assert!(over(Scheme::Qcz, true, 0, 0, 1_000_000), "aged");
}

#[test]
fn a_queue_that_is_freed_below_less_than_what_makes_it_congested_stays_between_the_two() {
    let mut stage = stage(&Isolation { free_below: Some(Bytes::new(5_000)), ..Isolation::default() });
    isolate(&mut stage, 0, 1);
    stage.on_stop(View { backlogs: &waiting(2_000, 3_000), ..view(0, 0) }, &mut ());
    assert!(is_isolated(&stage, 1));
    stage.on_stop(View { backlogs: &waiting(2_000, 2_999), ..view(0, 0) }, &mut ());
    assert!(!is_isolated(&stage, 1));
}

#[test]
fn a_queue_that_is_stopped_or_that_a_neighbor_has_just_asked_for_does_not_go() {
    let stopped = View { stops: 1 << SIDE_CLASS, ..view(0, 0) };
    let mut own = stage(&Isolation::default());
    isolate(&mut own, 0, 1);
    own.on_stop(stopped, &mut ());
    assert!(is_isolated(&own, 1));
    own.on_stop(view(0, 0), &mut ());
    assert!(!is_isolated(&own, 1));
    let named = || {
        let mut stage = stage(&Isolation::default());
        name(&mut stage, view(0, 0), 1);
        stage
    };
    let mut asked = named();
    asked.on_stop(view(0, 0), &mut ());
    assert!(is_isolated(&asked, 1), "it was never congested");
    asked.on_timer(View { now: at(100), ..stopped }, &mut ());
    assert!(is_isolated(&asked, 1), "stopped");
    asked.on_timer(view(200, 0), &mut ());
    assert!(!is_isolated(&asked, 1), "nobody needs it");
    let mut congested = named();
    congested.on_stop(View { backlogs: &waiting(0, 20_000), ..view(0, 0) }, &mut ());
    assert!(is_isolated(&congested, 1));
    congested.on_stop(View { backlogs: &waiting(0, 19_999), ..view(0, 0) }, &mut ());
    assert!(!is_isolated(&congested, 1), "it was congested, and is no longer");
}

#[test]
fn neighbors_that_were_notified_are_notified_of_the_end_by_basic_dvl() {
    for (scheme, expected) in [(Scheme::Dvl, vec![(key(packet(1)), true)]), (Scheme::Edvl, vec![])] {
        let (propagate_ingress, propagate_egress) = (Bytes::ZERO, Bytes::ZERO);
        let config = Isolation { scheme, propagate_ingress, propagate_egress, ..Isolation::default() };
        let mut stage = stage(&config);
        (1..=2).for_each(|flow| isolate(&mut stage, 0, flow));
        store(&mut stage, 0, 1, 0, false);
        assert_eq!(messages(&mut stage), [(key(packet(1)), false)]);
        stage.on_dequeue(view(0, 0), Choice { queue: SIDE_CLASS, paid: false }, packet(1), &mut ());
        stage.on_stop(view(0, 0), &mut ());
        assert_eq!(messages(&mut stage), expected);
        assert_eq!(counters(&stage).freed, 1);
    }
}

#[test]
fn isolated_flows_get_their_share() {
    let mut stage = stage(&Isolation { share: 0.2, ..Isolation::default() });
    isolate(&mut stage, 0, 1);
    let both_wait = 1 | 1 << SIDE_CLASS;
    let mut isolated = 0;
    for _ in 0..1000 {
        let choice = stage.choose(0, both_wait, SIZE).unwrap();
        assert_eq!(choice.paid, choice.queue == SIDE_CLASS);
        isolated += u32::from(choice.paid);
        let waits = View { backlogs: &waiting(1000, 1000), ..view(0, 0) };
        stage.on_dequeue(waits, choice, packet(1), &mut ());
    }
    assert_eq!(isolated, 200);
    assert_eq!(stage.choose(0, 1 << SIDE_CLASS, SIZE).map(|choice| choice.paid), Some(false));
    assert_eq!(
        stage.choose(0, both_wait | 1 << 5, SIZE).map(|choice| choice.queue),
        Some(5),
        "higher goes first"
    );
}

/// Packets of these flows join the normal queue of a port one after the other, and wait. Returns who is isolated after each.
fn named(naming: Naming, flows: &[u32]) -> Vec<Vec<u32>> {
    let detect = Bytes::new(4 * u64::from(SIZE));
    let mut stage = stage(&Isolation { naming, detect, ..Isolation::default() });
    let join = |(before, flow): (u64, &u32)| {
        let joining = Joining { packet: packet(*flow), from: 0, class: 0, queue: 0, waits: true };
        let waits = waiting(before * u64::from(SIZE), 0);
        stage.on_enqueue(View { backlogs: &waits, ..view(0, 0) }, &joining, &mut ());
        (0..10).filter(|flow| is_isolated(&stage, *flow)).collect()
    };
    (0..).zip(flows).map(join).collect()
}

#[test]
fn each_policy_names_another_flow_of_a_congested_queue() {
    let none = Vec::new;
    let below = || [none(), none(), none()];
    let flows = [1, 1, 1, 2, 3, 1];
    let [one, crossed] = [vec![vec![1]; 3], vec![vec![2]; 3]];
    let arrivals = vec![vec![2], vec![2, 3], vec![1, 2, 3]];
    assert_eq!(named(Naming::Arrivals, &flows), [below().to_vec(), arrivals].concat());
    assert_eq!(named(Naming::Crossing, &flows), [below().to_vec(), crossed].concat(), "who reaches it");
    assert_eq!(named(Naming::Largest, &flows), [below().to_vec(), one].concat(), "who fills it");
}

#[test]
fn who_is_drawn_waits_in_the_queue() {
    let after = named(Naming::Sampled, &[1, 2, 3, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4]);
    assert!(after[..3].iter().all(Vec::is_empty));
    assert!(after.iter().skip(3).all(|named| named.iter().all(|flow| (1..=4).contains(flow))));
    assert!(after[13].contains(&4), "most of the bytes are its");
}

#[test]
fn a_stop_of_isolated_flows_stops_the_others_while_a_pair_that_counts_is_under_way() {
    let states = |joint_stop, order| {
        let mut stage = stage(&Isolation { joint_stop: Some(joint_stop), order, ..Isolation::default() });
        let join = |stage: &mut Stage, flow, before| {
            let joining = Joining { packet: packet(flow), from: 0, class: 0, queue: 0, waits: true };
            let before = View { backlogs: &waiting(before, 0), ..view(0, 0) };
            stage.on_enqueue(before, &joining, &mut ());
        };
        let leave = |stage: &mut Stage| {
            stage.on_dequeue(view(0, 0), Choice { queue: 0, paid: false }, packet(1), &mut ());
        };
        let others_stop = |stage: &Stage| stage.open(0, 1 << SIDE_CLASS) & 1 == 0;
        // Flow 1 gets the queue, flow 2 joins it later.
        join(&mut stage, 1, 1 << 20);
        let opening = others_stop(&stage);
        join(&mut stage, 2, 1 << 20);
        leave(&mut stage);
        let later = others_stop(&stage);
        leave(&mut stage);
        let between = others_stop(&stage);
        // Flow 3 has a packet to send before those that move back.
        join(&mut stage, 3, 0);
        store(&mut stage, 0, 1, 0, false);
        stage.on_stop(view(0, 0), &mut ());
        [opening, later, between, others_stop(&stage)]
    };
    assert_eq!(states(JointStop::Never, Order::PerFlow), [false, false, false, false]);
    assert_eq!(states(JointStop::WhileClosing, Order::PerFlow), [false, false, false, true]);
    assert_eq!(states(JointStop::WithQueueMarkings, Order::PerFlow), [true, false, false, true]);
    assert_eq!(states(JointStop::WithMarkings, Order::PerFlow), [true, true, false, true]);
    assert_eq!(states(JointStop::WithMarkings, Order::PerQueue), [true, false, false, true]);
}

#[test]
fn marking_looks_at_isolated_flows_alone_if_it_shall() {
    let looks = |mark| {
        let stage = stage(&Isolation { mark, ..Isolation::default() });
        [0, SIDE_CLASS].map(|queue| stage.marks(queue))
    };
    assert_eq!(looks(Marked::All), [true, true]);
    assert_eq!(looks(Marked::Isolated), [false, true]);
}

#[test]
fn the_largest_is_who_fills_the_port_though_it_is_isolated_already() {
    let mut stage = stage(&Isolation { naming: Naming::Largest, ..Isolation::default() });
    isolate(&mut stage, 0, 1);
    for before in 0..5 {
        store(&mut stage, 0, 1, before * u64::from(SIZE), false);
    }
    let mut join = |flow| {
        let joining = Joining { packet: packet(flow), from: 0, class: 0, queue: 0, waits: true };
        let long = View { backlogs: &waiting(1 << 20, 5_000), ..view(0, 0) };
        stage.on_enqueue(long, &joining, &mut ());
        is_isolated(&stage, flow)
    };
    assert_eq!(
        [join(2), join(2), join(2), join(2), join(2)],
        [false; 5],
        "as much as the other, which came first"
    );
    assert!(join(2), "now it has more");
}
