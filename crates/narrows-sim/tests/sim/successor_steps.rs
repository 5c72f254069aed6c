//! PowerTCP, theta-PowerTCP and UnoCC: many flows, a rival that comes and goes, and a link that becomes slower.

use std::sync::Arc;

use narrows_proto::cc::{Config, powertcp, theta_powertcp, uno};
use narrows_proto::stream::Params;
use narrows_proto::units::{BitRate, Bytes, Span};
use narrows_sim::Network;
use narrows_sim::path::{Path, Rate, Steps};
use narrows_sim::switch::{Marking, Phantom, PortKind, SwitchConfig};
use narrows_sim::topology::{Star, Topology};
use narrows_sim::traffic::{FlowSpec, Traffic};

use crate::support::{ENDLESS, at, deep, flow, group, link, network, params, rdma, telling, traffic};
use crate::telemetry::{Measured, measure};

const RATE: BitRate = BitRate::from_gbps(10);

/// A control and the switch it wants, over 10 Gb/s and 25 us of delay on each link: an empty round trip is 102.6 us, 128 kB.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Under {
    PowerTcp,
    Theta,
    Uno,
}

const ALL: [Under; 3] = [Under::PowerTcp, Under::Theta, Under::Uno];

impl Under {
    fn switch(self) -> SwitchConfig {
        match self {
            Self::PowerTcp => telling(),
            Self::Theta => deep(),
            Self::Uno => {
                let marking = Marking::Phantom(Box::new(Phantom::new(Bytes::new(1_000_000).into())));
                SwitchConfig { marking, ports: PortKind::Scheduled, ..deep() }
            }
        }
    }

    /// The switch has one more host than there are senders.
    fn network(self, senders: u32) -> Network {
        let mut topology = Topology::default();
        Star { hosts: senders + 1, rate: RATE, delay: Span::from_us(25) }.build(&mut topology, "");
        network(topology, &self.switch())
    }

    fn traffic(self, flows: Vec<FlowSpec>) -> Traffic {
        let base = Span::from_us(103);
        let config = match self {
            Self::PowerTcp => Config::Powertcp(powertcp::Params { base_rtt: base, ..Default::default() }),
            Self::Theta => {
                Config::ThetaPowertcp(theta_powertcp::Params { base_rtt: Some(base), ..Default::default() })
            }
            Self::Uno => {
                Config::Uno(uno::Params { base_rtt: Some(base), intra_rtt: base, ..Default::default() })
            }
        };
        let group = match self {
            Self::PowerTcp => rdma(narrows_proto::rdma::Params::default(), config),
            Self::Theta | Self::Uno => group(Params { ack_every: 1, ..params() }, config),
        };
        traffic(group, flows)
    }

    /// Flows without an end from as many hosts, each a round trip after the one before.
    fn many(self, count: u32) -> (Network, Traffic) {
        let one = |host: u32| FlowSpec {
            start: at(Span::from_us(103) * host.into()),
            ..flow(host, count, ENDLESS)
        };
        (self.network(count), self.traffic((0..count).map(one).collect()))
    }
}

fn during(of: (Network, Traffic), from_ms: u64, until_ms: u64) -> Measured {
    let (network, mut traffic) = of;
    measure(&network, &mut traffic, Span::from_ms(from_ms), Span::from_ms(until_ms))
}

/// Jain's index.
fn jain(shares: &[f64]) -> f64 {
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|share| share * share).sum();
    sum * sum / squares / shares.len() as f64
}

/// Bytes that 103 us hold at 10 Gb/s, and a tenth of it: beta.
const PRODUCT: f64 = 128_750.0;
const BETA: f64 = PRODUCT / 10.0;

#[test]
fn thirty_two_flows_share() {
    for under in ALL {
        let found = during(under.many(32), 100, 200);
        let jain = jain(&found.shares);
        if under == Under::Uno {
            // 1/1.05 drain. A window is less than three packets, whose marks come by chance.
            assert!((0.93..0.953).contains(&found.used) && jain > 0.95, "{}, {jain}", found.used);
            // Two packets of each flow.
            assert!(found.max_queue <= 64 * 1_538, "{} B", found.max_queue);
        } else {
            assert!(found.used > 0.999 && jain > 0.999, "{under:?}: {}, {jain}", found.used);
            // beta of each. 10 %: see the test with two and eight flows.
            let expected = 32.0 * BETA;
            assert!(
                (found.mean_queue / expected - 1.0).abs() < 0.1,
                "{under:?}: {} of {expected} B",
                found.mean_queue
            );
        }
    }
}

/// One flow, and a second from 50 ms on with 25 MB.
fn rival(under: Under) -> (Network, Traffic) {
    let second = FlowSpec { start: at(Span::from_ms(50)), ..flow(1, 2, 25_000_000) };
    (under.network(2), under.traffic(vec![flow(0, 2, ENDLESS), second]))
}

#[test]
fn a_rival_gets_its_share_and_leaves_it() {
    for under in ALL {
        let [before, first, both, after] =
            [(40, 50), (50, 52), (60, 80), (150, 200)].map(|(from, until)| during(rival(under), from, until));
        for alone in [before, after] {
            assert!(alone.used > 0.945 && alone.shares[0] == 1.0, "{under:?}: {} in use", alone.used);
        }
        // It begins with a product while the link is in use.
        assert!(first.max_queue as f64 <= PRODUCT + 2.0 * 1_538.0, "{under:?}: {} B", first.max_queue);
        // 5 %: marks of UnoCC come by chance.
        assert!(both.shares.iter().all(|share| (share - 0.5).abs() < 0.025), "{under:?}: {:?}", both.shares);
        let queue = if under == Under::Uno { 0.0 } else { 2.0 * BETA };
        assert!((both.mean_queue - queue).abs() < 2.0 * 1_538.0, "{under:?}: {} B", both.mean_queue);
    }
}

/// One flow over a link that carries less from 50 ms on, and all from 100 ms on: how much of it is used and waits meanwhile, and
/// used from 150 ms on.
fn slower(under: Under, gbps: u64) -> (f64, f64, f64) {
    let path = || {
        let (network, traffic) = under.many(1);
        let slower = BitRate::from_gbps(gbps);
        let steps = [(Span::ZERO, RATE), (Span::from_ms(50), slower), (Span::from_ms(100), RATE)];
        let rate = Some(Rate::Steps(Arc::new(Steps::new(steps, None))));
        let link = link(&network, "switch", "host1");
        (Network { paths: [(link, Path { rate, ..Path::default() })].into(), ..network }, traffic)
    };
    let (slow, after) = (during(path(), 60, 100), during(path(), 150, 200));
    (slow.used * 10.0 / gbps as f64, slow.mean_queue, after.used)
}

#[test]
fn theta_powertcp_follows_a_link_that_becomes_slower() {
    for gbps in [5, 2] {
        let (used, queue, after) = slower(Under::Theta, gbps);
        // beta waits, up to a packet.
        assert!(used > 0.999 && (queue - BETA).abs() < 1_538.0 && after > 0.99, "{used}, {queue} B, {after}");
    }
}

#[test]
fn telemetry_tells_powertcp_of_the_rate_of_a_port_and_not_of_what_its_link_became() {
    for gbps in [5, 2] {
        let (used, queue, after) = slower(Under::PowerTcp, gbps);
        // The power of half the rate is below 1 with a product on its way, so that the window stays the product. What is not on the path waits.
        let expected = PRODUCT * (1.0 - gbps as f64 / 10.0);
        assert!((queue / expected - 1.0).abs() < 0.05, "{gbps} Gb/s: {queue} of {expected} B");
        assert!(used > 0.999 && after > 0.999, "{used}, {after}");
    }
}

#[test]
fn quick_adapt_follows_a_link_that_lost_more_than_half() {
    // Phantom queues know the rate of the port and mark nothing. What remains of half is not less than half of a window.
    let (used, queue, after) = slower(Under::Uno, 5);
    assert!(
        used > 0.999 && (queue / (PRODUCT / 2.0) - 1.0).abs() < 0.05 && after > 0.945,
        "{used}, {queue} B"
    );
    let (used, queue, after) = slower(Under::Uno, 2);
    assert!(used > 0.99 && queue < 0.2 * PRODUCT, "{used}, {queue} B");
    // From 2 Gb/s a thousandth of a product in each round trip: 82 ms until all is in use.
    assert!(after > 0.85, "{after}");
}
