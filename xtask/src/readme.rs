//! Runs what README.md tells to type, and compares what it prints.

use std::path::Path;

use anyhow::{Context, Result, bail};
use snapbox::filter::{Filter, FilterNewlines, NormalizeToExpected};
use snapbox::{Data, IntoData, Redactions};
use xshell::Shell;

use crate::{scoreboard, target};

/// A command and the lines it should print.
struct Example {
    command: String,
    output: String,
}

/// Runs every command line (`$ …`) of the `console` blocks, in their order. `cargo` runs at the root of the project, anything
/// else in a fresh folder, where `narrows` is the release build. Shown output is compared; `...` stands for any lines, `[..]`
/// for anything within a line. The scoreboard of papers is what their claims make of what was measured. Commands of `cargo xtask` and pip are left out: continuous integration runs
/// them, or they take too long.
pub(crate) fn run(shell: &Shell) -> Result<()> {
    let root = shell.current_dir();
    let folder = tempfile::tempdir()?;
    let narrows = target::narrows(shell, &["--release"])?;
    scoreboard::check(shell, &narrows)?;
    let binaries = narrows.parent().context("the program is in a folder")?;
    let path = format!("{}:{}", binaries.display(), std::env::var("PATH").unwrap_or_default());
    for example in examples(&shell.read_file("README.md")?) {
        let elsewhere = ["cargo xtask", "git ", "pip "];
        if elsewhere.iter().any(|command| example.command.starts_with(command)) {
            continue;
        }
        let at = if example.command.starts_with("cargo ") { &root } else { folder.path() };
        check(&example, at, &path).with_context(|| format!("README.md: $ {}", example.command))?;
        eprintln!("as README.md says: $ {}", example.command);
    }
    Ok(())
}

fn check(example: &Example, folder: &Path, path: &str) -> Result<()> {
    let mut shell = std::process::Command::new("sh");
    let output = shell.args(["-c", &example.command]).current_dir(folder).env("PATH", path).output()?;
    let printed =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    if example.output.is_empty() {
        return if output.status.success() { Ok(()) } else { bail!("failed and printed:\n{printed}") };
    }
    let expected = Data::text(example.output.clone());
    let printed = FilterNewlines.filter(printed.into_data());
    let printed = NormalizeToExpected::new().redact_with(&Redactions::new()).normalize(printed, &expected);
    if printed != expected {
        bail!("printed\n{printed}\ninstead of\n{expected}");
    }
    Ok(())
}

fn examples(text: &str) -> Vec<Example> {
    let mut examples: Vec<Example> = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        match line.strip_prefix("```") {
            Some(language) => inside = !inside && language == "console",
            None if !inside => {}
            None => match (line.strip_prefix("$ "), examples.last_mut()) {
                (Some(command), _) => {
                    examples.push(Example { command: command.into(), output: String::new() });
                }
                (None, Some(last)) => last.output += &format!("{line}\n"),
                (None, None) => {}
            },
        }
    }
    examples
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_and_their_output_are_found_in_console_blocks_only() {
        let found = examples("```console\n$ a b\nx\n\ny\n$ c\n```\n$ d\n```toml\n$ e\n```\n");
        let found: Vec<_> =
            found.iter().map(|example| (example.command.as_str(), example.output.as_str())).collect();
        assert_eq!(found, [("a b", "x\n\ny\n"), ("c", "")]);
    }
}
