use std::path::{Path, PathBuf};

use narrows::diagnostic::{Checked, Code, Diagnostic};
use narrows::document::Document;
use narrows::plan::Plan;
use narrows::results::{Staged, cannot_write};
use narrows_formats::import::{Imported, Star, chakra, goal, hpcc, htsim};

use super::runs::show_warnings;
use crate::args::{self, ImportOutput};
use crate::{Status, fail, show};

/// Converts files of another simulator to a scenario.
pub(crate) fn import(arguments: &args::Import) -> Checked<Status> {
    match arguments {
        args::Import::Hpcc(from) => {
            let inputs = hpcc::Inputs {
                topology: from.topology.clone(),
                flows: from.flows.clone(),
                config: from.config.clone(),
                buffer_unit: match from.buffer_unit {
                    args::BufferUnit::Mib => hpcc::BufferUnit::Mib,
                    args::BufferUnit::Kib => hpcc::BufferUnit::Kib,
                },
            };
            let (imported, warnings) = hpcc::import(&inputs, &name(&from.output.out))?;
            warnings.iter().for_each(fail::show_one);
            write(&imported, &from.output)
        }
        args::Import::Htsim(from) => {
            let usual = htsim::Settings::default();
            let settings = htsim::Settings {
                program: from.program.unwrap_or(usual.program),
                tiers: from.tiers.unwrap_or(usual.tiers),
                rate: from.linkspeed.unwrap_or(usual.rate),
                delay: from.hop_latency.unwrap_or(usual.delay),
                latency: from.switch_latency.unwrap_or(usual.latency),
                queue: from.queue,
                mtu: from.mtu,
                end: from.end.unwrap_or(usual.end),
            };
            let inputs =
                htsim::Inputs { matrix: from.matrix.clone(), topology: from.topology.clone(), settings };
            write(&htsim::import(&inputs, &name(&from.output.out))?, &from.output)
        }
        args::Import::Goal(from) => {
            let imported = goal::import(&from.goal, &star(&from.star), &name(&from.output.out))?;
            write(&imported, &from.output)
        }
        args::Import::Chakra(from) => {
            let imported = chakra::import(&from.traces, &star(&from.star), &name(&from.output.out))?;
            write(&imported, &from.output)
        }
    }
}

fn star(from: &args::ImportStar) -> Star {
    let usual = Star::default();
    Star {
        rate: from.linkspeed.unwrap_or(usual.rate),
        delay: from.hop_latency.unwrap_or(usual.delay),
        end: from.end.unwrap_or(usual.end),
    }
}

/// The scenario is called like its file.
fn name(path: &Path) -> String {
    path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned())
}

/// Checks the scenario, then puts it and its traces in their place: all or nothing.
fn write(imported: &Imported, to: &ImportOutput) -> Checked<Status> {
    for line in &imported.read {
        say!("{line}");
    }
    if !imported.notes.is_empty() {
        say!("not mapped, or not exactly:");
        say_part!("{}", show::list(imported.notes.iter().map(|note| [note.what.clone(), note.why.clone()])));
    }
    if to.strict && !imported.notes.is_empty() {
        let message = format!("{} settings have no exact counterpart", imported.notes.len());
        return Err(Diagnostic::error(Code::NotMapped, message).help("leave out --strict").into());
    }
    let folder = match to.out.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let scenario = (to.out.clone(), &imported.scenario);
    let files: Vec<(PathBuf, &String)> =
        imported.files.iter().map(|(name, text)| (folder.join(name), text)).chain([scenario]).collect();
    let targets: Vec<PathBuf> = files.iter().map(|(path, _)| path.clone()).collect();
    let staged = Staged::files(&targets, to.overwrite)?;
    let hidden = staged.hidden();
    for (path, text) in &files {
        let name = path.file_name().unwrap_or_default();
        std::fs::write(hidden.join(name), text).map_err(|error| cannot_write(path, &error))?;
    }
    let shown = to.out.display().to_string();
    let plan = Plan::outline(Document::parse(&shown, imported.scenario.clone(), &hidden)?)?;
    staged.finish()?;
    say!("{}", show::headline(&plan, 1));
    say_part!("{}", show::plan::groups(&plan));
    show_warnings(&plan);
    let beside: Vec<_> = imported.files.iter().map(|(name, _)| name.as_str()).collect();
    let beside = if beside.is_empty() { String::new() } else { format!(" and {}", beside.join(", ")) };
    say!("wrote {shown}{beside}; now: narrows run {shown}");
    Ok(Status::Done)
}
