//! Settings that were left out, written out.

use narrows_sim::topology::{CrossDc, Fabric};

use super::{Pattern, Scenario, Topology, default_switch};

impl Scenario {
    /// Writes out what was left out, as it is in force in a network with switches of these classes, so that a stored scenario
    /// means the same when a default changes. What depends on the link or the path of each flow stays left out, and so does
    /// what says nothing when it is: no limit, all hosts, no such mechanism.
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
            }
            if matches!(group.pattern, Pattern::OnOff(_)) {
                group.datagram.get_or_insert_default();
            }
            if let Some(cc) = &mut group.cc {
                cc.complete();
            }
        }
        if let Topology::Explicit(explicit) = &mut self.topology
            && explicit.datacenters.is_none()
        {
            explicit.datacenters = explicit.datacenters_in_names();
        }
        if let Topology::CrossDc(CrossDc { fabric, fabrics, wan, .. }) = &mut self.topology {
            wan.border_rate.get_or_insert(wan.rate);
            if fabrics.iter().map(Fabric::delay).all(|delay| delay == fabric.delay()) {
                wan.border_delay.get_or_insert(fabric.delay());
            }
        }
    }
}
