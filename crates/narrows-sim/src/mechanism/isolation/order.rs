//! Order tokens: what keeps the packets of a flow in order while the flow moves from one queue of a port to another.
//!
//! A token is an element without length in a queue (Gonzalez-Naharro et al., NEAT 2019, "CFQ deallocation & in-order
//! delivery", where it is called a marking). They come in pairs, one in each queue, and a pair goes when both are at the head. A queue whose head is a
//! token waits for the other, with one exception: where flows move to the congested queue, nobody in the normal queue
//! has to wait.
//!
//! The slides insert a pair when the congested queue is allocated or freed. That keeps in order the flow it was allocated for,
//! and all that move back. Packets of a flow that is named later overtake those of it that wait in the normal queue.
//!
//! Differs from the slides: a pair is inserted for each flow that moves, unless `order = "per_queue"`. Several may be under way.

use super::Order;
use crate::ring::Ring;

impl Order {
    /// Whether a flow that joins the congested queue, maybe as the first, needs a pair.
    pub(super) fn needs_pair(self, first: bool) -> bool {
        first || self == Self::PerFlow
    }
}

/// One of the two queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Normal,
    Congested,
}

/// The tokens in the two queues of a port.
///
/// A token is kept as a count: it is at the head when as many packets have left the queue as had joined before it.
#[derive(Clone, Debug, Default)]
pub(super) struct OrderTokens {
    joined: [u64; 2],
    left: [u64; 2],
    /// Pairs under way, oldest first.
    pairs: Ring<Pair>,
    /// The first of them stands for the allocation of the congested queue.
    opening: bool,
    /// The last of them moves all flows back.
    closing: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Pair {
    at: [u64; 2],
    closes: bool,
}

impl OrderTokens {
    /// A packet joined a queue.
    #[inline]
    pub(super) fn join(&mut self, side: Side) {
        self.joined[side as usize] += 1;
    }

    /// A packet left a queue. Returns whether all flows are back in the normal queue.
    #[inline]
    pub(super) fn leave(&mut self, side: Side) -> bool {
        self.left[side as usize] += 1;
        !self.pairs.is_empty() && self.meet()
    }

    /// From now on packets of another flow join the congested queue, which may be the first there.
    pub(super) fn open(&mut self, first: bool) {
        debug_assert!(!self.closing);
        self.opening |= first;
        self.pairs.push(Pair { at: self.joined, closes: false });
        self.meet();
    }

    /// From now on all packets join the normal queue. Returns whether that takes effect at once.
    pub(super) fn close(&mut self) -> bool {
        debug_assert!(!self.closing);
        self.closing = true;
        self.pairs.push(Pair { at: self.joined, closes: true });
        self.meet()
    }

    /// Flows are moving back; none may move to the congested queue.
    pub(super) fn is_closing(&self) -> bool {
        self.closing
    }

    /// The pair under way was inserted when the congested queue was allocated, or when it was to go.
    pub(super) fn is_of_queue(&self) -> bool {
        self.opening || self.closing
    }

    /// A pair is under way.
    pub(super) fn is_active(&self) -> bool {
        !self.pairs.is_empty()
    }

    /// The head of a queue is a token that waits for the other.
    #[inline]
    pub(super) fn blocks(&self, side: Side) -> bool {
        let at_head = |pair: &Pair| self.left[side as usize] == pair.at[side as usize];
        match side {
            Side::Congested => self.pairs.front().is_some_and(at_head),
            // Only the last pair can close.
            Side::Normal => self.closing && self.pairs.last().is_some_and(at_head),
        }
    }

    /// Takes pairs off that have met. Returns whether the last of them moved all flows back.
    fn meet(&mut self) -> bool {
        while let Some(pair) = self.pairs.front() {
            // Nobody waits at a token in the normal queue unless it closes, so packets behind it may have left.
            if self.left[0] < pair.at[0] || self.left[1] < pair.at[1] {
                return false;
            }
            self.opening = false;
            if self.pairs.take().closes {
                self.closing = false;
                return true;
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;

    /// Two queues with tokens, and what left them.
    #[derive(Clone, Default)]
    struct Model {
        order: Order,
        tokens: OrderTokens,
        queues: [VecDeque<(usize, u32)>; 2],
        isolated: [bool; FLOWS],
        sent: [u32; FLOWS],
        received: [u32; FLOWS],
        /// Flows that joined the congested queue after another.
        late: [bool; FLOWS],
        overtaken: [bool; FLOWS],
    }

    const FLOWS: usize = 2;

    #[derive(Clone, Copy, Debug)]
    enum Step {
        Arrive(usize),
        Isolate(usize),
        Serve(Side),
        Close,
    }

    const STEPS: [Step; 7] = [
        Step::Arrive(0),
        Step::Arrive(1),
        Step::Isolate(0),
        Step::Isolate(1),
        Step::Serve(Side::Normal),
        Step::Serve(Side::Congested),
        Step::Close,
    ];

    impl Model {
        /// Does a step if it is possible now.
        fn step(&mut self, step: Step) -> bool {
            match step {
                Step::Arrive(flow) => {
                    let side = if self.isolated[flow] { Side::Congested } else { Side::Normal };
                    self.tokens.join(side);
                    self.queues[side as usize].push_back((flow, self.sent[flow]));
                    self.sent[flow] += 1;
                }
                Step::Isolate(flow) if !self.isolated[flow] && !self.tokens.is_closing() => {
                    let first = !self.isolated.contains(&true);
                    if self.order.needs_pair(first) {
                        self.tokens.open(first);
                    }
                    self.isolated[flow] = true;
                    self.late[flow] |= !first;
                }
                Step::Close if self.isolated.contains(&true) => {
                    self.tokens.close();
                    self.isolated = [false; FLOWS];
                }
                Step::Serve(side) if !self.tokens.blocks(side) => {
                    let Some((flow, number)) = self.queues[side as usize].pop_front() else { return false };
                    self.tokens.leave(side);
                    self.overtaken[flow] |= self.received[flow] != number;
                    self.received[flow] += 1;
                }
                _ => return false,
            }
            true
        }

        /// Serves both queues until nothing is left. Returns the flows whose packets did not leave in order.
        fn drain(mut self) -> [bool; FLOWS] {
            while self.step(Step::Serve(Side::Congested)) || self.step(Step::Serve(Side::Normal)) {}
            assert_eq!(self.received, self.sent, "nothing waits for ever");
            assert!(!self.tokens.is_active() && !self.tokens.is_of_queue(), "an empty port has no tokens");
            self.overtaken
        }
    }

    /// Sequences of steps: all, and those in which packets of a flow overtake each other, which has to be late for that.
    #[derive(Debug, Default)]
    struct Sequences {
        all: u64,
        overtaking: u64,
    }

    impl Sequences {
        fn of(order: Order, steps: u32) -> Self {
            let mut sequences = Self::default();
            sequences.explore(&Model { order, ..Model::default() }, steps);
            sequences
        }

        fn explore(&mut self, model: &Model, depth: u32) {
            let overtaken = model.clone().drain();
            self.all += 1;
            self.overtaking += u64::from(overtaken.contains(&true));
            for (overtaken, late) in overtaken.into_iter().zip(model.late) {
                assert!(late || !overtaken, "the flow that a queue was allocated for stays in order");
            }
            for step in STEPS.iter().filter(|_| depth > 0) {
                let mut next = model.clone();
                if next.step(*step) {
                    self.explore(&next, depth - 1);
                }
            }
        }
    }

    #[test]
    fn every_sequence_of_eight_steps_keeps_flows_in_order_and_blocks_nobody_for_ever() {
        let sequences = Sequences::of(Order::PerFlow, 8);
        assert!(sequences.all > 100_000 && sequences.overtaking == 0, "{sequences:?}");
    }

    #[test]
    fn with_pairs_for_the_queue_alone_only_flows_that_are_named_later_overtake_themselves() {
        let sequences = Sequences::of(Order::PerQueue, 8);
        assert!(sequences.overtaking > 0 && sequences.overtaking < sequences.all / 10, "{sequences:?}");
    }

    #[test]
    fn a_flow_named_later_overtakes_itself_with_pairs_for_the_queue_alone() {
        let overtakes = |order| {
            let mut model = Model { order, ..Model::default() };
            // The queue is flow 0's. One packet of flow 1 waits in the normal queue, the next in the congested one.
            for step in [Step::Isolate(0), Step::Arrive(1), Step::Isolate(1), Step::Arrive(1)] {
                assert!(model.step(step));
            }
            let serves = model.step(Step::Serve(Side::Congested));
            (serves, model.drain()[1])
        };
        assert_eq!(overtakes(Order::PerQueue), (true, true));
        assert_eq!(overtakes(Order::PerFlow), (false, false));
    }

    proptest::proptest! {
        #[test]
        fn long_sequences_keep_flows_in_order(steps in proptest::collection::vec(0..STEPS.len(), 0..400)) {
            let mut model = Model::default();
            for step in steps {
                model.step(STEPS[step]);
            }
            assert_eq!(model.drain(), [false; FLOWS]);
        }
    }

    #[test]
    fn pairs_of_the_queue_are_the_first_and_the_last() {
        let mut tokens = OrderTokens::default();
        tokens.join(Side::Normal);
        tokens.open(true);
        tokens.join(Side::Normal);
        tokens.open(false);
        assert!(tokens.is_of_queue());
        tokens.leave(Side::Normal);
        assert!(tokens.is_active() && !tokens.is_of_queue(), "that of a later flow");
        tokens.leave(Side::Normal);
        tokens.join(Side::Congested);
        tokens.close();
        assert!(tokens.is_active() && tokens.is_of_queue());
    }

    #[test]
    fn the_normal_queue_does_not_wait_where_a_flow_leaves_it() {
        let mut tokens = OrderTokens::default();
        tokens.join(Side::Normal);
        tokens.open(true);
        assert!(!tokens.blocks(Side::Normal));
        assert!(tokens.blocks(Side::Congested), "an older packet may be in the normal queue");
        tokens.leave(Side::Normal);
        assert!(!tokens.blocks(Side::Congested));
    }

    #[test]
    fn the_normal_queue_waits_where_flows_come_back() {
        let mut tokens = OrderTokens::default();
        tokens.open(true);
        tokens.join(Side::Congested);
        assert!(!tokens.close());
        assert!(tokens.blocks(Side::Normal) && !tokens.blocks(Side::Congested));
        assert!(tokens.leave(Side::Congested), "all flows are back");
        assert!(!tokens.blocks(Side::Normal));
    }
}
