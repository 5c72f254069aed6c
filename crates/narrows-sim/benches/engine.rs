use std::ops::ControlFlow;
use std::time::Instant;

use narrows_proto::cc::{Config, dctcp};
use narrows_proto::stream::Params;
use narrows_proto::units::*;
use narrows_sim::switch::*;
use narrows_sim::topology::*;
use narrows_sim::traffic::*;
use narrows_sim::*;

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let k: u32 = args.get(1).and_then(|a| a.parse().ok()).unwrap_or(8);
    let mb: u64 = args.get(2).and_then(|a| a.parse().ok()).unwrap_or(10);
    let unit = std::env::var("KB").map_or(1_000_000, |_| 150_000);
    let threads: usize = args.get(3).and_then(|a| a.parse().ok()).unwrap_or(1);
    let ports = if args.get(4).is_some_and(|a| a == "s") { PortKind::Scheduled } else { PortKind::Plain };
    let reps: u32 = args.get(5).and_then(|a| a.parse().ok()).unwrap_or(3);
    let mut topology = Topology::default();
    FatTree { k, rate: BitRate::from_gbps(100), delay: Span::from_us(1) }.build(&mut topology, "");
    let config = SwitchConfig {
        buffer: Buffer { size: Bytes::new(12_000_000), sharing: Sharing::default() },
        marking: Marking::Step(Step { k: Bytes::new(100_000) }),
        latency: Span::ZERO,
        ports,
    };
    let switches = topology
        .nodes()
        .iter()
        .map(|n| matches!(n.kind, NodeKind::Switch { .. }).then(|| config.clone()))
        .collect();
    let hosts = topology.hosts().len() as u32;
    let params = Params {
        headers: Bytes::new(40),
        framing: Bytes::ZERO,
        min_packet: Bytes::new(64),
        handshake: false,
        min_rto: Span::from_ms(5),
        ack_every: std::env::var("ACK").map_or(2, |v| v.parse().unwrap()),
        ..Params::default()
    };
    let traffic = Traffic {
        groups: vec![Group {
            name: "all".into(),
            transport: Transport::Stream { params, cc: Config::Dctcp(dctcp::Params::default()) },
            priority: 0,
        }],
        flows: (0..hosts)
            .map(|h| FlowSpec {
                from: HostId(h),
                to: HostId((h + hosts / 2 + 1) % hosts),
                group: GroupId(0),
                start: Time::ZERO,
                size: Bytes::new(mb * unit),
            })
            .collect(),
        ..Traffic::default()
    };
    let network = Network { topology, switches, routing: Routing::Ecmp, failures: vec![] };
    for _ in 0..reps {
        let start = Instant::now();
        let sim = Simulation::new(&network, &traffic, 1, Execution { threads, window_divisor: 1 }, || ());
        let built = start.elapsed();
        let start = Instant::now();
        let outcome = sim.run(Stop { at: Time::ZERO + Span::from_ms(100), when_drained: true }, |_| {
            ControlFlow::Continue(())
        });
        let t = start.elapsed().as_secs_f64();
        let last = outcome.flows.iter().map(|f| f.end.unwrap()).max().unwrap();
        let marks: u64 = outcome.ports.iter().map(|p| p.marks).sum();
        let retx: u64 = outcome.flows.iter().map(|f| f.stats.retransmissions).sum();
        println!(
            "k={k} built {built:?} wall {t:.3}s hops {:.2}M {:.2} Mhops/s last {last} ended {} marks {marks} retx {retx} drops {} left {} hash {:016x}",
            outcome.packet_hops as f64 / 1e6,
            outcome.packet_hops as f64 / 1e6 / t,
            outcome.ended,
            outcome.ports.iter().map(|p| p.dropped()).sum::<u64>(),
            outcome.packets_left,
            outcome.fingerprint()
        );
    }
}
