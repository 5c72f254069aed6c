//! Congestion points that talk to sources, and limiters that listen.

use crate::support::{
    ENDLESS, Run, at, bcn, cubic, dctcp, flow, group, link, network, params, qcn, reaction, reno, saturating,
    signaling, traffic,
};
use narrows_proto::reaction;
use narrows_proto::units::{BitRate, Bytes, Span};
use narrows_sim::mechanism::limiter::{LimiterObserver, LimiterRow};
use narrows_sim::observe::{PortObserver, PortRow};
use narrows_sim::switch::{Bcn, BcnVersion, CongestionPoint, Message, Qcn, Sampling};
use narrows_sim::topology::{Topology, Wire};
use narrows_sim::traffic::{FlowSpec, Traffic};
use narrows_sim::{
    DropCause, GroupId, LimiterScope, LinkId, Network, NodeId, Outcome, PortCounters, Reaction, ReactionPlace,
};

const RATE: BitRate = BitRate::from_gbps(10);
const GBPS: fn(u64) -> BitRate = BitRate::from_gbps;
const MS: fn(u64) -> Span = Span::from_ms;

fn star(hosts: u32, wire: Wire) -> Topology {
    let mut topology = Topology::default();
    let switch = topology.add_switch("switch", "switch", 0);
    for host in 0..hosts {
        let host = topology.add_host(format!("host{host}"));
        topology.connect(host, switch, wire);
    }
    topology
}

fn wire() -> Wire {
    Wire::new(RATE, Span::from_us(1))
}

fn with_reaction(topology: Topology, point: CongestionPoint, reaction: Reaction) -> Network {
    let network = network(topology, &signaling(8_000_000, point));
    Network { reaction: Some(reaction), ..network }
}

fn qcn_point() -> CongestionPoint {
    CongestionPoint::Qcn(Qcn::default())
}

/// Samples one frame in ten, so that the loop is not slower than the queue.
fn bcn_point(version: BcnVersion) -> CongestionPoint {
    CongestionPoint::Bcn(Bcn { version, sampling: Sampling::Random(0.1), ..Bcn::default() })
}

/// Activity of ports and limiters from one time until another.
struct Watched {
    outcome: Outcome<(PortObserver, LimiterObserver)>,
    ports: Vec<PortRow>,
    limiters: Vec<LimiterRow>,
    seconds: f64,
}

/// Runs until `until`. Rows are those from `from` on, one every 100 µs.
fn watch(network: &Network, traffic: &Traffic, from: Span, until: Span) -> Watched {
    let (links, nodes) = (network.topology.links().len(), network.topology.nodes().len());
    let all_links: Vec<_> = (0..links).map(LinkId::from).collect();
    let all_nodes: Vec<_> = (0..nodes).map(NodeId::from).collect();
    let observer = || {
        let ports = PortObserver::new(INTERVAL, links, &all_links);
        (ports, LimiterObserver::new(INTERVAL, nodes, &all_nodes))
    };
    let mut outcome = Run::new(network, traffic).until(until).observed(observer);
    let (ports, limiters): (Vec<_>, Vec<_>) = std::mem::take(&mut outcome.observers).into_iter().unzip();
    let mut ports = PortObserver::finish(ports, outcome.ended);
    ports.retain(|row| row.start >= at(from));
    let mut limiters = LimiterObserver::finish(limiters);
    limiters.retain(|row| row.at >= at(from));
    Watched { outcome, ports, limiters, seconds: until.as_secs_f64() - from.as_secs_f64() }
}

const INTERVAL: Span = Span::from_us(100);

impl Watched {
    fn rows(&self, link: LinkId) -> impl Iterator<Item = &PortRow> {
        self.ports.iter().filter(move |row| row.link == link)
    }

    /// Mean bytes that wait.
    fn queue(&self, link: LinkId) -> f64 {
        let waits: f64 = self.rows(link).map(|row| row.mean_backlog).sum();
        waits * INTERVAL.as_secs_f64() / self.seconds
    }

    /// In Gb/s, framing included.
    fn rate(&self, link: LinkId) -> f64 {
        self.rows(link).map(|row| row.bytes).sum::<u64>() as f64 * 8e-9 / self.seconds
    }

    /// Mean rate in Gb/s of each limiter, over the intervals in which it did something.
    fn limits(&self) -> Vec<f64> {
        let mut names: Vec<_> = self.limiters.iter().map(|row| (row.node, row.limiter)).collect();
        names.sort_unstable();
        names.dedup();
        let mean = |name| {
            let rates = self.limiters.iter().filter(|row| (row.node, row.limiter) == name);
            let rates: Vec<_> = rates.map(|row| row.rate.as_f64() / 1e9).collect();
            rates.iter().sum::<f64>() / rates.len() as f64
        };
        names.into_iter().map(mean).collect()
    }

    /// Limiters that a node had at once.
    fn limiters_of(&self, network: &Network, node: &str) -> u32 {
        let rows = self.limiters.iter().filter(|row| network.topology.node(row.node).name == node);
        rows.map(|row| row.limiter + 1).max().unwrap_or(0)
    }
}

/// Packets dropped for other reasons than a full limiter.
fn dropped<O>(outcome: &Outcome<O>) -> u64 {
    outcome.ports.iter().map(PortCounters::dropped).sum::<u64>() - outcome.drops(DropCause::Limiter)
}

// ── Where the queue settles ────────────────────────────────────────────────────────────────────────────────────

/// Endless flows from some hosts to the next one.
#[derive(Clone, Copy, Debug)]
enum Load {
    Datagrams,
    Reno,
    Cubic,
}

impl Load {
    fn traffic(self, senders: u32, until: Span) -> Traffic {
        let endless = || (0..senders).map(|host| flow(host, senders, ENDLESS)).collect();
        match self {
            Self::Datagrams => {
                saturating(&(0..senders).map(|host| (host, senders, RATE)).collect::<Vec<_>>(), until)
            }
            Self::Reno => traffic(group(params(), reno()), endless()),
            Self::Cubic => traffic(group(params(), cubic()), endless()),
        }
    }
}

/// Lets `check` look at what is going on from 100 ms to 300 ms: what it is, bytes waiting, and rates of all limiters.
fn settled(point: &CongestionPoint, rule: &reaction::Config, check: impl Fn(&str, f64, &[f64])) {
    for (senders, load, place) in [
        (2, Load::Datagrams, ReactionPlace::Host),
        (4, Load::Reno, ReactionPlace::Host),
        (8, Load::Cubic, ReactionPlace::Host),
        (2, Load::Reno, ReactionPlace::EdgeSwitch),
        (8, Load::Datagrams, ReactionPlace::EdgeSwitch),
    ] {
        let network = with_reaction(
            star(senders + 1, wire()),
            point.clone(),
            Reaction { place, ..reaction(rule.clone()) },
        );
        let watched = watch(&network, &load.traffic(senders, MS(300)), MS(100), MS(300));
        let bottleneck = link(&network, "switch", &format!("host{senders}"));
        let (queue, used, limits) =
            (watched.queue(bottleneck), watched.rate(bottleneck) / 10.0, watched.limits());
        let what = format!("{senders} × {load:?}, limited at {place:?}: {queue} B, {used}, {limits:?}");
        assert!(used > 0.99, "{what}");
        assert_eq!(dropped(&watched.outcome), 0, "{what}");
        assert_eq!(limits.len(), senders as usize, "{what}");
        check(&what, queue, &limits);
    }
}

#[test]
fn the_queue_of_qcn_settles_at_its_set_point() {
    settled(&qcn_point(), &qcn(), |what, queue, limits| {
        // Qeq is 26 kB. Feedback below a quantum of 130 kB/63 is not sent: one or two kB less or more.
        assert!((22_000.0..27_000.0).contains(&queue), "{what}");
        // Rates may differ for long, only their sum is what the link carries.
        assert!((limits.iter().sum::<f64>() / 10.0 - 1.0).abs() < 0.03, "{what}");
    });
}

#[test]
fn the_queue_of_bcn_settles_at_its_set_point_and_rates_become_fair() {
    for version in [BcnVersion::Explicit, BcnVersion::Levels] {
        settled(&bcn_point(version), &bcn(), |what, queue, limits| {
            // Qeq is 24 kB. Levels are coarse: small feedback acts like a quarter of the largest. A cut takes part of a
            // rate, an increase adds the same to all; so fewer, faster sources are cut harder than they are raised.
            let least = if version == BcnVersion::Levels { 13_000.0 } else { 22_000.0 };
            assert!((least..27_000.0).contains(&queue), "{what}");
            // ±20 %: one message changes a rate by up to that much.
            let fair = 10.0 / limits.len() as f64;
            assert!(limits.iter().all(|limit| (limit / fair - 1.0).abs() < 0.2), "{what}");
        });
    }
}

#[test]
fn no_reaction_points_no_set_point() {
    let network = Network { reaction: None, ..with_reaction(star(3, wire()), qcn_point(), reaction(qcn())) };
    let outcome = Run::new(&network, &Load::Datagrams.traffic(2, MS(10))).run();
    assert!(dropped(&outcome) > 0 && outcome.ports.iter().any(|port| port.slower > 0));
    assert_eq!(outcome.mechanisms.limiter, Default::default());
}

// ── Limiters ───────────────────────────────────────────────────────────────────────────────────────────────────

/// BCN at one switch with `hosts` hosts.
fn fair(hosts: u32, reaction: Reaction) -> Network {
    with_reaction(star(hosts, wire()), bcn_point(BcnVersion::Explicit), reaction)
}

/// Received by each flow in Gb/s, framing included, of datagrams of 1538 B.
fn received<O>(outcome: &Outcome<O>, seconds: f64) -> Vec<f64> {
    let rate = |packets: u64| packets as f64 * 1538.0 * 8e-9 / seconds;
    outcome.datagrams.iter().map(|source| rate(source.received)).collect()
}

fn close(rates: &[f64], expected: &[f64], tolerance: f64) -> bool {
    let is_close = |(rate, expected): (&f64, &f64)| (rate / expected - 1.0).abs() < tolerance;
    rates.len() == expected.len() && rates.iter().zip(expected).all(is_close)
}

#[test]
fn a_limiter_holds_what_its_scope_says() {
    // Host 0 sends twice to host 4, where it meets three others, and once to host 5, which nobody else uses.
    let pairs = [(0, 4), (0, 4), (0, 5), (1, 4), (2, 4), (3, 4)];
    let rates = [3, 3, 3, 9, 9, 9].map(GBPS);
    let pairs: Vec<_> = pairs.iter().zip(rates).map(|((from, to), rate)| (*from, *to, rate)).collect();
    for (per, limiters, expected) in [
        // Five limiters share 10 Gb/s.
        (LimiterScope::Flow, 2, [2.0, 2.0, 3.0, 2.0, 2.0, 2.0]),
        // Four limiters; two flows share one of them.
        (LimiterScope::Pair, 1, [1.25, 1.25, 3.0, 2.5, 2.5, 2.5]),
        // All of host 0 shares one, in turn. Of what it lets through, a third does not meet the others: they have more.
        (LimiterScope::Port, 1, [0.91, 0.91, 0.91, 2.73, 2.73, 2.73]),
    ] {
        let network = fair(6, Reaction { per, ..reaction(bcn()) });
        let watched = watch(&network, &saturating(&pairs, MS(200)), Span::ZERO, MS(200));
        let rates = received(&watched.outcome, 0.2);
        assert_eq!(watched.limiters_of(&network, "host0"), limiters, "{per:?}");
        // ±15 %: the first milliseconds count.
        assert!(close(&rates, &expected, 0.15), "{per:?}: {rates:?}");
    }
}

#[test]
fn flows_beyond_the_last_limiter_share_one() {
    // Two flows of host 0 to different congested hosts: 2 share 10 Gb/s at the one, 4 at the other.
    let pairs = [
        (0, 5, GBPS(9)),
        (0, 6, GBPS(9)),
        (1, 5, GBPS(9)),
        (2, 6, GBPS(9)),
        (3, 6, GBPS(9)),
        (4, 6, GBPS(9)),
    ];
    // With one limiter they get equal rates, and less: it is notified of both. At the second host alone it would have the part of
    // one source, 3·x + x/2 = 10 Gb/s with x for both together.
    for (limiters, expected) in [(2, [5.0, 2.5]), (1, [1.1, 1.1])] {
        let network = fair(7, Reaction { limiters, ..reaction(bcn()) });
        let watched = watch(&network, &saturating(&pairs, MS(200)), Span::ZERO, MS(200));
        let rates = received(&watched.outcome, 0.2);
        assert_eq!(watched.limiters_of(&network, "host0"), limiters);
        assert!(close(&rates[..2], &expected, 0.25), "{limiters}: {rates:?}");
        assert!(limiters > 1 || (rates[0] / rates[1] - 1.0).abs() < 0.01, "{rates:?}");
    }
}

#[test]
fn acknowledged_and_other_flows_that_share_a_limiter_have_equal_parts_of_it() {
    // A stream and a source of datagrams of host 0, against another host.
    let reaction = Reaction { per: LimiterScope::Pair, ..reaction(bcn()) };
    let network = fair(3, reaction);
    let mut traffic = saturating(&[(0, 2, RATE), (1, 2, RATE)], MS(100));
    traffic.groups.push(group(params(), reno()));
    traffic.flows.push(FlowSpec { group: GroupId(2), ..flow(0, 2, ENDLESS) });
    let outcome = Run::new(&network, &traffic).until(MS(100)).run();
    let datagrams = received(&outcome, 0.1)[0];
    let stream = outcome.flows[0].delivered.as_f64() / 1448.0 * 1538.0 * 8e-9 / 0.1;
    assert!(close(&[datagrams, stream], &[2.5, 2.5], 0.15), "{datagrams} {stream}");
}

#[test]
fn streams_that_read_marks_keep_the_queue_of_their_limiter_short() {
    let waits = |place, mark: Option<u64>, cc| {
        let queue = Bytes::new(300_000);
        let network = fair(5, Reaction { place, queue, mark: mark.map(Bytes::new), ..reaction(bcn()) });
        let endless = (0..4).map(|host| flow(host, 4, ENDLESS)).collect();
        let watched = watch(&network, &traffic(group(params(), cc), endless), MS(100), MS(200));
        assert!(watched.rate(link(&network, "switch", "host4")) > 9.9);
        let limiter = watched.outcome.mechanisms.limiter;
        assert_eq!(limiter.marked > 0, mark.is_some());
        let waiting = watched.limiters.iter().map(|row| row.waiting.as_f64());
        (waiting.sum::<f64>() / watched.limiters.len() as f64, limiter.marked)
    };
    for place in [ReactionPlace::Host, ReactionPlace::EdgeSwitch] {
        let (without, _) = waits(place, None, dctcp());
        let (with, marked) = waits(place, Some(30_000), dctcp());
        // A step mark: the queue swings around the threshold by about the window of one flow at its share.
        assert!(
            without > 200_000.0 && (10_000.0..45_000.0).contains(&with),
            "{place:?} {without} {with} {marked}"
        );
    }
}

#[test]
fn a_limiter_marks_no_packet_of_a_transport_that_reads_no_marks() {
    let network = fair(5, Reaction { mark: Some(Bytes::new(3_000)), ..reaction(bcn()) });
    let endless = (0..4).map(|host| flow(host, 4, ENDLESS)).collect();
    let outcome = Run::new(&network, &traffic(group(params(), reno()), endless)).until(MS(50)).run();
    assert_eq!((outcome.mechanisms.limiter.marked, outcome.mechanisms.limiter.limiters), (0, 4));
}

#[test]
fn a_flow_that_ends_leaves_its_limiter_to_others() {
    // Twenty streams end one after the other; sources of datagrams never know.
    let network = fair(3, Reaction { per: LimiterScope::Pair, ..reaction(bcn()) });
    let mut traffic = saturating(&[(0, 2, RATE), (1, 2, RATE)], MS(100));
    traffic.groups.push(group(params(), reno()));
    let stream = |number: u64| FlowSpec { group: GroupId(2), ..flow(0, 2, 20_000 * number) };
    traffic.flows.extend((1..=20).map(stream));
    let watched = watch(&network, &traffic, MS(50), MS(100));
    assert!(watched.outcome.flows.iter().all(|flow| flow.end.is_some()));
    let rate = watched.rate(link(&network, "host0", "switch"));
    assert!(close(&[rate], &[5.0], 0.15), "{rate}");
}

/// Two hosts with 8 Gb/s, one with 10 Gb/s behind them, so that one sender alone is no congestion.
fn two_of_eight() -> Topology {
    let mut topology = Topology::default();
    let switch = topology.add_switch("switch", "switch", 0);
    for (name, gbps) in [("host0", 8), ("host1", 8), ("host2", 10)] {
        let host = topology.add_host(name);
        topology.connect(host, switch, Wire::new(GBPS(gbps), Span::from_us(1)));
    }
    topology
}

#[test]
fn what_waits_in_a_limiter_that_goes_does_not_enter_the_next_queue_at_once() {
    // Host 1 stops after 50 ms. Then the limiter of host 0 is at line rate soon, with 300 kB in it.
    let mut traffic = saturating(&[(0, 2, RATE), (1, 2, RATE)], MS(100));
    traffic.generators[1].until = at(MS(50));
    let reaction =
        Reaction { place: ReactionPlace::EdgeSwitch, queue: Bytes::new(300_000), ..reaction(bcn()) };
    let network = with_reaction(two_of_eight(), bcn_point(BcnVersion::Explicit), reaction);
    let watched = watch(&network, &traffic, MS(50), MS(100));
    let waiting = |bytes| watched.limiters.iter().rev().find(move |row| row.waiting.get() > bytes);
    assert!(waiting(290_000).is_some(), "it was full");
    // What drains at 10 Gb/s and gets 8 Gb/s is empty after 1.2 ms.
    assert!(waiting(0).is_some_and(|last| last.at < at(MS(53))), "{:?}", waiting(0));
    let peak = watched.rows(link(&network, "switch", "host2")).map(|row| row.max_backlog).max();
    // It leaves as fast as the port sends; what came before may still wait there, about the set point of 24 kB.
    assert!(peak.is_some_and(|peak| peak < 50_000), "{peak:?} B");
}

#[test]
fn after_congestion_a_limiter_goes_and_its_flow_is_as_fast_as_before() {
    let topology = two_of_eight();
    // Host 1 stops after 50 ms.
    let (stop, end) = (MS(50), MS(300));
    let mut traffic = saturating(&[(0, 2, RATE), (1, 2, RATE)], end);
    traffic.generators[1].until = at(stop);
    for (point, rule, soon) in [
        // From 5 to 8 Gb/s by half a Gb/s a message, of which come 60 a millisecond; by 64 Mb/s with levels.
        (bcn_point(BcnVersion::Explicit), bcn(), MS(1)),
        (bcn_point(BcnVersion::Levels), bcn(), MS(3)),
        // Five timers of 15 ms until hyper-active increase, and as many of half that.
        (qcn_point(), qcn(), MS(150)),
    ] {
        // What waits when the limiter is at line rate, up to 300 kB, leaves at 10 Gb/s while 8 Gb/s come: 1.2 ms.
        let edge = ReactionPlace::EdgeSwitch;
        for (place, queue, drains) in [
            (ReactionPlace::Host, 15_000, Span::ZERO),
            (edge, 15_000, Span::ZERO),
            (edge, 300_000, Span::from_us(1_200)),
        ] {
            let reaction = Reaction { place, queue: Bytes::new(queue), ..reaction(rule.clone()) };
            let network = with_reaction(topology.clone(), point.clone(), reaction);
            let watched = watch(&network, &traffic, Span::ZERO, end);
            let rows: Vec<_> = watched.rows(link(&network, "switch", "host2")).collect();
            // With a tag, packets are larger.
            let last = rows.iter().rposition(|row| row.bytes != row.packets * 1538).expect("it was limited");
            let since = rows[last].start + INTERVAL;
            let what = format!("{} at {place:?}, {queue} B: until {since}", rule.name());
            assert!(since > at(stop) && since <= at(stop + soon + drains), "{what}");
            let bytes: u64 = rows[last + 1..].iter().map(|row| row.bytes).sum();
            let rate = bytes as f64 * 8e-9 / (at(end) - since).as_secs_f64();
            assert!(close(&[rate], &[8.0], 0.01), "{what}: then {rate} Gb/s");
        }
    }
}

#[test]
fn an_edge_switch_drops_what_a_full_limiter_cannot_hold() {
    let network = fair(3, Reaction { place: ReactionPlace::EdgeSwitch, ..reaction(bcn()) });
    let outcome = Run::new(&network, &saturating(&[(0, 2, RATE), (1, 2, RATE)], MS(20))).until(MS(30)).run();
    let sent: u64 = outcome.datagrams.iter().map(|source| source.sent).sum();
    let received: u64 = outcome.datagrams.iter().map(|source| source.received).sum();
    // Half of what is sent. What is lost is lost there, and counts for the port of the host it came from.
    let drops = outcome.drops(DropCause::Limiter);
    assert_eq!((sent - received, dropped(&outcome)), (drops, 0));
    assert!((drops as f64 / sent as f64 - 0.5).abs() < 0.05, "{drops} of {sent}");
    let of_hosts =
        ["host0", "host1"].map(|host| outcome.ports[link(&network, "switch", host).index()].dropped());
    assert_eq!(of_hosts.iter().sum::<u64>(), drops);
    // A host does not hand over more than fits; its socket drops.
    let network = fair(3, reaction(bcn()));
    let outcome = Run::new(&network, &saturating(&[(0, 2, RATE), (1, 2, RATE)], MS(20))).until(MS(30)).run();
    assert_eq!(outcome.drops(DropCause::Limiter) + dropped(&outcome), 0);
    assert!(outcome.datagrams.iter().all(|source| source.dropped_at_source > 0));
}

#[test]
fn at_an_edge_switch_a_rack_is_one_party_however_many_hosts_send() {
    // Three hosts of one rack and one of another send to a host of a third. Each source is a group of datagrams of its own; those of
    // the first rack are made one group.
    let mut topology = Topology::default();
    let spine = topology.add_switch("spine", "spine", 1);
    for (rack, hosts) in [(0, 3), (1, 1), (2, 1)] {
        let tor = topology.add_switch(format!("rack{rack}/tor"), "tor", 0);
        topology.connect(tor, spine, wire());
        for host in 0..hosts {
            let host = topology.add_host(format!("rack{rack}/host{host}"));
            topology.connect(host, tor, wire());
        }
    }
    let pairs = [0, 1, 2, 3].map(|from| (from, 4, GBPS(9)));
    let mut traffic = saturating(&pairs, MS(200));
    (0..3).for_each(|flow| traffic.flows[flow].group = GroupId(0));
    // What the hosts of each rack get together. Who of them finds room in a limiter that is full is a matter of phases.
    for (per, limiters, expected) in
        [(LimiterScope::Flow, 3, [7.5, 2.5]), (LimiterScope::Rack, 1, [5.0, 5.0])]
    {
        let place = ReactionPlace::EdgeSwitch;
        let reaction = Reaction { place, per, queue: Bytes::new(60_000), ..reaction(bcn()) };
        let network = with_reaction(topology.clone(), bcn_point(BcnVersion::Explicit), reaction);
        let watched = watch(&network, &traffic, Span::ZERO, MS(200));
        assert_eq!(watched.limiters_of(&network, "rack0/tor"), limiters, "{per:?}");
        let rates = received(&watched.outcome, 0.2);
        let racks = [rates[..3].iter().sum(), rates[3]];
        // ±15 %: the first milliseconds count.
        assert!(close(&racks, &expected, 0.15), "{per:?}: {rates:?}");
        // What is lost is what a limiter could not hold. Less than a limiter of each rack or flow holds is still on its way.
        let outcome = &watched.outcome;
        let sent: u64 = outcome.datagrams.iter().map(|source| source.sent).sum();
        let arrived: u64 = outcome.datagrams.iter().map(|source| source.received).sum();
        let under_way = sent - arrived - outcome.drops(DropCause::Limiter);
        assert!(under_way <= 4 * 60_000 / 1538 + 200, "{per:?}: {under_way}");
        assert_eq!(dropped(outcome), 0);
    }
}

#[test]
fn the_limiter_of_a_rack_whose_uplinks_are_faster_than_any_link_may_be_has_the_rate_of_the_fastest() {
    let mut topology = Topology::default();
    let [spine, tor] = [("spine", 1), ("tor", 0)].map(|(name, layer)| topology.add_switch(name, name, layer));
    let wire = Wire::new(GBPS(60_000), Span::from_us(1));
    (0..2).for_each(|_| _ = topology.connect(tor, spine, wire));
    for host in 0..3 {
        let host = topology.add_host(format!("host{host}"));
        topology.connect(host, tor, wire);
    }
    let reaction = Reaction { place: ReactionPlace::EdgeSwitch, per: LimiterScope::Rack, ..reaction(bcn()) };
    let network = with_reaction(topology, bcn_point(BcnVersion::Explicit), reaction);
    let flows = (0..2).map(|host| flow(host, 2, 20_000_000)).collect();
    let watched = watch(&network, &traffic(group(params(), reno()), flows), Span::ZERO, MS(5));
    assert!(watched.limiters.iter().all(|row| row.rate <= GBPS(100_000)));
    assert!(watched.outcome.mechanisms.limiter.limiters > 0, "there is one");
}

#[test]
fn a_severely_congested_queue_stops_its_sources_and_they_start_again() {
    let severe = Some(Bytes::new(60_000));
    for version in [BcnVersion::Explicit, BcnVersion::Levels] {
        let point = CongestionPoint::Bcn(Bcn { severe, version, ..Bcn::default() });
        let network = with_reaction(star(17, wire()), point, reaction(bcn()));
        let flows = (0..16).map(|host| flow(host, 16, 2_000_000)).collect();
        let watched = watch(&network, &traffic(group(params(), reno()), flows), Span::ZERO, MS(200));
        let stops: u64 = watched.outcome.ports.iter().map(|port| port.stops).sum();
        assert!(stops > 0);
        assert!(watched.limiters.iter().any(|row| row.rate == BitRate::ZERO));
        let ends: Vec<_> = watched.outcome.flows.iter().map(|flow| flow.end).collect();
        assert!(ends.iter().all(Option::is_some), "{ends:?}");
    }
}

#[test]
fn of_two_congested_queues_in_a_row_the_rate_follows_the_worse() {
    // Three switches. The flow of host 0 crosses both links; hosts 1, and 2 and 3, join it on one of them.
    let mut topology = Topology::default();
    let switches: Vec<_> = (0..3).map(|n| topology.add_switch(format!("switch{n}"), "switch", 0)).collect();
    for pair in switches.windows(2) {
        topology.connect(pair[0], pair[1], wire());
    }
    for (host, switch) in [0, 0, 1, 1, 2, 1, 2].into_iter().enumerate() {
        let host = topology.add_host(format!("host{host}"));
        topology.connect(host, switches[switch], wire());
    }
    let pairs = [(0, 4, RATE), (1, 5, GBPS(5)), (2, 6, RATE), (3, 6, RATE)];
    let network = with_reaction(topology, bcn_point(BcnVersion::Explicit), reaction(bcn()));
    let watched = watch(&network, &saturating(&pairs, MS(300)), MS(100), MS(300));
    let [first, second] = [("switch0", "switch1"), ("switch1", "switch2")].map(|(a, b)| link(&network, a, b));
    let uplinks = [("host0", "switch0"), ("host1", "switch0"), ("host2", "switch1"), ("host3", "switch1")];
    let rates = uplinks.map(|(host, switch)| watched.rate(link(&network, host, switch)));
    // A third of the second link; the first has 10 − 5 Gb/s to offer.
    assert!(close(&rates, &[3.33, 5.0, 3.33, 3.33], 0.1), "{rates:?}");
    // Its queue is empty, and it would speed up everybody, but nobody names it any more.
    let messages = |link| watched.rows(link).map(|row| row.messages).sum::<u64>();
    assert!(messages(first) == 0 && messages(second) > 1000, "{} {}", messages(first), messages(second));
}

// ── Messages ───────────────────────────────────────────────────────────────────────────────────────────────────

#[test]
fn messages_are_packets_that_take_their_time_on_links() {
    // Over two switches, so that messages cross a link between them, too. Datagrams are never acknowledged: what comes back
    // is messages.
    let mut topology = star(3, wire());
    let far = topology.add_switch("far", "switch", 0);
    let near = topology.link(link_of(&topology, "switch", "host0")).from;
    topology.connect(near, far, wire());
    let sender = topology.add_host("sender");
    topology.connect(sender, far, wire());
    let message = Message { size: Bytes::new(118), ..Message::default() };
    let point = CongestionPoint::Bcn(Bcn { message, sampling: Sampling::Every(10), ..Bcn::default() });
    let network = with_reaction(topology, point, reaction(bcn()));
    let outcome = Run::new(&network, &saturating(&[(0, 2, RATE), (1, 2, RATE), (3, 2, RATE)], MS(20)))
        .until(MS(30))
        .run();
    let back = |from, to| outcome.ports[link(&network, from, to).index()];
    let messages: u64 = outcome.ports.iter().map(PortCounters::messages).sum();
    assert!(messages > 100);
    let last_hops = [back("switch", "host0"), back("switch", "host1"), back("far", "sender")];
    assert_eq!(last_hops.map(|port| port.packets).iter().sum::<u64>(), messages);
    assert_eq!(outcome.mechanisms.limiter.received, messages);
    for port in last_hops.iter().chain([&back("switch", "far")]) {
        assert!(port.packets > 10 && port.bytes == 118 * port.packets, "{port:?}");
    }
    assert_eq!(back("switch", "far").packets, back("far", "sender").packets);
}

fn link_of(topology: &Topology, from: &str, to: &str) -> LinkId {
    let name = format!("{from} -> {to}");
    (0..topology.links().len())
        .map(LinkId::from)
        .find(|link| topology.link_name(*link) == name)
        .expect("a link")
}

#[test]
fn messages_go_before_data() {
    // Hosts 0 and 1 fill the queue towards host 4 as fast as hosts 2 and 3 the one towards host 0.
    let first_limit = |priority| {
        let message = Message { priority, ..Message::default() };
        let set_point = Bytes::new(100_000);
        let point = CongestionPoint::Qcn(Qcn { message, set_point, ..Qcn::default() });
        let network = with_reaction(star(5, wire()), point, reaction(qcn()));
        let pairs = [(0, 4, RATE), (1, 4, RATE), (2, 0, RATE), (3, 0, RATE)];
        let watched = watch(&network, &saturating(&pairs, MS(2)), Span::ZERO, MS(2));
        let of_host = |row: &&LimiterRow| network.topology.node(row.node).name == "host0";
        watched.limiters.iter().find(of_host).expect("it is limited").at.as_ps() as f64 * 1e-6
    };
    let (urgent, waiting) = (first_limit(7), first_limit(0));
    // Without priority the message finds as much waiting on its way back as it tells of, and takes twice the time.
    assert!(urgent > 30.0 && (1.7..2.1).contains(&(waiting / urgent)), "{urgent} µs, {waiting} µs");
}

#[test]
fn the_loop_works_although_messages_are_lost() {
    // One packet in ten is lost on each link, data and messages alike.
    let lossy = Wire { error_rate: 0.1, ..wire() };
    for (point, rule) in [(bcn_point(BcnVersion::Explicit), bcn()), (qcn_point(), qcn())] {
        let network = with_reaction(star(5, lossy), point, reaction(rule.clone()));
        let watched = watch(&network, &Load::Datagrams.traffic(4, MS(300)), MS(100), MS(300));
        let bottleneck = link(&network, "switch", "host4");
        let (queue, used) = (watched.queue(bottleneck), watched.rate(bottleneck) / 10.0);
        let messages: u64 = watched.outcome.ports.iter().map(PortCounters::messages).sum();
        let received = watched.outcome.mechanisms.limiter.received as f64 / messages as f64;
        let what = format!("{}: {queue} B, {used}, {received} of {messages}", rule.name());
        // ±0.05: a binomial of 500 and more messages has a deviation of 0.013 at most.
        assert!((received - 0.9).abs() < 0.05, "{what}");
        // Between two samples of QCN, 100 packets, the queue changes by three packets only because some were lost. QCN
        // is notified of it when it grows, not when it shrinks, so it settles lower.
        let least = if rule.name() == "qcn" { 8_000.0 } else { 22_000.0 };
        assert!((least..27_000.0).contains(&queue) && used > 0.98, "{what}");
    }
}
