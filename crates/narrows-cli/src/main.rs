//! The command `narrows`.

use std::process::ExitCode;

fn main() -> ExitCode {
    narrows_cli::main(std::env::args_os()).into()
}
