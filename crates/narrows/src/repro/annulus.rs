//! Annulus: Saeed et al., SIGCOMM 2020, as far as its talk tells.
//!
//! The talk gives round trips, the ratio of traffic, the controls and three numbers. Everything else is a parameter below.

mod figures;
mod measure;
mod parameters;

use self::measure::{CLOSED, MIX, REACTION, RPCS};
use self::parameters::parameters;
use super::{Experiment, Measure, Paper, cc, claims, owned};

pub(super) fn paper() -> Paper {
    Paper {
        name: "annulus".into(),
        title: "Annulus: A Dual Congestion Control Loop for Datacenter and WAN Traffic Aggregates".into(),
        source: "A. Saeed, V. Gupta, P. Goyal, M. Sharif, R. Pan, M. Ammar, E. Zegura, K. Jang, M. Alizadeh, A. Kabbani, A. Vahdat, \
                 ACM SIGCOMM 2020 (from its talk and abstract)".into(),
        about: "WAN and data-center traffic share the uplink of a rack: what each does to the other, why queues of their own do \
                not help, and what a near-source loop changes. Then three racks, two in one data center and one 8 ms away, that \
                exchange RPCs at 10 to 90 % load, five parts inside the data center to one across, under DCTCP and BBR, with and \
                without Annulus; clients that wait for answers; WAN traffic in one direction; connections that end at the border; \
                one loop for a whole rack. Beyond the paper: other controls inside Annulus, and hosts of 100 and 400 Gb/s.".into(),
        claims: claims::read("annulus", include_str!("../../repro/annulus/claims.toml")),
        figures: figures::figures(),
        experiments: experiments(),
        parameters: parameters(),
        ..Paper::default()
    }
}

/// Near-source switches that say what QCN says.
const POINTS: &str = "switches.default.congestion_point={ qcn = { set_point = \"33 kB\", message = { reach = \"tor_agg\" } } }";

/// A control with a near-source loop, scaled to a round trip inside the data center of `dc_rtt`.
fn annulus(control: &str, dc_rtt: &str) -> String {
    format!("{{ annulus = {{ end_to_end = {control}, near_source = {{ dc_rtt = \"{dc_rtt}\" }} }} }}")
}

const MOTIVATION: &str = include_str!("../../repro/annulus/motivation.toml");
const TESTBED: &str = include_str!("../../repro/annulus/testbed.toml");
const BORDER: &str = include_str!("../../repro/annulus/border.toml");

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
                scenario: MOTIVATION.into(),
                overrides: network.iter().cloned().chain(overrides).collect(),
                quick: None,
                quantities: owned(MIX),
                series: Vec::new(),
                measure: Measure::Rust(measure::mix),
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
        scenario: MOTIVATION.into(),
        overrides: overrides.into_iter().chain(owned(BURST)).collect(),
        quick: Some(Vec::new()),
        quantities: owned(REACTION),
        series: owned(&["wan", "uplink"]),
        measure: Measure::Rust(measure::reaction),
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
        scenario: MOTIVATION.into(),
        quick: Some(if row.ends_with("alone") { Vec::new() } else { owned(&short) }),
        overrides,
        quantities: owned(MIX),
        series: Vec::new(),
        measure: Measure::Rust(measure::mix),
    };
    schemes.map(experiment).into()
}

/// Loads in percent.
const LOADS: [u64; 5] = [10, 30, 50, 70, 90];
const QUICK: [&str; 2] =
    ["stop={ after = \"1300 ms\", drain = \"300 ms\" }", "measure={ from = \"1 s\", until = \"1300 ms\" }"];
/// Groups of the testbed.
const GROUPS: [&str; 3] = ["dc", "wan", "wan_in"];

/// Annulus around what crosses the WAN in the testbed.
fn wan_annulus() -> Vec<String> {
    let bbr = annulus("{ bbr = {} }", DC_RTT[1]);
    vec![POINTS.into(), cc("wan", &bbr), cc("wan_in", &bbr)]
}

/// Annulus around everything in the testbed.
fn all_annulus() -> Vec<String> {
    wan_annulus().into_iter().chain([cc("dc", &annulus("{ dctcp = {} }", DC_RTT[1]))]).collect()
}

/// One loop for each class of traffic of a rack, in its switch: QCN's reaction point, with the time stage of near-source loops. It is
/// notified of all flows of a rack, and cut as a whole each time: an eighth of QCN's gain.
fn rack_loops() -> Vec<String> {
    let loops = "reaction_points={ rule = { qcn = { time_reset = \"300 us\", gd = 0.0009765625 } }, at = \"edge_switch\", \
                 per = \"rack\", queue = \"1 MB\" }";
    owned(&[POINTS, loops])
}

/// No responses of this group: it starts as the run ends.
fn without(group: &str, start: &str) -> [String; 2] {
    [format!("traffic.{group}.pattern.rpc.load=0.001"), format!("traffic.{group}.start={start}")]
}

/// The warm-up takes as many RPCs at each load. At the one of which the talk has a number five seconds are measured, at others as
/// many RPCs as in half a second at full load.
fn times(percent: u64) -> [String; 2] {
    let from = 150_000 / percent;
    let until = if percent == 50 { from + 5_000 } else { from + 50_000 / percent };
    [
        format!("stop={{ after = \"{until} ms\", drain = \"400 ms\" }}"),
        format!("measure={{ from = \"{from} ms\", until = \"{until} ms\" }}"),
    ]
}

/// RPCs between three racks.
fn testbed() -> Vec<Experiment> {
    let experiment = |name: String, overrides: Vec<String>, quick: bool| Experiment {
        name,
        scenario: TESTBED.into(),
        overrides,
        quick: quick.then(|| owned(&QUICK)),
        quantities: owned(RPCS),
        series: Vec::new(),
        measure: Measure::Rust(measure::rpcs),
    };
    let mut all = Vec::new();
    for percent in LOADS {
        let load = GROUPS.map(|group| format!("traffic.{group}.pattern.rpc.load={}", percent as f64 / 100.0));
        for (row, overrides) in
            [("base", Vec::new()), ("annulus", all_annulus()), ("wan_only", wan_annulus())]
        {
            let overrides = overrides.into_iter().chain(load.clone()).chain(times(percent));
            all.push(experiment(format!("rpc.{row}_{percent}"), overrides.collect(), percent == 50));
        }
    }
    let alone = ["wan", "wan_in"].map(|group| without(group, "7999 ms")).concat();
    all.push(experiment("rpc.alone_50".into(), alone.into_iter().chain(times(50)).collect(), false));
    let without = |group: &str| without(group, "2999 ms");
    for (row, overrides) in [
        ("base_none", ["wan", "wan_in"].map(without).concat()),
        ("base_out", without("wan_in").into()),
        ("base_in", without("wan").into()),
        ("base_both", Vec::new()),
        ("annulus_out", all_annulus().into_iter().chain(without("wan_in")).collect()),
        ("annulus_in", all_annulus().into_iter().chain(without("wan")).collect()),
        ("annulus_both", all_annulus()),
        ("rack_out", rack_loops().into_iter().chain(without("wan_in")).collect()),
        ("rack_both", rack_loops()),
    ] {
        all.push(experiment(format!("where.{row}"), overrides, false));
    }
    let far = |group: &str| [without(&format!("wan{group}")), without(&format!("far{group}"))].concat();
    for (row, overrides) in [("border_out", far("_in")), ("border_both", Vec::new())] {
        all.push(Experiment {
            scenario: BORDER.into(),
            ..experiment(format!("where.{row}"), overrides, false)
        });
    }
    all.extend(closed());
    all
}

/// Pauses of clients that wait for each answer: inside the data center and across the WAN.
const PAUSES: [(&str, &str, &str); 3] =
    [("long", "3800 us", "300 ms"), ("middle", "1900 us", "100 ms"), ("short", "1 ms", "20 ms")];

/// The testbed with clients that wait: eight on each host inside the data center, and across the WAN two on each host of the two
/// racks and four on each of the third. What an uplink carries then depends on how long they wait.
fn closed() -> Vec<Experiment> {
    let clients = |group: &str, clients: u64, size: &str, think: &str, pairs: &str| {
        format!(
            "traffic.{group}.pattern={{ closed_loop = {{ clients = {clients}, sizes = {{ constant = \"{size}\" }}, \
             think = {{ exponential = \"{think}\" }}, {pairs} }} }}"
        )
    };
    let mut all = Vec::new();
    for (pause, inside, across) in PAUSES {
        let patterns = [
            clients("dc", 8, "64 kB", inside, "from = \"dc0/*\", to = \"dc0/*\", between = \"other_rack\""),
            clients("wan", 2, "5 MB", across, "from = \"dc0/*\", to = \"dc1/rack0/*\""),
            clients("wan_in", 4, "5 MB", across, "from = \"dc1/rack0/*\", to = \"dc0/*\""),
        ];
        for (row, overrides) in [("base", Vec::new()), ("annulus", all_annulus())] {
            all.push(Experiment {
                name: format!("closed.{row}_{pause}"),
                scenario: TESTBED.into(),
                overrides: overrides.into_iter().chain(patterns.clone()).collect(),
                quick: (pause == "middle").then(|| owned(&QUICK)),
                quantities: owned(CLOSED),
                series: Vec::new(),
                measure: Measure::Rust(measure::closed),
            });
        }
    }
    all
}
