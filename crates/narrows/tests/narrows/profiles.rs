//! Streams with the defaults of Linux in a network: what connections leave to later ones, and windows that receivers announce.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::Arc;

use narrows::diagnostic::Code;
use narrows::document::Document;
use narrows::plan::Plan;
use narrows::results::Results;
use narrows::run::{Options, run, watch};
use narrows_proto::units::Time;
use narrows_sim::observe::{Observer, PacketRef};
use narrows_sim::{DropCause, FlowId, LinkId};

/// One host sends to another, 100 Mb/s and 40 ms of round trip; the buffer holds a bandwidth-delay product.
const NETWORK: &str = r#"
version = 1
name = "linux"
stop = { after = "20 s" }
switches.default.buffer = { size = "500 kB", sharing = "complete" }

[topology.dumbbell]
hosts = 1
host_rate = "1 Gb/s"
bottleneck_rate = "100 Mb/s"
host_delay = "10 us"
bottleneck_delay = "20 ms"

[[traffic]]
name = "data"
"#;

fn results(traffic: &str, overrides: &[&str]) -> Results {
    let mut document = Document::parse("linux.toml", format!("{NETWORK}{traffic}\n"), "").expect("parses");
    for assignment in overrides {
        document.set(assignment).expect("fits");
    }
    let plan = Arc::new(Plan::new(document).unwrap_or_else(|error| panic!("{error}")));
    run(&plan, Options::default(), |_| ControlFlow::Continue(())).expect("little is recorded")
}

/// Two flows of 20 MB from one host to another, the second long after the first, whose slow start only a loss ends.
const TWO: &str = r#"
cc = { cubic = { hystart = false } }
pattern.long_lived = { flows = 2, size = "20 MB", start_every = "8 s", from = "left/host0", to = "right/host0" }
"#;

fn retransmissions(overrides: &[&str]) -> Vec<u64> {
    let results = results(TWO, overrides);
    assert!(results.flows.iter().all(|flow| flow.fct().is_some()), "both end");
    results.flows.iter().map(|flow| flow.stats.retransmissions).collect()
}

#[test]
fn a_second_connection_to_a_host_stops_doubling_where_the_first_had_to() {
    let with = retransmissions(&["transport.profile=linux-4.9"]);
    assert!(with[0] > 100 && with[1] < with[0] / 10, "{with:?}");
    // Linux 6.12 does not keep the threshold.
    for overrides in [
        &["transport.profile=linux-6.12"][..],
        &["transport.profile=linux-4.9", "transport.host_metrics=false"],
    ] {
        let without = retransmissions(overrides);
        assert!(without[1] > without[0] / 2, "{without:?}");
    }
}

#[test]
fn an_announced_window_bounds_the_rate_by_window_and_round_trip() {
    let one = r#"
cc = { cubic = {} }
pattern.long_lived = { size = "10 MB", from = "left/host0", to = "right/host0" }
"#;
    // Half of 256 KiB in each 40 ms.
    let fixed = ["transport.receive_buffer={ initial = \"262144 B\", most = \"262144 B\" }"];
    let flow = &results(one, &fixed).flows[0];
    let time = flow.fct().expect("it ends").as_secs_f64();
    let bound = 10e6 / (131_072.0 / 0.0402);
    // Slow start and the ends of the flow take some round trips more.
    assert!(time > bound && time < bound + 0.4, "{time} s, at least {bound} s");
    // One that may grow does not bound it: 10 MB take 0.83 s at 100 Mb/s.
    for profile in ["linux-6.12", "linux-4.9"] {
        let overrides =
            [format!("transport.profile={profile}"), "traffic.data.cc.cubic.hystart=false".into()];
        let flow = &results(one, &[&overrides[0], &overrides[1]]).flows[0];
        assert!(flow.fct().expect("it ends").as_secs_f64() < 1.5, "{profile}");
    }
}

#[test]
fn a_send_buffer_below_the_product_bounds_the_rate_by_buffer_and_round_trip() {
    let one = r#"
cc = { cubic = { hystart = false } }
pattern.long_lived = { size = "20 MB", from = "left/host0", to = "right/host0" }
"#;
    let took = |overrides: &[&str]| results(one, overrides).flows[0].fct().expect("it ends").as_secs_f64();
    // 100 segments in each 40 ms, of 347 that the path holds: 20 MB are 139 rounds, and some more of slow start and of the handshake.
    let time = took(&["transport.send_buffer=144800 B"]);
    let bound = 20e6 / (144_800.0 / 0.0402);
    assert!(time > bound && time < bound + 0.3, "{time} s, at least {bound} s");
    // That of Linux holds 4 MiB, and bounds nothing here.
    let profile = ["transport.profile=linux-6.12", "traffic.data.cc.cubic.hystart=false"];
    let unlimited = [profile[0], profile[1], "transport.send_buffer=1 TB"];
    assert_eq!(took(&profile), took(&unlimited));
}

#[test]
fn profiles_are_refused_for_traffic_that_they_do_not_fit() {
    let refused = |traffic: &str| {
        let text = format!("{NETWORK}{traffic}\n");
        let document = Document::parse("linux.toml", text, "").expect("parses");
        Plan::new(document).expect_err("refused").to_string()
    };
    let rdma = r#"
cc = { dcqcn = {} }
rdma = {}
transport.profile = "linux-6.12"
pattern.long_lived = { from = "left/host0", to = "right/host0" }
"#;
    let error = refused(rdma);
    assert!(error.contains("traffic \"data\" is carried over RDMA, linux-6.12 is for streams"), "{error}");
    assert!(error.contains("for RDMA: connectx-6-dx"), "{error}");
    let streams = rdma.replace("rdma = {}", "").replace("dcqcn", "cubic");
    let unknown = streams.replace("6.12", "6.1");
    let error = refused(&unknown);
    assert!(
        error.contains("did you mean \"linux-6.12\"? known: linux-6.12, linux-4.9, connectx-6-dx"),
        "{error}"
    );
    let error = refused(&streams.replace("linux-6.12", "connectx-6-dx"));
    assert!(error.contains("traffic \"data\" has streams, connectx-6-dx is for RDMA"), "{error}");
    assert!(error.contains("for streams: linux-6.12, linux-4.9"), "{error}");
    let datagrams = r#"
transport.profile = "connectx-6-dx"
pattern.on_off = { from = "left/host0", to = "right/host0", rate = "1 Gb/s", on = { constant = "1 ms" }, off = { constant = "1 ms" } }
"#;
    let error = refused(datagrams);
    assert!(error.contains("traffic \"data\" sends datagrams, connectx-6-dx is for RDMA"), "{error}");
    let error = refused(&format!(
        "{}\n[transport]\nprofile = \"connectx-6-dx\"",
        streams.replace("transport.profile = \"linux-6.12\"\n", "")
    ));
    assert!(error.contains("connectx-6-dx is for RDMA, and no traffic is such"), "{error}");
}

/// Two hosts write messages of 1 MiB to a third at 100 Gb/s; the switch drops what does not fit.
const INCAST: &str = r#"
version = 2
name = "incast"
stop = { after = "40 ms" }
topology.star = { hosts = 3, rate = "100 Gb/s", delay = "1 us" }
switches.default.buffer = { size = "1 MB", sharing = "complete" }
transport.profile = "connectx-6-dx"

[[traffic]]
name = "first"
pattern.closed_loop = { clients = 1, sizes = { constant = "1048576 B" }, from = "host0", to = "host2" }
rdma = {}
cc = { dcqcn = {} }

[[traffic]]
name = "second"
pattern.closed_loop = { clients = 1, sizes = { constant = "1048576 B" }, from = "host1", to = "host2" }
rdma = {}
cc = { dcqcn = {} }
"#;

/// Packets that were dropped, by flow.
#[derive(Default)]
struct Dropped(BTreeMap<FlowId, u64>);

impl Observer for Dropped {
    fn discarded(&mut self, _: Time, _: LinkId, packet: PacketRef<'_>, _: DropCause) {
        *self.0.entry(packet.flow().expect("all belong to flows")).or_default() += 1;
    }
}

#[test]
fn two_streams_of_a_network_card_keep_a_port_busy_that_drops_and_share_its_losses() {
    // The part of one seed scatters by 0.12: losses come together, and one of the two waits for its timeout while the other one sends.
    const SEEDS: u32 = 12;
    let (mut busy, mut first_part) = (0.0, 0.0);
    for seed in 1..=SEEDS {
        let mut document = Document::parse("incast.toml", INCAST.to_owned(), "").expect("parses");
        document.set(&format!("seed={seed}")).expect("fits");
        let plan = Arc::new(Plan::new(document).unwrap_or_else(|error| panic!("{error}")));
        let (results, dropped) = watch(&plan, Dropped::default(), |_| ControlFlow::Continue(()));
        let topology = &plan.network.topology;
        let mut links = (0..topology.links().len()).map(LinkId::from);
        let link = links.find(|link| topology.link_name(*link) == "switch -> host2").expect("there is one");
        busy += results.ports[link.index()].bytes as f64 * 8.0 / 100e9 / 0.04;
        let losses = |group| {
            let of: Vec<_> = results.flows.iter().filter(|flow| flow.group == group).collect();
            assert!(of.len() > 100, "{} messages", of.len());
            let flows: BTreeSet<_> = of.iter().map(|flow| flow.flow).collect();
            flows.iter().filter_map(|flow| dropped.0.get(flow)).sum::<u64>() as f64
        };
        let [first, second] = [0, 1].map(losses);
        first_part += first / (first + second);
    }
    let (busy, first_part) = (busy / f64::from(SEEDS), first_part / f64::from(SEEDS));
    assert!(busy >= 0.95, "{busy}");
    assert!((0.45..=0.55).contains(&first_part), "{first_part}");
}

#[test]
fn flows_whose_ends_have_less_room_than_their_path_are_warned_of() {
    let warned = |overrides: &[&str]| {
        let traffic = "cc = { cubic = {} }\npattern.long_lived = { flows = 2 }";
        let mut document =
            Document::parse("linux.toml", format!("{NETWORK}{traffic}\n"), "").expect("parses");
        for assignment in overrides {
            document.set(assignment).expect("fits");
        }
        let plan = Plan::new(document).unwrap_or_else(|error| panic!("{error}"));
        plan.warnings.iter().any(|warning| warning.code == Code::LittleRoom)
    };
    let profile = "transport.profile=linux-6.12";
    let fast = "topology.dumbbell.bottleneck_rate=1 Gb/s";
    // Two times 0.5 MB, where the buffers of Linux hold 3 to 4 MB, are on the way at 100 Mb/s; ten times as much at 1 Gb/s.
    assert!(!warned(&[profile]) && !warned(&[fast]));
    assert!(warned(&[profile, fast, "transport.send_buffer=2 MB"]));
    assert!(!warned(&[profile, fast, "transport.send_buffer=3 MB"]));
    assert!(!warned(&[
        profile,
        fast,
        "transport.send_buffer=2 MB",
        "traffic.data.pattern.long_lived.flows=3"
    ]));
}
