//! Chakra execution traces: whatever is accepted becomes a scenario that is TOML. The first half of the bytes is the file of rank 0.

use narrows::document::Document;
use narrows::scenario::Scenario;
use narrows_formats::import::Star;
use narrows_formats::import::chakra::{RankFile, convert};
use narrows_proto::units::Bytes;

/// Unpacked, files are no larger.
const MOST: Bytes = Bytes::new(1 << 20);

pub fn check(bytes: &[u8]) {
    let (first, second) = bytes.split_at(bytes.len() / 2);
    let read = |name: &str, bytes: &[u8]| RankFile::new(name, bytes.to_vec(), MOST);
    let files = match (read("t.0.et", first), read("t.1.et", second)) {
        (Ok(first), Ok(second)) => [first, second],
        (Err(rejection), _) | (_, Err(rejection)) => return drop(rejection.to_string()),
    };
    match convert(&files, &Star::default(), "fuzz") {
        Ok(imported) => {
            let mut document = Document::parse("scenario.toml", imported.scenario, "").expect("it is TOML");
            Scenario::from_document(&mut document).expect("it is a scenario");
        }
        Err(rejection) => drop(rejection.to_string()),
    }
}
