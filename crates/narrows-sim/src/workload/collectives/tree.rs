//! A binary tree: sums go up to the root, the result comes down. Rank 0 is the root; the children of rank `r` are `2r + 1` and `2r + 2`.

use super::{Part, Shape, parts};

/// An all-reduce over the tree, chunk by chunk.
pub fn tree_all_reduce(shape: &Shape) -> Vec<Part> {
    let n = shape.ranks;
    let level = |rank: u32| (rank + 1).ilog2();
    let levels = level(n - 1);
    let size = shape.part(1);
    parts(n, |rank, part| {
        let children: Vec<_> = [2 * rank + 1, 2 * rank + 2].into_iter().filter(|child| *child < n).collect();
        let parent = (rank > 0).then(|| (rank - 1) / 2);
        for _ in 0..shape.chunks {
            let up = levels - level(rank);
            let sums = children.iter().map(|child| part.take(up.saturating_sub(1), *child, shape.compute));
            let sums: Vec<_> = sums.collect();
            let (down, whole) = (
                levels + level(rank),
                match parent {
                    None => sums,
                    Some(parent) => {
                        part.send(up, parent, size, &sums);
                        vec![part.receive(levels + level(rank) - 1, parent, &[])]
                    }
                },
            );
            for child in &children {
                part.send(down, *child, size, &whole);
            }
        }
    })
}
