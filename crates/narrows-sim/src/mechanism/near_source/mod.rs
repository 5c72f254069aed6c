//! Near-source loops (Annulus): messages of congestion points hold flows back at their host.

mod gates;
mod host;

pub(crate) use self::gates::Gates;
