//! Instructions of each congestion control for an acknowledgment: `on_ack` and `limit`, and reports of losses in
//! between.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use xshell::{Shell, cmd};

use super::{Row, build, callgrind, comparable, show, side_by_side, sort};

/// Where the counts are kept.
const STORED: &str = "crates/narrows-proto/benches/controls.json";
pub(super) const BENCHMARK: &str = "controls";
/// The functions of the benchmark inside which instructions are counted.
const COUNTED: &str = "controls::counted_*";

/// Instructions for each acknowledgment, by control.
type Counts = BTreeMap<String, f64>;

/// Counts and compares, or stores. Returns what is too much.
pub(super) fn run(shell: &Shell, compiler: &str, bless: bool) -> Result<Vec<String>> {
    let found = count_all(shell)?;
    if bless {
        let rounded: Counts =
            found.into_iter().map(|(name, count)| (name, (count * 10.0).round() / 10.0)).collect();
        let stored = json!({ "compiler": compiler, "instructions_per_ack": rounded });
        shell.write_file(STORED, serde_json::to_string_pretty(&stored)? + "\n")?;
        return Ok(Vec::new());
    }
    let stored: Value = serde_json::from_str(&shell.read_file(STORED)?).context(STORED)?;
    let counts = serde_json::from_value(stored["instructions_per_ack"].clone()).context(STORED)?;
    let rows = compare(&counts, &found);
    println!("instructions per acknowledgment:\n{}\n", show("control", &rows));
    let judged = comparable(stored["compiler"].as_str().context(STORED)?, compiler);
    Ok(rows.iter().filter(|_| judged).filter_map(Row::complaint).collect())
}

/// Those that are new are shown but not judged.
fn compare(stored: &Counts, found: &Counts) -> Vec<Row> {
    let now = |name: &str| found.get(name).copied().unwrap_or(0.0);
    let known = stored.iter().map(|(name, before)| Row::new(name, *before, now(name)));
    let new = found.iter().filter(|(name, _)| !stored.contains_key(*name));
    let mut rows: Vec<_> = known.chain(new.map(|(name, count)| Row::unknown(name, *count))).collect();
    sort(&mut rows);
    rows
}

fn count_all(shell: &Shell) -> Result<Counts> {
    let program = build(shell, BENCHMARK)?;
    let names = cmd!(shell, "{program} --list").quiet().read()?;
    let names: Vec<_> = names.lines().collect();
    let counts = side_by_side(shell, &names, |shell, name| {
        eprintln!("counting the instructions of {name}");
        let (profile, printed) = callgrind(shell, &program, &[name], COUNTED, &[])?;
        let printed: Value = serde_json::from_str(&printed)?;
        let acknowledgments = printed["acknowledgments"].as_u64().context("no acknowledgments")?;
        let instructions = total(&profile).context("a profile without a total")?;
        ensure!(instructions > 0, "callgrind saw no call of {COUNTED}");
        Ok(((*name).to_owned(), instructions as f64 / acknowledgments as f64))
    });
    Ok(counts?.into_iter().collect())
}

/// All instructions of a profile.
fn total(profile: &str) -> Option<u64> {
    profile.lines().find_map(|line| line.strip_prefix("totals:"))?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_control_that_grew_is_too_much_and_a_new_one_is_shown() {
        let stored = Counts::from([("reno".to_owned(), 20.0), ("cubic".to_owned(), 100.0)]);
        let found = Counts::from([
            ("reno".to_owned(), 21.9),
            ("cubic".to_owned(), 105.1),
            ("gentle".to_owned(), 30.0),
        ]);
        let rows = compare(&stored, &found);
        let shown: Vec<_> = rows.iter().map(|row| row.what.as_str()).collect();
        assert_eq!(shown, ["cubic", "gentle", "reno"]);
        let complaints: Vec<_> = rows.iter().filter_map(Row::complaint).collect();
        assert_eq!(complaints, ["cubic: 105.1, stored 100.0"]);
    }

    #[test]
    fn the_total_of_a_profile_is_read() {
        assert_eq!(total("events: Ir\nfn=(1) f\n3 7\ntotals: 1234\n"), Some(1234));
        assert_eq!(total("events: Ir\n"), None);
    }
}
