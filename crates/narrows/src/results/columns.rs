//! What every table and column of results means: name, type, unit, meaning. The one place where columns are described; the
//! tables themselves (`tables.rs`) are held against it.

use serde::Serialize;

/// A table that results may contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct TableInfo {
    /// Its name, and that of its file.
    pub name: &'static str,
    /// What its rows are.
    pub meaning: &'static str,
    /// Which results have it.
    pub present: &'static str,
    /// Its columns, in order.
    pub columns: &'static [ColumnInfo],
}

/// A column of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ColumnInfo {
    /// Its name.
    pub name: &'static str,
    /// What its values are.
    #[serde(rename = "type")]
    pub kind: ColumnKind,
    /// A value may be missing.
    pub optional: bool,
    /// The unit; empty for counts, numbers of things, fractions and names.
    pub unit: &'static str,
    /// What a value says.
    pub meaning: &'static str,
    /// Which tables of this name have it; empty: all.
    pub present: &'static str,
}

/// What the values of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ColumnKind {
    /// A whole number of up to 64 bits.
    Integer,
    /// A real number.
    Real,
    /// True or false.
    Flag,
    /// A name.
    Name,
}

impl ColumnKind {
    /// As it is printed.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Integer => "integer",
            Self::Real => "real",
            Self::Flag => "flag",
            Self::Name => "name",
        }
    }
}

impl TableInfo {
    /// The description of a table.
    pub fn find(name: &str) -> Option<&'static Self> {
        TABLES.iter().find(|table| table.name == name)
    }

    /// The description of one of its columns.
    pub fn column(&self, name: &str) -> Option<&'static ColumnInfo> {
        self.columns.iter().find(|column| column.name == name)
    }
}

impl ColumnInfo {
    const fn maybe(self) -> Self {
        Self { optional: true, ..self }
    }

    const fn only(self, present: &'static str) -> Self {
        Self { present, ..self }
    }
}

const fn column(
    kind: ColumnKind,
    name: &'static str,
    unit: &'static str,
    meaning: &'static str,
) -> ColumnInfo {
    ColumnInfo { name, kind, optional: false, unit, meaning, present: "" }
}

const fn count(name: &'static str, meaning: &'static str) -> ColumnInfo {
    column(ColumnKind::Integer, name, "", meaning)
}

const fn ps(name: &'static str, meaning: &'static str) -> ColumnInfo {
    column(ColumnKind::Integer, name, "ps", meaning)
}

const fn bytes(name: &'static str, meaning: &'static str) -> ColumnInfo {
    column(ColumnKind::Integer, name, "B", meaning)
}

const fn bps(name: &'static str, meaning: &'static str) -> ColumnInfo {
    column(ColumnKind::Integer, name, "bit/s", meaning)
}

const fn real(name: &'static str, unit: &'static str, meaning: &'static str) -> ColumnInfo {
    column(ColumnKind::Real, name, unit, meaning)
}

const fn flag(name: &'static str, meaning: &'static str) -> ColumnInfo {
    column(ColumnKind::Flag, name, "", meaning)
}

const fn name(name: &'static str, meaning: &'static str) -> ColumnInfo {
    column(ColumnKind::Name, name, "", meaning)
}

const LINK: ColumnInfo = count(
    "link",
    "Number of the directed link, in the order of `narrows check --nodes`; it also stands for the port in front of it.",
);
const SEGMENT: ColumnInfo = name("segment", "`dc` or `wan`: which part of the network the link belongs to.")
    .only("networks of several data centers");

/// All tables, in the order in which they are written.
pub const TABLES: &[TableInfo] = &[
    TableInfo {
        name: "flows",
        meaning: "One row per flow that started, finished or not.",
        present: "always",
        columns: &[
            count("flow", "Number of the flow, in the order of the scenario. A client that starts one flow after another is one number."),
            count("turn", "How many flows the same client had started before."),
            name("group", "The traffic group."),
            name("control", "The congestion control."),
            name("src", "The host that sent."),
            name("dst", "The host that received."),
            bytes("size_bytes", "Payload; missing if the flow has no end.").maybe(),
            ps("start_ps", "When the application handed the flow over."),
            ps("end_ps", "When the receiver had all of it; missing if that did not happen before the run ended.").maybe(),
            ps("injected_ps", "When the last byte began to leave the sender for the first time.").maybe(),
            ps("fct_ps", "Flow completion time: from the hand-over to the arrival of the last byte.").maybe(),
            ps("ideal_fct_ps", "The completion time on the empty network: exact for one flow alone, a lower bound where packets are sprayed over several paths; missing if the flow has no end.").maybe(),
            real("slowdown", "", "`fct_ps` divided by `ideal_fct_ps`; at least 1.").maybe(),
            bytes("delivered_bytes", "Payload that the sender knows to have arrived."),
            bytes("delivered_measured_bytes", "The part of it that became known in the measured time."),
            count("retransmissions", "Segments retransmitted."),
            bytes("retransmitted_bytes", "Payload retransmitted."),
            count("timeouts", "Times the retransmission timer ran out."),
            count("recoveries", "Recoveries from losses that were noticed without a timeout."),
            count("spurious", "Losses and timeouts that were none: the segments had only been late."),
            count("probes", "Tail loss probes sent."),
            bytes("marked_bytes", "Payload that was acknowledged with a congestion mark; of controls with classic ECN, one segment for each reduction because of marks."),
            count("cnps", "Congestion notification packets that reached the sender.").only("scenarios with RDMA traffic"),
            flag("measured", "The flow counts in the summary: it started in the measured time."),
        ],
    },
    TableInfo {
        name: "ports",
        meaning: "One row per directed link: what it is, and what the port it leaves from did in the whole run.",
        present: "always",
        columns: &[
            LINK,
            name("from", "The node that sends over the link."),
            name("to", "The node at its end."),
            flag("from_host", "A host sends over it."),
            flag("to_host", "It ends at a host."),
            SEGMENT,
            bps("rate_bps", "Its rate."),
            ps("delay_ps", "Its propagation delay."),
            count("packets", "Packets that began to be sent."),
            bytes("bytes", "Their bytes, framing included."),
            bytes("measured_bytes", "The part of these that began to be sent in the measured time."),
            bytes("max_backlog_bytes", "The most that ever waited."),
            count("marks", "Packets that were marked."),
            count("drops", "Packets that were dropped at the port or lost on its link, for any reason."),
            count("drops_buffer_full", "Those for which the whole packet memory was in use."),
            count("drops_queue_limit", "Those whose queue had its share of the memory."),
            count("drops_red", "Those that random early detection chose."),
            count("drops_link_error", "Those lost to bit errors of the link."),
            count("drops_link_down", "Those lost because the link was down."),
            count("drops_limiter", "Those that found the queue of their limiter full."),
            count("messages", "Messages that its congestion points sent to sources."),
            count("pauses", "PAUSE frames, or stops of a class, sent over it to stop the neighbour."),
            ps("longest_stop_ps", "The longest time a class of packets that waited stayed stopped."),
            count("isolated_flows", "Flows that were isolated."),
            bytes("max_isolated_bytes", "The most that ever waited of isolated flows."),
        ],
    },
    TableInfo {
        name: "queues",
        meaning: "One row per recorded port and interval in which something waited, left, was marked or dropped, or the port was paused.",
        present: "with `record.queues`",
        columns: &[
            ps("start_ps", "When the interval began."),
            name("node", "The node whose port it is."),
            name("to", "The node at the other end of its link."),
            LINK,
            SEGMENT,
            bytes("max_backlog_bytes", "The most that waited in the interval."),
            bytes("max_isolated_bytes", "The most that waited of isolated flows.").only("networks that isolate flows"),
            real("mean_backlog_bytes", "B", "What waited on average over the interval."),
            bytes("bytes", "Bytes of the packets that began to be sent, framing included."),
            count("marks", "Packets that were marked."),
            count("drops", "Packets that were dropped at the port or lost on its link."),
            count("messages", "Messages that its congestion points sent to sources."),
            ps("paused_ps", "How long the node at the far end paused the port."),
        ],
    },
    TableInfo {
        name: "links",
        meaning: "One row per recorded link and interval in which something waited for it, was sent or was lost.",
        present: "with `record.links`",
        columns: &[
            ps("start_ps", "When the interval began."),
            name("from", "The node that sends over the link."),
            name("to", "The node at its end."),
            LINK,
            SEGMENT,
            count("packets", "Packets that began to be sent."),
            bytes("bytes", "Their bytes, framing included."),
            real("utilisation", "", "Bits sent, framing included, as a fraction of what the link carries in an interval."),
            count("drops", "Packets that were dropped at the port or lost on the link."),
        ],
    },
    TableInfo {
        name: "windows",
        meaning: "One row per recorded flow and interval: the state of the sender after its first acknowledgement in it.",
        present: "with `record.windows`",
        columns: &[
            ps("at_ps", "When the acknowledgement came."),
            count("flow", "Number of the flow, as in `flows`."),
            name("group", "The traffic group."),
            bytes("cwnd_bytes", "The congestion window."),
            bps("pacing_bps", "The rate at which packets leave; missing if the control sets none.").maybe(),
            bytes("inflight_bytes", "Payload on its way."),
            ps("srtt_ps", "The smoothed round-trip time."),
            bytes("delivered_bytes", "Payload that is known to have arrived, of this flow alone."),
            bytes("retransmitted_bytes", "Payload retransmitted since the flow began."),
            bytes("marked_bytes", "Payload acknowledged as marked since the flow began."),
            count("timeouts", "Expiries of its timer since the flow began."),
            count("cnps", "Congestion notification packets heard since the flow began."),
            count("messages", "Messages of congestion points that its host has heard of it since the run began."),
        ],
    },
    TableInfo {
        name: "limiters",
        meaning: "One row per limiter and interval: its state at its first event in it.",
        present: "with `record.limiters`",
        columns: &[
            ps("at_ps", "When the event was."),
            name("node", "The host or edge switch that has the limiter."),
            count("limiter", "Which of the limiters there. Numbers are used again."),
            bps("rate_bps", "How fast it sends; 0 while it is stopped."),
            bytes("waiting_bytes", "What waits in it."),
        ],
    },
    TableInfo {
        name: "isolation",
        meaning: "One row per event of a queue for isolated flows.",
        present: "with `record.isolation`",
        columns: &[
            ps("at_ps", "When it happened."),
            name("node", "The switch."),
            name("link", "The link of the port; for events at an input the link that leads to the switch."),
            name("event", "`allocated` or `freed`: a port got or gave back its queue; `allocated_at_input` and `freed_at_input` the same at an input; `flow`: a flow was isolated; `told`: a neighbour asked for it."),
            count("flow", "Number of the flow, for events that are about one.").maybe(),
        ],
    },
    TableInfo {
        name: "jumboflows",
        meaning: "One row per JumboFlow and interval: what the switch of its source rack told first in it.",
        present: "with `record.racks`",
        columns: &[
            ps("at_ps", "When the switch told it."),
            name("node", "The switch of the source rack."),
            name("to", "The switch of the destination rack."),
            count("number", "Which of the JumboFlows between these racks."),
            real("alpha", "", "The moving average of the fraction of marked bytes."),
            count("joined", "Subflows that have joined since the message before."),
            count("subflows", "Registered subflows."),
            bps("throughput_bps", "Average throughput of all of them, on the wire."),
            bytes("marked_bytes", "Bytes reported as marked since the JumboFlow began."),
            ps("rtt_ps", "Smoothed round-trip time from the switch; 0 before the first sample."),
            ps("base_rtt_ps", "The smallest round-trip time so far; missing before the first sample.").maybe(),
            flag("quiet", "The JumboFlow has not met congestion for long, or never has."),
        ],
    },
    TableInfo {
        name: "advertised",
        meaning: "One row per destination and interval: the rate that it advertised first in it.",
        present: "with `record.racks`",
        columns: &[
            ps("at_ps", "When the host advertised it."),
            name("node", "The destination."),
            bps("rate_bps", "The rate at which each source may send."),
            bytes("queue_bytes", "What had waited for the destination, as its switch said last."),
        ],
    },
    TableInfo {
        name: "rpcs",
        meaning: "One row per remote procedure call that began, finished or not.",
        present: "with traffic of pattern `rpc`",
        columns: &[
            count("rpc", "Number of the call."),
            name("group", "The traffic group."),
            name("client", "The host that called."),
            count("first_flow", "Number of its first request in `flows`. From there requests and responses take turns."),
            count("fan_out", "How many servers were asked."),
            bytes("request_bytes", "Payload of all requests."),
            bytes("response_bytes", "Payload of all responses."),
            ps("start_ps", "When the client called."),
            ps("end_ps", "When the client had all of the last response; missing if that did not happen before the run ended.").maybe(),
            ps("time_ps", "From the call to the last byte of the last response.").maybe(),
            ps("ideal_time_ps", "The least time on the empty network: the longest, over all servers, of request and response one after the other; a lower bound where packets are sprayed."),
            real("slowdown", "", "`time_ps` divided by `ideal_time_ps`; at least 1.").maybe(),
            flag("measured", "The call counts in the summary: it began in the measured time."),
        ],
    },
    TableInfo {
        name: "datagrams",
        meaning: "One row per source of datagrams.",
        present: "with traffic over `datagram`",
        columns: &[
            count("flow", "Number of the source."),
            name("group", "The traffic group."),
            name("src", "The host that sent."),
            name("dst", "The host that received."),
            count("sent", "Datagrams handed to the link."),
            count("dropped_at_source", "Datagrams dropped in the host, for want of room."),
            count("received", "Datagrams that arrived."),
            bytes("received_bytes", "Payload that arrived."),
        ],
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_stand_in_the_names_of_columns() {
        for column in TABLES.iter().flat_map(|table| table.columns) {
            let expected = match column.name.rsplit('_').next() {
                Some("ps") => "ps",
                Some("bytes") => "B",
                Some("bps") => "bit/s",
                _ => "",
            };
            assert_eq!(column.unit, expected, "{}", column.name);
        }
    }

    #[test]
    fn names_of_tables_and_of_columns_in_a_table_are_unique() {
        let unique = |names: Vec<&str>| {
            let mut sorted = names.clone();
            sorted.sort_unstable();
            sorted.dedup();
            assert_eq!(sorted.len(), names.len(), "{names:?}");
        };
        unique(TABLES.iter().map(|table| table.name).collect());
        for table in TABLES {
            unique(table.columns.iter().map(|column| column.name).collect());
        }
    }
}
