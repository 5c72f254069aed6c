//! Scenario to plan to run to results.
mod csv_file;
pub mod diagnostic;
pub mod document;
pub mod live;
pub mod metrics;
pub mod numbers;
pub mod plan;
pub mod reference;
pub mod report;
pub mod repro;
pub mod results;
pub mod run;
pub mod scenario;
pub mod sizes;
pub mod statistics;
pub mod templates;
