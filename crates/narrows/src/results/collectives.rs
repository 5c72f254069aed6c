//! Iterations of collectives and their steps, put together from messages, which are flows.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use narrows_proto::units::{BitRate, Bytes, Span, Time};
use narrows_sim::observe::PortRow;
use narrows_sim::traffic::{Action, IterationRecord, Lanes, Rank, Tasks};
use narrows_sim::{FlowId, LinkId, Paths, PortCounters};

use super::flows::FlowRow;
use crate::plan::{Plan, PlannedCollective};

/// An iteration of a collective that began.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CollectiveRow {
    /// Its group.
    pub group: u32,
    /// Its number; the first is 0.
    pub iteration: u32,
    /// Number of ranks.
    pub ranks: u32,
    /// Bytes of the whole vector; of a schedule all that is sent.
    pub size: Bytes,
    /// When the first rank began it.
    pub start: Time,
    /// When the last rank had received and computed everything.
    pub end: Option<Time>,
    /// When the first rank had.
    pub first_end: Option<Time>,
    /// The rank that was the last, or did not finish, by its number.
    pub slowest: u32,
    /// Bus bandwidth as a multiple of algorithm bandwidth; a schedule has none.
    pub bus_factor: Option<f64>,
    /// The message that cost the slowest rank most time.
    pub late: Option<LateMessage>,
    /// It counts in summaries.
    pub measured: bool,
}

impl CollectiveRow {
    /// From the start of the first rank to the end of the last.
    pub fn time(&self) -> Option<Span> {
        self.end.map(|end| end - self.start)
    }

    /// Algorithm bandwidth: size divided by time.
    pub fn algorithm(&self) -> Option<BitRate> {
        self.bus_factor.and_then(|_| self.rate(1.0))
    }

    /// Bus bandwidth: what links carry, as NCCL's tests define it.
    pub fn bus(&self) -> Option<BitRate> {
        self.rate(self.bus_factor?)
    }

    fn rate(&self, factor: f64) -> Option<BitRate> {
        let seconds = self.time()?.as_secs_f64();
        (seconds > 0.0).then(|| BitRate::from_bps((self.size.as_f64() * 8.0 * factor / seconds) as u64))
    }
}

/// Of the messages that led to the last one that the slowest rank received, each of which was waited for, the one that took longest beyond
/// its time on the empty network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LateMessage {
    /// Its flow.
    pub flow: FlowId,
    /// Its number among those of that flow.
    pub incarnation: u64,
    /// Its step.
    pub step: u32,
    /// Time that it took beyond that on the empty network.
    pub late: Span,
    /// The same of all of these messages together.
    pub all: Span,
    /// The port of its path where most waited, and how much.
    pub port: Option<(LinkId, Bytes)>,
}

/// A step of an iteration: messages that have the same place in a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepRow {
    /// Its group.
    pub group: u32,
    /// Its iteration.
    pub iteration: u32,
    /// Its number; the first is 0.
    pub step: u32,
    /// Messages that began.
    pub messages: u32,
    /// When the first of them began.
    pub start: Time,
    /// When the last of them had arrived; none if one had not.
    pub end: Option<Time>,
    /// The message that took longest beyond its time on the empty network, as a row of the flows.
    pub slowest: u32,
    /// Time that it took beyond that, so far if it has not arrived.
    pub late: Span,
}

/// Everything that is known of a run.
pub(super) struct Known<'a> {
    pub(super) plan: &'a Plan,
    pub(super) flows: &'a [FlowRow],
    pub(super) iterations: &'a [IterationRecord],
    pub(super) ports: &'a [PortCounters],
    pub(super) queues: Option<&'a [PortRow]>,
    pub(super) ended: Time,
}

/// Iterations and steps of all collectives, in order.
pub(super) fn rows(known: &Known<'_>) -> (Vec<CollectiveRow>, Vec<StepRow>) {
    let (mut all, mut steps) = (Vec::new(), Vec::new());
    if known.plan.groups.iter().all(|group| group.collective.is_none()) {
        return (all, steps);
    }
    let paths = Paths::of(&known.plan.network, known.plan.scenario.seed);
    for (number, group) in (0..).zip(&known.plan.groups) {
        let Some(collective) = &group.collective else { continue };
        let ranks = &known.plan.traffic.ranks[collective.ranks.clone()];
        let messages = Messages::of(known, ranks, &group.flows);
        messages.steps(known, ranks, number, &mut steps);
        let mut began = known.iterations[iterations_of(known.iterations, &collective.ranks)].to_vec();
        began.sort_unstable_by_key(|record| (record.iteration, record.rank));
        all.extend(began.chunk_by(|a, b| a.iteration == b.iteration).filter_map(|records| {
            let row = row(known, number, collective, records)?;
            let chain = row.end.and_then(|_| messages.chain(known.flows, ranks, row.iteration, row.slowest));
            let late = chain.map(|(message, all)| late(known, &paths, ranks, &message, all));
            Some(CollectiveRow { late, ..row })
        }));
    }
    (all, steps)
}

/// Records are in order of ranks.
fn iterations_of(records: &[IterationRecord], ranks: &Range<usize>) -> Range<usize> {
    let place = |rank: usize| records.partition_point(|record| (record.rank as usize) < rank);
    place(ranks.start)..place(ranks.end)
}

/// The row of an iteration, of which these are all records.
fn row(
    known: &Known<'_>,
    group: u32,
    collective: &PlannedCollective,
    records: &[IterationRecord],
) -> Option<CollectiveRow> {
    let start = records.iter().map(|record| record.begun).min()?;
    let ends = || records.iter().map(|record| record.ended);
    let ranks = collective.ranks.len();
    let has_all = records.len() == ranks && ends().all(|end| end.is_some());
    let key =
        |record: &&IterationRecord| (record.ended.unwrap_or(Time::NEVER), std::cmp::Reverse(record.rank));
    let slowest = records.iter().max_by_key(key)?;
    Some(CollectiveRow {
        group,
        iteration: slowest.iteration,
        ranks: ranks as u32,
        size: collective.size,
        start,
        end: ends().max().flatten().filter(|_| has_all),
        first_end: ends().flatten().min(),
        slowest: slowest.rank - collective.ranks.start as u32,
        bus_factor: collective.bus_factor,
        late: None,
        measured: known.plan.measured.contains(&start),
    })
}

/// A message that began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Message {
    iteration: u32,
    /// The rank that receives it, and the task that does.
    receiver: u32,
    receives: u32,
    /// The rank that sends it, and the task that does.
    sender: u32,
    sends: u32,
    /// Its row among the flows.
    row: u32,
}

/// Messages of a collective, by iteration, receiver and task.
struct Messages(Vec<Message>);

impl Messages {
    fn of(known: &Known<'_>, ranks: &[Rank], flows: &Range<usize>) -> Self {
        let receivers = receivers(ranks);
        let place = |flow: usize| known.flows.partition_point(|row| row.flow.index() < flow);
        let rows = place(flows.start)..place(flows.end);
        let message = |row: usize| {
            let flow = &known.flows[row];
            let &(lanes, sender, to, receiver, from) = lanes_of(&receivers, flow.flow)?;
            let sends = ranks[sender as usize].tasks.sends(to);
            let number = lanes.message(flow.flow, flow.incarnation);
            let (iteration, place) = (number / sends.len() as u64, (number % sends.len() as u64) as usize);
            Some(Message {
                iteration: iteration as u32,
                receiver,
                receives: ranks[receiver as usize].tasks.receives(from)[place],
                sender,
                sends: sends[place],
                row: row as u32,
            })
        };
        let mut all: Vec<_> = rows.filter_map(message).collect();
        all.sort_unstable();
        Self(all)
    }

    /// All that a rank receives in an iteration.
    fn received(&self, iteration: u32, rank: u32) -> &[Message] {
        let key = |message: &Message| (message.iteration, message.receiver);
        let start = self.0.partition_point(|message| key(message) < (iteration, rank));
        let rest = &self.0[start..];
        &rest[..rest.partition_point(|message| key(message) == (iteration, rank))]
    }

    fn steps(&self, known: &Known<'_>, ranks: &[Rank], group: u32, steps: &mut Vec<StepRow>) {
        for of_iteration in self.0.chunk_by(|a, b| a.iteration == b.iteration) {
            let mut by_step: BTreeMap<u32, StepRow> = BTreeMap::new();
            for message in of_iteration {
                let flow = &known.flows[message.row as usize];
                let step = ranks[message.sender as usize].tasks.task(message.sends).step;
                let took = flow.end.unwrap_or(known.ended).saturating_since(flow.start);
                let late = took.saturating_sub(flow.ideal);
                let new = StepRow {
                    group,
                    iteration: message.iteration,
                    step,
                    messages: 0,
                    start: flow.start,
                    end: flow.end,
                    slowest: message.row,
                    late,
                };
                let row = by_step.entry(step).or_insert(new);
                row.messages += 1;
                row.start = row.start.min(flow.start);
                row.end = row.end.zip(flow.end).map(|(a, b)| a.max(b));
                if (late, std::cmp::Reverse(message.row)) > (row.late, std::cmp::Reverse(row.slowest)) {
                    (row.late, row.slowest) = (late, message.row);
                }
            }
            steps.extend(by_step.into_values());
        }
    }

    /// Goes back from the last message that a rank received: to the one that its sender waited for, and so on. Returns the one that was
    /// late the most, and the time that all were late together.
    fn chain(&self, flows: &[FlowRow], ranks: &[Rank], iteration: u32, rank: u32) -> Option<(Message, Span)> {
        let end = |message: &Message| flows[message.row as usize].end;
        let late = |message: &Message| lateness(&flows[message.row as usize]);
        let mut causes = Causes::default();
        let mut next = self.received(iteration, rank).iter().max_by_key(|message| end(message)).copied();
        let (mut worst, mut all) = (next?, Span::ZERO);
        while let Some(message) = next {
            all += late(&message);
            if late(&message) > late(&worst) {
                worst = message;
            }
            let tasks = causes.of(&ranks[message.sender as usize].tasks, message.sends);
            let before = self.received(iteration, message.sender);
            let found = |task: &u32| before.binary_search_by_key(task, |message| message.receives).ok();
            next = tasks.iter().filter_map(found).map(|place| before[place]).max_by_key(end);
        }
        Some((worst, all))
    }
}

/// Time that a message took beyond that on the empty network; zero if it did not arrive.
fn lateness(flow: &FlowRow) -> Span {
    flow.fct().unwrap_or_default().saturating_sub(flow.ideal)
}

/// Flows of a connection, who sends over them to which of its receivers, who receives from which of its senders.
type Connection = (Lanes, u32, u32, u32, u32);

/// Connections by their first flow.
fn receivers(ranks: &[Rank]) -> Vec<Connection> {
    let mut from = BTreeMap::new();
    for (number, rank) in (0..).zip(ranks) {
        for (place, lanes) in (0..).zip(&rank.incoming) {
            from.insert(lanes.first, (number, place));
        }
    }
    let mut all = Vec::new();
    for (number, rank) in (0..).zip(ranks) {
        for (to, lanes) in (0..).zip(&rank.outgoing) {
            all.extend(
                from.get(&lanes.first).map(|(receiver, place)| (*lanes, number, to, *receiver, *place)),
            );
        }
    }
    all
}

fn lanes_of(connections: &[Connection], flow: FlowId) -> Option<&Connection> {
    let after = connections.partition_point(|(lanes, ..)| lanes.first <= flow);
    connections[..after].last()
}

/// Receiving tasks that others wait for, perhaps over some that compute, by task. Ranks share their tasks.
#[derive(Default)]
struct Causes(Vec<(Arc<Tasks>, Vec<Vec<u32>>)>);

impl Causes {
    fn of(&mut self, tasks: &Arc<Tasks>, task: u32) -> BTreeSet<u32> {
        let known = self.0.iter().position(|(other, _)| Arc::ptr_eq(other, tasks));
        let known = known.unwrap_or_else(|| {
            let mut before = vec![Vec::new(); tasks.len()];
            for number in 0..tasks.len() as u32 {
                tasks.next(number).iter().for_each(|next| before[*next as usize].push(number));
            }
            self.0.push((Arc::clone(tasks), before));
            self.0.len() - 1
        });
        let (mut open, mut found, mut seen) = (vec![task], BTreeSet::new(), BTreeSet::new());
        while let Some(task) = open.pop() {
            for before in &self.0[known].1[task as usize] {
                match tasks.task(*before).action {
                    Action::Receive { .. } => _ = found.insert(*before),
                    Action::Compute(_) if seen.insert(*before) => open.push(*before),
                    Action::Compute(_) | Action::Send { .. } => {}
                }
            }
        }
        found
    }
}

fn late(known: &Known<'_>, paths: &Paths<'_>, ranks: &[Rank], message: &Message, all: Span) -> LateMessage {
    let flow = &known.flows[message.row as usize];
    let rank = &ranks[message.sender as usize];
    // All messages of a connection take the path of its first flow.
    let lanes = rank.outgoing.iter().rfind(|lanes| lanes.first <= flow.flow);
    let first = lanes.map_or(flow.flow, |lanes| lanes.first);
    let traffic = &known.plan.traffic;
    let group = traffic.flows[first.index()].group;
    let spreads = traffic.groups[group.index()].transport.has_entropy();
    let ways = paths.ways((first, spreads), flow.from, flow.to);
    let links: Vec<_> = ways.unwrap_or_default().concat();
    LateMessage {
        flow: flow.flow,
        incarnation: flow.incarnation,
        step: rank.tasks.task(message.sends).step,
        late: lateness(flow),
        all,
        port: fullest(known, &links, flow),
    }
}

/// The port of these where most waited: while the flow was under way if one of them was recorded, otherwise in the whole run.
fn fullest(known: &Known<'_>, links: &[LinkId], flow: &FlowRow) -> Option<(LinkId, Bytes)> {
    let recorded = known.plan.record.queues.as_ref().map(|(interval, of)| (*interval, of));
    let recorded = recorded.filter(|(_, of)| of.iter().any(|link| links.contains(link)));
    let backlog = match recorded.zip(known.queues) {
        Some(((interval, _), rows)) => {
            // They are in order of time.
            let end = flow.end.unwrap_or(known.ended);
            let from = rows.partition_point(|row| row.start + interval <= flow.start);
            let during = rows[from..].iter().take_while(|row| row.start <= end);
            let during = during.filter(|row| links.contains(&row.link));
            during
                .map(|row| (row.max_backlog, row.link))
                .max_by_key(|(backlog, link)| (*backlog, std::cmp::Reverse(*link)))
        }
        None => {
            let of = links.iter().map(|link| (known.ports[link.index()].max_backlog, *link));
            of.max_by_key(|(backlog, link)| (*backlog, std::cmp::Reverse(*link)))
        }
    };
    backlog.filter(|(backlog, _)| *backlog > 0).map(|(backlog, link)| (link, Bytes::new(backlog)))
}
