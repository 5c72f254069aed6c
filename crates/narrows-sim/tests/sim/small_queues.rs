//! Queues of hosts in front of their network cards: who waits there, how long, and behind whom.

use crate::support::{
    ENDLESS, Run, SECOND, deep, flow, group, link, network, params, rdma, signaling, traffic, window,
};
use narrows_proto::cc;
use narrows_proto::stream::{Params, Segmentation};
use narrows_proto::units::{BitRate, Bytes, Span};
use narrows_sim::switch::{CongestionPoint, Pfc, SwitchConfig, Xoff};
use narrows_sim::topology::{Star, Topology};
use narrows_sim::traffic::FlowSpec;
use narrows_sim::{Hosts, Network, Processing, RealHosts, SmallQueues};

const MSS: u64 = 1448;
const RATE: BitRate = BitRate::from_mbps(100);
/// Segments of a burst of 64 KiB.
const BURST: f64 = 45.0;

/// Time of a full packet on a link, in seconds.
fn packet() -> f64 {
    RATE.time_to_send(Bytes::new(1538)).as_secs_f64()
}

/// Hosts that differ from ideal ones by their queue alone.
fn hosts(small_queues: Option<SmallQueues>) -> Hosts {
    let processing = Processing::None;
    Hosts::Real(RealHosts { processing, clock_ppm: 0, small_queues, ..RealHosts::default() })
}

fn star(hosts: u32, switch: &SwitchConfig, small_queues: Option<SmallQueues>) -> Network {
    let mut topology = Topology::default();
    Star { hosts, rate: RATE, delay: Span::from_us(20) }.build(&mut topology, "");
    Network { hosts: self::hosts(small_queues), ..network(topology, switch) }
}

/// Full bursts at any rate.
fn bursts() -> Params {
    let segmentation = Some(Segmentation { least: 45, ..Segmentation::default() });
    Params { segmentation, ..params() }
}

/// Mean of the smoothed round-trip time of flow 0 after a second, in packet times, and what it has delivered.
fn round_trip(small_queues: Option<SmallQueues>, flows: Vec<FlowSpec>) -> (f64, u64) {
    let network = star(2, &deep(), small_queues);
    let traffic = traffic(group(bursts(), window(200 * MSS)), flows);
    let run = Run::new(&network, &traffic).until(SECOND * 3);
    let rows: Vec<_> = run.windows(Span::from_us(1_300)).into_iter().filter(|row| row.flow.0 == 0).collect();
    let late: Vec<_> = rows.iter().skip(rows.len() / 3).map(|row| row.srtt.as_secs_f64()).collect();
    let delivered = run.run().flows[0].delivered.get();
    (late.iter().sum::<f64>() / late.len() as f64 / packet(), delivered)
}

#[test]
fn a_flow_that_its_own_link_limits_waits_in_its_host() {
    let alone = || vec![flow(0, 1, ENDLESS)];
    let (none, without) = round_trip(None, alone());
    let (card, with) = round_trip(Some(SmallQueues::default()), alone());
    let memory = Some(Bytes::new(2304));
    let (kernel, _) =
        round_trip(Some(SmallQueues { packet_memory: memory, ..SmallQueues::default() }), alone());
    // A burst enters when a packet begins to leave and as many wait as may: one burst, or 56 packets of 2304 B (two bursts hold 130 320 B).
    // On average half of a burst is before a packet then.
    let wait = |waiting: f64| 1.0 + waiting + (BURST - 1.0) / 2.0;
    assert!((card - none - wait(BURST)).abs() < 1.0, "{card} and {none} packets");
    assert!((kernel - none - wait(56.0)).abs() < 1.0, "{kernel} and {none} packets");
    // Who waits loses nothing.
    assert!(with.abs_diff(without) < 100 * MSS, "{with} and {without}");
}

#[test]
fn acknowledgments_wait_behind_the_data_of_their_host() {
    let (one_way, _) = round_trip(Some(SmallQueues::default()), vec![flow(0, 1, ENDLESS)]);
    let (both_ways, _) =
        round_trip(Some(SmallQueues::default()), vec![flow(0, 1, ENDLESS), flow(1, 0, ENDLESS)]);
    // One burst to two.
    let more = both_ways - one_way;
    assert!((BURST..=2.0 * BURST + 2.0).contains(&more), "{both_ways} and {one_way} packets");
    let (without, _) = round_trip(None, vec![flow(0, 1, ENDLESS), flow(1, 0, ENDLESS)]);
    // For what is left of a burst at most, which leaves whole.
    assert!(without < 5.0 + BURST, "{without} packets");
}

#[test]
fn flows_of_a_host_share_its_link() {
    let network = star(3, &deep(), Some(SmallQueues::default()));
    let flows = (0..4).map(|n| flow(0, 1 + n % 2, ENDLESS)).collect();
    let traffic = traffic(group(bursts(), window(200 * MSS)), flows);
    let outcome = Run::new(&network, &traffic).until(SECOND * 4).run();
    let delivered: Vec<_> = outcome.flows.iter().map(|flow| flow.delivered.as_f64()).collect();
    // Each has a burst in its turn: 3.95 s at 100 Mb/s are 32 100 packets, 178 bursts of each.
    let fair = delivered.iter().sum::<f64>() / 4.0;
    assert!(delivered.iter().all(|bytes| (bytes / fair - 1.0).abs() < 2.0 / 178.0), "{delivered:?}");
    assert!(fair * 4.0 > 0.98 * 4.0 * 12.5e6 * 1448.0 / 1538.0, "{fair}");
}

#[test]
fn nothing_is_lost_and_all_ends_where_the_switch_stops_hosts() {
    let settings = Pfc { xoff: Xoff::Fixed(Bytes::new(20_000)), ..Pfc::default() };
    let switch = SwitchConfig { pfc: Some(settings), ..signaling(1_000_000, CongestionPoint::Off) };
    let network = star(4, &switch, Some(SmallQueues::default()));
    let flows = (0..3).map(|host| flow(host, 3, 500 * MSS)).collect();
    let outcome = Run::new(&network, &traffic(group(bursts(), window(200 * MSS)), flows)).run();
    assert!(outcome.flows.iter().all(|flow| flow.end.is_some() && flow.stats.retransmissions == 0));
    let own = &outcome.ports[link(&network, "host0", "switch").index()];
    assert!(own.paused > Span::ZERO && outcome.ports.iter().all(|port| port.dropped() == 0));
}

#[test]
fn what_is_not_tcp_has_one_packet_there_and_keeps_its_rate() {
    let delivered = |small_queues| {
        let network = star(2, &deep(), small_queues);
        let rate = Some(BitRate::from_mbps(40));
        let config = cc::Config::Fixed(cc::fixed::Params { rate, ..Default::default() });
        let traffic =
            traffic(rdma(narrows_proto::rdma::Params::default(), config), vec![flow(0, 1, ENDLESS)]);
        Run::new(&network, &traffic).until(SECOND).run().flows[0].delivered.get()
    };
    let (without, with) = (delivered(None), delivered(Some(SmallQueues::default())));
    assert!(without > 4_000_000 && with.abs_diff(without) <= 2 * 1024, "{with} and {without}");
}
