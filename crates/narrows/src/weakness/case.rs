//! A worst case: the path, how the control and others fare on it, and the scenario file that shows it.

use serde::Serialize;

use super::control::Control;
use super::judge::{Halt, Judge};
use super::measured::{self, Measured};
use super::objective::delivers;
use super::path::{LENGTH, Path};
use super::shrink::shrink;
use super::space::Space;
use super::written::{Record, scenario};
use crate::plan::PlannedGroup;
use crate::results::Results;

/// The score is looked at with so many other seeds.
const OTHER_SEEDS: u64 = 4;
/// Points of curves over time.
const POINT_MS: u32 = 100;

/// A worst case. Scores and badness are numbers from 0 to 1.
#[derive(Clone, Debug, Serialize)]
pub struct Case {
    /// The path in one line.
    pub path: String,
    /// Badness of the control less that of the best reference.
    pub score: f64,
    /// The same before the path was made simple.
    pub score_before: f64,
    /// Badness of the control.
    pub badness: f64,
    /// Goodput of each connection if all that started get the same, bit/s.
    pub share: f64,
    /// Mean goodput of the connections under test, bit/s.
    pub goodput: f64,
    /// Other controls in its place.
    pub references: Vec<Reference>,
    /// The score with other seeds.
    pub other_seeds: Vec<f64>,
    /// The scenario.
    #[serde(skip)]
    pub text: String,
    /// Rates and the queue over time.
    #[serde(skip)]
    pub curves: Curves,
}

/// Another control in the place of the one under test.
#[derive(Clone, Debug, Serialize)]
pub struct Reference {
    /// Its name.
    pub control: String,
    /// Its badness.
    pub badness: f64,
    /// Mean goodput, bit/s.
    pub goodput: f64,
    /// It delivers enough to be compared.
    pub delivers: bool,
}

/// Rates and the queue over time.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Curves {
    /// By sender: seconds and Mb/s.
    pub senders: Vec<(String, Vec<[f64; 2]>)>,
    /// Seconds and milliseconds of waiting.
    pub queue: Vec<[f64; 2]>,
    /// Seconds and Mb/s of the bottleneck.
    pub rate: Vec<[f64; 2]>,
}

fn number(millionths: u32) -> f64 {
    f64::from(millionths) / 1e6
}

/// Makes a path simple and looks at it from all sides.
pub(super) fn examine(
    judge: &Judge<'_>,
    space: &Space,
    path: &Path,
    seed: u64,
    before: u32,
) -> Result<(Path, Case), Halt> {
    let path = shrink(judge, space, path, seed, before)?;
    let control = judge.control;
    let tested = judge.run(&path, control.name, seed)?;
    // All references run here, where a search ends with one that is nearly perfect.
    let (mut references, mut least) = (Vec::new(), tested.badness);
    for name in control.references() {
        let run = judge.run(&path, name, seed)?;
        let delivers = delivers(path.share(), &tested.measured, &run.measured);
        if delivers {
            least = least.min(run.badness);
        }
        references.push(Reference {
            control: name.to_owned(),
            badness: number(run.badness),
            goodput: run.measured.mean_goodput(),
            delivers,
        });
    }
    let others = (1..=OTHER_SEEDS).map(|more| judge.score(&path, seed.wrapping_add(more), 0));
    let other_seeds =
        others.map(|scored| Ok(number(scored?.score.unwrap_or_default()))).collect::<Result<_, Halt>>()?;
    let mut case = Case {
        path: path.to_string(),
        score: number(tested.badness - least),
        score_before: number(before),
        badness: number(tested.badness),
        share: path.share(),
        goodput: tested.measured.mean_goodput(),
        references,
        other_seeds,
        text: String::new(),
        curves: Curves::default(),
    };
    case.text = text(judge, &path, &case, seed);
    let results = judge.results(case.text.clone())?;
    // A file that shows something else than what the search saw would be worthless.
    let again = judge.objective.badness(path.share(), &Measured::of(&path, &results));
    assert_eq!(again, tested.badness, "the scenario of a worst case has another badness than the search saw");
    case.curves = Curves::of(&path, &results);
    Ok((path, case))
}

/// The scenario with what it shows at its head.
fn text(judge: &Judge<'_>, path: &Path, case: &Case, seed: u64) -> String {
    let Control { name, .. } = judge.control;
    let objective = judge.objective;
    let best = case
        .best()
        .map_or_else(String::new, |best| format!(", {} in its place {:.3}", best.control, best.badness));
    let title = format!(
        "# A weakness of {name}: {}.\n# {}: {name} {:.3}{best}; 0 is as good as can be.\n# {}\n",
        objective.summary(),
        objective.meaning(),
        case.badness,
        case.path
    );
    let called = format!("{name}-{}", objective.name());
    scenario(path, judge.control, name, [&called, &title], seed, Record::All)
}

impl Case {
    /// The median of the scores with all seeds.
    pub fn median(&self) -> f64 {
        let mut scores = [&[self.score], &self.other_seeds[..]].concat();
        scores.sort_by(f64::total_cmp);
        scores[scores.len() / 2]
    }

    /// The best reference that delivers.
    pub fn best(&self) -> Option<&Reference> {
        let deliver = self.references.iter().filter(|reference| reference.delivers);
        deliver.min_by(|one, other| one.badness.total_cmp(&other.badness))
    }
}

impl Curves {
    fn of(path: &Path, results: &Results) -> Self {
        let topology = &results.plan.network.topology;
        let points = LENGTH / POINT_MS;
        let place = |ps: u64| (ps / 1_000_000_000) as u32 / POINT_MS;
        let seconds = |place: u32| f64::from(place * POINT_MS) / 1e3;
        let mut queue = vec![0.0; points as usize];
        for row in measured::queue(results) {
            let ms = (row.start.as_ps() / 1_000_000_000) as u32;
            if let Some(longest) = queue.get_mut(place(row.start.as_ps()) as usize) {
                *longest = f64::max(*longest, row.mean_backlog * 8.0 / path.rate_at(ms).max(1.0));
            }
        }
        let with_time =
            |values: Vec<f64>| (0..).map(seconds).zip(values).map(|(at, value)| [at, value]).collect();
        let sender = |group: &PlannedGroup| {
            let mut rates = vec![0.0; points as usize];
            for row in results.links.iter().flatten() {
                let from = topology.links()[row.link.index()].from;
                if topology.node(from).name == group.name
                    && let Some(rate) = rates.get_mut(place(row.start.as_ps()) as usize)
                {
                    *rate += row.bytes as f64 * 8.0 / f64::from(POINT_MS) / 1e3;
                }
            }
            (group.name.clone(), with_time(rates))
        };
        Self {
            senders: results.plan.groups.iter().map(sender).collect(),
            queue: with_time(queue),
            rate: with_time((0..points).map(|place| path.rate_at(place * POINT_MS) / 1e3).collect()),
        }
    }
}
