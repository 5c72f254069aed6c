//! Whether the pages can be read in wide windows and on phones, in light and dark: nothing cut off, covered or faint. Needs Chromium:
//! `cargo xtask viewers`.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

use crate::chromium::found;
use crate::support::{holding, narrows, text};

/// Widths of windows.
const WIDTHS: [u32; 2] = [1300, 390];

/// Commands that make a page in a folder that holds [`SWEEP`] and [`MATRIX`].
type Commands = &'static [&'static [&'static str]];

/// Every kind of page.
const PAGES: &[(&str, Commands)] = &[
    (
        "a run",
        &[
            &["new", "mix", "--template", "two-dc-mix"],
            &["run", "mix.toml", "--set", "stop.after=30 ms", OUT],
        ],
    ),
    ("a comparison", &[&["new", "web", "--template", "leaf-spine"], COMPARE]),
    (
        "a comparison of flows without an end",
        &[
            &["new", "two", "--template", "dumbbell"],
            &["compare", "two.toml", "two.toml", "--set", "stop.after=60 ms", "--seeds", "3", OUT],
        ],
    ),
    ("a sweep", &[&["sweep", "sweep.toml", "--quiet", OUT], &["report", "out"]]),
    ("a matrix", &[&["sweep", "matrix.toml", "--quiet", OUT], &["report", "out"]]),
    ("a reproduction", &[&["repro", "new", "paper"], &["repro", "./paper", "--quick", OUT]]),
];

const SWEEP: &str = r#"
name = "thresholds"
template = "leaf-spine"
seeds = 3

[set]
"stop.after" = "8 ms"

[grid]
"traffic.search.pattern.poisson.load" = [0.2, 0.4]
"traffic.search.cc" = [{ dctcp = {} }, { cubic = {} }]
"#;

/// Two axes of names, and more metrics than a cell has room for in one line.
const MATRIX: &str = r#"
name = "pairs"
template = "access-link"

[set]
"stop.after" = "3 s"

[grid.control]
CUBIC = {}
"a control with a name of its own" = { "traffic.downloads.cc" = { bbr = {} } }

[grid.queue]
FQ-CoDel = {}
"drop tail" = { "switches.default.fq_codel" = "off" }
DualPI2 = { "switches.default.fq_codel" = "off", "switches.default.dualpi2" = {} }
PIE = { "switches.default.fq_codel" = "off", "switches.default.marking" = { pie = {} } }
"#;

const OUT: &str = "--out=out";

const COMPARE: &[&str] = &[
    "compare",
    "web.toml",
    "--variant=a marking threshold of 30 kB:switches.tor.marking.step.k=30 kB",
    "--variant=annulus(dctcp):traffic.search.cc={ annulus = { end_to_end = { dctcp = {} } } }",
    "--set=stop.after=10 ms",
    "--seeds=3",
    OUT,
];

/// Runs commands in a folder and returns the text of the page that they make.
fn made(folder: &Path, commands: &[&[&str]]) -> String {
    for arguments in commands {
        let output = narrows(folder, arguments);
        assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
    }
    std::fs::read_to_string(folder.join("out/report.html")).expect("a page")
}

/// Faults of a page, by width and theme; and the labels of its network.
fn looked_at(folder: &Path, page: &str) -> (Vec<String>, Vec<String>) {
    let script = format!("<script>{}</script><meta charset", include_str!("layout.js"));
    std::fs::write(folder.join("looked-at.html"), page.replacen("<meta charset", &script, 1)).unwrap();
    // Windows of browsers have a least width; frames have none.
    let mut left = 0;
    let frame = |width| {
        let frame = format!(
            "<iframe name=\"{width}\" src=\"looked-at.html\" style=\"position: absolute; top: 0; left: {left}px; \
             width: {width}px; height: 1000px; border: 0\"></iframe>"
        );
        left += width;
        frame
    };
    let frames: String = WIDTHS.map(frame).concat();
    let host = folder.join("frames.html");
    std::fs::write(&host, format!("<!doctype html><meta charset=\"utf-8\">{frames}")).unwrap();
    let found = found(folder, &host, (WIDTHS.iter().sum(), 1000), WIDTHS.len());
    let texts = |found: &Value, key: &str| -> Vec<String> {
        let texts = found[key].as_array().into_iter().flatten();
        texts.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let wrong = found.iter().flat_map(|found| {
        let frame = found["frame"].as_str().unwrap_or_default().to_owned();
        texts(found, "wrong").into_iter().map(move |wrong| format!("{frame} px, {wrong}"))
    });
    let labels = found.iter().filter(|found| found["frame"] == WIDTHS[0].to_string().as_str());
    (wrong.collect(), labels.flat_map(|found| texts(found, "labels")).collect())
}

#[test]
#[ignore = "needs Chromium: cargo xtask viewers"]
fn every_page_can_be_read_in_wide_windows_and_on_phones() {
    let look = |(name, commands): &(&str, Commands)| {
        let place = holding(&[("sweep.toml", SWEEP), ("matrix.toml", MATRIX)]);
        let (wrong, _) = looked_at(place.path(), &made(place.path(), commands));
        wrong.into_iter().map(|wrong| format!("{name}, {wrong}")).collect::<Vec<_>>()
    };
    let wrong: Vec<_> = PAGES.iter().flat_map(look).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
#[ignore = "needs Chromium: cargo xtask viewers"]
fn the_picture_of_a_network_has_its_nodes_and_the_rates_of_its_links() {
    let expected: [(&str, &str, &[&str]); 5] = [
        ("leaf-spine", "12 ms", &["spine1", "rack3/tor", "10 Gb/s", "40 Gb/s"]),
        ("parking-lot", "1 s", &["switch3", "hop2/to", "100 Mb/s", "1 Gb/s"]),
        ("dumbbell", "100 ms", &["left/switch", "right/host3", "100 Mb/s", "1 Gb/s"]),
        ("clos", "12 ms", &["core3", "pod1/rack3/tor", "25 Gb/s", "50 Gb/s"]),
        ("two-dc-mix", "12 ms", &["dc0/border0", "dc1/rack1/tor", "10 Gb/s", "40 Gb/s"]),
    ];
    for (template, after, labels) in expected {
        let place = tempfile::tempdir().unwrap();
        let name = ["new", "any", "--template", template];
        let after = format!("--set=stop.after={after}");
        let run = ["run", "any.toml", &after, "--set=expect=[]", OUT];
        let (wrong, found) = looked_at(place.path(), &made(place.path(), &[&name, &run]));
        assert!(wrong.is_empty(), "{template}:\n{}", wrong.join("\n"));
        let missing: Vec<_> = labels.iter().filter(|label| !found.contains(&(**label).to_owned())).collect();
        assert!(missing.is_empty(), "{template}: {missing:?} are missing in {found:?}");
    }
}

#[test]
#[ignore = "needs Chromium: cargo xtask viewers"]
fn what_cannot_be_read_is_found_in_every_width_and_theme() {
    let place = tempfile::tempdir().unwrap();
    let (wrong, _) = looked_at(place.path(), include_str!("unreadable.html"));
    let faults = [
        "cut off: \"leftwards\"",
        "cut off: \"a text that its place clips\"",
        "cut off: \"twelve figures: 123456789012\"",
        "cut off in Network: \"beyond\"",
        "crossed in Network: \"crossed\"",
        "faint: \"faint\"",
        "overlap in Network: \"first\" and \"second\"",
        "scrolls: the table \"numbers to the right\"",
        "uneven: the row \"in the middlea value of some lines3\"",
        "uneven: the row \"a line too few123\"",
    ];
    let mut expected = BTreeSet::new();
    for width in WIDTHS {
        for theme in ["light", "dark"] {
            expected.extend(faults.map(|fault| format!("{width} px, {theme}: {fault}")));
        }
    }
    let found: BTreeSet<_> = wrong.iter().filter(|wrong| !wrong.contains("wider")).cloned().collect();
    assert_eq!(found, expected);
    assert_eq!(wrong.len() - found.len(), 2 * WIDTHS.len(), "the page is too wide: {wrong:?}");
}
