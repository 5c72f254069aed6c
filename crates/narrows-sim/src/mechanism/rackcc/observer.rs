use narrows_proto::cc::rackcc::JumboReport;
use narrows_proto::units::{BitRate, Span, Time};

use super::RackEvent;
use crate::ids::NodeId;
use crate::observe::rows::{NodeTurns, gather};
use crate::observe::{MechanismEvent, Observer};

/// Report of a switch on a JumboFlow, the first in an interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JumboFlowRow {
    /// When.
    pub at: Time,
    /// The switch of the source rack.
    pub node: NodeId,
    /// The number of the destination rack among switches with hosts.
    pub rack: u32,
    /// Which of the JumboFlows between these racks.
    pub number: u32,
    /// The report.
    pub report: JumboReport,
}

/// Advertisement of a host, the first in an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdvertisedRow {
    /// When.
    pub at: Time,
    /// The destination.
    pub node: NodeId,
    /// The rate at which each source may send.
    pub rate: BitRate,
    /// Bytes that had waited for it, as its switch said last.
    pub queue: u64,
}

/// Watches JumboFlows and what destinations advertise: at most one row of each per interval.
#[derive(Clone, Debug)]
pub struct RackObserver {
    turns: NodeTurns,
    jumboflows: Vec<JumboFlowRow>,
    advertised: Vec<AdvertisedRow>,
}

impl RackObserver {
    /// Watches these of `nodes` nodes.
    ///
    /// # Panics
    /// If the interval is zero.
    pub fn new(interval: Span, nodes: usize, watched: &[NodeId]) -> Self {
        let turns = NodeTurns::new(interval, nodes, watched);
        Self { turns, jumboflows: Vec::new(), advertised: Vec::new() }
    }

    /// All rows of these observers, by time and node.
    pub fn finish(observers: impl IntoIterator<Item = Self>) -> (Vec<JumboFlowRow>, Vec<AdvertisedRow>) {
        let (jumboflows, advertised): (Vec<_>, Vec<_>) =
            observers.into_iter().map(|observer| (observer.jumboflows, observer.advertised)).unzip();
        let (mut jumboflows, mut advertised) = (gather(jumboflows), gather(advertised));
        jumboflows.sort_by_key(|row| (row.at, row.node, row.rack, row.number));
        advertised.sort_by_key(|row| (row.at, row.node));
        (jumboflows, advertised)
    }
}

impl Observer for RackObserver {
    const BY_LINK: bool = true;

    fn mechanism(&mut self, at: Time, event: &MechanismEvent) {
        let MechanismEvent::RackEvent(event) = *event else { return };
        match event {
            RackEvent::JumboFlow { node, rack, number, report } => {
                if self.turns.take(at, node, u64::from(rack) << 32 | u64::from(number)) {
                    self.jumboflows.push(JumboFlowRow { at, node, rack, number, report });
                }
            }
            RackEvent::Advertised { node, rate, queue } => {
                if self.turns.take(at, node, 0) {
                    self.advertised.push(AdvertisedRow { at, node, rate, queue });
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_jumboflow_has_at_most_one_row_per_interval() {
        let mut observer = RackObserver::new(Span::from_us(10), 4, &[NodeId(2)]);
        for (us, node, rack) in [(1, 2, 0), (2, 2, 0), (3, 2, 1), (4, 1, 0), (12, 2, 0)] {
            let at = Time::ZERO + Span::from_us(us);
            let (node, report) = (NodeId(node), JumboReport::unlimited(BitRate::from_gbps(us)));
            let event = RackEvent::JumboFlow { node, rack, number: 0, report };
            observer.mechanism(at, &MechanismEvent::RackEvent(event));
        }
        let (rows, _) = RackObserver::finish([observer]);
        let seen: Vec<_> =
            rows.iter().map(|row| (row.report.throughput.as_bps() / 1_000_000_000, row.rack)).collect();
        assert_eq!(seen, [(1, 0), (3, 1), (12, 0)]);
    }
}
