//! Sweeps: every text becomes a grid of scenarios or a list of mistakes, and each of the first cells a plan or a list of mistakes.

use std::path::Path;

use narrows::document::Document;
use narrows::plan::Plan;
use narrows::scenario::Scenario;
use narrows::sweep::Sweep;
use serde_json::Value;

use super::checks::{FOLDER, LIMITS, check_diagnostic, check_rejection, reads_a_file};

/// Cells of larger grids are not planned.
const MOST_POINTS: u64 = 16;
/// Points with more seeds are not laid out: each has an id.
const MOST_SEEDS: u32 = 100;

/// Whether it is worth building upon.
pub fn check(text: &str) -> bool {
    let document = match Document::parse("sweep.toml", text, FOLDER) {
        Ok(document) => document,
        Err(rejection) => return check_rejection(&rejection),
    };
    // A scenario that it names might be a device.
    if document.read_into::<Value>().is_ok_and(|sweep| sweep.get("scenario").is_some()) {
        return false;
    }
    let sweep = match Sweep::of(&document, Path::new("/nonexistent/sweep.toml")) {
        Ok(sweep) => sweep,
        Err(rejection) => return check_rejection(&rejection),
    };
    let size = sweep.check_size(true);
    assert_eq!(sweep.steps(0).len(), sweep.axes.len());
    if size.is_err() || sweep.points() > MOST_POINTS || sweep.most_seeds() > MOST_SEEDS {
        return false;
    }
    let mut is_sound = true;
    for point in 0..sweep.points() as usize {
        assert!(!sweep.describe(point).is_empty());
        let scenario = sweep.document(point).and_then(|mut document| {
            let scenario = Scenario::from_document(&mut document)?;
            Ok((document, scenario))
        });
        match scenario {
            Ok((_, scenario)) if reads_a_file(&scenario) => return false,
            Ok((document, _)) => match Plan::within(document, LIMITS) {
                Ok(plan) => plan.warnings.iter().for_each(check_diagnostic),
                Err(rejection) => _ = check_rejection(&rejection),
            },
            Err(rejection) => {
                check_rejection(&rejection);
                is_sound = false;
            }
        }
    }
    match sweep.manifest() {
        Ok(manifest) => {
            assert_eq!(manifest.points.len() as u64, sweep.points());
        }
        Err(rejection) => {
            assert!(!is_sound || !rejection.0.is_empty());
            check_rejection(&rejection);
        }
    }
    true
}
