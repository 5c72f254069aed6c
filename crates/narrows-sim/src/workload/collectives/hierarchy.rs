//! An all-reduce across data centers: a ring within each, an exchange between them, a ring within each.

use super::{Part, Shape, parts};

/// Ranks are numbered data center by data center, as many in each. Within one, a ring sums up; then rank `i` of each sends its `S/n` to
/// rank `i` of each other; then a ring makes the sums known. `n` is the number of ranks of a data center.
pub fn hierarchical_all_reduce(shape: &Shape, data_centers: u32) -> Vec<Part> {
    let n = shape.ranks / data_centers;
    let size = shape.part(n);
    parts(shape.ranks, |rank, part| {
        let (data_center, place) = (rank / n, rank % n);
        let at = |place: u32| data_center * n + place % n;
        let (left, right) = (at(place + n - 1), at(place + 1));
        let mut received: Vec<Vec<u32>> = vec![Vec::new(); shape.chunks as usize];
        let round = |part: &mut super::PartBuilder, step: u32, received: &mut Vec<Vec<u32>>| {
            for before in received {
                part.send(step, right, size, before);
                *before = vec![part.take(step, left, shape.compute)];
            }
        };
        for step in 0..n - 1 {
            round(part, step, &mut received);
        }
        for before in &mut received {
            let others = |distance: u32| (data_center + distance) % data_centers * n + place;
            let waits = std::mem::take(before);
            for distance in 1..data_centers {
                part.send(n - 1, others(distance), size, &waits);
                before.push(part.take(n - 1, others(data_centers - distance), shape.compute));
            }
        }
        for step in n..2 * n - 1 {
            round(part, step, &mut received);
        }
    })
}
