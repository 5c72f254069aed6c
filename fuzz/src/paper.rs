//! Papers: every `paper.toml` and `claims.toml` become a paper or a list of mistakes, soon.
//!
//! The text after a zero byte is `claims.toml`.

use narrows::repro::{Files, Paper};

use super::checks::check_rejection;

/// Scenarios of the papers in the seeds. They are read, and not planned: that is another target.
const SCENARIOS: [&str; 12] = [
    "two-flows.toml",
    "testbed.toml",
    "workload1.toml",
    "udp.toml",
    "racks.toml",
    "tree.toml",
    "shared-link.toml",
    "max-min.toml",
    "incast.toml",
    "churn.toml",
    "wan.toml",
    "sub/own.toml",
];

/// As many as a paper may have of experiments, and of points and cells of all its figures.
const MOST: (usize, usize) = (10_000, 200_000);

/// Whether it is worth building upon.
pub fn check(text: &str) -> bool {
    let (paper, claims) = text.split_once('\0').unwrap_or((text, ""));
    let texts = [("paper.toml", paper), ("claims.toml", claims)];
    let scenarios = SCENARIOS.map(|name| (name, "version = 2\n"));
    let paper = match Paper::of(&Files::of_texts("paper", texts.into_iter().chain(scenarios))) {
        Ok(paper) => paper,
        Err(rejection) => return check_rejection(&rejection),
    };
    assert!((1..=MOST.0).contains(&paper.experiments.len()));
    let cells = paper.figures.iter().flat_map(|figure| &figure.tables);
    assert!(cells.map(|table| table.rows.len() * table.columns.len()).sum::<usize>() <= MOST.1);
    for experiment in &paper.experiments {
        let sound = |part: &str| part.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_' || c == b'-');
        assert!(experiment.name.split('.').filter(|part| !part.is_empty() && sound(part)).count() == 2);
    }
    for claim in &paper.claims {
        assert!(paper.figures.iter().any(|figure| figure.name == claim.figure), "{claim:?}");
    }
    true
}
