//! A disk of a chosen size: a file system in memory, mounted where only the command and we see it. Where nothing may be mounted, a
//! limit for the size of each file takes its place.

use std::cell::Cell;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, bail};

use super::program::Program;
use super::tree::Tree;

/// Blocks of `ulimit -f`.
const BLOCK: u64 = 512;
/// The file system gives room in pages.
const PAGE: u64 = 4096;

pub(super) struct SmallDisk {
    folder: tempfile::TempDir,
    mount: Option<Mount>,
    /// Without a mount: the largest file.
    largest: Cell<Option<u64>>,
}

/// A shell in a mount namespace of its own. The namespace goes when the shell does.
struct Mount {
    shell: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    /// The shell has a user namespace as well.
    as_user: bool,
}

impl SmallDisk {
    /// Method by which disks are made small here.
    pub(super) fn kind() -> Result<&'static str> {
        let disk = Self::new(1 << 20)?;
        Ok(if disk.mount.is_some() { "tmpfs" } else { "RLIMIT_FSIZE" })
    }

    pub(super) fn new(bytes: u64) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let mount =
            [false, true].into_iter().find_map(|as_user| Mount::new(folder.path(), bytes, as_user).ok());
        Ok(Self { folder, mount, largest: Cell::new(None) })
    }

    /// Where it is, seen from here.
    pub(super) fn folder(&self) -> PathBuf {
        match &self.mount {
            None => self.folder.path().to_owned(),
            Some(mount) => {
                let inside = self.folder.path().strip_prefix("/").unwrap_or(self.folder.path());
                Path::new("/proc").join(mount.shell.id().to_string()).join("root").join(inside)
            }
        }
    }

    /// Leaves room for a part of what is to be written beside what is there.
    pub(super) fn limit(&self, there: &Tree, new: &Tree, part: f64) -> Result<()> {
        let of = |bytes: u64| (bytes.saturating_sub(1) as f64 * part) as u64;
        match &self.mount {
            // A page less than all of it at the most.
            Some(mount) => mount.resize(self.folder.path(), there.pages() + of(new.pages()) / PAGE * PAGE),
            None => {
                self.largest.set(Some(of(new.largest())));
                Ok(())
            }
        }
    }

    /// Takes the limit away.
    pub(super) fn lift(&self, bytes: u64) -> Result<()> {
        self.largest.set(None);
        self.mount.as_ref().map_or(Ok(()), |mount| mount.resize(self.folder.path(), bytes))
    }

    /// The command, on this disk.
    pub(super) fn program(&self, narrows: &Program) -> Program {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        match (&self.mount, self.largest.get()) {
            (Some(mount), _) => {
                let mut starter = words(&["nsenter", "--mount", "--target", &mount.shell.id().to_string()]);
                if mount.as_user {
                    starter.extend(words(&["--user", "--preserve-credentials"]));
                }
                // The shell's: a name would be looked up outside.
                starter.extend(words(&["--wd", "--"]));
                narrows.through(starter)
            }
            (None, Some(largest)) => {
                // The signal would end the command before it can say anything.
                let script = format!("trap '' XFSZ; ulimit -f {}; exec \"$0\" \"$@\"", largest / BLOCK);
                narrows.through(words(&["sh", "-c", &script]))
            }
            (None, None) => narrows.clone(),
        }
    }
}

impl Mount {
    fn new(folder: &Path, bytes: u64, as_user: bool) -> Result<Self> {
        let mut command = Command::new("unshare");
        command.args(["--mount", "--propagation", "private"]);
        if as_user {
            command.arg("--map-root-user");
        }
        command.arg("sh").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut shell = command.spawn().context("unshare does not run")?;
        let input = shell.stdin.take();
        let output = BufReader::new(shell.stdout.take().context("no output")?);
        let mut mount = Self { shell, input, output, as_user };
        mount.say(&format!(
            "mount -t tmpfs -o size={bytes} tmpfs '{0}' && cd '{0}' && echo done || echo failed",
            folder.display()
        ))?;
        mount.hear()?;
        Ok(mount)
    }

    fn say(&mut self, line: &str) -> Result<()> {
        let input = self.input.as_mut().context("the shell is gone")?;
        writeln!(input, "{line}")?;
        Ok(input.flush()?)
    }

    fn hear(&mut self) -> Result<()> {
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        if line.trim() == "done" { Ok(()) } else { bail!("nothing can be mounted here") }
    }

    /// Gives the file system another size.
    fn resize(&self, folder: &Path, bytes: u64) -> Result<()> {
        let mut command = Command::new("nsenter");
        command.args(["--mount", "--target", &self.shell.id().to_string()]);
        if self.as_user {
            command.args(["--user", "--preserve-credentials"]);
        }
        command.args(["--", "mount", "-o", &format!("remount,size={bytes}")]).arg(folder);
        let output = command.output().context("nsenter does not run")?;
        if !output.status.success() {
            bail!("the disk has no size of {bytes} B: {}", String::from_utf8_lossy(&output.stderr));
        }
        Ok(())
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        // Without input the shell ends, and the file system with it.
        drop(self.input.take());
        let _ = self.shell.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_disk_has_room_for_so_much_and_no_more() {
        let disk = SmallDisk::new(8 * 4096).expect("a disk");
        if disk.mount.is_none() {
            eprintln!("skipped: nothing can be mounted here");
            return;
        }
        let file = disk.folder().join("file");
        std::fs::write(&file, vec![0; 4 * 4096]).expect("room");
        std::fs::write(&file, vec![0; 16 * 4096]).expect_err("no room");
        disk.lift(1 << 20).expect("more room");
        std::fs::write(&file, vec![0; 16 * 4096]).expect("room");
        let outside = disk.folder.path().to_owned();
        assert!(!outside.join("file").exists(), "others do not see it");
    }
}
