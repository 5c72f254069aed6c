use std::fs::OpenOptions;
use std::io::Write;

use narrows::diagnostic::{Checked, Code, Diagnostic};
use narrows::templates;

use crate::{Status, args};

/// Writes a scenario to start from.
pub(crate) fn new(arguments: &args::New) -> Checked<Status> {
    let Some(template) = templates::find(&arguments.template) else {
        let error =
            Diagnostic::error(Code::UnknownName, format!("no template is called \"{}\"", arguments.template));
        return Err(error.known(&arguments.template, templates::TEMPLATES.iter().map(|t| t.name)).into());
    };
    let text = template.text_for(&arguments.name)?;
    let path = format!("{}.toml", arguments.name);
    let failed = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => {
            Diagnostic::error(Code::OutputExists, format!("the file {path} exists"))
                .help("choose another name")
        }
        _ => Diagnostic::error(Code::OutputFailed, format!("cannot write {path}: {error}")),
    };
    // Never over an older file, not even in a race.
    let mut file = OpenOptions::new().write(true).create_new(true).open(&path).map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)?;
    say!("wrote {path}; now: narrows run {path}");
    Ok(Status::Done)
}
