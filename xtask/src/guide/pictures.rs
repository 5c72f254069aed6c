//! Pictures of the guide: reports of demos, templates and sweeps, and the playground, as Chromium draws them.

use std::path::Path;

use anyhow::{Context, Result, bail};
use xshell::{Shell, cmd};

use crate::installed::{CHROMIUM, is_installed};
use crate::playground;

/// Where the pictures are kept.
const FOLDER: &str = "docs/guide/pictures";

/// All of them together may be this large.
const MOST_BYTES: u64 = 2_700_000;

/// A report to draw.
struct Picture {
    /// Name of the file, without `.png`.
    name: &'static str,
    /// Arguments of the command that makes the report; `OUT` stands for the folder, `SCENARIO` and
    /// `SWEEP` for files.
    command: &'static [&'static str],
    /// The template that the scenario is made of, if any.
    template: Option<&'static str>,
    /// The sweep in `SWEEP`, if any. Its page is made in a step of its own.
    sweep: Option<&'static str>,
    /// Width and height in pixels.
    size: (u32, u32),
}

const RUN: &[&str] = &["run", "SCENARIO", "--quiet", "--overwrite", "--out", "OUT"];
const DEMO: &[&str] = &["demo", "--quiet", "--out", "OUT"];

const SWEEP: &[&str] = &["sweep", "SWEEP", "--quiet", "--out", "OUT"];

/// The sweep of the guide, with more loads and seeds.
const THRESHOLDS: &str = r#"
name = "thresholds"
template = "leaf-spine"
seeds = 8

[set]
"stop.after" = "20 ms"

[grid]
"traffic.search.pattern.poisson.load" = [0.2, 0.3, 0.4, 0.5]

[grid.control]
dctcp = { "traffic.search.cc" = { dctcp = {} } }
cubic = { "traffic.search.cc" = { cubic = {} }, "switches.tor.marking" = "off" }
"#;

/// The sweep of the page on load balancing.
const RULES: &str = r#"
name = "rules"
template = "load-balance"
seeds = 5

[grid.rule]
ecmp = { routing = "ecmp" }
flowlets = { routing = { flowlets = { gap = "20 us" } } }
sticky = { routing = { adaptive = { gap = "20 us" } } }
drill = { routing = { adaptive = { choices = 2, memory = true } } }
spray = { routing = "spray" }
"#;

const PICTURES: &[Picture] = &[
    Picture { name: "report-demo", command: DEMO, template: None, sweep: None, size: (1300, 900) },
    Picture { name: "report-demo-whole", command: DEMO, template: None, sweep: None, size: (1300, 4290) },
    Picture {
        name: "report-dumbbell",
        command: RUN,
        template: Some("dumbbell"),
        sweep: None,
        size: (1300, 3070),
    },
    Picture {
        name: "report-sweep",
        command: SWEEP,
        template: None,
        sweep: Some(THRESHOLDS),
        size: (1300, 1640),
    },
    Picture { name: "report-rules", command: SWEEP, template: None, sweep: Some(RULES), size: (1300, 1230) },
];

/// Runs what is to be seen and draws it.
pub(super) fn take(shell: &Shell, narrows: &Path) -> Result<()> {
    let chromium = chromium(shell)?;
    let place = tempfile::tempdir()?;
    shell.create_dir(FOLDER)?;
    for picture in PICTURES {
        let out = report(shell, narrows, picture, place.path())
            .with_context(|| format!("the report for {}.png", picture.name))?;
        draw(shell, chromium, picture, &out, place.path())
            .with_context(|| format!("drawing {}.png", picture.name))?;
        eprintln!("drew {FOLDER}/{}.png", picture.name);
    }
    draw_playground(shell).context("drawing playground.png")?;
    let sizes = shell.read_dir(FOLDER)?.into_iter().map(|file| file.metadata().map_or(0, |data| data.len()));
    let total: u64 = sizes.sum();
    if total > MOST_BYTES {
        bail!("the pictures in {FOLDER} have {total} bytes, more than {MOST_BYTES}");
    }
    Ok(())
}

/// Makes the report and returns its folder; reports of one command are made once.
fn report(shell: &Shell, narrows: &Path, picture: &Picture, place: &Path) -> Result<std::path::PathBuf> {
    let key = match (picture.template, picture.sweep) {
        (Some(template), _) => template.to_owned(),
        (None, Some(_)) => picture.name.to_owned(),
        (None, None) => picture.command.join("-"),
    };
    let out = place.join(key.replace(['/', ' '], "-"));
    if out.join("report.html").exists() {
        return Ok(out);
    }
    let scenario = picture.template.map(|template| place.join(format!("{template}.toml")));
    if let Some(template) = picture.template {
        let _inside = shell.push_dir(place);
        cmd!(shell, "{narrows} new {template} --template {template}").quiet().ignore_stdout().run()?;
    }
    let sweep = place.join("sweep.toml");
    if let Some(text) = picture.sweep {
        shell.write_file(&sweep, text)?;
    }
    let arguments = picture.command.iter().map(|argument| match (*argument, &scenario) {
        ("OUT", _) => out.as_os_str().to_owned(),
        ("SWEEP", _) => sweep.as_os_str().to_owned(),
        ("SCENARIO", Some(scenario)) => scenario.as_os_str().to_owned(),
        (other, _) => other.into(),
    });
    cmd!(shell, "{narrows} {arguments...}").quiet().ignore_stdout().run()?;
    if picture.sweep.is_some() {
        cmd!(shell, "{narrows} report {out}").quiet().ignore_stdout().run()?;
    }
    Ok(out)
}

/// Draws a report. Chromium writes what it has to say to standard error, most of it about missing services.
fn draw(shell: &Shell, chromium: &str, picture: &Picture, out: &Path, place: &Path) -> Result<()> {
    let (width, height) = picture.size;
    let profile = place.join("profile");
    let file = shell.current_dir().join(FOLDER).join(format!("{}.png", picture.name));
    let options = [
        "--headless".to_owned(),
        "--no-sandbox".to_owned(),
        "--disable-gpu".to_owned(),
        "--hide-scrollbars".to_owned(),
        format!("--user-data-dir={}", profile.display()),
        format!("--window-size={width},{height}"),
        "--virtual-time-budget=5000".to_owned(),
        format!("--screenshot={}", file.display()),
        format!("file://{}/report.html", out.display()),
    ];
    cmd!(shell, "{chromium} {options...}").quiet().ignore_stdout().ignore_stderr().run()?;
    if file.exists() { Ok(()) } else { bail!("{chromium} drew nothing") }
}

/// Draws the page that simulates, with a run in it.
fn draw_playground(shell: &Shell) -> Result<()> {
    let page = playground::page(shell)?;
    let file = shell.current_dir().join(FOLDER).join("playground.png");
    let _page = shell.push_env("NARROWS_PLAYGROUND", page);
    let _web = shell.push_dir("web");
    Ok(cmd!(shell, "node picture.mjs {file}").quiet().run()?)
}

fn chromium(shell: &Shell) -> Result<&'static str> {
    CHROMIUM
        .iter()
        .copied()
        .find(|name| is_installed(shell, name))
        .context("the pictures need Chromium (chromium, chromium-browser or google-chrome)")
}
