//! Stored results: whatever became of the files of a folder, it is read as results or refused with a reason.
//!
//! The input is a list of changes to the files of a small run, eight bytes each: which file, what is done, where, and with what.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use narrows::diagnostic::Checked;
use narrows::document::Document;
use narrows::plan::Plan;
use narrows::report::{Cell, page};
use narrows::results::{Output, Stored, TABLES, find};
use narrows::run::{Options, run};
use narrows_formats::export::fct::{self, Dialect};
use narrows_formats::export::{flent, openmetrics};

/// A run with a row or more in most tables.
const SCENARIO: &str = r#"
version = 1
name = "stored"
stop = { after = "200 us" }
topology.dumbbell = { hosts = 2, host_rate = "10 Gb/s", host_delay = "1 us", bottleneck_rate = "1 Gb/s", bottleneck_delay = "2 us" }
switches.default = { buffer = { size = "30 kB", sharing = "complete" }, marking = { step = { k = "10 kB" } } }
record = { queues = { interval = "50 us" }, links = { interval = "50 us" }, windows = { interval = "50 us" } }

[[traffic]]
name = "web"
pattern = { random = { flows = 8, within = "100 us", sizes = { constant = "10 kB" } } }
cc = { dctcp = {} }
"#;

/// The folder that is changed again and again, and its files as the run wrote them.
struct Folder {
    path: PathBuf,
    files: BTreeMap<String, Vec<u8>>,
}

static FOLDER: LazyLock<Folder> = LazyLock::new(|| {
    let path = std::env::temp_dir().join(format!("narrows-fuzz-stored-{}", std::process::id()));
    // Left by another process of this number.
    let _ = std::fs::remove_dir_all(&path);
    let plan = Plan::new(Document::parse("stored.toml", SCENARIO, "").expect("TOML")).expect("a plan");
    let results =
        run(&Arc::new(plan), Options::default(), |_| ControlFlow::Continue(())).expect("little is recorded");
    let output = Output::begin(&path, false).expect("a new folder");
    output.write(&results, "").expect("room");
    output.finish().expect("room");
    let entries = std::fs::read_dir(&path).expect("it was written").flatten();
    let file = |path: PathBuf| Some((path.file_name()?.to_str()?.to_owned(), std::fs::read(&path).ok()?));
    let files = entries.filter_map(|entry| file(entry.path())).collect();
    Folder { path, files }
});

pub fn check(data: &[u8]) {
    let Folder { path, files } = &*FOLDER;
    let mut changed: BTreeMap<&str, Vec<u8>> = BTreeMap::new();
    for change in data.chunks_exact(8) {
        let number = usize::from(change[0]) % files.len();
        let Some((name, content)) = files.iter().nth(number) else { continue };
        alter(changed.entry(name).or_insert_with(|| content.clone()), change);
    }
    for (name, content) in &changed {
        std::fs::write(path.join(name), content).expect("room");
    }
    if let Err(rejection) = read(path) {
        assert!(!rejection.0.is_empty() && !rejection.to_string().is_empty(), "refused without a reason");
    }
    for name in changed.keys() {
        std::fs::write(path.join(name), &files[*name]).expect("room");
    }
}

/// One change: bytes are replaced, inserted, left out or repeated, or the file ends early.
fn alter(content: &mut Vec<u8>, change: &[u8]) {
    let place = u32::from_le_bytes([change[2], change[3], change[4], 0]) as usize;
    // Both ends of a file are reached with small numbers: a Parquet file is read from behind.
    let place = place / 2 % (content.len() + 1);
    let place = if change[4] & 1 == 0 { place } else { content.len() - place };
    let with = &change[5..8];
    match change[1] % 6 {
        0 => content.iter_mut().skip(place).zip(with).for_each(|(byte, new)| *byte = *new),
        1 => content.iter_mut().skip(place).take(1).for_each(|byte| *byte ^= 1 << (with[0] % 8)),
        2 => drop(content.splice(place..place, with.iter().copied())),
        3 => drop(content.drain(place..(place + usize::from(with[0])).min(content.len()))),
        4 => {
            let part = content[place..(place + usize::from(with[0])).min(content.len())].to_vec();
            content.splice(place..place, part);
        }
        _ => content.truncate(place),
    }
}

/// Reads everything that commands read of a results folder.
fn read(folder: &Path) -> Checked<()> {
    let stored = Stored::open(folder)?;
    for table in TABLES.iter() {
        drop(stored.table(table.name, None));
    }
    for dialect in [Dialect::Hpcc, Dialect::ConWeave, Dialect::Abm] {
        drop(fct::export(&stored, dialect));
    }
    drop(openmetrics::text(&stored));
    drop(flent::write(&stored, Some(&folder.with_extension("flent")), true));
    let cells = find(folder)?.iter().map(Cell::read).collect::<Checked<Vec<_>>>()?;
    assert!(!page("stored", &cells).is_empty());
    Ok(())
}
