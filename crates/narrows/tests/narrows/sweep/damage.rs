//! Cells that are not as they were written.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use narrows::diagnostic::Code;
use narrows::sweep::{Damaged, Health, Shard, Store, Sweep, merge};

use super::{GRID, data_set, good, make, manifest, run_some, run_whole, tree};

/// Flips of each file, spread over all of it.
const FLIPS: usize = 120;

/// Flips one bit of a file.
fn flip(path: &Path, bit: usize) {
    let mut content = std::fs::read(path).unwrap();
    content[bit / 8] ^= 1 << (bit % 8);
    std::fs::write(path, content).unwrap();
}

fn ids(sweep: &Sweep) -> Vec<String> {
    manifest(sweep).points.iter().flat_map(|point| point.cells.clone()).collect()
}

fn cell(out: &Path, id: &str) -> PathBuf {
    out.join("cells").join(id)
}

#[test]
fn a_flipped_bit_of_any_file_of_a_cell_is_noticed() {
    let place = tempfile::tempdir().unwrap();
    let sweep = good(place.path(), "[set]\n\"record.queues\" = { interval = \"100 us\" }");
    let out = place.path().join("out");
    run_whole(&sweep, &out, 1);
    let id = &ids(&sweep)[0];
    let mut flips = 0;
    for (name, content) in tree(&cell(&out, id)) {
        let path = cell(&out, id).join(&name);
        let bits = content.len() * 8;
        // The step has no factor in common with most lengths, so all bytes and all places in a byte have their turn.
        let step = (bits / FLIPS).max(1) | 1;
        for bit in (0..bits).step_by(step) {
            flip(&path, bit);
            let expected = Health::Damaged(name.display().to_string());
            assert_eq!(Store::health_in(&out, id), expected, "bit {bit} of {}", name.display());
            flip(&path, bit);
            flips += 1;
        }
    }
    assert!(flips >= 500, "{flips} flips");
    assert_eq!(Store::health_in(&out, id), Health::Whole);
}

#[test]
fn a_file_that_is_missing_cut_off_or_longer_is_noticed() {
    let place = tempfile::tempdir().unwrap();
    let sweep = good(place.path(), "");
    let out = place.path().join("out");
    run_whole(&sweep, &out, 1);
    let id = &ids(&sweep)[0];
    for (name, content) in tree(&cell(&out, id)) {
        let path = cell(&out, id).join(&name);
        for other in [None, Some(content[1..].to_vec()), Some([content.as_slice(), b"\n"].concat())] {
            match other {
                None => std::fs::remove_file(&path).unwrap(),
                Some(other) => std::fs::write(&path, other).unwrap(),
            }
            assert_eq!(Store::health_in(&out, id), Health::Damaged(name.display().to_string()));
        }
        std::fs::write(&path, content).unwrap();
    }
    assert_eq!(Store::health_in(&out, id), Health::Whole);
    std::fs::remove_dir_all(cell(&out, id)).unwrap();
    assert_eq!(Store::health_in(&out, id), Health::Missing);
}

#[test]
fn damaged_cells_are_run_again_and_named() {
    let place = tempfile::tempdir().unwrap();
    let sweep = good(place.path(), &format!("seeds = 2\n{GRID}"));
    let out = place.path().join("out");
    run_whole(&sweep, &out, 2);
    let before = tree(&out);
    let ids = ids(&sweep);
    flip(&cell(&out, &ids[3]).join("run.json"), 1234);
    flip(&cell(&out, &ids[7]).join("flows.parquet"), 4321);
    let report = run_some(&sweep, &out, 1, None, u64::MAX);
    assert_eq!((report.tally.found, report.tally.done), (10, 2));
    let expected = [(3, "run.json"), (7, "flows.parquet")]
        .map(|(number, file)| Damaged { id: ids[number].clone(), file: file.to_owned() });
    assert_eq!(report.damaged, expected);
    make(&sweep, &out);
    assert!(tree(&out) == before);
}

/// Two shards of a sweep of twelve cells, each in its folder, and the whole in a third.
fn shards(place: &Path) -> (Arc<Sweep>, [PathBuf; 2], Vec<String>) {
    let sweep = good(place, &format!("seeds = 2\n{GRID}"));
    let parts = [1, 2].map(|index| {
        let folder = place.join(format!("part{index}"));
        run_some(&sweep, &folder, 2, Some(Shard { index, of: 2 }), u64::MAX);
        folder
    });
    let ids = ids(&sweep);
    (sweep, parts, ids)
}

#[test]
fn a_merge_takes_a_damaged_cell_from_another_folder_or_refuses_with_its_name() {
    let place = tempfile::tempdir().unwrap();
    let (sweep, parts, ids) = shards(place.path());
    let out = place.path().join("whole");
    run_whole(&sweep, &out, 2);
    let id = ids.iter().find(|id| cell(&parts[1], id).exists()).unwrap();
    flip(&cell(&parts[1], id).join("ports.parquet"), 999);
    let merged = place.path().join("merged");
    let error = merge(&parts, &merged).expect_err("refused");
    assert_eq!(error.0[0].code, Code::DamagedCells);
    let expected = format!("1 cell is damaged and cannot be merged: {id} (ports.parquet)");
    assert_eq!(error.0[0].message, expected);
    assert!(!cell(&merged, id).exists() && !merged.join("summary.parquet").exists());

    let three = [parts[0].clone(), parts[1].clone(), out.clone()];
    let found = merge(&three, &merged).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(found.damaged, [Damaged { id: id.clone(), file: "ports.parquet".into() }]);
    assert!(found.warnings()[0].message.contains(id.as_str()));
    assert!(data_set(&merged) == data_set(&out));

    // The shard that is started again runs what is damaged, and nothing else.
    let again = run_some(&sweep, &parts[1], 1, Some(Shard { index: 2, of: 2 }), u64::MAX);
    assert_eq!((again.tally.done, again.damaged.len()), (1, 1));
    std::fs::remove_dir_all(&merged).unwrap();
    let found = merge(&parts, &merged).unwrap_or_else(|error| panic!("{error}"));
    assert!(found.damaged.is_empty() && found.warnings().is_empty());
    assert!(data_set(&merged) == data_set(&out));
}

/// Rewrites `cell.json` as versions without checksums wrote it.
fn forget_checksums(cell: &Path) {
    let path = cell.join("cell.json");
    let mut json: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    json.as_object_mut().unwrap().remove("checksum");
    for file in json["files"].as_object_mut().unwrap().values_mut() {
        *file = file["size"].clone();
    }
    std::fs::write(path, json.to_string()).unwrap();
}

#[test]
fn cells_without_checksums_are_used_by_their_sizes_and_counted() {
    let place = tempfile::tempdir().unwrap();
    let (sweep, parts, ids) = shards(place.path());
    let id = ids.iter().find(|id| cell(&parts[0], id).exists()).unwrap();
    forget_checksums(&cell(&parts[0], id));
    let again = run_some(&sweep, &parts[0], 1, Some(Shard { index: 1, of: 2 }), u64::MAX);
    assert_eq!((again.tally.done, again.tally.unverified), (0, 1));
    let merged = place.path().join("merged");
    let found = merge(&parts, &merged).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(found.unverified, 1);
    assert!(found.warnings()[0].message.starts_with("1 cell has no checksums"));
    std::fs::write(cell(&merged, id).join("run.json"), "{").unwrap();
    assert_eq!(Store::health_in(&merged, id), Health::Damaged("run.json".into()));
}
