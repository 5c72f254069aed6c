//! Who sends how much to whom, and when.

mod sizes;

pub use sizes::{Sizes, SizesError};
