//! Results as files that other tools read.
//!
//! [`trace`] simulates a stored run again and writes what happened packet by packet or acknowledgment by acknowledgment;
//! the others turn the tables of a results folder into another form.

pub mod fct;
pub mod flent;
pub mod openmetrics;
pub mod trace;

use std::path::PathBuf;

/// Output that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// Where.
    pub path: PathBuf,
    /// Its content, for people: "1234 packets at 5 ports".
    pub what: String,
}
