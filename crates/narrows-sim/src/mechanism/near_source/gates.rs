//! The near-source loops of a host (Annulus): which flow has which, and who stands in line.

use std::collections::VecDeque;

use narrows_proto::annulus::{Aggregate, NearSource, near_source};
use narrows_proto::stream::{Held, Holding};
use narrows_proto::units::{BitRate, Time};

use crate::host::{Outgoing, Sending};
use crate::ids::{FlowId, GroupId, NodeId};
use crate::mechanism::at_host::Site;
use crate::mechanism::flow::Line;
use crate::mechanism::limiter::{LimiterEvent, ReactionRecord};
use crate::observe::{MechanismEvent, Observer};
use crate::random::{Purpose, Stream};
use crate::world::{GroupState, World};

/// The near-source loops of a host.
#[derive(Debug)]
pub(crate) struct Gates {
    pub(super) node: NodeId,
    pub(super) line_rate: BitRate,
    pub(super) random: Stream,
    /// By group that has sent something here.
    pub(super) settings: Vec<(GroupId, near_source::Settings)>,
    pub(super) gates: Vec<Gate>,
    /// Places of `gates` that no flow uses.
    pub(super) free: Vec<u32>,
    /// The loops of aggregates: group and destination, with their place.
    pub(super) shared: Vec<((GroupId, u32), u32)>,
    /// Numbers of loops in records begin here, behind those of limiters.
    pub(super) first_number: u32,
    pub(super) record: ReactionRecord,
}

/// One loop.
#[derive(Debug)]
pub(super) struct Gate {
    pub(super) near: NearSource,
    /// Its place in `settings`.
    pub(super) settings: u32,
    /// Slots of flows that it holds up, longest first.
    pub(super) line: VecDeque<u32>,
}

impl Gate {
    /// A flow stands in the line.
    pub(super) fn join(&mut self, slot: u32, outgoing: &mut Outgoing) {
        if outgoing.at.line == Line::Outside {
            outgoing.at.line = Line::Waiting;
            self.line.push_back(slot);
        }
    }

    /// Something keeps a flow from sending: this loop or one before it in the line. If the flow could send, it stands in the
    /// line. Returns when to ask it again; never if somebody else will.
    pub(super) fn hold(
        &mut self,
        now: Time,
        slot: u32,
        outgoing: &mut Outgoing,
        group: &GroupState,
        settings: &near_source::Settings,
    ) -> Time {
        let holding =
            Holding { app_limited: settings.app_limited, validate_window: settings.validate_window };
        match outgoing.source.hold(group, now, holding) {
            Held::Ready => {
                self.near.on_held(now);
                self.join(slot, outgoing);
                if self.line.front() == Some(&slot) { self.near.next_look() } else { Time::NEVER }
            }
            Held::Until(at) => {
                self.leave(slot, outgoing);
                at
            }
            Held::Blocked => {
                self.leave(slot, outgoing);
                Time::NEVER
            }
        }
    }

    /// A flow does not stand in the line.
    pub(super) fn leave(&mut self, slot: u32, outgoing: &mut Outgoing) {
        if outgoing.at.line == Line::Waiting {
            outgoing.at.line = Line::Outside;
            if self.line.front() == Some(&slot) {
                self.line.pop_front();
            } else {
                self.line.retain(|waiting| *waiting != slot);
            }
        }
    }
}

impl Gates {
    pub(super) fn at(site: &Site<'_>, first_number: u32) -> Self {
        Self {
            node: site.node,
            line_rate: site.rate,
            random: Stream::new(site.seed, Purpose::NearSource, site.node.0.into()),
            settings: Vec::new(),
            gates: Vec::new(),
            free: Vec::new(),
            shared: Vec::new(),
            first_number,
            record: ReactionRecord::default(),
        }
    }

    /// The loop of a new flow of `group`: one of its own, or that of its aggregate.
    pub(super) fn enter<O>(&mut self, flow: FlowId, world: &World<O>) -> Option<u32> {
        let spec = &world.shared.flows[flow.index()];
        let config = world.shared.groups[spec.group.index()].near_source.as_ref()?;
        let aggregate = match config.per {
            Aggregate::DestinationDc => config.places.get(spec.to.index()).copied().unwrap_or(0),
            Aggregate::Flow => return Some(self.open(spec.group, &config.params)),
            _ => 0,
        };
        let key = (spec.group, aggregate);
        Some(match self.shared.binary_search_by_key(&key, |entry| entry.0) {
            Ok(at) => self.shared[at].1,
            Err(at) => {
                let place = self.open(spec.group, &config.params);
                self.shared.insert(at, (key, place));
                place
            }
        })
    }

    pub(super) fn open(&mut self, group: GroupId, params: &near_source::Params) -> u32 {
        let settings = self.settings.iter().position(|entry| entry.0 == group).unwrap_or_else(|| {
            self.settings.push((group, near_source::Settings::new(params, self.line_rate)));
            self.settings.len() - 1
        });
        let gate = Gate { near: NearSource::default(), settings: settings as u32, line: VecDeque::new() };
        match self.free.pop() {
            Some(place) => {
                self.gates[place as usize] = gate;
                place
            }
            None => {
                self.gates.push(gate);
                self.gates.len() as u32 - 1
            }
        }
    }

    pub(super) fn observe<O: Observer>(&self, now: Time, place: u32, world: &mut World<O>) {
        if O::ACTIVE {
            let rate = self.gates[place as usize].near.rate().unwrap_or(self.line_rate);
            let (node, limiter) = (self.node, self.first_number + place);
            let event = LimiterEvent { node, limiter, rate, waiting: 0 };
            world.observer.mechanism(now, &MechanismEvent::LimiterEvent(event));
        }
    }
}
