//! Pages of results: the same from memory and from a folder, bounded, and safe.

use std::ops::ControlFlow;
use std::sync::Arc;

use narrows::plan::Plan;
use narrows::report::{Cell, Digest, Summary, SummaryGroup, page, page_of_run, summarize};
use narrows::results::{Output, Results, Stored, find};
use narrows::run::{Options, run};
use narrows::templates;

fn results(template: &str, overrides: &[&str]) -> Results {
    let mut document = templates::find(template).expect("built in").document().expect("parses");
    overrides.iter().for_each(|assignment| document.set(assignment).expect("fits"));
    let plan = Arc::new(Plan::new(document).unwrap_or_else(|error| panic!("{error}")));
    run(&plan, Options::default(), |_| ControlFlow::Continue(())).expect("little is recorded")
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
fn metrics_of_results_of_older_versions_have_the_names_of_today() {
    let results = results("two-dc-mix", &["stop.after=1 ms", "measure={}"]);
    let place = stored(&[(&results, "")]);
    let path = place.path().join("out/run.json");
    let text = std::fs::read_to_string(&path).expect("written");
    std::fs::write(&path, text.replace("_utilization", "_utilisation")).expect("writable");
    let digest = Digest::brief(&Stored::open(&place.path().join("out")).expect("results")).expect("digest");
    let name = "total.wan_max_utilization";
    let of_run = results.metrics.iter().find(|metric| metric.name == name).expect("two segments");
    assert_eq!(digest.metric(name), of_run.value);
    assert!(of_run.value.is_some());
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
fn runs_that_differ_in_more_than_their_seeds_are_not_put_together() {
    let [first, second] = ["1 ms", "2 ms"].map(|after| format!("stop={{ after = '{after}' }}"));
    let [a, b, c] = [(&first, "1"), (&first, "2"), (&second, "3")]
        .map(|(after, seed)| results("incast", &[after, &format!("seed={seed}")]));
    let place = stored(&[(&a, "x"), (&b, "y"), (&c, "z")]);
    let found = find(&place.path().join("out")).expect("results");
    let names: Vec<_> = found.iter().map(|cell| (cell.name.as_str(), cell.runs.len())).collect();
    assert_eq!(names, [("x", 2), ("z", 1)]);
}

/// Rows of a group, and the values of the first cell.
fn rows<'a>(groups: &'a [SummaryGroup], name: &str) -> Vec<(&'a str, Option<f64>)> {
    let group =
        groups.iter().find(|group| group.name == name).unwrap_or_else(|| panic!("{name} is not shown"));
    group.rows.iter().map(|row| (row.metric.as_str(), row.values[0].map(|value| value.mean))).collect()
}

/// Leaf-spine with two more groups: one whose flows begin too late to deliver anything, and one without end.
fn starving() -> Digest {
    let pattern = |flows| format!("{{ from = 'rack0/host0', to = 'rack1/host0', {flows} }}");
    let traffic = |name: &str, start: &str, pattern: String| {
        format!("{{ name = '{name}', cc = {{ reno = {{}} }}, start = '{start}', pattern = {pattern} }}")
    };
    let late =
        format!("{{ random = {} }}", pattern("flows = 3, within = '1 ns', sizes = { constant = '20 kB' }"));
    let endless = format!("{{ long_lived = {} }}", pattern("flows = 1"));
    let all = [traffic("late", "1.999 ms", late), traffic("endless", "0 s", endless)].join(", ");
    let results =
        results("leaf-spine", &["stop={ after = '2 ms' }", "measure={}", &format!("traffic=[{all}]")]);
    Digest::of(&results).expect("digest")
}

#[test]
fn a_group_that_got_nothing_is_shown_with_its_zeros() {
    let Summary(groups) = summarize(&[Cell { name: "one".into(), runs: vec![starving()] }]);
    let expected = [
        ("flows", Some(3.0)),
        ("unfinished", Some(3.0)),
        ("p50_fct_us", None),
        ("p99_fct_us", None),
        ("p50_slowdown", None),
        ("p99_slowdown", None),
        ("goodput_gbps", Some(0.0)),
    ];
    assert_eq!(rows(&groups, "late"), expected);
    // What does not apply, and what never happened, is not shown.
    let endless: Vec<_> = rows(&groups, "endless").into_iter().map(|(metric, _)| metric).collect();
    assert_eq!(endless[..2], ["flows", "goodput_gbps"]);
    assert!(!endless.iter().any(|metric| ["unfinished", "p50_fct_us", "timeouts"].contains(metric)));
}

#[test]
fn a_group_that_only_another_cell_has_is_shown() {
    let other = Digest::of(&results("incast", &["stop={ after = '1 ms' }"])).expect("digest");
    let name = other.metrics[0].name.split_once('.').expect("a group").0.to_owned();
    let cells = [starving(), other].map(|run| Cell { name: run.scenario.clone(), runs: vec![run] });
    let Summary(groups) = summarize(&cells);
    let shown: Vec<_> = groups.iter().map(|group| group.name.as_str()).collect();
    assert_eq!(shown, ["late", "endless", name.as_str(), "total"]);
}

#[test]
fn ratios_are_of_the_seeds_that_both_have() {
    let run = |seed: u64, value: f64| {
        let mut run = starving();
        run.seed = seed;
        run.metrics.retain(|metric| metric.name == "endless.goodput_gbps");
        run.metrics[0].value = Some(value);
        run
    };
    let cells = [
        Cell {
            name: "a".into(),
            runs: [(1, 1.0), (2, 2.0), (3, 4.0)].map(|(seed, value)| run(seed, value)).into(),
        },
        Cell {
            name: "b".into(),
            runs: [(2, 4.0), (3, 8.0), (4, 100.0)].map(|(seed, value)| run(seed, value)).into(),
        },
    ];
    let Summary(groups) = summarize(&cells);
    let ratio = groups[0].rows[0].ratios[1].expect("two seeds are in both");
    assert_eq!((ratio.mean, ratio.samples, ratio.interval), (2.0, 2, None));
}

#[test]
fn bands_of_a_page_lie_above_zero_and_two_seeds_have_none() {
    let run = |seed: u64| {
        let short = ["stop={ after = '2 ms' }", "measure={}", &format!("seed={seed}")];
        Digest::brief(&results("leaf-spine", &short)).expect("digest")
    };
    let runs: Vec<_> = (1..=3).map(run).collect();
    let points = |runs: &[Digest]| {
        let cell = Cell { name: "x".into(), runs: runs.to_vec() };
        let groups = cell.distributions();
        let groups = groups.as_array().expect("groups").clone();
        let points = groups.iter().flat_map(|group| group["cdf"].as_array().expect("points").clone());
        points
            .map(|point| [0, 2, 3].map(|place| point[place].as_f64().expect("a number")))
            .collect::<Vec<_>>()
    };
    let (two, three) = (points(&runs[..2]), points(&runs));
    assert!(two.iter().all(|[time, low, high]| time == low && time == high));
    assert!(three.iter().all(|[time, low, high]| 0.0 < *low && low <= time && time <= high));
    assert!(three.iter().any(|[_, low, high]| low < high), "seeds differ");
    assert!(three.is_sorted_by(|a, b| a[1] <= b[1] && a[2] <= b[2]), "no bound goes back");
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
