//! Scenarios from their text to their tables. One program: to link it takes longer than to run most of it.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod collectives;
mod custom;
mod live;
mod near_source;
mod paths;
mod profiles;
mod random;
mod report;
mod rpc;
mod scenarios;
mod segments;
mod stored;
mod sweep;
mod tables;
mod trajectories;
