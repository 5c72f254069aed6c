//! Scenarios of a page: their documents, what is wrong with them, what they will take.

use std::path::PathBuf;

use bytes::Bytes;
use narrows::diagnostic::{Checked, Code, Diagnostic, Rejection};
use narrows::document::Document;
use narrows::input_file;
use narrows::inputs::Content;
use narrows::plan::Plan;
use narrows_proto::units;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::diagnostics;
use crate::frame::Files;
use crate::question::{Answered, Question};

/// Name that messages have for the text of the editor.
const NAME: &str = "scenario.toml";

/// Memory that a run may take: half of what 32 bits address, so that results find room beside it.
const MOST_MEMORY: units::Bytes = units::Bytes::new(2 << 30);

/// A scenario as a page has it.
#[derive(Debug, Deserialize)]
pub(crate) struct Written {
    text: String,
    #[serde(default)]
    sets: Vec<String>,
    seed: Option<u64>,
    #[serde(default)]
    files: Files,
}

impl Written {
    /// The outline of its plan.
    pub(crate) fn plan(&self, parts: &[Bytes]) -> Checked<Plan> {
        let files = self.files.of(parts).map(|(name, content)| {
            let source = input_file::text(name.to_owned(), content.into())?;
            Ok((PathBuf::from(name), Content::of(source)))
        });
        let files = files.collect::<Result<Vec<_>, Diagnostic>>()?;
        let mut document = Document::apart(NAME, self.text.as_str(), files)?;
        self.sets.iter().try_for_each(|assignment| document.set(assignment))?;
        if let Some(seed) = self.seed {
            document.set(&format!("seed={seed}"))?;
        }
        Plan::outline(document)
    }
}

/// A page can run a scenario with these settings.
pub(crate) fn runs(text: &str, sets: &[String]) -> bool {
    let written =
        Written { text: text.to_owned(), sets: sets.to_owned(), seed: None, files: Files::default() };
    written.plan(&[]).and_then(|plan| fit(&plan)).is_ok()
}

/// Refuses a run that finds no room in a page.
///
/// # Errors
/// With the estimate.
pub(crate) fn fit(plan: &Plan) -> Checked<()> {
    let needed = plan.memory(1);
    if needed <= MOST_MEMORY {
        return Ok(());
    }
    let message =
        format!("the run would need up to {needed:.1} of memory, in a page it may have {MOST_MEMORY:.1}");
    let help = "shorten the run or its drain, lower the load, record less or less often, use fewer hosts, or run it \
                with the command narrows";
    Err(Diagnostic::error(Code::Memory, message).help(help).into())
}

/// Mistakes in a scenario, and what it comes to.
pub(crate) fn check(question: &Question) -> Answered {
    let written: Written = question.read()?;
    let value = match written.plan(&question.parts) {
        Ok(plan) => {
            let unfit = fit(&plan).err().map_or_else(Vec::new, |Rejection(errors)| errors);
            let found: Vec<_> = unfit.iter().chain(plan.remarks()).map(diagnostics::one).collect();
            json!({ "diagnostics": found, "summary": plan.overview(), "estimate": estimate(&plan) })
        }
        Err(rejection) => {
            json!({ "diagnostics": diagnostics::all(&rejection), "summary": null, "estimate": null })
        }
    };
    Ok(value.into())
}

fn estimate(plan: &Plan) -> Value {
    json!({
        "memory_bytes": plan.memory(1).get(),
        "most_memory_bytes": MOST_MEMORY.get(),
        "fits": fit(plan).is_ok(),
        "packet_hops": plan.cost(),
    })
}
