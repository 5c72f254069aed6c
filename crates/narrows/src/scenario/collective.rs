use std::path::PathBuf;

use narrows_proto::units::{Bytes, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Names;

/// A collective: what ranks exchange in a step of distributed training. Each rank is a host. It sends the next message when it has what
/// that depends on, as messages of one connection for each rank it sends to, and begins the next iteration when it has received
/// everything and knows that everything it sent has arrived. Parts of the vector are rounded up to whole bytes.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Collective {
    /// Which one.
    pub kind: CollectiveKind,
    /// Hosts that are ranks, in the order of their ranks: names count in the order in which they are written, what `*` stands for in the
    /// order of the network. All hosts if left out.
    pub ranks: Option<Names>,
    /// Bytes of the whole vector: of an all-reduce that of each rank, of an all-gather what each has in the end, of a reduce-scatter what
    /// each begins with, of an all-to-all what each sends and its own part; of a pipeline the activations that one stage sends to the next.
    pub size: Bytes,
    /// Chunks of the vector that are passed on one by one; of a pipeline micro-batches.
    #[serde(default = "one")]
    pub chunks: u32,
    /// Time that each rank computes before each iteration.
    #[serde(default)]
    pub compute: Span,
    /// Time that a rank computes with each message before it passes it on; of a pipeline that of a micro-batch in each direction.
    #[serde(default)]
    pub step_compute: Span,
    /// Iterations, one after the other: all of them, as the bytes of a flow that has begun.
    #[serde(default = "one")]
    pub iterations: u32,
}

/// Ranks that compute, send and receive as a CSV file says, with the columns rank,id,does,peer,amount,after: a row for each task of a rank.
/// `does` is send (`amount` bytes to rank `peer`), receive (from rank `peer`) or compute (for the time `amount`). A task begins when the
/// tasks of its rank whose ids stand in `after`, separated by blanks, have ended: a send when the sender knows that everything has
/// arrived, a receive when everything has. Without `after` it begins at once. The first receive of a rank from another belongs to the
/// first send of that to this one, and so on.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Schedule {
    /// The file, relative to the scenario.
    pub file: PathBuf,
    /// Hosts that are ranks, in order, as of a collective. All hosts if left out.
    pub ranks: Option<Names>,
    /// Time that each rank computes before each iteration.
    #[serde(default)]
    pub compute: Span,
    /// Iterations of the whole file, one after the other: all of them.
    #[serde(default = "one")]
    pub iterations: u32,
}

fn one() -> u32 {
    1
}

/// Kinds of collectives, of `n` ranks and `S` bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CollectiveKind {
    /// 2(n − 1) messages of S/n to the next rank.
    RingAllReduce,
    /// n − 1 messages of S/n to the next rank.
    RingReduceScatter,
    /// n − 1 messages of S/n to the next rank.
    RingAllGather,
    /// S up a binary tree and down again, chunk by chunk. Rank 0 is the root; the children of rank r are 2r + 1 and 2r + 2.
    TreeAllReduce,
    /// S/2, S/4 … S/n to ranks 1, 2, 4 … away, and the same back. The number of ranks is a power of two.
    HalvingDoublingAllReduce,
    /// A ring reduce-scatter in each data center, an exchange of the sums between ranks of the same place in their data center, a ring
    /// all-gather in each data center. Each data center has as many ranks.
    HierarchicalAllReduce,
    /// S/n to every other rank, all at once.
    AllToAll,
    /// S/n to every other rank, one after the other: the next when what comes from the rank at the same distance has been received.
    AllToAllInRounds,
    /// Each rank is a stage: micro-batches go to the next one, gradients of the same size to the one before (1F1B).
    Pipeline,
}

impl CollectiveKind {
    /// Bus bandwidth as a multiple of algorithm bandwidth (size divided by time), as NCCL's tests define it: what links carry.
    pub fn bus_factor(self, ranks: u64) -> f64 {
        let others = (ranks - 1) as f64 / ranks as f64;
        match self {
            Self::RingAllReduce
            | Self::TreeAllReduce
            | Self::HalvingDoublingAllReduce
            | Self::HierarchicalAllReduce => 2.0 * others,
            Self::RingReduceScatter | Self::RingAllGather | Self::AllToAll | Self::AllToAllInRounds => others,
            Self::Pipeline => 1.0,
        }
    }
}
