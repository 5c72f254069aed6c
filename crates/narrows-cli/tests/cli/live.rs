//! `narrows live` on this machine. Skipped where it has no right to make hosts; `NARROWS_REQUIRE_LIVE=1` makes that a failure.

use std::collections::BTreeSet;
use std::fs;
use std::process::{Command, Output, Stdio};
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

pub(crate) fn is_allowed(place: &tempfile::TempDir) -> bool {
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

/// Processes of this machine whose command is this.
fn processes(command: &str) -> usize {
    let wanted = command.replace(' ', "\0") + "\0";
    let processes = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path().join("cmdline"));
    processes.filter(|file| fs::read_to_string(file).is_ok_and(|found| found == wanted)).count()
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
        let program = ["--run", "host1: sleep 1234567"];
        let mut command = command(&place, &[&["live", "killed.toml", "--out", "out"][..], &program].concat());
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // From before the first host is made to when all of them send.
        let began = Instant::now();
        wait_until(|| began.elapsed() >= Duration::from_millis(60 * run), "time passes");
        child.kill().unwrap();
        assert!(child.wait().unwrap().code().is_none(), "it goes on for a minute");
        // Programs that it had started may live a little longer.
        wait_until(|| namespaces_and_devices().is_subset(&before), "a namespace is left");
        wait_until(|| processes("sleep 1234567") == 0, "a program is left");
        assert!(!place.path().join("out").exists(), "results of a run that was killed");
    }
    let again = narrows(&place, &["live", "killed.toml", "--set", "stop.after='50 ms'", "--out", "out"]);
    assert!(matches!(again.status.code(), Some(0 | 3)), "{}", text(&again.stderr));
}

#[test]
fn programs_know_hosts_by_their_names_and_end_with_the_run() {
    let place = holding(&[("killed.toml", SCENARIO)]);
    if !is_allowed(&place) {
        return;
    }
    let shows =
        "host1: cat /etc/hosts; ls -d /proc/[0-9]*; ip -o link; ip route get 192.0.2.1; sleep 7654321";
    let arguments =
        ["live", "killed.toml", "--set", "stop.after='300 ms'", "--run", shows, "--run", "host2: false"];
    let run = narrows(&place, &[&arguments[..], &["--out", "out"]].concat());
    assert!(matches!(run.status.code(), Some(0 | 3)), "{}", text(&run.stderr));
    let printed = text(&run.stdout);
    assert!(printed.contains("ended with the run · out/programs/1-host1.txt"), "{printed}");
    assert!(printed.contains("host2: false · exit status: 1"), "{printed}");
    assert_eq!(processes("sleep 7654321"), 0);
    let shown = fs::read_to_string(place.path().join("out/programs/1-host1.txt")).unwrap();
    assert!(shown.contains("10.77.0.3 host2"), "{shown}");
    // It sees its own processes, two devices, and no way out.
    assert!(shown.contains("/proc/1\n") && shown.matches("/proc/").count() <= 3, "{shown}");
    assert!(shown.contains("2: eth0") && !shown.contains("3: "), "{shown}");
    assert!(shown.contains("unreachable"), "{shown}");
    let run: serde_json::Value =
        serde_json::from_slice(&fs::read(place.path().join("out/run.json")).unwrap()).unwrap();
    assert_eq!(run["real_hosts"]["programs"][1]["end"], "exit status: 1");
    // A folder with what programs have printed is one of ours.
    let again = narrows(
        &place,
        &["live", "killed.toml", "--set", "stop.after='50 ms'", "--out", "out", "--overwrite"],
    );
    assert!(matches!(again.status.code(), Some(0 | 3)), "{}", text(&again.stderr));
}

#[test]
fn programs_that_cannot_run_are_refused_before_anything_is_created() {
    let place = holding(&[("killed.toml", SCENARIO)]);
    if !is_allowed(&place) {
        return;
    }
    for (program, said) in [
        ("hots1: true", "the network has no host \"hots1\""),
        ("hots1: true", "did you mean \"host1\"?"),
        ("host1: no-such-program -x", "there is no program \"no-such-program\" on this machine"),
        ("host1:", "a host and a command are wanted"),
    ] {
        let run = narrows(&place, &["live", "killed.toml", "--run", program, "--out", "out"]);
        assert_eq!(run.status.code(), Some(2), "{program}");
        assert!(text(&run.stderr).contains(said), "{program}: {}", text(&run.stderr));
        assert!(!place.path().join("out").exists());
    }
    let shell = narrows(&place, &["live", "killed.toml", "--shell", "host1", "--out", "out"]);
    assert!(text(&shell.stderr).contains("--shell needs a terminal"), "{}", text(&shell.stderr));
}

/// The command as the user nobody, with `/dev/net/tun` open to everybody in a view of the file systems of its own; none where root may not
/// make such a view.
fn as_nobody(place: &tempfile::TempDir, arguments: &str) -> Option<Output> {
    let path = place.path();
    let view =
        "mknod -m 666 tun c 10 200 && mount --bind tun /dev/net/tun && : < tun && rm -f tun || exit 77";
    let user = "exec setpriv --reuid 65534 --regid 65534 --clear-groups";
    let script = format!("{view}; {user} {} {arguments}", env!("CARGO_BIN_EXE_narrows"));
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", &script]).current_dir(path);
    std::os::unix::fs::chown(path, Some(65534), Some(65534)).ok()?;
    let output = command.output().ok()?;
    let cannot = [Some(77), Some(126), Some(127)].contains(&output.status.code());
    if cannot {
        eprintln!("skipped: {}", text(&output.stderr));
    }
    (!cannot).then_some(output)
}

#[test]
fn an_ordinary_user_has_real_hosts_in_a_user_namespace_with_controls_of_the_kernel_alone() {
    let place = holding(&[("killed.toml", SCENARIO)]);
    if !is_allowed(&place) {
        return;
    }
    let Some(check) = as_nobody(&place, "kernel check") else { return };
    let said = text(&check.stdout);
    if !check.status.success() {
        // Some machines have no user namespaces for everybody.
        assert!(said.contains("missing"), "{said}");
        return eprintln!("skipped: {said}");
    }
    assert!(said.contains("those of root in a user namespace"), "{said}");
    assert!(said.contains("no right to load controls"), "{said}");
    let live = |more| as_nobody(&place, &format!("live killed.toml --out out --overwrite {more}")).unwrap();
    let run = live("--set stop.after=\"'300 ms'\" --segments 4 --run 'host1: cat /proc/self/uid_map'");
    assert!(matches!(run.status.code(), Some(0 | 3)), "{}{}", text(&run.stdout), text(&run.stderr));
    let run: serde_json::Value =
        serde_json::from_slice(&fs::read(place.path().join("out/run.json")).unwrap()).unwrap();
    assert!(run["real_hosts"]["deliveries"].as_u64() > Some(50), "{run}");
    let refused = live("--set traffic.all.cc='{ gemini = { capacity = \"10 Mb/s\" } }'");
    assert_eq!(refused.status.code(), Some(2), "{}", text(&refused.stdout));
}

#[test]
fn a_control_that_the_kernel_lacks_is_met_with_the_nearest_that_it_has() {
    let place = holding(&[("killed.toml", SCENARIO)]);
    if !is_allowed(&place) {
        return;
    }
    let live = |control| {
        let control = format!("traffic.all.cc={{ kernel = \"{control}\" }}");
        narrows(
            &place,
            &["live", "killed.toml", "--set", "stop.after='50 ms'", "--out", "out", "--set", &control],
        )
    };
    let refused = live("cubik");
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("did you mean \"cubic\"?"), "{}", text(&refused.stderr));
    assert!(matches!(live("reno").status.code(), Some(0 | 3)));
}

#[test]
fn rates_beyond_the_machine_are_refused_with_a_scale_that_is_not() {
    let place = holding(&[("killed.toml", SCENARIO)]);
    if !is_allowed(&place) {
        return;
    }
    let fast = ["--set", "topology.star.rate='100 Gb/s'", "--set", "stop.after='1 s'", "--out", "out"];
    let refused = narrows(&place, &[&["live", "killed.toml"][..], &fast].concat());
    assert_eq!(refused.status.code(), Some(2));
    let said = text(&refused.stderr);
    assert!(said.contains("too slow for that in real time") && said.contains("--scale "), "{said}");
    assert!(!place.path().join("out").exists());
}

#[test]
fn flows_wait_for_others_and_clients_go_on_as_in_virtual_time() {
    let rounds = SCENARIO.replace(
        "permutation = { size = \"1 GB\" }",
        "closed_loop = { clients = 4, sizes = { constant = \"10 kB\" }, think = { constant = \"5 ms\" } }",
    );
    let place = holding(&[("rounds.toml", &rounds)]);
    if !is_allowed(&place) {
        return;
    }
    let run =
        narrows(&place, &["live", "rounds.toml", "--set", "stop.after='500 ms'", "--json", "--out", "out"]);
    assert!(matches!(run.status.code(), Some(0 | 3)), "{}", text(&run.stderr));
    let run: serde_json::Value = serde_json::from_slice(&run.stdout).unwrap();
    let flows = run["runs"][0]["metrics"]["all.flows"].as_f64().unwrap_or_default();
    // Each transfer takes 10 ms or so at 10 Mb/s, a handshake and a pause included some 20 ms; in half a second four clients make 100.
    assert!((20.0..400.0).contains(&flows), "{run}");
}
