//! Size distributions: whatever is accepted can be drawn from.
#![no_main]

use libfuzzer_sys::fuzz_target;
use narrows_fuzz::sizes;

fuzz_target!(|text: &str| sizes::check(text));
