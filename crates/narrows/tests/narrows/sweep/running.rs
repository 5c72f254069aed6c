//! Cells, shards, seeds and the data set.

use std::fs::File;

use narrows::diagnostic::Code;
use narrows::report::{Cell, Summary, summarize};
use narrows::results::find;
use narrows::sweep::{Shard, Store, merge, stored_points};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;

use super::{GRID, data_set, good, make, manifest, run_some, run_whole};

const SEEDS: &str = "seeds = 2\n";

#[test]
fn the_data_set_has_a_row_for_each_cell_and_all_rows_of_their_tables() {
    let place = tempfile::tempdir().unwrap();
    let sweep = good(place.path(), &format!("{SEEDS}{GRID}"));
    let out = place.path().join("out");
    let points = run_whole(&sweep, &out, 2);
    assert_eq!(points.len(), 6);
    assert!(points.iter().all(|point| point.seeds == 2 && point.metric("all.p99_slowdown").is_some()));
    let open = |name: &str| SerializedFileReader::new(File::open(out.join(name)).unwrap()).unwrap();
    let summary = open("summary.parquet");
    let rows: Vec<_> = summary.get_row_iter(None).unwrap().map(Result::unwrap).collect();
    assert_eq!(rows.len(), 12);
    let names: Vec<_> = rows[0].get_column_iter().map(|(name, _)| name.as_str()).take(6).collect();
    assert_eq!(names, ["cell", "point", "seed", "traffic.all.pattern.random.flows", "control", "all.flows"]);
    let values: Vec<_> = rows[11].get_column_iter().map(|(_, value)| value.clone()).skip(1).take(5).collect();
    let expected =
        [5, 2, 15].map(Field::ULong).into_iter().chain([Field::Str("dctcp".into()), Field::Double(15.0)]);
    assert_eq!(values, expected.collect::<Vec<_>>());
    let flows = open("flows.parquet");
    assert_eq!(flows.metadata().file_metadata().num_rows(), 2 * 2 * (5 + 10 + 15));
    let flow = flows.get_row_iter(None).unwrap().next().unwrap().unwrap();
    let names: Vec<_> = flow.get_column_iter().map(|(name, _)| name.as_str()).take(6).collect();
    assert_eq!(
        names,
        ["cell", "point", "seed", "traffic.all.pattern.random.flows", "grid.control", "flow"],
        "flows have a column `control` of their own"
    );
}

#[test]
fn the_data_set_does_not_depend_on_jobs_interruptions_or_order() {
    let place = tempfile::tempdir().unwrap();
    let sweep = good(place.path(), &format!("{SEEDS}{GRID}"));
    let [one, two, three] = ["one", "two", "three"].map(|name| place.path().join(name));
    run_whole(&sweep, &one, 1);
    run_whole(&sweep, &two, 2);
    for most in [1, 4, 2] {
        let report = run_some(&sweep, &three, 1, None, most);
        assert_eq!((report.tally.done, report.interrupted), (most, true));
    }
    let report = run_some(&sweep, &three, 2, None, u64::MAX);
    assert_eq!((report.tally.found, report.tally.done), (7, 5));
    make(&sweep, &three);
    assert!(data_set(&one) == data_set(&two) && data_set(&one) == data_set(&three));
}

#[test]
fn shards_in_one_folder_or_merged_give_the_same_data_set() {
    let place = tempfile::tempdir().unwrap();
    for text in [
        format!("{SEEDS}{GRID}"),
        format!("{SEEDS}{GRID}[until]\nmetric = \"all.mean_fct_us\"\nhalf_width = 0.3\nmost = 4\n"),
    ] {
        let sweep = good(place.path(), &text);
        let of = |name: &str| place.path().join(name);
        run_whole(&sweep, &of("whole"), 2);
        for index in 1..=2 {
            let shard = Some(Shard { index, of: 2 });
            run_some(&sweep, &of("shared"), 1, shard, u64::MAX);
            let report = run_some(&sweep, &of(&format!("part{index}")), 1, shard, u64::MAX);
            assert!(report.tally.done > 1, "both have something to do");
        }
        make(&sweep, &of("shared"));
        let error = merge(&[of("part1")], &of("merged")).expect_err("a part is missing");
        assert_eq!(error.0[0].code, Code::MissingCells);
        merge(&[of("part1"), of("part2")], &of("merged")).unwrap_or_else(|error| panic!("{error}"));
        for name in ["shared", "merged"] {
            assert!(data_set(&of("whole")) == data_set(&of(name)), "{name}");
        }
        for name in ["whole", "shared", "part1", "part2", "merged"] {
            std::fs::remove_dir_all(of(name)).unwrap();
        }
    }
}

#[test]
fn a_sweep_with_more_seeds_runs_only_what_is_new() {
    let place = tempfile::tempdir().unwrap();
    let out = place.path().join("out");
    run_whole(&good(place.path(), GRID), &out, 2);
    let more = good(place.path(), &format!("seeds = 3\n{GRID}"));
    let report = run_some(&more, &out, 2, None, u64::MAX);
    assert_eq!((report.tally.found, report.tally.done), (6, 12));
    assert_eq!(make(&more, &out)[0].seeds, 3);
}

#[test]
fn seeds_are_added_until_the_interval_is_narrow_and_the_data_set_has_no_others() {
    let place = tempfile::tempdir().unwrap();
    let rule = "seeds = 2\n[until]\nmetric = \"all.mean_fct_us\"\nhalf_width = 0.1\nmost = 30\n";
    let sweep = good(place.path(), &format!("{rule}[grid]\n\"traffic.all.pattern.random.flows\" = [5, 20]"));
    let [one, many] = ["one", "many"].map(|name| place.path().join(name));
    let points = run_whole(&sweep, &one, 1);
    let parallel = run_whole(&sweep, &many, 7);
    assert!(data_set(&one) == data_set(&many));
    assert_eq!(parallel.len(), 2);
    for jobs in [1, 5, 9] {
        let again = run_some(&sweep, &one, jobs, None, u64::MAX);
        assert_eq!(again.tally.done, 0, "what was enough is enough");
    }
    for point in &points {
        assert!((3..30).contains(&point.seeds), "a number of seeds that means something: {}", point.seeds);
        let estimate = point.metric("all.mean_fct_us").unwrap();
        let (low, high) = estimate.interval.unwrap();
        assert!((high - low) / 2.0 <= 0.1 * estimate.mean);
    }
}

#[test]
fn a_cell_that_was_not_on_the_disk_when_the_power_failed_is_run_again() {
    let place = tempfile::tempdir().unwrap();
    let sweep = good(place.path(), SEEDS);
    let out = place.path().join("out");
    run_whole(&sweep, &out, 1);
    let before = data_set(&out);
    let cell = out.join("cells").join(&manifest(&sweep).points[0].cells[1]);
    std::fs::write(cell.join("flows.parquet"), "").unwrap();
    let report = run_some(&sweep, &out, 1, None, u64::MAX);
    assert_eq!((report.tally.found, report.tally.done), (1, 1));
    make(&sweep, &out);
    assert!(data_set(&out) == before);
}

#[test]
fn a_folder_of_something_else_is_left_alone() {
    let place = tempfile::tempdir().unwrap();
    let sweep = good(place.path(), "");
    let manifest = manifest(&sweep);
    std::fs::write(place.path().join("file"), "").unwrap();
    std::fs::create_dir_all(place.path().join("used/x")).unwrap();
    for taken in ["file", "used"] {
        let error = Store::open(&place.path().join(taken), &manifest).expect_err("refused");
        assert_eq!(error.0[0].code, Code::OutputExists, "{error}");
    }
    let out = place.path().join("out");
    drop(Store::open(&out, &manifest).unwrap());
    let other = narrows::sweep::Manifest { name: "other".into(), ..(*manifest).clone() };
    assert!(Store::open(&out, &other).is_err());
    let left: Vec<_> = std::fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "sweep.json and cells: {left:?}");
}

#[test]
fn results_that_are_put_are_checked() {
    let place = tempfile::tempdir().unwrap();
    let sweep = good(place.path(), "");
    let manifest = manifest(&sweep);
    let store = Store::open(&place.path().join("out"), &manifest).unwrap();
    let task = sweep.task(0, 1).unwrap();
    let files = task
        .run_to_bytes(&Default::default(), &Default::default(), 1, |_| std::ops::ControlFlow::Continue(()));
    let mut files = files.unwrap().unwrap();
    store.put(&task.id, &files).map_err(|trouble| trouble.rejection).unwrap();
    store
        .put(&task.id, &files)
        .map_err(|trouble| trouble.rejection)
        .expect("the second is as good as the first");
    assert!(store.has(&task.id));
    files[1].1.pop();
    assert!(store.put(&task.id, &files).is_err());
    assert!(store.put(&task.id, &[("../x".into(), Vec::new())]).is_err());
    assert!(!place.path().join("x").exists());
}

#[test]
fn a_report_of_a_sweep_has_a_cell_for_each_point_and_never_pools_them() {
    let place = tempfile::tempdir().unwrap();
    let out = place.path().join("out");
    assert!(stored_points(&out).unwrap().is_none(), "there is no sweep");
    let sweep = good(place.path(), &format!("{SEEDS}{GRID}"));
    // What is there of a sweep that is not done.
    run_some(&sweep, &out, 1, None, 5);
    let some = stored_points(&out).unwrap().unwrap();
    assert_eq!(some.iter().map(|point| point.runs.len()).sum::<usize>(), 5);
    let points = run_whole(&sweep, &out, 2);
    let cells = stored_points(&out).unwrap().unwrap();
    let names: Vec<_> = cells.iter().map(|cell| cell.name.as_str()).collect();
    let expected = [
        "flows = 5, control = reno",
        "flows = 5, control = dctcp",
        "flows = 10, control = reno",
        "flows = 10, control = dctcp",
        "flows = 15, control = reno",
        "flows = 15, control = dctcp",
    ];
    assert_eq!(names, expected);
    for (cell, point) in cells.iter().zip(&points) {
        let read = Cell::read(cell).unwrap();
        assert_eq!(read.runs.iter().map(|run| run.seed).collect::<Vec<_>>(), [1, 2]);
        let Summary(groups) = summarize(&[read]);
        let row = groups[0].rows.iter().find(|row| row.metric == "p50_fct_us").unwrap();
        assert_eq!(row.values[0].as_ref(), point.metric("all.p50_fct_us"));
    }
    // The folder of the cells knows no points, and still no two scenarios are put together.
    let apart = find(&out.join("cells")).unwrap();
    assert_eq!(apart.iter().map(|cell| cell.runs.len()).collect::<Vec<_>>(), [2; 6]);
}

#[test]
fn a_report_has_no_more_seeds_than_the_data_set() {
    let place = tempfile::tempdir().unwrap();
    let out = place.path().join("out");
    run_whole(&good(place.path(), &format!("seeds = 4\n{GRID}")), &out, 2);
    run_whole(&good(place.path(), &format!("{SEEDS}{GRID}")), &out, 2);
    let cells = stored_points(&out).unwrap().unwrap();
    assert!(cells.iter().all(|cell| cell.runs.len() == 2));
}
