//! GEMINI: Zeng et al., ICNP 2019, and the rivals it was measured against.
//!
//! The paper gives the network, buffers, thresholds and workloads. What it leaves open is in the parameters below.

mod figures;
mod measure;
mod parameters;
mod theorem;

use self::measure::{COMPLETION, CONVERGENCE, FAIRNESS, THROUGHPUT};
use super::{Experiment, Measure, Paper, cc, claims, owned};

pub(super) fn paper() -> Paper {
    Paper {
        name: "gemini".into(),
        title: "Congestion Control for Cross-Datacenter Networks".into(),
        source: "G. Zeng, W. Bai, G. Chen, K. Chen, D. Han, Y. Zhu, L. Cui, IEEE ICNP 2019".into(),
        about: "Two data centers, each with two switches that a border router joins, 200 µs inside and 10 ms between them. \
                Shallow shared buffers inside, deep ones at the border. GEMINI is compared with CUBIC (with and without ECN), \
                DCTCP, Vegas with two settings and BBR: long flows that meet inside a data center, on the WAN, or on links of \
                very different lengths, and web search traffic that loads the WAN to 90 %, at 1 and 10 Gb/s. Hosts are real ones \
                with the constants of Linux 4.9, the kernel of the paper; in Theorem 1 they are ideal. Figures 5 to 13 and 15 are \
                of the testbed with 1 Gb/s, which the paper shows unless it says otherwise, Figures 14 and 16 of the one with \
                10 Gb/s.".into(),
        claims: claims::read("gemini", include_str!("../../repro/gemini/claims.toml")),
        figures: figures::figures(),
        experiments: experiments(),
        parameters: parameters::parameters(),
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
                &["stop.after=60 s", "measure.from=20 s"]
            } else {
                &["stop.after=20 s", "measure.from=10 s"]
            }))
            .collect(),
        quick: quick.then(|| {
            owned(if row == "cubic" {
                &["stop.after=20 s", "measure.from=12 s"]
            } else {
                &["stop.after=8 s", "measure.from=4 s"]
            })
        }),
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
                    .chain(owned(&["stop.after=40 s", "measure.from=20 s"]))
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

/// Ten times the rates, the buffers of the testbed at 10 Gb/s, and its ten servers, of which two are border routers.
const TEN_GIGABIT: &[&str] = &[
    "topology.cross_dc.wan.rate=10 Gb/s",
    "topology.cross_dc.fabric.leaf_spine.host_rate=10 Gb/s",
    "topology.cross_dc.fabric.leaf_spine.uplink_rate=10 Gb/s",
    "topology.cross_dc.fabric.leaf_spine.hosts_per_rack=2",
    "switches.tor.buffer={ size = \"16 MB\", sharing = { dynamic = { alpha = 1.0 } } }",
    "switches.border.buffer={ size = \"123040 kB\", sharing = \"per_port\" }",
];
/// From one data center to the other, or from any host to any other.
const MIXED: &str = "traffic.search.pattern.poisson.between=any";
/// Eight hosts in each data center: 90 % of the WAN are 11.25 % of a host's link and 45 % of a switch's, as the paper says.
const FOUR_PER_RACK: &str = "topology.cross_dc.fabric.leaf_spine.hosts_per_rack=4";
/// No propagation delay on the WAN, for "inter-DC link delay set to 0".
const NO_WAN: &str = "topology.cross_dc.wan.delay=0 us";

/// A workload: the group of its experiments, whether any host sends to any other, and whether it is the testbed with 10 Gb/s.
#[derive(Clone, Copy)]
struct Workload {
    group: &'static str,
    mixed: bool,
    fast: bool,
}

impl Workload {
    const ALL: [Self; 4] = [
        Self { group: "p1", mixed: false, fast: false },
        Self { group: "p2", mixed: true, fast: false },
        Self { group: "p1x", mixed: false, fast: true },
        Self { group: "p2x", mixed: true, fast: true },
    ];

    /// When flows stop, and which count. Connections have learned their thresholds by then: see the parameter.
    fn times(self) -> &'static [&'static str] {
        match (self.mixed, self.fast) {
            (false, false) => &[
                "stop={ after = \"95 s\", drain = \"20 s\" }",
                "measure={ from = \"50 s\", until = \"90 s\" }",
            ],
            (true, false) => &[
                "stop={ after = \"75 s\", drain = \"15 s\" }",
                "measure={ from = \"40 s\", until = \"70 s\" }",
            ],
            (_, true) => &[
                "stop={ after = \"7 s\", drain = \"2 s\" }",
                "measure={ from = \"4 s\", until = \"6700 ms\" }",
            ],
        }
    }

    fn experiment(self, row: &str, scheme: &Scheme, more: &[&str]) -> Experiment {
        let factor = if self.fast { 10 } else { 1 };
        // Connections are opened while the network is idle: see the parameter.
        let known = "{ gemini = { max_base_rtt = \"10 ms\" } }";
        let control = if scheme.row == GEMINI.row { known } else { scheme.cc };
        let mut overrides = vec![cc("search", control), marking(scheme.threshold * factor)];
        overrides.push(FOUR_PER_RACK.to_owned());
        overrides.extend(self.mixed.then(|| MIXED.to_owned()));
        overrides.extend(owned(if self.fast { TEN_GIGABIT } else { &[] }));
        overrides.extend(owned(self.times()));
        overrides.extend(owned(more));
        let short =
            ["stop={ after = \"45 s\", drain = \"8 s\" }", "measure={ from = \"25 s\", until = \"43 s\" }"];
        Experiment {
            name: format!("{}.{row}", self.group),
            scenario: scenario!("workload").into(),
            overrides,
            quick: (self.group == "p1" && more.is_empty()).then(|| owned(&short)),
            quantities: owned(COMPLETION),
            series: Vec::new(),
            measure: Measure::Rust(measure::completion),
        }
    }
}

/// Figures 4 and 13 to 16, Table II: web search traffic.
fn workloads() -> Vec<Experiment> {
    let schemes = [GEMINI, CUBIC, CUBIC_ECN, DCTCP, VEGAS, VEGAS_10, BBR];
    let of_all =
        |workload: Workload| schemes.iter().map(move |scheme| workload.experiment(scheme.row, scheme, &[]));
    let mut all: Vec<_> = Workload::ALL.into_iter().flat_map(of_all).collect();
    let first = Workload::ALL[0];
    all.push(first.experiment("cubic_paced", &CUBIC, &["transport.pace_windows=true"]));
    all.push(first.experiment("cubic_ecn_near", &CUBIC_ECN, &[NO_WAN]));
    all.push(first.experiment("dctcp_near", &DCTCP, &[NO_WAN]));
    let others = VEGAS_SCALED.iter().filter(|(_, scheme)| scheme.row != VEGAS_10.row);
    all.extend(
        others.map(|(_, scheme)| Experiment { quick: None, ..first.experiment(scheme.row, scheme, &[]) }),
    );
    all
}
