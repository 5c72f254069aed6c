use anyhow::Result;
use clap::Args;
use xshell::Shell;

#[derive(Debug, Default, Args)]
pub(crate) struct Arguments {}

pub(crate) fn run(_shell: &Shell, _arguments: &Arguments) -> Result<()> {
    Ok(())
}
