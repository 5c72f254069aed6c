//! Which receive takes which message: by source and tag, in order.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use narrows::diagnostic::Checked;

use super::parse::{Goal, What};

/// Messages of one rank to another that no receive takes yet.
#[derive(Default)]
struct Open {
    all: BTreeSet<usize>,
    by_tag: BTreeMap<u32, VecDeque<usize>>,
}

impl Open {
    fn take(&mut self, tag: Option<u32>) -> Option<usize> {
        let taken = match tag {
            None => self.all.first().copied(),
            Some(tag) => {
                let queue = self.by_tag.get_mut(&tag)?;
                // Receives of any tag have taken some.
                while queue.front().is_some_and(|send| !self.all.contains(send)) {
                    queue.pop_front();
                }
                queue.front().copied()
            }
        }?;
        self.all.remove(&taken);
        Some(taken)
    }
}

/// By rank and operation that receives: source and operation that sends.
pub(super) type Matched = BTreeMap<(u32, usize), (u32, usize)>;

/// # Errors
/// If a message is not received, or one that is to be received is not sent.
pub(super) fn messages(goal: &Goal<'_>) -> Checked<Matched> {
    let mut open: BTreeMap<(u32, u32), Open> = BTreeMap::new();
    for (from, rank) in &goal.ranks {
        for (place, operation) in rank.operations.iter().enumerate() {
            if let What::Send { to, tag, .. } = operation.what {
                let open = open.entry((*from, to)).or_default();
                open.all.insert(place);
                open.by_tag.entry(tag).or_default().push_back(place);
            }
        }
    }
    let mut matched = Matched::new();
    for (to, rank) in &goal.ranks {
        for (place, operation) in rank.operations.iter().enumerate() {
            let What::Receive { from, tag } = operation.what else { continue };
            let Some(send) = open.get_mut(&(from, *to)).and_then(|open| open.take(tag)) else {
                let tagged = tag.map_or_else(|| "any tag".into(), |tag| format!("tag {tag}"));
                let message = format!("rank {from} sends no message with {tagged} for this receive");
                return Err(operation.word.error(message).into());
            };
            matched.insert((*to, place), (from, send));
        }
    }
    let left = open.iter().find_map(|((from, to), open)| Some((*from, *to, *open.all.first()?)));
    if let Some((from, to, send)) = left {
        let message = format!("rank {to} has no receive for this message");
        return Err(goal.ranks[&from].operations[send].word.error(message).into());
    }
    Ok(matched)
}

#[cfg(test)]
mod tests {
    use super::super::super::source;
    use super::*;

    fn matched(text: &str) -> Result<Vec<(usize, usize)>, String> {
        let source = source("a.goal", format!("num_ranks 2\n{text}"));
        let goal = Goal::parse(&source).unwrap();
        let matched = messages(&goal).map_err(|rejection| rejection.to_string())?;
        Ok(matched.into_iter().map(|((_, receive), (_, send))| (receive, send)).collect())
    }

    #[test]
    fn tags_choose_and_equal_ones_keep_their_order() {
        let text = "rank 0 { send 1b to 1 tag 5 send 1b to 1 send 1b to 1 tag 5 }
                    rank 1 { recv 1b from 0 recv 1b from 0 tag -1 recv 1b from 0 tag 5 }";
        assert_eq!(matched(text).unwrap(), [(0, 1), (1, 0), (2, 2)]);
    }

    #[test]
    fn what_nobody_receives_or_sends_is_refused() {
        assert_eq!(
            matched("rank 0 { send 1b to 1 }").unwrap_err(),
            "a.goal:2:10  rank 1 has no receive for this message"
        );
        assert_eq!(
            matched("rank 1 { recv 1b from 0 tag 3 }").unwrap_err(),
            "a.goal:2:10  rank 0 sends no message with tag 3 for this receive"
        );
    }
}
