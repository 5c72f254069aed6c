//! Flows that last for the whole run, and when is noted what they have delivered.

use std::ops::Range;

use narrows_proto::cc::Config;
use narrows_proto::units::{Span, Time};
use narrows_sim::traffic::{Traffic, Transport};

use super::{ENDLESS, Plan, PlannedGroup};

/// Slices of the measured time of which the goodput is known: eight parts of three, or three of eight.
pub(crate) const SLICES: usize = 24;

impl Plan {
    /// All flows of the group of this number last for the whole run.
    pub(crate) fn lasts(&self, group: usize) -> bool {
        lasts(&self.traffic, group, &self.groups[group])
    }

    /// The longest time between two corrections of the control of a group, if it is longer than round trips make it.
    pub(crate) fn slowest_cycle(&self, group: usize) -> Option<Span> {
        slowest_cycle(self.traffic.groups[group].transport.control()?)
    }
}

pub(super) fn lasts(traffic: &Traffic, group: usize, planned: &PlannedGroup) -> bool {
    let transport = &traffic.groups[group].transport;
    let is_connection = !matches!(transport, Transport::Datagram { .. }) && !transport.has_queue_pairs();
    let flows = &traffic.flows[planned.flows.clone()];
    is_connection && !flows.is_empty() && flows.iter().all(|flow| flow.size == ENDLESS)
}

/// Time between two `PROBE_RTT` of BBR, alone or in Annulus, as which flows that share a queue learn the base RTT.
pub(super) fn slowest_cycle(control: &Config) -> Option<Span> {
    match control {
        Config::Bbr(params) => Some(params.min_rtt_window).filter(|_| params.probe_rtt_duration > Span::ZERO),
        Config::Annulus(params) => slowest_cycle(&params.end_to_end),
        _ => None,
    }
}

/// The ends of the slices of `measured` from the last start of a flow that lasts on; nothing if no group has but such flows, or there is no
/// such time.
pub(super) fn samples(traffic: &Traffic, groups: &[PlannedGroup], measured: Range<Time>) -> Vec<Time> {
    let lasting = groups.iter().enumerate().filter(|(number, planned)| lasts(traffic, *number, planned));
    let flows = lasting.flat_map(|(_, planned)| &traffic.flows[planned.flows.clone()]);
    let Some(last_start) = flows.map(|flow| flow.start).max() else { return Vec::new() };
    let from = measured.start.max(last_start);
    // What happens at the very end of the run is no part of it.
    let length = measured.end.saturating_since(from).saturating_sub(Span::from_ps(1));
    if length.as_ps() < SLICES as u64 {
        return Vec::new();
    }
    let moment = |number: usize| {
        let ps = u128::from(length.as_ps()) * number as u128 / SLICES as u128;
        from + Span::from_ps(ps as u64)
    };
    (0..=SLICES).map(moment).collect()
}
