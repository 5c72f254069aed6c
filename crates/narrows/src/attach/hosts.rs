//! Hosts that can exchange messages.

use narrows_sim::{HostId, Paths};

use crate::plan::Plan;

/// By host: the first of those between which paths lead.
pub(super) fn islands(plan: &Plan) -> Vec<HostId> {
    let paths = Paths::of(&plan.network, plan.scenario.seed);
    let mut firsts: Vec<HostId> = Vec::new();
    let mut island = |host| {
        let joins = |first: &&HostId| paths.reaches(**first, host) && paths.reaches(host, **first);
        if let Some(first) = firsts.iter().find(joins) {
            return *first;
        }
        firsts.push(host);
        host
    };
    (0..plan.network.topology.hosts().len()).map(|host| island(HostId::from(host))).collect()
}
