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

use super::folders::numbered;
use super::runs::{Job, document, execute, plans, show_doubts, show_warnings, status};
use crate::progress::{KEPT, catch_interrupts};
use crate::{Status, args, fail, show};

/// A variant: its name and the plans for all seeds.
pub(super) struct Contender {
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

pub(super) fn contenders(documents: Vec<(String, Document)>, seeds: u32) -> Checked<Vec<Contender>> {
    let mut contenders: Vec<Contender> = Vec::new();
    for (name, document) in documents {
        // Scenarios of the same name in different folders still get a folder each.
        let free = |name: &str| contenders.iter().all(|other| folder_name(&other.name) != folder_name(name));
        let name = numbered(&name, free);
        contenders.push(Contender { name, plans: plans(&document, seeds)? });
    }
    Ok(contenders)
}

pub(super) fn side_by_side(
    contenders: &[Contender],
    show: &Show<'_>,
    execution: &args::Execution,
) -> Checked<Status> {
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
