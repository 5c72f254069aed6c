//! Traffic to be sent: groups of flows, flows, and generators that start flows while the run goes on.

use std::ops::Range;
use std::sync::Arc;

use narrows_proto::units::{BitRate, Bytes, Span, Time};
use narrows_proto::{annulus, cc, datagram, rdma, stream};

use crate::ids::{FlowId, GroupId, HostId};
use crate::random::Stream;
pub use crate::ranks::{Action, IterationRecord, Lanes, MOST_LANES, Rank, Task, Tasks};
use crate::workload::Sizes;

/// All traffic of a run.
#[derive(Clone, Debug)]
pub struct Traffic {
    /// Indexed by [`GroupId`].
    pub groups: Vec<Group>,
    /// Indexed by [`FlowId`].
    pub flows: Vec<FlowSpec>,
    /// Generators, which start flows while the run goes on.
    pub generators: Vec<Generator>,
    /// Which flows answer which.
    pub rpcs: Vec<Rpc>,
    /// Flows that wait for others.
    pub dependents: Vec<Dependent>,
    /// Hosts that compute, send and receive in an order of their own, over flows of their own.
    pub ranks: Vec<Rank>,
    /// The time in which [`FlowRecord::delivered_measured`](crate::FlowRecord::delivered_measured) and
    /// [`PortCounters::measured_bytes`](crate::PortCounters::measured_bytes) count.
    pub measured: Range<Time>,
    /// Moments, in order, at which is noted what the flows under way have delivered so far ([`Outcome::sampled`](crate::Outcome)).
    pub sampled: Vec<Time>,
}

impl Default for Traffic {
    fn default() -> Self {
        Self {
            groups: Vec::new(),
            flows: Vec::new(),
            generators: Vec::new(),
            rpcs: Vec::new(),
            dependents: Vec::new(),
            ranks: Vec::new(),
            measured: Time::ZERO..Time::NEVER,
            sampled: Vec::new(),
        }
    }
}

/// Flows with the same settings.
#[derive(Clone, Debug)]
pub struct Group {
    /// For tables.
    pub name: String,
    /// Transport of its flows.
    pub transport: Transport,
    /// 0 to 7; 7 goes first where ports are scheduled.
    pub priority: u8,
    /// The near-source loops beside the congestion control of its flows, if it has some.
    pub near_source: Option<NearSource>,
}

/// Near-source loops (Annulus) of a group.
#[derive(Clone, Debug)]
pub struct NearSource {
    /// The flows that share one.
    pub per: annulus::Aggregate,
    /// By host: a number for its data center, for loops per destination.
    pub places: Arc<[u32]>,
    /// Their settings.
    pub params: annulus::near_source::Params,
}

impl Transport {
    /// Its senders hand bursts to their network card.
    pub(crate) fn hands_over_bursts(&self) -> bool {
        matches!(self, Self::Stream { params, .. } if params.segmentation.is_some())
    }

    /// Its messages from one host to another share a queue pair.
    pub fn has_queue_pairs(&self) -> bool {
        matches!(self, Self::Rdma { params, .. } if params.queue_pair.is_some())
    }
}

impl Group {
    /// Size on the wire of the smallest packet of its flows.
    pub fn smallest_packet(&self) -> Bytes {
        match &self.transport {
            Transport::Stream { params, .. } => params.packet_size(Bytes::ZERO),
            Transport::Rdma { params, cc } => {
                let params = params.under(cc);
                // A request for credit has no payload.
                let least = Bytes::new(if cc.credits().is_some() { 0 } else { 1 });
                params.packet_size(least).min(params.ack_size).min(params.cnp_size)
            }
            Transport::Datagram { params, .. } => params.packet_size(),
        }
    }

    /// Size on the wire of the largest packet of its flows.
    pub fn largest_packet(&self) -> Bytes {
        match &self.transport {
            Transport::Stream { params, .. } => params.packet_size(params.mss()),
            Transport::Rdma { params, cc } => {
                let params = params.under(cc);
                params.packet_size(params.mtu).max(params.ack_size).max(params.cnp_size)
            }
            Transport::Datagram { params, .. } => params.packet_size(),
        }
    }
}

/// Transport of flows.
#[derive(Clone, Debug)]
// There is one for each group, not for each flow.
#[allow(clippy::large_enum_variant)]
pub enum Transport {
    /// Reliably, under congestion control.
    Stream {
        /// Settings of the connection.
        params: stream::Params,
        /// The congestion control and its settings.
        cc: cc::Config,
    },
    /// Reliably over RDMA, under congestion control.
    Rdma {
        /// Settings of the connection.
        params: rdma::Params,
        /// The congestion control and its settings.
        cc: cc::Config,
    },
    /// As datagrams at a rate.
    Datagram {
        /// Settings of the source.
        params: datagram::Params,
        /// Rate of a burst, headers included.
        rate: BitRate,
        /// The congestion control whose rules its sources keep to besides; only some have rules for datagrams.
        cc: Option<cc::Config>,
    },
}

impl Transport {
    /// The congestion control; datagrams have none.
    pub fn control(&self) -> Option<&cc::Config> {
        match self {
            Self::Stream { cc, .. } | Self::Rdma { cc, .. } => Some(cc),
            Self::Datagram { .. } => None,
        }
    }

    /// Its senders react to congestion notification packets.
    pub fn receives_cnps(&self) -> bool {
        self.control().is_some_and(|cc| cc.ecn() == cc::Ecn::Cnp)
    }

    /// Its flows share their state with all flows between the same racks.
    pub fn needs_rack(&self) -> bool {
        match self {
            Self::Stream { cc, .. } | Self::Rdma { cc, .. } => cc.needs_rack(),
            Self::Datagram { cc, .. } => cc.as_ref().is_some_and(cc::Config::needs_rack),
        }
    }

    /// Its packets have entropy, which switches hash.
    pub fn has_entropy(&self) -> bool {
        matches!(self, Self::Rdma { params, .. } if params.paths.is_some())
    }

    /// Its receivers grant credit.
    pub fn has_credits(&self) -> bool {
        matches!(self, Self::Rdma { cc, .. } if cc.credits().is_some())
    }

    /// Payload of a full packet.
    pub fn full_payload(&self) -> Bytes {
        match self {
            Self::Stream { params, .. } => params.mss(),
            Self::Rdma { params, .. } => params.mtu,
            Self::Datagram { params, .. } => params.payload,
        }
    }

    /// Size on the wire of a packet with `payload`.
    pub fn packet_size(&self, payload: Bytes) -> Bytes {
        match self {
            Self::Stream { params, .. } => params.packet_size(payload),
            Self::Rdma { params, cc } => params.under(cc).packet_size(payload),
            Self::Datagram { params, .. } => params.packet_size(),
        }
    }
}

/// One flow, or the place of a generator for the flows it starts from one host to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowSpec {
    /// Who sends.
    pub from: HostId,
    /// Who receives.
    pub to: HostId,
    /// Whose settings apply.
    pub group: GroupId,
    /// When it starts; [`Time::NEVER`] if a generator or a rank starts it, the end of the request it answers, or flows it waits for.
    pub start: Time,
    /// Payload; not used if a generator starts it.
    pub size: Bytes,
}

/// A remote procedure call: requests from one client to several servers at once, each of which answers as soon as it has all
/// of its request. The call ends when the client has all of the last response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rpc {
    /// Its first request. Requests and responses take turns: each request is followed by the flow that answers it.
    pub first: FlowId,
    /// Number of servers.
    pub fan_out: u32,
}

impl Rpc {
    /// Each request, and the response to it.
    pub fn calls(self) -> impl Iterator<Item = (FlowId, FlowId)> + Clone {
        let request = move |call: u32| self.first.0 + 2 * call;
        (0..self.fan_out).map(move |call| (FlowId(request(call)), FlowId(request(call) + 1)))
    }
}

/// A flow that waits for others. Its source counts the reports it receives of them, and starts it when that is enough.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dependent {
    /// Its flow, which starts at [`Time::NEVER`] otherwise.
    pub flow: FlowId,
    /// Milestones it waits for; each happens once.
    pub after: Vec<(FlowId, Milestone)>,
    /// Number of these that suffices. If it is more than there are, the flow never starts.
    pub needs: u32,
    /// Delay from then to its start.
    pub delay: Span,
    /// It does not start at or after this time.
    pub until: Time,
}

/// Something that happens once to a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Milestone {
    /// Its receiver has all of it.
    Received,
    /// Its sender knows that.
    Sent,
}

/// Starts flows while the run goes on.
#[derive(Clone, Debug)]
pub struct Generator {
    /// Its kind.
    pub kind: GeneratorKind,
    /// When it begins.
    pub start: Time,
    /// It starts nothing at or after this time.
    pub until: Time,
}

/// Kinds of generators.
#[derive(Clone, Debug)]
pub enum GeneratorKind {
    /// A client with one transaction at a time: after each one it pauses, then sends to a destination picked at random.
    ClosedLoop {
        /// For each destination as many as are parallel, all from the same host.
        flows: Vec<FlowId>,
        /// Transfers of a transaction: they start together, and it ends with the last of them.
        parallel: u32,
        /// Sizes of its transfers.
        sizes: Arc<Sizes>,
        /// Pause after each transaction.
        think: Pause,
    },
    /// A source of datagrams that is silent between bursts.
    OnOff {
        /// Its flow.
        flow: FlowId,
        /// Length of a burst.
        on: Pause,
        /// Silence between two bursts.
        off: Pause,
    },
}

impl GeneratorKind {
    /// Flows that it starts.
    pub fn flows(&self) -> impl Iterator<Item = FlowId> {
        match self {
            Self::ClosedLoop { flows, .. } => flows.as_slice(),
            Self::OnOff { flow, .. } => std::slice::from_ref(flow),
        }
        .iter()
        .copied()
    }
}

/// A length of time, drawn anew each time.
#[derive(Clone, Copy, Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Pause {
    /// Always the same.
    Constant(Span),
    /// Exponentially distributed with this mean.
    Exponential(Span),
}

impl Pause {
    /// Draws one.
    pub fn draw(&self, random: &mut Stream) -> Span {
        match *self {
            Self::Constant(span) => span,
            Self::Exponential(mean) => random.exponential(mean),
        }
    }

    /// The mean.
    pub fn mean(&self) -> Span {
        match *self {
            Self::Constant(span) | Self::Exponential(span) => span,
        }
    }
}
