//! Behavior of the commands with files, with signals, and when there is too little of something.

mod papers;
mod places;
#[cfg(target_os = "linux")]
mod printing;
mod stored;

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

use crate::support::{command, holding, narrows, text};

const SCENARIO: &str = r#"
version = 1
name = "small"
stop = { after = "2 ms", drain = "100 ms" }
topology.star = { hosts = 4, rate = "10 Gb/s", delay = "1 us" }
switches.default = { buffer = { size = "1 MB", sharing = "complete" } }

[[traffic]]
name = "all"
pattern = { all_to_all = { size = "20 kB" } }
cc = { cubic = {} }

[record]
queues = { interval = "10 us" }
links = { interval = "10 us" }
windows = { interval = "10 us", flows = 12 }

[[expect]]
metric = "all.unfinished"
below = 1
"#;

/// A fresh folder with the scenario in it.
fn place() -> TempDir {
    holding(&[("small.toml", SCENARIO)])
}

fn status(output: &Output) -> Option<i32> {
    output.status.code()
}

fn json(path: &Path) -> serde_json::Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// All files below a folder with their content, in the order of their names.
fn content(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(&next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                files.push((path.strip_prefix(folder).unwrap().to_owned(), std::fs::read(&path).unwrap()));
            }
        }
    }
    files.sort();
    files
}

#[test]
fn a_run_leaves_tables_a_summary_the_scenario_and_a_report() {
    let place = place();
    let output = narrows(&place, &["run", "small.toml"]);
    assert_eq!(status(&output), Some(0), "{}", text(&output.stderr));
    let names: Vec<_> = content(&place.path().join("out/small")).into_iter().map(|(name, _)| name).collect();
    let expected = [
        "flows.parquet",
        "links.parquet",
        "ports.parquet",
        "queues.parquet",
        "report.html",
        "run.json",
        "scenario.toml",
        "windows.parquet",
    ];
    assert_eq!(names, expected.map(PathBuf::from));
    assert_eq!(json(&place.path().join("out/small/run.json"))["complete"], true);
}

#[test]
fn the_same_scenario_and_seed_give_the_same_bytes_on_any_number_of_threads() {
    let place = place();
    for (out, threads) in [("a", "1"), ("b", "1"), ("c", "2"), ("d", "3")] {
        assert_eq!(
            status(&narrows(&place, &["run", "small.toml", "--out", out, "--threads", threads])),
            Some(0)
        );
    }
    let first = content(&place.path().join("a"));
    for other in ["b", "c", "d"] {
        assert!(first == content(&place.path().join(other)), "{other} differs");
    }
    assert_eq!(status(&narrows(&place, &["run", "small.toml", "--out", "e", "--seed", "2"])), Some(0));
    assert!(first != content(&place.path().join("e")), "another seed gives other results");
}

#[test]
fn the_scenario_in_the_results_gives_the_same_results() {
    let place = place();
    let arguments =
        ["run", "small.toml", "--out", "a", "--set", "traffic.all.cc={ reno = {} }", "--seed", "9"];
    assert_eq!(status(&narrows(&place, &arguments)), Some(0));
    assert_eq!(status(&narrows(&place, &["run", "a/scenario.toml", "--out", "b"])), Some(0));
    assert!(content(&place.path().join("a")) == content(&place.path().join("b")));
}

#[test]
fn older_results_are_replaced_only_on_demand() {
    let place = place();
    assert_eq!(status(&narrows(&place, &["run", "small.toml"])), Some(0));
    let before = content(&place.path().join("out"));
    let refused = narrows(&place, &["run", "small.toml", "--seed", "2"]);
    assert_eq!(status(&refused), Some(2));
    assert!(text(&refused.stderr).contains("the folder out/small exists"), "{}", text(&refused.stderr));
    assert!(text(&refused.stderr).contains("--overwrite"));
    assert!(before == content(&place.path().join("out")));
    assert_eq!(status(&narrows(&place, &["run", "small.toml", "--seed", "2", "--overwrite"])), Some(0));
    assert!(before != content(&place.path().join("out")));
}

#[test]
fn a_folder_that_cannot_be_written_is_refused_before_the_run() {
    let place = place();
    let output = narrows(&place, &["run", "small.toml", "--out", "small.toml/x"]);
    assert_eq!(status(&output), Some(2));
    assert!(text(&output.stderr).contains("cannot write to small.toml/x"), "{}", text(&output.stderr));
    assert!(output.stdout.is_empty(), "nothing was run");
}

/// A limit on the size of files stands for a disk without space: writes fail half way in both cases.
#[cfg(unix)]
#[test]
fn a_full_disk_leaves_nothing_half_written() {
    let place = place();
    let script = format!("trap '' XFSZ; ulimit -f 1; '{}' run small.toml", env!("CARGO_BIN_EXE_narrows"));
    let output = Command::new("sh").args(["-c", &script]).current_dir(&place).output().unwrap();
    assert_eq!(status(&output), Some(2));
    assert!(text(&output.stderr).contains("to out/small: "), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("cannot write"), "{}", text(&output.stderr));
    assert_eq!(std::fs::read_dir(place.path().join("out")).unwrap().count(), 0);
}

#[test]
fn a_run_that_needs_more_memory_than_there_is_needs_force() {
    let place = place();
    let huge = ["run", "small.toml", "--set", "switches.default.buffer.size='900 TB'"];
    let refused = narrows(&place, &huge);
    assert_eq!(status(&refused), Some(2));
    let message = text(&refused.stderr);
    assert!(message.contains("the run would need up to") && message.contains("are available"), "{message}");
    assert!(message.contains("--force"), "{message}");
    assert!(!place.path().join("out/small").exists());
    let forced = [&huge[..], &["--force"]].concat();
    assert_eq!(status(&narrows(&place, &forced)), Some(0));
}

#[test]
fn a_broken_expectation_keeps_results_and_ends_with_status_1() {
    let place = place();
    let output = narrows(&place, &["run", "small.toml", "--set", "expect.0.below=0"]);
    assert_eq!(status(&output), Some(1));
    let expected = "expectation broken in seed 1: all.unfinished is 0, expected below 0";
    assert!(text(&output.stderr).contains(expected), "{}", text(&output.stderr));
    let expectations = &json(&place.path().join("out/small/run.json"))["expectations"];
    assert_eq!(expectations[0]["found"], 0.0);
}

/// Interrupts a command that has begun, which ends with 130.
#[cfg(unix)]
fn interrupted(place: &TempDir, arguments: &[&str]) {
    let mut command = command(place, arguments);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    // Signals are caught before the first line is printed.
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    lines.next().unwrap().unwrap();
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let rest: Vec<_> = lines.map(Result::unwrap).collect();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{rest:?}");
}

/// Clients without a pause: this run does not end by itself while anyone waits for it.
#[cfg(unix)]
#[test]
fn an_interrupted_run_keeps_what_there_is_and_says_so() {
    let place = place();
    let endless = ["--set", "stop.after='1000 s'", "--set", "expect=[]", "--set", "record={}"];
    let clients = "traffic.all.pattern={ closed_loop = { clients = 1, sizes = { constant = '1 MB' } } }";
    interrupted(&place, &[&["run", "small.toml", "--set", clients], &endless[..]].concat());
    let summary = json(&place.path().join("out/small/run.json"));
    assert_eq!(summary["complete"], false);
    assert!(summary["ended_ps"].as_u64().unwrap() < 1_000_000_000_000_000);
}

#[test]
fn a_comparison_has_a_folder_for_each_cell_and_seed() {
    let place = place();
    let variant = "reno:traffic.all.cc={ reno = {} };switches.default.buffer.size=\"100 kB\"";
    let output = narrows(&place, &["compare", "small.toml", "--variant", variant, "--seeds", "2", "--json"]);
    assert_eq!(status(&output), Some(0), "{}", text(&output.stderr));
    let folder = place.path().join("out/compare-small");
    for cell in ["small", "reno"] {
        for seed in ["seed-1", "seed-2"] {
            assert!(folder.join(cell).join(seed).join("flows.parquet").is_file());
        }
    }
    assert!(folder.join("report.html").is_file());
    let printed: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(printed["cells"], serde_json::json!(["small", "reno"]));
    // A report of the folder has the same base, though "reno" comes before "small".
    let report = narrows(&place, &["report", "out/compare-small"]);
    assert_eq!(status(&report), Some(0), "{}", text(&report.stderr));
    let page = std::fs::read_to_string(folder.join("report.html")).unwrap();
    assert!(page.contains("\"base\":\"small\"") && !page.contains("\"base\":\"reno\""));
    assert_eq!(printed["summary"][0]["rows"][0]["values"].as_array().unwrap().len(), 2);
}

#[test]
fn markdown_is_a_table_and_nothing_else() {
    let place = place();
    let output = narrows(&place, &["compare", "small.toml", "small.toml", "--seeds", "2", "--markdown"]);
    assert_eq!(status(&output), Some(0));
    let printed = text(&output.stdout);
    assert!(printed.lines().all(|line| line.starts_with('|') && line.ends_with('|')), "{printed}");
    assert!(printed.contains("small-2 / small"), "{printed}");
}

#[test]
fn every_template_can_be_written_and_checked() {
    let place = place();
    let listed = narrows(&place, &["list", "templates", "--json"]);
    let listed: serde_json::Value = serde_json::from_slice(&listed.stdout).unwrap();
    for template in listed["templates"].as_array().unwrap() {
        let name = template["name"].as_str().unwrap();
        let own = format!("my-{name}");
        assert_eq!(status(&narrows(&place, &["new", &own, "--template", name])), Some(0));
        let checked = narrows(&place, &["check", &format!("{own}.toml")]);
        assert_eq!(status(&checked), Some(0), "{name}: {}", text(&checked.stderr));
    }
    assert_eq!(status(&narrows(&place, &["new", "my-dumbbell"])), Some(2), "never over an older file");
}

#[cfg(unix)]
#[test]
fn a_reader_who_stops_reading_breaks_nothing() {
    let place = place();
    let script = format!(
        "'{0}' list | head -1; '{0}' run small.toml --quiet | head -1; ls out/small",
        env!("CARGO_BIN_EXE_narrows")
    );
    let output = Command::new("sh").args(["-c", &script]).current_dir(&place).output().unwrap();
    assert!(output.stderr.is_empty(), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("run.json"));
}

#[test]
fn a_figure_of_a_paper_leaves_claims_a_page_and_scenarios_that_can_be_checked() {
    let place = place();
    let arguments = ["repro", "rackcc", "--quick", "--figure", "figure 3a", "--seeds", "1", "--json"];
    let output = narrows(&place, &arguments);
    assert_eq!(status(&output), Some(0), "{}", text(&output.stderr));
    let printed: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let folder = place.path().join("out/repro/rackcc");
    assert_eq!(json(&folder.join("claims.json")), printed);
    let claims = printed["claims"].as_array().unwrap();
    assert!(!claims.is_empty());
    for claim in claims {
        for key in ["id", "source", "statement", "measured", "class", "verdict"] {
            assert!(!claim[key].is_null(), "{key} of {claim}");
        }
        let verdicts = ["match", "calibrated", "shape", "explained", "open", "miss"];
        assert!(verdicts.contains(&claim["verdict"].as_str().unwrap()), "{claim}");
    }
    assert!(folder.join("report.html").is_file() && folder.join("report.md").is_file());
    let scenarios: Vec<_> =
        std::fs::read_dir(folder.join("scenarios")).unwrap().map(Result::unwrap).collect();
    assert!(!scenarios.is_empty());
    for scenario in scenarios {
        let checked = narrows(&place, &["check", scenario.path().to_str().unwrap()]);
        assert_eq!(status(&checked), Some(0), "{}", text(&checked.stderr));
    }
}

#[cfg(unix)]
#[test]
fn an_interrupted_reproduction_keeps_older_results_and_adds_only_what_it_measured() {
    let place = place();
    let older = place.path().join("out/repro/bcn");
    std::fs::create_dir_all(&older).unwrap();
    std::fs::write(older.join("claims.json"), "{ \"narrows\": \"0.1.0\" }").unwrap();
    std::fs::write(older.join("report.md"), "older").unwrap();
    let before = content(place.path());
    // All runs of the paper take minutes.
    interrupted(&place, &["repro", "bcn"]);
    let mut after = content(place.path());
    after.retain(|(name, _)| !name.starts_with("out/repro/.narrows.measured.bcn"));
    assert_eq!(after, before);
}

/// Two groups, one of which begins too late to deliver anything. Two points, two seeds.
const STARVING: &str = r#"
name = "starving"
scenario = "small.toml"
seeds = 2

[set]
"stop.drain" = "0 s"
"expect" = []
"traffic" = [
    { name = "web", pattern = { random = { flows = 9, within = "1 ms", sizes = { constant = "20 kB" } } }, cc = { cubic = {} } },
    { name = "late", start = "1.999 ms", pattern = { random = { flows = 2, within = "1 ns", sizes = { constant = "9 kB" } } }, cc = { cubic = {} } },
]

[grid]
"traffic.web.pattern.random.flows" = [9, 12]
"#;

/// Data that a page is drawn from.
fn data_of(page: &Path) -> serde_json::Value {
    let page = std::fs::read_to_string(page).unwrap();
    let (_, data) = page.split_once("type=\"application/json\">").unwrap();
    serde_json::from_str(data.split_once("</script>").unwrap().0).unwrap()
}

#[test]
fn a_sweep_shows_the_group_that_starves_on_the_terminal_and_in_its_report() {
    let place = place();
    std::fs::write(place.path().join("sweep.toml"), STARVING).unwrap();
    let output = narrows(&place, &["sweep", "sweep.toml", "--quiet"]);
    assert_eq!(status(&output), Some(0), "{}", text(&output.stderr));
    let said = text(&output.stdout);
    let lines: Vec<Vec<&str>> = said.lines().map(|line| line.split_whitespace().collect()).collect();
    let late: Vec<_> = lines.iter().filter(|words| words.first() == Some(&"late")).collect();
    // Slowdown, goodput, unfinished.
    assert_eq!(late, [&["late", "–", "0", "2"], &["late", "–", "0", "2"]], "{said}");
    for command in ["report", "open"] {
        let more: &[&str] = if command == "open" { &["--print"] } else { &[] };
        let output = narrows(&place, &[&[command, "out/starving"], more].concat());
        assert_eq!(status(&output), Some(0), "{}", text(&output.stderr));
        let late = rows(&place, "late");
        assert_eq!(late, [["9", "2", "late", "0"], ["12", "2", "late", "0"]]);
    }
    // Its page grows with it.
    assert_eq!(status(&narrows(&place, &["sweep", "sweep.toml", "--quiet", "--seeds", "3"])), Some(0));
    assert_eq!(status(&narrows(&place, &["open", "out/starving", "--print"])), Some(0));
    assert_eq!(rows(&place, "late")[1], ["12", "3", "late", "0"]);
}

/// Rows of a group in the table of the page: the only axis, the number of seeds, the group, its goodput.
fn rows(place: &TempDir, group: &str) -> Vec<[String; 4]> {
    let table = &data_of(&place.path().join("out/starving/report.html"))["table"];
    let heads = table["heads"].as_array().unwrap();
    let goodput = heads.iter().position(|head| head == "goodput, Gb/s").unwrap() - 3;
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    let row = |row: &serde_json::Value| {
        let [axis, seeds, group] = [0, 1, 2].map(|column| text(&row["texts"][column]));
        [axis, seeds, group, text(&row["values"][goodput][0])]
    };
    table["rows"].as_array().unwrap().iter().map(row).filter(|row| row[2] == group).collect()
}

#[test]
fn the_page_and_the_terminal_print_the_same_numbers() {
    let place = place();
    let random =
        "traffic.all.pattern={ random = { flows = 30, within = '1 ms', sizes = { constant = '20 kB' } } }";
    for seeds in ["1", "2", "4"] {
        let output = narrows(
            &place,
            &[
                "compare",
                "small.toml",
                "--variant",
                "reno:traffic.all.cc={ reno = {} }",
                "--set",
                random,
                "--seeds",
                seeds,
                "--out",
                seeds,
                "--quiet",
            ],
        );
        assert_eq!(status(&output), Some(0), "{}", text(&output.stderr));
        let said = text(&output.stdout);
        let data = data_of(&place.path().join(seeds).join("report.html"));
        let mut all = Vec::new();
        for row in
            data["summary"].as_array().unwrap().iter().flat_map(|group| group["rows"].as_array().unwrap())
        {
            let of = |key: &str, index: usize| {
                let value = &row[key][index];
                let part = |part: &str| value[part].as_str().unwrap_or_default().to_owned();
                if value.is_null() { "–".to_owned() } else { part("text") + &part("spread") }
            };
            let label = row["label"].as_str().unwrap();
            let shown = [of("values", 0), of("values", 1), of("ratios", 1)];
            let is_it =
                |line: &&str| line.contains(label) && shown.iter().all(|text| line.contains(text.as_str()));
            assert!(said.lines().any(|line| is_it(&line)), "{label}: {shown:?} in\n{said}");
            all.extend(shown);
        }
        assert!(all.len() > 15, "{all:?}");
        // An interval from three seeds on, and before that the values.
        let any = |sign: &str| all.iter().any(|text| text.contains(sign));
        assert_eq!((any(" ["), any(" to ")), (seeds == "4", seeds == "2"), "{all:?}");
    }
}

#[test]
fn reports_do_not_pool_points_as_if_they_were_seeds() {
    let place = place();
    std::fs::write(place.path().join("sweep.toml"), STARVING).unwrap();
    assert_eq!(status(&narrows(&place, &["sweep", "sweep.toml", "--quiet"])), Some(0));
    assert_eq!(status(&narrows(&place, &["report", "out/starving/cells", "--out", "page.html"])), Some(0));
    let data = data_of(&place.path().join("page.html"));
    let cells = data["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 2, "a cell for each scenario");
    for cell in cells {
        // In the order of their folders, which are named by hashes.
        let seeds = cell["seeds"].as_array().unwrap();
        assert!(seeds.len() == 2 && seeds.contains(&1.into()) && seeds.contains(&2.into()), "{seeds:?}");
    }
}
