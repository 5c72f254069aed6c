//! RackCC: subflows start at their share, share what their rack knows, and leave nothing behind.

use crate::support::{ENDLESS, Run, at, dctcp, flow, group, link, network, shallow, traffic};
use narrows_proto::cc::rackcc::jumbo;
use narrows_proto::cc::{self, Config};
use narrows_proto::stream::Params;
use narrows_proto::units::{BitRate, Bytes, Span, Time};
use narrows_proto::{datagram, rdma};
use narrows_sim::mechanism::rackcc::{AdvertisedRow, JumboFlowRow, RackAgent, RackObserver, RackRecord};
use narrows_sim::switch::{MarkAt, Marking, PortKind, Step, SwitchConfig};
use narrows_sim::topology::{LeafSpine, Topology, Wire};
use narrows_sim::traffic::{FlowSpec, Generator, GeneratorKind, Group, Pause, Traffic, Transport};
use narrows_sim::{Execution, Failure, FlowId, FlowRecord, GroupId, Network, Outage, Outcome};

const GBPS: fn(u64) -> BitRate = BitRate::from_gbps;
const US: Span = Span::from_us(1);
const MS: Span = Span::from_ms(1);

fn rackcc() -> Config {
    Config::Rackcc(cc::rackcc::Params::default())
}

/// Connections with a handshake.
fn params() -> Params {
    Params { min_rto: Span::from_ms(1), initial_rto: Span::from_ms(1), ..Params::default() }
}

/// 75 kB for each port, of which half may wait unmarked.
fn tor(agent: RackAgent) -> SwitchConfig {
    SwitchConfig {
        marking: Marking::Step(Step { k: Bytes::new(37_500).into(), mark_at: MarkAt::Enqueue }),
        ports: PortKind::Scheduled,
        rackcc: Some(agent),
        ..shallow(75_000)
    }
}

/// Racks of ten hosts whose uplinks of 10 Gb/s are the bottleneck; 60 us there and back.
fn racks(racks: u32, uplink: u64, spines: u32, agent: RackAgent) -> Network {
    let mut topology = Topology::default();
    LeafSpine {
        racks,
        hosts_per_rack: 10,
        spines,
        links_per_spine: 1,
        host_rate: GBPS(10),
        uplink_rate: GBPS(uplink),
        delay: US * 6,
    }
    .build(&mut topology, "");
    network(topology, &tor(agent))
}

/// One flow from each of `hosts` hosts of the first rack to the host opposite in the second, at these times.
fn across(starts: &[Span], size: u64) -> Vec<FlowSpec> {
    let flow = |(number, start): (usize, &Span)| {
        let host = (number % 10) as u32;
        FlowSpec { start: at(*start), ..flow(host, 10 + host, size) }
    };
    starts.iter().enumerate().map(flow).collect()
}

fn share(flows: &[FlowRecord], of: impl Fn(&FlowRecord) -> bool) -> Vec<f64> {
    flows.iter().filter(|flow| of(flow)).map(|flow| flow.delivered_measured.as_f64()).collect()
}

/// Standard deviation over mean.
fn variation(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len() as f64;
    variance.sqrt() / mean
}

fn observed(run: &Run<'_>) -> (Vec<JumboFlowRow>, Vec<AdvertisedRow>, Outcome<RackObserver>) {
    let topology = &run.network.topology;
    let nodes: Vec<_> = (0..topology.nodes().len()).map(narrows_sim::NodeId::from).collect();
    let mut outcome = run.observed(|| RackObserver::new(Span::from_ns(1), nodes.len(), &nodes));
    let (jumboflows, advertised) = RackObserver::finish(std::mem::take(&mut outcome.observers));
    (jumboflows, advertised, outcome)
}

#[test]
fn a_jumboflow_takes_as_much_as_as_many_flows_of_dctcp_and_shares_it_more_evenly() {
    // Two racks send to a third; its downlink is the bottleneck.
    let network = racks(3, 10, 1, RackAgent::default());
    for subflows in [5, 10] {
        let spread = |first: u32| {
            (0..subflows).map(move |number| FlowSpec {
                group: GroupId(first / 10),
                start: at(US * (37 * u64::from(number))),
                ..flow(first + number, 20 + number, ENDLESS)
            })
        };
        let traffic = Traffic {
            groups: vec![group(params(), rackcc()), group(params(), dctcp())],
            flows: spread(0).chain(spread(10)).collect(),
            measured: at(MS * 20)..at(MS * 200),
            ..Traffic::default()
        };
        let (mut ratios, mut spreads) = (Vec::new(), Vec::new());
        for seed in 1..=3 {
            let outcome = Run::new(&network, &traffic).until(MS * 200).seed(seed).run();
            let [shared, alone] =
                [0, 1].map(|group| share(&outcome.flows, |flow| flow.flow.0 / subflows == group));
            ratios.push(shared.iter().sum::<f64>() / alone.iter().sum::<f64>());
            spreads.push(variation(&shared) / variation(&alone));
        }
        let ratio = ratios.iter().sum::<f64>() / 3.0;
        assert!((0.67..1.5).contains(&ratio), "{subflows} subflows: {ratios:?}");
        let spread = spreads.iter().sum::<f64>() / 3.0;
        assert!(spread < 1.0, "{subflows} subflows: {spreads:?}");
    }
}

#[test]
fn new_subflows_start_at_their_share_and_the_others_make_room_within_a_period() {
    // Four flows have the uplink; four more join.
    let network = racks(2, 10, 1, RackAgent::default());
    let joins = MS * 30;
    let mut starts: Vec<_> = (0..4).map(|flow| US * (29 * flow)).collect();
    starts.extend([joins; 4]);
    let traffic = traffic(group(params(), rackcc()), across(&starts, ENDLESS));
    let windows = Run::new(&network, &traffic).until(MS * 40).windows(Span::from_ns(1));
    let rate = |flow: u32, from: Time, until: Time| {
        let rows = windows.iter().filter(|row| row.flow == FlowId(flow) && (from..until).contains(&row.at));
        // Packets of a window leave faster than its rate.
        let factor = cc::rackcc::Params::default().pacing * 1e9;
        rows.filter_map(|row| row.pacing).map(|rate| rate.as_f64() / factor).collect::<Vec<_>>()
    };
    // The handshake takes a round trip, up to 120 us with a full queue; a period is 10 us.
    let settled = at(joins) + US * 200;
    let first_rate = |flow| rate(flow, at(joins), settled).first().copied().unwrap();
    let all_new: f64 = (4..8).map(first_rate).sum();
    // T/(N + M) for each: half of the link for all four.
    assert!((3.5..6.0).contains(&all_new), "new subflows begin with {all_new} Gb/s together");
    let mean = |rates: &[f64]| rates.iter().sum::<f64>() / rates.len() as f64;
    let before: f64 = (0..4).map(|flow| mean(&rate(flow, at(joins - MS), at(joins)))).sum();
    let after: f64 = (0..4).map(|flow| mean(&rate(flow, settled, settled + MS))).sum();
    assert!((0.35..0.65).contains(&(after / before)), "the others went from {before} to {after} Gb/s");
    // And nobody has to look for its share: from its first millisecond on a new subflow has about what the others have.
    let new: f64 = (4..8).map(|flow| mean(&rate(flow, settled, settled + MS))).sum();
    assert!((0.7..1.4).contains(&(new / after)), "{new} and {after} Gb/s");
}

#[test]
fn inside_a_rack_a_subflow_has_its_link_from_the_handshake_on() {
    let network = racks(2, 10, 1, RackAgent::default());
    let size = 10_000_000;
    for handshake in [true, false] {
        let params = Params { handshake, ..params() };
        let outcome = Run::new(&network, &traffic(group(params, rackcc()), vec![flow(0, 1, size)])).run();
        let took = outcome.flows[0].end.expect("complete") - Time::ZERO;
        // 8 ms of payload, 5.3 % of headers, and two round trips of 24 us.
        assert!(took < Span::from_us(8_600), "{took}");
    }
}

#[test]
fn an_answer_to_a_syn_that_leaves_later_brings_the_same_along() {
    let network = racks(2, 10, 1, RackAgent::default());
    let [at_once, later] = [Span::ZERO, Span::from_us(50)].map(|syn_ack_delay| {
        let group = group(Params { syn_ack_delay, ..params() }, rackcc());
        let outcome = Run::new(&network, &traffic(group, vec![flow(0, 1, 10_000_000)])).run();
        outcome.flows[0].end.expect("complete") - Time::ZERO
    });
    // Rates of the rack are those of its last period, 10 us.
    let more = later - at_once;
    assert!((40..=60).contains(&(more.as_ps() / 1_000_000)), "{more}");
}

#[test]
fn short_flows_beside_long_ones_end_sooner_than_with_slow_start() {
    let network = racks(2, 10, 1, RackAgent::default());
    let mut starts: Vec<_> = (0..5).map(|flow| US * (29 * flow)).collect();
    let short = 40;
    starts.extend((0..short).map(|flow| MS * 10 + MS * flow));
    let times = |cc: Config| {
        let mut flows = across(&starts, ENDLESS);
        flows.iter_mut().skip(5).for_each(|flow| flow.size = Bytes::new(100_000));
        let traffic = traffic(group(params(), cc), flows);
        let outcome = Run::new(&network, &traffic).until(MS * 80).run();
        let times = outcome.flows.iter().skip(5).map(|flow| (flow.end.unwrap() - flow.start).as_secs_f64());
        times.sum::<f64>() / short as f64
    };
    let (shared, alone) = (times(rackcc()), times(dctcp()));
    assert!(shared < 0.9 * alone, "{shared} s with RackCC, {alone} s with DCTCP");
}

fn left(record: RackRecord) -> u64 {
    record.left
}

#[test]
fn when_all_flows_have_ended_nobody_is_registered() {
    let network = racks(2, 10, 1, RackAgent::default());
    let starts: Vec<_> = (0..100).map(|flow| US * (23 * flow)).collect();
    let traffic = traffic(group(params(), rackcc()), across(&starts, 30_000));
    let outcome = Run::new(&network, &traffic).until(MS * 20).run();
    assert!(outcome.flows.iter().all(|flow| flow.end.is_some()));
    let RackRecord { registered, unregistered, expired, .. } = outcome.mechanisms.rackcc;
    assert_eq!((registered, unregistered, expired, left(outcome.mechanisms.rackcc)), (100, 100, 0, 0));
}

#[test]
fn lost_messages_leave_no_share_behind() {
    // One packet in 50 is lost on each link of a host: broadcasts, registrations, ends, advertisements.
    let mut topology = Topology::default();
    let fabric = LeafSpine {
        racks: 2,
        hosts_per_rack: 10,
        spines: 1,
        links_per_spine: 1,
        host_rate: GBPS(10),
        uplink_rate: GBPS(10),
        delay: US * 6,
    };
    fabric.build_with_errors(&mut topology);
    let network = network(topology, &tor(RackAgent::default()));
    let starts: Vec<_> = (0..300).map(|flow| US * (31 * flow)).collect();
    let traffic = traffic(group(params(), rackcc()), across(&starts, 30_000));
    let outcome = Run::new(&network, &traffic).until(MS * 200).run();
    assert!(outcome.flows.iter().all(|flow| flow.end.is_some()), "a flow is stuck");
    assert!(outcome.mechanisms.rackcc.expired > 0, "no message about an end was lost");
    assert_eq!(left(outcome.mechanisms.rackcc), 0, "{:?}", outcome.mechanisms.rackcc);
}

trait WithErrors {
    fn build_with_errors(self, topology: &mut Topology);
}

impl WithErrors for LeafSpine {
    /// Its host links lose one packet in 50.
    fn build_with_errors(self, topology: &mut Topology) {
        let spine = topology.add_switch("spine0", "spine", 1);
        for rack in 0..self.racks {
            let tor = topology.add_switch(format!("rack{rack}/tor"), "tor", 0);
            topology.connect(tor, spine, Wire { rate: self.uplink_rate, delay: self.delay, error_rate: 0.0 });
            for host in 0..self.hosts_per_rack {
                let host = topology.add_host(format!("rack{rack}/host{host}"));
                topology.connect(
                    host,
                    tor,
                    Wire { rate: self.host_rate, delay: self.delay, error_rate: 0.02 },
                );
            }
        }
    }
}

#[test]
fn the_share_of_a_host_that_crashes_goes_to_the_others() {
    let mut network = racks(2, 10, 1, RackAgent::default());
    let dead = link(&network, "rack0/host0", "rack0/tor");
    let outage = Outage { from: at(MS * 30), until: Time::NEVER };
    network.failures = vec![Failure { link: dead, outage, reroute_after: Span::MAX }];
    let starts: Vec<_> = (0..4).map(|flow| US * (29 * flow)).collect();
    let traffic = traffic(group(params(), rackcc()), across(&starts, ENDLESS));
    let (reports, _, outcome) = observed(&Run::new(&network, &traffic).until(MS * 80));
    let subflows = |time: Time| reports.iter().rev().find(|row| row.at <= time).unwrap().report.subflows;
    // Registrations expire 10 ms after the last packet, and are looked through four times in that time.
    assert_eq!((subflows(at(MS * 30)), subflows(at(MS * 45))), (4, 3));
    assert_eq!((outcome.mechanisms.rackcc.expired, left(outcome.mechanisms.rackcc)), (1, 3));
    let throughput = reports.last().unwrap().report.throughput.as_f64() / 1e9;
    assert!(throughput > 9.0, "{throughput} Gb/s");
}

#[test]
fn subflows_beyond_the_table_are_counted_and_still_served() {
    let network = racks(2, 10, 1, RackAgent { table: 3, ..RackAgent::default() });
    let starts: Vec<_> = (0..8).map(|flow| US * (29 * flow)).collect();
    let traffic = traffic(group(params(), rackcc()), across(&starts, 300_000));
    let outcome = Run::new(&network, &traffic).run();
    assert!(outcome.mechanisms.rackcc.refused > 0);
    assert!(outcome.flows.iter().all(|flow| flow.end.is_some()));
}

#[test]
fn the_last_hop_marks_no_subflow_but_marks_others() {
    // Two hosts send to one: only its access link is congested.
    let network = racks(2, 100, 1, RackAgent::default());
    let marks = |cc: Config, agent: RackAgent| {
        let network = Network { switches: racks(2, 100, 1, agent).switches, ..network.clone() };
        let flows = vec![flow(0, 10, 3_000_000), flow(1, 10, 3_000_000)];
        let outcome = Run::new(&network, &traffic(group(params(), cc), flows)).run();
        outcome.ports[link(&network, "rack1/tor", "rack1/host0").index()].marks
    };
    assert_eq!(marks(rackcc(), RackAgent::default()), 0);
    assert!(marks(dctcp(), RackAgent::default()) > 0);
    assert!(marks(rackcc(), RackAgent { mark_last_hop: true, ..RackAgent::default() }) > 0);
}

#[test]
fn what_destinations_advertise_converges_to_the_max_min_share_when_flows_come_and_go() {
    // 2, then 8, then 2 flows from as many hosts to one destination; nothing else is congested.
    let network = racks(2, 100, 1, RackAgent::default());
    let flow_of = |number: u32, start: Span, size| FlowSpec { start: at(start), ..flow(number, 10, size) };
    let mut flows: Vec<_> = (0..2).map(|number| flow_of(number, Span::ZERO, ENDLESS)).collect();
    // Of 10 Gb/s each of eight has 1.25: 6 MB in 40 ms.
    flows.extend((2..8).map(|number| flow_of(number, MS * 40, 6_000_000)));
    let traffic = traffic(group(params(), rackcc()), flows);
    let (_, advertised, _) = observed(&Run::new(&network, &traffic).until(MS * 140));
    let mean = |from: u64, until: u64| {
        let rows = advertised.iter().filter(|row| (at(MS * from)..at(MS * until)).contains(&row.at));
        let rates: Vec<_> = rows.map(|row| row.rate.as_f64() / 1e9).collect();
        rates.iter().sum::<f64>() / rates.len() as f64
    };
    for (from, until, flows) in [(20, 40, 2.0), (60, 75, 8.0), (120, 140, 2.0)] {
        let (found, expected) = (mean(from, until), 10.0 / flows);
        assert!(
            (found / expected - 1.0).abs() < 0.1,
            "{found} instead of {expected} Gb/s with {flows} flows"
        );
    }
}

#[test]
fn rates_of_2_6_and_10_on_a_link_of_10_give_2_4_and_4() {
    // RackCC §3.2: the access links of three destinations allow 2, 6 and 10 Gb/s.
    let mut topology = Topology::default();
    let spine = topology.add_switch("spine0", "spine", 1);
    let mut rack = |name: &str, rates: &[u64]| {
        let tor = topology.add_switch(format!("{name}/tor"), "tor", 0);
        topology.connect(tor, spine, Wire { rate: GBPS(100), delay: US * 6, error_rate: 0.0 });
        for (number, rate) in rates.iter().enumerate() {
            let host = topology.add_host(format!("{name}/host{number}"));
            topology.connect(host, tor, Wire { rate: GBPS(*rate), delay: US * 6, error_rate: 0.0 });
        }
    };
    rack("rack0", &[10]);
    rack("rack1", &[2, 6, 10]);
    let network = network(topology, &tor(RackAgent::default()));
    let flows = (1..4).map(|to| flow(0, to, ENDLESS)).collect();
    let mut traffic = traffic(group(params(), rackcc()), flows);
    traffic.measured = at(MS * 50)..at(MS * 100);
    let outcome = Run::new(&network, &traffic).until(MS * 100).run();
    let rates =
        share(&outcome.flows, |_| true).into_iter().map(|bytes| bytes * 8.0 / 50e-3 / 1e9 * 1538.0 / 1448.0);
    let rates: Vec<_> = rates.collect();
    for (found, expected) in rates.iter().zip([2.0, 4.0, 4.0]) {
        assert!((found / expected - 1.0).abs() < 0.05, "{rates:?} Gb/s");
    }
}

#[test]
fn a_subflow_that_its_access_link_holds_back_keeps_its_share() {
    // One of two destinations has 1 Gb/s: the other flow takes what it leaves of the uplink, and it does not grow meanwhile.
    let mut topology = Topology::default();
    let spine = topology.add_switch("spine0", "spine", 1);
    for (name, rates) in [("rack0", [10, 10]), ("rack1", [1, 10])] {
        let tor = topology.add_switch(format!("{name}/tor"), "tor", 0);
        topology.connect(tor, spine, Wire { rate: GBPS(5), delay: US * 6, error_rate: 0.0 });
        for (number, rate) in rates.into_iter().enumerate() {
            let host = topology.add_host(format!("{name}/host{number}"));
            topology.connect(host, tor, Wire { rate: GBPS(rate), delay: US * 6, error_rate: 0.0 });
        }
    }
    let network = network(topology, &tor(RackAgent::default()));
    let mut traffic = traffic(group(params(), rackcc()), vec![flow(0, 2, ENDLESS), flow(1, 3, ENDLESS)]);
    traffic.measured = at(MS * 50)..at(MS * 150);
    let outcome = Run::new(&network, &traffic).until(MS * 150).run();
    let rates: Vec<_> =
        share(&outcome.flows, |_| true).iter().map(|bytes| bytes * 8.0 / 100e-3 / 1e9).collect();
    assert!((0.8..1.0).contains(&rates[0]) && (3.4..4.1).contains(&rates[1]), "{rates:?} Gb/s");
}

#[test]
fn datagrams_keep_to_their_share() {
    // A source of 8 Gb/s beside three streams at an uplink of 10.
    let network = racks(2, 10, 1, RackAgent::default());
    let share_of = |cc: Option<Config>| {
        let transport = Transport::Datagram { params: datagram::Params::default(), rate: GBPS(8), cc };
        let source = Group { name: "udp".into(), transport, priority: 0, near_source: None };
        let mut flows = across(&[US, US * 50, US * 90], ENDLESS);
        flows.push(FlowSpec { group: GroupId(1), start: Time::NEVER, ..flow(5, 15, 0) });
        let (on, off) = (Pause::Constant(MS * 200), Pause::Constant(MS));
        let kind = GeneratorKind::OnOff { flow: FlowId(3), on, off };
        let traffic = Traffic {
            groups: vec![group(params(), rackcc()), source],
            flows,
            generators: vec![Generator { kind, start: at(MS), until: at(MS * 100) }],
            ..Traffic::default()
        };
        let outcome = Run::new(&network, &traffic).until(MS * 100).run();
        outcome.datagrams[0].received_bytes.as_f64() * 8.0 / 100e-3 / 1e9
    };
    let fair = share_of(Some(rackcc()));
    assert!((1.5..3.5).contains(&fair), "{fair} Gb/s");
    assert!(share_of(None) > 7.0);
}

#[test]
fn several_jumboflows_use_several_paths_and_new_subflows_avoid_the_congested_one() {
    // Two spines; one of them also carries 9 Gb/s of datagrams of another rack.
    let agent = RackAgent { jumboflows: 2, ..RackAgent::default() };
    let network = racks(3, 10, 2, agent);
    let starts: Vec<_> = (0..10).map(|flow| MS * (2 * flow)).collect();
    let mut flows = across(&starts, ENDLESS);
    let udp = Transport::Datagram { params: datagram::Params::default(), rate: GBPS(9), cc: None };
    flows.push(FlowSpec { group: GroupId(1), start: Time::NEVER, ..flow(20, 19, 0) });
    let kind =
        GeneratorKind::OnOff { flow: FlowId(10), on: Pause::Constant(MS * 900), off: Pause::Constant(MS) };
    let traffic = Traffic {
        groups: vec![
            group(params(), rackcc()),
            Group { name: "udp".into(), transport: udp, priority: 0, near_source: None },
        ],
        flows,
        generators: vec![Generator { kind, start: Time::ZERO, until: at(MS * 60) }],
        ..Traffic::default()
    };
    let (reports, _, outcome) = observed(&Run::new(&network, &traffic).until(MS * 60));
    let last =
        |number: u32| reports.iter().rev().find(|row| row.number == number).map(|row| row.report.subflows);
    let busy = |spine: &str| outcome.ports[link(&network, "rack2/tor", spine).index()].packets;
    let [used, free] = if busy("spine0") > busy("spine1") { [0, 1] } else { [1, 0] };
    assert!(last(free) > last(used), "{:?} on the free path, {:?} beside datagrams", last(free), last(used));
    assert_eq!(last(free).unwrap_or(0) + last(used).unwrap_or(0), 10);
}

#[test]
fn rdma_and_streams_without_a_handshake_register_themselves() {
    let network = racks(2, 10, 1, RackAgent::default());
    let starts: Vec<_> = (0..6).map(|flow| US * (29 * flow)).collect();
    let plain = group(Params { handshake: false, ..params() }, rackcc());
    for group in [plain, crate::support::rdma(rdma::Params { rto: MS, ..Default::default() }, rackcc())] {
        let outcome = Run::new(&network, &traffic(group, across(&starts, 1_000_000))).until(MS * 40).run();
        assert!(outcome.flows.iter().all(|flow| flow.end.is_some()));
        let RackRecord { registered, late, .. } = outcome.mechanisms.rackcc;
        assert_eq!(
            (registered, late, left(outcome.mechanisms.rackcc)),
            (6, 0, 0),
            "{:?}",
            outcome.mechanisms.rackcc
        );
    }
}

#[test]
fn a_longer_period_slows_the_answer_to_marks() {
    // The peak queue while five flows find their shares: hosts that are notified late cut late.
    let deepest = |period: u64| {
        let jumboflow = jumbo::Params { period: US * period, ..Default::default() };
        let network = racks(2, 10, 1, RackAgent { jumboflow, ..RackAgent::default() });
        let starts: Vec<_> = (0..5).map(|flow| US * (29 * flow)).collect();
        let traffic = traffic(group(params(), rackcc()), across(&starts, ENDLESS));
        let rows = Run::new(&network, &traffic).until(MS * 60).ports(US * 100);
        let port = link(&network, "rack0/tor", "spine0");
        let queues = rows.iter().filter(|row| row.link == port && row.start > at(MS * 20));
        let queues: Vec<_> = queues.map(|row| row.mean_backlog).collect();
        variation(&queues)
    };
    assert!(deepest(10) < deepest(500));
}

#[test]
fn subflows_go_the_same_way_at_any_number_of_threads_and_for_any_window() {
    let agent = RackAgent { jumboflows: 2, table: 60, ..RackAgent::default() };
    let network = racks(4, 10, 2, agent);
    let flows: Vec<_> = (0..160_u32)
        .map(|number| {
            let (from, to) = (number % 40, (number * 7 + 13) % 40);
            let to = if from == to { (to + 10) % 40 } else { to };
            FlowSpec {
                start: at(US * (11 * u64::from(number))),
                ..flow(from, to, 20_000 + 500 * u64::from(number))
            }
        })
        .collect();
    let traffic = traffic(group(params(), rackcc()), flows);
    let run = |threads, window_divisor| {
        let execution = Execution { threads, window_divisor };
        let run = Run { execution, ..Run::new(&network, &traffic).until(MS * 30) };
        let (reports, advertised, outcome) = observed(&run);
        (reports, advertised, outcome.mechanisms.rackcc, outcome.flows, outcome.ports)
    };
    let one = run(1, 1);
    assert!(one.2.registered > 100 && one.2.advertisements > 0 && one.2.reports > 0);
    for (threads, divisor) in [(2, 1), (3, 1), (1, 2), (2, 3)] {
        assert_eq!(run(threads, divisor), one, "{threads} threads, 1/{divisor} of the window");
    }
}

#[test]
fn a_switch_without_subflows_notifies_nobody() {
    let network = racks(2, 10, 1, RackAgent::default());
    let plain = Network {
        switches: network
            .switches
            .iter()
            .map(|s| s.clone().map(|s| SwitchConfig { rackcc: None, ..s }))
            .collect(),
        ..network.clone()
    };
    let traffic = traffic(group(params(), dctcp()), across(&[US; 10], 200_000));
    let [with, without] = [&network, &plain].map(|network| Run::new(network, &traffic).run());
    assert_eq!((with.flows, with.ports), (without.flows, without.ports));
    assert_eq!(with.mechanisms.rackcc, RackRecord::default());
}
