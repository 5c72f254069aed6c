//! Who sends how much to whom, and when.

mod patterns;
mod sizes;

pub use patterns::{Pairs, PairsError, Partner, all_to_all, incast, long_lived, permutation, poisson};
pub use sizes::{Sizes, SizesError};
