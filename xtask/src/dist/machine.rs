//! Machines that files are built for.

use std::path::Path;

use anyhow::Result;
use xshell::{Shell, cmd};

use crate::installed::is_installed;

/// A target of the Rust compiler.
#[derive(Debug)]
pub(super) struct Machine {
    pub(super) target: &'static str,
}

/// All of them.
pub(super) const MACHINES: [Machine; 2] =
    [Machine { target: "x86_64-unknown-linux-gnu" }, Machine { target: "aarch64-unknown-linux-gnu" }];

impl Machine {
    /// The first part of the target, as uname, wheels and qemu say it.
    pub(super) fn architecture(&self) -> &'static str {
        self.target.split('-').next().unwrap_or(self.target)
    }

    /// Whether this is such a machine.
    pub(super) fn is_this(&self) -> bool {
        self.architecture() == std::env::consts::ARCH
    }

    /// The name of a variable that cargo reads for this target only.
    pub(super) fn variable(&self, setting: &str) -> String {
        format!("CARGO_TARGET_{}_{setting}", self.target.to_uppercase().replace('-', "_"))
    }

    /// The linker of another machine's programs; cargo knows this one's.
    pub(super) fn linker(&self) -> Option<String> {
        (!self.is_this()).then(|| format!("{}-linux-gnu-gcc", self.architecture()))
    }

    /// Why nothing can be built for this target, and what helps.
    pub(super) fn missing(&self, shell: &Shell) -> Result<Option<String>> {
        let (target, architecture) = (self.target, self.architecture());
        let sysroot = cmd!(shell, "rustc --print sysroot").quiet().read()?;
        if !Path::new(&sysroot).join("lib/rustlib").join(target).join("lib").exists() {
            return Ok(Some(format!("its standard library is missing: rustup target add {target}")));
        }
        let Some(linker) = self.linker() else { return Ok(None) };
        let found = is_installed(shell, &linker);
        let package = architecture.replace('_', "-");
        Ok((!found)
            .then(|| format!("its linker {linker} is missing: apt-get install gcc-{package}-linux-gnu")))
    }

    /// Command that runs programs for this machine: empty on such a machine, qemu elsewhere. None if there is no qemu.
    pub(super) fn runner(&self, shell: &Shell) -> Option<Vec<String>> {
        if self.is_this() {
            return Some(Vec::new());
        }
        let names = ["", "-static"].map(|end| format!("qemu-{}{end}", self.architecture()));
        names.into_iter().find(|name| is_installed(shell, name)).map(|name| vec![name])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cargo_reads_variables_of_a_target_in_capitals() {
        let machine = Machine { target: "aarch64-unknown-linux-gnu" };
        assert_eq!(machine.variable("LINKER"), "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER");
    }

    #[test]
    fn one_machine_at_most_is_this_one() {
        assert!(MACHINES.iter().filter(|machine| machine.is_this()).count() <= 1);
    }
}
