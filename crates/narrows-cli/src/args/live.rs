//! Arguments of commands that have to do with the running kernel.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use narrows_proto::units::Span;

use super::running::Input;
use super::span::span;

#[derive(Debug, Args)]
pub(crate) struct Live {
    /// The scenario
    pub(crate) scenario: PathBuf,
    #[command(flatten)]
    pub(crate) input: Input,
    /// Where results go [default: out/NAME-live, or out/NAME-twin]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Replace older results; a folder with anything else in it stays
    #[arg(long)]
    pub(crate) overwrite: bool,
    /// Slow everything down: rates are divided by this, delays and the length of the run multiplied
    #[arg(long, default_value_t = 1.0, value_name = "N", value_parser = scale)]
    pub(crate) scale: f64,
    /// A run of which one packet in a hundred is delivered later than this is void
    #[arg(long, default_value = "200us", value_name = "TIME", value_parser = span)]
    pub(crate) bound: Span,
    /// Leave the hosts of this traffic group simulated
    #[arg(long, value_name = "GROUP")]
    pub(crate) simulate: Vec<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

impl Live {
    /// As the library wants them.
    pub(crate) fn options(&self) -> narrows_live::Options {
        let Self { scale, bound, simulate, .. } = self;
        narrows_live::Options { scale: *scale, bound: *bound, simulated: simulate.clone() }
    }
}

#[derive(Debug, Args)]
pub(crate) struct Twin {
    #[command(flatten)]
    pub(crate) live: Live,
    /// Run both with this many seeds, counting up from the scenario's
    #[arg(long, default_value_t = 3, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) runs: u32,
    /// Print the table as Markdown
    #[arg(long, conflicts_with = "json")]
    pub(crate) markdown: bool,
    /// The profile of simulated hosts whose group has none
    #[arg(long, default_value = "linux-6.12", value_name = "NAME")]
    pub(crate) profile: String,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Kernel {
    /// Check what live runs need of this machine
    Check {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Load controls of Narrows into the kernel, for any program, until this command ends
    Load {
        /// gemini, dctcp, or one with settings as in a scenario: '{ gemini = { capacity = "1 Gb/s" } }'
        #[arg(required = true, value_name = "CONTROL")]
        controls: Vec<String>,
        /// Keep them after this command, until `unload`
        #[arg(long)]
        pin: bool,
    },
    /// List controls of Narrows in the kernel
    List,
    /// Take pinned controls out of the kernel
    Unload {
        /// All if left out
        #[arg(value_name = "CONTROL")]
        controls: Vec<String>,
    },
}

fn scale(text: &str) -> Result<f64, String> {
    let scale: f64 = text.parse().map_err(|_| "a number is wanted: 10".to_owned())?;
    if (1.0..=1e6).contains(&scale) {
        Ok(scale)
    } else {
        Err("a number from 1 to 1000000 is wanted".to_owned())
    }
}
