//! Commands that write, and what they write when nothing happens to them.

use std::time::Duration;

use anyhow::Result;

use super::program::Program;
use super::tree::Tree;

/// Some hundred flows and tables over time: a run takes a part of a second, and writes files of several pages.
const SCENARIO: &str = r#"version = 1
name = "attacked"
stop = { after = "3 ms" }
record = { queues = { interval = "20 us" }, links = { interval = "20 us" }, windows = { interval = "20 us", flows = 100 } }

[topology.leaf_spine]
racks = 2
hosts_per_rack = 4
spines = 2
host_rate = "10 Gb/s"
uplink_rate = "10 Gb/s"
delay = "1 us"

[switches.default]
buffer = { size = "1 MB" }
marking = { step = { k = "100 kB" } }

[[traffic]]
name = "web"
pattern = { poisson = { load = 0.5, of = "host_links", sizes = { constant = "20 kB" } } }
cc = { dctcp = {} }
"#;

/// Eight small cells.
const SWEEP: &str = r#"name = "attacked"
scenario = "scenario.toml"
seeds = 2

[set]
"stop.after" = "1 ms"

[grid]
"traffic.web.pattern.poisson.load" = [0.2, 0.4]

[grid.control]
dctcp = { "traffic.web.cc" = { dctcp = {} } }
cubic = { "traffic.web.cc" = { cubic = {} } }
"#;

/// A command that writes `out`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Job {
    /// As the table calls it.
    pub(super) name: &'static str,
    /// Commands to run first.
    before: &'static [&'static [&'static str]],
    pub(super) arguments: &'static [&'static str],
    /// Path that it writes.
    pub(super) out: &'static str,
    /// `out` is there as a whole or not at all. What is not goes on where it was, and has `whole` only at the end.
    pub(super) at_once: bool,
    /// The file that says that all is there.
    pub(super) whole: &'static str,
}

const RUN_ANEW: &[&str] = &["run", "scenario.toml", "--set", "seed=2", "--out", "out", "--quiet"];
const SHARD_ONE: &[&str] =
    &["sweep", "sweep.toml", "--shard", "1/2", "--out", "one", "--quiet", "--jobs", "1"];
const SHARD_TWO: &[&str] =
    &["sweep", "sweep.toml", "--shard", "2/2", "--out", "two", "--quiet", "--jobs", "1"];

pub(super) const RUN: Job = Job {
    name: "`narrows run`",
    before: &[],
    arguments: &["run", "scenario.toml", "--out", "out", "--quiet"],
    out: "out",
    at_once: true,
    whole: "run.json",
};
pub(super) const REPLACE: Job = Job {
    name: "`narrows run --overwrite`",
    before: &[RUN_ANEW],
    arguments: &["run", "scenario.toml", "--out", "out", "--overwrite", "--quiet"],
    ..RUN
};
pub(super) const SWEEP_ALL: Job = Job {
    name: "`narrows sweep`",
    before: &[],
    arguments: &["sweep", "sweep.toml", "--out", "out", "--quiet", "--jobs", "2"],
    out: "out",
    at_once: false,
    whole: "summary.parquet",
};
pub(super) const MERGE: Job = Job {
    name: "`narrows merge`",
    before: &[SHARD_ONE, SHARD_TWO],
    arguments: &["merge", "one", "two", "--out", "out"],
    ..SWEEP_ALL
};
pub(super) const REPRO: Job = Job {
    name: "`narrows repro`",
    before: &[],
    arguments: &[
        "repro", "gemini", "--quick", "--figure", "Figure 5", "--out", "out", "--quiet", "--jobs", "2",
    ],
    out: "out",
    at_once: false,
    whole: "claims.json",
};
pub(super) const COMPARE: Job = Job {
    name: "`narrows compare`",
    before: &[],
    arguments: &[
        "compare",
        "scenario.toml",
        "scenario.toml",
        "--seeds",
        "2",
        "--out",
        "out",
        "--quiet",
        "--jobs",
        "2",
    ],
    out: "out",
    at_once: true,
    whole: "report.html",
};
pub(super) const NEW: Job = Job {
    name: "`narrows new`",
    before: &[],
    arguments: &["new", "fresh", "--template", "two-dc-mix"],
    out: "fresh.toml",
    at_once: true,
    whole: "",
};
pub(super) const REPORT: Job = Job {
    name: "`narrows report`",
    before: &[RUN_ANEW],
    arguments: &["report", "out", "--out", "page.html"],
    out: "page.html",
    at_once: true,
    whole: "",
};
pub(super) const EXPORT: Job = Job {
    name: "`narrows export`",
    before: &[RUN_ANEW],
    arguments: &["export", "flent", "out", "--out", "table.flent"],
    out: "table.flent",
    at_once: true,
    whole: "",
};

/// A job, what is there before it, and what after it.
pub(super) struct Reference {
    pub(super) job: Job,
    pub(super) before: Tree,
    pub(super) after: Tree,
    pub(super) took: Duration,
}

impl Reference {
    /// Does the job undisturbed.
    pub(super) fn new(job: Job, narrows: &Program) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let path = folder.path();
        std::fs::write(path.join("scenario.toml"), SCENARIO)?;
        std::fs::write(path.join("sweep.toml"), SWEEP)?;
        std::fs::create_dir(path.join("precious"))?;
        std::fs::write(path.join("precious/keep.txt"), "not ours\n")?;
        for arguments in job.before {
            narrows.succeed(path, arguments)?;
        }
        let before = Tree::read(path)?;
        let took = narrows.succeed(path, job.arguments)?.took;
        Ok(Self { job, before, after: Tree::read(path)?, took })
    }

    /// Something that was there before and is not the job's own has changed.
    pub(super) fn harm(&self, now: &Tree) -> Option<String> {
        let others = self.before.without(self.job.out);
        let changed = others.difference_of_part(now);
        changed.map(|what| format!("what was there before: {what}"))
    }

    /// `out` is neither what it was nor what it becomes, though it is written at once; or claims to be whole and is not.
    pub(super) fn half_written(&self, now: &Tree) -> Option<String> {
        let Job { out, at_once, whole, .. } = self.job;
        let found = now.below(out);
        let [before, after] = [&self.before, &self.after].map(|tree| tree.below(out));
        if found == before || found == after {
            return None;
        }
        if at_once {
            let what = found.difference(&after).unwrap_or_default();
            return Some(format!("{out} is half written: {what}"));
        }
        (found.has(whole) && after.difference_of_part(&found).is_some())
            .then(|| format!("{out} has {whole} and is not whole"))
    }
}
