//! Hosts as RackCC has them: what they know of JumboFlows, and the rate they advertise.
//!
//! A flow receives what its host knows when its turn comes: state is kept by JumboFlow and by destination, so that a message costs
//! the same however many flows there are.

use narrows_proto::cc::rackcc::{JumboReport, receiver};
use narrows_proto::units::{BitRate, Time};

use super::wire::Membership;
use super::{RackAgent, RackRecord, Subflow};
use crate::host::Outgoing;
use crate::ids::{FlowId, HostId, NodeId};
use crate::mechanism::at_host::Site;
use crate::packet::Packet;

/// State of a host of a rack with JumboFlows.
#[derive(Debug)]
pub(crate) struct Racks {
    pub(super) agent: RackAgent,
    pub(super) node: NodeId,
    pub(super) host: HostId,
    /// Index of its switch among those with hosts.
    pub(super) leaf: u32,
    pub(super) line: BitRate,
    /// By rack and number: the place of a JumboFlow in `known`.
    pub(super) places: Vec<u32>,
    pub(super) known: Vec<Known>,
    /// In order of hosts: their place in `destinations`.
    pub(super) hosts: Vec<(HostId, u32)>,
    pub(super) destinations: Vec<Destination>,
    pub(super) receiver: Receiver,
    pub(super) record: RackRecord,
}

/// State of a JumboFlow at a host.
#[derive(Debug)]
pub(super) struct Known {
    /// Which of those to its rack.
    pub(super) number: u32,
    /// The last report of its switch, and when it came.
    pub(super) report: Option<JumboReport>,
    pub(super) received_at: Time,
    /// Changes with each message.
    pub(super) version: u32,
    /// Slots of flows that wait for a report of their share.
    pub(super) waiting: Vec<u32>,
}

/// State of a destination.
#[derive(Clone, Copy, Debug)]
pub(super) struct Destination {
    pub(super) rate: BitRate,
    pub(super) version: u32,
}

/// The receiving half: what arrives, and the rate that is advertised.
#[derive(Debug)]
pub(super) struct Receiver {
    pub(super) rate: receiver::Receiver,
    /// Bytes that have arrived since `since`.
    pub(super) received: u64,
    pub(super) since: Time,
    /// Bytes that waited at the switch, by its last message.
    pub(super) queue: u64,
    /// Hosts with flows to this one, and how many.
    pub(super) sources: Vec<(HostId, u32)>,
    /// Sources of datagrams that have said whether they are subflows, in order.
    pub(super) members: Vec<(FlowId, bool)>,
    /// When an interval is over; never while nobody sends.
    pub(super) next: Time,
}

pub(super) const NOWHERE: u32 = u32::MAX;

impl Racks {
    pub(super) fn at(site: &Site<'_>, agent: RackAgent) -> Self {
        let &Site { node, host, leaf, leaves, rate: line, .. } = site;
        let receiver = Receiver {
            rate: receiver::Receiver::new(line),
            received: 0,
            since: Time::ZERO,
            queue: 0,
            sources: Vec::new(),
            members: Vec::new(),
            next: Time::NEVER,
        };
        Self {
            places: vec![NOWHERE; leaves * agent.jumboflows as usize],
            agent,
            node,
            host,
            leaf,
            line,
            known: Vec::new(),
            hosts: Vec::new(),
            destinations: Vec::new(),
            receiver,
            record: RackRecord::default(),
        }
    }

    /// The place of a JumboFlow.
    pub(super) fn place(&mut self, rack: u32, number: u32) -> u32 {
        let place = &mut self.places[(rack * self.agent.jumboflows + number) as usize];
        if *place == NOWHERE {
            *place = self.known.len() as u32;
            // Inside the rack only access links limit anybody (RackCC §3.2).
            let report = (rack == self.leaf).then(|| JumboReport::unlimited(self.line));
            let version = u32::from(report.is_some());
            self.known.push(Known { number, report, received_at: Time::NEVER, version, waiting: Vec::new() });
        }
        *place
    }

    /// The JumboFlow to `rack` that a new flow joins: the one with the lowest alpha, and among equals the largest share. Of one
    /// that nobody has reported lately nothing is known that speaks against it. If that is all of them, any.
    pub(super) fn choose(&mut self, now: Time, flow: FlowId, rack: u32) -> u32 {
        let each = self.agent.jumboflows;
        if each == 1 {
            return self.place(rack, 0);
        }
        let fresh = |known: &Known| {
            known.received_at < Time::NEVER
                && now.saturating_since(known.received_at) <= self.agent.jumboflow.memory
        };
        let reported = |number: u32| {
            let place = self.places[(rack * each + number) as usize];
            let known =
                self.known.get(place as usize).filter(|known| fresh(known)).and_then(|known| known.report);
            known.map_or((0.0, BitRate::ZERO), |report| (report.alpha, report.share()))
        };
        let first = (crate::random::mix(flow.index() as u64) % u64::from(each)) as u32;
        let better = |best: u32, number: u32| {
            let ((alpha, share), (best_alpha, best_share)) = (reported(number), reported(best));
            let better = alpha < best_alpha || alpha == best_alpha && share > best_share;
            if better { number } else { best }
        };
        let best = (1..each).map(|step| (first + step) % each).fold(first, better);
        self.place(rack, best)
    }

    pub(super) fn destination(&mut self, host: HostId) -> u32 {
        match self.hosts.binary_search_by_key(&host, |entry| entry.0) {
            Ok(at) => self.hosts[at].1,
            Err(at) => {
                let place = self.destinations.len() as u32;
                self.destinations.push(Destination { rate: self.line, version: 0 });
                self.hosts.insert(at, (host, place));
                place
            }
        }
    }

    pub(super) fn advertised(&mut self, host: HostId, rate: BitRate) {
        let place = self.destination(host);
        let destination = &mut self.destinations[place as usize];
        destination.rate = rate;
        destination.version = destination.version.wrapping_add(1);
    }

    /// Sum of the versions that a flow would have if it received everything now.
    pub(super) fn versions(&self, of: Subflow) -> u32 {
        let known = self.known[of.jumboflow as usize].version;
        known.wrapping_add(self.destinations[of.destination as usize].version)
    }

    pub(super) fn membership(&self, outgoing: &Outgoing, subflow: Subflow, joins: bool) -> Packet {
        let jumboflow = self.known[subflow.jumboflow as usize].number;
        let (flow, incarnation, to) = (outgoing.of.flow, outgoing.of.incarnation as u16, outgoing.to);
        Membership { flow, incarnation, to, joins, jumboflow }.packet(&self.agent)
    }
}
