//! Results as files that other tools read.

pub mod fct;
