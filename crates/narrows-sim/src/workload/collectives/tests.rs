use super::*;

const SHAPE: Shape = Shape { ranks: 8, size: Bytes::new(64_000), chunks: 2, compute: Span::ZERO };

/// Every rank receives from another as many messages as that sends to it.
fn check(parts: &[Part]) {
    let count = |ranks: &[u32], of: &dyn Fn(u32) -> usize, peer: u32| {
        ranks.iter().position(|rank| *rank == peer).map_or(0, |number| of(number as u32))
    };
    for (a, sender) in (0..).zip(parts) {
        for (b, receiver) in (0..).zip(parts) {
            let sent = count(&sender.to, &|to| sender.tasks.sends(to).len(), b);
            let received = count(&receiver.from, &|from| receiver.tasks.receives(from).len(), a);
            assert_eq!(sent, received, "{a} to {b}");
        }
    }
}

fn sent(part: &Part) -> Vec<u64> {
    let size =
        |task: &Task| if let Action::Send { size, .. } = task.action { Some(size.get()) } else { None };
    part.tasks.iter().filter_map(size).collect()
}

#[test]
fn every_message_has_a_receiver() {
    for ranks in 2..10 {
        let shape = Shape { ranks, compute: Span::from_us(ranks.into()), ..SHAPE };
        for of in [Ring::AllReduce, Ring::ReduceScatter, Ring::AllGather] {
            check(&ring(of, &shape));
        }
        check(&all_to_all(&shape));
        check(&all_to_all_in_rounds(&shape));
        check(&tree_all_reduce(&shape));
        check(&pipeline(&shape));
        if ranks.is_power_of_two() {
            check(&halving_doubling(&shape));
        }
        for data_centers in (2..ranks).filter(|number| ranks % number == 0 && ranks > *number) {
            check(&hierarchical_all_reduce(&shape, data_centers));
        }
    }
}

#[test]
fn a_ring_sends_twice_all_but_its_own_part() {
    let parts = ring(Ring::AllReduce, &SHAPE);
    assert_eq!(sent(&parts[3]), [4_000; 2 * 2 * 7]);
    assert_eq!((messages(&parts), flows(&parts)), (8 * 28, 8 * 28));
    assert_eq!(ring(Ring::AllGather, &SHAPE).iter().map(|part| sent(part).len()).sum::<usize>(), 8 * 14);
}

#[test]
fn ranks_of_a_ring_share_their_tasks() {
    let parts = ring(Ring::AllReduce, &SHAPE);
    assert!(parts.iter().all(|part| Arc::ptr_eq(&part.tasks, &parts[0].tasks)));
}

#[test]
fn halving_halves_and_doubling_doubles() {
    let parts = halving_doubling(&Shape { chunks: 1, ..SHAPE });
    assert_eq!(sent(&parts[5]), [32_000, 16_000, 8_000, 8_000, 16_000, 32_000]);
    assert_eq!(parts[5].to, [4, 7, 1]);
}

#[test]
fn inner_ranks_of_a_tree_send_once_up_and_twice_down() {
    let parts = tree_all_reduce(&Shape { ranks: 7, chunks: 1, ..SHAPE });
    assert_eq!([0, 1, 3].map(|rank| parts[rank].to.clone()), [vec![1, 2], vec![0, 3, 4], vec![1]]);
    let steps: Vec<_> = parts[1].tasks.iter().map(|task| task.step).collect();
    assert_eq!(steps, [0, 0, 1, 2, 3, 3]);
}

#[test]
fn a_stage_of_a_pipeline_begins_with_as_many_batches_as_stages_follow() {
    let parts = pipeline(&Shape { ranks: 4, chunks: 8, compute: Span::from_us(1), ..SHAPE });
    let computed = |part: &Part| {
        let steps = part.tasks.iter().filter(|task| matches!(task.action, Action::Compute(_)));
        steps.map(|task| task.step).collect::<Vec<_>>()
    };
    assert_eq!(computed(&parts[3])[..4], [0, 8, 1, 9]);
    assert_eq!(computed(&parts[1])[..6], [0, 1, 2, 8, 3, 9]);
    assert_eq!(sent(&parts[0]), [8_000; 8]);
}

#[test]
fn a_message_per_lane_up_to_a_limit() {
    let shape = Shape { ranks: 100, ..SHAPE };
    assert_eq!(flows(&ring(Ring::AllReduce, &shape)), 100 * u64::from(MOST_LANES));
}
