//! Files of other programs, read and written.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod agenda;
mod hpcc;
mod htsim;
mod imported;
mod support;
mod tables;
mod trace;
