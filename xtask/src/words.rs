//! Holds every text of the project to the words of docs/terms.md.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use xshell::{Shell, cmd};

const TERMS: &str = "docs/terms.md";
/// Texts that people read, and sources, which they read too.
const KINDS: &[&str] =
    &["rs", "md", "toml", "js", "html", "py", "pyi", "ipynb", "trycmd", "snap", "tex", "lua"];

/// # Errors
/// If a text has a word that is out; all of them are listed.
pub(crate) fn run(shell: &Shell) -> Result<()> {
    let out = words_out(&shell.read_file(TERMS)?)?;
    let files = cmd!(shell, "git ls-files --cached --others --exclude-standard").read()?;
    let is_text = |path: &&str| {
        Path::new(path).extension().is_some_and(|kind| KINDS.iter().any(|known| kind == *known))
    };
    let mut found = Vec::new();
    for path in files.lines().filter(is_text).filter(|path| *path != TERMS && shell.path_exists(path)) {
        let text = shell.read_file(path)?;
        for (number, line) in text.lines().enumerate() {
            let here = out.iter().filter(|word| has(line, word)).map(String::as_str).chain(question(line));
            found.extend(here.map(|word| format!("{path}:{}: \"{word}\"", number + 1)));
        }
    }
    ensure!(found.is_empty(), "{TERMS} has other words for these:\n{}", found.join("\n"));
    Ok(())
}

/// Words between back-ticks in the last column of the table, and in the line on spelling.
fn words_out(terms: &str) -> Result<Vec<String>> {
    let last = |line: &str| {
        line.strip_suffix('|').and_then(|line| line.rsplit_once('|')).map(|(_, last)| last.to_owned())
    };
    let of_table = terms.lines().filter(|line| line.starts_with('|')).filter_map(last);
    let spelling =
        terms.lines().find(|line| line.starts_with("American spelling")).context("no line on spelling")?;
    let columns = of_table.chain([spelling.to_owned()]);
    let words: Vec<_> = columns
        .flat_map(|text| text.split('`').skip(1).step_by(2).map(str::to_lowercase).collect::<Vec<_>>())
        .collect();
    ensure!(!words.is_empty(), "{TERMS} names no word that is out");
    Ok(words)
}

/// The word that a line of documentation in Rust begins with, if that makes a question of it: "What it sends" are its packets.
fn question(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let documentation = line.strip_prefix("/// ").or_else(|| line.strip_prefix("//! "))?;
    documentation.split(' ').next().filter(|word| ["What", "How"].contains(word))
}

/// Whether a line has these words and not only longer ones, in any case of letters.
fn has(line: &str, words: &str) -> bool {
    let line = line.to_lowercase();
    let is_end = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric());
    line.match_indices(words).any(|(at, _)| {
        is_end(line[..at].chars().next_back()) && is_end(line[at + words.len()..].chars().next())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_column_and_the_line_on_spelling_say_what_is_out() {
        let terms =
            "| drop | `x` | RFC | `put off`, `lost` |\n| mark | | | |\nAmerican spelling: not `lilac`.\n";
        assert_eq!(words_out(terms).unwrap(), ["put off", "lost", "lilac"]);
        assert!(words_out("| drop | | | |\n").is_err());
    }

    #[test]
    fn documentation_names_things_and_asks_nothing() {
        assert_eq!(question("    /// What it sends."), Some("What"));
        assert_eq!(question("//! How a run ends."), Some("How"));
        assert_eq!(question("/// Packets: What it sends. Whatever"), None);
        assert_eq!(question("// What follows is code."), None);
    }

    #[test]
    fn words_are_found_whole_and_in_any_case() {
        assert!(has("It was Put Off.", "put off") && has("lilac", "lilac"));
        assert!(!has("put offer", "put off") && !has("input off", "put off"));
    }
}
