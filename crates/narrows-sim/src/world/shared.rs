use std::ops::Range;

use narrows_proto::cc::{self, Ecn};
use narrows_proto::datagram;
use narrows_proto::rdma::{self, Joins, Recovery};
use narrows_proto::stream;
use narrows_proto::units::{BitRate, Span, Time, WireTime};

use crate::followers::Followers;
use crate::ids::FlowId;
use crate::mechanism::small_queues::SmallQueues;
use crate::packet::{ECT, L4S, SPREAD, TELEMETRY, TRIMMABLE};
use crate::random::mix;
use crate::routing::Access;
use crate::traffic::{FlowSpec, Group, NearSource, Transport};

/// State that all threads read and none writes.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    /// Of the run.
    pub(crate) seed: u64,
    /// By host.
    pub(crate) access: Vec<Access>,
    pub(crate) groups: Vec<GroupState>,
    pub(crate) flows: Vec<FlowSpec>,
    /// By flow: the one that answers it, or [`NO_FLOW`]. Empty if no flow is answered.
    pub(crate) answers: Vec<FlowId>,
    /// Who waits for which flow.
    pub(crate) followers: Followers,
    /// By flow: the rank that receives it, by its number at its host, and the number of the sender there. Empty if there are no ranks.
    pub(crate) receiving_ranks: Vec<(u32, u32)>,
    /// When delivered payload and bytes on links count.
    pub(crate) measured: Range<Time>,
    /// When is noted what flows have delivered.
    pub(crate) sampled: Vec<Time>,
    /// By link; none of links with a path.
    pub(crate) flights: Vec<Option<Flight>>,
    /// Rates that telemetry reports, by code.
    pub(crate) reported_rates: Vec<BitRate>,
    /// The largest packet of any group: what a flow may send before the next has its turn.
    pub(crate) quantum: i32,
    /// Some flows hand bursts over, to their network card or to a queue of their host.
    pub(crate) bursts: bool,
    /// Queues of hosts, if they have some.
    pub(crate) small_queues: Option<SmallQueues>,
    /// Bytes by which limiters make packets larger.
    pub(crate) tag_size: u16,
}

pub(crate) const NO_RANK: (u32, u32) = (u32::MAX, u32::MAX);
pub(crate) const NO_FLOW: FlowId = FlowId(u32::MAX);

/// Time that packets are under way on a link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flight {
    pub(crate) wire_time: WireTime,
    /// Propagation, and the forwarding latency of the node it leads to.
    pub(crate) delay: Span,
}

impl Flight {
    /// From when a packet of this size begins to be sent until it arrives.
    pub(crate) fn of(self, size: u16) -> Span {
        self.wire_time.of(size) + self.delay
    }
}

impl Shared {
    /// The flow that starts at the receiver of `flow` when that is complete.
    pub(crate) fn answer_to(&self, flow: FlowId) -> Option<FlowId> {
        self.answers.get(flow.index()).copied().filter(|answer| *answer != NO_FLOW)
    }

    /// The rank that receives `flow`, by its number at its host, and the number of the sender there.
    pub(crate) fn receiving_rank(&self, flow: FlowId) -> Option<(u32, u32)> {
        self.receiving_ranks.get(flow.index()).copied().filter(|place| *place != NO_RANK)
    }

    /// Where the random choices of this incarnation of a flow begin.
    pub(crate) fn seed_of(&self, flow: FlowId, incarnation: u64) -> u64 {
        mix(mix(self.seed ^ (flow.index() as u64) << 32) ^ incarnation)
    }
}

/// A group of flows with what follows from its settings.
#[derive(Debug)]
pub(crate) struct GroupState {
    pub(crate) transport: TransportState,
    pub(crate) priority: u8,
    pub(crate) near_source: Option<NearSource>,
    /// Its flows share their state with all flows between the same racks.
    pub(crate) needs_rack: bool,
    /// Bytes of a data packet that are not payload.
    pub(crate) overhead: u16,
    /// Marks of packets of data.
    pub(crate) marks: u64,
    /// Its packets of data request credit.
    pub(crate) requests: bool,
}

#[derive(Debug)]
// There is one for each group, not for each flow.
#[allow(clippy::large_enum_variant)]
pub(crate) enum TransportState {
    Stream(StreamState),
    Rdma(RdmaState),
    Datagram { params: datagram::Params, rate: BitRate, cc: Option<cc::Config> },
}

#[derive(Debug)]
pub(crate) struct StreamState {
    pub(crate) params: stream::Params,
    pub(crate) cc: cc::Config,
    pub(crate) ecn: Ecn,
    /// Flags of data packets that may be marked: those sent for the first time, and those retransmitted; none of both if the codepoint
    /// arrives changed.
    ///
    /// Differs from RFC 3168 §6.1.5 where marks are accurate: what is retransmitted may be marked as well, as in Linux. RFC 8311
    /// §4.3 allows that to experiments.
    pub(crate) ect: [u8; 4],
    /// Flags of a SYN. That marks are counted allows it to be marked (ECN++).
    pub(crate) syn_ect: u8,
}

#[derive(Debug)]
pub(crate) struct RdmaState {
    /// With the sizes of packets under this control.
    pub(crate) params: rdma::Params,
    pub(crate) cc: cc::Config,
    pub(crate) ecn: Ecn,
    /// Flags of packets that may be marked. Answers may be, too, though nobody reads it: RED drops what cannot be marked.
    pub(crate) ect: u8,
    /// Flags of all data packets.
    pub(crate) data_flags: u8,
    /// Of congestion notification packets.
    pub(crate) cnp_priority: u8,
    /// Of acknowledgments.
    pub(crate) ack_priority: u8,
    /// Credit that receivers grant.
    pub(crate) credits: Option<rdma::Credits>,
}

impl GroupState {
    pub(crate) fn new(group: &Group) -> Self {
        let (transport, overhead) = match &group.transport {
            Transport::Stream { params, cc } => {
                let ecn = params.ecn(cc);
                let ect = match ecn {
                    Ecn::Off => [0; 4],
                    Ecn::Classic => [ECT, 0, 0, 0],
                    Ecn::Accurate | Ecn::Counted | Ecn::Cnp => [ECT, ECT, 0, 0],
                };
                let syn_ect = if ecn == Ecn::Counted { ECT } else { 0 };
                let state = StreamState { params: params.under(cc), cc: cc.clone(), ecn, ect, syn_ect };
                (TransportState::Stream(state), params.headers + params.framing)
            }
            Transport::Rdma { params, cc } => {
                let ecn = cc.ecn();
                let ect = if ecn == Ecn::Off { 0 } else { ECT };
                let of_group = |priority: Option<u8>| priority.unwrap_or(group.priority);
                let (cnp_priority, ack_priority) =
                    (of_group(params.cnp_priority), of_group(params.ack_priority));
                let data_flags = ect | if cc.reads_telemetry() { TELEMETRY } else { 0 };
                let params = params.under(cc);
                let overhead = params.headers + params.framing;
                let state = RdmaState {
                    params,
                    cc: cc.clone(),
                    ecn,
                    ect,
                    data_flags,
                    cnp_priority,
                    ack_priority,
                    credits: cc.credits(),
                };
                (TransportState::Rdma(state), overhead)
            }
            Transport::Datagram { params, rate, cc } => {
                let (params_of, cc) = (params.clone(), cc.clone());
                let state = TransportState::Datagram { params: params_of, rate: *rate, cc };
                (state, params.headers + params.framing)
            }
        };
        let marks = match &group.transport {
            Transport::Rdma { params, .. } if params.recovery == Recovery::AnyOrder => TRIMMABLE,
            _ => 0,
        };
        let marks = if group.transport.has_entropy() { marks | SPREAD } else { marks };
        let near_source = group.near_source.clone();
        let needs_rack = group.transport.needs_rack();
        let l4s = match &group.transport {
            Transport::Stream { params, cc } => params.says_l4s(cc),
            Transport::Rdma { cc, .. } => cc.is_l4s(),
            Transport::Datagram { .. } => false,
        };
        Self {
            transport,
            priority: group.priority,
            near_source,
            needs_rack,
            overhead: overhead.get() as u16,
            marks: if l4s { L4S } else { 0 } | marks,
            requests: group.transport.has_credits(),
        }
    }

    /// Time that its messages take until a card can send them.
    pub(crate) fn doorbell(&self) -> Span {
        if let TransportState::Rdma(rdma) = &self.transport { rdma.params.doorbell } else { Span::ZERO }
    }

    /// Its messages from one host to another share a queue pair.
    pub(crate) fn has_queue_pairs(&self) -> bool {
        matches!(&self.transport, TransportState::Rdma(rdma) if rdma.params.queue_pair.is_some())
    }

    /// Its messages join those that share a link in turn at the head.
    pub(crate) fn joins_at_head(&self) -> bool {
        matches!(&self.transport, TransportState::Rdma(rdma) if rdma.params.joins == Joins::Head)
    }

    /// Its settings, if receivers of its flows keep what acknowledgments follow.
    pub(crate) fn keeps_ack_states(&self) -> Option<&stream::Params> {
        match &self.transport {
            TransportState::Stream(stream) if stream.params.pingpong && stream.params.keep_connections => {
                Some(&stream.params)
            }
            _ => None,
        }
    }

    /// # Panics
    /// If the group has no streams.
    pub(crate) fn stream(&self) -> &StreamState {
        match &self.transport {
            TransportState::Stream(stream) => stream,
            _ => panic!("the group has no streams"),
        }
    }

    /// # Panics
    /// If the group does not use RDMA.
    pub(crate) fn rdma(&self) -> &RdmaState {
        match &self.transport {
            TransportState::Rdma(rdma) => rdma,
            _ => panic!("the group does not use RDMA"),
        }
    }
}
