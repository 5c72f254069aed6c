use std::path::{Path, PathBuf};

use narrows::diagnostic::{Checked, Code, Diagnostic};
use narrows::report::{Cell, SweepOptions, page, sweep_page};
use narrows::results::{Staged, StoredCell, find};
use narrows::sweep::{Found, Row, Store, stored_points};
use narrows::visible::shown_path;

use super::folders::{files, numbered};
use crate::show::POINTS;
use crate::{Status, args};

/// Makes a page of stored results.
pub(crate) fn report(arguments: &args::Report) -> Checked<Status> {
    let args::Report { folders, out, overwrite, choice } = arguments;
    let path = make_report(folders, out.as_deref(), *overwrite, choice.options())?;
    say!("wrote {}", shown_path(&path));
    Ok(Status::Done)
}

/// Shows the report of a folder; makes it first if it is missing.
pub(crate) fn open(arguments: &args::Open) -> Checked<Status> {
    let path = arguments.folder.join("report.html");
    // A sweep may have grown since its page was made.
    let grows = Store::manifest_in(&arguments.folder).is_file();
    let choice = arguments.choice.options();
    if grows || is_chosen(&choice) || !path.is_file() {
        make(std::slice::from_ref(&arguments.folder), &path, grows, choice)?;
    }
    say!("{}", shown_path(&path));
    if !arguments.print
        && let Err(error) = open::that_detached(&path)
    {
        let message = format!("cannot start a browser: {error}");
        let help = "copy the file to a machine with a browser; it needs nothing besides itself";
        return Err(Diagnostic::error(Code::OutputFailed, message).help(help).into());
    }
    Ok(Status::Done)
}

/// Makes the page of what folders hold, and says where it is: `report.html`, in the folder if there is one only, or `out`. Of one
/// folder with a sweep it is the page of that, of which metrics and lines may be chosen.
///
/// # Errors
/// If a folder holds nothing or it cannot be read, there is nothing of what was chosen, or the page cannot be written.
pub fn make_report(
    folders: &[PathBuf],
    out: Option<&Path>,
    overwrite: bool,
    choice: SweepOptions,
) -> Checked<PathBuf> {
    let own = match folders {
        [folder] => folder.join("report.html"),
        _ => PathBuf::from("report.html"),
    };
    // The page inside a results folder is ours; any other may be somebody's.
    let replace = overwrite || (out.is_none() && folders.len() == 1);
    let path = out.map_or(own, Path::to_owned);
    make(folders, &path, replace, choice)?;
    Ok(path)
}

fn make(folders: &[PathBuf], path: &Path, replace: bool, choice: SweepOptions) -> Checked<()> {
    let page = match folders {
        [folder] => match Found::read(folder)? {
            Some(found) => page_of_sweep(&found, folder, path, choice)?,
            None => page_of(folders, &choice)?,
        },
        _ => page_of(folders, &choice)?,
    };
    Ok(Staged::file(path, replace)?.write(page)?)
}

/// The page at `path` of the sweep in a folder.
pub(super) fn page_of_sweep(
    found: &Found,
    folder: &Path,
    path: &Path,
    choice: SweepOptions,
) -> Checked<String> {
    let is_inside = path.parent() == Some(folder);
    let has_page = |cell: &Row| page_of_cell(&Store::cell_of(folder, &cell.id)).is_file();
    let has_pages = is_inside && found.cells.iter().all(has_page);
    sweep_page(found, &SweepOptions { is_inside, has_pages, ..choice })
}

/// Where the page of a cell of a sweep is, if it has one.
pub(super) fn page_of_cell(cell: &Path) -> PathBuf {
    cell.join("report.html")
}

fn is_chosen(choice: &SweepOptions) -> bool {
    choice.by.is_some() || !choice.metrics.is_empty()
}

/// The page of results that are no sweep, or of several folders.
fn page_of(folders: &[PathBuf], choice: &SweepOptions) -> Checked<String> {
    let cells = cells(folders)?;
    if is_chosen(choice) {
        let what =
            if folders.len() == 1 { "this folder holds no sweep" } else { "there are several folders" };
        let message = format!("metrics and axes are chosen for the page of one sweep, and {what}");
        return Err(Diagnostic::error(Code::Conflict, message).into());
    }
    let names: Vec<_> = cells.iter().map(|cell| cell.name.as_str()).collect();
    let scenario = &cells[0].runs[0].scenario;
    let title = if cells.iter().all(|cell| cell.runs[0].scenario == *scenario) {
        scenario.clone()
    } else {
        names.join(", ")
    };
    Ok(page(&title, &cells))
}

/// The results in all folders; cells of several folders of the same name get a number.
fn cells(folders: &[PathBuf]) -> Checked<Vec<Cell>> {
    let mut cells: Vec<Cell> = Vec::new();
    for folder in folders {
        for stored in stored(folder)? {
            let mut cell = Cell::read(&stored)?;
            cell.name = numbered(&cell.name, |name| cells.iter().all(|other| other.name != name));
            cells.push(cell);
        }
    }
    Ok(cells)
}

/// The cells of a folder; of a sweep its points, as many as the terminal shows of them.
fn stored(folder: &Path) -> Checked<Vec<StoredCell>> {
    let Some(mut points) = stored_points(folder)? else { return find(folder) };
    if points.len() > POINTS {
        let (all, place) = (points.len(), folder.join("summary.parquet"));
        complain!("the page shows the first {POINTS} of {all} points; all are in {}", place.display());
        points.truncate(POINTS);
    }
    Ok(points)
}

/// Names the files of a sweep, and the command that makes a page of them.
pub(super) fn wrote_sweep(out: &Path) {
    let shown = shown_path(out);
    say!("wrote {shown}/  ({}); now: narrows report {shown}", files(out));
}
