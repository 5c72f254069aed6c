//! Numbers of a network and its traffic that decide how congestion control fares: round trips, what is on the way in one, queues.

use std::collections::BTreeMap;

use narrows_proto::units::{BitRate, Bytes, Span};
use narrows_sim::switch::{Marking, Red, Step, SwitchConfig};
use narrows_sim::topology::{NodeKind, Topology};
use narrows_sim::traffic::{Group, Transport};
use narrows_sim::{FlowId, HostId, IdealPath, LinkId, Network, Paths};
use serde::Serialize;

use super::Plan;
use super::lossless::{StopFacts, stop_facts};
use super::pairs::Kinds;
use super::paths::{PathFacts, path_facts};

/// Of more pairs of hosts, so many are looked at.
const MOST_PAIRS: usize = 2_000;

/// Numbers of a network and its traffic.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Facts {
    /// Traffic groups, in order.
    pub groups: Vec<GroupFacts>,
    /// Ports of switches, those of one class, rate and buffer together.
    pub ports: Vec<PortFacts>,
    /// Links whose switches stop them, those of one class, rate and thresholds together.
    pub stops: Vec<StopFacts>,
    /// Switches isolate flows, and network cards of hosts take part.
    pub cards_isolate: bool,
    /// Links that have more than a rate and a delay.
    pub paths: Vec<PathFacts>,
    /// Classes of switches with links down and up.
    pub oversubscription: Vec<Oversubscription>,
}

/// Properties of the paths of a traffic group, from the least of its pairs of hosts to the most.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GroupFacts {
    /// Its name.
    pub name: String,
    /// The time of a full packet and its acknowledgment on the empty network, hosts aside.
    pub base_rtt_ps: [u64; 2],
    /// The slowest link on the way of the packet.
    pub bottleneck_bps: [u64; 2],
    /// The bandwidth-delay product of the two.
    pub bdp_bytes: [u64; 2],
    /// A full packet on the wire.
    pub packet_bytes: u64,
}

/// Ports of one class of switches that are alike.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PortFacts {
    /// The class of the switches.
    pub class: String,
    /// Number of ports.
    pub count: usize,
    /// Their rate.
    pub rate_bps: u64,
    /// The most that one queue can hold while the others are empty.
    pub buffer_bytes: u64,
    /// The same in full packets of the group whose packets are largest.
    pub buffer_packets: f64,
    /// The same in bandwidth-delay products: the rate of the port and the longest base round trip of the traffic that crosses these
    /// ports. None if no traffic does.
    pub buffer_bdp: Option<f64>,
    /// Step marking: the backlog above which packets are marked.
    pub k_bytes: Option<u64>,
    /// Time that `k_bytes` take to leave.
    pub k_ps: Option<u64>,
    /// Random early detection: the averages at which it begins and at which it takes every packet, or with `gentle` the probability rises.
    pub red_bytes: Option<[u64; 2]>,
}

/// Oversubscription of a class of switches.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Oversubscription {
    /// The class of the switches.
    pub class: String,
    /// Rates of the links from hosts and lower switches, divided by those to higher switches and to others of the same tier; of the
    /// switch that has most.
    pub ratio: f64,
}

impl Plan {
    /// Numbers of its network and traffic.
    pub fn facts(&self) -> Facts {
        let network = &self.network;
        let paths = Paths::of(network, self.scenario.seed);
        let kinds = Kinds::new(network);
        let mut longest = vec![Span::ZERO; network.topology.links().len()];
        let mut groups = Vec::new();
        for (group, planned) in self.traffic.groups.iter().zip(&self.groups) {
            let pairs = kinds.pairs(planned, &self.traffic.flows);
            let (facts, rtt) = group_facts(network, &paths, group, &pairs);
            groups.extend(facts);
            let crossed = paths.spread(pairs.iter().map(|(from, to)| (*from, *to, 1.0)));
            for (longest, _) in longest.iter_mut().zip(crossed).filter(|(_, crossed)| *crossed > 0.0) {
                *longest = rtt.max(*longest);
            }
        }
        let packet = self.traffic.groups.iter().map(full_packet).max().unwrap_or(Bytes::new(1538));
        let (ports, oversubscription) =
            (port_facts(network, packet, &longest), oversubscription(&network.topology));
        let stops = stop_facts(network, packet);
        let cards_isolate = network
            .switches
            .iter()
            .flatten()
            .any(|switch| switch.isolation.as_ref().is_some_and(|own| own.hosts));
        let paths = path_facts(network);
        Facts { groups, ports, stops, cards_isolate, paths, oversubscription }
    }
}

/// A full packet of its flows on the wire.
fn full_packet(group: &Group) -> Bytes {
    group.transport.packet_size(group.transport.full_payload())
}

/// Size of an acknowledgment on the wire; datagrams have none.
fn ack(transport: &Transport) -> Option<Bytes> {
    match transport {
        Transport::Stream { params, .. } => Some(params.packet_size(Bytes::ZERO)),
        Transport::Rdma { params, cc } => Some(params.under(cc).ack_size),
        Transport::Datagram { .. } => None,
    }
}

/// The base round trip of a flow of a group, the rate of the slowest link on its way, and their product. None without
/// acknowledgments.
pub(super) fn round_trip(
    network: &Network,
    paths: &Paths<'_>,
    group: &Group,
    from: HostId,
    to: HostId,
) -> Option<(Span, BitRate, Bytes)> {
    let (packet, ack) = (full_packet(group), ack(&group.transport)?);
    let (forth, back) = (paths.path(FlowId(0), from, to)?, paths.path(FlowId(0), to, from)?);
    let time = |links: &[LinkId], size| IdealPath::new(network, links).packet_time(size);
    let rtt = time(&forth, packet) + time(&back, ack);
    let rate = forth.iter().map(|link| network.topology.link(*link).wire.rate).min()?;
    Some((rtt, rate, rate * rtt))
}

/// Facts of a group, and its longest round trip. Nothing of datagrams.
fn group_facts(
    network: &Network,
    paths: &Paths<'_>,
    group: &Group,
    pairs: &[(HostId, HostId)],
) -> (Option<GroupFacts>, Span) {
    if ack(&group.transport).is_none() {
        return (None, Span::ZERO);
    }
    let step = pairs.len().div_ceil(MOST_PAIRS).max(1);
    let each = pairs.iter().step_by(step);
    let each = each.filter_map(|(from, to)| round_trip(network, paths, group, *from, *to));
    let each: Vec<(Span, BitRate, Bytes)> = each.collect();
    let ends = |of: fn(&(Span, BitRate, Bytes)) -> u64| {
        let values = each.iter().map(of);
        Some([values.clone().min()?, values.max()?])
    };
    let facts = || {
        Some(GroupFacts {
            name: group.name.clone(),
            base_rtt_ps: ends(|(rtt, ..)| rtt.as_ps())?,
            bottleneck_bps: ends(|(_, rate, _)| rate.as_bps())?,
            bdp_bytes: ends(|(.., bdp)| bdp.get())?,
            packet_bytes: full_packet(group).get(),
        })
    };
    (facts(), each.iter().map(|(rtt, ..)| *rtt).max().unwrap_or(Span::ZERO))
}

fn class(topology: &Topology, node: usize) -> Option<&str> {
    match &topology.nodes()[node].kind {
        NodeKind::Host(_) => None,
        NodeKind::Switch { class, .. } => Some(class),
    }
}

/// Ports of one class, rate and buffer.
struct Alike {
    count: usize,
    /// The longest round trip of traffic that crosses them.
    rtt: Span,
    k: Option<Bytes>,
    red: Option<[Bytes; 2]>,
}

/// `longest` has for each link the longest round trip of traffic that crosses it.
fn port_facts(network: &Network, packet: Bytes, longest: &[Span]) -> Vec<PortFacts> {
    let topology = &network.topology;
    let mut rows = BTreeMap::new();
    for (node, (switch, ports)) in network.switches.iter().zip(topology.ports()).enumerate() {
        let (Some(switch), Some(class)) = (switch, class(topology, node)) else { continue };
        let buffer = switch.buffer.largest_queue(ports.len());
        for link in ports {
            let rate = topology.link(link).wire.rate;
            let new = || Alike { count: 0, rtt: Span::ZERO, k: step(switch, rate), red: red(switch, rate) };
            let row = rows.entry((class, rate, buffer)).or_insert_with(new);
            row.count += 1;
            row.rtt = row.rtt.max(longest[link.index()]);
        }
    }
    let facts = |((class, rate, buffer), Alike { count, rtt, k, red }): ((&str, BitRate, Bytes), Alike)| {
        let bdp = (rate * rtt).as_f64();
        PortFacts {
            class: class.to_owned(),
            count,
            rate_bps: rate.as_bps(),
            buffer_bytes: buffer.get(),
            buffer_packets: buffer.as_f64() / packet.as_f64(),
            buffer_bdp: (bdp > 0.0).then(|| buffer.as_f64() / bdp),
            k_bytes: k.map(Bytes::get),
            k_ps: k.map(|k| rate.time_to_send(k).as_ps()),
            red_bytes: red.map(|ends| ends.map(Bytes::get)),
        }
    };
    rows.into_iter().map(facts).collect()
}

fn step(switch: &SwitchConfig, rate: BitRate) -> Option<Bytes> {
    match &switch.marking {
        Marking::Step(Step { k, .. }) => Some(k.at(rate)),
        _ => None,
    }
}

fn red(switch: &SwitchConfig, rate: BitRate) -> Option<[Bytes; 2]> {
    match &switch.marking {
        Marking::Red(red) => {
            let Red { min, max, .. } = red.of(rate);
            Some([min, max])
        }
        _ => None,
    }
}

fn oversubscription(topology: &Topology) -> Vec<Oversubscription> {
    let mut ratios: BTreeMap<(u32, &str), f64> = BTreeMap::new();
    for (node, (inputs, outputs)) in topology.inputs().iter().zip(topology.ports()).enumerate() {
        let Some(class) = class(topology, node) else { continue };
        let tier = |node| topology.tier(node).map_or(0, |tier| tier + 1);
        let own = tier(node.into());
        let rate = |link: &LinkId| topology.link(*link).wire.rate.as_f64();
        let below = inputs.iter().filter(|link| tier(topology.link(**link).from) < own);
        let above = outputs.iter().filter(|link| tier(topology.link(**link).to) >= own);
        let (below, above): (f64, f64) = (below.map(rate).sum(), above.map(rate).sum());
        if below > 0.0 && above > 0.0 {
            let ratio = ratios.entry((own, class)).or_insert(0.0);
            *ratio = ratio.max(below / above);
        }
    }
    let row = |((_, class), ratio): ((u32, &str), f64)| Oversubscription { class: class.to_owned(), ratio };
    ratios.into_iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Document;

    fn facts(text: &str) -> Facts {
        let scenario = format!("version = 2\nname = \"facts\"\nstop.after = \"1 ms\"\n{text}");
        Plan::outline(Document::parse("facts.toml", scenario, "").unwrap())
            .unwrap_or_else(|error| panic!("{error}"))
            .facts()
    }

    #[test]
    fn a_dumbbell_has_the_numbers_of_its_bottleneck() {
        let facts = facts(
            r#"
            topology.dumbbell = { hosts = 2, host_rate = "10 Gb/s", bottleneck_rate = "1 Gb/s", host_delay = "0 s", bottleneck_delay = "1 ms" }
            switches.switch = { buffer = { size = "307600 B", sharing = "per_port" }, marking.step.k = "125 kB" }
            traffic = [{ name = "a", pattern.long_lived = { from = "left/*", to = "right/*" }, cc.dctcp = {} }]
            "#,
        );
        let group = &facts.groups[0];
        // 1538 B twice at 10 Gb/s and once at 1 Gb/s, 90 B back, and 2 ms.
        let rtt = 2_000_000_000 + (1538 + 90) * (800 + 800 + 8000);
        let bdp = rtt / 8_000;
        assert_eq!((group.base_rtt_ps, group.bottleneck_bps), ([rtt; 2], [1_000_000_000; 2]));
        assert_eq!((group.bdp_bytes, group.packet_bytes), ([bdp; 2], 1538));
        let [slow, fast] = &facts.ports[..] else { panic!("{:?}", facts.ports) };
        assert_eq!(
            (slow.count, slow.rate_bps, fast.count, fast.rate_bps),
            (2, 1_000_000_000, 4, 10_000_000_000)
        );
        assert_eq!((slow.buffer_bytes, slow.buffer_packets), (307_600, 200.0));
        assert!((slow.buffer_bdp.unwrap() - 307_600.0 / bdp as f64).abs() < 1e-5);
        assert_eq!([slow, fast].map(|ports| ports.k_ps), [Some(1_000_000_000), Some(100_000_000)]);
        let ratios = facts.oversubscription.iter().map(|of| (of.class.as_str(), of.ratio));
        assert_eq!(ratios.collect::<Vec<_>>(), [("switch", 20.0)]);
    }

    #[test]
    fn red_has_its_two_averages_at_ports_of_each_rate() {
        let facts = facts(
            r#"
            topology.dumbbell = { hosts = 2, host_rate = "10 Gb/s", bottleneck_rate = "1 Gb/s", host_delay = "0 s", bottleneck_delay = "1 ms" }
            switches.switch = { buffer = { size = "300 kB" }, marking.red = { min = "5 kB", max = "100 kB", max_p = 0.1, at = [{ rate = "10 Gb/s", min = "50 kB", max = "140 kB", max_p = 0.1 }] } }
            traffic = [{ name = "a", pattern.long_lived = { from = "left/*", to = "right/*" }, cc.dctcp = {} }]
            "#,
        );
        let red: Vec<_> = facts.ports.iter().map(|port| port.red_bytes).collect();
        assert_eq!(red, [Some([5_000, 100_000]), Some([50_000, 140_000])]);
    }

    #[test]
    fn a_clos_network_is_oversubscribed_tier_by_tier_and_has_long_and_short_ways() {
        let facts = facts(
            r#"
            topology.clos = { pods = 2, racks_per_pod = 4, hosts_per_rack = 16, aggs_per_pod = 2, cores = 4, host_rate = "25 Gb/s", rack_uplink_rate = "50 Gb/s", core_uplink_rate = "50 Gb/s", delay = "1 us", core_uplink_delay = "5 us" }
            traffic = [{ name = "a", pattern.poisson = { load = 0.1, of = "host_links", sizes = "websearch" }, cc.dctcp = {} }]
            "#,
        );
        let ratios = facts.oversubscription.iter().map(|of| (of.class.as_str(), of.ratio));
        assert_eq!(ratios.collect::<Vec<_>>(), [("tor", 4.0), ("agg", 2.0)]);
        let [short, long] = facts.groups[0].base_rtt_ps.map(Span::from_ps);
        // Two links there and two back in a rack; between pods two of them, two in pods and two to a core are longer.
        assert!(Span::from_us(4) < short && short < Span::from_us(6), "{short}");
        assert!(Span::from_us(28) < long && long < Span::from_us(31), "{long}");
        assert!(facts.ports.iter().all(|ports| ports.buffer_bdp.is_some() && ports.k_bytes.is_none()));
    }
}
