//! Rings: each rank sends to its right neighbor what it received from its left one, a step before.

use super::{Part, Shape, parts};

/// Collectives that are rings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ring {
    /// Each part once around to be summed up, and once to be known to all.
    AllReduce,
    /// Once, to be summed up.
    ReduceScatter,
    /// Once, to be known to all.
    AllGather,
}

/// A ring of `shape`: `n − 1` steps with messages of `S/n`, twice as many for [`Ring::AllReduce`].
pub fn ring(of: Ring, shape: &Shape) -> Vec<Part> {
    let n = shape.ranks;
    let steps = if of == Ring::AllReduce { 2 * (n - 1) } else { n - 1 };
    let size = shape.part(n);
    parts(n, |rank, part| {
        let (left, right) = ((rank + n - 1) % n, (rank + 1) % n);
        let mut received: Vec<Option<u32>> = vec![None; shape.chunks as usize];
        for step in 0..steps {
            for before in &mut received {
                part.send(step, right, size, before.as_slice());
                *before = Some(part.take(step, left, shape.compute));
            }
        }
    })
}
