//! Clients with one transaction at a time whose transfers happen outside: what they draw is what simulated ones draw.

use narrows_proto::units::{Bytes, Time};

use super::generator::{HostGenerator, Step};
use crate::ids::FlowId;
use crate::traffic::{GeneratorKind, Traffic};

/// A client with one transaction at a time, for those who do the transfers themselves.
#[derive(Debug)]
pub struct Client(HostGenerator);

impl Client {
    /// The generator of this number of the traffic; none if it is no such client.
    pub fn new(traffic: &Traffic, number: usize, seed: u64) -> Option<Self> {
        let generator = &traffic.generators[number];
        let is_client = matches!(generator.kind, GeneratorKind::ClosedLoop { .. });
        is_client.then(|| Self(HostGenerator::new(generator.clone(), seed, number as u64)))
    }

    /// When its first transaction begins.
    pub fn start(&self) -> Time {
        self.0.start()
    }

    /// The transfers of a transaction that begins now: flow, incarnation and size of each. None if nothing more will come.
    pub fn begin(&mut self, now: Time) -> Option<Vec<(FlowId, u64, Bytes)>> {
        let Step::Start { transfers } = self.0.step(now) else { return None };
        Some(transfers.filter_map(|transfer| self.0.transfer(transfer)).collect())
    }

    /// A transfer has ended. If it was the last of its transaction: when the next one begins.
    pub fn on_end(&mut self, now: Time) -> Option<Time> {
        self.0.on_end(now)
    }
}
