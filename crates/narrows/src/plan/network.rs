//! Topology and failures, checked.

use narrows_proto::units::{BitRate, Span, Time, WireTime};
use narrows_sim::switch::{MOST_PORTS, PortKind};
use narrows_sim::topology::{
    Clos, CrossDc, Dumbbell, Fabric, FatTree, KaryTree, LeafSpine, ParkingLot, Star,
};
use narrows_sim::{Failure, MOST_LEAVES, Network, NodeId, Outage, topology as sim};

use super::links::links_between;
use super::{Checker, explicit, paths, signals, switches};
use crate::diagnostic::{Code, Diagnostic};
use crate::mechanism::{limiter, wcmp};
use crate::scenario::{PortChoice, Scenario, Topology};

/// Builds the network. Mistakes go to `checker`; without a network nothing else can be checked.
pub(super) fn build(scenario: &Scenario, priorities: usize, checker: &mut Checker<'_>) -> Option<Network> {
    let topology = topology(&scenario.topology, checker)?;
    let signals = signals::signals(scenario);
    let kind = match scenario.ports {
        PortChoice::Plain => PortKind::Plain,
        PortChoice::Scheduled => PortKind::Scheduled,
        PortChoice::Auto if priorities > 1 || signals.is_some() => PortKind::Scheduled,
        PortChoice::Auto => PortKind::Plain,
    };
    if kind == PortKind::Plain && priorities > 1 {
        let message = "ports = \"plain\" has one queue, the traffic has several priorities";
        checker.error(
            "ports",
            Diagnostic::error(Code::Conflict, message).help("leave `ports` out, or use \"scheduled\""),
        );
    }
    if let Some((key, class)) = signals.filter(|_| kind == PortKind::Plain) {
        let message = format!("ports = \"plain\" cannot be used with `{key}` of switches.{class}");
        checker.error(
            "ports",
            Diagnostic::error(Code::Conflict, message).help("leave `ports` out, or use \"scheduled\""),
        );
    }
    let switches = switches::switches(scenario, &topology, kind, checker);
    let failures = failures(scenario, &topology, checker);
    let routing = wcmp::with_weights(&scenario.routing, &topology, checker);
    let (salt, hosts) = (scenario.hash_salt.clone(), scenario.hosts.clone().unwrap_or_default());
    let paths = paths::paths(scenario, &topology, &switches, checker);
    let mut network = Network { topology, switches, routing, salt, failures, paths, reaction: None, hosts };
    network.reaction = limiter::reaction(scenario, &network, checker);
    Some(network)
}

fn topology(topology: &Topology, checker: &mut Checker<'_>) -> Option<sim::Topology> {
    let before = checker.mistakes();
    check_topology(topology, checker);
    if checker.mistakes() > before {
        return None;
    }
    let mut built = sim::Topology::default();
    match topology {
        Topology::Dumbbell(dumbbell) => dumbbell.build(&mut built, ""),
        Topology::Star(star) => drop(star.build(&mut built, "")),
        Topology::ParkingLot(lot) => lot.build(&mut built, ""),
        Topology::LeafSpine(leaf_spine) => drop(leaf_spine.build(&mut built, "")),
        Topology::FatTree(fat_tree) => drop(fat_tree.build(&mut built, "")),
        Topology::KaryTree(tree) => drop(tree.build(&mut built, "")),
        Topology::Clos(clos) => drop(clos.build(&mut built, "")),
        Topology::CrossDc(cross) => cross.build(&mut built, ""),
        Topology::Explicit(explicit) => built = explicit::build(explicit, checker)?,
    }
    check_routable(&built, checker).then_some(built)
}

/// Checks that routes can be found, and soon.
fn check_routable(topology: &sim::Topology, checker: &mut Checker<'_>) -> bool {
    let before = checker.mistakes();
    let mut refuse = |message: String, help: &str| {
        checker.error("topology", Diagnostic::error(Code::Topology, message).help(help));
    };
    let ports = topology.ports();
    if let Some((node, ports)) =
        topology.nodes().iter().zip(&ports).find(|(_, ports)| ports.len() > MOST_PORTS)
    {
        let message = format!(
            "the switch \"{}\" has {} ports, at most {MOST_PORTS} can be simulated",
            node.name,
            ports.len()
        );
        refuse(message, "attach the hosts to several switches");
    }
    let is_switch = |node: NodeId| topology.as_host(node).is_none();
    let mut has_hosts = vec![false; topology.nodes().len()];
    let mut directions = 0;
    for link in topology.links().iter().filter(|link| is_switch(link.from)) {
        match is_switch(link.to) {
            true => directions += 1,
            false => has_hosts[link.from.index()] = true,
        }
    }
    let racks = has_hosts.into_iter().filter(|has_hosts| *has_hosts).count() as u64;
    if racks > MOST_LEAVES as u64 {
        let message =
            format!("the network has {racks} switches with hosts, at most {MOST_LEAVES} can be simulated");
        refuse(message, "attach more hosts to each");
    }
    let switches = (topology.nodes().len() - topology.hosts().len()) as u64;
    let (steps, most) = (racks.saturating_mul(switches + directions), checker.limits.route_steps);
    if steps > most {
        let links = directions / 2;
        let message = format!(
            "the network has {racks} switches with hosts, {switches} switches in all and {links} links between switches, \
             too many to find all routes: {racks} × ({switches} + 2 × {links}) = {steps}, at most {most} are possible"
        );
        checker.error("topology", Diagnostic::error(Code::Topology, message));
    }
    checker.mistakes() == before
}

/// Checks numbers before they are used to build anything.
fn check_topology(topology: &Topology, checker: &mut Checker<'_>) {
    let mut at = Numbers { checker, path: String::new() };
    let links = match topology {
        Topology::Dumbbell(dumbbell) => at.within("topology.dumbbell").dumbbell(dumbbell),
        Topology::Star(star) => at.within("topology.star").star(star),
        Topology::ParkingLot(lot) => at.within("topology.parking_lot").parking_lot(lot),
        Topology::LeafSpine(leaf_spine) => at.within("topology.leaf_spine").leaf_spine(leaf_spine, 1),
        Topology::FatTree(fat_tree) => at.within("topology.fat_tree").fat_tree(fat_tree),
        Topology::KaryTree(tree) => at.within("topology.kary_tree").kary_tree(tree),
        Topology::Clos(clos) => at.within("topology.clos").clos(clos),
        Topology::CrossDc(cross) => at.within("topology.cross_dc").cross_dc(cross),
        Topology::Explicit(explicit) => explicit.links.len() as u64,
    };
    let most = checker.limits.links;
    if links > most {
        let message = format!("the network has {links} links, at most {most} can be simulated");
        checker.error("topology", Diagnostic::error(Code::Topology, message));
    }
}

/// Checks the numbers of a builder. Each method returns how many links it would make.
struct Numbers<'a, 'b> {
    checker: &'a mut Checker<'b>,
    path: String,
}

impl Numbers<'_, '_> {
    fn within(&mut self, path: &str) -> &mut Self {
        path.clone_into(&mut self.path);
        self
    }

    fn count(&mut self, key: &str, value: u32, least: u32) -> u64 {
        if value < least {
            let message = format!("{key} = {value}, expected at least {least}");
            self.checker.error(&format!("{}.{key}", self.path), Diagnostic::error(Code::Topology, message));
        }
        value.into()
    }

    fn rate(&mut self, key: &str, rate: BitRate) {
        self.checker.link_rate(&format!("{}.{key}", self.path), rate);
    }

    fn delay(&mut self, key: &str, delay: Span) {
        self.checker.delay(&format!("{}.{key}", self.path), delay);
    }

    fn dumbbell(&mut self, dumbbell: &Dumbbell) -> u64 {
        self.rate("host_rate", dumbbell.host_rate);
        self.rate("bottleneck_rate", dumbbell.bottleneck_rate);
        self.delay("host_delay", dumbbell.host_delay);
        self.delay("bottleneck_delay", dumbbell.bottleneck_delay);
        self.count("hosts", dumbbell.hosts, 1) * 2 + 1
    }

    fn star(&mut self, star: &Star) -> u64 {
        self.rate("rate", star.rate);
        self.delay("delay", star.delay);
        self.count("hosts", star.hosts, 2)
    }

    fn parking_lot(&mut self, lot: &ParkingLot) -> u64 {
        self.rate("host_rate", lot.host_rate);
        self.rate("bottleneck_rate", lot.bottleneck_rate);
        self.delay("delay", lot.delay);
        self.count("bottlenecks", lot.bottlenecks, 1) * 3 + 2
    }

    fn leaf_spine(&mut self, leaf_spine: &LeafSpine, least_spines: u32) -> u64 {
        self.rate("host_rate", leaf_spine.host_rate);
        self.rate("uplink_rate", leaf_spine.uplink_rate);
        self.delay("delay", leaf_spine.delay);
        let racks = self.count("racks", leaf_spine.racks, 1);
        let hosts = self.count("hosts_per_rack", leaf_spine.hosts_per_rack, 1);
        let spines = self.count("spines", leaf_spine.spines, least_spines);
        let uplinks = spines.saturating_mul(self.count("links_per_spine", leaf_spine.links_per_spine, 1));
        racks.saturating_mul(hosts.saturating_add(uplinks))
    }

    fn fat_tree(&mut self, fat_tree: &FatTree) -> u64 {
        self.rate("rate", fat_tree.rate);
        self.delay("delay", fat_tree.delay);
        let k = self.count("k", fat_tree.k, 2);
        if !k.is_multiple_of(2) {
            let message = format!("k = {k}, expected an even number");
            self.checker.error(&format!("{}.k", self.path), Diagnostic::error(Code::Topology, message));
        }
        k.saturating_pow(3).saturating_mul(3) / 4
    }

    fn kary_tree(&mut self, tree: &KaryTree) -> u64 {
        self.rate("rate", tree.rate);
        self.delay("delay", tree.delay);
        let levels = self.count("levels", tree.levels, 1);
        let hosts = self.count("k", tree.k, 2).saturating_pow(tree.levels.min(64));
        hosts.saturating_mul(levels)
    }

    fn clos(&mut self, clos: &Clos) -> u64 {
        self.rate("host_rate", clos.host_rate);
        self.rate("rack_uplink_rate", clos.rack_uplink_rate);
        self.rate("core_uplink_rate", clos.core_uplink_rate);
        self.delay("delay", clos.delay);
        self.delay("core_uplink_delay", clos.core_uplink_delay.unwrap_or_default());
        let pods = self.count("pods", clos.pods, 1);
        let racks = self.count("racks_per_pod", clos.racks_per_pod, 1);
        let hosts = self.count("hosts_per_rack", clos.hosts_per_rack, 1);
        let aggs = self.count("aggs_per_pod", clos.aggs_per_pod, 1);
        let cores = self.count("cores", clos.cores, 1);
        if !cores.is_multiple_of(aggs.max(1)) {
            let below = cores - cores % aggs;
            let nearest = if below == 0 { aggs.to_string() } else { format!("{below} or {}", below + aggs) };
            let message =
                format!("cores = {cores}, expected a multiple of aggs_per_pod = {aggs}, such as {nearest}");
            let error = Diagnostic::error(Code::Topology, message);
            let help = "each aggregation switch of a pod connects to a plane of cores of its own";
            self.checker.error(&format!("{}.cores", self.path), error.help(help));
        }
        pods.saturating_mul(racks.saturating_mul(hosts.saturating_add(aggs)).saturating_add(cores))
    }

    fn cross_dc(&mut self, cross: &CrossDc) -> u64 {
        let datacenters = self.count("datacenters", cross.datacenters, 2);
        let path = self.path.clone();
        let wan = &cross.wan;
        self.within(&format!("{path}.wan"));
        self.rate("rate", wan.rate);
        self.delay("delay", wan.delay);
        if let Some(rate) = wan.border_rate {
            self.rate("border_rate", rate);
        }
        self.delay("border_delay", wan.border_delay.unwrap_or_default());
        let borders = self.count("borders", wan.borders, 1);
        self.checker.error_rate(&format!("{path}.wan.error_rate"), wan.error_rate);
        if cross.fabrics.len() as u64 > datacenters {
            let message = format!("{} fabrics for {datacenters} data centers", cross.fabrics.len());
            self.checker.error(&format!("{path}.fabrics"), Diagnostic::error(Code::Topology, message));
        }
        let mut fabric = |path: &str, fabric: &Fabric| {
            let links = match fabric {
                Fabric::Star(star) => self.within(&format!("{path}.star")).star(star),
                // Border routers can do without spines.
                Fabric::LeafSpine(fabric) => self.within(&format!("{path}.leaf_spine")).leaf_spine(fabric, 0),
                Fabric::FatTree(fabric) => self.within(&format!("{path}.fat_tree")).fat_tree(fabric),
                Fabric::KaryTree(fabric) => self.within(&format!("{path}.kary_tree")).kary_tree(fabric),
                Fabric::Clos(fabric) => self.within(&format!("{path}.clos")).clos(fabric),
            };
            links.saturating_add(top_switches(fabric).saturating_mul(borders))
        };
        let same = datacenters.saturating_sub(cross.fabrics.len() as u64);
        let mut links = fabric(&format!("{path}.fabric"), &cross.fabric).saturating_mul(same);
        for (number, other) in cross.fabrics.iter().enumerate() {
            links = links.saturating_add(fabric(&format!("{path}.fabrics.{number}"), other));
        }
        let pairs = datacenters.saturating_mul(datacenters.saturating_sub(1)) / 2;
        links.saturating_add(pairs.saturating_mul(borders))
    }
}

/// Number of switches that connect to each border router.
fn top_switches(fabric: &Fabric) -> u64 {
    match fabric {
        Fabric::Star(_) => 1,
        Fabric::LeafSpine(LeafSpine { racks, spines: 0, .. }) => (*racks).into(),
        Fabric::LeafSpine(fabric) => fabric.spines.into(),
        Fabric::FatTree(fabric) => u64::from(fabric.k / 2).pow(2),
        Fabric::KaryTree(tree) => u64::from(tree.k).saturating_pow(tree.levels.saturating_sub(1)),
        Fabric::Clos(clos) => clos.cores.into(),
    }
}

fn failures(scenario: &Scenario, topology: &sim::Topology, checker: &mut Checker<'_>) -> Vec<Failure> {
    let mut failures = Vec::new();
    for (number, failure) in scenario.failures.iter().enumerate() {
        if checker.is_full() {
            break;
        }
        let path = format!("failures.{number}");
        let links = links_between(topology, &failure.link, &format!("{path}.link"), checker);
        if links.is_empty() {
            continue;
        }
        let outage = Outage {
            from: Time::ZERO + failure.from,
            until: failure.until.map_or(Time::NEVER, |until| Time::ZERO + until),
        };
        if outage.until <= outage.from {
            let message = format!("until = {}, expected later than from = {}", outage.until, outage.from);
            checker.error(&format!("{path}.until"), Diagnostic::error(Code::OutOfRange, message));
        }
        let reroute_after = failure.reroute_after.unwrap_or(Span::MAX);
        // Parallel links fail together.
        failures.extend(links.into_iter().map(|link| Failure { link, outage, reroute_after }));
    }
    failures
}

impl Checker<'_> {
    pub(super) fn link_rate(&mut self, path: &str, rate: BitRate) {
        if !narrows_sim::is_link_rate(rate) {
            let message = format!("{rate}, expected {} to {}", WireTime::MIN_RATE, WireTime::MAX_RATE);
            self.error(path, Diagnostic::error(Code::OutOfRange, message));
        }
    }

    pub(super) fn delay(&mut self, path: &str, delay: Span) {
        let longest = Span::from_secs(3600);
        if delay > longest {
            self.error(
                path,
                Diagnostic::error(Code::OutOfRange, format!("{delay}, expected at most {longest}")),
            );
        }
    }

    pub(super) fn error_rate(&mut self, path: &str, rate: f64) {
        if !(0.0..1.0).contains(&rate) {
            let message = format!("error_rate = {rate}, expected at least 0, less than 1");
            self.error(path, Diagnostic::error(Code::OutOfRange, message));
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::document::Document;
    use crate::plan::Plan;

    fn planned(cores: u32) -> Result<Plan, String> {
        let clos = format!(
            r#"{{ clos = {{ pods = 2, racks_per_pod = 2, hosts_per_rack = 1, aggs_per_pod = 2, cores = {cores}, host_rate = "1 Gb/s", rack_uplink_rate = "1 Gb/s", core_uplink_rate = "1 Gb/s", delay = "1 us" }} }}"#
        );
        let text = format!(
            r#"
            version = 2
            name = "pods"
            stop.after = "1 ms"
            topology.cross_dc = {{ datacenters = 2, fabric = {clos}, wan = {{ rate = "1 Gb/s", delay = "1 ms" }} }}
            traffic = [{{ name = "all", pattern.permutation = {{}}, cc.reno = {{}} }}]
            "#
        );
        let document = Document::parse("pods.toml", text, "").expect("TOML");
        Plan::new(document).map_err(|error| error.to_string())
    }

    #[test]
    fn cores_are_in_as_many_planes_as_a_pod_has_aggregation_switches() {
        let plan = planned(4).unwrap();
        assert!(plan.text.contains("core_uplink_delay = \"1 us\""), "{}", plan.text);
        assert_eq!(plan.describe_network(), "cross-DC · 8 hosts · 26 switches");
        let error = planned(3).expect_err("refused");
        assert!(
            error.contains("cores = 3, expected a multiple of aggs_per_pod = 2, such as 2 or 4"),
            "{error}"
        );
        assert!(planned(1).expect_err("refused").contains("such as 2\n"));
    }
}
