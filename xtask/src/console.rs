//! Follows a page from top to bottom: writes the files it shows, runs the commands it shows, and compares what that prints.

use std::path::Path;

use anyhow::{Context, Result, bail};
use snapbox::filter::{Filter, FilterNewlines, NormalizeToExpected};
use snapbox::{Data, IntoData, Redactions};
use xshell::{Shell, cmd};

/// Steps of a reader.
#[derive(Debug, PartialEq, Eq)]
enum Step {
    /// Saves a block under the name that its first line has: `# NAME`.
    Save { name: String, text: String },
    /// Types a command, and sees these lines.
    Type { command: String, output: String },
}

/// Stands in front of a block that is not followed, with the reason.
const NOT_RUN: &str = "<!-- not run";

/// Does what the page `name` of the project says, in a fresh folder where `narrows` is this program and `examples` that of the
/// project. Commands are the lines `$ …` of `console` blocks, with lines `> …` that continue them; `cargo` runs at the root of the project. Shown
/// output is compared but for how many spaces there are; `...` stands for any lines, `[..]` for anything within a line. Commands of `cargo xtask`, git and pip are left
/// out, and blocks behind a comment that begins with `not run`: continuous integration runs them elsewhere, they take too long, or they
/// need what is not there.
pub(crate) fn follow(shell: &Shell, narrows: &Path, name: &str) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let place = folder.path();
    cmd!(shell, "cp -r examples {place}").quiet().run()?;
    let binaries = narrows.parent().context("the program is in a folder")?;
    let path = format!("{}:{}", binaries.display(), std::env::var("PATH").unwrap_or_default());
    for step in steps(&shell.read_file(name)?) {
        match step {
            Step::Save { name, text } => shell.write_file(place.join(name), text)?,
            Step::Type { command, output } => {
                let is_left_out = |other: &&str| command.starts_with(*other);
                if ["cargo xtask", "git ", "pip "].iter().any(is_left_out) {
                    continue;
                }
                let root = shell.current_dir();
                let at = if command.starts_with("cargo ") { &root } else { place };
                check(shell, &command, &output, at, &path).with_context(|| format!("{name}: $ {command}"))?;
                eprintln!("as {name} says: $ {command}");
            }
        }
    }
    Ok(())
}

/// The command has the settings of this shell: with others, cargo would build everything once more.
fn check(shell: &Shell, command: &str, output: &str, folder: &Path, path: &str) -> Result<()> {
    let _there = shell.push_dir(folder);
    let ended = cmd!(shell, "sh -c {command}").env("PATH", path).quiet().ignore_status().output()?;
    let printed =
        String::from_utf8_lossy(&ended.stdout).into_owned() + &String::from_utf8_lossy(&ended.stderr);
    if output.is_empty() {
        return if ended.status.success() { Ok(()) } else { bail!("failed and printed:\n{printed}") };
    }
    // Pages may set the columns of a wide table closer.
    let expected = Data::text(closer(output));
    let printed = closer(&printed);
    let printed = FilterNewlines.filter(printed.into_data());
    let printed = NormalizeToExpected::new().redact_with(&Redactions::new()).normalize(printed, &expected);
    if printed != expected {
        bail!("printed\n{printed}\ninstead of\n{expected}");
    }
    Ok(())
}

/// A text with one space in place of several.
fn closer(text: &str) -> String {
    let mut last = '\n';
    text.chars().filter(|c| std::mem::replace(&mut last, *c) != ' ' || *c != ' ').collect()
}

fn steps(page: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    let (mut lines, mut is_run) = (page.lines(), true);
    while let Some(line) = lines.next() {
        if let Some(language) = line.strip_prefix("```") {
            let block: Vec<_> = lines.by_ref().take_while(|line| !line.starts_with("```")).collect();
            match language {
                _ if !is_run => {}
                "console" => steps.extend(commands(&block)),
                _ => steps.extend(file(&block)),
            }
        }
        if !line.is_empty() {
            is_run = !line.starts_with(NOT_RUN);
        }
    }
    steps
}

fn commands(block: &[&str]) -> Vec<Step> {
    let mut found: Vec<(String, String)> = Vec::new();
    for line in block {
        match (line.strip_prefix("$ "), line.strip_prefix("> "), found.last_mut()) {
            (Some(command), _, _) => found.push((command.into(), String::new())),
            (None, Some(more), Some((command, output))) if output.is_empty() => {
                *command += &format!("\n{more}");
            }
            (None, _, Some((_, output))) => *output += &format!("{line}\n"),
            (None, _, None) => {}
        }
    }
    found.into_iter().map(|(command, output)| Step::Type { command, output }).collect()
}

/// The file that a block shows, if its first line, or the one behind `#!`, is a comment of one word with a dot in it.
fn file(block: &[&str]) -> Option<Step> {
    let first = block.iter().find(|line| !line.starts_with("#!"))?;
    let name = first.strip_prefix("# ").filter(|name| name.contains('.') && !name.contains(' '))?;
    Some(Step::Save { name: name.into(), text: block.iter().map(|line| format!("{line}\n")).collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(command: &str, output: &str) -> Step {
        Step::Type { command: command.into(), output: output.into() }
    }

    #[test]
    fn commands_and_their_output_are_found_in_console_blocks_only() {
        let found = steps("```console\n$ a b\nx\n\ny\n$ c\n```\n$ d\n```toml\n$ e\n```\n");
        assert_eq!(found, [typed("a b", "x\n\ny\n"), typed("c", "")]);
    }

    #[test]
    fn the_number_of_spaces_does_not_count() {
        assert_eq!(closer("  a   b\n  c d"), " a b\n c d");
    }

    #[test]
    fn a_command_may_have_several_lines() {
        let found = steps("```console\n$ a \\\n>   b\nx\n> y\n```\n");
        assert_eq!(found, [typed("a \\\n  b", "x\n> y\n")]);
    }

    #[test]
    fn a_block_that_begins_with_its_name_is_a_file() {
        let saved = |name: &str, text: &str| Step::Save { name: name.into(), text: text.into() };
        let found =
            steps("```toml\n# a.toml\nx = 1\n```\n```toml\n# Says a.b\n```\n```sh\n#!/bin/sh\n# b.sh\n```\n");
        assert_eq!(found, [saved("a.toml", "# a.toml\nx = 1\n"), saved("b.sh", "#!/bin/sh\n# b.sh\n")]);
    }

    #[test]
    fn a_block_behind_a_comment_is_not_run_and_the_next_one_is() {
        let found = steps("<!-- not run: long -->\n\n```console\n$ a\n```\n```console\n$ b\n```\n");
        assert_eq!(found, [typed("b", "")]);
    }
}
