//! The scoreboard of papers, in README.md and for `narrows repro --list`: what claims make of what was measured.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::{Map, Value, json};
use xshell::Shell;

use crate::judged::{FOLDER, Judged, papers};
use crate::target;

const README: &str = "README.md";
/// Part of the command.
const LIST: &str = "crates/narrows/repro/scoreboard.json";
const BEGIN: &str = "<!-- scoreboard: cargo xtask scoreboard -->\n";
const END: &str = "<!-- /scoreboard -->";
const VERDICTS: [&str; 6] = ["match", "calibrated", "shape", "explained", "open", "miss"];

/// Writes both.
pub(crate) fn run(shell: &Shell) -> Result<()> {
    write(shell, &target::narrows(shell, &["--release"])?)
}

/// Writes both, with a command that is built.
pub(crate) fn write(shell: &Shell, narrows: &Path) -> Result<()> {
    let scores = scores(shell, narrows)?;
    let text = shell.read_file(README)?;
    shell.write_file(README, replaced(&text, &table(&scores))?)?;
    shell.write_file(LIST, list(&scores))?;
    Ok(())
}

/// # Errors
/// If one of them says anything else than what was measured does.
pub(crate) fn check(shell: &Shell, narrows: &Path) -> Result<()> {
    let scores = scores(shell, narrows)?;
    let text = shell.read_file(README)?;
    let same = replaced(&text, &table(&scores))? == text && shell.read_file(LIST)? == list(&scores);
    ensure!(same, "the scoreboard is not that of {FOLDER}: cargo xtask scoreboard");
    Ok(())
}

fn replaced(text: &str, scoreboard: &str) -> Result<String> {
    let (before, rest) = text.split_once(BEGIN).with_context(|| format!("no {BEGIN:?} in {README}"))?;
    let (_, after) = rest.split_once(END).with_context(|| format!("no {END:?} in {README}"))?;
    Ok(format!("{before}{BEGIN}{scoreboard}{END}{after}"))
}

/// A paper and `claims.json` of what was measured for it; none if that does not fit what the paper says now.
type Score = (String, String, Option<Value>);

fn scores(shell: &Shell, narrows: &Path) -> Result<Vec<Score>> {
    let of = |paper: String| {
        let page = shell.read_file(format!("{FOLDER}/{paper}.md"))?;
        let title = page.lines().next().unwrap_or_default().trim_start_matches("# ").to_owned();
        let judged = Judged::again(shell, narrows, &paper).ok().map(|judged| judged.claims);
        Ok((paper, title, judged))
    };
    papers(shell, narrows)?.into_iter().map(of).collect()
}

/// Number of claims with one of these verdicts.
fn count(tally: &Value, verdicts: &[&str]) -> u64 {
    verdicts.iter().filter_map(|verdict| tally[verdict].as_u64()).sum()
}

fn table(scores: &[Score]) -> String {
    let mut table =
        "| paper | its claims | match | calibrated | shape | explained | open | miss | our own that hold |\n\
                     | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n"
            .to_owned();
    for (paper, title, judged) in scores {
        // Of some papers no claim counts: only the list of the command has them.
        if judged.as_ref().is_some_and(|judged| count(&judged["verdicts"], &VERDICTS) == 0) {
            continue;
        }
        let cells = judged.as_ref().map_or_else(
            || vec!["–".to_owned(); 8],
            |judged| {
                let (tally, own) = (&judged["verdicts"], &judged["own_verdicts"]);
                let mut cells = vec![count(tally, &VERDICTS).to_string()];
                cells.extend(VERDICTS.map(|verdict| count(tally, &[verdict]).to_string()));
                cells.push(match count(own, &VERDICTS) {
                    0 => "–".to_owned(),
                    all => format!("{} of {all}", count(own, &["match"])),
                });
                cells
            },
        );
        table += &format!("| [{title}]({FOLDER}/{paper}.md) | {} |\n", cells.join(" | "));
    }
    table
}

fn list(scores: &[Score]) -> String {
    let of = |(paper, _, judged): &Score| {
        let judged = judged.as_ref()?;
        let kept = json!({ "verdicts": judged["verdicts"], "own_verdicts": judged["own_verdicts"], "not_counted": judged["not_counted"] });
        Some((paper.clone(), kept))
    };
    let all: Map<_, _> = scores.iter().filter_map(of).collect();
    serde_json::to_string_pretty(&Value::Object(all)).unwrap_or_default() + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scores() -> [Score; 2] {
        let verdicts =
            json!({ "match": 5, "calibrated": 2, "shape": 1, "explained": 0, "open": 0, "miss": 1 });
        let judged = json!({ "verdicts": verdicts, "own_verdicts": { "match": 1, "miss": 2 }, "not_counted": 4, "other": 1 });
        [("a".into(), "A".into(), Some(judged)), ("b".into(), "B".into(), None)]
    }

    #[test]
    fn a_row_has_all_verdicts_and_what_was_not_judged_none() {
        let table = table(&scores());
        let rows: Vec<_> = table.lines().skip(2).collect();
        let expected = [
            "| [A](docs/reproductions/a.md) | 9 | 5 | 2 | 1 | 0 | 0 | 1 | 1 of 3 |",
            "| [B](docs/reproductions/b.md) | – | – | – | – | – | – | – | – |",
        ];
        assert_eq!(rows, expected);
    }

    #[test]
    fn a_paper_of_which_no_claim_counts_has_no_row() {
        let judged = json!({ "verdicts": { "match": 0 }, "own_verdicts": { "match": 3 }, "not_counted": 2 });
        let scores = [("a".into(), "A".into(), Some(judged))];
        assert_eq!(table(&scores).lines().skip(2).count(), 0);
        assert!(list(&scores).contains("\"a\""));
    }

    #[test]
    fn the_list_of_the_command_has_the_papers_that_were_judged() {
        let list: Value = serde_json::from_str(&list(&scores())).expect("it is JSON");
        assert_eq!((list["a"]["not_counted"].as_u64(), list.get("b")), (Some(4), None));
    }

    #[test]
    fn only_the_scoreboard_is_replaced() {
        let text = format!("a\n{BEGIN}old\n{END}\nb\n");
        assert_eq!(replaced(&text, "new\n").expect("it is there"), format!("a\n{BEGIN}new\n{END}\nb\n"));
        assert!(replaced("a", "new").is_err());
    }
}
