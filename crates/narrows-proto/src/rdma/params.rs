use super::paths::Paths;
use super::selective::Selective;
use crate::cc::{Config, OutOfRange, Path, PeerEcn, Ranges};
use crate::stream::Endpoint;
use crate::units::{Bytes, Span};

/// Settings of an RDMA connection.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "Rdma")]
pub struct Params {
    /// Payload of a full packet, what InfiniBand calls MTU: 256 B to 4096 B there. With 1024 B packets fit Ethernet's 1500 B.
    pub mtu: Bytes,
    /// The part of every packet that is not payload: 20 B IPv4, 8 B UDP, 12 B base transport header, 4 B invariant
    /// checksum. With the Ethernet header, which is part of the framing here, they are 58 B.
    pub headers: Bytes,
    /// Bytes that the link adds to every packet: Ethernet header and checksum 18 B, preamble and gap 20 B.
    pub framing: Bytes,
    /// An acknowledgment on the wire, framing included: the headers and 4 B of ACK extended transport header. Selective ones have 12 B
    /// more.
    pub ack_size: Bytes,
    /// A congestion notification packet on the wire, framing included: the headers and 16 B that are reserved.
    pub cnp_size: Bytes,
    /// Bytes added to packets with telemetry, and to acknowledgments that bring it back, however many switches write:
    /// 2 B and five records of 8 B (Li et al., SIGCOMM 2019, §4.1). Only under controls that read it.
    pub telemetry_size: Bytes,
    /// Scheme for the retransmission of lost packets.
    pub recovery: Recovery,
    /// Reordering that is no loss, with `recovery = "any_order"`.
    pub reordering: Reordering,
    /// Choice of a path for each packet, by entropy that switches hash. A connection keeps its path if left out. Only with
    /// `recovery = "any_order"`.
    pub paths: Option<Paths>,
    /// The sender requests an acknowledgment with every so many packets, and with the last that it may send.
    pub ack_every: u64,
    /// Time without an acknowledgment after which what was sent is lost. 4.096 us·2^14 is a common setting of network cards;
    /// IRN has 100 us for few packets in flight and 320 us otherwise.
    pub rto: Span,
    /// In place of `rto`, the local ACK timeout as InfiniBand encodes it: 4.096 us·2^n, n from 1 to 31. The default of `rto` is 14.
    ///
    /// Differs from cards, for which it is the least they wait (Huawei's documentation of HCCL_RDMA_TIMEOUT), and from NVIDIA's adaptive
    /// retransmission, which begins with shorter timeouts and never waits longer.
    pub ack_timeout: Option<u8>,
    /// After so many timeouts in a row without progress, 0 to 7, the next one ends the connection (retry count of InfiniBand's queue
    /// pairs): the flow never ends. It goes on for ever if left out.
    pub retry_count: Option<u8>,
    /// No more payload may be on its way, whatever the control says. IRN: what the longest path holds. Unlimited if left out.
    pub window: Option<Bytes>,
    /// Packets that controls with a window may send before the first acknowledgment.
    pub initial_window: u64,
    /// The gap after a packet, under controls with a rate.
    pub gap: Gap,
    /// While marked packets arrive, one congestion notification packet is sent for so long. 50 us (Zhu et al. §3.1); 0 s
    /// answers every mark.
    pub cnp_interval: Span,
    /// Scope of `cnp_interval`.
    pub cnp_per: CnpPer,
    /// So much later than the packet it answers a congestion notification packet is ready to be sent. One for a flow of which all has
    /// arrived by then is not sent. At most `cnp_interval`.
    pub cnp_delay: Span,
    /// A packet that arrives out of sequence is answered like one that is marked, so that the sender slows down even where nothing marks.
    /// Cards do so for networks that lose packets; NVIDIA's ConnectX-6 Dx was seen to send such notifications without any mark.
    pub cnp_on_out_of_sequence: bool,
    /// Priority of congestion notification packets, 0 to 7; that of the traffic if left out. In RoCEv2 networks it is high.
    pub cnp_priority: Option<u8>,
    /// Priority of acknowledgments, 0 to 7; that of the traffic if left out. In Ultra Ethernet it is high.
    pub ack_priority: Option<u8>,
    /// From the moment when a message is given to the card until it can send its first packet: the doorbell, and fetching the work request
    /// and the payload over PCIe. A read over PCIe takes about a microsecond (Neugebauer et al., SIGCOMM 2018).
    pub doorbell: Span,
    /// Where a message that begins joins those that share the link of its host in turn.
    pub joins: Joins,
    /// Messages of this traffic from one host to another share a queue pair: they are sent in the order of their starts, over one path, at
    /// one rate, which outlives them. Each has its own connection if left out. Only with `recovery = "go_back_n"` and without
    /// `retry_count`.
    pub queue_pair: Option<QueuePair>,
}

/// The gap that a rate leaves after a packet.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "RdmaGap")]
pub enum Gap {
    /// It begins when the packet might leave: waiting for the link or the window by less than a gap does not lower the rate.
    #[default]
    Schedule,
    /// It begins when the packet left, as in HPCC's simulations (`UpdateNextAvail` in `rdma-hw.cc`).
    Departure,
    /// The same, and an acknowledgment that changes the rate changes the gap under way, as in HPCC's simulations under HPCC
    /// (`ChangeRate`).
    Adjusted,
}

/// A queue pair that carries several messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "RdmaQueuePair")]
pub struct QueuePair {
    /// The card has so many messages at once: they are sent back to back. The next one is given to it when the oldest is complete.
    /// 1 to 65 536.
    pub outstanding: u32,
}

/// Scope of an interval between congestion notification packets.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "RdmaCnpPer")]
pub enum CnpPer {
    /// For each queue pair (Zhu et al. §3.1).
    #[default]
    QueuePair,
    /// For all queue pairs that end at a network card. NVIDIA's ConnectX-5 and -6 Dx space notification packets by port (Yu et al.,
    /// SIGCOMM 2023).
    Nic,
}

/// Where a message joins those that share a link in turn.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "RdmaJoins")]
pub enum Joins {
    /// All others have a turn before it.
    #[default]
    Tail,
    /// It is next.
    Head,
}

/// Scheme for the retransmission of lost packets.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "RdmaRecovery")]
pub enum Recovery {
    /// The receiver drops what is out of order and says so once for each gap; the sender begins again at the gap.
    #[default]
    GoBackN,
    /// The receiver keeps what is out of order and names it each time; the sender repeats what is missing before it, once.
    SelectiveRepeat,
    /// The receiver takes packets in any order, and acknowledgments say which of 64 have arrived (Ultra Ethernet). Lost is what a switch
    /// has trimmed, what is missing while much else arrives (`reordering`), and what the timeout is for. The first that is lost is
    /// retransmitted first, and acknowledged at once.
    AnyOrder,
}

/// Packets that arrive beyond one that is missing before that is lost. Ultra Ethernet's simulator has these values (SLEEK).
#[derive(Clone, Copy, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "RdmaReordering")]
pub struct Reordering {
    /// As many as fill the window so many times; 1.5.
    pub windows: f64,
    /// And at least so many; 5.
    pub packets: u64,
}

impl Default for Reordering {
    fn default() -> Self {
        Self { windows: 1.5, packets: 5 }
    }
}

impl Recovery {
    fn name(self) -> &'static str {
        match self {
            Self::GoBackN => "go_back_n",
            Self::SelectiveRepeat => "selective_repeat",
            Self::AnyOrder => "any_order",
        }
    }
}

impl Default for Params {
    fn default() -> Self {
        Self {
            mtu: Bytes::new(1024),
            headers: Bytes::new(44),
            framing: Bytes::new(38),
            ack_size: Bytes::new(86),
            cnp_size: Bytes::new(98),
            telemetry_size: Bytes::new(42),
            recovery: Recovery::GoBackN,
            reordering: Reordering::default(),
            paths: None,
            ack_every: 1,
            rto: Self::DEFAULT_RTO,
            ack_timeout: None,
            retry_count: None,
            window: None,
            initial_window: 10,
            gap: Gap::Schedule,
            cnp_interval: Span::from_us(50),
            cnp_per: CnpPer::QueuePair,
            cnp_delay: Span::ZERO,
            cnp_on_out_of_sequence: false,
            cnp_priority: None,
            ack_priority: None,
            doorbell: Span::ZERO,
            joins: Joins::Tail,
            queue_pair: None,
        }
    }
}

impl Params {
    const DEFAULT_RTO: Span = Span::from_ns(4_096 << 14);

    /// Time that the sender waits for progress.
    pub fn timeout(&self) -> Span {
        self.ack_timeout.map_or(self.rto, |n| Span::from_ns(4_096 << n))
    }

    /// Size on the wire of a packet with `payload`.
    ///
    /// Differs from InfiniBand: payload is not padded to four bytes.
    pub fn packet_size(&self, payload: Bytes) -> Bytes {
        payload + self.headers + self.framing
    }

    /// As congestion controls know a connection.
    pub(super) fn path(&self, at: Endpoint) -> Path {
        Path {
            mss: self.mtu,
            initial_window: self.mtu * self.initial_window,
            packet: self.packet_size(self.mtu),
            link: at.link,
            seed: at.seed,
            paced: false,
            merged: 1,
            offload: None,
            peer_ecn: PeerEcn::Accurate,
        }
    }

    /// With the sizes that packets have under this control.
    pub fn under(&self, cc: &Config) -> Self {
        let more = if cc.reads_telemetry() { self.telemetry_size } else { Bytes::ZERO };
        let selective = if self.recovery == Recovery::AnyOrder { Selective::WIRE_SIZE } else { Bytes::ZERO };
        Self { headers: self.headers + more, ack_size: self.ack_size + more + selective, ..self.clone() }
    }

    /// Checks ranges that types cannot express.
    ///
    /// # Errors
    /// Names the first setting that is out of its range.
    pub fn check(&self, ranges: &mut Ranges) -> Result<(), OutOfRange> {
        let Self { mtu, headers, framing, ack_size, cnp_size, telemetry_size, rto, .. } = *self;
        let largest = Bytes::new(u16::MAX.into());
        ranges.unless(mtu > Bytes::ZERO, "mtu", mtu, "more than 0 B")?;
        let whole = mtu.saturating_add(headers).saturating_add(framing).saturating_add(telemetry_size);
        let expected = "at most 65 535 B together with headers, framing and telemetry";
        ranges.unless(whole <= largest, "mtu", mtu, expected)?;
        for (name, size) in [("ack_size", ack_size), ("cnp_size", cnp_size)] {
            let fits = size > Bytes::ZERO && size <= largest;
            ranges.unless(fits, name, size, "more than 0 B, at most 65 535 B")?;
        }
        let with_telemetry = ack_size.saturating_add(telemetry_size);
        let expected = "at most 65 535 B together with ack_size";
        ranges.unless(with_telemetry <= largest, "telemetry_size", telemetry_size, expected)?;
        self.check_order(ranges)?;
        let every = self.ack_every;
        ranges.unless((1..=1_000).contains(&every), "ack_every", every, "1 to 1 000 packets")?;
        let in_range = (Span::from_ns(100)..=Span::from_secs(86_400)).contains(&rto);
        ranges.unless(in_range, "rto", rto, "100 ns to one day")?;
        let n = self.ack_timeout.unwrap_or(1);
        ranges.unless((1..=31).contains(&n), "ack_timeout", n, "1 to 31")?;
        let is_alone = self.ack_timeout.is_none() || rto == Self::DEFAULT_RTO;
        ranges.unless(is_alone, "rto", rto, "none beside ack_timeout")?;
        let delay = self.cnp_delay;
        ranges.unless(delay <= self.cnp_interval, "cnp_delay", delay, "at most cnp_interval")?;
        let count = self.retry_count.unwrap_or(0);
        ranges.unless(count <= 7, "retry_count", count, "0 to 7")?;
        if let Some(QueuePair { outstanding }) = self.queue_pair {
            let in_range = (1..=65_536).contains(&outstanding);
            ranges.unless(in_range, "queue_pair.outstanding", outstanding, "1 to 65 536 messages")?;
            let expected = "\"go_back_n\" with queue_pair";
            ranges.unless(self.recovery == Recovery::GoBackN, "recovery", self.recovery.name(), expected)?;
            let expected = "none with queue_pair";
            ranges.unless(self.retry_count.is_none(), "retry_count", count, expected)?;
        }
        let doorbell = self.doorbell;
        ranges.unless(doorbell <= Span::from_secs(1), "doorbell", doorbell, "at most 1 s")?;
        let window = self.window.unwrap_or(Bytes::MAX);
        ranges.unless(window >= mtu, "window", window, "room for a full packet")?;
        let window = self.initial_window;
        let in_range = (1..=1_000_000).contains(&window);
        ranges.unless(in_range, "initial_window", window, "1 to 1 000 000 packets")?;
        let priority = self.cnp_priority.unwrap_or(0);
        ranges.unless(priority <= 7, "cnp_priority", priority, "0 to 7")?;
        let priority = self.ack_priority.unwrap_or(0);
        ranges.unless(priority <= 7, "ack_priority", priority, "0 to 7")
    }

    /// Settings for packets out of order.
    fn check_order(&self, ranges: &mut Ranges) -> Result<(), OutOfRange> {
        let Reordering { windows, packets } = self.reordering;
        ranges.unless((0.0..=100.0).contains(&windows), "reordering.windows", windows, "0 to 100")?;
        let in_range = (1..=1_000_000).contains(&packets);
        ranges.unless(in_range, "reordering.packets", packets, "1 to 1 000 000 packets")?;
        if let Some(paths) = &self.paths {
            paths.check(ranges)?;
            let expected = "\"any_order\" with paths";
            ranges.unless(self.recovery == Recovery::AnyOrder, "recovery", self.recovery.name(), expected)?;
        }
        Ok(())
    }
}
