//! GEMINI: Zeng et al., ICNP 2019, and the rivals it was measured against.
//!
//! The paper gives the network, buffers, thresholds and workloads. What it leaves open is in the parameters below.

mod figures;
mod measure;
mod theorem;

use self::measure::{COMPLETION, CONVERGENCE, FAIRNESS, THROUGHPUT};
use super::{Alternative, Experiment, Measure, Paper, Parameter, cc, claims, owned};

pub(super) fn paper() -> Paper {
    Paper {
        name: "gemini".into(),
        title: "Congestion Control for Cross-Datacenter Networks".into(),
        source: "G. Zeng, W. Bai, G. Chen, K. Chen, D. Han, Y. Zhu, L. Cui, IEEE ICNP 2019".into(),
        about: "Two data centers, each with two switches that a border router joins, 200 µs inside and 10 ms between them. \
                Shallow shared buffers inside, deep ones at the border. GEMINI is compared with CUBIC (with and without ECN), \
                DCTCP, Vegas with two settings and BBR: long flows that meet inside a data center, on the WAN, or on links of \
                very different lengths, and web search traffic that loads the WAN to 90 %, at 1 and 10 Gb/s.".into(),
        claims: claims::read("gemini", include_str!("../../repro/gemini/claims.toml")),
        figures: figures::figures(),
        experiments: experiments(),
        parameters: parameters(),
        ..Paper::default()
    }
}

/// The network with a load, as one scenario.
macro_rules! scenario {
    ($load:literal) => {
        concat!(
            include_str!("../../repro/gemini/network.toml"),
            "\n",
            include_str!(concat!("../../repro/gemini/", $load, ".toml"))
        )
    };
}

/// Long flows that meet inside a data center.
const DCN: &str = scenario!("dcn");

/// A full packet on the wire.
const PACKET: u64 = 1538;

/// A control as the paper sets it up: its row, the control, and the marking threshold of switches in packets at 1 Gb/s.
#[derive(Clone, Copy)]
struct Scheme {
    row: &'static str,
    cc: &'static str,
    threshold: u64,
}

const GEMINI: Scheme = scheme("gemini", "{ gemini = {} }", 50);
const CUBIC: Scheme = scheme("cubic", "{ cubic = {} }", 300);
const CUBIC_ECN: Scheme = scheme("cubic_ecn", "{ cubic = { ecn = true } }", 300);
const DCTCP: Scheme = scheme("dctcp", "{ dctcp = {} }", 300);
const VEGAS: Scheme = scheme("vegas", "{ vegas = { variant = \"linux\" } }", 300);
/// Vegas with alpha and beta so many times as large: Figures 4 and 6.
const VEGAS_SCALED: [(u64, Scheme); 4] = [
    (5, scheme("vegas5", "{ vegas = { variant = \"linux\", alpha = 10.0, beta = 20.0 } }", 300)),
    (10, scheme("vegas10", "{ vegas = { variant = \"linux\", alpha = 20.0, beta = 40.0 } }", 300)),
    (15, scheme("vegas15", "{ vegas = { variant = \"linux\", alpha = 30.0, beta = 60.0 } }", 300)),
    (20, scheme("vegas20", "{ vegas = { variant = \"linux\", alpha = 40.0, beta = 80.0 } }", 300)),
];
const VEGAS_10: Scheme = VEGAS_SCALED[1].1;
const BBR: Scheme = scheme("bbr", "{ bbr = { equal_rtt_renews = true, ack_aggregation = false } }", 300);

const fn scheme(row: &'static str, cc: &'static str, threshold: u64) -> Scheme {
    Scheme { row, cc, threshold }
}

/// Linux sends and acknowledges in bursts of about a millisecond: segmentation offload (sk_pacing_rate/1024) and receive
/// offload. An acknowledgment for up to 16 segments within a millisecond makes senders do the same.
const BURSTS: &[&str] = &["transport.ack_every=16", "transport.ack_delay=1 ms"];

/// Thresholds of Figures 5 and 9, in packets.
const THRESHOLDS: [u64; 5] = [20, 40, 80, 160, 320];
/// T in milliseconds and beta in tenths, Figure 10. The axis of the figure is not preserved.
const DELAY_THRESHOLDS: [u64; 4] = [1, 2, 5, 8];
const BETAS: [u64; 3] = [2, 4, 6];
/// Round trips between data centers as multiples of 200 µs, Figure 12.
const MULTIPLES: [u64; 5] = [4, 8, 16, 32, 64];

fn experiments() -> Vec<Experiment> {
    let mut all = inside();
    all.extend(wan());
    all.extend(convergence());
    all.extend(fairness());
    all.extend(workloads());
    all.extend(theorem::experiments());
    all
}

/// Switches that mark above so many packets.
fn marking(packets: u64) -> String {
    format!("switches.tor.marking.step.k={} B", packets * PACKET)
}

/// A round trip between data centers, in microseconds. What is not propagation on the WAN takes 408 µs of it.
fn base_rtt(us: u64) -> String {
    format!("topology.cross_dc.wan.delay={} us", (us - 408) / 2)
}

/// Figures 5 and 9: long flows that meet at a link inside a data center.
fn inside() -> Vec<Experiment> {
    let mut all = Vec::new();
    for k in THRESHOLDS {
        let gemini = format!("{{ gemini = {{ delay = false, marking_threshold = \"{} B\" }} }}", k * PACKET);
        for (control, place) in
            [(DCTCP.cc, "intra"), (DCTCP.cc, "inter"), (&gemini, "intra"), (&gemini, "inter")]
        {
            let name = if control == DCTCP.cc { "dctcp" } else { "gemini" };
            let mut overrides = vec![cc("many", control), marking(k)];
            overrides.extend(owned(BURSTS));
            if place == "intra" {
                overrides.push("traffic.many.pattern.long_lived.to=dc0/rack0/host11".into());
            }
            all.push(Experiment {
                name: format!("dcn.{name}_{place}_{k}"),
                scenario: DCN.into(),
                overrides,
                quick: [20, 320].contains(&k).then(|| owned(&["stop.after=3 s", "measure.from=1 s"])),
                quantities: owned(THROUGHPUT),
                series: Vec::new(),
                measure: Measure::Rust(measure::throughput),
            });
        }
    }
    all
}

/// Figure 10: long flows that meet on the WAN.
fn wan() -> Vec<Experiment> {
    let experiment = |row: String, control: &str, quick: bool| Experiment {
        name: format!("wan.{row}"),
        scenario: scenario!("wan").into(),
        overrides: vec![cc("many", control), marking(GEMINI.threshold)]
            .into_iter()
            .chain(owned(if row == "cubic" {
                // A deep buffer takes long to fill.
                &["stop.after=120 s", "measure.from=60 s"]
            } else {
                &["stop.after=60 s", "measure.from=30 s"]
            }))
            .collect(),
        quick: quick.then(|| owned(&["stop.after=8 s", "measure.from=4 s"])),
        quantities: owned(THROUGHPUT),
        series: Vec::new(),
        measure: Measure::Rust(measure::throughput),
    };
    let mut all = vec![experiment("cubic".into(), CUBIC.cc, true)];
    for t in DELAY_THRESHOLDS {
        for beta in BETAS {
            let control = format!("{{ gemini = {{ delay_threshold = \"{t} ms\", beta = 0.{beta} }} }}");
            all.push(experiment(format!("t{t}_beta{beta}"), &control, (t, beta) == (5, 2)));
        }
    }
    all
}

/// Figure 11: three groups of flows, one after the other.
fn convergence() -> Vec<Experiment> {
    let experiment = |scheme: &Scheme| Experiment {
        name: format!("convergence.{}", scheme.row),
        scenario: scenario!("convergence").into(),
        overrides: ["first", "second", "third"]
            .map(|group| cc(group, scheme.cc))
            .into_iter()
            .chain([marking(scheme.threshold)])
            .chain(owned(&["stop.after=150 s", "measure.from=0 s"]))
            .collect(),
        quick: None,
        quantities: owned(CONVERGENCE),
        series: owned(&["first", "second", "third"]),
        measure: Measure::Rust(measure::convergence),
    };
    [GEMINI, CUBIC, DCTCP, BBR, VEGAS].iter().map(experiment).collect()
}

/// Figure 12: flows whose round trips differ share a link.
fn fairness() -> Vec<Experiment> {
    let mut all = Vec::new();
    for multiple in MULTIPLES {
        let delay = base_rtt(multiple * 200);
        for scheme in [GEMINI, CUBIC, DCTCP, BBR] {
            // "All ECN-enabled protocols adopt the same ECN threshold of 300 packets".
            let k = format!("{{ gemini = {{ marking_threshold = \"{} B\" }} }}", 300 * PACKET);
            let control = if scheme.row == GEMINI.row { &k } else { scheme.cc };
            all.push(Experiment {
                name: format!("fairness.{}_{multiple}", scheme.row),
                scenario: scenario!("fairness").into(),
                overrides: [cc("intra", control), cc("inter", control), marking(300), delay.clone()]
                    .into_iter()
                    .chain(owned(&["stop.after=60 s", "measure.from=20 s"]))
                    .collect(),
                quick: (multiple == 64).then(|| owned(&["stop.after=10 s", "measure.from=5 s"])),
                quantities: owned(FAIRNESS),
                series: Vec::new(),
                measure: Measure::Rust(measure::fairness),
            });
        }
    }
    all
}

/// Ten times the rates, and the buffers of the testbed at 10 Gb/s.
const TEN_GIGABIT: &[&str] = &[
    "topology.cross_dc.wan.rate=10 Gb/s",
    "topology.cross_dc.fabric.leaf_spine.host_rate=10 Gb/s",
    "topology.cross_dc.fabric.leaf_spine.uplink_rate=10 Gb/s",
    "switches.tor.buffer={ size = \"16 MB\", sharing = { dynamic = { alpha = 1.0 } } }",
    "switches.border.buffer={ size = \"123040 kB\", sharing = \"per_port\" }",
];
/// From one data center to the other, or from any host to any other.
const MIXED: &str = "traffic.search.pattern.poisson.between=any";
/// Eight hosts in each data center: 90 % of the WAN are 11.25 % of a host's link and 45 % of a switch's, as the paper says.
const FOUR_PER_RACK: &str = "topology.cross_dc.fabric.leaf_spine.hosts_per_rack=4";

/// Figures 4 and 13 to 16, Table II: web search traffic.
fn workloads() -> Vec<Experiment> {
    let schemes = || [GEMINI, CUBIC, CUBIC_ECN, DCTCP, VEGAS, VEGAS_10, BBR];
    let mut all = Vec::new();
    for (group, mixed, fast) in
        [("p1", false, false), ("p2", true, false), ("p1x", false, true), ("p2x", true, true)]
    {
        let experiment = |row: &str, scheme: &Scheme, more: &[&str]| {
            let factor = if fast { 10 } else { 1 };
            // Connections of the traffic generator last: their base round-trip time is that of the idle network.
            let known = "{ gemini = { max_base_rtt = \"10 ms\" } }";
            let control = if scheme.row == GEMINI.row { known } else { scheme.cc };
            let mut overrides = vec![cc("search", control), marking(scheme.threshold * factor)];
            overrides.push(FOUR_PER_RACK.to_owned());
            overrides.extend(mixed.then(|| MIXED.to_owned()));
            overrides.extend(owned(if fast { TEN_GIGABIT } else { &[] }));
            // 20 000 flows of pattern 1 at 1 Gb/s, half as many of the others.
            let times = match (mixed, fast) {
                (false, false) => [
                    "stop={ after = \"170 s\", drain = \"30 s\" }",
                    "measure={ from = \"5 s\", until = \"165 s\" }",
                ],
                (true, false) => [
                    "stop={ after = \"70 s\", drain = \"20 s\" }",
                    "measure={ from = \"5 s\", until = \"65 s\" }",
                ],
                (_, true) => [
                    "stop={ after = \"8 s\", drain = \"2 s\" }",
                    "measure={ from = \"500 ms\", until = \"7500 ms\" }",
                ],
            };
            overrides.extend(owned(&times));
            overrides.extend(owned(more));
            let short =
                ["stop={ after = \"8 s\", drain = \"4 s\" }", "measure={ from = \"1 s\", until = \"8 s\" }"];
            Experiment {
                name: format!("{group}.{row}"),
                scenario: scenario!("workload").into(),
                overrides,
                quick: (group == "p1" && more.is_empty()).then(|| owned(&short)),
                quantities: owned(COMPLETION),
                series: Vec::new(),
                measure: Measure::Rust(measure::completion),
            }
        };
        all.extend(schemes().iter().map(|scheme| experiment(scheme.row, scheme, &[])));
        if group == "p1" {
            let no_wan = "topology.cross_dc.wan.delay=0 us";
            all.push(experiment("cubic_paced", &CUBIC, &["transport.pace_windows=true"]));
            all.push(experiment("cubic_ecn_near", &CUBIC_ECN, &[no_wan]));
            all.push(experiment("dctcp_near", &DCTCP, &[no_wan]));
            let others = VEGAS_SCALED.iter().filter(|(_, scheme)| scheme.row != VEGAS_10.row);
            all.extend(
                others.map(|(_, scheme)| Experiment { quick: None, ..experiment(scheme.row, scheme, &[]) }),
            );
        }
    }
    all
}

fn parameters() -> Vec<Parameter> {
    vec![
        Parameter {
            name: "bursts of hosts".into(),
            value: "Figures 5 and 9: an acknowledgment for up to 16 segments within 1 ms; elsewhere for every second segment".into(),
            why: "The hosts of the paper (Linux 4.9) send a millisecond's worth of segments at once (segmentation offload) \
                  and merge what arrives (receive offload). Without bursts DCTCP hardly suffers from a threshold of 20 \
                  packets, as its theory says; the reported loss of 70 % needs them. Bursts made by late acknowledgments \
                  add to round-trip times, though, of slow flows more than of fast ones, so they are of no use where delay \
                  decides.".into(),
            fitted: Vec::new(),
            alternatives: vec![
                Alternative::new("for every second segment", &["transport.ack_every=2"]),
                Alternative::new(
                    "for up to 44 segments (64 kB) within 5 ms",
                    &["transport.ack_every=44", "transport.ack_delay=5 ms"],
                ),
            ],
            watched: owned(&[
                "dcn.dctcp_inter_20.throughput_mbps",
                "dcn.gemini_inter_20.throughput_mbps",
                "dcn.dctcp_inter_320.throughput_mbps",
                "dcn.gemini_inter_320.throughput_mbps",
            ]),
        },
        Parameter {
            name: "long flows".into(),
            value: "10 from five hosts".into(),
            why: "The paper says many-to-one.".into(),
            fitted: Vec::new(),
            alternatives: vec![
                Alternative::new("4", &["traffic.many.pattern.long_lived.flows=4"]),
                Alternative::new("30", &["traffic.many.pattern.long_lived.flows=30"]),
            ],
            watched: owned(&[
                "dcn.dctcp_inter_20.throughput_mbps",
                "dcn.gemini_inter_20.throughput_mbps",
                "wan.t5_beta2.throughput_mbps",
                "wan.t5_beta2.rtt_ms",
            ]),
        },
        Parameter {
            name: "largest F".into(),
            value: "0.5".into(),
            why: "Theorem 1 bounds F by 4K/(C·RTT + K), which exceeds 1/2 on short paths; the text says that it is 1/2 for a \
                  path with K = C·RTT/7, \"exactly matching\" DCTCP.".into(),
            fitted: Vec::new(),
            alternatives: vec![Alternative::new(
                "4, no cap",
                &["traffic.intra.cc.gemini.max_scale=4.0", "traffic.inter.cc.gemini.max_scale=4.0"],
            )],
            watched: owned(&["fairness.gemini_4.intra_over_inter", "fairness.gemini_64.intra_over_inter"]),
        },
        Parameter {
            name: "acknowledgments".into(),
            value: "for every second segment".into(),
            why: "Delay is measured with them.".into(),
            fitted: Vec::new(),
            alternatives: vec![Alternative::new(
                "up to 16 segments within 1 ms",
                &["transport.ack_every=16"],
            )],
            watched: owned(&[
                "convergence.gemini.jain_wan",
                "fairness.gemini_4.intra_over_inter",
                "fairness.gemini_64.intra_over_inter",
                "wan.t5_beta2.rtt_ms",
            ]),
        },
        Parameter {
            name: "connections of the workloads".into(),
            value: "GEMINI knows that the base round-trip time is at most 10 ms".into(),
            why: "The traffic generator of the paper keeps its connections. They have seen the network idle. A new connection \
                  per flow measures queues into its base, tolerates more, and crowds out flows that know better.".into(),
            fitted: Vec::new(),
            alternatives: vec![Alternative::new(
                "each flow measures it",
                &["traffic.search.cc={ gemini = {} }"],
            )],
            watched: owned(&["p1.gemini.small_ms", "p1.gemini.large_ms", "p1.gemini.all_ms"]),
        },
        Parameter {
            name: "receive window".into(),
            value: "3 MB".into(),
            why: "Linux: half of the 6 MB of tcp_rmem.".into(),
            fitted: Vec::new(),
            alternatives: vec![Alternative::new(
                "without bound",
                &["traffic.search.transport.receive_window=1 GB"],
            )],
            watched: owned(&["p1.cubic.dcn_loss", "p1.cubic.wan_loss", "p1.cubic.small_ms"]),
        },
        Parameter::fixed(
            "hosts of the workloads",
            "eight in each data center",
            "90 % of the WAN link are 11.25 % of a host's link and 45 % of a switch's link to the border, as the paper \
             says of traffic pattern 1. Pattern 2 then loads the latter with 67.5 %, as it says too.",
        ),
        Parameter::fixed(
            "thresholds at 10 Gb/s",
            "ten times those at 1 Gb/s",
            "GEMINI's is given per Gb/s; for the others the paper names 300 packets only.",
        ),
        Parameter::fixed(
            "buffers of the switches",
            "4 MB with dynamic thresholds, alpha 0.21; at 10 Gb/s 16 MB, alpha 1",
            "One congested port gets 450 packets, as the paper measured. Of the switch at 10 Gb/s it gives the size only.",
        ),
        Parameter::fixed(
            "round trips",
            "43 µs for each link inside a data center, 4.796 ms across",
            "200 µs inside a rack and 10 ms between data centers, with the times to send a full packet.",
        ),
    ]
}
