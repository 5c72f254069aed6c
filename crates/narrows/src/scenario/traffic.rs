use std::path::PathBuf;

use narrows_proto::units::{BitRate, Bytes, Span};
use narrows_proto::{cc, datagram, rdma, stream};
use narrows_sim::traffic::Pause;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Collective, Names, Schedule, Share};

/// Flows of one kind.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Traffic {
    /// Names the group in results. Letters, digits, `-` and `_`.
    pub name: String,
    /// Who sends how much to whom, and when.
    pub pattern: Pattern,
    /// The congestion control of its connections; everything but datagrams needs one.
    pub cc: Option<cc::Config>,
    /// Settings of its connections.
    #[serde(default)]
    pub transport: stream::Params,
    /// Carries its connections over RDMA with these settings; `transport` does not apply then, but for its `profile`.
    pub rdma: Option<rdma::Params>,
    /// Settings of its datagrams.
    pub datagram: Option<datagram::Params>,
    /// 0 to 7. Packets of higher priority, acknowledgments included, go first.
    #[serde(default)]
    pub priority: u8,
    /// When it begins.
    #[serde(default)]
    pub start: Span,
    /// When it starts no more flows; the end of the run if left out.
    pub until: Option<Span>,
}

impl Traffic {
    /// Priorities that its packets have.
    pub(crate) fn priorities(&self) -> impl Iterator<Item = u8> {
        let of_rdma = self.rdma.iter().flat_map(|rdma| [rdma.cnp_priority, rdma.ack_priority]).flatten();
        std::iter::once(self.priority).chain(of_rdma)
    }
}

/// Who sends how much to whom, and when.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Pattern {
    /// Flows start at random (a Poisson process), as many as load some links to a given degree.
    Poisson(Poisson),
    /// A number of flows that start at random within a time.
    Random(Random),
    /// Flows that last for the whole run, or have a given size.
    LongLived(LongLived),
    /// Many send to one at once, again and again.
    Incast(Incast),
    /// Every host sends to one other and receives from one other.
    Permutation(Permutation),
    /// Every host sends to every other.
    AllToAll(AllToAll),
    /// Datagrams in bursts.
    OnOff(OnOff),
    /// Clients that send, wait for the end, pause, and send again.
    ClosedLoop(ClosedLoop),
    /// Remote procedure calls at random: a client sends requests, servers answer them.
    Rpc(Rpc),
    /// Flows from a CSV file.
    Trace(Trace),
    /// A collective of distributed training, again and again.
    Collective(Collective),
    /// Ranks that compute, send and receive as a file says.
    Schedule(Schedule),
    /// Messages of a program that is attached to the run.
    Attached(Attached),
}

impl Pattern {
    /// Pairing of its hosts; none if it lists pairs or has no such setting.
    pub(super) fn pairing_mut(&mut self) -> Option<&mut Option<Pairing>> {
        match self {
            Self::LongLived(LongLived { pairing, pairs: None, .. })
            | Self::OnOff(OnOff { pairing, pairs: None, .. }) => Some(pairing),
            _ => None,
        }
    }

    /// Bytes that its load counts; none if it has no load.
    fn counts_mut(&mut self) -> Option<(&mut Option<Counts>, Option<f64>)> {
        match self {
            Self::Poisson(Poisson { counts, load, .. }) | Self::Rpc(Rpc { counts, load, .. }) => {
                Some((counts, *load))
            }
            _ => None,
        }
    }

    /// Writes down what was in force where nothing was said.
    pub(crate) fn note(&mut self, chosen: Option<Pairing>) {
        if let Some(pairing) = self.pairing_mut() {
            *pairing = chosen;
        }
        if let Some((counts, Some(_))) = self.counts_mut() {
            counts.get_or_insert(Counts::Wire);
        }
    }

    /// The file that it names, if it names one.
    pub(super) fn file_mut(&mut self) -> Option<&mut PathBuf> {
        let sizes = match self {
            Self::Trace(trace) => return Some(&mut trace.file),
            Self::Schedule(schedule) => return Some(&mut schedule.file),
            Self::Poisson(Poisson { sizes, .. })
            | Self::Random(Random { sizes, .. })
            | Self::ClosedLoop(ClosedLoop { sizes, .. })
            | Self::Rpc(Rpc { sizes, .. }) => sizes,
            Self::LongLived(_)
            | Self::Incast(_)
            | Self::Permutation(_)
            | Self::AllToAll(_)
            | Self::OnOff(_)
            | Self::Collective(_)
            | Self::Attached(_) => return None,
        };
        match sizes {
            SizeSource::File(file) => Some(file),
            _ => None,
        }
    }
}

/// Messages from any host to any other that a program sends while the run goes on, through the C library, its C++ header, or Python. Each is
/// a flow. Run without such a program the group sends nothing.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Attached {}

/// Open loop: arrivals do not depend on how the network copes.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Poisson {
    /// Bytes offered to the links of `of` as a fraction of what these links carry. Either this or `utilization`.
    pub load: Option<f64>,
    /// Bytes that `load` counts: those on the wire if left out.
    pub counts: Option<Counts>,
    /// In place of `load`: the expected utilization of the links of `of`, all together, by data, handshakes and acknowledgments of this
    /// traffic in their direction.
    pub utilization: Option<f64>,
    /// The links that `load` or `utilization` is relative to.
    pub of: LinkSet,
    /// Sizes of flows.
    pub sizes: SizeSource,
    /// Which pairs of hosts.
    #[serde(default)]
    pub between: Between,
    /// Hosts that send; all if left out.
    pub from: Option<Names>,
    /// Hosts that receive; all if left out.
    pub to: Option<Names>,
}

/// So many flows, each with a start, a pair of hosts and a size of its own.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Random {
    /// Number of flows.
    pub flows: u32,
    /// Each starts at any moment of this time, all equally likely; flows beyond the end of the traffic or the run are left
    /// out.
    pub within: Span,
    /// Sizes of flows.
    pub sizes: SizeSource,
    /// Which pairs of hosts.
    #[serde(default)]
    pub between: Between,
    /// Hosts that send; all if left out.
    pub from: Option<Names>,
    /// Hosts that receive; all if left out.
    pub to: Option<Names>,
}

/// Flows that last.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LongLived {
    /// Number of flows. Pairs take turns if there are fewer. One for each pair if left out; needed where pairs are random.
    pub flows: Option<u32>,
    /// Payload of each; they never end if left out.
    pub size: Option<Bytes>,
    /// Their starts are spread evenly over this time.
    #[serde(default)]
    pub spread: Span,
    /// So much later than the one before each starts.
    pub start_every: Option<Span>,
    /// Pairing of senders and receivers if `from` and `to` are lists; `auto` if left out.
    pub pairing: Option<Pairing>,
    /// The pairs themselves, sender first, in place of `from`, `to` and `between`.
    pub pairs: Option<Vec<(String, String)>>,
    /// Which pairs of hosts.
    #[serde(default)]
    pub between: Between,
    /// Hosts that send, in turn; all if left out.
    pub from: Option<Names>,
    /// Hosts that receive; all if left out.
    pub to: Option<Names>,
}

/// Many to one.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Incast {
    /// Senders at once.
    pub fan_in: u32,
    /// Payload of each sender.
    pub size: Bytes,
    /// Number of incasts.
    #[serde(default = "one")]
    pub times: u32,
    /// Time from one to the next.
    #[serde(default)]
    pub period: Span,
    /// Hosts that may send; all if left out.
    pub from: Option<Names>,
    /// Hosts that may receive; all if left out.
    pub to: Option<Names>,
}

/// Each to one other.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Permutation {
    /// Payload of each flow; they never end if left out.
    pub size: Option<Bytes>,
    /// So much later than the one before each starts, in the order of senders.
    pub start_every: Option<Span>,
    /// Hosts that take part; all if left out.
    pub among: Option<Names>,
}

/// Each to each.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AllToAll {
    /// Payload of each flow.
    pub size: Bytes,
    /// So much later than the one before each starts, in the order of senders, then of receivers.
    pub start_every: Option<Span>,
    /// Hosts that take part; all if left out.
    pub among: Option<Names>,
}

/// Sources of datagrams that are silent between bursts. The mean rate is `rate`·on/(on + off).
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OnOff {
    /// Sources, each with a destination of its own. Pairs take turns if there are fewer. One for each pair if left out; needed where
    /// pairs are random.
    pub sources: Option<u32>,
    /// Rate during a burst, headers included.
    pub rate: BitRate,
    /// Length of a burst.
    pub on: Pause,
    /// Silence between two bursts.
    pub off: Pause,
    /// So much later than the one before each source begins.
    pub start_every: Option<Span>,
    /// Pairing of senders and receivers if `from` and `to` are lists; `auto` if left out.
    pub pairing: Option<Pairing>,
    /// The pairs themselves, sender first, in place of `from`, `to` and `between`.
    pub pairs: Option<Vec<(String, String)>>,
    /// Which pairs of hosts.
    #[serde(default)]
    pub between: Between,
    /// Hosts that send, in turn; all if left out.
    pub from: Option<Names>,
    /// Hosts that receive; all if left out.
    pub to: Option<Names>,
}

/// Clients with one transaction at a time.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClosedLoop {
    /// Clients on each sending host.
    pub clients: u32,
    /// Transfers of one transaction. They start together, to the same host, and the client continues when the last has ended.
    #[serde(default = "one")]
    pub parallel: u32,
    /// Sizes of transfers.
    pub sizes: SizeSource,
    /// Pause between the end of one and the start of the next.
    #[serde(default = "no_pause")]
    pub think: Pause,
    /// Which pairs of hosts.
    #[serde(default)]
    pub between: Between,
    /// Hosts that send; all if left out.
    pub from: Option<Names>,
    /// Hosts that receive; all if left out.
    pub to: Option<Names>,
}

/// Remote procedure calls, open loop: each client calls at random (a Poisson process), however many of its calls are under
/// way. A call is a request to each of `fan_out` different servers. A server answers when it has all of its request; the
/// call ends when the client has all of the last response. Requests and responses are flows.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rpc {
    /// Bytes of responses offered to the links of `of` as a fraction of what these links carry. Requests and acknowledgments
    /// come on top. Either this or `utilization`.
    pub load: Option<f64>,
    /// Bytes that `load` counts: those on the wire if left out.
    pub counts: Option<Counts>,
    /// In place of `load`: the expected utilization of the links of `of`, all together, by responses, requests, handshakes and
    /// acknowledgments of this traffic in their direction.
    pub utilization: Option<f64>,
    /// The part of `load` or `utilization` that this group has, as a number or a ratio such as "5/6". Groups that are classes of
    /// one mix have the same `load`.
    #[serde(default)]
    pub share: Share,
    /// The links that `load` or `utilization` is relative to, in the direction of responses: those that lead away from servers.
    pub of: LinkSet,
    /// Payloads of responses.
    pub sizes: SizeSource,
    /// Payload of a request; 1 kB.
    #[serde(default = "small_request")]
    pub request: Bytes,
    /// Servers that are asked at once.
    #[serde(default = "one")]
    pub fan_out: u32,
    /// Which pairs of client and server.
    #[serde(default)]
    pub between: Between,
    /// Hosts that call; all if left out.
    pub from: Option<Names>,
    /// Hosts that answer; all if left out.
    pub to: Option<Names>,
}

/// Flows from a CSV file with the columns start,src,dst,bytes. With two more columns, id and after, flows may wait for others: in
/// `after` stand the ids of flows that must have been received first, separated by blanks. "1 of a b" waits for the first of two,
/// "sent:a" until the sender of a knows that all was received. The start of a flow that waits counts from then.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Trace {
    /// The file, relative to the scenario.
    pub file: PathBuf,
}

/// The links a load is relative to, each in the direction that leads away from its host, rack or data center.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LinkSet {
    /// Links from sending hosts to their switch.
    HostLinks,
    /// Links from the switches of sending hosts upwards.
    Uplinks,
    /// Links between border routers of different data centers, from the side of the senders.
    WanLinks,
    /// Directed links by name, `from -> to`; `*` stands for any characters.
    Named(Names),
}

/// Bytes that a load counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Counts {
    /// Payload, headers and framing of all data packets.
    Wire,
    /// Payload alone: goodput without losses.
    Payload,
}

/// Which sender sends to which receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Pairing {
    /// In order where `from` and `to` are given, stand for as many hosts, and each pair is one that `between` allows; otherwise at random.
    Auto,
    /// The first of `from` to the first of `to`, and so on. Names count in the order in which they are written, what `*` stands for in
    /// the order of the network.
    InOrder,
    /// Senders take turns; each time a receiver is drawn.
    Random,
}

/// Which pairs of hosts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Between {
    /// Any two.
    #[default]
    Any,
    /// Two in one rack.
    SameRack,
    /// Two in different racks.
    OtherRack,
    /// Two in one data center.
    SameDc,
    /// Two in different data centers.
    OtherDc,
}

/// Where sizes of flows come from.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SizeSource {
    /// Web search (DCTCP); mean 1.7 MB.
    Websearch,
    /// Data mining (VL2); mean 12.7 MB.
    Datamining,
    /// Distributed storage at Alibaba; mean 41 kB.
    Alistorage,
    /// Between data centers of Alibaba; mean 64 MB.
    AliInterDc,
    /// Hadoop at Facebook; mean 120 kB.
    FbHadoop,
    /// Web servers at Facebook; mean 62 kB.
    FbWebserver,
    /// Cache followers at Facebook; mean 687 kB.
    FbCachefollower,
    /// RPCs at Google; mean 2.9 kB.
    GoogleRpc,
    /// Four classes as in the evaluation of DVL, whose shares count flows; mean 775 kB.
    Dvl,
    /// The same classes, if their shares count bytes; mean 70 kB.
    DvlBytes,
    /// The same classes, whose shares count flows, with more small flows within each (log-uniform); mean 629 kB.
    DvlLog,
    /// All the same.
    Constant(Bytes),
    /// A file beside the scenario: points with the columns bytes,cumulative, or a list of sizes that are equally likely, one in a line.
    File(PathBuf),
}

fn one() -> u32 {
    1
}

fn small_request() -> Bytes {
    Bytes::new(1000)
}

fn no_pause() -> Pause {
    Pause::Constant(Span::ZERO)
}
