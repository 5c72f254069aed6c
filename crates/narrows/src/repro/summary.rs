//! Opening of a page: what was reproduced, what was not, why, and what is fitted.

use serde::Serialize;

use super::scoreboard::Tally;
use super::{Judged, Reproduction, Verdict};

/// Claims that did not come out and are named; the others are counted.
const NAMED: usize = 5;

/// The opening of a page. It is about claims of the paper that are counted, and no others.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Summary {
    /// Verdicts that occur.
    pub(super) verdicts: Vec<&'static str>,
    /// Each figure with its number of claims, and how many of these verdicts there are.
    pub(super) figures: Vec<(String, usize, Vec<usize>)>,
    /// Questions a reader asks first, and the answers.
    pub(super) answers: Vec<(&'static str, String)>,
}

impl Reproduction {
    /// The opening of the page; none without a claim of the paper that is counted.
    pub(super) fn summary(&self) -> Option<Summary> {
        let all = self.tally();
        let of_figures: Vec<_> =
            self.figures.iter().map(|outcome| (&*outcome.figure.name, counted(&outcome.claims))).collect();
        let claims: Vec<_> = of_figures.iter().flat_map(|(_, claims)| claims.iter().copied()).collect();
        if claims.is_empty() {
            return None;
        }
        let occurring: Vec<_> =
            all.counts().into_iter().filter(|(_, count)| *count > 0).map(|(verdict, _)| verdict).collect();
        let row = |(name, claims): &(&str, Vec<&Judged>)| {
            let counts = Tally::of(claims.iter().map(|judged| judged.verdict)).counts().into_iter();
            let counts = counts.filter(|(verdict, _)| occurring.contains(verdict)).map(|(_, count)| count);
            ((*name).to_owned(), claims.len(), counts.collect())
        };
        let figures = of_figures.iter().filter(|(_, claims)| !claims.is_empty()).map(row).collect();
        let answers = [
            ("Reproduced", reproduced(all)),
            ("Not reproduced", missed(&of_figures)),
            ("Why not", reasons(&claims)),
            ("Undecided", undecided(all)),
            ("Fitted", self.fitted_text()),
        ];
        let answers =
            answers.into_iter().filter_map(|(question, answer)| Some((question, answer?))).collect();
        Some(Summary { verdicts: occurring.iter().map(|verdict| verdict.name()).collect(), figures, answers })
    }

    fn fitted_text(&self) -> Option<String> {
        let all = self.parameters.iter().map(|outcome| &outcome.parameter);
        let names: Vec<_> = all.filter(|one| !one.fitted.is_empty()).map(|one| &*one.name).collect();
        let text = match names.len() {
            0 => "nothing: no setting was chosen by a number of the paper.".to_owned(),
            1 => format!(
                "one setting was chosen by numbers of the paper, which cannot confirm it: {}.",
                names[0]
            ),
            count => format!(
                "{count} settings were chosen by numbers of the paper, which cannot confirm them: {}.",
                names.join(", ")
            ),
        };
        (!self.parameters.is_empty()).then_some(text)
    }
}

fn counted(claims: &[Judged]) -> Vec<&Judged> {
    claims.iter().filter(|judged| judged.claim.counts()).collect()
}

fn reproduced(tally: Tally) -> Option<String> {
    let Tally { matches, calibrated, shapes, explained, .. } = tally;
    let more = [
        (calibrated, "by numbers that chose a setting"),
        (shapes, "in their order, though not in size"),
        (explained, "in another set-up than the one that was run"),
    ];
    let more = more
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, how)| format!("; {count} {how}"))
        .collect::<String>();
    Some(format!("{matches} of {} claims{more}.", tally.all()))
}

/// The first miss of each figure, up to a few, with what was reported and measured.
fn missed(of_figures: &[(&str, Vec<&Judged>)]) -> Option<String> {
    let missed = |claims: &[&Judged]| claims.iter().filter(|judged| judged.verdict == Verdict::Miss).count();
    let all: usize = of_figures.iter().map(|(_, claims)| missed(claims)).sum();
    let first = |(name, claims): &(&str, Vec<&Judged>)| {
        let judged = claims.iter().find(|judged| judged.verdict == Verdict::Miss)?;
        let (reported, measured) = (judged.reported_text(), judged.measured_text());
        Some(format!("{} ({name}; reported {reported}, measured {measured})", judged.claim.statement))
    };
    let named: Vec<_> = of_figures.iter().filter_map(first).take(NAMED).collect();
    let more = match all - named.len() {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    (all > 0).then(|| format!("{}{more}.", named.join("; ")))
}

/// Numbers of misses with and without an experiment in their notes, in words.
fn reasons(claims: &[&Judged]) -> Option<String> {
    let misses: Vec<_> = claims.iter().filter(|judged| judged.verdict == Verdict::Miss).collect();
    let traced =
        |judged: &&&&Judged| judged.note.as_ref().is_some_and(|note| !note.starts_with("unexplained"));
    let tested = misses.iter().filter(traced).count();
    let open = misses.len() - tested;
    let noted = match tested {
        1 => "1 miss has an experiment in its note".to_owned(),
        _ => format!("{tested} misses have an experiment in their notes"),
    };
    let text = match (tested, open) {
        (_, 0) => format!("{noted}."),
        (0, _) => "unexplained.".into(),
        (_, 1) => format!("{noted}; 1 is unexplained."),
        _ => format!("{noted}; {open} are unexplained."),
    };
    (!misses.is_empty()).then_some(text)
}

fn undecided(tally: Tally) -> Option<String> {
    let claims = if tally.open == 1 { "claim holds" } else { "claims hold" };
    (tally.open > 0)
        .then(|| format!("{} {claims} on average, but other seeds might say otherwise.", tally.open))
}
