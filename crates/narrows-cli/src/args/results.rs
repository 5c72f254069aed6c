//! Arguments of commands that read a folder of results.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use narrows::report::SweepOptions;
use narrows_proto::units::Span;

#[derive(Debug, Args)]
pub(crate) struct Report {
    /// A folder that `narrows run`, `narrows compare` or `narrows sweep` wrote, or several; the first is what others are compared with
    #[arg(required = true, value_name = "DIR")]
    pub(crate) folders: Vec<PathBuf>,
    /// The page [default: report.html, in the folder if there is one only]
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Replace the file of --out
    #[arg(long)]
    pub(crate) overwrite: bool,
    #[command(flatten)]
    pub(crate) choice: SweepChoice,
}

/// Choices for the page of a sweep.
#[derive(Debug, Args)]
pub(crate) struct SweepChoice {
    /// Of a sweep: these metrics (p99_slowdown, web.p99_slowdown, '*.p99_*'), of all groups if none is named [default: those that say most]
    #[arg(long = "metric", value_name = "NAME")]
    metrics: Vec<String>,
    /// Of a sweep: the axis whose values are lines of the figures, by its name or last key [default: one with names]
    #[arg(long, value_name = "AXIS")]
    by: Option<String>,
}

impl SweepChoice {
    pub(crate) fn options(&self) -> SweepOptions {
        SweepOptions { metrics: self.metrics.clone(), by: self.by.clone(), ..SweepOptions::default() }
    }
}

#[derive(Debug, Args)]
pub(crate) struct Open {
    /// A folder that `narrows run`, `narrows compare`, `narrows sweep` or `narrows repro` wrote
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
    /// Print where the report is instead of starting a browser
    #[arg(long)]
    pub(crate) print: bool,
    #[command(flatten)]
    pub(crate) choice: SweepChoice,
}

#[derive(Debug, Args)]
pub(crate) struct Playground {
    /// The folder that `cargo xtask playground` built
    #[arg(value_name = "DIR", default_value = "target/playground")]
    pub(crate) folder: PathBuf,
    /// The port; 0 takes any that is free
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    pub(crate) port: u16,
    /// Print the address instead of starting a browser
    #[arg(long)]
    pub(crate) print: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Trace {
    /// A folder that narrows run has written
    #[arg(value_name = "DIR")]
    pub(crate) results: PathBuf,
    #[command(flatten)]
    pub(crate) format: TraceFormat,
    /// Only these flows: a number, or the name of a traffic group (web, mice*) [default: all]
    #[arg(long = "flow", value_name = "FLOW")]
    pub(crate) flows: Vec<String>,
    /// Only at these ports, named after their link: 'tor0->spine*' [default: all; of packets, the ports of hosts]
    #[arg(long = "port", value_name = "FROM->TO")]
    pub(crate) ports: Vec<String>,
    /// Only from this time on: 2ms
    #[arg(long, value_name = "T", value_parser = span)]
    pub(crate) from: Option<Span>,
    /// Only before this time: 5ms
    #[arg(long, value_name = "T", value_parser = span)]
    pub(crate) until: Option<Span>,
    /// Stop with an error above this many records
    #[arg(long, default_value_t = 1_000_000, value_name = "N")]
    pub(crate) limit: u64,
    /// Where it goes [default: trace.pcapng, qlog or trace.perfetto-trace in DIR]
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Replace what is there; a folder with anything but qlog files in it stays
    #[arg(long)]
    pub(crate) overwrite: bool,
    /// Folder of the files that the scenario names [default: DIR]
    #[arg(long, value_name = "DIR")]
    pub(crate) files: Option<PathBuf>,
    /// Show no progress
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// Format of a trace.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct TraceFormat {
    /// Packets as pcapng, for Wireshark
    #[arg(long)]
    pub(crate) pcapng: bool,
    /// Senders as qlog, a folder with one file for each flow, for qvis
    #[arg(long)]
    pub(crate) qlog: bool,
    /// Queues, senders and events along a time line, for ui.perfetto.dev
    #[arg(long)]
    pub(crate) perfetto: bool,
}

/// Reads a length of time.
fn span(text: &str) -> Result<Span, String> {
    text.parse::<Span>().map_err(|error| error.to_string())
}

#[derive(Debug, Args)]
pub(crate) struct Export {
    #[command(subcommand)]
    pub(crate) format: ExportFormat,
}

/// Formats of other tools.
#[derive(Debug, Subcommand)]
pub(crate) enum ExportFormat {
    /// Completion times as fct.txt of ns-3's RDMA simulations
    Fct(ExportFct),
    /// Counters and the summary as OpenMetrics, for Prometheus and Grafana
    Openmetrics(ExportTo),
    /// Queues, links and windows over time as a data file of flent
    Flent(ExportTo),
}

#[derive(Debug, Args)]
pub(crate) struct ExportTo {
    /// A folder that narrows run has written
    #[arg(value_name = "DIR")]
    pub(crate) results: PathBuf,
    /// Where it goes [default: metrics.txt or NAME.flent.gz in DIR]
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Replace what is there
    #[arg(long)]
    pub(crate) overwrite: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ExportFct {
    /// A folder that narrows run has written
    #[arg(value_name = "DIR")]
    pub(crate) results: PathBuf,
    /// Simulator whose columns it has
    #[arg(long, value_name = "NAME", default_value = "hpcc")]
    pub(crate) dialect: FctDialect,
    /// Where it goes [default: fct.txt in DIR]
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Replace what is there
    #[arg(long)]
    pub(crate) overwrite: bool,
}

/// Columns of fct.txt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FctDialect {
    /// HPCC and SimAI: addresses of hosts in hexadecimal
    Hpcc,
    /// ConWeave: decimal ids of hosts
    Conweave,
    /// ns3-datacenter: a header line, slowdowns, priority and incast
    Abm,
}
