//! Results: files of folders and digests, under numbers that the page has for them.

use std::collections::BTreeMap;

use bytes::Bytes;
use narrows::diagnostic::{Checked, Code, Diagnostic};
use narrows::report::{
    Cell, Digest, comparison_object, page, page_data, page_of_run, run_object, shown_summary, summarize,
};
use narrows::results::{Held, Results};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::frame::Files;
use crate::question::{Answer, Answered, Question, Refused};

/// The report of a run among its files; made when it is wanted.
const REPORT: &str = "report.html";

/// Results, by their numbers.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    results: BTreeMap<u32, Result>,
    next: u32,
}

#[derive(Debug)]
struct Result {
    digest: Digest,
    held: Held,
}

/// Results of several seeds under one name.
#[derive(Debug, Deserialize)]
struct NamedCell {
    name: String,
    ids: Vec<u32>,
}

#[derive(Debug, Deserialize)]
struct Shown {
    title: String,
    cells: Vec<NamedCell>,
}

#[derive(Debug, Deserialize)]
struct OfResult {
    id: u32,
}

#[derive(Debug, Deserialize)]
struct OneFile {
    id: u32,
    name: String,
}

#[derive(Debug, Deserialize)]
struct Folder {
    files: Files,
}

impl Kept {
    /// Keeps the results of a run. Describes them.
    ///
    /// # Errors
    /// If a table cannot be encoded.
    pub(crate) fn of_run(&mut self, results: &Results) -> Checked<Value> {
        let unwritten =
            |(name, error)| Diagnostic::error(Code::OutputFailed, format!("cannot write {name}: {error}"));
        let files = results.files().map_err(unwritten)?;
        let digest = Digest::of(results)?;
        let files = files.into_iter().map(|(name, content)| (name, content.into())).collect();
        Ok(self.keep(Result { digest, held: Held::new(files)? }))
    }

    fn keep(&mut self, result: Result) -> Value {
        self.next += 1;
        let described = result.describe(self.next);
        self.results.insert(self.next, result);
        described
    }

    fn get(&self, id: u32) -> std::result::Result<&Result, Refused> {
        self.results.get(&id).ok_or_else(|| missing(id))
    }

    /// Cells of a comparison. Only the first run of each keeps what was recorded over time.
    fn cells(&self, named: Vec<NamedCell>) -> std::result::Result<Vec<Cell>, Refused> {
        let cell = |NamedCell { name, ids }: NamedCell| {
            let mut runs: Vec<Digest> = Vec::new();
            for id in ids {
                let digest = &self.get(id)?.digest;
                runs.push(if runs.is_empty() { digest.clone() } else { digest.without_records() });
            }
            if runs.is_empty() {
                Err(Refused::Question(format!("no runs in {name}")))
            } else {
                Ok(Cell { name, runs })
            }
        };
        let cells = named.into_iter().map(cell).collect::<std::result::Result<Vec<_>, _>>()?;
        if cells.is_empty() { Err(Refused::Question("no cells".into())) } else { Ok(cells) }
    }
}

fn missing(id: u32) -> Refused {
    Refused::Question(format!("no result has the number {id}"))
}

impl Result {
    fn describe(&self, id: u32) -> Value {
        let Digest { scenario, network, seed, version, complete, warnings, .. } = &self.digest;
        let cell = Cell { name: scenario.clone(), runs: vec![self.digest.without_records()] };
        json!({
            "id": id, "scenario": scenario, "network": network, "seed": seed, "version": version, "complete": complete,
            "engine": self.held.engine(), "warnings": warnings, "run": run_object(&cell, None),
        })
    }
}

impl Kept {
    pub(crate) fn open_result(&mut self, question: &Question) -> Answered {
        let Folder { files } = question.read()?;
        let mut folders: BTreeMap<String, BTreeMap<String, Bytes>> = BTreeMap::new();
        for (path, content) in files.of(&question.parts) {
            let (folder, name) = split(path);
            folders.entry(folder.to_owned()).or_default().insert(name.to_owned(), content);
        }
        folders.retain(|_, files| files.contains_key("run.json"));
        if folders.is_empty() {
            let error = Diagnostic::error(Code::NoResults, "there is no run.json among the files");
            let help = "choose all files of a folder that narrows run or narrows compare has written";
            return Err(Refused::Input(error.help(help).into()));
        }
        let mut results = Vec::new();
        for files in folders.into_values() {
            let held = Held::new(files)?;
            results.push(Result { digest: Digest::of(&held)?, held });
        }
        let described: Vec<_> = results.into_iter().map(|result| self.keep(result)).collect();
        Ok(json!(described).into())
    }

    pub(crate) fn files(&mut self, question: &Question) -> Answered {
        let OfResult { id } = question.read()?;
        let files = self.get(id)?.held.files();
        let named = |(name, content): (&String, &Bytes)| json!({ "name": name, "bytes": content.len() });
        let report = json!({ "name": REPORT, "bytes": null });
        Ok(json!(
            files.iter().filter(|(name, _)| *name != REPORT).map(named).chain([report]).collect::<Vec<_>>()
        )
        .into())
    }

    pub(crate) fn file(&mut self, question: &Question) -> Answered {
        let OneFile { id, name } = question.read()?;
        let Result { digest, held } = self.get(id)?;
        let file = match name.as_str() {
            REPORT => page_of_run(digest).into(),
            name => held
                .files()
                .get(name)
                .cloned()
                .ok_or_else(|| Refused::Question(format!("result {id} has no file \"{name}\"")))?,
        };
        Ok(Answer { value: Value::Null, files: vec![file] })
    }

    pub(crate) fn export(&mut self, question: &Question) -> Answered {
        let OfResult { id } = question.read()?;
        let files = self.get(id)?.held.files().iter().filter(|(name, _)| *name != REPORT);
        let (names, files): (Vec<_>, Vec<_>) = files.map(|(name, content)| (name, content.clone())).unzip();
        Ok(Answer { value: json!(names), files })
    }

    pub(crate) fn forget(&mut self, question: &Question) -> Answered {
        let OfResult { id } = question.read()?;
        self.results.remove(&id).map(|_| Value::Null.into()).ok_or_else(|| missing(id))
    }

    pub(crate) fn report(&mut self, question: &Question) -> Answered {
        let Shown { title, cells } = question.read()?;
        Ok(page_data(&title, &self.cells(cells)?).into())
    }

    pub(crate) fn report_page(&mut self, question: &Question) -> Answered {
        let Shown { title, cells } = question.read()?;
        let page = page(&title, &self.cells(cells)?);
        Ok(Answer { value: Value::Null, files: vec![page.into()] })
    }

    pub(crate) fn compare(&mut self, question: &Question) -> Answered {
        let Shown { title, cells } = question.read()?;
        let cells = self.cells(cells)?;
        let summary = summarize(&cells);
        let mut compared = comparison_object(&title, &cells, &summary, None);
        compared["shown"] = shown_summary(&summary);
        Ok(compared.into())
    }
}

/// The folder of a file of results, and its name there. `inputs/` is part of the latter.
fn split(path: &str) -> (&str, &str) {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    match folder.strip_suffix("inputs") {
        Some(above) if above.is_empty() || above.ends_with('/') => {
            (above.trim_end_matches('/'), &path[above.len()..])
        }
        _ => (folder, name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_belong_to_the_folder_above_them() {
        for (path, folder, name) in [
            ("run.json", "", "run.json"),
            ("a/seed-1/flows.parquet", "a/seed-1", "flows.parquet"),
            ("inputs/web.csv", "", "inputs/web.csv"),
            ("a/inputs/web.csv", "a", "inputs/web.csv"),
            ("myinputs/run.json", "myinputs", "run.json"),
        ] {
            assert_eq!(split(path), (folder, name), "{path}");
        }
    }
}
