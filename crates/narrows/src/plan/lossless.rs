//! Thresholds at which switches stop their neighbors and let them go on, link by link.

use std::collections::BTreeMap;

use narrows_proto::units::{BitRate, Bytes};
use narrows_sim::switch::{Pfc, SwitchConfig, Xoff};
use narrows_sim::topology::NodeKind;
use narrows_sim::{LinkId, Network, NodeId};
use serde::Serialize;

/// Links into switches of one class that are stopped at the same thresholds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StopFacts {
    /// The class of the switches.
    pub class: String,
    /// The mechanism that stops them: `pause` or `pfc`.
    pub mechanism: &'static str,
    /// Number of links.
    pub count: usize,
    /// Their rate.
    pub rate_bps: u64,
    /// Bytes of a link, of one class with `pfc`, above which it is stopped: while all links fill the memory alike, and of this link alone.
    pub xoff_bytes: [u64; 2],
    /// Bytes at or below which it goes on, in the same two cases.
    pub xon_bytes: [u64; 2],
    /// Memory for what arrives after the stop, of each class with `pfc`.
    pub headroom_bytes: u64,
    /// The same as the link needs it.
    pub needed_headroom_bytes: u64,
    /// Memory that all links and classes share before headroom is used; none with `pause`.
    pub pool_bytes: Option<u64>,
}

/// Thresholds of a switch.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Thresholds {
    mechanism: &'static str,
    xoff: [Bytes; 2],
    xon: [Bytes; 2],
    pool: Option<Bytes>,
}

/// `largest` is the largest packet.
pub(super) fn stop_facts(network: &Network, largest: Bytes) -> Vec<StopFacts> {
    let mut kinds: BTreeMap<_, usize> = BTreeMap::new();
    for (node, inputs) in network.topology.inputs().iter().enumerate() {
        let NodeKind::Switch { class, .. } = &network.topology.node(NodeId::from(node)).kind else {
            continue;
        };
        let Some(switch) = &network.switches[node] else { continue };
        let Some(thresholds) = thresholds(network, switch, inputs, largest) else { continue };
        for link in inputs {
            let needed = network.needed_headroom(*link, largest);
            let own = if switch.pfc.is_some() { network.headroom(*link, largest) } else { needed };
            let rate = network.topology.link(*link).wire.rate;
            *kinds.entry((class, rate, thresholds, own, needed)).or_default() += 1;
        }
    }
    let facts =
        |((class, rate, of, own, needed), count): ((&String, BitRate, Thresholds, Bytes, Bytes), _)| {
            StopFacts {
                class: class.clone(),
                mechanism: of.mechanism,
                count,
                rate_bps: rate.as_bps(),
                xoff_bytes: of.xoff.map(Bytes::get),
                xon_bytes: of.xon.map(Bytes::get),
                headroom_bytes: own.get(),
                needed_headroom_bytes: needed.get(),
                pool_bytes: of.pool.map(Bytes::get),
            }
        };
    kinds.into_iter().map(facts).collect()
}

/// Where a switch stops its neighbors, if it does, and where they go on.
fn thresholds(
    network: &Network,
    switch: &SwitchConfig,
    inputs: &[LinkId],
    largest: Bytes,
) -> Option<Thresholds> {
    if let Some(pause) = &switch.pause {
        let (xoff, xon) = ([pause.xoff; 2], [pause.xon(); 2]);
        return Some(Thresholds { mechanism: "pause", xoff, xon, pool: None });
    }
    let pfc = switch.pfc.as_ref()?;
    let side = switch.has_side_class();
    let headrooms =
        inputs.iter().map(|link| network.headroom(*link, largest)).fold(Bytes::ZERO, Bytes::saturating_add);
    let global = pfc.global_headroom(inputs.len(), largest);
    let pool = pfc.pool(switch.buffer.size, headrooms, inputs.len(), side, global)?;
    let shared = shared_at_stop(pfc, pool, inputs.len() as u64 * pfc.classes(side));
    let xoff = shared.map(|shared| shared.saturating_add(pfc.reserve));
    let xon = shared.map(|shared| shared.saturating_sub(pfc.resume).saturating_add(pfc.reserve));
    Some(Thresholds { mechanism: "pfc", xoff, xon, pool: Some(pool) })
}

/// Bytes of the pool that a class of a link holds when it is stopped: if all hold as much, and if it is alone.
fn shared_at_stop(pfc: &Pfc, pool: Bytes, all: u64) -> [Bytes; 2] {
    match pfc.xoff {
        Xoff::Fixed(xoff) => [xoff.min(pool / all.max(1)), xoff.min(pool)],
        Xoff::Alpha(alpha) => {
            [all as f64, 1.0].map(|n| Bytes::from_f64(pool.as_f64() * alpha / (1.0 + n * alpha)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Document;
    use crate::plan::Plan;

    fn facts(switch: &str) -> Vec<StopFacts> {
        let text = format!(
            r#"
            version = 2
            name = "facts"
            stop.after = "1 ms"
            topology.star = {{ hosts = 4, rate = "10 Gb/s", delay = "1 us" }}
            switches.default = {{ buffer = {{ size = "1 MB", sharing = "complete" }}, {switch} }}
            traffic = [{{ name = "a", pattern.permutation = {{}}, cc.dctcp = {{}} }}]
            "#
        );
        let plan = Plan::outline(Document::parse("facts.toml", text, "").unwrap());
        plan.unwrap_or_else(|error| panic!("{error}")).facts().stops
    }

    #[test]
    fn thresholds_of_pfc_are_those_of_one_link_alone_and_of_all() {
        let [of] = &facts("pfc = { xoff = { alpha = 0.5 } }")[..] else { panic!("one kind of links") };
        // 2 µs at 10 Gb/s, a frame and three packets; four links and as many packets for all.
        let headroom = 2_500 + 84 + 3 * 1538;
        let pool = 1_000_000 - 4 * headroom - 4 * 1538;
        assert_eq!((of.count, of.headroom_bytes, of.pool_bytes), (4, headroom, Some(pool)));
        assert_eq!(of.xoff_bytes, [pool / 6, pool / 3]);
        assert_eq!(of.xon_bytes, of.xoff_bytes.map(|xoff| xoff - 2_000));
        assert_eq!(facts("pfc = { xoff = { fixed = \"50 kB\" } }")[0].xoff_bytes, [50_000; 2]);
    }

    #[test]
    fn pause_has_its_own_thresholds_and_other_switches_none() {
        let [of] = &facts("pause = { xoff = \"100 kB\" }")[..] else { panic!("one kind of links") };
        assert_eq!((of.mechanism, of.xoff_bytes, of.xon_bytes), ("pause", [100_000; 2], [50_000; 2]));
        assert_eq!(facts("marking = \"off\""), []);
    }
}
