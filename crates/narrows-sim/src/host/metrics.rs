//! Metrics that a host remembers of hosts that it has sent to.

use narrows_proto::stream::Remembered;
use narrows_proto::units::Time;

use super::outgoing::Outgoing;
use super::transport::Source;
use crate::ids::HostId;
use crate::world::{GroupState, TransportState};

/// By destination, in order. Looked at when a flow starts or ends, by groups that have `host_metrics`.
#[derive(Debug, Default)]
pub(super) struct Metrics {
    known: Vec<(HostId, Remembered)>,
}

impl Metrics {
    /// A flow is over. A connection that its group keeps is not.
    pub(super) fn note(&mut self, now: Time, outgoing: &Outgoing, group: &GroupState) {
        let (TransportState::Stream(stream), Source::Stream(sender)) = (&group.transport, &outgoing.source)
        else {
            return;
        };
        if stream.params.host_metrics.is_none() || stream.params.keep_connections {
            return;
        }
        let place = self.known.binary_search_by_key(&outgoing.to, |(to, _)| *to);
        let before = place.ok().map(|place| self.known[place].1);
        let Some(known) = sender.remember(&stream.params, now, before) else { return };
        match place {
            Ok(place) => self.known[place].1 = known,
            Err(place) => self.known.insert(place, (outgoing.to, known)),
        }
    }

    /// A flow to this host starts. One on a connection that has carried others knows more than this.
    pub(super) fn recall(&self, now: Time, to: HostId, source: &mut Source, group: &GroupState) {
        let (TransportState::Stream(stream), Source::Stream(sender)) = (&group.transport, source) else {
            return;
        };
        if stream.params.host_metrics.is_none() || sender.is_again() {
            return;
        }
        if let Ok(place) = self.known.binary_search_by_key(&to, |(to, _)| *to) {
            sender.recall(&stream.params, now, self.known[place].1);
        }
    }
}
