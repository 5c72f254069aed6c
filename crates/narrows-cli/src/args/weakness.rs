//! Arguments of `break`.

use std::path::PathBuf;

use clap::Args;
use narrows_proto::units::{BitRate, Span};

use super::span::span;

#[derive(Debug, Args)]
pub(crate) struct Break {
    /// The congestion control; see `narrows list controls`
    pub(crate) control: String,
    /// The weakness to look for: starve (it gets less than its share), fill (it keeps the queue full), lose (it loses what it sends), unfair (its own connections get unequal shares)
    #[arg(long, default_value = "starve", value_name = "NAME")]
    pub(crate) objective: String,
    /// Try this many paths
    #[arg(long, default_value_t = 1000, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    pub(crate) evaluations: u32,
    /// The seed, of the search and of all runs
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub(crate) seed: u64,
    /// Only bottlenecks of this rate, such as 50Mb/s [default: 1 to 50 Mb/s]
    #[arg(long, value_name = "RATE", value_parser = rate)]
    pub(crate) rate: Option<BitRate>,
    /// Only connections with this round-trip time, such as 40ms [default: 10 to 200 ms]
    #[arg(long, value_name = "TIME", value_parser = span)]
    pub(crate) rtt: Option<Span>,
    /// Where results go [default: out/break/CONTROL-OBJECTIVE]; what was tried is not tried again
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Paths tried side by side [default: as many as there are cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) jobs: Option<u16>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Show no progress
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

fn rate(text: &str) -> Result<BitRate, String> {
    text.parse().map_err(|error: narrows_proto::units::QuantityError| error.to_string())
}
