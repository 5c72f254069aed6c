//! Whether short forms of papers say what their pages say.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use xshell::{Shell, cmd};

use crate::judged::Judged;

/// Part of the claims of a short form that have to be as on the page, in percent.
const LEAST: usize = 90;

/// Runs short forms, and prints how many of their verdicts are those of the pages, as far as they can tell, and which are not. They have
/// few seeds and one set-up: that others might say otherwise (open) or explain a miss (explained) is for the page alone.
///
/// # Errors
/// If fewer agree than should.
pub(crate) fn run(shell: &Shell, narrows: &Path, papers: &[String]) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let mut wrong = Vec::new();
    for paper in papers {
        let out = folder.path().join(paper);
        let began = Instant::now();
        cmd!(shell, "{narrows} repro {paper} --quick --out {out}").quiet().ignore_stdout().run()?;
        let seconds = began.elapsed().as_secs();
        let short = verdicts(&serde_json::from_str(&shell.read_file(out.join("claims.json"))?)?)?;
        let page = verdicts(&Judged::again(shell, narrows, paper)?.claims)?;
        let others = others(&short, &page);
        let alike = short.len() - others.len();
        let same = short.iter().filter(|(id, verdict)| page.get(*id) == Some(verdict)).count();
        println!(
            "{paper}: {alike} of {} claims as on the page, {same} of them to the word, {seconds} s",
            short.len()
        );
        others.iter().for_each(|other| println!("  {other}"));
        if alike * 100 < LEAST * short.len() {
            wrong.push(paper.as_str());
        }
    }
    ensure!(wrong.is_empty(), "under {LEAST} %: {}", wrong.join(", "));
    Ok(())
}

/// Verdicts of claims by their ids.
fn verdicts(judged: &Value) -> Result<BTreeMap<String, String>> {
    let claims = judged["claims"].as_array().context("no list of claims")?;
    let text = |claim: &Value, key: &str| {
        claim[key].as_str().map(str::to_owned).with_context(|| format!("a claim without {key}"))
    };
    claims.iter().map(|claim| Ok((text(claim, "id")?, text(claim, "verdict")?))).collect()
}

/// A verdict as a few seeds of one set-up can tell it.
fn told(verdict: &str) -> &str {
    match verdict {
        "open" => "match",
        "explained" => "miss",
        told => told,
    }
}

/// Claims with another verdict than on the page.
fn others(short: &BTreeMap<String, String>, page: &BTreeMap<String, String>) -> Vec<String> {
    let other = |(id, verdict): (&String, &String)| {
        let there = page.get(id).map_or("nothing", String::as_str);
        (told(there) != told(verdict)).then(|| format!("{id}: {verdict}, on the page {there}"))
    };
    short.iter().filter_map(other).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn claims_with_another_verdict_than_on_the_page_are_told() {
        let judged = |list: &[(&str, &str)]| {
            let claims = list.iter().map(|(id, verdict)| json!({ "id": id, "verdict": verdict }));
            verdicts(&json!({ "claims": claims.collect::<Vec<_>>() })).unwrap()
        };
        let short = judged(&[("a", "match"), ("b", "miss"), ("c", "match"), ("d", "match"), ("e", "miss")]);
        let page =
            judged(&[("a", "match"), ("b", "open"), ("left-out", "miss"), ("d", "open"), ("e", "explained")]);
        let told = ["b: miss, on the page open", "c: match, on the page nothing"];
        assert_eq!(others(&short, &page), told);
        assert!(verdicts(&json!({ "claims": [{ "id": "a" }] })).is_err());
    }
}
