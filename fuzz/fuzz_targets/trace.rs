//! Flow traces: whatever is accepted is a flow between two hosts, one for each row.
#![no_main]

use libfuzzer_sys::fuzz_target;
use narrows_fuzz::trace;

fuzz_target!(|text: &str| trace::check(text));
