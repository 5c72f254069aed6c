//! All-to-all: each rank has a part for each other one.

use super::{Part, Shape, parts};

/// Each rank sends `S/n` to each other one, all at once. Those next to it come first.
pub fn all_to_all(shape: &Shape) -> Vec<Part> {
    let n = shape.ranks;
    parts(n, |rank, part| {
        for distance in 1..n {
            for _ in 0..shape.chunks {
                part.send(distance - 1, (rank + distance) % n, shape.part(n), &[]);
                part.take(distance - 1, (rank + n - distance) % n, shape.compute);
            }
        }
    })
}

/// The same in `n − 1` rounds: the next begins when a rank has received the part of this one.
pub fn all_to_all_in_rounds(shape: &Shape) -> Vec<Part> {
    let n = shape.ranks;
    parts(n, |rank, part| {
        let mut received: Vec<Option<u32>> = vec![None; shape.chunks as usize];
        for distance in 1..n {
            for before in &mut received {
                part.send(distance - 1, (rank + distance) % n, shape.part(n), before.as_slice());
                *before = Some(part.take(distance - 1, (rank + n - distance) % n, shape.compute));
            }
        }
    })
}
