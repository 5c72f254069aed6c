//! Where cargo puts what it builds: wherever `CARGO_TARGET_DIR` or a configuration says.

use std::path::PathBuf;

use anyhow::{Context, Result};
use serde_json::Value;
use xshell::{Shell, cmd};

/// The folder of all that is built, and of what chores make on the way.
pub(crate) fn folder(shell: &Shell) -> Result<PathBuf> {
    let metadata = cmd!(shell, "cargo metadata --format-version 1 --no-deps --offline").quiet().read()?;
    let metadata: Value = serde_json::from_str(&metadata)?;
    let folder = metadata["target_directory"].as_str();
    folder.map(PathBuf::from).context("cargo metadata names no target_directory")
}

/// Builds the command `narrows`. Returns the program.
pub(crate) fn narrows(shell: &Shell, options: &[&str]) -> Result<PathBuf> {
    program(shell, &[&["build", "--bin", "narrows"], options].concat(), "bin", "narrows")
}

/// The command as the tests of the workspace use it, from the same build; of the tests only those of the command are built.
pub(crate) fn tested(shell: &Shell) -> Result<PathBuf> {
    program(shell, &["test", "--workspace", "--no-run", "--test", "cli"], "bin", "narrows")
}

/// An example, built with all packages: the features of their dependencies are those of the tests, so nothing is compiled once more.
pub(crate) fn example(shell: &Shell, name: &str) -> Result<PathBuf> {
    program(shell, &["build", "--workspace", "--example", name], "example", name)
}

/// Builds with `cargo`. Returns the program of this kind ("bin", "bench", "example") and name.
pub(crate) fn program(shell: &Shell, cargo: &[&str], kind: &str, name: &str) -> Result<PathBuf> {
    let messages = cmd!(shell, "cargo {cargo...} --quiet --message-format json").quiet().read()?;
    executable(&messages, kind, name).with_context(|| format!("cargo names no program {name}"))
}

fn executable(messages: &str, kind: &str, name: &str) -> Option<PathBuf> {
    messages.lines().find_map(|line| {
        let message: Value = serde_json::from_str(line).ok()?;
        let is_it = message["target"]["kind"][0] == kind && message["target"]["name"] == name;
        // The unit tests of a program have its name, too.
        let is_it = is_it && (kind != "bin" || message["profile"]["test"] != true);
        message["executable"].as_str().filter(|_| is_it).map(PathBuf::from)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_is_the_one_that_the_variable_names() {
        let shell = Shell::new().expect("a shell");
        shell.change_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
        let elsewhere = std::env::temp_dir().join("elsewhere");
        let _variable = shell.push_env("CARGO_TARGET_DIR", &elsewhere);
        assert_eq!(folder(&shell).expect("cargo answers"), elsewhere);
    }

    #[test]
    fn the_program_is_the_one_of_this_kind_and_name() {
        let message = |kind: &str, name: &str| {
            format!(r#"{{"target":{{"kind":["{kind}"],"name":"{name}"}},"executable":"/x/{kind}/{name}"}}"#)
        };
        let unit_tests = message("bin", "narrows").replacen('{', r#"{"profile":{"test":true},"#, 1);
        assert_eq!(executable(&unit_tests, "bin", "narrows"), None);
        let messages =
            [message("bin", "other"), message("test", "narrows"), message("bin", "narrows")].join("\n");
        assert_eq!(executable(&messages, "bin", "narrows"), Some("/x/bin/narrows".into()));
        assert_eq!(executable(&messages, "bench", "narrows"), None);
    }
}
