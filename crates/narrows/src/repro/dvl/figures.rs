//! The figures of DVL. The curves of the slides are lost; the first three are those they show.

use super::FAN_IN;
use crate::repro::{Axis, Chart, Curve, Figure, Points, Reference, Style, Table};

/// All schemes; the first four are those of the slides and PFC alone.
const ALL: &[(&str, &str)] = &[
    ("pfc", "PFC alone"),
    ("ecn", "ECN (DCQCN)"),
    ("dvl", "DVL"),
    ("edvl", "eDVL"),
    ("qcz", "802.1Qcz"),
    ("qcn", "QCN"),
    ("dvl_ecn", "DVL and DCQCN"),
    ("edvl_ecn", "eDVL and DCQCN"),
    ("dvl_qcn", "DVL and QCN"),
    ("edvl_qcn", "eDVL and QCN"),
];
const FOUR: &[(&str, &str)] = ALL.split_at(4).0;
const FIVE: &[(&str, &str)] = ALL.split_at(5).0;
/// The same where several networks are in one figure.
const KEPT_1: &[(&str, &str)] = &[
    ("pfc", "network 1, PFC alone"),
    ("ecn", "network 1, ECN (DCQCN)"),
    ("dvl", "network 1, DVL"),
    ("edvl", "network 1, eDVL"),
    ("qcz", "network 1, 802.1Qcz"),
    ("qcn", "network 1, QCN"),
    ("dvl_ecn", "network 1, DVL and DCQCN"),
    ("edvl_ecn", "network 1, eDVL and DCQCN"),
    ("dvl_qcn", "network 1, DVL and QCN"),
    ("edvl_qcn", "network 1, eDVL and QCN"),
];
const KEPT_1K: &[(&str, &str)] = &[
    ("pfc", "1024 hosts, PFC alone"),
    ("ecn", "1024 hosts, ECN (DCQCN)"),
    ("dvl", "1024 hosts, DVL"),
    ("edvl", "1024 hosts, eDVL"),
];
const KEPT_2: &[(&str, &str)] = &[
    ("pfc", "network 2, PFC alone"),
    ("ecn", "network 2, ECN (DCQCN)"),
    ("dvl", "network 2, DVL"),
    ("edvl", "network 2, eDVL"),
];
const KEPT_INCAST: &[(&str, &str)] = &[
    ("pfc_10", "incast, PFC alone"),
    ("ecn_10", "incast, ECN (DCQCN)"),
    ("dvl_10", "incast, DVL"),
    ("edvl_10", "incast, eDVL"),
    ("qcz_10", "incast, 802.1Qcz"),
    ("qcn_10", "incast, QCN"),
    ("dvl_ecn_10", "incast, DVL and DCQCN"),
    ("edvl_ecn_10", "incast, eDVL and DCQCN"),
    ("dvl_qcn_10", "incast, DVL and QCN"),
    ("edvl_qcn_10", "incast, eDVL and QCN"),
];
const REACH_1: &[(&str, &str)] =
    &[("dvl", "network 1, DVL"), ("edvl", "network 1, eDVL"), ("qcz", "network 1, 802.1Qcz")];
const REACH_2: &[(&str, &str)] = &[("dvl", "network 2, DVL"), ("edvl", "network 2, eDVL")];
const INCAST: &[(&str, &str)] = &[
    ("idle", "100 Gb/s, no incast"),
    ("pfc_10", "100 Gb/s, PFC alone"),
    ("ecn_10", "100 Gb/s, ECN (DCQCN)"),
    ("dvl_10", "100 Gb/s, DVL"),
    ("edvl_10", "100 Gb/s, eDVL"),
    ("qcz_10", "100 Gb/s, 802.1Qcz"),
    ("qcn_10", "100 Gb/s, QCN"),
    ("dvl_ecn_10", "100 Gb/s, DVL and DCQCN"),
    ("edvl_ecn_10", "100 Gb/s, eDVL and DCQCN"),
    ("dvl_qcn_10", "100 Gb/s, DVL and QCN"),
    ("edvl_qcn_10", "100 Gb/s, eDVL and QCN"),
];
const WIDE: &[(&str, &str)] = &[
    ("idle", "400 Gb/s, no incast"),
    ("pfc_10", "400 Gb/s, PFC alone"),
    ("ecn_10", "400 Gb/s, ECN (DCQCN)"),
    ("dvl_10", "400 Gb/s, DVL"),
    ("edvl_10", "400 Gb/s, eDVL"),
    ("qcz_10", "400 Gb/s, 802.1Qcz"),
    ("qcn_10", "400 Gb/s, QCN"),
    ("dvl_ecn_10", "400 Gb/s, DVL and DCQCN"),
    ("edvl_ecn_10", "400 Gb/s, eDVL and DCQCN"),
    ("dvl_qcn_10", "400 Gb/s, DVL and QCN"),
    ("edvl_qcn_10", "400 Gb/s, eDVL and QCN"),
];

const INJECTED: &[(&str, &str)] = &[
    ("tc0_injected_us", "TC0 injected, µs"),
    ("tc1_injected_us", "TC1 injected, µs"),
    ("tc2_injected_us", "TC2 injected, µs"),
    ("tc3_injected_us", "TC3 injected, µs"),
    ("mean_injected_us", "all injected, µs"),
];
const COMPLETE: &[(&str, &str)] = &[
    ("tc0_us", "TC0 complete, µs"),
    ("tc1_us", "TC1 complete, µs"),
    ("tc2_us", "TC2 complete, µs"),
    ("tc3_us", "TC3 complete, µs"),
    ("mean_us", "all complete, µs"),
];
const TAILS: &[(&str, &str)] = &[
    ("p50_us", "median, µs"),
    ("p90_us", "90 %, µs"),
    ("p99_us", "99 %, µs"),
    ("small_p99_us", "99 % of TC0, µs"),
];
const TOGETHER: &[(&str, &str)] =
    &[("tc0_us", "TC0, µs"), ("small_p99_us", "99 % of TC0, µs"), ("mean_us", "all, µs")];
const REACH: &[(&str, &str)] = &[
    ("up_ports_percent", "ports up, %"),
    ("down_ports_percent", "ports down, %"),
    ("host_ports_percent", "ports to hosts, %"),
    ("small_isolated_percent", "TC0 isolated, %"),
    ("allocations", "queues allocated"),
    ("queues_at_once", "of a port at once"),
];
const SOUND: &[(&str, &str)] = &[
    ("lost", "lost or retransmitted"),
    ("unfinished", "unfinished"),
    ("left", "queues left"),
    ("stuck_us", "stuck, µs"),
];
const KEPT: &[(&str, &str)] = &[("lost", "lost or retransmitted"), ("left", "queues left")];
const VICTIM: &[(&str, &str)] = &[
    ("victim_us", "victim, µs"),
    ("victim_p99_us", "victim p99, µs"),
    ("victim_injected_us", "victim injected, µs"),
    ("victim_named", "victim isolated, times"),
    ("storm_us", "storm, µs"),
    ("closings", "queues freed"),
];

fn table(group: &'static str, rows: &'static [(&str, &str)], columns: &'static [(&str, &str)]) -> Table {
    Table::new(group, rows, columns)
}

fn series(label: &str, name: String) -> Curve {
    Curve { label: label.into(), points: Points::Series(name) }
}

/// The distribution of completion times over all flows of a network.
fn distribution(title: &str, group: &str, name: &str) -> Chart {
    Chart {
        title: title.into(),
        x: Axis::new("µs", true),
        y: Axis::new("percent of flows", false),
        style: Style::Lines,
        curves: FOUR.iter().map(|(row, label)| series(label, format!("{group}.{row}.{name}"))).collect(),
        references: Vec::new(),
    }
}

/// Means by class and distributions of one network.
fn network(
    name: &'static str,
    shows: &'static str,
    group: &'static str,
    rows: &'static [(&str, &str)],
) -> Figure {
    Figure {
        name: name.into(),
        title: "completion times".into(),
        shows: shows.into(),
        tables: [INJECTED, COMPLETE, TAILS].map(|columns| table(group, rows, columns)).into(),
        charts: vec![
            distribution("until the last packet is injected", group, "injected"),
            distribution("until the receiver has everything", group, "fct"),
        ],
    }
}

/// Ports with a queue for isolated flows.
fn over_time(title: &str, experiment: &str) -> Chart {
    let tiers = [("edge", "edge switches"), ("middle", "middle"), ("top", "top")];
    Chart {
        title: title.into(),
        x: Axis::new("ms", false),
        y: Axis::new("ports with a queue for isolated flows", false),
        style: Style::Lines,
        curves: tiers.map(|(name, label)| series(label, format!("{experiment}.{name}"))).into(),
        references: vec![Reference::Vertical { label: "last flow begins".into(), at: 2.0 }],
    }
}

/// What waits in each switch around an incast.
fn queues(title: &str, experiment: &str) -> Chart {
    let switches = [
        ("rack0", "rack of the victim"),
        ("spine", "spine"),
        ("rack2", "rack of the receiver"),
        ("isolated", "isolated, everywhere"),
    ];
    Chart {
        title: title.into(),
        x: Axis::new("µs after the incast began", false),
        y: Axis::new("kB waiting", false),
        style: Style::Lines,
        curves: switches.map(|(name, label)| series(label, format!("{experiment}.{name}"))).into(),
        references: vec![Reference::Vertical { label: "at line rate it is over".into(), at: 2050.0 }],
    }
}

fn against_fan_in(title: &str, column: &str, y: &'static str, rows: &[(&str, &str)]) -> Chart {
    let curve = |(row, label): &(&str, &str)| {
        let points = FAN_IN.map(|fan_in| (fan_in as f64, format!("incast.{row}_{fan_in}.{column}")));
        Curve { label: (*label).into(), points: Points::Sweep(points.into()) }
    };
    let idle = FAN_IN.map(|fan_in| (fan_in as f64, format!("incast.idle.{column}")));
    let idle = Curve { label: "no incast".into(), points: Points::Sweep(idle.into()) };
    Chart {
        title: title.into(),
        x: Axis::new("senders of the incast", false),
        y: Axis::new(y, true),
        style: Style::Lines,
        curves: rows.iter().map(curve).chain([idle]).collect(),
        references: Vec::new(),
    }
}

pub(super) fn figures() -> Vec<Figure> {
    vec![
        network(
            "Network 1",
            "The slides show the mean of each class of sizes for ECN, DVL and eDVL, and the distribution over all flows, from the start \
             of a flow until its last packet is injected. Beside it is the time until the receiver has everything. 10 000 flows are \
             24 ms of sending for each of 64 hosts.",
            "n1",
            FIVE,
        ),
        network(
            "1024 hosts",
            "The same flows among 1024 hosts, for which they are 1.5 ms of sending.",
            "n1k",
            FOUR,
        ),
        network("Network 2", "50 000 flows among 2048 hosts: 3.8 ms of sending for each.", "n2", FOUR),
        Figure {
            name: "Lossless".into(),
            title: "nothing lost, nothing left".into(),
            shows: "Packets dropped and packets retransmitted, which a receiver requests when packets are out of order; flows \
                    that did not end; queues for isolated flows that were allocated and not freed; how long packets have been \
                    stopped when the run ends.".into(),
            tables: vec![
                table("n1", KEPT_1, SOUND),
                table("n1k", KEPT_1K, KEPT),
                table("n2", KEPT_2, SOUND),
                table("incast", KEPT_INCAST, KEPT),
            ],
            charts: Vec::new(),
        },
        Figure {
            name: "Congestion tree".into(),
            title: "how far isolation spreads".into(),
            shows: "Ports with a queue for isolated flows over time, the part of all ports that ever had one, and the part of \
                    flows up to 100 kB that was isolated.".into(),
            tables: vec![table("n1", REACH_1, REACH), table("n2", REACH_2, REACH)],
            charts: vec![
                over_time("network 1, DVL", "n1.dvl"),
                over_time("network 1, eDVL", "n1.edvl"),
                over_time("network 2, DVL", "n2.dvl"),
                over_time("network 2, eDVL", "n2.edvl"),
            ],
        },
        Figure {
            name: "Victim".into(),
            title: "a flow beside an incast".into(),
            shows: "10 MB go to one host, from as many senders in two racks as stand below; a host of one of these racks sends \
                    messages of 100 kB to the other. Its rack has an uplink of 100 Gb/s, which five senders and the victim \
                    overload until they are notified; below it has 400 Gb/s, and no link on its way is ever overloaded.".into(),
            tables: vec![table("incast", INCAST, VICTIM), table("wide", WIDE, VICTIM)],
            charts: vec![
                against_fan_in("the victim's messages", "victim_us", "mean, µs", FIVE),
                against_fan_in(
                    "the victim's messages, isolation and throttling",
                    "victim_us",
                    "mean, µs",
                    &ALL[5..],
                ),
            ],
        },
        Figure {
            name: "Queues".into(),
            title: "what waits where".into(),
            shows: "Ten senders. Where 10 MB wait that one host cannot take at once: the most that waited at each port in 5 µs, all ports of \
                    a switch together.".into(),
            tables: Vec::new(),
            charts: vec![
                queues("PFC alone", "incast.pfc_10"),
                queues("ECN (DCQCN)", "incast.ecn_10"),
                queues("DVL", "incast.dvl_10"),
                queues("eDVL", "incast.edvl_10"),
                queues("DVL, uplinks of 400 Gb/s", "wide.dvl_10"),
                queues("eDVL, uplinks of 400 Gb/s", "wide.edvl_10"),
            ],
        },
        Figure {
            name: "Together".into(),
            title: "beyond the paper: isolation and throttling".into(),
            shows: "Isolation acts at once and throttles nobody; DCQCN and QCN throttle, late. Network 1 with both.".into(),
            tables: vec![table("n1", ALL, TOGETHER)],
            charts: Vec::new(),
        },
    ]
}
