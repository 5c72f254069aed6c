//! Annulus: Saeed et al., SIGCOMM 2020, as far as its talk tells.
//!
//! The talk gives round trips, the ratio of traffic, the controls and three numbers. Everything else is a parameter below.

mod figures;
mod measure;

use self::measure::{MIX, REACTION, RPCS};
use super::{Alternative, Experiment, Paper, Parameter, cc, owned};

pub(super) const PAPER: Paper = Paper {
    name: "annulus",
    title: "Annulus: A Dual Congestion Control Loop for Datacenter and WAN Traffic Aggregates",
    source: "A. Saeed, V. Gupta, P. Goyal, M. Sharif, R. Pan, M. Ammar, E. Zegura, K. Jang, M. Alizadeh, A. Kabbani, A. Vahdat, \
             ACM SIGCOMM 2020 (from its talk and abstract)",
    about: "WAN and data-center traffic share the uplink of a rack: what each does to the other, why queues of their own do \
            not help, and what a near-source loop changes. Then three racks, two in one data center and one 8 ms away, that \
            exchange RPCs at 10 to 90 % load, five parts inside the data center to one across, under DCTCP and BBR, with and \
            without Annulus. Beyond the paper: other controls inside Annulus, and hosts of 100 and 400 Gb/s.",
    claims: include_str!("../../repro/annulus/claims.toml"),
    figures: figures::figures,
    experiments,
    parameters,
};

/// Near-source switches that say what QCN says.
const POINTS: &str = "switches.default.congestion_point={ qcn = { set_point = \"33 kB\", message = { reach = \"tor_agg\" } } }";

/// A control with a near-source loop, scaled to a round trip inside the data center of `dc_rtt`.
fn annulus(control: &str, dc_rtt: &str) -> String {
    format!("{{ annulus = {{ end_to_end = {control}, near_source = {{ dc_rtt = \"{dc_rtt}\" }} }} }}")
}

const MOTIVATION: &str = include_str!("../../repro/annulus/motivation.toml");
const TESTBED: &str = include_str!("../../repro/annulus/testbed.toml");

/// Round trips inside the data centers of the two networks.
const DC_RTT: [&str; 2] = ["10 us", "30 us"];

/// A control of the WAN flows: its row, its label, and what it changes.
struct Scheme {
    row: &'static str,
    overrides: Vec<String>,
}

fn scheme(row: &'static str, overrides: Vec<String>) -> Scheme {
    Scheme { row, overrides }
}

/// Annulus around a control of the WAN flows in the network of the motivation.
fn near_source(row: &'static str, control: &str) -> Scheme {
    scheme(row, vec![POINTS.into(), cc("wan", &annulus(control, DC_RTT[0]))])
}

fn both(row: &'static str, dc: &str, wan: &str, dc_rtt: &str) -> Scheme {
    scheme(row, vec![POINTS.into(), cc("dc", &annulus(dc, dc_rtt)), cc("wan", &annulus(wan, dc_rtt))])
}

fn experiments() -> Vec<Experiment> {
    let mut all = reaction();
    all.extend(mix());
    all.extend(fast());
    all.extend(testbed());
    all
}

/// Rates in Gb/s of today's hosts.
const FAST: [u64; 2] = [100, 400];

/// The same beside two long flows at 100 and 400 Gb/s, 2 ms away: sizes, thresholds and buffers grow with the rate, round
/// trips of the data center do not.
fn fast() -> Vec<Experiment> {
    let schemes = || {
        [
            scheme("alone", vec!["traffic.wan.start=99 ms".into()]),
            scheme("bbr", Vec::new()),
            near_source("annulus", "{ bbr = {} }"),
            both("annulus_both", "{ dctcp = {} }", "{ bbr = {} }", DC_RTT[0]),
        ]
    };
    let mut all = Vec::new();
    for rate in FAST {
        let network = [
            format!("topology.cross_dc.wan={{ rate = \"{} Gb/s\", delay = \"990 us\" }}", 4 * rate),
            format!("topology.cross_dc.fabric.leaf_spine.host_rate={rate} Gb/s"),
            format!("topology.cross_dc.fabric.leaf_spine.uplink_rate={rate} Gb/s"),
            format!("switches.default.buffer={{ size = \"{} kB\", sharing = \"per_port\" }}", 20 * rate),
            format!("switches.default.marking.step.k={} kB", 4 * rate),
            format!("traffic.dc.pattern.poisson.sizes={{ constant = \"{} kB\" }}", 10 * rate),
            "traffic.dc.start=20 ms".into(),
            "stop={ after = \"100 ms\" }".into(),
            "measure={ from = \"40 ms\", until = \"90 ms\" }".into(),
        ];
        // A sample every 100 packets of 1500 B is ten times as many in the same time at 100 Gb/s: the base grows as well.
        let qcn = [
            format!("switches.default.congestion_point.qcn.set_point={} B", 1300 * rate),
            format!("switches.default.congestion_point.qcn.sample_base={} kB", 15 * rate),
        ];
        for Scheme { row, mut overrides } in schemes() {
            if overrides.contains(&POINTS.to_owned()) {
                overrides.extend(qcn.clone());
            }
            all.push(Experiment {
                name: format!("fast.{row}_{rate}"),
                scenario: MOTIVATION,
                overrides: network.iter().cloned().chain(overrides).collect(),
                quick: None,
                quantities: MIX,
                series: &[],
                measure: measure::mix,
            });
        }
    }
    all
}

/// Ten flows of 5 MB begin at once inside the data center.
const BURST: &[&str] = &[
    "traffic.dc.pattern={ long_lived = { flows = 10, size = \"5 MB\", from = \"dc0/rack0/*\", to = \"dc0/rack1/*\", pairing = \"random\" } }",
    "traffic.dc.start=300 ms",
    "stop={ after = \"450 ms\" }",
    "measure={ from = \"300 ms\", until = \"450 ms\" }",
];

/// How long WAN flows take to make room for a burst inside the data center.
fn reaction() -> Vec<Experiment> {
    let schemes = [
        scheme("cubic", vec![cc("wan", "{ cubic = {} }")]),
        scheme("bbr", Vec::new()),
        scheme("gemini", vec![cc("wan", "{ gemini = { marking_threshold = \"100 kB\" } }")]),
        near_source("annulus", "{ bbr = {} }"),
        near_source("annulus_cubic", "{ cubic = {} }"),
    ];
    let experiment = |Scheme { row, overrides }| Experiment {
        name: format!("reaction.{row}"),
        scenario: MOTIVATION,
        overrides: overrides.into_iter().chain(owned(BURST)).collect(),
        quick: Some(Vec::new()),
        quantities: REACTION,
        series: &["wan", "uplink"],
        measure: measure::reaction,
    };
    schemes.map(experiment).into()
}

/// RDMA with DCQCN inside the data center. Its marking leaves alone what cannot be marked, as a threshold does.
fn dcqcn() -> Vec<String> {
    owned(&[
        "traffic.dc.rdma={}",
        "traffic.dc.cc={ dcqcn = {} }",
        "switches.default.marking={ red = { min = \"5 kB\", max = \"200 kB\", max_p = 0.01, weight = 1.0, spread = false, \
         action = \"mark_only\" } }",
    ])
}

/// Flows of 100 kB inside the data center beside two long ones that leave it.
fn mix() -> Vec<Experiment> {
    let schemes = [
        scheme("alone", vec!["traffic.wan.start=699 ms".into()]),
        scheme("cubic", vec![cc("wan", "{ cubic = {} }")]),
        scheme("bbr", Vec::new()),
        scheme("dctcp", vec![cc("wan", "{ dctcp = {} }")]),
        scheme("gemini", vec![cc("wan", "{ gemini = { marking_threshold = \"100 kB\" } }")]),
        scheme("isolated", vec!["traffic.dc.priority=1".into()]),
        scheme("isolated_cubic", vec!["traffic.dc.priority=1".into(), cc("wan", "{ cubic = {} }")]),
        near_source("annulus", "{ bbr = {} }"),
        both("annulus_both", "{ dctcp = {} }", "{ bbr = {} }", DC_RTT[0]),
        near_source("annulus_cubic", "{ cubic = {} }"),
        near_source("annulus_gemini", "{ gemini = { marking_threshold = \"100 kB\" } }"),
        scheme("dcqcn", dcqcn()),
        scheme("dcqcn_alone", dcqcn().into_iter().chain(["traffic.wan.start=699 ms".into()]).collect()),
        scheme("annulus_dcqcn", {
            let both = both("", "{ dcqcn = {} }", "{ bbr = {} }", DC_RTT[0]);
            dcqcn().into_iter().chain(both.overrides).collect()
        }),
    ];
    let short = ["stop={ after = \"450 ms\" }", "measure={ from = \"300 ms\", until = \"420 ms\" }"];
    let experiment = |Scheme { row, overrides }: Scheme| Experiment {
        name: format!("mix.{row}"),
        scenario: MOTIVATION,
        quick: Some(if row.ends_with("alone") { Vec::new() } else { owned(&short) }),
        overrides,
        quantities: MIX,
        series: &[],
        measure: measure::mix,
    };
    schemes.map(experiment).into()
}

/// Loads in percent.
const LOADS: [u64; 5] = [10, 30, 50, 70, 90];

/// RPCs between three racks.
fn testbed() -> Vec<Experiment> {
    let load = |percent: u64| {
        ["dc", "wan"].map(|group| format!("traffic.{group}.pattern.rpc.load={}", percent as f64 / 100.0))
    };
    let schemes = || {
        [
            scheme("base", Vec::new()),
            both("annulus", "{ dctcp = {} }", "{ bbr = {} }", DC_RTT[1]),
            scheme("wan_only", vec![POINTS.into(), cc("wan", &annulus("{ bbr = {} }", DC_RTT[1]))]),
        ]
    };
    let mut all = Vec::new();
    for percent in LOADS {
        for Scheme { row, overrides } in schemes() {
            all.push(Experiment {
                name: format!("rpc.{row}_{percent}"),
                scenario: TESTBED,
                overrides: overrides.into_iter().chain(load(percent)).collect(),
                quick: (percent == 50).then(|| owned(&QUICK)),
                quantities: RPCS,
                series: &[],
                measure: measure::rpcs,
            });
        }
    }
    all.push(Experiment {
        name: "rpc.alone_50".into(),
        scenario: TESTBED,
        overrides: load(50).into_iter().chain(["traffic.wan.pattern.rpc.load=0.001".into()]).collect(),
        quick: Some(owned(&QUICK)),
        quantities: RPCS,
        series: &[],
        measure: measure::rpcs,
    });
    all
}

const QUICK: [&str; 2] =
    ["stop={ after = \"300 ms\", drain = \"300 ms\" }", "measure={ from = \"150 ms\", until = \"300 ms\" }"];

fn parameters() -> Vec<Parameter> {
    let watched = owned(&[
        "mix.annulus_both.dc_p99_us",
        "mix.annulus_both.wan_gbps",
        "mix.annulus_both.useful_percent",
        "rpc.annulus_50.p99_us",
    ]);
    let tails = owned(&[
        "rpc.base_50.p99_us",
        "rpc.annulus_50.p99_us",
        "rpc.base_50.mean_us",
        "rpc.annulus_50.mean_us",
    ]);
    let near_source = |name, value, why, settings: &[(&'static str, &str)]| Parameter {
        name,
        value,
        why,
        alternatives: settings
            .iter()
            .map(|(value, setting)| Alternative {
                value,
                overrides: ["dc", "wan"].map(|group| format!("traffic.{group}.cc.annulus.{setting}")).into(),
            })
            .collect(),
        watched: watched.clone(),
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
        Parameter {
            name: "reach of messages",
            value: "top of rack and aggregation",
            why: "A router changes the address by which layer 2 would find the source. How far \"L2 learning\" carries a message \
                  is open.",
            alternatives: vec![
                Alternative::new("top of rack", &["switches.default.congestion_point.qcn.message.reach=tor"]),
                Alternative::new(
                    "whole data center",
                    &["switches.default.congestion_point.qcn.message.reach=dc"],
                ),
            ],
            watched: watched.clone(),
        },
        Parameter {
            name: "set point of QCN",
            value: "33 kB",
            why: "Stanford's pseudo-code and the Linux prototype have 33 kB, IEEE8021-CN-MIB 26 kB.",
            alternatives: vec![
                Alternative::new("26 kB", &["switches.default.congestion_point.qcn.set_point=26 kB"]),
                Alternative::new("66 kB", &["switches.default.congestion_point.qcn.set_point=66 kB"]),
            ],
            watched: watched.clone(),
        },
        Parameter {
            name: "sampling of QCN at 100 and 400 Gb/s",
            value: "150 kB·C/10 Gb/s",
            why: "With 150 kB at any rate sources hear ten times as often as they recover.",
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
        Parameter {
            name: "losses of RDMA",
            value: "go-back-N",
            why: "The abstract names DCQCN, not what becomes of lost packets. With go-back-N they cost far more than themselves.",
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
            name: "WAN RPCs",
            value: "between all hosts of different data centers, both ways",
            why: "\"Cross-rack all to all\". Half of the WAN traffic then meets data-center traffic at its destination, where no \
                  message reaches its source, so this decides how much of the tail Annulus can take away.",
            alternatives: vec![Alternative::new(
                "responses from the two racks of the data center only",
                &["traffic.wan.pattern.rpc.from=dc1/rack0/*", "traffic.wan.pattern.rpc.to=dc0/*"],
            )],
            watched: tails.clone(),
        },
        Parameter {
            name: "sizes of RPCs",
            value: "64 kB inside the data center, 5 MB across",
            why: "The talk says nothing of them. Small RPCs across a WAN end before their windows have grown and hurt nobody.",
            alternatives: vec![
                Alternative::new("1 MB across", &["traffic.wan.pattern.rpc.sizes={ constant = \"1 MB\" }"]),
                Alternative::new("20 MB across", &["traffic.wan.pattern.rpc.sizes={ constant = \"20 MB\" }"]),
                Alternative::new(
                    "distributed storage at Alibaba for both, mean 41 kB",
                    &["traffic.dc.pattern.rpc.sizes=alistorage", "traffic.wan.pattern.rpc.sizes=alistorage"],
                ),
            ],
            watched: tails.clone(),
        },
        Parameter {
            name: "racks of the testbed",
            value: "8 hosts of 10 Gb/s, an uplink of 10 Gb/s, 12 MB of packet memory with alpha 1",
            why: "The talk says three racks. Where several hosts are needed to fill an uplink, WAN traffic of a twelfth of the \
                  load does not fill it.",
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
            watched: tails.clone(),
        },
        Parameter {
            name: "connections",
            value: "kept from call to call",
            why: "RPC systems keep them. A new connection for each call begins with ten packets, and WAN traffic hurts nobody.",
            alternatives: vec![Alternative::new(
                "a new one for each request and response",
                &["transport.keep_connections=false"],
            )],
            watched: tails,
        },
        Parameter::fixed(
            "network of the motivation",
            "an uplink of 10 Gb/s with 1 MB of buffer, ten senders to the data center and two across the WAN",
            "The talk gives round trips of 10 µs and 10 ms.",
        ),
    ]
}
