//! A paper to start from.

use std::path::Path;

use super::super::names;
use super::ground::is_name;
use crate::diagnostic::{Checked, Code, Diagnostic};
use crate::results::Output;

/// Files of the example. Its name stands in for that of the paper.
const FILES: [(&str, &str); 3] = [
    ("paper.toml", include_str!("../../../repro/new/paper.toml")),
    ("claims.toml", include_str!("../../../repro/new/claims.toml")),
    ("two-flows.toml", include_str!("../../../repro/new/two-flows.toml")),
];
const NAME: &str = "name = \"new-paper\"";

/// Starts a paper in a new folder, which is called as the paper is. All of it is written or nothing.
///
/// # Errors
/// If no paper can be called that, something is there already, or the folder cannot be written.
pub fn start(folder: &Path) -> Checked<()> {
    let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    if !is_name(name) {
        let message = format!("the name \"{name}\", expected 1 to 64 letters, digits, - and _");
        return Err(Diagnostic::error(Code::OutOfRange, message).into());
    }
    if names().any(|known| known.eq_ignore_ascii_case(name)) {
        let message = format!("\"{name}\" is the name of a paper that is part of Narrows");
        return Err(Diagnostic::error(Code::Duplicate, message).help("choose another name").into());
    }
    let output = Output::begin(folder, false)?;
    for (file, text) in FILES {
        output.write_text("", file, &text.replacen(NAME, &format!("name = \"{name}\""), 1))?;
    }
    output.finish()
}
