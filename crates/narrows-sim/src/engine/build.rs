//! Lays out a network over threads.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use narrows_proto::telemetry::MOST_RATES;
use narrows_proto::units::{BitRate, Bytes, Span, Time};

use super::by_host::{answers, by_host, receiving_ranks};
use super::changes::Changes;
use super::look_ahead::{Distances, LookAhead};
use super::measured::Measured;
use super::places::places;
use super::shard::{Node, Shard};
use crate::choice::first_of_pairs;
use crate::followers::Followers;
use crate::host::{Begins, Host, HostParts};
use crate::ids::{FlowId, HostId, LinkId, NodeId};
use crate::link::{Egress, Impairment, Outage, Target, Wires};
use crate::mechanism::at_host::Site;
use crate::mechanism::hosts;
use crate::mechanism::registry::{HostMechanisms, SwitchMechanisms};
use crate::network::{Failure, Network};
use crate::observe::Observer;
use crate::packet::{HOST_BITS, wire_size};
use crate::path::{Line, LineParts, NO_LINE, Path};
use crate::random::{Purpose, Stream};
use crate::routing::changes::ChangingRoutes;
use crate::routing::{self, PacketRule, RoutingTables, Shortest};
use crate::switch::{MOST_CONGESTION_POINTS, Switch, SwitchConfig, SwitchParts};
use crate::topology::{Link, Topology};
use crate::traffic::{FlowSpec, Group, Traffic};
use crate::world::{Calendar, Flight, FlowTable, GroupState, Log, NO_SLOT, Outbox, Reception, Shared, World};

/// State that all threads read.
fn shared(network: &Network, traffic: &Traffic, layout: &Layout<'_>, threads: usize) -> Shared {
    let quantum = traffic.groups.iter().map(|group| group.largest_packet()).max().unwrap_or(Bytes::new(1));
    let small_queues = network.hosts.small_queues();
    Shared {
        seed: layout.seed,
        access: layout.tables.access_and_neighbor(),
        groups: traffic.groups.iter().map(GroupState::new).collect(),
        flows: traffic.flows.clone(),
        answers: answers(traffic),
        followers: Followers::new(network, traffic, layout.seed, layout.place_of_hosts(threads)),
        receiving_ranks: receiving_ranks(network, traffic),
        measured: traffic.measured.clone(),
        sampled: traffic.sampled.clone(),
        flights: flights(network),
        reported_rates: layout.reported_rates.clone(),
        quantum: i32::from(wire_size(quantum)),
        bursts: small_queues.is_some()
            || traffic.groups.iter().any(|group| group.transport.hands_over_bursts()),
        small_queues,
        tag_size: network.reaction.as_ref().map_or(0, |reaction| wire_size(reaction.rule.tag_size())),
    }
}

/// Flows, none of which has begun.
fn flow_table(network: &Network, traffic: &Traffic) -> FlowTable {
    let at_switches = SwitchMechanisms::of_groups(network, &traffic.groups);
    let at_switch = |flow: &FlowSpec| at_switches.get(flow.group.index()).copied();
    FlowTable {
        senders: vec![NO_SLOT; traffic.flows.len()],
        receivers: vec![Reception::None; traffic.flows.len()],
        at_switch: traffic.flows.iter().filter_map(at_switch).collect(),
    }
}

/// Shares a network and its traffic out to threads.
pub(super) fn shards<O: Observer>(
    network: &Network,
    traffic: &Traffic,
    seed: u64,
    threads: usize,
    look_ahead: &LookAhead,
    mut observer: impl FnMut() -> O,
) -> LaidOut<O> {
    let hosts = network.topology.hosts().len();
    assert!(hosts < 1 << HOST_BITS, "{hosts} hosts, packets number fewer than 2^{HOST_BITS}");
    let shortest = routing::shortest(&network.topology, &network.routing);
    let layout = Layout::new(network, traffic, &shortest, seed, (threads, look_ahead));
    let shared = Arc::new(shared(network, traffic, &layout, threads));
    let mut by_host = by_host(network, traffic, seed);
    let changing = ChangingRoutes::new(network).map(Box::new);
    let shards = (0..threads as u32)
        .map(|shard| {
            let members = layout.members(shard);
            let mut world = World {
                shard,
                shared: Arc::clone(&shared),
                wires: layout.wires(&members, seed),
                lines: layout.lines(shard, &traffic.measured),
                calendar: Calendar::new(look_ahead.windows(), members.len()),
                outboxes: (0..threads).map(|_| Outbox::default()).collect(),
                flows: flow_table(network, traffic),
                log: Log::default(),
                observer: observer(),
                arrivals: Default::default(),
                hops: 0,
                crowded: false,
            };
            let mut nodes = Vec::with_capacity(members.len());
            for (number, &node) in (0..).zip(&members) {
                nodes.push(match network.topology.as_host(node) {
                    Some(host) => {
                        let begins = std::mem::take(&mut by_host[host.index()]);
                        let host = layout.host(node, begins, &world);
                        if host.first_due() < Time::NEVER {
                            world.calendar.schedule(number, host.first_due());
                        }
                        world.log.outstanding += host.outstanding();
                        Node::Host(Box::new(host))
                    }
                    None => Node::Switch(Box::new(layout.switch(node))),
                });
            }
            let measured =
                Measured::new(&traffic.measured, world.calendar.windows(), world.wires.wires.len());
            let routes = changing.clone().map(|changing| Changes::new(changing, network, &members));
            Shard { nodes, world, due: Vec::new(), measured, routes }
        })
        .collect();
    let place = layout.place_of_hosts(threads);
    let hosts = (0..network.topology.hosts().len()).map(|host| place(HostId::from(host))).collect();
    let distances = Distances::new(network, look_ahead, &layout.places, threads);
    LaidOut { shards, hosts, distances }
}

/// A network and its traffic on threads.
pub(super) struct LaidOut<O> {
    pub(super) shards: Vec<Shard<O>>,
    /// By host: its thread, and its number there.
    pub(super) hosts: Vec<(u32, u32)>,
    pub(super) distances: Distances,
}

/// By link. The time on a link with a path differs from packet to packet.
fn flights(network: &Network) -> Vec<Option<Flight>> {
    let links = (0..).zip(network.topology.links());
    let fixed = |number| !network.paths.contains_key(&LinkId(number));
    links.map(|(number, link)| fixed(number).then(|| flight(network, link))).collect()
}

fn flight(network: &Network, link: &Link) -> Flight {
    let latency = network.switches[link.to.index()].as_ref().map_or(Span::ZERO, |switch| switch.latency);
    let from_host = network.topology.as_host(link.from).is_some();
    let pipeline = if from_host { network.hosts.pipeline() } else { Span::ZERO };
    Flight { wire_time: link.wire.rate.wire_time(), delay: link.wire.delay + latency + pipeline }
}

/// Where everything goes.
pub(super) struct Layout<'a> {
    pub(super) network: &'a Network,
    pub(super) groups: &'a [Group],
    pub(super) seed: u64,
    pub(super) ports: &'a [Vec<LinkId>],
    pub(super) tables: &'a RoutingTables,
    /// Outages of links that have some, by the first of their directions.
    outages: BTreeMap<LinkId, Vec<Outage>>,
    /// Links with a path: their number among those that leave nodes of their thread.
    lines: BTreeMap<LinkId, u32>,
    /// By node: the thread it belongs to.
    pub(super) places: Vec<u32>,
    /// By link: the number of its wire in the thread that receives.
    pub(super) wire_of: Vec<u32>,
    /// By node: the links that lead to it, in the order in which simultaneous arrivals are taken.
    pub(super) inputs: Vec<Vec<LinkId>>,
    pub(super) typical_packet: u16,
    /// By node: the number of its first congestion point.
    pub(super) first_points: Vec<u16>,
    /// By flow: the one whose path it takes. None if each takes its own.
    pub(super) first_of_pairs: Option<Arc<[FlowId]>>,
    /// Rates that telemetry reports, by code.
    pub(super) reported_rates: Vec<BitRate>,
}

impl<'a> Layout<'a> {
    fn new(
        network: &'a Network,
        traffic: &'a Traffic,
        shortest: &'a Shortest,
        seed: u64,
        (threads, look_ahead): (usize, &LookAhead),
    ) -> Self {
        let topology = &network.topology;
        let Shortest { ports, tables, .. } = shortest;
        let inputs = inputs(topology, seed);
        let places = places(network, tables, threads, look_ahead.least);
        let mut wires = vec![0; threads];
        let mut wire_of = vec![0; topology.links().len()];
        for (node, links) in inputs.iter().enumerate() {
            let next = &mut wires[places[node] as usize];
            for link in links {
                wire_of[link.index()] = *next;
                *next += 1;
            }
        }
        let mut counts = vec![0; threads];
        let number = |link: &LinkId| {
            let next = &mut counts[places[topology.link(*link).from.index()] as usize];
            *next += 1;
            (*link, *next - 1)
        };
        let lines = network.paths.keys().map(number).collect();
        let reported_rates = network.reported_rates();
        assert!(reported_rates.len() <= MOST_RATES, "telemetry tells {MOST_RATES} rates apart");
        let typical =
            traffic.groups.iter().map(|group| group.largest_packet()).max().unwrap_or(Bytes::new(1500));
        Self {
            network,
            groups: &traffic.groups,
            seed,
            ports,
            outages: outages(&network.failures),
            lines,
            tables,
            places,
            wire_of,
            inputs,
            typical_packet: wire_size(typical),
            first_points: first_points(network),
            first_of_pairs: first_of_pairs(traffic),
            reported_rates,
        }
    }

    /// The nodes of a thread, by their number there.
    fn members(&self, shard: u32) -> Vec<NodeId> {
        (0..self.places.len()).filter(|node| self.places[*node] == shard).map(NodeId::from).collect()
    }

    /// The thread of a host, and its number there.
    fn place_of_hosts(&self, threads: usize) -> impl Fn(HostId) -> (u32, u32) {
        let mut next = vec![0; threads];
        let mut number = |place: &u32| {
            let number = next[*place as usize];
            next[*place as usize] += 1;
            (*place, number)
        };
        let places: Vec<_> = self.places.iter().map(&mut number).collect();
        let hosts = self.network.topology.hosts();
        move |host| places[hosts[host.index()].index()]
    }

    fn egress(&self, link: LinkId) -> Egress {
        let to = self.network.topology.link(link).to;
        let wire = self.network.topology.link(link).wire;
        let latency = self.network.switches[to.index()].as_ref().map_or(Span::ZERO, |switch| switch.latency);
        let shard = self.places[to.index()];
        let to = Target { wire: self.wire_of[link.index()], shard: shard as u16 };
        let line = self.lines.get(&link).copied().unwrap_or(NO_LINE);
        Egress {
            rate: wire.rate,
            wire_time: wire.rate.wire_time(),
            delay: wire.delay + latency,
            to,
            link,
            line,
        }
    }

    /// The sending ends of links with a path that leave nodes of a thread.
    fn lines(&self, shard: u32, measured: &Range<Time>) -> Vec<Line> {
        let topology = &self.network.topology;
        let own = |link: &LinkId| self.places[topology.link(*link).from.index()] == shard;
        let line = |(link, path): (&LinkId, &Path)| {
            let (Link { from, wire, .. }, mut egress) = (topology.link(*link), self.egress(*link));
            if topology.as_host(*from).is_some() {
                egress.delay += self.network.hosts.pipeline();
            }
            let parts = LineParts {
                egress,
                delay: wire.delay,
                error_rate: wire.error_rate,
                outages: self.outages(*link).to_vec(),
                measured: measured.clone(),
                seed: self.seed,
            };
            Line::new(path, parts)
        };
        self.network.paths.iter().filter(|(link, _)| own(link)).map(line).collect()
    }

    fn wires(&self, members: &[NodeId], seed: u64) -> Wires {
        let mut wires = Wires::default();
        for (number, node) in (0..).zip(members) {
            for link in &self.inputs[node.index()] {
                let thins = self.network.paths.get(link).is_some_and(Path::thins);
                let thinning = thins.then(|| Impairment::thinning(&self.egress(*link)));
                let impairment = self.loses(*link).then(|| {
                    let error_rate = self.network.topology.link(*link).wire.error_rate;
                    Impairment::new(&self.egress(*link), error_rate, self.outages(*link).to_vec(), seed)
                });
                wires.add(number, *link, impairment.or(thinning));
            }
        }
        wires
    }

    fn outages(&self, link: LinkId) -> &[Outage] {
        self.outages.get(&Topology::first_direction(link)).map_or(&[], Vec::as_slice)
    }

    /// The far end of a link looks at what arrives.
    fn is_impaired(&self, link: LinkId) -> bool {
        self.loses(link) || self.network.paths.get(&link).is_some_and(Path::thins)
    }

    /// The far end of a link decides what is lost.
    fn loses(&self, link: LinkId) -> bool {
        let fails = self.network.topology.link(link).wire.error_rate > 0.0 || !self.outages(link).is_empty();
        // Where there is a path, the end that sends decides what is lost.
        fails && !self.lines.contains_key(&link)
    }

    fn first_wire(&self, node: NodeId) -> usize {
        self.inputs[node.index()].first().map_or(0, |link| self.wire_of[link.index()] as usize)
    }

    fn host<O>(&self, node: NodeId, begins: Begins, world: &World<O>) -> Host {
        let ports = &self.ports[node.index()];
        let name = &self.network.topology.node(node).name;
        assert!(ports.len() == 1, "host {name} has {} links, expected 1", ports.len());
        let impaired = self.is_impaired(Topology::reverse(ports[0]));
        let rate = self.network.topology.link(ports[0]).wire.rate;
        let switch = self.network.topology.link(ports[0]).to;
        let host = self.network.topology.as_host(node).expect("the caller has looked");
        let mechanisms = HostMechanisms::boxed(&Site {
            network: self.network,
            groups: self.groups,
            switch: self.network.switches[switch.index()].as_ref(),
            node,
            host,
            leaf: self.tables.access[host.index()].leaf,
            leaves: self.tables.leaves().len(),
            rate,
            seed: self.seed,
        });
        let largest = u16::try_from(world.shared.quantum).unwrap_or(u16::MAX);
        let (wire_time, burst_delay) =
            hosts::of_host(&self.network.hosts, self.seed, node.0.into(), rate, largest);
        let egress = self.egress(ports[0]);
        let parts = HostParts {
            wire: self.first_wire(node),
            impaired,
            egress: Egress { wire_time, delay: egress.delay + self.network.hosts.pipeline(), ..egress },
            burst_delay,
            lateness: hosts::lateness(&self.network.hosts),
            rate,
            begins,
            mechanisms,
        };
        Host::new(parts, world)
    }

    fn switch(&self, node: NodeId) -> Switch {
        let config = self.network.switches[node.index()].as_ref().expect("every switch has settings");
        let inputs = &self.inputs[node.index()];
        assert!(inputs.len() < 1 << 15, "a switch has fewer than 2^15 ports");
        Switch::new(
            config,
            SwitchParts {
                first_wire: self.first_wire(node),
                wires: inputs.len(),
                impaired: inputs.iter().any(|link| self.is_impaired(*link)),
                leaf: match self.tables.leaf_index(node) {
                    routing::NO_LEAF => routing::NO_LEAF - 1,
                    leaf => leaf,
                },
                routes: self.tables.routes[node.index()].clone(),
                choice: routing::choice(
                    (&self.network.routing, &self.network.salt),
                    &self.network.topology,
                    self.tables,
                    node,
                    self.seed,
                )
                .of_pairs(self.first_of_pairs.as_ref())
                .by_entropy_if(self.groups.iter().any(|group| group.transport.has_entropy())),
                by_packet: PacketRule::new(&self.network.routing, &self.routing_site(node)),
                egresses: self.ports[node.index()].iter().map(|link| self.egress(*link)).collect(),
                shard: self.places[node.index()],
                random: Stream::new(self.seed, Purpose::Marking, node.0.into()),
                typical_packet: self.typical_packet,
                signals: self.signals(node),
                mechanisms: SwitchMechanisms::boxed(&self.switch_site(node, config)),
            },
        )
    }
}

/// Numbers congestion points from 1 on, port by port. By node: the number of its first.
fn first_points(network: &Network) -> Vec<u16> {
    let ports = network.topology.ports();
    let mut next = 1_usize;
    let mut number = |(switch, ports): (&Option<SwitchConfig>, &Vec<LinkId>)| {
        let first = next;
        if switch.as_ref().is_some_and(SwitchConfig::has_congestion_points) {
            next += ports.len();
        }
        u16::try_from(first).unwrap_or(u16::MAX)
    };
    let first = network.switches.iter().zip(&ports).map(&mut number).collect();
    assert!(next <= MOST_CONGESTION_POINTS + 1, "congestion points are numbered with 16 bits");
    first
}

/// The links that lead to each node, shuffled: simultaneous arrivals are taken in this order.
fn inputs(topology: &Topology, seed: u64) -> Vec<Vec<LinkId>> {
    let mut inputs = topology.inputs();
    for (node, links) in inputs.iter_mut().enumerate() {
        Stream::new(seed, Purpose::TieOrder, node as u64).shuffle(links);
    }
    inputs
}

/// Outages of links that have some, by the first of their directions.
fn outages(failures: &[Failure]) -> BTreeMap<LinkId, Vec<Outage>> {
    let mut outages = BTreeMap::<_, Vec<_>>::new();
    for failure in failures {
        outages.entry(Topology::first_direction(failure.link)).or_default().push(failure.outage);
    }
    outages
}
