//! Programs in C and C++ against the library that was built.
#![allow(clippy::unwrap_used, reason = "all of it is tests")]

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use narrows::document::Document;
use narrows::plan::Plan;
use narrows::run::{Options, run};

/// Ranks on one switch, without losses and without queues: hosts at 100 Gb/s, 1 µs from host to host. Few acknowledgments, which share the
/// links with the messages of the next rank.
fn scenario(hosts: u32, pattern: &str) -> String {
    format!(
        r#"
        version = 2
        name = "ring"
        hosts = "ideal"
        stop = {{ after = "10 s" }}
        topology.star = {{ hosts = {hosts}, rate = "100 Gb/s", delay = "500 ns" }}
        switches.default.buffer.size = "64 MB"
        [[traffic]]
        name = "ranks"
        pattern = {{ {pattern} }}
        rdma = {{ ack_every = 64 }}
        cc = {{ dcqcn = {{}} }}
        "#
    )
}

/// A folder with the library under the name that programs link with.
fn library() -> PathBuf {
    let built = std::env::current_exe().unwrap().parent().unwrap().join("libnarrows_c.so");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("lib");
    std::fs::create_dir_all(&folder).unwrap();
    let link = folder.join("libnarrows.so");
    let partial = folder.join(format!("libnarrows.so.{:?}", std::thread::current().id()));
    std::os::unix::fs::symlink(built, &partial).unwrap();
    std::fs::rename(partial, link).unwrap();
    folder
}

/// Compiles a program. None without a compiler, with a remark.
fn compile(compiler: &str, source: &str, options: &[&str]) -> Option<PathBuf> {
    let (root, library) = (Path::new(env!("CARGO_MANIFEST_DIR")), library());
    // Tests run side by side, and what runs cannot be written.
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let name = format!("{}-{number}", Path::new(source).file_stem()?.display());
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let mut command = Command::new(compiler);
    command.args(["-O1", "-g", "-Wall", "-Wextra", "-Werror"]).args(options);
    command.arg("-I").arg(root.join("include")).arg(root.join(source)).arg("-o").arg(&program);
    command.arg("-L").arg(&library).arg("-lnarrows").arg(format!("-Wl,-rpath,{}", library.display()));
    match command.output() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            eprintln!("skipped: there is no {compiler}");
            None
        }
        output => {
            let output = output.unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            Some(program)
        }
    }
}

/// Output of a program, which succeeds.
fn printed(command: &mut Command) -> String {
    // cargo's would come before the place that the program was linked with.
    let output = command.env_remove("LD_LIBRARY_PATH").output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?}: {}\n{out}{err}", output.status);
    out.into_owned()
}

/// Runs a ring of so many ranks. Returns when it was over, in picoseconds.
fn ring(program: &Path, runner: &[&str], ranks: u32, bytes: u64, more: &[&str]) -> u64 {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("ring.toml");
    std::fs::write(&path, scenario(ranks, "attached = {}")).unwrap();
    let mut command = match runner {
        [] => Command::new(program),
        [runner, options @ ..] => {
            let mut command = Command::new(runner);
            command.args(options).arg(program);
            command
        }
    };
    let text = printed(command.arg(&path).args(["ranks", &ranks.to_string(), &bytes.to_string()]).args(more));
    let time = text.split_whitespace().find_map(|part| part.strip_prefix("time_ps="));
    time.and_then(|time| time.parse().ok()).unwrap_or_else(|| panic!("no time in {text}"))
}

/// The same as a pattern of the scenario.
fn native(ranks: u32, bytes: u64) -> u64 {
    let pattern = format!("collective = {{ kind = \"ring_all_reduce\", size = \"{bytes} B\" }}");
    let document = Document::parse("ring.toml", scenario(ranks, &pattern), "").unwrap();
    let plan = Plan::new(document).unwrap_or_else(|error| panic!("{error}"));
    let results = run(&Arc::new(plan), Options::default(), |_| ControlFlow::Continue(())).unwrap();
    (results.collectives[0].end.unwrap() - results.collectives[0].start).as_ps()
}

/// 2(n − 1)(a + 8S/(nB)) with headers. To a belongs that the last packet, or the full one that it follows, crosses the second link after
/// the first.
fn formula(ranks: u32, bytes: u64) -> f64 {
    let params = narrows_proto::rdma::Params::default();
    let (payload, around) = (params.mtu.get(), (params.headers + params.framing).get());
    let part = bytes.div_ceil(ranks.into());
    let packets = part.div_ceil(payload);
    let last = part - (packets - 1) * payload + around;
    let ps = |bytes: u64| bytes as f64 * 8.0 / 100e9 * 1e12;
    let latency = 2.0 * 500e3 + ps(if packets > 1 { payload + around } else { last });
    2.0 * f64::from(ranks - 1) * (latency + ps(part + packets * around))
}

fn check_ring(program: &Path, ranks: u32, bytes: u64) {
    let time = ring(program, &[], ranks, bytes, &[]);
    let (native, formula) = (native(ranks, bytes), formula(ranks, bytes));
    for (other, what) in [(native as f64, "native"), (formula, "formula")] {
        // The program ends with the last acknowledgment, the others with the last message.
        let ratio = time as f64 / other;
        assert!((0.99..1.01).contains(&ratio), "{ranks} ranks: {time} ps, {what} {other} ps: {ratio}");
    }
}

#[test]
fn a_ring_of_64_ranks_takes_the_ideal_time_and_that_of_the_native_collective() {
    let Some(program) = compile("g++", "examples/ring_all_reduce.cpp", &["-std=c++11"]) else { return };
    check_ring(&program, 64, 64_000_000);
    // Whoever hears of arrivals with the last acknowledgment is later.
    let [byte, ack] = [&[][..], &["ack"]].map(|more| ring(&program, &[], 64, 640_000, more));
    assert!(ack > byte, "{ack} {byte}");
}

#[test]
fn the_same_from_c_without_the_adapter() {
    let Some(program) = compile("gcc", "examples/ring.c", &["-std=c99", "-Wpedantic"]) else { return };
    check_ring(&program, 64, 6_400_000);
}

#[test]
fn a_ring_of_1024_ranks_does_too() {
    let Some(program) = compile("g++", "examples/ring_all_reduce.cpp", &["-std=c++11"]) else { return };
    check_ring(&program, 1024, 1_024_000);
}

#[test]
fn every_misuse_is_an_error_code() {
    let Some(program) = compile("gcc", "tests/misuse.c", &["-std=c11", "-pthread"]) else { return };
    assert_eq!(printed(&mut Command::new(program)), "");
}

#[test]
fn address_sanitizer_finds_nothing() {
    let options = ["-fsanitize=address,undefined", "-fno-omit-frame-pointer"];
    let Some(misuse) = compile("gcc", "tests/misuse.c", &[&options[..], &["-std=c11", "-pthread"]].concat())
    else {
        return;
    };
    assert_eq!(printed(&mut Command::new(misuse)), "");
    let Some(program) = compile("g++", "examples/ring_all_reduce.cpp", &options) else { return };
    ring(&program, &[], 64, 640_000, &[]);
}

#[test]
fn valgrind_finds_nothing() {
    if Command::new("valgrind").arg("--version").output().is_err() {
        return eprintln!("skipped: there is no valgrind");
    }
    let Some(program) = compile("g++", "examples/ring_all_reduce.cpp", &["-std=c++11"]) else { return };
    let runner =
        ["valgrind", "--error-exitcode=9", "--leak-check=full", "--errors-for-leak-kinds=definite", "-q"];
    ring(&program, &runner, 64, 64_000, &[]);
}
