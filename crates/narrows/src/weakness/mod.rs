//! The search for paths on which a control does badly though others do well: `narrows break`.
//!
//! A path (`path`) has one bottleneck over one switch: its rate, round-trip time, buffer, losses and queue, rivals, and bursts. Of each
//! the `judge` takes how badly the control does (`objective`), less how badly the best of some other controls does in its place. A
//! `population` of paths is varied in generations. The worst are made simple (`shrink`) and written as scenarios (`written`), with a page.
//! Generations are kept in a folder (`store`), so that a search resumes.

mod case;
mod control;
mod element;
mod found;
mod gene;
mod judge;
mod measured;
mod objective;
mod page;
mod path;
mod population;
mod search;
mod shrink;
mod space;
mod store;
mod written;

pub use case::{Case, Curves, Reference};
pub use control::Control;
pub use found::Found;
pub use objective::Objective;
pub use search::{Progress, Request, search};
