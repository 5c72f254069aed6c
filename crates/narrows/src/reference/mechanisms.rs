//! Mechanisms of switches and hosts besides congestion control, and transports. What each does is the documentation of its modules.

use narrows_proto::docs as proto;
use narrows_sim::docs as sim;

use super::{Topic, TopicKind, text};
use crate::mechanism::{self, Entry};

/// All of a kind.
pub(super) fn topics(kind: TopicKind) -> Vec<Topic> {
    let topic = |entry: &Entry| Topic {
        place: entry.place.to_owned(),
        source: entry.source.to_owned(),
        about: text::plain(&entry.about.join("\n")),
        settings: entry.settings.iter().map(|name| (*name).to_owned()).collect(),
        ..Topic::new(kind, entry.name, entry.summary)
    };
    let listed = mechanism::entries();
    match kind {
        TopicKind::Mechanism => BEFORE.iter().chain(listed).map(topic).collect(),
        TopicKind::Transport => TRANSPORTS.iter().map(topic).collect(),
        _ => Vec::new(),
    }
}

/// Entries before the list of mechanisms.
const BEFORE: &[Entry] = &[
    Entry {
        name: "hosts",
        summary: "real hosts: a time to process each burst, and clocks that differ; or ideal ones",
        place: "hosts",
        source: "Floyd & Jacobson 1992; IEEE 802.3",
        about: &[sim::HOSTS],
        settings: &["Hosts", "RealHosts", "Processing", "Bounded", "Exponential"],
    },
    Entry {
        name: "small_queues",
        summary: "bursts of TCP wait in a queue of their host, a few of each connection",
        place: "hosts.real.small_queues",
        source: "Linux, tcp_small_queue_check",
        about: &[sim::SMALL_QUEUES],
        settings: &["SmallQueues"],
    },
    Entry {
        name: "buffer",
        summary: "packet memory of a switch, and how ports share it",
        place: "switches.CLASS.buffer",
        source: "Choudhury & Hahne, ToN 1998",
        about: &[sim::BUFFER],
        settings: &["Buffer", "Sharing", "Dynamic"],
    },
    Entry {
        name: "marking",
        summary: "congestion marks by a threshold or a sojourn time, or random early detection (RED); at enqueue or dequeue",
        place: "switches.CLASS.marking",
        source: "RFC 8257; Floyd & Jacobson, ToN 1993; RFC 3168; Bai et al., CoNEXT 2016",
        about: &[sim::MARKING],
        settings: &["Marking", "Step", "Red", "RedAction", "Sojourn", "MarkAt"],
    },
];

const TRANSPORTS: &[Entry] = &[
    Entry {
        name: "stream",
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
    Entry {
        name: "rdma",
        summary: "messages over RDMA, as RoCEv2 carries them",
        place: "traffic.GROUP.rdma",
        source: "RoCEv2; Zhu et al., SIGCOMM 2015; Mittal et al., SIGCOMM 2018",
        about: &[proto::RDMA],
        settings: &["Rdma", "RdmaRecovery", "RdmaCnpPer", "RdmaJoins", "RdmaQueuePair"],
    },
    Entry {
        name: "datagram",
        summary: "datagrams like UDP's: never acknowledged, never retransmitted",
        place: "traffic.GROUP.datagram, with the pattern `on_off`",
        source: "none",
        about: &[proto::DATAGRAM],
        settings: &["Datagram"],
    },
];
