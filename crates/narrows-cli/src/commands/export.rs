use narrows::diagnostic::Checked;
use narrows::results::{Staged, Stored};
use narrows::visible::shown_path;
use narrows_formats::export::fct::{self, Dialect};
use narrows_formats::export::{flent, openmetrics};

use super::trace::one_run;
use crate::args::{ExportFormat, FctDialect};
use crate::{Status, args};

/// Writes results as files of other tools.
pub(crate) fn export(arguments: &args::Export) -> Checked<Status> {
    let written = match &arguments.format {
        ExportFormat::Fct(to) => return export_fct(to),
        ExportFormat::Openmetrics(to) => {
            openmetrics::write(&one_run(&to.results)?, to.out.as_deref(), to.overwrite)?
        }
        ExportFormat::Flent(to) => flent::write(&one_run(&to.results)?, to.out.as_deref(), to.overwrite)?,
    };
    say!("wrote {}  ({})", shown_path(&written.path), written.what);
    Ok(Status::Done)
}

fn export_fct(to: &args::ExportFct) -> Checked<Status> {
    let dialect = match to.dialect {
        FctDialect::Hpcc => Dialect::Hpcc,
        FctDialect::Conweave => Dialect::ConWeave,
        FctDialect::Abm => Dialect::Abm,
    };
    let fct = fct::export(&Stored::open(&to.results)?, dialect)?;
    let path = to.out.clone().unwrap_or_else(|| to.results.join("fct.txt"));
    let staged = Staged::file(&path, to.overwrite)?;
    staged.write(&fct.text)?;
    for note in &fct.notes {
        say!("{note}");
    }
    say!("wrote {}: {} flows", shown_path(&path), fct.finished);
    if fct.unfinished > 0 {
        say!(
            "{} flows had not finished: the format has no place for them, and they are left out",
            fct.unfinished
        );
    }
    Ok(Status::Done)
}
