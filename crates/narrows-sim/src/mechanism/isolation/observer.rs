use std::sync::Arc;

use narrows_proto::units::Time;

use super::{IsolationChange, IsolationEvent};
use crate::ids::{FlowId, LinkId, NodeId};
use crate::observe::rows::gather;
use crate::observe::{MechanismEvent, Observer, RowLimit};
use crate::topology::Topology;

/// Something that happened to a queue for isolated flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IsolationRow {
    /// When.
    pub at: Time,
    /// At which switch.
    pub node: NodeId,
    /// The link of the port, or for events at an input the link that leads to the switch.
    pub link: LinkId,
    /// The event.
    pub event: IsolationEvent,
}

impl IsolationRow {
    /// The event as it stands in tables.
    pub fn name(&self) -> &'static str {
        IsolationEvent::NAMES[self.event.number()]
    }
}

impl IsolationEvent {
    /// All events, as they stand in tables.
    pub const NAMES: [&'static str; 6] =
        ["allocated", "freed", "flow", "allocated_at_input", "freed_at_input", "told"];

    /// The place of its name.
    pub fn number(self) -> usize {
        match self {
            Self::Allocated => 0,
            Self::Freed => 1,
            Self::Flow(_) => 2,
            Self::AllocatedAtInput => 3,
            Self::FreedAtInput => 4,
            Self::Notified(_) => 5,
        }
    }

    /// The flow it is about.
    pub fn flow(self) -> Option<FlowId> {
        match self {
            Self::Flow(flow) | Self::Notified(flow) => Some(flow),
            _ => None,
        }
    }
}

/// Watches what happens to queues for isolated flows.
#[derive(Clone, Debug)]
pub struct IsolationObserver {
    /// By link: the nodes it leads from and to, if they are watched.
    ends: Vec<[Option<NodeId>; 2]>,
    rows: Vec<IsolationRow>,
    limit: Arc<RowLimit>,
}

impl IsolationObserver {
    /// Watches these nodes. If the limit turns out to be exceeded, rows are missing.
    pub fn new(topology: &Topology, watched: &[NodeId], limit: Arc<RowLimit>) -> Self {
        let known = |node: NodeId| watched.contains(&node).then_some(node);
        let ends = topology.links().iter().map(|link| [known(link.from), known(link.to)]).collect();
        Self { ends, rows: Vec::new(), limit }
    }

    /// All rows of these observers, by time, node and link.
    pub fn finish(observers: impl IntoIterator<Item = Self>) -> Vec<IsolationRow> {
        let mut rows = gather(observers.into_iter().map(|observer| observer.rows));
        rows.sort_by_key(|row| (row.at, row.node, row.link));
        rows
    }
}

impl Observer for IsolationObserver {
    const BY_LINK: bool = true;

    fn mechanism(&mut self, at: Time, event: &MechanismEvent) {
        let MechanismEvent::IsolationChange(IsolationChange { link, event }) = *event else { return };
        let [from, to] = self.ends[link.index()];
        let node = match event {
            IsolationEvent::Allocated | IsolationEvent::Freed | IsolationEvent::Flow(_) => from,
            IsolationEvent::AllocatedAtInput | IsolationEvent::FreedAtInput | IsolationEvent::Notified(_) => {
                to
            }
        };
        let node = node.filter(|_| self.limit.admits());
        self.rows.extend(node.map(|node| IsolationRow { at, node, link, event }));
    }
}

#[cfg(test)]
mod tests {
    use narrows_proto::units::{BitRate, Span};

    use super::*;
    use crate::topology::Star;

    fn change(link: LinkId, event: IsolationEvent) -> MechanismEvent {
        MechanismEvent::IsolationChange(IsolationChange { link, event })
    }

    #[test]
    fn events_belong_to_the_switch_that_has_the_queue() {
        let mut topology = Topology::default();
        let (rate, delay) = (BitRate::from_gbps(10), Span::from_us(1));
        Star { hosts: 2, rate, delay }.build(&mut topology, "");
        let mut nodes = (0..topology.nodes().len()).map(NodeId::from);
        let switch = nodes.find(|node| topology.tier(*node).is_some()).unwrap();
        let out = topology.ports()[switch.index()][0];
        let into = Topology::reverse(out);
        let limit = Arc::new(RowLimit::new(3));
        let mut observer = IsolationObserver::new(&topology, &[switch], Arc::clone(&limit));
        observer.mechanism(Time::ZERO, &change(out, IsolationEvent::Allocated));
        observer.mechanism(Time::ZERO, &change(into, IsolationEvent::Notified(FlowId(3))));
        observer.mechanism(Time::ZERO, &change(into, IsolationEvent::Allocated));
        let rows = IsolationObserver::finish([observer]);
        assert_eq!(rows.len(), 2, "the last is at the host");
        assert!(rows.iter().all(|row| row.node == switch));
        assert!(!limit.is_exceeded());
    }

    #[test]
    fn all_observers_of_a_run_keep_no_more_rows_than_the_limit() {
        let mut topology = Topology::default();
        let (rate, delay) = (BitRate::from_gbps(10), Span::from_us(1));
        Star { hosts: 2, rate, delay }.build(&mut topology, "");
        let nodes: Vec<_> = (0..topology.nodes().len()).map(NodeId::from).collect();
        let limit = Arc::new(RowLimit::new(3));
        let mut observers = [(); 2].map(|()| IsolationObserver::new(&topology, &nodes, Arc::clone(&limit)));
        for _ in 0..2 {
            for observer in &mut observers {
                assert!(!limit.is_exceeded());
                observer.mechanism(Time::ZERO, &change(LinkId(0), IsolationEvent::Allocated));
            }
        }
        assert!(limit.is_exceeded());
        assert_eq!(IsolationObserver::finish(observers).len(), 3);
    }
}
