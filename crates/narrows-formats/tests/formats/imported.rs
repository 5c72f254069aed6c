//! Imported scenarios, planned as the command does it.

use narrows::document::Document;
use narrows::plan::Plan;
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
