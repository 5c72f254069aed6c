use std::path::{Path, PathBuf};

use narrows::diagnostic::{Checked, Code, Diagnostic};
use narrows::report::{Cell, page};
use narrows::results::{Staged, StoredCell, find};
use narrows::sweep::stored_points;
use narrows::visible::shown_path;

use super::numbered;
use crate::show::POINTS;
use crate::{Status, args};

/// Makes a page of stored results.
pub(crate) fn report(arguments: &args::Report) -> Checked<Status> {
    let cells = cells(&arguments.folders)?;
    let own = match &arguments.folders[..] {
        [folder] => folder.join("report.html"),
        _ => PathBuf::from("report.html"),
    };
    // The page inside a results folder is ours; any other may be somebody's.
    let replace = arguments.overwrite || (arguments.out.is_none() && arguments.folders.len() == 1);
    let out = arguments.out.clone().unwrap_or(own);
    make(&cells, &out, replace)?;
    say!("wrote {}", shown_path(&out));
    Ok(Status::Done)
}

/// Shows the report of a folder; makes it first if it is missing.
pub(crate) fn open(arguments: &args::Open) -> Checked<Status> {
    let path = arguments.folder.join("report.html");
    // A sweep may have grown since its page was made.
    let grows = arguments.folder.join("sweep.json").is_file();
    if grows || !path.is_file() {
        make(&cells(std::slice::from_ref(&arguments.folder))?, &path, grows)?;
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

fn make(cells: &[Cell], path: &Path, replace: bool) -> Checked<()> {
    let staged = Staged::file(path, replace)?;
    let names: Vec<_> = cells.iter().map(|cell| cell.name.as_str()).collect();
    let scenario = &cells[0].runs[0].scenario;
    let title = if cells.iter().all(|cell| cell.runs[0].scenario == *scenario) {
        scenario.clone()
    } else {
        names.join(", ")
    };
    Ok(staged.write(page(&title, cells))?)
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
