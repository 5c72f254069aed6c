//! Results are self-contained: what a command has written can be run and traced again wherever it is.

use std::path::Path;

use narrows::templates::TEMPLATES;
use tempfile::TempDir;

use super::{content, narrows, status, text};

/// Long enough for some flows of every built-in scenario.
const SHORT: [&str; 8] = [
    "--set",
    "stop={ after = \"3 ms\", drain = \"2 ms\" }",
    "--set",
    "measure={}",
    "--set",
    "expect=[]",
    "--set",
    "failures=[]",
];

/// Names two files that are called the same, in folders that are not there when it is run again.
const WITH_FILES: &str = r#"
version = 1
name = "with-files"
stop = { after = "3 ms", drain = "2 ms" }
topology.star = { hosts = 4, rate = "10 Gb/s", delay = "1 us" }

[[traffic]]
name = "trace"
pattern = { trace = { file = "files/a.csv" } }
cc = { cubic = {} }

[[traffic]]
name = "sizes"
pattern = { poisson = { load = 0.3, of = "host_links", sizes = { file = "files/more/a.csv" } } }
cc = { dctcp = {} }
"#;

/// A folder with every built-in scenario, and one that names files.
fn scenarios() -> (TempDir, Vec<String>) {
    let place = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(place.path().join(name), text).unwrap();
    std::fs::create_dir_all(place.path().join("files/more")).unwrap();
    write("files/a.csv", "start,src,dst,bytes\n10 us,host0,host1,20 kB\n20 us,host2,host1,50 kB\n");
    write("files/more/a.csv", "1000 0.5\n9000 1\n");
    write("with-files.toml", WITH_FILES);
    let mut names = vec!["with-files".to_owned()];
    for template in TEMPLATES {
        write(&format!("{}.toml", template.name), template.text);
        names.push(template.name.to_owned());
    }
    (place, names)
}

/// Runs a command that must do what it is told.
fn done(place: &TempDir, arguments: &[&str]) {
    let output = narrows(place, arguments);
    assert_eq!(status(&output), Some(0), "{arguments:?}: {}", text(&output.stderr));
}

/// Moves all results, and what they were made from out of the way.
fn move_away(place: &TempDir) {
    std::fs::rename(place.path().join("out"), place.path().join("moved")).unwrap();
    std::fs::remove_dir_all(place.path().join("files")).unwrap();
}

/// Runs and traces again what is in a folder. All files come out as they are there, but those that `differ`.
fn again(place: &TempDir, folder: &str, differ: &[&str]) {
    let again = format!("again/{folder}");
    done(place, &["run", &format!("{folder}/scenario.toml"), "--out", &again, "--quiet"]);
    let written = content(&place.path().join(&again));
    for (name, bytes) in content(&place.path().join(folder)) {
        if !differ.iter().any(|other| name == Path::new(other)) {
            assert!(written.contains(&(name.clone(), bytes)), "{folder}/{} differs", name.display());
        }
    }
    done(place, &["trace", folder, "--pcapng", "--out", &format!("{again}.pcapng"), "--quiet"]);
}

#[test]
fn what_run_wrote_can_be_run_and_traced_again_anywhere() {
    let (place, names) = scenarios();
    for name in &names {
        done(&place, &[&["run", &format!("{name}.toml"), "--quiet"], &SHORT[..]].concat());
    }
    done(&place, &["run", "with-files.toml", "--seeds", "2", "--out", "out/seeds", "--quiet"]);
    move_away(&place);
    for name in &names {
        again(&place, &format!("moved/{name}"), &[]);
    }
    for seed in ["seed-1", "seed-2"] {
        again(&place, &format!("moved/seeds/{seed}"), &[]);
    }
}

#[test]
fn what_compare_wrote_can_be_run_and_traced_again_anywhere() {
    let (place, names) = scenarios();
    for name in &names {
        let (file, out) = (format!("{name}.toml"), format!("out/{name}"));
        // Not every seed has a flow in so short a time.
        let seeds = if name == "with-files" { "2" } else { "1" };
        let variant = "other:transport.ack_every=1";
        let command = ["compare", &file, "--variant", variant, "--seeds", seeds, "--out", &out, "--quiet"];
        done(&place, &[&command[..], &SHORT].concat());
    }
    move_away(&place);
    for name in &names {
        again(&place, &format!("moved/{name}/other/seed-1"), &[]);
    }
    again(&place, "moved/with-files/with-files/seed-2", &[]);
}

#[test]
fn what_sweep_wrote_can_be_run_and_traced_again_anywhere() {
    let (place, names) = scenarios();
    for name in &names {
        // Two cells share what the sweep keeps of files.
        let values = if name == "with-files" { "1, 2" } else { "1" };
        let text = format!(
            "name = \"{name}\"\nscenario = \"{name}.toml\"\n[grid]\n\"transport.ack_every\" = [{values}]\n"
        );
        std::fs::write(place.path().join(format!("sweep-{name}.toml")), text).unwrap();
        done(&place, &[&["sweep", &format!("sweep-{name}.toml"), "--quiet"], &SHORT[..]].concat());
    }
    move_away(&place);
    for name in &names {
        let cells = place.path().join("moved").join(name).join("cells");
        for cell in std::fs::read_dir(cells).unwrap() {
            let id = cell.unwrap().file_name().to_string_lossy().into_owned();
            // The scenario of a cell names the files of the sweep, that of a run its own.
            again(&place, &format!("moved/{name}/cells/{id}"), &["cell.json", "scenario.toml"]);
        }
    }
    assert_eq!(content(&place.path().join("moved/with-files/inputs")).len(), 2);
}
