use std::path::Path;

use narrows::diagnostic::{Checked, Code, Diagnostic};
use narrows::results::Staged;
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
    let written = Staged::file(Path::new(&path), false).and_then(|staged| staged.write(text));
    written.map_err(|found| match found.code {
        Code::OutputExists => found.help("choose another name"),
        _ => found,
    })?;
    say!("wrote {path}; now: narrows run {path}");
    Ok(Status::Done)
}
