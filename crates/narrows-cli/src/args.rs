//! What can be typed.

use std::path::PathBuf;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use narrows::sweep::Shard;
use narrows_formats::import::htsim::Queue;
use narrows_proto::units::{BitRate, Bytes, QuantityError, Span};

/// A laboratory for congestion control where the data center meets the WAN.
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
    /// Run several scenarios, or variants of one, and compare them
    Compare(Compare),
    /// Run a grid of settings and make one data set of all results; resumes when restarted
    Sweep(Sweep),
    /// Merge the shards of a sweep
    Merge(Merge),
    /// Make a page of results, or one that compares several
    Report(Report),
    /// Show the report of results in a browser
    Open(Open),
    /// Repeat the experiments of a paper and judge its claims; resumes when restarted
    Repro(Repro),
    /// Simulate a stored run again and write what happened for Wireshark, qvis or Perfetto
    Trace(Trace),
    /// Write results as files of other tools
    Export(Export),
    /// Check a scenario and show what it comes to, without running it
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
    /// Explain a diagnostic, or anything else that has a name: dctcp, pfc, flows.fct_ps, p99_slowdown
    Explain(Explain),
    /// Print completions for a shell
    Completions(Completions),
}

#[derive(Debug, Args)]
pub(crate) struct Demo {
    /// What is shown
    #[arg(default_value = "two-dc-mix")]
    pub(crate) subject: DemoSubject,
    /// Where results go [default: out/demo or out/demo-SUBJECT, where older results are replaced]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Repeat each cell with this many seeds
    #[arg(long, default_value_t = 5, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) seeds: u32,
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
    /// Show queues, rates and activity in the terminal while the run goes on; ? there lists the keys
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
    #[arg(long = "set", value_name = "PATH=VALUE")]
    pub(crate) overrides: Vec<String>,
    /// Run each point with this many seeds, instead of what the sweep says
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) seeds: Option<u32>,
    /// Where results go [default: out/NAME]; what is there already is not run again
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Try cells again that fail in a way that may pass
    #[arg(long, default_value_t = 0, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=100))]
    pub(crate) retries: u32,
    /// Run only a part of the cells, such as 2/8; narrows merge puts parts together
    #[arg(long, value_name = "I/N")]
    pub(crate) shard: Option<Shard>,
    /// Run even more than 10 000 cells
    #[arg(long)]
    pub(crate) yes: bool,
    /// Tell what would be run, in which order, and how much of it is there, with all warnings and mistakes; nothing is written
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
pub(crate) struct Report {
    /// Folders that `narrows run` or `narrows compare` wrote; the first is what others are compared with
    #[arg(required = true, value_name = "DIR")]
    pub(crate) folders: Vec<PathBuf>,
    /// The page [default: report.html, in the folder if there is one only]
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Replace an older page in a place of its own
    #[arg(long)]
    pub(crate) overwrite: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Open {
    /// A folder that `narrows run`, `narrows compare` or `narrows repro` wrote
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
    /// Print where the report is instead of starting a browser
    #[arg(long)]
    pub(crate) print: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Repro {
    /// The paper; see --list
    #[arg(required_unless_present = "list", value_parser = PaperName)]
    pub(crate) paper: Option<String>,
    /// List the papers
    #[arg(long, conflicts_with_all = ["paper", "figure"])]
    pub(crate) list: bool,
    /// Only this figure or table: --figure 3, --figure "Table 1"
    #[arg(long, value_name = "N")]
    pub(crate) figure: Option<String>,
    /// A short form: one seed, shorter runs, not all experiments
    #[arg(long)]
    pub(crate) quick: bool,
    /// Repeat each experiment with this many seeds [default: 5, with --quick 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) seeds: Option<u32>,
    /// End with status 1 if a claim is missed
    #[arg(long)]
    pub(crate) strict: bool,
    /// Where results go [default: out/repro/PAPER, where older results are replaced]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Replace older results in the folder given with --out; a folder with anything else in it stays
    #[arg(long, requires = "out")]
    pub(crate) overwrite: bool,
    #[command(flatten)]
    pub(crate) execution: Execution,
}

/// The name of a paper. Help and completions know them all; an unknown one is met by a diagnostic.
#[derive(Clone, Debug)]
struct PaperName;

impl TypedValueParser for PaperName {
    type Value = String;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &std::ffi::OsStr,
    ) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let papers = narrows::repro::PAPERS.iter();
        Some(Box::new(papers.map(|paper| PossibleValue::new(paper.name).help(paper.title))))
    }
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
    /// Only what happens from this time on: 2ms
    #[arg(long, value_name = "T", value_parser = span)]
    pub(crate) from: Option<Span>,
    /// Only what happens before this time: 5ms
    #[arg(long, value_name = "T", value_parser = span)]
    pub(crate) until: Option<Span>,
    /// Give up if there are more records than this
    #[arg(long, default_value_t = 1_000_000, value_name = "N")]
    pub(crate) limit: u64,
    /// Where it goes [default: trace.pcapng, qlog or trace.perfetto-trace in DIR]
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Replace what is there; a folder with anything but qlog files in it stays
    #[arg(long)]
    pub(crate) overwrite: bool,
    /// Where files are that the scenario names [default: DIR]
    #[arg(long, value_name = "DIR")]
    pub(crate) files: Option<PathBuf>,
    /// Show no progress
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// What a trace is written as.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct TraceFormat {
    /// Packets as pcapng, for Wireshark
    #[arg(long)]
    pub(crate) pcapng: bool,
    /// What senders do as qlog, a folder with one file for each flow, for qvis
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
    /// What to list; everything if left out
    pub(crate) what: Option<Listed>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Listed {
    /// Congestion controls
    Controls,
    /// What switches and hosts can do besides
    Mechanisms,
    /// How data is carried
    Transports,
    /// Distributions of flow sizes
    Sizes,
    /// Networks
    Topologies,
    /// Who sends what to whom
    Patterns,
    /// Scenarios `narrows new` can write
    Templates,
    /// Tables of results, and with `narrows list tables` their columns
    Tables,
    /// Numbers of the summary
    Metrics,
    /// What is counted as active, or as never happened
    Activity,
    /// Diagnostics
    Codes,
}

#[derive(Debug, Args)]
pub(crate) struct New {
    /// Name of the scenario; the file is NAME.toml
    pub(crate) name: String,
    /// What to start from; see `narrows list templates`
    #[arg(long, default_value = "dumbbell", value_name = "NAME")]
    pub(crate) template: String,
}

#[derive(Debug, Args)]
pub(crate) struct ExportFct {
    /// A folder that narrows run has written
    #[arg(value_name = "DIR")]
    pub(crate) results: PathBuf,
    /// Whose columns
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

/// Simulators whose files are read.
#[derive(Debug, Subcommand)]
pub(crate) enum Import {
    /// ns-3's RDMA simulations: HPCC, ConWeave, ns3-datacenter, SimAI, ASTRA-sim, m3, ns3-rdma
    Hpcc(ImportHpcc),
    /// htsim: a connection matrix, on a topology or a fat tree
    Htsim(ImportHtsim),
}

#[derive(Debug, Args)]
pub(crate) struct ImportHpcc {
    /// topology.txt [default: TOPOLOGY_FILE of the configuration]
    #[arg(long, value_name = "FILE", required_unless_present = "config")]
    pub(crate) topology: Option<PathBuf>,
    /// flow.txt [default: FLOW_FILE of the configuration]
    #[arg(long, value_name = "FILE")]
    pub(crate) flows: Option<PathBuf>,
    /// config.txt
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// What BUFFER_SIZE of the configuration counts
    #[arg(long, value_name = "UNIT", default_value = "mib")]
    pub(crate) buffer_unit: BufferUnit,
    #[command(flatten)]
    pub(crate) output: ImportOutput,
}

/// Units of BUFFER_SIZE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum BufferUnit {
    /// MiB: HPCC, ConWeave, ns3-datacenter, SimAI, ASTRA-sim
    Mib,
    /// KiB: m3, m4, Hawkeye
    Kib,
}

#[derive(Debug, Args)]
pub(crate) struct ImportHtsim {
    /// The connection matrix (.cm), htsim's -tm
    #[arg(long, value_name = "FILE")]
    pub(crate) matrix: PathBuf,
    /// The topology (.topo), htsim's -topo; a fat tree if left out
    #[arg(long, value_name = "FILE", conflicts_with_all = ["tiers", "linkspeed", "hop_latency", "switch_latency"])]
    pub(crate) topology: Option<PathBuf>,
    /// Levels of switches of the fat tree [default: 3]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=3))]
    pub(crate) tiers: Option<u32>,
    /// Rate of all links, with its unit; htsim's -linkspeed 100000 is 100000Mbps [default: 100Gbps]
    #[arg(long, value_name = "RATE")]
    pub(crate) linkspeed: Option<BitRate>,
    /// Delay of all links, with its unit; htsim's -hop_latency 1 is 1us [default: 1us]
    #[arg(long, value_name = "TIME")]
    pub(crate) hop_latency: Option<Span>,
    /// Time switches need to forward a packet, with its unit; htsim's -switch_latency 1 is 1us [default: 0us]
    #[arg(long, value_name = "TIME")]
    pub(crate) switch_latency: Option<Span>,
    /// Queue of each port, with its unit, unless the topology has one; htsim's -q 15 is 15packets [default: 15packets]
    #[arg(long, value_name = "LENGTH")]
    pub(crate) queue: Option<Queue>,
    /// The largest packet, with its unit; htsim's -mtu 9000 is 9000B [default: 9000B]
    #[arg(long, value_name = "SIZE")]
    pub(crate) mtu: Option<Bytes>,
    /// When the run ends, with its unit; htsim's -end 1000 is 1000us [default: 1s]
    #[arg(long, value_name = "TIME")]
    pub(crate) end: Option<Span>,
    #[command(flatten)]
    pub(crate) output: ImportOutput,
}

/// Where a scenario goes that was imported.
#[derive(Debug, Args)]
pub(crate) struct ImportOutput {
    /// The scenario; traces go beside it
    #[arg(long, short, value_name = "FILE", default_value = "scenario.toml")]
    pub(crate) out: PathBuf,
    /// Replace older files
    #[arg(long)]
    pub(crate) overwrite: bool,
    /// Stop if anything has no counterpart, or an inexact one
    #[arg(long)]
    pub(crate) strict: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Explain {
    /// The code of a diagnostic, such as N0005, or the name of a congestion control, a mechanism, a network, a pattern, a table, a
    /// column, a metric, ...
    pub(crate) name: String,
}

#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell
    pub(crate) shell: clap_complete::Shell,
}

/// Reads a limit of speed.
fn pace(text: &str) -> Result<Span, String> {
    let span: Span = text.parse().map_err(|error: QuantityError| error.to_string())?;
    if span == Span::ZERO { Err("time would stand still; space pauses".into()) } else { Ok(span) }
}

/// Changes of the input.
#[derive(Debug, Args)]
pub(crate) struct Input {
    /// Change one value of the scenario: --set seed=7 --set traffic.web.cc='{ cubic = {} }'
    #[arg(long = "set", value_name = "PATH=VALUE")]
    pub(crate) overrides: Vec<String>,
    /// The seed, instead of the scenario's
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
}

/// How runs are executed. None of this changes results.
#[derive(Debug, Args)]
pub(crate) struct Execution {
    /// Threads that share one run
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: u16,
    /// Runs side by side, fewer if memory would not suffice [default: as many as there are cores for]
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
        let jobs = self.jobs.map_or((narrows::run::cores() / threads).max(1), usize::from);
        narrows::run::Options { threads, jobs: jobs.min(runs.max(1)), force: self.force }
    }
}
