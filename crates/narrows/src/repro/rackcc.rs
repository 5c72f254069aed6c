//! RackCC: Zhuo et al., HotNets 2016.
//!
//! The paper has an analysis of the fast start (Figure 2), a small simulation (Figure 3) and examples in its text. The curves of its
//! figures are lost, so that claims are what the words say.

mod figures;
mod measure;
mod model;

use self::measure::{CHURN, COOPERATION, INCAST, MAX_MIN, MAX_MIN_SERIES, MODEL, SHARED_LINK, START, WAN};
use super::{Alternative, Experiment, Paper, Parameter, owned};

pub(super) const PAPER: Paper = Paper {
    name: "rackcc",
    title: "RackCC: Rack-level Congestion Control",
    source: "D. Zhuo, Q. Zhang, V. Liu, A. Krishnamurthy, T. Anderson, HotNets 2016",
    about: "All connections from one rack to another share their congestion state. Two racks under RackCC stand beside two under \
            DCTCP in the same network, so that each run gives a ratio: the start of new connections beside long ones, as a model and \
            packet by packet; twenty-five connections of five servers to five others in a fat tree; shares of a link, of access links \
            and among subflows; incasts; flows that come and go. Beyond the paper: the shared state over a WAN, under the rules of DCTCP \
            and of GEMINI.",
    claims: include_str!("../../repro/rackcc/claims.toml"),
    figures: figures::figures,
    experiments,
    parameters,
};

const RACKS: &str = include_str!("../../repro/rackcc/racks.toml");
const TREE: &str = include_str!("../../repro/rackcc/tree.toml");
const LINK: &str = include_str!("../../repro/rackcc/shared-link.toml");
const ACCESS: &str = include_str!("../../repro/rackcc/max-min.toml");
const ANSWERS: &str = include_str!("../../repro/rackcc/incast.toml");
const COME_AND_GO: &str = include_str!("../../repro/rackcc/churn.toml");
const FAR: &str = include_str!("../../repro/rackcc/wan.toml");

/// Sizes of new connections in kB, beside eight; and how many long connections there are, beside new ones of 100 kB.
const SIZES: [u64; 6] = [10, 30, 100, 300, 1000, 3000];
const LONG: [u64; 5] = [2, 4, 8, 16, 32];
/// Subflows, aggregation periods in µs and sizes in kB of Figure 3.
const SUBFLOWS: [u64; 6] = [5, 10, 25, 50, 100, 200];
const PERIODS: [u64; 6] = [1, 10, 30, 100, 300, 1000];
const FLOW_SIZES: [u64; 6] = [30, 75, 150, 500, 1500, 5000];
/// Connections of each kind at a shared link.
const SHARES: [u64; 4] = [2, 5, 10, 20];
/// Senders of an incast.
const FAN_IN: [u64; 4] = [5, 10, 20, 40];
/// Load of flows that come and go, in percent.
const LOADS: [u64; 3] = [30, 60, 80];
/// Controls over the WAN.
const OVER_WAN: [(&str, &str); 4] = [
    ("dctcp", "{ dctcp = {} }"),
    ("gemini", "{ gemini = { max_base_rtt = \"10 ms\" } }"),
    ("rackcc", "{ rackcc = {} }"),
    ("rackcc_gemini", "{ rackcc = { rule = { gemini = {} } } }"),
];

fn experiments() -> Vec<Experiment> {
    let mut all = vec![Experiment {
        name: "model.reported".into(),
        scenario: ACCESS,
        overrides: owned(&["stop.after=1 ms", "measure.from=0 s", "record={}"]),
        quick: Some(Vec::new()),
        quantities: MODEL,
        series: &[],
        measure: measure::model,
    }];
    let start = |row: String, overrides: Vec<String>, quick: bool| Experiment {
        name: format!("start.{row}"),
        scenario: RACKS,
        overrides,
        quick: quick.then(|| owned(&["stop.after=60 ms"])),
        quantities: START,
        series: &[],
        measure: measure::start,
    };
    for size in SIZES {
        all.push(start(format!("s{size}"), new_connections(size), size == 100));
    }
    for long in LONG.into_iter().filter(|long| *long != 8) {
        let flows =
            ["alone", "shared"].map(|kind| format!("traffic.{kind}_long.pattern.long_lived.flows={long}"));
        all.push(start(format!("n{long}"), flows.to_vec(), false));
    }
    // The set of numbers with which the model gives what the paper reports, with one throughput instead of a distribution.
    let mut far = owned(&[
        "topology.leaf_spine={ racks = 4, hosts_per_rack = 10, spines = 1, host_rate = \"100 Gb/s\", uplink_rate = \"100 Gb/s\", \
         delay = \"61 us\" }",
        "switches.default.buffer.size=6250 kB",
        "switches.default.marking.step.k=3125 kB",
        "transport.min_rto=2 ms",
        "transport.receive_window=30 MB",
        "stop.after=900 ms",
        "measure.from=300 ms",
    ]);
    far.extend(new_connections(150));
    far.extend(["alone", "shared"].map(|kind| format!("traffic.{kind}_short.start=250 ms")));
    far.extend(
        ["alone", "shared"].map(|kind| {
            format!("traffic.{kind}_short.pattern.closed_loop.think={{ exponential = \"4 ms\" }}")
        }),
    );
    all.push(start("far".into(), far, false));
    all.extend(cooperation());
    all.extend(beside());
    all
}

/// Both clients send connections of this size.
fn new_connections(kb: u64) -> Vec<String> {
    let sizes =
        |kind: &str| format!("traffic.{kind}_short.pattern.closed_loop.sizes={{ constant = \"{kb} kB\" }}");
    ["alone", "shared"].map(sizes).to_vec()
}

/// Figure 3. The default of each sweep is 25 subflows, 10 µs and 150 kB.
fn cooperation() -> Vec<Experiment> {
    let experiment = |row: String, overrides: Vec<String>, quick: bool| Experiment {
        name: format!("coop.{row}"),
        scenario: TREE,
        overrides,
        quick: quick.then(Vec::new),
        quantities: COOPERATION,
        series: &[],
        measure: measure::cooperation,
    };
    let both = |key: &str, value: String| {
        ["alone", "shared"].map(|kind| format!("traffic.{kind}.pattern.long_lived.{key}={value}")).to_vec()
    };
    let mut all = Vec::new();
    all.extend(
        SUBFLOWS.map(|flows| experiment(format!("n{flows}"), both("flows", flows.to_string()), flows <= 25)),
    );
    all.extend(PERIODS.map(|us| {
        let period = format!("switches.default.rack_agent.jumboflow.period={us} us");
        experiment(format!("p{us}"), vec![period], us == 1000)
    }));
    all.extend(
        FLOW_SIZES.map(|kb| experiment(format!("s{kb}"), both("size", format!("{kb} kB")), kb <= 150)),
    );
    all
}

/// What the text describes, and what lies beyond the paper.
fn beside() -> Vec<Experiment> {
    let mut all = Vec::new();
    for flows in SHARES {
        let number = |kind: &str| format!("traffic.{kind}.pattern.long_lived.flows={flows}");
        all.push(Experiment {
            name: format!("link.n{flows}"),
            scenario: LINK,
            overrides: ["alone", "shared"].map(number).to_vec(),
            quick: (flows == 10).then(|| owned(&["stop.after=60 ms"])),
            quantities: SHARED_LINK,
            series: &[],
            measure: measure::shared_link,
        });
    }
    all.push(Experiment {
        name: "access.2_6_10".into(),
        scenario: ACCESS,
        overrides: Vec::new(),
        quick: Some(Vec::new()),
        quantities: MAX_MIN,
        series: MAX_MIN_SERIES,
        measure: measure::max_min,
    });
    for fan_in in FAN_IN {
        let number = |kind: &str| format!("traffic.{kind}.pattern.incast.fan_in={fan_in}");
        all.push(Experiment {
            name: format!("incast.f{fan_in}"),
            scenario: ANSWERS,
            overrides: ["alone", "shared"].map(number).to_vec(),
            quick: (fan_in == 20).then(|| owned(&["stop.after=60 ms"])),
            quantities: INCAST,
            series: &[],
            measure: measure::incast,
        });
    }
    for load in LOADS {
        let number = |kind: &str| format!("traffic.{kind}.pattern.poisson.load={}", load as f64 / 1000.0);
        all.push(Experiment {
            name: format!("churn.load{load}"),
            scenario: COME_AND_GO,
            overrides: ["alone", "shared"].map(number).to_vec(),
            quick: (load == 60).then(|| {
                owned(&[
                    "stop={ after = \"40 ms\", drain = \"40 ms\" }",
                    "measure={ from = \"5 ms\", until = \"35 ms\" }",
                ])
            }),
            quantities: CHURN,
            series: &[],
            measure: measure::churn,
        });
    }
    for (row, control) in OVER_WAN {
        all.push(Experiment {
            name: format!("wan.{row}"),
            scenario: FAR,
            overrides: ["long", "short", "near"].map(|group| super::cc(group, control)).to_vec(),
            quick: None,
            quantities: WAN,
            series: &[],
            measure: measure::wan,
        });
    }
    all
}

/// A setting of the switches, in all scenarios.
fn agent(value: &'static str, setting: &str) -> Alternative {
    Alternative { value, overrides: vec![format!("switches.default.rack_agent.{setting}")] }
}

/// A setting of subflows.
fn subflows(value: &'static str, setting: &str) -> Alternative {
    // In all that is watched the group under RackCC is called `shared`.
    Alternative { value, overrides: vec![format!("traffic.shared.cc.rackcc.{setting}")] }
}

const WATCHED: [&str; 4] =
    ["coop.n25.speedup", "link.n10.ratio", "incast.f20.speedup", "churn.load60.speedup"];

fn parameters() -> Vec<Parameter> {
    let setting =
        |name, value, why, alternatives| Parameter::varied(name, value, why, alternatives, &WATCHED);
    vec![
        setting(
            "what alpha = 0 means",
            "nothing was reported as marked since the subflow looked last",
            "A moving average does not return to zero. With a bound in place of zero its tail cuts rates long after the last mark.",
            vec![
                subflows("alpha below 1/64", "zero={ below = 0.015625 }"),
                subflows("alpha below 0.1", "zero={ below = 0.1 }"),
            ],
        ),
        setting(
            "what f is",
            "a window",
            "§3.1 says window, §5 says rate. With a rate alone nothing slows a subflow down before marks do.",
            vec![subflows("a rate", "control=rate")],
        ),
        setting(
            "gain of alpha",
            "1/16 for each round trip",
            "That of DCTCP. The paper gives none.",
            vec![agent("1/4", "jumboflow.gain=0.25"), agent("1/64", "jumboflow.gain=0.015625")],
        ),
        setting(
            "average of T",
            "1/2 for each round trip",
            "\"Average total throughput\", not over which time.",
            vec![
                agent("the last round trip", "jumboflow.throughput_gain=1.0"),
                agent("1/16", "jumboflow.throughput_gain=0.0625"),
            ],
        ),
        setting(
            "the share of a subflow that ends",
            "the others take it at once",
            "§3.3 only says that N falls. If the others take it by growing, flows that come and go leave the link empty: who joins takes \
             at once, who leaves gives back slowly.",
            vec![agent("the others take it by growing", "jumboflow.fast_end=additive")],
        ),
        setting(
            "a JumboFlow that has not met congestion",
            "its subflows double their rates in each round trip",
            "The paper describes JumboFlows that last. Without this the first flows of two racks grow by a packet in each round trip.",
            vec![subflows("they grow as always", "opening=additive")],
        ),
        setting(
            "pacing",
            "twice the window per round trip",
            "So acknowledgments decide when packets leave, as they do under DCTCP. Packets that are spread evenly find the queue as it is \
             on average; those of DCTCP come when there is room. At exactly the rate of the window subflows get half as much.",
            vec![subflows("1", "pacing=1.0"), subflows("1.2, as in Linux", "pacing=1.2")],
        ),
        setting(
            "d of destinations",
            "120 µs, two round trips",
            "The paper gives none; EyeQ has 200 µs.",
            vec![agent("60 µs", "receivers.interval=60 us"), agent("240 µs", "receivers.interval=240 us")],
        ),
        setting(
            "k and k' of destinations",
            "0.4 and 0.2",
            "Those of RCP's simulations, halved where RCP multiplies with the interval.",
            vec![
                agent("0.8 and 0.2", "receivers.gain=0.8"),
                agent("0.4 and 0.8", "receivers.queue_gain=0.8"),
            ],
        ),
        setting(
            "marks at the last hop",
            "none, as §3.1 says",
            "Then only D keeps senders from the destination's link.",
            vec![agent("subflows are marked there", "mark_last_hop=true")],
        ),
        Parameter::fixed(
            "the throughput of JumboFlows in Figure 2",
            "exponential with a mean of 100 Gb/s, eight connections, 500 µs, 150 kB",
            "The mean is not given. These numbers give the reported 3.2 and 1.3 together; what decides is the mean window of a share, 694 kB.",
        )
        .fitted(&["r1", "r2"]),
        Parameter::fixed(
            "link rate",
            "10 Gb/s",
            "The text's example (§3.2). A buffer of the bandwidth-delay product is then 75 kB.",
        ),
        Parameter::fixed(
            "handshakes",
            "both DCTCP and RackCC have them",
            "The model of §4.1 has none: RackCC waits L round trips and TCP begins at once. With packets RackCC learns its share with the \
             answer to its SYN, which TCP awaits too.",
        ),
    ]
}
