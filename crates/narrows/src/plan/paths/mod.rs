//! Links that have more than a rate and a delay, checked.

mod csv;
mod facts;
mod mahimahi;
mod mistake;
mod over_time;

use std::collections::BTreeMap;
use std::sync::Arc;

use narrows_proto::cc::Ranges;
use narrows_proto::units::{BitRate, Span, WireTime};
use narrows_sim::path::{Opportunities, Path, Rate};
use narrows_sim::switch::SwitchConfig;
use narrows_sim::topology::{Topology, Wire};
use narrows_sim::{LinkId, NodeId};

pub use self::csv::{CsvSteps, parse_csv};
pub use self::facts::PathFacts;
pub(super) use self::facts::path_facts;
pub use self::mahimahi::parse_mahimahi;
use self::mistake::{Mistake, loss_mistake};
pub use self::over_time::Listed;
use super::Checker;
use super::links::links_between;
use crate::diagnostic::{Code, Diagnostic, Rejection};
use crate::document::Document;
use crate::scenario::{Direction, LinkPath, PathLoss, PortChoice, RateOverTime, Scenario};

/// The most steps, or opportunities, that a link may have: those of a day at 115 a second. They take 160 MB.
pub const MOST_STEPS: usize = 10_000_000;

/// By direction of a link: what it does beyond a rate and a delay.
pub(super) fn paths(
    scenario: &Scenario,
    topology: &Topology,
    switches: &[Option<SwitchConfig>],
    checker: &mut Checker<'_>,
) -> BTreeMap<LinkId, Path> {
    let mut paths = BTreeMap::new();
    for (number, of) in scenario.paths.iter().enumerate() {
        if checker.is_full() {
            break;
        }
        let mut entry = Entry { at: format!("paths.{number}"), topology, switches, checker };
        entry.take(of, &mut paths);
    }
    if !paths.is_empty() && scenario.ports == PortChoice::Plain {
        let message = "ports = \"plain\" cannot be used with `paths`";
        let help = "leave `ports` out: only switches in front of these links get other ports";
        checker.error("ports", Diagnostic::error(Code::Conflict, message).help(help));
    }
    paths
}

/// An entry of `paths`.
struct Entry<'a, 'b> {
    at: String,
    topology: &'a Topology,
    switches: &'a [Option<SwitchConfig>],
    checker: &'a mut Checker<'b>,
}

impl Entry<'_, '_> {
    fn error(&mut self, key: &str, mistake: Diagnostic) {
        self.checker.error(&format!("{}.{key}", self.at), mistake);
    }

    fn take(&mut self, of: &LinkPath, paths: &mut BTreeMap<LinkId, Path>) {
        let before = self.checker.mistakes();
        let forth = links_between(self.topology, &of.link, &format!("{}.link", self.at), self.checker);
        if !says_something(of) {
            let error = Diagnostic::error(Code::Conflict, "the entry says nothing of the link");
            self.checker.error(&self.at, error.help("give it a `rate`, a `delay`, or something else"));
        }
        self.check_ranges(of);
        let (written, mistakes) = Written::read(of, self.checker.document);
        mistakes.into_iter().for_each(|(key, mistake)| self.error(key, mistake));
        if self.checker.mistakes() > before {
            return;
        }
        for link in forth.into_iter().flat_map(|link| directions(link, of.direction)) {
            let path = written.over(&self.topology.link(link).wire);
            self.check_link(link, &path);
            if paths.insert(link, path).is_some() {
                let message = format!("two entries are for the link {}", self.topology.link_name(link));
                let error = Diagnostic::error(Code::Duplicate, message);
                self.error("link", error.help("`direction` says which of both an entry is for"));
            }
        }
    }

    fn check_ranges(&mut self, of: &LinkPath) {
        let LinkPath { loss, policer, shaper, jitter, slots, .. } = of;
        let mut ranges = Ranges::default();
        let bursts = loss.as_ref().and_then(|loss| loss.gilbert_elliott);
        let checked = [
            ("loss.gilbert_elliott", bursts.map(|bursts| bursts.check(&mut ranges))),
            ("policer", policer.map(|policer| policer.check(&mut ranges))),
            ("shaper", shaper.map(|shaper| shaper.check(&mut ranges))),
            ("shaper.peak", shaper.and_then(|shaper| Some(shaper.peak?.check(shaper.rate, &mut ranges)))),
            ("jitter", jitter.as_ref().map(|jitter| jitter.check(&mut ranges))),
            ("slots", slots.as_ref().map(|slots| slots.check(&mut ranges))),
        ];
        for (key, checked) in checked {
            self.checker.in_range(&format!("{}.{key}", self.at), checked.unwrap_or(Ok(())));
        }
        if let Some(message) = loss.as_ref().and_then(|loss| loss_mistake(loss.random?)) {
            self.error("loss.random", Diagnostic::error(Code::OutOfRange, format!("random = {message}")));
        }
        if slots.is_some() && jitter.as_ref().is_some_and(|jitter| jitter.reorder) {
            let message = "slots keep the order of packets, and jitter may not: reorder = true";
            self.error(
                "jitter.reorder",
                Diagnostic::error(Code::Conflict, message).help("leave one of them out"),
            );
        }
    }

    /// Checks what depends on the link.
    fn check_link(&mut self, link: LinkId, path: &Path) {
        let (ends, switches) = (self.topology.link(link), self.switches);
        let settings = |node: NodeId| switches[node.index()].as_ref();
        if [ends.from, ends.to].into_iter().filter_map(settings).any(SwitchConfig::pauses) {
            let message =
                "a switch at its end stops its neighbors, and how much headroom it needs is not known";
            let error = Diagnostic::error(Code::Conflict, message);
            self.error(
                "link",
                error.help("leave out `pause` and `pfc` of that switch, or choose another link"),
            );
        }
        if path.policer.is_some() && self.topology.as_host(ends.from).is_some() {
            let message =
                format!("the link {} leaves a host, which has no queue", self.topology.link_name(link));
            let error = Diagnostic::error(Code::Conflict, message);
            self.error("policer", error.help("put the policer where the switch behind it sends"));
        }
        let latency = settings(ends.to).map_or(Span::ZERO, |switch| switch.latency);
        let delay = path.delay.as_ref().and_then(|delay| delay.values().min()).unwrap_or(ends.wire.delay);
        match &path.rate {
            Some(Rate::Opportunities(_)) if delay + latency == Span::ZERO => {
                let message = "packets would arrive as they begin to be sent: the link has no delay";
                let error = Diagnostic::error(Code::OutOfRange, message);
                self.error("rate", error.help("give the link a delay of at least 1 ps"));
            }
            Some(Rate::Steps(steps)) if steps.lasting() < WireTime::MIN_RATE => {
                let message = match steps.period() {
                    None => "the last rate is 0 b/s and holds for ever: nothing is sent any more".to_owned(),
                    Some(period) => format!(
                        "the mean rate of the {period} that repeat is {}, expected at least {}",
                        steps.lasting(),
                        WireTime::MIN_RATE
                    ),
                };
                self.error("rate", Diagnostic::error(Code::OutOfRange, message));
            }
            _ => {}
        }
    }
}

fn says_something(of: &LinkPath) -> bool {
    let LinkPath { link: _, direction: _, rate, delay, loss, policer, ecn, shaper, jitter, slots, profile } =
        of;
    rate.is_some()
        || delay.is_some()
        || loss.is_some()
        || policer.is_some()
        || ecn.is_some()
        || shaper.is_some()
        || jitter.is_some()
        || slots.is_some()
        || profile.is_some()
}

/// The directions of a link that an entry is for, if `link` leads from the first of its nodes to the second.
fn directions(link: LinkId, direction: Direction) -> Vec<LinkId> {
    let back = Topology::reverse(link);
    match direction {
        Direction::Both => vec![link, back],
        Direction::Forth => vec![link],
        Direction::Back => vec![back],
    }
}

/// Content of an entry, whatever the link.
#[derive(Default)]
struct Written {
    rate: Option<Listed<BitRate>>,
    opportunities: Option<Arc<Opportunities>>,
    delay: Option<Listed<Span>>,
    loss: Option<Listed<f64>>,
    /// The rest, as it was written.
    others: Path,
}

impl Written {
    /// Nothing of it counts if there are mistakes.
    fn read(of: &LinkPath, document: &Document) -> (Self, Vec<Mistake>) {
        let (mut written, mut mistakes) = (Self::default(), Vec::new());
        match &of.rate {
            None => {}
            Some(RateOverTime::Steps(steps)) => {
                written.rate = keep(over_time::rate_steps(steps), &mut mistakes);
            }
            Some(RateOverTime::Ramp(ramp)) => written.rate = keep(over_time::rate_ramp(ramp), &mut mistakes),
            Some(RateOverTime::Csv(trace)) => {
                let read =
                    document.input(&trace.file).and_then(|content| csv::read(content.source(), trace.repeat));
                if let Some(read) = keep(read.map_err(|error| in_file("rate.csv.file", error)), &mut mistakes)
                {
                    written = Self { rate: Some(read.rate), delay: read.delay, loss: read.loss, ..written };
                }
            }
            Some(RateOverTime::Mahimahi(trace)) => {
                let read = document.input(&trace.file);
                let read = read.and_then(|content| mahimahi::read(&content.source(), trace.opportunity));
                let read = keep(read.map_err(|error| in_file("rate.mahimahi.file", error)), &mut mistakes);
                written.opportunities = read.map(Arc::new);
            }
        }
        if let Some(delay) = &of.delay {
            if written.delay.is_some() {
                let message = "the file of `rate` has delays as well";
                mistakes.push(("delay", Diagnostic::error(Code::Conflict, message)));
            }
            written.delay = keep(over_time::delay(delay), &mut mistakes);
        }
        if let Some(loss) = &of.loss {
            written.read_loss(loss, &mut mistakes);
        }
        written.others = Path {
            bursts: of.loss.as_ref().and_then(|loss| loss.gilbert_elliott),
            policer: of.policer,
            ecn: of.ecn,
            shaper: of.shaper,
            jitter: of.jitter.clone(),
            slots: of.slots.clone(),
            ..Path::default()
        };
        (written, mistakes)
    }

    fn read_loss(&mut self, of: &PathLoss, mistakes: &mut Vec<Mistake>) {
        let mut conflict =
            |key, message: &str| mistakes.push((key, Diagnostic::error(Code::Conflict, message)));
        let from_file = self.loss.is_some();
        if from_file && of.random.is_some() {
            conflict("loss.random", "the file of `rate` has losses as well");
        }
        if from_file && of.steps.is_some() {
            conflict("loss.steps", "the file of `rate` has losses as well");
        }
        if of.random.is_some() && of.steps.is_some() {
            conflict("loss.random", "`loss.steps` stands in its place: give one of them");
        }
        if let Some(random) = of.random {
            self.loss = Some(Listed { steps: vec![(Span::ZERO, random)], period: None });
        }
        if let Some(steps) = &of.steps {
            self.loss = keep(over_time::loss_steps(steps), mistakes);
        }
    }

    /// Over a link, whose rate and delay hold where nothing else is said.
    fn over(&self, wire: &Wire) -> Path {
        let opportunities = self.opportunities.clone().map(Rate::Opportunities);
        Path {
            rate: self.rate.as_ref().map(|rate| Rate::Steps(rate.after(wire.rate))).or(opportunities),
            delay: self.delay.as_ref().map(|delay| delay.after(wire.delay)),
            loss: self.loss.as_ref().map(|loss| loss.after(wire.error_rate)),
            ..self.others.clone()
        }
    }
}

/// The result of reading, if nothing is wrong with it.
fn keep<T>(read: Result<T, Vec<Mistake>>, mistakes: &mut Vec<Mistake>) -> Option<T> {
    read.map_err(|found| mistakes.extend(found)).ok()
}

fn in_file(key: &'static str, Rejection(mistakes): Rejection) -> Vec<Mistake> {
    mistakes.into_iter().map(|mistake| (key, mistake)).collect()
}
