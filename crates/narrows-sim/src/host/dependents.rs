//! Flows of a host that wait for others.

use super::waiting::Waiting;
use std::sync::Arc;

use narrows_proto::units::Time;

use super::Host;
use super::agenda::Wake;
use super::new_flow::NewFlow;
use crate::followers::Report;
use crate::ids::FlowId;
use crate::observe::Observer;
use crate::traffic::Milestone;
use crate::world::World;

impl Host {
    /// Those of the given numbers wait here.
    pub(super) fn wait<O>(&mut self, numbers: &[u32], world: &World<O>) {
        let dependents = &world.shared.followers.dependents;
        for number in numbers {
            let dependent = &dependents[*number as usize];
            let waiting =
                Waiting { number: *number, missing: dependent.needs, until: dependent.until, over: false };
            self.waiting.push(waiting);
        }
        let mut ends: Vec<_> = self.waiting.iter().map(|waiting| waiting.until).collect();
        ends.sort_unstable();
        ends.dedup();
        for end in ends.into_iter().filter(|end| *end < Time::NEVER) {
            self.senders.agenda.plan(end, Wake::GiveUp);
        }
    }

    /// A report from another host will arrive.
    pub(crate) fn receive_report(&mut self, at: Time, dependent: u32) {
        self.senders.agenda.plan(at, Wake::Report(dependent));
    }

    /// A flow has come so far: those who wait for it are notified.
    pub(super) fn announce<O: Observer>(
        &mut self,
        now: Time,
        flow: FlowId,
        milestone: Milestone,
        world: &mut World<O>,
    ) {
        if world.shared.followers.is_empty() {
            return;
        }
        let shared = Arc::clone(&world.shared);
        for follower in shared.followers.of(flow).iter().filter(|follower| follower.milestone == milestone) {
            let (shard, node) = follower.place;
            match follower.away {
                None => self.count(now, follower.dependent, world),
                Some(away) => {
                    world.report(shard, Report { node, at: now + away, dependent: follower.dependent });
                }
            }
        }
    }

    /// One thing a flow waits for has happened.
    pub(super) fn count<O>(&mut self, now: Time, number: u32, world: &World<O>) {
        let Some(waiting) = self.waiting_of(number) else { return };
        let enough = waiting.missing == 1;
        waiting.missing = waiting.missing.saturating_sub(1);
        if enough && !waiting.over {
            let delay = world.shared.followers.dependents[number as usize].delay;
            self.senders.agenda.plan(now + delay, Wake::Dependent(number));
        }
    }

    /// A flow that waited starts, unless it is too late.
    pub(super) fn start_dependent<O: Observer>(&mut self, now: Time, number: u32, world: &mut World<O>) {
        let Some(waiting) = self.waiting_of(number).filter(|waiting| !waiting.over && now < waiting.until)
        else {
            return;
        };
        waiting.over = true;
        world.log.outstanding -= 1; // `start` counts it
        let flow = world.shared.followers.dependents[number as usize].flow;
        let size = world.shared.flows[flow.index()].size;
        self.start(now, &NewFlow { flow, incarnation: 0, size, start: now, starter: None }, world);
    }

    /// Those who may start no more wait no longer.
    pub(super) fn give_up<O>(&mut self, now: Time, world: &mut World<O>) {
        for waiting in self.waiting.iter_mut().filter(|waiting| !waiting.over && waiting.until <= now) {
            waiting.over = true;
            world.log.outstanding -= 1;
        }
    }

    fn waiting_of(&mut self, number: u32) -> Option<&mut Waiting> {
        let place = self.waiting.binary_search_by_key(&number, |waiting| waiting.number).ok()?;
        self.waiting.get_mut(place)
    }
}
