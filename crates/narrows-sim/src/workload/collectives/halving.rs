//! Recursive halving, then doubling: with each step the partner is twice as far and the message half as large, then back.

use super::{Part, Shape, parts};

/// An all-reduce of `2^k` ranks: `k` steps with messages of `S/2`, `S/4` … `S/n` to rank `xor 2^i`, and the same back.
///
/// # Panics
/// If the number of ranks is no power of two.
pub fn halving_doubling(shape: &Shape) -> Vec<Part> {
    assert!(shape.ranks.is_power_of_two(), "{} ranks", shape.ranks);
    let halvings = shape.ranks.ilog2();
    let bits: Vec<_> = (0..halvings).chain((0..halvings).rev()).collect();
    parts(shape.ranks, |rank, part| {
        let mut received: Vec<Option<u32>> = vec![None; shape.chunks as usize];
        for (step, bit) in (0..).zip(&bits) {
            let (peer, size) = (rank ^ (1 << bit), shape.part(2 << bit));
            for before in &mut received {
                part.send(step, peer, size, before.as_slice());
                *before = Some(part.take(step, peer, shape.compute));
            }
        }
    })
}
