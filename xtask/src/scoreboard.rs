//! The scoreboard of papers in README.md: what the pages in docs/reproductions say of themselves.

use anyhow::{Context, Result, ensure};
use xshell::Shell;

const README: &str = "README.md";
const BEGIN: &str = "<!-- scoreboard: cargo xtask scoreboard -->\n";
const END: &str = "<!-- /scoreboard -->";

/// Writes the scoreboard into README.md.
pub(crate) fn write(shell: &Shell) -> Result<()> {
    let text = shell.read_file(README)?;
    shell.write_file(README, replaced(&text, &scoreboard(shell)?)?)?;
    Ok(())
}

/// # Errors
/// If README.md says anything else than the pages do.
pub(crate) fn check(shell: &Shell) -> Result<()> {
    let text = shell.read_file(README)?;
    ensure!(
        replaced(&text, &scoreboard(shell)?)? == text,
        "the scoreboard in {README} is not that of docs/reproductions: cargo xtask scoreboard"
    );
    Ok(())
}

fn replaced(text: &str, scoreboard: &str) -> Result<String> {
    let (before, rest) = text.split_once(BEGIN).with_context(|| format!("no {BEGIN:?} in {README}"))?;
    let (_, after) = rest.split_once(END).with_context(|| format!("no {END:?} in {README}"))?;
    Ok(format!("{before}{BEGIN}{scoreboard}{END}{after}"))
}

fn scoreboard(shell: &Shell) -> Result<String> {
    let mut pages = shell.read_dir("docs/reproductions")?;
    pages.retain(|page| page.extension().is_some_and(|extension| extension == "md"));
    pages.sort();
    let mut table = "| paper | claims | match | shape | miss |\n| --- | --- | --- | --- | --- |\n".to_owned();
    for page in pages {
        let text = shell.read_file(&page)?;
        let name = page.file_stem().and_then(|stem| stem.to_str()).context("a page has a name")?;
        let [claims, matches, shape, miss] =
            counts(&text).with_context(|| format!("{}: no line with its claims", page.display()))?;
        let title = text.lines().next().unwrap_or_default().trim_start_matches("# ");
        table += &format!(
            "| [{title}](docs/reproductions/{name}.md) | {claims} | {matches} | {shape} | {miss} |\n"
        );
    }
    Ok(table)
}

/// Numbers of claims, matches, shapes and misses of a page: `**59 claims: 53 match · 0 shape · 6 miss.**`.
fn counts(page: &str) -> Option<[u32; 4]> {
    let line = page.lines().find_map(|line| line.strip_prefix("**"))?;
    let (claims, verdicts) = line.split_once("**")?.0.trim_end_matches('.').split_once(" claims: ")?;
    let of = |verdict: &str| {
        verdicts.split(" · ").find_map(|part| part.strip_suffix(verdict)?.trim().parse().ok())
    };
    Some([claims.parse().ok()?, of("match")?, of("shape")?, of("miss")?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_of_a_page_are_counted_by_their_names() {
        let page = "# A\n\n**59 claims: 53 match · 0 shape · 6 miss.** Verdicts are computed.\n";
        assert_eq!(counts(page), Some([59, 53, 0, 6]));
        assert_eq!(counts("# A\n\nnothing\n"), None);
    }

    #[test]
    fn only_the_scoreboard_is_replaced() {
        let text = format!("a\n{BEGIN}old\n{END}\nb\n");
        assert_eq!(replaced(&text, "new\n").expect("it is there"), format!("a\n{BEGIN}new\n{END}\nb\n"));
        assert!(replaced("a", "new").is_err());
    }
}
