//! All mechanisms, to be asked one after the other.

use super::list::mechanisms;
use super::{Entry, Mechanism};

macro_rules! registry {
    ($($name:ident,)*) => {
        const ALL: &[&dyn Mechanism] = &[$(&super::$name::Home),*];
        const ENTRIES: &[&[Entry]] = &[$(super::$name::ENTRIES),*];
    };
}

mechanisms!(each => registry);

/// In the order of the list.
pub(crate) fn all() -> impl Iterator<Item = &'static dyn Mechanism> {
    ALL.iter().copied()
}

/// Their entries in the guide and `narrows explain`, in the order of the list. They are not methods, so that a program which explains
/// nothing carries none of their texts.
pub(crate) fn entries() -> impl Iterator<Item = &'static Entry> {
    ENTRIES.iter().copied().flatten()
}
