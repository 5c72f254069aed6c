//! The command `narrows`. Conversions only: what it does is in the crate `narrows`.
#![warn(clippy::print_stdout, clippy::print_stderr)]

#[macro_use]
mod output;

mod args;
mod commands;
mod fail;
mod progress;
mod show;
mod watch;

use std::process::ExitCode;

use clap::Parser;

use self::args::{Arguments, Command};

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let result = match &arguments.command {
        Command::Demo(demo) => commands::demo(demo),
        Command::Run(run) => commands::run(run),
        Command::Compare(compare) => commands::compare(compare),
        Command::Report(arguments) => commands::report(arguments),
        Command::Open(arguments) => commands::open(arguments),
        Command::Repro(repro) => commands::repro(repro),
        Command::Check(check) => commands::check(check),
        Command::List(list) => commands::list(list),
        Command::New(new) => commands::new(new),
        Command::Export(export) => commands::export(export),
        Command::Import(import) => commands::import(import),
        Command::Schema => commands::schema(),
        Command::Explain(explain) => commands::explain(explain),
        Command::Completions(completions) => commands::completions(completions),
    };
    match result {
        Ok(status) => status.into(),
        Err(rejection) => {
            fail::show(&rejection);
            Status::BadInput.into()
        }
    }
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    /// Everything was done.
    Done,
    /// Something that was expected does not hold.
    Broken,
    /// The input makes no sense.
    BadInput,
    /// Ctrl-C: what is written is not complete.
    Interrupted,
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> Self {
        Self::from(match status {
            Status::Done => 0,
            Status::Broken => 1,
            Status::BadInput => 2,
            Status::Interrupted => 130,
        })
    }
}
