//! Connections that no flow uses at the moment.

use narrows_proto::stream::{AckState, Connection};

use crate::ids::HostId;

/// Both ends of the idle connections of a host.
#[derive(Debug, Default)]
pub(super) struct Ends {
    pub(super) sending: Connections<Box<Connection>>,
    /// Of those that arrive here, if their groups keep them.
    pub(super) receiving: Connections<AckState>,
}

/// One end of the idle connections of a host, sending or receiving; at most as many as it had flows at once with each other host.
#[derive(Debug)]
pub(super) struct Connections<T> {
    /// By group and the other host; among equals the one used last comes last. A sorted vector: a host has few, and looks for one
    /// only when a flow starts or ends.
    idle: Vec<((u32, HostId), T)>,
}

impl<T> Default for Connections<T> {
    fn default() -> Self {
        Self { idle: Vec::new() }
    }
}

impl<T> Connections<T> {
    /// Keeps the connection of a flow of `group` with `other` that has just ended.
    pub(super) fn keep(&mut self, group: u32, other: HostId, connection: T) {
        let place = self.idle.partition_point(|(key, _)| *key <= (group, other));
        self.idle.insert(place, ((group, other), connection));
    }

    /// The connection for a new flow: of those that fit, the one used last.
    pub(super) fn take(&mut self, group: u32, other: HostId) -> Option<T> {
        let last = self.last(group, other)?;
        Some(self.idle.remove(last).1)
    }

    /// The connection that the next flow will go on with.
    pub(super) fn next(&mut self, group: u32, other: HostId) -> Option<&mut T> {
        let last = self.last(group, other)?;
        Some(&mut self.idle[last].1)
    }

    fn last(&self, group: u32, other: HostId) -> Option<usize> {
        let after = self.idle.partition_point(|(key, _)| *key <= (group, other));
        after.checked_sub(1).filter(|last| self.idle[*last].0 == (group, other))
    }
}

#[cfg(test)]
mod tests {
    use narrows_proto::cc::Config;
    use narrows_proto::stream::{AckFrame, Endpoint, Params, Poll, Sender};
    use narrows_proto::units::{BitRate, Bytes, Time};

    use super::*;

    /// A connection that has delivered `bytes`, in one segment.
    fn connection(bytes: u64) -> Connection {
        let params = Params { handshake: false, ..Params::default() };
        let at = Endpoint { link: BitRate::from_gbps(10), seed: 1 };
        let mut sender = Sender::new(&params, &Config::Reno(Default::default()), at, Bytes::new(bytes));
        sender.start(&params, Time::ZERO);
        assert!(matches!(sender.poll_transmit(&params, Time::ZERO), Poll::Send(_)));
        sender.on_ack(&params, Time::from_ps(1), &AckFrame { ack: bytes, ..AckFrame::default() });
        sender.into_connection()
    }

    /// Which of them it is.
    fn name(connection: Option<Connection>) -> Option<u64> {
        let params = Params::default();
        let sender = Sender::again(connection?, &params, Time::from_ps(2), Bytes::new(1));
        Some(sender.delivered_before().get())
    }

    #[test]
    fn a_flow_gets_the_connection_of_its_group_and_destination_that_was_used_last() {
        let mut connections = Connections::default();
        for (group, to, bytes) in [(1, 7, 10), (0, 9, 20), (1, 7, 30), (1, 6, 40), (1, 8, 50)] {
            connections.keep(group, HostId(to), connection(bytes));
        }
        let mut take = |group, to| name(connections.take(group, HostId(to)));
        assert_eq!([take(1, 7), take(1, 7), take(1, 7)], [Some(30), Some(10), None]);
        assert_eq!([take(0, 7), take(0, 9), take(1, 6), take(1, 8)], [None, Some(20), Some(40), Some(50)]);
    }
}
