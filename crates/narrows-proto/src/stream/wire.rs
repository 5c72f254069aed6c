//! Packets that sender and receiver send each other.

use std::ops::Range;

use super::accurate_ecn::CeCount;

/// A segment on its way from sender to receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// First byte.
    pub seq: u64,
    /// Payload in bytes.
    pub len: u32,
    /// Opens the connection; carries no data.
    pub syn: bool,
    /// Its last byte is the last of the flow.
    pub fin: bool,
    /// The sender has reduced its window (RFC 3168 §6.1.2).
    pub cwr: bool,
    /// Has been sent before.
    pub retransmission: bool,
    /// The next one belongs to the same burst, and leaves back to back with it.
    pub goes_on: bool,
    /// It ends a burst of several (PSH).
    pub pushed: bool,
    /// The spin bit of the acknowledgment that the sender has received last.
    pub spin: bool,
    /// The receiver is to acknowledge it at once (RDMA only).
    pub requests_ack: bool,
    /// It says that it cannot be marked, though its connection uses ECN.
    pub not_ect: bool,
    /// A switch has marked it. Set on arrival.
    pub ce: bool,
    /// Its codepoint has been changed on the way, not to a mark. Set on arrival, with [`Ecn::Counted`](crate::cc::Ecn::Counted).
    pub mangled: bool,
    /// Switches hash it to choose a path (RDMA only).
    pub entropy: u16,
    /// So many others were merged into it behind it. Set by receive offload.
    pub merged: u32,
}

impl Segment {
    /// Its bytes.
    pub fn range(&self) -> Range<u64> {
        self.seq..self.seq + u64::from(self.len)
    }
}

/// An acknowledgment on its way from receiver to sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AckFrame {
    /// Everything below has arrived.
    pub ack: u64,
    /// Answers a SYN.
    pub syn: bool,
    /// Echoes congestion marks.
    pub ece: bool,
    /// Room for data beyond `ack`, in the [unit](super::ReceiveBuffer::unit) of the receive buffer; zero if it is not announced.
    pub window: u16,
    /// The receiver turns it over when the sender has returned it, and so measures round trips (like QUIC's, RFC 9000 §17.4). It stands
    /// for the timestamps of RFC 7323.
    pub spin: bool,
    /// Packets that arrived marked; with [`Ecn::Counted`](crate::cc::Ecn::Counted).
    pub ce: CeCount,
    /// The codepoint of packets arrived changed: the other counters of the option show it.
    pub mangled: bool,
    /// It answers a segment that had been sent before. The echoed timestamp shows it (RFC 7323 §4.3): it is that of the segment that
    /// was the first at the edge since the last acknowledgment.
    pub again: bool,
    /// Ranges that arrived beyond `ack`.
    pub sacks: SackBlocks,
}

/// Selective acknowledgments, most recent first (RFC 2018 §4); the first may report a duplicate (RFC 2883).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlocks {
    blocks: [(u64, u64); Self::MAX],
    len: u8,
}

impl AckFrame {
    /// Size of its TCP options in bytes, besides the time stamps.
    pub fn option_size(&self) -> u64 {
        self.ce.options(self.sacks.option_size())
    }
}

impl SackBlocks {
    /// As many as fit beside the timestamp option (RFC 2018 §3).
    pub const MAX: usize = 3;

    /// Adds a block unless the option is full or has it.
    pub fn push(&mut self, block: Range<u64>) {
        let block = (block.start, block.end);
        if self.len() < Self::MAX && !self.blocks[..self.len()].contains(&block) {
            self.blocks[self.len()] = block;
            self.len += 1;
        }
    }

    /// Number of blocks.
    pub fn len(&self) -> usize {
        self.len.into()
    }

    /// There are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The blocks, most recent first.
    pub fn iter(&self) -> impl Iterator<Item = Range<u64>> {
        self.blocks[..self.len()].iter().map(|&(start, end)| start..end)
    }

    /// The blocks after the first `skip`, in the order of sequence.
    pub fn ascending(&self, skip: usize) -> impl Iterator<Item = Range<u64>> {
        let mut blocks = self.blocks;
        let len = self.len();
        blocks[skip..len].sort_unstable();
        blocks.into_iter().take(len).skip(skip).map(|(start, end)| start..end)
    }

    /// Reports a duplicate, as the first block; `around` is the block it lies in, if it is not acknowledged (RFC 2883 §4).
    pub fn push_duplicate(&mut self, duplicate: Range<u64>, around: Option<Range<u64>>) {
        for block in [Some(duplicate), around].into_iter().flatten() {
            self.blocks[self.len()] = (block.start, block.end);
            self.len += 1;
        }
    }

    /// The block that reports a duplicate: below `ack`, or inside the second block (RFC 2883 §4).
    pub fn duplicate(&self, ack: u64) -> Option<Range<u64>> {
        let mut blocks = self.iter();
        let first = blocks.next()?;
        let inside =
            blocks.next().is_some_and(|second| second.start <= first.start && first.end <= second.end);
        (first.end <= ack || inside).then_some(first)
    }

    /// Size of the TCP option in bytes, padded to words.
    pub fn option_size(&self) -> u64 {
        if self.is_empty() { 0 } else { 4 + 8 * u64::from(self.len) }
    }
}
