//! Steps that must pass before a change is taken.

use std::env;
use std::panic::resume_unwind;
use std::process::{Command, Stdio};
use std::slice;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use anyhow::{Context, Result};
use xshell::{Shell, cmd};

use crate::{
    attack, bpf, fidelity, guide, instructions, playground, python, readme, repro, structure, target,
    viewers, words,
};

/// All tests: of units, of properties, of scenarios, of documentation, of the Python package.
pub(crate) fn test(shell: &Shell) -> Result<()> {
    cmd!(shell, "cargo test --workspace --quiet").run()?;
    python::run(shell, &python::Arguments::default())
}

/// Work of one step.
type Step = (&'static str, fn(&Shell) -> Result<()>);

/// Steps that use all cores, one after the other.
const FIRST: [Step; 6] = [
    ("format and lints", lints),
    ("structure", |shell| structure::run(shell, &structure::Arguments::default())),
    ("words", words::run),
    ("tests", tests),
    ("controls for the kernel", bpf::checked),
    ("documentation", documentation),
];

/// Steps that mostly use one core, longest first: two at a time.
const REST: [Step; 9] = [
    ("guide", |shell| guide::run(shell, &guide::Arguments::default())),
    ("Python package", |shell| python::run(shell, &python::Arguments::default())),
    ("playground", playground::checked),
    ("instructions", |shell| instructions::run(shell, &instructions::Arguments::default())),
    ("fidelity", fidelity::quick),
    ("viewers", viewers::run),
    ("papers", repro::quick),
    ("attack", |shell| attack::run(shell, &attack::Arguments::short())),
    ("README", readme::run),
];

/// Each thing is built once, backtraces have no lines, and the command is not optimized across crates, which takes a minute and a half:
/// nothing here measures time. Benchmarks are built as ever (`instructions`).
const SETTINGS: [(&str, &str); 3] =
    [("CARGO_INCREMENTAL", "0"), ("CARGO_PROFILE_DEV_DEBUG", "0"), ("CARGO_PROFILE_RELEASE_LTO", "off")];

/// Everything, and how long it took.
pub(crate) fn all(shell: &Shell) -> Result<()> {
    // Steps often leave a core idle, or wait for the network.
    let mut ahead = Command::new("nice");
    ahead
        .args(["-n", "19"])
        .arg(env::current_exe()?)
        .arg("ahead")
        .envs(SETTINGS)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let ahead = ahead.spawn();
    in_turn(shell, &Mutex::new(FIRST.iter()))?;
    let (folder, rest) = (shell.current_dir(), Mutex::new(REST.iter()));
    std::thread::scope(|scope| {
        let both = [(); 2].map(|()| {
            scope.spawn(|| {
                let shell = Shell::new()?;
                shell.change_dir(&folder);
                in_turn(&shell, &rest)
            })
        });
        both.into_iter().try_for_each(|steps| steps.join().unwrap_or_else(|panic| resume_unwind(panic)))
    })?;
    if let Ok(mut ahead) = ahead {
        ahead.wait()?;
    }
    eprintln!("everything holds");
    Ok(())
}

/// Takes one step after the other until none is left, or one has failed.
fn in_turn(shell: &Shell, steps: &Mutex<slice::Iter<'_, Step>>) -> Result<()> {
    let _settings = SETTINGS.map(|(name, value)| shell.push_env(name, value));
    let left = || steps.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        let next = left().next();
        let Some((name, step)) = next else { return Ok(()) };
        let began = Instant::now();
        step(shell)
            .inspect_err(|_| *left() = slice::Iter::default())
            .with_context(|| format!("{name} failed"))?;
        eprintln!("passed: {name} in {} s", began.elapsed().as_secs());
    }
}

/// Fetches and builds what steps of [`all`] need, in the order in which they come.
///
/// # Errors
/// If something is missing, or cannot be built. The step that needs it says the same.
pub(crate) fn ahead(shell: &Shell) -> Result<()> {
    guide::environment(shell)?;
    let python = python::environment(shell)?;
    target::narrows(shell, &["--release"])?;
    playground::ahead(shell)?;
    for benchmark in instructions::BENCHMARKS {
        instructions::build(shell, benchmark)?;
    }
    python::build(shell, &python)?;
    Ok(())
}

fn lints(shell: &Shell) -> Result<()> {
    cmd!(shell, "cargo fmt --all --check").run()?;
    cmd!(shell, "cargo clippy --workspace --all-targets --quiet -- --deny warnings").run()?;
    Ok(())
}

/// Tests with real hosts may be skipped only where the machine does not allow for them.
fn tests(shell: &Shell) -> Result<()> {
    let narrows = target::tested(shell)?;
    let is_allowed = cmd!(shell, "{narrows} kernel check").quiet().ignore_stdout().run().is_ok();
    let _required = is_allowed.then(|| shell.push_env("NARROWS_REQUIRE_LIVE", "1"));
    if !is_allowed {
        eprintln!("skipped: tests with real hosts; narrows kernel check says what this machine lacks");
    }
    Ok(cmd!(shell, "cargo test --workspace --quiet").run()?)
}

fn documentation(shell: &Shell) -> Result<()> {
    let _denied = shell.push_env("RUSTDOCFLAGS", "--deny warnings");
    cmd!(shell, "cargo doc --workspace --no-deps --document-private-items --quiet").run()?;
    Ok(())
}
