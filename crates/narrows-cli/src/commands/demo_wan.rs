//! A demonstration: congestion controls under queue management at one bottleneck, as a matrix.

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

const SWEEP: &str = include_str!("demo_wan.toml");

/// Runs a sweep that is built in, with a page for each cell.
pub(crate) fn demo_wan(arguments: &args::Demo) -> Checked<Status> {
    let request = args::Sweep {
        sweep: PathBuf::new(),
        overrides: Vec::new(),
        seeds: arguments.seeds,
        out: arguments.out.clone().or_else(|| Some("out/demo-wan".into())),
        retries: 0,
        shard: None,
        yes: false,
        dry_run: false,
        execution: arguments.execution.clone(),
    };
    carry_out(built_in()?, &request, show_matrix)
}

fn built_in() -> Checked<Sweep> {
    Sweep::of(&Document::parse("demo-wan.toml", SWEEP, "")?, Path::new("demo-wan.toml"))
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
    fn each_control_meets_each_queue() {
        assert_eq!(built_in().unwrap().manifest().unwrap().points.len(), 20);
    }
}
