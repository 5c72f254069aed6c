//! The list of rules by which switches choose among shortest paths: the one place that names all of them.

use crate::mechanism::adaptive::{Adaptive, AdaptiveChoice};
use crate::mechanism::at_routing::{AtRouting as _, Fork, RoutingSite};
use crate::mechanism::flowlets::{FlowletSwitching, Flowlets};
use crate::mechanism::spray::Spray;
use crate::mechanism::wcmp::Wcmp;
use crate::record::PortCounters;

/// Makes the settings of all rules, and the state of those that choose for each packet.
macro_rules! rules {
    (
        by_flow { $($(#[$about:meta])* $name:ident $(($settings:ty))?,)* }
        by_packet { $($(#[$meaning:meta])* $rule:ident $(($set:ident: $of:ty))? => $state:ty,)* }
    ) => {
        /// Choice of a switch among shortest paths.
        #[derive(
            Clone, Debug, Default, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema,
        )]
        #[serde(rename_all = "snake_case")]
        pub enum Routing {
            $($(#[$about])* $name $(($settings))?,)*
            $($(#[$meaning])* $rule $(($of))?,)*
        }

        /// The rule of a switch that chooses for each packet.
        #[derive(Debug)]
        pub(crate) enum PacketRule {
            $($rule($state),)*
        }

        impl PacketRule {
            /// None if switches choose for each flow.
            pub(crate) fn new(routing: &Routing, site: &RoutingSite) -> Option<Box<Self>> {
                let rule = match routing {
                    $(Routing::$rule $(($set))? => Self::$rule(<$state>::new($($set,)? site)),)*
                    _ => return None,
                };
                Some(Box::new(rule))
            }

            /// See [`AtRouting`](crate::mechanism::at_routing::AtRouting).
            #[inline]
            pub(crate) fn choose(&mut self, fork: &Fork<'_>, queue: impl FnMut(u16) -> u64) -> u16 {
                match self { $(Self::$rule(rule) => rule.choose(fork, queue),)* }
            }

            /// See [`AtRouting`](crate::mechanism::at_routing::AtRouting).
            pub(crate) fn report(&self, port: usize, counters: &mut PortCounters) {
                match self { $(Self::$rule(rule) => rule.report(port, counters),)* }
            }
        }
    };
}

rules! {
    by_flow {
        /// By a hash of the flow, salted per switch: a flow keeps its path (ECMP, RFC 2992).
        #[default]
        Ecmp,
        /// By the destination: in a tree with k uplinks per switch, level l takes uplink ⌊d/k^l⌋ mod k. Among parallel links on
        /// the way down it takes the one that corresponds to the uplink.
        DModK,
        /// By a hash of the flow, in proportion to weights (WCMP).
        Wcmp(Wcmp),
    }
    by_packet {
        /// At random for each packet (packet spraying).
        Spray => Spray,
        /// At random for each flowlet (LetFlow).
        Flowlets(settings: Flowlets) => FlowletSwitching,
        /// By the lengths of its queues, for each packet or flowlet (adaptive routing, DRILL).
        Adaptive(settings: Adaptive) => AdaptiveChoice,
    }
}

impl Routing {
    /// Packets of a flow may take different paths.
    pub fn is_by_packet(&self) -> bool {
        !matches!(self, Self::Ecmp | Self::DModK | Self::Wcmp(_))
    }
}
