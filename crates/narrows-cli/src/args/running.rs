//! Arguments of commands that simulate, and of `merge`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use clap_complete::ArgValueCompleter;
use narrows::sweep::Shard;
use narrows_proto::units::Span;

use super::span::pace;

#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// The demonstration to run
    #[arg(default_value = "two-dc-mix")]
    pub(crate) subject: DemoSubject,
    /// Where results go [default: out/demo or out/demo-SUBJECT, where older results are replaced; those of wan are kept as in a sweep]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Repeat each cell with this many seeds [default: 5, 1 of wan]; live runs are not repeated
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) seeds: Option<u32>,
    #[command(flatten)]
    pub(crate) execution: Execution,
}

/// Demonstrations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DemoSubject {
    /// Two data centers and a WAN: DCTCP inside and BBR across, without and with Annulus
    TwoDcMix,
    /// A victim of PAUSE, rescued by congestion points: BCN and QCN
    Bcn,
    /// A victim of an incast in a lossless network, rescued by switches that isolate congested flows: DVL
    Dvl,
    /// Short flows beside long ones between two racks: DCTCP, and RackCC, under which they begin with their share
    Rackcc,
    /// A WAN bottleneck: CUBIC, BBR, BBRv3 and Prague under drop tail, CoDel, FQ-CoDel, PIE and DualPI2, as a matrix
    Wan,
    /// An all-reduce over two data centers beside web search traffic: DCQCN, GEMINI, and Annulus around GEMINI
    Training,
    /// The same mix of traffic under GEMINI, Annulus around GEMINI, UnoCC and Themis, in two places, as a matrix
    Successors,
    /// Two real hosts, in 10 s: CUBIC of this kernel fills a buffer, and with a near-source loop does not
    #[cfg(target_os = "linux")]
    Live,
}

#[derive(Debug, Args)]
pub(crate) struct Run {
    /// The scenario
    pub(crate) scenario: PathBuf,
    #[command(flatten)]
    pub(crate) input: Input,
    /// Where results go [default: out/NAME]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Replace older results; a folder with anything else in it stays
    #[arg(long)]
    pub(crate) overwrite: bool,
    /// Run with this many seeds, counting up from the scenario's
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) seeds: u32,
    /// Show queues, rates and activity in the terminal during the run; ? there lists the keys
    #[arg(long, conflicts_with_all = ["json", "quiet"])]
    pub(crate) watch: bool,
    /// Watch at no more than this much simulated time per second, such as 1ms; < and > change it
    #[arg(long, value_name = "TIME", requires = "watch", value_parser = pace)]
    pub(crate) pace: Option<Span>,
    #[command(flatten)]
    pub(crate) execution: Execution,
}

#[derive(Debug, Args)]
pub(crate) struct Compare {
    /// The scenarios; the first is what others are compared with
    #[arg(required = true)]
    pub(crate) scenarios: Vec<PathBuf>,
    /// A variant of the scenario, with a name and overrides: dctcp:traffic.web.cc='{ dctcp = {} }';seed=2
    #[arg(long, value_name = "NAME:PATH=VALUE[;PATH=VALUE]")]
    pub(crate) variant: Vec<String>,
    #[command(flatten)]
    pub(crate) input: Input,
    /// Where results go [default: out/compare-NAME]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Replace older results; a folder with anything else in it stays
    #[arg(long)]
    pub(crate) overwrite: bool,
    /// Repeat each cell with this many seeds
    #[arg(long, default_value_t = 5, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) seeds: u32,
    /// Print the table as Markdown
    #[arg(long, conflicts_with = "json")]
    pub(crate) markdown: bool,
    #[command(flatten)]
    pub(crate) execution: Execution,
}

#[derive(Debug, Args)]
pub(crate) struct Sweep {
    /// The sweep: which scenario, which values, how many seeds
    #[arg(value_name = "SWEEP.TOML")]
    pub(crate) sweep: PathBuf,
    /// Change one value of the scenario, for all points: --set stop.after='"20 ms"'
    #[arg(long = "set", value_name = "PATH=VALUE", add = ArgValueCompleter::new(super::complete::settings))]
    pub(crate) overrides: Vec<String>,
    /// Run each point with this many seeds, instead of what the sweep says
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) seeds: Option<u32>,
    /// Where results go [default: out/NAME]; cells that are there are not run again
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Retry cells whose failure may be temporary, this often
    #[arg(long, default_value_t = 0, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=100))]
    pub(crate) retries: u32,
    /// Run only one shard of the cells, such as 2/8; narrows merge merges shards
    #[arg(long, value_name = "I/N")]
    pub(crate) shard: Option<Shard>,
    /// Run more than 10 000 cells
    #[arg(long)]
    pub(crate) yes: bool,
    /// List the cells to run, in their order, and those that are there, with all warnings and errors; write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) execution: Execution,
}

#[derive(Debug, Args)]
pub(crate) struct Merge {
    /// Folders that `narrows sweep --shard` wrote
    #[arg(required = true, value_name = "DIR")]
    pub(crate) folders: Vec<PathBuf>,
    /// Where all cells and the data set go
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Validate {
    /// Only these comparisons; * stands for any characters: dctcp.alpha 'links.*' [default: all]
    #[arg(value_name = "ID")]
    pub(crate) names: Vec<String>,
    /// Only comparisons that take a moment, some of them with shorter runs
    #[arg(long)]
    pub(crate) quick: bool,
    /// List the comparisons without running them
    #[arg(long, conflicts_with = "scenario")]
    pub(crate) list: bool,
    /// Print the scenario of one comparison, for narrows run
    #[arg(long, value_name = "ID", conflicts_with_all = ["names", "out", "strict"])]
    pub(crate) scenario: Option<String>,
    /// Exit with status 1 if a comparison misses, even a known miss
    #[arg(long)]
    pub(crate) strict: bool,
    /// Write the page, the values and the scenarios there
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Replace older results in the folder given with --out; a folder with anything else in it stays
    #[arg(long, requires = "out")]
    pub(crate) overwrite: bool,
    #[command(flatten)]
    pub(crate) execution: Execution,
}

/// Changes of the input.
#[derive(Debug, Args)]
pub(crate) struct Input {
    /// Change one value of the scenario: --set seed=7 --set traffic.web.cc='{ cubic = {} }'
    #[arg(long = "set", value_name = "PATH=VALUE", add = ArgValueCompleter::new(super::complete::settings))]
    pub(crate) overrides: Vec<String>,
    /// The seed, instead of the scenario's
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
}

/// Options of execution. None of this changes results.
#[derive(Clone, Debug, Args)]
pub(crate) struct Execution {
    /// Threads that share one run
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: u16,
    /// Runs side by side, fewer if memory would not suffice [default: as many as the cores allow]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) jobs: Option<u16>,
    /// Run even if memory may not suffice
    #[arg(long)]
    pub(crate) force: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Show no progress
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

impl Execution {
    /// As the library wants it, for this many runs.
    pub(crate) fn options(&self, runs: usize) -> narrows::run::Options {
        let threads = usize::from(self.threads);
        let jobs = match self.jobs {
            // Counting cores takes a dozen files of the system.
            _ if runs <= 1 => 1,
            Some(jobs) => usize::from(jobs).min(runs),
            None => (narrows::run::cores() / threads).clamp(1, runs),
        };
        narrows::run::Options { threads, jobs, force: self.force }
    }
}
