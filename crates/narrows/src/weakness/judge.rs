//! The score of a path as an example of a weakness: the badness of the control on it, less that of the best reference in its place.
//!
//! Badness is measured against what is possible for somebody who knows the path beforehand. That is more than any control reaches on
//! some paths, so the least badness of the references that deliver is taken off: what is left can be done better, and somebody does.
//! As a score is never more than the badness of the control alone, references are run only if that is above the bar, and until one has
//! next to no badness. Those that were the best on most paths so far come first.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::control::Control;
use super::measured::Measured;
use super::objective::{Objective, delivers};
use super::path::Path;
use super::written::{Record, scenario};
use crate::diagnostic::{Checked, Rejection};
use crate::document::Document;
use crate::plan::Plan;
use crate::results::Results;
use crate::run::{self, Options};

/// A lower score is none, millionths. Nor can anybody do better by more than that than a reference whose badness is no higher.
pub(super) const LEAST: u32 = 10_000;

/// Whether a search may go on.
pub(super) type GoesOn<'a> = &'a (dyn Fn() -> ControlFlow<()> + Sync);

/// Why there is no score.
#[derive(Debug)]
pub(super) enum Halt {
    /// It was requested to end early.
    Interrupted,
    /// A path makes no scenario.
    Refused(Rejection),
}

impl From<Rejection> for Halt {
    fn from(rejection: Rejection) -> Self {
        Self::Refused(rejection)
    }
}

/// Judges paths.
pub(super) struct Judge<'a> {
    pub(super) control: &'a Control,
    pub(super) objective: Objective,
    pub(super) goes_on: GoesOn<'a>,
    /// References in the order in which they are run.
    references: Vec<&'static str>,
    /// Runs so far.
    pub(super) runs: AtomicU64,
}

/// A path with its score.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Scored {
    /// Of the control, in millionths.
    pub(super) badness: u32,
    /// In millionths, if it is above the bar.
    pub(super) score: Option<u32>,
    /// The reference that did best, if one delivered.
    pub(super) best: Option<&'static str>,
}

/// A run on a path, judged.
#[derive(Clone, Debug)]
pub(super) struct Judged {
    pub(super) measured: Measured,
    /// Millionths.
    pub(super) badness: u32,
}

impl<'a> Judge<'a> {
    pub(super) fn new(control: &'a Control, objective: Objective, goes_on: GoesOn<'a>) -> Self {
        Self {
            control,
            objective,
            goes_on,
            references: control.references().collect(),
            runs: AtomicU64::new(0),
        }
    }

    /// The same with those references in front that were the best more often.
    pub(super) fn in_order(mut self, best: impl Fn(&str) -> u32) -> Self {
        // Stable: of equals the order stays.
        self.references.sort_by_key(|name| std::cmp::Reverse(best(name)));
        self
    }

    /// The score of a path if that is above `bar`.
    pub(super) fn score(&self, path: &Path, seed: u64, bar: u32) -> Result<Scored, Halt> {
        let share = path.share();
        let tested = self.run_at(path, share, self.control.name, seed)?;
        // If nobody delivers, nothing shows that it can be done better.
        let mut best: Option<(u32, &'static str)> = None;
        if tested.badness > bar {
            for name in &self.references {
                let reference = self.run_at(path, share, name, seed)?;
                if !delivers(share, &tested.measured, &reference.measured) {
                    continue;
                }
                if best.is_none_or(|(least, _)| reference.badness < least) {
                    best = Some((reference.badness, name));
                }
                if reference.badness <= LEAST {
                    break;
                }
            }
        }
        let score = best.map(|(least, _)| tested.badness.saturating_sub(least)).filter(|score| *score > bar);
        Ok(Scored { badness: tested.badness, score, best: best.map(|(_, name)| name) })
    }

    /// Runs a control on a path.
    pub(super) fn run(&self, path: &Path, control: &str, seed: u64) -> Result<Judged, Halt> {
        self.run_at(path, path.share(), control, seed)
    }

    /// The same with the share of the path, which takes a while to compute.
    fn run_at(&self, path: &Path, share: f64, control: &str, seed: u64) -> Result<Judged, Halt> {
        let record = if self.objective.needs_queue() { Record::Queue } else { Record::Nothing };
        let text = scenario(path, self.control, control, ["path", ""], seed, record);
        let measured = Measured::of(path, &self.results(text)?);
        Ok(Judged { badness: self.objective.badness(share, &measured), measured })
    }

    /// Runs a scenario in memory.
    pub(super) fn results(&self, text: String) -> Result<Results, Halt> {
        if (self.goes_on)().is_break() {
            return Err(Halt::Interrupted);
        }
        self.runs.fetch_add(1, Ordering::Relaxed);
        let plan = planned(text)?;
        let results = run::run(&plan, Options::default(), |_| (self.goes_on)())?;
        if results.complete { Ok(results) } else { Err(Halt::Interrupted) }
    }
}

fn planned(text: String) -> Checked<Arc<Plan>> {
    Ok(Arc::new(Plan::new(Document::parse("path", text, "")?)?))
}

#[cfg(test)]
mod tests {
    use narrows_proto::cc::parts::SplitMix;

    use super::super::path::tests::plain;
    use super::super::space::Space;
    use super::*;

    fn judge(control: &Control, objective: Objective) -> Judge<'_> {
        Judge::new(control, objective, &|| ControlFlow::Continue(()))
    }

    #[test]
    fn every_path_of_every_control_is_a_scenario() {
        for name in Control::names() {
            let control = Control::find(name).unwrap();
            for (objective, rate) in Objective::ALL.into_iter().zip([None, Some(1_000), None, None]) {
                let space = Space::new(&control, objective.flows(), [rate, None]);
                let mut random = SplitMix::new(1);
                for _ in 0..40 {
                    let path = space.draw(&mut random);
                    let text = scenario(&path, &control, name, ["path", ""], 1, Record::All);
                    let plan =
                        planned(text.clone()).unwrap_or_else(|error| panic!("{path}: {error}\n{text}"));
                    assert_eq!(
                        plan.network.topology.links()[0].wire.rate.as_bps(),
                        u64::from(path.rate) * 1_000
                    );
                }
            }
        }
    }

    #[test]
    fn a_score_is_what_the_best_reference_does_better() {
        let control = Control::find("reno").unwrap();
        let judge = judge(&control, Objective::Starve);
        // Reno cannot use a link with 3 % of random losses, BBR can.
        let path = Path { loss: 3_000, ..plain() };
        let Scored { badness, score, best } = judge.score(&path, 1, 0).unwrap();
        let others: Vec<_> =
            control.references().map(|other| judge.run(&path, other, 1).unwrap().badness).collect();
        let score = score.unwrap();
        assert!(score.abs_diff(badness - others.iter().min().unwrap()) <= LEAST);
        assert!(score > 300_000, "{score}");
        assert_eq!(score, badness - judge.run(&path, best.unwrap(), 1).unwrap().badness);
    }

    #[test]
    fn below_the_bar_no_reference_is_run() {
        let control = Control::find("reno").unwrap();
        let judge = judge(&control, Objective::Starve);
        let Scored { badness, score, .. } = judge.score(&plain(), 1, 999_999).unwrap();
        assert_eq!((score, judge.runs.load(Ordering::Relaxed)), (None, 1));
        assert!(badness < 200_000, "alone on a quiet link Reno has most of it: {badness}");
    }

    #[test]
    fn behind_a_reference_that_hardly_anybody_could_better_none_is_run() {
        let control = Control::find("reno").unwrap();
        let judge = judge(&control, Objective::Lose);
        let path = plain();
        let tested = judge.run(&path, "reno", 1).unwrap();
        let is_perfect = |name: &&str| {
            let run = judge.run(&path, name, 1).unwrap();
            run.badness <= LEAST && delivers(path.share(), &tested.measured, &run.measured)
        };
        let before = control.references().take_while(|name| !is_perfect(name)).count();
        assert!(before + 1 < control.references().count(), "one of the first loses nothing");
        judge.runs.store(0, Ordering::Relaxed);
        let scored = judge.score(&path, 1, 0).unwrap();
        assert!(tested.badness - scored.score.unwrap() <= LEAST);
        assert_eq!(judge.runs.load(Ordering::Relaxed), before as u64 + 2);
        let best = scored.best.unwrap();
        let judge = judge.in_order(|name| u32::from(name == best));
        judge.runs.store(0, Ordering::Relaxed);
        assert_eq!(judge.score(&path, 1, 0).unwrap(), scored);
        assert_eq!(judge.runs.load(Ordering::Relaxed), 2, "the best of before comes first");
    }

    #[test]
    fn the_queue_is_that_of_the_bottleneck_wherever_it_stands_among_the_links() {
        let control = Control::find("reno").unwrap();
        let (judge, path) = (judge(&control, Objective::Fill), plain());
        let text = scenario(&path, &control, "reno", ["path", ""], 1, Record::Queue);
        let (before, links) = text.split_once("links = [\n").unwrap();
        let (links, after) = links.split_once("]\n\n").unwrap();
        let last: String = links.lines().rev().map(|link| format!("{link}\n")).collect();
        let other = format!("{before}links = [\n{last}]\n\n{after}");
        assert_ne!(text, other);
        let [one, other] = [text, other].map(|text| Measured::of(&path, &judge.results(text).unwrap()));
        assert!(one.waiting > 0.1);
        assert_eq!(one, other);
    }

    #[test]
    fn what_is_interrupted_has_no_score() {
        let control = Control::find("reno").unwrap();
        let judge = Judge::new(&control, Objective::Starve, &|| ControlFlow::Break(()));
        assert!(matches!(judge.score(&plain(), 1, 0), Err(Halt::Interrupted)));
    }
}
