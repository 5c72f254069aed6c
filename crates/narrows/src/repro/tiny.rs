//! A paper that exists for tests only: DCTCP and Reno on one bottleneck.

use super::{
    Alternative, Axis, Chart, Curve, Experiment, Figure, Measure, Measured, Paper, Parameter, Points,
    Reference, Style, Table, claims,
};
use crate::results::Results;

pub(super) fn paper() -> Paper {
    Paper {
        name: "tiny".into(),
        title: "Queues of Reno and <DCTCP>".into(),
        source: "Nobody, Proceedings of Nowhere, 2020".into(),
        about: "Two long flows and a few datagrams on a dumbbell. The numbers are made up; some are right."
            .into(),
        claims: claims::read("tiny", include_str!("../../repro/tiny/claims.toml")),
        figures: figures(),
        experiments: experiments(),
        parameters: parameters(),
        ..Paper::default()
    }
}

fn figures() -> Vec<Figure> {
    let axis = |label| Axis::new(label, false);
    let curve = |label: &str, points| Curve { label: label.to_owned(), points };
    let over_time = Chart {
        title: "bytes waiting at the bottleneck".into(),
        x: axis("time in ms"),
        y: axis("kB waiting"),
        style: Style::Lines,
        curves: vec![
            curve("Reno", Points::Series("cc.reno.queue".into())),
            curve("DCTCP", Points::Series("cc.dctcp.queue".into())),
        ],
        references: vec![
            Reference::Horizontal { label: "k".into(), at: 30.0 },
            Reference::Vertical { label: "measured from here".into(), at: 100.0 },
        ],
    };
    let sweep = [20.0, 40.0].map(|k| (k, format!("k.{k}.queue")));
    let over_k = Chart {
        title: "bytes waiting by threshold".into(),
        x: axis("k in kB"),
        y: axis("most kB waiting"),
        style: Style::Points,
        curves: vec![curve("DCTCP", Points::Sweep(sweep.into()))],
        references: Vec::new(),
    };
    let columns = [
        ("goodput", "Goodput, Mb/s"),
        ("queue", "Queue, kB"),
        ("drops", "Drops, packets"),
        ("time", "Time, µs"),
    ];
    let table = Table::new("cc", &[("reno", "Reno"), ("dctcp", "DCTCP")], &columns);
    vec![
        Figure {
            name: "Table 1".into(),
            title: "two controls".into(),
            shows: "Both fill the link; DCTCP needs less buffer.".into(),
            tables: vec![table],
            charts: Vec::new(),
        },
        Figure {
            name: "Figure 1".into(),
            title: "queue over time".into(),
            shows: "A saw-tooth up to the buffer and a flat line.".into(),
            tables: Vec::new(),
            charts: vec![over_time],
        },
        Figure {
            name: "Figure 2".into(),
            title: "queue by threshold".into(),
            shows: "A straight line.".into(),
            tables: Vec::new(),
            charts: vec![over_k],
        },
    ]
}

fn experiments() -> Vec<Experiment> {
    let experiment = |name: &str, overrides: &[&str], quick: Option<&[&str]>| {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        Experiment {
            name: name.to_owned(),
            scenario: include_str!("../../repro/tiny/two-flows.toml").into(),
            overrides: owned(overrides),
            quick: quick.map(owned),
            quantities: owned(&["goodput", "queue", "drops", "time"]),
            series: owned(&["queue"]),
            measure: Measure::Rust(measure),
        }
    };
    let quick: Option<&[&str]> = Some(&["stop.after=200 ms"]);
    vec![
        experiment("cc.reno", &["traffic.long.cc={ reno = {} }", "switches.default.marking=off"], quick),
        experiment("cc.dctcp", &[], quick),
        experiment("k.20", &["switches.default.marking.step.k=20 kB"], None),
        experiment("k.40", &["switches.default.marking.step.k=40 kB"], None),
    ]
}

fn parameters() -> Vec<Parameter> {
    let alternative = |value: &'static str| Alternative {
        value: value.into(),
        overrides: vec![format!("switches.default.buffer.size={value}")],
    };
    let buffer = Parameter {
        name: "buffer".into(),
        value: "100 kB".into(),
        why: "Nobody says how large it is; this is many bandwidth-delay products.".into(),
        alternatives: ["60 kB", "200 kB"].map(alternative).into(),
        watched: vec!["cc.reno.queue".into(), "cc.reno.goodput".into(), "cc.dctcp.queue".into()],
        fitted: vec!["reno-queue".into()],
    };
    let mtu = Parameter {
        name: "size of packets".into(),
        value: "1500 B".into(),
        why: "as usual".into(),
        alternatives: Vec::new(),
        watched: Vec::new(),
        fitted: Vec::new(),
    };
    vec![buffer, mtu]
}

fn measure(results: &Results) -> Measured {
    let mut measured = Measured::default();
    let metric = |name: &str| results.metric(name);
    measured.quantity("goodput", metric("long.goodput_gbps").map(|goodput| goodput * 1e3));
    measured.quantity("queue", metric("total.p99_queue_kb"));
    measured.quantity("drops", metric("total.drops"));
    measured.quantity("time", metric("long.p50_fct_us"));
    let rows = results.queues.iter().flatten();
    measured.series("queue", rows.map(|row| (row.start.as_secs_f64() * 1e3, row.max_backlog as f64 / 1e3)));
    measured
}
