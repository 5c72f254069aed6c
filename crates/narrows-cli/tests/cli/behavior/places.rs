//! Where results go: what is replaced and what is not, who may write there, and what is left of a command that was killed.

use super::*;

/// A run that does not end by itself while anyone waits for it, once it has begun.
#[cfg(unix)]
fn endless(place: &TempDir, arguments: &[&str]) -> std::process::Child {
    let clients = "traffic.all.pattern={ closed_loop = { clients = 1, sizes = { constant = '1 MB' } } }";
    let mut child = command(place, &["run", "small.toml", "--set", clients, "--set", "stop.after='1000 s'"])
        .args(["--set", "expect=[]", "--set", "record={}"])
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // The output has begun before the first line is printed.
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    child
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn a_folder_with_something_else_in_it_is_never_replaced() {
    let place = place();
    let variant = "reno:traffic.all.cc={ reno = {} }";
    assert_eq!(status(&narrows(&place, &["run", "small.toml"])), Some(0));
    for (file, inside) in [("proj/.git/HEAD", ".git/HEAD"), ("proj/f", "f"), ("proj/a/b/c", "a/b")] {
        std::fs::create_dir_all(place.path().join(file).parent().unwrap()).unwrap();
        std::fs::write(place.path().join(file), "mine").unwrap();
        let before = content(place.path());
        let commands: [&[&str]; 4] = [
            &["run", "small.toml"],
            &["compare", "small.toml", "--variant", variant],
            &["trace", "out/small", "--qlog"],
            &["repro", "rackcc", "--quick", "--figure", "figure 3a"],
        ];
        for command in commands {
            let output = narrows(&place, &[command, &["--out", "proj", "--overwrite"]].concat());
            let said = text(&output.stderr);
            assert_eq!(status(&output), Some(2), "{command:?}: {said}");
            let expected = format!("proj is not replaced: narrows did not write proj/{inside}");
            let first = format!(
                "proj is not replaced: narrows did not write proj/{}",
                names(&place.path().join("proj"))[0]
            );
            assert!(said.contains("N0123") && (said.contains(&expected) || said.contains(&first)), "{said}");
            assert!(content(place.path()) == before, "{command:?} touches nothing");
        }
        std::fs::remove_dir_all(place.path().join("proj")).unwrap();
    }
}

#[test]
fn commands_with_a_folder_of_their_own_replace_nothing_but_results_there() {
    let place = place();
    for (command, folder) in [
        (&["demo", "rackcc", "--seeds", "1"][..], "out/demo-rackcc"),
        (&["repro", "bcn", "--quick"], "out/repro/bcn"),
    ] {
        std::fs::create_dir_all(place.path().join(folder)).unwrap();
        std::fs::write(place.path().join(folder).join("notes.txt"), "mine").unwrap();
        let output = narrows(&place, command);
        assert_eq!(status(&output), Some(2), "{}", text(&output.stderr));
        let expected = format!("{folder}/notes.txt");
        assert!(text(&output.stderr).contains(&expected), "{}", text(&output.stderr));
        assert_eq!(names(&place.path().join(folder)), ["notes.txt"]);
    }
}

#[test]
fn results_with_all_that_was_added_by_narrows_are_replaced() {
    let place = place();
    let run: &[&str] = &["run", "small.toml", "--out", "a", "--overwrite"];
    let commands: [&[&str]; 8] = [
        run,
        &["trace", "a", "--pcapng"],
        &["trace", "a", "--qlog"],
        &["trace", "a", "--perfetto"],
        &["export", "fct", "a"],
        &["export", "openmetrics", "a"],
        &["export", "flent", "a"],
        &["report", "a"],
    ];
    for command in commands {
        let output = narrows(&place, command);
        assert_eq!(status(&output), Some(0), "{command:?}: {}", text(&output.stderr));
    }
    assert_eq!(names(&place.path().join("a")).len(), 14);
    let several = [run, &["--seeds", "2"]].concat();
    let compare = ["compare", "small.toml", "small.toml", "--seeds", "1", "--out", "a", "--overwrite"];
    let repro =
        ["repro", "rackcc", "--quick", "--figure", "figure 3a", "--out", "a", "--overwrite", "--quiet"];
    for command in [run, &several, &compare, &repro, run] {
        let output = narrows(&place, command);
        assert_eq!(status(&output), Some(0), "{command:?}: {}", text(&output.stderr));
    }
    assert_eq!(names(&place.path().join("a")).len(), 8);
    assert_eq!(names(place.path()), ["a", "small.toml"], "nothing else is left");
}

#[test]
fn a_sweep_can_be_replaced_and_one_with_notes_in_it_cannot() {
    let place = place();
    let sweep = "name = 'try'\nscenario = 'small.toml'\nseeds = 2";
    std::fs::write(place.path().join("sweep.toml"), sweep).unwrap();
    assert_eq!(status(&narrows(&place, &["sweep", "sweep.toml", "--out", "a"])), Some(0));
    let notes = place.path().join("a/cells/notes.txt");
    std::fs::write(&notes, "mine").unwrap();
    let run = ["run", "small.toml", "--out", "a", "--overwrite"];
    let refused = narrows(&place, &run);
    assert_eq!(status(&refused), Some(2));
    assert!(text(&refused.stderr).contains("a/cells/notes.txt"), "{}", text(&refused.stderr));
    std::fs::remove_file(&notes).unwrap();
    assert_eq!(status(&narrows(&place, &run)), Some(0));
}

#[test]
fn a_trace_does_not_replace_the_run_it_is_of() {
    let place = place();
    assert_eq!(status(&narrows(&place, &["run", "small.toml", "--out", "a"])), Some(0));
    let before = content(place.path());
    let output = narrows(&place, &["trace", "a", "--qlog", "--out", "a", "--overwrite"]);
    assert_eq!(status(&output), Some(2));
    let output = narrows(&place, &["trace", "a", "--pcapng", "--out", "a", "--overwrite"]);
    assert_eq!(status(&output), Some(2));
    assert!(text(&output.stderr).contains("a is a folder"), "{}", text(&output.stderr));
    assert!(content(place.path()) == before);
}

#[test]
fn the_current_folder_is_not_replaced() {
    let place = place();
    assert_eq!(status(&narrows(&place, &["run", "small.toml", "--out", "a"])), Some(0));
    let before = content(place.path());
    for out in [".", "../a", "./"] {
        let output = narrows(&place.path().join("a"), &["run", "scenario.toml", "--overwrite", "--out", out]);
        assert_eq!(status(&output), Some(2), "{out}");
        assert!(text(&output.stderr).contains("is the current folder"), "{}", text(&output.stderr));
    }
    assert!(content(place.path()) == before);
}

#[test]
fn what_somebody_writes_to_is_refused_at_once_and_free_afterwards() {
    let place = place();
    let held = narrows::results::Output::begin(&place.path().join("out/small"), false).unwrap();
    for out in ["out/small", "out/small/", "out/../out/small"] {
        let output = narrows(&place, &["run", "small.toml", "--overwrite", "--out", out]);
        assert_eq!(status(&output), Some(2));
        let said = text(&output.stderr);
        assert!(said.contains("N0124") && said.contains("another process is writing to"), "{said}");
        assert!(output.stdout.is_empty(), "nothing was run");
    }
    drop(held);
    assert_eq!(status(&narrows(&place, &["run", "small.toml"])), Some(0));
    assert_eq!(names(&place.path().join("out")), ["small"]);
}

#[test]
fn of_four_runs_to_one_folder_at_the_same_time_one_succeeds_and_its_results_are_there() {
    let place = place();
    for round in 0..3 {
        let out = format!("out-{round}");
        let start = |seed: &&str| {
            command(&place, &["run", "small.toml", "--quiet", "--out", &out, "--seed", seed])
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap()
        };
        let seeds = ["1", "2", "3", "4"];
        let mut children: Vec<_> = seeds.iter().map(start).collect();
        let codes: Vec<_> = children.iter_mut().map(|child| child.wait().unwrap().code().unwrap()).collect();
        let mut sorted = codes.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, [0, 2, 2, 2]);
        let winner = codes.iter().position(|code| *code == 0).unwrap();
        let seed = json(&place.path().join(&out).join("run.json"))["seed"].as_u64().unwrap();
        assert_eq!(seed.to_string(), seeds[winner]);
    }
    assert_eq!(names(place.path()), ["out-0", "out-1", "out-2", "small.toml"], "nothing else is left");
}

#[cfg(unix)]
#[test]
fn a_folder_that_appears_during_a_run_stays_and_results_are_kept_beside_it() {
    let place = place();
    let mut child = endless(&place, &["--out", "a"]);
    std::fs::create_dir(place.path().join("a")).unwrap();
    std::fs::write(place.path().join("a/notes.txt"), "mine").unwrap();
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(2));
    assert_eq!(names(&place.path().join("a")), ["notes.txt"]);
    assert_eq!(json(&place.path().join("a-2/run.json"))["complete"], false);
    assert_eq!(names(place.path()), ["a", "a-2", "small.toml"]);
}

#[cfg(unix)]
#[test]
fn what_a_killed_run_leaves_keeps_nobody_out_and_is_removed_by_the_next() {
    let place = place();
    assert_eq!(status(&narrows(&place, &["run", "small.toml", "--out", "a"])), Some(0));
    let before = content(&place.path().join("a"));
    for next in ["a", "b"] {
        let mut child = endless(&place, &["--out", "a", "--overwrite"]);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(content(&place.path().join("a")) == before);
        assert_eq!(names(place.path()).iter().filter(|name| name.starts_with(".narrows-")).count(), 2);
        let output = narrows(&place, &["run", "small.toml", "--overwrite", "--out", next]);
        assert_eq!(status(&output), Some(0), "{}", text(&output.stderr));
        assert!(!names(place.path()).iter().any(|name| name.starts_with('.')), "{:?}", names(place.path()));
        assert!(content(&place.path().join("a")) == before);
    }
}

/// A limit on the size of files stands for a disk without space.
#[cfg(unix)]
#[test]
fn a_full_disk_leaves_no_empty_scenario() {
    let place = place();
    let script = format!("trap '' XFSZ; ulimit -f 0; '{}' new mine", env!("CARGO_BIN_EXE_narrows"));
    let output = Command::new("sh").args(["-c", &script]).current_dir(&place).output().unwrap();
    assert_eq!(status(&output), Some(2));
    assert!(text(&output.stderr).contains("cannot write to mine.toml"), "{}", text(&output.stderr));
    assert_eq!(names(place.path()), ["small.toml"]);
    assert_eq!(status(&narrows(&place, &["new", "mine"])), Some(0));
}

#[cfg(unix)]
#[test]
fn an_imported_scenario_is_there_with_its_traces_or_not_at_all() {
    let place = place();
    let matrix = "Nodes 16\nConnections 1\n0->1 id 1 start 0 size 2000\n";
    std::fs::write(place.path().join("one.cm"), matrix).unwrap();
    std::fs::create_dir(place.path().join("one.toml")).unwrap();
    let import = ["import", "htsim", "--matrix", "one.cm", "-o", "one.toml", "--overwrite"];
    let output = narrows(&place, &import);
    assert_eq!(status(&output), Some(2), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("one.toml is a folder"), "{}", text(&output.stderr));
    assert_eq!(names(place.path()), ["one.cm", "one.toml", "small.toml"]);
    std::fs::remove_dir(place.path().join("one.toml")).unwrap();
    assert_eq!(status(&narrows(&place, &import)), Some(0));
    assert_eq!(names(place.path()), ["one.cm", "one.connections.csv", "one.toml", "small.toml"]);
}

/// Several runs of some hundred milliseconds.
const PAPER: [&str; 8] = ["repro", "rackcc", "--quick", "--figure", "figure 3a", "--seeds", "4", "--out"];

/// A reproduction that is ended in this way when it has kept a run; the runs it has kept.
#[cfg(unix)]
fn ended(place: &TempDir, signal: &str) -> usize {
    let kept = place.path().join(".narrows.measured.again");
    // A file that is not finished counts for nothing.
    let is_whole = |name: &String| !name.starts_with('.');
    let count = || if kept.exists() { names(&kept).iter().filter(|name| is_whole(name)).count() } else { 0 };
    let mut child = command(place, &[&PAPER[..], &["again", "--jobs", "1", "--overwrite"]].concat())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while count() == 0 {
        assert!(child.try_wait().unwrap().is_none(), "it ended before it kept anything");
        std::thread::yield_now();
    }
    assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    let said = text(&output.stderr);
    if signal == "-INT" {
        assert_eq!(output.status.code(), Some(130), "{said}");
        assert!(said.contains("runs are kept in ") && said.contains("resumes from there"), "{said}");
    }
    count()
}

#[cfg(unix)]
#[test]
fn a_reproduction_that_was_ended_goes_on_where_it_was_and_comes_out_the_same() {
    let place = place();
    assert_eq!(status(&narrows(&place, &[&PAPER[..], &["whole"]].concat())), Some(0));
    let whole = content(&place.path().join("whole"));
    for signal in ["-KILL", "-INT"] {
        let kept = ended(&place, signal);
        let output = narrows(&place, &[&PAPER[..], &["again", "--overwrite"]].concat());
        let said = text(&output.stderr);
        assert_eq!(status(&output), Some(0), "{said}");
        assert!(said.starts_with(&format!("{kept} of ")), "{kept}: {said}");
        assert!(said.contains("were done before and are not run again"), "{said}");
        assert!(content(&place.path().join("again")) == whole);
        assert_eq!(names(place.path()), ["again", "small.toml", "whole"], "nothing is left");
        std::fs::remove_dir_all(place.path().join("again")).unwrap();
    }
}

#[test]
fn a_reproduction_of_the_same_folder_runs_only_what_is_new() {
    let place = place();
    let repro = |seeds, out| {
        let figure = ["repro", "rackcc", "--quick", "--figure", "figure 3a", "--overwrite"];
        let output = narrows(&place, &[&figure[..], &["--seeds", seeds, "--out", out]].concat());
        assert_eq!(status(&output), Some(0), "{}", text(&output.stderr));
        text(&output.stderr)
    };
    let anew = repro("3", "whole");
    assert!(!anew.contains("done before"), "{anew}");
    repro("2", "again");
    let said = repro("3", "again");
    assert!(said.contains("runs were done before and are not run again"), "{said}");
    let of = |folder: &str| content(&place.path().join(folder));
    assert!(of("again") == of("whole"));
    let said = repro("3", "again");
    assert!(said.contains("all runs were done before"), "{said}");
    assert!(of("again") == of("whole"));
    let runs = place.path().join("again/runs.txt");
    std::fs::write(&runs, std::fs::read_to_string(&runs).unwrap().replace("speedup", "speedop")).unwrap();
    let said = repro("3", "again");
    assert!(said.contains("are damaged: they are run again"), "{said}");
    assert!(of("again") == of("whole"));
}

#[cfg(unix)]
#[test]
fn a_run_of_a_reproduction_that_was_damaged_is_run_again() {
    let place = place();
    assert_eq!(status(&narrows(&place, &[&PAPER[..], &["whole"]].concat())), Some(0));
    ended(&place, "-INT");
    let kept = place.path().join(".narrows.measured.again");
    for name in names(&kept) {
        let mut content = std::fs::read(kept.join(&name)).unwrap();
        let middle = content.len() / 2;
        content[middle] ^= 4;
        std::fs::write(kept.join(name), content).unwrap();
    }
    let output = narrows(&place, &[&PAPER[..], &["again"]].concat());
    assert_eq!(status(&output), Some(0));
    assert!(text(&output.stderr).contains("are damaged: they are run again"), "{}", text(&output.stderr));
    assert!(content(&place.path().join("again")) == content(&place.path().join("whole")));
}
