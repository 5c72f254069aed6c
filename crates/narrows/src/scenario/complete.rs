//! Settings that were left out, written out.

use narrows_sim::topology::{Clos, CrossDc, Fabric};

use super::{Pattern, Scenario, Topology, default_switch};

impl Scenario {
    /// Writes out what was left out, as it is in force in a network with switches of these classes, so that a stored scenario
    /// means the same when a default changes. Settings that depend on the link or the path of each flow stay left out, and so do
    /// those whose absence has a meaning: no limit, all hosts, no such mechanism.
    pub(crate) fn complete<'a>(&mut self, classes: impl IntoIterator<Item = &'a str>) {
        if classes.into_iter().any(|class| !self.switches.contains_key(class)) {
            self.switches.entry("default".into()).or_insert_with(default_switch);
        }
        for pause in self.switches.values_mut().filter_map(|switch| switch.pause.as_mut()) {
            pause.xon = Some(pause.xon());
        }
        for group in &mut self.traffic {
            if let Some(rdma) = &mut group.rdma {
                rdma.cnp_priority.get_or_insert(group.priority);
                rdma.ack_priority.get_or_insert(group.priority);
            }
            if matches!(group.pattern, Pattern::OnOff(_)) {
                group.datagram.get_or_insert_default();
            }
            if let Some(cc) = &mut group.cc {
                cc.complete();
            }
        }
        self.topology.complete();
    }
}

impl Topology {
    fn complete(&mut self) {
        match self {
            Self::Explicit(explicit) => {
                if explicit.datacenters.is_none() {
                    explicit.datacenters = explicit.datacenters_in_names();
                }
                for link in &mut explicit.links {
                    link.reverse_rate.get_or_insert(link.rate);
                }
            }
            Self::Clos(clos) => complete_clos(clos),
            Self::CrossDc(CrossDc { fabric, fabrics, wan, .. }) => {
                wan.border_rate.get_or_insert(wan.rate);
                if fabrics.iter().map(Fabric::delay).all(|delay| delay == fabric.delay()) {
                    wan.border_delay.get_or_insert(fabric.delay());
                }
                for fabric in fabrics.iter_mut().chain([fabric]) {
                    if let Fabric::Clos(clos) = fabric {
                        complete_clos(clos);
                    }
                }
            }
            _ => {}
        }
    }
}

fn complete_clos(clos: &mut Clos) {
    clos.core_uplink_delay.get_or_insert(clos.delay);
}
