//! Files of other tools, and files that a scenario can be made around.

mod table;

use std::collections::BTreeMap;
use std::fmt::Display;
use std::str::FromStr;
use std::sync::Arc;

use narrows::diagnostic::{Checked, Code, Diagnostic, Source};
use narrows::input_file;
use narrows_formats::import::{Imported, Note, hpcc, htsim, plain_name};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::diagnostics;
use crate::frame::Files;
use crate::question::{Answered, Question, Refused};

#[derive(Debug, Deserialize)]
struct Import {
    kind: String,
    #[serde(default)]
    options: BTreeMap<String, String>,
    files: Files,
}

/// Kind of files that were dropped onto a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Result,
    Scenario,
    Hpcc,
    Htsim,
    Table,
}

impl Kind {
    /// By the names of files.
    fn of(names: &[&str]) -> Option<Self> {
        let any = |is: &dyn Fn(&str) -> bool| names.iter().any(|name| is(&name.to_lowercase()));
        match () {
            () if any(&|name| name.rsplit('/').next() == Some("run.json")) => Some(Self::Result),
            () if any(&|name| name.ends_with(".cm")) => Some(Self::Htsim),
            () if any(&|name| name.ends_with(".toml")) => Some(Self::Scenario),
            () if any(&|name| Role::of(name) == Some(Role::Topology)) => Some(Self::Hpcc),
            () if names.len() == 1 => Some(Self::Table),
            () => None,
        }
    }
}

/// Role of a file among those of HPCC's simulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Topology,
    Flows,
    Config,
}

impl Role {
    fn of(name: &str) -> Option<Self> {
        let name = name.rsplit('/').next().unwrap_or(name).to_lowercase();
        let words = [
            ("config", Self::Config),
            ("topo", Self::Topology),
            ("flow", Self::Flows),
            ("traffic", Self::Flows),
        ];
        words
            .into_iter()
            .find(|(word, _)| name.contains(word) && !name.ends_with(".csv"))
            .map(|(_, role)| role)
    }
}

pub(crate) fn import(question: &Question) -> Answered {
    let Import { kind, options, files } = question.read()?;
    let names: Vec<_> = files.of(&question.parts).map(|(name, _)| name).collect();
    let found = match kind.as_str() {
        "auto" => Kind::of(&names).ok_or_else(|| unclear(&names))?,
        "hpcc" => Kind::Hpcc,
        "htsim" => Kind::Htsim,
        "sizes" | "trace" => Kind::Table,
        other => return Err(Refused::Question(format!("no kind of import is named \"{other}\""))),
    };
    if found == Kind::Result {
        return Ok(json!({ "kind": "result" }).into());
    }
    let read = |(name, content): (&str, bytes::Bytes)| input_file::text(name.to_owned(), content.into());
    let sources = files.of(&question.parts).map(read).collect::<Result<Vec<_>, Diagnostic>>();
    let sources = sources.map_err(|error| Refused::Input(error.into()))?;
    let options = Options(options);
    let (kind, imported, warnings) = match found {
        Kind::Hpcc => from_hpcc(&sources, &options)?,
        Kind::Htsim => from_htsim(&sources, &options)?,
        Kind::Table => {
            let source = sources.first().ok_or_else(|| Refused::Question("no file".into()))?;
            let (kind, imported) =
                table::import(source, (kind != "auto").then_some(&*kind), &options.name(&source.name))?;
            (kind, imported, Vec::new())
        }
        Kind::Scenario | Kind::Result => return Ok(scenario(&sources).into()),
    };
    let Imported { scenario, files, read, notes } = imported;
    let note = |Note { what, why }: Note| json!({ "what": what, "why": why });
    Ok(json!({
        "kind": kind, "text": scenario, "files": files.into_iter().collect::<BTreeMap<_, _>>(), "read": read,
        "notes": notes.into_iter().map(note).collect::<Vec<_>>(), "warnings": warnings,
    })
    .into())
}

fn unclear(names: &[&str]) -> Refused {
    let message = format!("nothing is known to be made of {}", names.join(", "));
    let help = "a scenario (.toml) with the files it names; a folder of results; topology.txt, flow.txt and config.txt of HPCC's \
                simulator; a .cm of htsim; one CSV file with flow sizes or a trace";
    Refused::Input(Diagnostic::error(Code::ForeignFile, message).help(help).into())
}

/// A scenario with the files beside it.
fn scenario(sources: &[Arc<Source>]) -> Value {
    let (mut text, mut files) = (Value::Null, BTreeMap::new());
    for source in sources {
        match text.is_null() && source.name.to_lowercase().ends_with(".toml") {
            true => text = json!(source.text),
            false => drop(files.insert(&source.name, &source.text)),
        }
    }
    json!({ "kind": "scenario", "text": text, "files": files, "read": [], "notes": [], "warnings": [] })
}

/// Options of an import, as the command has them.
struct Options(BTreeMap<String, String>);

impl Options {
    fn get<T: FromStr<Err: Display>>(&self, key: &str, usual: T) -> Checked<T> {
        self.find(key).map(|found| found.unwrap_or(usual))
    }

    fn find<T: FromStr<Err: Display>>(&self, key: &str) -> Checked<Option<T>> {
        let Some(text) = self.0.get(key) else { return Ok(None) };
        let wrong = |error| Diagnostic::error(Code::Quantity, format!("{key}: {error}")).into();
        text.parse().map(Some).map_err(wrong)
    }

    /// Name of the scenario: as was said, or that of the file.
    fn name(&self, file: &str) -> String {
        let file = file.rsplit('/').next().unwrap_or(file);
        let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
        plain_name(self.0.get("name").map_or(stem, String::as_str))
    }
}

type Found = (&'static str, Imported, Vec<Value>);

fn from_hpcc(sources: &[Arc<Source>], options: &Options) -> Checked<Found> {
    let of = |role| sources.iter().find(|source| Role::of(&source.name) == Some(role)).cloned();
    let Some(topology) = of(Role::Topology) else {
        let message = "no topology: no name of a file has \"topology\" in it";
        return Err(Diagnostic::error(Code::InputFailed, message).into());
    };
    let buffer_unit = match options.0.get("buffer_unit").map(String::as_str) {
        None | Some("mib") => hpcc::BufferUnit::Mib,
        Some("kib") => hpcc::BufferUnit::Kib,
        Some(other) => {
            let error =
                Diagnostic::error(Code::UnknownName, format!("buffer_unit: unknown unit \"{other}\""));
            return Err(error.known(other, ["mib", "kib"]).into());
        }
    };
    let texts = hpcc::Texts { topology, flows: of(Role::Flows), config: of(Role::Config), buffer_unit };
    let name = texts.config.as_ref().map_or(&texts.topology.name, |config| &config.name);
    let (imported, warnings) = hpcc::convert(&texts, &options.name(name))?;
    Ok(("hpcc", imported, warnings.iter().map(diagnostics::one).collect()))
}

fn from_htsim(sources: &[Arc<Source>], options: &Options) -> Checked<Found> {
    let of = |ending: &str| sources.iter().find(|source| source.name.to_lowercase().ends_with(ending));
    let Some(matrix) = of(".cm") else {
        return Err(Diagnostic::error(Code::InputFailed, "no connection matrix: no file ends in .cm").into());
    };
    let usual = htsim::Settings::default();
    let tiers = options.get("tiers", usual.tiers)?;
    if !(2..=3).contains(&tiers) {
        return Err(Diagnostic::error(Code::OutOfRange, format!("tiers = {tiers}, expected 2 or 3")).into());
    }
    let settings = htsim::Settings {
        program: options.get("program", usual.program)?,
        tiers,
        rate: options.get("linkspeed", usual.rate)?,
        delay: options.get("hop_latency", usual.delay)?,
        latency: options.get("switch_latency", usual.latency)?,
        queue: options.find("queue")?,
        mtu: options.find("mtu")?,
        end: options.get("end", usual.end)?,
    };
    let imported = htsim::convert(matrix, of(".topo"), &settings, &options.name(&matrix.name))?;
    Ok(("htsim", imported, Vec::new()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_files_are_known_by_their_names() {
        assert_eq!(Kind::of(&["a/seed-1/run.json", "a/seed-1/scenario.toml"]), Some(Kind::Result));
        assert_eq!(Kind::of(&["incast.toml", "web.csv"]), Some(Kind::Scenario));
        assert_eq!(Kind::of(&["config.txt", "flow.txt", "topology.txt"]), Some(Kind::Hpcc));
        assert_eq!(Kind::of(&["ring.cm"]), Some(Kind::Htsim));
        assert_eq!(Kind::of(&["flows.csv"]), Some(Kind::Table));
        assert_eq!(Kind::of(&["a.csv", "b.csv"]), None);
    }
}
