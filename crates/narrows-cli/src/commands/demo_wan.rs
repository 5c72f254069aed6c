//! A demonstration: congestion controls under queue management at one bottleneck, as a matrix.

use std::path::{Path, PathBuf};

use narrows::diagnostic::Checked;
use narrows::document::Document;
use narrows::report::{SweepOptions, sweep_matrix};
use narrows::sweep::{DataSet, Found, Manifest, Report, Store, Sweep};
use narrows::visible::shown_path;

use super::report::{make_report, page_of_cell};
use super::sweep::{carry_out, print};
use crate::{Status, args, show};

const SWEEP: &str = include_str!("demo_wan.toml");

/// What is shown, the most telling first.
const METRICS: [&str; 6] = [
    "total.mean_queue_us",
    "total.max_utilization",
    "downloads.jain",
    "total.marks",
    "total.drops",
    "requests.p99_fct_us",
];

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
    for id in manifest.points.iter().flat_map(|point| &point.cells) {
        if !page_of_cell(out, id).is_file() {
            make_report(&[Store::cell_of(out, id)], None, true, SweepOptions::default())?;
        }
    }
    let metrics = METRICS.map(str::to_owned).to_vec();
    let matrix = Found::read(out)?.map(|found| sweep_matrix(&found, &metrics)).transpose()?.flatten();
    let page =
        make_report(&[out.to_owned()], None, true, SweepOptions { metrics, ..SweepOptions::default() })?;
    let Some(matrix) = matrix.filter(|_| !as_json) else {
        return print(manifest, data, out, as_json, report);
    };
    say_part!("{}", show::matrix(&matrix));
    show::doubts(manifest, data).iter().for_each(|line| complain!("{line}"));
    say!("wrote {}; each cell of its matrix leads to the report of that run", shown_path(&page));
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
