//! Standard output that cannot take what is printed.

use std::fs::File;

use super::*;

/// Runs a command whose standard output is a full disk.
fn to_full(place: &TempDir, arguments: &[&str]) -> Output {
    command(place, arguments).stdout(File::options().write(true).open("/dev/full").unwrap()).output().unwrap()
}

#[test]
fn what_cannot_be_printed_is_told_by_every_command() {
    let place = place();
    let sweep = "name = 'try'\nscenario = 'small.toml'\nseeds = 2";
    std::fs::write(place.path().join("sweep.toml"), sweep).unwrap();
    let matrix = "Nodes 16\nConnections 1\n0->1 id 1 start 0 size 2000\n";
    std::fs::write(place.path().join("one.cm"), matrix).unwrap();
    let figure: &[&str] = &["repro", "rackcc", "--quick", "--figure", "figure 3a"];
    let commands: [&[&str]; 33] = [
        &["run", "small.toml"],
        &["run", "small.toml", "--json", "--overwrite"],
        &["compare", "small.toml", "small.toml", "--seeds", "1"],
        &["compare", "small.toml", "small.toml", "--seeds", "1", "--json", "--overwrite"],
        &["compare", "small.toml", "small.toml", "--seeds", "1", "--markdown", "--overwrite"],
        &["demo", "rackcc", "--seeds", "1", "--quiet"],
        &["sweep", "sweep.toml", "--dry-run"],
        &["sweep", "sweep.toml"],
        &["sweep", "sweep.toml", "--json"],
        &["merge", "out/try", "--out", "merged"],
        &["merge", "out/try", "--out", "merged", "--json"],
        &["report", "out/small"],
        &["open", "out/small", "--print"],
        figure,
        &["repro", "--list"],
        &["repro", "--list", "--json"],
        &["trace", "out/small", "--pcapng"],
        &["export", "fct", "out/small"],
        &["export", "openmetrics", "out/small"],
        &["export", "flent", "out/small"],
        &["check", "small.toml"],
        &["check", "small.toml", "--json"],
        &["check", "small.toml", "--nodes"],
        &["list"],
        &["list", "tables"],
        &["list", "controls", "--json"],
        &["new", "mine"],
        &["import", "htsim", "--matrix", "one.cm", "-o", "one.toml"],
        &["schema"],
        &["explain", "dctcp"],
        &["completions", "bash"],
        &["--help"],
        &["--version"],
    ];
    for command in commands {
        let output = to_full(&place, command);
        let said = text(&output.stderr);
        assert_eq!(status(&output), Some(2), "{command:?}: {said}");
        let message = "cannot write to standard output: No space left on device";
        assert!(said.contains("N0016") && said.matches(message).count() == 1, "{command:?}: {said}");
    }
    assert!(place.path().join("out/small/run.json").exists(), "what was written stays");
}

#[test]
fn a_reader_who_has_gone_is_not_told_and_the_status_is_the_usual() {
    let place = place();
    for command in [&["schema"][..], &["completions", "bash"], &["list", "--json"], &["--help"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = Command::new(env!("CARGO_BIN_EXE_narrows"))
            .current_dir(&place)
            .args(command)
            .stdout(writer)
            .output()
            .unwrap();
        assert_eq!((status(&output), text(&output.stderr)), (Some(0), String::new()), "{command:?}");
    }
}
