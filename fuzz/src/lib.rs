//! Inputs of others, and what must hold whatever they are: a module for each fuzzing target, and what several of them need.
//!
//! Each has a function `check`, which panics if something does not hold; some say whether the input is worth building upon. The programs
//! of `fuzz_targets` feed it with libFuzzer, guided by coverage; the tests of the command (`tests/cli/inputs.rs`) feed it the seeds and
//! some changes to them.

// The tests of `narrows-c` feed it themselves: the command knows nothing of the C ABI.
#[cfg(not(test))]
pub mod capi;
mod checks;
pub mod import_chakra;
pub mod import_goal;
pub mod import_hpcc;
pub mod import_htsim;
pub mod mutate;
pub mod paper;
pub mod path;
pub mod scenario;
pub mod sizes;
pub mod stored;
pub mod sweep;
pub mod trace;
pub mod units;
