//! Calls in any order, from the seeds of the fuzzing target and changes to them. `cargo xtask fuzz capi` goes further.

use std::path::Path;

#[path = "../../../fuzz/src/capi.rs"]
#[allow(
    unsafe_code,
    missing_docs,
    unreachable_pub,
    reason = "it calls a C ABI, and is written for another crate"
)]
mod capi;

/// Knuth's linear congruence.
struct Random(u64);

impl Random {
    fn next(&mut self) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize
    }
}

#[test]
fn calls_are_answered_in_any_order() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/capi");
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let seeds: Vec<_> = paths.iter().map(|path| std::fs::read(path).unwrap()).collect();
    assert!(seeds.len() >= 3);
    seeds.iter().for_each(|seed| capi::check(seed));
    let mut random = Random(1);
    for _ in 0..300 {
        let mut calls: Vec<u8> = (0..3).flat_map(|_| seeds[random.next() % seeds.len()].clone()).collect();
        for _ in 0..1 + random.next() % 8 {
            let place = random.next() % calls.len();
            calls[place] = random.next() as u8;
        }
        capi::check(&calls);
    }
}
