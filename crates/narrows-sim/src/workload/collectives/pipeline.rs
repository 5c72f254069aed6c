//! A pipeline: each rank is a stage. Micro-batches go forward stage by stage, their gradients back.

use super::{Part, Shape, parts};

/// One forward, one backward (1F1B): a stage begins with as many micro-batches as stages follow it, then takes turns between the gradients
/// of one and the activations of the next. Chunks are micro-batches; each is computed `shape.compute` long in each direction. With `m` of
/// them their steps forward are 0 to `m − 1`, and back from `m` on.
pub fn pipeline(shape: &Shape) -> Vec<Part> {
    let (stages, batches, size) = (shape.ranks, shape.chunks, shape.part(1));
    parts(stages, |stage, part| {
        let is_last = stage == stages - 1;
        let mut computed: Option<u32> = None;
        let mut turn = |is_forward: bool, batch: u32| {
            let step = if is_forward { batch } else { batches + batch };
            let (before, after) = if is_forward {
                (stage.checked_sub(1), (!is_last).then_some(stage + 1))
            } else {
                ((!is_last).then_some(stage + 1), stage.checked_sub(1))
            };
            let received = before.map(|from| part.receive(step, from, &[]));
            let waits: Vec<_> = computed.into_iter().chain(received).collect();
            let done = part.compute(step, shape.compute, &waits);
            computed = Some(done);
            if let Some(to) = after {
                part.send(step, to, size, &[done]);
            }
        };
        let ahead = (stages - 1 - stage).min(batches);
        (0..ahead).for_each(|batch| turn(true, batch));
        for batch in 0..batches {
            if batch + ahead < batches {
                turn(true, batch + ahead);
            }
            turn(false, batch);
        }
    })
}
