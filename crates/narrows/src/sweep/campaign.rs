//! Order of the cells of a sweep, and when there are enough.
//!
//! A campaign starts nothing: whoever runs cells requests the next one and reports how it ended. So it is the same on the cores of one
//! machine and on a cluster.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use narrows_proto::units::Bytes;

use super::cells::Estimated;
use super::complete::warn_of_cells;
use super::manifest::Manifest;
use super::{Attached, Damaged, Health, Shard, Store, Sweep};
use crate::diagnostic::{Checked, Code, Diagnostic, Rejection};
use crate::run::too_many_threads;

/// Options of running a sweep. None of this changes results.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Cells side by side.
    pub jobs: usize,
    /// Threads of each.
    pub threads: usize,
    /// Number of new attempts for a cell that fails in a way that may pass.
    pub retries: u32,
    /// Only this part.
    pub shard: Option<Shard>,
    /// Go on even if memory may not suffice.
    pub force: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self { jobs: 1, threads: 1, retries: 0, shard: None, force: false }
    }
}

/// A cell that is to be run.
#[derive(Clone, Debug, PartialEq)]
pub struct Want {
    /// The number of its point.
    pub point: usize,
    /// Its seed.
    pub seed: u64,
    /// Its id.
    pub id: String,
    /// Packet-hops to be expected.
    pub cost: f64,
    /// Memory, at most.
    pub memory: Bytes,
}

/// A cell that has no results.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// Which one.
    pub want: Want,
    /// Why.
    pub reason: String,
}

/// Its progress.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tally {
    /// Cells that are wanted so far; a rule may want more.
    pub cells: u64,
    /// Those that were there before.
    pub found: u64,
    /// Those of them whose files have no checksums, as an older version wrote them.
    pub unverified: u64,
    /// Those that have been run.
    pub done: u64,
    /// Those that could not be run.
    pub failed: u64,
    /// Cost of those that were not there, in packet-hops.
    pub cost: f64,
    /// The part of it that is done.
    pub cost_done: f64,
}

/// The state of a campaign.
#[derive(Debug)]
pub struct Campaign {
    sweep: Arc<Sweep>,
    manifest: Arc<Manifest>,
    estimates: HashMap<usize, Estimated>,
    cells: HashMap<String, Cell>,
    /// Cells that wait, the costliest first: cost and number in `order`.
    waiting: BTreeSet<(Reverse<u64>, usize)>,
    order: Vec<Want>,
    points: Vec<Progress>,
    /// Number of points that are not closed.
    open: usize,
    /// With a rule: which points a cell belongs to.
    users: HashMap<String, Vec<usize>>,
    /// Cells of this shard; none if all are.
    mine: Option<HashSet<String>>,
    settings: Settings,
    failures: Vec<Failure>,
    damaged: Vec<Damaged>,
    tally: Tally,
}

#[derive(Debug)]
struct Cell {
    state: State,
    tries: u32,
    number: usize,
    /// Of the metric of the rule.
    value: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Waiting,
    Running,
    Done,
    Failed,
}

/// Progress of a point.
#[derive(Clone, Copy, Debug, Default)]
struct Progress {
    /// Seeds that have been requested.
    asked: u32,
    /// It is not ours, has enough seeds, or never will.
    closed: bool,
}

impl Campaign {
    /// Begins: finds out which cells are there, and what the others will need.
    ///
    /// # Errors
    /// If a scenario makes no sense, a cell cannot be read, or the files that scenarios name cannot be kept.
    pub fn new(
        sweep: Arc<Sweep>,
        manifest: &Arc<Manifest>,
        store: &Store,
        settings: Settings,
    ) -> Checked<Self> {
        let inputs: Vec<Attached> = manifest.inputs.iter().map(|input| input.kept.clone()).collect();
        store.keep(&inputs, &sweep.supplies())?;
        store.verify(manifest.points.iter().flat_map(|point| &point.cells));
        let decided = (0..manifest.points.len()).map(|point| manifest.decide(point, store));
        let decided: Vec<Option<u32>> = decided.collect::<Checked<_>>()?;
        // Shards divide all cells, those that are there included, so that each comes to the same division.
        let is_planned = |point: &usize| settings.shard.is_some() || decided[*point].is_none();
        let planned: Vec<usize> = (0..decided.len()).filter(is_planned).collect();
        let estimates = sweep.estimate(manifest, &planned, settings.threads)?;
        let estimates: HashMap<_, _> = planned.into_iter().zip(estimates).collect();
        let mut campaign = Self {
            cells: HashMap::new(),
            waiting: BTreeSet::new(),
            order: Vec::new(),
            points: vec![Progress::default(); manifest.points.len()],
            open: manifest.points.len(),
            users: HashMap::new(),
            mine: None,
            settings,
            failures: Vec::new(),
            damaged: Vec::new(),
            tally: Tally::default(),
            sweep,
            manifest: Arc::clone(manifest),
            estimates,
        };
        if let Some(shard) = settings.shard {
            campaign.divide(shard);
        }
        if manifest.until.is_some() {
            for (number, point) in manifest.points.iter().enumerate() {
                for id in &point.cells {
                    campaign.users.entry(id.clone()).or_default().push(number);
                }
            }
        }
        for (point, seeds) in decided.into_iter().enumerate() {
            campaign.ask(point, seeds.unwrap_or(manifest.seeds), store)?;
            campaign.advance(point, store)?;
        }
        Ok(campaign)
    }

    /// Keeps what belongs to one part. With a rule points are divided, as their cells wait for each other, otherwise cells.
    fn divide(&mut self, shard: Shard) {
        let cost = |point: usize| self.estimates.get(&point).map_or(1.0, |estimate| estimate.cost);
        if self.manifest.until.is_some() {
            let costs: Vec<_> = (0..self.points.len()).map(cost).collect();
            let others = shard.share(&costs).into_iter().enumerate().filter(|(_, mine)| !mine);
            others.for_each(|(point, _)| self.close(point));
            return;
        }
        let mut ids = Vec::new();
        let mut costs = Vec::new();
        let mut seen = HashSet::new();
        for (number, point) in self.manifest.points.iter().enumerate() {
            for id in point.cells.iter().filter(|id| seen.insert(id.as_str())) {
                ids.push(id);
                costs.push(cost(number));
            }
        }
        let mine = shard.share(&costs).into_iter().zip(ids).filter(|(mine, _)| *mine);
        self.mine = Some(mine.map(|(_, id)| id.clone()).collect());
    }

    fn close(&mut self, point: usize) {
        self.points[point].closed = true;
        self.open -= 1;
    }

    /// Wants the first `seeds` cells of a point.
    fn ask(&mut self, point: usize, seeds: u32, store: &Store) -> Checked<()> {
        let asked = self.points[point].asked;
        if self.points[point].closed {
            return Ok(());
        }
        let manifest = Arc::clone(&self.manifest);
        let Some(of) = manifest.points.get(point) else { return Ok(()) };
        for (seed, id) in (of.first_seed..).zip(&of.cells).take(seeds as usize).skip(asked as usize) {
            let mine = self.mine.as_ref().is_none_or(|mine| mine.contains(id));
            if !mine || self.cells.contains_key(id) {
                continue;
            }
            let estimate = self.estimates.get(&point);
            let (cost, memory) = estimate.map_or((0.0, Bytes::ZERO), |known| (known.cost, known.memory));
            let number = self.order.len();
            self.order.push(Want { point, seed, id: id.clone(), cost, memory });
            self.tally.cells += 1;
            let health = store.health(id);
            let there = health.is_sound();
            self.tally.unverified += u64::from(health == Health::Unverified);
            if let Health::Damaged(file) = health {
                self.damaged.push(Damaged { id: id.clone(), file });
            }
            let value = if there { self.value(id, store)? } else { None };
            let state = if there { State::Done } else { State::Waiting };
            self.cells.insert(id.clone(), Cell { state, tries: 0, number, value });
            if there {
                self.tally.found += 1;
            } else {
                self.tally.cost += cost;
                self.waiting.insert(key(cost, number));
            }
        }
        self.points[point].asked = asked.max(seeds);
        Ok(())
    }

    fn value(&self, id: &str, store: &Store) -> Checked<Option<f64>> {
        self.manifest.until.as_ref().map_or(Ok(None), |until| store.metric(id, &until.metric))
    }

    /// Decides whether a point needs more seeds.
    fn advance(&mut self, point: usize, store: &Store) -> Checked<()> {
        let manifest = Arc::clone(&self.manifest);
        let Some(until) = &manifest.until else { return Ok(()) };
        while !self.points[point].closed {
            let asked = self.points[point].asked;
            let cells = manifest.points[point].cells.iter().take(asked as usize);
            let cells: Vec<_> = cells.filter_map(|id| self.cells.get(id)).collect();
            if cells.iter().any(|cell| cell.state == State::Failed) {
                self.close(point);
                break;
            }
            let done = cells.iter().take_while(|cell| cell.state == State::Done);
            let values: Vec<_> = done.map(|cell| cell.value).collect();
            if until.enough(manifest.seeds, &values).is_some() {
                self.close(point);
                break;
            }
            if values.len() < asked as usize {
                break;
            }
            // If few points are open, each asks for several seeds, so that nobody is idle.
            let more = (self.settings.jobs / self.open.max(1)).max(1) as u32;
            self.ask(point, (asked + more).min(until.most), store)?;
        }
        Ok(())
    }

    /// The costliest of the cells that wait and need no more memory than is free; any if none says how much.
    pub fn next(&mut self, free: Option<Bytes>) -> Option<Want> {
        let fits = |number: usize| free.is_none_or(|free| self.order[number].memory <= free);
        let place = self.waiting.iter().copied().find(|(_, number)| fits(*number))?;
        self.waiting.remove(&place);
        let want = self.order[place.1].clone();
        if let Some(cell) = self.cells.get_mut(&want.id) {
            cell.state = State::Running;
        }
        Some(want)
    }

    /// A cell has been run: its results are in the store.
    ///
    /// # Errors
    /// If they cannot be read.
    pub fn done(&mut self, id: &str, store: &Store) -> Checked<()> {
        let value = self.value(id, store)?;
        let Some(cell) = self.cells.get_mut(id) else { return Ok(()) };
        (cell.state, cell.value) = (State::Done, value);
        self.tally.done += 1;
        self.tally.cost_done += self.order[cell.number].cost;
        self.follow(id, store)
    }

    /// A cell could not be run. It is tried again, if that may help.
    ///
    /// # Errors
    /// If cells cannot be read.
    pub fn failed(&mut self, id: &str, reason: &str, may_pass: bool, store: &Store) -> Checked<()> {
        let Some(cell) = self.cells.get_mut(id) else { return Ok(()) };
        let want = self.order[cell.number].clone();
        if may_pass && cell.tries < self.settings.retries {
            cell.tries += 1;
            cell.state = State::Waiting;
            self.waiting.insert(key(want.cost, cell.number));
            return Ok(());
        }
        cell.state = State::Failed;
        self.tally.failed += 1;
        self.tally.cost_done += want.cost;
        store.note_failure(id, reason);
        self.failures.push(Failure { want, reason: reason.to_owned() });
        self.follow(id, store)
    }

    fn follow(&mut self, id: &str, store: &Store) -> Checked<()> {
        let users = self.users.get(id).cloned().unwrap_or_default();
        users.into_iter().try_for_each(|point| self.advance(point, store))
    }

    /// A cell, to be run anywhere.
    ///
    /// # Errors
    /// If a file of its scenario cannot be read.
    pub fn task(&self, want: &Want) -> Checked<super::Task> {
        self.sweep.task(want.point, want.seed)
    }

    /// The sweep.
    pub fn sweep(&self) -> Arc<Sweep> {
        Arc::clone(&self.sweep)
    }

    /// Nothing waits, and nothing is being run.
    pub fn is_over(&self) -> bool {
        !self.cells.values().any(|cell| matches!(cell.state, State::Waiting | State::Running))
    }

    /// Its progress.
    pub fn tally(&self) -> Tally {
        self.tally
    }

    /// Cells that could not be run, in the order of points and seeds.
    pub fn failures(&self) -> Vec<Failure> {
        let mut failures = self.failures.clone();
        failures.sort_by_key(|failure| (failure.want.point, failure.want.seed));
        failures
    }

    /// Cells that were there and are not as they were written. They are run again.
    pub fn damaged(&self) -> &[Damaged] {
        &self.damaged
    }

    /// Why cells that were there are run again, and how many could not be verified: damage, and files of scenarios that have changed.
    pub fn found(&self) -> Vec<Diagnostic> {
        let damaged = warn_of_cells(&self.damaged, "and run again", self.tally.unverified);
        damaged.into_iter().chain(self.sweep.changed_inputs()).collect()
    }

    /// A warning of too many threads, and what the plans of points that have been looked at are warned of, each once, with the first
    /// point as help.
    pub fn warnings(&self) -> Vec<Diagnostic> {
        let mut points: Vec<_> = self.estimates.keys().copied().collect();
        points.sort_unstable();
        let mut seen = HashSet::new();
        let all = points
            .into_iter()
            .flat_map(|point| self.estimates[&point].warnings.iter().map(move |warning| (point, warning)));
        let first = all.filter(|(_, warning)| seen.insert((warning.code.name(), warning.message.clone())));
        let told = |(point, warning): (usize, &Diagnostic)| {
            // Its place is in a text that nobody wrote.
            let warning = warning.clone().at(None);
            if self.manifest.axes.is_empty() {
                return warning;
            }
            let at = format!("at the point {}", self.manifest.describe(point));
            let help = warning.help.as_ref().map_or(at.clone(), |help| format!("{help}\n{at}"));
            warning.help(help)
        };
        too_many_threads(self.settings.threads).into_iter().chain(first.map(told)).collect()
    }

    /// Only a part of the cells is run.
    pub fn is_shard(&self) -> bool {
        self.settings.shard.is_some()
    }

    /// The cells that wait, in the order in which they are begun as long as memory allows.
    pub fn waiting(&self) -> impl Iterator<Item = &Want> {
        self.waiting.iter().map(|(_, number)| &self.order[*number])
    }

    /// The most memory that a cell which waits will need.
    pub fn largest(&self) -> Bytes {
        let waiting = self.waiting.iter().map(|(_, number)| self.order[*number].memory);
        waiting.max().unwrap_or(Bytes::ZERO)
    }

    /// Refuses a cell that needs more memory by itself than there is.
    ///
    /// # Errors
    /// With the largest.
    pub fn check_memory(&self, available: Option<Bytes>) -> Checked<()> {
        let Some(available) = available.filter(|_| !self.settings.force) else { return Ok(()) };
        match self.waiting().max_by_key(|want| want.memory).filter(|want| want.memory > available) {
            None => Ok(()),
            Some(want) => {
                let (needed, point) = (want.memory, self.sweep.describe(want.point));
                let message = format!(
                    "a cell would need up to {needed:.1} of memory, {available:.1} are available: {point}"
                );
                let help = "shorten its run, lower its load, use fewer hosts, or go on with --force";
                Err(Rejection::from(Diagnostic::error(Code::Memory, message).help(help)))
            }
        }
    }
}

/// Costs are not negative, and then their bits are in the same order.
fn key(cost: f64, number: usize) -> (Reverse<u64>, usize) {
    (Reverse(cost.to_bits()), number)
}
