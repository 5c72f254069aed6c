//! Structure of the sources: which files import each other in a circle, how long files and functions are. Tests do not count.
//!
//! None of it may become worse: the largest circle, the longest file and the longest function of each crate are stored in
//! `xtask/structure.json`.

mod graph;
mod source;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Args;
use comfy_table::Table;
use serde_json::Value;
use xshell::Shell;

use self::graph::{Sources, circles, imports};
use self::source::{Place, Source};
use crate::bench::table;

const STORED: &str = "xtask/structure.json";

#[derive(Debug, Default, Args)]
pub(crate) struct Arguments {
    /// Store the numbers of today as the ones that may not be exceeded
    #[arg(long)]
    bless: bool,
    /// List the imports that make up each circle
    #[arg(long)]
    imports: bool,
    /// Number of longest files and functions to list
    #[arg(long, default_value_t = 5, value_name = "N")]
    longest: usize,
}

/// Stored numbers of a crate.
#[derive(Debug)]
struct Extremes {
    circle: usize,
    file: usize,
    function: usize,
}

impl Extremes {
    fn of(sources: &Sources) -> Self {
        let functions = sources.values().flat_map(|source| &source.functions);
        Self {
            circle: circles(sources).first().map_or(1, Vec::len),
            file: sources.values().map(|source| source.lines).max().unwrap_or(0),
            function: functions.map(|function| function.lines).max().unwrap_or(0),
        }
    }

    fn named(&self) -> [(&'static str, usize); 3] {
        [
            ("files in a circle", self.circle),
            ("lines of a file", self.file),
            ("lines of a function", self.function),
        ]
    }
}

/// Prints it, and refuses what is worse than what is stored.
pub(crate) fn run(shell: &Shell, arguments: &Arguments) -> Result<()> {
    let crates = crates(&shell.current_dir())?;
    let found: BTreeMap<_, _> =
        crates.iter().map(|(name, sources)| (name.as_str(), Extremes::of(sources))).collect();
    eprintln!("{}", overview(&crates, &found));
    for (name, sources) in &crates {
        for circle in circles(sources) {
            eprintln!("{name}: {} files in a circle: {}", circle.len(), circle.join(", "));
            let inside = |(from, to): &(&str, &str)| circle.contains(from) && circle.contains(to);
            for (from, to) in imports(sources).into_iter().filter(|_| arguments.imports).filter(inside) {
                eprintln!("  {from} → {to}");
            }
        }
    }
    eprintln!("{}", longest(&crates, arguments.longest));
    if arguments.bless {
        let of_crate = |(name, found): (&&str, &Extremes)| {
            let numbers = found.named().map(|(what, number)| (what.to_owned(), Value::from(number)));
            ((*name).to_owned(), Value::Object(numbers.into_iter().collect()))
        };
        let stored = Value::Object(found.iter().map(of_crate).collect());
        return Ok(shell.write_file(STORED, format!("{stored:#}\n"))?);
    }
    let stored: Value =
        serde_json::from_str(&shell.read_file(STORED)?).with_context(|| format!("{STORED} is no JSON"))?;
    let worse: Vec<_> = found.iter().flat_map(|(name, found)| worse(name, found, &stored[*name])).collect();
    if worse.is_empty() {
        return Ok(());
    }
    bail!(
        "the structure has become worse; split it, or store it with `cargo xtask structure --bless`:\n{}",
        worse.join("\n")
    )
}

/// Numbers of a crate that exceed the stored ones.
fn worse(name: &str, found: &Extremes, stored: &Value) -> Vec<String> {
    let exceeds = |(what, number): (&str, usize)| {
        let most = stored[what].as_u64().unwrap_or(0);
        (number as u64 > most).then(|| format!("{name}: {number} {what}, {most} were stored"))
    };
    found.named().into_iter().filter_map(exceeds).collect()
}

/// All crates with their sources.
fn crates(root: &Path) -> Result<BTreeMap<String, Sources>> {
    let mut crates = BTreeMap::new();
    let members = std::fs::read_dir(root.join("crates"))?.collect::<Result<Vec<_>, _>>()?;
    for folder in members.into_iter().map(|entry| entry.path()).chain([root.join("xtask")]) {
        let source = folder.join("src");
        let mut sources = Sources::new();
        read_all(&source, &source, &mut sources)?;
        let tests: Vec<_> = sources.values().flat_map(|source| source.tests.clone()).collect();
        sources.retain(|file, _| !tests.iter().any(|tests| place(file).starts_with(tests)));
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        crates.insert(name, sources);
    }
    Ok(crates)
}

fn read_all(root: &Path, folder: &Path, sources: &mut Sources) -> Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path: PathBuf = entry?.path();
        if path.is_dir() {
            read_all(root, &path, sources)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let name = path.strip_prefix(root)?.to_string_lossy().into_owned();
            let text = std::fs::read_to_string(&path)?;
            let source = Source::read(&text, &place(&name)).with_context(|| path.display().to_string())?;
            sources.insert(name, source);
        }
    }
    Ok(())
}

/// The module that a file is, by its name below `src`.
fn place(file: &str) -> Place {
    let mut place: Place = file.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    let is_folder = |name: &mut String| matches!(name.as_str(), "mod" | "lib" | "main");
    place.pop_if(is_folder);
    place
}

fn overview(crates: &BTreeMap<String, Sources>, found: &BTreeMap<&str, Extremes>) -> Table {
    let row = |(name, sources): (&String, &Sources)| {
        let found = &found[name.as_str()];
        let lines: usize = sources.values().map(|source| source.lines).sum();
        let numbers = [sources.len(), lines, found.circle, found.file, found.function];
        [name.clone()].into_iter().chain(numbers.map(|number| number.to_string())).collect()
    };
    let header = ["crate", "files", "lines", "largest circle", "longest file", "longest function"];
    table(&header, crates.iter().map(row), 1..6)
}

/// The longest files and functions of all crates.
fn longest(crates: &BTreeMap<String, Sources>, most: usize) -> Table {
    let mut files = Vec::new();
    let mut functions = Vec::new();
    for (name, sources) in crates {
        for (file, source) in sources {
            files.push((source.lines, format!("{name}/src/{file}")));
            let of_file = source.functions.iter();
            functions.extend(of_file.map(|it| (it.lines, format!("{name}/src/{file}: {}", it.name))));
        }
    }
    let mut rows = Vec::new();
    for mut all in [files, functions] {
        all.sort_unstable_by(|a, b| b.cmp(a));
        rows.extend(all.into_iter().take(most).map(|(lines, name)| vec![name, lines.to_string()]));
    }
    table(&["longest", "lines"], rows, 1..2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_modules_by_their_names() {
        assert_eq!(place("lib.rs"), Place::new());
        assert_eq!(place("a/mod.rs"), ["a"]);
        assert_eq!(place("a/b.rs"), ["a", "b"]);
    }

    #[test]
    fn what_exceeds_the_stored_numbers_is_named() {
        let found = Extremes { circle: 5, file: 100, function: 30 };
        let stored =
            serde_json::json!({ "files in a circle": 4, "lines of a file": 100, "lines of a function": 40 });
        assert_eq!(worse("a", &found, &stored), ["a: 5 files in a circle, 4 were stored"]);
        assert_eq!(worse("a", &found, &Value::Null).len(), 3);
    }
}
