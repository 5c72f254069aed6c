//! `sweep.toml` and grids.

use narrows::diagnostic::Code;
use narrows::document::Document;
use narrows::sweep::Sweep;
use narrows::templates;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{GRID, good, manifest, sweep};

/// The first mistake of a sweep that is refused, on reading or on planning.
fn mistake(text: &str) -> (Code, String) {
    let place = tempfile::tempdir().unwrap();
    let refused = sweep(place.path(), text).and_then(|sweep| {
        sweep.check_size(false)?;
        let manifest = sweep.manifest()?;
        sweep.estimate(&manifest, &(0..manifest.points.len()).collect::<Vec<_>>(), 1)
    });
    let rejection = refused.expect_err("refused");
    let place = place.path().display().to_string();
    (rejection.0[0].code, rejection.0[0].to_string().replace(&place, "PLACE"))
}

#[test]
fn axes_come_in_the_order_in_which_they_are_written_and_the_last_varies_fastest() {
    let place = tempfile::tempdir().unwrap();
    let sweep = good(place.path(), GRID);
    let points: Vec<_> = (0..3).map(|point| sweep.describe(point)).collect();
    assert_eq!(
        points,
        [
            "traffic.all.pattern.random.flows = 5, control = reno",
            "traffic.all.pattern.random.flows = 5, control = dctcp",
            "traffic.all.pattern.random.flows = 10, control = reno",
        ]
    );
    let manifest = manifest(&sweep);
    assert_eq!(manifest.points.len(), 6);
    assert_eq!(manifest.points[3].values, [json!(10), json!("dctcp")]);
}

#[test]
fn mistakes_point_into_the_sweep() {
    for (text, code, expected) in [
        ("sede = 1", Code::UnknownKey, "PLACE/sweep.toml:3:1  unknown key \"sede\""),
        ("seeds = 0", Code::OutOfRange, "PLACE/sweep.toml:3:9  seeds = 0, expected at least 1"),
        (
            "[grid]\n\"traffic.al.cc\" = [1]",
            Code::Override,
            "PLACE/sweep.toml:4:10  \"al\" is no element here",
        ),
        (
            "[set]\n\"stopp.after\" = \"1 ms\"",
            Code::UnknownKey,
            "PLACE/sweep.toml:4:2  unknown key \"stopp\"",
        ),
        (
            "[set]\nstop.after = \"1 ms\"",
            Code::Override,
            "PLACE/sweep.toml:4:1  stop is a table here, expected a path",
        ),
        ("[set]\n\"stop.after\" = \"1 m\"", Code::Quantity, "PLACE/sweep.toml:4:16  "),
        ("[grid]\nseed = [1, 2]", Code::OutOfRange, "PLACE/sweep.toml:4:1  no axis can be called \"seed\""),
        ("[grid]\n\"seed\" = []", Code::OutOfRange, "PLACE/sweep.toml:4:1  "),
        ("[grid]\nload = 1", Code::WrongType, "PLACE/sweep.toml:4:8  "),
        (
            "template = \"incast\"",
            Code::WrongType,
            "PLACE/sweep.toml:3:12  expected either `scenario` or `template`",
        ),
        (
            "[until]\nmetric = \"all.p9_slowdown\"\nhalf_width = 0.1\nmost = 9",
            Code::UnknownName,
            "no metric is called \"all.p9_slowdown\"\n  did you mean \"all.p99_slowdown\"?",
        ),
        (
            "[until]\nmetric = \"all.p99_slowdown\"\nhalf_width = -1.0\nmost = 9",
            Code::OutOfRange,
            "PLACE/sweep.toml:5:14  half_width = -1, expected a number above 0",
        ),
    ] {
        let (found, message) = mistake(text);
        assert_eq!(found, code, "{message}");
        assert!(message.starts_with(expected), "{message}");
    }
}

#[test]
fn a_mistake_at_some_points_is_told_once_with_the_first_of_them() {
    let (code, message) = mistake("[grid]\n\"traffic.all.priority\" = [1, 9]\n\"seed_\" = [1]");
    assert_eq!(code, Code::UnknownKey, "{message}");
    let (_, message) =
        mistake("[grid]\n\"traffic.all.priority\" = [1, 9]\n\"stop.after\" = [\"1 ms\", \"2 ms\"]");
    assert!(message.contains("sweep.toml:4:30  priority = 9, expected 0 to 7"), "{message}");
    assert!(message.contains("at the point traffic.all.priority = 9, stop.after = 1 ms"), "{message}");
}

#[test]
fn very_large_grids_are_refused_with_the_number_of_cells_of_each_axis() {
    let numbers: Vec<_> = (1..=200).map(|number| number.to_string()).collect();
    let axis = numbers.join(", ");
    let text = format!(
        "seeds = 3\n[grid]\n\"traffic.all.pattern.random.flows\" = [{axis}]\n\"stop.drain\" = [{axis}]"
    );
    let (code, message) = mistake(&text);
    assert_eq!(code, Code::ManyCells);
    assert!(
        message.starts_with(
            "the sweep has 120000 cells: traffic.all.pattern.random.flows (200) × stop.drain (200) × 3 seeds"
        ),
        "{message}"
    );
}

#[test]
fn what_is_set_for_all_points_gives_way_to_the_grid_and_the_command_line_to_nothing() {
    let place = tempfile::tempdir().unwrap();
    let text = "[set]\n\"stop.after\" = \"2 ms\"\nseed = 4\n[grid]\n\"stop.after\" = [\"3 ms\"]";
    let mut sweep = sweep(place.path(), text).unwrap();
    let scenario = |sweep: &Sweep| sweep.task(0, sweep.manifest().unwrap().points[0].first_seed).unwrap();
    assert_eq!(scenario(&sweep).seed, 4);
    assert!(scenario(&sweep).scenario.contains("after = \"3 ms\""));
    sweep.set("stop.after=5 ms").unwrap();
    assert!(scenario(&sweep).scenario.contains("after = \"5 ms\""));
    assert!(sweep.set("traffic.no.cc=1").is_err());
}

proptest! {
    #[test]
    fn any_grid_expands_to_the_product_of_its_axes(axes in prop::collection::vec(1_usize..5, 0..5)) {
        let mut grid = Map::new();
        for (number, steps) in axes.iter().enumerate() {
            let steps: Vec<Value> = (0..*steps).map(|step| json!(step)).collect();
            grid.insert(format!("axis{number}"), json!(steps));
        }
        let base = || Document::parse("a.toml", templates::find("incast").unwrap().text, "").unwrap();
        let sweep = Sweep::from_json("a", base(), &Map::new(), &grid, None, None).unwrap();
        let points = sweep.points() as usize;
        prop_assert_eq!(points, axes.iter().product::<usize>());
        let mut all: Vec<_> = (0..points).map(|point| sweep.steps(point)).collect();
        prop_assert!(all.is_sorted(), "the last axis varies fastest");
        all.dedup();
        prop_assert_eq!(all.len(), points);
        prop_assert!(all.iter().flatten().zip(axes.iter().cycle()).all(|(step, steps)| step < steps));
    }
}

const CONTROLS: &str = r#"
[grid.control]
dctcp = { "traffic.all.cc" = { dctcp = {} } }
gemini = { "traffic.all.cc" = { gemini = { marking_threshold = "75 kB" } } }
"#;

/// The values of all points.
fn values(sweep: &Sweep) -> Vec<Vec<Value>> {
    manifest(sweep).points.iter().map(|point| point.values.clone()).collect()
}

#[test]
fn several_paths_may_get_the_same_value() {
    let place = tempfile::tempdir().unwrap();
    let text = format!(
        "{CONTROLS}\n[grid.k]\nsets = [\"switches.default.marking.step.k\", \"traffic.all.cc.gemini.marking_threshold\"]\nvalues = [\"30 kB\", \"60 kB\"]"
    );
    let sweep = good(place.path(), &text);
    // The switches have the value under both controls.
    let expected = [["dctcp", "30 kB"], ["dctcp", "60 kB"], ["gemini", "30 kB"], ["gemini", "60 kB"]]
        .map(|pair| pair.map(Value::from).to_vec());
    assert_eq!(values(&sweep), expected);
    let text = sweep.task(3, manifest(&sweep).points[3].first_seed).unwrap().scenario;
    assert!(text.contains("marking_threshold = \"60 kB\"") && text.contains("k = \"60 kB\""), "{text}");
    let grid = json!({ "k": { "sets": ["stop.after", "stop.drain"], "values": ["2 ms", "3 ms"] } });
    let base = Document::parse("a.toml", templates::find("incast").unwrap().text, "").unwrap();
    let sweep = Sweep::from_json("a", base, &Map::new(), grid.as_object().unwrap(), None, None).unwrap();
    assert_eq!(values(&sweep), [[json!("2 ms")], [json!("3 ms")]]);
}

#[test]
fn an_axis_of_several_paths_has_both_lists() {
    let refused = |axis: &str| mistake(&format!("[grid.k]\n{axis}")).1;
    let missing = refused("values = [1]");
    assert!(missing.contains("`sets` is missing"), "{missing}");
    let other = refused("values = [1]\nset = [\"stop.after\"]");
    assert!(other.contains("found \"set\", expected names with changes, or `sets` and `values`"), "{other}");
    let nothing = refused("sets = []\nvalues = [1]");
    assert!(nothing.contains("the axis \"k\" sets nothing"), "{nothing}");
    let path = refused("sets = [1]\nvalues = [1]");
    assert!(path.contains("PLACE/sweep.toml:4:9  found 1, expected a path"), "{path}");
}

#[test]
fn settings_of_one_control_are_left_out_where_there_is_another_in_any_order_of_axes() {
    let place = tempfile::tempdir().unwrap();
    let beta = "\"traffic.all.cc.gemini.beta\" = [0.1, 0.2]";
    for (text, behind) in
        [(format!("{CONTROLS}\n[grid]\n{beta}"), true), (format!("[grid]\n{beta}\n{CONTROLS}"), false)]
    {
        let sweep = good(place.path(), &text);
        let order = |control: &str, beta: Value| {
            let pair = [json!(control), beta];
            if behind { pair.to_vec() } else { pair.into_iter().rev().collect() }
        };
        let (dctcp, first, second) =
            (order("dctcp", Value::Null), order("gemini", json!(0.1)), order("gemini", json!(0.2)));
        assert_eq!(values(&sweep), [dctcp, first, second], "{text}");
        assert_eq!((sweep.points(), sweep.describe(0)), (3, "control = dctcp".into()));
        let manifest = manifest(&sweep);
        let scenario = |point: usize| sweep.task(point, manifest.points[point].first_seed).unwrap().scenario;
        assert!(!scenario(0).contains("gemini") && scenario(2).contains("beta = 0.2"));
        let warnings = sweep.estimate(&manifest, &[0, 1, 2], 1).unwrap();
        let warnings = warnings.iter().flat_map(|point| &point.warnings);
        let left_out: Vec<_> = warnings.filter(|warning| warning.code == Code::LeftOut).collect();
        assert_eq!(
            left_out.iter().map(|warning| warning.message.as_str()).collect::<Vec<_>>(),
            ["traffic.all.cc.gemini.beta is left out where traffic \"all\" is under dctcp"]
        );
    }
}

#[test]
fn settings_of_what_a_point_switches_off_are_left_out_there() {
    let place = tempfile::tempdir().unwrap();
    let pfc = "[grid]\n\"switches.default.pfc.quanta\" = [1000, 2000]\n";
    let on_and_off =
        "[grid.pfc]\non = { \"switches.default.pfc\" = {} }\noff = { \"switches.default.pfc\" = \"off\" }\n";
    let sweep = good(place.path(), &format!("{pfc}{on_and_off}"));
    let on = |quanta: u64| vec![json!(quanta), json!("on")];
    assert_eq!(values(&sweep), [on(1000), vec![Value::Null, json!("off")], on(2000)]);
    let manifest = manifest(&sweep);
    let scenario = |point: usize| sweep.task(point, manifest.points[point].first_seed).unwrap().scenario;
    assert!(scenario(0).contains("quanta = 1000") && !scenario(1).contains("pfc"));
    let warnings = sweep.estimate(&manifest, &[1], 1).unwrap().remove(0).warnings;
    let left_out = warnings.iter().find(|warning| warning.code == Code::LeftOut).expect("said");
    assert_eq!(left_out.message, "switches.default.pfc.quanta is left out where switches.default.pfc is off");
}

#[test]
fn a_metric_of_the_page_is_one_that_some_point_has() {
    let (code, message) = mistake("metrics = [\"all.p99_slowdown\", \"drosp\"]");
    assert_eq!(code, Code::UnknownName);
    assert!(message.starts_with("PLACE/sweep.toml:3:32  no metric is called \"drosp\""), "{message}");
    let place = tempfile::tempdir().unwrap();
    let sweep = good(place.path(), "metrics = [\"p99_slowdown\", \"total.*\"]");
    let manifest = manifest(&sweep);
    sweep.estimate(&manifest, &[0], 1).unwrap();
    assert_eq!(manifest.written.metrics, ["p99_slowdown", "total.*"]);
}

#[test]
fn a_control_that_there_is_not_is_still_a_mistake() {
    let (_, message) = mistake("[grid]\n\"traffic.all.cc.gemni.beta\" = [0.1]");
    assert!(message.contains("gemni"), "{message}");
}
