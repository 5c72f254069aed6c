//! RackCC: the model of the fast start (§4.1, Figure 2). Everything else is in the folder `repro/rackcc`.

mod model;

use narrows_proto::units::BitRate;

use self::model::{LastRound, REPORTED};
use super::{Measured, Model, ModelCurve};
use crate::results::Results;

pub(super) const MODELS: &[Model] = &[
    Model {
        name: "rackcc.model",
        quantities: &["l1", "l2", "l3", "s300", "s1000", "s10000", "n32", "n128", "n512"],
        series: &[],
        measure: alone,
    },
    Model { name: "rackcc.start", quantities: &["model"], series: &[], measure: beside },
];

pub(super) const CURVES: &[ModelCurve] = &[
    ("rackcc.size", || in_kb(model::curves().size)),
    ("rackcc.size_late", || in_kb(model::curves().size_late)),
    ("rackcc.subflows", || model::curves().subflows),
    ("rackcc.latency", || model::curves().latency),
];

fn in_kb(points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    points.into_iter().map(|(size, speedup)| (size / 1e3, speedup)).collect()
}

/// The model alone: nothing of the run is used.
fn alone(_results: &Results) -> Measured {
    let mut measured = Measured::default();
    for (column, latency) in [("l1", 1.0), ("l2", 2.0), ("l3", 3.0)] {
        measured.quantity(column, model::Model { latency, ..REPORTED }.speedup());
    }
    for (column, size) in [("s300", 300e3), ("s1000", 1e6), ("s10000", 1e7)] {
        measured.quantity(column, model::Model { size, ..REPORTED }.speedup());
    }
    for (column, subflows) in [("n32", 32), ("n128", 128), ("n512", 512)] {
        measured.quantity(column, model::Model { subflows, ..REPORTED }.speedup());
    }
    measured
}

/// New connections beside long ones: what the model says of the same question.
fn beside(results: &Results) -> Measured {
    let mut measured = Measured::default();
    measured.quantity("model", expected(results));
    measured
}

/// Both connections begin with a handshake of a round trip, during which RackCC learns its share of all that the link carries.
fn expected(results: &Results) -> Option<f64> {
    let groups = &results.plan.groups;
    let short = groups.iter().position(|group| group.name == "shared_short")?;
    let flow = results.flows.iter().find(|flow| flow.group as usize == short && flow.measured)?;
    let long = groups.iter().find(|group| group.name == "shared_long")?.flows.len();
    let path = results.plan.network.topology.links();
    let slowest = path.iter().map(|link| link.wire.rate).min().unwrap_or(BitRate::ZERO);
    let delay = path.iter().map(|link| link.wire.delay.as_secs_f64()).fold(0.0, f64::max);
    // Four links there and four back, and half of a buffer that is full to the marking threshold, which holds half a round trip.
    let rtt = 8.0 * delay * 1.25;
    let model = model::Model {
        size: flow.size.as_f64(),
        rtt,
        mean_throughput: slowest.as_f64(),
        subflows: long as u32,
        latency: 0.0,
        last_round: LastRound::OwnRate,
        ..REPORTED
    };
    let throughput = model.mean_throughput;
    Some((rtt + model.tcp(throughput)) / (rtt + model.rackcc(throughput)))
}
