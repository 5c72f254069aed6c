//! The schemes by value, and rules that hold for all.

use proptest::prelude::*;

use super::*;
use crate::cc::Ranges;

const START: Time = Time::ZERO;

fn oblivious(values: u32) -> Paths {
    Paths::Oblivious(Oblivious { values })
}

fn bitmap(values: u32) -> Paths {
    Paths::Bitmap(Bitmap { values, ..Bitmap::default() })
}

fn reps(values: u32, cache: u32) -> Paths {
    Paths::Reps(Reps { values, cache, ..Reps::default() })
}

/// Every scheme with so many values.
fn all(values: u32) -> [Paths; 5] {
    let bitmap_of = Bitmap { values, ..Bitmap::default() };
    [
        oblivious(values),
        bitmap(values),
        reps(values, 8),
        Paths::RepsLegacy(RepsLegacy { values, ..RepsLegacy::default() }),
        Paths::Mixed(Mixed { bitmap: bitmap_of, ..Mixed::default() }),
    ]
}

fn take(choice: &mut PathChoice, count: usize) -> Vec<u16> {
    (0..count).map(|_| choice.next(START)).collect()
}

fn good(choice: &mut PathChoice, values: &[u16]) {
    values.iter().for_each(|value| choice.feedback(START, *value, Outcome::Good));
}

fn sorted(mut values: Vec<u16>) -> Vec<u16> {
    values.sort_unstable();
    values
}

/// Number of times that each value comes in so many packets, by its lower bits.
fn counts(choice: &mut PathChoice, values: usize, packets: usize) -> Vec<usize> {
    let mut counts = vec![0; values];
    (0..packets).for_each(|_| counts[usize::from(choice.next(START)) & (values - 1)] += 1);
    counts
}

#[test]
fn a_round_has_every_value_once_and_the_next_another_order() {
    let mut choice = PathChoice::new(&oblivious(64), 5);
    let rounds: Vec<Vec<u16>> = (0..3).map(|_| take(&mut choice, 64)).collect();
    let upper = rounds[0][0] & !63;
    let every: Vec<u16> = (0..64).map(|value| upper | value).collect();
    for round in &rounds {
        assert_eq!(sorted(round.clone()), every);
    }
    assert!(rounds[0] != rounds[1] && rounds[1] != rounds[2]);
}

#[test]
fn one_value_and_all_values_are_possible() {
    let mut one = PathChoice::new(&oblivious(1), 5);
    let first = one.next(START);
    assert!(take(&mut one, 10).iter().all(|value| *value == first));
    let mut most = PathChoice::new(&oblivious(65_536), 5);
    assert_eq!(sorted(take(&mut most, 65_536)), (0..=u16::MAX).collect::<Vec<_>>());
}

#[test]
fn feedback_does_not_change_oblivious_choices() {
    let [mut with, mut without] = [1, 1].map(|seed| PathChoice::new(&oblivious(16), seed));
    for _ in 0..100 {
        let value = with.next(START);
        assert_eq!(value, without.next(START));
        with.feedback(START, value, Outcome::Timeout);
    }
}

#[test]
fn in_100_000_packets_values_come_equally_often() {
    for values in [2, 8, 64] {
        for paths in [oblivious(values as u32), bitmap(values as u32)] {
            let counts = counts(&mut PathChoice::new(&paths, 3), values, 100_000);
            let (least, most) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
            assert!(most - least <= 1, "{counts:?}");
        }
    }
    // Random values: 1562.5 each, five standard deviations are 5·√1562.5 = 198.
    let counts = counts(&mut PathChoice::new(&reps(64, 8), 3), 64, 100_000);
    assert!(counts.iter().all(|count| count.abs_diff(1_562) < 198), "{counts:?}");
}

/// A round of four values, as the bitmap chooses them without feedback: where the place of each is known.
fn round_of_four() -> (PathChoice, Vec<u16>) {
    let mut choice = PathChoice::new(&bitmap(4), 9);
    let order = take(&mut choice.clone(), 4);
    choice.feedback(START, order[0], Outcome::Good);
    (choice, order)
}

#[test]
fn a_marked_value_is_skipped_once() {
    let (mut choice, order) = round_of_four();
    choice.feedback(START, order[1], Outcome::Marked);
    assert_eq!(take(&mut choice, 3), [order[0], order[2], order[3]]);
    assert_eq!(sorted(take(&mut choice, 4)), sorted(order));
}

#[test]
fn a_trimmed_packet_costs_four_skips_and_a_timeout_fifteen() {
    for (outcome, skips) in [(Outcome::Marked, 1), (Outcome::Trimmed, 4), (Outcome::Timeout, 15)] {
        let (mut choice, order) = round_of_four();
        choice.feedback(START, order[1], outcome);
        // Three of each round are chosen while the fourth is skipped.
        let skipped = take(&mut choice, 3 * skips);
        assert!(!skipped.contains(&order[1]), "{outcome:?}");
        assert!(take(&mut choice, 4).contains(&order[1]), "{outcome:?}");
    }
}

#[test]
fn penalties_have_a_bound() {
    let (mut choice, order) = round_of_four();
    (0..10).for_each(|_| choice.feedback(START, order[1], Outcome::Timeout));
    assert!(!take(&mut choice, 3 * 15).contains(&order[1]));
    assert!(take(&mut choice, 4).contains(&order[1]));
}

#[test]
fn a_choice_takes_a_penalty_from_the_first_value_alone_that_it_skips() {
    let (mut choice, order) = round_of_four();
    choice.feedback(START, order[0], Outcome::Marked);
    choice.feedback(START, order[1], Outcome::Marked);
    assert_eq!(take(&mut choice, 2), [order[2], order[3]]);
    // order[1] still has its penalty.
    assert_eq!(sorted(take(&mut choice, 3)), sorted(vec![order[0], order[2], order[3]]));
}

#[test]
fn a_choice_skips_as_many_values_as_have_a_penalty() {
    let (mut choice, order) = round_of_four();
    order[..3].iter().for_each(|value| choice.feedback(START, *value, Outcome::Trimmed));
    assert_eq!(choice.next(START), order[3]);
}

#[test]
fn where_every_value_has_a_penalty_one_is_chosen_all_the_same() {
    let (mut choice, order) = round_of_four();
    order.iter().for_each(|value| choice.feedback(START, *value, Outcome::Timeout));
    assert!(order.contains(&choice.next(START)));
}

#[test]
fn what_is_trimmed_at_the_last_hop_counts_as_arrived() {
    let (mut choice, order) = round_of_four();
    choice.feedback(START, order[0], Outcome::TrimmedAtLastHop { marked: false });
    choice.feedback(START, order[1], Outcome::TrimmedAtLastHop { marked: true });
    assert_eq!(take(&mut choice, 3), [order[0], order[2], order[3]]);
    let mut choice = PathChoice::new(&reps(64, 8), 1);
    choice.feedback(START, 5, Outcome::TrimmedAtLastHop { marked: true });
    choice.feedback(START, 7, Outcome::TrimmedAtLastHop { marked: false });
    assert_eq!(choice.next(START), 7);
}

/// Values of 65 536, which random choices would hardly hit.
fn recycling() -> PathChoice {
    PathChoice::new(&reps(65_536, 4), 1)
}

fn random_after(choice: &PathChoice, count: usize) -> Vec<u16> {
    let mut random = choice.random.clone();
    (0..count).map(|_| random.bits() as u16).collect()
}

#[test]
fn good_values_are_used_once_oldest_first_and_random_ones_after_that() {
    let mut choice = recycling();
    good(&mut choice, &[10, 0, 30]);
    choice.feedback(START, 40, Outcome::Marked);
    choice.feedback(START, 50, Outcome::Trimmed);
    let random = random_after(&choice, 2);
    assert_eq!(take(&mut choice, 5), [10, 0, 30, random[0], random[1]]);
}

#[test]
fn the_newest_good_value_takes_the_place_of_the_oldest() {
    let mut choice = recycling();
    good(&mut choice, &[1, 2, 3, 4, 5]);
    assert_eq!(take(&mut choice, 2), [2, 3]);
    good(&mut choice, &[6]);
    assert_eq!(take(&mut choice, 3), [4, 5, 6]);
}

#[test]
fn a_timeout_freezes_the_ring_for_a_time_and_then_explores() {
    let mut choice = recycling();
    good(&mut choice, &[1, 2, 3]);
    assert_eq!(choice.next(START), 1);
    choice.feedback(START, 9, Outcome::Timeout);
    // Used ones as well, again and again.
    assert_eq!(take(&mut choice, 7), [1, 2, 3, 1, 2, 3, 1]);
    // A good one becomes a part of it, and another timeout does not freeze for longer.
    choice.feedback(START + Span::from_ms(9), 4, Outcome::Good);
    choice.feedback(START + Span::from_ms(9), 9, Outcome::Timeout);
    assert_eq!(take(&mut choice, 4), [2, 3, 4, 1]);
    let random = random_after(&choice, 17);
    let end = START + Span::from_ms(10);
    assert_eq!(choice.next(end), random[0]);
    // 16 choices, whatever comes back, timeouts as well; then what came back.
    choice.feedback(end, 7, Outcome::Good);
    choice.feedback(end, 7, Outcome::Timeout);
    let explored: Vec<u16> = (0..15).map(|_| choice.next(end)).collect();
    assert_eq!(explored, random[1..16]);
    assert_eq!([choice.next(end), choice.next(end)], [7, random[16]]);
}

#[test]
fn frozen_without_a_good_value_choices_are_random() {
    let mut choice = recycling();
    choice.feedback(START, 9, Outcome::Timeout);
    let random = random_after(&choice, 3);
    assert_eq!(take(&mut choice, 3), random);
}

#[test]
fn a_failed_path_is_left_as_good_values_come_back() {
    // The values below 32 take a path that fails. All good values of the ring are those when it does.
    let mut choice = PathChoice::new(&reps(64, 8), 1);
    good(&mut choice, &[1, 2, 3, 4, 5, 6, 7, 8]);
    choice.feedback(START, 1, Outcome::Timeout);
    let back = [40, 41, 42, 43, 44, 45, 46, 47];
    good(&mut choice, &back);
    assert_eq!(sorted(take(&mut choice, 8)), back);
}

#[test]
fn the_first_reps_begins_with_each_value_in_turn() {
    let paths = Paths::RepsLegacy(RepsLegacy { values: 4, first: 6, cache: 16 });
    let mut choice = PathChoice::new(&paths, 1);
    good(&mut choice, &[3, 2]);
    assert_eq!(take(&mut choice, 8), [0, 1, 2, 3, 0, 1, 3, 2]);
}

#[test]
fn mixed_falls_back_to_the_bitmap() {
    let paths = |cache| Paths::Mixed(Mixed { bitmap: Bitmap { values: 4, ..Bitmap::default() }, cache });
    let mut choice = PathChoice::new(&paths(16), 9);
    let order = take(&mut choice.clone(), 4);
    choice.feedback(START, order[0], Outcome::Marked);
    good(&mut choice, &[order[3]]);
    assert_eq!(take(&mut choice, 3), [order[3], order[1], order[2]]);
}

#[test]
fn settings_out_of_their_range_are_named() {
    let of =
        |paths: Paths| paths.check(&mut Ranges::default()).map_or_else(|error| error.setting, |()| "none");
    all(64).into_iter().for_each(|paths| assert_eq!(of(paths), "none", "{paths:?}"));
    for values in [0, 3, 131_072] {
        all(values).into_iter().for_each(|paths| assert_eq!(of(paths), "paths.values", "{paths:?}"));
    }
    let of_reps = |change: fn(&mut Reps)| {
        let mut reps = Reps::default();
        change(&mut reps);
        of(Paths::Reps(reps))
    };
    assert_eq!(of_reps(|reps| reps.cache = 0), "paths.cache");
    assert_eq!(of_reps(|reps| reps.freeze = Span::ZERO), "paths.freeze");
    assert_eq!(of_reps(|reps| reps.explore = u32::MAX), "paths.explore");
    assert_eq!(of(Paths::Bitmap(Bitmap { timeout: 16, ..Bitmap::default() })), "paths.timeout");
}

fn any_outcome() -> impl Strategy<Value = Outcome> {
    prop_oneof![
        6 => Just(Outcome::Good),
        2 => Just(Outcome::Marked),
        1 => Just(Outcome::Trimmed),
        1 => any::<bool>().prop_map(|marked| Outcome::TrimmedAtLastHop { marked }),
        1 => Just(Outcome::Timeout),
    ]
}

/// Whether it is a choice, and otherwise feedback about one of the last choices; after so many us.
fn any_steps() -> impl Strategy<Value = Vec<(bool, usize, u64, Outcome)>> {
    prop::collection::vec((any::<bool>(), 0..8_usize, 0..3_000_u64, any_outcome()), 0..300)
}

proptest! {
    #[test]
    fn values_are_those_of_the_connection_and_the_same_for_the_same_seed(
        bits in 0..=16_u32, seed: u64, steps in any_steps(),
    ) {
        let values = 1_u32 << bits;
        for paths in all(values) {
            let mut twins = [0; 2].map(|_| PathChoice::new(&paths, seed));
            let mut chosen = vec![twins.clone().map(|mut twin| twin.next(START))[0]];
            let upper = |value: u16| u32::from(value) / values;
            let mut now = START;
            for (is_choice, back, us, outcome) in &steps {
                now += Span::from_us(*us);
                if *is_choice {
                    let [one, other] = twins.each_mut().map(|twin| twin.next(now));
                    prop_assert_eq!(one, other);
                    // Lower bits choose; those above are the same for all.
                    prop_assert_eq!(upper(one), upper(chosen[0]), "{:?}", paths);
                    chosen.push(one);
                } else {
                    let about = chosen[chosen.len().saturating_sub(1 + back)];
                    twins.iter_mut().for_each(|twin| twin.feedback(now, about, *outcome));
                }
            }
        }
    }

    #[test]
    fn without_penalties_the_bitmap_is_oblivious(bits in 0..=10_u32, seed: u64, packets in 0..3_000_usize) {
        let values = 1 << bits;
        let [one, other] = [oblivious(values), bitmap(values)].map(|paths| take(&mut PathChoice::new(&paths, seed), packets));
        prop_assert_eq!(one, other);
    }
}
