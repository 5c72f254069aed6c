//! Sweeps: every text becomes a grid of scenarios or a list of mistakes, and each of the first cells a plan or a list of mistakes.
#![no_main]

use libfuzzer_sys::{Corpus, fuzz_mutator, fuzz_target, fuzzer_mutate};
use narrows_fuzz::{mutate, sweep};

fuzz_target!(|text: &str| -> Corpus { if sweep::check(text) { Corpus::Keep } else { Corpus::Reject } });

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    mutate::scenario(data, size, seed).unwrap_or_else(|| fuzzer_mutate(data, size, max_size))
});
