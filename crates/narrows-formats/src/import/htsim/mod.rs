//! htsim: connection matrices and topologies.
//!
//! Host 7 is called `host7`. Triggers become flows that wait for others.

mod matrix;
mod program;
mod settings;
mod tree;
mod waits;

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use narrows::diagnostic::{Checked, Code, Diagnostic, Source};
use narrows_proto::units::Span;

pub use self::matrix::{Connection, LinkFailure, Matrix, Start, Tier, Trigger};
use self::program::Parts;
pub use self::settings::{Program, Queue, Settings};
pub use self::tree::{Level, Tree, Usual};
use super::scenario::{self, plain_name};
use super::{Imported, Note};

/// Files to read, and settings from htsim's command line.
#[derive(Clone, Debug)]
pub struct Inputs {
    /// The connection matrix.
    pub matrix: PathBuf,
    /// The topology; without one it is a fat tree.
    pub topology: Option<PathBuf>,
    /// The rest.
    pub settings: Settings,
}

/// Reads the files and makes a scenario called `name` of them.
///
/// # Errors
/// If a file is missing or not what it should be.
pub fn import(inputs: &Inputs, name: &str) -> Checked<Imported> {
    let read = |path: &Path| super::read(path);
    let topology = inputs.topology.as_deref().map(read).transpose()?;
    convert(&super::read(&inputs.matrix)?, topology.as_ref(), &inputs.settings, name)
}

/// The same with texts that are read already.
///
/// # Errors
/// If a text is not what it should be.
pub fn convert(
    matrix: &Arc<Source>,
    topology: Option<&Arc<Source>>,
    settings: &Settings,
    name: &str,
) -> Checked<Imported> {
    let parsed = program::in_picoseconds(settings.program, Matrix::parse(matrix)?)?;
    let Settings { tiers, rate, delay, latency, .. } = *settings;
    let tree = match topology {
        Some(source) => Tree::parse(source)?,
        None => Tree::usual(parsed.nodes, &Usual { tiers, rate, delay, latency })?,
    };
    if parsed.nodes > tree.hosts {
        let message = format!("the matrix has {} nodes, the topology {}", parsed.nodes, tree.hosts);
        return Err(Diagnostic::error(Code::ForeignFile, message).into());
    }
    write(&parsed, &tree, topology.is_some(), settings, name)
}

const CLASSES: [&str; 3] = ["tor", "agg", "core"];

fn write(
    matrix: &Matrix,
    tree: &Tree,
    has_topology: bool,
    settings: &Settings,
    name: &str,
) -> Checked<Imported> {
    let name = plain_name(name);
    let mut notes = [&matrix.notes[..], &tree.notes].concat();
    let trace = waits::trace(matrix, &mut notes)?;
    let levels = if has_topology { "as the .topo says" } else { "htsim's fat tree" };
    let read = vec![
        format!(
            "topology: {} hosts, {} ToR, {} aggregation and {} core switches, {levels}",
            tree.hosts, tree.switches[0], tree.switches[1], tree.switches[2]
        ),
        format!(
            "connections: {}, triggers: {}, failures: {}",
            matrix.connections.len(),
            matrix.triggers.len(),
            matrix.failures.len()
        ),
    ];
    let parts = Parts::new(settings, tree, &mut notes)?;
    note_connections(matrix, &mut notes);
    let switches = switch_settings(tree, &parts, &mut notes);
    let failures = failures(matrix, tree, &mut notes)?;

    let mut text = String::new();
    scenario::head(&mut text, "Imported from htsim.", &read, &notes);
    let _ = write!(text, "version = 1\nname = \"{name}\"\n\n[stop]\nafter = \"{}\"\n\n", settings.end);
    text.push_str(&switches);
    let links: Vec<_> = tree
        .links()
        .map(|(level, below, above)| scenario::Link {
            between: (node(level, below), node(level + 1, above)),
            rate: tree.levels[level].rate,
            delay: tree.levels[level].delay,
            error_rate: 0.0,
        })
        .collect();
    let hosts: Vec<_> = (0..tree.hosts).map(|host| node(0, host)).collect();
    let named = |(tier, count): (usize, &u32)| {
        (0..*count)
            .map(move |number| (node(tier + 1, number), CLASSES[tier], tier as u32))
            .collect::<Vec<_>>()
    };
    let named: Vec<_> = tree.switches.iter().enumerate().flat_map(named).collect();
    let named = named.iter().map(|(name, class, tier)| (name.as_str(), *class, *tier));
    scenario::topology(&mut text, hosts.iter().map(String::as_str), named, &links);
    text.push_str(&failures);
    let file = format!("{name}.connections.csv");
    scenario::trace_group(&mut text, "connections", &file, &parts.traffic);
    Ok(Imported { scenario: text, files: vec![(file, trace)], read, notes })
}

/// Name of a node: a host at level 0, a switch above.
fn node(level: usize, number: u32) -> String {
    match level {
        0 => format!("host{number}"),
        _ => format!("{}{number}", CLASSES[level - 1]),
    }
}

fn note_connections(matrix: &Matrix, notes: &mut Vec<Note>) {
    let prios: BTreeSet<_> = matrix.connections.iter().filter_map(|connection| connection.prio).collect();
    if prios.len() > 1 {
        notes.push(Note::new("prio", "hosts share their link among their flows, whatever prio says"));
    }
    if matrix.connections.iter().any(|connection| connection.msg.is_some() || connection.shared) {
        notes.push(Note::new(
            "msg",
            "each message, and each connection with the id of another one, is a flow of its own, not one after the other on one \
             connection",
        ));
    }
    if matrix.connections.iter().any(|connection| connection.size == 0) {
        notes.push(Note::new("size 0", "a flow without end"));
    }
}

fn switch_settings(tree: &Tree, parts: &Parts, notes: &mut Vec<Note>) -> String {
    let mut text = String::new();
    for (tier, level) in tree.levels.iter().enumerate() {
        let queue = match (level.queue_down, level.queue_up) {
            _ if !parts.reads_queues() => parts.queue,
            (Some(down), Some(up)) if down != up => {
                let why = format!("{down} down and {up} up: both have the larger one");
                notes.push(Note::new(format!("queues of tier {tier}"), why));
                down.max(up)
            }
            (Some(queue), _) | (None, Some(queue)) => queue,
            (None, None) => parts.queue,
        };
        let _ = write!(text, "[switches.{}]\n{}", CLASSES[tier], parts.switches(queue));
        if level.latency > Span::ZERO {
            let _ = writeln!(text, "latency = \"{}\"", level.latency);
        }
        text.push('\n');
    }
    text
}

/// Links that are down from the beginning.
fn failures(matrix: &Matrix, tree: &Tree, notes: &mut Vec<Note>) -> Checked<String> {
    let mut text = String::new();
    let mut seen = BTreeSet::new();
    for failure in &matrix.failures {
        let LinkFailure { tier, switch, link } = *failure;
        let level = match tier {
            Tier::Tor => 1,
            Tier::Agg if tree.levels.len() == 3 => 2,
            Tier::Agg | Tier::Core => {
                let what = format!("failure of {tier:?} {switch}, link {link}");
                notes.push(Note::new(what, "this switch has no links upwards; left out"));
                continue;
            }
        };
        if switch >= tree.switches[level - 1] || link >= tree.uplinks[level - 1] {
            let message =
                format!("a failure of link {link} of {tier:?} switch {switch}, which does not exist");
            return Err(Diagnostic::error(Code::ForeignFile, message).into());
        }
        if tree.levels[level].bundle > 1 {
            let what = format!("failure of {tier:?} {switch}, link {link}");
            notes.push(Note::new(what, "the whole bundle fails, in htsim one link of it"));
        }
        if seen.insert((level, switch, link)) {
            let (below, above) = (node(level, switch), node(level + 1, tree.above(level, switch, link)));
            let _ = write!(
                text,
                "[[failures]]\nlink = [\"{below}\", \"{above}\"]\nfrom = \"0 s\"\nreroute_after = \"0 s\"\n\n"
            );
        }
    }
    Ok(text)
}
