//! Papers: every `paper.toml` and `claims.toml` become a paper or a list of mistakes, soon.
#![no_main]

use libfuzzer_sys::{Corpus, fuzz_mutator, fuzz_target, fuzzer_mutate};
use narrows_fuzz::{mutate, paper};

fuzz_target!(|text: &str| -> Corpus { if paper::check(text) { Corpus::Keep } else { Corpus::Reject } });

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    mutate::scenario(data, size, seed).unwrap_or_else(|| fuzzer_mutate(data, size, max_size))
});
