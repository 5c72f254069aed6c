use std::path::PathBuf;
use std::sync::Arc;

use narrows::diagnostic::{Checked, Code, Diagnostic, Place, Source};
use narrows::document::Document;
use narrows::plan::Plan;
use narrows::report::{Cell, Opening, comparison_object, page, summarize};
use narrows::results::{COMPARISON, Output};
use narrows::statistics::FEWEST;
use narrows::visible::{shown_path, visible};
use serde_json::json;

use super::{Job, document, execute, numbered, plans, show_doubts, show_warnings, status};
use crate::progress::{KEPT, catch_interrupts};
use crate::{Status, args, fail, show};

/// A variant: its name and the plans for all seeds.
struct Contender {
    name: String,
    plans: Vec<Arc<Plan>>,
}

/// Where results of a comparison go, and how they are shown.
pub(super) struct Show<'a> {
    pub(super) title: &'a str,
    pub(super) out: PathBuf,
    pub(super) overwrite: bool,
    pub(super) markdown: bool,
    pub(super) seeds: u32,
}

/// Compares scenarios, or variants of one.
pub(crate) fn compare(arguments: &args::Compare) -> Checked<Status> {
    let mut documents = Vec::new();
    for path in &arguments.scenarios {
        let name =
            path.file_stem().map_or_else(String::new, |stem| visible(&stem.to_string_lossy()).into_owned());
        documents.push((name, document(path, &arguments.input)?));
    }
    let base = documents[0].1.clone();
    for text in &arguments.variant {
        documents.push(variant(&base, text)?);
    }
    if documents.len() < 2 {
        let message = "there is one scenario, nothing to compare it with";
        let help = "name a second scenario, or a variant: --variant cubic:traffic.web.cc='{ cubic = {} }'";
        return Err(Diagnostic::error(Code::NoTraffic, message).help(help).into());
    }
    let contenders = contenders(documents, arguments.seeds)?;
    let title = &contenders[0].plans[0].scenario.name;
    let out = arguments.out.clone().unwrap_or_else(|| PathBuf::from("out").join(format!("compare-{title}")));
    let show = Show {
        title,
        out,
        overwrite: arguments.overwrite,
        markdown: arguments.markdown,
        seeds: arguments.seeds,
    };
    side_by_side(&contenders, &show, &arguments.execution)
}

/// A demonstration: variants of a built-in scenario, each a name and overrides.
struct Demonstration {
    scenario: &'static str,
    out: &'static str,
    variants: &'static [(&'static str, &'static [&'static str])],
}

/// DCTCP inside the data centers and BBR across, alone and in Annulus. The WAN flows start in one rack.
const TWO_DC_MIX: Demonstration = Demonstration {
    scenario: "two-dc-mix",
    out: "out/demo",
    variants: &[
        ("dctcp+bbr", &[ONE_RACK, LONGER, "traffic.wan.cc={ bbr = {} }"]),
        (
            "annulus(dctcp+bbr)",
            &[
                ONE_RACK,
                LONGER,
                "traffic.dc.cc={ annulus = { end_to_end = { dctcp = {} }, near_source = { dc_rtt = \"10 us\" } } }",
                "traffic.wan.cc={ annulus = { end_to_end = { bbr = {} }, near_source = { dc_rtt = \"10 us\" } } }",
                "switches.default.congestion_point={ qcn = { set_point = \"33 kB\", message = { reach = \"tor_agg\" } } }",
            ],
        ),
    ],
};

const ONE_RACK: &str =
    "traffic.wan.pattern={ long_lived = { flows = 6, from = \"dc0/rack0/*\", to = \"dc1/*\" } }";
const LONGER: &str = "stop.after=200 ms";

/// PAUSE alone, and with switches that talk to the senders.
const VICTIM: Demonstration = Demonstration {
    scenario: "victim",
    out: "out/demo-bcn",
    variants: &[
        ("pause", &[]),
        (
            "pause+bcn",
            &[
                "switches.default.congestion_point={ bcn = { set_point = \"32 kB\", severe = \"600 kB\", \
                 sampling = { random = 0.05 } } }",
                "reaction_points={ rule = { bcn = {} } }",
            ],
        ),
        (
            "pause+qcn",
            &[
                "switches.default.congestion_point={ qcn = { set_point = \"32 kB\" } }",
                "reaction_points={ rule = { qcn = {} } }",
            ],
        ),
    ],
};

/// A victim of priority-based flow control alone, and with congested flows isolated.
const INCAST_VICTIM: Demonstration = Demonstration {
    scenario: "isolation",
    out: "out/demo-dvl",
    variants: &[
        ("pfc", &["switches.default={ buffer = { size = \"3 MB\", sharing = \"complete\" }, pfc = {} }"]),
        ("pfc+dvl", &["switches.default.isolation={ scheme = \"dvl\" }"]),
        ("pfc+edvl", &["switches.default.isolation={ scheme = \"edvl\" }"]),
    ],
};

/// Short flows that look for their share, and short flows that are notified of it.
const SHORT_BESIDE_LONG: Demonstration = Demonstration {
    scenario: "racks",
    out: "out/demo-rackcc",
    variants: &[
        (
            "dctcp",
            &[
                "traffic.long.cc={ dctcp = {} }",
                "traffic.short.cc={ dctcp = {} }",
                "switches.default={ buffer = { size = \"75 kB\", sharing = \"per_port\" }, \
                 marking = { step = { k = \"37500 B\" } } }",
                // What the scenario expects is what RackCC does.
                "expect=[]",
            ],
        ),
        ("rackcc", &[]),
    ],
};

/// Shows what the simulator is for.
pub(crate) fn demo(arguments: &args::Demo) -> Checked<Status> {
    let demonstration = match arguments.subject {
        #[cfg(target_os = "linux")]
        args::DemoSubject::Live => unreachable!("it has real hosts: `demo_live`"),
        args::DemoSubject::Wan | args::DemoSubject::Successors => unreachable!("a sweep: `demo_sweep`"),
        args::DemoSubject::TwoDcMix => TWO_DC_MIX,
        args::DemoSubject::Bcn => VICTIM,
        args::DemoSubject::Dvl => INCAST_VICTIM,
        args::DemoSubject::Rackcc => SHORT_BESIDE_LONG,
    };
    let title = demonstration.scenario;
    let base = narrows::templates::find(title).expect("the demonstration is built in").document()?;
    let variant = |(name, overrides): &(&str, &[&str])| {
        let mut document = base.clone();
        overrides.iter().try_for_each(|assignment| document.set(assignment))?;
        Ok(((*name).to_owned(), document))
    };
    let documents = demonstration.variants.iter().map(variant).collect::<Checked<Vec<_>>>()?;
    let seeds = arguments.seeds.unwrap_or(5);
    let contenders = contenders(documents, seeds)?;
    // The demonstration owns its folder, so that it can be repeated.
    let (overwrite, own) = (arguments.out.is_none(), PathBuf::from(demonstration.out));
    let out = arguments.out.clone().unwrap_or(own);
    let show = Show { title, out, overwrite, markdown: false, seeds };
    side_by_side(&contenders, &show, &arguments.execution)
}

/// Reads `name:path=value;path=value`.
fn variant(base: &Document, text: &str) -> Checked<(String, Document)> {
    let source = Arc::new(Source { name: "--variant".into(), text: text.to_owned() });
    let Some((name, assignments)) = text.split_once(':').filter(|(name, _)| !name.trim().is_empty()) else {
        let message = format!("found \"{text}\", expected name:path=value");
        let place = Place { source, span: 0..text.len() };
        return Err(Diagnostic::error(Code::Override, message).at(place).into());
    };
    let mut document = base.clone();
    let mut start = name.len() + 1;
    for assignment in assignments.split(';') {
        document.set_part(&source, start..start + assignment.len())?;
        start += assignment.len() + 1;
    }
    Ok((visible(name.trim()).into_owned(), document))
}

fn contenders(documents: Vec<(String, Document)>, seeds: u32) -> Checked<Vec<Contender>> {
    let mut contenders: Vec<Contender> = Vec::new();
    for (name, document) in documents {
        // Scenarios of the same name in different folders still get a folder each.
        let free = |name: &str| contenders.iter().all(|other| folder_name(&other.name) != folder_name(name));
        let name = numbered(&name, free);
        contenders.push(Contender { name, plans: plans(&document, seeds)? });
    }
    Ok(contenders)
}

fn side_by_side(contenders: &[Contender], show: &Show<'_>, execution: &args::Execution) -> Checked<Status> {
    let output = Output::begin(&show.out, show.overwrite)?;
    catch_interrupts(KEPT);
    let plan = &contenders[0].plans[0];
    if !execution.json && !show.markdown {
        say!("{}", show::headline(plan, show.seeds));
        say_part!("{}", show::plan::groups(plan));
    }
    if (show.seeds as usize) < FEWEST {
        let seeds = if show.seeds == 1 { "one seed" } else { "two seeds" };
        let message = format!("{seeds}: differences may be chance, there is no confidence interval");
        fail::show_one(&Diagnostic::warning(Code::SingleSeed, message).help("--seeds 5"));
    }
    contenders.iter().for_each(|contender| show_warnings(&contender.plans[0]));
    let jobs: Vec<_> = contenders.iter().flat_map(Contender::jobs).collect();
    let mut finished = jobs.iter().zip(execute(&jobs, execution, &output, None)?);
    let (mut cells, mut broken) = (Vec::new(), Vec::new());
    for contender in contenders {
        let mut cell = Cell { name: contender.name.clone(), runs: Vec::new() };
        for (job, finished) in finished.by_ref().take(contender.plans.len()) {
            show_doubts(&finished, Some(&contender.name), cell.runs.is_empty());
            broken.extend(finished.broken.into_iter().map(|broken| (job.name.clone(), broken)));
            cell.runs.push(finished.digest);
        }
        cells.push(cell);
    }
    output.write_text("", "report.html", &page(show.title, &cells))?;
    let order: Vec<_> = contenders.iter().map(|contender| folder_name(&contender.name)).collect();
    let order = json!({ "engine": narrows::ENGINE, "cells": order });
    output.write_text("", COMPARISON, &serde_json::to_string_pretty(&order).unwrap_or_default())?;
    output.finish()?;
    print_cells(&cells, show, execution);
    Ok(status(&broken))
}

impl Contender {
    fn jobs(&self) -> impl Iterator<Item = Job> {
        self.plans.iter().enumerate().map(|(number, plan)| {
            let seed = plan.scenario.seed;
            let within = format!("{}/seed-{seed}", folder_name(&self.name));
            let name = format!("{} seed {seed}", self.name);
            Job { plan: Arc::clone(plan), name, within, in_front: number == 0 }
        })
    }
}

pub(super) fn print_cells(cells: &[Cell], show: &Show<'_>, execution: &args::Execution) {
    let summary = summarize(cells);
    if execution.json {
        let output = comparison_object(show.title, cells, &summary, Some(&show.out));
        say!("{}", serde_json::to_string_pretty(&output).unwrap_or_default());
        return;
    }
    say_part!("{}", show::summary(cells, &summary, show.markdown));
    if show.markdown {
        return;
    }
    say_part!("{}", show::events(cells));
    say_part!("{}", show::opening(&Opening::of(cells, &summary)));
    say!("wrote {}/report.html and a folder of tables for each cell and seed", shown_path(&show.out));
}

/// A name as a folder: other characters than letters, digits, `-`, `_`, `+` and `.` become `-`.
pub(super) fn folder_name(name: &str) -> String {
    let good = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '+' | '.');
    let name: String = name.chars().map(|c| if good(c) { c } else { '-' }).collect();
    if name.starts_with('.') { format!("-{name}") } else { name }
}
