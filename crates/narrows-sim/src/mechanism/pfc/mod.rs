//! Priority-based flow control (IEEE 802.1Qbb): what waits is counted by the link and the class it came in, and a class that
//! has used up its share of the packet memory is stopped at the neighbor.
//!
//! Memory is used in the order static space, shared pool, headroom of the class, global headroom (Gonzalez-Naharro et al.,
//! NEAT 2019, "Switch architecture"), and given back the other way round. A class is stopped when its first byte goes to
//! headroom, so headroom holds what is on its way then.

mod account;
mod host;
mod settings;
mod watch;

pub(crate) use self::account::{Account, read};
pub(crate) use self::host::StoppedClasses;
pub use self::settings::{Pfc, Xoff};
pub(crate) use self::watch::Watch;
