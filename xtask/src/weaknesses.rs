//! Searches for weaknesses of all controls, with the release build of the command: docs/weaknesses.md and its scenarios.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use serde_json::Value;
use xshell::{Shell, cmd};

use crate::target;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Only these controls; the page stays as it is
    controls: Vec<String>,
    /// Paths to try for each control and objective
    #[arg(long, default_value_t = 20_000, value_name = "N")]
    evaluations: u32,
    /// The seed of all searches
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,
    /// Use this program instead of building one
    #[arg(long, value_name = "FILE")]
    narrows: Option<PathBuf>,
}

const PAGE: &str = "docs/weaknesses.md";
/// The worst case of each search.
const SCENARIOS: &str = "docs/weaknesses";
/// Folders of searches, which resume.
const OUT: &str = "out/weaknesses";
const OBJECTIVES: [&str; 4] = ["starve", "fill", "lose", "unfair"];
/// A constant window is no control.
const LEFT_OUT: &str = "fixed";
/// The command refused its input.
const REFUSED: i32 = 2;

/// Searches what is not there yet, and writes the page.
pub(crate) fn run(shell: &Shell, arguments: &Arguments) -> Result<()> {
    let build = || target::narrows(shell, &["--release"]);
    let narrows = arguments.narrows.clone().map_or_else(build, Ok)?;
    let mut searches = Vec::new();
    let mut refused = Vec::new();
    for control in controls(shell, &narrows)? {
        if control == LEFT_OUT || !(arguments.controls.is_empty() || arguments.controls.contains(&control)) {
            continue;
        }
        for objective in OBJECTIVES {
            match search(shell, &narrows, [&control, objective], arguments)? {
                Ok(found) => searches.push((control.clone(), objective, found)),
                Err(reason) => {
                    refused.push((control.clone(), reason));
                    break;
                }
            }
        }
    }
    if !arguments.controls.is_empty() {
        return Ok(());
    }
    let engines: BTreeSet<_> = searches.iter().map(|(_, _, found)| found["engine"].as_str()).collect();
    ensure!(engines.len() <= 1, "searches by several engines: remove {OUT}");
    shell.remove_path(SCENARIOS)?;
    shell.create_dir(SCENARIOS)?;
    for (control, objective, found) in &searches {
        if let Some((number, _)) = worst(found) {
            let from = out(control, objective, arguments).join(format!("worst/{}.toml", number + 1));
            shell.copy_file(from, scenario(control, objective))?;
        }
    }
    shell.write_file(PAGE, page(&searches, &refused, arguments))?;
    Ok(())
}

fn controls(shell: &Shell, narrows: &Path) -> Result<Vec<String>> {
    let listed: Value = serde_json::from_str(&cmd!(shell, "{narrows} list controls --json").read()?)?;
    let listed = listed["controls"].as_array().context("no list of controls")?;
    let name =
        |control: &Value| control["name"].as_str().map(str::to_owned).context("a control without a name");
    listed.iter().map(name).collect()
}

fn out(control: &str, objective: &str, arguments: &Arguments) -> PathBuf {
    Path::new(OUT).join(format!("{control}-{objective}-{}", arguments.seed))
}

fn scenario(control: &str, objective: &str) -> String {
    format!("{SCENARIOS}/{control}-{objective}.toml")
}

/// The outcome of a search, or why the control cannot be searched.
fn search(
    shell: &Shell,
    narrows: &Path,
    [control, objective]: [&str; 2],
    arguments: &Arguments,
) -> Result<Result<Value, String>> {
    let out = out(control, objective, arguments);
    if let Some(found) = there(shell, &out, arguments)? {
        return Ok(Ok(found));
    }
    let Arguments { evaluations, seed, .. } = arguments;
    let (evaluations, seed) = (evaluations.to_string(), seed.to_string());
    let searching = cmd!(
        shell,
        "{narrows} break {control} --objective {objective} --evaluations {evaluations} --seed {seed} --out {out} --json --quiet"
    );
    let output = searching.quiet().ignore_status().output()?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    match output.status.code() {
        Some(0) => {
            eprintln!("searched: {control}, {objective}");
            Ok(Ok(serde_json::from_slice(&output.stdout)?))
        }
        // What it cannot search it says in one line behind its sign.
        Some(REFUSED) if said.contains(": paths of the search") || said.contains("no control by itself") => {
            let line = said.lines().find(|line| line.contains('×')).unwrap_or_default();
            Ok(Err(line.trim_start_matches([' ', '×']).trim().to_owned()))
        }
        _ => bail!("{control}, {objective}: {}", said.trim()),
    }
}

/// The outcome of an earlier search of as many paths; the command itself would make the worst cases simple once more.
fn there(shell: &Shell, out: &Path, arguments: &Arguments) -> Result<Option<Value>> {
    let summary = out.join("summary.json");
    if !shell.path_exists(&summary) {
        return Ok(None);
    }
    let found: Value = serde_json::from_str(&shell.read_file(summary)?)?;
    Ok((found["evaluations"] == arguments.evaluations).then_some(found))
}

/// The case that is worst with most seeds, and its place: one path may have a high score with one seed by luck.
fn worst(found: &Value) -> Option<(usize, &Value)> {
    let median = |case: &Value| {
        let mut scores = other_seeds(case);
        scores.extend(case["score"].as_f64());
        scores.sort_by(f64::total_cmp);
        scores.get(scores.len() / 2).copied().unwrap_or_default()
    };
    let cases = found["cases"].as_array().map_or(&[][..], Vec::as_slice).iter().enumerate();
    // Of equals the first, which was worse in the search.
    cases.rev().max_by(|(_, one), (_, other)| median(one).total_cmp(&median(other)))
}

fn other_seeds(case: &Value) -> Vec<f64> {
    case["other_seeds"].as_array().into_iter().flatten().filter_map(Value::as_f64).collect()
}

fn page(
    searches: &[(String, &'static str, Value)],
    refused: &[(String, String)],
    Arguments { evaluations, seed, .. }: &Arguments,
) -> String {
    let engine = searches.first().and_then(|(_, _, found)| found["engine"].as_str()).unwrap_or_default();
    let mut page = format!(
        "# Weaknesses\n\n\
         Paths on which a control does badly though another in its place does well, found by `narrows break`\n\
         ([Break a control](guide/break-a-control.md)). Each search tried {evaluations} paths with seed {seed}: a search of more finds worse. Made by\n\
         `cargo xtask break --evaluations {evaluations} --seed {seed}` with narrows {engine}; do not edit.\n\n\
         The score of a path is the badness of the control less that of the best other control that delivers at least 80 % as much there; both\n\
         are from 0, as good as for somebody who knows the path beforehand, to 1. Shown is the worst path of each search, by the median\n\
         over five seeds, after it was made simple, with the lowest and highest score with four other seeds. `narrows run` takes the\n\
         scenarios. All controls have their default settings, which for DCTCP, GEMINI, Swift, theta-PowerTCP and Uno are those of\n\
         a data center. The last two have windows as large as their own link fills, and losses change neither.\n"
    );
    for objective in OBJECTIVES {
        let of: Vec<_> = searches.iter().filter(|(_, other, _)| *other == objective).collect();
        let meaning = of.first().and_then(|(_, _, found)| found["meaning"].as_str()).unwrap_or_default();
        let _ = write!(
            page,
            "\n## {objective}\n\nBadness: {meaning}.\n\n\
             | control | score | other seeds | badness | best in its place | path |\n| --- | --- | --- | --- | --- | --- |\n"
        );
        for (control, _, found) in of {
            page += &row(control, objective, found);
        }
    }
    if !refused.is_empty() {
        page += "\n## Not searched\n\n";
        refused.iter().for_each(|(_, reason)| _ = writeln!(page, "- {reason}"));
    }
    page
}

fn row(control: &str, objective: &str, found: &Value) -> String {
    let Some((_, case)) = worst(found) else {
        return format!("| {control} | – | – | – | – | nothing was found |\n");
    };
    let number = |value: &Value| format!("{:.3}", value.as_f64().unwrap_or_default());
    let seeds = other_seeds(case).into_iter();
    let (least, most) =
        seeds.fold((1.0, 0.0), |(least, most), score| (f64::min(least, score), f64::max(most, score)));
    let references = case["references"].as_array().into_iter().flatten();
    let best = references.filter(|reference| reference["delivers"] == true).min_by(|one, other| {
        let badness = |reference: &Value| reference["badness"].as_f64().unwrap_or_default();
        badness(one).total_cmp(&badness(other))
    });
    let best = best.map_or_else(String::new, |best| {
        format!("{} {}", best["control"].as_str().unwrap_or_default(), number(&best["badness"]))
    });
    let [score, badness] = ["score", "badness"].map(|key| number(&case[key]));
    let path = case["path"].as_str().unwrap_or_default();
    let scenario = format!("weaknesses/{control}-{objective}.toml");
    format!("| {control} | {score} | {least:.3} to {most:.3} | {badness} | {best} | [{path}]({scenario}) |\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_row_has_the_worst_case_and_the_best_control_that_delivers() {
        let reference = |control, badness, delivers| json!({ "control": control, "badness": badness, "delivers": delivers });
        let references =
            [reference("copa", 0.01, false), reference("bbr", 0.1, true), reference("reno", 0.3, true)];
        let case = json!({
            "path": "10 Mb/s", "score": 0.5, "badness": 0.6, "other_seeds": [0.4, 0.55], "references": references,
        });
        let lucky = json!({ "path": "9 Mb/s", "score": 0.6, "badness": 0.6, "other_seeds": [0.0, 0.1] });
        let expected =
            "| x | 0.500 | 0.400 to 0.550 | 0.600 | bbr 0.100 | [10 Mb/s](weaknesses/x-fill.toml) |\n";
        assert_eq!(row("x", "fill", &json!({ "cases": [lucky, case] })), expected);
        assert_eq!(row("x", "fill", &json!({ "cases": [] })), "| x | – | – | – | – | nothing was found |\n");
    }
}
