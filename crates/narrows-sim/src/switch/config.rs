//! Settings of a switch.

use narrows_proto::units::{Bytes, Span};

use super::{Buffer, CongestionPoint, Marking, Pause, Pfc};

/// Makes the settings of a switch from those that every switch has, and those of mechanisms that it may have. Of these it is said
/// what the packets they send are called whose size is a setting.
macro_rules! settings {
    (
        $(#[$about:meta])* all { $($(#[$fixed_about:meta])* $fixed:ident: $kind:ty = $default:expr,)* }
        some { $($(#[$some_about:meta])* $name:ident: $settings:ty, sends $size:ident;)* }
    ) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct SwitchConfig {
            /// Its packet memory.
            pub buffer: Buffer,
            $($(#[$fixed_about])* pub $fixed: $kind,)*
            $($(#[$some_about])* pub $name: Option<$settings>,)*
        }

        impl SwitchConfig {
            /// With this packet memory, plain ports, and everything else off.
            pub fn new(buffer: Buffer) -> Self {
                Self { buffer, $($fixed: $default,)* $($name: None,)* }
            }

            /// Sizes on the wire of what its mechanisms send.
            pub(crate) fn control_sizes(&self) -> impl Iterator<Item = Bytes> {
                let sizes = [$(self.$name.as_ref().map(|settings| settings.$size)),*];
                sizes.into_iter().flatten().chain(self.congestion_point.message().map(|message| message.size))
            }
        }
    };
}

settings! {
    /// Settings of a switch.
    all {
        /// How its queues signal congestion.
        marking: Marking = Marking::Off,
        /// Time from the last bit of a packet until it joins a queue.
        latency: Span = Span::ZERO,
        /// How its ports work.
        ports: PortKind = PortKind::Plain,
        /// How its queues talk to the sources of their packets. Needs scheduled ports.
        congestion_point: CongestionPoint = CongestionPoint::Off,
        /// It writes telemetry into packets that want it, when it begins to send them (HPCC: Li et al., SIGCOMM 2019, §4.1). Needs
        /// scheduled ports.
        telemetry: bool = false,
    }
    some {
        /// When it pauses its neighbors. Needs scheduled ports at all of them.
        pause: Pause, sends frame;
        /// How it stops classes of packets at its neighbors. Needs scheduled ports at all of them.
        pfc: Pfc, sends frame;
        /// How it isolates congested flows. Needs `pfc`.
        isolation: crate::mechanism::isolation::Isolation, sends message_size;
        /// It keeps the state of the JumboFlows of its rack (RackCC).
        rack: crate::mechanism::rackcc::RackAgent, sends message_size;
    }
}

impl SwitchConfig {
    /// Its queues talk to the sources of their packets.
    pub fn has_congestion_points(&self) -> bool {
        !matches!(self.congestion_point, CongestionPoint::Off)
    }
}

/// Kinds of ports. Both give the same results where both apply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PortKind {
    /// First in, first out: knows the departure of a packet when it arrives.
    #[default]
    Plain,
    /// A queue for each priority, the highest first.
    Scheduled,
}
