//! ns-3's RDMA simulations: HPCC, its descendants (ConWeave, ns3-datacenter, SimAI, ASTRA-sim, m3) and its ancestor ns3-rdma.
//!
//! Node ids stay: node 7 is called `node7`, be it a host or a switch. A host with several links (SimAI's GPUs) gets a switch
//! of class `nic`, because hosts have one link here.

pub mod base_rtt;
mod config;
mod connection;
mod flows;
mod keys;
mod links;
mod switches;
mod topology;
mod write;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use narrows::diagnostic::{Checked, Code, Diagnostic, Source};

pub use self::config::{BufferUnit, Config, Mode, Thresholds};
pub use self::flows::{Columns, Flow, Flows};
pub use self::topology::{Dialect, Link, Network};
use super::Imported;

/// Which files are read; those left out are looked for in the configuration.
#[derive(Clone, Debug, Default)]
pub struct Inputs {
    /// `topology.txt`.
    pub topology: Option<PathBuf>,
    /// `flow.txt`.
    pub flows: Option<PathBuf>,
    /// `config.txt`.
    pub config: Option<PathBuf>,
    /// Unit of `BUFFER_SIZE`.
    pub buffer_unit: BufferUnit,
}

/// Texts of the same files.
#[derive(Clone, Debug)]
pub struct Texts {
    /// `topology.txt`.
    pub topology: Arc<Source>,
    /// `flow.txt`.
    pub flows: Option<Arc<Source>>,
    /// `config.txt`.
    pub config: Option<Arc<Source>>,
    /// Unit of `BUFFER_SIZE`.
    pub buffer_unit: BufferUnit,
}

/// Unknown or doubtful settings of a configuration.
pub type Warnings = Vec<Diagnostic>;

/// Reads the files and makes a scenario called `name` of them.
///
/// # Errors
/// If a file is missing or not what it should be.
pub fn import(inputs: &Inputs, name: &str) -> Checked<(Imported, Warnings)> {
    let config = inputs.config.as_deref().map(super::read).transpose()?;
    let parse = |text| Config::parse(text, inputs.buffer_unit);
    let parsed = config.as_ref().map(parse).transpose()?.unwrap_or_default();
    let named = |file: Option<&String>| -> Checked<Option<PathBuf>> {
        file.zip(inputs.config.as_deref()).map(|(file, config)| find(config, file)).transpose()
    };
    let topology = match &inputs.topology {
        Some(path) => Some(path.clone()),
        None => named(parsed.topology_file.as_ref())?,
    };
    let Some(topology) = topology else {
        let message = "no topology: neither --topology nor TOPOLOGY_FILE in a --config names one";
        return Err(Diagnostic::error(Code::InputFailed, message).into());
    };
    let flows = match &inputs.flows {
        Some(path) => Some(path.clone()),
        None => named(parsed.flow_file.as_ref())?,
    };
    let texts = Texts {
        topology: super::read(&topology)?,
        flows: flows.as_deref().map(super::read).transpose()?,
        config,
        buffer_unit: inputs.buffer_unit,
    };
    convert(&texts, name)
}

/// The same with texts that are read already.
///
/// # Errors
/// If a text is not what it should be.
pub fn convert(texts: &Texts, name: &str) -> Checked<(Imported, Warnings)> {
    let parse = |text| Config::parse(text, texts.buffer_unit);
    let mut config = texts.config.as_ref().map(parse).transpose()?.unwrap_or_default();
    let network = Network::parse(&texts.topology)?;
    let flows = |text| Flows::parse(text, &network, config.payload);
    let flows = texts.flows.as_ref().map(flows).transpose()?;
    if let Some((_, a, b)) = config.link_down {
        let joins = |link: &Link| link.ends == (a, b) || link.ends == (b, a);
        if !network.links.iter().any(joins) {
            let message = format!("LINK_DOWN names the link between {a} and {b}, which does not exist");
            return Err(Diagnostic::error(Code::ForeignFile, message).into());
        }
    }
    let warnings = std::mem::take(&mut config.warnings);
    let imported = write::scenario(&network, flows.as_ref(), &config, texts.config.is_some(), name)?;
    Ok((imported, warnings))
}

/// A file that a configuration names, relative to its folder or one above: simulations are started from there.
fn find(config: &Path, file: &str) -> Checked<PathBuf> {
    let folder = match config.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let absolute = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let candidates = absolute.ancestors().map(|folder| folder.join(file));
    let found = candidates.into_iter().find(|path| path.is_file());
    found.ok_or_else(|| {
        let message =
            format!("{} names {file}, which is neither in its folder nor in one above", config.display());
        let help = "--topology and --flows name files instead";
        Diagnostic::error(Code::InputFailed, message).help(help).into()
    })
}
