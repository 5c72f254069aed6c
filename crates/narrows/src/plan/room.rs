//! Room for a packet: everything that stores packets holds at least the largest that is sent, as it is stored there.

use std::collections::BTreeMap;

use narrows_proto::units::Bytes;
use narrows_sim::switch::{Buffer, Dynamic, Pfc, PortKind, Sharing, Xoff};
use narrows_sim::topology::NodeKind;
use narrows_sim::traffic::{Group, Traffic};
use narrows_sim::{Network, NodeId};

use super::{At, Checker};
use crate::diagnostic::{Code, Diagnostic};
use crate::scenario::{Scenario, Switch};

/// Checks limiters and the packet memories of switches.
pub(super) fn check(scenario: &Scenario, network: &Network, traffic: &Traffic, checker: &mut Checker<'_>) {
    let Some(packet) = traffic.groups.iter().map(Group::largest_packet).max() else { return };
    let mut tag = Bytes::ZERO;
    if let Some(reaction) = &network.reaction {
        let mut at = At(checker, "reaction_points".into());
        at.holds("queue", reaction.queue, packet, "a limiter");
        tag = reaction.rule.tag_size();
    }
    let stored = packet.saturating_add(tag);
    for (class, switch) in &scenario.switches {
        let path = format!("switches.{class}");
        check_buffer(&path, &switch.buffer, fullest(network, class), stored, checker);
        if let Some(pfc) = &switch.pfc {
            check_parts(&path, pfc, stored, checker);
        }
    }
    check_classes(scenario, network, traffic, stored, checker);
}

/// The ports of the switch of this class that has the most; 1 if no switch has this class.
fn fullest(network: &Network, class: &str) -> usize {
    let nodes = network.topology.nodes().iter().zip(network.topology.ports());
    let of_class =
        nodes.filter(|(node, _)| matches!(&node.kind, NodeKind::Switch { class: own, .. } if own == class));
    of_class.map(|(_, ports)| ports.len()).max().unwrap_or(1)
}

fn check_buffer(path: &str, buffer: &Buffer, ports: usize, packet: Bytes, checker: &mut Checker<'_>) {
    if buffer.admits(ports, packet) {
        return;
    }
    let (size, least) = (buffer.size, buffer.least(ports, packet));
    let message = format!("size = {size}, expected at least {least}: no packet of {packet} fits a queue");
    let error = Diagnostic::error(Code::NoRoom, message);
    let error = match buffer.sharing {
        Sharing::Static => {
            error.help(format!("{size} shared by {ports} ports are {} each", size / ports as u64))
        }
        Sharing::Dynamic(Dynamic { alpha }) if alpha < 1.0 => {
            error.help(format!("α = {alpha} lets the only queue in use hold that part of what is free"))
        }
        _ => error,
    };
    checker.error(&format!("{path}.buffer.size"), error);
}

/// Checks the parts of the memory that priority-based flow control sets apart: nothing, or room for a packet.
fn check_parts(path: &str, pfc: &Pfc, packet: Bytes, checker: &mut Checker<'_>) {
    let parts = [
        ("static", Some(pfc.reserve), "the static space of a class"),
        ("headroom", pfc.headroom, "the headroom of a class"),
        ("global_headroom", pfc.global_headroom, "the global headroom"),
    ];
    for (key, size, what) in parts {
        if let Some(size) = size.filter(|size| *size > Bytes::ZERO) {
            At(checker, format!("{path}.pfc")).holds(key, size, packet, &format!("{what}, if there is any,"));
        }
    }
}

/// Checks what priority-based flow control leaves for all, and whether a class may hold a packet anywhere.
fn check_classes(
    scenario: &Scenario,
    network: &Network,
    traffic: &Traffic,
    packet: Bytes,
    checker: &mut Checker<'_>,
) {
    // By class of switches: one complaint is enough.
    let mut told = BTreeMap::new();
    for (node, inputs) in network.topology.inputs().iter().enumerate() {
        let node = network.topology.node(NodeId::from(node));
        let NodeKind::Switch { class, .. } = &node.kind else { continue };
        let class = if scenario.switches.contains_key(class) { class } else { "default" };
        let Some((switch, pfc)) =
            scenario.switches.get(class).and_then(|switch| Some((switch, switch.pfc.as_ref()?)))
        else {
            continue;
        };
        let headroom = inputs
            .iter()
            .map(|link| network.headroom(*link, packet))
            .fold(Bytes::ZERO, Bytes::saturating_add);
        let side = switch.config(PortKind::Scheduled).has_side_class();
        let global = pfc.global_headroom(inputs.len(), packet);
        // Without any pool the memory does not hold the headroom either, which has a message of its own.
        let Some(pool) = pfc.pool(switch.buffer.size, headroom, inputs.len(), side, global) else {
            continue;
        };
        let smallest = inputs.iter().map(|link| network.headroom(*link, packet)).min().unwrap_or(Bytes::ZERO);
        if let Some(error) = pool_error(switch, pfc, pool, traffic, packet, &node.name) {
            told.entry(class).or_insert((format!("switches.{class}.buffer.size"), error));
        } else if [pfc.reserve, smallest, global, pool.min(most_shared(pfc, pool))]
            .iter()
            .all(|part| *part < packet)
        {
            let message = format!(
                "a class may hold {} of the shared pool, and has no headroom: no packet of {packet} fits",
                most_shared(pfc, pool)
            );
            let error = Diagnostic::error(Code::NoRoom, message).help("raise xoff, or leave `headroom` out");
            told.entry(class).or_insert((format!("switches.{class}.pfc.xoff"), error));
        }
    }
    told.into_values().for_each(|(path, error)| checker.error(&path, error));
}

/// Error if no packet fits a shared pool of this size.
fn pool_error(
    switch: &Switch,
    pfc: &Pfc,
    pool: Bytes,
    traffic: &Traffic,
    packet: Bytes,
    name: &str,
) -> Option<Diagnostic> {
    let lossy = traffic.groups.iter().any(|group| !pfc.priorities.contains(&group.priority));
    let sharing = match switch.buffer.sharing {
        Sharing::Dynamic(dynamic) if lossy => Sharing::Dynamic(dynamic),
        _ => Sharing::Complete,
    };
    let shared = Buffer { size: pool, sharing };
    if shared.admits(1, packet) {
        return None;
    }
    let size = switch.buffer.size;
    let least = size.saturating_add(shared.least(1, packet).saturating_sub(pool));
    let message =
        format!("size = {size}, expected at least {least}: no packet of {packet} fits the shared pool");
    let help = format!("static space and headroom leave {pool} for all queues of \"{name}\"");
    Some(Diagnostic::error(Code::NoRoom, message).help(help))
}

/// The most that a class may hold of an empty shared pool.
fn most_shared(pfc: &Pfc, pool: Bytes) -> Bytes {
    match pfc.xoff {
        Xoff::Alpha(alpha) => Bytes::from_f64(pool.as_f64() * alpha),
        Xoff::Fixed(bytes) => bytes,
    }
}

impl At<'_, '_> {
    /// Refuses what stores packets and has no room for one.
    fn holds(&mut self, key: &str, size: Bytes, packet: Bytes, what: &str) {
        if size < packet {
            let message = format!("{key} = {size}, expected at least {packet}: {what} holds a full packet");
            self.error(key, Diagnostic::error(Code::NoRoom, message));
        }
    }
}

#[cfg(test)]
mod tests {
    use narrows_proto::units::Bytes;

    use crate::diagnostic::{Code, Diagnostic};
    use crate::document::Document;
    use crate::plan::Plan;

    /// Packets of 1538 B, ten ports at the switch.
    const TEXT: &str = r#"
version = 1
name = "room"
stop = { after = "1 ms" }
topology.star = { hosts = 10, rate = "10 Gb/s", delay = "1 us" }

[switches.switch]
buffer = { size = "3 MB", sharing = "complete" }

[[traffic]]
name = "all"
pattern = { permutation = { size = "1 B" } }
cc = { reno = {} }
"#;

    /// Mistakes after these overrides: the text each points at, and the message.
    fn mistakes(overrides: &[&str]) -> Vec<(String, String)> {
        let mut document = Document::parse("room.toml", TEXT, "").unwrap();
        overrides.iter().for_each(|assignment| document.set(assignment).unwrap());
        let errors = Plan::new(document).map_or_else(|rejection| rejection.0, |_| Vec::new());
        let told = |error: Diagnostic| {
            assert_eq!(error.code, Code::NoRoom, "{error}");
            let place = error.place.map_or(String::new(), |place| place.source.text[place.span].to_owned());
            (place, error.message)
        };
        errors.into_iter().map(told).collect()
    }

    /// Accepted with `enough`, refused at the same place with a byte less, and the message names what is enough.
    fn least(key: &str, enough: u64, others: &[&str]) {
        let with = |size: u64| {
            let setting = format!("{key}=\"{size} B\"");
            mistakes(&[others, &[setting.as_str()]].concat())
        };
        assert_eq!(with(enough), [], "{key}");
        let less = enough - 1;
        let mistakes = with(less);
        let [(place, message)] = mistakes.as_slice() else { panic!("{key} = {less} B: {mistakes:?}") };
        assert!(place.contains(&format!("{less} B")), "{key}: {place}");
        let expected = Bytes::new(enough);
        assert!(message.contains(&format!("expected at least {expected}")), "{message}");
    }

    #[test]
    fn the_memory_of_a_switch_holds_a_full_packet_however_it_is_shared() {
        let buffer = "switches.switch.buffer.size";
        let sharing = "switches.switch.buffer.sharing";
        least(buffer, 1538, &[]);
        least(buffer, 1538, &[&format!("{sharing}=per_port")]);
        least(buffer, 15_380, &[&format!("{sharing}=static")]);
        least(buffer, 1538, &[&format!("{sharing}={{ dynamic = {{ alpha = 2.0 }} }}")]);
        least(buffer, 6152, &[&format!("{sharing}={{ dynamic = {{ alpha = 0.25 }} }}")]);
        least(buffer, 9038, &["transport.mtu=\"9000 B\""]);
    }

    #[test]
    fn a_buffer_of_nothing_is_refused_once() {
        assert_eq!(mistakes(&["switches.switch.buffer.size=\"0 B\""]).len(), 1);
    }

    #[test]
    fn parts_of_a_lossless_memory_are_none_or_hold_a_full_packet() {
        for part in ["static", "headroom", "global_headroom"] {
            least(&format!("switches.switch.pfc.{part}"), 1538, &[]);
            assert_eq!(mistakes(&[&format!("switches.switch.pfc.{part}=\"0 B\"")]), [], "{part}");
        }
    }

    #[test]
    fn what_headroom_leaves_holds_a_full_packet() {
        // Ten links with 10 kB of headroom, 20 kB of global headroom.
        let parts = ["switches.switch.pfc={ headroom = \"10 kB\", global_headroom = \"20 kB\" }"];
        let buffer = "switches.switch.buffer.size";
        let with = |size: u64| mistakes(&[parts[0], &format!("{buffer}=\"{size} B\"")]);
        assert_eq!(with(121_538), []);
        let told = with(121_537);
        let expected = format!("expected at least {}", Bytes::new(121_538));
        assert!(
            told.len() == 1 && told[0].0.contains("121537 B") && told[0].1.contains(&expected),
            "{told:?}"
        );
    }

    #[test]
    fn a_class_without_headroom_may_hold_a_full_packet_of_the_pool() {
        let xoff = |bytes: u64| {
            let pfc = format!(
                "{{ xoff = {{ fixed = \"{bytes} B\" }}, resume = \"0 B\", headroom = \"0 B\", global_headroom = \"0 B\" }}"
            );
            mistakes(&[&format!("switches.switch.pfc={pfc}")])
        };
        assert_eq!(xoff(1538), []);
        assert_eq!(xoff(1537).len(), 1);
    }

    #[test]
    fn a_limiter_holds_a_full_packet_and_a_switch_its_tag_too() {
        let points = [
            "switches.switch.congestion_point={ bcn = { set_point = \"500 B\" } }",
            "reaction_points={ rule = { bcn = {} } }",
        ];
        let tag = narrows_proto::reaction::bcn::Params::default().tag.get();
        least("reaction_points.queue", 1538, &points);
        least("switches.switch.buffer.size", 1538 + tag, &points);
    }
}
