//! Controls that answer losses and marks by a cut.

use super::{Settings, Theory, Value, theory};

pub(super) const ALL: [Theory; 7] = [
    theory("square_root", "payload/RTT · √(3/2)/√p", |settings| {
        Value::BitsPerSecond(
            settings.payload() * 8.0 / settings.round_trip(0) * (1.5 / loss(settings)).sqrt(),
        )
    }),
    theory("tfrc", "payload/(RTT·√(2p/3) + t_RTO·3·√(3p/8)·p·(1 + 32p²))", tfrc),
    theory(
        "sawtooth",
        "(W² − (βW)²)/2 / ((C·RTT − βW)·C·RTT + (W² − (C·RTT)²)/2), W = C·RTT + buffer",
        sawtooth,
    ),
    theory(
        "marked_sawtooth",
        "mean of W − C·RTT over time for W from (C·RTT + K)/2 to C·RTT + K",
        marked_sawtooth,
    ),
    theory("inverse_round_trips", "RTT of the second group / RTT of the first", |settings| {
        Value::Number(round_trips(settings))
    }),
    theory("cubic_round_trips", "(RTT of the second group / RTT of the first)^(1/4)", |settings| {
        Value::Number(round_trips(settings).sqrt().sqrt())
    }),
    theory("parking_lot", "√hops · RTT over all hops / RTT over one", |settings| {
        let hops = settings.number("topology.parking_lot.bottlenecks");
        Value::Number(hops.sqrt() / round_trips(settings))
    }),
];

/// Probability that a data packet of the first flow is lost on the link between the switches.
fn loss(settings: &Settings<'_>) -> f64 {
    settings.plan.network.topology.link(settings.port()).wire.error_rate
}

/// RFC 5348 §3.1 with b = 1. The timeout of Narrows exceeds the round-trip time by `min_rto`.
fn tfrc(settings: &Settings<'_>) -> Value {
    let (p, rtt) = (loss(settings), settings.round_trip(0));
    let timeout = rtt + settings.span("traffic.0.transport.min_rto");
    let fast = rtt * (2.0 * p / 3.0).sqrt();
    let slow = timeout * 3.0 * (3.0 * p / 8.0).sqrt() * p * (1.0 + 32.0 * p * p);
    Value::BitsPerSecond(settings.payload() * 8.0 / (fast + slow))
}

/// The part of a link that one flow uses whose window grows steadily to W and is cut to β·W: a round in which the window does not
/// fill the path takes a round-trip time, one in which it does takes as long as the link needs for it.
fn sawtooth(settings: &Settings<'_>) -> Value {
    let path = settings.bdp();
    let most = path + settings.bytes("switches.default.buffer.size");
    let beta = match settings.plan.scenario.traffic[0].cc.as_ref().map(|cc| cc.name()) {
        Some("cubic") => settings.number("traffic.0.cc.cubic.beta"),
        _ => 0.5,
    };
    let least = (beta * most).min(path);
    let sent = (most * most - least * least) / 2.0;
    let time = (path - least) * path + (most * most - path * path) / 2.0;
    Value::Number(sent / time)
}

/// The mean queue of one Reno flow that halves when K waits. Rounds last as long as the window, so that the mean over time weighs them
/// by W: ∫(W − B)·W dW / ∫W dW, with B = C·RTT, where W does not fall below B.
fn marked_sawtooth(settings: &Settings<'_>) -> Value {
    let path = settings.bdp();
    let most = path + settings.bytes("switches.default.marking.step.k");
    let least = most / 2.0;
    assert!(least >= 0.99 * path, "K is less than the path holds");
    let sum = |w: f64| w * w * w / 3.0 - path * w * w / 2.0;
    Value::Bytes((sum(most) - sum(least)) / ((most * most - least * least) / 2.0))
}

/// Of the second group, in relation to that of the first.
fn round_trips(settings: &Settings<'_>) -> f64 {
    let second = settings.plan.groups[1].flows.start;
    settings.round_trip(second) / settings.round_trip(0)
}
