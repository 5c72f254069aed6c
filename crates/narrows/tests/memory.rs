//! Promises about memory, compared with what an allocator counts.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]
#![allow(
    unsafe_code,
    reason = "an allocator that counts is unsafe to write, and forwards to that of the system"
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use narrows::plan::Plan;
use narrows::report::Digest;
use narrows::results::Output;
use narrows::run::{Options, run};
use narrows::templates::{self, TEMPLATES};
use narrows_proto::units::Bytes;

/// Counts what is in use, the most that was, and all that was ever asked for.
struct Counting;

static IN_USE: AtomicU64 = AtomicU64::new(0);
static PEAK: AtomicU64 = AtomicU64::new(0);
static ASKED: AtomicU64 = AtomicU64::new(0);

// A list that grows counts twice while it is copied, as the default of `realloc` has it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let size = layout.size() as u64;
        ASKED.fetch_add(size, Ordering::Relaxed);
        PEAK.fetch_max(IN_USE.fetch_add(size, Ordering::Relaxed) + size, Ordering::Relaxed);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        IN_USE.fetch_sub(layout.size() as u64, Ordering::Relaxed);
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Tests of this file run one after the other: what one takes would count for another.
static ALONE: Mutex<()> = Mutex::new(());

struct Count<'a> {
    before: u64,
    asked: u64,
    _alone: &'a MutexGuard<'a, ()>,
}

impl<'a> Count<'a> {
    fn begin(alone: &'a MutexGuard<'a, ()>) -> Self {
        let before = IN_USE.load(Ordering::Relaxed);
        PEAK.store(before, Ordering::Relaxed);
        Self { before, asked: ASKED.load(Ordering::Relaxed), _alone: alone }
    }

    /// The most that was in use since, besides what was before.
    fn peak(&self) -> Bytes {
        Bytes::new(PEAK.load(Ordering::Relaxed).saturating_sub(self.before))
    }

    /// All that was asked for since.
    fn asked(&self) -> Bytes {
        Bytes::new(ASKED.load(Ordering::Relaxed) - self.asked)
    }
}

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A template after these overrides, planned; what was promised, and the most that was in use until all was written.
fn promised_and_used(template: &str, overrides: &[&str]) -> (Bytes, Bytes) {
    let alone = alone();
    let place = tempfile::tempdir().unwrap();
    let count = Count::begin(&alone);
    let mut document = templates::find(template).unwrap().document().unwrap();
    overrides.iter().for_each(|assignment| document.set(assignment).unwrap());
    let plan = Arc::new(Plan::new(document).unwrap());
    let promised = plan.memory(1);
    let output = Output::begin(&place.path().join("out"), false).unwrap();
    let results = run(&plan, Options::default(), |_| ControlFlow::Continue(())).unwrap();
    output.write(&results, "").unwrap();
    let digest = Digest::of(&results).unwrap();
    output.write_text("", "report.html", &narrows::report::page_of_run(&digest)).unwrap();
    (promised, count.peak())
}

/// Much is recorded by each recorder, where there is something to record.
const HEAVY: &[(&str, &[&str])] = &[
    ("incast", &["stop={ after = '1 ms' }", "record={}"]),
    ("leaf-spine", &["stop={ after = '4 ms' }", "record={ queues = { interval = '1 us' } }"]),
    ("leaf-spine", &["stop={ after = '4 ms' }", "record={ links = { interval = '1 us' } }"]),
    (
        "leaf-spine",
        &["stop={ after = '4 ms' }", "record={ windows = { interval = '1 us', flows = 100000 } }"],
    ),
    (
        "leaf-spine",
        &[
            "stop={ after = '4 ms' }",
            "record={ queues = { interval = '1 us' }, links = { interval = '1 us' }, windows = { interval = '1 us' } }",
        ],
    ),
    ("racks", &["stop={ after = '4 ms' }", "record={ racks = { interval = '1 us' } }"]),
    ("isolation", &["record={ isolation = {}, queues = { interval = '1 us' } }"]),
    (
        "two-dc-mix",
        &[
            "stop={ after = '20 ms' }",
            "traffic.dc.cc={ annulus = { end_to_end = { dctcp = {} } } }",
            "switches.default.congestion_point={ qcn = { set_point = \"33 kB\", message = { reach = \"tor_agg\" } } }",
            "record={ limiters = { interval = '1 us' }, queues = { interval = '1 us' } }",
        ],
    ),
];

#[test]
fn runs_that_record_much_stay_within_what_is_promised() {
    for (template, overrides) in HEAVY {
        let (promised, used) =
            promised_and_used(template, &[overrides, &["measure={}", "expect=[]"][..]].concat());
        assert!(used <= promised, "{template} {overrides:?}: {used} used, {promised} promised");
    }
}

#[test]
fn what_is_promised_for_recording_is_no_more_than_ports_busy_all_the_time_would_take() {
    // One port that is never idle: each interval has its row.
    let base = [
        "stop={ after = '4 ms' }",
        "measure={}",
        "expect=[]",
        "traffic.0.pattern={ long_lived = { flows = 64 } }",
    ];
    let without = promised_and_used("incast", &[&base[..], &["record={}"]].concat());
    let with =
        promised_and_used("incast", &[&base[..], &["record={ queues = { interval = '100 ns' } }"]].concat());
    let (promised, used) = (with.0 - without.0, with.1.saturating_sub(without.1));
    // Most ports lead to senders that only get acknowledgments, and a list is counted at twice its length.
    assert!(used <= promised && promised.get() < 40 * used.get(), "{used} used, {promised} promised");
}

/// Memory for a check of a template when the run is as long as this: the most in use, and all that was asked for.
fn check(name: &str, after: &str) -> (Bytes, Bytes, usize) {
    let alone = alone();
    let count = Count::begin(&alone);
    let mut document = templates::find(name).unwrap().document().unwrap();
    document.set(&format!("stop.after=\"{after}\"")).unwrap();
    // As intervals have to go with the length of the run.
    document.set("record={}").unwrap();
    document.set("expect=[]").unwrap();
    let drawn = Plan::outline(document).map_or(0, |plan| {
        let _ = (plan.memory(1), plan.cost());
        plan.traffic.flows.len()
    });
    (count.peak(), count.asked(), drawn)
}

#[test]
fn checking_a_template_takes_no_more_for_a_long_run() {
    for name in TEMPLATES.iter().map(|template| template.name) {
        for after in ["1 h", "29 h", "700 h", "8760 h"] {
            let (peak, asked, drawn) = check(name, after);
            assert!(peak.get() < 200_000_000, "{name}, {after}: {peak} in use");
            assert!(drawn <= 500_000, "{name}, {after}: {drawn} flows drawn");
            // Not only at once: of each group at most 50 000 flows of 40 bytes are drawn, in lists that grow.
            assert!(asked.get() < 300_000_000, "{name}, {after}: {asked} asked for");
        }
    }
}

#[test]
fn an_outline_has_the_first_flows_and_the_rest_are_the_same_when_drawn() {
    let _alone = alone();
    for name in TEMPLATES.iter().map(|template| template.name) {
        let document = || templates::find(name).unwrap().document().unwrap();
        let all = Plan::new(document()).unwrap();
        let limits = narrows::plan::Limits { outlined: 10, ..narrows::plan::Limits::default() };
        let outline = Arc::new(Plan::outline_within(document(), limits).unwrap());
        for (few, all) in outline.groups.iter().zip(&all.groups) {
            // An expected number of arrivals, and what came: ±6 standard deviations.
            // Messages of a collective follow each other on its flows.
            let found = if all.collective.is_some() { all.expected_flows() } else { all.flows.len() as f64 };
            let expected = few.expected_flows();
            let per = few.expected.map_or(1.0, |expected| f64::from(expected.per_arrival));
            let deviation =
                if few.expected.is_some_and(|e| e.is_random) { (expected / per).sqrt() * per } else { 0.0 };
            assert!((expected - found).abs() <= 6.0 * deviation, "{name}: {expected} expected, {found} came");
            assert!(few.expected.is_none_or(|expected| expected.most() >= all.flows.len() as u64), "{name}");
        }
        let first = |plan: &Plan, group: usize| plan.traffic.flows[plan.groups[group].flows.start];
        for group in 0..all.groups.len() {
            assert_eq!(first(&outline, group), first(&all, group), "{name}");
        }
        let drawn = outline.drawn().unwrap();
        assert!(drawn.is_drawn());
        assert_eq!(drawn.traffic.flows, all.traffic.flows, "{name}");
        assert_eq!(drawn.warnings, all.warnings, "{name}");
    }
}

#[test]
fn a_scenario_with_too_many_flows_is_refused_before_any_are_drawn_in_vain() {
    let alone = alone();
    let count = Count::begin(&alone);
    let mut document = templates::find("two-dc-mix").unwrap().document().unwrap();
    document.set("stop.after=\"100 h\"").unwrap();
    document.set("record={}").unwrap();
    assert!(Plan::new(document).is_err());
    assert!(count.peak().get() < 100_000_000, "{}", count.peak());
}

#[test]
fn an_outline_says_that_windows_are_recorded_of_the_first_flows_only() {
    let _alone = alone();
    let mut document = templates::find("leaf-spine").unwrap().document().unwrap();
    document.set("record={ windows = { interval = '1 us' } }").unwrap();
    let limits = narrows::plan::Limits { outlined: 10, ..narrows::plan::Limits::default() };
    let outline = Plan::outline_within(document.clone(), limits).unwrap();
    let expected = outline.groups[0].expected.expect("its flows come as long as the run lasts");
    let note = &outline.notes[0];
    assert!(note.message.contains(&format!("about {:.0} of", expected.flows)), "{}", note.message);
    assert!(note.help.as_ref().unwrap().contains(&format!("{} records all", expected.most())), "{note:?}");
    let all = Plan::new(document).unwrap();
    assert!(
        all.notes[0].message.contains(&format!("of {} of", all.groups[0].flows.len())),
        "{:?}",
        all.notes
    );
}
