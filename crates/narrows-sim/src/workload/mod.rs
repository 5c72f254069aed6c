//! Who sends how much to whom, and when.

pub mod collectives;
mod patterns;
mod rpc;
mod sizes;

pub use patterns::{
    Pairs, PairsError, Partner, Partners, Stagger, all_to_all, incast, long_lived, permutation, poisson,
    random,
};
pub use rpc::{Calls, DrawnCalls, rpcs};
pub use sizes::{Sizes, SizesError};
