//! Outcome of a search.

use serde::Serialize;

use super::case::Case;

/// Outcome of a search.
#[derive(Clone, Debug, Serialize)]
pub struct Found {
    /// The engine.
    pub engine: &'static str,
    /// The control.
    pub control: &'static str,
    /// The weakness that was looked for.
    pub objective: &'static str,
    /// Its meaning.
    pub meaning: &'static str,
    /// The seed.
    pub seed: u64,
    /// Paths that were tried.
    pub evaluations: u32,
    /// Runs that this took, references included.
    pub runs: u64,
    /// Percent of a score that stays while a path is made simple.
    pub kept: u32,
    /// The best score after each generation.
    pub curve: Vec<f64>,
    /// The worst cases, the worst first.
    pub cases: Vec<Case>,
}
