//! `narrows live` on this machine. Skipped where it has no right to make hosts; `NARROWS_REQUIRE_LIVE=1` makes that a failure.

use std::collections::BTreeSet;
use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

use super::support::{command, holding, narrows, text};

const SCENARIO: &str = r#"
version = 2
name = "killed"
stop = { after = "60 s" }
topology.star = { hosts = 4, rate = "10 Mb/s", delay = "1 ms" }

[switches.default]
buffer = { size = "60 kB", sharing = "complete" }

[[traffic]]
name = "all"
pattern = { permutation = { size = "1 GB" } }
cc = { cubic = {} }
"#;

/// Longer than anything takes.
const PATIENCE: Duration = Duration::from_secs(60);

fn is_allowed(place: &tempfile::TempDir) -> bool {
    let check = narrows(place, &["kernel", "check"]);
    if check.status.success() {
        return true;
    }
    let missing = text(&check.stdout);
    assert!(std::env::var_os("NARROWS_REQUIRE_LIVE").is_none(), "{missing}");
    eprintln!("skipped: {missing}");
    false
}

/// Other network namespaces with a process of a live run in them, and TAP devices of the machine.
fn namespaces_and_devices() -> BTreeSet<String> {
    let processes = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    let ours = processes.filter(|process| {
        let name = fs::read_to_string(process.join("comm")).unwrap_or_default();
        ["narrows", "ip", "tc"].contains(&name.trim_end())
    });
    let here = fs::read_link("/proc/self/ns/net").unwrap();
    let namespaces = ours.filter_map(|process| fs::read_link(process.join("ns/net")).ok());
    let namespaces = namespaces.filter(|namespace| *namespace != here);
    let devices = fs::read_dir("/sys/class/net").unwrap().flatten().map(|entry| entry.path());
    let taps = devices.filter(|device| device.join("tun_flags").exists());
    namespaces.chain(taps).map(|path| path.display().to_string()).collect()
}

/// Asks again and again. The thread rests in between, since what is waited for needs a core, too.
fn wait_until(is_so: impl Fn() -> bool, what: &str) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < PATIENCE, "{what}");
        std::thread::park_timeout(Duration::from_millis(1));
    }
}

#[test]
fn nothing_is_left_of_twenty_runs_that_were_killed() {
    let place = holding(&[("killed.toml", SCENARIO)]);
    if !is_allowed(&place) {
        return;
    }
    let before = namespaces_and_devices();
    for run in 0..20 {
        let mut command = command(&place, &["live", "killed.toml", "--out", "out"]);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // From before the first host is made to when all of them send.
        let began = Instant::now();
        wait_until(|| began.elapsed() >= Duration::from_millis(25 * run), "time passes");
        child.kill().unwrap();
        assert!(child.wait().unwrap().code().is_none(), "it goes on for a minute");
        // Programs that it had started may live a little longer.
        wait_until(|| namespaces_and_devices().is_subset(&before), "a namespace is left");
        assert!(!place.path().join("out").exists(), "results of a run that was killed");
    }
    let again = narrows(&place, &["live", "killed.toml", "--set", "stop.after='50 ms'", "--out", "out"]);
    assert!(matches!(again.status.code(), Some(0 | 3)), "{}", text(&again.stderr));
}
