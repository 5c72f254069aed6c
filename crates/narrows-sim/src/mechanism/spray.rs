//! Packet spraying at a switch.

use super::at_routing::{AtRouting, Fork, RoutingSite};
use crate::random::{Purpose, Stream};

/// Each packet takes any port.
#[derive(Debug)]
pub(crate) struct Spray(Stream);

impl Spray {
    pub(crate) fn new(site: &RoutingSite) -> Self {
        Self(Stream::new(site.seed, Purpose::Spray, site.node.0.into()))
    }
}

impl AtRouting for Spray {
    fn choose(&mut self, fork: &Fork<'_>, _: impl FnMut(u16) -> u64) -> u16 {
        fork.ports[self.0.below(fork.ports.len() as u64) as usize]
    }
}
