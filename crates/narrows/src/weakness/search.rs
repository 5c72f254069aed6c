//! A search from its first generation to its worst cases.

use std::ops::ControlFlow;
use std::path::Path as Folder;
use std::sync::atomic::Ordering;

use narrows_proto::units::{BitRate, Span};
use rayon::ThreadPool;
use rayon::iter::{IndexedParallelIterator, IntoParallelIterator, IntoParallelRefIterator, ParallelIterator};

use super::case::examine;
use super::control::Control;
use super::found::Found;
use super::gene::RTT;
use super::judge::{GoesOn, Halt, Judge, LEAST, Scored};
use super::objective::Objective;
use super::page::page;
use super::path::{Path, RATE};
use super::population::{CHILDREN, Candidate, Generation, Population};
use super::shrink::KEPT;
use super::space::Space;
use super::store::{Manifest, Store, other_paths};
use crate::diagnostic::{Checked, Code, Diagnostic};

/// Worst cases of a search, each of another kind.
pub(super) const CASES: usize = 3;
/// Kinds that are made simple; some become the same.
const EXAMINED: usize = 5;

/// A search to make.
#[derive(Clone, Debug)]
pub struct Request {
    /// The control.
    pub control: Control,
    /// The weakness that is looked for.
    pub objective: Objective,
    /// Seed of the search and of all runs.
    pub seed: u64,
    /// Paths to try.
    pub evaluations: u32,
    /// Rate of the bottleneck; any if left out.
    pub rate: Option<BitRate>,
    /// Round-trip time of all connections under test; any if left out.
    pub rtt: Option<Span>,
}

/// Progress of a search.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Paths that were tried.
    pub evaluations: u32,
    /// Runs that this took, references included.
    pub runs: u64,
    /// The best score so far.
    pub best: f64,
    /// The generation was there before.
    pub is_old: bool,
}

impl Request {
    fn manifest(&self) -> Checked<Manifest> {
        let range = |what: &str, found: &dyn std::fmt::Display, least: String, most: String| {
            let message = format!("{what} of {found}, expected {least} to {most}");
            Diagnostic::error(Code::OutOfRange, message)
        };
        let rate = self.rate.map(|rate| {
            let whole = u32::try_from(rate.as_bps() / 1_000).unwrap_or(u32::MAX);
            let is_inside = (RATE.least..=RATE.most).contains(&whole) && rate.as_bps().is_multiple_of(1_000);
            let mbps = |kbps: u32| format!("{} Mb/s", kbps / 1_000);
            is_inside
                .then_some(whole)
                .ok_or_else(|| range("a rate", &rate, mbps(RATE.least), mbps(RATE.most)))
        });
        let rtt = self.rtt.map(|rtt| {
            let whole = u32::try_from(rtt.as_ps() / 1_000_000_000).unwrap_or(u32::MAX);
            let is_inside =
                (RTT.least..=RTT.most).contains(&whole) && rtt.as_ps().is_multiple_of(1_000_000_000);
            let ms = |ms: u32| format!("{ms} ms");
            is_inside
                .then_some(whole)
                .ok_or_else(|| range("a round-trip time", &rtt, ms(RTT.least), ms(RTT.most)))
        });
        Ok(Manifest {
            engine: crate::ENGINE.to_owned(),
            control: self.control.name.to_owned(),
            objective: self.objective.name().to_owned(),
            seed: self.seed,
            rate: rate.transpose()?,
            rtt: rtt.transpose()?,
        })
    }
}

/// Searches, from where the folder says that it was; none if it was requested to end early.
///
/// # Errors
/// If something is out of its range, or the folder belongs to something else or cannot be written to.
pub fn search(
    request: &Request,
    folder: &Folder,
    jobs: usize,
    goes_on: &(dyn Fn() -> ControlFlow<()> + Sync),
    progress: &dyn Fn(Progress),
) -> Checked<Option<Found>> {
    if request.evaluations == 0 {
        let message = "a search of 0 evaluations, expected at least 1";
        return Err(Diagnostic::error(Code::OutOfRange, message).into());
    }
    let manifest = request.manifest()?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(jobs.max(1)).build();
    let pool =
        pool.map_err(|error| Diagnostic::error(Code::OutOfRange, format!("{jobs} threads: {error}")))?;
    let (mut store, old) = Store::open(folder, &manifest)?;
    let space = Space::new(&request.control, request.objective.flows(), [manifest.rate, manifest.rtt]);
    let search = Search { request, space, pool, goes_on };
    match search.run(&mut store, old, folder, progress) {
        Ok(found) => Ok(Some(found)),
        Err(Halt::Interrupted) => Ok(None),
        Err(Halt::Refused(rejection)) => Err(rejection),
    }
}

struct Search<'a> {
    request: &'a Request,
    space: Space,
    pool: ThreadPool,
    goes_on: GoesOn<'a>,
}

impl Search<'_> {
    fn run(
        &self,
        store: &mut Store,
        old: Vec<Generation>,
        folder: &Folder,
        progress: &dyn Fn(Progress),
    ) -> Result<Found, Halt> {
        let mut population = self.resume(store, old, folder)?;
        let report = |population: &Population, is_old| {
            let best = population.curve.last().copied().unwrap_or_default();
            let Population { evaluations, runs, .. } = *population;
            progress(Progress { evaluations, runs, best: f64::from(best) / 1e6, is_old });
        };
        if population.evaluations > 0 {
            report(&population, true);
        }
        while population.evaluations < self.request.evaluations {
            let count = CHILDREN.min(self.request.evaluations - population.evaluations);
            let generation = self.generation(&population, count)?;
            store.add(&generation)?;
            population.take(generation);
            report(&population, false);
        }
        let found = self.conclude(&population)?;
        let texts: Vec<_> = found.cases.iter().map(|case| case.text.as_str()).collect();
        store.put_worst(&texts, CASES)?;
        store.put("summary.json", &(serde_json::to_string_pretty(&found).unwrap_or_default() + "\n"))?;
        store.put("report.html", &page(&found))?;
        Ok(found)
    }

    /// The population after the generations that were there; the last is left out if more children are wanted of it now.
    fn resume(
        &self,
        store: &mut Store,
        mut old: Vec<Generation>,
        folder: &Folder,
    ) -> Result<Population, Halt> {
        let tried =
            |old: &[Generation]| old.iter().map(|generation| generation.candidates.len() as u32).sum::<u32>();
        let (there, wanted) = (tried(&old), self.request.evaluations);
        if there > wanted {
            let message = format!("{} has {there} evaluations already, {wanted} are fewer", folder.display());
            let help = "ask for as many or more with --evaluations, or choose another folder with --out";
            let error = Diagnostic::error(Code::OutputExists, message).help(help);
            return Err(Halt::Refused(error.into()));
        }
        let is_cut = old.last().is_some_and(|last| (last.candidates.len() as u32) < CHILDREN);
        if is_cut && there < wanted {
            old.pop();
            store.truncate(&old)?;
        }
        let mut population = Population::default();
        for (number, generation) in old.into_iter().enumerate() {
            let count = generation.candidates.len() as u32;
            let children = population.children(&self.space, self.request.seed, count);
            if !children.iter().eq(generation.candidates.iter().map(|candidate| &candidate.path)) {
                return Err(Halt::Refused(other_paths(folder, number).into()));
            }
            population.take(generation);
        }
        Ok(population)
    }

    /// Tries the next generation.
    fn generation(&self, population: &Population, count: u32) -> Result<Generation, Halt> {
        let (judge, bar) = (self.judge(population), population.bar());
        let children = population.children(&self.space, self.request.seed, count);
        let tried = |path: Path| {
            let Scored { badness, score, best } = judge.score(&path, self.request.seed, bar)?;
            Ok(Candidate { path, badness, score, best: best.map(str::to_owned) })
        };
        let work = || children.into_par_iter().with_max_len(1).map(tried).collect::<Result<_, Halt>>();
        let candidates = self.pool.install(work)?;
        let runs = judge.runs.load(Ordering::Relaxed);
        Ok(Generation { generation: population.curve.len() as u32, runs, candidates })
    }

    /// Makes worst cases simple; of those that became the same kind the worst is left. What is worst with most seeds comes first, as one
    /// seed may be luck.
    fn conclude(&self, population: &Population) -> Result<Found, Halt> {
        let (judge, Request { control, objective, seed, .. }) = (self.judge(population), self.request);
        let worst = population.worst(EXAMINED, LEAST);
        let examine = |worst: &Candidate| {
            examine(&judge, &self.space, &worst.path, *seed, worst.score.unwrap_or_default())
        };
        let work = || worst.par_iter().with_max_len(1).map(examine).collect::<Result<Vec<_>, Halt>>();
        let mut cases = self.pool.install(work)?;
        // Stable: of equals that of the path that was worse before stays in front.
        cases.sort_by(|(_, one), (_, other)| other.median().total_cmp(&one.median()));
        let mut kinds = Vec::new();
        cases.retain(|(path, _)| {
            let is_new = !kinds.contains(&path.kind());
            kinds.push(path.kind());
            is_new
        });
        cases.truncate(CASES);
        Ok(Found {
            engine: crate::ENGINE,
            control: control.name,
            objective: objective.name(),
            meaning: objective.meaning(),
            seed: *seed,
            evaluations: population.evaluations,
            runs: population.runs + judge.runs.load(Ordering::Relaxed),
            kept: KEPT,
            curve: population.curve.iter().map(|score| f64::from(*score) / 1e6).collect(),
            cases: cases.into_iter().map(|(_, case)| case).collect(),
        })
    }

    fn judge(&self, population: &Population) -> Judge<'_> {
        let judge = Judge::new(&self.request.control, self.request.objective, self.goes_on);
        judge.in_order(|name| population.best_on(name))
    }
}
