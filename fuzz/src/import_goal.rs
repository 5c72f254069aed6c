//! GOAL schedules: whatever is accepted becomes a scenario that is TOML, with a row for each operation at least.

use narrows::document::Document;
use narrows::scenario::Scenario;
use narrows_formats::import::goal::{Goal, convert};
use narrows_formats::import::{Star, source};

pub fn check(text: &str) {
    let source = source("a.goal", text);
    match convert(&source, &Star::default(), "fuzz") {
        Ok(imported) => {
            let mut document = Document::parse("scenario.toml", imported.scenario, "").expect("it is TOML");
            Scenario::from_document(&mut document).expect("it is a scenario");
            let goal = Goal::parse(&source).expect("it was converted");
            assert!(imported.files[0].1.lines().count() > goal.operations().count());
        }
        Err(rejection) => drop(rejection.to_string()),
    }
}
