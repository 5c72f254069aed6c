//! What the slides leave open, and why it was settled as it was.

use crate::repro::{Alternative, Parameter, owned};

pub(super) fn parameters() -> Vec<Parameter> {
    [network(), datagrams(), marking(), bcn()].into_iter().flatten().collect()
}

/// The network, TCP, and PAUSE.
fn network() -> Vec<Parameter> {
    let of_none = || {
        owned(&[
            "w1.none.source_gbps",
            "w1.none.sr1_tps",
            "w1.none.sr2_tps",
            "w2.none.source_gbps",
            "w2.none.sr2_tps",
        ])
    };
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
        )
        .fitted(&["w1-none-tps", "w1-none-gbps", "w1-none-bottleneck-gbps"]),
        Parameter::fixed(
            "deviation of throughput",
            "of a bulk source over time, in parts of 100 ms",
            "712 % cannot come from four sources, whose deviation is at most twice their mean. Over how long parts of time the slides \
             take it is not known; with 100 ms RED has as much in workload 2 as they report.",
        )
        .fitted(&["w2-red-gbps-sd"]),
        Parameter::fixed(
            "no congestion management",
            "PAUSE",
            "Nothing is lost (no deviation at all), and flow 2 suffers though it avoids the bottleneck.",
        )
        .fitted(&["w1-none-tps-sd"]),
        Parameter::fixed(
            "TCP",
            "Reno with SACK, handshake, minimum timeout 200 ms, 3 s for SYN (RFC 2988), initial window 10",
            "An unloaded transfer of flow 2 takes 30 µs, two round trips of the reconstructed path; a window of 2 to 4 segments \
             would need 4. ECN's 6 Tps at 3.6 ms mean that flow 1 spends nearly all its time in timeouts.",
        )
        .fitted(&[
            "w1-red-sr2-latency",
            "w1-ecn-sr2-latency",
            "w2-red-sr2-latency",
            "w2-ecn-sr2-latency",
            "w1-ecn-sr1-tps",
            "w1-ecn-sr1-latency",
        ]),
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
                "w1.red.sr1_latency_us",
                "w1.bcn.source_gbps",
                "w1.bcn.sr1_tps",
            ]),
            fitted: owned(&["w1-none-sr1-latency", "w1-red-sr1-latency"]),
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
            fitted: owned(&["w1-none-sr1-latency", "w1-none-sr1-tps"]),
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
            fitted: owned(&["w1-none-sr2-latency", "w1-none-sr2-tps"]),
        },
    ]
}

/// Sources of datagrams.
fn datagrams() -> Vec<Parameter> {
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
        Parameter {
            name: "bursts of datagrams",
            value: "200 µs at 10 Gb/s, 800 µs of silence, both exponential",
            why: "2 Gb/s on average in \"variable length bursts\"; how long decides what buffers of senders can carry over.",
            alternatives: vec![bursts("100 µs, 400 µs", 100), bursts("400 µs, 1600 µs", 400)],
            watched: owned(&["w2.none.source_gbps", "w2.bcn.source_gbps", "w2.bcn.sr1_tps"]),
            fitted: Vec::new(),
        },
        Parameter {
            name: "socket buffer of datagrams",
            value: "430 kB",
            why: "Under None the datagrams get 4.6 of the 8 Gb/s they offer; what finds no room is lost.",
            alternatives: vec![socket("213 kB"), socket("1 MB")],
            watched: owned(&["w2.none.source_gbps", "w2.bcn.source_gbps", "w2.red.source_gbps"]),
            fitted: owned(&["w2-none-gbps", "w2-none-tps"]),
        },
    ]
}

/// RED and ECN.
fn marking() -> Vec<Parameter> {
    vec![
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
            watched: owned(&[
                "w1.red.source_tps",
                "w1.red.sr1_latency_us",
                "w2.red.source_tps",
                "w2.red.sr1_tps",
            ]),
            fitted: owned(&["w1-red-sr1-latency", "w2-red-sr1-latency"]),
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
            watched: owned(&["w1.ecn.source_tps", "w1.ecn.sr2_tps", "w2.ecn.source_tps", "w2.ecn.sr1_tps"]),
            fitted: Vec::new(),
        },
    ]
}

/// BCN.
fn bcn() -> Vec<Parameter> {
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
    vec![
        Parameter {
            name: "Qeq",
            value: "115 kB",
            why: "Flow 1 takes 206 µs under BCN, 30 µs of it without queue: 88 µs of queue in each of two round trips.",
            alternatives: vec![
                set("24 kB", &["switches.core.congestion_point.bcn.set_point=24 kB"]),
                set("64 kB", &["switches.core.congestion_point.bcn.set_point=64 kB"]),
            ],
            watched: of_bcn(),
            fitted: owned(&["w1-bcn-sr1-latency", "w1-bcn-sr1-tps"]),
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
            fitted: owned(&["overhead"]),
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
            fitted: Vec::new(),
        },
        Parameter {
            name: "Qsc",
            value: "1.2 MB",
            why: "three quarters of the buffer; only the first milliseconds reach it",
            alternatives: vec![set("400 kB", &["switches.core.congestion_point.bcn.severe=400 kB"])],
            watched: of_bcn(),
            fitted: Vec::new(),
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
            fitted: Vec::new(),
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
            fitted: Vec::new(),
        },
    ]
}

fn set(value: &'static str, overrides: &[&str]) -> Alternative {
    Alternative { value, overrides: owned(overrides) }
}
