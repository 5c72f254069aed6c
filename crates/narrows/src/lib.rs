//! Scenario to plan to run to results.
pub mod addresses;
pub mod attach;
pub mod bounds;
mod checksum;
pub mod counters;
mod csv_file;
pub mod diagnostic;
pub mod document;
pub mod fidelity;
pub mod input_file;
pub mod inputs;
pub mod live;
mod mechanism;
pub mod metrics;
pub mod numbers;
pub mod plan;
mod profile;
pub mod recorded;
pub mod reference;
pub mod report;
pub mod repro;
pub mod results;
pub mod run;
pub mod scenario;
pub mod sizes;
pub mod statistics;
pub mod sweep;
pub mod templates;
pub mod twin;
pub mod visible;
pub mod weakness;

/// The engine: the version, and a fingerprint of its sources that changes with every change of them. Two programs with the
/// same engine give the same results.
pub const ENGINE: &str = concat!(env!("CARGO_PKG_VERSION"), "+", env!("NARROWS_FINGERPRINT"));
