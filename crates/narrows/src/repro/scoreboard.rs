//! How the long forms came out that were run last: `cargo xtask scoreboard` writes it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Tally;

/// How a paper came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Score {
    /// Verdicts on what the paper says.
    pub verdicts: Tally,
    /// Verdicts on what the project expects.
    pub own_verdicts: Tally,
    /// Claims that are not counted.
    pub not_counted: usize,
}

/// How the paper of this name came out; none if it was not run since its claims changed.
///
/// # Panics
/// If something is wrong with the file. It is part of the program.
pub fn score(paper: &str) -> Option<Score> {
    let all: BTreeMap<String, Score> = serde_json::from_str(include_str!("../../repro/scoreboard.json"))
        .unwrap_or_else(|error| panic!("scoreboard.json: {error}"));
    all.get(paper).copied()
}

impl std::fmt::Display for Score {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { verdicts, own_verdicts, not_counted } = self;
        write!(f, "{verdicts}")?;
        if own_verdicts.all() > 0 {
            write!(f, "; {}", own_verdicts.text("of the project itself"))?;
        }
        match not_counted {
            0 => Ok(()),
            count => write!(f, "; {count} not counted"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scoreboard_can_be_read() {
        assert_eq!(score("no such paper"), None);
    }
}
