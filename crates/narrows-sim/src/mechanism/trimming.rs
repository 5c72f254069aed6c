//! Packet trimming: a packet for which there is no room loses its payload, and its headers go on to the receiver.
//!
//! ```text
//! which     data of RDMA that takes packets in any order
//! when      the packet memory would drop it, or its queue would hold more than `above`
//! becomes   a packet of `size`, in `priority`; it keeps its mark, its entropy and its sequence number
//! says      whether the port leads to its receiver (the last hop)
//! coin      half of the time the youngest of its queue in its place, if that is data as well and not smaller
//! ```
//! The receiver answers with a NAK, and the sender repeats the packet after one round trip, without a timeout. A header for which there is no
//! room either is dropped. Trims are counted apart from drops; a switch that counts as SAI says counts both.
//!
//! Without the coin, senders that answer to the nanosecond can lock others out: those whose packets arrive just before a place is free are
//! trimmed each time.
//!
//! After the packet trimming of SAI and SONiC, and of Ultra Ethernet's simulator. The coin is that of NDP (Handley et al., SIGCOMM 2017, §3.1)
//! and of that simulator; where a mechanism keeps what waits (`fq_codel`, `drr`, `dualpi2`) it decides nothing.
//!
//! Left out: to send headers back to the source where they find no room (NDP).
//!
//! Differs from Ultra Ethernet's simulator: headers go before all data by priority, there in a ratio of 100 000 to 1.

use narrows_proto::cc::{OutOfRange, Ranges};
use narrows_proto::units::Bytes;

use super::at_ports::{AtPorts, PortsSite, Refused, Replaced};
use super::settings::SwitchSettings;
use crate::packet::{Packet, TRIMMABLE, wire_size};
use crate::random::{Purpose, Stream};
use crate::record::{PortCounters, counters, sum};

/// Documentation of its module.
pub const DOCS: &[&str] = &[narrows_proto::module_docs!("trimming.rs")];

/// Packet trimming at a switch.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Trimming {
    /// A trimmed packet on the wire, framing included; 84 B, the smallest on Ethernet. 64 B without
    /// framing, where no packet has any; SONiC has 128 B.
    pub size: Bytes,
    /// Its priority, 0 to 7; 7.
    pub priority: u8,
    /// Packets are trimmed where their queue would hold more than this, not only where the packet memory has no room.
    pub above: Option<Bytes>,
    /// A packet that is trimmed on the link to its receiver says so; true.
    pub last_hop: bool,
    /// A coin decides whether the packet that arrives is trimmed or the youngest that waits in its queue; false: always the one that arrives.
    pub coin: bool,
}

impl Default for Trimming {
    fn default() -> Self {
        Self { size: Bytes::new(84), priority: 7, above: None, last_hop: true, coin: false }
    }
}

impl SwitchSettings for Trimming {
    const AT_PORTS: bool = true;

    fn control_size(&self) -> Option<Bytes> {
        Some(self.size)
    }
}

impl Trimming {
    /// Whether its settings are in their ranges, which it declares.
    ///
    /// # Errors
    /// The first that is not.
    pub fn check(&self, ranges: &mut Ranges) -> Result<(), OutOfRange> {
        let in_range = (Bytes::new(64)..=Bytes::new(9_000)).contains(&self.size);
        ranges.unless(in_range, "size", self.size, "64 B to 9000 B")?;
        ranges.unless(self.priority <= 7, "priority", self.priority, "0 to 7")?;
        let above = self.above.unwrap_or(Bytes::MAX);
        ranges.unless(above > Bytes::ZERO, "above", above, "more than 0 B")
    }
}

counters! {
    #[derive(Eq)]
    /// Packets trimmed at a port.
    pub struct TrimmingCounters {
        /// Packets that lost their payload.
        pub packets: u64 = sum,
        /// Those of them that were trimmed on the link to their receiver.
        pub at_last_hop: u64 = sum,
    }
}

/// Trimming at the ports of a switch.
#[derive(Debug)]
pub(crate) struct Trimmer {
    size: u16,
    priority: u8,
    above: u64,
    says_last_hop: bool,
    coin: Option<Stream>,
    /// By port: it leads to a host.
    to_host: Vec<bool>,
    /// By port.
    counters: Vec<TrimmingCounters>,
}

impl AtPorts for Trimmer {
    fn new(site: &PortsSite<'_>) -> Option<Self> {
        let config = site.config.trimming.as_ref()?;
        let mut to_host = vec![false; site.ports];
        for input in site.inputs {
            to_host[input.back] = input.from_host;
        }
        Some(Self {
            size: wire_size(config.size),
            priority: config.priority,
            above: config.above.unwrap_or(Bytes::MAX).get(),
            says_last_hop: config.last_hop,
            coin: config.coin.then(|| Stream::new(site.seed, Purpose::Trimming, site.node.0.into())),
            to_host,
            counters: vec![TrimmingCounters::default(); site.ports],
        })
    }

    const REPLACES: bool = true;

    #[inline]
    fn replace(
        &mut self,
        refused: &Refused,
        no_room: impl FnOnce() -> bool,
        youngest: impl FnOnce() -> Option<Packet>,
    ) -> Option<Replaced> {
        let &Refused { port, packet, backlog } = refused;
        if !self.trims(packet) {
            return None;
        }
        if backlog + u64::from(packet.size()) <= self.above && !no_room() {
            return None;
        }
        if self.coin.as_mut().is_some_and(|coin| coin.below(2) == 0)
            && let Some(youngest) = youngest().filter(|youngest| youngest.size() >= packet.size())
            && self.trims(youngest)
        {
            return Some(Replaced::Youngest(self.trim(port, youngest)));
        }
        Some(Replaced::Arriving(self.trim(port, packet)))
    }

    fn report(&self, port: usize, counters: &mut PortCounters) {
        counters.trimming = self.counters[port];
    }
}

impl Trimmer {
    fn trims(&self, packet: Packet) -> bool {
        packet.is_trimmable() && packet.size() > self.size
    }

    fn trim(&mut self, port: usize, packet: Packet) -> Packet {
        let to_host = self.to_host[port];
        let counters = &mut self.counters[port];
        counters.packets += 1;
        counters.at_last_hop += u64::from(to_host);
        packet.trimmed(self.size, self.priority, to_host && self.says_last_hop)
    }
}

impl Packet {
    /// Data that a switch may trim. What a limiter has tagged it may not.
    #[inline]
    fn is_trimmable(self) -> bool {
        self.has_marks(TRIMMABLE) && self.kind() == crate::packet::Kind::Data
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{FlowId, HostId};
    use crate::packet::{AT_LAST_HOP, Fields, Kind};

    fn trimmer(config: &Trimming) -> Trimmer {
        Trimmer {
            size: wire_size(config.size),
            priority: config.priority,
            above: config.above.unwrap_or(Bytes::MAX).get(),
            says_last_hop: config.last_hop,
            coin: config.coin.then(|| Stream::new(1, Purpose::Trimming, 0)),
            to_host: vec![false, true],
            counters: vec![TrimmingCounters::default(); 2],
        }
    }

    fn packet(size: u16) -> Packet {
        let (flow, to, kind) = (FlowId(3), HostId(1), Kind::Data);
        let fields =
            Fields { seq: 9, flow, to, size, incarnation: 0, kind, priority: 0, flags: 0, trailers: 0 };
        Packet::new(fields).with_marks(TRIMMABLE)
    }

    fn refused(port: usize, packet: Packet, backlog: u64) -> Refused {
        Refused { port, packet, backlog }
    }

    #[test]
    fn a_packet_without_room_loses_its_payload_and_says_where() {
        for (last_hop, port, says) in [(true, 0, false), (true, 1, true), (false, 1, false)] {
            let mut trimmer = trimmer(&Trimming { last_hop, ..Trimming::default() });
            let replaced = trimmer.replace(&refused(port, packet(1_500), 9_000), || true, || None);
            let Some(Replaced::Arriving(trimmed)) = replaced else { panic!("{replaced:?}") };
            assert_eq!((trimmed.kind(), trimmed.size(), trimmed.priority()), (Kind::Trimmed, 84, 7));
            assert_eq!(trimmed.is(AT_LAST_HOP), says);
            let mut counters = PortCounters::default();
            trimmer.report(port, &mut counters);
            let TrimmingCounters { packets, at_last_hop } = counters.trimming;
            assert_eq!((packets, at_last_hop), (1, u64::from(port == 1)));
        }
    }

    #[test]
    fn packets_above_the_threshold_are_trimmed_where_there_is_room() {
        let mut trimmer = trimmer(&Trimming { above: Some(Bytes::new(10_000)), ..Trimming::default() });
        assert!(trimmer.replace(&refused(0, packet(1_500), 8_500), || false, || None).is_none());
        assert!(trimmer.replace(&refused(0, packet(1_500), 8_501), || false, || None).is_some());
    }

    /// Times of 1000 that a coin chose the packet that waits.
    fn youngest_of_1000(waits: Packet) -> usize {
        let mut trimmer = trimmer(&Trimming { coin: true, ..Trimming::default() });
        let arrives = refused(0, packet(1_500), 9_000);
        let mut chooses_youngest =
            || matches!(trimmer.replace(&arrives, || true, || Some(waits)), Some(Replaced::Youngest(_)));
        (0..1_000).filter(|_| chooses_youngest()).count()
    }

    #[test]
    fn a_coin_decides_between_the_packet_that_arrives_and_the_youngest_that_waits() {
        // A standard deviation is 16.
        assert!(youngest_of_1000(packet(1_500)).abs_diff(500) < 80);
        assert_eq!(youngest_of_1000(packet(1_499)), 0, "there would be no room");
        assert_eq!(youngest_of_1000(packet(1_500).trimmed(1_500, 7, false)), 0, "it is no data");
    }

    #[test]
    fn what_is_not_for_trimming_or_as_small_already_is_left_alone() {
        let mut trimmer = trimmer(&Trimming::default());
        let other = Packet::new(Fields {
            seq: 0,
            flow: FlowId(3),
            to: HostId(1),
            size: 1_500,
            incarnation: 0,
            kind: Kind::Data,
            priority: 0,
            flags: 0,
            trailers: 0,
        });
        for packet in [other, packet(84), packet(1_500).trimmed(100, 7, false)] {
            assert!(trimmer.replace(&refused(0, packet, 0), || true, || None).is_none(), "{packet:?}");
        }
    }
}
