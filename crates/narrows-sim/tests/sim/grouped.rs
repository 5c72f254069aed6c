//! FIFO ports that take the packets of a window port by port do what they do packet by packet.

use crate::support::{Run, dctcp, flow, group, network, params, trace};
use narrows_proto::units::{BitRate, Bytes, Span};
use narrows_sim::observe::{Observer, PortObserver};
use narrows_sim::switch::{Buffer, Dynamic, Sharing, SwitchConfig};
use narrows_sim::topology::{LeafSpine, Topology};
use narrows_sim::traffic::{FlowSpec, Traffic};
use narrows_sim::{LinkId, Network};
use proptest::prelude::*;

/// Sees everything and does nothing. Who is watched packet by packet takes them one by one.
struct Watching;

impl Observer for Watching {}

#[derive(Clone, Debug)]
struct Random {
    fabric: LeafSpine,
    buffer: Buffer,
    k: u64,
    flows: Vec<(u32, u32, u64, u64)>,
    threads: usize,
}

fn any_fabric() -> impl Strategy<Value = LeafSpine> {
    let rate = || prop::sample::select(vec![1_u64, 10, 25, 100]).prop_map(BitRate::from_gbps);
    (rate(), rate(), 1..3_u32, 100..5_000_u64).prop_map(|(host_rate, uplink_rate, spines, delay)| LeafSpine {
        racks: 2,
        hosts_per_rack: 3,
        spines,
        links_per_spine: 1,
        host_rate,
        uplink_rate,
        delay: Span::from_ns(delay),
    })
}

fn any() -> impl Strategy<Value = Random> {
    let sharing = prop_oneof![
        Just(Sharing::Complete),
        Just(Sharing::PerPort),
        Just(Sharing::Static),
        (0.1..4.0).prop_map(|alpha| Sharing::Dynamic(Dynamic { alpha })),
    ];
    let buffer =
        (20_000..400_000_u64, sharing).prop_map(|(size, sharing)| Buffer { size: Bytes::new(size), sharing });
    let flow = (0..6_u32, 1..6_u32, 1..200_000_u64, 0..50_u64);
    (any_fabric(), buffer, 1_500..60_000_u64, prop::collection::vec(flow, 1..40), 1..3_usize)
        .prop_map(|(fabric, buffer, k, flows, threads)| Random { fabric, buffer, k, flows, threads })
}

impl Random {
    fn network(&self) -> Network {
        let mut topology = Topology::default();
        self.fabric.build(&mut topology, "");
        let marking = crate::support::marking(self.k).marking;
        network(topology, &SwitchConfig { buffer: self.buffer.clone(), marking, ..crate::support::deep() })
    }

    fn traffic(&self) -> Traffic {
        let begins = |&(from, by, size, start): &(u32, u32, u64, u64)| FlowSpec {
            start: crate::support::at(Span::from_us(start)),
            ..flow(from, (from + by) % 6, size)
        };
        Traffic {
            groups: vec![group(params(), dctcp())],
            flows: self.flows.iter().map(begins).collect(),
            ..Traffic::default()
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn packets_taken_port_by_port_fare_as_those_taken_one_by_one(random in any(), seed in 0..4_u64) {
        let (network, traffic) = (random.network(), random.traffic());
        let run = Run::new(&network, &traffic).until(Span::from_ms(4)).seed(seed).threads(random.threads);
        prop_assert!(trace(&run.run()) == trace(&run.observed(|| Watching)));
    }

    #[test]
    fn ports_are_recorded_port_by_port_as_they_are_packet_by_packet(random in any(), ns in 200..30_000_u64) {
        let (network, traffic, interval) = (random.network(), random.traffic(), Span::from_ns(ns));
        let run = Run::new(&network, &traffic).until(Span::from_ms(4)).threads(random.threads);
        let links = network.topology.links().len();
        let all: Vec<_> = (0..links).map(LinkId::from).collect();
        let outcome = run.observed(|| (PortObserver::new(interval, links, &all), Watching));
        let one_by_one = outcome.observers.into_iter().map(|(ports, _)| ports);
        prop_assert!(run.ports(interval) == PortObserver::finish(one_by_one, outcome.ended));
    }
}
