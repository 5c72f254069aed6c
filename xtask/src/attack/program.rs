//! The command under attack.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

/// A run that takes longer hangs.
const LONGEST: Duration = Duration::from_secs(300);
/// Time between looks at it.
const TURN: Duration = Duration::from_millis(1);

/// The command, and what starts it if it is not started by itself.
#[derive(Clone, Debug)]
pub(super) struct Program {
    path: PathBuf,
    /// A program with arguments that starts another.
    through: Vec<String>,
}

/// End of a run.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) status: ExitStatus,
    /// Its standard output and standard error.
    pub(super) said: String,
    pub(super) took: Duration,
}

impl Program {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, through: Vec::new() }
    }

    /// The same, started by another program.
    pub(super) fn through(&self, starter: Vec<String>) -> Self {
        Self { path: self.path.clone(), through: starter }
    }

    /// Starts it in a folder. What it says goes to the file `log`.
    pub(super) fn start(&self, folder: &Path, arguments: &[&str], log: &Path) -> Result<Child> {
        let mut command = match self.through.split_first() {
            None => Command::new(&self.path),
            Some((starter, rest)) => {
                let mut command = Command::new(starter);
                command.args(rest).arg(&self.path);
                command
            }
        };
        let file = File::create(log)?;
        command.args(arguments).current_dir(folder).stdin(Stdio::null());
        command.stdout(file.try_clone()?).stderr(file);
        command.spawn().with_context(|| format!("cannot start {command:?}"))
    }

    /// Runs it in a folder until it ends.
    pub(super) fn run(&self, folder: &Path, arguments: &[&str]) -> Result<Ended> {
        let log = tempfile::NamedTempFile::new()?;
        let began = Instant::now();
        let mut child = self.start(folder, arguments, log.path())?;
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break status;
            }
            if began.elapsed() > LONGEST {
                child.kill()?;
                child.wait()?;
                anyhow::bail!("narrows {} has not ended after {} s", arguments.join(" "), LONGEST.as_secs());
            }
            std::thread::sleep(TURN);
        };
        let said = String::from_utf8_lossy(&std::fs::read(log.path())?).into_owned();
        Ok(Ended { status, said, took: began.elapsed() })
    }

    /// Runs it and fails unless it says that all went well.
    pub(super) fn succeed(&self, folder: &Path, arguments: &[&str]) -> Result<Ended> {
        let ended = self.run(folder, arguments)?;
        ensure!(ended.status.success(), "narrows {} failed: {}", arguments.join(" "), ended.said);
        Ok(ended)
    }
}

impl Ended {
    /// It refused its input in its own words: no panic, no signal.
    pub(super) fn is_refusal(&self) -> bool {
        self.status.code() == Some(2) && self.said.contains("N0")
    }

    /// Its output in one line, for a table.
    pub(super) fn brief(&self) -> String {
        let words: Vec<_> = self.said.split_whitespace().collect();
        let text = words.join(" ");
        let short: String = text.chars().take(200).collect();
        format!("{}, \"{short}\"", self.status)
    }
}
