//! The figures of RackCC, and what its text describes.

use super::{FAN_IN, FLOW_SIZES, LONG, PERIODS, SHARES, SIZES, SUBFLOWS, model};
use crate::repro::{Axis, Chart, Curve, Figure, Points, Reference, Style, Table};

fn axis(label: &'static str, log: bool) -> Axis {
    Axis { label, log }
}

fn chart(title: &str, x: Axis, y: Axis, curves: Vec<Curve>) -> Chart {
    let one = Reference::Horizontal { label: "as DCTCP".into(), at: 1.0 };
    Chart { title: title.into(), x, y, style: Style::Lines, curves, references: vec![one] }
}

fn theory(label: &str, points: Vec<(f64, f64)>) -> Curve {
    Curve { label: label.into(), points: Points::Theory(points) }
}

/// A column of experiments at each x.
fn sweep(label: &str, points: impl IntoIterator<Item = (u64, String)>, column: &str) -> Curve {
    let points = points.into_iter().map(|(x, experiment)| (x as f64, format!("{experiment}.{column}")));
    Curve { label: label.into(), points: Points::Sweep(points.collect()) }
}

const SPEEDUP: Axis = Axis { label: "speed-up", log: false };

const START: &[(&str, &str)] = &[
    ("s10", "10 kB"),
    ("s30", "30 kB"),
    ("s100", "100 kB"),
    ("s300", "300 kB"),
    ("s1000", "1 MB"),
    ("s3000", "3 MB"),
    ("n2", "100 kB beside 2"),
    ("n4", "100 kB beside 4"),
    ("n16", "100 kB beside 16"),
    ("n32", "100 kB beside 32"),
    ("far", "150 kB, 500 µs, 100 Gb/s"),
];
const START_COLUMNS: &[(&str, &str)] = &[
    ("speedup", "speed-up"),
    ("median_speedup", "of the median"),
    ("model", "model"),
    ("alone_us", "DCTCP, µs"),
    ("shared_us", "RackCC, µs"),
    ("alone_p99_us", "DCTCP 99 %, µs"),
    ("shared_p99_us", "RackCC 99 %, µs"),
    ("alone_gbps", "long flows, DCTCP, Gb/s"),
    ("shared_gbps", "long flows, RackCC, Gb/s"),
];
const MODEL: &[(&str, &str)] = &[
    ("l1", "L = 1"),
    ("l2", "L = 2"),
    ("l3", "L = 3"),
    ("s300", "300 kB"),
    ("s1000", "1 MB"),
    ("s10000", "10 MB"),
    ("n32", "32 subflows"),
    ("n128", "128"),
    ("n512", "512"),
];
const COOPERATION: &[(&str, &str)] = &[
    ("speedup", "speed-up of the last"),
    ("alone_us", "DCTCP, µs"),
    ("shared_us", "RackCC, µs"),
    ("alone_variation", "variation, DCTCP"),
    ("shared_variation", "variation, RackCC"),
    ("alone_timeouts", "timeouts, DCTCP"),
    ("shared_timeouts", "timeouts, RackCC"),
];
const COOP_N: &[(&str, &str)] =
    &[("n5", "5"), ("n10", "10"), ("n25", "25"), ("n50", "50"), ("n100", "100"), ("n200", "200")];
const COOP_P: &[(&str, &str)] = &[
    ("p1", "1 µs"),
    ("p10", "10 µs"),
    ("p30", "30 µs"),
    ("p100", "100 µs"),
    ("p300", "300 µs"),
    ("p1000", "1 ms"),
];
const COOP_S: &[(&str, &str)] = &[
    ("s30", "30 kB"),
    ("s75", "75 kB"),
    ("s150", "150 kB"),
    ("s500", "500 kB"),
    ("s1500", "1.5 MB"),
    ("s5000", "5 MB"),
];
const LINK: &[(&str, &str)] =
    &[("n2", "2 of each"), ("n5", "5 of each"), ("n10", "10 of each"), ("n20", "20 of each")];
const LINK_COLUMNS: &[(&str, &str)] = &[
    ("ratio", "RackCC over DCTCP"),
    ("alone_gbps", "DCTCP, Gb/s"),
    ("shared_gbps", "RackCC, Gb/s"),
    ("alone_variation", "variation, DCTCP"),
    ("shared_variation", "variation, RackCC"),
    ("variation_ratio", "variation, RackCC over DCTCP"),
];
const ACCESS: &[(&str, &str)] = &[("2_6_10", "caps of 2, 6 and 10 Gb/s")];
const ACCESS_COLUMNS: &[(&str, &str)] =
    &[("two_gbps", "cap 2, Gb/s"), ("six_gbps", "cap 6, Gb/s"), ("ten_gbps", "cap 10, Gb/s")];
const INCAST: &[(&str, &str)] = &[("f5", "5"), ("f10", "10"), ("f20", "20"), ("f40", "40")];
const INCAST_COLUMNS: &[(&str, &str)] = &[
    ("speedup", "speed-up of the last"),
    ("alone_us", "DCTCP, µs"),
    ("shared_us", "RackCC, µs"),
    ("alone_resent", "retransmitted, DCTCP, %"),
    ("shared_resent", "retransmitted, RackCC, %"),
];
const CHURN: &[(&str, &str)] = &[("load30", "30 %"), ("load60", "60 %"), ("load80", "80 %")];
const CHURN_COLUMNS: &[(&str, &str)] = &[
    ("speedup", "speed-up"),
    ("p99_speedup", "at 99 %"),
    ("alone_us", "DCTCP, µs"),
    ("shared_us", "RackCC, µs"),
    ("alone_p99_us", "DCTCP 99 %, µs"),
    ("shared_p99_us", "RackCC 99 %, µs"),
];
const WAN: &[(&str, &str)] = &[
    ("dctcp", "DCTCP"),
    ("rackcc", "RackCC, rule of DCTCP"),
    ("gemini", "GEMINI"),
    ("rackcc_gemini", "RackCC, rule of GEMINI"),
];
const WAN_COLUMNS: &[(&str, &str)] = &[
    ("short_ms", "1 MB over the WAN, ms"),
    ("short_p99_ms", "99 %, ms"),
    ("long_gbps", "long flows, Gb/s"),
    ("near_us", "100 kB inside, µs"),
    ("near_p99_us", "99 %, µs"),
    ("uplink_queue_kb", "deepest queue of the uplink, kB"),
];

pub(super) fn figures() -> Vec<Figure> {
    let mut all = fast_start();
    all.extend(cooperation());
    all.extend(beside());
    all
}

fn fast_start() -> Vec<Figure> {
    let curves = model::curves();
    let kb =
        |points: Vec<(f64, f64)>| points.into_iter().map(|(size, speedup)| (size / 1e3, speedup)).collect();
    let started = |of: &str, column: &str| sweep(of, SIZES.map(|kb| (kb, format!("start.s{kb}"))), column);
    let beside = |long: u64| if long == 8 { "start.s100".to_owned() } else { format!("start.n{long}") };
    vec![
        Figure {
            name: "Figure 2",
            title: "Fast start and slow start, as a model",
            shows: "Average speed-up of a new flow among many existing ones, for flow sizes, numbers of subflows and latencies of the \
                    fast start. RackCC is 3.2 times faster for short flows with a latency of one round trip, 1.3 times with three; less \
                    for long flows and for many subflows.",
            tables: vec![Table { group: "model", rows: &[("reported", "model")], columns: MODEL }],
            charts: vec![
                chart(
                    "Over flow size, eight subflows",
                    axis("flow size, kB", true),
                    SPEEDUP,
                    vec![theory("L = 1", kb(curves.size)), theory("L = 3", kb(curves.size_late))],
                ),
                chart(
                    "Over the number of subflows, 150 kB",
                    axis("subflows", true),
                    SPEEDUP,
                    vec![theory("L = 1", curves.subflows)],
                ),
                chart(
                    "Over the latency of the fast start, 150 kB, eight subflows",
                    axis("L, round trips", false),
                    SPEEDUP,
                    vec![theory("150 kB", curves.latency)],
                ),
            ],
        },
        Figure {
            name: "Figure 2, packets",
            title: "The same question, packet by packet",
            shows: "Not in the paper: a client sends one flow after the other beside long flows that fill the uplink. More than the start differs \
                    then: a new connection of DCTCP meets marks while it doubles its window, the first of which halve it (alpha is 1 at \
                    first), and grows again beside others that are larger.",
            tables: vec![Table { group: "start", rows: START, columns: START_COLUMNS }],
            charts: vec![
                chart(
                    "Over flow size, beside eight long flows",
                    axis("flow size, kB", true),
                    SPEEDUP,
                    vec![started("packets", "speedup"), started("model for one throughput", "model")],
                ),
                chart(
                    "Over the number of long flows, 100 kB",
                    axis("long flows", true),
                    SPEEDUP,
                    vec![
                        sweep("packets", LONG.map(|long| (long, beside(long))), "speedup"),
                        sweep("model for one throughput", LONG.map(|long| (long, beside(long))), "model"),
                    ],
                ),
            ],
        },
    ]
}

fn cooperation() -> Vec<Figure> {
    let figure = |name, title, shows, rows, curves, x: &'static str| Figure {
        name,
        title,
        shows,
        tables: vec![Table { group: "coop", rows, columns: COOPERATION }],
        charts: vec![chart("Speed-up of the last flow", axis(x, true), SPEEDUP, curves)],
    };
    vec![
        figure(
            "Figure 3a",
            "Speed-up of the last of many flows, over their number",
            "The speed-up decreases when the number of subflows increases.",
            COOP_N,
            vec![sweep("150 kB, 10 µs", SUBFLOWS.map(|n| (n, format!("coop.n{n}"))), "speedup")],
            "subflows",
        ),
        figure(
            "Figure 3b",
            "Speed-up of the last of 25 flows, over the ECN aggregation period",
            "The speed-up decreases as ECN information gets staler. (The sentence says \"as the ECN aggregation period decreases\", \
             which its own reason contradicts.)",
            COOP_P,
            vec![sweep("25 subflows, 150 kB", PERIODS.map(|us| (us, format!("coop.p{us}"))), "speedup")],
            "ECN aggregation period, µs",
        ),
        figure(
            "Figure 3c",
            "Speed-up of the last of 25 flows, over their size",
            "When flow sizes increase, the speed-up increases and then plateaus.",
            COOP_S,
            vec![sweep("25 subflows, 10 µs", FLOW_SIZES.map(|kb| (kb, format!("coop.s{kb}"))), "speedup")],
            "flow size, kB",
        ),
    ]
}

fn beside() -> Vec<Figure> {
    let series = |label: &str, name: &str| Curve {
        label: label.into(),
        points: Points::Series(format!("access.2_6_10.{name}")),
    };
    vec![
        Figure {
            name: "Fairness",
            title: "Shares of a link, among racks and inside a JumboFlow",
            shows: "\"With more fairness within the rack\", and \"TCP-friendly with legacy racks\" (§1).",
            tables: vec![Table { group: "link", rows: LINK, columns: LINK_COLUMNS }],
            charts: vec![chart(
                "RackCC over DCTCP at one link",
                axis("flows of each", true),
                axis("ratio", false),
                vec![
                    sweep("throughput", SHARES.map(|n| (n, format!("link.n{n}"))), "ratio"),
                    sweep("variation of rates", SHARES.map(|n| (n, format!("link.n{n}"))), "variation_ratio"),
                ],
            )],
        },
        Figure {
            name: "Access links",
            title: "Max-min shares of access links",
            shows: "Subflows with caps of 2, 6 and 10 Gb/s on a link of 10 Gb/s receive 2, 4 and 4 Gb/s (§3.2).",
            tables: vec![Table { group: "access", rows: ACCESS, columns: ACCESS_COLUMNS }],
            charts: vec![Chart {
                title: "What the destinations advertise".into(),
                x: axis("time, ms", false),
                y: axis("Gb/s", false),
                style: Style::Steps,
                curves: vec![
                    series("access link of 2 Gb/s", "two"),
                    series("access link of 6 Gb/s", "six"),
                    series("access link of 10 Gb/s", "ten"),
                ],
                references: Vec::new(),
            }],
        },
        Figure {
            name: "Incast",
            title: "Many answers at once",
            shows: "\"Detection is more accurate as a result, alleviating problems such as TCP incast\" (§3).",
            tables: vec![Table { group: "incast", rows: INCAST, columns: INCAST_COLUMNS }],
            charts: vec![chart(
                "Speed-up of the last answer",
                axis("answers at once", true),
                SPEEDUP,
                vec![sweep(
                    "60 kB each",
                    FAN_IN.map(|fan_in| (fan_in, format!("incast.f{fan_in}"))),
                    "speedup",
                )],
            )],
        },
        Figure {
            name: "Churn",
            title: "Flows that come and go",
            shows: "\"Even with high churn and very short flow sizes, JumboFlows remain relatively stable\" (§3.3).",
            tables: vec![Table { group: "churn", rows: CHURN, columns: CHURN_COLUMNS }],
            charts: Vec::new(),
        },
        Figure {
            name: "WAN",
            title: "Shared state between data centers",
            shows: "Beyond the paper: where round trips are long, what others know is worth most.",
            tables: vec![Table { group: "wan", rows: WAN, columns: WAN_COLUMNS }],
            charts: Vec::new(),
        },
    ]
}
