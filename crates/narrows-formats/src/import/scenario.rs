//! Scenarios as text, with what could not be expressed as comments.

use std::fmt::Write;

use narrows_proto::units::{BitRate, Span};

use super::Note;

/// A link.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Link {
    pub(super) between: (String, String),
    pub(super) rate: BitRate,
    pub(super) delay: Span,
    pub(super) error_rate: f64,
}

/// Comments at the head of a scenario.
pub(super) fn head(text: &mut String, title: &str, read: &[String], notes: &[Note]) {
    let mut line = |line: &str| {
        // A line of another file must not end the comment.
        let line: String = line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        let _ = writeln!(text, "# {}", line.trim_end());
    };
    line(title);
    read.iter().for_each(|read| line(read));
    if !notes.is_empty() {
        line("Not mapped, or not exactly:");
        notes.iter().for_each(|note| line(&format!("  {}: {}", note.what, note.why)));
    }
    text.push('\n');
}

/// A network of nodes and links.
pub(super) fn topology<'a>(
    text: &mut String,
    hosts: impl Iterator<Item = &'a str>,
    switches: impl Iterator<Item = (&'a str, &'a str, u32)>,
    links: &[Link],
) {
    text.push_str("[topology.explicit]\nhosts = [\n");
    for host in hosts {
        let _ = writeln!(text, "    \"{host}\",");
    }
    text.push_str("]\nswitches = [\n");
    for (name, class, tier) in switches {
        let _ = writeln!(text, "    {{ name = \"{name}\", class = \"{class}\", tier = {tier} }},");
    }
    text.push_str("]\nlinks = [\n");
    for Link { between: (a, b), rate, delay, error_rate } in links {
        let _ = write!(text, "    {{ between = [\"{a}\", \"{b}\"], rate = \"{rate}\", delay = \"{delay}\"");
        if *error_rate > 0.0 {
            let _ = write!(text, ", error_rate = {error_rate:?}");
        }
        text.push_str(" },\n");
    }
    text.push_str("]\n\n");
}

/// A traffic group whose flows are in a trace beside the scenario.
pub(super) fn trace_group(text: &mut String, name: &str, file: &str, settings: &str) {
    let _ = write!(
        text,
        "[[traffic]]\nname = \"{name}\"\npattern = {{ trace = {{ file = \"{file}\" }} }}\n{settings}\n"
    );
}

/// A name that scenarios and files may have: what else there is becomes `-`.
pub fn plain_name(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '-' };
    let name: String = name.chars().map(plain).take(64).collect();
    if name.is_empty() { "imported".into() } else { name }
}
