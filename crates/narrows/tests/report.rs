//! Pages of results: the same from memory and from a folder, bounded, and safe.

use std::ops::ControlFlow;
use std::sync::Arc;

use narrows::plan::Plan;
use narrows::report::{Cell, Digest, page, page_of_run};
use narrows::results::{Output, Results, Stored, find};
use narrows::run::{Options, run};
use narrows::templates;

fn results(template: &str, overrides: &[&str]) -> Results {
    let mut document = templates::find(template).expect("built in").document().expect("parses");
    overrides.iter().for_each(|assignment| document.set(assignment).expect("fits"));
    let plan = Arc::new(Plan::new(document).unwrap_or_else(|error| panic!("{error}")));
    run(&plan, Options::default(), |_| ControlFlow::Continue(()))
}

fn stored(results: &[(&Results, &str)]) -> tempfile::TempDir {
    let place = tempfile::tempdir().expect("a place");
    let output = Output::begin(&place.path().join("out"), false).expect("can be written");
    results.iter().for_each(|(results, within)| output.write(results, within).expect("written"));
    output.finish().expect("renamed");
    place
}

const SHORT: [&str; 2] = [
    "stop={ after = '6 ms' }",
    "record={ queues = { interval = '20 us' }, windows = { interval = '20 us' } }",
];

#[test]
fn a_stored_run_gives_the_same_page_as_the_run_itself() {
    for (template, overrides) in
        [("incast", &SHORT[..]), ("isolation", &["stop.after=2 ms"]), ("rpc", &["stop.after=2 ms"])]
    {
        let results = results(template, overrides);
        let place = stored(&[(&results, "")]);
        let stored = Stored::open(&place.path().join("out")).expect("results");
        let [direct, read] = [Digest::of(&results).expect("digest"), Digest::of(&stored).expect("digest")];
        assert!(page_of_run(&direct) == page_of_run(&read), "{template}: the pages differ");
    }
}

#[test]
fn folders_are_one_run_or_seeds_or_cells() {
    let results = results("incast", &["stop={ after = '2 ms' }"]);
    type Shape = (&'static [&'static str], &'static [(&'static str, usize)]);
    let shapes: [Shape; 3] = [
        (&[""], &[("out", 1)]),
        (&["seed-10", "seed-9"], &[("out", 2)]),
        (&["a/seed-1", "a/seed-2", "b/seed-1"], &[("a", 2), ("b", 1)]),
    ];
    for (folders, expected) in shapes {
        let written: Vec<_> = folders.iter().map(|within| (&results, *within)).collect();
        let place = stored(&written);
        let found = find(&place.path().join("out")).expect("results");
        let names: Vec<_> = found.iter().map(|cell| (cell.name.as_str(), cell.runs.len())).collect();
        assert_eq!(names, expected);
        let cells: Vec<_> = found.iter().map(|cell| Cell::read(cell).expect("readable")).collect();
        assert!(page("x", &cells).contains("</html>"));
        if folders.len() == 2 {
            assert!(found[0].runs[0].ends_with("seed-9"), "seeds count as numbers");
        }
    }
}

#[test]
fn cells_in_which_different_things_can_happen_share_a_page() {
    let with = Digest::of(&results("isolation", &["stop.after=1 ms"])).expect("digest");
    let without = Digest::of(&results("incast", &["stop={ after = '1 ms' }"])).expect("digest");
    for pair in [[&with, &without], [&without, &with]] {
        let cells = pair.map(|digest| Cell { name: digest.scenario.clone(), runs: vec![digest.clone()] });
        assert!(page("both", &cells).contains("flows isolated"));
    }
}

#[test]
fn names_cannot_end_the_script_or_add_to_it() {
    let evil = "</script><script>alert(1)</script>";
    let mut digest = Digest::of(&results("incast", &["stop={ after = '1 ms' }"])).expect("digest");
    digest.warnings.push(evil.to_owned());
    digest.text = evil.to_owned();
    let page = page(evil, &[Cell { name: evil.to_owned(), runs: vec![digest] }]);
    assert!(!page.contains("<script>alert"), "the name has become a script");
    assert!(page.contains("alert(1)"), "the name is shown all the same");
}
