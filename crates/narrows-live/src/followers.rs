//! Flows of real hosts that begin because of others: they wait for some, or clients begin one after the other.

use std::collections::BTreeMap;

use narrows::plan::Plan;
use narrows_proto::units::{Bytes, Time};
use narrows_sim::traffic::{Dependent, Milestone};
use narrows_sim::{Client, FlowId};

/// Flows that wait for others. Reports take no time, as all is known here.
#[derive(Debug)]
pub(crate) struct Followers<'a> {
    dependents: &'a [Dependent],
    /// By dependent: milestones that are missing.
    missing: Vec<u32>,
    /// Dependents that wait for a milestone.
    waiting: BTreeMap<(FlowId, Milestone), Vec<usize>>,
}

impl<'a> Followers<'a> {
    pub(crate) fn new(dependents: &'a [Dependent]) -> Self {
        let mut waiting: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for (number, dependent) in dependents.iter().enumerate() {
            for milestone in &dependent.after {
                waiting.entry(*milestone).or_default().push(number);
            }
        }
        Self { dependents, missing: dependents.iter().map(|dependent| dependent.needs).collect(), waiting }
    }

    /// A flow has come so far: others that start now, each with the time of its start.
    pub(crate) fn reach(&mut self, now: Time, flow: FlowId, milestone: Milestone) -> Vec<(Time, FlowId)> {
        let mut started = Vec::new();
        for number in self.waiting.remove(&(flow, milestone)).unwrap_or_default() {
            let (missing, dependent) = (&mut self.missing[number], &self.dependents[number]);
            let at = now + dependent.delay;
            if *missing == 1 && at < dependent.until {
                started.push((at, dependent.flow));
            }
            *missing = missing.saturating_sub(1);
        }
        started
    }
}

/// Clients with one transaction at a time, by number of their generator.
#[derive(Debug)]
pub(crate) struct Clients {
    clients: Vec<Option<Client>>,
    /// By flow: its client.
    of: BTreeMap<FlowId, usize>,
}

impl Clients {
    /// Those whose flows `is_real` says yes to.
    pub(crate) fn new(plan: &Plan, is_real: impl Fn(FlowId) -> bool) -> Self {
        let (mut clients, mut of) = (Vec::new(), BTreeMap::new());
        for (number, generator) in plan.traffic.generators.iter().enumerate() {
            let is_ours = generator.kind.flows().all(&is_real);
            clients.push(if is_ours { Client::new(&plan.traffic, number, plan.scenario.seed) } else { None });
            if is_ours {
                of.extend(generator.kind.flows().map(|flow| (flow, number)));
            }
        }
        Self { clients, of }
    }

    /// First transactions, by client.
    pub(crate) fn starts(&self) -> impl Iterator<Item = (Time, usize)> {
        let clients = self.clients.iter().enumerate();
        clients.filter_map(|(number, client)| Some((client.as_ref()?.start(), number)))
    }

    /// Flow, incarnation and size of each transfer of a transaction; none if the client is done.
    pub(crate) fn begin(&mut self, client: usize, now: Time) -> Option<Vec<(FlowId, u64, Bytes)>> {
        self.clients[client].as_mut()?.begin(now)
    }

    /// A transfer has ended: the next transaction of a client.
    pub(crate) fn on_end(&mut self, flow: FlowId, now: Time) -> Option<(Time, usize)> {
        let number = *self.of.get(&flow)?;
        Some((self.clients[number].as_mut()?.on_end(now)?, number))
    }
}

#[cfg(test)]
mod tests {
    use narrows_proto::units::Span;

    use super::*;

    #[test]
    fn a_flow_starts_a_delay_after_as_many_milestones_as_it_needs_unless_it_is_late() {
        let at = |us| Time::ZERO + Span::from_us(us);
        let after = [1, 2, 3].map(|flow| (FlowId(flow), Milestone::Received)).to_vec();
        let dependent = |flow, until| Dependent {
            flow: FlowId(flow),
            after: after.clone(),
            needs: 2,
            delay: Span::from_us(5),
            until,
        };
        let dependents = [dependent(8, Time::NEVER), dependent(9, at(20))];
        let mut followers = Followers::new(&dependents);
        assert_eq!(followers.reach(at(10), FlowId(1), Milestone::Received), []);
        assert_eq!(followers.reach(at(11), FlowId(2), Milestone::Sent), []);
        assert_eq!(followers.reach(at(15), FlowId(2), Milestone::Received), [(at(20), FlowId(8))]);
        assert_eq!(followers.reach(at(16), FlowId(3), Milestone::Received), []);
    }
}
