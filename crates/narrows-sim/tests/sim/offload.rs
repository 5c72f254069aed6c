//! Hosts with offloads and interrupts: bursts at the network card and in the queues of switches, acknowledgments of what was merged, and
//! what arrives later.

use crate::support::{
    ENDLESS, Run, at, cubic, dctcp, deep, flow, group, link, marking, network, params, qcn, rdma, reaction,
    reno, signaling, traffic, window,
};
use narrows_proto::annulus::{Aggregate, near_source};
use narrows_proto::cc::{self, Config};
use narrows_proto::cnm::Signal;
use narrows_proto::stream::{Params, ReceiveOffload, Segmentation};
use narrows_proto::units::{BitRate, Bytes, Span, Time};
use narrows_sim::observe::{Observer, PacketKind, PacketRef};
use narrows_sim::switch::{CongestionPoint, Qcn, SwitchConfig};
use narrows_sim::topology::{Dumbbell, Star, Topology};
use narrows_sim::traffic::{FlowSpec, Group, NearSource, Traffic};
use narrows_sim::{FlowId, GroupId, Hosts, Interrupts, LinkId, Network, Processing, RealHosts};

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
    // B·(1 − r_out/r_in). At 10 Gb/s, into 1 or 5 Gb/s: B is what the pacing sends in 1 ms, at least 2 and at most 45 packets.
    for (bottleneck, mbps, burst) in [(1, 10, 2), (1, 100, 8), (1, 300, 24), (1, 900, 45), (5, 4500, 45)] {
        let mut topology = Topology::default();
        let (host_rate, bottleneck_rate) = (BitRate::from_gbps(10), BitRate::from_gbps(bottleneck));
        let (host_delay, bottleneck_delay) = (Span::from_us(1), Span::from_us(10));
        Dumbbell { hosts: 1, host_rate, bottleneck_rate, host_delay, bottleneck_delay }
            .build(&mut topology, "");
        let network = network(topology, &deep());
        let traffic = traffic(group(bursts(), paced(BitRate::from_mbps(mbps))), vec![flow(0, 1, ENDLESS)]);
        let queue = longest_queue(
            &network,
            &traffic,
            Span::from_ms(20),
            link(&network, "left/switch", "right/switch"),
        );
        let theory = f64::from(burst) * (1.0 - bottleneck as f64 / 10.0);
        // The port begins when the first packet is there as a whole, and sends whole packets.
        assert!((queue - theory).abs() <= 1.0, "{mbps} Mb/s: {queue} packets, theory {theory}");
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

/// Flows of the packets that leave host 0 in 20 ms.
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
    let whole = |run: &&(Option<FlowId>, u64)| run.0.is_some() && run.1.is_multiple_of(BURST);
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

// ── Receive offload ────────────────────────────────────────────────────────────────────────────────────────────

fn merging(within: Span) -> Params {
    let receive_offload = Some(ReceiveOffload { within, ..ReceiveOffload::default() });
    Params { receive_offload, ..bursts() }
}

#[test]
fn a_burst_is_acknowledged_once() {
    let network = network(star(2, Span::from_us(10)), &deep());
    let whole = 100 * BURST * MSS;
    let acks = |params| {
        let outcome =
            Run::new(&network, &traffic(group(params, window(90 * MSS)), vec![flow(0, 1, whole)])).run();
        outcome.ports[link(&network, "host1", "switch").index()].packets
    };
    // A burst takes 55 us.
    assert_eq!(acks(merging(Span::from_us(60))), 100);
    assert_eq!(acks(bursts()), 50 * BURST);
    // In 20 us 16 packets follow on the first, whether they belong to its burst or the next.
    assert_eq!(acks(merging(Span::from_us(20))), (100 * BURST).div_ceil(17));
}

#[test]
fn an_idle_path_is_as_fast_with_receive_offload() {
    // What a unit waits is more round trip, so the window has to hold more.
    let network = network(star(2, Span::from_us(10)), &deep());
    let took =
        |params, size| end(&network, &traffic(group(params, window(300 * MSS)), vec![flow(0, 1, size)]));
    for size in [1, 1_000, 100_000, 10_000_000] {
        let (ideal, merged) = (took(params(), size), took(merging(Span::from_us(20)), size));
        assert_eq!(merged, ideal, "{size} B");
    }
}

#[test]
fn slow_start_doubles_behind_receive_offload() {
    // Round trips of 1 ms: 10, 20, 40 ... 1280 segments have left after eight of them.
    let network = network(star(2, Span::from_us(250)), &deep());
    for control in [reno(), cubic(), dctcp()] {
        let took =
            |params| end(&network, &traffic(group(params, control.clone()), vec![flow(0, 1, 2000 * MSS)]));
        let (alone, merged) = (took(params()), took(merging(Span::from_us(20))));
        let more = merged.saturating_since(alone);
        // In each round the last unit waits 20 us, and what is less than a burst for more.
        assert!(more < Span::from_ms(1), "{}: {merged} instead of {alone}", control.name());
    }
}

// ── Interrupts ─────────────────────────────────────────────────────────────────────────────────────────────────

fn interrupts(after: Span, frames: Option<u32>) -> RealHosts {
    RealHosts {
        processing: Processing::None,
        clock_ppm: 0,
        interrupts: Some(Interrupts { after, frames }),
        ..RealHosts::default()
    }
}

/// When a flow of so many packets ends.
fn end_with(hosts: Hosts, packets: u64) -> Time {
    let network = Network { hosts, ..network(star(2, Span::from_us(10)), &deep()) };
    end(&network, &traffic(group(params(), window(100 * MSS)), vec![flow(0, 1, packets * MSS)]))
}

#[test]
fn packets_wait_for_the_interrupt_and_no_longer() {
    let after = Span::from_us(20);
    for packets in 1..=20 {
        let ideal = end_with(Hosts::Ideal, packets);
        let late = |frames| end_with(Hosts::Real(interrupts(after, frames)), packets).saturating_since(ideal);
        // The first packet takes the others along that arrive within 20 us, 16 of them.
        let in_last = (packets - 1) % 17;
        let gap = BitRate::from_gbps(10).time_to_send(Bytes::new(PACKET));
        assert_eq!(late(None), after - gap * in_last, "{packets} packets");
        // One frame is an interrupt at once.
        assert_eq!(late(Some(1)), Span::ZERO, "{packets} packets");
        // The fourth of four does not wait.
        let expected = if packets % 4 == 0 { Span::ZERO } else { after - gap * ((packets - 1) % 4) };
        assert_eq!(late(Some(4)), expected, "{packets} packets");
    }
}

#[test]
fn interrupts_keep_the_order_and_the_throughput() {
    // 64 us there and back, with 20 us at either end: 85 packets.
    let took = |hosts| end_with(hosts, 20_000);
    let (ideal, real) = (took(Hosts::Ideal), took(Hosts::Real(interrupts(Span::from_us(20), Some(64)))));
    let more = real.saturating_since(ideal);
    assert!(real >= ideal && more <= Span::from_us(40), "{real} instead of {ideal}");
    let hosts = Hosts::Real(interrupts(Span::from_us(20), Some(64)));
    let network = Network { hosts, ..network(star(2, Span::from_us(10)), &deep()) };
    let traffic = traffic(group(merging(Span::ZERO), window(200 * MSS)), vec![flow(0, 1, 20_000 * MSS)]);
    let outcome = Run::new(&network, &traffic).run();
    assert_eq!(outcome.flows[0].stats.retransmissions, 0);
    // What an interrupt hands over is merged: at most two units for each, because its end may be the middle of a burst.
    let acks = outcome.ports[link(&network, "host1", "switch").index()].packets;
    assert!((20_000 / 45..=20_000 / 16 + 1).contains(&acks), "{acks} acknowledgments");
}

// ── Messages ───────────────────────────────────────────────────────────────────────────────────────────────────

/// When messages of congestion points are read.
#[derive(Default)]
struct Notified(Vec<Time>);

impl Observer for Notified {
    fn cnm_received(&mut self, at: Time, _: FlowId, _: Signal) {
        self.0.push(at);
    }
}

/// The first message that is read, with loops near the source or with reaction points.
fn first_told(hosts: RealHosts, near: bool) -> Time {
    let switch = signaling(10_000_000, CongestionPoint::Qcn(Qcn::default()));
    let mut network = Network { hosts: Hosts::Real(hosts), ..network(star(3, Span::from_us(1)), &switch) };
    network.reaction = Some(reaction(qcn()));
    let near_source = near.then(|| NearSource {
        per: Aggregate::Flow,
        places: Vec::new().into(),
        params: near_source::Params::default(),
    });
    let group = Group { near_source, ..group(params(), window(200 * MSS)) };
    let traffic = traffic(group, vec![flow(0, 2, ENDLESS), flow(1, 2, ENDLESS)]);
    let outcome = Run::new(&network, &traffic).until(Span::from_ms(5)).observed(Notified::default);
    *outcome.observers[0].0.first().expect("somebody is notified")
}

#[test]
fn software_reads_messages_later_and_the_network_card_does_not() {
    let quick = RealHosts { processing: Processing::None, clock_ppm: 0, ..RealHosts::default() };
    let delay = Span::from_us(7);
    let slow = RealHosts { software_delay: delay, ..quick.clone() };
    assert_eq!(first_told(slow.clone(), true), first_told(quick.clone(), true) + delay);
    assert_eq!(first_told(slow, false), first_told(quick, false));
}

#[test]
fn notification_packets_are_read_later() {
    // DCQCN slows down when it has read the first one.
    let run = |software_delay| {
        let hosts =
            RealHosts { processing: Processing::None, clock_ppm: 0, software_delay, ..RealHosts::default() };
        let switch = SwitchConfig { marking: crate::support::dcqcn_marking(), ..deep() };
        let network = Network { hosts: Hosts::Real(hosts), ..network(star(3, Span::from_us(1)), &switch) };
        let flows = vec![flow(0, 2, ENDLESS), flow(1, 2, ENDLESS)];
        let traffic = traffic(rdma(narrows_proto::rdma::Params::default(), crate::support::dcqcn()), flows);
        let rows = Run::new(&network, &traffic).until(Span::from_ms(1)).windows(Span::from_ns(100));
        rows.iter().find(|row| row.cnps > 0).expect("some are marked").at
    };
    let (at_once, later) = (run(Span::ZERO), run(Span::from_us(20)));
    let more = later.saturating_since(at_once);
    // The table has a row for each 100 ns.
    assert!((19_900..=20_100).contains(&(more.as_ps() / 1000)), "{more}");
}

// ── DCTCP ──────────────────────────────────────────────────────────────────────────────────────────────────────

/// Goodput of two flows into one port of 10 Gb/s with 100 us of round trip, of what the port can carry; from 20 ms to 120 ms.
fn goodput(params: Params, hosts: &Hosts, k: u64) -> f64 {
    let network =
        Network { hosts: hosts.clone(), ..network(star(3, Span::from_us(25)), &marking(k * PACKET)) };
    let flows = (0..2).map(|sender| flow(sender, 2, ENDLESS)).collect();
    let mut traffic = traffic(group(params, dctcp()), flows);
    traffic.measured = at(Span::from_ms(20))..at(Span::from_ms(120));
    let outcome = Run::new(&network, &traffic).until(Span::from_ms(120)).run();
    let delivered: f64 = outcome.flows.iter().map(|flow| flow.delivered_measured.as_f64()).sum();
    delivered * 8.0 / 0.1 / 10e9 * PACKET as f64 / MSS as f64
}

#[test]
fn dctcp_with_bursts_needs_a_higher_threshold() {
    // SIGCOMM 2010 §3.5: the analysis asks for more than C·RTT/7 at 10 Gb/s, 12 packets, but hosts send bursts of 30 to 40 packets,
    // and only K = 65 loses no throughput. Of 100 ms, with everything that makes bursts:
    //
    //     K                              1      5     10     15     20     30     40     65
    //     ideal hosts                0.982  0.999  1.000  1.000  1.000  1.000  1.000  1.000
    //     bursts                     0.474  0.992  0.998  1.000  1.000  1.000  1.000  1.000
    //     bursts, merged in 20 us    0.824  0.847  0.889  0.945  0.990  1.000  1.000  1.000
    //     bursts, interrupts, merged 0.071  0.129  0.818  0.991  0.762  0.998  1.000  1.000
    let late = Hosts::Real(interrupts(Span::from_us(20), Some(64)));
    let real = Hosts::Real(RealHosts::default());
    let alone = [5, 20, 65].map(|k| goodput(params(), &Hosts::Ideal, k));
    let merged = [5, 20, 65].map(|k| goodput(merging(Span::from_us(20)), &real, k));
    let all = [5, 20, 65].map(|k| goodput(merging(Span::ZERO), &late, k));
    assert!(alone[0] > 0.995 && alone[1..].iter().all(|part| *part > 0.999), "{alone:?}");
    assert!(merged[0] < 0.9 && merged[1] < 0.995 && merged[2] > 0.999, "{merged:?}");
    assert!(all[0] < 0.5 && all[1] < 0.95 && all[2] > 0.999, "{all:?}");
}
