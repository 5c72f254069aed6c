//! Numbers of seeds: as many as asked for, or as verdicts need.

use super::Paper;

/// Seeds of each experiment at first, and then of those that an undecided claim is about (decision 0026).
const STEPS: [u32; 3] = [3, 5, 10];

/// Seeds if nobody asks for a number; none for as many as verdicts need.
pub(super) fn usual(paper: &Paper, quick: bool) -> Option<u32> {
    quick.then_some(paper.quick_seeds)
}

/// Seeds of each experiment at first.
pub(super) fn first(asked: Option<u32>) -> u32 {
    asked.unwrap_or(STEPS[0])
}

/// The most seeds of an experiment.
pub(super) fn most(asked: Option<u32>) -> u32 {
    asked.unwrap_or(STEPS[STEPS.len() - 1])
}

/// Seeds after the last step, if that is the next for a claim with so many. Before it too little is known of how seeds vary to expect
/// anything of them.
pub(super) fn after_last_step(samples: usize) -> Option<usize> {
    let [.., before, last] = STEPS.map(|seeds| seeds as usize);
    (samples >= before).then_some(last)
}

/// Seeds of an experiment that has so many, and is undecided; none if there are enough.
pub(super) fn next(seeds: u32) -> Option<u32> {
    STEPS.into_iter().find(|step| *step > seeds)
}

/// Seeds of each alternative of a parameter.
pub(super) fn of_alternatives(asked: Option<u32>) -> u32 {
    first(asked).min(STEPS[0])
}

/// `seed 1`, `seeds 1 to 5`, `seeds 1 to 3, to 5 or 10 where verdicts need them`.
pub(super) fn text(asked: Option<u32>) -> String {
    match (asked, STEPS) {
        (Some(1), _) => "seed 1".into(),
        (Some(seeds), _) => format!("seeds 1 to {seeds}"),
        (None, [least, more, most]) => {
            format!("seeds 1 to {least}, to {more} or {most} where verdicts need them")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_was_asked_for_is_kept() {
        assert_eq!(
            [first(Some(4)), most(Some(4)), of_alternatives(Some(4)), of_alternatives(Some(2))],
            [4, 4, 3, 2]
        );
    }

    #[test]
    fn seeds_grow_in_steps_and_end() {
        let steps: Vec<_> = std::iter::successors(Some(first(None)), |seeds| next(*seeds)).collect();
        assert_eq!(steps, [3, 5, 10]);
        assert_eq!(most(None), 10);
    }
}
