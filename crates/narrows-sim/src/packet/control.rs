//! Control packets: messages and frames of mechanisms.

/// It is for the neighbor, and routed nowhere.
const FOR_NEIGHBOR: u8 = 1;
/// It is about a flow.
const OF_FLOW: u8 = 2;
/// It says that something begins or, with the flag [`FIN`](super::FIN), ends.
const BEGINS_OR_ENDS: u8 = 4;

/// Makes the list of control packets: each has a name in traces, what is true of it, and a meaning.
macro_rules! controls {
    ($($kind:ident $name:literal [$($what:ident)*] $about:literal;)*) => {
        /// Control packets: messages and frames of mechanisms.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Control {
            $(#[doc = $about] $kind,)*
        }

        impl Control {
            pub(super) const ALL: &'static [Self] = &[$(Self::$kind),*];

            /// As it stands in traces.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => $name,)*
                }
            }

            #[inline]
            const fn is(self, what: u8) -> bool {
                let all = match self {
                    $(Self::$kind => 0 $(| $what)*,)*
                };
                all & what != 0
            }
        }
    };
}

controls! {
    Cnm "notice" [OF_FLOW] "A message of a congestion point to the source of a flow ([`Cnm`](narrows_proto::cnm::Cnm)).";
    Cnp "cnp" [OF_FLOW] "A congestion notification packet of an RDMA receiver: the flow is all it says.";
    Pause "pause" [FOR_NEIGHBOR] "A PAUSE frame (IEEE 802.3 Annex 31B).";
    Pfc "pfc" [FOR_NEIGHBOR] "A frame of priority-based flow control (IEEE 802.1Qbb).";
    Isolate "isolate" [FOR_NEIGHBOR OF_FLOW BEGINS_OR_ENDS] "Names a flow that the neighbor is to isolate, or no longer: the sequence number is its key.";
    JumboFlow "jumboflow" [] "A report of the switch of a rack to a host on a JumboFlow, whose number is in place of the flow.";
    Membership "membership" [OF_FLOW BEGINS_OR_ENDS] "A host says that a subflow begins or ends.";
    Access "access" [] "A message about the access link of a destination.";
    Grant "grant" [OF_FLOW] "Credit for a sender over RDMA: its sequence number is all that was granted to the flow, in bytes on the wire.";
}

impl Control {
    /// It is for the neighbor, and routed nowhere.
    #[inline]
    pub fn is_for_neighbor(self) -> bool {
        self.is(FOR_NEIGHBOR)
    }

    /// It is about a flow.
    pub fn is_of_flow(self) -> bool {
        self.is(OF_FLOW)
    }

    /// It says that something begins or ends.
    pub fn begins_or_ends(self) -> bool {
        self.is(BEGINS_OR_ENDS)
    }
}
