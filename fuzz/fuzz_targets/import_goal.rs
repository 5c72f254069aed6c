//! GOAL schedules: whatever is accepted becomes a scenario that is TOML, with a row for each operation at least.
#![no_main]

use libfuzzer_sys::fuzz_target;
use narrows_fuzz::import_goal;

fuzz_target!(|text: &str| import_goal::check(text));
