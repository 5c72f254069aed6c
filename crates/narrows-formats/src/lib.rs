//! Files of other tools.
//!
//! [`import`] turns networks and flows of other simulators into scenarios, [`export`] turns results into files that other
//! tools read.

pub mod export;
pub mod import;
