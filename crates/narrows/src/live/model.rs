use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use narrows_proto::units::{BitRate, Bytes, Span, Time};
use narrows_sim::LinkId;
use narrows_sim::observe::{GroupLook, LinkLook, Look, WindowLook};

use crate::counters::{self, Counter};
use crate::plan::Plan;
use crate::report::flow_name;

/// Looks whose queues are remembered.
pub const SAMPLES: usize = 32;

/// Speeds are taken over this much time.
const SPEED_OVER: Duration = Duration::from_secs(3);

/// State of a run that is watched: the newest look, the one before, and what they show together.
#[derive(Debug)]
pub struct Monitor {
    plan: Arc<Plan>,
    now: Look,
    before: Look,
    /// By link, then by look: the most that waited, saturated. The oldest stands at `oldest`.
    history: Vec<[u32; SAMPLES]>,
    oldest: usize,
    /// When some looks were taken: time since the run began, simulated time, packets sent.
    pace: VecDeque<(Duration, Time, u64)>,
}

/// Speed of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Speed {
    /// Simulated seconds per second.
    pub simulated: f64,
    /// Packets sent per second, over all links.
    pub packets: f64,
}

/// In which order rows stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// By what happened since the look before, largest first.
    #[default]
    Now,
    /// By what happened so far, largest first.
    Ever,
    /// As in the scenario.
    Listed,
}

impl Order {
    /// The next one, and after the last the first.
    pub fn next(self) -> Self {
        match self {
            Self::Now => Self::Ever,
            Self::Ever => Self::Listed,
            Self::Listed => Self::Now,
        }
    }
}

/// A port where packets waited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueRow {
    /// "from -> to".
    pub name: String,
    /// Bytes that wait.
    pub backlog: u64,
    /// The most since the look before.
    pub most: u64,
    /// The most ever.
    pub peak: u64,
    /// Bytes of isolated flows among those that wait.
    pub isolated: u64,
    /// It has a queue for isolated flows.
    pub isolates: bool,
    /// Its neighbor has stopped it.
    pub paused: bool,
    /// Packets marked so far.
    pub marks: u64,
    /// Packets dropped so far.
    pub drops: u64,
    /// The most that waited, by look, the oldest first.
    pub history: Vec<u32>,
}

/// A link that has carried something.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkRow {
    /// "from -> to".
    pub name: String,
    /// Its rate.
    pub rate: BitRate,
    /// Fraction of the rate used since the look before, from 0 to 1.
    pub utilization: f64,
    /// Fraction used from the beginning on.
    pub mean_utilization: f64,
    /// Bytes carried so far, framing included.
    pub carried: Bytes,
    /// Packets dropped at its port or lost on it so far.
    pub drops: u64,
    /// Its far end has stopped it.
    pub paused: bool,
}

/// A traffic group.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupRow {
    /// Its name.
    pub name: String,
    /// Its congestion control.
    pub control: String,
    /// Payload delivered per simulated second since the look before, bit/s.
    pub rate: f64,
    /// Flows that go on.
    pub active: u64,
    /// Flows that are complete.
    pub finished: u64,
    /// Payload delivered so far.
    pub delivered: Bytes,
    /// Median and 99th percentile of completion times so far.
    pub fct: Option<(Span, Span)>,
}

/// A flow under way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WindowRow {
    /// Its group and number.
    pub name: String,
    /// Its congestion window, payload.
    pub cwnd: Bytes,
}

/// Something that can happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ActivityRow {
    /// Its name.
    pub what: &'static str,
    /// Count so far.
    pub times: u64,
    /// Count since the look before.
    pub since: u64,
}

impl Monitor {
    /// Knows nothing of a run of `plan` yet.
    pub fn new(plan: &Arc<Plan>) -> Self {
        let blank = Self::blank(plan);
        Self {
            plan: Arc::clone(plan),
            history: vec![[0; SAMPLES]; blank.links.len()],
            now: blank.clone(),
            before: blank,
            oldest: 0,
            pace: VecDeque::from([(Duration::ZERO, Time::ZERO, 0)]),
        }
    }

    /// The look at a run of `plan` before it begins.
    pub fn blank(plan: &Plan) -> Look {
        Look {
            links: vec![LinkLook::default(); plan.network.topology.links().len()],
            groups: vec![GroupLook::default(); plan.traffic.groups.len()],
            ..Look::default()
        }
    }

    /// Takes a look that was taken so long after the run began. One that shows nothing new is not taken.
    pub fn take(&mut self, look: Look, elapsed: Duration) {
        if look.until <= self.now.until {
            return;
        }
        for (history, link) in self.history.iter_mut().zip(&look.links) {
            history[self.oldest] = u32::try_from(link.most).unwrap_or(u32::MAX);
        }
        self.oldest = (self.oldest + 1) % SAMPLES;
        self.pace.push_back((elapsed, look.until, look.packets()));
        while self.pace.len() > 2 && self.pace[1].0 + SPEED_OVER < elapsed {
            self.pace.pop_front();
        }
        self.before = std::mem::replace(&mut self.now, look);
    }

    /// The run stood still: its speed is taken from now on.
    pub fn rest(&mut self, elapsed: Duration) {
        self.pace.clear();
        self.pace.push_back((elapsed, self.now.until, self.now.packets()));
    }

    /// The plan of the run.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Simulated time.
    pub fn at(&self) -> Time {
        self.now.until
    }

    /// When it ends at the latest.
    pub fn end(&self) -> Time {
        self.plan.stop.at
    }

    /// Progress of the run, from 0 to 1.
    pub fn done(&self) -> f64 {
        crate::run::fraction_done(&self.plan, self.at()).min(1.0)
    }

    /// Simulated time between the last two looks.
    pub fn span(&self) -> Span {
        self.now.until.saturating_since(self.before.until)
    }

    /// Its speed during the last seconds.
    pub fn speed(&self) -> Speed {
        let (Some(first), Some(last)) = (self.pace.front(), self.pace.back()) else {
            return Speed::default();
        };
        let seconds = last.0.saturating_sub(first.0).as_secs_f64();
        if seconds <= 0.0 {
            return Speed::default();
        }
        let simulated = last.1.saturating_since(first.1).as_secs_f64() / seconds;
        Speed { simulated, packets: (last.2 - first.2) as f64 / seconds }
    }

    /// Time that the rest takes at this speed.
    pub fn left(&self) -> Option<Duration> {
        let simulated = self.speed().simulated;
        let left = self.end().saturating_since(self.at()).as_secs_f64();
        (simulated > 0.0).then(|| Duration::from_secs_f64((left / simulated).min(1e9)))
    }

    /// Some of the ports where packets have waited, and how many those are in all.
    pub fn queues(&self, order: Order, rows: Range<usize>) -> (Vec<QueueRow>, usize) {
        let looks = &self.now.links;
        let waited =
            looks.iter().enumerate().filter(|(_, link)| link.peak > 0 || link.paused_until > self.at());
        let mut links: Vec<_> = waited.map(|(link, _)| link).collect();
        match order {
            Order::Now => links.sort_by_key(|link| std::cmp::Reverse((looks[*link].most, looks[*link].peak))),
            Order::Ever => links.sort_by_key(|link| std::cmp::Reverse(looks[*link].peak)),
            Order::Listed => {}
        }
        let row = |link: &usize| {
            let look = &looks[*link];
            let (newer, older) = self.history[*link].split_at(self.oldest);
            QueueRow {
                name: self.name(*link),
                backlog: look.backlog,
                most: look.most,
                peak: look.peak,
                isolated: look.side,
                isolates: look.has_side,
                paused: look.paused_until > self.at(),
                marks: look.marks,
                drops: look.drops,
                history: [older, newer].concat(),
            }
        };
        (part(&links, rows).iter().map(row).collect(), links.len())
    }

    /// Some of the links that have carried something, and how many those are in all.
    pub fn links(&self, order: Order, rows: Range<usize>) -> (Vec<LinkRow>, usize) {
        let looks = &self.now.links;
        let mut links: Vec<_> = (0..looks.len()).filter(|link| looks[*link].packets > 0).collect();
        let used = |link: usize, bytes: u64, span: Span| {
            let room = self.rate(link).as_f64() * span.as_secs_f64();
            if room > 0.0 { (bytes as f64 * 8.0 / room).min(1.0) } else { 0.0 }
        };
        let lately = |link: usize| used(link, looks[link].bytes - self.before.links[link].bytes, self.span());
        let ever = |link: usize| used(link, looks[link].bytes, self.at().saturating_since(Time::ZERO));
        match order {
            Order::Now => links.sort_by(|a, b| lately(*b).total_cmp(&lately(*a))),
            Order::Ever => links.sort_by(|a, b| ever(*b).total_cmp(&ever(*a))),
            Order::Listed => {}
        }
        let row = |link: &usize| LinkRow {
            name: self.name(*link),
            rate: self.rate(*link),
            utilization: lately(*link),
            mean_utilization: ever(*link),
            carried: Bytes::new(looks[*link].bytes),
            drops: looks[*link].drops,
            paused: looks[*link].paused_until > self.at(),
        };
        (part(&links, rows).iter().map(row).collect(), links.len())
    }

    /// Some of the traffic groups, and how many there are in all.
    pub fn groups(&self, order: Order, rows: Range<usize>) -> (Vec<GroupRow>, usize) {
        let seconds = self.span().as_secs_f64();
        let mut groups: Vec<_> = (0..self.now.groups.len()).collect();
        let lately = |group: usize| {
            let bytes = self.now.groups[group].delivered.saturating_sub(self.before.groups[group].delivered);
            if seconds > 0.0 { bytes.as_f64() * 8.0 / seconds } else { 0.0 }
        };
        match order {
            Order::Now => groups.sort_by(|a, b| lately(*b).total_cmp(&lately(*a))),
            Order::Ever => groups.sort_by_key(|group| std::cmp::Reverse(self.now.groups[*group].delivered)),
            Order::Listed => {}
        }
        let row = |group: &usize| {
            let (look, planned) = (&self.now.groups[*group], &self.plan.groups[*group]);
            GroupRow {
                name: planned.name.clone(),
                control: planned.control.clone(),
                rate: lately(*group),
                // Another thread may have seen the end of a flow at a later moment than this one saw less.
                active: look.started.saturating_sub(look.finished),
                finished: look.finished,
                delivered: look.delivered,
                fct: look.fct.quantile(0.5).zip(look.fct.quantile(0.99)),
            }
        };
        (part(&groups, rows).iter().map(row).collect(), groups.len())
    }

    /// Congestion windows of some flows, at most so many if there are no more groups: of each group those that have gone on for longest.
    pub fn windows(&self, most: usize) -> Vec<WindowRow> {
        let has_windows = |look: &&GroupLook| !look.windows.is_empty();
        let each = (most / self.now.groups.iter().filter(has_windows).count().max(1)).max(1);
        let groups = self.now.groups.iter().zip(&self.plan.groups);
        let row = |group: &str, window: &WindowLook| WindowRow {
            name: flow_name(group, window.flow.index() as u64),
            cwnd: window.cwnd,
        };
        let rows = groups.flat_map(|(look, planned)| {
            look.windows.iter().take(each).map(move |window| row(&planned.name, window))
        });
        rows.collect()
    }

    /// Everything that can happen and is known before the end, or some of it, and how much that is in all.
    pub fn activity(&self, order: Order, rows: Range<usize>) -> (Vec<ActivityRow>, usize) {
        let row = |(what, counter): (&'static str, &Counter)| {
            let [now, before] = [&self.now, &self.before].map(|look| counter.so_far(&look.counts));
            let (times, before) = now.zip(before)?;
            Some(ActivityRow { what, times, since: times.saturating_sub(before) })
        };
        let mut all: Vec<_> = counters::activities_in(&self.plan).filter_map(row).collect();
        match order {
            Order::Now => all.sort_by_key(|row| std::cmp::Reverse((row.since, row.times))),
            Order::Ever => all.sort_by_key(|row| std::cmp::Reverse(row.times)),
            Order::Listed => {}
        }
        (part(&all, rows).to_vec(), all.len())
    }

    fn name(&self, link: usize) -> String {
        self.plan.network.topology.link_name(LinkId::from(link))
    }

    fn rate(&self, link: usize) -> BitRate {
        self.plan.network.topology.links()[link].wire.rate
    }
}

/// These of the rows, as far as there are any.
fn part<T>(all: &[T], rows: Range<usize>) -> &[T] {
    &all[rows.start.min(all.len())..rows.end.min(all.len())]
}
