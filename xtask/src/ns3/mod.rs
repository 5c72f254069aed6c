//! The same scenarios in ns-3: how far results agree, and which is faster. Makes docs/ns-3.md.

mod case;
mod cases;
mod quantity;

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use clap::Args;
use clap::builder::PossibleValuesParser;
use serde_json::Value;
use xshell::{Shell, cmd};

use self::case::{Case, Traffic};
use self::cases::CASES;
use self::quantity::{Quantity, Row, table};
use crate::target;

const PAGE: &str = "docs/ns-3.md";
const PROGRAM: &str = "xtask/ns3/dumbbell.cc";
const MODULES: &str = "ns3-applications ns3-internet ns3-point-to-point ns3-traffic-control";

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Only these scenarios; the page stays as it is
    #[arg(value_parser = PossibleValuesParser::new(CASES.iter().map(|case| case.name)))]
    names: Vec<String>,
}

/// The beginning of the page.
const ABOUT: &str = "# Beside ns-3\n\n\
    The same scenarios in Narrows and in ns-3: flows of TCP through one narrow link. ns-3 is set to the defaults of Narrows: 1448 B in a\n\
    segment, ten segments at first, an acknowledgment for two segments or after 40 ms, a second for a handshake, no HyStart; and hosts\n\
    of Narrows are ideal here. Frames of ns-3 are 1502 B long and not 1538 B, so its links have 1502/1538 of the rate. Drops and marks\n\
    are those of the measured time, without the first slow start of flows that have no end.\n\n\
    Each scenario has five runs, with other starts of flows; one flow alone has one, since all would be alike. Ratios are Narrows by\n\
    ns-3, with 95 % confidence intervals of runs in pairs. Bands are those of [Twins](twins.md): rates 3 %, times 15 %, marks and drops\n\
    25 %. *open*: the interval reaches over an end of the band. ns-3 is no reference: what Linux does is on the page of twins.\n\
    Seconds are those of whole processes with one thread, in turn, on a machine that does other work.\n\n\
    `cargo xtask ns3` makes this page; it needs ns-3 (of Debian `libns3-dev`, `libgsl-dev` and `g++`). The half of ns-3 is\n\
    [dumbbell.cc](../xtask/ns3/dumbbell.cc).\n\n";

/// Runs all in both, and writes the page.
pub(crate) fn run(shell: &Shell, arguments: &Arguments) -> Result<()> {
    let folder = target::folder(shell)?.join("ns3");
    shell.create_dir(&folder)?;
    let both = Both {
        narrows: target::narrows(shell, &["--release", "--package", "narrows-cli"])?,
        ns3: compile(shell, &folder)?,
        folder,
    };
    let version = cmd!(shell, "pkg-config --modversion ns3-core").read()?;
    let mut in_all = String::from(
        "| scenario | same | open | apart | ns-3 takes, s | Narrows takes, s | times as long |\n\
         | --- | --: | --: | --: | --: | --: | --: |\n",
    );
    let (mut body, mut took) = (String::new(), [Duration::ZERO; 2]);
    let chosen =
        |case: &&Case| arguments.names.is_empty() || arguments.names.iter().any(|name| name == case.name);
    for case in CASES.iter().filter(chosen) {
        let measured = both.measure(shell, case)?;
        let rows: Vec<_> = measured.quantities.iter().map(Row::of).collect();
        let count = |verdict| rows.iter().filter(|row| row.verdict == verdict).count();
        let [same, open, apart] = ["same", "open", "apart"].map(count);
        let name = case.name;
        println!("{name}: {same} same, {open} open, {apart} apart");
        let [theirs, ours] = measured.took.map(|took| took.as_secs_f64());
        writeln!(
            in_all,
            "| [{name}](#{name}) | {same} | {open} | {apart} | {theirs:.1} | {ours:.2} | {:.0} |",
            theirs / ours
        )?;
        took = [took[0] + measured.took[0], took[1] + measured.took[1]];
        write!(body, "\n## {name}\n\n{}\n\n{}", case.about(), table(&rows))?;
        if !case.tried.is_empty() {
            write!(body, "\n{}\n", case.tried)?;
        }
    }
    if arguments.names.is_empty() {
        let [theirs, ours] = took.map(|took| took.as_secs_f64());
        let all = format!("| all | | | | {theirs:.0} | {ours:.1} | {:.0} |\n", theirs / ours);
        shell.write_file(PAGE, format!("{ABOUT}ns-3 {version}.\n\n{in_all}{all}{body}"))?;
    } else {
        println!("{body}");
    }
    Ok(())
}

/// Compiles the half of ns-3.
fn compile(shell: &Shell, folder: &Path) -> Result<PathBuf> {
    let missing = "pkg-config finds no ns-3: install libns3-dev and libgsl-dev";
    let modules = MODULES.split_whitespace();
    let flags = cmd!(shell, "pkg-config --cflags --libs {modules...}").quiet().read().context(missing)?;
    let program = folder.join("dumbbell");
    let flags = flags.split_whitespace();
    cmd!(shell, "g++ -std=c++17 -O2 {PROGRAM} -o {program} {flags...}").run()?;
    Ok(program)
}

/// Both simulators, and a folder for what they read and write.
struct Both {
    narrows: PathBuf,
    ns3: PathBuf,
    folder: PathBuf,
}

/// Of a case.
struct Measured {
    quantities: Vec<Quantity>,
    /// By ns-3 and by Narrows.
    took: [Duration; 2],
}

/// Upper ends of bands.
const RATE: f64 = 1.03;
const TIME: f64 = 1.15;
const COUNT: f64 = 1.25;

impl Both {
    fn measure(&self, shell: &Shell, case: &Case) -> Result<Measured> {
        let mut measured = Measured { quantities: Vec::new(), took: [Duration::ZERO; 2] };
        for run in 0..case.runs() {
            let (theirs, their_time) = self.in_ns3(shell, case, run)?;
            let (ours, our_time) = self.in_narrows(shell, case, run, true)?;
            // Counters of Narrows are of whole runs. Up to there both runs are the same.
            let before = match case.traffic {
                Traffic::Long(_) => Some(self.in_narrows(shell, case, run, false)?.0),
                Traffic::Short(_) | Traffic::Incast(_) => None,
            };
            measured.took = [measured.took[0] + their_time, measured.took[1] + our_time];
            for (name, most, values) in quantities(case, &theirs, &ours, before.as_ref())? {
                match measured.quantities.iter_mut().find(|quantity| quantity.name == name) {
                    Some(quantity) => quantity.values.push(values),
                    None => measured.quantities.push(Quantity { name, most, values: vec![values] }),
                }
            }
        }
        Ok(measured)
    }

    fn in_ns3(&self, shell: &Shell, case: &Case, run: usize) -> Result<(Value, Duration)> {
        let (mut arguments, flows) = case.arguments(run);
        if !flows.is_empty() {
            let file = self.folder.join("flows.txt");
            shell.write_file(&file, flows)?;
            arguments.push(format!("--flows-file={}", file.display()));
        }
        let ns3 = &self.ns3;
        let began = Instant::now();
        let said = cmd!(shell, "{ns3} {arguments...}").quiet().read()?;
        Ok((serde_json::from_str(&said)?, began.elapsed()))
    }

    /// To the end, or only to the beginning of the measured time.
    fn in_narrows(
        &self,
        shell: &Shell,
        case: &Case,
        run: usize,
        is_whole: bool,
    ) -> Result<(Value, Duration)> {
        let (scenario, files) = case.scenario(run, is_whole);
        let path = self.folder.join(format!("{}.toml", case.name));
        shell.write_file(&path, scenario)?;
        for (name, text) in files {
            shell.write_file(self.folder.join(name), text)?;
        }
        let (narrows, out) = (&self.narrows, self.folder.join(case.name));
        let began = Instant::now();
        let command = cmd!(shell, "{narrows} run {path} --out {out} --overwrite --threads 1 --quiet");
        // It warns of what ns-3 has as well: ideal hosts that keep their phase.
        let output = command.quiet().ignore_status().output()?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr).trim());
        let took = began.elapsed();
        Ok((serde_json::from_str(&shell.read_file(out.join("run.json"))?)?, took))
    }
}

/// Measurements of a case by a run of ns-3 and one of Narrows, without those of a run that ended `before`: names, ends of bands, both values.
fn quantities(
    case: &Case,
    theirs: &Value,
    ours: &Value,
    before: Option<&Value>,
) -> Result<Vec<(String, f64, [f64; 2])>> {
    let of = |run: &Value, name: &str| run["metrics"][name].as_f64().with_context(|| format!("no {name}"));
    let metric = |name: &str| of(ours, name);
    let counter =
        |name: &str| anyhow::Ok(of(ours, name)? - before.map_or(Ok(0.0), |before| of(before, name))?);
    let number = |name: &str| theirs[name].as_f64().with_context(|| format!("ns-3 says no {name}"));
    let mut quantities = Vec::new();
    let mut add = |name: &str, most, values| quantities.push((name.to_owned(), most, values));
    if let Traffic::Long(_) = case.traffic {
        let rates = theirs["goodput_bps"].as_array().context("no rates")?;
        let goodput = rates.iter().filter_map(Value::as_f64).sum::<f64>() / 1e6;
        add("goodput, Mb/s", RATE, [goodput, metric("long.goodput_gbps")? * 1e3]);
        add("mean time in the queue, us", TIME, [number("queue_s")? * 1e6, metric("total.mean_queue_us")?]);
    }
    for (name, size) in case.sizes() {
        let took = finished(theirs, size)?;
        let times = [
            ("median", took[took.len() / 2], "p50"),
            ("mean", took.iter().sum::<f64>() / took.len() as f64, "mean"),
        ];
        for (which, theirs, ours) in times {
            let ours = metric(&format!("{name}.{ours}_fct_us"))?;
            add(&format!("{} kB, {which} completion time, us", size / 1000), TIME, [theirs, ours]);
        }
    }
    add("drops", COUNT, [number("drops")?, counter("total.drops")?]);
    if case.has_marks() {
        add("marks", COUNT, [number("marks")?, counter("total.marks")?]);
    }
    Ok(quantities)
}

/// Completion times of flows of a size in ns-3, in us, the shortest first.
fn finished(theirs: &Value, size: u64) -> Result<Vec<f64>> {
    let flows = theirs["flows"].as_array().context("no flows")?;
    let of_size = flows.iter().filter(|flow| flow["bytes"] == size);
    let mut took: Vec<_> = of_size.filter_map(|flow| flow["took_s"].as_f64()).collect();
    ensure!(!took.is_empty() && took.iter().all(|took| *took > 0.0), "flows of {size} B do not end in ns-3");
    took.sort_unstable_by(f64::total_cmp);
    Ok(took.into_iter().map(|seconds| seconds * 1e6).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_have_the_same_flows() {
        for case in CASES.iter().filter(|case| !matches!(case.traffic, Traffic::Long(_))) {
            let (_, files) = case.scenario(1, true);
            let ours: usize = files.iter().map(|(_, table)| table.lines().count() - 1).sum();
            assert_eq!(case.arguments(1).1.lines().count(), ours, "{}", case.name);
            assert!(ours >= 16, "{}", case.name);
        }
    }
}
