//! Generations: which paths are tried next, and which of those that were tried have descendants.
//!
//! A (μ + λ) scheme in synchronous generations: the best μ paths so far have λ children, and of all of them the best μ go on. Children
//! follow from the seed, the number of their generation and the parents alone, so that a search may be cut between any two
//! generations, and the number of threads decides nothing. At most half of the parents are of one kind, so that a search does not end
//! in the first weakness that it finds.

use std::collections::{BTreeMap, HashSet};

use narrows_proto::cc::parts::SplitMix;
use serde::{Deserialize, Serialize};

use super::path::Path;
use super::space::Space;

/// λ: children of a generation.
pub(super) const CHILDREN: u32 = 32;
/// μ: those that have descendants.
const PARENTS: usize = 8;
/// Of 20 children so many are drawn anew.
const NEW: u64 = 3;
/// Of 20 children so many have two parents.
const CROSSED: u64 = 6;
/// A path that was there before is drawn again, this often.
const ATTEMPTS: u32 = 20;

/// A path that was tried.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Candidate {
    pub(super) path: Path,
    /// Of the control alone, in millionths.
    pub(super) badness: u32,
    /// In millionths; none if it is too low to matter, so that not all references were run.
    pub(super) score: Option<u32>,
    /// The reference that did best of those that were run.
    pub(super) best: Option<String>,
}

/// A generation that was tried.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Generation {
    pub(super) generation: u32,
    /// Runs that it took, references included.
    pub(super) runs: u64,
    pub(super) candidates: Vec<Candidate>,
}

/// The best paths so far.
#[derive(Debug, Default)]
pub(super) struct Population {
    /// The best first, of equals the earlier.
    parents: Vec<Candidate>,
    /// The best of each kind, in the order in which kinds came up.
    best: Vec<(Vec<String>, Candidate)>,
    seen: HashSet<Path>,
    /// On how many paths each reference did best.
    references: BTreeMap<String, u32>,
    /// The best score after each generation.
    pub(super) curve: Vec<u32>,
    /// Number of paths that were tried.
    pub(super) evaluations: u32,
    /// Number of runs that it took.
    pub(super) runs: u64,
}

impl Population {
    /// A path without a higher score has no descendants.
    pub(super) fn bar(&self) -> u32 {
        let last = self.parents.get(PARENTS - 1);
        last.and_then(|candidate| candidate.score).unwrap_or_default()
    }

    /// On how many paths this reference did best.
    pub(super) fn best_on(&self, reference: &str) -> u32 {
        self.references.get(reference).copied().unwrap_or_default()
    }

    /// The next children, of which only the first `count` are wanted.
    pub(super) fn children(&self, space: &Space, seed: u64, count: u32) -> Vec<Path> {
        let generation = self.curve.len() as u64;
        // The seed and the number of the generation, apart from each other.
        let mut random =
            SplitMix::new(SplitMix::new(seed).bits().wrapping_add(SplitMix::new(!generation).bits()));
        let mut children: Vec<Path> = Vec::new();
        while children.len() < count as usize {
            let mut child = self.child(space, &mut random);
            for _ in 0..ATTEMPTS {
                if !self.seen.contains(&child) && !children.contains(&child) {
                    break;
                }
                child = self.child(space, &mut random);
            }
            children.push(child);
        }
        children
    }

    fn child(&self, space: &Space, random: &mut SplitMix) -> Path {
        let kind = random.below(20);
        if kind < NEW || self.parents.is_empty() {
            return space.draw(random);
        }
        // The better of two.
        let mut parent = || {
            let places = [(); 2].map(|()| random.below(self.parents.len() as u64));
            &self.parents[places[0].min(places[1]) as usize].path
        };
        let (one, other) = (parent(), parent());
        if kind < NEW + CROSSED {
            let crossed = space.cross(one, other, random);
            return space.vary(&crossed, random);
        }
        space.vary(one, random)
    }

    /// Takes in a generation that was tried.
    pub(super) fn take(&mut self, generation: Generation) {
        self.evaluations += generation.candidates.len() as u32;
        self.runs += generation.runs;
        for candidate in generation.candidates {
            self.seen.insert(candidate.path.clone());
            if let Some(best) = &candidate.best {
                *self.references.entry(best.clone()).or_default() += 1;
            }
            if candidate.score.is_none() {
                continue;
            }
            let kind = candidate.path.kind();
            match self.best.iter_mut().find(|(other, _)| *other == kind) {
                Some((_, best)) if best.score >= candidate.score => {}
                Some((_, best)) => *best = candidate.clone(),
                None => self.best.push((kind, candidate.clone())),
            }
            self.parents.push(candidate);
        }
        // Stable: of equals the earlier stays in front.
        self.parents.sort_by_key(|candidate| std::cmp::Reverse(candidate.score));
        self.thin_out();
        self.curve.push(self.parents.first().and_then(|best| best.score).unwrap_or_default());
    }

    /// Leaves the best, at most half of them of one kind.
    fn thin_out(&mut self) {
        let mut kinds: Vec<Vec<String>> = Vec::new();
        self.parents.retain(|candidate| {
            let kind = candidate.path.kind();
            let goes_on =
                kinds.len() < PARENTS && kinds.iter().filter(|other| **other == kind).count() < PARENTS / 2;
            if goes_on {
                kinds.push(kind);
            }
            goes_on
        });
    }

    /// The best of different kinds, the worst weakness first.
    pub(super) fn worst(&self, count: usize, least: u32) -> Vec<Candidate> {
        let mut best: Vec<_> = self.best.iter().map(|(_, candidate)| candidate.clone()).collect();
        best.retain(|candidate| candidate.score >= Some(least));
        best.sort_by_key(|candidate| std::cmp::Reverse(candidate.score));
        best.truncate(count);
        best
    }
}

#[cfg(test)]
mod tests {
    use super::super::control::Control;
    use super::super::path::tests::plain;
    use super::*;

    fn candidate(rate: u32, loss: u32, score: u32) -> Candidate {
        Candidate {
            path: Path { rate, loss, ..plain() },
            badness: score,
            score: (score > 0).then_some(score),
            best: None,
        }
    }

    fn generation(candidates: Vec<Candidate>) -> Generation {
        Generation { generation: 0, runs: 1, candidates }
    }

    #[test]
    fn the_best_go_on_and_half_of_them_at_most_are_of_one_kind() {
        let mut population = Population::default();
        let of = |loss: u32, scores: std::ops::Range<u32>| {
            scores.map(move |score| candidate(1_000 + score, loss, score))
        };
        population.take(generation(of(0, 100..110).chain(of(10, 1..7)).collect()));
        let scores: Vec<_> = population.parents.iter().map(|parent| parent.score.unwrap()).collect();
        assert_eq!(scores, [109, 108, 107, 106, 6, 5, 4, 3]);
        assert_eq!((population.bar(), &population.curve[..]), (3, &[109][..]));
        assert_eq!(population.worst(9, 0).len(), 2, "one of each kind");
    }

    #[test]
    fn no_path_comes_twice_and_fewer_children_are_the_first_of_more() {
        let space = Space::new(&Control::find("bbr3").unwrap(), 1..=1, [None; 2]);
        let mut population = Population::default();
        let first = population.children(&space, 1, CHILDREN);
        assert_eq!(population.children(&space, 1, 5), first[..5]);
        assert_ne!(population.children(&space, 2, 5), first[..5]);
        let tried = |path: &Path| Candidate { path: path.clone(), badness: 9, score: Some(9), best: None };
        population.take(generation(first.iter().map(tried).collect()));
        let next = population.children(&space, 1, CHILDREN);
        assert!(next.iter().all(|child| !first.contains(child)));
        assert_eq!(next.iter().collect::<HashSet<_>>().len(), next.len());
    }
}
