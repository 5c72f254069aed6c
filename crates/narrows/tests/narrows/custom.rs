//! Controls that are not built in: the same numbers as built-in ones, wherever these may stand.

use std::fmt::Debug;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use narrows::diagnostic::Code;
use narrows::document::Document;
use narrows::plan::Plan;
use narrows::results::Results;
use narrows::run::{Options, run};
use narrows_proto::cc::custom::{Maker, Outside, Settings, Uses};
use narrows_proto::cc::{
    Ack, Congestion, Controller, Limit, Path, bbr, cubic, dcqcn, dctcp, hpcc, rackcc, reno, swift,
};
use narrows_proto::units::{Bytes, Span, Time};

const SCENARIO: &str = r#"
version = 1
name = "custom"
stop = { after = "60 ms", drain = "200 ms" }

[topology.leaf_spine]
racks = 2
hosts_per_rack = 3
spines = 1
host_rate = "1 Gb/s"
uplink_rate = "1 Gb/s"
delay = "1 us"

[switches.default]
buffer = { size = "60 kB", sharing = "complete" }
marking = { step = { k = "30 kB" } }

[[traffic]]
name = "mice"
pattern = { closed_loop = { clients = 2, parallel = 2, sizes = { constant = "40 kB" }, from = "rack0/*", to = "rack1/*" } }

[[traffic]]
name = "elephants"
pattern = { long_lived = { flows = 4, size = "2 MB", from = "rack0/*", to = "rack1/*" } }
cc = { cubic = {} }

[record]
windows = { interval = "100 us" }
"#;

/// The scenario with these settings for its first group.
fn document(settings: &[&str]) -> Document {
    let mut document = Document::parse("custom.toml", SCENARIO, "").expect("TOML");
    for assignment in settings {
        document.set(assignment).expect("it is there");
    }
    document
}

fn play(document: Document, threads: usize) -> Results {
    let plan = Plan::new(document).unwrap_or_else(|rejection| panic!("{rejection}"));
    run(&Arc::new(plan), Options { threads, ..Options::default() }, |_| ControlFlow::Continue(()))
        .expect("little is recorded")
}

fn same<T: PartialEq + Debug>(name: &str, one: &T, other: &T) {
    assert!(one == other, "{name} differ");
}

/// Runs the control `name` as it is built in and as one from outside.
fn compare(
    name: &str,
    settings: &str,
    maker: impl Maker + 'static,
    more: &[&str],
    threads: usize,
) -> Results {
    let maker: Arc<dyn Maker> = Arc::new(maker);
    let around = more.contains(&"around");
    let more: Vec<_> = more.iter().filter(|setting| setting.contains('=')).copied().collect();
    let cc = |inner: String| match around {
        true => format!("traffic.mice.cc = {{ annulus = {{ end_to_end = {{ {inner} }} }} }}"),
        false => format!("traffic.mice.cc = {{ {inner} }}"),
    };
    let inside = cc(format!("{name} = {{ {settings} }}"));
    let outside = cc(format!("custom = {{ name = \"mine\", settings = {{ {settings} }} }}"));
    let inside = play(document(&[more.as_slice(), &[&inside]].concat()), threads);
    let mut outside = document(&[more.as_slice(), &[&outside]].concat());
    outside.attach("mine", maker);
    let outside = play(outside, threads);
    assert!(inside.complete && inside.flows.len() > 10, "{name}: {} flows", inside.flows.len());
    same("flows", &inside.flows, &outside.flows);
    same("windows", &inside.windows, &outside.windows);
    same("ports", &inside.ports, &outside.ports);
    inside
}

#[test]
fn a_control_from_outside_gives_the_same_bytes_as_the_one_inside() {
    compare("dctcp", "gain = 0.25", Outside::<dctcp::Dctcp>::new("1"), &[], 1);
    compare("reno", "", Outside::<reno::Reno>::new("1"), &[], 1);
    compare("cubic", "", Outside::<cubic::Cubic>::new("1"), &[], 1);
    compare("bbr", "", Outside::<bbr::Bbr>::new("1"), &[], 1);
    compare("swift", "", Outside::<swift::Swift>::new("1"), &["transport.ack_every=1"], 1);
}

#[test]
fn a_control_from_outside_hears_all_that_rdma_and_racks_tell() {
    let rdma = "traffic.mice.rdma={}";
    compare("dctcp", "", Outside::<dctcp::Dctcp>::new("1"), &[rdma], 1);
    compare("dcqcn", "", Outside::<dcqcn::Dcqcn>::new("1"), &[rdma], 1);
    let telemetry = "switches.default.telemetry=true";
    compare("hpcc", "base_rtt = \"200 us\"", Outside::<hpcc::Hpcc>::new("1"), &[rdma, telemetry], 1);
    let agent = "switches.default.rack_agent={}";
    compare("rackcc", "", Outside::<rackcc::Rackcc>::new("1"), &[agent], 1);
}

#[test]
fn a_control_from_outside_stands_in_annulus_and_on_kept_connections_on_every_number_of_threads() {
    for threads in [1, 2] {
        let maker = || Outside::<dctcp::Dctcp>::new("1");
        let qcn = "switches.default.congestion_point={ qcn = { set_point = \"20 kB\" } }";
        compare("dctcp", "", maker(), &["around", qcn], threads);
        compare("dctcp", "", maker(), &["transport.keep_connections=true"], threads);
    }
}

fn rejected(document: Document) -> String {
    Plan::new(document).expect_err("refused").to_string()
}

const MINE: &str = r#"traffic.mice.cc={ custom = { name = "mine", settings = { gain = 2 } } }"#;

#[test]
fn a_control_that_nobody_attached_is_refused_with_those_that_are() {
    let alone = rejected(document(&[MINE]));
    let start = "--set:1:37  no congestion control is attached as \"mine\"\n  ";
    assert!(alone.starts_with(&format!("{start}Python attaches it: narrows.run(")), "{alone}");
    let mut with = document(&[MINE]);
    with.attach("mime", Arc::new(Outside::<dctcp::Dctcp>::new("1")));
    assert_eq!(rejected(with), format!("{start}did you mean \"mime\"? known: mime"));
    let built_in = rejected(document(&["traffic.mice.cc={ custom = { name = \"dctcp\" } }"]));
    assert!(built_in.ends_with("one of this name is built in: cc = { dctcp = {} }"), "{built_in}");
}

#[test]
fn a_control_may_refuse_its_settings() {
    let mut document = document(&[MINE]);
    document.attach("mine", Arc::new(Outside::<dctcp::Dctcp>::new("1")));
    let message = "--set:1:56  mine refuses its settings: gain = 2, expected above 0, at most 1";
    assert_eq!(rejected(document), message);
}

#[test]
fn dates_are_no_settings() {
    let date = r#"traffic.mice.cc={ custom = { name = "mine", settings = { day = 1979-05-27 } } }"#;
    let message = rejected(document(&[date]));
    let found = "found a date or time without quotation marks, expected a boolean, a number, a string";
    assert!(message.contains(found), "{message}");
}

#[test]
fn the_scenario_as_it_is_run_has_the_version_of_the_code_and_reads_back() {
    let settings = r#"{ list = [1, 2.5, nan], text = "a", yes = true, table = { a = { b = -1 } } }"#;
    let cc = format!("traffic.mice.cc={{ custom = {{ name = \"mine\", settings = {settings} }} }}");
    let maker = |failed| Arc::new(Broken { failed: AtomicBool::new(failed) });
    let mut first = document(&[&cc]);
    first.attach("mine", maker(false));
    let first = Plan::new(first).unwrap_or_else(|rejection| panic!("{rejection}"));
    assert!(first.text.contains("code = \"broken 1\""), "{}", first.text);
    assert!(first.warnings.iter().all(|warning| warning.code != Code::OtherCode));
    assert_eq!(first.groups[0].control, "custom(mine)");
    let mut again = Document::parse("again.toml", first.text.clone(), "").expect("TOML");
    again.attach("mine", maker(false));
    assert_eq!(Plan::new(again).expect("the same").text, first.text);
}

#[test]
fn other_code_than_the_scenario_notes_is_warned_of() {
    let mut document = document(&["traffic.mice.cc={ custom = { name = \"mine\", code = \"0\" } }"]);
    document.attach("mine", Arc::new(Outside::<dctcp::Dctcp>::new("1")));
    let plan = Plan::new(document).expect("a run is possible");
    assert_eq!(plan.warnings.iter().map(|warning| warning.code).collect::<Vec<_>>(), [Code::OtherCode]);
    assert_eq!(plan.warning_texts(), ["mine has code = \"0\" here, the one attached is \"1\""]);
    assert!(plan.text.contains("code = \"1\""));
}

/// Has failed when it is told so.
#[derive(Debug)]
struct Broken {
    failed: AtomicBool,
}

impl Maker for Broken {
    fn check(&self, _settings: &Settings) -> Result<(), String> {
        Ok(())
    }

    fn version(&self) -> String {
        "broken 1".into()
    }

    fn uses(&self, _settings: &Settings) -> Uses {
        Uses::default()
    }

    fn make(&self, _settings: &Settings, path: &Path) -> Box<dyn Controller + Send> {
        Box::new(Still { cwnd: path.initial_window })
    }

    fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }
}

struct Still {
    cwnd: Bytes,
}

impl Controller for Still {
    fn on_ack(&mut self, _ack: &Ack) {}

    fn on_congestion(&mut self, _now: Time, _event: Congestion) {}

    fn limit(&self) -> Limit {
        Limit::window(self.cwnd)
    }
}

#[test]
fn a_control_that_fails_ends_the_run() {
    let maker = Arc::new(Broken { failed: AtomicBool::new(false) });
    let mut document = document(&["traffic.mice.cc={ custom = { name = \"mine\" } }"]);
    document.attach("mine", Arc::clone(&maker) as Arc<dyn Maker>);
    let plan = Arc::new(Plan::new(document).unwrap_or_else(|rejection| panic!("{rejection}")));
    let middle = Time::ZERO + Span::from_ms(5);
    let results = run(&plan, Options::default(), |progress| {
        maker.failed.store(progress.now >= middle, Ordering::Relaxed);
        ControlFlow::Continue(())
    })
    .unwrap();
    assert!(!results.complete && results.ended < Time::ZERO + Span::from_ms(20), "{}", results.ended);
}
