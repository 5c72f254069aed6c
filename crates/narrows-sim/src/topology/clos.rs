//! Three tiers of switches with as many of everything as one likes.

use narrows_proto::units::{BitRate, Span};

use super::{NodeId, Topology, Wire, add_hosts};

/// A three-tier Clos network: racks in pods, aggregation switches in each pod, core switches above all pods. Rates and numbers of
/// each tier are free, so its oversubscription is as well.
///
/// Hosts `pod0/rack0/host0…`; switches `pod0/rack0/tor` (class `tor`), `pod0/agg0…` (class `agg`), `core0…` (class `core`). Each
/// rack connects to all aggregation switches of its pod. Cores are in planes, as many as a pod has aggregation switches: the first
/// aggregation switch of every pod connects to all cores of the first plane, the second to those of the second.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Clos {
    /// Pods.
    pub pods: u32,
    /// Racks in each pod, each with one top-of-rack switch.
    pub racks_per_pod: u32,
    /// Hosts in each rack.
    pub hosts_per_rack: u32,
    /// Aggregation switches in each pod.
    pub aggs_per_pod: u32,
    /// Core switches; a multiple of `aggs_per_pod`.
    pub cores: u32,
    /// Rate of the host links.
    pub host_rate: BitRate,
    /// Rate of each link between a rack and an aggregation switch.
    pub rack_uplink_rate: BitRate,
    /// Rate of each link between an aggregation switch and a core switch.
    pub core_uplink_rate: BitRate,
    /// Propagation delay of every link inside a pod.
    pub delay: Span,
    /// Propagation delay of the links to core switches; `delay` if left out.
    pub core_uplink_delay: Option<Span>,
}

impl Clos {
    /// Adds this network, with `prefix` before every name. Returns the switches borders connect to.
    pub fn build(&self, topology: &mut Topology, prefix: &str) -> Vec<NodeId> {
        let pods: Vec<_> = (0..self.pods)
            .map(|pod| {
                let pod = format!("{prefix}pod{pod}/");
                let racks: Vec<_> =
                    (0..self.racks_per_pod).map(|rack| self.rack(topology, &pod, rack)).collect();
                let aggs: Vec<_> = (0..self.aggs_per_pod)
                    .map(|agg| topology.add_switch(format!("{pod}agg{agg}"), "agg", 1))
                    .collect();
                (racks, aggs)
            })
            .collect();
        let cores: Vec<_> = (0..self.cores)
            .map(|core| topology.add_switch(format!("{prefix}core{core}"), "core", 2))
            .collect();
        let uplink = Wire::new(self.rack_uplink_rate, self.delay);
        let to_core = Wire::new(self.core_uplink_rate, self.core_uplink_delay.unwrap_or(self.delay));
        let plane = (self.cores / self.aggs_per_pod) as usize;
        for (racks, aggs) in pods {
            for tor in racks {
                for agg in &aggs {
                    topology.connect(tor, *agg, uplink);
                }
            }
            for (agg, cores) in aggs.iter().zip(cores.chunks(plane)) {
                for core in cores {
                    topology.connect(*agg, *core, to_core);
                }
            }
        }
        cores
    }

    fn rack(&self, topology: &mut Topology, pod: &str, rack: u32) -> NodeId {
        let rack = format!("{pod}rack{rack}/");
        let tor = topology.add_switch(format!("{rack}tor"), "tor", 0);
        add_hosts(topology, self.hosts_per_rack, &rack, tor, Wire::new(self.host_rate, self.delay));
        tor
    }
}

#[cfg(test)]
mod tests {
    use super::super::FatTree;
    use super::*;

    const DELAY: Span = Span::from_us(1);

    fn built(build: impl FnOnce(&mut Topology)) -> Topology {
        let mut topology = Topology::default();
        build(&mut topology);
        topology
    }

    fn clos() -> Clos {
        let [host_rate, rack_uplink_rate, core_uplink_rate] = [25, 50, 100].map(BitRate::from_gbps);
        Clos {
            pods: 3,
            racks_per_pod: 4,
            hosts_per_rack: 5,
            aggs_per_pod: 2,
            cores: 6,
            host_rate,
            rack_uplink_rate,
            core_uplink_rate,
            delay: DELAY,
            core_uplink_delay: Some(DELAY * 3),
        }
    }

    #[test]
    fn every_tier_has_its_number_rate_and_delay() {
        let topology = built(|t| drop(clos().build(t, "")));
        assert_eq!(topology.by_name().len(), topology.nodes().len(), "every name is unique");
        assert_eq!(topology.hosts().len(), 3 * 4 * 5);
        assert_eq!(topology.nodes().len(), 60 + 3 * 4 + 3 * 2 + 6);
        let of = |rate: BitRate| topology.links().iter().filter(move |link| link.wire.rate == rate);
        let counts = [25, 50, 100].map(|rate| of(BitRate::from_gbps(rate)).count() / 2);
        // Each of two aggregation switches of three pods connects to the three cores of its plane.
        assert_eq!(counts, [60, 3 * 4 * 2, 3 * 2 * 3]);
        assert!(of(BitRate::from_gbps(50)).all(|link| link.wire.delay == DELAY));
        assert!(of(BitRate::from_gbps(100)).all(|link| link.wire.delay == DELAY * 3));
    }

    #[test]
    fn a_core_reaches_each_pod_over_one_aggregation_switch_of_its_plane() {
        let topology = built(|t| drop(clos().build(t, "dc0/")));
        let (names, ports) = (topology.by_name(), topology.ports());
        for (core, agg) in [(0, 0), (2, 0), (3, 1), (5, 1)] {
            let ports = &ports[names[format!("dc0/core{core}").as_str()].index()];
            let below: Vec<_> =
                ports.iter().map(|link| &topology.node(topology.link(*link).to).name).collect();
            let expected: Vec<_> = (0..3).map(|pod| format!("dc0/pod{pod}/agg{agg}")).collect();
            assert_eq!(below, expected.iter().collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_fat_tree_is_one_of_them() {
        let rate = BitRate::from_gbps(10);
        let tree = built(|t| drop(FatTree { k: 4, rate, delay: DELAY }.build(t, "")));
        let clos = Clos {
            pods: 4,
            racks_per_pod: 2,
            hosts_per_rack: 2,
            aggs_per_pod: 2,
            cores: 4,
            host_rate: rate,
            rack_uplink_rate: rate,
            core_uplink_rate: rate,
            delay: DELAY,
            core_uplink_delay: None,
        };
        let clos = built(|t| drop(clos.build(t, "")));
        let links = |topology: &Topology| {
            let links = topology.links().iter().enumerate();
            links.map(|(number, link)| (topology.link_name(number.into()), link.wire)).collect::<Vec<_>>()
        };
        assert_eq!(links(&clos), links(&tree));
    }
}
