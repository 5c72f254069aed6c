//! DVL and enhanced DVL: Gonzalez-Naharro et al., NEAT 2019, as far as the slides tell.
//!
//! The slides give the networks, the traffic and the steps of the mechanism. All thresholds are parameters below, and the curves
//! are lost, so that claims are what the words say.

mod figures;
mod measure;

use narrows_proto::units::Span;

use self::measure::{NETWORK, NETWORK_SERIES, VICTIM, VICTIM_SERIES};
use super::{Alternative, Experiment, Paper, Parameter, cc, owned};

pub(super) const PAPER: Paper = Paper {
    name: "dvl",
    title: "Efficient Dynamic Isolation of Congestion in Lossless DataCenter Networks",
    source: "L. Gonzalez-Naharro, J. Escudero-Sahuquillo, P. J. Garcia, F. J. Quiles, J. Duato, W. Sun, L. Shen, X. Yu, H. Zheng, \
             NEAT 2019 (slides)",
    about: "Messages of four classes of sizes, all sent within 2 ms, in lossless networks of 64, 1024 and 2048 hosts: priority-based \
            flow control (PFC) alone, with ECN (DCQCN), with isolation of congested flows as in DVL and enhanced DVL (eDVL), and as \
            in IEEE 802.1Qcz. Then one incast and one victim of it, to see what isolation does. Beyond the paper: isolation \
            together with DCQCN and with QCN. The thresholds of DVL are not known; those used here are below, with what others \
            change.",
    claims: include_str!("../../repro/dvl/claims.toml"),
    figures: figures::figures,
    experiments,
    parameters,
};

const NETWORKS: &str = include_str!("../../repro/dvl/networks.toml");
const BESIDE: &str = include_str!("../../repro/dvl/victim.toml");

/// When the incast of `victim.toml` begins.
const STORM: Span = Span::from_us(100);

/// RED of the DCQCN paper.
const RED: &str = "switches.default.marking={ red = { min = \"5 kB\", max = \"200 kB\", max_p = 0.01, weight = 1.0, \
                   spread = false, action = \"mark_only\" } }";
/// QCN with limiters in network cards.
const QCN: [&str; 2] =
    ["switches.default.congestion_point={ qcn = {} }", "reaction_points={ rule = { qcn = {} } }"];

/// What keeps congestion from spreading: its row, and what it changes in a scenario.
struct Scheme {
    row: &'static str,
    isolation: Option<&'static str>,
    dcqcn: bool,
    qcn: bool,
}

const fn scheme(row: &'static str, isolation: Option<&'static str>, dcqcn: bool, qcn: bool) -> Scheme {
    Scheme { row, isolation, dcqcn, qcn }
}

/// Those of the slides, PFC alone, and 802.1Qcz.
const LOSSLESS: [Scheme; 5] = [
    scheme("pfc", None, false, false),
    scheme("ecn", None, true, false),
    scheme("dvl", Some("dvl"), false, false),
    scheme("edvl", Some("edvl"), false, false),
    scheme("qcz", Some("qcz"), false, false),
];
/// Isolation together with injection throttling.
const TOGETHER: [Scheme; 5] = [
    scheme("qcn", None, false, true),
    scheme("dvl_ecn", Some("dvl"), true, false),
    scheme("edvl_ecn", Some("edvl"), true, false),
    scheme("dvl_qcn", Some("dvl"), false, true),
    scheme("edvl_qcn", Some("edvl"), false, true),
];

impl Scheme {
    fn overrides(&self, groups: &[&str]) -> Vec<String> {
        let isolation =
            self.isolation.map(|scheme| format!("switches.default.isolation={{ scheme = \"{scheme}\" }}"));
        let mut overrides: Vec<_> = isolation.into_iter().collect();
        if self.dcqcn {
            overrides.push(RED.into());
            overrides.extend(groups.iter().map(|group| cc(group, "{ dcqcn = {} }")));
        }
        if self.qcn {
            overrides.extend(owned(&QCN));
        }
        overrides
    }
}

/// Network 1 with 1024 hosts, and network 2.
const NETWORK_1K: &[&str] = &[
    "topology={ leaf_spine = { racks = 32, hosts_per_rack = 32, spines = 16, links_per_spine = 2, host_rate = \"40 Gb/s\", \
     uplink_rate = \"40 Gb/s\", delay = \"1 us\" } }",
];
const NETWORK_2: &[&str] = &[
    "topology={ leaf_spine = { racks = 64, hosts_per_rack = 32, spines = 32, host_rate = \"40 Gb/s\", \
     uplink_rate = \"40 Gb/s\", delay = \"1 us\" } }",
    "switches.default.buffer.size=24 MB",
    "traffic.messages.pattern.random.flows=50000",
];
/// A tenth of the traffic of network 1, as dense.
const TENTH: &[&str] =
    &["traffic.messages.pattern.random.flows=1000", "traffic.messages.pattern.random.within=200 us"];
/// Network 2 in small: as many uplinks as hosts in each rack, and as many flows of each host.
const SMALL: &[&str] = &[
    "topology={ leaf_spine = { racks = 8, hosts_per_rack = 8, spines = 8, host_rate = \"40 Gb/s\", uplink_rate = \"40 Gb/s\", \
     delay = \"1 us\" } }",
    "switches.default.buffer.size=6 MB",
    "traffic.messages.pattern.random.flows=1562",
];

/// Senders of the incast, and all they send together.
const FAN_IN: [u64; 5] = [2, 4, 6, 8, 10];
const INCAST_KB: u64 = 10_000;

fn experiments() -> Vec<Experiment> {
    let mut all = Vec::new();
    let all_schemes = || LOSSLESS.iter().chain(&TOGETHER);
    all.extend(all_schemes().map(|scheme| network("n1", scheme, &[], Some(TENTH))));
    all.extend(LOSSLESS[..4].iter().map(|scheme| network("n1k", scheme, NETWORK_1K, None)));
    all.extend(LOSSLESS[..4].iter().map(|scheme| network("n2", scheme, NETWORK_2, Some(SMALL))));
    all.extend(LOSSLESS[..4].iter().map(|scheme| network("small", scheme, SMALL, None)));
    for fan_in in FAN_IN {
        all.extend(
            all_schemes().map(|scheme| victim("incast", scheme.row, fan_in, scheme.overrides(&GROUPS))),
        );
    }
    let wide = ["topology.leaf_spine.uplink_rate=400 Gb/s".to_owned()];
    all.extend(all_schemes().map(|scheme| {
        let overrides = scheme.overrides(&GROUPS);
        victim("wide", scheme.row, 10, overrides.into_iter().chain(wide.clone()).collect())
    }));
    let idle = || vec!["traffic.storm.start=20 ms".to_owned()];
    all.push(victim("incast", "idle", 10, idle()));
    all.push(victim("wide", "idle", 10, idle().into_iter().chain(wide.clone()).collect()));
    all
}

fn network(group: &str, scheme: &Scheme, network: &[&str], quick: Option<&[&str]>) -> Experiment {
    Experiment {
        name: format!("{group}.{}", scheme.row),
        scenario: NETWORKS,
        overrides: owned(network).into_iter().chain(scheme.overrides(&["messages"])).collect(),
        quick: quick.map(owned),
        quantities: NETWORK,
        series: NETWORK_SERIES,
        measure: measure::network,
    }
}

const GROUPS: [&str; 2] = ["storm", "victim"];

/// An incast of half as many senders in each of two racks, and a victim.
fn victim(group: &str, row: &str, fan_in: u64, scheme: Vec<String>) -> Experiment {
    let senders =
        (0..2).flat_map(|rack| (0..fan_in / 2).map(move |host| format!("\"rack{rack}/host{host}\"")));
    let senders: Vec<_> = senders.collect();
    let incast = format!(
        "traffic.storm.pattern={{ incast = {{ fan_in = {fan_in}, size = \"{} kB\", from = [{}], to = \"rack2/host0\" }} }}",
        INCAST_KB / fan_in,
        senders.join(", ")
    );
    let name = if row == "idle" { format!("{group}.{row}") } else { format!("{group}.{row}_{fan_in}") };
    Experiment {
        name,
        scenario: BESIDE,
        overrides: std::iter::once(incast).chain(scheme).collect(),
        quick: Some(Vec::new()),
        quantities: VICTIM,
        series: VICTIM_SERIES,
        measure: measure::victim,
    }
}

/// A setting of isolation, in all scenarios.
fn isolation(value: &'static str, settings: &[&str]) -> Alternative {
    let overrides = settings.iter().map(|setting| format!("switches.default.isolation.{setting}")).collect();
    Alternative { value, overrides }
}

/// What a setting of isolation might change: small flows and all in a small network 2, and victims.
const WATCHED: [&str; 8] = [
    "small.dvl.tc0_us",
    "small.dvl.mean_us",
    "small.edvl.tc0_us",
    "small.edvl.mean_us",
    "incast.dvl_10.victim_us",
    "incast.edvl_10.victim_us",
    "wide.dvl_10.victim_us",
    "wide.edvl_10.victim_us",
];

fn parameters() -> Vec<Parameter> {
    let setting =
        |name, value, why, alternatives| Parameter::varied(name, value, why, alternatives, &WATCHED);
    vec![
        setting(
            "detection threshold",
            "20 kB",
            "Twice what a link of 40 Gb/s and 1 µs holds there and back.",
            vec![
                isolation("10 kB", &["detect=10 kB"]),
                isolation("40 kB", &["detect=40 kB"]),
                isolation("80 kB, stop and go 160 and 120 kB", &["detect=80 kB", "stop=160 kB", "go=120 kB"]),
                isolation("400 kB", &["detect=400 kB"]),
            ],
        ),
        setting(
            "propagation thresholds",
            "20 kB at the port, 20 kB at the input",
            "As much as the detection threshold.",
            vec![
                isolation("5 kB and 5 kB", &["propagate_egress=5 kB", "propagate_ingress=5 kB"]),
                isolation("20 kB and 5 kB", &["propagate_ingress=5 kB"]),
            ],
        ),
        setting(
            "stop and go of isolated flows",
            "60 kB and 40 kB",
            "Above the detection threshold: below it a port of eDVL gives up its queue whenever its neighbour may go on.",
            vec![
                isolation("30 kB and 20 kB", &["stop=30 kB", "go=20 kB"]),
                isolation("30 kB and 20 kB, detection at 40 kB", &["stop=30 kB", "go=20 kB", "detect=40 kB"]),
                isolation("100 kB and 80 kB", &["stop=100 kB", "go=80 kB"]),
            ],
        ),
        setting(
            "share of isolated flows",
            "a tenth, if others wait",
            "The slides do not say how the two queues of a port are served.",
            vec![isolation("half: in turn", &["share=0.5"]), isolation("1 %", &["share=0.01"])],
        ),
        setting(
            "flows named behind a stopped queue",
            "yes",
            "The slides make no difference. Those who wait behind a stopped queue may be victims.",
            vec![isolation("no", &["spare_stopped=true"])],
        ),
        setting(
            "what a stop of isolated flows stops",
            "DVL: them; eDVL: the other queue as well, while markings are under way",
            "\"If marking is active in the CFQ and nCFQ, flow control from downstream switches will pause both queues (enhanced DVL)\".",
            vec![
                isolation("them alone", &["joint_stop=never"]),
                isolation("the other queue while flows move back", &["joint_stop=while_closing"]),
                isolation("the other queue while markings are under way", &["joint_stop=with_markings"]),
            ],
        ),
        setting(
            "how long a flow that was named stays isolated where nothing of it waits",
            "100 µs",
            "It decides how soon network cards forget. The slides do not speak of them.",
            vec![isolation("10 µs", &["idle_life=10 us"]), isolation("1 ms", &["idle_life=1 ms"])],
        ),
        setting(
            "network cards",
            "they listen: what is named waits there, each destination in a queue of its own",
            "\"NICs with as many queues as destinations\". Whether they take messages is open.",
            vec![isolation("they do not", &["hosts=false"])],
        ),
        setting(
            "PFC threshold",
            "1/8 of the free memory, for each link and class",
            "The switches of the HPCC paper. The slides name no threshold.",
            vec![
                Alternative::new("as much as is free", &["switches.default.pfc={ xoff = { alpha = 1.0 } }"]),
                Alternative::new("100 kB", &["switches.default.pfc={ xoff = { fixed = \"100 kB\" } }"]),
            ],
        ),
        Parameter {
            name: "table of isolated flows",
            value: "64 for each port",
            why: "The slides do not say how many. In network 1 with 64 hosts this decides: 10 000 flows in 2 ms are more than fit.",
            alternatives: vec![isolation("8", &["table=8"]), isolation("1024", &["table=1024"])],
            watched: owned(&[
                "n1.dvl.tc0_us",
                "n1.dvl.mean_us",
                "n1.edvl.tc0_us",
                "n1.edvl.mean_us",
                "small.dvl.tc0_us",
                "small.edvl.tc0_us",
                "incast.dvl_10.victim_us",
                "incast.edvl_10.victim_us",
            ]),
        },
        Parameter {
            name: "what the percentages count",
            value: "flows, uniform within a class",
            why: "\"of overall traffic\" may mean either. Counting flows the mean is 775 kB, counting bytes 70 kB.",
            alternatives: vec![
                Alternative::new("bytes", &["traffic.messages.pattern.random.sizes=dvl_bytes"]),
                Alternative::new("flows, log-uniform", &["traffic.messages.pattern.random.sizes=dvl_log"]),
            ],
            watched: owned(&[
                "small.pfc.tc0_us",
                "small.ecn.tc0_us",
                "small.dvl.tc0_us",
                "small.edvl.tc0_us",
            ]),
        },
        Parameter {
            name: "ECN",
            value: "DCQCN with marking, both as in its paper",
            why: "The slides say \"ECN\".",
            alternatives: vec![Alternative::new(
                "as network cards have it, marking from 160 to 640 kB",
                &[
                    "traffic.messages.cc={ dcqcn = { variant = \"vendor\" } }",
                    "switches.default.marking={ red = { min = \"160 kB\", max = \"640 kB\", max_p = 0.2, weight = 1.0, \
                     spread = false, action = \"mark_only\" } }",
                ],
            )],
            watched: owned(&[
                "n1.ecn.tc0_us",
                "n1.ecn.tc1_us",
                "n1.ecn.mean_us",
                "small.ecn.tc0_us",
                "small.ecn.mean_us",
            ]),
        },
        Parameter {
            name: "acknowledgements",
            value: "one for 64 packets",
            why: "Nothing is lost, so they only tell a sender that it has ended.",
            alternatives: vec![Alternative::new(
                "one for each packet",
                &["traffic.messages.rdma.ack_every=1"],
            )],
            watched: owned(&[
                "small.pfc.tc0_us",
                "small.ecn.tc0_us",
                "small.dvl.tc0_us",
                "small.edvl.tc0_us",
            ]),
        },
        Parameter::fixed(
            "network 1",
            "48 switches of 8 ports in three stages, 64 hosts",
            "\"1024-node CLOS of 3 stages (48 8-port switches)\" cannot be: 48 switches of 8 ports in three stages are 64 hosts. \
             With 1024 hosts it is taken for 48 switches of 64 ports in two stages.",
        ),
        Parameter::fixed(
            "sensitivity",
            "network 2 with 64 hosts and as many flows of each (small), ten senders (incast, wide)",
            "The whole of network 2 takes thirty times as long. What the table of isolated flows does shows in network 1.",
        ),
    ]
}
