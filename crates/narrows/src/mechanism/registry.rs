//! All mechanisms, to be asked one after the other.

use super::Mechanism;
use super::list::mechanisms;

macro_rules! registry {
    ($($name:ident,)*) => {
        const ALL: &[&dyn Mechanism] = &[$(&super::$name::Home),*];
    };
}

mechanisms!(each => registry);

/// In the order of the list.
pub(crate) fn all() -> impl Iterator<Item = &'static dyn Mechanism> {
    ALL.iter().copied()
}
