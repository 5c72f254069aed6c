use narrows_proto::units::{Bytes, Span};
use narrows_sim::switch::{Buffer, CongestionPoint, Marking, PortKind, Sharing, SwitchConfig};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::mechanism::list::mechanisms;

/// Makes the settings of switches, with the keys of mechanisms.
macro_rules! switch {
    ($($mechanism:ident: $about:literal $(#[$attribute:meta])? $key:ident: $settings:ty,)*) => {
        /// Settings of the switches of one class.
        #[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct Switch {
            /// Packet memory.
            pub buffer: Buffer,
            /// Marking of packets when a queue is congested.
            #[serde(default)]
            pub marking: Marking,
            /// Congestion notification from queues to the sources of their packets.
            #[serde(default)]
            pub congestion_point: CongestionPoint,
            $(#[doc = $about] $(#[$attribute])? pub $key: $settings,)*
            /// Time from the last bit of a packet until it joins a queue.
            #[serde(default)]
            pub latency: Span,
        }

        impl Switch {
            /// As the simulation wants it.
            pub fn config(&self, ports: PortKind) -> SwitchConfig {
                let Self { buffer, marking, congestion_point, $($key,)* latency } = self.clone();
                SwitchConfig { buffer, marking, latency, ports, congestion_point, $($mechanism: $key,)* }
            }
        }

        /// Settings of a switch of a class that has none: 12 MB shared with α = 1, no marking.
        pub fn default_switch() -> Switch {
            Switch {
                buffer: Buffer { size: Bytes::new(12_000_000), sharing: Sharing::default() },
                marking: Marking::Off,
                congestion_point: CongestionPoint::Off,
                $($key: Default::default(),)*
                latency: Span::ZERO,
            }
        }
    };
}

mechanisms!(switch => switch);

/// Kind of ports. Both kinds give the same results where both apply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PortChoice {
    /// Scheduled ports if traffic has more than one priority or switches signal or write telemetry, plain ones otherwise.
    #[default]
    Auto,
    /// First in, first out; the fastest.
    Plain,
    /// A queue for each priority, the highest first.
    Scheduled,
}
