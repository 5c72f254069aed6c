//! What the paper of GEMINI leaves open, what was chosen, and how much it matters.

use crate::repro::{Alternative, Parameter};

/// Hosts without bursts and jitter: an acknowledgment for every second segment.
const IDEAL: &[&str] = &[
    "hosts=ideal",
    "transport={ min_rto = \"200 ms\", ack_every = 2, ack_delay = \"1 ms\", receive_window = \"3 MB\" }",
];
/// Bursts that late acknowledgments make, in place of those of segmentation and receive offload.
const LATE_ACKNOWLEDGMENTS: &[&str] = &[
    "hosts=ideal",
    "transport={ min_rto = \"200 ms\", ack_every = 16, ack_delay = \"1 ms\", receive_window = \"3 MB\" }",
];

pub(super) fn parameters() -> Vec<Parameter> {
    let mut all = of_long_flows();
    all.push(connections());
    all.extend(of_wan());
    all.extend(of_controls());
    all.extend(fixed());
    all
}

fn of_long_flows() -> Vec<Parameter> {
    vec![
        Parameter::varied(
            "hosts",
            "those of Linux 4.9: offload bursts, processing times, clocks, acknowledgments and timers of that kernel",
            "§IV-A: hosts run Linux 4.9.25. DCTCP hardly suffers from a threshold of 20 packets without bursts, as its theory \
             says. Late acknowledgments are another way to make some; they add to round-trip times of slow flows.",
            vec![
                Alternative::new("ideal, an acknowledgment for every second segment", IDEAL),
                Alternative::new(
                    "ideal, an acknowledgment for up to 16 segments within 1 ms",
                    LATE_ACKNOWLEDGMENTS,
                ),
            ],
            &[
                "dcn.dctcp_inter_20.throughput_mbps",
                "dcn.gemini_inter_20.throughput_mbps",
                "dcn.dctcp_inter_320.throughput_mbps",
                "wan.t5_beta2.rtt_ms",
                "fairness.gemini_64.intra_over_inter",
                "p1.cubic.dcn_loss",
                "p1.dctcp.dcn_loss",
            ],
        ),
        Parameter::varied(
            "long flows",
            "10 from five hosts",
            "The paper says many-to-one.",
            vec![
                Alternative::new("4", &["traffic.many.pattern.long_lived.flows=4"]),
                Alternative::new("30", &["traffic.many.pattern.long_lived.flows=30"]),
            ],
            &[
                "dcn.dctcp_inter_20.throughput_mbps",
                "dcn.gemini_inter_20.throughput_mbps",
                "dcn.dctcp_inter_40.throughput_mbps",
                "dcn.gemini_inter_40.throughput_mbps",
                "wan.t5_beta2.throughput_mbps",
                "wan.t5_beta2.rtt_ms",
            ],
        ),
    ]
}

/// What the traffic generator does with its connections.
fn connections() -> Parameter {
    Parameter::varied(
        "connections of the workloads",
        "kept from flow to flow; measured from 50 s on (10 Gb/s: 4 s), when they have been used",
        "§IV-D: \"a publicly available traffic generator that has been used by other work\". That of the authors' group \
         (HKUST-SING/TrafficGenerator) opens connections before it begins and keeps them. Slow start of a connection that \
         has no threshold yet overshoots; its losses are those of the first half minute.",
        vec![
            Alternative::new("kept, measured from 5 s on", &["measure.from=5 s"]),
            Alternative::new(
                "a new connection for each flow",
                &["traffic.search.transport.keep_connections=false"],
            ),
            Alternative::new(
                "a new connection for each flow, which knows nothing of earlier ones",
                &[
                    "traffic.search.transport.keep_connections=false",
                    "traffic.search.transport.host_metrics=false",
                ],
            ),
        ],
        &[
            "p1.gemini.all_ms",
            "p1.gemini.dcn_loss",
            "p1.cubic.all_ms",
            "p1.cubic.dcn_loss",
            "p1.dctcp.all_ms",
            "p1.dctcp.dcn_loss",
            "p1.dctcp.wan_loss",
            "p1.bbr.dcn_loss",
            "p1.vegas.dcn_loss",
        ],
    )
}

/// What loads and buffers of the WAN might change.
fn of_wan() -> Vec<Parameter> {
    vec![
        Parameter::varied(
            "90 % of the WAN",
            "all packets together, acknowledgments too",
            "§IV-D: \"the average utilization of the inter-DC WAN link is ~90%\". The traffic generator counts data packets on \
             the wire (TG_GOODPUT_RATIO), if the 90 % are what it was asked for.",
            vec![
                Alternative::new("data packets", &[DATA_LOAD]),
                Alternative::new("payload", &[PAYLOAD_LOAD]),
            ],
            &[
                "p1.gemini.all_ms",
                "p1.gemini.wan_percent",
                "p1.cubic.all_ms",
                "p1.cubic.dcn_loss",
                "p1.cubic.wan_loss",
                "p1.dctcp.all_ms",
                "p1.dctcp.wan_loss",
            ],
        ),
        Parameter::varied(
            "buffers of the WAN",
            "10 000 packets",
            "§IV-A. The border routers are servers, whose queue may count bursts as packets.",
            vec![Alternative::new(
                "20 000 packets",
                &["switches.border.buffer={ size = \"30760 kB\", sharing = \"per_port\" }"],
            )],
            &["p1.cubic.wan_loss", "p1.cubic.small_ms", "p1.dctcp.wan_loss", "p1.dctcp.small_ms"],
        ),
    ]
}

/// The pattern with another meaning of 90 %.
const DATA_LOAD: &str = "traffic.search.pattern={ poisson = { load = 0.9, of = \"wan_links\", sizes = \"websearch\", \
                         between = \"other_dc\" } }";
const PAYLOAD_LOAD: &str = "traffic.search.pattern={ poisson = { load = 0.9, counts = \"payload\", of = \"wan_links\", sizes = \
                            \"websearch\", between = \"other_dc\" } }";

fn of_controls() -> Vec<Parameter> {
    vec![
        Parameter::varied(
            "largest F",
            "0.5",
            "Theorem 1 bounds F by 4K/(C·RTT + K), which exceeds 1/2 on short paths; the text says that it is 1/2 for a \
             path with K = C·RTT/7, \"exactly matching\" DCTCP.",
            vec![Alternative::new(
                "4, no cap",
                &["traffic.intra.cc.gemini.max_scale=4.0", "traffic.inter.cc.gemini.max_scale=4.0"],
            )],
            &["fairness.gemini_4.intra_over_inter", "fairness.gemini_64.intra_over_inter"],
        ),
        Parameter::varied(
            "base round-trip time",
            "10 ms at most for GEMINI",
            "The traffic generator opens five connections for each pair of hosts before it begins, while the network is idle, and \
             GEMINI takes the smallest round-trip time of \"a long time\" (§III-B). Connections are opened on demand here. It is \
             the only control that would still know what the handshake measured: BBR forgets it after 10 s, Vegas in Linux \
             whenever it begins to send, and the others have no base.",
            vec![Alternative::new(
                "what the connection has measured",
                &["traffic.search.cc={ gemini = {} }"],
            )],
            &["p1.gemini.small_ms", "p1.gemini.large_ms", "p1.gemini.all_ms", "p1.gemini.dcn_loss"],
        ),
        Parameter::varied(
            "delay threshold",
            "T = 5 ms in the workloads",
            "Table IV. A larger one keeps the WAN busier, and its queue longer.",
            vec![Alternative::new("20 ms", &["traffic.search.cc.gemini.delay_threshold=20 ms"])],
            &["p1.gemini.small_ms", "p1.gemini.large_ms", "p1.gemini.all_ms"],
        ),
        Parameter::varied(
            "end of slow start of GEMINI",
            "the first mark or delay",
            "The paper does not describe slow start.",
            vec![Alternative::new(
                "the first mark or loss",
                &["traffic.search.cc.gemini.slow_start_ignores_delay=true"],
            )],
            &["p1.gemini.small_ms", "p1.gemini.large_ms", "p1.gemini.all_ms", "p1.gemini.dcn_loss"],
        ),
        Parameter::varied(
            "end of slow start of CUBIC",
            "HyStart of Linux: trains of acknowledgments and delay",
            "It is on by default in Linux.",
            vec![Alternative::new("a mark or a loss", &["traffic.search.cc.cubic.hystart=false"])],
            &["p1.cubic.small_ms", "p1.cubic.all_ms", "p1.cubic.dcn_loss", "p1.cubic.wan_loss"],
        ),
    ]
}

fn fixed() -> Vec<Parameter> {
    vec![
        Parameter::fixed(
            "packets that losses are counted against",
            "full packets that hosts sent in the measured time, for both segments",
            "The paper does not say. It concludes from its Table II that more than 80 % of the losses are inside data centers \
             (24 and 6 with CUBIC and ECN) and that these have 4 to 20 times more, which holds only if both rates are of the \
             same packets.",
        ),
        Parameter::fixed(
            "hosts of the workloads",
            "eight in each data center; at 10 Gb/s four",
            "90 % of the WAN link are 11.25 % of a host's link and 45 % of a switch's link to the border, as the paper \
             says of traffic pattern 1. Pattern 2 then loads the latter with 67.5 %, as it says too. The testbed with 10 Gb/s \
             has ten servers, of which two are border routers.",
        ),
        Parameter::fixed(
            "thresholds at 10 Gb/s",
            "ten times those at 1 Gb/s",
            "GEMINI's is given per Gb/s; for the others the paper names 300 packets only.",
        ),
        Parameter::fixed(
            "buffers of the switches",
            "4 MB with dynamic thresholds, alpha 0.21; at 10 Gb/s 16 MB, alpha 1",
            "alpha is fitted to the 450 packets that the paper gives for one port. Of the switch at 10 Gb/s it gives the size \
             only.",
        ),
        Parameter::fixed(
            "round trips",
            "43 µs for each link inside a data center, 4.796 ms across",
            "200 µs inside a rack and 10 ms between data centers, with the times to send a full packet.",
        ),
    ]
}
