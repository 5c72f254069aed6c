//! DVL and enhanced DVL: Gonzalez-Naharro et al., NEAT 2019, as far as the slides tell.
//!
//! The slides give the networks, the traffic and the steps of the mechanism. All thresholds are parameters below, and the curves
//! are lost, so that claims are what the words say.

mod figures;
mod measure;
mod parameters;

use narrows_proto::units::Span;

use self::measure::{NETWORK, NETWORK_SERIES, VICTIM, VICTIM_SERIES};
use self::parameters::parameters;
use super::{Experiment, Measure, Paper, cc, claims, owned};

pub(super) fn paper() -> Paper {
    Paper {
        name: "dvl".into(),
        title: "Efficient Dynamic Isolation of Congestion in Lossless DataCenter Networks".into(),
        source: "L. Gonzalez-Naharro, J. Escudero-Sahuquillo, P. J. Garcia, F. J. Quiles, J. Duato, W. Sun, L. Shen, X. Yu, H. Zheng, \
                 NEAT 2019 (slides)".into(),
        about: "Messages of four classes of sizes, all sent within 2 ms, in lossless networks of 64, 1024 and 2048 hosts: priority-based \
                flow control (PFC) alone, with ECN (DCQCN), with isolation of congested flows as in DVL and enhanced DVL (eDVL), and as \
                in IEEE 802.1Qcz. Then one incast and one victim of it, to see what isolation does. Beyond the paper: isolation \
                together with DCQCN and with QCN. The thresholds of DVL are not known; those used here are below, with what others \
                change.".into(),
        claims: claims::read("dvl", include_str!("../../repro/dvl/claims.toml")),
        figures: figures::figures(),
        experiments: experiments(),
        parameters: parameters(),
        ..Paper::default()
    }
}

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
        scenario: NETWORKS.into(),
        overrides: owned(network).into_iter().chain(scheme.overrides(&["messages"])).collect(),
        quick: quick.map(owned),
        quantities: owned(NETWORK),
        series: owned(NETWORK_SERIES),
        measure: Measure::Rust(measure::network),
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
        scenario: BESIDE.into(),
        overrides: std::iter::once(incast).chain(scheme).collect(),
        quick: Some(Vec::new()),
        quantities: owned(VICTIM),
        series: owned(VICTIM_SERIES),
        measure: Measure::Rust(measure::victim),
    }
}
