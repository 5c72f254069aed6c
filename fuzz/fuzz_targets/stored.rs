//! Stored results: whatever became of the files of a folder, it is read as results or refused with a reason.
#![no_main]

use libfuzzer_sys::fuzz_target;
use narrows_fuzz::stored;

fuzz_target!(|data: &[u8]| stored::check(data));
