//! State that mechanisms keep with a flow at its source.

use super::list::mechanisms;

macro_rules! at_flow {
    ($($name:ident: $kept:ident,)*) => {
        /// State that mechanisms keep with a flow at its source.
        #[derive(Clone, Copy, Debug, Default)]
        pub(crate) struct AtFlow {
            /// The mechanism that may hold it back besides its own control.
            pub(crate) hold: Hold,
            /// A mechanism has its turns, though nothing holds it back.
            pub(crate) is_governed: bool,
            /// Where it stands in the line of what may hold it back.
            pub(crate) line: Line,
            $(pub(crate) $name: Option<super::$name::$kept>,)*
        }
    };
}

mechanisms!(flow => at_flow);

/// The mechanism that may hold a flow back. With the place of it at its host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Hold {
    #[default]
    Nothing,
    /// Its packets pass through the queue of a limiter.
    Limiter(u32),
    /// A near-source loop.
    Gate(u32),
}

/// A flow and the line for room in the queue of its limiter, or for the next packet of its near-source loop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Line {
    #[default]
    Outside,
    Waiting,
    /// It may hand over packets before all who wait.
    Admitted,
}

impl AtFlow {
    /// Not the flow alone says when it sends.
    #[inline]
    pub(crate) fn governs(&self) -> bool {
        self.is_governed || self.hold != Hold::Nothing
    }
}
