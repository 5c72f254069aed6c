//! Queues and what manages them.

use std::collections::BTreeSet;

use narrows_proto::units::Bytes;
use narrows_sim::switch::CongestionPoint;

use super::{Settings, Theory, Value, theory};

pub(super) const ALL: [Theory; 8] = [
    theory("mg1_wait", "Σλᵢ·Sᵢ²/(2·(1 − ρ))", |settings| Value::Seconds(wait(settings, None))),
    theory("priority_first", "Σλᵢ·Sᵢ²/(2·(1 − ρ₁))", |settings| {
        Value::Seconds(wait(settings, Some(0)))
    }),
    theory("priority_second", "Σλᵢ·Sᵢ²/(2·(1 − ρ₁)·(1 − ρ₁ − ρ₂))", |settings| {
        Value::Seconds(wait(settings, Some(1)))
    }),
    theory("dynamic_threshold", "α·B/(1 + n·α)", dynamic_threshold),
    theory("red_alone", "p = max_p·(W − C·RTT − min)/(max − min)", |settings| {
        Value::Number(red(settings))
    }),
    theory("red_spread", "2·p/(1 + p), p = max_p·(W − C·RTT − min)/(max − min)", |settings| {
        let p = red(settings);
        Value::Number(2.0 * p / (1.0 + p))
    }),
    theory(
        "codel_signals",
        "the first at t₁ = target·C/(r − C) + target + interval, then after interval/√n",
        codel,
    ),
    theory("set_point", "the set point", set_point),
];

/// Waiting time before a packet is sent (Pollaczek–Khinchine); with priorities that of the first or the second class, in the order of
/// groups (Cobham 1954). Every group is a Poisson process of flows of one packet, its load relative to the port.
fn wait(settings: &Settings<'_>, class: Option<usize>) -> f64 {
    let groups: Vec<_> = (0..settings.plan.traffic.groups.len())
        .map(|number| {
            let path = format!("traffic.{number}.pattern.poisson");
            let load = settings.number(&format!("{path}.load"));
            let size = Bytes::new(settings.bytes(&format!("{path}.sizes.constant")) as u64);
            let transport = &settings.group(number).transport;
            assert!(size <= transport.full_payload(), "flows are of one packet");
            (load, transport.packet_size(size).as_f64() * 8.0 / settings.capacity())
        })
        .collect();
    // λ = load/S, so that λ·S² is load·S.
    let rest: f64 = groups.iter().map(|(load, service)| load * service).sum::<f64>() / 2.0;
    let load = |classes: usize| groups[..classes].iter().map(|(load, _)| load).sum::<f64>();
    match class {
        None => rest / (1.0 - load(groups.len())),
        Some(class) => rest / ((1.0 - load(class)) * (1.0 - load(class + 1))),
    }
}

/// Choudhury & Hahne 1998 §II: where n queues grow for ever, each gets as much.
fn dynamic_threshold(settings: &Settings<'_>) -> Value {
    let memory = settings.bytes("switches.default.buffer.size");
    let alpha = settings.number("switches.default.buffer.sharing.dynamic.alpha");
    let queues: BTreeSet<_> = settings.flows().iter().map(|flow| flow.to).collect();
    Value::Bytes(alpha * memory / (1.0 + queues.len() as f64 * alpha))
}

/// The probability of RED where a constant window keeps the queue constant.
fn red(settings: &Settings<'_>) -> f64 {
    let [min, max] = ["min", "max"].map(|end| settings.bytes(&format!("switches.default.marking.red.{end}")));
    let max_p = settings.number("switches.default.marking.red.max_p");
    let window = settings.bytes("traffic.0.cc.fixed.window") / settings.payload() * settings.packet();
    max_p * (window - settings.bdp() - min) / (max - min)
}

/// Signals of CoDel until the end of the run under a rate that does not yield.
fn codel(settings: &Settings<'_>) -> Value {
    let [target, interval] =
        ["target", "interval"].map(|time| settings.span(&format!("switches.default.marking.codel.{time}")));
    let (capacity, rate) = (settings.capacity(), settings.rate("traffic.0.cc.fixed.rate"));
    let end = settings.span("stop.after");
    let (mut signals, mut next) = (0.0, target * capacity / (rate - capacity) + target + interval);
    while next <= end {
        signals += 1.0;
        next += interval / f64::sqrt(signals);
    }
    Value::Number(signals)
}

fn set_point(settings: &Settings<'_>) -> Value {
    let kind = match settings.plan.scenario.switches["default"].congestion_point {
        CongestionPoint::Qcn(_) => "qcn",
        _ => "bcn",
    };
    Value::Bytes(settings.bytes(&format!("switches.default.congestion_point.{kind}.set_point")))
}
