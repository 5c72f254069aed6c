//! Chores of this workspace. `cargo xtask --help` lists them.

mod agreement;
mod attack;
mod bench;
mod bpf;
mod capi;
mod ci;
mod console;
mod dist;
mod environment;
mod fidelity;
mod figures;
mod fuzz;
mod guide;
mod installed;
mod instructions;
mod judged;
mod loom;
mod ns3;
mod playground;
mod python;
mod readme;
mod repro;
mod scoreboard;
mod structure;
mod target;
mod twins;
mod viewers;
mod weaknesses;
mod which;
mod words;

use anyhow::Result;
use clap::Parser;
use xshell::Shell;

/// Chores of the Narrows workspace.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", max_term_width = 100)]
enum Task {
    /// Run all tests, those of the Python package included; needs Python 3.11
    Test,
    /// Build the Python package into an environment of its own and run its tests and notebooks
    Python(python::Arguments),
    /// Run everything that must hold before a change is taken
    Ci,
    /// Build what the later steps of ci need, while earlier ones run
    #[command(hide = true)]
    Ahead,
    /// Build static programs and wheels, with checksums and an SBOM, into dist; nothing is published
    Dist(dist::Arguments),
    /// Measure the engine's speed and memory
    Bench(bench::Arguments),
    /// Count the instructions of the packet path and of congestion controls and compare them with the stored counts
    Instructions(instructions::Arguments),
    /// Feed random input to the parsers
    Fuzz(fuzz::Arguments),
    /// Attack the command: kills, full disks, random combinations of mechanisms, hostile input
    Attack(attack::Arguments),
    /// Find circles of imports, long files and long functions, and compare them with the stored numbers
    Structure(structure::Arguments),
    /// Hold all texts to the words of docs/terms.md
    Words,
    /// Try all orders in which the engine's threads can meet
    Loom,
    /// Repeat papers in full and write docs/reproductions/PAPER.md; or judge again what was measured
    Repro(repro::Arguments),
    /// Compare Narrows with theory and measurements in full and write docs/fidelity.md
    Fidelity,
    /// Search for weaknesses of all controls and write docs/weaknesses.md with its scenarios; resumes when restarted
    Break(weaknesses::Arguments),
    /// Compare eleven congestion controls in ten places and write docs/guide/which-control.md; resumes when restarted
    Which(which::Arguments),
    /// Run the commands of README.md and compare what they print
    Readme,
    /// Write the scoreboard of papers in README.md from what docs/reproductions holds
    Scoreboard,
    /// Build the guide into target/guide/html; needs Python 3.11
    Guide(guide::Arguments),
    /// Build the page that runs scenarios by itself into target/playground; needs node 20.10
    Playground(playground::Arguments),
    /// Run the scenarios of docs/twins in virtual time and with real hosts and write docs/twins.md; needs an idle machine
    Twins(twins::Arguments),
    /// Run scenarios in Narrows and in ns-3 and write docs/ns-3.md; needs ns-3 and g++
    Ns3(ns3::Arguments),
    /// Compile the programs of narrows-bpf for the kernel; needs clang and llvm
    Bpf,
    /// Build the C library and put it with its headers into target/capi
    Capi(capi::Arguments),
    /// Open traces in Wireshark and reports in Chromium and compare what they find
    Viewers,
}

fn main() -> Result<()> {
    let task = Task::parse();
    let shell = at_root()?;
    match task {
        Task::Test => ci::test(&shell),
        Task::Python(arguments) => python::run(&shell, &arguments),
        Task::Ci => ci::all(&shell),
        Task::Ahead => ci::ahead(&shell),
        Task::Dist(arguments) => dist::run(&shell, &arguments),
        Task::Bench(arguments) => bench::run(&shell, &arguments),
        Task::Instructions(arguments) => instructions::run(&shell, &arguments),
        Task::Fuzz(arguments) => fuzz::run(&shell, &arguments),
        Task::Attack(arguments) => attack::run(&shell, &arguments),
        Task::Structure(arguments) => structure::run(&shell, &arguments),
        Task::Words => words::run(&shell),
        Task::Loom => loom::run(&shell),
        Task::Repro(arguments) => repro::run(&shell, &arguments),
        Task::Fidelity => fidelity::run(&shell),
        Task::Break(arguments) => weaknesses::run(&shell, &arguments),
        Task::Which(arguments) => which::run(&shell, &arguments),
        Task::Readme => readme::run(&shell),
        Task::Scoreboard => scoreboard::run(&shell),
        Task::Guide(arguments) => guide::run(&shell, &arguments),
        Task::Playground(arguments) => playground::run(&shell, &arguments),
        Task::Twins(arguments) => twins::run(&shell, &arguments),
        Task::Ns3(arguments) => ns3::run(&shell, &arguments),
        Task::Bpf => bpf::run(&shell),
        Task::Capi(arguments) => capi::run(&shell, &arguments),
        Task::Viewers => viewers::run(&shell),
    }
}

/// A shell at the root of the workspace.
fn at_root() -> Result<Shell> {
    let shell = Shell::new()?;
    shell.change_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    Ok(shell)
}
