//! What the talk leaves open, and why it was settled as it was.

use crate::repro::{Alternative, Parameter, owned};

pub(super) fn parameters() -> Vec<Parameter> {
    [near_source_loops(), congestion_points(), traffic()].into_iter().flatten().collect()
}

/// The near-source loops.
fn near_source_loops() -> Vec<Parameter> {
    let near_source = |name, value, why, settings: &[(&str, &str)]| Parameter {
        name: str::to_owned(name),
        value: str::to_owned(value),
        why: str::to_owned(why),
        fitted: Vec::new(),
        alternatives: settings
            .iter()
            .map(|(value, setting)| Alternative {
                value: (*value).into(),
                overrides: ["dc", "wan"].map(|group| format!("traffic.{group}.cc.annulus.{setting}")).into(),
            })
            .collect(),
        watched: watched(),
    };
    vec![
        near_source(
            "near-source time stage",
            "ten round trips of the data center",
            "QCN's 15 ms are meant for network cards and long flows; the talk scales nothing.",
            &[
                ("30 µs", "near_source.time_reset=30 us"),
                ("1 ms", "near_source.time_reset=1 ms"),
                ("15 ms, QCN's", "near_source.time_reset=15 ms"),
            ],
        ),
        near_source(
            "near-source increase",
            "5 and 50 Mb/s at 10 Gb/s, QCN's",
            "R_AI and R_HAI scale with the line rate.",
            &[
                ("R_AI ten times as much", "near_source.ai_rate=50 Mb/s"),
                ("R_HAI ten times as much", "near_source.hai_rate=500 Mb/s"),
            ],
        ),
        near_source(
            "first cut",
            "from the measured rate",
            "QCN in network cards cuts from line rate.",
            &[("from line rate", "near_source.start=line_rate")],
        ),
        near_source(
            "what shares a loop",
            "nothing: each flow has its own",
            "The title speaks of aggregates.",
            &[
                ("all flows of a host and class", "per=host"),
                ("and to one data center", "per=destination_dc"),
            ],
        ),
        near_source(
            "application-limited samples",
            "what is sent while the loop holds a flow up counts as such",
            "BBR takes the near-source rate for the bandwidth of the path otherwise.",
            &[("they do not", "near_source.app_limited=false")],
        ),
        near_source(
            "window validation",
            "a window that the loop keeps from being used does not grow",
            "The end-to-end loop winds up otherwise.",
            &[("it grows", "near_source.validate_window=false")],
        ),
        near_source(
            "cap of the near-source rate",
            "twice the measured rate",
            "The near-source loop winds up otherwise while the WAN is the bottleneck.",
            &[("none", "near_source.cap=inf")],
        ),
        near_source(
            "release",
            "after a round trip in which the loop held up nothing",
            "The talk does not say when a loop ends.",
            &[
                ("after 1 ms", "near_source.release_after=1 ms"),
                ("after 100 ms", "near_source.release_after=100 ms"),
            ],
        ),
    ]
}

/// Congestion points and their messages.
fn congestion_points() -> Vec<Parameter> {
    vec![
        Parameter {
            name: "reach of messages".into(),
            value: "top of rack and aggregation".into(),
            why: "A router changes the address by which layer 2 would find the source. How far \"L2 learning\" carries a message \
                  is open.".into(),
            fitted: Vec::new(),
            alternatives: vec![
                Alternative::new("top of rack", &["switches.default.congestion_point.qcn.message.reach=tor"]),
                Alternative::new(
                    "whole data center",
                    &["switches.default.congestion_point.qcn.message.reach=dc"],
                ),
            ],
            watched: watched(),
        },
        Parameter {
            name: "set point of QCN".into(),
            value: "33 kB".into(),
            why: "Stanford's pseudo-code and the Linux prototype have 33 kB, IEEE8021-CN-MIB 26 kB.".into(),
            fitted: Vec::new(),
            alternatives: vec![
                Alternative::new("26 kB", &["switches.default.congestion_point.qcn.set_point=26 kB"]),
                Alternative::new("66 kB", &["switches.default.congestion_point.qcn.set_point=66 kB"]),
            ],
            watched: watched(),
        },
        Parameter {
            name: "sampling of QCN at 100 and 400 Gb/s".into(),
            value: "150 kB·C/10 Gb/s".into(),
            why: "With 150 kB at any rate sources are notified ten times as often as they recover.".into(),
            fitted: Vec::new(),
            alternatives: vec![Alternative::new(
                "150 kB",
                &["switches.default.congestion_point.qcn.sample_base=150 kB"],
            )],
            watched: owned(&[
                "fast.annulus_both_100.dc_p99_us",
                "fast.annulus_both_100.wan_gbps",
                "fast.annulus_both_400.dc_p99_us",
                "fast.annulus_both_400.wan_gbps",
            ]),
        },
    ]
}

/// Traffic, and the networks it crosses.
fn traffic() -> Vec<Parameter> {
    vec![
        Parameter {
            name: "losses of RDMA".into(),
            value: "go-back-N".into(),
            why: "The abstract names DCQCN, not what becomes of lost packets. With go-back-N they cost far more than themselves.".into(),
            fitted: Vec::new(),
            alternatives: vec![Alternative::new(
                "selective repeat",
                &["traffic.dc.rdma={ recovery = \"selective_repeat\" }"],
            )],
            watched: owned(&[
                "mix.dcqcn.dc_p99_us",
                "mix.dcqcn.wan_gbps",
                "mix.annulus_dcqcn.dc_p99_us",
                "mix.annulus_dcqcn.wan_gbps",
            ]),
        },
        Parameter {
            name: "WAN RPCs".into(),
            value: "between all hosts of different data centers, both ways".into(),
            why: "\"Cross-rack all to all\". Half of the WAN traffic then meets data-center traffic at its destination, where no \
                  message reaches its source, so this decides how much of the tail Annulus can take away.".into(),
            fitted: Vec::new(),
            alternatives: vec![Alternative::new(
                "responses from the two racks of the data center only",
                &["traffic.wan.pattern.rpc.from=dc1/rack0/*", "traffic.wan.pattern.rpc.to=dc0/*"],
            )],
            watched: tails(),
        },
        Parameter {
            name: "sizes of RPCs".into(),
            value: "64 kB inside the data center, 5 MB across".into(),
            why: "The talk says nothing of them. Small RPCs across a WAN end before their windows have grown and hurt nobody.".into(),
            fitted: Vec::new(),
            alternatives: vec![
                Alternative::new("1 MB across", &["traffic.wan.pattern.rpc.sizes={ constant = \"1 MB\" }"]),
                Alternative::new("20 MB across", &["traffic.wan.pattern.rpc.sizes={ constant = \"20 MB\" }"]),
                Alternative::new(
                    "distributed storage at Alibaba for both, mean 41 kB",
                    &["traffic.dc.pattern.rpc.sizes=alistorage", "traffic.wan.pattern.rpc.sizes=alistorage"],
                ),
            ],
            watched: tails(),
        },
        Parameter {
            name: "racks of the testbed".into(),
            value: "8 hosts of 10 Gb/s, an uplink of 10 Gb/s, 12 MB of packet memory with alpha 1".into(),
            why: "The talk says three racks. Where several hosts are needed to fill an uplink, WAN traffic of a twelfth of the \
                  load does not fill it.".into(),
            fitted: Vec::new(),
            alternatives: vec![
                Alternative::new(
                    "16 hosts, an uplink of 40 Gb/s",
                    &[
                        "topology.cross_dc.fabric.leaf_spine.hosts_per_rack=16",
                        "topology.cross_dc.fabric.leaf_spine.uplink_rate=40 Gb/s",
                        "stop={ after = \"400 ms\", drain = \"400 ms\" }",
                        "measure={ from = \"200 ms\", until = \"400 ms\" }",
                    ],
                ),
                Alternative::new(
                    "4 MB of packet memory",
                    &["switches.default.buffer={ size = \"4 MB\", sharing = { dynamic = { alpha = 1.0 } } }"],
                ),
            ],
            watched: tails(),
        },
        Parameter {
            name: "connections".into(),
            value: "kept from call to call".into(),
            why: "RPC systems keep them. A new connection for each call begins with ten packets, and WAN traffic hurts nobody.".into(),
            fitted: Vec::new(),
            alternatives: vec![Alternative::new(
                "a new one for each request and response",
                &["transport.keep_connections=false"],
            )],
            watched: tails(),
        },
        Parameter::fixed(
            "network of the motivation",
            "an uplink of 10 Gb/s with 1 MB of buffer, ten senders to the data center and two across the WAN",
            "The talk gives round trips of 10 µs and 10 ms.",
        ),
    ]
}

/// What most of them might change.
fn watched() -> Vec<String> {
    owned(&[
        "mix.annulus_both.dc_p99_us",
        "mix.annulus_both.wan_gbps",
        "mix.annulus_both.useful_percent",
        "rpc.annulus_50.p99_us",
    ])
}

/// Completion times of RPCs.
fn tails() -> Vec<String> {
    owned(&["rpc.base_50.p99_us", "rpc.annulus_50.p99_us", "rpc.base_50.mean_us", "rpc.annulus_50.mean_us"])
}
