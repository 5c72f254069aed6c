//! BCN: Bergamasco's slides of May 2005, with QCN in BCN's place as one more row.
//!
//! The slides give links, latency, load and results, and leave out everything else. What the results imply about it is in
//! the reasons of the parameters below.

use narrows_proto::units::{Span, Time};
use narrows_sim::observe::PortRow;

use super::{
    Alternative, Axis, Chart, Curve, Experiment, Figure, Measured, Paper, Parameter, Points, Reference,
    Style, Table, link, owned,
};
use crate::results::{FlowRow, Results};
use crate::statistics::mean;

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

/// The link between the core switch and the edge switch of all receivers.
const BOTTLENECK: (&str, &str) = ("core", "ES6");
/// IP packet of a full segment, and its payload.
const FULL_SEGMENT: (f64, f64) = (1500.0, 1448.0);
/// IP bytes of a transfer of a reference flow: 10 240 B in 8 segments with 52 B of headers each, SYN and FIN.
const REFERENCE_TRANSFER: f64 = 10_240.0 + 8.0 * 52.0 + 110.0;

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

/// Lengths of the links to the core switch, by name and in km. Light takes 5 ns for a metre of fibre.
const LENGTHS: [(&str, f64); 5] = [("100m", 0.1), ("1km", 1.0), ("5km", 5.0), ("10km", 10.0), ("20km", 20.0)];
/// The links to the core switch in `workload1.toml`.
const CORE_LINKS: std::ops::Range<usize> = 14..20;

const QUANTITIES: &[&str] = &[
    "source_tps",
    "source_tps_sd_percent",
    "source_gbps",
    "source_gbps_sd_percent",
    "bottleneck_gbps",
    "latency_us",
    "latency_sd_percent",
    "sr1_tps",
    "sr1_gbps",
    "sr1_latency_us",
    "sr2_tps",
    "sr2_gbps",
    "sr2_latency_us",
    "queue_kb",
    "queue_sd_kb",
    "idle_percent",
    "overhead_percent",
];

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

fn measure(results: &Results) -> Measured {
    let mut measured = Measured::default();
    let seconds = results.outline().measured_for().as_secs_f64();
    let bulk = Bulk::of(results, seconds);
    measured.quantity("source_tps", mean(&bulk.tps));
    measured.quantity("source_tps_sd_percent", spread(&bulk.tps));
    measured.quantity("source_gbps", mean(&bulk.gbps));
    measured.quantity("source_gbps_sd_percent", spread(&bulk.gbps));
    measured.quantity(
        "latency_us",
        if bulk.latency.is_empty() { Some(f64::INFINITY) } else { mean(&bulk.latency) },
    );
    measured.quantity("latency_sd_percent", spread(&bulk.latency));
    for (name, [tps, gbps, latency]) in [
        ("SR1", ["sr1_tps", "sr1_gbps", "sr1_latency_us"]),
        ("SR2", ["sr2_tps", "sr2_gbps", "sr2_latency_us"]),
    ] {
        let times: Vec<_> = finished(results, name).filter_map(microseconds).collect();
        let per_second = times.len() as f64 / seconds;
        measured.quantity(tps, per_second);
        measured.quantity(gbps, per_second * REFERENCE_TRANSFER * 8e-9);
        measured.quantity(latency, mean(&times));
    }
    let bottleneck = link(results, BOTTLENECK);
    let rate = results.plan.network.topology.links()[bottleneck].wire.rate.as_f64();
    let sent = results.ports[bottleneck].bytes as f64 * 8.0 / results.ended.as_secs_f64();
    measured.quantity("bottleneck_gbps", sent * 1e-9);
    measured.quantity("idle_percent", 100.0 * (1.0 - sent / rate).max(0.0));
    let core = results.plan.network.topology.links().iter().zip(&results.ports);
    let messages: u64 = core.map(|(_, port)| port.messages()).sum();
    let size = 64.0;
    measured.quantity(
        "overhead_percent",
        100.0 * messages as f64 * size * 8.0 / results.ended.as_secs_f64() / rate,
    );
    measure_queue(results, bottleneck, &mut measured);
    measured
}

/// The bulk senders, one value for each.
struct Bulk {
    tps: Vec<f64>,
    gbps: Vec<f64>,
    /// Of those that finished a transfer.
    latency: Vec<f64>,
}

impl Bulk {
    fn of(results: &Results, seconds: f64) -> Self {
        let mut bulk = Self { tps: Vec::new(), gbps: Vec::new(), latency: Vec::new() };
        for sender in ["ST1", "ST2", "ST3", "ST4"] {
            let is_own = |flow: &&FlowRow| results.plan.network.topology.host_name(flow.from) == sender;
            let own = || results.flows.iter().filter(is_own);
            bulk.tps.push(transactions(results, own()) as f64 / seconds);
            let payload: f64 = own().map(|flow| flow.delivered_measured.as_f64()).sum();
            bulk.gbps.push(payload * FULL_SEGMENT.0 / FULL_SEGMENT.1 * 8e-9 / seconds);
            let times: Vec<_> = own().filter(|flow| counts(results, flow)).filter_map(microseconds).collect();
            bulk.latency.extend(mean(&times));
        }
        bulk
    }
}

/// Transactions that ended in the measured time: rounds of ten transfers.
fn transactions<'a>(results: &Results, flows: impl Iterator<Item = &'a FlowRow>) -> usize {
    let mut ends: Vec<(u64, Option<Time>)> = flows.map(|flow| (flow.turn, flow.end)).collect();
    ends.sort_unstable();
    let rounds = ends.chunk_by(|a, b| a.0 == b.0);
    let last_end = |round: &[(u64, Option<Time>)]| {
        round.iter().map(|(_, end)| *end).collect::<Option<Vec<_>>>()?.into_iter().max()
    };
    rounds.filter_map(last_end).filter(|end| *end >= results.plan.measured.start).count()
}

/// The flow ended in the measured time.
fn counts(results: &Results, flow: &FlowRow) -> bool {
    flow.end.is_some_and(|end| end >= results.plan.measured.start)
}

fn finished<'a>(results: &'a Results, group: &'a str) -> impl Iterator<Item = &'a FlowRow> {
    let of_group = move |flow: &&FlowRow| results.plan.groups[flow.group as usize].name == group;
    results.flows.iter().filter(of_group).filter(|flow| counts(results, flow))
}

fn microseconds(flow: &FlowRow) -> Option<f64> {
    Some(flow.fct()?.as_secs_f64() * 1e6)
}

/// Standard deviation over mean, in percent.
fn spread(values: &[f64]) -> Option<f64> {
    let mean = mean(values)?;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let deviation = (squares / (values.len().max(2) - 1) as f64).sqrt();
    (mean > 0.0).then(|| 100.0 * deviation / mean)
}

/// The queue of the bottleneck: its mean over time and its standard deviation, of the means
/// of all recorded intervals in the measured time; and its first 300 ms.
fn measure_queue(results: &Results, bottleneck: usize, measured: &mut Measured) {
    let interval = results.plan.record.queues.as_ref().map_or(Span::from_us(100), |(interval, _)| *interval);
    let of_bottleneck = |row: &&PortRow| row.link.index() == bottleneck;
    let rows = || results.queues.iter().flatten().filter(of_bottleneck);
    let start = results.plan.measured.start;
    let waiting: Vec<_> = rows().filter(|row| row.start >= start).map(|row| row.mean_backlog / 1e3).collect();
    let intervals = results.ended.saturating_since(start).as_ps() / interval.as_ps();
    // Intervals without a row had nothing waiting.
    let count = (intervals as usize).max(waiting.len()).max(1) as f64;
    let average = waiting.iter().sum::<f64>() / count;
    let squares: f64 = waiting.iter().map(|kb| kb * kb).sum();
    measured.quantity("queue_kb", average);
    measured.quantity("queue_sd_kb", (squares / count - average * average).max(0.0).sqrt());
    let end = Time::ZERO + Span::from_ms(300);
    let first = rows().filter(|row| row.start < end);
    measured.series("queue", first.map(|row| (row.start.as_secs_f64() * 1e3, row.mean_backlog / 1e3)));
}

const ROWS: &[(&str, &str)] =
    &[("none", "None"), ("red", "RED"), ("ecn", "ECN"), ("bcn", "BCN"), ("qcn", "QCN")];
const BULK: &[(&str, &str)] = &[
    ("source_tps", "Source, Tps"),
    ("source_tps_sd_percent", "sd/avg, %"),
    ("source_gbps", "Source, Gb/s"),
    ("source_gbps_sd_percent", "sd/avg, %"),
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

fn figures() -> Vec<Figure> {
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
            "buffer utilisation",
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

fn parameters() -> Vec<Parameter> {
    let set = |value: &'static str, overrides: &[&str]| Alternative { value, overrides: owned(overrides) };
    let of_bcn = || {
        owned(&[
            "w1.bcn.source_gbps",
            "w1.bcn.sr1_tps",
            "w1.bcn.queue_kb",
            "w1.bcn.overhead_percent",
            "w2.bcn.source_gbps",
            "w2.bcn.sr1_tps",
        ])
    };
    let of_none = || {
        owned(&[
            "w1.none.source_gbps",
            "w1.none.sr1_tps",
            "w1.none.sr2_tps",
            "w2.none.source_gbps",
            "w2.none.sr2_tps",
        ])
    };
    let datagrams = |key: &str, value: &str| -> Vec<String> {
        (1..=4).map(|source| format!("traffic.SU{source}.{key}={value}")).collect()
    };
    let bursts = |value: &'static str, on: u32| Alternative {
        value,
        overrides: [("on", on), ("off", 4 * on)]
            .iter()
            .flat_map(|(key, us)| {
                datagrams(&format!("pattern.on_off.{key}"), &format!("{{ exponential = \"{us} us\" }}"))
            })
            .collect(),
    };
    let socket =
        |value: &'static str| Alternative { value, overrides: datagrams("datagram.socket_buffer", value) };
    vec![
        Parameter::fixed(
            "topology",
            "one core switch, six edge switches, 10 Gb/s everywhere",
            "The sums of throughputs say that flow 1 shares the bottleneck and flow 2 does not; that flow 2 suffers from PAUSE \
             says that it shares the way of a bulk sender to the core.",
        ),
        Parameter::fixed(
            "bytes counted",
            "IP packets without framing; 10 KB are 10 240 B",
            "30.00 Tps at 2.486 Gb/s are 1.0358 MB for 1 MB, 52 B for each 1448 B; a bottleneck of 10 Gb/s carries 10.000; \
             a reference transfer has 10 766 B: 10 240 B, 8 segments, SYN and FIN.",
        ),
        Parameter::fixed(
            "no congestion management",
            "PAUSE",
            "Nothing is lost (no deviation at all), and flow 2 suffers though it avoids the bottleneck.",
        ),
        Parameter::fixed(
            "TCP",
            "Reno with SACK, handshake, minimum timeout 200 ms, 3 s for SYN (RFC 2988), initial window 10",
            "An unloaded transfer of flow 2 takes 30 µs, two round trips of the reconstructed path; a window of 2 to 4 segments \
             would need 4. ECN's 6 Tps at 3.6 ms mean that flow 1 spends nearly all its time in timeouts.",
        ),
        Parameter {
            name: "receive window",
            value: "28 kB",
            why: "Flow 1 takes equally long under None and RED, so both queues are about 1 MB: what 40 windows hold.",
            alternatives: vec![
                set("26 kB", &["transport.receive_window=26 kB"]),
                set("64 kB", &["transport.receive_window=64 kB"]),
            ],
            watched: owned(&[
                "w1.none.sr1_tps",
                "w1.none.sr2_tps",
                "w1.red.source_tps",
                "w1.red.sr1_tps",
                "w1.bcn.source_gbps",
                "w1.bcn.sr1_tps",
            ]),
        },
        Parameter {
            name: "XOFF of the core switch, per link",
            value: "240 kB",
            why: "Flow 1 waits 800 µs at the bottleneck in each of two round trips, which is 1 MB from four links.",
            alternatives: vec![
                set("120 kB", &["switches.core.pause.xoff=120 kB", "switches.core.pause.xon=110 kB"]),
                set("360 kB", &["switches.core.pause.xoff=360 kB", "switches.core.pause.xon=350 kB"]),
            ],
            watched: of_none(),
        },
        Parameter {
            name: "XOFF of edge switches, per link",
            value: "12 kB",
            why: "Flow 2 waits some 60 µs in each of two round trips behind what one bulk sender may store.",
            alternatives: vec![
                set("6 kB", &["switches.edge.pause.xoff=6 kB", "switches.edge.pause.xon=4 kB"]),
                set("48 kB", &["switches.edge.pause.xoff=48 kB", "switches.edge.pause.xon=44 kB"]),
            ],
            watched: of_none(),
        },
        Parameter {
            name: "bursts of datagrams",
            value: "200 µs at 10 Gb/s, 800 µs of silence, both exponential",
            why: "2 Gb/s on average in \"variable length bursts\"; how long decides what buffers of senders can carry over.",
            alternatives: vec![bursts("100 µs, 400 µs", 100), bursts("400 µs, 1600 µs", 400)],
            watched: owned(&["w2.none.source_gbps", "w2.bcn.source_gbps", "w2.bcn.sr1_tps"]),
        },
        Parameter {
            name: "socket buffer of datagrams",
            value: "430 kB",
            why: "Under None the datagrams get 4.6 of the 8 Gb/s they offer; what finds no room is lost.",
            alternatives: vec![socket("213 kB"), socket("1 MB")],
            watched: owned(&["w2.none.source_gbps", "w2.bcn.source_gbps", "w2.red.source_gbps"]),
        },
        Parameter {
            name: "RED",
            value: "min 1 MB, max 2.5 MB, max_p 0.1, w 0.002, gentle",
            why: "Flow 1 takes 1.67 ms in workload 1 and 3.07 ms in workload 2: queues of 1 and 1.9 MB at which 0.5 % and 6 % \
             are dropped.",
            alternatives: vec![
                set(
                    "min 500 kB, max 1.5 MB",
                    &["switches.core.marking.red.min=500 kB", "switches.core.marking.red.max=1500 kB"],
                ),
                set(
                    "min 30 kB, max 90 kB",
                    &["switches.core.marking.red.min=30 kB", "switches.core.marking.red.max=90 kB"],
                ),
            ],
            watched: owned(&["w1.red.source_tps", "w1.red.sr1_tps", "w2.red.source_tps", "w2.red.sr1_tps"]),
        },
        Parameter {
            name: "ECN",
            value: "RED with min 800 kB, max 1 MB; above max everything is dropped (RFC 3168 §7)",
            why: "\"Timeout in case of severe congestion\": SYNs cannot be marked and are dropped.",
            alternatives: vec![
                set(
                    "min 300 kB, max 900 kB",
                    &["switches.core.marking.red.min=300 kB", "switches.core.marking.red.max=900 kB"],
                ),
                set(
                    "min 30 kB, max 90 kB",
                    &["switches.core.marking.red.min=30 kB", "switches.core.marking.red.max=90 kB"],
                ),
                set("no drops above max", &["switches.core.marking.red.action=mark"]),
            ],
            watched: owned(&["w1.ecn.source_tps", "w1.ecn.sr1_tps", "w2.ecn.source_tps", "w2.ecn.sr1_tps"]),
        },
        Parameter {
            name: "Qeq",
            value: "115 kB",
            why: "Flow 1 takes 206 µs under BCN, 30 µs of it without queue: 88 µs of queue in each of two round trips.",
            alternatives: vec![
                set("24 kB", &["switches.core.congestion_point.bcn.set_point=24 kB"]),
                set("64 kB", &["switches.core.congestion_point.bcn.set_point=64 kB"]),
            ],
            watched: of_bcn(),
        },
        Parameter {
            name: "Pm",
            value: "0.07",
            why: "An overhead of 0.311 % are 61 000 messages of 64 B per second for 833 000 frames.",
            alternatives: vec![
                set("0.01", &["switches.core.congestion_point.bcn.sampling.random=0.01"]),
                set("0.1", &["switches.core.congestion_point.bcn.sampling.random=0.1"]),
            ],
            watched: of_bcn(),
        },
        Parameter {
            name: "W",
            value: "2",
            why: "as in the later analyses of BCN",
            alternatives: vec![
                set("1", &["switches.core.congestion_point.bcn.weight=1.0"]),
                set("4", &["switches.core.congestion_point.bcn.weight=4.0"]),
            ],
            watched: of_bcn(),
        },
        Parameter {
            name: "Qsc",
            value: "1.2 MB",
            why: "three quarters of the buffer; only the first milliseconds reach it",
            alternatives: vec![set("400 kB", &["switches.core.congestion_point.bcn.severe=400 kB"])],
            watched: of_bcn(),
        },
        Parameter {
            name: "Ki, Kd",
            value: "32 Mb/s, 1/16",
            why: "Gi·Ru of the later analyses; the strongest message halves the rate",
            alternatives: vec![
                set("8 Mb/s", &["reaction_points.rule.bcn.ki=8 Mb/s"]),
                set("128 Mb/s", &["reaction_points.rule.bcn.ki=128 Mb/s"]),
                set("Kd 1/32", &["reaction_points.rule.bcn.kd=0.03125"]),
            ],
            watched: of_bcn(),
        },
        Parameter {
            name: "place of limiters",
            value: "edge switches, 300 kB each",
            why: "\"rate-limiters at the edge\"; a control loop of 3 µs is one hop and back",
            alternatives: vec![
                set("hosts", &["reaction_points.at=host"]),
                set("150 kB each", &["reaction_points.queue=150 kB"]),
            ],
            watched: of_bcn(),
        },
    ]
}
