//! The text: tokens, blocks of ranks, operations and what they wait for.

use std::collections::BTreeMap;
use std::sync::Arc;

use narrows::diagnostic::{Checked, Code, Diagnostic, Source};

use super::super::schedule::MOST_RANKS;
use super::super::words::{Word, truncated};

/// A schedule.
#[derive(Debug)]
pub struct Goal<'a> {
    /// Number of ranks.
    pub count: u32,
    /// Ranks that have a block.
    pub ranks: BTreeMap<u32, Rank<'a>>,
}

/// A rank.
#[derive(Debug, Default)]
pub struct Rank<'a> {
    /// In the order of the text.
    pub operations: Vec<Operation<'a>>,
    labels: BTreeMap<&'a str, usize>,
}

/// Something that a rank does.
#[derive(Debug)]
pub struct Operation<'a> {
    /// Its kind.
    pub what: What,
    /// Which processor does it.
    pub cpu: u32,
    /// Which network card.
    pub nic: u32,
    /// Operations that have ended before it begins.
    pub requires: Vec<usize>,
    /// Operations that have begun before it begins.
    pub irequires: Vec<usize>,
    pub(super) word: Word<'a>,
}

/// A kind of operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// Sends a message.
    Send {
        /// The receiver.
        to: u32,
        /// Its payload.
        bytes: u64,
        /// Its tag.
        tag: u32,
    },
    /// Receives a message.
    Receive {
        /// The sender.
        from: u32,
        /// Its tag; none stands for any.
        tag: Option<u32>,
    },
    /// Computes.
    Compute {
        /// For so long.
        ns: u64,
    },
}

/// Computations are no longer: 30 days, as runs.
const LONGEST_NS: u64 = 30 * 86_400 * 1_000_000_000;

impl<'a> Goal<'a> {
    /// Reads a text.
    ///
    /// # Errors
    /// If it is not what it should be, with the place.
    pub fn parse(source: &'a Arc<Source>) -> Checked<Self> {
        let mut tokens = Tokens { source, left: &source.text, ahead: None };
        tokens.expect("num_ranks")?;
        let count = tokens.next("the number of ranks")?.whole("number of ranks", 1, MOST_RANKS)?;
        let mut goal = Self { count, ranks: BTreeMap::new() };
        while tokens.peek()?.is_some() {
            tokens.expect("rank")?;
            let word = tokens.next("a rank")?;
            let number = word.whole("rank", 0, count - 1)?;
            let rank = goal.ranks.entry(number).or_default();
            tokens.expect("{")?;
            while !tokens.skip("}")? {
                rank.statement(&mut tokens, (number, count))?;
            }
        }
        for rank in goal.ranks.values() {
            rank.check_order()?;
        }
        Ok(goal)
    }

    /// All operations.
    pub fn operations(&self) -> impl Iterator<Item = &Operation<'a>> {
        self.ranks.values().flat_map(|rank| &rank.operations)
    }
}

impl<'a> Rank<'a> {
    fn statement(&mut self, tokens: &mut Tokens<'a>, of: (u32, u32)) -> Checked<()> {
        let first = tokens.next("an operation, a label or }")?;
        if tokens.skip(":")? {
            let named = first.text.starts_with(|c: char| c.is_ascii_alphabetic());
            if !named || !first.text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
                let message =
                    format!("the label \"{}\", expected a letter, then letters, digits and _", first.text);
                return Err(first.error(message).into());
            }
            if self.labels.insert(first.text, self.operations.len()).is_some() {
                let error = first.error(format!("two operations have the label \"{}\"", first.text));
                return Err(Diagnostic { code: Code::Duplicate, ..error }.into());
            }
            let word = tokens.next("send, recv or calc")?;
            return self.operation(word, tokens, of);
        }
        match first.text {
            "send" | "recv" | "calc" => self.operation(first, tokens, of),
            _ => self.dependency(first, tokens),
        }
    }

    fn dependency(&mut self, first: Word<'a>, tokens: &mut Tokens<'a>) -> Checked<()> {
        let how = tokens.next("requires or irequires")?;
        if !["requires", "irequires"].contains(&how.text) {
            let message = format!("found \"{}\", expected send, recv, calc, or a label", first.text);
            return Err(first.error(message).into());
        }
        let of = self.labeled(first)?;
        let before = self.labeled(tokens.next("a label")?)?;
        let operation = &mut self.operations[of];
        let list = if how.text == "requires" { &mut operation.requires } else { &mut operation.irequires };
        if !list.contains(&before) {
            list.push(before);
        }
        Ok(())
    }

    fn labeled(&self, word: Word<'a>) -> Checked<usize> {
        let found = self.labels.get(word.text).copied();
        Ok(found.ok_or_else(|| {
            let unknown = word.error(format!("no operation above has the label \"{}\"", word.text));
            Diagnostic { code: Code::UnknownName, ..unknown }
        })?)
    }

    fn operation(
        &mut self,
        word: Word<'a>,
        tokens: &mut Tokens<'a>,
        (rank, count): (u32, u32),
    ) -> Checked<()> {
        let what = match word.text {
            "calc" => What::Compute { ns: tokens.next("a time in ns")?.whole("time in ns", 0, LONGEST_NS)? },
            "send" | "recv" => {
                let size = tokens.next("a size such as 10b")?;
                let digits = size.text.strip_suffix('b').ok_or_else(|| {
                    size.error(format!("found \"{}\", expected a size such as 10b", size.text))
                })?;
                let bytes = size.part(digits).whole("size in bytes", 0, 1 << 60)?;
                let is_send = word.text == "send";
                tokens.expect(if is_send { "to" } else { "from" })?;
                let peer = tokens.next("a rank")?;
                if peer.text == "-1" && !is_send {
                    let message = "a receive from any rank: only a run says whose message is the first, expected a rank";
                    return Err(peer.error(message).into());
                }
                let number = peer.whole("rank", 0, count - 1)?;
                if number == rank {
                    return Err(peer.error(format!("a message of rank {rank} to itself")).into());
                }
                if is_send {
                    What::Send { to: number, bytes, tag: 0 }
                } else {
                    What::Receive { from: number, tag: Some(0) }
                }
            }
            other => {
                return Err(word.error(format!("found \"{other}\", expected send, recv or calc")).into());
            }
        };
        let mut operation =
            Operation { what, cpu: 0, nic: 0, requires: Vec::new(), irequires: Vec::new(), word };
        loop {
            if tokens.skip("tag")? {
                operation.tagged(tokens.next("a tag")?)?;
            } else if tokens.skip("cpu")? {
                operation.cpu = tokens.next("a processor")?.whole("processor", 0, u32::MAX)?;
            } else if tokens.skip("nic")? {
                operation.nic = tokens.next("a network card")?.whole("network card", 0, u32::MAX)?;
            } else {
                break;
            }
        }
        self.operations.push(operation);
        Ok(())
    }

    /// No operation waits for itself within the rank.
    fn check_order(&self) -> Checked<()> {
        let before =
            |of: &Operation<'a>| of.requires.iter().chain(&of.irequires).copied().collect::<Vec<_>>();
        let mut next = vec![Vec::new(); self.operations.len()];
        let mut missing = vec![0; self.operations.len()];
        for (place, operation) in self.operations.iter().enumerate() {
            for other in before(operation) {
                next[other].push(place);
                missing[place] += 1;
            }
        }
        let mut done: Vec<_> = (0..missing.len()).filter(|place| missing[*place] == 0).collect();
        while let Some(place) = done.pop() {
            for other in &next[place] {
                missing[*other] -= 1;
                if missing[*other] == 0 {
                    done.push(*other);
                }
            }
        }
        match missing.iter().position(|missing| *missing > 0) {
            Some(place) => {
                Err(self.operations[place].word.error("the operation waits for itself in the end").into())
            }
            None => Ok(()),
        }
    }
}

impl<'a> Operation<'a> {
    fn tagged(&mut self, word: Word<'a>) -> Checked<()> {
        match &mut self.what {
            What::Send { tag, .. } => *tag = word.whole("tag", 0, u32::MAX)?,
            What::Receive { tag, .. } if word.text == "-1" => *tag = None,
            What::Receive { tag, .. } => *tag = Some(word.whole("tag", 0, u32::MAX)?),
            What::Compute { .. } => return Err(word.error("a computation has no tag").into()),
        }
        Ok(())
    }
}

/// Words, braces and colons of a text, without blanks and comments.
struct Tokens<'a> {
    source: &'a Arc<Source>,
    left: &'a str,
    ahead: Option<Word<'a>>,
}

impl<'a> Tokens<'a> {
    fn peek(&mut self) -> Checked<Option<Word<'a>>> {
        if self.ahead.is_none() {
            self.skip_blanks()?;
            let first = self.left.chars().next();
            let is_sign = |c: char| matches!(c, '{' | '}' | ':');
            let ends = |c: char| c.is_whitespace() || is_sign(c) || c == '/';
            let end = match first {
                None => return Ok(None),
                Some(c) if is_sign(c) || c == '/' => c.len_utf8(),
                Some(_) => self.left.find(ends).unwrap_or(self.left.len()),
            };
            let (word, left) = self.left.split_at(end);
            self.left = left;
            self.ahead = Some(Word::of(self.source, word));
        }
        Ok(self.ahead)
    }

    fn skip_blanks(&mut self) -> Checked<()> {
        loop {
            self.left = self.left.trim_start();
            if let Some(rest) = self.left.strip_prefix("//") {
                self.left = rest.find('\n').map_or("", |end| &rest[end..]);
            } else if let Some(rest) = self.left.strip_prefix("/*") {
                let Some(end) = rest.find("*/") else {
                    return Err(Word::of(self.source, &self.left[..2])
                        .error("a comment that does not end")
                        .into());
                };
                self.left = &rest[end + 2..];
            } else {
                return Ok(());
            }
        }
    }

    /// The next word. `what` says what it should be.
    fn next(&mut self, what: &str) -> Checked<Word<'a>> {
        self.peek()?;
        match self.ahead.take() {
            Some(word) => Ok(word),
            None => Err(truncated(self.source, format!("the file ends here, expected {what}"))),
        }
    }

    /// Skips the next word if it is this one.
    fn skip(&mut self, text: &str) -> Checked<bool> {
        let is_it = self.peek()?.is_some_and(|word| word.text == text);
        if is_it {
            self.ahead = None;
        }
        Ok(is_it)
    }

    fn expect(&mut self, text: &str) -> Checked<()> {
        let word = self.next(text)?;
        if word.text != text {
            return Err(word.error(format!("found \"{}\", expected {text}", word.text)).into());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::source;
    use super::*;

    #[test]
    fn labels_comments_and_options_are_read() {
        let text = "num_ranks 2 // two\nrank 0 { a: send 10b to 1 tag 7 cpu 2\n l2 : calc 5 /* long */ l2 irequires a }\n\nrank 1 {recv 10b from 0 tag -1}";
        let source = source("a.goal", text);
        let goal = Goal::parse(&source).unwrap();
        let [send, calc] = &goal.ranks[&0].operations[..] else { panic!() };
        assert_eq!((send.what, send.cpu), (What::Send { to: 1, bytes: 10, tag: 7 }, 2));
        assert_eq!((calc.what, &calc.irequires[..]), (What::Compute { ns: 5 }, &[0][..]));
        assert_eq!(goal.ranks[&1].operations[0].what, What::Receive { from: 0, tag: None });
    }

    #[test]
    fn what_is_wrong_is_shown_where_it_is() {
        let error = |text: &str| Goal::parse(&source("a.goal", text)).unwrap_err().to_string();
        assert_eq!(error("num_ranks 0"), "a.goal:1:11  number of ranks is 0, expected 1 to 30000");
        assert_eq!(error("num_ranks 2\nrank 2 {}"), "a.goal:2:6  rank is 2, expected 0 to 1");
        let rank = |text: &str| error(&format!("num_ranks 2\nrank 0 {{\n{text}\n}}"));
        assert_eq!(rank("send 10 to 1"), "a.goal:3:6  found \"10\", expected a size such as 10b");
        assert_eq!(rank("send 10b to 0"), "a.goal:3:13  a message of rank 0 to itself");
        assert_eq!(rank("a: calc 1\na: calc 2"), "a.goal:4:1  two operations have the label \"a\"");
        assert_eq!(rank("a: calc 1\na requires b"), "a.goal:4:12  no operation above has the label \"b\"");
        assert_eq!(rank("jump 10b"), "a.goal:3:1  found \"jump\", expected send, recv, calc, or a label");
        assert_eq!(
            rank("a: calc 1\nb: calc 1\na requires b\nb irequires a"),
            "a.goal:3:4  the operation waits for itself in the end"
        );
        assert!(rank("recv 1b from -1").starts_with("a.goal:3:14  a receive from any rank"));
        assert_eq!(rank("/* no end"), "a.goal:3:1  a comment that does not end");
        assert_eq!(
            error("num_ranks 2\nrank 0 { calc"),
            "a.goal:2:14  the file ends here, expected a time in ns"
        );
    }
}
