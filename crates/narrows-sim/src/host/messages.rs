//! Messages that share queue pairs.

use narrows_proto::stream::Endpoint;
use narrows_proto::units::{Bytes, Time};

use super::Host;
use super::new_flow::{NewFlow, Started};
use super::nic::Place;
use super::outgoing::Outgoing;
use super::queue_pair::QueuePair;
use super::transport::Source;
use crate::ids::HostId;
use crate::observe::Observer;
use crate::traffic::Milestone;
use crate::world::World;

impl Host {
    /// A message for a queue pair.
    pub(super) fn enqueue_message<O: Observer>(&mut self, now: Time, new: &NewFlow, world: &mut World<O>) {
        let spec = &world.shared.flows[new.flow.index()];
        let group = &world.shared.groups[spec.group.index()];
        let key = (spec.group.0, spec.to);
        let slot = match self.queue_pairs.binary_search_by_key(&key, |entry| entry.0) {
            Ok(at) => self.queue_pairs[at].1,
            Err(at) => {
                let seed = world.shared.seed_of(new.flow, new.incarnation);
                let pair = QueuePair::new(group, Endpoint { link: self.rate, seed });
                let source = Source::QueuePair(Box::new(pair));
                // Its messages say themselves which generators wait for them.
                let first = NewFlow { starter: None, ..*new };
                let outgoing = Outgoing::new(&first, spec.to, spec.group, source);
                let place = Place::new(group.joins_at_head());
                let slot = self.senders.outgoing.add(Outgoing { place, ..outgoing });
                self.queue_pairs.insert(at, (key, slot));
                slot
            }
        };
        world.flows.senders[new.flow.index()] = slot;
        world.log.outstanding += 1;
        world.observer.started(now, new.flow);
        let Some(Outgoing { source: Source::QueuePair(pair), of, .. }) = self.senders.outgoing.get_mut(slot)
        else {
            return;
        };
        let mut message = Started::new(new);
        if now >= world.shared.measured.end {
            message.measure_until(Bytes::ZERO);
        }
        if pair.add(message) {
            of.flow = new.flow;
        }
        pair.ring(now, &group.rdma().params);
        self.senders.attend(slot, world);
    }

    /// Messages of the queue pair in `slot` are complete.
    pub(super) fn close_messages<O: Observer>(&mut self, now: Time, slot: u32, world: &mut World<O>) {
        let before_measured = now < world.shared.measured.start;
        while let Some(Outgoing { source: Source::QueuePair(pair), of, group, .. }) =
            self.senders.outgoing.get_mut(slot)
        {
            let Some((record, starter)) = pair.take_complete(before_measured) else {
                pair.ring(now, &world.shared.groups[*group as usize].rdma().params);
                break;
            };
            of.flow = pair.oldest().unwrap_or(of.flow);
            world.log.outstanding -= 1;
            world.observer.closed(now, &record);
            let complete = record.flow;
            world.log.senders.push(record);
            world.log.note_closing(now, complete, false);
            self.notify(now, starter, complete, world);
            self.announce(now, complete, Milestone::Sent, world);
        }
        self.senders.attend(slot, world);
    }

    /// The slot of the receiving half of a queue pair of `group` that comes from `from`.
    pub(super) fn receiving_pair(&self, group: u32, from: HostId) -> Result<u32, usize> {
        let place = self.receiving_pairs.binary_search_by_key(&(group, from), |entry| entry.0)?;
        Ok(self.receiving_pairs[place].1)
    }
}
