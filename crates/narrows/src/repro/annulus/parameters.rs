//! What the talk leaves open, and why it was settled as it was.

use crate::repro::{Alternative, Parameter, owned};

pub(super) fn parameters() -> Vec<Parameter> {
    [near_source_loops(), congestion_points(), motivation(), traffic(), testbed()]
        .into_iter()
        .flatten()
        .collect()
}

/// The near-source loops.
fn near_source_loops() -> Vec<Parameter> {
    let near_source = |name: &str, value: &str, why: &str, settings: &[(&str, &str)]| Parameter {
        name: name.into(),
        value: value.into(),
        why: why.into(),
        alternatives: settings
            .iter()
            .map(|(value, setting)| Alternative {
                value: (*value).into(),
                overrides: ["dc", "wan"].map(|group| format!("traffic.{group}.cc.annulus.{setting}")).into(),
            })
            .collect(),
        watched: watched(),
        fitted: Vec::new(),
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
            &[("all flows of a host and class", "per=host")],
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
            alternatives: vec![Alternative::new(
                "top of rack",
                &["switches.default.congestion_point.qcn.message.reach=tor"],
            )],
            watched: watched(),
            fitted: Vec::new(),
        },
        Parameter {
            name: "set point of QCN".into(),
            value: "33 kB".into(),
            why: "Stanford's pseudo-code and the Linux prototype have 33 kB, IEEE8021-CN-MIB 26 kB.".into(),
            alternatives: vec![
                Alternative::new("26 kB", &["switches.default.congestion_point.qcn.set_point=26 kB"]),
                Alternative::new("66 kB", &["switches.default.congestion_point.qcn.set_point=66 kB"]),
            ],
            watched: watched(),
            fitted: Vec::new(),
        },
        Parameter::varied(
            "gain of a rack's loop",
            "1/1024, an eighth of QCN's",
            "The talk has no such loop. One loop is notified of all flows that share it: with QCN's gain it is cut as often as they are \
             together, and nothing is left.",
            vec![
                Alternative::new("1/128, QCN's", &["reaction_points.rule.qcn.gd=0.0078125"]),
                Alternative::new("1/8192", &["reaction_points.rule.qcn.gd=0.0001220703125"]),
            ],
            &["where.rack_out.p99_us", "where.rack_out.wan_mean_ms", "where.rack_out.wan_lost_percent"],
        ),
        Parameter {
            name: "sampling of QCN at 100 and 400 Gb/s".into(),
            value: "150 kB·C/10 Gb/s".into(),
            why: "With 150 kB at any rate sources are notified ten times as often as they recover.".into(),
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
            fitted: Vec::new(),
        },
    ]
}

/// The motivation.
fn motivation() -> Vec<Parameter> {
    vec![
        Parameter {
            name: "losses of RDMA".into(),
            value: "go-back-N".into(),
            why: "The abstract names DCQCN, not what becomes of lost packets. With go-back-N they cost far more than themselves.".into(),
            alternatives: vec![Alternative::new(
                "selective repeat",
                &["traffic.dc.rdma={ recovery = \"selective_repeat\" }"],
            )],
            watched: owned(&[
                "mix.dcqcn.dc_p99_us",
                "mix.annulus_dcqcn.dc_p99_us",
                "mix.annulus_dcqcn.wan_gbps",
            ]),
            fitted: Vec::new(),
        },
        Parameter::fixed(
            "network of the motivation",
            "an uplink of 10 Gb/s with 1 MB of buffer, ten senders to the data center and two across the WAN",
            "The talk gives round trips of 10 µs and 10 ms.",
        ),
    ]
}

/// Traffic of the testbed.
fn traffic() -> Vec<Parameter> {
    vec![
        Parameter::fixed(
            "WAN RPCs",
            "both ways: at each of the two racks a sixth of what leaves and of what comes in",
            "\"Cross-rack all to all\", and a ratio of 5 to 1. What comes in meets data-center traffic at its destination, where no \
             message reaches its source, so this decides how much of the tail Annulus can take away: the figure Direction has each \
             way alone.",
        ),
        Parameter {
            name: "sizes of RPCs".into(),
            value: "64 kB inside the data center, 5 MB across".into(),
            why: "The talk says nothing of them. Small RPCs across a WAN end before their windows have grown and hurt nobody.".into(),
            alternatives: vec![
                across("1 MB across", "{ constant = \"1 MB\" }"),
                across("20 MB across", "{ constant = \"20 MB\" }"),
                Alternative::new(
                    "distributed storage at Alibaba for all, mean 41 kB",
                    &[
                        "traffic.dc.pattern.rpc.sizes=alistorage",
                        "traffic.wan.pattern.rpc.sizes=alistorage",
                        "traffic.wan_in.pattern.rpc.sizes=alistorage",
                    ],
                ),
            ],
            watched: tails(),
            fitted: Vec::new(),
        },
        Parameter {
            name: "connections".into(),
            value: "kept from call to call, measured when nine of ten have carried one".into(),
            why: "RPC systems keep them for long. On a new connection an RPC across the WAN begins with ten packets, takes 80 ms instead \
                  of 14, and hurts nobody.".into(),
            alternatives: vec![
                Alternative::new(
                    "a new one for each request and response",
                    &["transport.keep_connections=false"],
                ),
                Alternative::new(
                    "measured from the beginning, when all are new",
                    &["stop={ after = \"1 s\", drain = \"400 ms\" }", "measure={ until = \"1 s\" }"],
                ),
            ],
            watched: owned(&["where.base_both.p99_us"]),
            fitted: Vec::new(),
        },
        Parameter::fixed(
            "pauses of clients that wait",
            "3.8, 1.9 and 1 ms inside the data center, 300, 100 and 20 ms across the WAN",
            "Nobody knows whether the generator of the talk waits. The figure Closed loop has all three.",
        ),
    ]
}

/// Hosts, racks and buffers of the testbed.
fn testbed() -> Vec<Parameter> {
    vec![
        Parameter {
            name: "hosts of the testbed".into(),
            value: "real: they take up to a packet's time to begin, and clocks differ".into(),
            why: "A testbed has real hosts. Its near-source loop runs in software, which reads messages later than a card; how much \
                  later the talk does not say.".into(),
            alternatives: vec![
                Alternative::new("ideal", &["hosts=ideal"]),
                Alternative::new(
                    "messages are read 20 µs later",
                    &["hosts={ real = { software_delay = \"20 us\" } }"],
                ),
                Alternative::new(
                    "messages are read 100 µs later",
                    &["hosts={ real = { software_delay = \"100 us\" } }"],
                ),
            ],
            watched: tails(),
            fitted: Vec::new(),
        },
        Parameter {
            name: "racks of the testbed".into(),
            value: "4 hosts of 10 Gb/s, an uplink of 10 Gb/s".into(),
            why: "The talk says three racks. One host can fill the uplink here. Between more hosts as many RPCs are exchanged over more \
                  connections, which take longer to become old ones.".into(),
            alternatives: vec![
                Alternative::new(
                    "8 hosts, measured after 5 s",
                    &[
                        "topology.cross_dc.fabric.leaf_spine.hosts_per_rack=8",
                        "stop={ after = \"6 s\", drain = \"400 ms\" }",
                        "measure={ from = \"5 s\", until = \"6 s\" }",
                    ],
                ),
                Alternative::new(
                    "8 hosts, an uplink of 20 Gb/s",
                    &[
                        "topology.cross_dc.fabric.leaf_spine.hosts_per_rack=8",
                        "topology.cross_dc.fabric.leaf_spine.uplink_rate=20 Gb/s",
                    ],
                ),
            ],
            watched: owned(&["where.base_both.p99_us"]),
            fitted: Vec::new(),
        },
        Parameter {
            name: "buffers of the testbed".into(),
            value: "1 MB for each port".into(),
            why: "\"Shallow buffers\", and \"WAN BDP is O(megabytes) per flow\": a tenth of what a WAN flow has in flight. With \
                  12 MB for all ports nothing is lost, and the talk has \"excessive loss\".".into(),
            alternatives: vec![
                Alternative::new(
                    "250 kB for each port",
                    &["switches.default.buffer={ size = \"250 kB\", sharing = \"per_port\" }"],
                ),
                Alternative::new(
                    "12 MB for all, alpha 1",
                    &[
                        "switches.default.buffer={ size = \"12 MB\", sharing = { dynamic = { alpha = 1.0 } } }",
                    ],
                ),
            ],
            watched: tails(),
            fitted: Vec::new(),
        },
    ]
}

/// What most of them might change.
fn watched() -> Vec<String> {
    owned(&[
        "mix.annulus_both.dc_p99_us",
        "mix.annulus_both.wan_gbps",
        "mix.annulus_both.useful_percent",
        "where.annulus_out.p99_us",
    ])
}

/// RPCs across the WAN of these sizes.
fn across(value: &'static str, sizes: &str) -> Alternative {
    let overrides = ["wan", "wan_in"].map(|group| format!("traffic.{group}.pattern.rpc.sizes={sizes}"));
    Alternative { value: value.into(), overrides: overrides.into() }
}

/// Completion times of RPCs, at 50 % load and for a second, with WAN traffic both ways.
fn tails() -> Vec<String> {
    owned(&["where.base_both.p99_us", "where.annulus_both.p99_us"])
}
