//! Ranks of a host: their messages begin and end here.

use narrows_proto::units::Time;

use super::Host;
use super::agenda::Wake;
use super::new_flow::{NewFlow, Starter};
use super::rank::{RankAtWork, Wants};
use crate::ids::FlowId;
use crate::observe::Observer;
use crate::world::World;

impl Host {
    /// A rank of this host has something to do, or may have.
    pub(super) fn run_rank<O: Observer>(
        &mut self,
        now: Time,
        number: u32,
        world: &mut World<O>,
        step: impl FnOnce(&mut RankAtWork, &mut Wants),
    ) {
        let mut wants = Wants::default();
        step(&mut self.ranks[number as usize], &mut wants);
        world.log.iterations.extend(wants.record);
        world.log.outstanding -= u64::from(wants.over);
        for at in wants.wakes {
            self.senders.agenda.plan(at, Wake::Rank(number));
        }
        for (flow, incarnation, size) in wants.messages {
            let starter = Some(Starter::Rank(number));
            self.start(now, &NewFlow { flow, incarnation, size, start: now, starter }, world);
        }
    }

    pub(super) fn wake_rank<O: Observer>(&mut self, now: Time, number: u32, world: &mut World<O>) {
        self.run_rank(now, number, world, |rank, wants| rank.on_wake(now, wants));
    }

    /// All of `flow` has arrived: if it is a message for a rank, that may go on.
    pub(super) fn hand_to_rank<O: Observer>(&mut self, now: Time, flow: FlowId, world: &mut World<O>) {
        let Some((number, from)) = world.shared.receiving_rank(flow) else { return };
        self.run_rank(now, number, world, |rank, wants| rank.on_message(now, from, flow, wants));
    }

    /// Who started a flow is notified that it has ended.
    pub(super) fn notify<O: Observer>(
        &mut self,
        now: Time,
        starter: Option<Starter>,
        flow: FlowId,
        world: &mut World<O>,
    ) {
        match starter {
            None => {}
            Some(Starter::Generator(number)) => {
                if let Some(next) = self.generators[number as usize].on_end(now) {
                    self.senders.agenda.plan(next, Wake::Generator(number));
                }
            }
            Some(Starter::Rank(number)) => {
                self.run_rank(now, number, world, |rank, wants| rank.on_sent(now, flow, wants));
            }
        }
    }
}
