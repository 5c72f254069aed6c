//! Outcome of a run.

use narrows_proto::units::Time;

use crate::ids::FlowId;
use crate::mechanism::Records;
use crate::ranks::IterationRecord;
use crate::record::{DatagramRecord, DropCause, FlowRecord, PortCounters, Sampled};

/// Outcome of a run.
#[derive(Debug)]
pub struct Outcome<O> {
    /// Every flow that started, by flow and incarnation.
    pub flows: Vec<FlowRecord>,
    /// Every source of datagrams that started, by flow.
    pub datagrams: Vec<DatagramRecord>,
    /// Counters of mechanisms.
    pub mechanisms: Records,
    /// Payload that the flows under way had delivered at the moments of [`Traffic::sampled`](crate::traffic::Traffic::sampled).
    pub sampled: Sampled,
    /// Iterations of ranks that began, by rank and number.
    pub iterations: Vec<IterationRecord>,
    /// By link.
    pub ports: Vec<PortCounters>,
    /// Packets that had nowhere to go, by cause; they belong to no link.
    pub no_route: PortCounters,
    /// The observers of all threads.
    pub observers: Vec<O>,
    /// Packets that arrived at some node.
    pub packet_hops: u64,
    /// When the run ended.
    pub ended: Time,
    /// It was not interrupted.
    pub complete: bool,
    /// Packets on links at the end. Packets that wait at a port are not on its link yet.
    pub packets_left: u64,
}

impl Outcome<()> {
    /// A number that two runs share only if they went the same way.
    pub fn fingerprint(&self) -> u64 {
        fingerprint(&self.flows, &self.ports, self.packet_hops, self.ended)
    }
}

/// FNV-1a over what happened to flows and ports.
fn fingerprint(flows: &[FlowRecord], ports: &[PortCounters], hops: u64, ended: Time) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut add = |value: u64| {
        for byte in value.to_le_bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
    };
    add(hops);
    add(ended.as_ps());
    for flow in flows {
        let end = flow.end.unwrap_or(Time::NEVER);
        [flow.flow.0.into(), flow.incarnation, flow.start.as_ps(), end.as_ps()]
            .into_iter()
            .for_each(&mut add);
        let stats = &flow.stats;
        [stats.retransmissions, stats.timeouts, stats.marked.get()].into_iter().for_each(&mut add);
    }
    for port in ports {
        [port.packets, port.bytes, port.marks, port.dropped(), port.max_backlog]
            .into_iter()
            .for_each(&mut add);
    }
    hash
}

impl<O> Outcome<O> {
    /// Packets sent by every port = packets arrived + packets still on links.
    pub(super) fn check_balance(&self) {
        let sent: u64 = self.ports.iter().map(|port| port.packets).sum();
        let arrived = self.packet_hops;
        assert_eq!(sent, arrived + self.packets_left, "packets sent, arrived and left do not balance");
    }

    /// Packets dropped for `cause` anywhere.
    pub fn drops(&self, cause: DropCause) -> u64 {
        let ports = self.ports.iter().chain([&self.no_route]);
        ports.map(|port| port.drops[cause as usize]).sum()
    }
}

/// A source's and its sink's record belong together.
pub(super) fn merge_datagrams(mut records: Vec<DatagramRecord>) -> Vec<DatagramRecord> {
    records.sort_unstable_by_key(|record| record.flow);
    records
        .chunk_by(|a, b| a.flow == b.flow)
        .map(|same| {
            let mut sum = same[0];
            same[1..].iter().for_each(|part| sum.add(part));
            sum
        })
        .collect()
}

/// The n-th completion of a flow belongs to its n-th incarnation.
pub(super) fn enter_completions(flows: &mut [FlowRecord], mut completions: Vec<(FlowId, Time)>) {
    completions.sort_unstable();
    let mut completions = completions.into_iter().peekable();
    for flow in flows {
        flow.end = completions.next_if(|(of, _)| *of == flow.flow).map(|(_, at)| at);
    }
    assert!(completions.next().is_none(), "a flow that never started is complete");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_another_number_of_packet_hops_have_another_fingerprint() {
        let of = |hops| fingerprint(&[], &[], hops, Time::ZERO);
        assert_ne!(of(1), of(2));
        assert_eq!(of(1), of(1));
    }
}
