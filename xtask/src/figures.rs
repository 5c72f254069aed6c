//! Figures of the GEMINI paper on the kernel of this machine, and docs/twins-gemini.md.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use xshell::{Shell, cmd};

/// Status of a command whose real hosts received packets too late.
pub(crate) const VOID: i32 = 3;

/// Seconds of the clock for a second of the scenario: links of 1 Gb/s become such of 200 Mb/s.
const SCALE: u8 = 5;
/// The testbed by the clock.
const SLOW_TESTBED: [&str; 5] = [
    "topology.cross_dc.wan.rate=200 Mb/s",
    "topology.cross_dc.wan.delay=23.98 ms",
    "topology.cross_dc.fabric.leaf_spine.host_rate=200 Mb/s",
    "topology.cross_dc.fabric.leaf_spine.uplink_rate=200 Mb/s",
    "topology.cross_dc.fabric.leaf_spine.delay=215 us",
];

/// Hosts of this kernel in virtual time, too. Controls that Narrows loads reduce the window themselves, at once.
const HOSTS: &str = r#"transport={ profile = "linux-6.12", spread_marks = false }"#;

/// The beginning of the page.
const ABOUT: &str = "# GEMINI's figures on a real kernel\n\n\
    Figures 5 and 9 to 12 of the GEMINI paper (Zeng et al., ICNP 2019) once more, with GEMINI and DCTCP as programs of the kernel of\n\
    this machine ([On real hosts](guide/real-hosts.md)), its own CUBIC and BBR, and the testbed of the paper as fabric. Scenarios are those of\n\
    [the reproduction](reproductions/gemini.md), with fewer points and shorter runs: virtual runs here are of these, and not\n\
    those of that page. `cargo xtask twins figures` makes this page.\n\n\
    **Slowed down.** `--scale 5` makes links of 1 Gb/s such of 200 Mb/s on the clock, and round trips of 10 ms such of 50 ms. Buffers, K and windows are in\n\
    bytes and stay; a bandwidth-delay product is what it was. GEMINI's H, T and C are those of the paper, in the time of the scenario, and are\n\
    converted when the control is loaded. Rates and times below are those of the scenario. Timers of the kernel are not slowed down: what leaves\n\
    at once is what passes in a millisecond of the clock, up to 17 segments instead of 44. Hosts in virtual time have the profile `linux-6.12`.\n\n\
    The kernel is not slowed down: CUBIC grows by the time of the clock, BBR remembers 10 s of it, and bursts are as long as a millisecond of\n\
    it. *slow* is a virtual run by the clock as well: links of 200 Mb/s, five times the delays, GEMINI's T and the length, with throughputs given\n\
    in the time of the scenario. Where live runs are near *slow* and not near *virtual*, that they are slowed down is the cause.\n\n";

/// A number that is compared.
#[derive(Clone, Copy, Debug)]
enum Number {
    /// Payload that a group carries, Mb/s.
    Throughput,
    /// Mean round-trip time of a group, ms.
    RoundTrip,
    /// Jain index of all flows.
    Jain,
    /// Throughput of the first group over that of the second.
    Share,
}

/// A run, and a number of it.
struct Row {
    figure: u8,
    about: &'static str,
    paper: &'static str,
    number: Number,
    /// The scenario of the reproduction, besides the network.
    scenario: &'static str,
    stop: u8,
    from: u8,
    overrides: &'static [&'static str],
}

const DCTCP: &str = "traffic.many.cc={ dctcp = {} }";
const INSIDE: &str = "traffic.many.pattern.long_lived.to=dc0/rack0/host11";

const fn inside(
    figure: u8,
    about: &'static str,
    paper: &'static str,
    number: Number,
    overrides: &'static [&'static str],
) -> Row {
    Row { figure, about, paper, number, scenario: "dcn", stop: 4, from: 1, overrides }
}

const K20: &str = "switches.tor.marking.step.k=30760 B";
const K320: &str = "switches.tor.marking.step.k=492160 B";
const K50: &str = "switches.tor.marking.step.k=76900 B";
const K300: &str = "switches.tor.marking.step.k=461400 B";
const FOR_K20: &str = r#"traffic.many.cc={ gemini = { delay = false, marking_threshold = "30760 B" } }"#;
const FOR_K320: &str = r#"traffic.many.cc={ gemini = { delay = false, marking_threshold = "492160 B" } }"#;

const fn meeting(about: &'static str, paper: &'static str, overrides: &'static [&'static str]) -> Row {
    Row {
        figure: 11,
        about,
        paper,
        number: Number::Jain,
        scenario: "convergence",
        stop: 18,
        from: 12,
        overrides,
    }
}

const fn sharing(about: &'static str, paper: &'static str, overrides: &'static [&'static str]) -> Row {
    Row {
        figure: 12,
        about,
        paper,
        number: Number::Share,
        scenario: "fairness",
        stop: 12,
        from: 6,
        overrides,
    }
}

use Number::{RoundTrip, Throughput};

#[rustfmt::skip]
const ROWS: [Row; 18] = [
    inside(5, "DCTCP inside a data center, K = 20 packets: round-trip time, ms", "–", RoundTrip, &[DCTCP, INSIDE, K20]),
    inside(5, "the same, K = 320", "longer than with 20", RoundTrip, &[DCTCP, INSIDE, K320]),
    inside(5, "DCTCP between data centers, K = 20: throughput, Mb/s", "629", Throughput, &[DCTCP, K20]),
    inside(5, "the same, K = 320", "899", Throughput, &[DCTCP, K320]),
    inside(9, "GEMINI between data centers, K = 20: throughput, Mb/s", "up to 1.49 times DCTCP", Throughput, &[FOR_K20, K20]),
    inside(9, "the same, K = 320", "938", Throughput, &[FOR_K320, K320]),
    Row { figure: 10, about: "GEMINI on the WAN, T = 5 ms, beta = 0.2: throughput, Mb/s", paper: "944", number: Throughput, scenario: "wan", stop: 10, from: 5, overrides: &[K50] },
    Row { figure: 10, about: "the same: round-trip time, ms", paper: "at most 20", number: RoundTrip, scenario: "wan", stop: 10, from: 5, overrides: &[K50] },
    Row { figure: 10, about: "CUBIC on the WAN: round-trip time, ms", paper: "at least 100", number: RoundTrip, scenario: "wan", stop: 20, from: 12, overrides: &[K50, "traffic.many.cc={ cubic = {} }"] },
    Row { figure: 10, about: "the same: throughput, Mb/s", paper: "as much as GEMINI", number: Throughput, scenario: "wan", stop: 20, from: 12, overrides: &[K50, "traffic.many.cc={ cubic = {} }"] },
    meeting("GEMINI, three groups of ten: Jain index of all", "0.99", &[K50]),
    meeting("CUBIC", "less", &[K300, "traffic.first.cc={ cubic = {} }", "traffic.second.cc={ cubic = {} }", "traffic.third.cc={ cubic = {} }"]),
    meeting("DCTCP", "less", &[K300, "traffic.first.cc={ dctcp = {} }", "traffic.second.cc={ dctcp = {} }", "traffic.third.cc={ dctcp = {} }"]),
    meeting("BBR", "less", &[K300, "traffic.first.cc={ bbr = {} }", "traffic.second.cc={ bbr = {} }", "traffic.third.cc={ bbr = {} }"]),
    sharing("GEMINI, 64 times the round-trip time: short over long", "1", &[K300, FAR, r#"traffic.intra.cc={ gemini = { marking_threshold = "461400 B" } }"#, r#"traffic.inter.cc={ gemini = { marking_threshold = "461400 B" } }"#]),
    sharing("CUBIC", "64", &[K300, FAR, "traffic.intra.cc={ cubic = {} }", "traffic.inter.cc={ cubic = {} }"]),
    sharing("DCTCP", "64", &[K300, FAR, "traffic.intra.cc={ dctcp = {} }", "traffic.inter.cc={ dctcp = {} }"]),
    sharing("BBR", "at most 1", &[K300, FAR, "traffic.intra.cc={ bbr = {} }", "traffic.inter.cc={ bbr = {} }"]),
];

/// A round trip of 12.8 ms between data centers.
const FAR: &str = "topology.cross_dc.wan.delay=6196 us";
/// The same by the clock.
const SLOW_FAR: &str = "topology.cross_dc.wan.delay=30.98 ms";

/// Runs all, and writes the page.
pub(crate) fn run(shell: &Shell, narrows: &Path, out: &Path, runs: u32) -> Result<()> {
    let mut body = String::from(
        "|  |  | paper | virtual | slow | live |  |\n| --- | --- | --- | --- | --- | --- | --- |\n",
    );
    let mut done: Option<(&Row, bool)> = None;
    let (folder, mut kernel) = (out.join("figure"), String::new());
    for row in &ROWS {
        // The numbers of a run that stand one below the other.
        let is_same = |other: &Row| (other.scenario, other.overrides) == (row.scenario, row.overrides);
        let is_void = match done {
            Some((other, is_void)) if is_same(other) => is_void,
            _ => twin(shell, narrows, row, &folder, runs)?,
        };
        done = Some((row, is_void));
        let [simulated, live] = ["simulated", "live"].map(|half| values(shell, &folder, half, row.number));
        let (simulated, live) = (simulated?, live?);
        let slow = slow(shell, narrows, row, &folder.with_extension("slow"))?;
        kernel = kernel_of(&runs_of(shell, &folder, "live")?);
        let Row { figure, about, paper, .. } = row;
        let void = if is_void { "void: too late" } else { "" };
        let (simulated, live) = (shown(&simulated), shown(&live));
        writeln!(body, "| Figure {figure} | {about} | {paper} | {simulated} | {slow} | {live} | {void} |")?;
        println!("Figure {figure}, {about}: {paper}, {simulated} virtual, {slow} slow, {live} live {void}");
    }
    let runs = if runs == 1 { "one run".to_owned() } else { format!("{runs} runs") };
    let machine = format!("{kernel}, {runs} of each; the least and the most in parentheses.\n\n");
    shell.write_file("docs/twins-gemini.md", format!("{ABOUT}{machine}{body}"))?;
    Ok(())
}

/// Runs both halves. Whether the live one was late.
fn twin(shell: &Shell, narrows: &Path, row: &Row, folder: &Path, runs: u32) -> Result<bool> {
    let scenario = row.written(shell, folder)?;
    let mut overrides = row.times(1);
    overrides.push("record={ windows = { interval = \"10 ms\", flows = 30 } }".to_owned());
    overrides.extend(row.overrides.iter().map(|&assignment| assignment.to_owned()));
    let overrides = set(&overrides);
    let (runs, scale) = (runs.to_string(), SCALE.to_string());
    let command = cmd!(
        shell,
        "{narrows} twin {scenario} --scale {scale} --runs {runs} --out {folder} --overwrite {overrides...}"
    );
    let output = command.quiet().ignore_status().output()?;
    let is_void = output.status.code() == Some(VOID);
    ensure!(
        output.status.success() || is_void,
        "Figure {}: {}",
        row.figure,
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(is_void)
}

/// The number of a virtual run by the clock, if that is kept in its metrics.
fn slow(shell: &Shell, narrows: &Path, row: &Row, folder: &Path) -> Result<String> {
    if matches!(row.number, RoundTrip) {
        return Ok("–".to_owned());
    }
    let scenario = row.written(shell, folder)?;
    let mut overrides = row.times(SCALE);
    overrides.push("record=off".to_owned());
    overrides.extend(SLOW_TESTBED.map(str::to_owned));
    let slower =
        |assignment: &str| if assignment == FAR { SLOW_FAR.to_owned() } else { assignment.to_owned() };
    overrides.extend(row.overrides.iter().copied().map(slower));
    for group in row.groups().iter().filter(|_| row.is_gemini()) {
        overrides.push(format!("traffic.{group}.cc.gemini.delay_threshold=25 ms"));
        // Left out, K would be in proportion to the rate.
        if row.overrides.contains(&K50) {
            overrides.push(format!("traffic.{group}.cc.gemini.marking_threshold=76900 B"));
        }
    }
    let (overrides, out) = (set(&overrides), folder.join("slow/1"));
    let command = cmd!(shell, "{narrows} run {scenario} --out {out} --overwrite --quiet {overrides...}");
    command.quiet().ignore_stdout().run()?;
    let found = values(shell, folder, "slow", row.number)?;
    let scale = if matches!(row.number, Throughput) { f64::from(SCALE) } else { 1.0 };
    Ok(shown(&found.map(|value| value * scale)))
}

/// Assignments as the command takes them.
fn set(assignments: &[String]) -> Vec<&str> {
    assignments.iter().flat_map(|assignment| ["--set", assignment]).collect()
}

impl Row {
    /// Its scenario as a file beside the folder.
    fn written(&self, shell: &Shell, folder: &Path) -> Result<PathBuf> {
        const FROM: &str = "crates/narrows/repro/gemini";
        let parts = ["network", self.scenario].map(|part| shell.read_file(format!("{FROM}/{part}.toml")));
        let [network, traffic] = parts;
        let scenario = folder.with_extension("toml");
        shell.write_file(&scenario, network? + &traffic?)?;
        Ok(scenario)
    }

    /// Groups of traffic.
    const fn groups(&self) -> &'static [&'static str] {
        match self.figure {
            11 => &["first", "second", "third"],
            12 => &["intra", "inter"],
            _ => &["many"],
        }
    }

    /// GEMINI is the control unless another is set.
    fn is_gemini(&self) -> bool {
        self.overrides.iter().all(|assignment| !assignment.contains(".cc=") || assignment.contains("gemini"))
    }

    /// Its profile of hosts and its times, so many times as long. Groups of Figure 11 start sooner than in the paper.
    fn times(&self, scale: u8) -> Vec<String> {
        let seconds = |seconds: u8| u32::from(seconds) * u32::from(scale);
        let mut all = vec![HOSTS.to_owned()];
        all.push(format!("stop.after={} s", seconds(self.stop)));
        all.push(format!("measure.from={} s", seconds(self.from)));
        let spread = if matches!(self.scenario, "dcn" | "fairness") { 100 } else { 1 };
        for group in self.groups() {
            all.push(format!("traffic.{group}.pattern.long_lived.spread={} ms", u32::from(scale) * spread));
        }
        if self.figure == 11 {
            let starts = [("second", 4), ("third", 8)];
            all.extend(starts.map(|(group, start)| format!("traffic.{group}.start={} s", seconds(start))));
        }
        all
    }
}

/// Reports of the runs of one half.
pub(crate) fn runs_of(shell: &Shell, folder: &Path, half: &str) -> Result<Vec<Value>> {
    let runs = shell.read_dir(folder.join(half))?;
    runs.iter().map(|run| Ok(serde_json::from_str(&shell.read_file(run.join("run.json"))?)?)).collect()
}

/// A number of all runs of one half: the mean, the least and the most.
fn values(shell: &Shell, folder: &Path, half: &str, number: Number) -> Result<[f64; 3]> {
    if matches!(number, RoundTrip) {
        let twin: Value = serde_json::from_str(&shell.read_file(folder.join("twin.json"))?)?;
        let rows = twin["quantities"].as_array().context("a twin has quantities")?;
        let row = rows.iter().find(|row| row["name"] == "many round-trip time");
        let estimate = &row.context("windows are recorded")?[half];
        let ms = |value: &Value| value.as_f64().map(|us| us / 1e3).context("it has a value");
        return Ok([ms(&estimate["mean"])?, ms(&estimate["range"][0])?, ms(&estimate["range"][1])?]);
    }
    let of = |run: &Value, name: &str| run["metrics"][name].as_f64().with_context(|| name.to_owned());
    let value = |run: &Value| match number {
        Throughput => Ok(of(run, "many.goodput_gbps")? * 1e3),
        Number::Share => Ok(of(run, "intra.goodput_gbps")? / of(run, "inter.goodput_gbps")?),
        Number::Jain | RoundTrip => of(run, "total.jain"),
    };
    let values = runs_of(shell, folder, half)?.iter().map(value).collect::<Result<Vec<_>>>()?;
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let (least, most) = (f64::min, f64::max);
    Ok([mean, values.iter().copied().fold(mean, least), values.iter().copied().fold(mean, most)])
}

fn shown([mean, least, most]: &[f64; 3]) -> String {
    let digits = |value: f64| if value < 100.0 { format!("{value:.2}") } else { format!("{value:.0}") };
    let [mean, least, most] = [mean, least, most].map(|value| digits(*value));
    if least == most { mean } else { format!("{mean} ({least} to {most})") }
}

/// The kernel of live runs.
pub(crate) fn kernel_of(live: &[Value]) -> String {
    let kernel = live.first().and_then(|run| run["real_hosts"]["kernel"].as_str());
    kernel.unwrap_or_default().to_owned()
}
