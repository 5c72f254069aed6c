//! Outcomes as Markdown and as JSON.

use std::fmt::Write;

use serde_json::{Value, json};

use super::{Band, Expected, Fidelity, Outcome, PARTS, Study};
use crate::diagnostic::Checked;
use crate::numbers::number;
use crate::repro::markdown::table;
use crate::repro::{Tally, Verdict};
use crate::results::Output;

/// Rules of verdicts, for readers of the page.
const VERDICTS: &str = "Expected is what the source reports, or what its formula gives with the settings of the scenario. Verdicts are \
    computed: match if the value of Narrows lies in the band, miss if it does not or there was nothing to measure. The bands and their \
    reasons were written down before the first run and have two sides. A miss stays in its table, with what is \
    known of it below.";

impl Outcome {
    /// Expected value, with its unit.
    pub fn expected_text(&self) -> String {
        self.with_unit(self.expected)
    }

    /// Measured value, with its unit.
    pub fn measured_text(&self) -> String {
        self.measured.map_or("–".into(), |measured| self.with_unit(measured))
    }

    /// The measured value as a multiple of the expected one.
    pub fn ratio_text(&self) -> String {
        self.ratio().map_or("–".into(), |ratio| format!("{ratio:.3}"))
    }

    /// Distance of the band's ends from the expected value, or the ends.
    pub fn band_text(&self) -> String {
        let percent = |part: f64| number(part * 100.0);
        match self.comparison.band {
            Band::Around(below, above) if -below == above => format!("± {} %", percent(above)),
            Band::Around(below, above) => format!("{} % to +{} %", percent(below), percent(above)),
            Band::Between(least, most) => format!("{} to {}", number(least), self.with_unit(most)),
        }
    }

    fn with_unit(&self, value: f64) -> String {
        format!("{} {}", number(value), self.comparison.unit).trim_end().to_owned()
    }
}

impl Fidelity {
    /// Counts the verdicts.
    pub fn tally(&self) -> Tally {
        let misses = self.outcomes.iter().filter(|outcome| outcome.verdict == Verdict::Miss).count();
        Tally { matches: self.outcomes.len() - misses, misses, ..Tally::default() }
    }

    /// Counts the verdicts, in words.
    pub fn tally_text(&self) -> String {
        let Tally { matches, misses, .. } = self.tally();
        let left_out = match self.left_out {
            0 => String::new(),
            count => format!(" · {count} left out by --quick"),
        };
        format!("{} comparisons: {matches} match · {misses} miss{left_out}", matches + misses)
    }

    /// Outcomes whose verdict is not the one that is known of them.
    pub fn surprises(&self) -> impl Iterator<Item = &Outcome> {
        self.outcomes.iter().filter(|outcome| !outcome.is_as_known())
    }

    /// Writes the page, the values and the scenarios.
    ///
    /// # Errors
    /// If one cannot be written.
    pub fn write(&self, study: &Study, output: &Output) -> Checked<()> {
        let values = serde_json::to_string_pretty(&self.to_json()).unwrap_or_default() + "\n";
        output.write_text("", "claims.json", &values)?;
        output.write_text("", "report.md", &self.markdown())?;
        for run in &study.runs {
            output.write_text("scenarios", &format!("{}.toml", run.name), &run.plan.text)?;
        }
        Ok(())
    }

    /// All values.
    pub fn to_json(&self) -> Value {
        let outcome = |outcome: &Outcome| {
            let comparison = outcome.comparison;
            let (least, most) = comparison.band.ends(outcome.expected);
            json!({
                "id": comparison.id,
                "title": comparison.title,
                "source": comparison.source,
                "formula": comparison.formula(),
                "unit": comparison.unit,
                "expected": outcome.expected,
                "measured": outcome.measured,
                "ratio": outcome.ratio(),
                "band": [least, most],
                "why": comparison.why,
                "verdict": outcome.verdict,
                "known": comparison.miss,
            })
        };
        json!({
            "narrows": env!("CARGO_PKG_VERSION"),
            "quick": self.quick,
            "left_out": self.left_out,
            "comparisons": self.outcomes.iter().map(outcome).collect::<Vec<_>>(),
        })
    }

    /// The whole as Markdown.
    pub fn markdown(&self) -> String {
        let mut text = format!(
            "# Fidelity\n\nNarrows held against theory, standards and published measurements, beyond the papers that `narrows repro` \
             repeats. `narrows validate` runs all of this on your machine, `narrows validate --quick` what takes a few seconds, \
             `narrows validate ID` one comparison, and `narrows validate --scenario ID` prints its scenario, for `narrows run`.\n\n\
             This page is written by `{}` (narrows {}).\n\n**{}.** {VERDICTS}\n",
            if self.whole { "cargo xtask fidelity" } else { "narrows validate --out" },
            env!("CARGO_PKG_VERSION"),
            self.tally_text(),
        );
        for part in PARTS.iter() {
            let of_part =
                |outcome: &&Outcome| part.comparisons.iter().any(|one| one.id == outcome.comparison.id);
            let outcomes: Vec<_> = self.outcomes.iter().filter(of_part).collect();
            if !outcomes.is_empty() {
                let _ = write!(text, "\n## {}\n\n{}\n", part.title, part.about);
                text += &markdown_of_part(&outcomes);
            }
        }
        if !self.warnings.is_empty() {
            text += "\n## Warnings of the scenarios\n\n";
            self.warnings.iter().for_each(|warning| text += &format!("- {warning}\n"));
        }
        text
    }
}

fn markdown_of_part(outcomes: &[&Outcome]) -> String {
    let row = |outcome: &&Outcome| {
        let comparison = outcome.comparison;
        let expected = match &comparison.expected {
            Expected::Reported(_) => outcome.expected_text(),
            Expected::Theory(_) => format!("*{}*", outcome.expected_text()),
        };
        [
            format!("`{}`", comparison.id),
            comparison.title.clone(),
            comparison.source.clone(),
            expected,
            outcome.measured_text(),
            outcome.ratio_text(),
            outcome.band_text(),
            format!("**{}**", outcome.verdict.name()),
        ]
    };
    let head = ["id", "what", "source", "expected", "Narrows", "ratio", "band", "verdict"];
    let mut text = table(&head, outcomes.iter().map(row));
    text += "\nIn italics: from a formula.\n";
    for outcome in outcomes {
        let comparison = outcome.comparison;
        let formula = comparison.formula().map_or(String::new(), |formula| format!("{formula}. "));
        let _ = write!(text, "\n- `{}`: {formula}Band: {}", comparison.id, comparison.why);
    }
    text.push('\n');
    let misses: Vec<_> = outcomes.iter().filter(|outcome| outcome.verdict == Verdict::Miss).collect();
    if !misses.is_empty() {
        text += "\nMisses:\n";
        for outcome in misses {
            let known = outcome.comparison.miss.as_deref().unwrap_or("unexplained.");
            let _ = write!(text, "\n- `{}`: {known}", outcome.comparison.id);
        }
        text.push('\n');
    }
    text
}
