use std::io::Write;
use std::path::Path;

use narrows::diagnostic::{Checked, Code, Diagnostic};
use narrows::results::Stored;
use narrows_formats::export::fct::{self, Dialect};

use crate::args::{ExportFormat, FctDialect};
use crate::{Status, args};

/// Writes results as files of other tools.
pub(crate) fn export(arguments: &args::Export) -> Checked<Status> {
    match &arguments.format {
        ExportFormat::Fct(to) => export_fct(to),
    }
}

fn export_fct(to: &args::ExportFct) -> Checked<Status> {
    let dialect = match to.dialect {
        FctDialect::Hpcc => Dialect::Hpcc,
        FctDialect::Conweave => Dialect::ConWeave,
        FctDialect::Abm => Dialect::Abm,
    };
    let fct = fct::export(&Stored::open(&to.results)?, dialect)?;
    let path = to.out.clone().unwrap_or_else(|| to.results.join("fct.txt"));
    write_whole(&path, &fct.text, to.overwrite)?;
    for note in &fct.notes {
        say!("{note}");
    }
    say!("wrote {}: {} flows", path.display(), fct.finished);
    if fct.unfinished > 0 {
        say!(
            "{} flows had not finished: the format has no place for them, and they are left out",
            fct.unfinished
        );
    }
    Ok(Status::Done)
}

/// Writes all of a text, or nothing.
fn write_whole(path: &Path, text: &str, overwrite: bool) -> Checked<()> {
    if path.exists() && !overwrite {
        let message = format!("the file {} exists", path.display());
        let help = "choose another with --out, or replace it with --overwrite";
        return Err(Diagnostic::error(Code::OutputExists, message).help(help).into());
    }
    let failed = |error: std::io::Error| {
        Diagnostic::error(Code::OutputFailed, format!("cannot write {}: {error}", path.display()))
    };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)?;
    file.persist(path).map_err(|error| failed(error.error))?;
    Ok(())
}
