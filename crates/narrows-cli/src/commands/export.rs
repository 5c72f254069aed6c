use narrows::diagnostic::Checked;
use narrows_formats::export::{flent, openmetrics};

use super::trace::one_run;
use crate::args::ExportFormat;
use crate::{Status, args};

/// Writes results as files of other tools.
pub(crate) fn export(arguments: &args::Export) -> Checked<Status> {
    let written = match &arguments.format {
        ExportFormat::Openmetrics(to) => {
            openmetrics::write(&one_run(&to.results)?, to.out.as_deref(), to.overwrite)?
        }
        ExportFormat::Flent(to) => flent::write(&one_run(&to.results)?, to.out.as_deref(), to.overwrite)?,
    };
    say!("wrote {}  ({})", written.path.display(), written.what);
    Ok(Status::Done)
}
