//! Imported scenarios, planned as the command does it.

use std::ops::ControlFlow;
use std::sync::Arc;

use narrows::document::Document;
use narrows::plan::Plan;
use narrows::run::{Options, run};
use narrows_formats::import::Imported;

pub(crate) fn plan(imported: &Imported) -> Plan {
    let folder = tempfile::tempdir().expect("it fits");
    for (name, text) in &imported.files {
        std::fs::write(folder.path().join(name), text).expect("it fits");
    }
    let document =
        Document::parse("scenario.toml", imported.scenario.as_str(), folder.path()).expect("it fits");
    Plan::new(document).unwrap_or_else(|error| panic!("{error}"))
}

/// When each flow has arrived, after its start, in ps; in the order of the hosts that send.
pub(crate) fn completion_times(imported: &Imported) -> Vec<u64> {
    let results = run(&Arc::new(plan(imported)), Options::default(), |_| ControlFlow::Continue(())).unwrap();
    let mut rows: Vec<_> = results.flows.iter().collect();
    rows.sort_by_key(|row| row.from);
    rows.iter().map(|row| (row.end.expect("it arrives") - row.start).as_ps()).collect()
}
