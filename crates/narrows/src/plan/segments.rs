//! Which links are inside a data center, and which are WAN.

use narrows_sim::topology::{Link, Topology};

/// Part of a network of several data centers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Segment {
    /// Inside a data center: both ends of the link are in the same one.
    Dc,
    /// Everything else: links between data centers, and between them and what is in none.
    Wan,
}

impl Segment {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Dc, Self::Wan];

    /// As it stands in tables and in names of metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Dc => "dc",
            Self::Wan => "wan",
        }
    }
}

/// The segment of a link.
pub(super) fn segment(topology: &Topology, link: &Link) -> Segment {
    let [from, to] = [link.from, link.to].map(|end| topology.datacenter(end));
    if from == to && from.is_some() { Segment::Dc } else { Segment::Wan }
}

/// By directed link its segment; none unless there are hosts in more than one data center.
pub(super) fn segments(topology: &Topology) -> Option<Vec<Segment>> {
    let mut datacenters = topology.hosts().iter().filter_map(|host| topology.datacenter(*host));
    let first = datacenters.next()?;
    if datacenters.all(|datacenter| datacenter == first) {
        return None;
    }
    Some(topology.links().iter().map(|link| segment(topology, link)).collect())
}

#[cfg(test)]
mod tests {
    use narrows_proto::units::{BitRate, Span};
    use narrows_sim::topology::{Wire, datacenter_in};

    use super::*;

    /// A chain of nodes; those whose name contains `host` are hosts.
    fn chain(names: &[&str]) -> Option<Vec<Segment>> {
        let mut topology = Topology::default();
        let node = |name: &&str| match name.contains("host") {
            true => topology.add_host(*name),
            false => topology.add_switch(*name, "switch", 0),
        };
        let nodes: Vec<_> = names.iter().map(node).collect();
        for (name, node) in names.iter().zip(&nodes) {
            if let Some(datacenter) = datacenter_in(name) {
                topology.place([*node], datacenter);
            }
        }
        let wire = Wire::new(BitRate::from_gbps(1), Span::from_us(1));
        for pair in nodes.windows(2) {
            topology.connect(pair[0], pair[1], wire);
        }
        segments(&topology).map(|both| both.into_iter().step_by(2).collect())
    }

    #[test]
    fn a_link_is_inside_a_data_center_if_both_its_ends_are() {
        use Segment::{Dc, Wan};
        let names = ["dc0/host0", "dc0/border0", "dc1/border0", "dc1/host0"];
        assert_eq!(chain(&names), Some(vec![Dc, Wan, Dc]));
        let names = ["dc0/host0", "dc0/border0", "internet", "exchange", "dc1/border0", "dc1/host0"];
        assert_eq!(chain(&names), Some(vec![Dc, Wan, Wan, Wan, Dc]));
    }

    #[test]
    fn networks_with_one_data_center_or_none_have_no_segments() {
        assert_eq!(chain(&["host0", "switch", "host1"]), None);
        assert_eq!(chain(&["dc0/host0", "dc0/switch", "host1"]), None);
        assert_eq!(chain(&["dc0/host0", "dc0/border0", "dc1/border0", "dc0/host1"]), None);
    }
}
