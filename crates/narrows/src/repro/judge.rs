//! From what was measured to verdicts.

use std::collections::BTreeSet;

use super::claim::Claim;
use super::observed::{Alternative, Observed};
use super::outcome::{Judged, Tested};
use super::places::{Explanation, Place, Term, places};
use super::{Expected, Parameter, Verdict, seeds};
use crate::numbers::with_interval;
use crate::statistics::{Estimate, FEWEST};

/// All claims with their verdicts, and what is wrong with their notes.
pub(super) fn judge(
    claims: &[Claim],
    parameters: &[Parameter],
    observed: &Observed<'_>,
) -> (Vec<Judged>, Vec<String>) {
    let judge = Judge::new(claims, parameters, observed);
    let judged: Vec<_> = (0..claims.len()).map(|number| judge.claim(number)).collect();
    let errors = judged.iter().filter_map(|judged| judge.error(judged)).collect();
    (judged, errors)
}

/// Quantities of which other seeds might give a claim another verdict, and with which alternative: those of claims that count, and
/// those by which misses may be explained.
pub(super) fn undecided<'a>(
    claims: &'a [Claim],
    parameters: &'a [Parameter],
    observed: &'a Observed<'a>,
) -> BTreeSet<(Alternative, &'a str)> {
    let judge = Judge::new(claims, parameters, observed);
    let mut quantities = BTreeSet::new();
    for (number, claim) in claims.iter().enumerate().filter(|(_, claim)| claim.not_counted.is_none()) {
        if is_undecided(claim, judge.measured[number]) {
            quantities.extend(claim.quantities().map(|quantity| (None, quantity)));
        }
        let explained = claim.explained.as_ref().filter(|_| judge.claim(number).verdict == Verdict::Miss);
        let places = explained.map(|explained| judge.undecided_of(claim, explained));
        let terms = places.into_iter().flatten().flat_map(Place::terms);
        quantities.extend(terms.filter_map(|term| judge.term(term)));
    }
    quantities
}

/// Everything that verdicts depend on.
struct Judge<'a> {
    claims: &'a [Claim],
    parameters: &'a [Parameter],
    observed: &'a Observed<'a>,
    measured: Vec<Option<Estimate>>,
}

impl<'a> Judge<'a> {
    fn new(claims: &'a [Claim], parameters: &'a [Parameter], observed: &'a Observed<'a>) -> Self {
        let measured = claims.iter().map(|claim| measured_of(claim, observed)).collect();
        Self { claims, parameters, observed, measured }
    }

    fn claim(&self, number: usize) -> Judged {
        let (claim, measured) = (&self.claims[number], self.measured[number]);
        let mean = |number: usize| self.measured[number].map(|estimate| estimate.mean);
        let others = self.claims.iter().enumerate().filter(|(_, other)| claim.is_beside(other));
        let near = claim.judge(mean(number), others.map(|(number, other)| (other, mean(number))));
        let fitted: Vec<_> = self.fitted(&claim.id).map(str::to_owned).collect();
        let tested = claim.explained.as_ref().map(|explained| self.test(claim, explained));
        let verdict = match near {
            Verdict::Match if !fitted.is_empty() => Verdict::Calibrated,
            Verdict::Match if !measured.is_none_or(|found| settles(claim, &found)) => Verdict::Open,
            Verdict::Miss if tested.as_ref().is_some_and(|tested| tested.holds) => Verdict::Explained,
            near => near,
        };
        let note = claim.note.as_ref().map(|note| self.filled(note));
        Judged { claim: claim.clone(), measured, verdict, fitted, tested, note }
    }

    /// Parameters that were chosen by the number of this claim.
    fn fitted(&self, id: &str) -> impl Iterator<Item = &str> {
        let by_it = move |parameter: &&Parameter| parameter.fitted.iter().any(|fitted| fitted == id);
        self.parameters.iter().filter(by_it).map(|parameter| &*parameter.name)
    }

    /// Whether the other set-up gives what the claim expects, and predicts a number that it was not found by.
    fn test(&self, claim: &Claim, explained: &Explanation) -> Tested {
        let text = |place: &Place| {
            with_interval(self.place(place).as_ref(), if place.over.is_some() { "×" } else { "" })
        };
        let predicted = self
            .predicted(claim, explained)
            .map(|(other, place, tells)| (other.clone(), text(place), tells && self.gives(place, other)));
        let predicted: Vec<_> = predicted.collect();
        let there = explained.by.iter().all(|place| self.gives(place, claim));
        Tested {
            measured: explained.by.iter().map(text).collect(),
            holds: there && predicted.iter().any(|(.., holds)| *holds),
            predicted,
        }
    }

    /// Claims that the other set-up predicts, where they are measured there, and whether they tell something: a number that neither
    /// that set-up nor another setting was chosen by.
    fn predicted<'b>(
        &self,
        claim: &Claim,
        explained: &'b Explanation,
    ) -> impl Iterator<Item = (&'a Claim, &'b Place, bool)> {
        explained.predicts.iter().filter_map(|(id, place)| {
            let other = self.claims.iter().find(|other| other.id == *id)?;
            let chosen = *id == claim.id || explained.found.contains(id) || self.fitted(id).next().is_some();
            let is_number = matches!(other.expected, Expected::Value { .. }) && other.counts();
            Some((other, place, is_number && !chosen))
        })
    }

    /// Measured there is as the claim expects.
    fn gives(&self, place: &Place, claim: &Claim) -> bool {
        self.place(place).is_some_and(|found| claim.expected.holds(found.mean) && settles(claim, &found))
    }

    /// Where other seeds might make an explanation hold; nowhere if it fails elsewhere.
    fn undecided_of<'b>(&self, claim: &'b Claim, explained: &'b Explanation) -> Vec<&'b Place> {
        let open = |(other, place): &(&Claim, &Place)| {
            !self.gives(place, other) && is_undecided(other, self.place(place))
        };
        let by = explained.by.iter().map(|place| (claim, place));
        let predicted = self.predicted(claim, explained).filter(|(.., tells)| *tells);
        let predicted: Vec<_> = predicted.map(|(other, place, _)| (other, place)).collect();
        let holds = |(other, place): &(&Claim, &Place)| self.gives(place, other);
        let by_fails = by.clone().any(|each| !holds(&each) && !open(&each));
        let is_predicted = predicted.iter().any(holds);
        if by_fails || !is_predicted && !predicted.iter().any(open) {
            return Vec::new();
        }
        let predicted = predicted.into_iter().filter(|_| !is_predicted);
        by.chain(predicted).filter(open).map(|(_, place)| place).collect()
    }

    /// A note with measured values in place of quantities.
    fn filled(&self, note: &str) -> String {
        let mut text = String::new();
        let mut rest = note;
        for place in places(note) {
            let (before, after) = rest.split_once('{').unwrap_or((rest, ""));
            let (inside, after) = after.split_once('}').unwrap_or((after, ""));
            let found = place.ok().and_then(|place| self.place(&place));
            let value = found
                .map_or_else(|| format!("(not measured: {inside})"), |found| with_interval(Some(&found), ""));
            text += &format!("{before}{value}");
            rest = after;
        }
        text + rest
    }

    /// Error in the note of a miss.
    fn error(&self, judged: &Judged) -> Option<String> {
        let Judged { claim, verdict, .. } = judged;
        let note = claim.note.as_deref().filter(|_| *verdict == Verdict::Miss)?;
        let tests = places(note);
        let wrong =
            tests.iter().any(|place| place.as_ref().map_or(true, |place| self.place(place).is_none()));
        if wrong {
            return Some(format!("{}: the note names a quantity that was not measured", claim.id));
        }
        let open = tests.is_empty() && !note.starts_with("unexplained");
        open.then(|| {
            format!(
                "{}: the note names no quantity that tests it, and does not begin with \"unexplained\"",
                claim.id
            )
        })
    }

    fn place(&self, Place { term, over }: &Place) -> Option<Estimate> {
        let over = over.as_ref().map(|over| self.term(over));
        measured(self.observed, self.term(term)?, over.map_or(Some(None), |over| over.map(Some))?)
    }

    /// A quantity and the number of its alternative.
    fn term<'b>(&self, Term { quantity, varied }: &'b Term) -> Option<(Alternative, &'b str)> {
        let alternative = match varied {
            None => None,
            Some((parameter, value)) => {
                let number = self.parameters.iter().position(|each| each.name == *parameter)?;
                let alternatives = &self.parameters[number].alternatives;
                Some((number, alternatives.iter().position(|each| each.value == *value)?))
            }
        };
        Some((alternative, quantity))
    }
}

/// Other seeds would not say otherwise of a claim.
fn settles(claim: &Claim, found: &Estimate) -> bool {
    found.interval.is_none_or(|interval| claim.expected.settles(interval))
}

/// Other seeds might give a claim another verdict: values that hold and values that do not are both in the interval, or, without one,
/// between the smallest and the largest value; or only one or two seeds gave a value. The last step is left
/// out if its seeds are not expected to decide it (stopping for futility).
fn is_undecided(claim: &Claim, found: Option<Estimate>) -> bool {
    found.is_some_and(|found| {
        let (low, high) = found.interval.unwrap_or(found.range);
        let leaves_open = |interval| claim.expected.is_undecided(found.mean, interval);
        let expected = seeds::after_last_step(found.samples).and_then(|seeds| found.interval_of(seeds));
        found.samples < FEWEST || low < high && leaves_open((low, high)) && !expected.is_some_and(leaves_open)
    })
}

/// A quantity over seeds, or the ratio of two.
fn measured(
    observed: &Observed<'_>,
    (alternative, quantity): (Alternative, &str),
    over: Option<(Alternative, &str)>,
) -> Option<Estimate> {
    match over {
        None => observed.estimate(alternative, quantity),
        Some(over) => observed.ratio((alternative, quantity), over),
    }
}

/// Of a claim, with everything as chosen.
fn measured_of(claim: &Claim, observed: &Observed<'_>) -> Option<Estimate> {
    measured(observed, (None, &claim.quantity), claim.over.as_deref().map(|over| (None, over)))
}

#[cfg(test)]
mod tests {
    use super::super::Paper;
    use super::super::claims::read;
    use super::super::observed::Samples;
    use super::*;

    fn samples(all: &[(&str, &[f64])]) -> Samples {
        let values = |values: &[f64]| values.iter().copied().map(Some).collect();
        all.iter().map(|(quantity, found)| ((None, (*quantity).to_owned()), values(found))).collect()
    }

    fn claims(rest: &str) -> Vec<Claim> {
        let head = "id = \"a\"\nfigure = \"1\"\nsource = \"p\"\nstatement = \"s\"\nquantity = \"w.a.x\"";
        read("test", &format!("[[claim]]\n{head}\n{rest}"))
    }

    const TEN: &str = "class = \"exact\"\nunit = \"s\"\nreported = 10.0";

    fn verdict(found: &[f64], fitted: &[&str]) -> Verdict {
        let fitted = fitted.iter().map(|id| (*id).to_owned()).collect();
        let parameter = Parameter { name: "setting".into(), fitted, ..Parameter::default() };
        let (paper, found) = (Paper::default(), samples(&[("w.a.x", found)]));
        judge(&claims(TEN), &[parameter], &Observed::new(&paper, &found)).0[0].verdict
    }

    #[test]
    fn a_wide_interval_leaves_a_match_open() {
        assert_eq!(verdict(&[9.9, 10.0, 10.1], &[]), Verdict::Match);
        assert_eq!(verdict(&[8.0, 10.0, 12.5], &[]), Verdict::Open);
        assert_eq!(verdict(&[18.0, 20.0, 22.5], &[]), Verdict::Miss);
    }

    #[test]
    fn one_seed_or_two_have_no_interval_and_leave_nothing_open() {
        assert_eq!([verdict(&[10.0], &[]), verdict(&[8.0, 12.5], &[])], [Verdict::Match; 2]);
    }

    #[test]
    fn a_number_that_chose_a_setting_does_not_confirm_it() {
        assert_eq!(verdict(&[10.0], &["a"]), Verdict::Calibrated);
        assert_eq!(verdict(&[20.0], &["a"]), Verdict::Miss);
        assert_eq!(verdict(&[10.0], &["b"]), Verdict::Match);
    }

    /// A claim that measures 20 in place of 10, one beside it that does not hold either, and what another set-up gives for both.
    fn explained<T>(there: &[f64], predicted: &[f64], of: impl Fn(&[Claim], &Observed<'_>) -> T) -> T {
        let beside =
            "[[claim]]\nid = \"b\"\nfigure = \"1\"\nsource = \"p\"\nstatement = \"s\"\nquantity = \"w.b.x\"";
        let explained =
            "explained = { under = \"c\", by = [\"w.c.x\"], found = [], predicts = { b = \"w.d.x\" } }";
        let claims = claims(&format!("{TEN}\n{explained}\n{beside}\n{TEN}"));
        let found = [("w.a.x", &[20.0][..]), ("w.b.x", &[30.0]), ("w.c.x", there), ("w.d.x", predicted)];
        let (paper, found) = (Paper::default(), samples(&found));
        of(&claims, &Observed::new(&paper, &found))
    }

    const NEAR: [f64; 3] = [9.9, 10.0, 10.1];
    const WIDE: [f64; 3] = [8.0, 10.0, 12.5];
    const FAR: [f64; 3] = [19.9, 20.0, 20.1];

    #[test]
    fn what_a_wide_interval_leaves_open_explains_nothing() {
        let verdict = |there: &[f64], predicted: &[f64]| {
            explained(there, predicted, |claims, observed| judge(claims, &[], observed).0[0].verdict)
        };
        assert_eq!(verdict(&NEAR, &NEAR), Verdict::Explained);
        assert_eq!([verdict(&WIDE, &NEAR), verdict(&NEAR, &WIDE)], [Verdict::Miss; 2]);
    }

    #[test]
    fn an_explanation_needs_seeds_where_they_might_make_it_hold() {
        let undecided = |there: &[f64], predicted: &[f64]| {
            explained(there, predicted, |claims, observed| {
                // The claims themselves have one seed, which leaves them undecided.
                let all = undecided(claims, &[], observed).into_iter();
                let there =
                    all.map(|(_, quantity)| quantity).filter(|name| !["w.a.x", "w.b.x"].contains(name));
                there.map(str::to_owned).collect::<Vec<_>>().join(" ")
            })
        };
        assert_eq!(undecided(&WIDE, &NEAR), "w.c.x");
        assert_eq!(undecided(&NEAR, &WIDE), "w.d.x");
        assert_eq!(undecided(&WIDE, &WIDE), "w.c.x w.d.x");
        // It holds, or fails whatever others say.
        let clear = [(NEAR, NEAR), (FAR, WIDE), (WIDE, FAR), (FAR, FAR)];
        assert!(clear.iter().all(|(there, predicted)| undecided(there, predicted).is_empty()));
    }

    fn noted(note: &str) -> (Judged, Vec<String>) {
        let found = samples(&[("w.a.x", &[20.0]), ("w.b.x", &[4.0])]);
        let paper = Paper::default();
        let observed = Observed::new(&paper, &found);
        let (mut judged, errors) = judge(&claims(&format!("{TEN}\nnote = \"{note}\"")), &[], &observed);
        (judged.remove(0), errors)
    }

    #[test]
    fn notes_show_what_was_measured() {
        let (judged, errors) = noted("With b it is {w.b.x}, {w.a.x / w.b.x} times less.");
        assert_eq!(judged.explanation().as_deref(), Some("With b it is 4, 5 times less."));
        assert!(errors.is_empty());
    }

    #[test]
    fn a_note_of_a_miss_names_a_test_or_says_that_there_is_none() {
        let errors = |note| noted(note).1.len();
        assert_eq!(["It is the weather.", "Because of {w.c.x}.", "unexplained"].map(errors), [1, 1, 0]);
    }
}
