//! Flows, links and times that a trace is of.

use narrows::diagnostic::{Checked, Code, Diagnostic};
use narrows::plan::Plan;
use narrows_proto::units::Time;
use narrows_sim::{FlowId, LinkId};

use super::request::{Format, Request};

/// Flows, links and times that are selected.
#[derive(Clone, Debug)]
pub(crate) struct Selection {
    /// By flow; none: all, and what belongs to no flow.
    flows: Option<Vec<bool>>,
    /// By link; none: all.
    links: Option<Vec<bool>>,
    pub(super) from: Time,
    pub(super) until: Time,
}

impl Selection {
    pub(super) fn new(plan: &Plan, request: &Request) -> Checked<Self> {
        let flows = (!request.flows.is_empty()).then(|| plan.flows_called(&request.flows)).transpose()?;
        if flows.as_ref().is_some_and(Vec::is_empty) {
            let message = format!("no flow belongs to \"{}\"", request.flows.join("\", \""));
            return Err(Diagnostic::error(Code::NothingTraced, message).into());
        }
        let links = match request.ports.as_slice() {
            [] if request.format == Format::Pcapng => Some(ports_of_hosts(plan)),
            [] => None,
            ports => Some(plan.links_called(ports)?),
        };
        if request.from >= request.until {
            let message = format!("--from {} is not before --until {}", request.from, request.until);
            return Err(Diagnostic::error(Code::NothingTraced, message).into());
        }
        let flows = flows.map(|flows| set(plan.traffic.flows.len(), flows.iter().map(|flow| flow.index())));
        let all = plan.network.topology.links().len();
        let links = links.map(|links| set(all, links.iter().map(|link| link.index())));
        Ok(Self { flows, links, from: request.from, until: request.until })
    }

    pub(super) fn has_flow(&self, flow: Option<FlowId>) -> bool {
        match (&self.flows, flow) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(flows), Some(flow)) => flows.get(flow.index()).copied().unwrap_or(false),
        }
    }

    pub(super) fn has_link(&self, link: LinkId) -> bool {
        self.links.as_ref().is_none_or(|links| links[link.index()])
    }

    pub(super) fn has_time(&self, at: Time) -> bool {
        (self.from..self.until).contains(&at)
    }
}

fn set(len: usize, members: impl Iterator<Item = usize>) -> Vec<bool> {
    let mut set = vec![false; len];
    members.for_each(|member| set[member] = true);
    set
}

/// Where hosts send. A packet is seen there once, which is what the analysis of Wireshark takes for granted.
fn ports_of_hosts(plan: &Plan) -> Vec<LinkId> {
    let topology = &plan.network.topology;
    let links = (0..topology.links().len()).map(LinkId::from);
    links.filter(|link| topology.as_host(topology.link(*link).from).is_some()).collect()
}
