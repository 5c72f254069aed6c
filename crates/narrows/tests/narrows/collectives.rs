//! Collectives from a scenario to its tables.

use std::ops::ControlFlow;
use std::sync::Arc;

use narrows::document::Document;
use narrows::plan::Plan;
use narrows::results::Results;
use narrows::run::{Options, run};
use narrows_proto::units::Span;

const TEXT: &str = r#"
version = 2
name = "training"
hosts = "ideal"
stop = { after = "10 ms", drain = "100 ms" }
topology.star = { hosts = 4, rate = "100 Gb/s", delay = "500 ns" }
switches.default = { buffer = { size = "1 GB", sharing = "per_port" } }

[[traffic]]
name = "ring"
pattern = { collective = { kind = "ring_all_reduce", size = "16 MB", iterations = 2, compute = "100 us" } }
rdma = { mtu = "4096 B", ack_every = 64, queue_pair = { outstanding = 16 } }
cc = { fixed = {} }
"#;

fn results(overrides: &[&str]) -> Results {
    let mut document = Document::parse("training.toml", TEXT, "").unwrap();
    overrides.iter().for_each(|assignment| document.set(assignment).unwrap());
    let plan = Arc::new(Plan::new(document).unwrap());
    run(&plan, Options::default(), |_| ControlFlow::Continue(())).unwrap()
}

#[test]
fn an_idle_ring_reaches_the_rate_of_a_link() {
    let results = results(&[]);
    assert_eq!(results.metric("ring.collectives"), Some(2.0));
    assert_eq!(results.metric("ring.unfinished_collectives"), Some(0.0));
    // 6 (1 us + 8·4 MB/100 Gb/s), and 2 % of headers.
    let time = results.metric("ring.mean_collective_us").unwrap();
    assert!((6.0 * 321.0..6.0 * 321.0 * 1.03).contains(&time), "{time}");
    let bus = results.metric("ring.bus_gbps").unwrap();
    assert!((96.0..100.0).contains(&bus), "{bus}");
    assert!((results.metric("ring.algorithm_gbps").unwrap() * 1.5 - bus).abs() < 1e-6);
    let steps: Vec<_> = results.steps.iter().map(|row| (row.iteration, row.step, row.messages)).collect();
    assert_eq!(steps[..7], [(0, 0, 4), (0, 1, 4), (0, 2, 4), (0, 3, 4), (0, 4, 4), (0, 5, 4), (1, 0, 4)]);
    let ends: Vec<_> = results.steps.iter().map(|row| row.end.unwrap()).collect();
    assert!(ends.is_sorted());
    assert_eq!(ends[5], results.collectives[0].end.unwrap());
}

#[test]
fn the_message_that_the_slowest_rank_waited_for_is_named() {
    // A flow of 5 MB shares the link to host 2 for a while.
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("one.csv"), "start,src,dst,bytes\n0,0,2,5 MB\n").unwrap();
    let text = format!(
        "{TEXT}\n[[traffic]]\n{}",
        "name = \"other\"\nstart = \"100 us\"\npattern = { trace = { file = \"one.csv\" } }\nrdma = { mtu = \"4096 B\" }\ncc = { fixed = {} }\n"
    );
    let mut document = Document::parse("training.toml", text, folder.path()).unwrap();
    document.set("traffic.ring.pattern.collective.iterations=1").unwrap();
    document.set(r#"record.queues={ interval = "10 us", of = "*" }"#).unwrap();
    let plan = Arc::new(Plan::new(document).unwrap());
    let results = run(&plan, Options::default(), |_| ControlFlow::Continue(())).unwrap();
    let row = results.collectives[0];
    let late = row.late.unwrap();
    let flow =
        results.flows.iter().find(|flow| (flow.flow, flow.incarnation) == (late.flow, late.incarnation));
    let flow = flow.unwrap();
    // Host 0 shares its own link as well: its message to host 1 is late, or that of host 1 to host 2.
    assert!([(0, 1), (1, 2)].contains(&(flow.from.0, flow.to.0)), "{flow:?}");
    assert!(late.late >= Span::from_us(200) && late.all >= late.late, "{late:?}");
    let port = plan.network.topology.link(late.port.unwrap().0);
    assert_eq!(plan.network.topology.node(port.to).name, plan.network.topology.host_name(flow.to));
}

#[test]
fn what_has_not_ended_is_said_to_be_unfinished() {
    let results = results(&[r#"stop.after="200 us""#, r#"stop.drain="1 ms""#]);
    assert_eq!(results.metric("ring.unfinished_collectives"), Some(1.0));
    assert_eq!(results.metric("ring.mean_collective_us"), None);
    assert_eq!((results.collectives[0].end, results.collectives[0].late), (None, None));
    assert!(results.table("collective_steps").is_some());
}
