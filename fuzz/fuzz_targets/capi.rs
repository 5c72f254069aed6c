//! Calls of the C ABI, in any order: each returns a status, soon, and what is closed is gone.
#![no_main]

use libfuzzer_sys::fuzz_target;
use narrows_fuzz::capi;

fuzz_target!(|bytes: &[u8]| capi::check(bytes));
