//! Settings of a switch.

use narrows_proto::units::{Bytes, Span};

use super::{Buffer, CongestionPoint, Marking};
use crate::mechanism::list::mechanisms;
use crate::mechanism::settings::SwitchSettings;

/// Makes the settings of a switch from those that every switch has, and those of mechanisms that it may have.
macro_rules! settings {
    ($($name:ident: $settings:ident,)*) => {
        /// Settings of a switch.
        #[derive(Clone, Debug, PartialEq)]
        pub struct SwitchConfig {
            /// Its packet memory.
            pub buffer: Buffer,
            /// Congestion signal of its queues.
            pub marking: Marking,
            /// Time from the last bit of a packet until it joins a queue.
            pub latency: Span,
            /// Kind of its ports. All mechanisms at ports need scheduled ones, at neighbors that they stop as well.
            pub ports: PortKind,
            /// Messages of its queues to the sources of their packets.
            pub congestion_point: CongestionPoint,
            /// It writes telemetry into packets that want it, when it begins to send them (HPCC: Li et al., SIGCOMM 2019, §4.1).
            pub telemetry: bool,
            $(
                #[doc = concat!("Settings of the mechanism `", stringify!($name), "`, if it has that.")]
                pub $name: Option<crate::mechanism::$name::$settings>,
            )*
        }

        impl SwitchConfig {
            /// With this packet memory, plain ports, and everything else off.
            pub fn new(buffer: Buffer) -> Self {
                Self {
                    buffer,
                    marking: Marking::Off,
                    latency: Span::ZERO,
                    ports: PortKind::Plain,
                    congestion_point: CongestionPoint::Off,
                    telemetry: false,
                    $($name: None,)*
                }
            }

            /// Sizes on the wire of what its mechanisms send.
            pub(crate) fn control_sizes(&self) -> impl Iterator<Item = Bytes> {
                let sizes = [$(self.$name.as_ref().and_then(SwitchSettings::control_size)),*];
                sizes.into_iter().flatten().chain(self.congestion_point.message().map(|message| message.size))
            }

            /// It stops neighbors: with PAUSE, or by class.
            pub fn pauses(&self) -> bool {
                self.pause.is_some() || self.pfc.is_some()
            }

            /// A mechanism of it has packets of the side class.
            pub fn has_side_class(&self) -> bool {
                $(has_side_class(self.$name.as_ref()) ||)* false
            }

            /// A mechanism of it is asked at its queued ports.
            pub(crate) fn asks_at_ports(&self) -> bool {
                $(asks_at_ports(self.$name.as_ref()) ||)* false
            }

            /// Packets that can be marked may be.
            pub fn marks(&self) -> bool {
                $(self.$name.as_ref().is_some_and(SwitchSettings::marks) ||)* self.marking.marks()
            }

            /// Mechanisms that keep what waits at its ports, of which there may be one.
            pub fn queue_keepers(&self) -> impl Iterator<Item = &'static str> {
                let keepers = [$(keeps_queues(self.$name.as_ref()).then_some(stringify!($name))),*];
                keepers.into_iter().flatten()
            }
        }
    };
}

mechanisms!(settings => settings);

fn has_side_class<S: SwitchSettings>(settings: Option<&S>) -> bool {
    S::HAS_SIDE_CLASS && settings.is_some()
}

fn keeps_queues<S: SwitchSettings>(settings: Option<&S>) -> bool {
    S::KEEPS_QUEUES && settings.is_some()
}

fn asks_at_ports<S: SwitchSettings>(settings: Option<&S>) -> bool {
    S::AT_PORTS && settings.is_some()
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
