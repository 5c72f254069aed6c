//! The command line: all commands, and the arguments of those that look something up or write a scenario.

mod complete;
pub(crate) mod help;
mod import;
#[cfg(target_os = "linux")]
mod live;
mod repro;
mod results;
mod running;
mod span;
mod weakness;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::ArgValueCandidates;

pub(crate) use complete::{Shell, VARIABLE as COMPLETION_VARIABLE};
pub(crate) use import::{BufferUnit, Import, ImportOutput, ImportStar};
#[cfg(target_os = "linux")]
pub(crate) use live::{Kernel, Live, Twin};
pub(crate) use repro::{Repro, ReproTask};
pub(crate) use results::{
    Export, ExportFct, ExportFormat, FctDialect, Open, Playground, Report, Trace, TraceFormat,
};
pub(crate) use running::{Compare, Demo, DemoSubject, Execution, Input, Merge, Run, Sweep, Validate};
pub(crate) use weakness::Break;

/// A packet-level network simulator for congestion control where the data center meets the WAN.
#[derive(Debug, Parser)]
#[command(name = "narrows", version, max_term_width = 100)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// A first look, in a minute: two data centers and a WAN, or a victim of PAUSE
    Demo(Demo),
    /// Run a scenario and write its results
    Run(Run),
    /// Run a scenario with real hosts: the TCP of this kernel through the simulated network
    #[cfg(target_os = "linux")]
    Live(Live),
    /// Run a scenario in virtual time and with real hosts, and judge what differs
    #[cfg(target_os = "linux")]
    Twin(Twin),
    /// Check what live runs need of this machine; load controls into its kernel
    #[cfg(target_os = "linux")]
    #[command(subcommand)]
    Kernel(Kernel),
    /// Run several scenarios, or variants of one, and compare them
    Compare(Compare),
    /// Run a grid of settings and make one data set of all results; resumes when restarted
    Sweep(Sweep),
    /// Merge the shards of a sweep
    Merge(Merge),
    /// Search for paths that break a congestion control; resumes when restarted
    Break(Break),
    /// Make a page of results, or one that compares several
    Report(Report),
    /// Show the report of results in a browser
    Open(Open),
    /// Serve the page that runs scenarios in a browser, on this machine
    Playground(Playground),
    /// Repeat the experiments of a paper and judge its claims; resumes when restarted
    Repro(Repro),
    /// Compare Narrows with theory, standards and published measurements on this machine
    Validate(Validate),
    /// Simulate a stored run again and trace it for Wireshark, qvis or Perfetto
    Trace(Trace),
    /// Write results as files of other tools
    Export(Export),
    /// Check a scenario and show its traffic, round trips, queues and thresholds
    Check(Check),
    /// List what is built in
    List(List),
    /// Write a scenario to start from
    New(New),
    /// Convert files of another simulator to a scenario
    #[command(subcommand)]
    Import(Import),
    /// Print the JSON schema of scenarios
    Schema,
    /// Explain a diagnostic, a setting, or anything else that has a name
    Explain(Explain),
    /// Print completions for a shell
    Completions(Completions),
}

#[derive(Debug, Args)]
pub(crate) struct Check {
    /// The scenario
    pub(crate) scenario: PathBuf,
    #[command(flatten)]
    pub(crate) input: Input,
    /// List all nodes and links
    #[arg(long)]
    pub(crate) nodes: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct List {
    /// The list to print; everything if left out
    pub(crate) what: Option<Listed>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Listed {
    /// Congestion controls
    Controls,
    /// Mechanisms of switches and hosts
    Mechanisms,
    /// Transports
    Transports,
    /// Profiles, the defaults of whole systems
    Profiles,
    /// Distributions of flow sizes
    Sizes,
    /// Topologies
    Topologies,
    /// Traffic patterns
    Patterns,
    /// Scenarios `narrows new` can write
    Templates,
    /// Tables of results, and with `narrows list tables` their columns
    Tables,
    /// Metrics of the summary
    Metrics,
    /// Events that a run lists as counted, or as never happened
    Activity,
    /// Diagnostics
    Codes,
}

#[derive(Debug, Args)]
pub(crate) struct New {
    /// Name of the scenario; the file is NAME.toml
    pub(crate) name: String,
    /// Template to start from; see `narrows list templates`
    #[arg(long, default_value = "dumbbell", value_name = "NAME", add = ArgValueCandidates::new(complete::templates))]
    pub(crate) template: String,
}

#[derive(Debug, Args)]
pub(crate) struct Explain {
    /// The code of a diagnostic, such as N0005, or the name of a congestion control, a mechanism, a topology, a traffic pattern, a
    /// table, a column, a metric, a setting alone or with the keys before it (wan.delay), ...
    #[arg(add = ArgValueCandidates::new(complete::topics))]
    pub(crate) name: String,
}

#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell
    pub(crate) shell: Shell,
}
