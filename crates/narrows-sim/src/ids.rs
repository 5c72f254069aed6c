//! Typed indices.

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
        pub struct $name(pub u32);

        impl $name {
            /// As an index into a table with one row for each.
            #[inline]
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl From<usize> for $name {
            /// # Panics
            /// If the index does not fit 32 bits.
            fn from(index: usize) -> Self {
                Self(u32::try_from(index).expect("fewer than 2^32 of a kind"))
            }
        }
    };
}

id! {
    /// A host or switch, in the order of the topology.
    NodeId
}
id! {
    /// A host, counted apart from switches.
    HostId
}
id! {
    /// One direction of a link; also the port it leaves from.
    LinkId
}
id! {
    /// A flow, or a place at which a client starts one flow after the other.
    FlowId
}
id! {
    /// A group of flows: one `[[traffic]]` of a scenario.
    GroupId
}
