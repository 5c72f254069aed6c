//! Hosts with segmentation offload: bursts at the network card and in the queues of switches.

mod support;

use narrows_proto::cc::{self, Config};
use narrows_proto::stream::{Params, Segmentation};
use narrows_proto::units::{BitRate, Span, Time};
use narrows_sim::observe::{Observer, PacketKind, PacketRef};
use narrows_sim::topology::{Dumbbell, Star, Topology};
use narrows_sim::traffic::{FlowSpec, Traffic};
use narrows_sim::{FlowId, GroupId, LinkId, Network};
use support::{ENDLESS, Run, deep, flow, group, link, network, params, traffic, window};

const PACKET: u64 = 1538;
const MSS: u64 = 1448;

/// A full burst: 64 KiB hold 45 segments.
const BURST: u64 = 45;

fn bursts() -> Params {
    Params { segmentation: Some(Segmentation::default()), ..params() }
}

fn paced(rate: BitRate) -> Config {
    Config::Fixed(cc::fixed::Params { rate: Some(rate), ..Default::default() })
}

fn star(hosts: u32, delay: Span) -> Topology {
    let mut topology = Topology::default();
    Star { hosts, rate: BitRate::from_gbps(10), delay }.build(&mut topology, "");
    topology
}

// ── Queues ─────────────────────────────────────────────────────────────────────────────────────────────────────

/// The longest queue in front of `link`, in packets.
fn longest_queue(network: &Network, traffic: &Traffic, until: Span, link: LinkId) -> f64 {
    let rows = Run::new(network, traffic).until(until).ports(Span::from_ms(1));
    let most = rows.iter().filter(|row| row.link == link).map(|row| row.max_backlog).max();
    most.unwrap_or(0) as f64 / PACKET as f64
}

#[test]
fn synchronized_bursts_meet_in_the_queue_of_their_port() {
    // n flows, each paced at its n-th of a port of 10 Gb/s, hand over bursts of B at the same time. They arrive at n times the rate
    // at which the port sends: n·B·(1 − 1/n) wait when the last has arrived, and all have left when the next begin.
    for senders in [2, 4, 8] {
        let network = network(star(senders + 1, Span::from_us(1)), &deep());
        let flows: Vec<_> = (0..senders).map(|sender| flow(sender, senders, ENDLESS)).collect();
        let rate = BitRate::from_mbps(9_900 / u64::from(senders));
        let queue = |params| {
            let traffic = traffic(group(params, paced(rate)), flows.clone());
            longest_queue(
                &network,
                &traffic,
                Span::from_ms(20),
                link(&network, "switch", &format!("host{senders}")),
            )
        };
        let n = f64::from(senders);
        let theory = n * BURST as f64 * (1.0 - 1.0 / n);
        let (alone, whole) = (queue(params()), queue(bursts()));
        // The port begins when the first packets are there as a whole. The packet being sent does not wait.
        assert!((whole - theory).abs() <= 2.0, "{senders} senders: {whole} packets, theory {theory}");
        // Of single packets, one of each.
        assert!(alone <= n, "{senders} senders: {alone} packets without bursts");
    }
}

#[test]
fn bursts_of_a_fast_host_wait_before_a_slow_link() {
    // B·(1 − r_out/r_in): 45 packets at 10 Gb/s into 1 or 5 Gb/s.
    for bottleneck in [1, 5] {
        let mut topology = Topology::default();
        let (host_rate, bottleneck_rate) = (BitRate::from_gbps(10), BitRate::from_gbps(bottleneck));
        let (host_delay, bottleneck_delay) = (Span::from_us(1), Span::from_us(10));
        Dumbbell { hosts: 1, host_rate, bottleneck_rate, host_delay, bottleneck_delay }
            .build(&mut topology, "");
        let network = network(topology, &deep());
        // 1 ms at 900 Mb/s would be 73 packets.
        let traffic =
            traffic(group(bursts(), paced(BitRate::from_mbps(900 * bottleneck))), vec![flow(0, 1, ENDLESS)]);
        let queue = longest_queue(
            &network,
            &traffic,
            Span::from_ms(20),
            link(&network, "left/switch", "right/switch"),
        );
        let theory = BURST as f64 * (1.0 - bottleneck as f64 / 10.0);
        assert!((queue - theory).abs() <= 2.0, "{bottleneck} Gb/s: {queue} packets, theory {theory}");
    }
}

// ── Throughput ─────────────────────────────────────────────────────────────────────────────────────────────────

/// When the first flow ends.
fn end(network: &Network, traffic: &Traffic) -> Time {
    Run::new(network, traffic).run().flows[0].end.expect("it ends")
}

#[test]
fn an_idle_path_is_as_fast_with_bursts() {
    let network = network(star(2, Span::from_us(10)), &deep());
    // 42 us there and back: 35 packets.
    for (packets, size) in [(200, 1), (200, 1_000), (200, 10_000_000), (80, 10_000_000)] {
        let took =
            |params| end(&network, &traffic(group(params, window(packets * MSS)), vec![flow(0, 1, size)]));
        let (alone, whole) = (took(params()), took(bursts()));
        assert_eq!(whole, alone, "{size} B, window of {packets}");
    }
}

// ── The network card ───────────────────────────────────────────────────────────────────────────────────────────

/// Flows of the data packets that leave a host, and acknowledgments as none.
#[derive(Default)]
struct Leaves {
    link: LinkId,
    order: Vec<Option<FlowId>>,
}

impl Observer for Leaves {
    fn departs(&mut self, _: Time, link: LinkId, packet: PacketRef<'_>) {
        if link == self.link {
            self.order.push(packet.flow().filter(|_| packet.kind() == PacketKind::Data));
        }
    }
}

/// What leaves host 0 in 20 ms.
fn leaving(network: &Network, traffic: &Traffic) -> Vec<Option<FlowId>> {
    let uplink = link(network, "host0", "switch");
    let run = Run::new(network, traffic).until(Span::from_ms(20));
    let outcome = run.observed(|| Leaves { link: uplink, ..Leaves::default() });
    outcome.observers.into_iter().next().expect("one thread").order
}

/// Endless flows of these groups from host 0, each to a host of its own, and one from host 1 to host 0.
fn neighbors(groups: Vec<Params>, control: &Config) -> (Network, Traffic) {
    let hosts = groups.len() as u32 + 2;
    let mut flows: Vec<_> = (0..)
        .zip(&groups)
        .map(|(number, _)| FlowSpec { group: GroupId(number), ..flow(0, number + 2, ENDLESS) })
        .collect();
    flows.push(flow(1, 0, ENDLESS));
    let groups = groups.into_iter().map(|params| group(params, control.clone())).collect();
    (network(star(hosts, Span::from_us(10)), &deep()), Traffic { groups, flows, ..Traffic::default() })
}

#[test]
fn nothing_goes_between_the_packets_of_a_burst() {
    let (network, traffic) = neighbors(vec![bursts(), bursts()], &window(300 * MSS));
    let order = leaving(&network, &traffic);
    let runs: Vec<_> = order.chunk_by(|a, b| a == b).map(|run| (run[0], run.len() as u64)).collect();
    let of_data = &runs[..runs.len() - 1];
    // A turn may be two bursts if the other flow has nothing ready.
    let whole = |run: &&(Option<FlowId>, u64)| run.0.is_some() && run.1 % BURST == 0;
    let (data, whole) =
        (of_data.iter().filter(|run| run.0.is_some()).count(), of_data.iter().filter(whole).count());
    assert!(data > 100 && whole as f64 > 0.95 * data as f64, "{whole} of {data}: {runs:?}");
    assert!(runs.iter().any(|run| run.0.is_none()), "acknowledgments leave, too");
}

#[test]
fn flows_with_and_without_bursts_share_the_card_equally() {
    for groups in [vec![bursts(), params()], vec![bursts(), bursts(), params()]] {
        let n = groups.len();
        let (network, traffic) = neighbors(groups, &window(400 * MSS));
        let order = leaving(&network, &traffic);
        let share = |flow| order.iter().filter(|found| **found == Some(FlowId(flow))).count() as f64;
        let all: f64 = (0..n as u32).map(share).sum();
        for flow in 0..n as u32 {
            // Of 16 000 packets, up to two bursts at the end.
            let part = share(flow) / all * n as f64;
            assert!((part - 1.0).abs() < 0.02, "flow {flow} of {n}: {part}");
        }
    }
}
