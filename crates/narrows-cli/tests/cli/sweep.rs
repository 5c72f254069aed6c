//! Sweeps as processes: killed, divided, without room.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::support::{command, holding, narrows, text};

const SCENARIO: &str = r#"
version = 1
name = "small"
stop = { after = "1 ms", drain = "100 ms" }
topology.star = { hosts = 4, rate = "10 Gb/s", delay = "1 us" }
switches.default = { buffer = { size = "1 MB", sharing = "complete" } }

[[traffic]]
name = "all"
pattern = { random = { flows = 40, within = "1 ms", sizes = { constant = "20 kB" } } }
cc = { cubic = {} }
"#;

/// 120 cells of some milliseconds.
const SWEEP: &str = r#"
name = "try"
scenario = "small.toml"
seeds = 15

[grid]
"traffic.all.pattern.random.flows" = [10, 20, 30, 40]
[grid.control]
reno = { "traffic.all.cc" = { reno = {} } }
cubic = {}
"#;

fn place() -> TempDir {
    holding(&[("small.toml", SCENARIO), ("sweep.toml", SWEEP)])
}

fn start(place: &TempDir, arguments: &[&str]) -> Child {
    command(place, arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// A whole sweep that nothing disturbs.
fn undisturbed(place: &TempDir) {
    let output = narrows(place, &["sweep", "sweep.toml", "--out", "whole", "--quiet"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}

/// The files of the data set with their content.
fn data_set(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files = entries.filter(|path| path.is_file());
    let mut files: Vec<_> = files
        .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), std::fs::read(&path).unwrap()))
        .collect();
    files.sort();
    files
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Every cell that counts is whole, and belongs to the sweep.
fn assert_cells_are_those_of(whole: &Path, folder: &Path) {
    for cell in names(&folder.join("cells")) {
        let ([ours, theirs], inside) = (
            [folder, whole].map(|of| of.join("cells").join(&cell)),
            names(&folder.join("cells").join(&cell)),
        );
        assert_eq!(inside, names(&theirs), "{cell}");
        for name in inside {
            assert!(std::fs::read(ours.join(&name)).unwrap() == std::fs::read(theirs.join(&name)).unwrap());
        }
    }
}

#[test]
fn a_sweep_that_is_killed_again_and_again_ends_with_the_data_set_of_one_that_is_not() {
    let place = place();
    undisturbed(&place);
    let [whole, out] = ["whole", "killed"].map(|name| place.path().join(name));
    let arguments = ["sweep", "sweep.toml", "--out", "killed", "--quiet"];
    let (mut random, mut kills, mut during) = (7_u64, 0, 0);
    let began = Instant::now();
    while kills < 24 {
        assert!(began.elapsed() < Duration::from_secs(120), "{kills} kills");
        // A random number of further cells, and then a random moment: in the middle of a run, of writing, of renaming.
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let (cells, pause) = ((random >> 33) % 7, Duration::from_micros((random >> 40) % 3000));
        let target = names(&out.join("cells")).len() as u64 + cells;
        let mut child = start(&place, &arguments);
        let mut ended = false;
        while (names(&out.join("cells")).len() as u64) < target && !ended {
            ended = child.try_wait().unwrap().is_some();
            std::thread::yield_now();
        }
        std::thread::sleep(pause);
        child.kill().unwrap();
        // It may have been faster than the kill.
        let killed = !child.wait().unwrap().success();
        kills += u32::from(killed);
        during += u32::from(killed && (1..120).contains(&names(&out.join("cells")).len()));
        if !killed {
            std::fs::remove_dir_all(&out).unwrap();
        }
    }
    assert!(during >= 10, "most kills are in the middle: {during}");
    assert_cells_are_those_of(&whole, &out);
    let output = narrows(&place, &arguments);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(data_set(&out) == data_set(&whole));
    assert_eq!(names(&out), names(&whole), "nothing is left over");
    assert_eq!(names(&out.join("cells")).len(), 120);
    assert_cells_are_those_of(&whole, &out);
}

#[test]
fn two_processes_share_a_folder() {
    let place = place();
    undisturbed(&place);
    for part in ["1/2", "2/2"] {
        let other = if part == "1/2" { "2/2" } else { "1/2" };
        let mut child =
            start(&place, &["sweep", "sweep.toml", "--out", "shared", "--shard", part, "--quiet"]);
        let output =
            narrows(&place, &["sweep", "sweep.toml", "--out", "shared", "--shard", other, "--quiet"]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        assert!(child.wait().unwrap().success());
    }
    // Both run everything at the same time: each cell is there once.
    let mut child = start(&place, &["sweep", "sweep.toml", "--out", "both", "--quiet"]);
    let output = narrows(&place, &["sweep", "sweep.toml", "--out", "both", "--quiet"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(child.wait().unwrap().success());
    let output = narrows(&place, &["merge", "shared", "--out", "shared"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let whole = place.path().join("whole");
    for name in ["shared", "both"] {
        let folder = place.path().join(name);
        assert!(data_set(&folder) == data_set(&whole), "{name}");
        assert_eq!(names(&folder), names(&whole), "nothing is left over");
    }
}

/// Without rights no file system can be filled up; a limit on the size of files is the nearest thing to it. Both are errors of writing.
#[test]
fn without_room_a_sweep_stops_soon_says_so_and_goes_on_later() {
    let place = place();
    let program = env!("CARGO_BIN_EXE_narrows");
    let limited = format!("trap '' XFSZ; ulimit -f 8; exec {program} sweep sweep.toml --out full --quiet");
    let output = Command::new("bash").current_dir(&place).args(["-c", &limited]).output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("N0016") && said.contains("finished cells are kept"), "{said}");
    assert!(said.matches("cannot write").count() <= 2, "it stops at once: {said}");
    let full = place.path().join("full");
    assert_eq!(names(&full), ["cells", "sweep.json"]);
    assert_eq!(names(&full.join("cells")), [""; 0], "no half cell is left");
    undisturbed(&place);
    let output = narrows(&place, &["sweep", "sweep.toml", "--out", "full", "--quiet"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(data_set(&full) == data_set(&place.path().join("whole")));
}

#[test]
fn ctrl_c_keeps_finished_cells() {
    let place = place();
    let child = start(&place, &["sweep", "sweep.toml", "--out", "stopped", "--quiet", "--jobs", "1"]);
    let cells = place.path().join("stopped/cells");
    while names(&cells).len() < 3 {
        std::thread::yield_now();
    }
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let kept = names(&cells).len();
    assert!((3..120).contains(&kept));
    let output = narrows(&place, &["sweep", "sweep.toml", "--out", "stopped"]);
    assert!(
        text(&output.stderr).contains(&format!("120 cells: {kept} were there")),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn a_sweep_says_that_a_goodput_of_its_table_still_trends() {
    // Reno on 50 Mb/s and 100 ms gains a segment in each round trip for 20 s.
    let scenario = r#"
version = 2
name = "slow"
stop.after = "20 s"
measure.from = "4 s"
topology.dumbbell = { hosts = 1, host_rate = "1 Gb/s", bottleneck_rate = "50 Mb/s", host_delay = "1 us", bottleneck_delay = "50 ms" }
switches.default = { buffer = { size = "100 kB", sharing = "per_port" } }
traffic = [{ name = "long", pattern.long_lived = { flows = 1 }, cc = { reno = {} } }]
"#;
    let sweep = "name = \"try\"\nscenario = \"slow.toml\"\n[grid]\n\"traffic.long.cc.reno.ecn\" = [false]\n";
    let place = holding(&[("slow.toml", scenario), ("sweep.toml", sweep)]);
    let said = |arguments: &[&str]| text(&narrows(&place, arguments).stderr);
    let of_sweep = said(&["sweep", "sweep.toml", "--out", "out", "--quiet"]);
    assert!(of_sweep.contains("⚠ N0202: the goodput of traffic \"long\" still rises"), "{of_sweep}");
    let of_merge = said(&["merge", "out", "--out", "merged"]);
    assert!(of_merge.contains("⚠ N0202: "), "{of_merge}");
}
