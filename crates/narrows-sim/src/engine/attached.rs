//! Sessions whose messages come from a program that is attached to the run.

use std::vec::Drain;

use narrows_proto::units::{Bytes, Time};

use super::{Delivery, Execution, External, Outcome, RecordedSession, Session};
use crate::ids::{FlowId, GroupId, HostId};
use crate::network::Network;
use crate::record::FlowRecord;
use crate::traffic::{FlowSpec, Traffic};

/// A [`Session`] without an observer, compiled in this crate as [`simulate`](super::simulate) is.
#[derive(Debug)]
pub struct PlainSession(Session<()>);

impl PlainSession {
    /// Lays out a network and its traffic.
    pub fn new(network: &Network, traffic: &Traffic, seed: u64) -> Self {
        Self(Session::lay_out(network, traffic, seed, Execution::default(), &External::default(), &mut || ()))
    }

    /// See [`Session::now`].
    pub fn now(&self) -> Time {
        self.0.now()
    }

    /// Ends the run now.
    pub fn finish(self) -> Outcome<()> {
        self.0.finish()
    }
}

/// Methods for programs that send messages, of each kind of session.
macro_rules! attached {
    ($session:ident) => {
        impl $session {
            /// See [`Session::watch`].
            pub fn watch(&mut self, network: &Network, closings: bool) {
                self.0.watch(network, closings);
            }

            /// See [`Session::inject`].
            pub fn inject(
                &mut self,
                group: GroupId,
                from: HostId,
                to: HostId,
                size: Bytes,
                at: Time,
            ) -> FlowId {
                self.0.inject(group, from, to, size, at)
            }

            /// See [`Session::advance_until_event`].
            pub fn advance_until_event(&mut self, at: Time) -> bool {
                self.0.advance_until_event(at)
            }

            /// See [`Session::drain_deliveries`].
            pub fn drain_deliveries(&mut self) -> Drain<'_, Delivery> {
                self.0.drain_deliveries()
            }

            /// See [`Session::closed`].
            pub fn closed(&self, record: usize) -> &FlowRecord {
                self.0.closed(record)
            }

            /// See [`Session::spec`].
            pub fn spec(&self, flow: FlowId) -> FlowSpec {
                self.0.spec(flow)
            }

            /// See [`Session::record_of`].
            pub fn record_of(&mut self, flow: FlowId) -> Option<FlowRecord> {
                self.0.record_of(flow)
            }

            /// See [`Session::packet_hops`].
            pub fn packet_hops(&self) -> u64 {
                self.0.packet_hops()
            }
        }
    };
}

attached!(PlainSession);
attached!(RecordedSession);
