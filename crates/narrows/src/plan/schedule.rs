//! Schedules of ranks: rank,id,does,peer,amount,after.
//!
//! Rows may stand in any order. They are put into one in which all ranks together could do them one after the other, which shows that
//! nothing waits for itself, and in which messages of a rank to another are numbered.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::str::FromStr;

use narrows_proto::units::{Bytes, Span};
use narrows_sim::workload::collectives::{Part, PartBuilder};

use crate::csv_file::{Field, Table};
use crate::diagnostic::{Checked, Code, Diagnostic};
use crate::inputs::Content;
use crate::sizes::flow_size;

const COLUMNS: [&str; 6] = ["rank", "id", "does", "peer", "amount", "after"];

/// Tasks of ranks, and the bytes that they send together.
#[derive(Debug)]
pub(super) struct ScheduleParts {
    pub(super) parts: Vec<Part>,
    pub(super) sent: Bytes,
}

/// Reads what `ranks` ranks do in at most `most` rows of messages.
///
/// # Errors
/// If a row cannot be read, names a rank or a task that does not exist, a message is not received or not sent, or tasks wait for
/// themselves.
pub(super) fn read(content: &Content, ranks: u32, most: u64) -> Checked<ScheduleParts> {
    let table = Table::of(content.source());
    let mut rows = Rows::default();
    for row in table.rows(COLUMNS) {
        rows.add(row?, ranks, most)?;
    }
    if rows.all.is_empty() {
        return Err(Diagnostic::error(Code::NoTraffic, format!("{} has no task", table.name())).into());
    }
    rows.connect()?;
    rows.parts(ranks)
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Does {
    Send { to: u32, size: Bytes },
    Receive { from: u32 },
    Compute(Span),
}

struct Row<'a> {
    rank: u32,
    does: Does,
    /// For messages about it.
    word: Field<'a>,
    after: Field<'a>,
    /// Rows that have to be done before it.
    before: Vec<u32>,
    /// Of a receive: the row that sends.
    sender: Option<u32>,
}

#[derive(Default)]
struct Rows<'a> {
    all: Vec<Row<'a>>,
    by_id: BTreeMap<(u32, &'a str), u32>,
    messages: u64,
}

impl<'a> Rows<'a> {
    fn add(&mut self, row: [Field<'a>; 6], ranks: u32, most: u64) -> Checked<()> {
        let [rank, id, does, peer, amount, after] = row;
        let number = rank_of(&rank, ranks)?;
        let does_what = match does.text {
            "send" => Does::Send { to: peer_of(&peer, number, ranks)?, size: flow_size(&amount)? },
            "receive" => {
                empty(&amount)?;
                Does::Receive { from: peer_of(&peer, number, ranks)? }
            }
            "compute" => {
                empty(&peer)?;
                Does::Compute(quantity(&amount)?)
            }
            other => {
                let unknown = does.error(format!("found \"{other}\", expected send, receive or compute"));
                return Err(Diagnostic { code: Code::UnknownName, ..unknown }.into());
            }
        };
        self.messages += u64::from(matches!(does_what, Does::Send { .. }));
        if self.messages > most {
            return Err(does
                .error(format!("more than {most} messages, the most that can be simulated"))
                .into());
        }
        let place = self.all.len() as u32;
        if id.text.contains(char::is_whitespace) {
            return Err(id.error(format!("the id \"{}\", expected no blanks", id.text)).into());
        }
        if !id.text.is_empty() && self.by_id.insert((number, id.text), place).is_some() {
            let error = id.error(format!("two tasks of rank {number} have the id \"{}\"", id.text));
            return Err(Diagnostic { code: Code::Duplicate, ..error }.into());
        }
        self.all.push(Row {
            rank: number,
            does: does_what,
            word: does,
            after,
            before: Vec::new(),
            sender: None,
        });
        Ok(())
    }

    /// Looks up what rows wait for: tasks of their rank, and messages.
    fn connect(&mut self) -> Checked<()> {
        let mut sends: BTreeMap<(u32, u32), Vec<u32>> = BTreeMap::new();
        let mut receives: BTreeMap<(u32, u32), Vec<u32>> = BTreeMap::new();
        for place in 0..self.all.len() as u32 {
            let row = &self.all[place as usize];
            match row.does {
                Does::Send { to, .. } => sends.entry((row.rank, to)).or_default().push(place),
                Does::Receive { from } => receives.entry((from, row.rank)).or_default().push(place),
                Does::Compute(_) => {}
            }
            let mut before = Vec::new();
            for word in row.after.words() {
                let Some(found) = self.by_id.get(&(row.rank, word.text)) else {
                    let unknown =
                        word.error(format!("no task of rank {} has the id \"{}\"", row.rank, word.text));
                    return Err(Diagnostic { code: Code::UnknownName, ..unknown }.into());
                };
                before.push(*found);
            }
            before.sort_unstable();
            before.dedup();
            self.all[place as usize].before = before;
        }
        let none = Vec::new();
        for ((from, to), sent) in &sends {
            let received = receives.get(&(*from, *to)).unwrap_or(&none);
            self.check_counts([*from, *to], sent, received)?;
        }
        for ((from, to), received) in &receives {
            let sent = sends.get(&(*from, *to)).unwrap_or(&none);
            self.check_counts([*from, *to], sent, received)?;
            for (send, receive) in sent.iter().zip(received) {
                self.all[*receive as usize].sender = Some(*send);
            }
        }
        Ok(())
    }

    /// Every message is received, and every one that is to be received is sent.
    fn check_counts(&self, [from, to]: [u32; 2], sent: &[u32], received: &[u32]) -> Checked<()> {
        let (more, less) = if sent.len() > received.len() { (sent, received) } else { (received, sent) };
        let Some(row) = more.get(less.len()) else { return Ok(()) };
        let message = format!(
            "rank {from} sends {} to rank {to}, which receives {}",
            messages(sent.len()),
            messages(received.len())
        );
        Err(self.all[*row as usize].word.error(message).into())
    }

    /// All rows in an order in which they could be done one after the other, and the step of each: the number of messages on the longest
    /// way there.
    fn order(&self) -> Checked<(Vec<u32>, Vec<u32>)> {
        let waits = |row: &Row<'_>| row.before.len() + usize::from(row.sender.is_some());
        let mut missing: Vec<_> = self.all.iter().map(waits).collect();
        let mut next: Vec<Vec<u32>> = vec![Vec::new(); self.all.len()];
        for (place, row) in (0..).zip(&self.all) {
            row.before.iter().chain(&row.sender).for_each(|before| next[*before as usize].push(place));
        }
        let mut order: Vec<u32> =
            (0..).zip(&missing).filter(|(_, waits)| **waits == 0).map(|(row, _)| row).collect();
        let (mut steps, mut place) = (vec![0; self.all.len()], 0);
        while let Some(row) = order.get(place).copied() {
            place += 1;
            for other in &next[row as usize] {
                let is_message = self.all[*other as usize].sender == Some(row);
                let step = steps[row as usize] + u32::from(is_message);
                steps[*other as usize] = steps[*other as usize].max(step);
                missing[*other as usize] -= 1;
                if missing[*other as usize] == 0 {
                    order.push(*other);
                }
            }
        }
        if let Some(stuck) = missing.iter().position(|waits| *waits > 0) {
            let message = "the task waits for something that never happens: in the end it waits for itself";
            return Err(self.all[stuck].word.error(message).into());
        }
        Ok((order, steps))
    }

    fn parts(&self, ranks: u32) -> Checked<ScheduleParts> {
        let (order, steps) = self.order()?;
        let mut places = vec![0_u32; self.all.len()];
        (0..).zip(&order).for_each(|(place, row)| places[*row as usize] = place);
        let mut by_rank: Vec<(Vec<u32>, Vec<u32>)> = vec![Default::default(); ranks as usize];
        for row in &order {
            let (receives, all) = &mut by_rank[self.all[*row as usize].rank as usize];
            all.push(*row);
            receives.extend(self.all[*row as usize].sender.is_some().then_some(*row));
        }
        let mut sent: u64 = 0;
        let mut parts: Vec<Part> = Vec::with_capacity(ranks as usize);
        let mut tasks = vec![0_u32; self.all.len()];
        for (mut receives, all) in by_rank {
            let mut part = PartBuilder::default();
            // In the order in which they are sent, whatever they wait for here.
            receives.sort_by_key(|row| self.all[*row as usize].sender.map(|sender| places[sender as usize]));
            for row in receives {
                let Does::Receive { from } = self.all[row as usize].does else { continue };
                tasks[row as usize] = part.receive(steps[row as usize].saturating_sub(1), from, &[]);
            }
            for row in all {
                let Row { does, before, .. } = &self.all[row as usize];
                let (step, after) = (steps[row as usize], before.iter().map(|row| tasks[*row as usize]));
                let after: Vec<_> = after.collect();
                tasks[row as usize] = match *does {
                    Does::Send { to, size } => {
                        sent = sent.saturating_add(size.get());
                        part.send(step, to, size, &after)
                    }
                    Does::Compute(span) => part.compute(step, span, &after),
                    Does::Receive { .. } if after.is_empty() => continue,
                    Does::Receive { .. } => {
                        let after = [&after[..], &[tasks[row as usize]]].concat();
                        part.compute(step, Span::ZERO, &after)
                    }
                };
            }
            parts.push(part.build(&parts));
        }
        if self.messages == 0 {
            return Err(self.all[0].word.error("no message is sent").into());
        }
        Ok(ScheduleParts { parts, sent: Bytes::new(sent) })
    }
}

fn messages(count: usize) -> String {
    if count == 1 { "1 message".into() } else { format!("{count} messages") }
}

fn empty(field: &Field<'_>) -> Checked<()> {
    if field.text.is_empty() {
        return Ok(());
    }
    Err(field.error(format!("found \"{}\", expected nothing here", field.text)).into())
}

fn rank_of(field: &Field<'_>, ranks: u32) -> Checked<u32> {
    let rank = field.text.parse().ok().filter(|rank| *rank < ranks);
    let message = || format!("found \"{}\", expected a rank from 0 to {}", field.text, ranks - 1);
    Ok(rank.ok_or_else(|| field.error(message()))?)
}

fn peer_of(field: &Field<'_>, rank: u32, ranks: u32) -> Checked<u32> {
    let peer = rank_of(field, ranks)?;
    if peer == rank {
        return Err(field.error(format!("a message of rank {rank} to itself")).into());
    }
    Ok(peer)
}

fn quantity<T: FromStr<Err = E>, E: Display>(field: &Field<'_>) -> Checked<T> {
    Ok(field.text.parse().map_err(|error: E| field.error(error.to_string()))?)
}

#[cfg(test)]
mod tests {
    use narrows_sim::traffic::Action;

    use super::*;

    fn parse(rows: &str) -> Result<ScheduleParts, String> {
        let text = format!("rank,id,does,peer,amount,after\n{rows}");
        let table = Table::new("s.csv", text);
        let mut all = Rows::default();
        let read = || {
            for row in table.rows(COLUMNS) {
                all.add(row?, 3, 100)?;
            }
            all.connect()?;
            all.parts(3)
        };
        let mut read = read;
        read().map_err(|rejection: crate::diagnostic::Rejection| rejection.to_string())
    }

    #[test]
    fn rows_become_tasks_in_an_order_in_which_they_can_be_done() {
        let rows =
            "1,b,send,0,5 kB,a\n1,a,receive,0,,\n0,,send,1,2000,c\n0,c,compute,,3 us,\n0,,receive,1,,c\n";
        let ScheduleParts { parts, sent } = parse(rows).unwrap();
        assert_eq!(sent, Bytes::new(7000));
        let actions: Vec<_> = parts[0].tasks.iter().map(|task| (task.action, task.step)).collect();
        let expected = [
            (Action::Receive { from: 0 }, 1),
            (Action::Compute(Span::from_us(3)), 0),
            (Action::Send { to: 0, size: Bytes::new(2000) }, 0),
            (Action::Compute(Span::ZERO), 2),
        ];
        assert_eq!(actions, expected);
        assert_eq!((&parts[1].to, &parts[1].from, parts[2].tasks.len()), (&vec![0], &vec![0], 0));
    }

    #[test]
    fn what_cannot_be_done_is_refused_where_it_stands() {
        let error = |rows: &str| parse(rows).unwrap_err();
        assert_eq!(
            error("0,a,send,1,10,b\n0,b,receive,1,,\n1,c,receive,0,,\n1,d,send,0,10,c\n"),
            "s.csv:2:5  the task waits for something that never happens: in the end it waits for itself"
        );
        assert_eq!(
            error("0,,send,1,10,\n0,,send,1,10,\n1,,receive,0,,\n"),
            "s.csv:3:4  rank 0 sends 2 messages to rank 1, which receives 1 message"
        );
        assert_eq!(
            error("1,,receive,0,,\n"),
            "s.csv:2:4  rank 0 sends 0 messages to rank 1, which receives 1 message"
        );
        assert_eq!(error("3,,send,1,10,\n"), "s.csv:2:1  found \"3\", expected a rank from 0 to 2");
        assert_eq!(error("0,,send,0,10,\n"), "s.csv:2:9  a message of rank 0 to itself");
        assert!(error("0,,sends,1,10,\n").starts_with("s.csv:2:4  found \"sends\", expected send"));
        assert_eq!(error("0,,send,1,0,\n"), "s.csv:2:11  a flow of 0 B, expected 1 B to 1048576 TiB");
        assert_eq!(error("0,,compute,1,1 us,\n"), "s.csv:2:12  found \"1\", expected nothing here");
        assert_eq!(error("0,a,compute,,1 us,b\n"), "s.csv:2:19  no task of rank 0 has the id \"b\"");
        assert_eq!(error("0,a,compute,,1 us,\n"), "s.csv:2:5  no message is sent");
    }
}
