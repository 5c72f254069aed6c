//! What switches and hosts do besides congestion control, and what carries data: the list of mechanisms. What each does is the
//! documentation of its modules.

use narrows_proto::docs as proto;
use narrows_sim::docs as sim;
use narrows_sim::mechanism::{isolation, rackcc};

use super::{Topic, TopicKind, text};

/// A mechanism that a scenario may turn on.
struct Mechanism {
    name: &'static str,
    kind: TopicKind,
    summary: &'static str,
    place: &'static str,
    source: &'static str,
    about: &'static [&'static str],
    settings: &'static [&'static str],
}

/// All of a kind.
pub(super) fn topics(kind: TopicKind) -> Vec<Topic> {
    MECHANISMS.iter().filter(|mechanism| mechanism.kind == kind).map(Mechanism::topic).collect()
}

impl Mechanism {
    fn topic(&self) -> Topic {
        Topic {
            place: self.place.to_owned(),
            source: self.source.to_owned(),
            about: text::plain(&self.about.join("\n")),
            settings: self.settings.iter().map(|name| (*name).to_owned()).collect(),
            ..Topic::new(self.kind, self.name, self.summary)
        }
    }
}

const MECHANISMS: &[Mechanism] = &[
    Mechanism {
        name: "hosts",
        kind: TopicKind::Mechanism,
        summary: "real hosts: a time to process each burst, and clocks that differ; or ideal ones",
        place: "hosts",
        source: "Floyd & Jacobson 1992; IEEE 802.3",
        about: &[sim::HOSTS],
        settings: &["Hosts", "RealHosts", "Processing", "Bounded", "Exponential"],
    },
    Mechanism {
        name: "buffer",
        kind: TopicKind::Mechanism,
        summary: "packet memory of a switch, and how ports share it",
        place: "switches.CLASS.buffer",
        source: "Choudhury & Hahne, ToN 1998",
        about: &[sim::BUFFER],
        settings: &["Buffer", "Sharing", "Dynamic"],
    },
    Mechanism {
        name: "marking",
        kind: TopicKind::Mechanism,
        summary: "congestion marks by a threshold or a sojourn time, or random early detection (RED); at enqueue or dequeue",
        place: "switches.CLASS.marking",
        source: "RFC 8257; Floyd & Jacobson, ToN 1993; RFC 3168; Bai et al., CoNEXT 2016",
        about: &[sim::MARKING],
        settings: &["Marking", "Step", "Red", "RedAction", "Sojourn", "MarkAt"],
    },
    Mechanism {
        name: "codel",
        kind: TopicKind::Mechanism,
        summary: "controlled delay (CoDel): drops or marks while a queue stands for too long",
        place: "switches.CLASS.marking",
        source: "RFC 8289",
        about: &[sim::CODEL],
        settings: &["Codel"],
    },
    Mechanism {
        name: "pause",
        kind: TopicKind::Mechanism,
        summary: "PAUSE: a switch that runs out of room stops its neighbors",
        place: "switches.CLASS.pause",
        source: "IEEE 802.3 Annex 31B",
        about: &[sim::PAUSE],
        settings: &["Pause"],
    },
    Mechanism {
        name: "pfc",
        kind: TopicKind::Mechanism,
        summary: "priority-based flow control: stops by class of packets",
        place: "switches.CLASS.pfc",
        source: "IEEE 802.1Qbb",
        about: &[sim::INGRESS],
        settings: &["Pfc", "Xoff"],
    },
    Mechanism {
        name: "isolation",
        kind: TopicKind::Mechanism,
        summary: "congested flows get a queue of their own (DVL, enhanced DVL, 802.1Qcz); needs `pfc`",
        place: "switches.CLASS.isolation",
        source: "Gonzalez-Naharro et al., NEAT 2019; IEEE 802.1Qcz",
        about: isolation::DOCS,
        settings: &["Isolation", "Scheme", "JointStop"],
    },
    Mechanism {
        name: "bcn",
        kind: TopicKind::Mechanism,
        summary: "backward congestion notification: queues notify sources to slow down and to speed up",
        place: "switches.CLASS.congestion_point and reaction_points",
        source: "Bergamasco, IEEE 802.1 Interim, May 2005; Alizadeh et al., Allerton 2008",
        about: &[sim::CONGESTION_POINT, sim::CONGESTION_POINT_BCN, proto::REACTION_BCN],
        settings: &["Bcn", "BcnVersion", "Sampling", "Message", "Reach", "BcnReaction"],
    },
    Mechanism {
        name: "qcn",
        kind: TopicKind::Mechanism,
        summary: "quantized congestion notification: queues notify sources to slow down",
        place: "switches.CLASS.congestion_point and reaction_points",
        source: "IEEE 802.1Qau-2010; Alizadeh et al., Allerton 2008",
        about: &[sim::CONGESTION_POINT, sim::CONGESTION_POINT_QCN, proto::REACTION_QCN],
        settings: &["Qcn", "Message", "Reach", "QcnReaction", "QcnVariant"],
    },
    Mechanism {
        name: "reaction_points",
        kind: TopicKind::Mechanism,
        summary: "limiters at the edge of the network that listen to congestion points",
        place: "reaction_points",
        source: "IEEE 802.1Qau-2010; Bergamasco, IEEE 802.1 Interim, May 2005",
        about: &[sim::LIMITER, sim::EDGE],
        settings: &["ReactionPoints", "Reaction", "ReactionPlace", "LimiterScope"],
    },
    Mechanism {
        name: "telemetry",
        kind: TopicKind::Mechanism,
        summary: "switches write the state of their ports into packets (HPCC)",
        place: "switches.CLASS.telemetry",
        source: "Li et al., SIGCOMM 2019, §4.1",
        about: &[proto::TELEMETRY, sim::TELEMETRY],
        settings: &[],
    },
    Mechanism {
        name: "rack_agent",
        kind: TopicKind::Mechanism,
        summary: "the switch of a rack keeps the state of all connections to another rack (RackCC)",
        place: "switches.CLASS.rack_agent",
        source: "Zhuo, Zhang, Liu, Krishnamurthy, Anderson, HotNets 2016",
        about: &[proto::RACK, rackcc::DOCS, proto::RACK_JUMBO, proto::RACK_SUBFLOW, proto::RACK_RECEIVER],
        settings: &["RackAgent", "JumboFlow", "FastEnd", "RackReceiver"],
    },
    Mechanism {
        name: "near_source",
        kind: TopicKind::Mechanism,
        summary: "the near-source loop of Annulus: messages of switches near the sender set a second rate",
        place: "cc = { annulus = { near_source = { … } } }",
        source: "Saeed et al., SIGCOMM 2020 (talk); IEEE 802.1Qau-2010",
        about: &[proto::NEAR_SOURCE],
        settings: &["NearSource", "NearSourceStart", "AnnulusAggregate"],
    },
    Mechanism {
        name: "routing",
        kind: TopicKind::Mechanism,
        summary: "how switches choose among shortest paths: ECMP, D-mod-K, packet spraying",
        place: "routing",
        source: "RFC 2992",
        about: &[sim::ROUTING],
        settings: &["Routing"],
    },
    Mechanism {
        name: "stream",
        kind: TopicKind::Transport,
        summary: "a byte stream like TCP's",
        place: "transport, or traffic.GROUP.transport",
        source: "RFC 5681, RFC 6298, RFC 8985, RFC 9937",
        about: &[proto::STREAM],
        settings: &[
            "Stream",
            "ReceiveBuffer",
            "BufferGrowth",
            "AckTimeout",
            "ProbeTimeout",
            "HostMetrics",
            "Profile",
        ],
    },
    Mechanism {
        name: "rdma",
        kind: TopicKind::Transport,
        summary: "messages over RDMA, as RoCEv2 carries them",
        place: "traffic.GROUP.rdma",
        source: "RoCEv2; Zhu et al., SIGCOMM 2015; Mittal et al., SIGCOMM 2018",
        about: &[proto::RDMA],
        settings: &["Rdma", "RdmaRecovery", "RdmaCnpPer", "RdmaJoins", "RdmaQueuePair"],
    },
    Mechanism {
        name: "datagram",
        kind: TopicKind::Transport,
        summary: "datagrams like UDP's: never acknowledged, never retransmitted",
        place: "traffic.GROUP.datagram, with the pattern `on_off`",
        source: "none",
        about: &[proto::DATAGRAM],
        settings: &["Datagram"],
    },
];
