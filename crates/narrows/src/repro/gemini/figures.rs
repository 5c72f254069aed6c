//! The figures of GEMINI, redrawn.

use super::{BETAS, DELAY_THRESHOLDS, MULTIPLES, THRESHOLDS, VEGAS, VEGAS_SCALED, theorem};
use crate::repro::{Axis, Chart, Curve, Figure, Points, Reference, Style, Table};

const SCHEMES: &[(&str, &str)] = &[
    ("gemini", "GEMINI"),
    ("cubic", "CUBIC"),
    ("cubic_ecn", "CUBIC+ECN"),
    ("dctcp", "DCTCP"),
    ("vegas", "Vegas"),
    ("vegas10", "Vegas-10"),
    ("bbr", "BBR"),
];
const TIMES: &[(&str, &str)] = &[
    ("small_ms", "Small, mean, ms"),
    ("small_p99_ms", "Small, p99, ms"),
    ("large_ms", "Large, mean, ms"),
    ("all_ms", "All, mean, ms"),
];
const LOSSES: &[(&str, &str)] = &[
    ("dcn_loss", "DCN, 10⁻⁵"),
    ("wan_loss", "WAN, 10⁻⁵"),
    ("dcn_share_percent", "lost in DCN, %"),
    ("wan_percent", "WAN load, %"),
    ("uplink_percent", "uplink load, %"),
];

/// A curve of a column over x, of `group.row(x)`.
fn sweep(label: &str, points: impl IntoIterator<Item = (f64, String)>) -> Curve {
    Curve { label: label.into(), points: Points::Sweep(points.into_iter().collect()) }
}

pub(super) fn chart(title: &str, x: (&'static str, bool), y: &'static str, curves: Vec<Curve>) -> Chart {
    Chart {
        title: title.into(),
        x: Axis::new(x.0, x.1),
        y: Axis::new(y, false),
        style: Style::Points,
        curves,
        references: Vec::new(),
    }
}

fn over_threshold(control: &str, place: &str, column: &str, label: &str) -> Curve {
    sweep(label, THRESHOLDS.map(|k| (k as f64, format!("dcn.{control}_{place}_{k}.{column}"))))
}

fn over_delay(column: &str) -> Vec<Curve> {
    let curve = |beta: u64| {
        let points = DELAY_THRESHOLDS.map(|t| (t as f64, format!("wan.t{t}_beta{beta}.{column}")));
        sweep(&format!("beta 0.{beta}"), points)
    };
    BETAS.map(curve).into()
}

fn over_scale(column: &str) -> Vec<Curve> {
    let all = std::iter::once((1, VEGAS)).chain(VEGAS_SCALED);
    vec![sweep("Vegas", all.map(|(scale, scheme)| (scale as f64, format!("p1.{}.{column}", scheme.row))))]
}

pub(super) fn figures() -> Vec<Figure> {
    let threshold = ("marking threshold in packets", true);
    let workload = |name, title, shows, group| {
        Figure::new(name, title, shows, vec![Table::new(group, SCHEMES, TIMES)], Vec::new())
    };
    let drawn = |name, title, shows, charts| Figure::new(name, title, shows, Vec::new(), charts);
    let share = |control: &str, label: &str| {
        let points = MULTIPLES.map(|m| (m as f64, format!("fairness.{control}_{m}.intra_over_inter")));
        sweep(label, points)
    };
    let dynamics = |row: &str, label: &str| Chart {
        title: label.into(),
        x: Axis::new("time in s", false),
        y: Axis::new("Mb/s of one flow", false),
        style: Style::Lines,
        curves: ["first", "second", "third"]
            .map(|group| Curve {
                label: group.into(),
                points: Points::Series(format!("convergence.{row}.{group}")),
            })
            .into(),
        references: [50.0, 100.0].map(|at| Reference::Vertical { label: "next group".into(), at }).into(),
    };
    vec![
        Figure {
            name: "Table II".into(),
            title: "packet loss rate in data centers and on the WAN".into(),
            shows: "Traffic pattern 1: what is lost is lost inside data centers, though the WAN is more heavily loaded.".into(),
            tables: vec![Table::new("p1", SCHEMES, LOSSES)],
            charts: Vec::new(),
        },
        drawn(
            "Figure 5",
            "DCTCP and the marking threshold",
            "Flows inside a data center want a small threshold for their latency, flows between data centers a large one \
             for their throughput.",
            vec![
                chart(
                    "throughput",
                    threshold,
                    "Mb/s",
                    vec![
                        over_threshold("dctcp", "intra", "throughput_mbps", "inside"),
                        over_threshold("dctcp", "inter", "throughput_mbps", "between data centers"),
                        over_threshold("gemini", "intra", "throughput_mbps", "inside, GEMINI"),
                    ],
                ),
                chart(
                    "round-trip time inside a data center",
                    threshold,
                    "ms",
                    vec![over_threshold("dctcp", "intra", "rtt_ms", "inside")],
                ),
                chart(
                    "round-trip time between data centers",
                    threshold,
                    "ms",
                    vec![over_threshold("dctcp", "inter", "rtt_ms", "between data centers")],
                ),
            ],
        ),
        drawn(
            "Figure 6",
            "Vegas and its delay thresholds",
            "Vegas with alpha and beta N times as large: low thresholds make large flows slow, high ones lose packets inside \
             data centers.",
            vec![
                chart("throughput of large flows", ("N", false), "Mb/s", over_scale("large_mbps")),
                chart("packets lost inside data centers", ("N", false), "10⁻⁵", over_scale("dcn_loss")),
            ],
        ),
        drawn(
            "Figure 9",
            "flows between data centers that meet inside one",
            "GEMINI keeps its throughput down to a threshold of 100 packets, DCTCP loses from 300 on.",
            vec![chart(
                "throughput",
                threshold,
                "Mb/s",
                vec![
                    over_threshold("gemini", "inter", "throughput_mbps", "GEMINI"),
                    over_threshold("dctcp", "inter", "throughput_mbps", "DCTCP"),
                ],
            )],
        ),
        drawn(
            "Figure 10",
            "flows that meet on the WAN",
            "GEMINI carries as much as CUBIC with a much shorter queue, over a wide range of T and beta.",
            vec![
                chart("throughput", ("T in ms", true), "Mb/s", over_delay("throughput_mbps")),
                chart("round-trip time", ("T in ms", true), "ms", over_delay("rtt_ms")),
            ],
        ),
        drawn(
            "Figure 11",
            "convergence of three groups of flows",
            "One flow of each group of ten. From 50 s the groups meet inside a data center, from 100 s on the WAN. GEMINI \
             converges quickly and stays there.",
            vec![
                dynamics("gemini", "GEMINI"),
                dynamics("cubic", "CUBIC"),
                dynamics("dctcp", "DCTCP"),
                dynamics("bbr", "BBR"),
                dynamics("vegas", "Vegas"),
            ],
        ),
        drawn(
            "Figure 12",
            "fairness among round-trip times",
            "Four flows inside a data center and four with 4 to 64 times their round-trip time. GEMINI shares equally, \
             CUBIC and DCTCP in proportion to round-trip times, BBR favours the long ones.",
            vec![Chart {
                y: Axis::new("share of short over share of long", true),
                references: vec![Reference::Horizontal { label: "equal".into(), at: 1.0 }],
                ..chart(
                    "throughput inside over throughput between data centers",
                    ("round-trip time over 200 µs", true),
                    "",
                    vec![
                        share("gemini", "GEMINI"),
                        share("cubic", "CUBIC"),
                        share("dctcp", "DCTCP"),
                        share("bbr", "BBR"),
                    ],
                )
            }],
        ),
        workload(
            "Figure 13",
            "completion times, traffic pattern 1, 1 Gb/s",
            "All flows cross the WAN. Figure 4 has the same without GEMINI. The bars of the figures are not preserved, what \
             the text says of them is.",
            "p1",
        ),
        workload(
            "Figure 14",
            "completion times, traffic pattern 1, 10 Gb/s",
            "As Figure 13, at ten times the rates.",
            "p1x",
        ),
        workload(
            "Figure 15",
            "completion times, traffic pattern 2, 1 Gb/s",
            "Any host to any other: WAN and links to the border are highly loaded.",
            "p2",
        ),
        workload(
            "Figure 16",
            "completion times, traffic pattern 2, 10 Gb/s",
            "As Figure 15, at ten times the rates.",
            "p2x",
        ),
        theorem::figure(),
    ]
}
