//! Where controls rest that read marks, delays or telemetry.

use super::{Settings, Theory, Value, theory};

pub(super) const ALL: [Theory; 13] = [
    theory("dctcp_peak", "K + N", |settings| Value::Bytes(k(settings) + flows(settings) * settings.packet())),
    theory("dctcp_amplitude", "½·√(2·N·(C·RTT + K))", |settings| {
        let packets = (settings.bdp() + k(settings)) / settings.packet();
        Value::Bytes(0.5 * (2.0 * flows(settings) * packets).sqrt() * settings.packet())
    }),
    theory("dctcp_alpha", "α²·(1 − α/4) = (2W* + 1)/(W* + 1)², W* = (C·RTT + K)/N", dctcp_alpha),
    theory("vegas_queue", "N·(α + β)/2", |settings| {
        let [low, high] =
            ["alpha", "beta"].map(|name| settings.number(&format!("traffic.0.cc.vegas.{name}")));
        Value::Bytes(flows(settings) * (low + high) / 2.0 * settings.packet())
    }),
    theory("copa_queue", "N·2.5/(2·δ)", |settings| {
        let delta = settings.number("traffic.0.cc.copa.delta");
        Value::Bytes(flows(settings) * 1.25 / delta * settings.packet())
    }),
    theory("bbr_probe", "(5/4 − 1)·C·RTT", |settings| Value::Bytes(0.25 * settings.bdp())),
    theory(
        "ware",
        "s/(1 − s), s = (1/2 + 1/(2X))·(1 − (q/C + RTT + 0.2 s)/10 s), X = q/(C·RTT)",
        bbr_beside_cubic,
    ),
    theory("l4s_coupling", "2/(k·1.22)·(RTT + target)/max(RTT + 0.5 ms, 25 ms)", |settings| {
        coupling(settings, 2.0)
    }),
    theory("prague_coupling", "2.7/(k·1.22)·(RTT + target)/max(RTT + 0.5 ms, 25 ms)", |settings| {
        coupling(settings, 2.7)
    }),
    theory("hpcc_eta", "η", |settings| Value::Number(settings.number("traffic.0.cc.hpcc.eta"))),
    theory("swift_round_trip", "target(w) = base + hops·h + a/√w − b where N·w·P = C·target(w)", swift),
    theory("timely_queue", "T_low·(1 + N·δ/(β·C)) − RTT", |settings| {
        let (low, step) =
            (settings.span("traffic.0.cc.timely.t_low"), settings.rate("traffic.0.cc.timely.delta"));
        let error =
            flows(settings) * step / (settings.number("traffic.0.cc.timely.beta") * settings.capacity());
        Value::Seconds(low * (1.0 + error) - settings.round_trip(0))
    }),
    theory("dcqcn_queue", "Kmin + p/Pmax·(Kmax − Kmin), p = ∛(R_AI·N²/(τ′·C²)·(1/B + N/(T·C))²)", dcqcn),
];

fn flows(settings: &Settings<'_>) -> f64 {
    settings.flows().len() as f64
}

fn k(settings: &Settings<'_>) -> f64 {
    settings.bytes("switches.default.marking.step.k")
}

/// RFC 9332 App. C.2: a scalable flow with a window of `scalable`/p_L over a Reno flow, whose window is 1.22/√p_C.
fn coupling(settings: &Settings<'_>, scalable: f64) -> Value {
    let dualpi2 = |name: &str| format!("switches.default.dualpi2.{name}");
    let (k, target) = (settings.number(&dualpi2("coupling")), settings.span(&dualpi2("target")));
    let virtual_rtt = settings.span("traffic.0.cc.prague.target_rtt");
    let base = settings.round_trip(0);
    Value::Number(scalable / (k * 1.22) * (base + target) / (base + 0.5e-3).max(virtual_rtt))
}

/// Ware et al., IMC 2019: CUBIC has p = 1/2 − 1/(2X) of a full queue q, and BBR the rest, but for the time of its `PROBE_RTT`.
fn bbr_beside_cubic(settings: &Settings<'_>) -> Value {
    let (queue, product) = (settings.bytes("switches.default.buffer.size"), settings.bdp());
    let silent = (queue * 8.0 / settings.capacity() + settings.round_trip(0) + 0.2) / 10.0;
    let share = (0.5 + product / (2.0 * queue)) * (1.0 - silent);
    Value::Number(share / (1.0 - share))
}

/// Alizadeh et al., SIGCOMM 2010, Eq. 6.
fn dctcp_alpha(settings: &Settings<'_>) -> Value {
    let critical = (settings.bdp() + k(settings)) / settings.packet() / flows(settings);
    let right = (2.0 * critical + 1.0) / (critical + 1.0).powi(2);
    Value::Number(rising(0.0, 1.0, |alpha| alpha * alpha * (1.0 - alpha / 4.0) - right))
}

/// Where a rising function crosses zero.
fn rising(mut low: f64, mut high: f64, of: impl Fn(f64) -> f64) -> f64 {
    for _ in 0..200 {
        let middle = (low + high) / 2.0;
        if of(middle) < 0.0 { low = middle } else { high = middle }
    }
    (low + high) / 2.0
}

/// Kumar et al., SIGCOMM 2020, §3.2 and §3.5: where the delay is the target, and all windows together what the path holds then.
fn swift(settings: &Settings<'_>) -> Value {
    let path = |name: &str| format!("traffic.0.cc.swift.{name}");
    let [base, hop, range] =
        ["base_target", "hop_delay", "flow_scaling_range"].map(|name| settings.span(&path(name)));
    let [hops, least, most] =
        ["hops", "flow_scaling_min", "flow_scaling_max"].map(|name| settings.number(&path(name)));
    let a = range / (1.0 / least.sqrt() - 1.0 / most.sqrt());
    let b = a / most.sqrt();
    let target = |window: f64| base + hops * hop + (a / window.sqrt() - b).clamp(0.0, range);
    let filled = |window: f64| flows(settings) * window * settings.packet() * 8.0 / settings.capacity();
    Value::Seconds(target(rising(1e-3, 1e6, |window| filled(window) - target(window))))
}

/// Zhu et al., CoNEXT 2016, Theorem 1, rates in packets per second and B in packets.
fn dcqcn(settings: &Settings<'_>) -> Value {
    let path = |name: &str| format!("traffic.0.cc.dcqcn.{name}");
    let capacity = settings.capacity() / 8.0 / settings.packet();
    let additive = settings.rate(&path("ai_rate")) / 8.0 / settings.packet();
    let [interval, timer] = ["alpha_interval", "timer"].map(|name| settings.span(&path(name)));
    let counter = settings.bytes(&path("byte_counter")) / settings.packet();
    let events = 1.0 / counter + flows(settings) / (timer * capacity);
    let p = libm::cbrt(additive * (flows(settings) / capacity).powi(2) / interval * events.powi(2));
    let red = |name: &str| format!("switches.default.marking.red.{name}");
    let (min, max) = (settings.bytes(&red("min")), settings.bytes(&red("max")));
    Value::Bytes(min + p / settings.number(&red("max_p")) * (max - min))
}
