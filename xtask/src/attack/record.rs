//! The stored results of the long form: how often each attack was tried so far, what it found, and on which versions. They add
//! up over calls.

use std::fmt::Write;

use serde::{Deserialize, Serialize};

/// Unit of the counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Unit {
    Times,
    /// Of processor time, in seconds.
    ProcessorSeconds,
}

/// A version of the program and the date of its last commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Version {
    pub(super) version: String,
    pub(super) date: String,
}

/// One attack on one thing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Row {
    pub(super) attack: String,
    pub(super) what: String,
    pub(super) unit: Unit,
    pub(super) asked: u64,
    pub(super) done: u64,
    /// The first and the last version that was attacked; none as long as nothing is done.
    pub(super) versions: Option<[Version; 2]>,
    /// Findings of the last call, one line each.
    pub(super) found: Vec<String>,
    /// Number of findings of earlier calls that were not among those of the next.
    pub(super) found_earlier: u64,
}

/// All rows, in the order of the page.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Record {
    pub(super) rows: Vec<Row>,
}

/// After a finding an attack is tried at least so often, or for so many seconds.
const AGAIN: u64 = 100;

impl Row {
    pub(super) fn new(attack: &str, what: &str, unit: Unit, asked: u64) -> Self {
        let (attack, what) = (attack.to_owned(), what.to_owned());
        Self { attack, what, unit, asked, done: 0, versions: None, found: Vec::new(), found_earlier: 0 }
    }

    /// Amount still to be done.
    pub(super) fn missing(&self) -> u64 {
        let least = if self.found.is_empty() { 0 } else { AGAIN };
        self.asked.saturating_sub(self.done).max(least)
    }

    /// Adds a later part.
    pub(super) fn add(&mut self, done: u64, found: Vec<String>, version: &Version) {
        self.done += done;
        self.versions = match self.versions.take() {
            Some([first, _]) => Some([first, version.clone()]),
            None => Some([version.clone(), version.clone()]),
        };
        self.found.retain(|line| !found.contains(line));
        self.found_earlier += self.found.len() as u64;
        self.found = found;
    }

    fn of(&self, number: u64) -> String {
        match self.unit {
            Unit::Times => number.to_string(),
            Unit::ProcessorSeconds => format!("{number} s"),
        }
    }

    fn span(&self) -> String {
        match &self.versions {
            None => "–".into(),
            Some([first, last]) if first == last => format!("{} of {}", last.version, last.date),
            Some([first, last]) if first.version == last.version => {
                format!("{} of {} to {}", last.version, first.date, last.date)
            }
            Some([first, last]) => {
                format!("{} of {} to {} of {}", first.version, first.date, last.version, last.date)
            }
        }
    }
}

impl Record {
    /// Puts rows in this order and asks for as much as they do. What was done stays, below them if it is no longer asked for: disks
    /// are made small in another way elsewhere.
    pub(super) fn plan(&mut self, rows: &[Row]) {
        let mut old = std::mem::take(&mut self.rows);
        for row in rows {
            let known = old.iter().position(|old| (&old.attack, &old.what) == (&row.attack, &row.what));
            self.rows.push(match known {
                Some(known) => Row { asked: row.asked, ..old.remove(known) },
                None => row.clone(),
            });
        }
        self.rows.extend(old.into_iter().filter(|row| row.done > 0));
    }

    pub(super) fn table(&self) -> String {
        let mut text = String::from(
            "| attack | on what | asked for | done | found | found earlier | version |\n| --- | --- | --: | --: | --: | --: | --- |\n",
        );
        for row in &self.rows {
            let (asked, done) = (row.of(row.asked), row.of(row.done));
            let Row { attack, what, found, found_earlier, .. } = row;
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "| {attack} | {what} | {asked} | {done} | {} | {found_earlier} | {} |",
                found.len(),
                row.span()
            );
        }
        text
    }

    pub(super) fn page(&self) -> String {
        let mut text = format!(
            "# Robustness\n\n\
             <!-- Written by cargo xtask attack --long from robustness.json; do not edit. -->\n\n\
             What `cargo xtask attack --long` asks for, how much of it has been done so far, and what it found. It takes hours, may\n\
             be interrupted, and continues where it was: what was done on earlier versions counts, and the last column says which.\n\
             The command attacked is the development build: its assertions check after every run that each packet is delivered,\n\
             dropped or under way, that no flow was faster than on an empty network, and that no link carried more than it can.\n\
             Seconds are processor time of the fuzzing target. What was found in earlier calls and not again is\n\
             counted in the last column but one.\n\n\
             {}\n\
             - **Kills.** SIGKILL, half of them after a random time, half of them when a random number of files is there. Nothing\n\
             \u{20} that was there before may have changed. The same command is started again: the results are then the same, byte for\n\
             \u{20} byte, as without the kill, and nothing else is left.\n\
             - **Full disk.** The disk has room for a random part of what is to be written. The command fails with a message that\n\
             \u{20} names the file, and leaves nothing half written. With more room the results are the same as ever.\n\
             - **Combinations.** Networks, switches, traffic and congestion controls put together at random, with settings of the\n\
             \u{20} guide's examples, of which every mechanism has one. A scenario that is not refused is run on one, two and three\n\
             \u{20} threads: all files are the same, byte for byte.\n\
             - **Hostile input.** Fuzzing guided by coverage (`cargo xtask fuzz`): no input makes a parser panic, take ten seconds or\n\
             \u{20} 4 GB of memory.\n",
            self.table()
        );
        let found: Vec<_> = self.rows.iter().flat_map(|row| &row.found).collect();
        if !found.is_empty() {
            text += "\n## Found\n\n";
            found.iter().for_each(|line| text += &format!("- {line}\n"));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kills() -> Row {
        Row::new("kill", "`narrows run`", Unit::Times, 40)
    }

    fn fuzzing() -> Row {
        Row::new("hostile input", "`units`", Unit::ProcessorSeconds, 3600)
    }

    fn version(date: &str) -> Version {
        Version { version: "narrows 1.2.3".into(), date: date.into() }
    }

    #[test]
    fn parts_add_up_to_what_is_asked_for() {
        let mut row = fuzzing();
        assert_eq!(row.missing(), 3600);
        row.add(100, vec![], &version("2026-01-01"));
        row.add(3000, vec![], &version("2026-01-03"));
        assert_eq!((row.done, row.missing()), (3100, 500));
        row.add(501, vec![], &version("2026-01-03"));
        assert_eq!((row.done, row.missing()), (3601, 0));
        assert_eq!(row.span(), "narrows 1.2.3 of 2026-01-01 to 2026-01-03");
    }

    #[test]
    fn after_a_finding_the_attack_is_tried_again() {
        let mut row = kills();
        row.add(40, vec!["a".into(), "b".into()], &version("2026-01-01"));
        assert_eq!((row.missing(), row.found_earlier), (AGAIN, 0));
        row.add(AGAIN, vec!["b".into()], &version("2026-01-02"));
        assert_eq!((row.missing(), row.found_earlier), (AGAIN, 1));
        row.add(AGAIN, vec![], &version("2026-01-03"));
        assert_eq!((row.done, row.missing(), row.found_earlier), (40 + 2 * AGAIN, 0, 2));
    }

    #[test]
    fn a_new_plan_keeps_what_was_done() {
        let mut record = Record { rows: vec![kills()] };
        record.rows[0].add(40, vec![], &version("2026-01-01"));
        record.plan(&[fuzzing(), Row { asked: 50, ..kills() }]);
        let [fuzzing, kills] = record.rows.as_slice() else { panic!("{record:?}") };
        assert_eq!((fuzzing.done, fuzzing.missing()), (0, 3600));
        assert_eq!((kills.done, kills.missing()), (40, 10));
        let done = kills.clone();
        record.plan(&[]);
        assert_eq!(record.rows, [done], "what was not begun is gone");
    }

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let mut record = Record { rows: vec![kills(), fuzzing()] };
        record.rows[1].add(7, vec!["a".into()], &version("2026-01-01"));
        let text = serde_json::to_string(&record).expect("numbers and texts");
        assert_eq!(serde_json::from_str::<Record>(&text).expect("as written"), record);
    }

    #[test]
    fn the_page_says_what_is_asked_for_what_is_done_and_what_was_found() {
        let mut record = Record { rows: vec![kills(), fuzzing()] };
        record.rows[1].add(7, vec!["units: boom".into()], &version("2026-01-01"));
        let page = record.page();
        for part in [
            "| kill | `narrows run` | 40 | 0 | 0 | 0 | – |\n",
            "| hostile input | `units` | 3600 s | 7 s | 1 | 0 | narrows 1.2.3 of 2026-01-01 |\n",
            "\n## Found\n\n- units: boom\n",
        ] {
            assert!(page.contains(part), "{part}: {page}");
        }
    }
}
