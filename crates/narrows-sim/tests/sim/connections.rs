//! Connections that are kept for the next flow.

use crate::support::{Run, at, deep, flow, group, network, reno, traffic};
use narrows_proto::stream::Params;
use narrows_proto::units::{BitRate, Bytes, Span};
use narrows_sim::topology::{Star, Topology};
use narrows_sim::traffic::FlowSpec;
use narrows_sim::{FlowRecord, GroupId, Network};

/// Three hosts, 10 Gb/s and 10 us from their switch: 40 us and some packets for a round trip.
fn star() -> Network {
    let mut topology = Topology::default();
    Star { hosts: 3, rate: BitRate::from_gbps(10), delay: Span::from_us(10) }.build(&mut topology, "");
    network(topology, &deep())
}

fn keeping() -> Params {
    Params { handshake: true, keep_connections: true, ..crate::support::params() }
}

/// Flows of `size` from host 0 that start at these times, to these hosts.
fn flows(params: Params, size: u64, starts: &[(u64, u32)]) -> Vec<FlowRecord> {
    let specs =
        starts.iter().map(|(us, to)| FlowSpec { start: at(Span::from_us(*us)), ..flow(0, *to, size) });
    Run::new(&star(), &traffic(group(params, reno()), specs.collect())).run().flows
}

fn again(flows: &[FlowRecord]) -> Vec<bool> {
    flows.iter().map(|flow| flow.again).collect()
}

fn fct(flow: &FlowRecord) -> Span {
    flow.end.expect("complete") - flow.start
}

#[test]
fn a_flow_to_the_same_host_saves_the_handshake() {
    let all = flows(keeping(), 1000, &[(0, 1), (1000, 1), (2000, 2)]);
    assert_eq!(again(&all), [false, true, false]);
    // A SYN and its answer, each over two links: 10 us and the time of 90 B on the wire, four times.
    let control = keeping().packet_size(Bytes::ZERO);
    let handshake = (Span::from_us(10) + BitRate::from_gbps(10).time_to_send(control)) * 4;
    assert_eq!(fct(&all[0]) - fct(&all[1]), handshake);
    assert_eq!(fct(&all[0]), fct(&all[2]));
}

#[test]
fn flows_at_once_have_a_connection_each() {
    // The second flow starts while the first is under way, the others when both have ended: two find a connection.
    let all = flows(keeping(), 1_000_000, &[(0, 1), (100, 1), (5_000, 1), (5_010, 1), (5_020, 1)]);
    assert_eq!(again(&all), [false, false, true, true, false]);
}

#[test]
fn the_window_is_what_the_last_flow_left_until_an_idle_time_ends_it() {
    // With the initial window 100 segments wait for answers several times. Idle times are 1 ms and 100 ms, the timeout 5 ms and
    // a round trip.
    let size = 1448 * 100;
    let run = |params, gap| fct(&flows(params, size, &[(0, 1), (gap, 1)])[1]);
    let forever = Params { restart_after_idle: false, ..keeping() };
    let (soon, later) = (run(keeping(), 1_000), run(keeping(), 100_000));
    assert!(soon + Span::from_us(40) < later, "{soon} {later}");
    assert_eq!(run(forever, 100_000), soon);
    // After the idle time it begins like one on a new connection, whose handshake is over.
    let fresh = flows(Params { handshake: false, ..keeping() }, size, &[(0, 1)]);
    assert_eq!(later, fct(&fresh[0]));
}

#[test]
fn groups_do_not_share_connections() {
    let specs = [0, 1].map(|number| FlowSpec {
        start: at(Span::from_ms(number)),
        group: GroupId(number as u32),
        ..flow(0, 1, 1000)
    });
    let mut traffic = traffic(group(keeping(), reno()), specs.to_vec());
    traffic.groups.push(group(keeping(), reno()));
    assert_eq!(again(&Run::new(&star(), &traffic).run().flows), [false, false]);
}

#[test]
fn records_and_recorded_windows_are_of_the_flow_alone() {
    let size = 1448 * 100;
    let specs = [0, 1_000, 2_000].map(|us| FlowSpec { start: at(Span::from_us(us)), ..flow(0, 1, size) });
    let mut traffic = traffic(group(keeping(), reno()), specs.to_vec());
    traffic.measured = at(Span::from_us(500))..at(Span::from_us(1_500));
    let network = star();
    let run = Run::new(&network, &traffic);
    let outcome = run.run();
    assert!(outcome.flows.iter().all(|flow| flow.delivered == Bytes::new(size)));
    let measured: Vec<_> = outcome.flows.iter().map(|flow| flow.delivered_measured.get()).collect();
    assert_eq!(measured, [0, size, 0]);
    let rows = run.windows(Span::from_us(20));
    for number in 0..3 {
        let last = rows.iter().rfind(|row| row.flow.index() == number).expect("it was watched");
        assert!(last.delivered <= Bytes::new(size) && last.delivered > Bytes::ZERO, "{last:?}");
    }
}

#[test]
fn a_setting_that_is_off_changes_nothing() {
    // The first flow to each host is the same either way; nothing is taken over when nothing is kept.
    let starts = [(0, 1), (10, 2), (1_000, 1), (1_000, 2)];
    let off = flows(Params { keep_connections: false, ..keeping() }, 50_000, &starts);
    let on = flows(keeping(), 50_000, &starts);
    assert_eq!(off[..2], on[..2]);
    assert!(off.iter().all(|flow| !flow.again) && on[2..].iter().all(|flow| flow.again));
    let other = Params { keep_connections: false, restart_after_idle: false, ..keeping() };
    assert_eq!(flows(other, 50_000, &starts), off);
}
