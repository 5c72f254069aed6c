//! Tables and figures of the slides.

use crate::repro::{Axis, Chart, Curve, Figure, Points, Reference, Style, Table};

/// Lengths of the links to the core switch, by name and in km. Light takes 5 ns for a metre of fibre.
pub(super) const LENGTHS: [(&str, f64); 5] =
    [("100m", 0.1), ("1km", 1.0), ("5km", 5.0), ("10km", 10.0), ("20km", 20.0)];
const ROWS: &[(&str, &str)] =
    &[("none", "None"), ("red", "RED"), ("ecn", "ECN"), ("bcn", "BCN"), ("qcn", "QCN")];
const BULK: &[(&str, &str)] = &[
    ("source_tps", "Source, Tps"),
    ("source_tps_sd_percent", "sd/avg, %"),
    ("source_gbps", "Source, Gb/s"),
    ("source_gbps_over_time_percent", "sd/avg over time, %"),
    ("bottleneck_gbps", "Bottleneck, Gb/s"),
    ("latency_us", "Latency, µs"),
    ("latency_sd_percent", "sd/avg, %"),
];
const REFERENCE: &[(&str, &str)] = &[
    ("sr1_tps", "Flow 1, Tps"),
    ("sr1_gbps", "Flow 1, Gb/s"),
    ("sr1_latency_us", "Flow 1, µs"),
    ("sr2_tps", "Flow 2, Tps"),
    ("sr2_gbps", "Flow 2, Gb/s"),
    ("sr2_latency_us", "Flow 2, µs"),
];

pub(super) fn figures() -> Vec<Figure> {
    let table = |name, title, shows, group, columns| Figure {
        name,
        title,
        shows,
        tables: vec![Table { group, rows: ROWS, columns }],
        charts: Vec::new(),
    };
    let axis = |label| Axis { label, log: false };
    let queue = |title: &str, curves: Vec<(&str, &str)>| Chart {
        title: title.into(),
        x: axis("time in ms"),
        y: axis("kB waiting"),
        style: Style::Lines,
        curves: curves
            .into_iter()
            .map(|(label, row)| Curve { label: label.into(), points: Points::Series(format!("{row}.queue")) })
            .collect(),
        references: vec![Reference::Horizontal { label: "Qeq".into(), at: 115.0 }],
    };
    let charts = |name, title, shows, charts| Figure { name, title, shows, tables: Vec::new(), charts };
    let sweep = |column: &str| {
        Points::Sweep(LENGTHS.iter().map(|(name, km)| (*km, format!("length.{name}.{column}"))).collect())
    };
    let over_length = |title: &str, label, curves: Vec<(&str, &str)>| Chart {
        title: title.into(),
        x: axis("length of the links to the core switch in km"),
        y: axis(label),
        style: Style::Points,
        curves: curves
            .into_iter()
            .map(|(label, column)| Curve { label: label.into(), points: sweep(column) })
            .collect(),
        references: Vec::new(),
    };
    vec![
        table(
            "Table 1",
            "bulk sources and bottleneck, workload 1: TCP only",
            "All four fill the bottleneck: \"no clear winner here\".",
            "w1",
            BULK,
        ),
        table(
            "Table 2",
            "reference flows, workload 1: TCP only",
            "Reference flow 1 crosses the bottleneck: only BCN protects it. Reference flow 2 does not: without congestion \
             management it suffers as well.",
            "w1",
            REFERENCE,
        ),
        table(
            "Table 3",
            "bulk sources and bottleneck, workload 2: TCP and UDP",
            "Datagrams take the bottleneck from TCP under RED and ECN; BCN gives it back.",
            "w2",
            BULK,
        ),
        table(
            "Table 4",
            "reference flows, workload 2: TCP and UDP",
            "As in workload 1; ECN is even worse.",
            "w2",
            REFERENCE,
        ),
        Figure {
            name: "Table 5",
            title: "overhead of BCN",
            shows: "Messages as part of the capacity of the bottleneck.",
            tables: vec![Table {
                group: "w1",
                rows: &[("bcn", "BCN"), ("qcn", "QCN")],
                columns: &[("overhead_percent", "Overhead, %")],
            }],
            charts: Vec::new(),
        },
        charts(
            "Figure 1",
            "buffer utilization",
            "The slides have a plot each for no congestion management, ECN and BCN, of which only the titles are \
             preserved.",
            vec![
                queue(
                    "workload 1, as in the slides",
                    vec![("None", "w1.none"), ("ECN", "w1.ecn"), ("BCN", "w1.bcn")],
                ),
                queue(
                    "workload 1, the others",
                    vec![("RED", "w1.red"), ("QCN", "w1.qcn"), ("BCN", "w1.bcn")],
                ),
                queue(
                    "workload 2, as in the slides",
                    vec![("None", "w2.none"), ("ECN", "w2.ecn"), ("BCN", "w2.bcn")],
                ),
                queue(
                    "workload 2, the others",
                    vec![("RED", "w2.red"), ("QCN", "w2.qcn"), ("BCN", "w2.bcn")],
                ),
            ],
        ),
        charts(
            "Figure 2",
            "stability of BCN",
            "The slides have a plot of the buffer; only its title is preserved.",
            vec![queue("workload 1, links of 100 m", vec![("BCN", "length.100m")])],
        ),
        charts(
            "Figure 3",
            "where BCN gets into trouble, and where it breaks down",
            "The slides have plots for links of 10 km (\"starts having trouble\") and 20 km (\"breaks down\"); only their \
             titles are preserved.",
            vec![
                queue(
                    "the bottleneck's queue",
                    vec![("100 m", "length.100m"), ("10 km", "length.10km"), ("20 km", "length.20km")],
                ),
                over_length(
                    "queue by length",
                    "kB",
                    vec![("mean", "queue_kb"), ("standard deviation", "queue_sd_kb")],
                ),
                over_length("capacity of the bottleneck not used", "%", vec![("idle", "idle_percent")]),
            ],
        ),
    ]
}
