//! More seeds for experiments with undecided claims, and for those by which a miss may be explained.

use std::collections::BTreeSet;

use super::judge::undecided;
use super::needed::sources;
use super::observed::{Alternative, Observed, Samples};
use super::study::add_sweeps;
use super::{Measured, Run, Study, experiment_of, seeds};
use crate::diagnostic::Checked;

impl Study {
    /// Adds runs of experiments that undecided claims and explanations are about, if the number of seeds is left to verdicts. The study is complete
    /// if nothing was added.
    ///
    /// `measured` is of all runs so far, in their order.
    ///
    /// # Errors
    /// If a run cannot be planned.
    pub fn extend<'a>(&mut self, measured: impl IntoIterator<Item = &'a Measured>) -> Checked<bool> {
        let before = self.runs.len();
        if self.seeds.is_none() {
            for (experiment, alternative) in self.undecided(self.samples(measured)) {
                let same = |run: &&Run| run.experiment == experiment && run.alternative == alternative;
                let seeds = self.runs.iter().filter(same).count() as u32;
                if let Some(next) = seeds::next(seeds) {
                    self.add_runs(experiment, alternative, seeds + 1..=next)?;
                }
            }
        }
        Ok(self.runs.len() > before)
    }

    /// Numbers of the experiments that undecided claims and explanations are about, with their alternatives, by the values of all
    /// quantities.
    fn undecided(&self, mut samples: Samples) -> BTreeSet<(usize, Alternative)> {
        add_sweeps(&self.paper, &mut samples);
        let observed = Observed::new(&self.paper, &samples);
        let undecided = undecided(&self.claims, &self.parameters, &observed);
        let sources = undecided.into_iter().flat_map(|(alternative, quantity)| {
            let sources = sources(&self.paper.sweeps, quantity);
            sources.map(move |quantity| (experiment_of(quantity), alternative))
        });
        let number = |name: &str| self.experiments.iter().position(|each| each.name == name);
        sources.filter_map(|(name, alternative)| Some((number(name)?, alternative))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Request, tiny};
    use super::*;

    fn study(seeds: Option<u32>) -> Study {
        Study::new(tiny::paper(), &Request { seeds, figure: Some("Table 1"), ..Request::default() }).unwrap()
    }

    /// Reported are 95 Mb/s of both controls, give or take 10 %, and 0 drops of DCTCP, give or take 0.5.
    fn measured(study: &Study, reno: &[f64], drops: &[f64]) -> Vec<Measured> {
        let of = |run: &Run| {
            let mut measured = Measured::default();
            let (seed, control) = (run.plan.scenario.seed as usize - 1, run.name.split(' ').next());
            let (goodput, drops) =
                if control == Some("cc.reno") { (reno[seed], 0.0) } else { (95.0, drops[seed]) };
            let all = [("goodput", goodput), ("drops", drops), ("queue", 1.0)];
            all.into_iter().for_each(|(name, value)| measured.quantity(name, value));
            measured
        };
        study.runs.iter().map(of).collect()
    }

    /// Seeds of Reno and of DCTCP when nothing is added any more.
    fn seeds(asked: Option<u32>, reno: &[f64; 10], drops: &[f64; 10]) -> [usize; 2] {
        let mut study = study(asked);
        while study.extend(&measured(&study, reno, drops)).unwrap() {}
        ["cc.reno", "cc.dctcp"].map(|name| study.runs.iter().filter(|run| run.name.starts_with(name)).count())
    }

    const CLEAR: [f64; 10] = [95.0, 95.1, 94.9, 95.0, 95.1, 94.9, 95.0, 95.1, 94.9, 95.0];
    const NONE: [f64; 10] = [0.0; 10];

    #[test]
    fn where_all_claims_are_clear_three_seeds_are_enough() {
        assert_eq!(seeds(None, &CLEAR, &NONE), [3, 3]);
    }

    #[test]
    fn an_undecided_claim_gets_seeds_until_it_is_clear() {
        let clear_with_five = [90.0, 95.0, 104.0, 95.0, 95.0, 0.0, 0.0, 0.0, 0.0, 0.0];
        assert_eq!(seeds(None, &clear_with_five, &NONE), [5, 3]);
        let never_clear = [56.0, 70.0, 88.0, 60.0, 80.0, 56.0, 70.0, 88.0, 130.0, 130.0];
        assert_eq!(seeds(None, &never_clear, &NONE), [10, 3]);
    }

    #[test]
    fn ten_seeds_are_left_out_where_ten_like_those_so_far_would_not_tell() {
        // The band ends at 85.5 Mb/s. The mean of the first five is 84 or 85.5.
        let [far, close] = [[82.0, 84.0, 86.0, 83.0, 85.0], [83.5, 85.5, 87.5, 84.5, 86.5]];
        let twice = |five: [f64; 5]| -> [f64; 10] { std::array::from_fn(|seed| five[seed % 5]) };
        assert_eq!(seeds(None, &twice(far), &NONE), [10, 3]);
        assert_eq!(seeds(None, &twice(close), &NONE), [5, 3]);
    }

    #[test]
    fn a_miss_whose_interval_reaches_the_band_is_undecided() {
        let clear_with_five = [80.0, 82.0, 85.0, 80.0, 80.0, 0.0, 0.0, 0.0, 0.0, 0.0];
        assert_eq!(seeds(None, &clear_with_five, &NONE), [5, 3]);
        assert_eq!(seeds(None, &[20.0; 10], &NONE), [3, 3]);
    }

    #[test]
    fn without_an_interval_the_smallest_and_the_largest_value_decide() {
        let at_times = [0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
        assert_eq!(seeds(None, &CLEAR, &at_times), [3, 10]);
        assert_eq!(seeds(None, &CLEAR, &[7.0; 10]), [3, 3]);
    }

    #[test]
    fn where_few_seeds_gave_a_value_there_are_more() {
        const LOST: f64 = f64::NAN;
        let found_by_the_fifth = [95.0, LOST, LOST, 95.0, 95.1, 0.0, 0.0, 0.0, 0.0, 0.0];
        assert_eq!(seeds(None, &found_by_the_fifth, &NONE), [5, 3]);
        assert_eq!(seeds(None, &[LOST; 10], &NONE), [3, 3]);
    }

    #[test]
    fn a_number_of_seeds_that_was_asked_for_is_all() {
        let undecided = [60.0, 90.0, 130.0, 60.0, 90.0, 130.0, 60.0, 90.0, 130.0, 90.0];
        assert_eq!(seeds(Some(4), &undecided, &NONE), [4, 4]);
    }
}
