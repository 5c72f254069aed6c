//! What the slides leave open, and why it was settled as it was.

use crate::repro::{Alternative, Parameter, owned};

/// A setting of isolation, in all scenarios.
fn isolation(value: &'static str, settings: &[&str]) -> Alternative {
    let overrides = settings.iter().map(|setting| format!("switches.default.isolation.{setting}")).collect();
    Alternative { value, overrides }
}

/// What a setting of isolation might change: small flows in a small network 2, and victims.
const WATCHED: [&str; 4] =
    ["small.dvl.tc0_us", "small.edvl.tc0_us", "incast.dvl_10.victim_us", "incast.edvl_10.victim_us"];

pub(super) fn parameters() -> Vec<Parameter> {
    [readings(), thresholds(), rules(), surroundings()].into_iter().flatten().collect()
}

/// What the slides say, and how it is read. Each explains, or does not, why isolation does less than they say.
fn readings() -> Vec<Parameter> {
    vec![
        Parameter::varied(
            "table of isolated flows",
            "1024 for each port",
            "The slides name no size, so there is room for all that are named. Earlier versions of this page had 64.",
            vec![
                isolation("64", &["table=64"]),
                isolation("64, the flow with the most bytes is named", &["table=64", "naming=largest"]),
            ],
            &["n1.dvl.tc0_us", "n1.dvl.mean_us", "n1.edvl.tc0_us", "n1.edvl.mean_us", "n1.dvl.refused"],
        ),
        Parameter::varied(
            "flow that a congested queue names",
            "that of each packet that joins it",
            "\"When congestion is detected, packet header is used to fill a CFT entry\": which packet is open.",
            vec![
                isolation("that of the packet that takes it to the threshold", &["naming=crossing"]),
                isolation("the one with the most bytes at the port", &["naming=largest"]),
                isolation("drawn by bytes at the port", &["naming=sampled"]),
            ],
            &[
                "n1.dvl.tc0_us",
                "n1.edvl.tc0_us",
                "n1.dvl.small_isolated_percent",
                "n1.edvl.small_isolated_percent",
                "small.dvl.tc0_us",
                "small.edvl.tc0_us",
                "incast.dvl_10.victim_us",
                "incast.dvl_10.victim_named",
                "incast.edvl_10.victim_us",
                "wide.edvl_10.victim_named",
            ],
        ),
        Parameter::varied(
            "markings of enhanced DVL",
            "a pair for each flow; while that of the queue is under way, a stop pauses both queues",
            "\"Inserted when a CFQ is allocated or deallocated\", \"guarantee in-order delivery\": a flow that is named later needs a pair \
             of its own for that, which the slides do not have. \"If marking is active\" is about theirs.",
            vec![
                isolation("a pair for the queue alone", &["order=per_queue"]),
                isolation("any pair pauses both", &["joint_stop=with_markings"]),
                isolation("any pair pauses both, tables of 64", &["joint_stop=with_markings", "table=64"]),
                isolation("none pauses both", &["joint_stop=never"]),
            ],
            &[
                "n1.edvl.tc0_us",
                "n1.edvl.mean_us",
                "n1.edvl.lost",
                "small.edvl.tc0_us",
                "small.edvl.lost",
                "incast.edvl_2.victim_us",
                "incast.edvl_4.victim_us",
            ],
        ),
    ]
}

/// When queues are congested, and when they stop.
fn thresholds() -> Vec<Parameter> {
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
        Parameter::varied(
            "PFC threshold",
            "1/8 of the free memory, for each link and class",
            "The switches of the HPCC paper. The slides name no threshold.",
            vec![Alternative::new("100 kB", &["switches.default.pfc={ xoff = { fixed = \"100 kB\" } }"])],
            &["n1.pfc.tc0_us", "n1.dvl.tc0_us"],
        ),
    ]
}

/// What is isolated for how long, and what it gets.
fn rules() -> Vec<Parameter> {
    vec![
        Parameter::varied(
            "share of isolated flows",
            "a tenth, if others wait",
            "The slides do not say how the two queues of a port are served.",
            vec![isolation("half: in turn", &["share=0.5"]), isolation("1 %", &["share=0.01"])],
            &["small.dvl.tc0_us", "small.dvl.mean_us", "small.edvl.tc0_us", "small.edvl.mean_us"],
        ),
        Parameter::varied(
            "flows named behind a stopped queue",
            "yes",
            "The slides make no difference. Those who wait behind a stopped queue may be victims.",
            vec![isolation("no", &["spare_stopped=true"])],
            &["n1.edvl.tc0_us"],
        ),
        Parameter::varied(
            "how long a flow that was named stays isolated where nothing of it waits",
            "100 µs",
            "It decides how soon network cards forget. The slides do not speak of them.",
            vec![isolation("10 µs", &["idle_life=10 us"]), isolation("1 ms", &["idle_life=1 ms"])],
            &WATCHED,
        ),
        Parameter::varied(
            "network cards",
            "they listen: what is named waits there, each destination in a queue of its own",
            "\"NICs with as many queues as destinations\". Whether they take messages is open.",
            vec![isolation("they do not", &["hosts=false"])],
            &WATCHED,
        ),
    ]
}

/// Traffic and networks.
fn surroundings() -> Vec<Parameter> {
    vec![
        Parameter {
            name: "what the percentages count",
            value: "flows, uniform within a class",
            why: "\"of overall traffic\" may mean either. Counting flows the mean is 775 kB, counting bytes 70 kB.",
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
            name: "ECN",
            value: "DCQCN with marking, both as in its paper",
            why: "The slides say \"ECN\".",
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
            name: "acknowledgments",
            value: "one for 64 packets",
            why: "Nothing is lost, so they only notify a sender that it has ended.",
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
             With 1024 hosts it is taken for 48 switches of 64 ports in two stages, and for 1280 of 8 ports in five.",
        ),
        Parameter::fixed(
            "sensitivity",
            "network 2 with 64 hosts and as many flows of each (small), ten senders (incast, wide)",
            "The whole of network 2 takes thirty times as long. What is named, and what tables and markings do, shows in network 1.",
        ),
    ]
}
