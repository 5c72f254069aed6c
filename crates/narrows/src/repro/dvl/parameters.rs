//! What the slides leave open, and why it was settled as it was.

use crate::repro::{Alternative, Parameter, owned};

/// A setting of isolation, in all scenarios.
fn isolation(value: &'static str, settings: &[&str]) -> Alternative {
    let overrides = settings.iter().map(|setting| format!("switches.default.isolation.{setting}")).collect();
    Alternative { value: value.into(), overrides }
}

/// What a setting of isolation might change: small flows and all in a small network 2, and victims.
const WATCHED: [&str; 8] = [
    "small.dvl.tc0_us",
    "small.dvl.mean_us",
    "small.edvl.tc0_us",
    "small.edvl.mean_us",
    "incast.dvl_10.victim_us",
    "incast.edvl_10.victim_us",
    "wide.dvl_10.victim_us",
    "wide.edvl_10.victim_us",
];

pub(super) fn parameters() -> Vec<Parameter> {
    [isolated_flows(), surroundings()].into_iter().flatten().collect()
}

/// How flows are isolated, and what stops them.
fn isolated_flows() -> Vec<Parameter> {
    let setting =
        |name, value, why, alternatives| Parameter::varied(name, value, why, alternatives, &WATCHED);
    vec![
        setting(
            "detection threshold",
            "20 kB",
            "Twice what a link of 40 Gb/s and 1 µs holds there and back.",
            vec![
                isolation("10 kB", &["detect=10 kB"]),
                isolation("40 kB", &["detect=40 kB"]),
                isolation("80 kB, stop and go 160 and 120 kB", &["detect=80 kB", "stop=160 kB", "go=120 kB"]),
                isolation("400 kB", &["detect=400 kB"]),
            ],
        ),
        setting(
            "propagation thresholds",
            "20 kB at the port, 20 kB at the input",
            "As much as the detection threshold.",
            vec![
                isolation("5 kB and 5 kB", &["propagate_egress=5 kB", "propagate_ingress=5 kB"]),
                isolation("20 kB and 5 kB", &["propagate_ingress=5 kB"]),
            ],
        ),
        setting(
            "stop and go of isolated flows",
            "60 kB and 40 kB",
            "Above the detection threshold: below it a port of eDVL gives up its queue whenever its neighbor may go on.",
            vec![
                isolation("30 kB and 20 kB", &["stop=30 kB", "go=20 kB"]),
                isolation("30 kB and 20 kB, detection at 40 kB", &["stop=30 kB", "go=20 kB", "detect=40 kB"]),
                isolation("100 kB and 80 kB", &["stop=100 kB", "go=80 kB"]),
            ],
        ),
        setting(
            "share of isolated flows",
            "a tenth, if others wait",
            "The slides do not say how the two queues of a port are served.",
            vec![isolation("half: in turn", &["share=0.5"]), isolation("1 %", &["share=0.01"])],
        ),
        setting(
            "flows named behind a stopped queue",
            "yes",
            "The slides make no difference. Those who wait behind a stopped queue may be victims.",
            vec![isolation("no", &["spare_stopped=true"])],
        ),
        setting(
            "what a stop of isolated flows stops",
            "DVL: them; eDVL: the other queue as well, while markings are under way",
            "\"If marking is active in the CFQ and nCFQ, flow control from downstream switches will pause both queues (enhanced DVL)\".",
            vec![
                isolation("them alone", &["joint_stop=never"]),
                isolation("the other queue while flows move back", &["joint_stop=while_closing"]),
                isolation("the other queue while markings are under way", &["joint_stop=with_markings"]),
            ],
        ),
        setting(
            "how long a flow that was named stays isolated where nothing of it waits",
            "100 µs",
            "It decides how soon network cards forget. The slides do not speak of them.",
            vec![isolation("10 µs", &["idle_life=10 us"]), isolation("1 ms", &["idle_life=1 ms"])],
        ),
        setting(
            "network cards",
            "they listen: what is named waits there, each destination in a queue of its own",
            "\"NICs with as many queues as destinations\". Whether they take messages is open.",
            vec![isolation("they do not", &["hosts=false"])],
        ),
        setting(
            "PFC threshold",
            "1/8 of the free memory, for each link and class",
            "The switches of the HPCC paper. The slides name no threshold.",
            vec![
                Alternative::new("as much as is free", &["switches.default.pfc={ xoff = { alpha = 1.0 } }"]),
                Alternative::new("100 kB", &["switches.default.pfc={ xoff = { fixed = \"100 kB\" } }"]),
            ],
        ),
    ]
}

/// Tables, traffic and networks.
fn surroundings() -> Vec<Parameter> {
    vec![
        Parameter {
            name: "table of isolated flows".into(),
            value: "64 for each port".into(),
            why: "The slides do not say how many. In network 1 with 64 hosts this decides: 10 000 flows in 2 ms are more than fit.".into(),
            fitted: Vec::new(),
            alternatives: vec![isolation("8", &["table=8"]), isolation("1024", &["table=1024"])],
            watched: owned(&[
                "n1.dvl.tc0_us",
                "n1.dvl.mean_us",
                "n1.edvl.tc0_us",
                "n1.edvl.mean_us",
                "small.dvl.tc0_us",
                "small.edvl.tc0_us",
                "incast.dvl_10.victim_us",
                "incast.edvl_10.victim_us",
            ]),
        },
        Parameter {
            name: "what the percentages count".into(),
            value: "flows, uniform within a class".into(),
            why: "\"of overall traffic\" may mean either. Counting flows the mean is 775 kB, counting bytes 70 kB.".into(),
            fitted: Vec::new(),
            alternatives: vec![
                Alternative::new("bytes", &["traffic.messages.pattern.random.sizes=dvl_bytes"]),
                Alternative::new("flows, log-uniform", &["traffic.messages.pattern.random.sizes=dvl_log"]),
            ],
            watched: owned(&[
                "small.pfc.tc0_us",
                "small.ecn.tc0_us",
                "small.dvl.tc0_us",
                "small.edvl.tc0_us",
            ]),
        },
        Parameter {
            name: "ECN".into(),
            value: "DCQCN with marking, both as in its paper".into(),
            why: "The slides say \"ECN\".".into(),
            fitted: Vec::new(),
            alternatives: vec![Alternative::new(
                "as network cards have it, marking from 160 to 640 kB",
                &[
                    "traffic.messages.cc={ dcqcn = { variant = \"vendor\" } }",
                    "switches.default.marking={ red = { min = \"160 kB\", max = \"640 kB\", max_p = 0.2, weight = 1.0, \
                     spread = false, action = \"mark_only\" } }",
                ],
            )],
            watched: owned(&[
                "n1.ecn.tc0_us",
                "n1.ecn.tc1_us",
                "n1.ecn.mean_us",
                "small.ecn.tc0_us",
                "small.ecn.mean_us",
            ]),
        },
        Parameter {
            name: "acknowledgments".into(),
            value: "one for 64 packets".into(),
            why: "Nothing is lost, so they only notify a sender that it has ended.".into(),
            fitted: Vec::new(),
            alternatives: vec![Alternative::new(
                "one for each packet",
                &["traffic.messages.rdma.ack_every=1"],
            )],
            watched: owned(&[
                "small.pfc.tc0_us",
                "small.ecn.tc0_us",
                "small.dvl.tc0_us",
                "small.edvl.tc0_us",
            ]),
        },
        Parameter::fixed(
            "network 1",
            "48 switches of 8 ports in three stages, 64 hosts",
            "\"1024-node CLOS of 3 stages (48 8-port switches)\" cannot be: 48 switches of 8 ports in three stages are 64 hosts. \
             With 1024 hosts it is taken for 48 switches of 64 ports in two stages.",
        ),
        Parameter::fixed(
            "sensitivity",
            "network 2 with 64 hosts and as many flows of each (small), ten senders (incast, wide)",
            "The whole of network 2 takes thirty times as long. What the table of isolated flows does shows in network 1.",
        ),
    ]
}
