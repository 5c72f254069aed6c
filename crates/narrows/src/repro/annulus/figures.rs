//! The figures of Annulus. Those of the talk are lost; here is what its words say they showed.

use super::LOADS;
use crate::repro::{Axis, Chart, Curve, Figure, Points, Reference, Style, Table};

const SHARING: &[(&str, &str)] = &[
    ("alone", "no WAN traffic"),
    ("cubic", "CUBIC"),
    ("bbr", "BBR"),
    ("dctcp", "DCTCP"),
    ("gemini", "GEMINI"),
    ("annulus", "Annulus, WAN flows"),
    ("annulus_both", "Annulus, all flows"),
];
const ISOLATED: &[(&str, &str)] = &[
    ("cubic", "CUBIC"),
    ("isolated_cubic", "CUBIC, own queue"),
    ("bbr", "BBR"),
    ("isolated", "BBR, own queue"),
    ("annulus", "Annulus, shared queue"),
];
const INSIDE: &[(&str, &str)] = &[
    ("bbr", "BBR"),
    ("annulus", "BBR in Annulus"),
    ("cubic", "CUBIC"),
    ("annulus_cubic", "CUBIC in Annulus"),
    ("gemini", "GEMINI"),
    ("annulus_gemini", "GEMINI in Annulus"),
];
const RDMA: &[(&str, &str)] = &[
    ("dcqcn_alone", "DCQCN, no WAN traffic"),
    ("dcqcn", "DCQCN + BBR"),
    ("annulus_dcqcn", "both in Annulus"),
];
const MODERN: &[(&str, &str)] = &[
    ("alone_100", "100 Gb/s, no WAN traffic"),
    ("bbr_100", "100 Gb/s, BBR"),
    ("annulus_100", "100 Gb/s, Annulus, WAN flows"),
    ("annulus_both_100", "100 Gb/s, Annulus, all flows"),
    ("alone_400", "400 Gb/s, no WAN traffic"),
    ("bbr_400", "400 Gb/s, BBR"),
    ("annulus_400", "400 Gb/s, Annulus, WAN flows"),
    ("annulus_both_400", "400 Gb/s, Annulus, all flows"),
];
const COLUMNS: &[(&str, &str)] = &[
    ("dc_p99_us", "DC p99, µs"),
    ("wan_gbps", "WAN, Gb/s"),
    ("wan_lost_percent", "WAN lost, %"),
    ("useful_percent", "useful, %"),
];
const MODERN_COLUMNS: &[(&str, &str)] = &[
    ("dc_unfinished_percent", "DC unfinished, %"),
    ("dc_p99_us", "DC p99, µs"),
    ("wan_gbps", "WAN, Gb/s"),
    ("wan_lost_percent", "WAN lost, %"),
    ("useful_percent", "useful, %"),
];
const SCHEMES: [(&str, &str); 3] =
    [("base", "DCTCP + BBR"), ("annulus", "in Annulus"), ("wan_only", "WAN flows in Annulus")];

fn over_load(title: &str, column: &str, y: &'static str, log: bool) -> Chart {
    let curve = |(row, label): (&str, &str)| {
        let points = LOADS.map(|load| (load as f64, format!("rpc.{row}_{load}.{column}")));
        Curve { label: label.into(), points: Points::Sweep(points.into()) }
    };
    Chart {
        title: title.into(),
        x: Axis::new("load in percent", false),
        y: Axis::new(y, log),
        style: Style::Points,
        curves: SCHEMES.map(curve).into(),
        references: Vec::new(),
    }
}

fn after_burst(row: &str, label: &str) -> Chart {
    let curve = |name: &str, label: &str| Curve {
        label: label.into(),
        points: Points::Series(format!("reaction.{row}.{name}")),
    };
    Chart {
        title: label.into(),
        x: Axis::new("ms after the burst began", false),
        y: Axis::new("Gb/s", false),
        style: Style::Lines,
        curves: vec![curve("wan", "WAN senders"), curve("uplink", "uplink")],
        references: vec![
            Reference::Vertical { label: "burst".into(), at: 0.0 },
            Reference::Vertical { label: "WAN round trip".into(), at: 10.0 },
        ],
    }
}

pub(super) fn figures() -> Vec<Figure> {
    let drawn = |name, title, shows, charts| Figure::new(name, title, shows, Vec::new(), charts);
    let beside = |name, title, shows, rows, columns| {
        Figure::new(name, title, shows, vec![Table::new("mix", rows, columns)], Vec::new())
    };
    let table = |name, title, shows, rows| beside(name, title, shows, rows, COLUMNS);
    vec![
        drawn(
            "Reaction",
            "how long WAN flows take to make room",
            "Two WAN flows fill the uplink of their rack when ten flows of 5 MB begin inside the data center. The talk: the \
             WAN takes a thousand round trips of the data center to detect it.",
            vec![
                after_burst("cubic", "CUBIC"),
                after_burst("bbr", "BBR"),
                after_burst("gemini", "GEMINI"),
                after_burst("annulus", "BBR in Annulus"),
                after_burst("annulus_cubic", "CUBIC in Annulus"),
            ],
        ),
        table(
            "Sharing",
            "data-center and WAN flows at one uplink",
            "What WAN flows do to flows of 100 kB under DCTCP that load the uplink to 40 %, and what is left for them.",
            SHARING,
        ),
        beside(
            "Isolation",
            "queues of their own",
            "Data-center traffic has a queue that is served first. It is protected then; the WAN flows still share the \
             bandwidth, have less than a tenth of the buffer they would need, and lose packets as before, or more.",
            ISOLATED,
            &COLUMNS[..3],
        ),
        drawn(
            "RPC tail",
            "completion time of RPCs inside the data center",
            "Three racks, five parts of RPCs inside the data center to one across the WAN: the tail against load.",
            vec![
                over_load("99th percentile", "p99_us", "µs", true),
                over_load("99.9th percentile", "p999_us", "µs", true),
                over_load("mean", "mean_us", "µs", true),
                over_load("RPCs across the WAN, 99th percentile", "wan_p99_ms", "ms", true),
            ],
        ),
        drawn(
            "Burstiness",
            "WAN traffic when it contends",
            "The rate on the WAN link, millisecond by millisecond: standard deviation over mean.",
            vec![over_load("variation of WAN traffic", "wan_variation", "standard deviation / mean", false)],
        ),
        drawn(
            "Utilization",
            "the bottleneck",
            "What the uplink of a rack carries, retransmissions included, and what is lost.",
            vec![
                over_load("uplink", "uplink_percent", "percent", false),
                over_load("lost inside data centers", "lost_percent", "percent of packets", false),
            ],
        ),
        table(
            "Inside Annulus",
            "beyond the paper: other end-to-end controls",
            "CUBIC, BBR and GEMINI as they are, and with a near-source loop beside them.",
            INSIDE,
        ),
        table(
            "DCQCN",
            "RDMA inside the data center",
            "The second baseline of the paper: DCQCN inside the data center, BBR across.",
            RDMA,
        ),
        Figure {
            name: "100 and 400 Gb/s".into(),
            title: "beyond the paper: hosts of today".into(),
            shows: "The same at 100 and 400 Gb/s and with a WAN of 2 ms, which are 25 and 100 MB in flight: 12 and 13 times the \
                    buffer of the port.".into(),
            tables: vec![Table::new("fast", MODERN, MODERN_COLUMNS)],
            charts: Vec::new(),
        },
    ]
}
