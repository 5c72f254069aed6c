//! A scenario around one table: sizes of flows, or a trace of them.

use std::collections::BTreeSet;

use narrows::diagnostic::{Checked, Code, Diagnostic, Source};
use narrows_formats::import::{Imported, Note};
use narrows_proto::units::Span;
use serde_json::json;

/// Names of hosts are kept up to this number.
const MOST_HOSTS: usize = 1000;

/// The text as TOML has it.
fn quoted(text: &str) -> String {
    json!(text).to_string()
}

/// Fields of the rows, which commas, semicolons, tabs or blanks separate.
fn rows(text: &str) -> impl Iterator<Item = Vec<&str>> {
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let has = |separator: &char| lines().take(2).any(|line| line.contains(*separator));
    let separator = [',', ';', '\t'].into_iter().find(has);
    let is_one = move |found: char| separator.map_or(found == ' ', |separator| found == separator);
    lines().map(move |line| line.split(is_one).map(str::trim).filter(|field| !field.is_empty()).collect())
}

/// A scenario for a table, which is of this kind (`sizes`, `trace`) or of the one that its columns tell.
///
/// # Errors
/// If it is neither.
pub(super) fn import(source: &Source, kind: Option<&str>, name: &str) -> Checked<(&'static str, Imported)> {
    // A first line may be a number by itself.
    let width = rows(&source.text).take(2).map(|row| row.len()).max().unwrap_or(0);
    match (kind, width) {
        (Some("trace"), _) | (None, 4 | 6) => Ok(("trace", trace(source, name)?)),
        (Some("sizes"), _) | (None, 1 | 2) => Ok(("sizes", sizes(source, name))),
        _ => {
            let message = format!(
                "{} has {width} columns, expected 1 or 2 (sizes of flows) or 4 (a trace)",
                source.name
            );
            Err(Diagnostic::error(Code::Csv, message).into())
        }
    }
}

/// Something that a table leaves open.
fn note(why: &str) -> Note {
    Note { what: "network".into(), why: why.into() }
}

const SWITCHES: &str = "[switches.default]\nbuffer = { size = \"4 MB\", sharing = { dynamic = { alpha = 1.0 } } }\n\
                        marking = { step = { k = \"100 kB\" } }\n\n";

fn sizes(source: &Source, name: &str) -> Imported {
    let file = quoted(&source.name);
    let scenario = format!(
        "# Flows of the sizes in {file} between racks.\nversion = 2\nname = {}\nstop = {{ after = \"20 ms\", drain = \"500 ms\" }}\n\n\
         [topology.leaf_spine]\nracks = 4\nhosts_per_rack = 8\nspines = 2\nhost_rate = \"10 Gb/s\"\nuplink_rate = \"40 Gb/s\"\n\
         delay = \"1 us\"\n\n{SWITCHES}[[traffic]]\nname = \"flows\"\npattern = {{ poisson = {{ load = 0.5, of = \"host_links\", \
         sizes = {{ file = {file} }} }} }}\ncc = {{ dctcp = {{}} }}\n",
        quoted(name)
    );
    let read = vec![format!("sizes of flows: {} rows", rows(&source.text).count())];
    let notes = vec![note("four racks of eight hosts, half loaded: a table of sizes does not name one")];
    Imported { scenario, files: vec![(source.name.clone(), source.text.clone())], read, notes }
}

fn trace(source: &Source, name: &str) -> Checked<Imported> {
    let (mut hosts, mut last, mut flows) = (BTreeSet::new(), Span::ZERO, 0);
    for row in rows(&source.text).filter(|row| !row.starts_with(&["start", "src"])) {
        let [start, from, to, ..] = row[..] else { continue };
        flows += 1;
        hosts.extend([from, to]);
        let start = start.parse().ok().or_else(|| format!("{start} s").parse().ok());
        last = last.max(start.unwrap_or(Span::ZERO));
    }
    if hosts.len() > MOST_HOSTS {
        let message =
            format!("{} names {} hosts, a network is made of at most {MOST_HOSTS}", source.name, hosts.len());
        return Err(Diagnostic::error(Code::OutOfRange, message).into());
    }
    let numbers: Vec<_> = hosts.iter().filter_map(|host| host.parse::<usize>().ok()).collect();
    let are_numbers = numbers.len() == hosts.len();
    let largest = numbers.iter().copied().max().unwrap_or(1);
    if are_numbers && largest >= MOST_HOSTS {
        let message =
            format!("{} names host {largest}, a network is made of at most {MOST_HOSTS}", source.name);
        return Err(Diagnostic::error(Code::OutOfRange, message).into());
    }
    let network = if are_numbers {
        let count = (largest + 1).max(2);
        format!("[topology.star]\nhosts = {count}\nrate = \"10 Gb/s\"\ndelay = \"1 us\"\n\n")
    } else {
        let names: Vec<_> = hosts.iter().map(|host| quoted(host)).collect();
        let link = |name: &String| {
            format!("    {{ between = [{name}, \"switch\"], rate = \"10 Gb/s\", delay = \"1 us\" }},\n")
        };
        let links: String = names.iter().map(link).collect();
        let names = names.join(", ");
        format!(
            "[topology.explicit]\nhosts = [{names}]\nswitches = [{{ name = \"switch\" }}]\nlinks = [\n{links}]\n\n"
        )
    };
    let file = quoted(&source.name);
    let scenario = format!(
        "# The flows in {file} between hosts around one switch.\nversion = 2\nname = {}\nstop = {{ after = \"{}\", drain = \"1 s\" }}\n\n\
         {network}{SWITCHES}[[traffic]]\nname = \"flows\"\npattern = {{ trace = {{ file = {file} }} }}\ncc = {{ dctcp = {{}} }}\n",
        quoted(name),
        last + Span::from_ms(1),
    );
    let read = vec![format!("flows: {flows}, hosts: {}", hosts.len())];
    let notes = vec![note("all hosts around one switch: a trace does not name one")];
    Ok(Imported { scenario, files: vec![(source.name.clone(), source.text.clone())], read, notes })
}
