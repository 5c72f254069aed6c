//! Arguments of commands that have to do with the running kernel.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use narrows_live::{MOST_SEGMENTS, Options, Program};
use narrows_proto::units::Span;

use super::running::Input;
use super::span::span;

/// Arguments of all that runs a scenario with real hosts.
#[derive(Debug, Args)]
pub(crate) struct WithHosts {
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
    /// Let real hosts hand over packets of up to this many segments at once, 1 to 64: faster
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=MOST_SEGMENTS.into()))]
    pub(crate) segments: u32,
    /// Leave the hosts of this traffic group simulated
    #[arg(long, value_name = "GROUP")]
    pub(crate) simulate: Vec<String>,
    /// Go on even if the machine is too slow
    #[arg(long)]
    pub(crate) force: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

impl WithHosts {
    /// As the library wants them.
    pub(crate) fn options(&self) -> Options {
        let Self { scale, bound, segments, simulate, .. } = self;
        Options {
            scale: *scale,
            bound: *bound,
            segments: *segments,
            simulated: simulate.clone(),
            ..Options::default()
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct Live {
    #[command(flatten)]
    pub(crate) hosts: WithHosts,
    /// Run a program on a host, for the time of the run; what it prints goes to a file in `programs` of the results
    #[arg(long, value_name = "HOST: COMMAND", value_parser = program)]
    pub(crate) run: Vec<Program>,
    /// Open a shell on a host; the run ends with it
    #[arg(long, value_name = "HOST", conflicts_with = "json")]
    pub(crate) shell: Option<String>,
    /// Keep each frame that hosts send and receive, for Wireshark: trace.pcapng of the results
    #[arg(long)]
    pub(crate) pcapng: bool,
    /// Watch the fabric while it runs
    #[arg(long, conflicts_with_all = ["json", "shell"])]
    pub(crate) watch: bool,
}

impl Live {
    /// As the library wants them.
    pub(crate) fn options(&self) -> Options {
        let shell = self.shell.clone().map(|host| Program { host, command: None });
        let programs = self.run.iter().cloned().chain(shell).collect();
        Options { programs, ..self.hosts.options() }
    }
}

#[derive(Debug, Args)]
pub(crate) struct Twin {
    #[command(flatten)]
    pub(crate) live: WithHosts,
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

fn program(text: &str) -> Result<Program, String> {
    let parts = text.split_once(':').map(|(host, command)| (host.trim(), command.trim()));
    match parts.filter(|(host, command)| !host.is_empty() && !command.is_empty()) {
        Some((host, command)) => Ok(Program { host: host.to_owned(), command: Some(command.to_owned()) }),
        None => Err("a host and a command are wanted: \"host3: ping -c 5 host4\"".to_owned()),
    }
}

fn scale(text: &str) -> Result<f64, String> {
    let scale: f64 = text.parse().map_err(|_| "a number is wanted: 10".to_owned())?;
    if (1.0..=1e6).contains(&scale) {
        Ok(scale)
    } else {
        Err("a number from 1 to 1000000 is wanted".to_owned())
    }
}
