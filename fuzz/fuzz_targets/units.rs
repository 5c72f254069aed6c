//! Quantities: no text panics, and what is printed is read back as the same value.
#![no_main]

use libfuzzer_sys::fuzz_target;
use narrows_fuzz::units;

fuzz_target!(|text: &str| units::check(text));
