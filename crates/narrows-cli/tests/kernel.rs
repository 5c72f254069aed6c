//! Controls in the kernel of this machine, one test after the other: there is one kernel for all. Skipped where the machine has no right
//! to load some, with the reason; `NARROWS_REQUIRE_LIVE=1` makes that a failure.
#![cfg(target_os = "linux")]

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

const GEMINI: &str = r#"{ gemini = { capacity = "1 Gb/s", marking_threshold = "75 kB" } }"#;

/// The right to try it, if this machine gives it.
fn allowed() -> Option<MutexGuard<'static, ()>> {
    static ONE: Mutex<()> = Mutex::new(());
    let needed = |name: &str| matches!(name, "kernel types" | "CAP_BPF");
    if let Some(part) =
        narrows_live::parts().into_iter().find(|part| needed(part.name) && part.found.is_err())
    {
        let why = format!("{}: {}", part.name, part.found.expect_err("it is missing"));
        assert!(std::env::var_os("NARROWS_REQUIRE_LIVE").is_none(), "{why}");
        eprintln!("skipped: {why}");
        return None;
    }
    Some(ONE.lock().unwrap_or_else(PoisonError::into_inner))
}

fn narrows(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_narrows"));
    command.arg("kernel").args(arguments).stdin(Stdio::null());
    command
}

/// Output of a command that succeeds.
fn printed(arguments: &[&str]) -> String {
    let Output { status, stdout, stderr } = narrows(arguments).output().expect("it starts");
    assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
    String::from_utf8_lossy(&stdout).into_owned()
}

/// Message of a command that is refused.
fn refused(arguments: &[&str]) -> String {
    let Output { status, stderr, .. } = narrows(arguments).output().expect("it starts");
    assert_eq!(status.code(), Some(2));
    String::from_utf8_lossy(&stderr).into_owned()
}

/// A command that keeps controls in the kernel.
fn keeper(controls: &[&str]) -> Child {
    let mut child = narrows(&["load"]).args(controls).stdout(Stdio::piped()).spawn().expect("it starts");
    let mut lines = BufReader::new(child.stdout.as_mut().expect("it has one")).lines();
    for _ in controls {
        let line = lines.next().expect("a line for each").expect("text");
        assert!(line.ends_with("is loaded until this command ends"), "{line}");
    }
    child
}

fn is_there(name: &str) -> bool {
    narrows_live::available_controls().iter().any(|there| there == name)
}

/// The kernel takes it out behind the back of whoever ends.
fn goes(name: &str) -> bool {
    let began = Instant::now();
    while is_there(name) && began.elapsed() < Duration::from_secs(10) {
        std::thread::yield_now();
    }
    !is_there(name)
}

#[test]
fn controls_go_with_the_command_even_if_it_is_killed() {
    let Some(_one) = allowed() else { return };
    for _ in 0..20 {
        let mut child = keeper(&[GEMINI, "dctcp"]);
        assert!(is_there("narrows_gemini") && is_there("narrows_dctcp"));
        assert!(printed(&["list"]).contains("narrows_gemini"));
        child.kill().expect("it is ours");
        child.wait().expect("it ends");
        assert!(goes("narrows_gemini") && goes("narrows_dctcp"));
    }
}

#[test]
fn who_comes_second_loads_nothing() {
    let Some(_one) = allowed() else { return };
    let mut child = keeper(&["dctcp"]);
    let said = refused(&["load", "dctcp"]);
    assert!(said.contains(&format!("process {} has loaded some already", child.id())), "{said}");
    child.kill().expect("it is ours");
    child.wait().expect("it ends");
    assert!(goes("narrows_dctcp"));
}

#[test]
fn a_pinned_control_stays_until_it_is_unloaded() {
    let Some(_one) = allowed() else { return };
    printed(&["load", "--pin", "dctcp"]);
    assert!(is_there("narrows_dctcp"));
    assert!(printed(&["list"]).contains("pinned"));
    assert!(refused(&["load", "dctcp"]).contains("has a control of the name narrows_dctcp already"));
    assert_eq!(printed(&["unload", "dctcp"]), "narrows_dctcp is unloaded\n");
    assert!(goes("narrows_dctcp"));
    assert!(refused(&["unload", "dctcp"]).contains("narrows_dctcp is not pinned"));
}

#[test]
fn what_no_control_is_is_refused_before_anything_is_loaded() {
    let Some(_one) = allowed() else { return };
    for (text, said) in [
        ("swift", "there is none but gemini and dctcp for the kernel"),
        ("gemnii", "unknown variant `gemnii`"),
        ("gemini", "it needs its capacity"),
        ("{ dctcp = { gain = 2.0 } }", "gain"),
        ("{ dctcp = { gian = 2.0 } }", "unknown field `gian`"),
        ("{ dctcp", "dctcp"),
    ] {
        let found = refused(&["load", "dctcp", text]);
        assert!(found.contains(said), "{text}: {found}");
        assert!(!is_there("narrows_dctcp"));
    }
}
