//! BCN: Bergamasco's slides of May 2005, with QCN in BCN's place as one more row.
//!
//! The slides give links, latency, load and results, and leave out everything else. What the results imply about it is in
//! the reasons of the parameters below.

mod figures;
mod measure;
mod parameters;

use self::figures::{LENGTHS, figures};
use self::measure::{QUANTITIES, measure};
use self::parameters::parameters;
use super::{Experiment, Paper, owned};

pub(super) const PAPER: Paper = Paper {
    name: "bcn",
    title: "Data Center Ethernet Congestion Management: Backward Congestion Notification",
    source: "D. Bergamasco, IEEE 802.1 Interim Meeting, Berlin, 12 May 2005 (slides)",
    about: "Four bulk senders, and in workload 2 four sources of datagrams, meet at one bottleneck of 10 Gb/s; \
            reference flow 1 crosses it, reference flow 2 only shares the way of a bulk sender to the core switch. \
            Without congestion management (PAUSE alone), RED, TCP with ECN and BCN are compared; QCN is added. \
            The topology and nearly all settings are reconstructed from what the reported numbers imply.",
    claims: include_str!("../../repro/bcn/claims.toml"),
    figures,
    experiments,
    parameters,
};

const WORKLOAD_1: &str = include_str!("../../repro/bcn/workload1.toml");
const WORKLOAD_2: &str =
    concat!(include_str!("../../repro/bcn/workload1.toml"), include_str!("../../repro/bcn/udp.toml"));

/// Without congestion management: PAUSE.
const NONE: [&str; 4] = [
    "switches.core.buffer={ size = \"3 MB\", sharing = \"complete\" }",
    "switches.core.pause={ xoff = \"240 kB\", xon = \"230 kB\", frame = \"64 B\" }",
    "switches.edge.buffer={ size = \"600 kB\", sharing = \"complete\" }",
    "switches.edge.pause={ xoff = \"12 kB\", xon = \"8 kB\", frame = \"64 B\" }",
];
const RED: [&str; 2] = [
    "switches.core.buffer={ size = \"3500 kB\", sharing = \"per_port\" }",
    "switches.core.marking={ red = { min = \"1000 kB\", max = \"2500 kB\", max_p = 0.1, gentle = true, action = \"drop\" } }",
];
const ECN: [&str; 4] = [
    "switches.core.marking={ red = { min = \"800 kB\", max = \"1000 kB\", max_p = 0.1, action = \"mark_then_drop\" } }",
    "traffic.ST.cc={ reno = { ecn = true } }",
    "traffic.SR1.cc={ reno = { ecn = true } }",
    "traffic.SR2.cc={ reno = { ecn = true } }",
];
const BCN: [&str; 2] = [
    "switches.core.congestion_point={ bcn = { set_point = \"115 kB\", severe = \"1200 kB\", \
     sampling = { random = 0.07 }, message = { size = \"64 B\" } } }",
    "reaction_points={ at = \"edge_switch\", queue = \"300 kB\", rule = { bcn = { tag = \"0 B\" } } }",
];
const QCN: [&str; 2] = [
    "switches.core.congestion_point={ qcn = { set_point = \"115 kB\", message = { size = \"64 B\" } } }",
    "reaction_points={ at = \"edge_switch\", queue = \"300 kB\", rule = { qcn = { tag = \"0 B\" } } }",
];

/// The links to the core switch in `workload1.toml`.
const CORE_LINKS: std::ops::Range<usize> = 14..20;

fn experiments() -> Vec<Experiment> {
    let quick = || Some(owned(&["stop.after=400 ms"]));
    let experiment = |name: String, scenario, overrides| Experiment {
        name,
        scenario,
        overrides,
        quick: quick(),
        quantities: QUANTITIES,
        series: &["queue"],
        measure,
    };
    let rows: [(&str, &[&str]); 5] =
        [("none", &NONE), ("red", &RED), ("ecn", &ECN), ("bcn", &BCN), ("qcn", &QCN)];
    let mut experiments = Vec::new();
    for (workload, scenario) in [("w1", WORKLOAD_1), ("w2", WORKLOAD_2)] {
        let rows = rows.iter();
        experiments.extend(
            rows.map(|(row, overrides)| experiment(format!("{workload}.{row}"), scenario, owned(overrides))),
        );
    }
    for (length, kilometres) in LENGTHS {
        let delay = |link| format!("topology.explicit.links.{link}.delay={} ns", kilometres * 5000.0);
        let overrides = owned(&BCN).into_iter().chain(CORE_LINKS.map(delay)).collect();
        let long = experiment(format!("length.{length}"), WORKLOAD_1, overrides);
        // The short form shows the first and the last of them.
        let ends = ["100m", "10km", "20km"].contains(&length);
        experiments.push(Experiment { quick: long.quick.clone().filter(|_| ends), ..long });
    }
    experiments
}
