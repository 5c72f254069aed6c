//! Files of HPCC's descendants: whatever is accepted becomes a scenario that is TOML, with a row for each flow.
#![no_main]

use libfuzzer_sys::fuzz_target;
use narrows_fuzz::import_hpcc;

fuzz_target!(|text: &str| import_hpcc::check(text));
