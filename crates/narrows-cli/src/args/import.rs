//! Arguments of `import`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use narrows_formats::import::htsim::{Program, Queue};
use narrows_proto::units::{BitRate, Bytes, Span};

/// Simulators whose files are read.
#[derive(Debug, Subcommand)]
pub(crate) enum Import {
    /// ns-3's RDMA simulations: HPCC, ConWeave, ns3-datacenter, SimAI, ASTRA-sim, m3, ns3-rdma
    Hpcc(ImportHpcc),
    /// htsim: a connection matrix, on a topology or a fat tree
    Htsim(ImportHtsim),
    /// GOAL, the schedules of LogGOPSim and ATLAHS, as text
    Goal(ImportGoal),
    /// Chakra execution traces, a file for each rank
    Chakra(ImportChakra),
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
    /// Unit of BUFFER_SIZE in the configuration
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
    /// The program that reads it: uec for htsim_uec with NSCC, dctcp for others [default: dctcp]
    #[arg(long, value_name = "NAME")]
    pub(crate) program: Option<Program>,
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
    /// Queue of each port, with its unit, unless the topology has one; htsim's -q 15 is 15packets [default: 15packets; uec: a BDP]
    #[arg(long, value_name = "LENGTH")]
    pub(crate) queue: Option<Queue>,
    /// The largest packet, with its unit; htsim's -mtu 9000 is 9000B [default: 9000B; uec: 4150B]
    #[arg(long, value_name = "SIZE")]
    pub(crate) mtu: Option<Bytes>,
    /// When the run ends, with its unit; htsim's -end 1000 is 1000us [default: 1s]
    #[arg(long, value_name = "TIME")]
    pub(crate) end: Option<Span>,
    #[command(flatten)]
    pub(crate) output: ImportOutput,
}

#[derive(Debug, Args)]
pub(crate) struct ImportGoal {
    /// The schedule (.goal)
    #[arg(long, value_name = "FILE")]
    pub(crate) goal: PathBuf,
    #[command(flatten)]
    pub(crate) star: ImportStar,
    #[command(flatten)]
    pub(crate) output: ImportOutput,
}

#[derive(Debug, Args)]
pub(crate) struct ImportChakra {
    /// Name of the traces up to their rank: PREFIX.0.et, PREFIX.1.et and so on; also packed by gzip
    #[arg(long, value_name = "PREFIX")]
    pub(crate) traces: PathBuf,
    #[command(flatten)]
    pub(crate) star: ImportStar,
    #[command(flatten)]
    pub(crate) output: ImportOutput,
}

/// The network of schedules: a host for each rank at one switch.
#[derive(Debug, Args)]
pub(crate) struct ImportStar {
    /// Rate of the links of hosts, with its unit [default: 100Gbps]
    #[arg(long, value_name = "RATE")]
    pub(crate) linkspeed: Option<BitRate>,
    /// Delay of these links, with its unit [default: 1us]
    #[arg(long, value_name = "TIME")]
    pub(crate) hop_latency: Option<Span>,
    /// When the run ends, with its unit [default: 10s]
    #[arg(long, value_name = "TIME")]
    pub(crate) end: Option<Span>,
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
