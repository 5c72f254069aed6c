//! Records that a host leaves behind, or shows on request.

use narrows_proto::units::Time;

use super::rank::RankAtWork;
use super::transport::{Sink, Source};
use super::{Host, Outgoing};
use crate::ids::LinkId;
use crate::observe::{Observer, Reviewed};
use crate::record::{DatagramRecord, PortCounters};
use crate::world::World;

impl Host {
    /// Shows the observer all that is still going on.
    pub(crate) fn review<O: Observer>(&self, world: &mut World<O>) {
        for outgoing in self.senders.outgoing.iter() {
            outgoing.review(&mut world.observer);
        }
        for record in self.datagrams() {
            world.observer.review(Reviewed::Datagrams(&record));
        }
    }

    /// Records of datagrams: of the sources here, then of the sinks.
    fn datagrams(&self) -> impl Iterator<Item = DatagramRecord> {
        let sources = self.senders.outgoing.iter().filter_map(|outgoing| {
            let Source::Datagram(source) = &outgoing.source else { return None };
            let (sent, dropped_at_source) = source.counts();
            Some(DatagramRecord { flow: outgoing.of.flow, sent, dropped_at_source, ..Default::default() })
        });
        let sinks = self.incoming.iter().filter_map(|incoming| {
            let Sink::Datagram { received, bytes: received_bytes, .. } = incoming.sink else { return None };
            Some(DatagramRecord { flow: incoming.flow, received, received_bytes, ..Default::default() })
        });
        sources.chain(sinks)
    }

    /// Adds what is still going on to the log.
    /// Returns what mechanisms counted for its link.
    pub(crate) fn finish<O>(&mut self, now: Time, world: &mut World<O>) -> Option<(LinkId, PortCounters)> {
        world.log.senders.extend(self.senders.outgoing.iter().flat_map(Outgoing::records));
        world.log.datagrams.extend(self.datagrams());
        world.log.iterations.extend(self.ranks.iter().filter_map(RankAtWork::unfinished));
        let mechanisms = self.mechanisms.as_mut()?;
        Some((self.senders.nic.link(), mechanisms.finish(now, &self.senders, &mut world.log)))
    }
}
