//! Files of htsim: whatever is accepted becomes a scenario that is TOML, with a row for each connection.
//!
//! The text after a zero byte is a `.topo`.

use narrows::document::Document;
use narrows::scenario::Scenario;
use narrows_formats::import::htsim::{Matrix, Program, Settings, Tree, convert};
use narrows_formats::import::source;

/// Larger trees are correct and slow.
const MOST_HOSTS: u32 = 1024;
const MOST_LINKS: usize = 10_000;

pub fn check(text: &str) {
    let mut parts = text.split('\0');
    let matrix = source("a.cm", parts.next().unwrap_or_default());
    let topology = parts.next().map(|text| source("a.topo", text));
    let parsed = match Matrix::parse(&matrix) {
        Ok(parsed) => parsed,
        Err(rejection) => return drop(rejection.to_string()),
    };
    if let Some(tree) = topology.as_ref().and_then(|topology| Tree::parse(topology).ok())
        && (tree.links().take(MOST_LINKS + 1).count() > MOST_LINKS
            || tree.switches.iter().any(|count| *count > MOST_HOSTS))
    {
        return;
    }
    if topology.is_none() && parsed.nodes > MOST_HOSTS {
        return;
    }
    for program in [Program::Dctcp, Program::Uec] {
        let settings = Settings { program, ..Settings::default() };
        match convert(&matrix, topology.as_ref(), &settings, "fuzz") {
            Ok(imported) => {
                let mut document =
                    Document::parse("scenario.toml", imported.scenario, "").expect("it is TOML");
                Scenario::from_document(&mut document).expect("it is a scenario");
                assert_eq!(imported.files[0].1.lines().count(), 1 + parsed.connections.len());
            }
            Err(rejection) => drop(rejection.to_string()),
        }
    }
}
