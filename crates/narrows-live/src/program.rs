//! Programs of the user on real hosts, for the time of a run.
//!
//! A program has the network of its host, and processes, `/proc` and `/etc/hosts` of its own, which knows the hosts of the scenario by
//! their names. Its processes end with the first of them, and that with the run, whatever ends it. Everything else is that of the machine.

use std::fs::{self, File};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::Receiver;
use std::thread;
use std::time::{Duration, Instant};

use narrows::addresses::address_of;
use narrows::diagnostic::{Code, Diagnostic};
use narrows::plan::Plan;
use narrows::results::RealProgram;
use narrows_sim::HostId;
use rustix::mount::{
    MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_bind, mount_change, unmount,
};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetpgrp, tcsetattr, tcsetpgrp};

use crate::host::RealHost;
use crate::sys;

/// A program ends by itself within this time after it is asked to, or is ended.
const PATIENCE: Duration = Duration::from_secs(1);

/// Time between two looks at a program.
const NAP: Duration = Duration::from_millis(10);

const NAMES: &str = "/etc/hosts";

/// A program of the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Name of its host.
    pub host: String,
    /// A line for `sh`; none stands for a shell at the terminal.
    pub command: Option<String>,
}

impl Program {
    /// The host of each. Errors are those of users.
    pub(crate) fn hosts(plan: &Plan, programs: &[Self], errors: &mut Vec<Diagnostic>) -> Vec<HostId> {
        let topology = &plan.network.topology;
        let all = (0..topology.hosts().len()).map(|host| HostId(host as u32));
        let names: Vec<_> = all.map(|host| (topology.host_name(host), host)).collect();
        let mut found = Vec::new();
        for program in programs {
            match names.iter().find(|(name, _)| *name == program.host) {
                Some((_, host)) => found.push(*host),
                None => {
                    let message = format!("{program}: the network has no host \"{}\"", program.host);
                    let known = names.iter().map(|(name, _)| *name);
                    errors.push(Diagnostic::error(Code::UnknownName, message).known(&program.host, known));
                }
            }
            errors.extend(program.is_missing());
        }
        found
    }

    /// Its first word is no program.
    fn is_missing(&self) -> Option<Diagnostic> {
        let word = self.command.as_ref()?.split_whitespace().next().unwrap_or_default();
        // The shell knows more than names of programs.
        if word.contains(|sign: char| "=(){}$`'\"\\|&;<>*?[#".contains(sign)) {
            return None;
        }
        let script = ["-c", "command -v \"$1\"", "sh", word];
        let looked = Command::new("/bin/sh").args(script).stdin(Stdio::null()).stdout(Stdio::null()).status();
        if looked.is_ok_and(|status| status.success()) {
            return None;
        }
        let message = format!("{self}: there is no program \"{word}\" on this machine");
        let help = "install it, or write where it is: --run 'HOST: /path/to/it'";
        Some(Diagnostic::error(Code::NoLiveMachine, message).help(help))
    }

    fn command(&self, output: Option<File>) -> io::Result<Command> {
        let Some(line) = &self.command else {
            let shell = std::env::var_os("SHELL").unwrap_or_else(|| "/bin/sh".into());
            return Ok(Command::new(shell));
        };
        let mut command = Command::new("/bin/sh");
        command.args(["-c", line]).stdin(Stdio::null());
        match output {
            Some(file) => command.stdout(file.try_clone()?).stderr(file),
            None => command.stdout(Stdio::null()).stderr(Stdio::null()),
        };
        // Ctrl-C ends the run, and the run its programs.
        command.process_group(0);
        Ok(command)
    }
}

/// The option that it comes from.
impl std::fmt::Display for Program {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.command {
            Some(command) => write!(f, "--run \"{}: {command}\"", self.host),
            None => write!(f, "--shell {}", self.host),
        }
    }
}

/// Lines of `/etc/hosts` for these hosts. A name with a folder, `rack0/host1`, is `rack0-host1` as well.
pub(crate) fn names(plan: &Plan, hosts: &[RealHost]) -> String {
    let line = |host: &RealHost| {
        let name = plan.network.topology.host_name(host.id);
        let plain = name.replace('/', "-");
        let other = if plain == name { "" } else { name };
        format!("{} {plain} {other}\n", address_of(host.id.0))
    };
    hosts.iter().map(line).collect()
}

/// Programs of a run, as those see them who need not know more.
#[derive(Debug, Default)]
pub(crate) struct Programs {
    /// Those that have not ended.
    running: AtomicUsize,
    /// The shell at the terminal was left.
    left: AtomicBool,
}

/// A program that waits for the run to begin.
pub(crate) struct Waiting<'a> {
    pub(crate) program: &'a Program,
    pub(crate) host: &'a RealHost,
    /// See [`names`].
    pub(crate) names: &'a str,
    /// Where it prints to; none for a shell.
    pub(crate) output: Option<File>,
}

impl Programs {
    /// There are so many.
    pub(crate) fn begin(&self, programs: usize) {
        self.running.store(programs, Ordering::Relaxed);
    }

    /// All have ended.
    pub(crate) fn are_over(&self) -> bool {
        self.running.load(Ordering::Relaxed) == 0
    }

    /// Who sat at the terminal has left.
    pub(crate) fn are_left(&self) -> bool {
        self.left.load(Ordering::Relaxed)
    }
}

impl Waiting<'_> {
    /// Runs it, from when `begin` says so, on this thread, which is good for nothing else then, until it ends or `goes_on` says no.
    pub(crate) fn run(
        self,
        begin: &Receiver<()>,
        programs: &Programs,
        goes_on: &dyn Fn() -> bool,
    ) -> io::Result<RealProgram> {
        let Program { host, command } = self.program.clone();
        let end = self.run_here(begin, goes_on);
        programs.running.fetch_sub(1, Ordering::Relaxed);
        programs.left.fetch_or(command.is_none(), Ordering::Relaxed);
        Ok(RealProgram { host, command, end: end? })
    }

    fn run_here(self, begin: &Receiver<()>, goes_on: &dyn Fn() -> bool) -> io::Result<String> {
        self.host.enter()?;
        sys::leave_processes()?;
        name_hosts(self.names)?;
        let mut command = self.program.command(self.output)?;
        sys::end_with_us(&mut command)?;
        if begin.recv().is_err() {
            return Ok("not begun".to_owned());
        }
        let is_shell = self.program.command.is_none();
        let _terminal = if is_shell { Terminal::keep() } else { None };
        let mut child = command.spawn()?;
        while goes_on() {
            if let Some(status) = child.try_wait()? {
                return Ok(status.to_string());
            }
            thread::sleep(NAP);
        }
        end(&mut child, is_shell)?;
        Ok("ended with the run".to_owned())
    }
}

/// Asks a program to end, and ends it if it does not.
fn end(child: &mut Child, is_shell: bool) -> io::Result<()> {
    let asked = Instant::now();
    if let Some(pid) = Pid::from_raw(child.id().cast_signed()) {
        // Programs that measure print what they have when they are interrupted; shells take no notice.
        let _ = match is_shell {
            true => kill_process(pid, Signal::HUP),
            false => kill_process_group(pid, Signal::INT),
        };
    }
    while asked.elapsed() < PATIENCE {
        if child.try_wait()?.is_some() {
            return Ok(());
        }
        thread::sleep(NAP);
    }
    child.kill()?;
    child.wait().map(drop)
}

/// Puts lines before those of `/etc/hosts`, for the programs of this thread alone.
fn name_hosts(lines: &str) -> io::Result<()> {
    let Ok(known) = fs::read_to_string(NAMES) else { return Ok(()) };
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
    // Nobody else sees what is mounted from here on. The file outlives the folder that it is made in.
    let folder = Path::new("/proc");
    mount("tmpfs", folder, "tmpfs", MountFlags::empty(), None)?;
    let file = folder.join("hosts");
    fs::write(&file, format!("{lines}{known}"))?;
    mount_bind(&file, NAMES)?;
    Ok(unmount(folder, UnmountFlags::DETACH)?)
}

/// The terminal, which is given back as it was.
struct Terminal {
    modes: Termios,
    owner: Pid,
}

impl Terminal {
    fn keep() -> Option<Self> {
        let terminal = io::stdin();
        Some(Self { modes: tcgetattr(&terminal).ok()?, owner: tcgetpgrp(&terminal).ok()? })
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // Who is not in front may not bring itself there, unless it ignores what it gets for that.
        sys::ignore_terminal_stops();
        let terminal = io::stdin();
        let _ = tcsetpgrp(&terminal, self.owner);
        let _ = tcsetattr(&terminal, OptionalActions::Now, &self.modes);
    }
}

/// A program cannot be run.
pub(crate) fn failed(error: &io::Error) -> Diagnostic {
    Diagnostic::error(Code::NoLiveMachine, format!("programs of real hosts cannot be run: {error}"))
}
