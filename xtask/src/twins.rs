//! Twins: scenarios of docs/twins in virtual time and on the kernel of this machine, and docs/twins.md. Or figures of a paper.

use std::fmt::Write;
use std::path::Path;
use std::slice;

use anyhow::{Result, ensure};
use clap::Args;
use serde_json::Value;
use xshell::{Shell, cmd};

use crate::figures::{VOID, kernel_of, runs_of};
use crate::{figures, target};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Only these scenarios of docs/twins, without .toml, or figures: GEMINI's figures and their page, a minute or two for each
    /// run of each row. The page of twins stays as it is
    names: Vec<String>,
    /// Run each so many times
    #[arg(long, default_value_t = 5, value_name = "N")]
    runs: u32,
    /// Run each of which some mean is outside its band again, so many times
    #[arg(long, default_value_t = 12, value_name = "N")]
    more: u32,
}

/// The beginning of the page.
const ABOUT: &str = "# Twins\n\n\
    One scenario in virtual time and with real hosts, whose TCP is that of the kernel ([On real hosts](guide/real-hosts.md)): the\n\
    second sends through the switches and links of the first. Ratios are simulated by live, with 95 % confidence intervals. Bands were\n\
    fixed before anything was run: rates 3 %, queues and times 15 %, marks and drops 25 %. *open*: the interval reaches over the end of\n\
    the band. A packet that is milliseconds late means that the fabric stood still, as if its links had. Simulated hosts take as long\n\
    as real ones did in the same run: to respond, with the same spread, to read, to open a connection, and from one start to the next.\n\
    A twin with a live run that was too late as a whole is run again, once, whatever came out.\n\
    Sentences in front of a table say what was tried of what differs; they are at the head of the scenario.\n\
    `cargo xtask twins` makes this page; scenarios are in [docs/twins](twins).\n\n";

/// Runs all, and writes the page.
pub(crate) fn run(shell: &Shell, arguments: &Arguments) -> Result<()> {
    // With the controls that few kernels have.
    let narrows = target::narrows(shell, &["--release", "--package", "narrows-cli", "--features", "bpf"])?;
    let out = target::folder(shell)?.join("twins");
    let mut scenarios = shell.read_dir("docs/twins")?;
    scenarios.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    let (mut body, mut in_all) = (
        String::new(),
        String::from(
            "| twin | same | open | apart | latest packet of each live run, ms | hosts respond after, us | next one starts after, us |\n\
             | --- | --- | --- | --- | --- | --- | --- |\n",
        ),
    );
    let mut kernel = String::new();
    for scenario in scenarios {
        let name = scenario.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if !arguments.names.is_empty() && !arguments.names.contains(&name) {
            continue;
        }
        let folder = out.join(&name);
        let mut made = twin(shell, [&narrows, &scenario, &folder], arguments.runs)?;
        if made.is_outside() && arguments.more > arguments.runs {
            made = twin(shell, [&narrows, &scenario, &folder], arguments.more)?;
        }
        let Twin { json: twin, table, is_void } = &made;
        let [same, open, apart] = ["same", "open", "apart"].map(|verdict| made.count(verdict));
        let void = if *is_void { " (void: too late)" } else { "" };
        let live = runs_of(shell, &folder, "live")?;
        let latest = live.iter().filter_map(|run| run["real_hosts"]["lateness_max_ps"].as_f64());
        let latest: Vec<_> = latest.map(|ps| format!("{:.1}", ps / 1e9)).collect();
        let latest = latest.join(", ");
        let [takes, starts] = ["response_ps", "start_every_ps"].map(|key| {
            let times = twin["host_times"].as_array().into_iter().flatten();
            let times = times.filter_map(|times| Some(format!("{:.1}", mean(&times[key])? / 1e6)));
            times.collect::<Vec<_>>().join(", ")
        });
        writeln!(
            in_all,
            "| [{name}](#{name}){void} | {same} | {open} | {apart} | {latest} | {takes} | {starts} |"
        )?;
        let text = shell.read_file(&scenario)?;
        let mut head = text.lines().map_while(|line| line.strip_prefix("# "));
        let about = head.next().unwrap_or_default();
        let tried: String = head.map(|line| format!("{line}\n")).collect();
        let tried = if tried.is_empty() { tried } else { tried + "\n" };
        write!(body, "\n## {name}\n\n{about}{void} {} runs of each.\n\n{tried}{table}", live.len())?;
        kernel = kernel_of(&live);
        println!("{name}{void}: {same} same, {open} open, {apart} apart");
    }
    if arguments.names.iter().any(|name| name == "figures") {
        figures::run(shell, &narrows, &out, arguments.runs)?;
    }
    if arguments.names.is_empty() {
        let Arguments { runs, more, .. } = arguments;
        let again = format!("; with a mean outside its band {more} more, which are shown, whatever came out");
        let again = if more > runs { &again } else { "" };
        let machine = format!("{kernel}, {runs} runs of each{again}.\n\n");
        shell.write_file("docs/twins.md", format!("{ABOUT}{machine}{in_all}{body}"))?;
    }
    Ok(())
}

/// A twin as it was made.
#[derive(Debug)]
struct Twin {
    json: Value,
    /// The table of its quantities.
    table: String,
    is_void: bool,
}

/// Makes a twin; once more if a live run was too late.
fn twin(shell: &Shell, [narrows, scenario, folder]: [&Path; 3], runs: u32) -> Result<Twin> {
    let runs = runs.to_string();
    let command =
        cmd!(shell, "{narrows} twin {scenario} --runs {runs} --out {folder} --overwrite --markdown");
    let command = command.ignore_status();
    let mut output = command.output()?;
    if output.status.code() == Some(VOID) {
        output = command.output()?;
    }
    let is_void = output.status.code() == Some(VOID);
    let error = || format!("{}: {}", scenario.display(), String::from_utf8_lossy(&output.stderr));
    ensure!(output.status.success() || is_void, error());
    let json: Value = serde_json::from_str(&shell.read_file(folder.join("twin.json"))?)?;
    ensure!(json["quantities"].is_array(), "a twin has quantities");
    Ok(Twin { json, table: String::from_utf8(output.stdout)?, is_void })
}

impl Twin {
    fn quantities(&self) -> impl Iterator<Item = &Value> {
        self.json["quantities"].as_array().into_iter().flatten()
    }

    fn count(&self, verdict: &str) -> usize {
        self.quantities().filter(|row| row["verdict"] == verdict).count()
    }

    /// A mean is outside its band, or only one half has any.
    fn is_outside(&self) -> bool {
        self.quantities().any(|row| {
            let (least, most) = (row["band"][0].as_f64(), row["band"][1].as_f64());
            match row["ratio"]["mean"].as_f64() {
                Some(ratio) => Some(ratio) < least || Some(ratio) > most,
                None => row["verdict"] == "apart",
            }
        })
    }
}

/// Of a number or of an array of them; none of nothing.
fn mean(value: &Value) -> Option<f64> {
    let all = value.as_array().map_or(slice::from_ref(value), Vec::as_slice);
    let all: Vec<_> = all.iter().filter_map(Value::as_f64).collect();
    (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64)
}
