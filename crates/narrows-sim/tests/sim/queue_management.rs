//! PIE, fair queueing by flow, FQ-CoDel and DualPI2 on networks, held against what their sources predict.

use std::ops::Range;
use std::sync::Arc;

use crate::support::{
    ENDLESS, Run, at, cubic, datagrams, deep, flow, group, link, network, params, reno, trace,
};
use narrows_proto::cc::custom::{self, Attached, Outside, Settings};
use narrows_proto::cc::{self, Ack, Algorithm, Config, Congestion, Controller, Ecn, Limit, Path};
use narrows_proto::stream::Params;
use narrows_proto::units::{BitRate, Bytes, Span, Time};
use narrows_sim::mechanism::drr::Drr;
use narrows_sim::mechanism::dualpi2::{DualPi2, DualPi2Counters};
use narrows_sim::mechanism::fq_codel::FqCodel;
use narrows_sim::observe::PortRow;
use narrows_sim::switch::{Buffer, Marking, Pause, Pfc, Pie, PortKind, Sharing, SwitchConfig};
use narrows_sim::topology::{Dumbbell, Topology, Wire};
use narrows_sim::traffic::{self, FlowSpec, Generator, GeneratorKind, Group, Traffic};
use narrows_sim::{DropCause, FlowId, GroupId, HostId, LinkId, Network, Outcome};

pub(crate) fn scheduled(config: SwitchConfig) -> SwitchConfig {
    SwitchConfig { ports: PortKind::Scheduled, ..config }
}

pub(crate) fn bottleneck(hosts: u32, rate: BitRate, rtt: Span, config: SwitchConfig) -> Network {
    let mut topology = Topology::default();
    let (host_rate, host_delay) = (BitRate::from_gbps(1), Span::from_ns(100));
    let (bottleneck_rate, bottleneck_delay) = (rate, rtt / 2);
    Dumbbell { hosts, host_rate, bottleneck_rate, host_delay, bottleneck_delay }.build(&mut topology, "");
    network(topology, &scheduled(config))
}

/// One endless flow from each host on the left to its counterpart; host n is of group `groups[n]`, and starts n · 50 ms later.
pub(crate) fn pairs(groups: Vec<Group>, of_hosts: &[u32]) -> Traffic {
    let hosts = of_hosts.len() as u32;
    let start = |host: u32| Time::ZERO + Span::from_ms(50) * u64::from(host);
    let of = |(host, number): (u32, &u32)| FlowSpec {
        group: GroupId(*number),
        start: start(host),
        ..flow(host, hosts + host, ENDLESS)
    };
    let flows = (0..).zip(of_hosts).map(of).collect();
    Traffic { groups, flows, ..Traffic::default() }
}

pub(crate) fn measured(traffic: Traffic, seconds: Range<u64>) -> Traffic {
    let [from, until] = [seconds.start, seconds.end].map(|second| at(Span::from_secs(second)));
    Traffic { measured: from..until, ..traffic }
}

pub(crate) fn link_of(network: &Network) -> LinkId {
    link(network, "left/switch", "right/switch")
}

/// Rows of the bottleneck in these seconds.
pub(crate) fn rows(network: &Network, traffic: &Traffic, seconds: Range<u64>) -> Vec<PortRow> {
    let run = Run::new(network, traffic).until(Span::from_secs(seconds.end));
    let from = at(Span::from_secs(seconds.start));
    let bottleneck = link_of(network);
    let is_it = |row: &PortRow| row.link == bottleneck && row.start >= from;
    run.ports(Span::from_ms(1)).into_iter().filter(is_it).collect()
}

pub(crate) fn mean_delay_ms(rows: &[PortRow], rate: BitRate) -> f64 {
    let mean = rows.iter().map(|row| row.mean_backlog).sum::<f64>() / rows.len() as f64;
    mean * 8.0 / rate.as_f64() * 1e3
}

pub(crate) fn use_of(rows: &[PortRow], rate: BitRate) -> f64 {
    let bytes: u64 = rows.iter().map(|row| row.bytes).sum();
    bytes as f64 / (rate * (Span::from_ms(1) * rows.len() as u64)).as_f64()
}

/// Rates of the flows in the measured time, in Mb/s.
pub(crate) fn rates(outcome: &Outcome<()>, traffic: &Traffic) -> Vec<f64> {
    let seconds = (traffic.measured.end - traffic.measured.start).as_secs_f64();
    outcome.flows.iter().map(|flow| flow.delivered_measured.as_f64() * 8.0 / seconds / 1e6).collect()
}

pub(crate) fn run(network: &Network, traffic: &Traffic) -> Outcome<()> {
    Run::new(network, traffic).until(traffic.measured.end - Time::ZERO).run()
}

fn jain(rates: &[f64]) -> f64 {
    let (sum, squares) =
        rates.iter().fold((0.0, 0.0), |(sum, squares), rate| (sum + rate, squares + rate * rate));
    sum * sum / (squares * rates.len() as f64)
}

pub(crate) fn classic_ecn() -> Config {
    Config::Reno(cc::reno::Params { ecn: true, ..Default::default() })
}

pub(crate) fn wan() -> Params {
    Params { min_rto: Span::from_ms(200), ..params() }
}

// PIE

#[test]
fn pie_holds_the_delay_of_reno_at_its_target() {
    // RFC 8033 §4.2: a PI controller has no steady-state error.
    let rate = BitRate::from_mbps(20);
    for ecn in [false, true] {
        let config = SwitchConfig { marking: Marking::Pie(Pie { ecn, ..Pie::default() }), ..deep() };
        let network = bottleneck(5, rate, Span::from_ms(40), config);
        let cc = if ecn { classic_ecn() } else { reno() };
        let traffic = measured(pairs(vec![group(wan(), cc)], &[0; 5]), 20..80);
        let rows = rows(&network, &traffic, 20..80);
        let (delay, used) = (mean_delay_ms(&rows, rate), use_of(&rows, rate));
        // ±20 %: the queue of five sawtooths swings around the target, and is cut off at zero.
        assert!((delay - 15.0).abs() < 3.0, "ecn {ecn}: {delay} ms");
        assert!(used > 0.95, "ecn {ecn}: {used}");
        // Slow start lifts the probability above 0.1, from where on packets are dropped that could be marked.
        let early = Run::new(&network, &traffic).until(Span::from_secs(20)).run();
        let outcome = run(&network, &traffic);
        let drops = outcome.drops(DropCause::Pie) - early.drops(DropCause::Pie);
        let marks = outcome.ports[link_of(&network).index()].marks;
        assert!((drops == 0) == ecn && (marks == 0) != ecn, "ecn {ecn}: {marks} marks, {drops} drops");
        assert_eq!(outcome.drops(DropCause::QueueLimit) + outcome.drops(DropCause::BufferFull), 0);
    }
}

// Fair queueing

/// Hosts with these round-trip times to one receiver each, over a link of this rate.
pub(crate) fn unequal(rtts_ms: &[u64], rate: BitRate, config: SwitchConfig) -> Network {
    let mut topology = Topology::default();
    let left = topology.add_switch("left/switch", "switch", 0);
    let right = topology.add_switch("right/switch", "switch", 0);
    let wire = |rate, delay| Wire { rate, delay, error_rate: 0.0 };
    topology.connect(left, right, wire(rate, Span::from_us(10)));
    let fast = BitRate::from_gbps(1);
    for (number, rtt) in rtts_ms.iter().enumerate() {
        let host = topology.add_host(format!("left/host{number}"));
        topology.connect(host, left, wire(fast, Span::from_ms(*rtt) / 2));
    }
    for number in 0..rtts_ms.len() {
        let host = topology.add_host(format!("right/host{number}"));
        topology.connect(host, right, wire(fast, Span::from_us(1)));
    }
    network(topology, &scheduled(config))
}

#[test]
fn flows_with_unequal_round_trip_times_get_equal_shares_of_a_fair_queue() {
    let rate = BitRate::from_mbps(50);
    let rtts = [5, 10, 20, 40];
    let shares = |config| {
        let network = unequal(&rtts, rate, config);
        let traffic = measured(pairs(vec![group(wan(), cubic())], &[0; 4]), 5..25);
        let outcome = run(&network, &traffic);
        rates(&outcome, &traffic)
    };
    let fifo = shares(SwitchConfig {
        buffer: Buffer { size: Bytes::new(250_000), sharing: Sharing::PerPort },
        ..deep()
    });
    let drr = shares(SwitchConfig {
        drr: Some(Drr::default()),
        buffer: Buffer { size: Bytes::new(500_000), sharing: Sharing::PerPort },
        ..deep()
    });
    let fq_codel = shares(SwitchConfig { fq_codel: Some(FqCodel::default()), ..deep() });
    assert!(jain(&fifo) < 0.95, "{fifo:?} {drr:?} {fq_codel:?}");
    // A sawtooth under CoDel may leave its queue empty for a while, and others take its turns; a deep queue does not.
    for (shares, within) in [(drr, 0.01), (fq_codel, 0.05)] {
        let mean = shares.iter().sum::<f64>() / 4.0;
        assert!(shares.iter().all(|share| (share / mean - 1.0).abs() < within), "{shares:?}");
        assert!(mean * 4.0 > 0.95 * 50.0 * 1448.0 / 1538.0, "{shares:?}");
    }
}

#[test]
fn a_flood_that_does_not_yield_gets_its_share_and_loses_what_is_above() {
    let rate = BitRate::from_mbps(50);
    let config = SwitchConfig {
        drr: Some(Drr::default()),
        buffer: Buffer { size: Bytes::new(1_000_000), sharing: Sharing::PerPort },
        ..deep()
    };
    let network = bottleneck(2, rate, Span::from_ms(20), config);
    let mut traffic =
        measured(pairs(vec![group(wan(), reno()), datagrams(BitRate::from_mbps(100))], &[0]), 2..12);
    traffic.flows[0].to = HostId(2);
    traffic.flows.push(FlowSpec { group: GroupId(1), start: Time::NEVER, ..flow(1, 3, 0) });
    let kind = GeneratorKind::OnOff {
        flow: FlowId(1),
        on: traffic::Pause::Constant(Span::from_secs(20)),
        off: traffic::Pause::Constant(Span::from_secs(1)),
    };
    traffic.generators.push(Generator { kind, start: Time::ZERO, until: at(Span::from_secs(20)) });
    let outcome = run(&network, &traffic);
    let share = rates(&outcome, &traffic)[0];
    let fair = 25.0 * 1448.0 / 1538.0;
    assert!((share / fair - 1.0).abs() < 0.05, "{share} Mb/s of {fair}");
    assert!(outcome.drops(DropCause::QueueLimit) + outcome.drops(DropCause::BufferFull) > 10_000);
    // What gives way is the flood's, but for the end of slow start, when the other has the longer queue.
    assert!(outcome.flows[0].stats.recoveries <= 1, "{:?}", outcome.flows[0].stats);
}

#[test]
fn a_sparse_flow_does_not_wait_for_the_queues_of_others() {
    let rate = BitRate::from_mbps(10);
    let config = SwitchConfig { fq_codel: Some(FqCodel::default()), ..deep() };
    let network = bottleneck(9, rate, Span::from_ms(20), config);
    let mut traffic = pairs(vec![group(wan(), cubic())], &[0; 9]);
    // The last sends a packet each 100 ms.
    let until = at(Span::from_secs(10));
    traffic.flows.pop();
    for second in 20..90 {
        let start = Time::ZERO + Span::from_ms(100) * second;
        traffic.flows.push(FlowSpec { start, ..flow(8, 17, 1_000) });
    }
    let traffic = Traffic { measured: Time::ZERO..until, ..traffic };
    let outcome = run(&network, &traffic);
    let times: Vec<_> = outcome.flows[8..]
        .iter()
        .filter_map(|flow| Some((flow.end? - flow.start).as_secs_f64() * 1e3))
        .collect();
    assert_eq!(times.len(), 70);
    let (mean, most) =
        (times.iter().sum::<f64>() / 70.0, times.iter().fold(0.0_f64, |most, time| most.max(*time)));
    // 10 ms there, 0.9 ms to send; a new flow queue waits for the packet on the wire, 1.2 ms, and for no turns of the eight others, which
    // take 9.8 ms. One that shares its flow queue with another would wait longer.
    assert!(mean < 12.5 && most < 13.0, "mean {mean} ms, at most {most} ms");
}

#[test]
fn a_million_flows_find_bounded_memory() {
    // Every flow is a packet; 10^6 flows come within two seconds to a link that can send a tenth of them.
    let rate = BitRate::from_mbps(100);
    let config = SwitchConfig {
        fq_codel: Some(FqCodel::default()),
        buffer: Buffer { size: Bytes::new(2_000_000), sharing: Sharing::PerPort },
        ..deep()
    };
    let mut topology = Topology::default();
    Dumbbell {
        hosts: 4,
        host_rate: BitRate::from_gbps(1),
        bottleneck_rate: rate,
        host_delay: Span::from_us(1),
        bottleneck_delay: Span::from_us(100),
    }
    .build(&mut topology, "");
    let network = network(topology, &scheduled(config));
    let params = Params { initial_rto: Span::from_secs(60), max_rto: Span::from_secs(60), ..params() };
    let flows = 1_000_000_u32;
    let of = |number: u32| FlowSpec {
        start: Time::ZERO + Span::from_us(2) * u64::from(number),
        ..flow(number % 4, 4 + number % 4, 100)
    };
    let traffic = Traffic {
        groups: vec![group(params, reno())],
        flows: (0..flows).map(of).collect(),
        measured: Time::ZERO..at(Span::from_secs(3)),
        ..Traffic::default()
    };
    let outcome = run(&network, &traffic);
    let port = &outcome.ports[link_of(&network).index()];
    assert!(port.fq_codel.max_active > 900 && port.fq_codel.max_active <= 1_024, "{:?}", port.fq_codel);
    assert!(port.max_backlog <= 2_000_000 && outcome.drops(DropCause::QueueLimit) > 100_000);
    assert!(outcome.flows.iter().filter(|flow| flow.end.is_some()).count() > 50_000);
}

// DualPI2

pub(crate) fn counters(network: &Network, outcome: &Outcome<()>) -> DualPi2Counters {
    outcome.ports[link_of(network).index()].dualpi2
}

pub(crate) fn paced() -> Params {
    Params { pace_windows: true, ..wan() }
}

/// A control with the response of RFC 9332 App. C.2 (6), 2/(R·p): a segment more for each window that is not marked, half a segment less
/// for each segment that is.
///
/// DCTCP cuts its window once a round and, as Linux has it, does not grow in that round: it has about half of that.
struct Scalable {
    mss: f64,
    cwnd: f64,
    slow_start: bool,
}

impl Controller for Scalable {
    fn on_ack(&mut self, ack: &Ack) {
        let marked = ack.marked.as_f64();
        let unmarked = ack.acked.as_f64() - marked;
        self.slow_start &= marked == 0.0;
        if ack.cwnd_limited {
            self.cwnd += if self.slow_start { unmarked } else { unmarked * self.mss / self.cwnd };
        }
        self.cwnd = (self.cwnd - marked / 2.0).max(2.0 * self.mss);
    }

    fn on_congestion(&mut self, _: Time, _: Congestion) {
        self.slow_start = false;
        self.cwnd /= 2.0;
    }

    fn limit(&self) -> Limit {
        let segments = (self.cwnd / self.mss).round().max(2.0);
        Limit { cwnd: Bytes::from_f64(segments * self.mss), pacing: None }
    }
}

impl Algorithm for Scalable {
    type Params = NoSettings;
    const SUMMARY: &'static str = "for this test";
    const SOURCE: &'static str = "RFC 9332";

    fn new(_: &NoSettings, path: &Path) -> Self {
        Self { mss: path.mss.as_f64(), cwnd: path.initial_window.as_f64(), slow_start: true }
    }

    fn ecn(_: &NoSettings) -> Ecn {
        Ecn::Accurate
    }
}

#[derive(Default, serde::Deserialize)]
struct NoSettings {}

fn scalable() -> Group {
    let maker = Attached(Some(Arc::new(Outside::<Scalable>::new("1"))));
    let params = custom::Params { name: "scalable".into(), settings: Settings::default(), code: None, maker };
    group(Params { l4s: true, ..paced() }, Config::Custom(params))
}

fn scalable_and_classic() -> Vec<Group> {
    vec![scalable(), group(paced(), classic_ecn())]
}

/// A bottleneck with as many scalable as classic flows.
pub(crate) struct Shared {
    pub(crate) mbps: u64,
    pub(crate) rtt_ms: u64,
    pub(crate) flows: u32,
    pub(crate) seconds: Range<u64>,
}

/// Rates of scalable to those of classic flows, and (p_L/k)² to p_C; `groups` are one of each.
pub(crate) fn shared(&Shared { mbps, rtt_ms, flows, ref seconds }: &Shared, groups: Vec<Group>) -> [f64; 2] {
    let (rate, rtt) = (BitRate::from_mbps(mbps), Span::from_ms(rtt_ms));
    // App. A.2: where two packets take longer than the threshold of L, that is raised to their time.
    let l4s_min = DualPi2::default().l4s_min.max(rate.time_to_send(Bytes::new(1538)) * 2);
    let dualpi2 = Some(DualPi2 { l4s_min, ..DualPi2::default() });
    let network = bottleneck(2 * flows, rate, rtt, SwitchConfig { dualpi2, ..deep() });
    let of_hosts: Vec<_> = (0..2 * flows).map(|host| host % 2).collect();
    let traffic = measured(pairs(groups, &of_hosts), seconds.clone());
    let outcome = run(&network, &traffic);
    let rates = rates(&outcome, &traffic);
    let of = |group| rates.iter().skip(group).step_by(2).sum::<f64>();
    let before =
        counters(&network, &Run::new(&network, &traffic).until(Span::from_secs(seconds.start)).run());
    let after = counters(&network, &outcome);
    let share = |count: fn(&DualPi2Counters) -> u64, all: fn(&DualPi2Counters) -> u64| {
        (count(&after) - count(&before)) as f64 / (all(&after) - all(&before)) as f64
    };
    assert_eq!(after.classic_drops - before.classic_drops + after.l4s_drops - before.l4s_drops, 0);
    let p_l = share(|counters| counters.l4s_marks, |counters| counters.l4s);
    let p_c = share(|counters| counters.classic_marks, |counters| counters.classic);
    [of(0) / of(1), p_l * p_l / 4.0 / p_c]
}

#[test]
fn scalable_and_classic_flows_share_a_dual_queue_as_the_coupling_law_says() {
    // r_L/r_C = 2/(k·1.22)·R_C/R_L (RFC 9332 App. C.2 (5), (6), (10)) with R_C = base + 15 ms, R_L = base + 0.5 ms.
    let cases = [(10, 10, 1), (40, 10, 2), (200, 10, 10), (10, 40, 2), (40, 40, 4), (200, 40, 10)];
    let cases = cases.into_iter().chain([(10, 100, 4), (40, 100, 8), (200, 100, 10)]);
    for (mbps, rtt_ms, flows) in cases {
        let seconds = if mbps == 200 { 20..50 } else { 30..90 };
        let [ratio, _] = shared(&Shared { mbps, rtt_ms, flows, seconds }, scalable_and_classic());
        let base = rtt_ms as f64;
        let expected = 2.0 / (2.0 * 1.22) * (base + 15.0) / (base + 0.5);
        // ±25 %: 1.22 and 2 are constants of smooth models, windows are ten segments and more.
        assert!(
            (ratio / expected - 1.0).abs() < 0.25,
            "{mbps} Mb/s, {rtt_ms} ms: {ratio}, expected {expected}"
        );
    }
}

#[test]
fn classic_packets_are_marked_with_the_square_of_half_of_what_marks_l4s() {
    // p_C = (p_L/2)² (§2.1). ±10 %: p' varies, and the mean of its square is more than the square of its mean.
    for (mbps, rtt_ms, flows) in [(40, 10, 2), (200, 10, 10), (200, 40, 10)] {
        let [_, coupling] = shared(&Shared { mbps, rtt_ms, flows, seconds: 15..35 }, scalable_and_classic());
        assert!((coupling - 1.0).abs() < 0.1, "{mbps} Mb/s, {rtt_ms} ms: {coupling}");
    }
}

#[test]
fn l4s_packets_hardly_wait_while_classic_ones_do() {
    // 40 Mb/s: 15 ms are 75 kB, 1.2 ms are 6 kB.
    let (rate, rtt) = (BitRate::from_mbps(40), Span::from_ms(20));
    let network = bottleneck(4, rate, rtt, SwitchConfig { dualpi2: Some(DualPi2::default()), ..deep() });
    let delay = |group: Group, classic: bool| {
        let traffic = measured(pairs(vec![group], &[0; 4]), 10..40);
        let delay = mean_delay_ms(&rows(&network, &traffic, 10..40), rate);
        let DualPi2Counters { l4s, classic: others, .. } = counters(&network, &run(&network, &traffic));
        assert!(if classic { l4s == 0 } else { others < 10 }, "{l4s} and {others} packets");
        delay
    };
    let (l4s, classic) = (delay(scalable(), false), delay(group(paced(), classic_ecn()), true));
    // The ramp of L ends at 1.2 ms; PI has no steady-state error.
    assert!(l4s < 1.2 && (classic - 15.0).abs() < 3.0, "{l4s} ms and {classic} ms");
}

// All of them

/// Every mechanism, with this packet memory.
fn all(buffer: &Buffer) -> [SwitchConfig; 4] {
    let none = SwitchConfig::new(buffer.clone());
    [
        SwitchConfig { marking: Marking::Pie(Pie::default()), ..none.clone() },
        SwitchConfig { drr: Some(Drr::default()), ..none.clone() },
        SwitchConfig { fq_codel: Some(FqCodel::default()), ..none.clone() },
        SwitchConfig { dualpi2: Some(DualPi2::default()), ..none },
    ]
}

fn mixed() -> Traffic {
    let groups = vec![scalable(), group(wan(), classic_ecn()), group(wan(), cubic())];
    measured(pairs(groups, &[0, 1, 2, 0, 1, 2]), 1..4)
}

#[test]
fn any_number_of_threads_gives_the_same_bytes_under_every_queue_management() {
    let buffer = Buffer { size: Bytes::new(200_000), sharing: Sharing::PerPort };
    for config in all(&buffer) {
        let network = bottleneck(6, BitRate::from_mbps(40), Span::from_ms(20), config);
        let traffic = mixed();
        let traced =
            |threads| trace(&Run::new(&network, &traffic).until(Span::from_secs(4)).threads(threads).run());
        let alone = traced(1);
        assert!([2, 3].into_iter().all(|threads| traced(threads) == alone));
    }
}

#[test]
fn what_waits_in_flow_queues_is_counted_for_neighbors_that_stop() {
    // `Switch::finish` and `Outcome::check_balance` hold what waits against what is counted, after every run.
    let shared = Buffer { size: Bytes::new(300_000), sharing: Sharing::Complete };
    for config in all(&shared) {
        let pause = Pause { xoff: Bytes::new(60_000), xon: None, quanta: u16::MAX, frame: Bytes::new(84) };
        for config in [
            SwitchConfig { pause: Some(pause.clone()), ..config.clone() },
            SwitchConfig { pfc: Some(Pfc::default()), ..config.clone() },
        ] {
            let network = bottleneck(6, BitRate::from_mbps(40), Span::from_ms(20), config);
            let outcome = Run::new(&network, &mixed()).until(Span::from_secs(4)).run();
            let delivered: u64 = outcome.flows.iter().map(|flow| flow.delivered.get()).sum();
            // Nine tenths of the link.
            assert!(delivered > 40_000_000 / 8 * 4 * 1448 / 1538 * 9 / 10, "{delivered} B");
        }
    }
}
