//! Adaptive choice by local queues, checked.

use narrows_proto::cc::Ranges;
use narrows_sim::mechanism::adaptive::{Adaptive, DOCS};
use narrows_sim::{Network, Routing};

use super::{Declare, Entry, Mechanism};
use crate::plan::Checker;
use crate::scenario::Scenario;

pub(crate) struct Home;

pub(super) const ENTRIES: &[Entry] = &[Entry {
    name: "adaptive",
    summary: "the port with the shortest queue, of all or of some at random, for each packet or flowlet (DRILL, adaptive routing)",
    place: "routing.adaptive",
    source: "Ghorbani et al., SIGCOMM 2017; the simulator of the Ultra Ethernet Consortium",
    about: DOCS,
    settings: &["Adaptive"],
}];

impl Mechanism for Home {
    fn ranges(&self, declare: &mut Declare<'_>) {
        declare("Adaptive", &|ranges| Adaptive::default().check(ranges));
    }

    fn check_network(&self, scenario: &Scenario, _: &Network, checker: &mut Checker<'_>) {
        if let Routing::Adaptive(adaptive) = &scenario.routing {
            checker.in_range("routing.adaptive", adaptive.check(&mut Ranges::default()));
        }
    }
}
