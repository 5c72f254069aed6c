//! Files of htsim: whatever is accepted becomes a scenario that is TOML, with a row for each connection.
#![no_main]

use libfuzzer_sys::fuzz_target;
use narrows_fuzz::import_htsim;

fuzz_target!(|text: &str| import_htsim::check(text));
