//! Demonstrations that are sweeps, as a matrix: congestion controls under queue management at one bottleneck, and the successors of the
//! five systems.

use std::path::{Path, PathBuf};

use narrows::diagnostic::Checked;
use narrows::document::Document;
use narrows::report::{Cell, SweepOptions, page, sweep_matrix};
use narrows::results::{Staged, StoredCell};
use narrows::sweep::{DataSet, Found, Manifest, Report, Sweep, stored_points};
use narrows::visible::shown_path;

use super::report::{page_of_cell, page_of_sweep};
use super::sweep::{carry_out, print};
use crate::{Status, args, show};

/// A sweep that is built in.
pub(super) struct BuiltIn {
    file: &'static str,
    text: &'static str,
    out: &'static str,
}

pub(super) const WAN: BuiltIn =
    BuiltIn { file: "demo-wan.toml", text: include_str!("demo_wan.toml"), out: "out/demo-wan" };
pub(super) const SUCCESSORS: BuiltIn = BuiltIn {
    file: "demo-successors.toml",
    text: include_str!("demo_successors.toml"),
    out: "out/demo-successors",
};

/// Runs the sweep of a demonstration, with a page for each cell.
pub(super) fn demo_sweep(sweep: &BuiltIn, arguments: &args::Demo) -> Checked<Status> {
    let request = args::Sweep {
        sweep: PathBuf::new(),
        overrides: Vec::new(),
        seeds: arguments.seeds,
        out: arguments.out.clone().or_else(|| Some(sweep.out.into())),
        retries: 0,
        shard: None,
        yes: false,
        dry_run: false,
        execution: arguments.execution.clone(),
    };
    carry_out(sweep.read()?, &request, show_matrix)
}

impl BuiltIn {
    fn read(&self) -> Checked<Sweep> {
        Sweep::of(&Document::parse(self.file, self.text, "")?, Path::new(self.file))
    }
}

fn show_matrix(
    manifest: &Manifest,
    data: &DataSet,
    out: &Path,
    as_json: bool,
    report: &Report,
) -> Checked<()> {
    for StoredCell { name, runs } in stored_points(out)?.into_iter().flatten() {
        for run in runs {
            let place = page_of_cell(&run);
            if !place.is_file() {
                let cell = Cell::read(&StoredCell { name: name.clone(), runs: vec![run] })?;
                Staged::file(&place, true)?.write(page(&name, &[cell]))?;
            }
        }
    }
    let Some(found) = Found::read(out)? else { return print(manifest, data, out, as_json, report) };
    let path = out.join("report.html");
    Staged::file(&path, true)?.write(page_of_sweep(&found, out, &path, SweepOptions::default())?)?;
    let Some(matrix) = sweep_matrix(&found)?.filter(|_| !as_json) else {
        return print(manifest, data, out, as_json, report);
    };
    say_part!("{}", show::matrix(&matrix));
    show::doubts(manifest, data).iter().for_each(|line| complain!("{line}"));
    say!("wrote {}; each cell of its matrix leads to the report of that run", shown_path(&path));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_control_meets_each_queue_and_each_successor_each_place() {
        let points = [WAN, SUCCESSORS].map(|sweep| sweep.read().unwrap().manifest().unwrap().points.len());
        assert_eq!(points, [20, 8]);
    }
}
