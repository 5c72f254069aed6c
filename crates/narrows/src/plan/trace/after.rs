//! The column `after` of a trace: ids of flows, separated by blanks. "a b" waits until both have been received, "1 of a b" for
//! the first of them, "sent:a" until the sender of a knows that all of it was received.

use std::collections::BTreeMap;

use narrows_proto::units::{Span, Time};
use narrows_sim::FlowId;
use narrows_sim::traffic::{Dependent, Milestone};

use crate::csv_file::Field;
use crate::diagnostic::{Checked, Code, Diagnostic};

/// Prefix of the id of a flow whose sender has to know.
const SENT: &str = "sent:";

/// Flows with names, and those that wait.
#[derive(Default)]
pub(super) struct Waits<'a> {
    by_id: BTreeMap<&'a str, FlowId>,
    waits: Vec<(FlowId, Span, Field<'a>)>,
}

impl<'a> Waits<'a> {
    /// A flow has an id, if the field is not empty.
    pub(super) fn name(&mut self, flow: usize, id: Field<'a>) -> Checked<()> {
        if id.text.is_empty() {
            return Ok(());
        }
        if id.text.contains(char::is_whitespace) || id.text.starts_with(SENT) {
            let message =
                format!("the id \"{}\", expected no blanks, and nothing that begins with {SENT}", id.text);
            return Err(id.error(message).into());
        }
        if self.by_id.insert(id.text, FlowId::from(flow)).is_some() {
            let error = id.error(format!("two flows have the id \"{}\"", id.text));
            return Err(Diagnostic { code: Code::Duplicate, ..error }.into());
        }
        Ok(())
    }

    /// A flow waits for what `after` says, and then for `delay`.
    pub(super) fn wait(&mut self, flow: usize, delay: Span, after: Field<'a>) {
        self.waits.push((FlowId::from(flow), delay, after));
    }

    /// Looks up all ids, and checks that every flow can start at all.
    pub(super) fn resolve(self, flows: usize) -> Checked<Vec<Dependent>> {
        let dependents = self.waits.iter().map(|(flow, delay, after)| self.dependent(*flow, *delay, after));
        let dependents = dependents.collect::<Checked<Vec<_>>>()?;
        if let Some(number) = never_starts(flows, &dependents) {
            let message = "the flow waits for something that never happens: in the end it waits for itself";
            return Err(self.waits[number].2.error(message).into());
        }
        Ok(dependents)
    }

    fn dependent(&self, flow: FlowId, delay: Span, field: &Field<'a>) -> Checked<Dependent> {
        let mut words: Vec<_> = field.words().collect();
        let count = match &words[..] {
            [count, of, ..] if of.text == "of" => Some(count.text.parse::<u32>().map_err(|_| {
                count.error(format!("found \"{}\", expected how many of the flows that follow", count.text))
            })?),
            _ => None,
        };
        if count.is_some() {
            words.drain(..2);
        }
        let mut after = BTreeMap::new();
        let mut order = Vec::with_capacity(words.len());
        for word in &words {
            let (id, milestone) = match word.text.strip_prefix(SENT) {
                Some(id) => (id, Milestone::Sent),
                None => (word.text, Milestone::Received),
            };
            let Some(flow) = self.by_id.get(id) else {
                let unknown = word.error(format!("no flow has the id \"{id}\""));
                let unknown = Diagnostic { code: Code::UnknownName, ..unknown };
                return Err(unknown.known(id, self.by_id.keys().copied()).into());
            };
            if after.insert((*flow, milestone), ()).is_some() {
                return Err(word.error(format!("\"{}\" stands here twice", word.text)).into());
            }
            order.push((*flow, milestone));
        }
        let all = order.len() as u32;
        let needs = count.unwrap_or(all);
        if needs == 0 || needs > all {
            let expected = if all == 0 { "the ids of other flows".into() } else { format!("1 to {all}") };
            let message = format!("{needs} of {all} can never happen, expected {expected}");
            return Err(field.error(message).into());
        }
        Ok(Dependent { flow, after: order, needs, delay, until: Time::NEVER })
    }
}

/// The first of those who wait that never starts, if every flow that starts ends.
fn never_starts(flows: usize, dependents: &[Dependent]) -> Option<usize> {
    let mut followers: Vec<Vec<usize>> = vec![Vec::new(); flows];
    let mut waits = vec![false; flows];
    for (number, dependent) in dependents.iter().enumerate() {
        waits[dependent.flow.index()] = true;
        for (flow, _) in &dependent.after {
            followers[flow.index()].push(number);
        }
    }
    let mut missing: Vec<_> = dependents.iter().map(|dependent| dependent.needs).collect();
    let mut ended: Vec<_> = (0..flows).filter(|flow| !waits[*flow]).collect();
    while let Some(flow) = ended.pop() {
        for number in &followers[flow] {
            missing[*number] = missing[*number].wrapping_sub(1);
            if missing[*number] == 0 {
                ended.push(dependents[*number].flow.index());
            }
        }
    }
    // What went below zero has started long ago.
    missing.iter().zip(dependents).position(|(missing, dependent)| (1..=dependent.needs).contains(missing))
}
