//! Controls of RDMA that read delays or telemetry: HPCC keeps queues empty, TIMELY keeps them within its thresholds.

use crate::support::{
    ENDLESS, Run, at, dcqcn, deep, flow, hpcc, link, network, rdma, shallow, telling, traffic, unlimited,
};
use narrows_proto::cc::{Config, timely};
use narrows_proto::rdma::{Params, Recovery};
use narrows_proto::units::{BitRate, Bytes, Span};
use narrows_sim::switch::{Pause, SwitchConfig};
use narrows_sim::topology::{LeafSpine, Star, Topology};
use narrows_sim::traffic::{FlowSpec, Traffic};
use narrows_sim::{Network, PortCounters, Routing};

const GBPS: fn(u64) -> BitRate = BitRate::from_gbps;

pub(crate) fn star(hosts: u32, rate: BitRate, switch: &SwitchConfig) -> Network {
    let mut topology = Topology::default();
    Star { hosts, rate, delay: Span::from_us(1) }.build(&mut topology, "");
    network(topology, switch)
}

/// Flows without an end from as many hosts to the one after them, each `apart` from the one before.
pub(crate) fn flows(control: &Config, count: u32, apart: Span) -> Traffic {
    let one = |host: u32| FlowSpec { start: at(apart * u64::from(host)), ..flow(host, count, ENDLESS) };
    traffic(rdma(Params::default(), control.clone()), (0..count).map(one).collect())
}

/// Use of the link to the last host in the measured time.
pub(crate) struct Measured {
    /// The part of the link in use.
    pub(crate) used: f64,
    pub(crate) mean_queue: f64,
    pub(crate) max_queue: u64,
    /// Of the payload, by flow.
    pub(crate) shares: Vec<f64>,
}

pub(crate) fn measure(network: &Network, traffic: &mut Traffic, from: Span, until: Span) -> Measured {
    traffic.measured = at(from)..at(until);
    let run = Run::new(network, traffic).until(until);
    let to = format!("host{}", traffic.flows.len());
    let link = link(network, "switch", &to);
    let rows = run.ports(Span::from_us(10));
    let rows: Vec<_> = rows.iter().filter(|row| row.link == link && row.start >= at(from)).collect();
    let mean = rows.iter().map(|row| row.mean_backlog).sum::<f64>() / rows.len() as f64;
    let max_queue = rows.iter().map(|row| row.max_backlog).max().unwrap_or(0);
    let outcome = run.run();
    let rate = network.topology.link(link).wire.rate.as_f64();
    let used = outcome.ports[link.index()].measured_bytes as f64 * 8.0 / rate / (until - from).as_secs_f64();
    let delivered: Vec<_> = outcome.flows.iter().map(|flow| flow.delivered_measured.as_f64()).collect();
    let sum: f64 = delivered.iter().sum();
    let shares = delivered.iter().map(|delivered| delivered / sum).collect();
    Measured { used, mean_queue: mean, max_queue, shares }
}

#[test]
fn hpcc_flows_share_a_link_use_95_percent_of_it_and_leave_the_queue_empty() {
    // An empty round trip is 4.21 us: four times 1 us, twice 1148 B and twice 128 B at 100 Gb/s.
    let control = hpcc(Span::from_ns(4_300), 10);
    for count in [1, 2, 3] {
        let network = star(count + 1, GBPS(100), &telling());
        let mut flows = flows(&control, count, Span::from_us(200));
        let found = measure(&network, &mut flows, Span::from_ms(2), Span::from_ms(5));
        // Where W = Wc·eta/U + W_AI stands still, U = eta + n·W_AI/(B·T) = 0.95 + 0.05·n/10. Less of the link is used by what waits
        // when packets of several flows meet, half a packet on average: 574 B of the 53 750 B of B·T are 0.011.
        let most = 0.95 + 0.05 * f64::from(count) / 10.0;
        assert!((most - 0.011..most + 0.001).contains(&found.used), "{count}: {} of {most}", found.used);
        assert!(found.mean_queue < 620.0, "{count}: {} B", found.mean_queue);
        // A packet of each flow.
        assert!(found.max_queue <= 1148 * u64::from(count), "{count}: {} B", found.max_queue);
        // Every scaling takes W_AI/Wc = 1.6 % off the differences between three flows, and adds what the flows measure differently:
        // 128 B in a record are 11 % of the packet between two of them.
        let fair = 1.0 / f64::from(count);
        assert!(found.shares.iter().all(|share| (share / fair - 1.0).abs() < 0.05), "{:?}", found.shares);
    }
}

#[test]
fn hpcc_flows_of_a_few_packets_share_if_w_ai_is_not_lost_in_what_they_measure() {
    // B·T is 11 kB, ten packets: one more or less between two records is a tenth. With N = 100 W_AI is 6 B, 0.2 % of a fair window and
    // 0.06 % of that of a flow that has the link; with N = 10, 56 B.
    let least = |flows| {
        let control = hpcc(Span::from_us(9), flows);
        let network = star(5, GBPS(10), &telling());
        let mut traffic = self::flows(&control, 4, Span::from_ms(1));
        let shares = measure(&network, &mut traffic, Span::from_ms(100), Span::from_ms(200)).shares;
        shares.into_iter().fold(1.0, f64::min)
    };
    let [default, larger] = [100, 10].map(least);
    assert!(default < 0.1, "{default}");
    assert!((larger / 0.25 - 1.0).abs() < 0.05, "{larger}");
}

#[test]
fn a_late_hpcc_flow_costs_its_first_round_trip_and_no_more() {
    let network = star(3, GBPS(100), &telling());
    let control = hpcc(Span::from_ns(4_300), 30);
    let found = measure(&network, &mut flows(&control, 2, Span::from_us(200)), Span::ZERO, Span::from_ms(1));
    // It begins with all of B·T, 53.75 kB, while 95 % of the link are in use.
    assert!(found.max_queue <= 53_750, "{} B", found.max_queue);
    let later =
        measure(&network, &mut flows(&control, 2, Span::from_us(200)), Span::from_us(250), Span::from_ms(1));
    assert!(later.max_queue < 3_000, "{} B", later.max_queue);
}

/// Timely over 10 Gb/s: two flows, the second 2 ms later.
fn two_timely_flows(patched: bool) -> Measured {
    let control = Config::Timely(timely::Params { patched, ..Default::default() });
    let network = star(3, GBPS(10), &deep());
    measure(&network, &mut flows(&control, 2, Span::from_ms(2)), Span::from_ms(100), Span::from_ms(200))
}

#[test]
fn two_patched_timely_flows_meet_at_the_fixed_point() {
    let found = two_timely_flows(true);
    // At 5 Gb/s delta/2 = R·beta/2·error: error = 10 Mb/s / (5 Gb/s·0.008) = 0.25, so the round trip is 62.5 us. 5.91 us of it are
    // the empty path: 4 us, twice 1106 B and 86 B at 10 Gb/s. 56.6 us are 70.7 kB. 1 %: the last differences.
    assert!((found.mean_queue / 70_740.0 - 1.0).abs() < 0.01, "{} B", found.mean_queue);
    assert!(found.used > 0.999, "{}", found.used);
    assert!(found.shares.iter().all(|share| (share - 0.5).abs() < 0.005), "{:?}", found.shares);
}

#[test]
fn two_timely_flows_stay_below_t_high_and_need_not_share_fairly() {
    let found = two_timely_flows(false);
    // 500 us are 625 kB. A queue above 50 us, 55 kB, exists for a moment only: its growth is a gradient.
    assert!(found.max_queue < 100_000, "{} B", found.max_queue);
    assert!(found.used > 0.9, "{}", found.used);
    // Zhu et al. (CoNEXT 2016) §4: it has no fixed point, and where flows end depends on how they began.
    assert!(found.shares.iter().any(|share| (share - 0.5).abs() > 0.1), "{:?}", found.shares);
}

/// Sixteen hosts behind four switches, half of them sending to the last as well.
fn many(switch: &SwitchConfig, control: &Config, params: &Params) -> (Network, Traffic) {
    let mut topology = Topology::default();
    let (host_rate, uplink_rate, delay) = (GBPS(40), GBPS(100), Span::from_us(1));
    LeafSpine { racks: 4, hosts_per_rack: 4, spines: 2, links_per_spine: 1, host_rate, uplink_rate, delay }
        .build(&mut topology, "");
    let all = (0..16).map(|host| flow(host, (host * 7 + 5) % 16, 1_000_000 + 997 * u64::from(host)));
    let mut traffic = traffic(rdma(params.clone(), control.clone()), all.collect());
    traffic.flows.extend((0..8).map(|host| flow(host, 15, 300_000)));
    (network(topology, switch), traffic)
}

fn dropped(ports: &[PortCounters]) -> u64 {
    ports.iter().map(PortCounters::dropped).sum()
}

#[test]
fn any_number_of_threads_gives_the_same_bytes() {
    let control = hpcc(Span::from_us(9), 100);
    let pause = Pause { xoff: Bytes::new(50_000), xon: None, quanta: u16::MAX, frame: Bytes::new(84) };
    for pause in [None, Some(pause)] {
        let (network, traffic) = many(&SwitchConfig { pause, ..telling() }, &control, &Params::default());
        let run = |threads| {
            let outcome = Run::new(&network, &traffic).threads(threads).run();
            (outcome.fingerprint(), outcome.flows, dropped(&outcome.ports))
        };
        let alone = run(1);
        assert!(alone.1.iter().all(|flow| flow.end.is_some()) && alone.2 == 0);
        assert_eq!(run(2), alone);
        assert_eq!(run(3), alone);
    }
}

#[test]
fn packets_keep_their_records_where_some_are_lost_and_sprayed() {
    for recovery in [Recovery::GoBackN, Recovery::SelectiveRepeat] {
        let params = Params { recovery, rto: Span::from_us(500), ..Params::default() };
        let switch = SwitchConfig { buffer: shallow(20_000).buffer, ..telling() };
        let (mut network, traffic) = many(&switch, &hpcc(Span::from_us(9), 100), &params);
        network.routing = Routing::Spray;
        let outcome = Run::new(&network, &traffic).run();
        assert!(dropped(&outcome.ports) > 0);
        assert!(outcome.flows.iter().all(|flow| flow.end.is_some() && flow.delivered == flow.size));
    }
}

#[test]
fn telemetry_changes_nothing_for_those_who_do_not_read_it() {
    let run = |telemetry| {
        let (network, traffic) = many(&SwitchConfig { telemetry, ..telling() }, &dcqcn(), &Params::default());
        let outcome = Run::new(&network, &traffic).run();
        (outcome.fingerprint(), outcome.flows)
    };
    assert_eq!(run(true), run(false));
}

#[test]
fn without_telemetry_an_hpcc_flow_keeps_the_rate_of_its_link() {
    let network = star(3, GBPS(100), &deep());
    let control = hpcc(Span::from_ns(4_300), 30);
    let found = measure(&network, &mut flows(&control, 2, Span::ZERO), Span::ZERO, Span::from_ms(1));
    assert!(found.used > 0.99 && found.max_queue > 50_000, "{}: {} B", found.used, found.max_queue);
}

#[test]
fn packets_with_telemetry_are_42_bytes_larger_and_so_are_their_acknowledgments() {
    let bytes = |control: Config| {
        let network = star(2, GBPS(100), &telling());
        let outcome =
            Run::new(&network, &traffic(rdma(Params::default(), control), vec![flow(0, 1, 10_240)])).run();
        [link(&network, "host0", "switch"), link(&network, "host1", "switch")]
            .map(|link| outcome.ports[link.index()].measured_bytes)
    };
    // Ten packets with 1024 B of payload each.
    assert_eq!(bytes(unlimited()), [11_060, 860]);
    assert_eq!(bytes(hpcc(Span::from_ns(4_300), 30)), [11_480, 1_280]);
}
