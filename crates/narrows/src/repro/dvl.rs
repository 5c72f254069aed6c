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
use super::{Experiment, Paper, cc, owned};

pub(super) const PAPER: Paper = Paper {
    name: "dvl",
    title: "Efficient Dynamic Isolation of Congestion in Lossless DataCenter Networks",
    source: "L. Gonzalez-Naharro, J. Escudero-Sahuquillo, P. J. Garcia, F. J. Quiles, J. Duato, W. Sun, L. Shen, X. Yu, H. Zheng, \
             NEAT 2019 (slides)",
    about: "Messages of four classes of sizes, all sent within 2 ms, in lossless networks of 64, 1024 and 2048 hosts: priority-based \
            flow control (PFC) alone, with ECN (DCQCN), with isolation of congested flows as in DVL and enhanced DVL (eDVL), and as \
            in IEEE 802.1Qcz. Then one incast and one victim of it, to see what isolation does. Beyond the paper: isolation \
            together with DCQCN, also of isolated flows alone (ICI), and with QCN. Nothing is fitted to a number of the paper: its \
            curves are lost. The thresholds of DVL are not known; those used here are below, with what others change, and so are \
            readings of the slides.",
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

/// What isolates flows. The slides name no size of the table, so it has room for all that are named here. What pauses both queues
/// in enhanced DVL are the markings of a queue that is allocated or deallocated; those of later flows are ours.
const DVL: &str = "scheme = \"dvl\", table = 1024";
const EDVL: &str = "scheme = \"edvl\", table = 1024, joint_stop = \"with_queue_markings\"";
const QCZ: &str = "scheme = \"qcz\", table = 1024";

/// What keeps congestion from spreading: its row, and what it changes in a scenario.
struct Scheme {
    row: &'static str,
    isolation: Option<&'static str>,
    throttling: Throttling,
}

/// What slows sources down.
#[derive(Clone, Copy, PartialEq)]
enum Throttling {
    None,
    /// ECN and DCQCN.
    Dcqcn,
    /// The same, but switches mark isolated flows alone, as in ICI.
    DcqcnOfIsolated,
    Qcn,
}
use Throttling::{Dcqcn, DcqcnOfIsolated, Qcn};

const fn scheme(row: &'static str, isolation: Option<&'static str>, throttling: Throttling) -> Scheme {
    Scheme { row, isolation, throttling }
}

/// Those of the slides, PFC alone, and 802.1Qcz.
const LOSSLESS: [Scheme; 5] = [
    scheme("pfc", None, Throttling::None),
    scheme("ecn", None, Dcqcn),
    scheme("dvl", Some(DVL), Throttling::None),
    scheme("edvl", Some(EDVL), Throttling::None),
    scheme("qcz", Some(QCZ), Throttling::None),
];
/// Isolation together with injection throttling.
const TOGETHER: [Scheme; 7] = [
    scheme("qcn", None, Qcn),
    scheme("dvl_ecn", Some(DVL), Dcqcn),
    scheme("edvl_ecn", Some(EDVL), Dcqcn),
    scheme("dvl_ici", Some(DVL), DcqcnOfIsolated),
    scheme("edvl_ici", Some(EDVL), DcqcnOfIsolated),
    scheme("dvl_qcn", Some(DVL), Qcn),
    scheme("edvl_qcn", Some(EDVL), Qcn),
];

impl Scheme {
    fn overrides(&self, groups: &[&str]) -> Vec<String> {
        let isolation = self.isolation.map(|settings| format!("switches.default.isolation={{ {settings} }}"));
        let mut overrides: Vec<_> = isolation.into_iter().collect();
        match self.throttling {
            Throttling::None => {}
            Dcqcn | DcqcnOfIsolated => {
                overrides.push(RED.into());
                overrides.extend(groups.iter().map(|group| cc(group, "{ dcqcn = {} }")));
            }
            Qcn => overrides.extend(owned(&QCN)),
        }
        if self.throttling == DcqcnOfIsolated {
            overrides.push("switches.default.isolation.mark=isolated".into());
        }
        overrides
    }
}

/// Network 1 with 1024 hosts: of 48 switches of 64 ports in two stages, or of 1280 of 8 ports in five. Then network 2.
const NETWORK_1K: &[&str] = &[
    "topology={ leaf_spine = { racks = 32, hosts_per_rack = 32, spines = 16, links_per_spine = 2, host_rate = \"40 Gb/s\", \
     uplink_rate = \"40 Gb/s\", delay = \"1 us\" } }",
];
const NETWORK_5: &[&str] =
    &["topology={ kary_tree = { k = 4, levels = 5, rate = \"40 Gb/s\", delay = \"1 us\" } }"];
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
    all.extend(LOSSLESS[..4].iter().map(|scheme| network("n5", scheme, NETWORK_5, None)));
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
