//! Results as files that other tools read.
//!
//! [`trace`] simulates a stored run again and writes what happened packet by packet or acknowledgement by acknowledgement;
//! the others turn the tables of a results folder into another form.

mod file;


pub mod trace;

pub use file::Staged;
