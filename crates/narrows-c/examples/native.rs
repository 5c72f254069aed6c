//! Runs a scenario natively and prints what a program that is attached to one prints, to compare the two:
//! `native SCENARIO`.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use narrows::document::Document;
use narrows::plan::Plan;
use narrows::run::{Options, run};

fn main() {
    let path = std::env::args().nth(1).expect("usage: native SCENARIO");
    let plan = Document::read(Path::new(&path)).and_then(Plan::new).unwrap_or_else(|error| panic!("{error}"));
    // The run without its layout and its results, as the other program measures it.
    let mut begin = None;
    let mut last = None;
    let results = run(&Arc::new(plan), Options::default(), |progress| {
        begin.get_or_insert((Instant::now(), progress.packet_hops));
        last = Some((Instant::now(), progress.packet_hops));
        ControlFlow::Continue(())
    });
    let results = results.unwrap_or_else(|error| panic!("{error}"));
    let ((begin, before), (end, after)) = begin.zip(last).expect("a run reports progress");
    let times: Vec<_> =
        results.collectives.iter().map(|row| row.end.map(|end| (end - row.start).as_ps())).collect();
    println!(
        "collectives={times:?} packet_hops={} measured_hops={} wall_s={:.3}",
        results.packet_hops,
        after - before,
        (end - begin).as_secs_f64()
    );
}
