//! Number of claims by verdict; also in the long forms that were run last, as `cargo xtask scoreboard` writes it.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::Verdict;

/// Number of claims by verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Tally {
    /// Matches.
    #[serde(rename = "match")]
    pub matches: usize,
    /// Matches of numbers that parameters were chosen by.
    pub calibrated: usize,
    /// Shapes.
    #[serde(rename = "shape")]
    pub shapes: usize,
    /// Misses that another set-up explains.
    pub explained: usize,
    /// Matches that other seeds might take away.
    pub open: usize,
    /// Misses.
    #[serde(rename = "miss")]
    pub misses: usize,
}

impl Tally {
    /// Counts verdicts.
    pub fn of(verdicts: impl IntoIterator<Item = Verdict>) -> Self {
        let mut tally = Self::default();
        for verdict in verdicts {
            *match verdict {
                Verdict::Match => &mut tally.matches,
                Verdict::Calibrated => &mut tally.calibrated,
                Verdict::Shape => &mut tally.shapes,
                Verdict::Explained => &mut tally.explained,
                Verdict::Open => &mut tally.open,
                Verdict::Miss => &mut tally.misses,
            } += 1;
        }
        tally
    }

    /// Verdicts and how many there are of each, in the order they are shown.
    pub fn counts(&self) -> [(Verdict, usize); 6] {
        [
            (Verdict::Match, self.matches),
            (Verdict::Calibrated, self.calibrated),
            (Verdict::Shape, self.shapes),
            (Verdict::Explained, self.explained),
            (Verdict::Open, self.open),
            (Verdict::Miss, self.misses),
        ]
    }

    /// Number of all claims.
    pub fn all(&self) -> usize {
        self.counts().iter().map(|(_, count)| count).sum()
    }

    /// Numbers of claims in words: `3 claims of the paper: 2 match, 1 miss`.
    pub(super) fn text(&self, of: &str) -> String {
        let claims = if self.all() == 1 { "claim" } else { "claims" };
        let counts = self.counts();
        let named = counts.iter().filter(|(_, count)| *count > 0);
        let named: Vec<_> = named.map(|(verdict, count)| format!("{count} {}", verdict.name())).collect();
        let named = if named.is_empty() { String::new() } else { format!(": {}", named.join(", ")) };
        format!("{} {claims} {of}{named}", self.all())
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text("of the paper"))
    }
}

/// Verdicts on the claims of a paper.
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

/// Verdicts on the claims of the paper of this name; none if it was not run since they changed.
///
/// # Panics
/// If something is wrong with the file. It is part of the program.
pub fn score(paper: &str) -> Option<Score> {
    let all: BTreeMap<String, Score> = serde_json::from_str(include_str!("../../repro/scoreboard.json"))
        .unwrap_or_else(|error| panic!("scoreboard.json: {error}"));
    all.get(paper).copied()
}

impl fmt::Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
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
