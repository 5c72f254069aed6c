//! Links that change, as CSV and as a trace of mahimahi: whatever is accepted can be sent over.
#![no_main]

use libfuzzer_sys::fuzz_target;
use narrows_fuzz::path;

fuzz_target!(|text: &str| path::check(text));
