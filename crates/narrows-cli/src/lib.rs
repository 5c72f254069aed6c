//! The command `narrows`, for a binary of its own and for others that carry it. Conversions only: what it does is in the crate
//! `narrows`.
#![warn(clippy::print_stdout, clippy::print_stderr)]

#[macro_use]
mod output;

mod args;
mod commands;
mod excerpt;
pub mod fail;
mod progress;
mod serve;
pub mod show;
mod watch;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::FromArgMatches;
use clap_complete::CompleteEnv;

use self::args::{Arguments, Command};
pub use self::commands::make_report;

/// Does what the arguments say, the first of which is the name of the command, and prints what comes of it.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> Status {
    let arguments: Vec<_> = arguments.into_iter().collect();
    let completer = CompleteEnv::with_factory(args::help::command).var(args::COMPLETION_VARIABLE);
    match completer.try_complete(arguments.iter().cloned(), std::env::current_dir().ok().as_deref()) {
        Ok(true) => return Status::Done,
        Ok(false) => {}
        Err(refused) => {
            let _ = refused.print();
            return Status::BadInput;
        }
    }
    let parsed = args::help::command().try_get_matches_from(arguments);
    let status = match parsed.and_then(|matches| Arguments::from_arg_matches(&matches)) {
        Ok(arguments) => obey(&arguments.command),
        Err(refused) if refused.use_stderr() => {
            // Without a place for messages, the status says it.
            let _ = refused.print();
            return Status::BadInput;
        }
        Err(help) => {
            output::note(help.print());
            Status::Done
        }
    };
    match output::finish() {
        Err(diagnostic) if status != Status::Interrupted => {
            fail::show(&diagnostic.into());
            Status::BadInput
        }
        _ => status,
    }
}

fn obey(command: &Command) -> Status {
    let result = match command {
        Command::Demo(demo) => commands::demo(demo),
        Command::Run(run) => commands::run(run),
        #[cfg(target_os = "linux")]
        Command::Live(live) => commands::live(live),
        #[cfg(target_os = "linux")]
        Command::Twin(twin) => commands::twin(twin),
        #[cfg(target_os = "linux")]
        Command::Kernel(kernel) => commands::kernel(kernel),
        Command::Compare(compare) => commands::compare(compare),
        Command::Sweep(sweep) => commands::sweep(sweep),
        Command::Merge(merge) => commands::merge(merge),
        Command::Break(arguments) => commands::break_control(arguments),
        Command::Report(arguments) => commands::report(arguments),
        Command::Open(arguments) => commands::open(arguments),
        Command::Playground(playground) => commands::playground(playground),
        Command::Repro(repro) => commands::repro(repro),
        Command::Validate(validate) => commands::validate(validate),
        Command::Trace(trace) => commands::trace(trace),
        Command::Export(export) => commands::export(export),
        Command::Check(check) => commands::check(check),
        Command::List(list) => output::paged(|| commands::list(list)),
        Command::New(new) => commands::new(new),
        Command::Import(import) => commands::import(import),
        Command::Schema => commands::schema(),
        Command::Explain(explain) => output::paged(|| commands::explain(explain)),
        Command::Completions(completions) => commands::completions(completions),
    };
    match result {
        Ok(status) => status,
        Err(rejection) => {
            fail::show(&rejection);
            Status::BadInput
        }
    }
}

/// End of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Everything was done.
    Done,
    /// Something that was expected does not hold.
    Broken,
    /// The input makes no sense, or the output cannot be written.
    BadInput,
    /// Real hosts received packets too late; results say so.
    Void,
    /// Ctrl-C: what is written is not complete.
    Interrupted,
}

impl Status {
    /// The exit code of the process.
    pub fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Broken => 1,
            Self::BadInput => 2,
            Self::Void => 3,
            Self::Interrupted => 130,
        }
    }
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> Self {
        Self::from(status.code())
    }
}
