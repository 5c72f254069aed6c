//! RackCC: the analytic model of its fast start.
#![allow(dead_code)]

mod model;
