//! Runs that are watched: the same results, and numbers that agree with them.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use narrows::live::{Control, Monitor, Order, Watched};
use narrows::plan::Plan;
use narrows::results::Results;
use narrows::run::{Options, run, run_watched};
use narrows::statistics::percentile;
use narrows::templates;
use narrows_proto::units::{Bytes, Span};
use narrows_sim::observe::Look;

/// Between them: losses, marks, pauses, messages, isolated flows, datagrams, clients, several data centers, recorded queues.
const SCENARIOS: [(&str, &[&str]); 5] = [
    ("incast", &[]),
    ("victim", &["stop.after='3 ms'"]),
    ("isolation", &["stop.after='2 ms'"]),
    ("two-dc-mix", &["stop.after='4 ms'"]),
    ("datagrams", &["stop.after='2 ms'"]),
];

fn planned(name: &str, overrides: &[&str]) -> Arc<Plan> {
    let mut document = templates::find(name).unwrap().document().unwrap();
    for assignment in overrides {
        document.set(assignment).unwrap();
    }
    Arc::new(Plan::new(document).unwrap_or_else(|error| panic!("{name}: {error}")))
}

fn options(threads: usize) -> Options {
    Options { threads, ..Options::default() }
}

/// Runs a plan; whenever it reports its progress somebody asks for a look.
fn watched(plan: &Arc<Plan>, threads: usize) -> (Results, Look, u64) {
    let watched = Watched::new(plan, threads, &Arc::default());
    let results = run_watched(plan, options(threads), &watched, |_| {
        watched.live.ask();
        ControlFlow::Continue(())
    })
    .unwrap();
    (results, watched.live.look(), watched.live.answered())
}

/// Everything that results consist of.
fn all_of(results: &Results) -> String {
    let recorded = (&results.queues, &results.links, &results.windows, &results.recorded);
    format!(
        "{:?} {:?} {:?} {:?} {:?} {:?} {:?}",
        results.flows,
        results.ports,
        results.datagrams,
        results.metrics,
        results.activity,
        recorded,
        (results.packet_hops, results.ended)
    )
}

#[test]
fn results_are_the_same_whether_somebody_watches_or_not() {
    for (name, overrides) in SCENARIOS {
        let plan = planned(name, overrides);
        let expected = all_of(&run(&plan, options(1), |_| ControlFlow::Continue(())).unwrap());
        for threads in [1, 3] {
            let (results, _, answered) = watched(&plan, threads);
            assert!(answered > 1, "{name}: nobody has looked");
            assert!(all_of(&results) == expected, "{name} differs on {threads} threads when it is watched");
        }
    }
}

#[test]
fn the_last_look_agrees_with_the_results() {
    for (name, overrides) in SCENARIOS {
        let plan = planned(name, overrides);
        for threads in [1, 3] {
            let (results, look, _) = watched(&plan, threads);
            assert_eq!(look.until, results.ended + Span::from_ps(1), "{name}");
            for (link, (look, counters)) in look.links.iter().zip(&results.ports).enumerate() {
                let seen = (look.packets, look.bytes, look.marks, look.drops, look.peak);
                let counted = (
                    counters.packets,
                    counters.bytes,
                    counters.marks,
                    counters.dropped(),
                    counters.max_backlog,
                );
                assert_eq!(seen, counted, "{name}: packets, bytes, marks, drops, peak of link {link}");
            }
            let mut monitor = Monitor::new(&plan);
            monitor.take(look, Duration::from_secs(1));
            let (rows, all) = monitor.activity(Order::Listed, 0..100);
            assert_eq!(rows.len(), all);
            for row in rows {
                let counted = results.activity.iter().find(|activity| activity.what == row.what);
                assert_eq!(Some(row.times), counted.map(|activity| activity.times), "{name}: {}", row.what);
            }
        }
    }
}

#[test]
fn groups_show_what_their_flows_have_done() {
    for (name, overrides) in SCENARIOS {
        let plan = planned(name, overrides);
        let (results, look, _) = watched(&plan, 3);
        for (number, (group, planned)) in look.groups.iter().zip(&plan.groups).enumerate() {
            let flows: Vec<_> = results.flows.iter().filter(|flow| flow.group as usize == number).collect();
            let datagrams =
                results.datagrams.iter().filter(|record| planned.flows.contains(&record.flow.index()));
            let delivered: Bytes = flows.iter().map(|flow| flow.delivered).sum();
            let received: Bytes = datagrams.map(|record| record.received_bytes).sum();
            assert_eq!(group.delivered, delivered + received, "{name}: {}", planned.name);
            let mut times: Vec<_> =
                flows.iter().filter_map(|flow| Some(flow.end?.saturating_since(flow.start))).collect();
            times.sort_unstable();
            assert_eq!(group.finished, times.len() as u64, "{name}: {}", planned.name);
            for p in [0.5, 0.99] {
                let (Some(shown), Some(exact)) = (group.fct.quantile(p), percentile(&times, p)) else {
                    assert!(times.is_empty());
                    continue;
                };
                let ratio = shown.as_secs_f64() / exact.as_secs_f64();
                assert!(
                    (0.98..1.02).contains(&ratio),
                    "{name}: {} is {shown} instead of {exact}",
                    planned.name
                );
            }
        }
    }
}

#[test]
fn a_run_that_is_paused_stands_still_and_shows_where() {
    let plan = planned("two-dc-mix", &["stop.after='50 s'"]);
    let control = Arc::new(Control::default());
    let watched = Watched::new(&plan, 1, &control);
    let quit = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let run = scope.spawn(|| {
            run_watched(&plan, options(1), &watched, |_| {
                if quit.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            })
        });
        let look = |number: u64| {
            while watched.live.answered() < number {
                std::thread::sleep(Duration::from_millis(1));
            }
            watched.live.look()
        };
        look(watched.live.ask());
        let last = watched.live.ask();
        control.pause(true);
        let paused = look(last);
        let unanswered = watched.live.ask();
        std::thread::sleep(Duration::from_millis(50));
        assert_eq!(watched.live.look(), paused);
        control.pause(false);
        assert!(look(unanswered).until > paused.until);
        quit.store(true, Ordering::Relaxed);
        assert!(!run.join().unwrap().unwrap().complete);
    });
}

#[test]
fn speeds_and_rates_are_those_between_looks() {
    let plan = planned("incast", &[]);
    let mut monitor = Monitor::new(&plan);
    let look = |us: u64, bytes: u64, most: u64| {
        let mut look = Monitor::blank(&plan);
        look.until = narrows_proto::units::Time::ZERO + Span::from_us(us);
        let link = &mut look.links[3];
        (link.bytes, link.packets, link.most, link.peak) = (bytes, bytes / 1000, most, most);
        look.groups[0].delivered = Bytes::new(bytes);
        look.counts.ports.marks = bytes / 1000;
        look
    };
    monitor.take(look(100, 50_000, 9000), Duration::from_secs(1));
    monitor.take(look(200, 100_000, 4000), Duration::from_secs(2));
    assert_eq!((monitor.speed().simulated, monitor.speed().packets), (100e-6, 50.0));
    let rate = plan.network.topology.links()[3].wire.rate;
    let link = &monitor.links(Order::Now, 0..9).0[0];
    assert!((link.utilization - 4e9 / rate.as_f64()).abs() < 1e-9, "{}", link.utilization);
    assert!((monitor.groups(Order::Now, 0..9).0[0].rate - 4e9).abs() < 1.0);
    assert_eq!(monitor.activity(Order::Now, 0..1).0[0].since, 50);
    let (queues, all) = monitor.queues(Order::Now, 0..9);
    assert_eq!((all, queues[0].most, queues[0].history.len()), (1, 4000, narrows::live::SAMPLES));
    assert_eq!(queues[0].history[30..], [9000, 4000]);
    // A look that shows nothing new changes nothing.
    monitor.take(look(200, 100_000, 0), Duration::from_secs(3));
    assert_eq!(monitor.queues(Order::Now, 0..9).0, queues);
}
