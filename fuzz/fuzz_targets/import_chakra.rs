//! Chakra execution traces: whatever is accepted becomes a scenario that is TOML.
#![no_main]

use libfuzzer_sys::fuzz_target;
use narrows_fuzz::import_chakra;

fuzz_target!(|bytes: &[u8]| import_chakra::check(bytes));
