//! A cell to be run anywhere: its scenario as text, and which files it needs.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use narrows_proto::cc::custom::Maker;
use narrows_sim::Progress;
use serde::{Deserialize, Serialize};

use super::complete::{collect, seal};
use super::trouble::Trouble;
use crate::ENGINE;
use crate::checksum;
use crate::diagnostic::{Checked, Code, Diagnostic};
use crate::document::Document;
use crate::inputs::{Content, INPUTS, Input};
use crate::plan::Plan;
use crate::results::{Results, write_results};
use crate::run::{Options, run};

/// A cell to be run. It has no paths of this machine in it, so it may travel, as JSON.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Task {
    /// The id of the cell.
    pub id: String,
    /// The engine that is to simulate it.
    pub engine: String,
    /// The seed; the scenario has it as well.
    pub seed: u64,
    /// The scenario, with every setting.
    pub scenario: String,
    /// Files that it names.
    pub files: Vec<Attached>,
}

/// The files of the results of a cell: names and content.
pub type CellFiles = Vec<(String, Vec<u8>)>;

/// A file that a scenario names.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Attached {
    /// Its name without a folder.
    pub name: String,
    /// The hash of its content.
    pub hash: String,
}

/// Files and controls besides a scenario's text.
#[derive(Clone, Debug, Default)]
pub struct Supplies {
    /// Files by the hash of their content.
    pub files: BTreeMap<String, Content>,
    /// Makers of congestion controls that are not built in, by name.
    pub makers: BTreeMap<String, Arc<dyn Maker>>,
}

impl Task {
    /// A task from JSON.
    ///
    /// # Errors
    /// If it is none, is for another engine, or was changed on its way.
    pub fn from_json(text: &str) -> Checked<Self> {
        let wrong = |problem: &dyn std::fmt::Display| {
            Diagnostic::error(Code::BadTask, format!("this is no task of a sweep: {problem}"))
        };
        let task: Self = serde_json::from_str(text).map_err(|error| wrong(&error))?;
        task.check_engine()?;
        if task.id != id(&task.engine, &task.scenario, &task.files) {
            return Err(wrong(&"its id does not belong to its scenario").into());
        }
        Ok(task)
    }

    /// As JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Refuses a task that another engine is to run: it might simulate something else.
    ///
    /// # Errors
    /// With both engines.
    pub fn check_engine(&self) -> Checked<()> {
        if self.engine == ENGINE {
            return Ok(());
        }
        let message = format!("the cell is for engine {}, this is {ENGINE}", self.engine);
        let help = "install the same version of narrows everywhere";
        Err(Diagnostic::error(Code::OtherEngine, message).help(help).into())
    }

    /// The plan, in outline.
    ///
    /// # Errors
    /// If a file is missing, a control has other code here, or as [`Plan::new`].
    pub fn outline(&self, supplies: &Supplies) -> Checked<Plan> {
        let mut document = Document::parse(&format!("cell {}", self.id), self.scenario.as_str(), "")?;
        for Attached { name, hash } in &self.files {
            let Some(content) = supplies.files.get(hash) else {
                let message = format!("the file {name} did not come with the cell {}", self.id);
                return Err(Diagnostic::error(Code::BadTask, message).into());
            };
            document.supply(&Input::path_of(name), content.clone());
        }
        for (name, maker) in &supplies.makers {
            document.attach(name, Arc::clone(maker));
        }
        let mut plan = Plan::outline(document)?;
        let other = plan.warnings.iter().position(|warning| warning.code == Code::OtherCode);
        match other.map(|other| plan.warnings.swap_remove(other)) {
            None => Ok(plan),
            Some(warning) => Err(Diagnostic::error(warning.code, warning.message).into()),
        }
    }

    /// Runs the cell and writes its results into a folder that exists. False if it was requested to end early; then nothing is of use.
    ///
    /// # Errors
    /// If the scenario makes no sense, a control from outside fails or has other code than the task says, or the folder cannot be written to.
    pub fn run_into(
        &self,
        supplies: &Supplies,
        threads: usize,
        folder: &Path,
        mut progress: impl FnMut(f64) -> ControlFlow<()> + Send,
    ) -> Result<bool, Trouble> {
        self.check_engine()?;
        let plan = Arc::new(self.outline(supplies)?).drawn()?;
        if let Some(other) = plan.warnings.iter().find(|warning| warning.code == Code::OtherCode) {
            let refused = Diagnostic::error(Code::OtherCode, other.message.clone());
            let help = "cells run where the code is the same as where the sweep was started";
            return Err(Trouble { rejection: refused.help(help).into(), for_all: true, again: false });
        }
        let end = plan.stop.at.as_secs_f64();
        let options = Options { threads, ..Options::default() };
        let results = run(&plan, options, |Progress { now, .. }| progress(now.as_secs_f64() / end))?;
        if plan.has_failed_control() {
            let failed =
                Diagnostic::error(Code::ControlFailed, "a congestion control from outside has failed");
            return Err(Trouble { rejection: failed.into(), for_all: true, again: false });
        }
        if !results.complete {
            return Ok(false);
        }
        write_cell(&results, self, folder)?;
        Ok(true)
    }

    /// Runs the cell on a machine that has nothing but the task, the content of its files by hash, and makers by name. Returns the files of
    /// its results with their names, for [`Store::put`](super::Store::put); none if it was requested to end early.
    ///
    /// # Errors
    /// As [`Task::run_into`], or if a file is not what the task says.
    pub fn run_to_bytes(
        &self,
        files: &BTreeMap<String, Vec<u8>>,
        makers: &BTreeMap<String, Arc<dyn Maker>>,
        threads: usize,
        progress: impl FnMut(f64) -> ControlFlow<()> + Send,
    ) -> Checked<Option<CellFiles>> {
        let failed = |error: std::io::Error| {
            let message = format!("cannot write to the folder for temporary files: {error}");
            Diagnostic::error(Code::OutputFailed, message)
        };
        let place = tempfile::tempdir().map_err(failed)?;
        let supplies = self.supplies(files, makers)?;
        let results = place.path().join("results");
        std::fs::create_dir(&results).map_err(failed)?;
        if !self.run_into(&supplies, threads, &results, progress)? {
            return Ok(None);
        }
        Ok(Some(collect(&results).map_err(failed)?))
    }

    /// Its files, of those that came with it, and makers.
    pub(super) fn supplies(
        &self,
        files: &BTreeMap<String, Vec<u8>>,
        makers: &BTreeMap<String, Arc<dyn Maker>>,
    ) -> Checked<Supplies> {
        let mut supplies = Supplies { files: BTreeMap::new(), makers: makers.clone() };
        for Attached { name, hash } in &self.files {
            let Some(content) = files.get(hash) else { continue };
            let text = std::str::from_utf8(content).unwrap_or_default();
            let content = Content::new(name, text.to_owned());
            if content.hash() != hash {
                let message = format!("the file {name} was changed on its way");
                return Err(Diagnostic::error(Code::BadTask, message).into());
            }
            supplies.files.insert(hash.clone(), content);
        }
        Ok(supplies)
    }
}

/// Writes the results of a cell into a folder.
fn write_cell(results: &Results, task: &Task, folder: &Path) -> Result<(), Trouble> {
    let mut scenario = results.plan.scenario.clone();
    for file in scenario.files_mut() {
        let name = file.file_name().map(|name| name.to_string_lossy().into_owned());
        if let Some(input) = task.files.iter().find(|input| Some(&input.name) == name.as_ref()) {
            *file = PathBuf::from(format!("../../{INPUTS}/{}/{}", input.hash, input.name));
        }
    }
    // They are not flushed to the disk: `cell.json` shows what was not written.
    let mut files = Vec::new();
    write_results(results, &scenario.to_toml(), folder, Some(&mut files))
        .map_err(|(name, error)| Trouble::written(&folder.join(name), &error))?;
    seal(folder, &task.id, &task.engine, task.seed, files).map_err(|error| Trouble::written(folder, &error))
}

/// The hash of everything that decides what comes out of a run.
pub(super) fn id(engine: &str, scenario: &str, files: &[Attached]) -> String {
    let mut hasher = blake3::Hasher::new();
    let mut add = |text: &str| {
        hasher.update(&(text.len() as u64).to_le_bytes());
        hasher.update(text.as_bytes());
    };
    add(engine);
    add(scenario);
    for Attached { name, hash } in files {
        add(name);
        add(hash);
    }
    checksum::text(&hasher.finalize())
}
