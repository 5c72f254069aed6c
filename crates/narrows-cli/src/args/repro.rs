//! Arguments of `repro`.

use std::path::PathBuf;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Args, Subcommand};

use super::Execution;

#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    disable_help_subcommand = true
)]
pub(crate) struct Repro {
    #[command(subcommand)]
    pub(crate) task: Option<ReproTask>,
    /// The paper, see --list; or the folder of one: ./my-paper
    #[arg(required_unless_present = "list", value_parser = PaperName)]
    pub(crate) paper: Option<String>,
    /// List the papers
    #[arg(long, conflicts_with_all = ["paper", "figure"])]
    pub(crate) list: bool,
    /// Only this figure or table: --figure 3, --figure "Table 1"
    #[arg(long, value_name = "N")]
    pub(crate) figure: Option<String>,
    /// The short form: few seeds, fewer experiments, some of them shorter
    #[arg(long)]
    pub(crate) quick: bool,
    /// Repeat each experiment with this many seeds [default: as many as verdicts need, 3 to 10; with --quick 1, or what the paper says]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) seeds: Option<u32>,
    /// Put this congestion control in place of the one that is tested, and judge rates, queues and losses alone
    #[arg(long, value_name = "NAME", conflicts_with_all = ["measured", "list"])]
    pub(crate) cc: Option<String>,
    /// Simulate each experiment once more, as chosen and with one seed, and write its flows as qlog into DIR/EXPERIMENT
    #[arg(long, value_name = "DIR", conflicts_with_all = ["measured", "list"])]
    pub(crate) qlog: Option<PathBuf>,
    /// Run nothing: judge the measurements of an older folder, its measured.json, and write report.md and claims.json
    #[arg(long, value_name = "FILE", requires = "out", conflicts_with_all = ["figure", "quick", "seeds", "list"])]
    pub(crate) measured: Option<PathBuf>,
    /// Exit with status 1 if a claim is missed
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

#[derive(Debug, Subcommand)]
pub(crate) enum ReproTask {
    /// Start a paper of your own: a folder with a small example
    New {
        /// The folder, called as the paper is
        folder: PathBuf,
    },
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
        let papers = narrows::repro::names().zip(narrows::repro::papers());
        Some(Box::new(papers.map(|(name, paper)| PossibleValue::new(name).help(paper.title))))
    }
}
