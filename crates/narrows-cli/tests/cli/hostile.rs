//! Hostile input to the command, and input that a slip of a path leads to.

use std::fmt::Write;
use std::process::Command;

use tempfile::TempDir;

use crate::support::{holding, narrows, text};

const SCENARIO: &str = r#"
version = 1
name = "small"
stop = { after = "1 ms" }
topology.star = { hosts = 4, rate = "10 Gb/s", delay = "1 us" }
switches.default = { buffer = { size = "1 MB", sharing = "complete" } }

[[traffic]]
name = "all"
pattern = { all_to_all = { size = "20 kB" } }
cc = { cubic = {} }
"#;

fn place() -> TempDir {
    holding(&[("small.toml", SCENARIO)])
}

/// Text on standard error when the scenario after this override is refused.
fn refused(place: &TempDir, assignment: &str) -> String {
    let output = narrows(place, &["check", "small.toml", "--set", assignment]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stdout));
    text(&output.stderr)
}

/// Nothing in it is obeyed by a terminal.
fn is_tame(bytes: &[u8]) -> bool {
    text(bytes).chars().all(|character| !character.is_control() || character == '\n')
}

#[cfg(unix)]
#[test]
fn devices_and_pipes_are_refused_as_traces_sizes_and_scenarios() {
    let place = place();
    assert!(Command::new("mkfifo").arg(place.path().join("pipe")).status().unwrap().success());
    for file in ["/dev/zero", "pipe"] {
        for (key, pattern) in [
            ("trace", format!("{{ trace = {{ file = '{file}' }} }}")),
            (
                "sizes",
                format!("{{ random = {{ flows = 1, within = '1 us', sizes = {{ file = '{file}' }} }} }}"),
            ),
        ] {
            let said = refused(&place, &format!("traffic.all.pattern={pattern}"));
            assert!(said.contains("not a regular file"), "{key} {file}: {said}");
        }
        let output = narrows(&place, &["run", file]);
        assert_eq!(output.status.code(), Some(2));
        assert!(text(&output.stderr).contains("not a regular file"), "{}", text(&output.stderr));
    }
}

#[test]
fn a_text_that_is_not_utf_8_is_refused_with_its_place() {
    let place = place();
    std::fs::write(place.path().join("latin.toml"), b"version = 1\nname = \"caf\xe9\"\n").unwrap();
    let output = narrows(&place, &["check", "latin.toml"]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    assert!(said.contains("latin.toml:2:12") && said.contains("byte 23 is 0xe9"), "{said}");
}

#[test]
fn what_is_nested_too_deep_is_refused_with_its_place() {
    let place = place();
    let deep = [
        ("arrays", format!("a = 1\nb = {}1{}", "[".repeat(200), "]".repeat(200))),
        ("keys", format!("a = 1\n{}b = 1", "b.".repeat(200))),
    ];
    for (name, content) in deep {
        std::fs::write(place.path().join("deep.toml"), content).unwrap();
        let output = narrows(&place, &["check", "deep.toml"]);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2));
        assert!(said.contains("deep.toml:2:"), "{name}: {said}");
    }
}

#[test]
fn names_do_not_reach_the_terminal_as_escape_sequences() {
    let place = place();
    let escape = "\x1b]0;owned\x07";
    let mut hostile = SCENARIO.to_owned();
    writeln!(hostile, "\"un\\u001b[31mknown\\n\" = 1 # {escape}").unwrap();
    std::fs::write(place.path().join("hostile.toml"), hostile).unwrap();
    std::fs::write(place.path().join("a\x1b[2Jb.toml"), SCENARIO).unwrap();
    for (arguments, code) in [
        (vec!["check", "hostile.toml"], 2),
        (vec!["check", "a\x1b[2Jb.toml"], 0),
        (vec!["check", "no\x1b[2J\nsuch.toml"], 2),
        (vec!["check", "small.toml", "--set", "name='\x1b[2J'"], 2),
        (vec!["check", "small.toml", "--set", "traffic.all.cc='\x07'"], 2),
        (vec!["compare", "small.toml", "a\x1b[2Jb.toml", "--quiet", "--out", "o\x07"], 0),
    ] {
        let output = narrows(&place, &arguments);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", text(&output.stderr));
        assert!(is_tame(&output.stdout) && is_tame(&output.stderr), "{arguments:?}: {output:?}");
    }
}

#[test]
fn nodes_cannot_have_control_characters_in_their_names() {
    let explicit = r#"topology={ explicit = {
        hosts = ["a\u001b[2J", "b"], switches = [{ name = "s" }],
        links = [
            { between = ["a\u001b[2J", "s"], rate = "1 Gb/s", delay = "1 us" },
            { between = ["b", "s"], rate = "1 Gb/s", delay = "1 us" },
        ] } }"#;
    assert!(refused(&place(), explicit).contains("the node name \"a␛[2J\" has control characters"));
}

#[test]
fn a_bar_in_the_name_of_a_variant_does_not_end_a_cell_of_a_markdown_table() {
    let arguments = ["compare", "small.toml", "--variant", "a|b:seed=1", "--markdown", "--quiet"];
    let output = narrows(&place(), &arguments);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let said = text(&output.stdout);
    assert!(said.contains("a\\|b"), "{said}");
    let bars = |line: &str| line.replace("\\|", "").matches('|').count();
    let table: Vec<_> = said.lines().filter(|line| line.starts_with('|')).map(bars).collect();
    assert!(table.len() > 3 && table.iter().all(|bars| *bars == table[0]), "{said}");
}

#[test]
fn timers_so_short_that_a_run_would_do_nothing_else_are_refused() {
    let place = place();
    for (key, setting) in [
        ("min_rto", "traffic.all.transport={ min_rto = '1 ps' }"),
        ("initial_rto", "traffic.all.transport={ initial_rto = '1 ps' }"),
        ("rto", "traffic.all.rdma={ rto = '1 ps' }"),
        ("max_rto", "traffic.all.transport={ max_rto = '1 ps' }"),
    ] {
        let said = refused(&place, setting);
        assert!(said.starts_with("N0006") && said.contains(&format!("{key} = 1 ps")), "{setting}: {said}");
    }
    let dcqcn = "traffic=[{ name = 'all', pattern = { all_to_all = { size = '20 kB' } }, rdma = {}, cc = { dcqcn = { timer = '1 ps' } } }]";
    assert!(refused(&place, dcqcn).contains("timer = 1 ps, expected at least 100 ns"));
}

#[test]
fn runs_with_the_shortest_spans_that_are_accepted_end() {
    let place = place();
    for settings in [
        vec![
            "transport={ min_rto = '100 ns', initial_rto = '100 ns', max_rto = '100 ns', ack_delay = '1 ps' }",
        ],
        vec!["transport={ min_rto = '100 ns', initial_rto = '100 ns' }", "topology.star.delay='10 us'"],
        vec!["topology.star.delay='0 s'"],
        vec!["topology.star.delay='1 ps'"],
        vec!["traffic.all.rdma={ rto = '100 ns', cnp_interval = '0 s' }", "traffic.all.cc={ dcqcn = {} }"],
        vec![
            "traffic.all.pattern={ closed_loop = { clients = 1, sizes = { constant = '1 B' }, think = { constant = '0 s' } } }",
            "stop.after='100 us'",
        ],
        vec!["switches.default.pause={ xoff = '10 kB', quanta = 1 }"],
    ] {
        let mut arguments = vec!["run", "small.toml", "--quiet", "--out", "out", "--overwrite"];
        settings.iter().for_each(|setting| arguments.extend(["--set", setting]));
        let output = narrows(&place, &arguments);
        assert_eq!(output.status.code(), Some(0), "{settings:?}: {}", text(&output.stderr));
    }
}

#[test]
fn more_threads_than_cores_are_warned_of_and_give_the_same() {
    let place = place();
    let run = |threads: &str, out: &str| {
        let output = narrows(&place, &["run", "small.toml", "--quiet", "--threads", threads, "--out", out]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        (text(&output.stderr), std::fs::read(place.path().join(out).join("flows.parquet")).unwrap())
    };
    let (one, many) = (run("1", "one"), run("1024", "many"));
    assert!(!one.0.contains("N0156") && many.0.contains("N0156"), "{}", many.0);
    assert!(one.1 == many.1);
}

#[test]
fn checking_a_long_run_says_what_is_to_be_expected() {
    let place = place();
    let pattern =
        "traffic.all.pattern={ poisson = { load = 0.5, of = 'host_links', sizes = { constant = '10 kB' } } }";
    let output = narrows(&place, &["check", "small.toml", "--set", pattern, "--set", "stop.after='100 s'"]);
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(said.contains("about 23"), "{said}");
}
