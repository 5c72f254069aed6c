//! A counter: what it counts, where it is kept, and what it is called where it is shown.

use narrows_proto::stream::Stats;
use narrows_sim::mechanism::Records;
use narrows_sim::observe::Counts;
use narrows_sim::{DatagramRecord, PortCounters};

use self::Of::{Datagrams, Mechanisms, Ports, Run, Senders};
use crate::plan::Plan;
use crate::results::Outline;

/// Something that counts.
pub(crate) struct Counters {
    /// Which runs have it.
    pub(crate) present: &'static str,
    pub(crate) is_in: fn(&Plan) -> bool,
    pub(crate) counters: &'static [Counter],
}

/// A counter.
pub struct Counter {
    /// Its meaning.
    pub meaning: &'static str,
    /// Its unit; empty for counts.
    pub unit: &'static str,
    /// It adds up; otherwise it is the most that ever was.
    pub adds_up: bool,
    pub(super) of: Of,
    pub(super) activity: Option<&'static str>,
    pub(super) column: Option<&'static str>,
    pub(super) metric: Option<&'static str>,
    /// Which results have the column.
    pub(crate) present: &'static str,
    pub(crate) is_in: fn(&Plan) -> bool,
}

/// Reads a counter from a record `C`.
pub(super) type Value<C> = fn(&C) -> u64;

/// Where a counter is kept.
#[derive(Clone, Copy)]
pub(crate) enum Of {
    /// At every port.
    Ports(Value<PortCounters>),
    /// At the sender of every flow.
    Senders(Value<Stats>),
    /// At every source of datagrams.
    Datagrams(Value<DatagramRecord>),
    /// By mechanisms, all over the network.
    Mechanisms(Value<Records>),
    /// Nowhere; found in the results.
    Run(fn(&Outline<'_>) -> u64),
}

impl Counter {
    pub(crate) const fn new(of: Of, unit: &'static str, meaning: &'static str) -> Self {
        let (activity, column, metric) = (None, None, None);
        Self { meaning, unit, adds_up: true, of, activity, column, metric, present: "", is_in: |_| true }
    }

    /// The most that ever was.
    pub(crate) const fn most(of: Of, unit: &'static str, meaning: &'static str) -> Self {
        Self { adds_up: false, ..Self::new(of, unit, meaning) }
    }

    /// Its name in the list of activity.
    pub(crate) const fn activity(self, name: &'static str) -> Self {
        Self { activity: Some(name), ..self }
    }

    /// The column of `ports`, or of `flows`, that it is.
    pub(crate) const fn column(self, name: &'static str) -> Self {
        Self { column: Some(name), ..self }
    }

    /// The column is in these results only.
    pub(crate) const fn only(self, present: &'static str, is_in: fn(&Plan) -> bool) -> Self {
        Self { present, is_in, ..self }
    }

    /// The metric of the network that it is.
    pub(crate) const fn metric(self, name: &'static str) -> Self {
        Self { metric: Some(name), ..self }
    }

    /// Total over a run.
    pub(crate) fn total(&self, run: &Outline<'_>) -> u64 {
        match self.of {
            Ports(value) => run.ports.iter().chain([run.no_route]).map(value).sum(),
            Senders(value) => run.flows.iter().map(|flow| value(&flow.stats)).sum(),
            Datagrams(value) => run.datagrams.iter().map(value).sum(),
            Mechanisms(value) => value(run.mechanisms),
            Run(value) => value(run),
        }
    }

    /// Total so far in a run that goes on; none if that is known only at its end.
    pub(crate) fn so_far(&self, counts: &Counts) -> Option<u64> {
        match self.of {
            Ports(value) => Some(value(&counts.ports)),
            Senders(value) => Some(value(&counts.senders)),
            Datagrams(value) => Some(value(&counts.datagrams)),
            Mechanisms(_) | Run(_) => None,
        }
    }
}
